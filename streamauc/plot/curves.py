"""The ROC and the precision-recall curve of some counts."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from streamauc import _check
from streamauc.counts import ThresholdCounts
from streamauc.metrics import catalogue
from streamauc.metrics.hull import roc_hull, roc_hull_auc
from streamauc.metrics.intervals import roc_auc_interval
from streamauc.metrics.scalars import average_precision, prevalence, roc_auc
from streamauc.plot import beside, legend, square, style, thin
from streamauc.plot.operating import draw_points, operating_points

ISO_F = (0.2, 0.4, 0.6, 0.8)
# Of a precision-recall curve four points in each are drawn at most.
_COLUMNS = 250


def draw_roc(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    thresholds: Sequence[float] = (),
    level: float = 0.95,
    hull: bool = True,
    label: str | None = None,
) -> Axes:
    """Draw the ROC curve, its convex hull, the line of chance and operating points.

    The legend, above the panel, has the AUC with its interval at `level` and the area of the
    hull, which mixtures of thresholds reach. Several curves may share axes, each with a `label`.
    Without positives or without negatives the panel says so. Returns the axes.
    """
    square.frame(ax, "false positive rate", "true positive rate")
    reason = catalogue.reason(counts, "roc_auc")
    points = operating_points(counts, thresholds)
    if reason:
        square.undefined(ax, reason, label)
    else:
        rows = thin.roc_rows(counts, thresholds)
        text = _auc_label(counts, level, label)
        x, y = counts.fpr[rows], counts.tpr[rows]
        line = square.curve(ax, x, y, text, n_full=counts.tps.size)
        if hull:
            _draw_hull(ax, counts, line)
    square.reference(ax, (0, 1), (0, 1), "chance")
    if not reason:
        draw_points(ax, points, counts.fpr, counts.tpr, square.dots(ax))
    legend.write(ax)
    return ax


def draw_precision_recall(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    thresholds: Sequence[float] = (),
    iso_f: Sequence[float] = ISO_F,
    label: str | None = None,
) -> Axes:
    """Draw the precision-recall curve, the prevalence, lines of equal F1 and operating points.

    The curve begins at its first real threshold, and each recall has the precision of the
    threshold that reaches it. Each F1 of `iso_f` is a dotted line, named right of the panel. The
    legend, above the panel, has the average precision. Several curves may share axes, each
    with a `label`. Without positives the panel says so. Returns the axes; raises ValueError for
    an F1 outside (0, 1).
    """
    square.frame(ax, "recall", "precision")
    reason = catalogue.reason(counts, "average_precision")
    points = operating_points(counts, thresholds)
    _draw_iso_f(ax, iso_f)
    if reason:
        square.undefined(ax, reason, label)
    else:
        rows = [point.row for point in points if point.row]
        text = f"{label or 'PR curve'}, AP {style.decimals(average_precision(counts))}"
        _draw_precision(ax, counts, rows, text)
    _draw_prevalence(ax, prevalence(counts), None if reason else label)
    if not reason:
        draw_points(ax, points, counts.recall, counts.precision, square.dots(ax))
    legend.write(ax)
    return ax


def _draw_hull(ax: Axes, counts: ThresholdCounts, curve: Line2D) -> None:
    hull = roc_hull(counts)
    ax.plot(
        hull.fpr,
        hull.tpr,
        color=curve.get_color(),
        linewidth=0.9,
        linestyle="-.",
        zorder=2.5,
        label=f"its convex hull, area {style.decimals(roc_hull_auc(counts))}",
    )


def _draw_iso_f(ax: Axes, iso_f: Sequence[float]) -> None:
    """Draw where ``2 p r / (p + r)`` has each of some values; nothing where others did."""
    values = [_check.fraction("iso_f", value) for value in iso_f]
    if any(line.get_linestyle() == ":" for line in ax.lines):
        return
    for value in values:
        recall = np.linspace(value / (2 - value), 1, 100)
        precision = value * recall / (2 * recall - value)
        ax.plot(
            recall, precision, color=style.FAINT_COLOR, linewidth=1.0, linestyle=":", zorder=1.5
        )
    heights = [value / (2 - value) for value in values]
    beside.write(ax, heights, [f"F1 {value:g}" for value in values], style.REFERENCE_COLOR)


def _draw_prevalence(ax: Axes, share: float, label: str | None) -> None:
    """Draw the precision that flagging at random has; named if another curve has another."""
    text = f"prevalence {100 * share:.3g} %"
    told = [str(line.get_label()) for line in ax.lines]
    if math.isnan(share) or text in told:
        return
    if any(one.startswith("prevalence") for one in told):
        if label is None:
            return
        text = f"prevalence of {label} {100 * share:.3g} %"
    square.reference(ax, (0, 1), (share, share), text)


def _draw_precision(ax: Axes, counts: ThresholdCounts, points: Sequence[int], label: str) -> None:
    """Draw the steps of the curve, those at operating points among them.

    Of each narrow column the extremes are drawn, not the points that a thinned curve keeps: those
    are for straight lines between them, and a step would reach too far.
    """
    recall, precision = counts.recall[1:], counts.precision[1:]
    rows = np.union1d(
        thin.visible(recall, [precision], _COLUMNS), np.array(points, dtype=np.int64) - 1
    )
    square.curve(ax, recall[rows], precision[rows], label, n_full=recall.size, is_stepped=True)


def _auc_label(counts: ThresholdCounts, level: float, label: str | None) -> str:
    name, auc = label or "ROC curve", roc_auc(counts)
    found = roc_auc_interval(counts, level=level)
    if math.isnan(found.low):
        return f"{name}, AUC {style.decimals(auc)}"
    # Two digits of the interval's width say all there is to know.
    digits = min(max(2, 1 + math.ceil(-math.log10(max(found.high - found.low, 1e-9)))), 6)
    interval = f"{found.low:.{digits}f} to {found.high:.{digits}f}"
    return f"{name}, AUC {style.decimals(auc, digits)}\n({100 * level:g} % interval {interval})"
