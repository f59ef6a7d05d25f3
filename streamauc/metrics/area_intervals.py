"""Confidence intervals of the areas that `intervals` leaves out: average precision, partial AUC."""

import math
from dataclasses import replace

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray
from streamauc._special import expit, logit, normal_quantile
from streamauc.counts import NumberArray, ThresholdCounts
from streamauc.metrics.intervals import (
    FEWEST,
    SMALL_CLASS,
    Interval,
    effective_sizes,
    mean_variance,
    wilson_interval,
)
from streamauc.metrics.partial import Region, area_of
from streamauc.metrics.scalars import average_precision


def average_precision_interval(counts: ThresholdCounts, *, level: float = 0.95) -> Interval:
    """Return a confidence interval of the average precision. O(n_thresholds).

    On the logit scale with the standard error ``1 / sqrt(n_pos * ap * (1 - ap))`` (Boyd, Eng &
    Page 2013, section 3.2), with weights of the positives' effective number. At another class
    ratio than that of the counts it is far too narrow: `average_precision_interval_at`. Where
    the positives come first, one-sided: ``alpha ** (1 / n_pos)``. ``nan`` with fewer than two
    positives. Raises ValueError for a level outside (0, 1).
    """
    level = _check.level(level)
    n_pos = effective_sizes(counts)[0]
    if not n_pos >= FEWEST:
        return Interval(math.nan, math.nan, level, "undefined: fewer than two positives")
    value = average_precision(counts)
    if math.isnan(value):
        return Interval(math.nan, math.nan, level, "undefined")
    if value >= 1:
        note = "one-sided: the positives come first"
        return Interval((1 - level) ** (1 / n_pos), 1.0, level, note)
    error = 1 / math.sqrt(n_pos * value * (1 - value))
    return _on_logit_scale(value, error, level, "logit scale (Boyd, Eng & Page)")


def _on_logit_scale(value: float, error: float, level: float, note: str) -> Interval:
    reach, centre = normal_quantile(level) * error, logit(value)
    return Interval(expit(centre - reach), expit(centre + reach), level, note)


def partial_roc_auc_interval(
    counts: ThresholdCounts,
    *,
    min_fpr: float | None = None,
    max_fpr: float | None = None,
    min_tpr: float | None = None,
    max_tpr: float | None = None,
    standardised: bool = False,
    level: float = 0.95,
) -> Interval:
    """Return a confidence interval of a partial area. O(n_thresholds).

    From `partial_roc_auc_variance` on the logit scale, the area taken as a share of the largest
    possible one. With fewer than `SMALL_CLASS` samples to go by it is the hull of that and of
    Wilson's interval of the share, as if it were one of so many trials; such a mean of values in
    [0, 1] varies less than a proportion. The samples to go by are those of the one class in the
    region, or all of the other if these are fewer. Arguments and errors are those of
    `partial_roc_auc`. ``nan`` with fewer than two of a class.
    """
    level = _check.level(level)
    region = Region.of(min_fpr, max_fpr, min_tpr, max_tpr)
    sizes = effective_sizes(counts)
    if not min(sizes) >= FEWEST:
        rarer = "negatives" if sizes[0] >= FEWEST else "positives"
        return Interval(math.nan, math.nan, level, f"undefined: fewer than two {rarer}")
    area = area_of(counts, region, standardised=False)
    along, across = sizes if region.of_tpr else sizes[::-1]
    n_telling = min(along * region.width, across)
    share = min(1.0, max(0.0, area / region.width))
    found = _of_share(share, _variance(counts, region) / region.width**2, n_telling, level)
    low, high = found.low * region.width, found.high * region.width
    if standardised:
        low, high = (region.standardised(region.width - end) for end in (low, high))
    return Interval(low, high, level, found.note)


