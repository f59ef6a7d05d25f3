"""Gain and lift, the largest distance between the classes, and Gini's coefficient.

What is found by looking at a share of all events, those with the highest scores first.
"""

import math
from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.intervals import Interval, roc_auc_interval
from streamauc.metrics.scalars import Bounds, roc_auc, roc_auc_bounds

# Rates that differ by less than this may be equal before rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class GainsCurve:
    """Points by falling threshold, all of shape (n_points,); the first is (0, 0) at ``inf``.

    `share` is that of all events that are flagged, `gain` that of the positives among them, and
    `lift` how many times as many that is as among as many events at random; ``nan`` at ``inf``.
    """

    share: FloatArray
    gain: FloatArray
    lift: FloatArray
    thresholds: FloatArray


def gains_curve(counts: ThresholdCounts) -> GainsCurve:
    """Return the curve of cumulative gain, and the lift. O(n_thresholds).

    `gain` and `lift` are ``nan`` without positives.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.1, 0.2, 0.2, 0.9], scale=Scale.exact())
    >>> gains_curve(threshold_counts(h)).lift
    array([       nan, 2.        , 1.33333333, 1.        ])
    """
    total = counts.n_samples
    share = (counts.tps + counts.fps) / total if total else np.full(counts.tps.shape, math.nan)
    lift = np.full(share.shape, math.nan)
    np.divide(counts.tpr, share, out=lift, where=share > 0)
    return GainsCurve(share, counts.tpr, lift, counts.thresholds)


def gain(counts: ThresholdCounts, *, share: float) -> float:
    """Return the share of the positives among a share of all events. O(n_thresholds).

    The events with the highest scores; of those that share the last threshold, as ties or in a
    bin, as many as are left, at random. ``nan`` without positives. Raises ValueError for a
    share outside (0, 1].

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.1, 0.2, 0.2, 0.9], scale=Scale.exact())
    >>> gain(threshold_counts(h), share=0.5)
    0.75
    """
    tp, p, n, inside = _cut(counts, share)
    return (tp + (p * inside / (p + n) if inside else 0.0)) / counts.n_pos if p + n else math.nan


def gain_bounds(counts: ThresholdCounts, *, share: float) -> Bounds:
    """Bounds on the gain before binning; both equal it on the exact scale. O(n_thresholds).

    In the bin that the share cuts through the positives may all come first, or last.
    """
    value = gain(counts, share=share)
    if counts.exact or math.isnan(value):
        return Bounds(value, value)
    tp, p, n, inside = _cut(counts, share)
    low, high = tp + max(0.0, inside - n), tp + min(p, inside)
    return Bounds(min(value, low / counts.n_pos), max(value, high / counts.n_pos))


def lift(counts: ThresholdCounts, *, share: float) -> float:
    """Return how many times as many positives a share of all events has as one at random.

    The gain divided by the share, which is the precision divided by the prevalence.
    O(n_thresholds). ``nan`` without positives. Raises ValueError for a share outside (0, 1].
    """
    return gain(counts, share=share) / share


def lift_bounds(counts: ThresholdCounts, *, share: float) -> Bounds:
    """Bounds on the lift before binning, see `gain_bounds`."""
    found = gain_bounds(counts, share=share)
    return Bounds(found.low / share, found.high / share)


def _cut(counts: ThresholdCounts, share: float) -> tuple[float, float, float, float]:
    """Return the positives above the threshold where the share ends, and what ends there.

    Its positives, its negatives, and how many of both still belong to the share. All 0 where
    nothing is defined.
    """
    found = parameters.share(share)
    if not counts.n_pos > 0 or math.isnan(counts.n_neg):
        return 0.0, 0.0, 0.0, 0.0
    flagged = counts.tps + counts.fps
    wanted = found * counts.n_samples
    row = min(int(np.searchsorted(flagged, wanted)), flagged.size - 1)
    tp, fp = counts.tps[row - 1].item(), counts.fps[row - 1].item()
    p, n = counts.tps[row].item() - tp, counts.fps[row].item() - fp
    return tp, p, n, min(wanted - (tp + fp), p + n)


