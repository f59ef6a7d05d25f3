"""What every format's reader offers, and the pieces that the text formats share."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from streamauc.cli.reading.batches import Chunk, Malformed, Place
from streamauc.cli.reading.options import Columns, Role


class Reader(Protocol):
    """Reads one file."""

    @property
    def names(self) -> Sequence[str]:
        """The columns of the file."""

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers written as text."""

    @property
    def bytes_done(self) -> int:
        """How much of the file has been read."""

    def chunks(self, columns: Columns) -> Iterator[Chunk]:
        """Yield the rows in file order, a bounded number at a time."""


class TextChunk:
    """Collects rows whose cells are text, with the line of each, into a `Chunk`."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self._roles = roles
        self._cells: list[list[str | None]] = [[] for _ in roles]
        self._lines: list[int] = []
        self._malformed: list[Malformed] = []

    def add(self, line: int, cells: Sequence[str | None]) -> None:
        """Add a row; `cells` in the order of the roles."""
        self._lines.append(line)
        for column, cell in zip(self._cells, cells, strict=True):
            column.append(cell)

    def add_malformed(self, line: int, requirement: str, value: str) -> None:
        """Add what is no row."""
        place = Place("line", line)
        self._malformed.append(Malformed(len(self._lines), place, requirement, value))

    def finish(self) -> Chunk:
        """Return the rows collected."""
        columns = [pa.array(column, pa.string()) for column in self._cells]
        lines = self._lines
        return Chunk(
            cells=dict(zip(self._roles, columns, strict=True)),
            n_rows=len(lines),
            place=lambda index: Place("line", lines[index]),
            malformed=self._malformed,
        )


def unplaced(index: int) -> Place:
    """Return the place of a row that has to be read carefully to be known."""
    raise AssertionError(f"row {index} must be read carefully first")
