"""Chunks of cells into checked batches: what is pending, what is bad, what is kept."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

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
        self._times = TimeReader(file, columns.time or "", options, notes)

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
                numbers[role] = self._reader(role, decimal)(cells)
                found = numbers[role].problems
            problems.extend((role, problem) for problem in found if problem.rows.any())
        return _Rows(labels, numbers, problems)

    def _reader(self, role: Role, decimal: str) -> Callable[[Cells], Converted]:
        if role == "time":
            return lambda cells: self._times.read(cells, decimal)
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
        left_out = _either(bad, pending)
        n_bad = sum(reasons.values())
        n_pending = 0 if pending is None else int(np.count_nonzero(pending))
        if pending is not None and bad is not None:
            n_pending -= int(np.count_nonzero(pending & bad))
        return _kept(rows, left_out, n_pending, n_bad, reasons)

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


def _kept(
    rows: _Rows, left_out: BoolArray | None, n_pending: int, n_bad: int, reasons: Counter[str]
) -> EventBatch:
    score = rows.numbers["score"].values
    y_true, time, weight = rows.labels.values, rows.values("time"), rows.values("weight")
    if left_out is not None:
        keep = ~left_out
        y_true, score = y_true[keep], score[keep]
        time = None if time is None else time[keep]
        weight = None if weight is None else weight[keep]
    return EventBatch(y_true, score, time, weight, n_pending, n_bad, dict(reasons))
