"""Areas and shares that one number sums up, each with the bounds that binning leaves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamauc._check import FloatArray
from streamauc._special import digamma_rise
from streamauc.counts import ThresholdCounts
from streamauc.metrics.reweighted import at_prevalence


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the value before binning is certain to lie in; ``nan`` where it is undefined."""

    low: float
    high: float


def prevalence(counts: ThresholdCounts) -> float:
    """Return the share of positives; ``nan`` when there are no samples."""
    return counts.n_pos / counts.n_samples if counts.n_samples else math.nan


def roc_auc(counts: ThresholdCounts) -> float:
    """Probability that a random positive scores above a random negative, ties one half.

    O(n_thresholds). Returns ``nan`` if either class is empty. Equal to the trapezoidal area
    under the ROC curve (Bamber 1975).
    """
    if not (counts.n_pos > 0 and counts.n_neg > 0):  # nor is a reweighted nothing
        return math.nan
    # Floats, not counts: 4e9 positives x 4e9 negatives do not fit in int64.
    tps = counts.tps.astype(np.float64)
    heights = tps[1:] + tps[:-1]
    area = float(np.dot(heights, counts.neg_steps.astype(np.float64)))
    # Divided once: the same scores in ten times the negatives give the same float.
    return min(1.0, area / (2 * counts.n_pos * counts.n_neg))


def roc_auc_bounds(counts: ThresholdCounts) -> Bounds:
    """Bounds on the AUC of the scores before binning; both ends equal it on the exact scale.

    Only pairs that share a bin can change order when bins are refined, so the half-width is
    half the share of such pairs. O(n_thresholds).
    """
    auc = roc_auc(counts)
    if counts.exact or math.isnan(auc):
        return Bounds(auc, auc)
    pos, neg = counts.pos_steps.astype(np.float64), counts.neg_steps.astype(np.float64)
    half = float(np.dot(pos, neg)) / 2 / counts.n_pos / counts.n_neg
    return Bounds(max(0.0, auc - half), min(1.0, auc + half))


def average_precision(counts: ThresholdCounts, *, prevalence: float | None = None) -> float:
    """Precision averaged over the positives. O(n_thresholds).

    Returns ``nan`` without positives and 1 without negatives. On exact counts the step sum
    ``sum (recall step) * precision``. From bins, the i-th of a bin's p positives is taken to
    stand after ``n * i / (p + 1)`` of its n negatives; with weights, of as many equal positives
    as have the same sum of squares. See DESIGN section 4 for the closed form.

    With `prevalence`, what it would be if that were the share of positives and each class
    scored as it does; ``nan`` unless there are both. Raises ValueError outside (0, 1).
    """
    if prevalence is not None:
        counts = at_prevalence(counts, prevalence)
    if counts.n_pos == 0 or math.isnan(counts.n_neg):
        return math.nan
    steps = BinSteps.of(counts)
    gains = steps.as_one_tie() if counts.exact else steps.interleaved()
    return _average(gains, counts)


def average_precision_bounds(counts: ThresholdCounts) -> Bounds:
    """Bounds on the step sum of the scores before binning; both equal it on the exact scale.

    Above: in every bin the positives come first, as one tie. Below: the negatives come first
    and the positives one by one (weighted: in infinitely many parts). O(n_thresholds).
    """
    if counts.n_pos == 0 or math.isnan(counts.n_neg):
        return Bounds(math.nan, math.nan)
    steps = BinSteps.of(counts)
    if counts.exact:
        value = _average(steps.as_one_tie(), counts)
        return Bounds(value, value)
    worst = steps.spread_last() if counts.is_weighted else steps.one_by_one_last()
    low, high = _average(worst, counts), _average(steps.first_as_one_tie(), counts)
    value = _average(steps.interleaved(), counts)  # it is between the two but for rounding
    return Bounds(min(low, value), max(high, value))


def _average(gains: FloatArray, counts: ThresholdCounts) -> float:
    return min(1.0, float(gains.sum()) / counts.n_pos)


@dataclass(frozen=True, slots=True, eq=False)
class BinSteps:
    """The bins that hold positives, and ways to order the p positives and n negatives in each.

    Each way returns, bin by bin, the sum over its positives of the precision where they enter.
    `tp` and `fp` are the counts above the bin, `squares` the sums of the positives' squared
    weights, None when every weight was 1. All have shape (n_bins,).
    """

    p: FloatArray
    n: FloatArray
    tp: FloatArray
    fp: FloatArray
    squares: FloatArray | None

    @classmethod
    def of(cls, counts: ThresholdCounts) -> Self:
        """Return the steps of counts. O(n_thresholds)."""
        pos = counts.pos_steps
        used = np.flatnonzero(pos > 0)
        squares = counts.tps_squares
        return cls(
            p=pos[used].astype(np.float64),
            n=counts.neg_steps[used].astype(np.float64),
            tp=counts.tps[used].astype(np.float64),
            fp=counts.fps[used].astype(np.float64),
            squares=None if squares is None else np.diff(squares)[used],
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the bins of one or more, one after the other. O(total number of bins)."""
        squares = [part.squares for part in parts if part.squares is not None]
        return cls(
            p=np.concatenate([part.p for part in parts]),
            n=np.concatenate([part.n for part in parts]),
            tp=np.concatenate([part.tp for part in parts]),
            fp=np.concatenate([part.fp for part in parts]),
            squares=np.concatenate(squares) if squares else None,
        )

    def as_one_tie(self) -> FloatArray:
        """Take all positives and negatives of a bin at one threshold."""
        tp = self.tp + self.p
        return self.p * tp / (tp + self.fp + self.n)

    def first_as_one_tie(self) -> FloatArray:
        """Take the positives at one threshold, then the negatives."""
        tp = self.tp + self.p
        return self.p * tp / (tp + self.fp)

    def one_by_one_last(self) -> FloatArray:
        """Take the negatives, then each positive at its own threshold.

        ``sum_i (tp + i) / (tp + i + f)`` with ``f = fp + n`` is
        ``p - f * (digamma(p + 1 + tp + f) - digamma(1 + tp + f))``.
        """
        f = self.fp + self.n
        start = 1 + self.tp + f
        return self.p - f * digamma_rise(start, self.p)

    def spread_last(self) -> FloatArray:
        """Take the negatives, then the positives in infinitely many parts."""
        f = self.fp + self.n
        start = self.tp + f
        growth = np.log1p(np.divide(self.p, start, out=np.zeros_like(start), where=start > 0))
        return self.p - f * growth

    def interleaved(self) -> FloatArray:
        """Take the i-th positive after ``n * i / (p + 1)`` of the negatives (DESIGN section 4).

        With weights, everything is measured in the weight of one positive.
        """
        if self.squares is None:
            return _interleaved(self.p, self.n, self.tp, self.fp)
        # The weight of one positive if those of a bin had equal weights. Differences of
        # cumulated squares are rounded; a bin holds at least one positive.
        unit = np.clip(self.squares / self.p, 1e-9 * self.p, self.p)
        return unit * _interleaved(self.p / unit, self.n / unit, self.tp / unit, self.fp / unit)


def _interleaved(p: FloatArray, n: FloatArray, tp: FloatArray, fp: FloatArray) -> FloatArray:
    share = p + 1
    share /= share + n  # 1 / a in DESIGN's words
    start = (tp + fp) * share  # C / a
    gains = tp - start
    start += 1
    gains *= digamma_rise(start, p)
    gains += p
    gains *= share
    return gains
