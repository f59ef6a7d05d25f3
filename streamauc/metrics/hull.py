"""The convex hull of a ROC curve: the best that its thresholds and mixtures of them can do.

Between two thresholds every point of the line that joins them can be reached by tossing a coin
(Provost & Fawcett 2001); so the hull, not the curve, says what can be had, and only its vertices
are ever the best threshold for some costs. Counts are compared exactly, however large.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc.counts import NumberArray, ThresholdCounts
from streamauc.metrics.scalars import Bounds

# Noisy curves are done after about ten passes over neighbours. Where arcs are left below a chord,
# neighbours gnaw them off one by one, and the hull of every sixteenth point cuts them off.
_PASSES = 8
_STRIDE = 16
_FEW = 64
# Products of integers below these are exact.
_INT64_LIMIT = 2**63
_FLOAT64_LIMIT = 2.0**52
# More than two such products, with rounded factors, can be off by, as a share of either.
_ROUNDING = 2.0**-50

_Bends = Callable[[NumberArray, NumberArray], BoolArray]


@dataclass(frozen=True, slots=True, eq=False)
class RocHull:
    """The vertices by falling threshold, all of shape (n_vertices,), from (0, 0) to (1, 1).

    `rows` are their positions in the counts and in the ROC curve. No three of them are on a
    line. There are none without positives or without negatives.
    """

    rows: IntArray
    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray

    @property
    def slopes(self) -> FloatArray:
        """Slope between each vertex and the next, strictly falling, from up to ``inf`` to 0.

        A vertex is the best threshold while ``cost_fp * (1 - pi) / (cost_fn * pi)`` lies
        between the slope after it and the slope before it. Shape (n_vertices - 1,).
        """
        run, rise = np.diff(self.fpr), np.diff(self.tpr)
        slopes = np.full(run.shape, math.inf)
        np.divide(rise, run, out=slopes, where=run > 0)
        return slopes


def roc_hull(counts: ThresholdCounts) -> RocHull:
    """Return the convex hull of the ROC curve. O(n_thresholds).

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> scores = [0.9, 0.8, 0.7, 0.6, 0.5]
    >>> h = ScoreHistogram.from_scores([1, 0, 1, 0, 0], scores, scale=Scale.exact())
    >>> hull = roc_hull(threshold_counts(h))
    >>> hull.thresholds
    array([inf, 0.9, 0.7, 0.5])
    >>> hull.slopes
    array([inf, 1.5, 0. ])
    """
    rows = hull_rows(counts)
    return RocHull(rows, counts.fpr[rows], counts.tpr[rows], counts.thresholds[rows])


def hull_rows(counts: ThresholdCounts) -> IntArray:
    """Return the rows of the counts that are vertices of the hull, rising. O(n_thresholds).

    None without positives or without negatives.
    """
    if not (counts.n_pos > 0 and counts.n_neg > 0):
        return np.empty(0, dtype=np.int64)
    return upper_hull(counts.fps, counts.tps)


def roc_hull_auc(counts: ThresholdCounts) -> float:
    """Return the area under the hull of the ROC curve, never below one half. O(n_thresholds).

    ``nan`` without positives or without negatives. It favours the hull's own sample: among few
    events even a score that ranks at random has a hull above one half.
    """
    rows = hull_rows(counts)
    return _area(counts.fps[rows], counts.tps[rows]) if rows.size else math.nan


def roc_hull_auc_bounds(counts: ThresholdCounts) -> Bounds:
    """Bounds on the hull's area before binning; both equal it on the exact scale.

    Below: the value from the bins, whose points are all points of the exact curve. Above: in
    every bin the positives come first. O(n_thresholds).
    """
    value = roc_hull_auc(counts)
    if counts.exact or math.isnan(value):
        return Bounds(value, value)
    fps, tps = positives_first(counts)
    rows = upper_hull(fps, tps)
    return Bounds(value, max(value, _area(fps[rows], tps[rows])))


def positives_first(counts: ThresholdCounts) -> tuple[NumberArray, NumberArray]:
    """Return `fps` and `tps` at the upper left corner of every bin, and at the end.

    Shape (n_thresholds + 2,). No order of the events within the bins has a curve that is above
    the hull of these points.
    """
    fps = np.concatenate((counts.fps[:1], counts.fps))
    tps = np.concatenate((counts.tps, counts.tps[-1:]))
    return cast(NumberArray, fps), cast(NumberArray, tps)


def _area(fps: NumberArray, tps: NumberArray) -> float:
    heights = tps.astype(np.float64)
    widths = np.diff(fps).astype(np.float64)
    pairs: float = tps[-1].item() * fps[-1].item()
    return min(1.0, float(np.dot(heights[1:] + heights[:-1], widths)) / (2 * pairs))


def upper_hull(x: NumberArray, y: NumberArray) -> IntArray:
    """Return which points are vertices of the upper hull, rising. O(n).

    `x` and `y`, shape (n,), never fall; there is at least one point. Of equal points the first
    counts. Integers are compared exactly, floats as they are.
    """
    moves = (x[1:] > x[:-1]) | (y[1:] > y[:-1])
    points = cast(NumberArray, np.array((x, y)))
    bends = _comparison(points)
    if moves.all():
        return _vertices(points, bends)
    rows = np.concatenate(([0], np.flatnonzero(moves) + 1))
    return rows[_vertices(points[:, rows], bends)]


def _vertices(points: NumberArray, bends: _Bends) -> IntArray:
    """Return which points, shape (2, n), are vertices; no two of them are equal."""
    rows = np.arange(points.shape[1])
    while True:
        for _ in range(_PASSES):
            kept = _above_neighbours(points, bends)
            if kept.size == rows.size:
                return rows
            points, rows = points.take(kept, axis=1), rows[kept]
        if rows.size > _FEW:
            kept = _above_coarse_hull(points, bends)
            points, rows = points.take(kept, axis=1), rows[kept]


def _comparison(points: NumberArray) -> _Bends:
    """Return what compares slopes between these points without rounding integers."""
    run, rise = (points[:, -1] - points[:, 0]).tolist()
    wide = points.dtype.kind != "f" and run * rise >= _INT64_LIMIT
    return _bends_down_wide if wide else _bends_down


def _bends_down(before: NumberArray, after: NumberArray) -> BoolArray:
    """Return whether the slope of the step `after` is less than that of `before`; (2, n) each."""
    falls: BoolArray = before[1] * after[0] > after[1] * before[0]
    return falls


def _bends_down_wide(before: NumberArray, after: NumberArray) -> BoolArray:
    """Return the same for integers whose products may not fit in 64 bits."""
    runs, rises = before.astype(np.float64), after.astype(np.float64)
    left, right = runs[1] * rises[0], rises[1] * runs[0]
    falls: BoolArray = left > right
    unsure = (np.abs(left - right) <= _ROUNDING * left) & (left > _FLOAT64_LIMIT)
    for i in np.flatnonzero(unsure).tolist():
        (run, rise), (later_run, later_rise) = before[:, i].tolist(), after[:, i].tolist()
        falls[i] = rise * later_run > later_rise * run
    return falls


def _above_neighbours(points: NumberArray, bends: _Bends) -> IntArray:
    """Return which points are above the chord of their two neighbours, and both ends."""
    kept = np.ones(points.shape[1], dtype=np.bool_)
    steps = points[:, 1:] - points[:, :-1]
    kept[1:-1] = bends(steps[:, :-1], steps[:, 1:])
    return np.flatnonzero(kept)


def _above_coarse_hull(points: NumberArray, bends: _Bends) -> IntArray:
    """Return which points are above the hull of every sixteenth, and the vertices of that."""
    n = points.shape[1]
    coarse = np.append(np.arange(0, n - 1, _STRIDE), n - 1)
    ends = coarse[_vertices(points[:, coarse], bends)]
    kept = np.zeros(n, dtype=np.bool_)
    kept[ends] = True
    chord = kept[:-1].cumsum() - 1  # of every point but the last, which is kept
    starts = points[:, ends]
    chords = starts[:, 1:] - starts[:, :-1]
    from_start = points[:, :-1] - starts[:, chord]
    kept[:-1] |= bends(from_start, chords[:, chord])
    return np.flatnonzero(kept)
