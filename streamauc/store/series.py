"""The keeper of one series on disk."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from streamauc import tiers
from streamauc.codec import JoinState
from streamauc.histogram import ScoreHistogram
from streamauc.scale import Scale
from streamauc.storage import Storage
from streamauc.store import address, catalogue, rollup, writers
from streamauc.store.catalogue import SeriesRow
from streamauc.store.change import Batch, SeriesChange, writing
from streamauc.store.entries import reading_join
from streamauc.store.errors import DamageError, Place
from streamauc.store.facts import Facts
from streamauc.store.lane import read_lane
from streamauc.store.mirror import Mirror, Mirrors
from streamauc.store.writers import WriterInfo
from streamauc.tiers import Cover, Tier
from streamauc.timeline import n_classes_of, snapped

# Writers that ended so long ago are told apart no longer.
_RETIRE_SECONDS = 7 * 86_400.0


class StoredSeries:
    """The keeper of one series on disk: a `PaneKeeper`; `Store.series` hands it out.

    It answers what a `Timeline` with the same history would, from all writers' events.
    """

    def __init__(
        self, mirrors: Mirrors, labels: str, scale: Scale | None, wish: Facts | None
    ) -> None:
        self._database = mirrors.database
        self._mirrors = mirrors
        self._labels = labels
        self._scale = scale
        self._wish = wish
        self._id: int | None = None
        self._written: SeriesRow | None = None  # as this object left it
        self._next_expiry = -math.inf
        self._next_tidying = -math.inf

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the series."""
        return catalogue.labels_of(self._labels)

    @property
    def name(self) -> str:
        """The labels as text, the same for every way to write them."""
        return self._labels

    def moment(self) -> AbstractContextManager[object]:
        """Let everything that is read within be of one moment."""
        return self._database.read()

    def n_entries(self) -> tuple[int, int]:
        """Return how many predictions are open, and how many labels wait for one."""
        number = self._number()
        if number is None:
            return 0, 0
        with self._database.read() as connection:
            join = reading_join(connection, number, self._labels)
            return join.n_open, join.n_early

    def entries(self) -> JoinState:
        """Return all predictions, labels and keys that are known. O(n_entries)."""
        number = self._number()
        if number is None:
            return JoinState()
        with self._database.read() as connection:
            return reading_join(connection, number, self._labels).state()

    @property
    def facts(self) -> Facts:
        """What the store knows of the series now."""
        with self._database.reading:
            mirror = self._mirror()
            if mirror is not None:
                return mirror.row().facts
        if self._wish is None:
            raise ValueError(f"no series has the labels {self._labels}")
        return self._wish

    @property
    def scale(self) -> Scale:
        """The scale on which its panes are stored."""
        return self.facts.scale

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Its tiers."""
        return self.facts.tiers

    @property
    def first(self) -> tuple[int, ...]:
        """The index of each tier's oldest surviving pane."""
        return self.facts.first

    @property
    def oldest(self) -> float:
        """Where the oldest pane that may survive begins; ``-inf`` when all are kept."""
        return self.facts.oldest

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that hold events, or did."""
        return tuple(self.facts.lanes)

    @property
    def damaged(self) -> tuple[Place, ...]:
        """The damaged panes that were left out of answers; only with `skip_damaged`."""
        with self._database.reading:
            mirror = self._mirror()
            return () if mirror is None else tuple(mirror.damaged)

    def left_out(self, start: float, end: float) -> bool:
        """Return whether answers about [start, end) were given without damaged panes.

        Where it is not known when a place was of, they may have been. O(n_damaged).
        """
        if not self._mirrors.skip_damaged:
            return False
        spans = self.tiers
        return any(_may_touch(place, spans, start, end) for place in self.damaged)

    def take(self, row: SeriesRow, spans: tuple[Tier, ...] | None) -> None:
        """Take up what the store holds. Raises ValueError unless scale and tiers fit it."""
        if spans is not None and spans != row.facts.tiers:
            raise ValueError(
                f"tiers of the series {self._labels} must be {_shown(row.facts.tiers)},"
                f" got {_shown(spans)}"
            )
        stored = row.facts.scale
        if self._scale is not None and self._scale.common(stored) != stored:
            raise ValueError(
                f"scale of the series {self._labels} must be at least as fine as {stored},"
                f" got {self._scale}"
            )
        self._id = row.id

    @contextmanager
    def write(self) -> Iterator[SeriesChange]:
        """Change this series in one transaction: all of it, or nothing."""
        with writing(self._database) as batch:
            change = self.on(batch)
            yield change
        self._id, self._written = change.series_id, change.row

    def on(self, batch: Batch) -> SeriesChange:
        """Return the change of this series within a transaction of its store."""
        return batch.change(self._labels, lambda: self._begun(batch))

    def _begun(self, batch: Batch) -> tuple[SeriesRow, Scale]:
        """Return the row to change, made where it is missing, and the scale of what will come."""
        row = self._row(batch)
        return row, row.facts.scale if self._scale is None else self._scale

    def _row(self, batch: Batch) -> SeriesRow:
        if self._id is not None:
            return catalogue.load(batch.connection, self._id, self._written)
        row = catalogue.find(batch.connection, self._labels)
        if row is not None:
            self.take(row, None if self._wish is None else self._wish.tiers)
            return row
        if self._wish is None:
            raise ValueError(f"no series has the labels {self._labels}")
        return catalogue.create(batch.connection, self._labels, self._wish)

    def add(self, channel: str, panes: Iterable[tuple[int, Storage]]) -> None:
        """Count events in panes of the finest tier, given by index, in one transaction."""
        with self.write() as change:
            change.add(channel, panes)

    def cover(self, channel: str, start: float, end: float) -> Cover:
        """Return the smallest union of surviving panes that covers [start, end).

        O(log n_panes) parts from memory where nothing has changed; else what changed is read.
        Raises DamageError with the place of a damaged pane.
        """
        with self._database.reading:
            mirror = self._mirror()
            if mirror is not None:
                return mirror.cover(channel, start, end)
        facts = self.facts
        low, high = tiers.round_out(facts.tiers, facts.first, start, end)
        return Cover(low, high, (), expired=start < facts.oldest)

    def snapped(self, edges: Sequence[float]) -> list[int]:
        """Return edges moved to those of surviving panes, without repetitions.

        All are moved down, the last one up, so that each surviving pane lies between two.
        """
        facts = self.facts
        return snapped(facts.tiers, facts.first, edges)

    def panes(self, channel: str) -> Iterator[tuple[int, int, ScoreHistogram]]:
        """Yield (tier, index, histogram) of every pane that holds events of its own.

        All of one moment, read from the file and compared with the sums beside them. Raises
        DamageError at a damaged or a missing one, or leaves it out if that was asked for.
        """
        number = self._number()
        if number is None:
            return
        with self._database.snapshot() as connection:
            row = catalogue.load(connection, number)
            for tier, _ in enumerate(row.facts.lanes.get(channel, ())):
                for panes in read_lane(connection, row, channel, tier, self._skip):
                    for index, part in panes:
                        counts = ScoreHistogram(row.facts.scale, part, n_classes_of(channel))
                        yield tier, index, counts

    def _skip(self, error: DamageError) -> None:
        with self._database.reading:
            mirror = self._mirror()
            if mirror is None:
                raise error
            mirror.skip(error)

    def advance(self, now: float) -> None:
        """Let panes expire that are too old at `now`; time never goes back.

        In transactions of bounded size, between any two of which the file is right. Without
        anything to do it costs nothing, not even a look at the file.
        """
        if now < self._next_expiry:
            return
        if self._number() is None:
            self._wish = rollup.advanced(self.facts, now)
            return
        n_steps = 1
        while not self._step(now):
            n_steps += 1
        self._next_expiry = tiers.next_expiry(self.tiers, now)
        self.tidy(now)
        if n_steps > 1:
            self._database.cut_back()
            self._database.checkpoint()

    def _step(self, now: float) -> bool:
        with self.write() as change:
            return rollup.step(change, rollup.advanced(change.row.facts, now).first)

    def advance_to(self, first: tuple[int, ...]) -> None:
        """Let every pane before each tier's `first` expire into the next coarser tier."""
        is_done = False
        while not is_done:
            with self.write() as change:
                pairs = zip(first, change.row.facts.first, strict=True)
                is_done = rollup.step(change, tuple(max(pair) for pair in pairs))

    def tidy(self, now: float, *, retire_seconds: float = _RETIRE_SECONDS) -> None:
        """Put writers that ended longer ago than `retire_seconds` into one row, now and then."""
        if now >= self._next_tidying:
            self._next_tidying = now + retire_seconds / 100
            with self.write() as change:
                change.fold_writers(now - retire_seconds)

    def tallies(self) -> dict[str, int]:
        """Return the tallies of all writers together, retired ones included."""
        return writers.total(self.writers())

    def writers(self) -> tuple[WriterInfo, ...]:
        """Return every writer: when it began, wrote last and ended, and its tallies."""
        number = self._number()
        if number is None:
            return ()
        with self._database.read() as connection:
            row = catalogue.load(connection, number)
            return writers.load_all(connection, number, row.facts.n_writers)

    def close_writer(self, writer: str, now: float) -> None:
        """Write down that a writer has ended."""
        with self.write() as change:
            change.close_writer(writer, now)

    def _number(self) -> int | None:
        """Return the key of the series, None as long as nobody has made it."""
        if self._id is None:
            with self._database.read() as connection:
                row = catalogue.find(connection, self._labels)
            if row is not None:
                self.take(row, None if self._wish is None else self._wish.tiers)
        return self._id

    def _mirror(self) -> Mirror | None:
        number = self._number()
        return None if number is None else self._mirrors.of(number)


def _may_touch(place: Place, spans: tuple[Tier, ...], start: float, end: float) -> bool:
    if place.start is None or place.tier is None:
        return True
    n_panes = address.CHUNK_PANES if place.table == "chunk" else 1
    return place.start < end and start < place.start + n_panes * spans[place.tier].pane_seconds


def _shown(spans: tuple[Tier, ...]) -> str:
    return str(tuple((tier.pane_seconds, tier.keep) for tier in spans))
