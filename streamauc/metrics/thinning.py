"""Curves with fewer points, for drawing and sending: which are kept, and what that costs.

A thinned curve is for looking at. Thresholds are chosen from counts, which have all points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamauc import _check
from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.hull import hull_rows
from streamauc.metrics.operating import confusion_at

# Distances up to here are rounding.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ThinnedCurve:
    """Some points of a curve by falling threshold, drawn straight from one to the next.

    `rows`, shape (n_points,), are their positions in the counts, `n_full` is how many points
    the whole curve has. `deviation` is the largest vertical distance of a point that was left
    out from the line that is drawn instead: of the true positive rate at the same false
    positive rate, or of the precision at the same recall. It is ``nan`` where the curve is
    undefined. `hull_missing` is how many vertices of the ROC hull were left out, for want of
    `max_points`.

    It is no kind of `ThresholdCounts` and has no counts, so that no threshold is chosen from it.
    """

    rows: IntArray
    thresholds: FloatArray
    n_full: int
    deviation: float
    hull_missing: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ThinnedRocCurve(ThinnedCurve):
    """Some points of a ROC curve, its ends among them; see `ThinnedCurve`."""

    fpr: FloatArray
    tpr: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ThinnedPrecisionRecallCurve(ThinnedCurve):
    """Some points of a precision-recall curve, its ends among them; see `ThinnedCurve`."""

    precision: FloatArray
    recall: FloatArray


def thin_roc_curve(
    counts: ThresholdCounts, max_points: int, *, thresholds: Sequence[float] = ()
) -> ThinnedRocCurve:
    """Return at most `max_points` points of the ROC curve. O(n_thresholds) a round, of a few.

    Always kept are the ends and the points of the operating `thresholds`, read as
    `confusion_at` reads them. Then the vertices of the hull: all of them if there is room, so
    that the hull of what is kept is the whole hull, else those that matter most to its shape.
    Then, round by round, the points that are furthest from what would be drawn without them;
    fewer than `max_points` if nothing is lost. Raises ValueError if there is not room for what
    is always kept, and for a threshold that is ``nan``.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([1, 0, 1, 0] * 3, range(12), scale=Scale.exact())
    >>> thinned = thin_roc_curve(threshold_counts(h), 8)
    >>> thinned.fpr.size, thinned.n_full, round(thinned.deviation, 3), thinned.hull_missing
    (8, 13, 0.167, 0)
    """
    rows, missing = _kept(counts, counts.fpr, counts.tpr, 0, max_points, thresholds)
    return ThinnedRocCurve(
        rows=rows,
        thresholds=counts.thresholds[rows],
        n_full=counts.tps.size,
        deviation=_deviation(counts.fpr, counts.tpr, rows),
        hull_missing=missing,
        fpr=counts.fpr[rows],
        tpr=counts.tpr[rows],
    )


def thin_precision_recall_curve(
    counts: ThresholdCounts, max_points: int, *, thresholds: Sequence[float] = ()
) -> ThinnedPrecisionRecallCurve:
    """Return at most `max_points` points of the precision-recall curve. Like `thin_roc_curve`.

    The curve begins at its first real threshold. The hull is that of the ROC curve, whose
    vertices are the achievable precision-recall curve as well (Davis & Goadrich 2006).
    """
    recall, precision = counts.recall[1:], counts.precision[1:]
    rows, missing = _kept(counts, recall, precision, 1, max_points, thresholds)
    return ThinnedPrecisionRecallCurve(
        rows=rows,
        thresholds=counts.thresholds[rows],
        n_full=recall.size,
        deviation=_deviation(recall, precision, rows - 1),
        hull_missing=missing,
        precision=counts.precision[rows],
        recall=counts.recall[rows],
    )


def _kept(
    counts: ThresholdCounts,
    x: FloatArray,
    y: FloatArray,
    first_row: int,
    max_points: int,
    thresholds: Sequence[float],
) -> tuple[IntArray, int]:
    """Return the rows to keep of a curve that begins at `first_row`, and the hull's missing."""
    limit = _check.integer("max_points", max_points, 2)
    rows = [first_row, counts.tps.size - 1, *(_row_at(counts, cut) for cut in thresholds)]
    inside = [row for row in rows if first_row <= row < counts.tps.size]
    always = np.unique(np.array(inside, dtype=np.int64))
    if always.size > limit:
        raise ValueError(
            f"max_points must be at least {always.size}, for the ends and the operating"
            f" thresholds, got {limit}"
        )
    hull = hull_rows(counts)
    hull = hull[hull >= first_row]
    kept = _filled(x, y, always - first_row, hull - first_row, limit) + first_row
    return kept, int((~np.isin(hull, kept)).sum())


def _row_at(counts: ThresholdCounts, threshold: float) -> int:
    """Return the row of the counts that `confusion_at` reads."""
    found = confusion_at(counts, threshold).threshold
    return max(0, int(np.searchsorted(-counts.thresholds, -found, side="right")) - 1)


def _filled(x: FloatArray, y: FloatArray, always: IntArray, hull: IntArray, limit: int) -> IntArray:
    """Return the positions to keep, rising: `always`, then the hull, then what matters most."""
    if not hull.size:  # an undefined curve
        return always
    kept = np.union1d(always, hull)
    if kept.size > limit:
        others = np.ones(x.size, dtype=np.bool_)
        others[hull] = False
        kept = _refined(x, y, always, others, limit)
    return _refined(x, y, kept, np.zeros(x.size, dtype=np.bool_), limit)


def _refined(
    x: FloatArray, y: FloatArray, kept: IntArray, never: BoolArray, limit: int
) -> IntArray:
    """Return `kept` and more points, up to `limit`, that are furthest from what is drawn.

    In each round, of each line that is drawn the furthest point, where that is at least half as
    far as the furthest of all.
    """
    while 1 < kept.size < limit:
        heights = _heights(x, y, kept)
        heights[never] = 0.0
        tops = np.maximum.reduceat(heights, kept[:-1])
        wanted = np.flatnonzero(tops > max(_NOTHING, float(tops.max()) / 2))
        if not wanted.size:
            break
        wanted = np.sort(wanted[np.argsort(-tops[wanted], kind="stable")][: limit - kept.size])
        starts, stops = kept[wanted].tolist(), kept[wanted + 1].tolist()
        spans = zip(starts, stops, strict=True)
        added = [start + int(heights[start:stop].argmax()) for start, stop in spans]
        kept = np.union1d(kept, added)
    return kept


def _heights(x: FloatArray, y: FloatArray, kept: IntArray) -> FloatArray:
    """Return how far each point is above or below the line drawn between its kept neighbours."""
    known = np.zeros(x.size, dtype=np.bool_)
    known[kept[:-1]] = True
    line = known.cumsum() - 1
    left, right = x[kept[:-1]], x[kept[1:]]
    slope = np.zeros(left.size)
    # A vertical line passes through all points between its ends.
    level = right > left
    np.divide(y[kept[1:]] - y[kept[:-1]], right - left, out=slope, where=level)
    heights: FloatArray = np.abs(y - y[kept[:-1]][line] - slope[line] * (x - left[line]))
    heights[~level[line]] = 0.0
    heights[kept] = 0.0
    return heights


def _deviation(x: FloatArray, y: FloatArray, kept: IntArray) -> float:
    if not x.size or math.isnan(float(x[-1] + y[-1])):
        return math.nan
    return float(_heights(x, y, kept).max()) if kept.size > 1 else 0.0
