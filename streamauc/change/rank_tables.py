"""A histogram as rows of floats, the only thing a detector's message can hold.

The rows are: kind of the scale, bits and thresholds; the lower edge of each bin, which says the
bin on every scale; the counts of each class; when weighted also the squares of each class.
"""

from collections.abc import Sequence

import numpy as np

from streamauc.histogram import ScoreHistogram
from streamauc.scale import Scale
from streamauc.storage import WideCounts

Rows = Sequence[Sequence[float]]
_KINDS = ("probability", "real", "exact")


def histogram_rows(histogram: ScoreHistogram) -> Rows:
    """Return a histogram of two classes as rows. O(n_bins). Counts above 2**53 are rounded."""
    scale = histogram.scale
    columns = [*histogram.counts] + ([] if histogram.squares is None else [*histogram.squares])
    return [
        (float(_KINDS.index(scale.kind)), float(scale.bits), *scale.thresholds),
        histogram.lower_edges().tolist(),
        *(column.astype(np.float64).tolist() for column in columns),
    ]


def histogram_from(rows: Rows) -> ScoreHistogram:
    """Return the histogram that `histogram_rows` was given. Raises ValueError for other rows."""
    head, edges, *columns = rows
    if len(columns) not in (2, 4) or any(len(column) != len(edges) for column in columns):
        raise ValueError("data is malformed: the columns of a histogram differ in length")
    scale = _scale(head)
    bins = scale.bins(np.array(edges, dtype=np.float64))
    if (np.diff(bins) <= 0).any():
        raise ValueError("data is malformed: the bins of a histogram do not increase")
    table = np.array(columns, dtype=np.float64)
    if not (np.isfinite(table) & (table >= 0)).all():
        raise ValueError("data is malformed: a count is negative or not finite")
    if len(columns) == 4:
        return ScoreHistogram(scale, WideCounts(bins, table[:2], table[2:]))
    if table.size and not (table < 2.0**63).all():
        raise ValueError("data is malformed: a count is above 2**63")
    return ScoreHistogram(scale, WideCounts(bins, table.astype(np.int64)))


def _scale(head: Sequence[float]) -> Scale:
    kind, bits, *thresholds = head
    if kind not in range(len(_KINDS)) or bits != int(bits):
        raise ValueError(f"data is malformed: {kind!r} with {bits!r} bits is no scale")
    if _KINDS[int(kind)] == "exact":
        return Scale.exact()
    make = Scale.probability if _KINDS[int(kind)] == "probability" else Scale.real
    return make(bits=int(bits), thresholds=thresholds)
