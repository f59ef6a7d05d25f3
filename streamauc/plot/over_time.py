"""A metric over time, with its confidence intervals."""

from collections.abc import Sequence
from datetime import UTC, tzinfo

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.text import Annotation

from streamauc import _html
from streamauc._check import IntArray
from streamauc.history import History
from streamauc.metrics import catalogue
from streamauc.metrics.catalogue import Metric
from streamauc.plot import above, legend, style, value_axis
from streamauc.plot.above import Tag
from streamauc.plot.drift import (
    DriftMarks,
    draw_alarms,
    draw_reference,
    draw_thin_alarms,
    explain_alarms,
)
from streamauc.plot.immature import draw_immature
from streamauc.plot.series import MOST_BARS, Series, is_alone
from streamauc.plot.time_axis import Span

_EXPLANATION = 16.0  # points, the height of what explains alarms

__all__ = ["MOST_BARS", "draw_history", "draw_series", "show_times", "span_of"]


def draw_history(
    ax: Axes,
    history: History,
    metric: str,
    *,
    level: float = 0.95,
    zone: tzinfo = UTC,
    label: str | None = None,
    drift: DriftMarks | None = None,
) -> Axes:
    """Draw a metric of each window at the window's middle and return the axes.

    Intervals at `level`, where the metric has them, are bars for up to `MOST_BARS` windows and a
    band for more. Where it is undefined there is a gap. Windows with the caveat ``immature`` are
    grey, with hollow markers and dashed lines, and said to have incomplete labels. `metric` is
    named as in a `History`. Several histories may share axes, each with a `label`.

    Of `drift`, the prevalence shows the reference and the alarms of the class ratio, the AUC
    those of the ranking and of the scores; of the others there is only a thin line at each
    alarm, to see whether the metric moved, too. Raises ValueError for an unknown
    metric.
    """
    entry, params = catalogue.parse(metric)
    shown = span_of(history)
    series = Series.read(history, metric, entry, level=level, shown=shown)
    style.tidy(ax)
    draw_series(ax, series, label)
    tags = draw_immature(ax, series)
    value_axis.show_values(ax, entry)
    ax.set_ylabel(value_axis.title(entry, params, level))
    show_times(ax, history, shown, zone)
    if not np.isfinite(series.values).any():
        style.note(ax, _why_undefined(history, entry, params))
    if drift is None:
        above.write(ax, tags)
    else:
        _draw_drift(ax, drift, shown, zone, metric=metric, tags=tags)
    if label is not None:
        _draw_names(ax)
    return ax


def _draw_names(ax: Axes) -> None:
    """Say which line is which, above all that is written above the panel."""
    texts = [text.get_text() for text in ax.texts if isinstance(text, Annotation)]
    is_explained = any(isinstance(artist, Legend) for artist in ax.artists)
    legend.write(ax, above.room(texts) + _EXPLANATION * is_explained, is_row=True)


def draw_series(ax: Axes, series: Series, label: str | None) -> None:
    """Draw the windows whose labels are known."""
    color = style.COLORS[len(ax.get_lines()) % len(style.COLORS)]
    values = series.settled
    marked = np.flatnonzero(np.isfinite(values) if series.is_few else is_alone(values))
    ax.plot(
        series.x,
        values,
        color=color,
        linewidth=series.line_width,
        marker="o",
        markersize=3,
        markevery=marked.tolist(),
        label=label,
        clip_on=False,
        zorder=3,
    )
    _draw_bars(ax, series, marked[np.isfinite(series.low[marked])], color)
    if not series.is_few:
        low, high = series.low, series.high
        known = ~series.is_immature
        ax.fill_between(series.x, low, high, where=known, color=color, alpha=0.3, linewidth=0)


def _draw_bars(ax: Axes, series: Series, rows: IntArray, color: str) -> None:
    """Draw intervals as bars, with caps that stand out on both sides of a marker."""
    if not rows.size:
        return
    x, low, high = series.x[rows], series.low[rows], series.high[rows]
    ax.vlines(x, low, high, color=color, linewidth=1.0, zorder=2)
    for end in (low, high):
        ax.scatter(x, end, s=40, marker="_", color=color, linewidth=1.0, clip_on=False, zorder=2)


def _draw_drift(
    ax: Axes,
    drift: DriftMarks,
    shown: Span,
    zone: tzinfo,
    *,
    metric: str,
    tags: Sequence[Tag],
) -> None:
    """Draw changes, and write what belongs above the panel."""
    own, other = drift.split(metric)
    draw_thin_alarms(ax, other, shown)
    marks: list[Tag] = []
    if metric == "prevalence" or own.alarms:
        marks = [*draw_reference(ax, own, shown), *draw_alarms(ax, own, shown, zone)]
    height = above.write(ax, [*tags, *marks])
    explain_alarms(ax, own, shown, height)


def span_of(history: History) -> Span:
    """Return the time that all windows of a history together cover."""
    if not len(history):
        return Span(np.nan, np.nan)
    return Span(float(history.start[0]), float(history.end[-1]))


def show_times(ax: Axes, history: History, shown: Span, zone: tzinfo) -> None:
    """Show the whole span, also where nothing is defined."""
    if len(history):
        ends = shown.positions(np.array([shown.start, shown.end]))
        ax.update_datalim(np.column_stack((ends, np.zeros(2))), updatey=False)
        ax.set_xlim(ax.dataLim.x0, ax.dataLim.x1)
    shown.show(ax, zone)


def _why_undefined(history: History, entry: Metric, params: dict[str, float]) -> str:
    if not len(history):
        return "no windows"
    reasons: Sequence[str | None] = [
        window.reason(entry.name, **params) for window in history.windows
    ]
    words = dict.fromkeys(_html.spelled(reason) for reason in reasons if reason)
    return f"undefined in every window: {', '.join(words)}"
