"""A mirror: the panes of one series in memory, as far as somebody has asked for them.

It is a `Timeline` into which chunks are loaded when a question first needs them, each checked
against its sum. A question first asks the file for the number of the last change. As long as it
stays the same, nothing else is read, so that a window costs what it costs in memory. When it has
moved, the panes that were touched since are read again; when their list does not reach back so
far, the sums of all chunks, and those that differ are forgotten. New horizons empty the mirror.
"""

import logging
import sqlite3
from collections.abc import Iterable, Iterator

from streamauc import tiers
from streamauc.codec import decode_panes
from streamauc.histogram import ScoreHistogram
from streamauc.storage import Storage
from streamauc.store import address, catalogue
from streamauc.store.budget import Budget
from streamauc.store.catalogue import SeriesRow
from streamauc.store.database import Database
from streamauc.store.directory import Directory, LaneState
from streamauc.store.errors import DamageError, Place
from streamauc.store.rows import PANE, PANES, Total, Where, unsealed
from streamauc.tiers import Cover
from streamauc.timeline import Timeline, n_classes_of

_LOG = logging.getLogger("streamauc")
# What keeps a pane in order and remembers its CRC, and what a pane takes that is not loaded yet.
_KEPT_BYTES, _USUAL_BYTES = 500, 4_096


