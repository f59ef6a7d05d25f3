"""The join of predictions with their labels in a file that several processes share."""

import math
import sqlite3
from collections import Counter
from collections.abc import Hashable, Sequence

from streamauc.codec import JoinState
from streamauc.pairing import Closed, Opened
from streamauc.store.entry_check import check_entries
from streamauc.store.entry_rows import CLOSED, EARLY, NOWHERE, OPEN, SCHEMA, key_texts, keys_of
from streamauc.store.entry_step import ABANDONED, Step
from streamauc.store.entry_table import EntryTable

__all__ = ["SCHEMA", "StoredJoin", "check_entries", "key_texts"]


class StoredJoin:
    """A `JoinStore` in a file: the entries of one series.

    Keys must be text, numbers, bools or None, and come back as they first came; see `key_texts`.
    Whatever changes entries must be within a transaction that writes, and counts if that is
    committed. Costs are as in memory, times O(log n_entries). Raises DamageError for rows that
    contradict their checksums; `labels` is what it calls the series.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        series_id: int,
        *,
        max_pending: int,
        max_early: int,
        max_resolved: int,
        labels: str | None = None,
    ) -> None:
        self._table = EntryTable(connection, series_id, labels)
        self._most = {OPEN: max_pending, EARLY: max_early, CLOSED: max_resolved}

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""
        return self._table.totals().n[OPEN]

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""
        return self._table.totals().n[EARLY]

    @property
    def n_closed(self) -> int:
        """How many keys are known that wait for nothing."""
        return self._table.totals().n[CLOSED]

    def predict(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        """As `JoinStore.predict`."""
        step = Step(self._table, self._most, keys)
        new: list[complex] = []
        pairs: list[tuple[complex, float]] = []
        n_abandoned = 0
        for key, one in zip(step.keys, placed, strict=True):
            entry = step.known.get(key)
            if entry is None:
                step.add(key, OPEN, one, ABANDONED)
                n_abandoned += step.bound(OPEN)
            elif entry.kind == EARLY:
                pairs.append((one, entry.label))
                step.close(entry, one, entry.label)
                step.bound(CLOSED)
            else:
                continue
            new.append(one)
        step.write()
        return Opened(new, pairs, len(keys) - len(new), n_abandoned)

    def resolve(self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float) -> Closed:
        """As `JoinStore.resolve`."""
        step = Step(self._table, self._most, keys)
        pairs: list[tuple[complex, float]] = []
        moved: list[tuple[complex, float, float]] = []
        n: Counter[str] = Counter()
        for key, label in zip(step.keys, labels, strict=True):
            entry = step.known.get(key)
            if entry is None:
                step.add(key, EARLY, NOWHERE, label)
                n["n_dropped"] += step.bound(EARLY)
            elif entry.kind == OPEN and entry.placed.real >= oldest:
                pairs.append((entry.placed, label))
                step.close(entry, entry.placed, label)
                step.bound(CLOSED)
            elif entry.kind == OPEN:
                n.update(n_late=1, n_abandoned=1)
                step.abandon(entry)
            elif math.isnan(entry.label):
                n["n_late"] += 1
            elif entry.label == label:
                n["n_repeated"] += 1
            else:
                if entry.kind == EARLY:
                    n["n_replaced"] += 1
                else:
                    moved.append((entry.placed, entry.label, label))
                step.relabel(entry, label)
        step.write()
        return Closed(pairs, moved, **n)

    def remember(self, closed: Sequence[tuple[Hashable, complex, float]]) -> Closed:
        """As `JoinStore.remember`."""
        step = Step(self._table, self._most, [key for key, *_ in closed])
        moved: list[tuple[complex, float, float]] = []
        n: Counter[str] = Counter()
        for key, (_, placed, label) in zip(step.keys, closed, strict=True):
            entry = step.known.get(key)
            if entry is None:
                entry = step.add(key, EARLY, NOWHERE, label)
                step.close(entry, placed, label)
            elif entry.kind == OPEN:
                n["n_abandoned"] += 1
                step.close(entry, placed, label)
            elif entry.kind == EARLY:
                waited = entry.label
                step.close(entry, placed, label)
                if math.isnan(label):
                    n["n_late"] += 1
                elif waited == label:
                    n["n_repeated"] += 1
                else:
                    moved.append((placed, label, waited))
                    step.relabel(entry, waited)
        step.bound(CLOSED)
        step.write()
        return Closed((), moved, **n)

    def expire(self, oldest: float) -> int:
        """As `JoinStore.expire`."""
        step = Step(self._table, self._most)
        n_gone = 0
        while step.totals.n[OPEN]:
            entry = step.oldest(OPEN)
            if entry.placed.real >= oldest:
                break
            step.abandon(entry)
            n_gone += 1
        step.write()
        return n_gone

    def state(self) -> JoinState:
        """As `JoinStore.state`, oldest first; of one moment within a transaction. O(n_entries)."""
        first = self._table.totals().first
        opened, early, closed = (
            list(self._table.line(kind, first[kind])) for kind in (OPEN, EARLY, CLOSED)
        )
        return JoinState(
            opened=tuple(zip(keys_of(opened), (one.placed for one in opened), strict=True)),
            early=tuple(zip(keys_of(early), (one.label for one in early), strict=True)),
            closed=tuple(
                (key, one.placed, one.label)
                for key, one in zip(keys_of(closed), closed, strict=True)
            ),
        )


def reading_join(connection: sqlite3.Connection, series_id: int, labels: str) -> StoredJoin:
    """Return the join of a series to be read only: nothing is taken in, and no bound matters."""
    return StoredJoin(
        connection, series_id, max_pending=1, max_early=0, max_resolved=0, labels=labels
    )
