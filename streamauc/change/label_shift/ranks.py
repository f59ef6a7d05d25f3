"""The share of positives from mean ranks: the moment estimator that the likelihood is held to."""

import math
from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.aligned import NEGATIVES, POSITIVES
from streamauc.change.label_shift.groups import Sample, variance_of_mean
from streamauc.counts import NumberArray
from streamauc.histogram import ScoreHistogram

# What rounding leaves of two equal mean ranks, which are at most 2.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Moment:
    """A share of positives, which may lie outside [0, 1], and its standard error."""

    share: float
    standard_error: float


def match_ranks(reference: ScoreHistogram, current: ScoreHistogram) -> Moment:
    """Return the share at which a mixture has the current scores' mean rank. O(n_bins log n_bins).

    Ranks are those among the reference's scores with its classes weighted equally, ties in the
    middle. With the means r of the three kinds, ``(r_current - r_neg) / (r_pos - r_neg)``
    (Lipton, Wang & Smola 2018, for a classifier that answers with a rank). Nothing is grouped.
    The standard error includes the reference's size; at least two events of each class. Both
    are ``nan`` where the classes have the same mean rank, that is, an AUC of 1/2.
    """
    pos, neg = reference.counts[POSITIVES], reference.counts[NEGATIVES]
    cumulated = np.append(0.0, (pos / pos.sum() + neg / neg.sum()).cumsum())
    own = cumulated[1:] + cumulated[:-1]
    places = (reference.bins.searchsorted(current.bins, side) for side in ("left", "right"))
    left, right = places
    seen = cumulated[left] + cumulated[right]
    kinds = (_mean(reference, POSITIVES, own), _mean(reference, NEGATIVES, own))
    (r_pos, v_pos), (r_neg, v_neg) = kinds
    r_current, v_current = _mean(current, 0, seen)
    apart = r_pos - r_neg
    if abs(apart) < _NOTHING:
        return Moment(math.nan, math.nan)
    share = (r_current - r_neg) / apart
    variance = v_current + share**2 * v_pos + (1 - share) ** 2 * v_neg
    return Moment(share, math.sqrt(variance) / abs(apart))


def _mean(histogram: ScoreHistogram, row: int, ranks: FloatArray) -> tuple[float, float]:
    """Return the mean rank of a class and the variance of that mean."""
    squares: NumberArray | None = None if histogram.squares is None else histogram.squares[row]
    sample = Sample.of(histogram.counts[row], squares)
    mean = float(np.dot(sample.shares, ranks))
    if sample.size <= 1:
        return mean, math.nan
    return mean, float(variance_of_mean(sample, sample.shares * sample.rates, ranks))
