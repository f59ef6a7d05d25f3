"""Cost curves: the best a scorer can do for every class ratio and every ratio of costs."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from streamauc.counts import ThresholdCounts
from streamauc.metrics import catalogue
from streamauc.metrics.cost_curves import cost_curve, probability_cost
from streamauc.metrics.costs import CostMatrix
from streamauc.metrics.operating import confusion_at
from streamauc.metrics.scalars import prevalence as share_of_positives
from streamauc.plot import above, beside, legend, square, style
from streamauc.plot.above import Tag

_ONE = "one threshold for all"


def draw_cost_curve(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    thresholds: Sequence[float] = (),
    costs: CostMatrix | None = None,
    prevalence: float | None = None,
    label: str | None = None,
) -> Axes:
    """Draw the lower envelope of all thresholds' cost lines (Drummond & Holte 2006).

    From only negatives mattering, on the left, to only positives mattering, on the right; with
    it what flagging nobody and everybody would cost, and the lines of `thresholds`, named right of
    the panel. With `costs` a line says where they and `prevalence`, that of the counts if None,
    come to lie. Several curves may share axes, each with a `label`. Without positives or without
    negatives the panel says so. Returns the axes; raises ValueError for a prevalence outside
    (0, 1).
    """
    square.frame(ax, "probability cost (share due to positives)", "normalised expected cost")
    reason = catalogue.reason(counts, "roc_auc")
    if reason:
        square.undefined(ax, reason, label)
    else:
        curve = cost_curve(counts)
        x, y = curve.probability_cost, curve.normalised_cost
        square.curve(ax, x, y, label or "best threshold", n_full=x.size)
    square.reference(ax, (0, 0.5, 1), (0, 0.5, 0), "flag nobody or everybody")
    if not reason:
        _draw_lines(ax, counts, thresholds)
    share = share_of_positives(counts) if prevalence is None else prevalence
    tags = [] if costs is None else _draw_place(ax, costs, share)
    legend.write(ax, above.write(ax, tags) if tags else 0.0)
    return ax


def _draw_lines(ax: Axes, counts: ThresholdCounts, thresholds: Sequence[float]) -> None:
    """Draw what each threshold costs, from its false positive to its false negative rate."""
    points = [confusion_at(counts, one) for one in sorted(set(thresholds))]
    color = style.POINT_COLOR
    for point in points:
        is_told = any(line.get_label() == _ONE for line in ax.lines)
        label = "" if is_told else _ONE
        ends = (point.fpr, point.fnr)
        ax.plot((0, 1), ends, color=color, linewidth=1.0, zorder=2.5, label=label)
    names = [f"{'' if point.exact else '≈'}{point.requested:g}" for point in points]
    beside.write(ax, [point.fnr for point in points], names, "black")


def _draw_place(ax: Axes, costs: CostMatrix, prevalence: float) -> list[Tag]:
    """Draw where these costs lie if they lie anywhere; return what to write above."""
    # Of counts of one class only the prevalence is 0 or 1, and of none undefined.
    if not 0 < prevalence < 1:
        return []
    place = probability_cost(costs, prevalence)
    if not 0 <= place <= 1:  # or nan
        return []
    ax.axvline(place, color="black", linewidth=0.9, zorder=2)
    return [
        Tag(place, place, (f"these costs at prevalence {100 * prevalence:.3g} %", "these costs"))
    ]
