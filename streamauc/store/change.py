"""Changes: what is written to a store in one transaction, all of it or nothing."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from streamauc import storage, tiers
from streamauc.codec import decode_panes, encode_pane
from streamauc.histogram import ScoreHistogram
from streamauc.scale import Scale
from streamauc.storage import KeyList, Storage
from streamauc.store import address, catalogue, documents, writers
from streamauc.store.catalogue import SeriesRow
from streamauc.store.database import Database
from streamauc.store.documents import Document, Json
from streamauc.store.facts import Facts
from streamauc.store.rows import PaneRows
from streamauc.timeline import n_classes_of

# Of larger changes the panes are not listed; who keeps panes in memory compares sums instead.
_MOST_TOUCHED = 256
# So many changes are remembered at least; they are trimmed every `_TRIM_EVERY`.
_REMEMBERED, _TRIM_EVERY = 512, 256


class _Writable:
    """What a transaction may write besides panes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def position(self, name: str, value: Json) -> None:
        """Write down how far a source has been read. Raises TypeError for what JSON can't say."""
        documents.set_position(self.connection, name, value)

    def load(self, kind: str, name: str) -> Document | None:
        """Return a document, None if there is none."""
        return documents.load(self.connection, kind, name)

    def save(self, kind: str, name: str, body: bytes, at: float) -> None:
        """Save a document in place of the one that was there."""
        documents.save(self.connection, kind, name, body, at)

    def append(self, kind: str, name: str, body: bytes, at: float) -> None:
        """Add an entry to the journal of a kind and name."""
        documents.append(self.connection, kind, name, body, at)

    def delete(self, kind: str, name: str) -> None:
        """Delete a document if it exists."""
        documents.delete(self.connection, kind, name)


