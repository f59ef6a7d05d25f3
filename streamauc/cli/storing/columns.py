"""Panes as rows: a row for each bin and class that holds something."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamauc import storage
from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc.cli.reading.arrow import Cells
from streamauc.cli.storing.layout import SCHEMA
from streamauc.scale import Scale
from streamauc.storage import WideCounts
from streamauc.store.lane import Panes
from streamauc.timeline import n_classes_of

_PANE_TIME = pa.timestamp("ms", "UTC")


@dataclass(frozen=True, slots=True)
class Lane:
    """Where panes come from; `seconds` is the length of one."""

    series: str
    scale: Scale
    channel: str
    tier: int
    seconds: int


def pane_rows(lane: Lane, panes: Panes) -> pa.RecordBatch:
    """Return the rows of panes, in the order of pane, bin and class. O(size)."""
    cells = _joined(
        [_cells(index, storage.widen(part, n_classes_of(lane.channel))) for index, part in panes]
    )
    n_rows = cells.bins.size
    start = cells.panes * (lane.seconds * 1_000)
    one_class = n_classes_of(lane.channel) == 1
    columns: list[Cells] = [
        pa.repeat(pa.scalar(lane.series), n_rows),
        pa.repeat(pa.scalar(lane.channel), n_rows),
        pa.repeat(pa.scalar(lane.tier, pa.int32()), n_rows),
        pa.array(start).cast(_PANE_TIME),
        pa.array(start + lane.seconds * 1_000).cast(_PANE_TIME),
        pa.array(cells.bins),
        pa.array(lane.scale.lower_edges(cells.bins)),
        pa.array(lane.scale.lower_edges(cells.bins + 1)),
        pa.nulls(n_rows, pa.int32()) if one_class else pa.array(cells.classes.astype(np.int32)),
        pa.array(cells.counts, mask=cells.weighted),
        pa.array(cells.weights),
        pa.array(cells.squares, mask=~cells.weighted),
        pa.nulls(n_rows, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Columns of shape (n_rows,); `counts` are 0 where `weighted`, else `squares` are."""

    panes: IntArray
    bins: IntArray
    classes: IntArray
    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    weighted: BoolArray


def _cells(index: int, wide: WideCounts) -> _Rows:
    """Return what a pane holds by bin and class."""
    n_classes = wide.counts.shape[0]
    weights = wide.counts.T.ravel()
    squares = np.zeros(weights.shape) if wide.squares is None else wide.squares.T.ravel()
    used = np.flatnonzero((weights != 0) | (squares != 0))
    is_weighted = wide.squares is not None
    counts = np.zeros(used.size, dtype=np.int64) if is_weighted else weights[used].astype(np.int64)
    return _Rows(
        panes=np.full(used.size, index, dtype=np.int64),
        bins=wide.bins[used // n_classes],
        classes=used % n_classes,
        counts=counts,
        weights=weights[used].astype(np.float64),
        squares=squares[used],
        weighted=np.full(used.size, is_weighted),
    )


def _joined(parts: Sequence[_Rows]) -> _Rows:
    return _Rows(
        panes=np.concatenate([part.panes for part in parts]),
        bins=np.concatenate([part.bins for part in parts]),
        classes=np.concatenate([part.classes for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        squares=np.concatenate([part.squares for part in parts]),
        weighted=np.concatenate([part.weighted for part in parts]),
    )
