"""Chunks of cells into checked batches: what is pending, what is bad, what is kept."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from streamauc.cli.reading.arrow import Cells
from streamauc.cli.reading.batches import (
    BadRowError,
    BoolArray,
    Chunk,
    Converted,
    ConvertedLabels,
    EventBatch,
    FloatArray,
    Malformed,
    Notes,
    Problem,
)
from streamauc.cli.reading.labels import LabelReader
from streamauc.cli.reading.labeltimes import LabelTimeReader
from streamauc.cli.reading.options import Columns, ReadOptions, Role
from streamauc.cli.reading.scores import score_reader, weight_reader
from streamauc.cli.reading.texts import shown
from streamauc.cli.reading.times import TimeReader

_Problems = list[tuple[Role, Problem]]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The converted columns of a chunk and everything that is wrong in them."""

    labels: ConvertedLabels
    numbers: dict[Role, Converted]
    problems: _Problems

    def values(self, role: Role) -> FloatArray | None:
        """Return a numeric column, `None` where there is none."""
        return self.numbers[role].values if role in self.numbers else None


class RowChecker:
    """Checks the rows of one file."""

    def __init__(
        self, file: str, columns: Columns, options: ReadOptions, labels: LabelReader, notes: Notes
    ) -> None:
        self._file = file
        self._names = columns.used()
        self._options = options
        self._labels = labels
        self._has_label_time = columns.label_time is not None
        self._times = TimeReader(file, columns.time or "", options, notes)
        self._label_times = LabelTimeReader(file, columns.label_time or "", options, notes)

    def check(self, chunk: Chunk, decimal: str = ".") -> EventBatch:
        """Return the events of a chunk. O(n_rows).

        Raises `BadRowError` for the first bad row, unless bad rows are to be skipped.
        """
        rows = self._convert(chunk, decimal)
        if rows.problems and chunk.careful is not None:
            chunk = chunk.careful()
            rows = self._convert(chunk, decimal)
        if not self._options.skip_bad:
            self._raise_first(chunk, rows.problems)
        return self._batch(chunk, rows)

    def _convert(self, chunk: Chunk, decimal: str) -> _Rows:
        labels = self._labels.read(chunk.cells["label"], decimal)
        numbers: dict[Role, Converted] = {}
        problems: _Problems = []
        for role, cells in chunk.cells.items():
            found = labels.problems
            if role != "label":
                numbers[role] = self._reader(role, labels.missing, decimal)(cells)
                found = numbers[role].problems
            problems.extend((role, problem) for problem in found if problem.rows.any())
        return _Rows(labels, numbers, problems)

    def _reader(
        self, role: Role, pending: BoolArray | None, decimal: str
    ) -> Callable[[Cells], Converted]:
        if role == "time":
            return lambda cells: self._times.read(cells, decimal)
        if role == "label_time":
            return lambda cells: self._label_times.read(cells, pending, decimal)
        if role == "weight":
            return weight_reader(decimal).read
        return score_reader(*self._options.scores, decimal).read

    def _raise_first(self, chunk: Chunk, problems: _Problems) -> None:
        firsts = [(int(np.argmax(p.rows)), role, p) for role, p in problems]
        first = min(firsts, key=lambda each: each[0], default=None)
        if chunk.malformed and (first is None or chunk.malformed[0].index <= first[0]):
            raise self._malformed(chunk.malformed[0])
        if first is not None:
            index, role, problem = first
            value = shown(chunk.cells[role], index)
            place = chunk.place(index)
            raise BadRowError(self._file, place, self._names[role], problem.requirement, value)

    def _malformed(self, row: Malformed) -> BadRowError:
        return BadRowError(self._file, row.place, None, row.requirement, row.value)

    def _batch(self, chunk: Chunk, rows: _Rows) -> EventBatch:
        bad, reasons = self._bad_rows(chunk, rows.problems)
        pending = rows.labels.missing
        n_pending = 0 if pending is None else int(np.count_nonzero(pending))
        if pending is not None and bad is not None:
            n_pending -= int(np.count_nonzero(pending & bad))
        if self._has_label_time:
            batch = _with_known_at(rows, n_pending, reasons)
            return batch if bad is None else _kept(batch, ~bad)
        batch = _plain(rows, n_pending, reasons)
        left_out = _either(bad, pending)
        return batch if left_out is None else _kept(batch, ~left_out)

    def _bad_rows(self, chunk: Chunk, problems: _Problems) -> tuple[BoolArray | None, Counter[str]]:
        """Which rows are bad, and how many for which reason; a row counts once."""
        reasons = Counter(row.requirement for row in chunk.malformed)
        bad: BoolArray | None = None
        for role, problem in problems:
            new = problem.rows if bad is None else problem.rows & ~bad
            bad = new if bad is None else bad | new
            if count := int(np.count_nonzero(new)):
                reasons[f"{self._names[role]} {problem.requirement}"] += count
        return bad, reasons


def _either(left: BoolArray | None, right: BoolArray | None) -> BoolArray | None:
    if left is None or right is None:
        return right if left is None else left
    return left | right


def _plain(rows: _Rows, n_pending: int, reasons: Counter[str]) -> EventBatch:
    """Return all rows as a batch without label times."""
    return EventBatch(
        y_true=rows.labels.values,
        y_score=rows.numbers["score"].values,
        timestamps=rows.values("time"),
        weights=rows.values("weight"),
        known_at=None,
        n_pending=n_pending,
        n_bad=sum(reasons.values()),
        bad_reasons=dict(reasons),
    )


def _with_known_at(rows: _Rows, n_pending: int, reasons: Counter[str]) -> EventBatch:
    """Return all rows as a batch in which those without a label are never known."""
    batch = _plain(rows, n_pending, reasons)
    # Without a column of their own, labels are known at the time of the event.
    known_at = rows.values("label_time")
    known_at = batch.timestamps if known_at is None else known_at
    pending = rows.labels.missing
    if pending is None or known_at is None:
        return replace(batch, known_at=known_at)
    return replace(
        batch,
        y_true=np.where(pending, np.uint8(0), batch.y_true),
        known_at=np.where(pending, np.inf, known_at),
    )


def _kept(batch: EventBatch, keep: BoolArray) -> EventBatch:
    """Return the batch with some of its rows."""
    time, weight, known_at = batch.timestamps, batch.weights, batch.known_at
    return replace(
        batch,
        y_true=batch.y_true[keep],
        y_score=batch.y_score[keep],
        timestamps=None if time is None else time[keep],
        weights=None if weight is None else weight[keep],
        known_at=None if known_at is None else known_at[keep],
    )
