"""Reading and writing the entries of one series: by key, by age, and what became of them."""

import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import attrgetter, xor

from streamauc.store.entry_rows import (
    CLOSED,
    GONE,
    MAX_SERIES,
    NUMBER_BITS,
    Entry,
    StoredRow,
    Totals,
    read_entry,
    read_totals,
    sum_of,
)
from streamauc.store.errors import DamageError, Place

TurnRow = tuple[*StoredRow, int, int, int]
# Keys are looked up so many at once. Few sizes, as a connection keeps few statements prepared.
_SIZES = (1, 20, 500)
MAX_PAGE = 4_096
COLUMNS = "e.id, e.key, e.given, e.kind, e.time, e.score, e.label, e.crc"
_FIND = {
    size: f"SELECT {COLUMNS} FROM entry e INDEXED BY entry_key"  # noqa: S608 - question marks
    f" WHERE e.key IN ({', '.join('?' * size)}) AND e.id BETWEEN ? AND ?"
    for size in _SIZES
}
_OLDEST = (
    f"SELECT {COLUMNS} FROM entry e"  # noqa: S608
    " WHERE e.id BETWEEN ? AND ? AND e.kind = ? ORDER BY e.id LIMIT ?"
)
_TURNS = (
    f"SELECT {COLUMNS}, t.id, t.entry, t.crc FROM entry_turn t"  # noqa: S608
    " LEFT JOIN entry e ON e.id = t.entry WHERE t.id BETWEEN ? AND ? ORDER BY t.id LIMIT ?"
)
_INSERT = "INSERT INTO entry VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = "UPDATE entry SET kind = ?, time = ?, score = ?, label = ?, crc = ? WHERE id = ?"
_by_id, _by_key = attrgetter("id"), attrgetter("key")
_SET_TOTALS = "INSERT OR REPLACE INTO entry_total VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class EntryTable:
    """The entries of one series; damage that it meets is a `DamageError`.

    `labels` is what the series is called there.
    """

    def __init__(self, connection: sqlite3.Connection, series_id: int, labels: str | None) -> None:
        if not 0 <= series_id <= MAX_SERIES:
            raise ValueError(f"series_id must be in [0, {MAX_SERIES}], got {series_id}")
        self.connection = connection
        self.low = series_id << NUMBER_BITS
        self.high = self.low + 2**NUMBER_BITS - 1
        self._series_id = series_id
        self._labels = f"#{series_id}" if labels is None else labels

    def place(self, table: str, key: object = None) -> Place:
        """Return where a row stands."""
        return Place(table, series=self._labels, key=None if key is None else str(key))

    def damage(self, table: str, key: object, what: str) -> DamageError:
        """Return an error that says what is wrong with a row."""
        return DamageError(what, self.place(table, key))

    def totals(self) -> Totals:
        """Return what is known of all entries."""
        statement = "SELECT * FROM entry_total WHERE series = ?"
        with _texts_as_bytes(self.connection):
            row = self.connection.execute(statement, (self._series_id,)).fetchone()
        if row is None:
            return self._no_totals()
        try:
            return read_totals(row)
        except (ValueError, struct.error) as error:
            raise self.damage("entry_total", None, "the totals of entries are damaged") from error

    def _no_totals(self) -> Totals:
        statement = "SELECT 1 FROM entry WHERE id BETWEEN ? AND ? LIMIT 1"
        if self.connection.execute(statement, (self.low, self.high)).fetchone():
            raise self.damage("entry_total", None, "there are entries without totals")
        return Totals()

    def find(self, keys: Iterable[str]) -> dict[str, Entry]:
        """Return the entries that there are of some keys. O(n_keys log n_entries)."""
        found: dict[str, Entry] = {}
        # In order, so that each page of the index is looked at once.
        wanted = sorted(set(keys))
        for start in range(0, len(wanted), _SIZES[-1]):
            chunk = wanted[start : start + _SIZES[-1]]
            size = next(size for size in _SIZES if size >= len(chunk))
            values = (*chunk, *chunk[-1:] * (size - len(chunk)), self.low, self.high)
            for entry in map(self.entry, self.stored(_FIND[size], values)):
                if entry.key in found:
                    raise self.damage("entry", entry.key, "two entries have one key")
                found[entry.key] = entry
        return found

    def stored(self, statement: str, values: Sequence[int | str]) -> list[StoredRow]:
        """Return the rows of `entry` that a statement finds."""
        with _texts_as_bytes(self.connection):
            rows: list[StoredRow] = self.connection.execute(statement, values).fetchall()
        return rows

    def entry(self, row: StoredRow) -> Entry:
        """Return what a row of `entry` holds."""
        try:
            return read_entry(row)
        except (TypeError, ValueError, struct.error) as error:
            key = row[1].decode(errors="replace") if isinstance(row[1], bytes) else row[1]
            raise self.damage("entry", key, "an entry is damaged") from error

    def line(self, kind: int, first: int) -> Iterator[Entry]:
        """Yield the entries of a kind, oldest first, from a number on. Amortised O(1) each.

        Closed ones come in the order of closing. No statement stays open between two of them.
        """
        start, size = self.low + first, 1
        while page := self._page(kind, start, size):
            yield from page
            last = page[-1]
            start = 1 + (self.low + last.turn if kind == CLOSED else last.id)
            size = min(4 * size, MAX_PAGE)

    def _page(self, kind: int, start: int, size: int) -> list[Entry]:
        if kind == CLOSED:
            return [self.turn(row) for row in self.turns(start, size)]
        return [self.entry(row) for row in self.stored(_OLDEST, (start, self.high, kind, size))]

    def turns(self, start: int, size: int) -> list[TurnRow]:
        """Return the rows of some turns from an id on, with those of their entries."""
        with _texts_as_bytes(self.connection):
            values = (start, self.high, size)
            rows: list[TurnRow] = self.connection.execute(_TURNS, values).fetchall()
        return rows

    def turn(self, row: TurnRow) -> Entry:
        """Return the closed entry of a row of `entry_turn` behind that of its `entry`."""
        of_entry, (number, entry_id, crc) = row[:8], row[8:]
        try:
            is_sound = crc == sum_of((number, entry_id))
        except struct.error:
            is_sound = False
        if not is_sound or of_entry[3] != CLOSED:
            raise self.damage("entry_turn", number - self.low, "no closed entry has this turn")
        entry = self.entry(of_entry)
        entry.turn = number - self.low
        return entry

    def write(self, touched: Collection[Entry], turns: Collection[Entry], totals: Totals) -> None:
        """Write what became of entries, the turns of those that were closed, and the totals.

        O(n log n_entries).
        """
        stored = [entry for entry in touched if entry.crc is not None]
        gone = [entry for entry in stored if entry.kind == GONE]
        alive = [entry for entry in touched if entry.kind != GONE]
        totals.mixed ^= _mixed(stored)
        run = self.connection.executemany
        # In the order of the table, and new ones, which all go to its end, in that of the index.
        run("DELETE FROM entry WHERE id = ?", ((entry.id,) for entry in sorted(gone, key=_by_id)))
        changed = sorted((entry for entry in alive if entry.crc is not None), key=_by_id)
        fresh = sorted((entry for entry in alive if entry.crc is None), key=_by_key)
        run(_UPDATE, ((*entry.row()[3:], entry.id) for entry in changed))
        run(_INSERT, (entry.row() for entry in fresh))
        totals.mixed ^= _mixed(alive)
        self._write_turns(turns, totals.first[CLOSED])
        self.connection.execute(_SET_TOTALS, totals.row(self._series_id))

    def _write_turns(self, turns: Iterable[Entry], first: int) -> None:
        self.connection.execute(
            "DELETE FROM entry_turn WHERE id BETWEEN ? AND ?", (self.low, self.low + first - 1)
        )
        rows = ((self.low + entry.turn, entry.id) for entry in turns if entry.turn >= first)
        self.connection.executemany(
            "INSERT INTO entry_turn VALUES(?, ?, ?)", ((*row, sum_of(row)) for row in rows)
        )


def _mixed(entries: Iterable[Entry]) -> int:
    return reduce(xor, (entry.crc or 0 for entry in entries), 0)


@contextmanager
def _texts_as_bytes(connection: sqlite3.Connection) -> Iterator[None]:
    """Let texts be fetched as bytes: a damaged one may be no UTF-8, as its CRC will tell."""
    usual = connection.text_factory
    connection.text_factory = bytes
    try:
        yield
    finally:
        connection.text_factory = usual
