"""The AUC of two independent sets of events compared."""

import math

import numpy as np

from streamauc._special import normal_quantile
from streamauc.change.proportions import normal_p_value
from streamauc.change.results import Change, Significance
from streamauc.counts import ThresholdCounts
from streamauc.metrics.combined import difference_interval
from streamauc.metrics.intervals import (
    FEWEST,
    SMALL_CLASS,
    Interval,
    effective_sizes,
    is_separated,
    roc_auc_interval,
    roc_auc_variance,
)
from streamauc.metrics.scalars import roc_auc

_RECOVERED = "squares of the distances to each AUC's limits (Zou & Donner 2008)"


def roc_auc_change(
    reference: ThresholdCounts, current: ThresholdCounts, *, level: float = 0.95
) -> Change:
    """Return the change of the AUC between two sets that share no events. O(n_thresholds).

    The variances of DeLong, DeLong & Clarke-Pearson 1988 add up, and test and interval follow
    from the normal distribution. While a class has fewer than `SMALL_CLASS` samples the interval
    is the hull with the one from the limits of the two AUCs. Where a side is perfectly
    separated DeLong sees no variance, and only those limits are used, for the test too.
    ``nan`` with fewer than two of a class.
    """
    reference, current = _as_floats(reference), _as_floats(current)
    first, second = roc_auc(reference), roc_auc(current)
    difference = second - first
    sides = (("reference", reference), ("current", current))
    if too_few := [fault for name, side in sides if (fault := _fault(name, side))]:
        undefined = f"undefined: {too_few[0]}"
        interval = Interval(math.nan, math.nan, level, undefined)
        return Change(first, second, difference, interval, Significance(math.nan, undefined))
    if is_separated(reference) or is_separated(current):
        interval = _recovered(reference, current, level)
        return Change(first, second, difference, interval, _test_from(difference, interval))
    error = math.sqrt(roc_auc_variance(reference) + roc_auc_variance(current))
    test = Significance(_p_value(difference, error), "DeLong, independent: the variances add")
    interval = _delong(difference, error, level)
    if min(*effective_sizes(reference), *effective_sizes(current)) < SMALL_CLASS:
        interval = _hull(interval, _recovered(reference, current, level))
    return Change(first, second, difference, interval, test)


def _as_floats(counts: ThresholdCounts) -> ThresholdCounts:
    """Return the counts as float64, as which they are needed many times; no AUC needs ceilings."""
    return ThresholdCounts(
        lambda: counts.thresholds,
        counts.tps.astype(np.float64, copy=False),
        counts.fps.astype(np.float64, copy=False),
        exact=counts.exact,
        tps_squares=counts.tps_squares,
        fps_squares=counts.fps_squares,
    )


def _fault(name: str, counts: ThresholdCounts) -> str | None:
    for kind, size in zip(("positives", "negatives"), effective_sizes(counts), strict=True):
        if size < FEWEST:
            return f"fewer than two {kind} in {name}"
    return None


def _p_value(difference: float, error: float) -> float:
    # Without any error every score is tied, on both sides.
    return normal_p_value(difference / error) if error else 1.0


def _delong(difference: float, error: float, level: float) -> Interval:
    reach = normal_quantile(level) * error
    return Interval(difference - reach, difference + reach, level, "DeLong, the variances add")


def _recovered(reference: ThresholdCounts, current: ThresholdCounts, level: float) -> Interval:
    return difference_interval(
        roc_auc(current),
        roc_auc(reference),
        roc_auc_interval(current, level=level),
        roc_auc_interval(reference, level=level),
        _RECOVERED,
    )


def _hull(first: Interval, second: Interval) -> Interval:
    low, high = min(first.low, second.low), max(first.high, second.high)
    return Interval(low, high, first.level, f"hull of {first.note}, and {second.note}")


def _test_from(difference: float, interval: Interval) -> Significance:
    """Return the test whose p-value is below ``1 - level`` just when the interval excludes 0."""
    toward = interval.low if difference > 0 else interval.high
    reach = abs(difference - toward)
    z = normal_quantile(interval.level) * difference / reach if difference else 0.0
    return Significance(normal_p_value(z), f"from the interval: {_RECOVERED}")
