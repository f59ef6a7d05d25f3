"""A metric over time, with its confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import (
    Formatter,
    FuncFormatter,
    MaxNLocator,
    ScalarFormatter,
    StrMethodFormatter,
)

from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc.history import History
from streamauc.metrics import catalogue
from streamauc.metrics.catalogue import Metric
from streamauc.plot import style, thin, time_axis

# Up to so many windows each has a marker and a bar, then a line and a band read better.
MOST_BARS = 60
_COLUMNS = 400

_TITLES = {
    "n_samples": "events",
    "n_pos": "positives",
    "n_neg": "negatives",
    "roc_auc": "ROC AUC",
    "fpr": "false positive rate",
    "fnr": "false negative rate",
    "npv": "negative predictive value",
    "f1": "F1",
    "mcc": "MCC",
}
# Shares of some number of events; the others are indices, for which nobody says per cent.
_PERCENTAGES = frozenset(
    {
        *("prevalence", "alert_rate", "precision", "recall", "fpr", "fnr", "specificity", "npv"),
        *("accuracy", "balanced_accuracy"),
    }
)


def draw_history(
    ax: Axes,
    history: History,
    metric: str,
    *,
    level: float = 0.95,
    zone: tzinfo = UTC,
    label: str | None = None,
) -> Axes:
    """Draw a metric of each window at the window's middle and return the axes.

    Intervals at `level`, where the metric has them, are bars for up to `MOST_BARS` windows and a
    band for more. Where it is undefined there is a gap. `metric` is named as in a `History`.
    Several histories may share axes, each with a `label`. Raises ValueError for an unknown
    metric.
    """
    entry, params = catalogue.parse(metric)
    series = _Series.read(history, metric, entry, level)
    style.tidy(ax)
    _draw_series(ax, series, label)
    _format_values(ax, entry)
    ax.set_ylabel(_value_label(entry, params, level))
    _format_times(ax, history, zone)
    if not np.isfinite(series.values).any():
        style.note(ax, _why_undefined(history, entry, params))
    if label is not None:
        ax.legend(fontsize=style.SMALL, frameon=False)
    return ax


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """What is drawn, arrays of shape (n_windows,) in the order of time."""

    x: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def read(cls, history: History, metric: str, entry: Metric, level: float) -> Self:
        """Return the windows of a history that can be told apart on paper."""
        values = history.column(metric)
        low = high = np.full(values.shape, math.nan)
        if entry.interval is not None:
            low, high = history.interval(metric, level=level)
        x = _positions(history, (history.start + history.end) / 2)
        drawn = thin.visible(x, [values, low, high], _COLUMNS)
        return cls(x[drawn], values[drawn], low[drawn], high[drawn])

    @property
    def is_alone(self) -> BoolArray:
        """Which values have none beside them, so that a line would not show them."""
        defined = np.concatenate(([False], np.isfinite(self.values), [False]))
        alone: BoolArray = defined[1:-1] & ~defined[:-2] & ~defined[2:]
        return alone


def _draw_series(ax: Axes, series: _Series, label: str | None) -> None:
    color = style.COLORS[len(ax.get_lines()) % len(style.COLORS)]
    is_few = series.x.size <= MOST_BARS
    marked = np.flatnonzero(np.isfinite(series.values) if is_few else series.is_alone)
    ax.plot(
        series.x,
        series.values,
        color=color,
        linewidth=_line_width(series.x.size),
        marker="o",
        markersize=3,
        markevery=marked.tolist(),
        label=label,
        clip_on=False,
        zorder=3,
    )
    _draw_bars(ax, series, marked[np.isfinite(series.low[marked])], color)
    if not is_few:
        ax.fill_between(series.x, series.low, series.high, color=color, alpha=0.3, linewidth=0)


def _draw_bars(ax: Axes, series: _Series, rows: IntArray, color: str) -> None:
    """Draw intervals as bars, with caps that stand out on both sides of a marker."""
    if not rows.size:
        return
    x, low, high = series.x[rows], series.low[rows], series.high[rows]
    ax.vlines(x, low, high, color=color, linewidth=1.0, zorder=2)
    for end in (low, high):
        ax.scatter(x, end, s=40, marker="_", color=color, linewidth=1.0, clip_on=False, zorder=2)


def _line_width(n_windows: int) -> float:
    """Return a width at which neighbours do not run together, in points."""
    return 1.2 if n_windows <= MOST_BARS else 0.9 if n_windows <= _COLUMNS else 0.5


def _positions(history: History, seconds: FloatArray) -> FloatArray:
    return time_axis.positions(seconds) if _is_dated(history) else seconds


def _is_dated(history: History) -> bool:
    return len(history) > 0 and time_axis.is_dated(float(history.start[0]), float(history.end[-1]))


def _format_times(ax: Axes, history: History, zone: tzinfo) -> None:
    """Show the whole span, also where nothing is defined."""
    ends = np.append(history.start[:1], history.end[-1:])
    corners = np.column_stack((_positions(history, ends), np.zeros(ends.size)))
    if len(history):
        ax.update_datalim(corners, updatey=False)
        ax.set_xlim(ax.dataLim.x0, ax.dataLim.x1)
    if _is_dated(history):
        time_axis.show_dates(ax, zone)
    else:
        ax.set_xlabel("time (s since the epoch)")


def _format_values(ax: Axes, entry: Metric) -> None:
    """Choose limits that no value is beyond, for amounts from zero unless that wastes half."""
    low, high = ax.dataLim.y0, ax.dataLim.y1
    ceiling = math.inf if entry.unit == "events" else 1.0
    if not low <= high:
        low, high = 0.0, 1.0
    is_amount = entry.unit == "events" or entry.name in _PERCENTAGES
    margin = 0.06 * (high - low) or 0.02
    bottom = 0.0 if is_amount and low < high / 2 else low - margin
    ax.set_ylim(max(bottom, 0.0) if low >= 0 else bottom, min(high + margin, ceiling))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(_value_format(entry))


def _value_format(entry: Metric) -> Formatter:
    if entry.unit == "events":
        return StrMethodFormatter("{x:,.10g}")
    if entry.name in _PERCENTAGES:
        return FuncFormatter(lambda share, _: f"{100 * share:.6g} %")
    return ScalarFormatter(useOffset=False)


def _value_label(entry: Metric, params: dict[str, float], level: float) -> str:
    title = _TITLES.get(entry.name, entry.name.replace("_", " "))
    if "threshold" in params:
        title += f" at {params['threshold']:g}"
    if entry.interval is None:
        return title
    return f"{title}\nwith {100 * level:g} % interval"


def _why_undefined(history: History, entry: Metric, params: dict[str, float]) -> str:
    if not len(history):
        return "no windows"
    reasons: Sequence[str | None] = [
        window.reason(entry.name, **params) for window in history.windows
    ]
    words = dict.fromkeys(style.spelled(reason) for reason in reasons if reason)
    return f"undefined in every window: {', '.join(words)}"