@dataclass(frozen=True, slots=True)
class LargestDistance:
    """The Kolmogorov-Smirnov statistic and the threshold where it is reached.

    `statistic` is ``abs(tpr - fpr)`` there: how far apart the shares of the two classes that
    score at least the threshold get. Where `tpr` is the smaller, the score ranks the wrong way
    round. Of several such thresholds it is the highest.
    """

    statistic: float
    threshold: float
    tpr: float
    fpr: float


def ks_statistic(counts: ThresholdCounts) -> float:
    """Return the largest distance between the two classes' distributions. O(n_thresholds).

    The two-sample statistic of Kolmogorov and Smirnov, ``max(abs(tpr - fpr))``; ``nan`` without
    positives or without negatives.
    """
    row = _furthest_row(counts)
    return math.nan if row is None else _distance(counts, row)


def ks_threshold(counts: ThresholdCounts) -> LargestDistance:
    """Return the same with the threshold where it is reached. O(n_thresholds).

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.1, 0.3, 0.2, 0.9], scale=Scale.exact())
    >>> ks_threshold(threshold_counts(h))
    LargestDistance(statistic=0.5, threshold=0.9, tpr=0.5, fpr=0.0)
    """
    row = _furthest_row(counts)
    if row is None:
        return LargestDistance(math.nan, math.nan, math.nan, math.nan)
    tpr, fpr = float(counts.tpr[row]), float(counts.fpr[row])
    return LargestDistance(_distance(counts, row), float(counts.thresholds[row]), tpr, fpr)


def ks_statistic_bounds(counts: ThresholdCounts) -> Bounds:
    """Bounds on the statistic before binning; both equal it on the exact scale. O(n_thresholds).

    Below: the value from the bins, whose thresholds are thresholds of the exact scores too.
    Above: within one bin all of one class come before the other.
    """
    value = ks_statistic(counts)
    if counts.exact or math.isnan(value):
        return Bounds(value, value)
    tpr, fpr = counts.tpr, counts.fpr
    apart = max(float((tpr[1:] - fpr[:-1]).max()), float((fpr[1:] - tpr[:-1]).max()))
    return Bounds(value, min(1.0, max(value, apart)))


def _furthest_row(counts: ThresholdCounts) -> int | None:
    """Return the first row where the rates are furthest apart, exactly so for integers."""
    if not _has_both(counts):
        return None
    apart = np.abs(counts.tpr - counts.fpr)
    rows: list[int] = np.flatnonzero(apart >= apart.max() - _ROUNDING).tolist()
    return max(rows, key=lambda row: _scaled_distance(counts, row)) if rows[1:] else rows[0]


def _has_both(counts: ThresholdCounts) -> bool:
    # Of counts at another prevalence one class missing shows as nan.
    return counts.n_pos > 0 and counts.n_neg > 0


def _scaled_distance(counts: ThresholdCounts, row: int) -> float:
    tp, fp = counts.tps[row].item(), counts.fps[row].item()
    scaled: float = abs(tp * counts.n_neg - fp * counts.n_pos)
    return scaled


def _distance(counts: ThresholdCounts, row: int) -> float:
    return _scaled_distance(counts, row) / (counts.n_pos * counts.n_neg)


def gini(counts: ThresholdCounts) -> float:
    """Return Gini's coefficient, ``2 AUC - 1``; negative below chance. O(n_thresholds).

    Also Somers' D and the accuracy ratio: the area between the curve of cumulative gain and
    chance as a share of what it would be if every positive scored above every negative. ``nan``
    without positives or without negatives.
    """
    return 2 * roc_auc(counts) - 1 if _has_both(counts) else math.nan


def gini_bounds(counts: ThresholdCounts) -> Bounds:
    """Bounds on the coefficient before binning, from those of the AUC."""
    if not _has_both(counts):
        return Bounds(math.nan, math.nan)
    auc = roc_auc_bounds(counts)
    return Bounds(2 * auc.low - 1, 2 * auc.high - 1)


def gini_interval(counts: ThresholdCounts, *, level: float = 0.95) -> Interval:
    """Return a confidence interval of the coefficient, from that of the AUC."""
    auc = roc_auc_interval(counts, level=level)
    return Interval(2 * auc.low - 1, 2 * auc.high - 1, auc.level, auc.note)
