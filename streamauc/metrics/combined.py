"""Intervals of a difference and of a ratio, from the intervals of the two independent parts.

The method of variance estimates recovery: a part's variance near each of its limits is taken
from the distance to that limit, so that what is right about the parts' intervals (they stay
within [0, 1], they are lopsided where they should be) carries over. The difference excludes 0
exactly when the ratio excludes 1.
"""

import math

from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.intervals import NEAR_AN_END, Interval, fpr_interval, recall_interval
from streamauc.metrics.operating import confusion_at


def difference_interval(
    first: float, second: float, of_first: Interval, of_second: Interval, note: str
) -> Interval:
    """Return the interval of ``first - second``; ``nan`` where either part is undefined.

    ``low = d - sqrt((p1 - l1)^2 + (u2 - p2)^2)``, ``high`` the other way round (Newcombe 1998,
    method 10, where the parts are Wilson's; Zou & Donner 2008 for any).
    """
    difference = first - second
    low = difference - math.hypot(first - of_first.low, of_second.high - second)
    high = difference + math.hypot(of_first.high - first, second - of_second.low)
    return Interval(low, high, of_first.level, note)


def ratio_interval(
    first: float, second: float, of_first: Interval, of_second: Interval, note: str
) -> Interval:
    """Return the interval of ``first / second``, neither negative.

    ``nan`` where `second` is 0 and where either part is undefined. The limits are the R for
    which the interval of ``first - R * second`` just reaches 0 (Donner & Zou 2012, eq. 9).
    """
    if not second > 0:
        return Interval(math.nan, math.nan, of_first.level, "undefined: divides by zero")
    product = first * second
    low, _ = _roots(_rest(second, of_second.high), product, _rest(first, of_first.low))
    _, high = _roots(_rest(second, of_second.low), product, _rest(first, of_first.high))
    return Interval(low, high, of_first.level, note)


def _rest(value: float, limit: float) -> float:
    """Return ``value^2 - (value - limit)^2``, which may be negative."""
    return limit * (2 * value - limit)


def _roots(square: float, product: float, constant: float) -> tuple[float, float]:
    """Return the smaller and the larger R of ``square R^2 - 2 product R + constant = 0``.

    Neither factor is negative; the larger root is infinite where `square` is 0.
    """
    # Never below 0, but for rounding: no limit is further from its value than 0 is.
    middle = product + math.sqrt(max(0.0, product * product - square * constant))
    return constant / middle if middle else 0.0, middle / square if square else math.inf


def precision_interval_at(
    counts: ThresholdCounts, *, threshold: float, prevalence: float, level: float = 0.95
) -> Interval:
    """Return the interval of the precision at another prevalence, itself taken as certain.

    ``1 / (1 + (1 - pi) / pi * fpr / tpr)`` falls with ``fpr / tpr``, so the limits of that ratio
    of two independent shares give its own. ``nan`` unless there are positives and negatives and
    somebody is flagged. Raises ValueError for a prevalence outside (0, 1).
    """
    share = parameters.prevalence(prevalence)
    odds = share / (1 - share)
    point = confusion_at(counts, threshold)
    tpr = recall_interval(counts, threshold=threshold, level=level)
    fpr = fpr_interval(counts, threshold=threshold, level=level)
    if not (counts.n_pos and counts.n_neg and point.tp + point.fp):
        return Interval(math.nan, math.nan, tpr.level, "undefined: nobody is flagged")
    note = "from the ratio of Wilson's intervals (Donner & Zou 2012)"
    if tpr.note.endswith(NEAR_AN_END) or fpr.note.endswith(NEAR_AN_END):
        note += NEAR_AN_END
    # Of the two ratios the one that does not divide by zero; both give the same limits.
    if point.tp:
        ratio = ratio_interval(point.fpr, point.recall, fpr, tpr, note)
        low, high = odds / (odds + ratio.high), odds / (odds + ratio.low)
    else:
        ratio = ratio_interval(point.recall, point.fpr, tpr, fpr, note)
        low, high = (odds * end / (1 + odds * end) for end in (ratio.low, ratio.high))
    return Interval(low, high, ratio.level, note)
