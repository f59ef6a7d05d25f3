"""Where two ROC curves cross, and which of them is above the other where."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.counts import ThresholdCounts

# Curves that are no further apart than this are taken to lie on each other.
_SAME = 1e-12

Side = Literal["first", "second", "neither", "same"]


@dataclass(frozen=True, slots=True, eq=False)
class RocCrossings:
    """Stretches along which the same of two ROC curves is above, from (0, 0) to (1, 1).

    `fpr` and `tpr`, shape (n_stretches + 1,), are where the stretches begin and end. `above`,
    shape (n_stretches,), is 1 where the first curve is above, -1 where the second is, and 0
    where the two lie on each other. `areas`, of the same shape, are what lies between them,
    with that sign: together they are the first AUC minus the second. A stretch of little area
    says little. There are none if a curve is undefined.
    """

    fpr: FloatArray
    tpr: FloatArray
    above: IntArray
    areas: FloatArray

    @property
    def crossings(self) -> FloatArray:
        """Where the curves change sides, as (fpr, tpr), shape (n_crossings, 2).

        Where they lie on each other first, the point where they part.
        """
        apart = np.flatnonzero(self.above)
        changed = np.diff(self.above[apart]) != 0
        starts = apart[1:][changed]
        return np.column_stack((self.fpr[starts], self.tpr[starts]))

    @property
    def dominant(self) -> Side | None:
        """Which curve is nowhere below the other; None if one of them is undefined."""
        if not self.above.size:
            return None
        first, second = bool((self.above > 0).any()), bool((self.above < 0).any())
        if first and second:
            return "neither"
        return "first" if first else "second" if second else "same"


def roc_crossings(first: ThresholdCounts, second: ThresholdCounts) -> RocCrossings:
    """Return where two ROC curves cross and which is above where. O(n log n) in thresholds.

    "Above" is towards (0, 1), so that it means the same on vertical and on level stretches;
    curves less than 1e-12 apart count as the same. Each is drawn straight from threshold to
    threshold, as a mixture of the two. Of binned scores only the corners are certain: two
    curves that cross between them may also cross more often, or not at all.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> def counts(y_true, y_score):
    ...     h = ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact())
    ...     return threshold_counts(h)
    >>> early = counts([1, 0, 0, 1], [0.9, 0.8, 0.7, 0.6])
    >>> late = counts([0, 1, 1, 0], [0.9, 0.8, 0.7, 0.6])
    >>> found = roc_crossings(early, late)
    >>> found.above, found.areas
    (array([ 1, -1]), array([ 0.25, -0.25]))
    >>> found.crossings
    array([[0.5, 0.5]])
    """
    # Turned by 45 degrees both curves are functions of the sum of the two rates.
    sums, gaps, heights = _turned(first, second)
    if not sums.size or math.isnan(float(gaps[-1])):
        none = np.empty(0)
        return RocCrossings(none, none, np.empty(0, dtype=np.int64), none)
    gaps[np.abs(gaps) <= _SAME] = 0.0
    sums, gaps, heights = _with_crossings(sums, gaps, heights)
    middles = (gaps[1:] + gaps[:-1]) / 2
    signs = np.sign(middles).astype(np.int64)
    starts = np.flatnonzero(np.diff(signs, prepend=2))
    ends = np.append(starts, signs.size)
    # A square of these coordinates is half as large in rates.
    areas = np.add.reduceat(middles * np.diff(sums), starts) / 2
    x, y = (sums[ends] - heights[ends]) / 2, (sums[ends] + heights[ends]) / 2
    return RocCrossings(np.clip(x, 0.0, 1.0), np.clip(y, 0.0, 1.0), signs[starts], areas)


def _turned(
    first: ThresholdCounts, second: ThresholdCounts
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sums of rates at which either curve bends, and there ``tpr - fpr``.

    That of the first minus that of the second, and their mean. All have shape (n_sums,).
    """
    ends = [(part.fpr + part.tpr, part.tpr - part.fpr) for part in (first, second)]
    sums = np.unique(np.concatenate((ends[0][0], ends[1][0])))
    one, other = (np.interp(sums, *curve) for curve in ends)
    return sums, one - other, (one + other) / 2


def _with_crossings(
    sums: FloatArray, gaps: FloatArray, heights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the same with the points where the gap changes its sign on the way."""
    before = np.flatnonzero(gaps[:-1] * gaps[1:] < 0)
    share = gaps[before] / (gaps[before] - gaps[before + 1])
    at = sums[before] + share * (sums[before + 1] - sums[before])
    height = heights[before] + share * (heights[before + 1] - heights[before])
    where = before + 1
    return (
        np.insert(sums, where, at),
        np.insert(gaps, where, 0.0),
        np.insert(heights, where, height),
    )
