"""The ROC and the precision-recall curve of some counts."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import catalogue
from streamauc.metrics.curves import precision_recall_curve, roc_curve
from streamauc.metrics.intervals import roc_auc_interval
from streamauc.metrics.scalars import average_precision, prevalence, roc_auc
from streamauc.plot import style, thin
from streamauc.plot.labels import samples
from streamauc.plot.operating import OperatingPoint, draw_points, operating_points

_COLUMNS = 1_000
# Up to so many points each is marked: between them there is nothing to choose.
_MOST_MARKS = 20


def draw_roc(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    thresholds: Sequence[float] = (),
    level: float = 0.95,
) -> Axes:
    """Draw the ROC curve, the line of chance and operating points; return the axes.

    The legend, above the panel, has the AUC with its interval at `level`. Without positives or
    without negatives the panel says so.
    """
    _unit_square(ax, "false positive rate", "true positive rate")
    curve = roc_curve(counts)
    reason = catalogue.reason(counts, "roc_auc")
    points = operating_points(counts, thresholds)
    if reason:
        style.note(ax, f"undefined: {style.spelled(reason)}")
    else:
        _line(ax, curve.fpr, curve.tpr, points, label=_auc_label(counts, level), step=False)
    _reference(ax, 0.0, 1.0, "chance")
    if not reason:
        lines = _dots(curve.fpr, curve.tpr, 0.0, 1.0)
        draw_points(ax, points, curve.fpr, curve.tpr, lines)
    _legend(ax)
    return ax


def draw_precision_recall(
    ax: Axes, counts: ThresholdCounts, *, thresholds: Sequence[float] = ()
) -> Axes:
    """Draw the precision-recall curve, the prevalence and operating points; return the axes.

    The curve begins at its first real threshold, and each recall has the precision of the
    threshold that reaches it. The legend, above the panel, has the average precision. Without
    positives the panel says so.
    """
    _unit_square(ax, "recall", "precision")
    curve = precision_recall_curve(counts)
    reason = catalogue.reason(counts, "average_precision")
    points = operating_points(counts, thresholds)
    if reason:
        style.note(ax, f"undefined: {style.spelled(reason)}")
    else:
        later = [OperatingPoint(point.row - 1, point.label) for point in points if point.row]
        label = f"PR curve, AP {average_precision(counts):.3f}"
        _line(ax, curve.recall, curve.precision, later, label=label, step=True)
    share = prevalence(counts)
    if not math.isnan(share):
        _reference(ax, share, share, f"prevalence {100 * share:.3g} %")
    if not reason:
        recall, precision = np.repeat(curve.recall, 2)[:-1], np.repeat(curve.precision, 2)[1:]
        lines = _dots(recall, precision, share, share)
        draw_points(ax, points, counts.recall, counts.precision, lines)
    _legend(ax)
    return ax


def _unit_square(ax: Axes, x_label: str, y_label: str) -> None:
    style.tidy(ax)
    ax.set_box_aspect(1)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)


def _line(
    ax: Axes,
    x: FloatArray,
    y: FloatArray,
    points: Sequence[OperatingPoint],
    *,
    label: str,
    step: bool,
) -> None:
    """Draw a curve through its points, all those at thresholds among them."""
    drawn = np.union1d(thin.visible(x, [y], _COLUMNS), [point.row for point in points])
    rows = drawn.astype(np.int64)
    ax.plot(
        x[rows],
        y[rows],
        color=style.COLORS[0],
        linewidth=1.6,
        drawstyle="steps-pre" if step else "default",
        marker="." if rows.size <= _MOST_MARKS else "none",
        clip_on=False,
        zorder=3,
        label=label,
    )


def _dots(x: FloatArray, y: FloatArray, left: float, right: float) -> FloatArray:
    """Return dots along a curve, and fewer along a reference, which may rather be hidden."""
    reference = samples(np.array([0.0, 1.0]), np.array([left, right]), 60)
    return np.concatenate((samples(x, y, 600), reference))


def _reference(ax: Axes, left: float, right: float, label: str) -> None:
    ax.plot(
        (0, 1),
        (left, right),
        color=style.REFERENCE_COLOR,
        linewidth=1.0,
        linestyle="--",
        zorder=2,
        label=label,
    )


def _legend(ax: Axes) -> None:
    """Put the legend, if there is anything to name, above the panel, where it hides nothing."""
    if not ax.get_legend_handles_labels()[0]:
        return
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        borderaxespad=0,
        frameon=False,
        fontsize=style.SMALL,
        labelspacing=0.25,
        borderpad=0.2,
    )


def _auc_label(counts: ThresholdCounts, level: float) -> str:
    auc, found = roc_auc(counts), roc_auc_interval(counts, level=level)
    if math.isnan(found.low):
        return f"ROC curve, AUC {auc:.3f}"
    # Two digits of the interval's width say all there is to know.
    digits = min(max(2, 1 + math.ceil(-math.log10(max(found.high - found.low, 1e-9)))), 6)
    interval = f"{found.low:.{digits}f} to {found.high:.{digits}f}"
    return f"ROC curve, AUC {auc:.{digits}f}\n({100 * level:g} % interval {interval})"
