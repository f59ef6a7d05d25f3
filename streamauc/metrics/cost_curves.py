"""Cost curves: what a scorer costs at best for every class ratio and every ratio of costs.

Each threshold is a straight line from its false positive rate, where only negatives matter, to
its false negative rate, where only positives do (Drummond & Holte 2006). The lower envelope of
the lines is what the best threshold costs; its pieces are the vertices of the ROC convex hull.
"""

import math
from dataclasses import dataclass

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray, IntArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.costs import CostMatrix
from streamauc.metrics.hull import hull_rows
from streamauc.metrics.operating import confusion_at


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """The lowest normalised expected cost, and which threshold reaches it.

    `probability_cost`, strictly increasing from 0 to 1, holds the m + 1 ends of m ranges;
    `normalised_cost` is the cost at them, between which it is straight. In the i-th range
    ``thresholds[i]`` is best, with `fpr` and `fnr`; thresholds decrease. Without one of the
    classes there is one range, where all is ``nan``.
    """

    probability_cost: FloatArray
    normalised_cost: FloatArray
    thresholds: FloatArray
    fpr: FloatArray
    fnr: FloatArray

    def cost_at(self, probability_cost: float) -> float:
        """Return the lowest normalised expected cost there; ``nan`` for ``nan``. O(log m).

        Raises ValueError outside [0, 1].
        """
        row = self._range_of(probability_cost)
        if row is None:
            return math.nan
        fnr, fpr = self.fnr[row].item(), self.fpr[row].item()
        return _on_line(fnr, fpr, probability_cost)

    def threshold_at(self, probability_cost: float) -> float:
        """Return the best threshold there; ``nan`` for ``nan``. O(log m).

        Where two ranges meet, the higher threshold. Raises ValueError outside [0, 1].
        """
        row = self._range_of(probability_cost)
        return math.nan if row is None else float(self.thresholds[row])

    def _range_of(self, probability_cost: float) -> int | None:
        if math.isnan(_check_share(probability_cost)):
            return None
        return int(np.searchsorted(self.probability_cost[1:-1], probability_cost, side="left"))


def cost_curve(counts: ThresholdCounts) -> CostCurve:
    """Return the lower envelope of the cost lines of all thresholds. O(n_thresholds).

    To flag nobody (``inf``) and to flag everybody are among them. Thresholds that are best
    nowhere, or at a single point only, are left out.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.2, 0.8, 0.9, 0.8], scale=Scale.exact())
    >>> curve = cost_curve(threshold_counts(h))
    >>> curve.thresholds, curve.probability_cost
    (array([0.9, 0.8]), array([0. , 0.5, 1. ]))
    """
    if not (counts.n_pos > 0 and counts.n_neg > 0):
        nothing, undefined = np.full(2, np.nan), np.full(1, np.nan)
        return CostCurve(np.array([0.0, 1.0]), nothing, undefined, undefined, undefined)
    rows = hull_rows(counts)
    ends = _ends(counts, rows)
    wide = np.diff(ends) > 0
    rows, ends = rows[wide], np.append(ends[:-1][wide], 1.0)
    fpr: FloatArray = counts.fpr[rows]
    missed = (counts.n_pos - counts.tps[rows]).astype(np.float64)
    fnr: FloatArray = missed / counts.n_pos
    # At an inner end both neighbours cost the same; the last end belongs to the last range.
    cost = _on_lines(np.append(fnr, fnr[-1]), np.append(fpr, fpr[-1]), ends)
    return CostCurve(ends, cost, counts.thresholds[rows], fpr, fnr)


def normalised_cost(counts: ThresholdCounts, *, threshold: float, probability_cost: float) -> float:
    """Return the normalised expected cost of a threshold, 1 at most. O(log n_thresholds).

    ``FNR * x + FPR * (1 - x)`` with x the probability cost (Drummond & Holte 2006).
    ``nan`` unless there are both classes, and for an x of ``nan``. Raises ValueError for x
    outside [0, 1] and for a threshold of ``nan``.
    """
    share = _check_share(probability_cost)
    point = confusion_at(counts, threshold)
    return _on_line(point.fnr, point.fpr, share)


def probability_cost(costs: CostMatrix, prevalence: float) -> float:
    """Return which share of what can go wrong is due to positives: the x of a cost curve.

    ``pi * miss / (pi * miss + (1 - pi) * alarm)``, pi the prevalence, with what a miss costs
    more than a hit and a false alarm more than leaving a negative alone (Drummond & Holte 2006).
    ``nan`` where one of the two costs less, or neither more: there a cost curve says nothing.
    Raises ValueError for a prevalence outside (0, 1).

    The mean cost is ``pi * tp + (1 - pi) * tn`` plus the denominator times the normalised cost.

    >>> probability_cost(CostMatrix(fn=9, fp=1), 0.1)
    0.5
    """
    share = parameters.prevalence(prevalence)
    if min(costs.miss, costs.false_alarm) < 0 or costs.miss == costs.false_alarm == 0:
        return math.nan
    positive = share * costs.miss
    return positive / (positive + (1 - share) * costs.false_alarm)


def _ends(counts: ThresholdCounts, rows: IntArray) -> FloatArray:
    """Return the ends of the ranges in which the vertices are best, not decreasing.

    Two vertices cost the same at ``dFPR / (dFPR + dTPR)``.
    """
    right = np.diff(counts.fps[rows]) / counts.n_neg
    up = np.diff(counts.tps[rows]) / counts.n_pos
    inner = np.maximum.accumulate(right / (right + up))
    return np.concatenate(([0.0], inner, [1.0]))


def _on_line(fnr: float, fpr: float, share: float) -> float:
    return fnr * share + fpr * (1 - share)


def _on_lines(fnr: FloatArray, fpr: FloatArray, shares: FloatArray) -> FloatArray:
    return fnr * shares + fpr * (1 - shares)


def _check_share(value: float) -> float:
    share = _check.number("probability_cost", value)
    if not math.isnan(share) and not 0 <= share <= 1:
        raise ValueError(f"probability_cost must be in [0, 1], got {share!r}")
    return share
