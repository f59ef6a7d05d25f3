"""What `store verify` looks for among the entries of a series."""

import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from streamauc.store.entry_rows import CLOSED, Entry, Totals
from streamauc.store.entry_table import COLUMNS, MAX_PAGE, EntryTable
from streamauc.store.errors import DamageError, Place

_ENTRIES = (
    f"SELECT {COLUMNS} FROM entry e NOT INDEXED"  # noqa: S608 - names
    " WHERE e.id BETWEEN ? AND ? ORDER BY e.id LIMIT ?"
)
# Not to be found by their key, or not alone.
_MISPLACED = """
    SELECT CAST(e.key AS BLOB) FROM entry e NOT INDEXED WHERE e.id BETWEEN :low AND :high AND (
        NOT EXISTS (SELECT 1 FROM entry x INDEXED BY entry_key WHERE x.key = e.key AND x.id = e.id)
        OR EXISTS (SELECT 1 FROM entry x INDEXED BY entry_key
            WHERE x.key = e.key AND x.id BETWEEN :low AND e.id - 1))
"""


@dataclass(slots=True, eq=False)
class _Sums:
    """What the rows add up to; `first` are the lowest numbers of each kind, `last` the highest.

    `unmatched` combines the ids of closed entries and of turns, which cancel each other.
    """

    n: list[int] = field(default_factory=lambda: [0, 0, 0])
    first: list[float] = field(default_factory=lambda: [math.inf] * 3)
    last: list[int] = field(default_factory=lambda: [-1, -1, -1])
    mixed: int = 0
    n_turns: int = 0
    unmatched: int = 0

    def add_entry(self, entry: Entry, number: int) -> None:
        self.n[entry.kind] += 1
        self.mixed ^= entry.crc or 0
        if entry.kind == CLOSED:
            self.unmatched ^= entry.id
        else:
            self._span(entry.kind, number)

    def add_turn(self, entry: Entry) -> None:
        self.n_turns += 1
        self.unmatched ^= entry.id
        self._span(CLOSED, entry.turn)

    def _span(self, kind: int, number: int) -> None:
        self.first[kind] = min(self.first[kind], number)
        self.last[kind] = max(self.last[kind], number)

    def agree(self, totals: Totals) -> bool:
        """Return whether the totals are those of the rows."""
        ends = [totals.number, totals.turn, totals.number]
        return (
            (self.n, self.mixed) == (totals.n, totals.mixed)
            and (self.n_turns, self.unmatched) == (totals.n[CLOSED], 0)
            and all(low <= found for low, found in zip(totals.first, self.first, strict=True))
            and all(found < end for found, end in zip(self.last, ends, strict=True))
        )


def check_entries(
    connection: sqlite3.Connection, series_id: int, *, labels: str | None = None
) -> Iterator[Place]:
    """Yield where entries of a series are damaged, lost, or not what their totals say.

    Needs a transaction, so that all is of one moment. The totals are compared with the rows if
    these are sound. O(n_entries log n_entries).
    """
    table = EntryTable(connection, series_id, labels)
    sums, n_damaged = _Sums(), 0
    for place in _check_rows(table, sums):
        n_damaged += 1
        yield place
    try:
        totals = table.totals()
    except DamageError as error:
        yield error.place
        return
    if not n_damaged and not sums.agree(totals):
        yield table.place("entry_total")


def _check_rows(table: EntryTable, sums: _Sums) -> Iterator[Place]:
    yield from _check_each(table, sums)
    span = {"low": table.low, "high": table.high}
    for (key,) in table.connection.execute(_MISPLACED, span):
        yield table.place("entry", key.decode(errors="replace"))
    start = table.low
    while rows := table.turns(start, MAX_PAGE):
        start = rows[-1][8] + 1
        for row in rows:
            try:
                sums.add_turn(table.turn(row))
            except DamageError as error:
                if error.place.table != "entry":  # otherwise it has been yielded
                    yield error.place


def _check_each(table: EntryTable, sums: _Sums) -> Iterator[Place]:
    start = table.low
    while rows := table.stored(_ENTRIES, (start, table.high, MAX_PAGE)):
        start = rows[-1][0] + 1
        for row in rows:
            try:
                entry = table.entry(row)
            except DamageError as error:
                yield error.place
            else:
                sums.add_entry(entry, entry.id - table.low)
