"""The y axis of a metric: its name, its unit and limits."""

from matplotlib.axes import Axes
from matplotlib.ticker import (
    Formatter,
    FuncFormatter,
    MaxNLocator,
    ScalarFormatter,
    StrMethodFormatter,
)

from streamauc import _html
from streamauc.metrics.catalogue import Metric

_TITLES = {
    "n_samples": "events",
    "n_pos": "positives",
    "n_neg": "negatives",
    "fpr": "false positive rate",
    "fnr": "false negative rate",
    "npv": "negative predictive value",
    "f_beta": "F-beta",
    "gini": "Gini coefficient",
}
# Shares of some number of events; the others are indices, for which nobody says per cent.
_PERCENTAGES = frozenset(
    {
        *("prevalence", "alert_rate", "precision", "recall", "fpr", "fnr", "specificity", "npv"),
        *("accuracy", "balanced_accuracy", "gain"),
        *("recall_at_fpr", "recall_at_precision", "recall_at_alert_rate"),
    }
)

_ROUNDING = 1e-9  # values closer than this, relatively, are the same


def show_values(ax: Axes, entry: Metric) -> None:
    """Choose limits that no value is beyond, for amounts from zero unless that wastes half."""
    is_amount = entry.unit == "events" or entry.name in _PERCENTAGES
    _limit(ax, is_amount=is_amount, ceiling=entry.within[1])
    ax.yaxis.set_major_formatter(_value_format(entry))


def show_percentages(ax: Axes) -> None:
    """Do the same for shares of events."""
    _limit(ax, is_amount=True, ceiling=1.0)
    ax.yaxis.set_major_formatter(FuncFormatter(percent))


def _limit(ax: Axes, *, is_amount: bool, ceiling: float) -> None:
    low, high = ax.dataLim.y0, ax.dataLim.y1
    if not low <= high:
        low, high = 0.0, 1.0
    is_level = high - low <= _ROUNDING * max(abs(low), abs(high))
    margin = 0.02 if is_level else 0.06 * (high - low)
    bottom = 0.0 if is_amount and low < high / 2 else low - margin
    ax.set_ylim(max(bottom, 0.0) if low >= 0 else bottom, min(high + margin, ceiling))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))


def percent(share: float, _: object = None) -> str:
    """Return a share as a tick's label.

    >>> percent(0.025)
    '2.5 %'
    """
    return f"{100 * share:.6g} %"


def title(entry: Metric, params: dict[str, float], level: float) -> str:
    """Return what the axis is called, and that intervals at `level` are drawn where there are."""
    name = _TITLES.get(entry.name, _html.title(entry.name))
    if "threshold" in params:
        name += f" at {params['threshold']:g}"
    others = [f"{key} {value:g}" for key, value in params.items() if key != "threshold"]
    name = ", ".join([name, *others]).replace("_", " ")
    if entry.interval is None:
        return name
    return f"{name}\nwith {100 * level:g} % interval"


def _value_format(entry: Metric) -> Formatter:
    if entry.unit == "events":
        return StrMethodFormatter("{x:,.10g}")
    if entry.name in _PERCENTAGES:
        return FuncFormatter(percent)
    return ScalarFormatter(useOffset=False)
