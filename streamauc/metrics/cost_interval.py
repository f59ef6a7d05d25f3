"""How far a cost may be off, and the lowest one, the choice of the threshold included."""

import math
from dataclasses import replace

import numpy as np

from streamauc import _check
from streamauc._special import normal_quantile
from streamauc.counts import ThresholdCounts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.bootstrap import N_RESAMPLES, bootstrap
from streamauc.metrics.costs import CostMatrix, mean_cost, threshold_costs
from streamauc.metrics.intervals import (
    SMALL_CLASS,
    Interval,
    effective_sizes,
    fpr_interval,
    prevalence_interval,
    recall_interval,
)
from streamauc.metrics.operating import confusion_at
from streamauc.metrics.rate_intervals import near

# With fewer of one kind of mistake resamples see too little of it.
_FEW_MISTAKES = 10


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

    With fewer than `SMALL_CLASS` of a class, or fewer than ten misses or false alarms at the
    threshold that was chosen, it is the hull of that and of `mean_cost_interval` there: where no
    mistake was seen, no resample sees one. ``nan`` without events of both classes.
    """
    level = _check.level(level)
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
    drawn = _within(costs, Interval(centre - reach, centre + reach, level, note))
    chosen = best_threshold(counts, by=costs, prevalence=prevalence).threshold
    point = confusion_at(counts, chosen)
    is_small = min(counts.n_pos, counts.n_neg) < SMALL_CLASS
    if not is_small and min(_numbers(counts, point.fn, point.fp)) >= _FEW_MISTAKES:
        return drawn
    there = mean_cost_interval(counts, costs, chosen, prevalence=prevalence, level=level)
    low, high = min(drawn.low, there.low), max(drawn.high, there.high)
    return Interval(low, high, level, f"hull of {there.note} and {drawn.note}")


def _numbers(counts: ThresholdCounts, misses: float, alarms: float) -> tuple[float, float]:
    """Return how many events with equal weights the misses and the false alarms are."""
    n_pos, n_neg = effective_sizes(counts)
    return misses / counts.n_pos * n_pos, alarms / counts.n_neg * n_neg


def mean_cost_interval(
    counts: ThresholdCounts,
    costs: CostMatrix,
    threshold: float,
    *,
    prevalence: float | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the interval of the mean cost at a threshold. O(log n_thresholds).

    The cost moves with the recall, the false positive rate and, unless `prevalence` is given,
    the class ratio. From Wilson's interval of each: the distances to their limits add up as the
    roots of squares do (Zou & Donner 2008). ``nan`` unless there are both classes. Errors are
    those of `mean_cost`, and ValueError for a level outside (0, 1).
    """
    level = _check.level(level)
    value = mean_cost(counts, costs, threshold, prevalence=prevalence)
    if not (counts.n_pos > 0 and counts.n_neg > 0):
        return Interval(math.nan, math.nan, level, "undefined: events of one class")
    share = counts.n_pos / counts.n_samples if prevalence is None else prevalence
    point = confusion_at(counts, threshold)
    recall = recall_interval(counts, threshold=threshold, level=level)
    fpr = fpr_interval(counts, threshold=threshold, level=level)
    parts = [
        (-share * costs.miss, point.recall, recall),
        ((1 - share) * costs.false_alarm, point.fpr, fpr),
    ]
    note = "Wilson's of both rates"
    if prevalence is None:
        of_positive = costs.tp * point.recall + costs.fn * point.fnr
        of_negative = costs.fp * point.fpr + costs.tn * point.specificity
        parts.append((of_positive - of_negative, share, prevalence_interval(counts, level=level)))
        note += " and of the class ratio"
    below = above = 0.0
    for slope, rate, ends in parts:
        moves = slope * (ends.low - rate), slope * (ends.high - rate)
        below, above = math.hypot(below, min(moves)), math.hypot(above, max(moves))
    return _within(costs, Interval(value - below, value + above, level, note + near(recall, fpr)))


def _within(costs: CostMatrix, found: Interval) -> Interval:
    """Return the part of an interval between the costs of the cheapest and the dearest event."""
    entries = costs.tp, costs.fn, costs.fp, costs.tn
    low, high = (min(max(end, min(entries)), max(entries)) for end in (found.low, found.high))
    return replace(found, low=low, high=high)