class SeriesChange(_Writable):
    """What is written to one series, and beside it; `StoredSeries` gives it out.

    Panes are put down when the transaction ends, each once, however many parts it got.
    """

    def __init__(self, connection: sqlite3.Connection, row: SeriesRow, scale: Scale) -> None:
        super().__init__(connection)
        self.row = row
        self._given = scale
        self._rows = PaneRows(connection, lambda table, key: self.row.where(table, key))
        self._added: defaultdict[int, list[Storage]] = defaultdict(list)
        self._removed: defaultdict[int, list[Storage]] = defaultdict(list)
        self._channels: dict[int, str] = {}  # by lane
        self._is_changed = False

    @property
    def series_id(self) -> int:
        """The key of the series."""
        return self.row.id

    @property
    def rows(self) -> PaneRows:
        """The rows of its panes."""
        return self._rows

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that hold events, or did."""
        return tuple(self.row.facts.lanes)

    def tallies_of(self, writer: str) -> Mapping[str, int]:
        """Return what a writer has tallied so far."""
        found = writers.load(self.connection, self.row.id, writer)
        return {} if found is None else found.tallies

    def add(self, channel: str, panes: Iterable[tuple[int, Storage]]) -> int:
        """Count events in panes of the finest tier, given by index. O(size).

        A pane that has expired is counted in the finest coarser one that survives; one older
        than every tier is dropped. Returns how many events were dropped.
        """
        return self._place(self._added, channel, panes)

    def remove(self, channel: str, panes: Iterable[tuple[int, Storage]]) -> int:
        """Take back events that were counted; what has expired is left, and its number returned.

        The transaction fails with a ValueError if the pane does not hold them.
        """
        return self._place(self._removed, channel, panes)

    def _place(
        self,
        target: defaultdict[int, list[Storage]],
        channel: str,
        panes: Iterable[tuple[int, Storage]],
    ) -> int:
        n_dropped = 0
        for pane, part in panes:
            home = tiers.home_of(self.row.facts.tiers, self.row.facts.first, pane)
            if home is None:
                n_dropped += _n_events(part, channel)
            else:
                target[self._key(channel, *home)].append(self._fitted(channel, part))
        return n_dropped

    def put(self, channel: str, tier: int, index: int, part: Storage) -> None:
        """Count events in a pane of any tier; where it has expired, in what replaced it.

        Raises ValueError where finer panes survive at its time.
        """
        facts = self.row.facts
        fine = index * (facts.tiers[tier].pane_seconds // facts.tiers[0].pane_seconds)
        home = tiers.home_of(facts.tiers, facts.first, fine)
        if home is None:
            return
        if home[0] < tier:
            raise ValueError(
                f"panes of tier {tier} can't be added while finer ones survive at their time"
            )
        self._added[self._key(channel, *home)].append(self._fitted(channel, part))

    def inherit(self, channel: str, tier: int, index: int, part: Storage) -> None:
        """Count in a pane what a child of it held; it is on the scale of the series."""
        self._added[self._key(channel, tier, index)].append(part)

    def begin_at(self, first: tuple[int, ...]) -> None:
        """Move the horizons."""
        self._set_facts(replace(self.row.facts, first=first))

    def tally(
        self,
        writer: str,
        counts: Mapping[str, int],
        *,
        now: float,
        latest: float | None = None,
        since: float | None = None,
    ) -> None:
        """Add to the tallies of a writer, which thereby has written now.

        `latest` is the largest time that it knows, `since` when it began to count.
        """
        before = writers.load(self.connection, self.row.id, writer)
        writers.save(self.connection, self.row.id, writers.told(before, writer, counts, now))
        facts = self.row.facts
        changed = replace(
            facts,
            n_writers=facts.n_writers + (before is None),
            latest=facts.latest if latest is None else max(facts.latest, latest),
            since=facts.since if since is None else min(facts.since, since),
        )
        self._set_facts(changed)

    def close_writer(self, writer: str, now: float) -> None:
        """Write down that a writer has ended. One that never wrote is left out."""
        before = writers.load(self.connection, self.row.id, writer)
        if before is not None:
            closed = replace(before, closed=float(now), flushed=max(before.flushed, float(now)))
            writers.save(self.connection, self.row.id, closed)
            self._is_changed = True

    def fold_writers(self, before: float) -> None:
        """Put writers that ended before some time into one row."""
        facts = self.row.facts
        found = writers.load_all(self.connection, self.row.id, facts.n_writers)
        n_saved = writers.fold(self.connection, self.row.id, found, before)
        if n_saved:
            self._set_facts(replace(facts, n_writers=facts.n_writers - n_saved))

    def _set_facts(self, facts: Facts) -> None:
        self.row = replace(self.row, facts=facts)
        self._is_changed = True

    def settle(self) -> None:
        """Put everything down; called once, when the transaction ends."""
        for key in sorted({*self._added, *self._removed}):
            self._settle_pane(key)
        touched = self._rows.changed
        if not touched and not self._is_changed:
            return
        totals = self._rows.settle()
        number = self.row.change + 1
        facts = catalogue.with_totals(self.row.facts, totals)
        traced = self._trace(number, touched)
        if traced is not None:
            facts = replace(facts, traced=traced)
        self.row = catalogue.save(self.connection, self.row, number, facts)

    def _settle_pane(self, key: int) -> None:
        n_classes = n_classes_of(self._channels[address.lane_of(key)])
        found, before = self._rows.read(key), None
        parts = self._added.get(key, [])
        if found is not None:
            body, before = found
            parts = [*decode_panes([body], n_classes), *parts]
        removed = self._removed.get(key, [])
        if removed:
            parts = [self._without(parts, removed, n_classes)]
        merged = storage.merge(parts, n_classes)
        self._rows.write(key, encode_pane(merged, n_classes), before)

    def _without(self, parts: list[Storage], removed: list[Storage], n_classes: int) -> Storage:
        """Return what is left of counts; ValueError if they don't hold what is to be removed."""
        left = [
            ScoreHistogram(self.row.facts.scale, storage.merge(some, n_classes), n_classes)
            if some
            else ScoreHistogram.empty(self.row.facts.scale, n_classes)
            for some in (parts, removed)
        ]
        return (left[0] - left[1]).stored

    def _trace(self, number: int, touched: list[int]) -> int | None:
        """List the panes that a change touched; return where the list begins, if that moves."""
        if len(touched) > _MOST_TOUCHED:
            self.connection.execute("DELETE FROM touched WHERE series = ?", (self.row.id,))
            return number
        rows = [(self.row.id, number, key) for key in touched]
        if rows:
            self.connection.executemany("INSERT INTO touched VALUES(?, ?, ?)", rows)
        if number % _TRIM_EVERY:
            return None
        begin = max(self.row.facts.traced, number - _REMEMBERED)
        self.connection.execute(
            "DELETE FROM touched WHERE series = ? AND change <= ?", (self.row.id, begin)
        )
        return begin

    def _key(self, channel: str, tier: int, index: int) -> int:
        if channel not in self.row.facts.lanes:
            facts = catalogue.with_channel(self.connection, self.row.facts, channel)
            self.row = replace(self.row, facts=facts)
        lane = self.row.facts.lanes[channel][tier].number
        self._channels[lane] = channel
        return address.pane_key(lane, index)

    def _fitted(self, channel: str, part: Storage) -> Storage:
        """Return counts on the scale of the series."""
        scale = self.row.facts.scale
        if self._given is scale or self._given == scale:
            return part
        return ScoreHistogram(self._given, part, n_classes_of(channel)).rebinned(scale).stored


def _n_events(part: Storage, channel: str) -> int:
    if isinstance(part, KeyList):
        return part.keys.size
    return round(float(storage.widen(part, n_classes_of(channel)).counts.sum()))


class Batch(_Writable):
    """One transaction: changes of any number of series, positions and documents."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._changes: dict[str, SeriesChange] = {}

    def change(
        self, labels: str, row_and_scale: Callable[[], tuple[SeriesRow, Scale]]
    ) -> SeriesChange:
        """Return the change of a series, begun with what is in the file if there is none yet."""
        found = self._changes.get(labels)
        if found is None:
            found = self._changes[labels] = SeriesChange(self.connection, *row_and_scale())
        return found

    def settle(self) -> None:
        """Put everything down; called once, when the transaction ends."""
        for change in self._changes.values():
            change.settle()


@contextmanager
def writing(database: Database) -> Iterator[Batch]:
    """Run one transaction; it is on disk when the block has been left.

    Whatever is raised within, or by putting everything down, undoes all of it.
    """
    with database.write() as connection:
        batch = Batch(connection)
        yield batch
        batch.settle()
