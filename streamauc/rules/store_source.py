"""What rules read of a store."""

import functools
import math
import time
from collections.abc import Callable, Sequence

from streamauc import tiers
from streamauc.change.reference import ReferencePanes
from streamauc.reader import SeriesReader
from streamauc.rules.model import Detection, Key, series_key
from streamauc.rules.newest import newest_event
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, Health, Verdict
from streamauc.rules.tallies import Book, Tally, dumps, grown, loads
from streamauc.store import DamageError, Place, Store, StoredSeries
from streamauc.store.change import Batch
from streamauc.store.documents import Document
from streamauc.tiers import Tier, round_out
from streamauc.window import Window

_TALLIES, _ALL = "tallies", "all series"  # where in the store they are


class StoreSource:
    """All series of a store, as a `Source`; detectors advance in it, whoever asks.

    `clock` tells the time; of a series that goes by event time, too. Unless it is to `keep` what
    detectors have taken in, the store stays as it is, and nothing is seen of what came after that
    time: a pane that reaches beyond it is left out.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], float] = time.time, keep: bool = True
    ) -> None:
        self._store = store
        self._keep = keep
        self._clock = clock
        self._series = {series_key(one.labels): one for one in store.all_series()}
        self._readers: dict[str, SeriesReader] = {}
        self._noted: dict[str, tuple[Tally, float]] = {}

    def now(self) -> float:
        """Return the time."""
        return self._clock()

    def series(self) -> Sequence[Labels]:
        """Return the labels of every series."""
        return [one.labels for one in self._series.values()]

    def _found(self, labels: Labels) -> StoredSeries:
        return self._series[series_key(labels)]

    def _reader(self, labels: Labels) -> SeriesReader:
        key = series_key(labels)
        if key not in self._readers:
            self._readers[key] = SeriesReader(self._store, self._series[key], self._clock)
        return self._readers[key]

    def tiers(self, labels: Labels) -> tuple[Tier, ...]:
        """Return the tiers of a series."""
        return self._found(labels).tiers

    def pane(self, labels: Labels, moment: float) -> tuple[float, float]:
        """Return the span of the finest pane that survives and holds a moment."""
        facts = self._found(labels).facts
        return round_out(facts.tiers, facts.first, moment, math.nextafter(moment, math.inf))

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end), rounded outwards to panes."""
        reader = self._reader(labels)
        with reader.moment():
            if self._keep:
                return reader.window(start, end)
            facts, now = self._found(labels).facts, self.now()
            if round_out(facts.tiers, facts.first, start, end)[1] > now:
                end = tiers.snap(facts.tiers, facts.first, now)
            return reader.window(min(start, end), end)

    def health(self, labels: Labels) -> Health:
        """Return how a series is doing; the newest event to the end of its pane."""
        series, now = self._found(labels), self.now()
        # By event time there is no telling how long ago something was written.
        wall = time.time() if series.facts.event_clock else now
        with series.moment():
            newest = newest_event(lambda low, high: self.window(labels, low, high), now)
        return Health(
            newest_event=newest,
            writers={
                one.id: max(0.0, wall - one.flushed)
                for one in series.writers()
                if one.closed is None
            },
        )

    def tallies(self, labels: Labels) -> Sequence[Tally]:
        """Return what had been offered by now and by earlier evaluations.

        What had been offered by a time in the past is known of evaluations only.
        """
        key, now = series_key(labels), self.now()
        earlier = [one for one in self._tallied.get(key, ()) if one.at <= now]
        if not self._keep:
            return earlier
        stats = self._reader(labels).stats()
        newest = Tally(now, stats.n_offered, stats.n_rejected)
        self._noted[key] = newest, self._found(labels).facts.since
        return grown(earlier, *self._noted[key])

    @functools.cached_property
    def _tallied(self) -> Book:
        return _book(self._store.load(_TALLIES, _ALL))

    def keep(self, batch: Batch) -> None:
        """Write down the tallies that were asked for, beside what others wrote meanwhile."""
        if not self._noted:
            return
        book = _book(batch.load(_TALLIES, _ALL))
        for key, (newest, began) in self._noted.items():
            book[key] = grown(book.get(key, ()), newest, began)
        batch.save(_TALLIES, _ALL, dumps(book), self.now())

    def reference(self, name: str, labels: Labels) -> Compared:  # noqa: ARG002 - one for all series
        """Return a named reference. Raises LookupError if there is none."""
        try:
            return self._store.reference(name).histogram
        except DamageError:
            raise
        except ValueError as error:
            raise LookupError(str(error)) from None

    def reference_panes(self, name: str, labels: Labels, pane_seconds: int) -> ReferencePanes:
        """Return a reference pane by pane, from the series' own past that it names the span of."""
        found = self._store.reference(name)
        if math.isnan(found.start) or math.isnan(found.end):
            raise LookupError(f"reference {name!r} must have a span to be read pane by pane")
        reader = self._reader(labels)
        with reader.moment():
            panes = _whole_panes(reader, found.start, found.end, pane_seconds)
        return ReferencePanes(
            [round(one.start // pane_seconds) for one in panes],
            [one.n_pos for one in panes],
            [one.n_neg for one in panes],
        )

    def detect(self, key: Key, detection: Detection, labels: Labels, now: float) -> Verdict:
        """Advance a detector to `now`, its state in the same transaction; return what it says."""
        # Loaded here: few files have a detector, and a check begins anew each time.
        from streamauc.rules.stored_detectors import StoredDetectors

        return StoredDetectors(self._store, self, keep=self._keep).detect(
            key, detection, labels, now
        )


def _book(document: Document | None) -> Book:
    """Return the tallies of all series as they were stored."""
    if document is None:
        return {}
    try:
        return loads(document.body)
    except ValueError as error:
        place = Place("document", key=f"{document.kind} {document.name}")
        raise DamageError(f"tallies can't be read: {error}", place) from error


def _whole_panes(reader: SeriesReader, start: float, end: float, pane_seconds: int) -> list[Window]:
    first, stop = math.ceil(start / pane_seconds), math.floor(end / pane_seconds)
    windows = (
        reader.window(index * pane_seconds, (index + 1) * pane_seconds)
        for index in range(first, stop)
    )
    return [one for one in windows if one.end - one.start == pane_seconds]
