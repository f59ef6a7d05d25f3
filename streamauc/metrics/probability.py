"""How good scores are as probabilities: the Brier score with its parts, and the log loss."""

import math
from dataclasses import dataclass

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.calibration import (
    N_GROUPS,
    ProbabilityBins,
    reliability_curve,
)
from streamauc.metrics.scalars import Bounds

# Scores are kept this far from 0 and 1 in the log loss, as scikit-learn does with float64.
CLIP = float(np.finfo(np.float64).eps)


def brier_score(counts: ThresholdCounts) -> float:
    """Return the mean of ``(score - outcome)^2`` (Brier 1950). O(n_thresholds).

    From bins, a score is taken as the middle of its bin in log-odds (see `ProbabilityBins`).
    ``nan`` without samples and where scores are no probabilities.
    """
    bins = ProbabilityBins.of(counts)
    if bins is None:
        return math.nan
    middle = bins.middle
    return _mean_loss(bins, np.square(1 - middle), np.square(middle))


def brier_score_bounds(counts: ThresholdCounts) -> Bounds:
    """Return what the Brier score of the scores before binning is certain to lie in.

    Best, the positives of a bin are at its upper end and the negatives at its lower; worst,
    the other way round. Both ends equal the value on exact counts. O(n_thresholds).
    """
    bins = ProbabilityBins.of(counts)
    if bins is None:
        return Bounds(math.nan, math.nan)
    best = _mean_loss(bins, np.square(1 - bins.high), np.square(bins.low))
    worst = _mean_loss(bins, np.square(1 - bins.low), np.square(bins.high))
    return Bounds(best, worst)


@dataclass(frozen=True, slots=True)
class BrierParts:
    """The Brier score taken apart: ``reliability - resolution + uncertainty + within``.

    * `reliability`: how far the mean scores of the groups are from their shares of positives,
      squared; 0 is best.
    * `resolution`: how far the shares of the groups are from the share of all; high is good.
    * `uncertainty`: what always saying the share of all would score.
    * `within`: what differences of scores inside the groups add, mostly below 0, as they tell
      outcomes apart, too; 0 where a group is a single score.

    All are ``nan`` without samples and where scores are no probabilities.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float


def brier_parts(counts: ThresholdCounts, *, n_groups: int = N_GROUPS) -> BrierParts:
    """Return the parts of the Brier score over the groups of the reliability curve.

    Murphy 1973 has a group for every score; then `within` is 0. Where nearly every sample has
    a score of its own that says nothing, so that scores are grouped, and `within` is what
    Stephenson, Coelho & Jolliffe 2008 add to eq. 1 (their WBV - WBC). Up to `n_groups` different
    scores are a group each. O(n_thresholds). Raises ValueError unless `n_groups` is at least 1.
    """
    curve = reliability_curve(counts, n_groups=n_groups)
    if not curve.n_samples.size:
        return BrierParts(math.nan, math.nan, math.nan, math.nan)
    share = curve.n_samples / curve.n_samples.sum()
    overall = counts.n_pos / counts.n_samples
    reliability = float(np.dot(share, np.square(curve.predicted - curve.observed)))
    resolution = float(np.dot(share, np.square(curve.observed - overall)))
    uncertainty = overall * (1 - overall)
    within = brier_score(counts) - (reliability - resolution + uncertainty)
    return BrierParts(reliability, resolution, uncertainty, within)


def brier_reliability_bounds(counts: ThresholdCounts, *, n_groups: int = N_GROUPS) -> Bounds:
    """Return what the reliability over the same groups is certain to lie in. O(n_thresholds).

    Resolution and uncertainty do not depend on where in its bin a score is.
    """
    curve = reliability_curve(counts, n_groups=n_groups)
    if not curve.n_samples.size:
        return Bounds(math.nan, math.nan)
    share = curve.n_samples / curve.n_samples.sum()
    nearest, furthest = curve.distances
    return Bounds(float(np.dot(share, nearest**2)), float(np.dot(share, furthest**2)))


def log_loss(counts: ThresholdCounts, *, clip: float = CLIP) -> float:
    """Return the mean of ``-log(chance given to the outcome)``, in nats. O(n_thresholds).

    A score of exactly 0 or 1 with the other outcome would make it infinite for good. Scores are
    therefore taken as at least `clip` and at most ``1 - clip``, so that one sample adds at most
    36.04; with ``clip=0`` the loss is ``inf`` there. From bins, a score is taken as the middle
    of its bin in log-odds (see `ProbabilityBins`). ``nan`` without samples and where scores are
    no probabilities. Raises ValueError for a `clip` outside [0, 0.5).
    """
    clip = _checked(clip)
    bins = ProbabilityBins.of(counts)
    if bins is None:
        return math.nan
    middle = bins.middle
    return _mean_log_loss(bins, middle, middle, clip)


def log_loss_bounds(counts: ThresholdCounts, *, clip: float = CLIP) -> Bounds:
    """Return what the log loss of the scores before binning is certain to lie in.

    Both ends equal the value on exact counts. O(n_thresholds). Raises as `log_loss` does.
    """
    clip = _checked(clip)
    bins = ProbabilityBins.of(counts)
    if bins is None:
        return Bounds(math.nan, math.nan)
    best = _mean_log_loss(bins, bins.high, bins.low, clip)
    return Bounds(best, _mean_log_loss(bins, bins.low, bins.high, clip))


def _checked(clip: float) -> float:
    found = _check.finite("clip", clip)
    if not 0 <= found < 0.5:
        raise ValueError(f"clip must be in [0, 0.5), got {found!r}")
    return found


def _mean_log_loss(
    bins: ProbabilityBins, of_positives: FloatArray, of_negatives: FloatArray, clip: float
) -> float:
    with np.errstate(divide="ignore"):  # the logarithm of 0, which only clip=0 leaves
        pos_loss = -np.log(np.clip(of_positives, clip, 1 - clip))
        neg_loss = -np.log1p(-np.clip(of_negatives, clip, 1 - clip))
    return _mean_loss(bins, pos_loss, neg_loss)


def _mean_loss(bins: ProbabilityBins, pos_loss: FloatArray, neg_loss: FloatArray) -> float:
    if not (np.isfinite(pos_loss).all() and np.isfinite(neg_loss).all()):
        # Where nobody is, an infinite loss is none.
        pos_loss = np.where(bins.pos > 0, pos_loss, 0.0)
        neg_loss = np.where(bins.neg > 0, neg_loss, 0.0)
    loss = np.dot(bins.pos, pos_loss) + np.dot(bins.neg, neg_loss)
    return float(loss / (bins.pos.sum() + bins.neg.sum()))
