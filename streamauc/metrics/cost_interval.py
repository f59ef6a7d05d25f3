"""How far the lowest cost may be off, the choice of the threshold included."""

import math

import numpy as np

from streamauc import _check
from streamauc._special import normal_quantile
from streamauc.counts import ThresholdCounts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.bootstrap import N_RESAMPLES, bootstrap
from streamauc.metrics.costs import CostMatrix, mean_cost, threshold_costs
from streamauc.metrics.intervals import SMALL_CLASS, Interval, fpr_interval, recall_interval
from streamauc.metrics.operating import confusion_at


def lowest_mean_cost(
    counts: ThresholdCounts, costs: CostMatrix, *, prevalence: float | None = None
) -> float:
    """Return the mean cost of an event at the threshold that costs least. O(n_thresholds).

    To flag nobody and to flag everybody are among them. It is what was seen on these events, of
    which the threshold was chosen, so it flatters; `lowest_mean_cost_interval` takes that off.
    ``nan`` without events, and with `prevalence` unless there are both classes.
    """
    return float(threshold_costs(counts, costs, prevalence=prevalence).mean.min())


def lowest_mean_cost_interval(
    counts: ThresholdCounts,
    costs: CostMatrix,
    *,
    prevalence: float | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return an interval of the lowest mean cost that any threshold has, were all events known.

    From the bootstrap, the threshold chosen anew in each resample: what is chosen looks better
    than it is, in a resample beside the sample as in the sample beside the truth, so the mean
    difference is taken off (Efron & Tibshirani 1993, section 10.2); around that as many
    standard deviations as a normal distribution has. O(n_resamples * n_thresholds).

    With fewer than `SMALL_CLASS` of a class it is the hull of that and of the interval at the
    threshold that was chosen, from Wilson's of the recall and the false positive rate (Zou &
    Donner 2008): where no mistake was seen, no resample sees one. ``nan`` without events of
    both classes.
    """
    level = _check.fraction("level", level)
    if not (counts.n_pos > 0 and counts.n_neg > 0):
        return Interval(math.nan, math.nan, level, "undefined: events of one class")

    def lowest(one: ThresholdCounts) -> float:
        return lowest_mean_cost(one, costs, prevalence=prevalence)

    value = lowest(counts)
    found = bootstrap(counts, lowest, n_resamples=n_resamples, seed=seed)
    known = found[np.isfinite(found)]
    if known.size < 2:
        return Interval(math.nan, math.nan, level, "undefined: too few events")
    centre = 2 * value - float(known.mean())
    reach = normal_quantile(level) * float(known.std(ddof=1))
    note = f"{n_resamples:,} bootstrap resamples; it may cover 89 % where it says 95 %"
    drawn = Interval(centre - reach, centre + reach, level, note)
    if min(counts.n_pos, counts.n_neg) >= SMALL_CLASS:
        return drawn
    chosen = best_threshold(counts, by=costs, prevalence=prevalence).threshold
    there = _at_threshold(counts, costs, chosen, prevalence, level)
    low, high = min(drawn.low, there.low), max(drawn.high, there.high)
    return Interval(low, high, level, f"hull of {there.note} and {drawn.note}")


def _at_threshold(
    counts: ThresholdCounts,
    costs: CostMatrix,
    threshold: float,
    prevalence: float | None,
    level: float,
) -> Interval:
    """Return the interval of the mean cost at a threshold, the class ratio taken as certain.

    The cost is a sum of one part for each class; their distances to their limits add up as the
    roots of squares do.
    """
    share = counts.n_pos / counts.n_samples if prevalence is None else prevalence
    value = mean_cost(counts, costs, threshold, prevalence=prevalence)
    point = confusion_at(counts, threshold)
    below = above = 0.0
    for weight, rate, ends in (
        (-share * costs.miss, point.recall, recall_interval),
        ((1 - share) * costs.false_alarm, point.fpr, fpr_interval),
    ):
        found = ends(counts, threshold=threshold, level=level)
        moves = weight * (found.low - rate), weight * (found.high - rate)
        below, above = math.hypot(below, min(moves)), math.hypot(above, max(moves))
    return Interval(value - below, value + above, level, "Wilson's of both rates")
