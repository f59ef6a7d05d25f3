"""Rows as panes: everything that a row says is checked, whoever wrote the file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc._time import MAX_TIME
from streamauc.cli.reading.arrow import Cells as Column
from streamauc.cli.storing.facts import SeriesRecord
from streamauc.cli.storing.layout import REST
from streamauc.cli.storing.records import shown
from streamauc.scale import Scale
from streamauc.storage import SparseCounts, Storage, WideCounts
from streamauc.tiers import FOR_EVER
from streamauc.timeline import n_classes_of

Pane = tuple[str, int, int, Storage]  # (channel, tier, index, counts)
_NEEDED = (
    "series", "channel", "tier", "pane_start", "pane_end", "bin", "score_low", "score_high",
    "weight",
)  # fmt: skip
# Sums of counts beyond this need a form of their own.
_MAX_TOTAL = 2.0**62


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Checked rows, all of shape (n_rows,); `channels` are numbers in the order of the series.

    `counts` are 0 where `weighted`.
    """

    channels: IntArray
    tiers: IntArray
    panes: IntArray
    bins: IntArray
    classes: IntArray
    counts: IntArray
    weights: FloatArray
    squares: FloatArray
    weighted: BoolArray

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.bins.size)

    def take(self, start: int, stop: int) -> "Cells":
        """Return rows from `start` up to `stop`."""
        return Cells(*(getattr(self, one.name)[start:stop] for one in fields(self)))

    def then(self, later: "Cells") -> "Cells":
        """Return these rows and later ones."""
        return Cells(
            *(
                np.concatenate((getattr(self, one.name), getattr(later, one.name)))
                for one in fields(self)
            )
        )


