"""Which points of a long line have to be drawn: as many as can be seen."""

from collections.abc import Sequence

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.thinning import thin_roc_curve

_MOST_POINTS = 400


def roc_rows(counts: ThresholdCounts, thresholds: Sequence[float]) -> IntArray:
    """Return which rows of counts to draw of a curve that is straight between them.

    All of a few hundred. Of more, those that a ROC curve needs to look the same, with the ones
    at the thresholds.
    """
    if counts.tps.size <= _MOST_POINTS:
        return np.arange(counts.tps.size)
    room = max(_MOST_POINTS, len(thresholds) + 2)
    return thin_roc_curve(counts, room, thresholds=thresholds).rows


def visible(x: FloatArray, lines: list[FloatArray], n_columns: int) -> IntArray:
    """Return the positions to draw of lines over the same rising `x`. O(n_points).

    Of each of `n_columns` columns of equal width: the first and the last point, and for each
    line its lowest and its highest. All of them while there are no more points than that. A gap
    (``nan``) is kept unless it is narrower than a column. Positions are sorted and distinct.
    """
    per_column = 2 + 2 * len(lines)
    if x.size <= per_column * n_columns:
        return np.arange(x.size)
    columns = ((x - x[0]) / (x[-1] - x[0] or 1.0) * n_columns).astype(np.int64)
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    stops = np.append(starts[1:], x.size)
    kept = [starts, stops - 1]
    for line in lines:
        kept += [_lowest(line, starts, stops), _lowest(-line, starts, stops)]
    return np.unique(np.concatenate(kept))


def _lowest(line: FloatArray, starts: IntArray, stops: IntArray) -> IntArray:
    """Return where the lowest defined point of each column is."""
    defined = np.where(np.isnan(line), np.inf, line)
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    return np.array([start + int(defined[start:stop].argmin()) for start, stop in spans])
