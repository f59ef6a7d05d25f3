"""How far the lowest cost may be off, the choice of the threshold included."""

import math

import numpy as np

from streamauc import _check
from streamauc._special import normal_quantile
from streamauc.counts import ThresholdCounts
from streamauc.metrics.bootstrap import N_RESAMPLES, bootstrap
from streamauc.metrics.costs import CostMatrix, threshold_costs
from streamauc.metrics.intervals import Interval


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
    standard deviations as a normal distribution has. O(n_resamples * n_thresholds). ``nan``
    without events of both classes.
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
    note = f"{n_resamples:,} bootstrap resamples, without the bias of choosing"
    return Interval(centre - reach, centre + reach, level, note)
