"""Isotonic calibration: from scores to chances of being positive, the best rising fit.

The fitted chances are the slopes of the greatest convex minorant of cumulated positives over
cumulated events (Barlow et al. 1972, theorem 1.1); the same corners, seen from the other end, are
those of the convex hull of the ROC curve (Fawcett & Niculescu-Mizil 2007).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from streamauc._check import FloatArray, IntArray
from streamauc.counts import ThresholdCounts
from streamauc.scale import Scale

# Passes over all blocks go on while each leaves at most this share of them.
_WORTH_A_PASS = 0.9
_HALF_OF_ALL_FLOATS = float(np.finfo(np.float64).max) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Isotonic:
    """A rising map from scores to chances of being positive (see `isotonic`).

    Straight between the points (`thresholds`, `values`), which are float64 arrays of shape
    (n_points,): `thresholds` strictly increasing, `values` never falling. Both are empty where
    there was nothing to learn from.
    """

    thresholds: FloatArray
    values: FloatArray

    def calibrate(self, y_score: ArrayLike) -> FloatArray:
        """Return the chance of a positive at each score, shape (n_samples,).

        O(n_samples log n_points). Scores beyond the first and the last point have their
        values. ``nan`` without points. Raises ValueError for scores that are not finite.
        """
        scores = Scale.exact().check(y_score)
        points = self.thresholds
        if not points.size:
            return np.full(scores.shape, np.nan)
        scores = np.clip(scores, points[0], points[-1])
        left = points.searchsorted(scores, side="right") - 1
        right = np.minimum(left + 1, points.size - 1)
        # Halved where the difference of two points would be beyond the largest float.
        unit = 0.5 if max(-points[0], points[-1]) > _HALF_OF_ALL_FLOATS else 1.0
        start = unit * points[left]
        width = unit * points[right] - start
        along = np.divide(unit * scores - start, width, out=np.zeros(scores.shape), where=width > 0)
        low, high = self.values[left], self.values[right]
        # Rounding must not carry a score past the point above it.
        return np.minimum(low + along * (high - low), high)


def isotonic(counts: ThresholdCounts) -> Isotonic:
    """Return the rising map from scores to chances with the least squared error. O(n_thresholds).

    It is the most likely one as well. Scores that are tied or share a bin are one group: every
    score of a bin that holds samples has the value fitted to it; between two such bins the map
    is straight, as in scikit-learn. Without samples it has no points; with one class only it
    is 0 or 1 everywhere. Weights count as repetitions.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8], scale=Scale.exact())
    >>> found = isotonic(threshold_counts(h))
    >>> found.thresholds, found.values
    (array([0.1, 0.4, 0.6, 0.8]), array([0. , 0.5, 0.5, 1. ]))
    >>> found.calibrate([0.0, 0.25, 0.5, 0.9])
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    pos = counts.pos_steps[::-1].astype(np.float64)
    total = pos + counts.neg_steps[::-1]
    held = np.flatnonzero(total > 0)
    if not held.size:
        return Isotonic(np.empty(0), np.empty(0))
    starts, values = pool(pos[held], total[held])
    first = counts.thresholds[::-1][held]
    last = _last_scores(counts, held)
    stops = np.append(starts[1:], held.size) - 1
    # A block of one score is one point, any other has a point at both its ends.
    ends = np.stack((first[starts], last[stops]), axis=1).ravel()
    is_new = np.append(True, ends[1:] > ends[:-1])
    return Isotonic(ends[is_new], values.repeat(2)[is_new])


def _last_scores(counts: ThresholdCounts, held: IntArray) -> FloatArray:
    """Return the highest score of each of the `held` bins, which are counted from the lowest."""
    if counts.exact:
        return counts.thresholds[::-1][held]
    # Where the end of a bin is not known, it reaches up to the next threshold at the furthest.
    above = counts.thresholds[:-1] if counts.ceilings is None else counts.ceilings[1:]
    last = np.nextafter(above[::-1][held], -np.inf)
    return np.where(np.isfinite(above[::-1][held]), last, counts.thresholds[::-1][held])


def pool(pos: FloatArray, total: FloatArray) -> tuple[IntArray, FloatArray]:
    """Pool adjacent violators: return where each block starts, and the blocks' shares, rising.

    O(n) for `pos` and `total` of shape (n,), all totals above 0. Neighbours of which the lower
    has at least the share of the upper have one share in the end, whatever else is pooled; so
    every falling run can be pooled at once, pass by pass. Where that is slow going, as behind
    one heavy group at the upper end, the rest is done block by block.
    """
    starts = np.arange(pos.size)
    while True:
        share = pos / total
        heads = np.flatnonzero(np.append(True, share[1:] > share[:-1]))
        if heads.size == share.size:
            return starts, share
        is_slow = heads.size > _WORTH_A_PASS * share.size
        pos, total = np.add.reduceat(pos, heads), np.add.reduceat(total, heads)
        starts = starts[heads]
        if is_slow:
            kept, share = _pool_one_by_one(pos, total)
            return starts[kept], share


def _pool_one_by_one(pos: FloatArray, total: FloatArray) -> tuple[IntArray, FloatArray]:
    starts: list[int] = []
    blocks: list[tuple[float, float, float]] = []  # positives, all, their share
    for start, (p, n) in enumerate(zip(pos.tolist(), total.tolist(), strict=True)):
        share = p / n
        while blocks and blocks[-1][2] >= share:
            below = blocks.pop()
            start = starts.pop()
            p, n = p + below[0], n + below[1]
            share = p / n
        starts.append(start)
        blocks.append((p, n, share))
    return np.array(starts, dtype=np.int64), np.array([share for *_, share in blocks])
