"""The part of the area under the ROC curve that matters, raw and standardised.

A region of false positive rates gives the area under the curve above it. A region of true
positive rates gives the area to the right of the curve beside it: the mean specificity there,
times the width. The two are each other's mirror image when the classes and the order of the
scores are swapped, and over the whole range both are the AUC.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.scalars import Bounds


def partial_roc_auc(
    counts: ThresholdCounts,
    *,
    min_fpr: float | None = None,
    max_fpr: float | None = None,
    min_tpr: float | None = None,
    max_tpr: float | None = None,
    standardised: bool = False,
) -> float:
    """Return the area of a region of false positive rates or of true positive rates.

    O(n_thresholds). Ties are diagonal pieces of the curve, and an end of the region inside one
    is interpolated. Raw, the area is at most the width of the region. `standardised` (McClish
    1989), 1/2 is what chance gives there and 1 the largest possible:
    ``(1 + (raw - chance) / (width - chance)) / 2``; below chance it is less than 1/2, for a
    region far from chance far below 0. Ends that are not given are 0 and 1; given none, the
    whole AUC.

    ``nan`` if either class is empty. Raises ValueError unless ``0 <= min < max <= 1``, and for a
    region of both kinds.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.2, 0.9, 0.9, 0.9], scale=Scale.exact())
    >>> partial_roc_auc(threshold_counts(h), max_fpr=0.25)
    0.0625
    >>> partial_roc_auc(threshold_counts(h), max_fpr=0.25, standardised=True)
    0.5714285714285714
    """
    region = Region.of(min_fpr, max_fpr, min_tpr, max_tpr)
    return area_of(counts, region, standardised=standardised)


def area_of(counts: ThresholdCounts, region: "Region", *, standardised: bool) -> float:
    """Return the area of a region, ``nan`` if either class is empty. O(n_thresholds)."""
    if not (counts.n_pos > 0 and counts.n_neg > 0):
        return math.nan
    path = _Path.of(counts, region, missing=standardised)
    xs, heights = path.within(path.along[-1] * region.low, path.along[-1] * region.high)
    area = path.share(np.diff(xs), (heights[1:] + heights[:-1]) / 2)
    return region.standardised(area) if standardised else min(area, region.width)


def partial_roc_auc_bounds(
    counts: ThresholdCounts,
    *,
    min_fpr: float | None = None,
    max_fpr: float | None = None,
    min_tpr: float | None = None,
    max_tpr: float | None = None,
    standardised: bool = False,
) -> Bounds:
    """Bounds on the partial area of the scores before binning. O(n_thresholds).

    Within each bin the curve lies between the path that takes the positives first and the one
    that takes the negatives first, at every rate; both can be what the scores were. Both ends
    equal the value on the exact scale. Undefined and wrong as for `partial_roc_auc`.
    """
    region = Region.of(min_fpr, max_fpr, min_tpr, max_tpr)
    value = area_of(counts, region, standardised=standardised)
    if counts.exact or math.isnan(value):
        return Bounds(value, value)
    path = _Path.of(counts, region, missing=standardised)
    ends = path.along[-1] * region.low, path.along[-1] * region.high
    widths = np.diff(np.clip(path.along, *ends))
    areas = [path.share(widths, side) for side in (path.height[:-1], path.height[1:])]
    if standardised:
        areas = [region.standardised(area) for area in areas]
    # The value is between the two but for rounding.
    high = min(max(areas), 1.0 if standardised else region.width)
    return Bounds(min(*areas, value), max(high, value))


@dataclass(frozen=True, slots=True)
class Region:
    """A range of rates, of the positives if `of_tpr` and of the negatives otherwise."""

    low: float
    high: float
    of_tpr: bool

    @classmethod
    def of(
        cls,
        min_fpr: float | None,
        max_fpr: float | None,
        min_tpr: float | None,
        max_tpr: float | None,
    ) -> Self:
        """Return the region that the arguments name, or say what is wrong with them."""
        of_tpr = min_tpr is not None or max_tpr is not None
        if of_tpr and (min_fpr is not None or max_fpr is not None):
            raise ValueError(
                "the region must be of one kind, got"
                f" {_named(min_fpr=min_fpr, max_fpr=max_fpr, min_tpr=min_tpr, max_tpr=max_tpr)}"
            )
        kind, low, high = ("tpr", min_tpr, max_tpr) if of_tpr else ("fpr", min_fpr, max_fpr)
        return cls(*parameters.region(kind, low, high), of_tpr)

    @property
    def width(self) -> float:
        """The largest possible area."""
        return self.high - self.low

    def standardised(self, missing: float) -> float:
        """Return McClish's form of the area that is missing from the largest possible one.

        ``1 - missing / (2 * (width - chance))``: not from the area itself, from which the largest
        possible one can differ in its last digits only.
        """
        middle = (self.low + self.high) / 2
        below_perfect = self.width * (middle if self.of_tpr else 1 - middle)
        return 1 - missing / (2 * below_perfect)


def _named(**values: float | None) -> str:
    given = [f"{name}={value!r}" for name, value in values.items() if value is not None]
    return " and ".join(given)


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The ROC curve in counts, from the side of the region.

    `along`, not decreasing, is what the region is a range of; `height` is what is summed up over
    it: true positives over false ones, or true negatives over true positives. For what is
    `missing`, false negatives and false positives. Both of shape (n_thresholds + 1,).
    """

    along: FloatArray
    height: FloatArray

    @classmethod
    def of(cls, counts: ThresholdCounts, region: Region, *, missing: bool) -> Self:
        """Return the path of counts of both classes."""
        # Floats: 4e9 positives x 4e9 negatives do not fit in int64.
        tps, fps = counts.tps.astype(np.float64), counts.fps.astype(np.float64)
        if region.of_tpr:
            return cls(tps, fps if missing else fps[-1] - fps)
        return cls(fps, tps[-1] - tps if missing else tps)

    def within(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Return the points from `low` to `high`, where the ends are interpolated.

        Where the curve is vertical at an end, the side that faces the region.
        """
        first = int(np.searchsorted(self.along, low, side="right")) - 1
        last = int(np.searchsorted(self.along, high, side="left"))
        inner = slice(first + 1, last)
        ends = self._height_at(low, first), self._height_at(high, last - 1)
        return (
            np.concatenate(([low], self.along[inner], [high])),
            np.concatenate(([ends[0]], self.height[inner], [ends[1]])),
        )

    def _height_at(self, x: float, row: int) -> float:
        """Return the height at `x`, which is on the piece from `row` to the next row."""
        start, stop = float(self.along[row]), float(self.along[row + 1])
        left, right = float(self.height[row]), float(self.height[row + 1])
        return left + (right - left) * ((x - start) / (stop - start))

    def share(self, widths: FloatArray, heights: FloatArray) -> float:
        """Return the sum of the products, in rates."""
        total = float(max(self.height[0], self.height[-1]))
        return float(np.dot(widths, heights)) / total / float(self.along[-1])
