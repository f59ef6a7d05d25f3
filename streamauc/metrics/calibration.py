"""Calibration: whether a score of 0.3 is followed by a positive in 30 % of the cases.

Everything here takes scores for probabilities. Where they are none, that is, where a score may
lie outside [0, 1], it is undefined (see `fault`).
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.scalars import Bounds

N_GROUPS = 10
_BEYOND_ONE = math.nextafter(1.0, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityBins:
    """The bins that hold samples, lowest score first; all arrays of shape (n_bins,).

    `pos` and `neg` are the samples of each. A score of the bin is at least `low` and at most
    `high`. `middle` stands for it, half way between the two in log-odds, which is the same seen
    from the other class. A bin that begins at 0 or ends at 1 has no such middle, and is taken at
    half its width. On exact counts all three are the score.
    """

    pos: FloatArray
    neg: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, counts: ThresholdCounts) -> Self | None:
        """Return the bins; None without samples and where a score may lie outside [0, 1]."""
        pos, neg = counts.pos_steps[::-1], counts.neg_steps[::-1]
        held = np.flatnonzero(pos + neg > 0)
        if not held.size:
            return None
        low = counts.thresholds[:0:-1][held]
        high = low if counts.exact else _ends(counts)[held]
        if low[0] < 0 or high[-1] > _BEYOND_ONE:
            return None
        return cls(
            pos=pos[held].astype(np.float64),
            neg=neg[held].astype(np.float64),
            low=low,
            high=high if counts.exact else np.minimum(high, 1.0),
        )

    @property
    def middle(self) -> FloatArray:
        """The score that stands for each bin."""
        if self.high is self.low:
            return self.low
        odds, odds_against = (
            np.sqrt(self.low * self.high),
            np.sqrt((1 - self.low) * (1 - self.high)),
        )
        odds_against += odds
        middle = np.divide(odds, odds_against, out=odds, where=odds_against > 0)
        middle[self.high == 1] = (1 + self.low[self.high == 1]) / 2
        middle[self.low == 0] = self.high[self.low == 0] / 2
        return np.clip(middle, self.low, self.high, out=middle)

    @property
    def total(self) -> FloatArray:
        """The samples of each bin."""
        return self.pos + self.neg


def fault(counts: ThresholdCounts) -> str | None:
    """Return why there is no probability to judge, or None: ``empty``, ``not_probabilities``.

    Scores are taken for probabilities if every bin that holds samples lies within [0, 1], as on
    the probability scale, and on the exact scale with such scores.
    """
    if not counts.n_samples > 0:
        return "empty"
    return "not_probabilities" if ProbabilityBins.of(counts) is None else None


def _ends(counts: ThresholdCounts) -> FloatArray:
    """Return where each bin ends, lowest first; not known, at the next threshold at most."""
    if counts.ceilings is not None:
        return counts.ceilings[:0:-1]
    ends = counts.thresholds[-2::-1].copy()
    # Nothing says how far the highest bin reaches: as far as a probability can.
    ends[-1] = max(1.0, counts.thresholds[1])
    return ends


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """Mean score and share of positives of each group, lowest scores first.

    All of shape (n_groups,): `predicted`, the mean score, which lies between `predicted_low`
    and `predicted_high` whatever binning left out; `observed`, the share of positives;
    `n_samples`, how many there are, or the sum of their weights; `thresholds`, where each group
    begins. Empty without samples, and where scores are no probabilities.
    """

    predicted: FloatArray
    predicted_low: FloatArray
    predicted_high: FloatArray
    observed: FloatArray
    n_samples: FloatArray
    thresholds: FloatArray

    @property
    def distances(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest distance of mean score and share of positives."""
        above = self.predicted_low - self.observed
        below = self.observed - self.predicted_high
        return np.maximum(np.maximum(above, below), 0.0), np.maximum(-above, -below)


def reliability_curve(counts: ThresholdCounts, *, n_groups: int = N_GROUPS) -> ReliabilityCurve:
    """Return the reliability curve over groups of equal size. O(n_thresholds).

    A tied score or a bin is never split: it is in the group in which the middle of its samples
    falls. So groups may differ in size, and there may be fewer. Up to `n_groups` different
    scores are a group each. Raises ValueError unless `n_groups` is at least 1.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 1, 0, 1], [0.2, 0.2, 0.2, 0.9], scale=Scale.exact())
    >>> curve = reliability_curve(threshold_counts(h))
    >>> curve.predicted, curve.observed.round(3)
    (array([0.2, 0.9]), array([0.333, 1.   ]))
    """
    n_groups = parameters.n_groups(n_groups)
    bins = ProbabilityBins.of(counts)
    if bins is None:
        return ReliabilityCurve(*np.empty((6, 0)))
    starts = group_starts(bins.total, n_groups)
    sizes = np.add.reduceat(bins.total, starts)
    return ReliabilityCurve(
        predicted=_mean(bins.middle, bins, starts, sizes),
        predicted_low=_mean(bins.low, bins, starts, sizes),
        predicted_high=_mean(bins.high, bins, starts, sizes),
        observed=np.add.reduceat(bins.pos, starts) / sizes,
        n_samples=sizes,
        thresholds=bins.low[starts],
    )


def group_starts(total: FloatArray, n_groups: int) -> IntArray:
    """Return the first bin of each group of about equal total, strictly increasing. O(n_bins)."""
    if total.size <= n_groups:
        return np.arange(total.size)
    cumulated = total.cumsum()
    group = ((cumulated - total / 2) * (n_groups / cumulated[-1])).astype(np.int64)
    return np.flatnonzero(np.append(True, group[1:] > group[:-1]))


def _mean(
    scores: FloatArray, bins: ProbabilityBins, starts: IntArray, sizes: FloatArray
) -> FloatArray:
    means: FloatArray = np.add.reduceat(scores * bins.total, starts) / sizes
    return means


def expected_calibration_error(counts: ThresholdCounts, *, n_groups: int = N_GROUPS) -> float:
    """Return by how much scores and shares of positives differ, over the reliability curve.

    ``sum_g n_g / n * |predicted_g - observed_g|`` (Naeini, Cooper & Hauskrecht 2015, eq. 3, over
    groups of equal size). O(n_thresholds). ``nan`` without samples and where scores are no
    probabilities. It is above 0 by chance even for perfect scores, the more so the smaller the
    groups are. Raises ValueError unless `n_groups` is at least 1.
    """
    curve = reliability_curve(counts, n_groups=n_groups)
    return _weighted(np.abs(curve.predicted - curve.observed), curve)


def expected_calibration_error_bounds(
    counts: ThresholdCounts, *, n_groups: int = N_GROUPS
) -> Bounds:
    """Return what the error over the same groups is certain to lie in. O(n_thresholds).

    Groups of the scores before binning might be cut elsewhere; the bounds are for these groups.
    Both ends equal the value on exact counts.
    """
    curve = reliability_curve(counts, n_groups=n_groups)
    nearest, furthest = curve.distances
    return Bounds(_weighted(nearest, curve), _weighted(furthest, curve))


def _weighted(values: FloatArray, curve: ReliabilityCurve) -> float:
    if not values.size:
        return math.nan
    return float(np.dot(values, curve.n_samples) / curve.n_samples.sum())
