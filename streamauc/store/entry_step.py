"""One step of a join on disk, worked out in memory.

A step reads the entries that have its keys and works on them as if all others were there too:
those that are the oldest of their kind are fetched when a bound makes them leave. At its end it
writes what changed. It keeps nothing, as another process or a rollback may change the file.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

from streamauc.store.entry_rows import CLOSED, EARLY, GONE, OPEN, Entry, head_of, key_texts
from streamauc.store.entry_table import EntryTable

ABANDONED = math.nan  # stands where a label would


class Step:
    """The entries that a step touches, as they are in the middle of it, and the totals.

    `most` bounds the entries of each kind. It must be within a transaction that writes.
    """

    def __init__(
        self, table: EntryTable, most: Mapping[int, int], keys: Sequence[Hashable] = ()
    ) -> None:
        if not table.connection.in_transaction:
            raise RuntimeError("a step of a join must be within a transaction")
        self.keys, self._given = key_texts(keys)
        self._table, self._most = table, most
        self.totals = table.totals()
        self._before = self.totals.row(0)
        # By key all that are there, by id all that are not as they are on disk.
        self.known = table.find(self.keys) if any(self.totals.n) else {}
        self._touched: dict[int, Entry] = {}
        self._fresh: list[Entry] = []
        self._turns: list[Entry] = []
        self._lines: dict[int, Iterator[Entry]] = {}

    def add(self, key: str, kind: int, placed: complex, label: float) -> Entry:
        """Put a new entry at the end."""
        totals = self.totals
        number = self._table.low + totals.number
        given = self._given.get(key)
        entry = Entry(number, key, given, _head(key, given), kind, placed, label)
        totals.number += 1
        totals.n[kind] += 1
        self.known[key] = self._touched[number] = entry
        self._fresh.append(entry)
        return entry

    def close(self, entry: Entry, placed: complex, label: float) -> None:
        """Let an entry wait no longer; its key is known from now on. The bound is not kept yet."""
        totals = self.totals
        totals.n[entry.kind] -= 1
        totals.n[CLOSED] += 1
        entry.kind, entry.placed, entry.turn = CLOSED, placed, totals.turn
        totals.turn += 1
        entry.label = label
        self._turns.append(entry)
        self._touched[entry.id] = entry

    def relabel(self, entry: Entry, label: float) -> None:
        """Change the label of an entry, which stays where it is."""
        entry.label = label
        self._touched[entry.id] = entry

    def abandon(self, entry: Entry) -> None:
        """Close a prediction without a label."""
        self.close(entry, entry.placed, ABANDONED)
        self.bound(CLOSED)

    def bound(self, kind: int) -> int:
        """Let the oldest of a kind go while there are too many; return how many went."""
        n_gone = self.totals.n[kind] - self._most[kind]
        for _ in range(n_gone):
            if kind == OPEN:
                self.abandon(self.oldest(kind))
            else:
                self._forget(self.oldest(kind))
        return max(0, n_gone)

    def _forget(self, entry: Entry) -> None:
        self.totals.n[entry.kind] -= 1
        entry.kind = GONE
        self.known.pop(entry.key, None)
        self._touched[entry.id] = entry

    def oldest(self, kind: int) -> Entry:
        """Return the oldest entry of a kind, of which there must be one, to be taken away.

        Amortised O(log n_entries).
        """
        line = self._lines.get(kind)
        if line is None:
            line = self._lines[kind] = self._line(kind)
        entry = next(line, None)
        if entry is None:
            raise self._table.damage("entry_total", None, "there are fewer entries than stated")
        at = entry.turn + 1 if kind == CLOSED else entry.id - self._table.low
        self.totals.first[kind] = at
        return entry

    def _line(self, kind: int) -> Iterator[Entry]:
        for stored in self._table.line(kind, self.totals.first[kind]):
            entry = self._touched.get(stored.id) or self.known.get(stored.key, stored)
            if kind == CLOSED:
                entry.turn = stored.turn
            if entry.kind == kind:
                yield entry
        # These lists grow while they are gone through.
        for entry in self._turns if kind == CLOSED else self._fresh:
            if entry.kind == kind:
                yield entry

    def write(self) -> None:
        """Write down what changed."""
        totals = self.totals
        for kind in (OPEN, EARLY):
            if not totals.n[kind]:
                totals.first[kind] = totals.number
        if self._touched or totals.row(0) != self._before:
            self._table.write(self._touched.values(), self._turns, totals)


def _head(key: str, given: str | None) -> int:
    return head_of(key.encode(), None if given is None else given.encode())