class RowChecker:
    """Checks rows of one series; `where` tells the number of a row of the file, from 1 on."""

    def __init__(self, series: SeriesRecord, where: Callable[[int], int]) -> None:
        self._series = series
        self._where = where
        facts = series.facts
        self._n_classes = np.array([n_classes_of(name) for name in series.channels] or [1])
        self._seconds = np.array([tier.pane_seconds for tier in facts.tiers])
        self._first = np.array(facts.first)
        # Finer panes survive from here on, so that this one does not.
        pairs = zip(facts.first[:-1], facts.tiers[:-1], strict=True)
        ends = [max(FOR_EVER, first * tier.pane_seconds) for first, tier in pairs]
        self._stop = np.array([-FOR_EVER, *ends])

    def check(self, batch: pa.RecordBatch) -> Cells:
        """Return the rows of a batch. Raises ValueError for the first that is wrong."""
        self._check_nulls(batch)
        channels = self._channels(batch)
        tiers = self._within(batch, "tier", 0, self._seconds.size - 1)
        panes = self._panes(batch, tiers)
        bins = self._bins(batch)
        classes = self._classes(batch, self._n_classes[channels])
        squares = batch.column("weight_squares")
        weighted = np.asarray(squares.is_valid())
        counts = self._counts(batch, weighted)
        weights = self._weights(batch.column("weight"), "weight")
        self._fail(
            ~weighted & (weights != counts), "weight must be the count", batch.column("weight")
        )
        found = self._weights(squares.fill_null(0.0), "weight_squares")
        self._fail((weights == 0) & (found == 0), "weight must not be 0")
        return Cells(channels, tiers, panes, bins, classes, counts, weights, found, weighted)

    def _fail(self, bad: BoolArray, requirement: str, got: "Column | None" = None) -> None:
        """Raise ValueError if any row is bad."""
        rows = np.flatnonzero(bad)
        if rows.size:
            row = int(rows[0])
            said = "" if got is None else f", got {_plain(got, row)}"
            raise ValueError(f"row {self._where(row):,}: {requirement}{said}")

    def _check_nulls(self, batch: pa.RecordBatch) -> None:
        for name in _NEEDED:
            column = batch.column(name)
            if column.null_count:
                self._fail(np.asarray(column.is_null()), f"{name} must not be null")
        self._fail(np.asarray(batch.column(REST).is_valid()), f"{REST} must be null among counts")
        series = batch.column("series")
        same = np.asarray(pc.equal(series, pa.scalar(self._series.labels)))
        self._fail(~same, f"series must be {self._series.labels}", series)

    def _channels(self, batch: pa.RecordBatch) -> IntArray:
        names = batch.column("channel")
        found = pc.index_in(names, pa.array(self._series.channels, pa.string()))
        self._fail(np.asarray(found.is_null()), "channel must be one of the series", names)
        return np.asarray(found).astype(np.int64)

    def _within(self, batch: pa.RecordBatch, name: str, low: int, high: int) -> IntArray:
        column = batch.column(name)
        found = np.asarray(column.fill_null(low)).astype(np.int64)
        bad = (found < low) | (found > high)
        self._fail(bad, f"{name} must be from {low} to {high}", column)
        return found

    def _panes(self, batch: pa.RecordBatch, tiers: IntArray) -> IntArray:
        start, end = (
            np.asarray(batch.column(name).cast(pa.int64())) for name in ("pane_start", "pane_end")
        )
        length = self._seconds[tiers] * 1_000
        begin = batch.column("pane_start")
        too_far = (start < -2_000 * MAX_TIME) | (start > 1_000 * MAX_TIME)
        self._fail(too_far | (start % length != 0), "pane_start must begin a pane", begin)
        self._fail(
            end - start != length, "pane_end must be the end of the pane", batch.column("pane_end")
        )
        panes: IntArray = start // length
        gone = (panes < self._first[tiers]) | (end // 1_000 > self._stop[tiers])
        self._fail(gone, "pane_start must be that of a pane that its tier still keeps", begin)
        return panes

    def _bins(self, batch: pa.RecordBatch) -> IntArray:
        scale = self._series.facts.scale
        column = batch.column("bin")
        bins = np.asarray(column)
        low = scale.bin(scale.low) if scale.n_bins is None else 0
        bad = (bins < low) | (bins > scale.bin(scale.high))
        self._fail(bad, f"bin must be one of {scale}", column)
        for name, of in (("score_low", bins), ("score_high", bins + 1)):
            edges = batch.column(name)
            bad = np.asarray(edges) != scale.lower_edges(of)
            self._fail(bad, f"{name} must be the edge of its bin on {scale}", edges)
        return bins

    def _classes(self, batch: pa.RecordBatch, n_classes: IntArray) -> IntArray:
        column = batch.column("class")
        known = np.asarray(column.is_valid())
        wrong = known != (n_classes > 1)
        self._fail(wrong, "class must be null where all classes are one, and only there", column)
        classes = np.asarray(column.fill_null(0)).astype(np.int64)
        self._fail((classes < 0) | (classes >= n_classes), "class must be one of them", column)
        return classes

    def _counts(self, batch: pa.RecordBatch, weighted: BoolArray) -> IntArray:
        column = batch.column("count")
        known = np.asarray(column.is_valid())
        self._fail(known == weighted, "either count or weight_squares must be null", column)
        counts = np.asarray(column.fill_null(0))
        self._fail(~weighted & (counts < 1), "count must be at least 1", column)
        return counts

    def _weights(self, column: Column, name: str) -> FloatArray:
        found = np.asarray(column)
        bad = ~np.isfinite(found) | (found < 0)
        self._fail(bad, f"{name} must be finite and not negative", column)
        return found


def _plain(column: Column, row: int) -> str:
    """Return a value as it is quoted in an error."""
    if pa.types.is_timestamp(column.type):  # Python knows no times after the year 9999
        return f"{column.cast(pa.int64())[row].as_py()} ms"
    return shown(column[row].as_py())


class PaneMaker:
    """Puts rows together to panes; the last may go on in the next rows."""

    def __init__(self, series: SeriesRecord) -> None:
        self._series = series
        self._scale: Scale = series.facts.scale
        self._open: Cells | None = None

    def take(self, cells: Cells, row: int) -> Iterator[Pane]:
        """Yield the panes that are complete. Raises ValueError for rows out of order.

        `row` is the number of the first row in the file, from 1 on.
        """
        n_before = 0
        if self._open is not None:
            n_before = self._open.size
            cells = self._open.then(cells)
        _check_order(cells, row - n_before)
        starts = _pane_starts(cells)
        for start, stop in pairwise(starts):
            yield self._pane(cells.take(start, stop), row - n_before + start)
        self._open = cells.take(starts[-1], cells.size)
        self._row = row - n_before + starts[-1]

    def rest(self) -> Iterator[Pane]:
        """Yield the last pane."""
        if self._open is not None:
            yield self._pane(self._open, self._row)

    def _pane(self, cells: Cells, row: int) -> Pane:
        is_weighted = bool(cells.weighted[0])
        if (cells.weighted != is_weighted).any():
            raise ValueError(f"row {row:,}: either all rows of a pane must be weighted, or none")
        channel = self._series.channels[int(cells.channels[0])]
        part = self._counts(cells, n_classes_of(channel), is_weighted=is_weighted)
        return channel, int(cells.tiers[0]), int(cells.panes[0]), part

    def _counts(self, cells: Cells, n_classes: int, *, is_weighted: bool) -> Storage:
        is_packed = not is_weighted and self._scale.n_bins is not None
        if is_packed and float(cells.counts.sum(dtype=np.float64)) < _MAX_TOTAL:
            return SparseCounts(cells.bins * n_classes + cells.classes, cells.counts)
        bins, rows = np.unique(cells.bins, return_inverse=True)
        shape = (n_classes, bins.size)
        if not is_weighted:
            counts = np.zeros(shape, dtype=np.int64)
            counts[cells.classes, rows] = cells.counts
            return WideCounts(bins, counts)
        weights, squares = np.zeros(shape), np.zeros(shape)
        weights[cells.classes, rows] = cells.weights
        squares[cells.classes, rows] = cells.squares
        return WideCounts(bins, weights, squares)


def _check_order(cells: Cells, row: int) -> None:
    """Raise ValueError unless each row stands behind the one before, and none twice."""
    columns = (cells.channels, cells.tiers, cells.panes, cells.bins, cells.classes)
    rises = np.zeros(max(0, cells.size - 1), dtype=bool)
    for column in reversed(columns):
        rises = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & rises)
    wrong = np.flatnonzero(~rises)
    if wrong.size:
        raise ValueError(
            f"row {row + int(wrong[0]) + 1:,}: rows must rise by channel, tier, pane, bin and class"
        )


def _pane_starts(cells: Cells) -> list[int]:
    columns: Sequence[IntArray] = (cells.channels, cells.tiers, cells.panes)
    changes = np.zeros(max(0, cells.size - 1), dtype=bool)
    for column in columns:
        changes |= column[1:] != column[:-1]
    return [0, *(np.flatnonzero(changes) + 1).tolist()]