def _of_share(share: float, variance: float, n_telling: float, level: float) -> Interval:
    """Return the interval of an area as a share of the largest possible one."""
    wilson = wilson_interval(share * n_telling, n_telling, level=level)
    if not (0 < share < 1 and variance > 0):
        return replace(wilson, note="Wilson: no variance can be seen")
    error = math.sqrt(variance) / (share * (1 - share))
    found = _on_logit_scale(share, error, level, "placement values (logit scale)")
    if n_telling >= SMALL_CLASS:
        return found
    low, high = min(found.low, wilson.low), max(found.high, wilson.high)
    return Interval(low, high, level, "hull of placement values (logit scale) and Wilson")


def partial_roc_auc_variance(
    counts: ThresholdCounts,
    *,
    min_fpr: float | None = None,
    max_fpr: float | None = None,
    min_tpr: float | None = None,
    max_tpr: float | None = None,
) -> float:
    """Return the variance of the raw partial area. O(n_thresholds).

    With a and b the ends of a region of false positive rates and u the share of negatives above
    a sample, a positive is worth ``b - clip(u, a, b)`` (Dodd & Pepe 2003, eq. 4), and a negative,
    which moves the threshold of every rate, ``roc(clip(u, a, b))``. Each class contributes the
    variance of a mean, ``n - 1`` variances, ties spread evenly; with weights it is linearised. A
    region of true positive rates is the same with the classes exchanged. Over the whole range it
    is DeLong's. ``nan`` with fewer than two of a class.
    """
    region = Region.of(min_fpr, max_fpr, min_tpr, max_tpr)
    return _variance(counts, region) if min(effective_sizes(counts)) >= FEWEST else math.nan


def _variance(counts: ThresholdCounts, region: Region) -> float:
    along, across = counts.fps.astype(np.float64), counts.tps.astype(np.float64)
    along_squares, across_squares = counts.fps_squares, counts.tps_squares
    if region.of_tpr:
        along, across = across, along
        along_squares, across_squares = across_squares, along_squares
    rates, heights = along / along[-1], across / across[-1]
    ahead = _averages(rates, rates, region)
    moved = _averages(rates, heights, region)
    return variance_of_mean(across, across_squares, ahead) + variance_of_mean(
        along, along_squares, moved
    )


def variance_of_mean(
    cumulated: NumberArray, squares: FloatArray | None, worth: FloatArray
) -> float:
    """Return the variance of the mean of what the samples of each bin are worth.

    `squares` are the cumulated squared weights; without them every weight is 1.
    """
    cumulated = cumulated.astype(np.float64, copy=False)
    total = float(cumulated[-1])
    mean = float(np.dot(np.diff(cumulated), worth)) / total
    return mean_variance(cumulated if squares is None else squares, worth - mean, total)


def _averages(rates: FloatArray, heights: FloatArray, region: Region) -> FloatArray:
    """Return the average over each piece of the curve of the height, clipped to the region.

    Beside the region it is the height at its nearer end. Shape (n_pieces,).
    """
    low, high = region.low, region.high
    # Where the curve is vertical at an end of the region, the height of the side that faces it.
    at_low = _height_at(low, rates, heights, int(np.searchsorted(rates, low, side="right")))
    at_high = _height_at(high, rates, heights, int(np.searchsorted(rates, high, side="left")))
    start, stop = rates[:-1], rates[1:]
    width = stop - start
    flat = width > 0
    slope = np.divide(np.diff(heights), width, out=np.zeros_like(width), where=flat)
    left, right = np.clip(start, low, high), np.clip(stop, low, high)
    inside = heights[:-1] + slope * ((left + right) / 2 - start)
    total = (right - left) * inside
    total += np.maximum(np.minimum(stop, low) - start, 0) * at_low
    total += np.maximum(stop - np.maximum(start, high), 0) * at_high
    upright = np.where(start < low, at_low, (heights[:-1] + heights[1:]) / 2)
    upright[start > high] = at_high
    return np.divide(total, width, out=upright, where=flat)


def _height_at(rate: float, rates: FloatArray, heights: FloatArray, row: int) -> float:
    """Return the height at a rate on the piece that ends at `row`."""
    row = min(max(row, 1), rates.size - 1)
    start, stop = float(rates[row - 1]), float(rates[row])
    share = (rate - start) / (stop - start) if stop > start else 0.0
    return float(heights[row - 1]) + share * float(heights[row] - heights[row - 1])
