"""What reading gives: batches of checked events, and the error that names a bad row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from streamauc.cli.reading.arrow import Cells
from streamauc.cli.reading.options import Role

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class EventBatch:
    """Checked events in file order; the arrays have shape (n_samples,) and may be read-only.

    Attributes:
        y_true: 0 or 1; 0 where the label is not known yet.
        y_score: finite, inside the range that was asked for.
        timestamps: seconds since the epoch, UTC; `None` without a time column.
        weights: finite, at least 0; `None` without a weight column.
        known_at: seconds since the epoch, UTC, at which the label became known, `inf` where it is
            not known yet; `None` without a label time. Clocks differ, so it may precede the event.
        n_pending: rows whose label is not known yet. They are left out; with a label time they are
            predictions too, so they are kept, `known_at` being `inf`.
        n_bad: rows left out because something in them is wrong (only with ``skip_bad``).
        bad_reasons: how many rows were left out for which reason; sums to `n_bad`.
        file: which file they are from, and `n_done`: how many of its rows have been read with
            these, the bad ones and those skipped included.

    """

    y_true: LabelArray
    y_score: FloatArray
    timestamps: FloatArray | None
    weights: FloatArray | None
    known_at: FloatArray | None
    n_pending: int
    n_bad: int
    bad_reasons: Mapping[str, int]
    file: str = ""
    n_done: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: a line of a text file or a row of a table, both counted from 1."""

    unit: Literal["line", "row"]
    number: int


class BadRowError(ValueError):
    """A row that cannot be an event; says in which file, where, which column and what is there."""

    def __init__(
        self, file: str, place: Place, column: str | None, requirement: str, value: str
    ) -> None:
        """Build the message; `column` is `None` where the row as a whole is malformed."""
        inside = "" if column is None else f", column {column}"
        super().__init__(f"{file}, {place.unit} {place.number}{inside}: {requirement}, got {value}")
        self.file = file
        self.line = place.number
        self.unit = place.unit
        self.column = column
        self.requirement = requirement
        self.value = value


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A requirement that some cells of a column break; `rows` has shape (n_rows,)."""

    requirement: str
    rows: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """A column as numbers, arbitrary where a problem is named; shape (n_rows,)."""

    values: FloatArray
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ConvertedLabels:
    """A label column as 0 and 1, arbitrary where it is missing or bad; shape (n_rows,)."""

    values: LabelArray
    missing: BoolArray | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """A piece of text that is no row at all, and the number of good rows that precede it."""

    index: int
    place: Place
    requirement: str
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Rows as they stand in the file, the columns in use only.

    Attributes:
        cells: an Arrow array a role, all of length `n_rows`.
        place: where the row with that index stands in the file.
        malformed: what stands between the rows and is none.
        careful: reads the same rows again with every cell as text and the place of each known,
            for text whose cells were converted while they were parsed.

    """

    cells: Mapping[Role, Cells]
    n_rows: int
    place: Callable[[int], Place]
    malformed: Sequence[Malformed] = ()
    careful: "Callable[[], Chunk] | None" = None

    def __len__(self) -> int:
        """How many rows there are, malformed ones included."""
        return self.n_rows + len(self.malformed)

    def skip(self, n: int) -> "Chunk":
        """Return what is behind the first `n` rows, malformed ones included."""
        n_malformed = sum(row.index + number < n for number, row in enumerate(self.malformed))
        n_good = min(n - n_malformed, self.n_rows)
        careful = self.careful
        return Chunk(
            {role: cells.slice(n_good) for role, cells in self.cells.items()},
            self.n_rows - n_good,
            lambda index: self.place(index + n_good),
            [replace(row, index=row.index - n_good) for row in self.malformed[n_malformed:]],
            None if careful is None else lambda: careful().skip(n),
        )


@dataclass(slots=True)
class Notes:
    """What was guessed or assumed, in words for a person; nothing twice."""

    lines: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Remember `line` unless it is known."""
        if line not in self.lines:
            self.lines.append(line)