class Mirror:
    """The panes of one series in memory; everything needs the lock `Database.reading`."""

    def __init__(
        self, database: Database, series: int, budget: Budget, *, skip_damaged: bool
    ) -> None:
        self._database = database
        self._series = series
        self._budget = budget
        self._skip_damaged = skip_damaged
        self._generation = -1
        self._row: SeriesRow | None = None
        self._loaded: dict[int, dict[int, int]] = {}  # by chunk, the CRC of each pane
        self.damaged: dict[Place, None] = {}  # in the order in which they were met

    def row(self) -> SeriesRow:
        """Return the series as it is now."""
        if self._is_fresh() and self._row is not None:
            return self._row
        with self._database.read() as connection:
            return self._refreshed(connection)

    def cover(self, channel: str, start: float, end: float) -> Cover:
        """Return what `Timeline.cover` would; as fast where nothing changed and all is loaded.

        A span that does not fit in memory is read piece by piece, every time.
        """
        if self._is_fresh() and self._row is not None:
            low, high = tiers.round_out(self._timeline.tiers, self._timeline.first, start, end)
            if not self._n_missing(channel, low, high):
                return self._answer(channel, start, end)
        with self._database.read() as connection:
            facts = self._refreshed(connection).facts
            low, high = tiers.round_out(facts.tiers, facts.first, start, end)
            parts = tuple(self._pieces(connection, channel, low, high))
        return Cover(low, high, parts, expired=start < facts.oldest)

    def _is_fresh(self) -> bool:
        """Return whether nothing has changed in the file since the mirror last looked."""
        if self._row is None or self._generation != self._database.generation:
            return False
        found = self._database.peek("SELECT change FROM series WHERE id = ?", (self._series,))
        return found is not None and found[0] == self._row.change

    def _answer(self, channel: str, start: float, end: float) -> Cover:
        self._budget.use(self._used(channel, start, end))
        return self._timeline.cover(channel, start, end)

    def _used(self, channel: str, start: float, end: float) -> Iterator[int]:
        low, high = tiers.round_out(self._timeline.tiers, self._timeline.first, start, end)
        for _, chunks in self._directory.between(channel, low, high):
            yield from chunks

    # What a question needs is loaded.

    def _n_missing(self, channel: str, low: int, high: int) -> int:
        """Return how many panes of a span are not loaded."""
        return sum(
            lane.chunks[chunk][0]
            for lane, chunks in self._directory.between(channel, low, high)
            for chunk in chunks
            if chunk not in self._loaded
        )

    def _is_too_much(self, channel: str, low: int, high: int) -> bool:
        """Return whether a span takes several chunks that don't fit in memory together."""
        found = self._directory.between(channel, low, high)
        n_bytes = self._n_missing(channel, low, high) * _USUAL_BYTES
        return n_bytes > self._budget.limit and any(len(chunks) > 2 for _, chunks in found)

    def _pieces(
        self, connection: sqlite3.Connection, channel: str, low: int, high: int
    ) -> Iterable[ScoreHistogram]:
        """Yield histograms that add up to a span, from as many pieces as have room in memory."""
        middle = tiers.snap(self._timeline.tiers, self._timeline.first, (low + high) // 2)
        if self._is_too_much(channel, low, high) and low < middle < high:
            for start, end in ((low, middle), (middle, high)):
                parts = list(self._pieces(connection, channel, start, end))
                yield from [ScoreHistogram.merge(parts)] if parts else []
            return
        for lane, chunks in self._directory.between(channel, low, high):
            missing = [chunk for chunk in chunks if chunk not in self._loaded]
            for first, last in address.adjacent(missing):
                self._load(connection, lane, first, last)
        yield from self._answer(channel, low, high).parts
        self._budget.shrink()

    def _load(self, connection: sqlite3.Connection, lane: LaneState, first: int, last: int) -> None:
        """Load chunks that stand side by side. O(their size)."""
        rows = connection.execute(
            PANES,
            address.chunk_span(first, last),
        ).fetchall()
        crcs: dict[int, dict[int, int]] = {chunk: {} for chunk in range(first, last + 1)}
        keys, bodies = [], []
        for key, blob in rows:
            try:
                body, crc = unsealed(key, blob, self._where)
            except DamageError as error:
                self.skip(error)
                continue
            found = crcs.get(address.chunk_of(key))
            if found is None:  # a damaged page can hold keys that were not asked for
                self.skip(DamageError("a pane stands elsewhere", self._where("pane", key)))
                continue
            found[key] = crc
            keys.append(key)
            bodies.append(body)
        for chunk, panes in crcs.items():
            self._check(chunk, panes.values())
        parts = decode_panes(bodies, n_classes_of(lane.channel))
        indices = map(address.index_of, keys)
        self._timeline.load(lane.channel, lane.tier, zip(indices, parts, strict=True))
        self._loaded |= crcs
        self._count(keys, parts)

    def _count(self, keys: list[int], parts: list[Storage]) -> None:
        sizes: dict[int, int] = {}
        for key, part in zip(keys, parts, strict=True):
            chunk = address.chunk_of(key)
            sizes[chunk] = sizes.get(chunk, 0) + part.nbytes + _KEPT_BYTES
        for chunk, n_bytes in sizes.items():
            self._budget.hold(chunk, n_bytes, self.unload)

    def unload(self, chunk: int) -> None:
        """Forget a chunk, and every sum that it is part of."""
        self._loaded.pop(chunk, None)
        self._budget.release(chunk)
        lane = self._directory.lane(chunk)
        first, last = map(address.index_of, address.chunk_span(chunk))
        self._timeline.unload(lane.channel, lane.tier, first, last + 1)

    # What has changed is read again.

    def _refreshed(self, connection: sqlite3.Connection) -> SeriesRow:
        """Bring the mirror up to the moment of a transaction and return the series."""
        before, self._row = self._row, None  # unless all goes well, all is read anew
        row = catalogue.load(connection, self._series, before)
        self._where: Where = row.where
        is_mine = self._generation == self._database.generation
        if before is None or not is_mine or row.facts.first != before.facts.first:
            self._clear(connection, row)
        elif row.change != before.change:
            is_traced = row.facts.traced <= before.change
            if not (is_traced and self._follow(connection, row, before.change)):
                self._compare(connection, row)
        self._row = row
        return row

    def _clear(self, connection: sqlite3.Connection, row: SeriesRow) -> None:
        for chunk in self._loaded:
            self._budget.release(chunk)
        self._loaded = {}
        self._timeline = Timeline(row.facts.scale, row.facts.tiers, patient=True)
        self._timeline.first = row.facts.first
        self._directory = Directory(connection, row, self.skip)
        self._generation = self._database.generation

    def _follow(self, connection: sqlite3.Connection, row: SeriesRow, change: int) -> bool:
        """Read again what was touched since a change; return whether that explains all sums."""
        rows = connection.execute(
            "SELECT DISTINCT pane FROM touched WHERE series = ? AND change > ?",
            (self._series, change),
        ).fetchall()
        keys = [key for (key,) in rows]
        chunks = {address.chunk_of(key) for key in keys}
        try:
            is_explained = self._directory.reread(connection, row, chunks)
        except DamageError:  # whoever needs it will hear of it
            is_explained = False
        if not is_explained:
            return False
        for key in keys:
            self._reread(connection, key)
        for chunk in chunks & self._loaded.keys():
            total = self._directory.total(chunk)
            if total is None or not _adds_up(self._loaded[chunk].values(), total):
                self.unload(chunk)
        return True

    def _reread(self, connection: sqlite3.Connection, key: int) -> None:
        """Read a pane again if its chunk is loaded; else see to it that no sum contains it."""
        chunk = address.chunk_of(key)
        lane, part = self._directory.lane(chunk), None
        crcs = self._loaded.get(chunk)
        if crcs is not None:
            crcs.pop(key, None)
            statement = PANE
            found = connection.execute(statement, (key,)).fetchone()
            if found is not None:
                try:
                    body, crcs[key] = unsealed(key, found[0], self._where)
                except DamageError:
                    self.unload(chunk)  # whoever needs it will hear of it
                    return
                (part,) = decode_panes([body], n_classes_of(lane.channel))
        self._timeline.replace(lane.channel, lane.tier, address.index_of(key), part)

    def _compare(self, connection: sqlite3.Connection, row: SeriesRow) -> None:
        """Forget the chunks whose sums differ."""
        before = self._directory.totals()
        self._directory = Directory(connection, row, self.skip)
        after = self._directory.totals()
        for chunk in before.keys() | after.keys():
            if before.get(chunk) != after.get(chunk):
                self.unload(chunk)

    # What is damaged is reported, or left out.

    def _check(self, chunk: int, crcs: Iterable[int]) -> None:
        total = self._directory.total(chunk)
        if total is not None and not _adds_up(crcs, total):
            place = self._where("chunk", chunk)
            self.skip(DamageError("panes are missing, or others in their place", place))

    def skip(self, error: DamageError) -> None:
        """Leave a pane out, and log it once; or raise the error unless that was asked for."""
        if not self._skip_damaged:
            raise error
        if error.place not in self.damaged:
            self.damaged[error.place] = None
            _LOG.warning("left out of %s: %s", self._database.path, error)


class Mirrors:
    """The mirrors of a store's series, which share a budget."""

    def __init__(self, database: Database, budget: Budget, *, skip_damaged: bool) -> None:
        self.database = database
        self._budget = budget
        self.skip_damaged = skip_damaged
        self._mirrors: dict[int, Mirror] = {}

    @property
    def nbytes(self) -> int:
        """About how many bytes they hold."""
        return self._budget.used

    def of(self, series: int) -> Mirror:
        """Return the mirror of a series. The lock `Database.reading` must be held."""
        found = self._mirrors.get(series)
        if found is None:
            found = Mirror(self.database, series, self._budget, skip_damaged=self.skip_damaged)
            self._mirrors[series] = found
        return found


def _adds_up(crcs: Iterable[int], total: Total) -> bool:
    """Return whether panes are those of which a chunk's row tells."""
    found = list(crcs)
    return (len(found), address.combined(found)) == total
