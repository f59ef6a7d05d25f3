"""Two proportions compared: the class ratios of two sets of events."""

import math

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.results import Change, Significance
from streamauc.counts import ThresholdCounts
from streamauc.metrics.combined import difference_interval, ratio_interval
from streamauc.metrics.intervals import Interval
from streamauc.metrics.scalars import prevalence

# From this many events on, of both sides together, the score test is as good and far cheaper.
FISHER_BELOW = 100_000
# Tables as likely as the observed one but for rounding are as extreme (as in R's fisher.test).
_AS_LIKELY = 1e-7


def prevalence_change(
    reference: ThresholdCounts, current: ThresholdCounts, intervals: tuple[Interval, Interval]
) -> Change:
    """Return the change of the share of positives. O(sqrt(n_samples)) below `FISHER_BELOW`.

    The interval is Newcombe's hybrid (1998, method 10) of `intervals`, the Wilson intervals of
    both sides (see `prevalence_interval`). The test is Fisher's exact one below `FISHER_BELOW`
    events and the score test above, and always the score test when events have weights. ``nan``
    if either side is empty.
    """
    first, second = prevalence(reference), prevalence(current)
    of_first, of_second = intervals
    interval = difference_interval(second, first, of_second, of_first, "Newcombe 1998, method 10")
    return Change(first, second, second - first, interval, _test(reference, current))


def prevalence_ratio_interval(
    reference: ThresholdCounts, current: ThresholdCounts, intervals: tuple[Interval, Interval]
) -> Interval:
    """Return the interval of the current share of positives over the reference's.

    From `intervals`, the Wilson intervals of both sides (Donner & Zou 2012), so that it excludes
    1 exactly when that of the difference excludes 0. ``nan`` without positives in the reference.
    """
    of_first, of_second = intervals
    note = "from Wilson's intervals (Donner & Zou 2012)"
    return ratio_interval(prevalence(current), prevalence(reference), of_second, of_first, note)


def _test(reference: ThresholdCounts, current: ThresholdCounts) -> Significance:
    for name, side in (("reference", reference), ("current", current)):
        if not side.n_samples:
            return Significance(math.nan, f"undefined: no events in {name}")
    if reference.is_weighted or current.is_weighted:
        return Significance(_score_p_value(reference, current), "score test, weighted (linearised)")
    if reference.n_samples + current.n_samples >= FISHER_BELOW:
        return Significance(_score_p_value(reference, current), "score test")
    sides = (int(reference.n_pos), int(reference.n_neg), int(current.n_pos), int(current.n_neg))
    return Significance(fisher_p_value(*sides), "Fisher's exact test")


def fisher_p_value(first_pos: int, first_neg: int, second_pos: int, second_neg: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of two shares.

    The chance of all tables with the same margins that are at most as likely as this one. The
    hypergeometric probabilities are summed in logarithms outwards from the likeliest table, as
    far as they can matter: O(sqrt(n)) plus the distance of this table from there.

    >>> round(fisher_p_value(1, 9, 11, 3), 9)  # Fisher's own kind of example
    0.002759456
    """
    n_first, n_pos = first_pos + first_neg, first_pos + second_pos
    n_rest = first_neg + second_neg - n_first  # negatives less the first side, may be below 0
    n_all = n_pos + first_neg + second_neg
    likeliest = (n_first + 1) * (n_pos + 1) // (n_all + 2)
    spread = math.sqrt(n_first / n_all * n_pos * (1 - n_pos / n_all) * (1 - n_first / n_all))
    # The far side is at most twice as far out, and 40 deviations are below all rounding.
    reach = 2 * abs(first_pos - likeliest) + math.ceil(40 * spread) + 10
    low = max(0, -n_rest, likeliest - reach)
    high = min(n_first, n_pos, likeliest + reach)
    k = np.arange(low, high, dtype=np.float64)
    steps = np.log((n_pos - k) * (n_first - k)) - np.log((k + 1) * (n_rest + k + 1))
    logs: FloatArray = np.concatenate(([0.0], np.cumsum(steps)))
    logs -= logs[likeliest - low]
    chances = np.exp(logs)
    extreme = logs <= logs[first_pos - low] + _AS_LIKELY
    return min(1.0, float(chances[extreme].sum() / chances.sum()))


def _score_p_value(reference: ThresholdCounts, current: ThresholdCounts) -> float:
    """Return the p-value of the score test; 1 where no outcome varies, as Fisher's is.

    ``z = (p2 - p1) / sqrt(v1 + v2)``, each variance that of its share under the pooled share p:
    ``p (1 - p) / n``, and with weights ``(S_pos (1 - p)^2 + S_neg p^2) / W^2``.
    """
    total = reference.n_samples + current.n_samples
    pooled = (reference.n_pos + current.n_pos) / total
    variance = sum(_null_variance(side, pooled) for side in (reference, current))
    if not variance:
        return 1.0
    z = (prevalence(current) - prevalence(reference)) / math.sqrt(variance)
    return normal_p_value(z)


def _null_variance(side: ThresholdCounts, share: float) -> float:
    if side.tps_squares is None or side.fps_squares is None:
        return share * (1 - share) / side.n_samples
    pos, neg = float(side.tps_squares[-1]), float(side.fps_squares[-1])
    return (pos * (1 - share) ** 2 + neg * share**2) / side.n_samples**2


def normal_p_value(z: float) -> float:
    """Return the chance that a standard normal is at least as far from 0."""
    return math.erfc(abs(z) / math.sqrt(2))
