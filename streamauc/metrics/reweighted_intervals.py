"""Confidence intervals of areas under the PR curve, also at another prevalence.

There, the few negatives with the highest scores may stand for most of what would be flagged, so
their noise is the larger part; the interval at the class ratio of the stream leaves it out.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray
from streamauc._special import expit, logit, normal_quantile
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.area_intervals import average_precision_interval, variance_of_mean
from streamauc.metrics.intervals import FEWEST, Interval, effective_sizes
from streamauc.metrics.pr_area import pr_area
from streamauc.metrics.scalars import average_precision

# With fewer it may cover less, see the README's table.
_FEW_POSITIVES = 20
# With fewer negatives behind half of the value it may be far from the truth.
_FEW_NEGATIVES = 10


def average_precision_interval_at(
    counts: ThresholdCounts, *, prevalence: float, level: float = 0.95
) -> Interval:
    """Return the interval of the average precision at another prevalence. O(n_thresholds).

    The prevalence is taken as certain. On the logit scale, from `average_precision_variance_at`;
    the lower end also allows for negatives with high scores that were not seen: the average
    precision with Wilson's upper limit in place of each false positive rate, the distance to
    which and that of the positives' part add up as the roots of squares do (as in `combined`).
    All limits at once are further away than their average would be, so this end holds more often
    than it says. Where the positives come first, one-sided.

    With fewer than 20 positives the note says that it may cover 87 % instead of 95. The value
    itself is too high where few negatives decide it, and the note says how many reach
    the scores behind half of it if they are fewer than ten. ``nan`` with fewer than two of a
    class. Raises ValueError for a prevalence or a level outside (0, 1).
    """
    level, share = _check.level(level), parameters.prevalence(prevalence)
    sizes = effective_sizes(counts)
    if not min(sizes) >= FEWEST:
        rarer = "positives" if not sizes[0] >= FEWEST else "negatives"
        return Interval(math.nan, math.nan, level, f"undefined: fewer than two {rarer}")
    value = average_precision(counts, prevalence=share)
    curve = _Curve.of(counts, (1 - share) / share)
    worst = curve.at_rates(_upper_limits(curve.fpr, sizes[1], level)).value
    if value >= 1:
        low = worst * (1 - level) ** (1 / sizes[0])
        return Interval(low, 1.0, level, "one-sided: the positives come first")
    z, slope = normal_quantile(level), 1 / (value * (1 - value))
    of_positives, of_negatives = _variances(counts, curve)
    reach = z * slope * math.sqrt(of_positives + of_negatives)
    # Binned, the value is no tie, and may be below what its rates say.
    unseen = max(0.0, logit(value) - logit(min(worst, value)))
    below = max(reach, math.hypot(unseen, z * slope * math.sqrt(of_positives)))
    note = "variances of both classes and Wilson's limit of each rate (logit scale)"
    if sizes[0] < _FEW_POSITIVES:
        note += f"; with fewer than {_FEW_POSITIVES} positives it may cover 87 % instead of 95"
    note += _few_deciding(curve, sizes[1])
    return Interval(expit(logit(value) - below), expit(logit(value) + reach), level, note)


def pr_area_interval(
    counts: ThresholdCounts, *, prevalence: float | None = None, level: float = 0.95
) -> Interval:
    """Return the interval of `pr_area`, as far around it as the average precision's reaches.

    On the logit scale; the two areas differ by how they join the points of one curve, and where
    no scores tie by less the more events there are. O(n_thresholds) and that of `pr_area`.
    ``nan`` and errors are those of the average precision's.
    """
    if prevalence is None:
        found = average_precision_interval(counts, level=level)
    else:
        found = average_precision_interval_at(counts, prevalence=prevalence, level=level)
    area = pr_area(counts, prevalence=prevalence)
    value = average_precision(counts, prevalence=prevalence)
    if math.isnan(found.low) or value >= 1:
        return found
    if area >= 1:
        return replace(found, high=1.0)
    shift = logit(area) - logit(value)
    low, high = (expit(logit(end) + shift) for end in (found.low, found.high))
    return replace(found, low=low, high=high, note=f"as of the average precision: {found.note}")


def average_precision_variance_at(counts: ThresholdCounts, *, prevalence: float) -> float:
    """Return the variance of the average precision at a prevalence. O(n_thresholds).

    ``AP = mean over positives of g``, ``g = T / (T + c F)`` with T and F the rates at the score of
    the positive and ``c = (1 - pi) / pi``. To first order a positive with the score x adds
    ``g(x) + mean over positives s <= x of dg/dT(s)``, as it raises T at all scores up to its own,
    and a negative ``mean over positives s <= x of dg/dF(s)`` (the influence function; Hampel
    1974). Each class contributes the variance of a mean, ``n - 1`` variances; with weights it is
    linearised. ``nan`` with fewer than two of a class.
    """
    share = parameters.prevalence(prevalence)
    if not min(effective_sizes(counts)) >= FEWEST:
        return math.nan
    return sum(_variances(counts, _Curve.of(counts, (1 - share) / share)))


@dataclass(frozen=True, eq=False)
class _Curve:
    """The rates at each threshold, the share of positives that enter there, and the odds c."""

    tpr: FloatArray
    fpr: FloatArray
    share: FloatArray
    odds: float

    @classmethod
    def of(cls, counts: ThresholdCounts, odds: float) -> Self:
        """Return the curve at ``(1 - prevalence) / prevalence``."""
        return cls(counts.tpr[1:], counts.fpr[1:], np.diff(counts.tpr), odds)

    def at_rates(self, fpr: FloatArray) -> "_Curve":
        """Return the curve with other false positive rates."""
        return _Curve(self.tpr, fpr, self.share, self.odds)

    @cached_property
    def flagged(self) -> FloatArray:
        """What is flagged, in true positive rates; 1 where it is nothing."""
        found: FloatArray = self.tpr + self.odds * self.fpr
        return np.where(found > 0, found, 1.0)

    @cached_property
    def precision(self) -> FloatArray:
        """The precision at each threshold."""
        return self.tpr / self.flagged

    @property
    def value(self) -> float:
        """The average precision, every bin one tie."""
        return float(np.dot(self.share, self.precision))


def _variances(counts: ThresholdCounts, curve: _Curve) -> tuple[float, float]:
    """Return what the positives and the negatives contribute to the variance."""
    # Divided twice: the square of a rate may be too small for a float64.
    steps = curve.share * curve.odds / curve.flagged
    by_tpr = _from_below(steps * (curve.fpr / curve.flagged))
    by_fpr = _from_below(steps * curve.precision)
    return (
        variance_of_mean(counts.tps, counts.tps_squares, curve.precision + by_tpr),
        variance_of_mean(counts.fps, counts.fps_squares, by_fpr),
    )


def _from_below(steps: FloatArray) -> FloatArray:
    """Return sums over each threshold and all below it."""
    total: FloatArray = steps[::-1].cumsum()[::-1]
    return total


def _upper_limits(rates: FloatArray, trials: float, level: float) -> FloatArray:
    """Return the upper end of the Wilson interval of each rate."""
    square = normal_quantile(level) ** 2 / trials
    reach = np.sqrt(square * (rates * (1 - rates) + square / 4))
    found: FloatArray = np.minimum(1.0, (rates + square / 2 + reach) / (1 + square))
    return found


def _few_deciding(curve: _Curve, n_neg: float) -> str:
    """Return a warning where few negatives reach the scores behind half of the value."""
    gained = (curve.share * curve.precision).cumsum()
    row = int(np.searchsorted(gained, gained[-1] / 2))
    n_deciding = round(float(curve.fpr[row]) * n_neg)
    if n_deciding >= _FEW_NEGATIVES:
        return ""
    return f"; half of it comes from scores that {n_deciding} negatives reach, it may be too high"
