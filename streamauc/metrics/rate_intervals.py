"""Confidence intervals of what is read off a confusion matrix, beyond the rates of one class.

All are made of shares, whose Wilson intervals keep a width where no mistake was seen.
"""

import math

import numpy as np

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.combined import difference_interval
from streamauc.metrics.intervals import (
    NEAR_AN_END,
    Interval,
    fpr_interval,
    recall_interval,
    weighted_wilson,
)
from streamauc.metrics.operating import Confusion, confusion_at


def fnr_interval(counts: ThresholdCounts, *, threshold: float, level: float = 0.95) -> Interval:
    """Return one minus the interval of the recall; ``nan`` without positives."""
    return _mirrored(recall_interval(counts, threshold=threshold, level=level))


def specificity_interval(
    counts: ThresholdCounts, *, threshold: float, level: float = 0.95
) -> Interval:
    """Return one minus the interval of the FPR; ``nan`` without negatives."""
    return _mirrored(fpr_interval(counts, threshold=threshold, level=level))


def _mirrored(found: Interval) -> Interval:
    return Interval(1 - found.high, 1 - found.low, found.level, found.note)


def npv_interval(counts: ThresholdCounts, *, threshold: float, level: float = 0.95) -> Interval:
    """Return the Wilson interval of the NPV; ``nan`` where everybody is flagged."""
    point = confusion_at(counts, threshold)
    _, _, fn, tn = _squares(counts, point)
    return weighted_wilson(point.tn, point.fn, (tn, fn), level)


def alert_rate_interval(
    counts: ThresholdCounts, *, threshold: float, level: float = 0.95
) -> Interval:
    """Return the Wilson interval of the share of flagged; ``nan`` without events."""
    point = confusion_at(counts, threshold)
    tp, fp, fn, tn = _squares(counts, point)
    return weighted_wilson(point.tp + point.fp, point.fn + point.tn, (tp + fp, fn + tn), level)


def accuracy_interval(
    counts: ThresholdCounts, *, threshold: float, level: float = 0.95
) -> Interval:
    """Return the Wilson interval of the accuracy; ``nan`` without events."""
    point = confusion_at(counts, threshold)
    tp, fp, fn, tn = _squares(counts, point)
    return weighted_wilson(point.tp + point.tn, point.fp + point.fn, (tp + tn, fp + fn), level)


def informedness_interval(
    counts: ThresholdCounts, *, threshold: float, level: float = 0.95
) -> Interval:
    """Return Newcombe's interval of ``recall - fpr``, two independent shares.

    From their Wilson intervals (Newcombe 1998, method 10). ``nan`` unless there are both classes.
    """
    point = confusion_at(counts, threshold)
    recall = recall_interval(counts, threshold=threshold, level=level)
    fpr = fpr_interval(counts, threshold=threshold, level=level)
    if not (counts.n_pos > 0 and counts.n_neg > 0):
        return Interval(math.nan, math.nan, recall.level, "undefined: events of one class")
    note = "from Wilson's of both rates (Newcombe 1998, method 10)"
    return difference_interval(point.recall, point.fpr, recall, fpr, note + near(recall, fpr))


def balanced_accuracy_interval(
    counts: ThresholdCounts, *, threshold: float, level: float = 0.95
) -> Interval:
    """Return the interval of ``(1 + informedness) / 2``; ``nan`` unless there are both classes."""
    found = informedness_interval(counts, threshold=threshold, level=level)
    return Interval((1 + found.low) / 2, (1 + found.high) / 2, found.level, found.note)


def near(*parts: Interval) -> str:
    """Return the warning that one of the parts carries, or nothing."""
    return NEAR_AN_END if any(part.note.endswith(NEAR_AN_END) for part in parts) else ""


def f_beta_interval(
    counts: ThresholdCounts, *, threshold: float, beta: float = 1, level: float = 0.95
) -> Interval:
    """Return the interval of F-beta; ``nan`` without positives where nobody is flagged.

    With ``m = (b^2 FN + FP) / max(1, b^2)`` and J the share ``TP / (TP + m)``,
    ``F = c J / (1 + (c - 1) J)``, where ``c = (1 + b^2) / max(1, b^2)``. That rises with J, so
    the ends are those of J's Wilson interval, the mistakes taken as weighted by what they count;
    with beta 1 it is the plain one of TP among all but the true negatives.
    """
    square = parameters.beta(beta) ** 2
    point = confusion_at(counts, threshold)
    tp, fp, fn, _ = _squares(counts, point)
    unit = max(1.0, square)
    weights = square / unit, 1 / unit
    mistakes = weights[0] * point.fn + weights[1] * point.fp
    squares = tp, weights[0] ** 2 * fn + weights[1] ** 2 * fp
    share = weighted_wilson(point.tp, mistakes, squares, level)
    c = sum(weights)
    low, high = (c * end / (1 + (c - 1) * end) for end in (share.low, share.high))
    return Interval(low, high, share.level, share.note.replace("Wilson", "Wilson's of TP", 1))


def _squares(counts: ThresholdCounts, point: Confusion) -> tuple[float, float, float, float]:
    """Return the sums of squared weights of tp, fp, fn and tn; without weights, the counts."""
    if counts.tps_squares is None or counts.fps_squares is None:
        return point.tp, point.fp, point.fn, point.tn
    flagged = counts.tps + counts.fps
    row = int(np.searchsorted(flagged, point.tp + point.fp, side="right")) - 1
    tp, fn = _parts(counts.tps_squares, row)
    fp, tn = _parts(counts.fps_squares, row)
    return tp, fp, fn, tn


def _parts(squares: FloatArray, row: int) -> tuple[float, float]:
    inside = float(squares[row])
    return inside, float(squares[-1]) - inside
