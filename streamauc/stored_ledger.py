"""The ledger of a monitor with a store: what comes waits in memory until it is written."""

import logging
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo

import numpy as np

from streamauc._time import CalendarStep, Duration
from streamauc.clock import Clock, EventClock
from streamauc.codec import SeriesState
from streamauc.events import PaneCounter
from streamauc.histogram import ScoreHistogram
from streamauc.join import Labels, Predictions, runs
from streamauc.ledger import Fresh, Ledger, Panes
from streamauc.maturity import DelayLog, LabelDelay
from streamauc.putting import Put, SeriesPutter
from streamauc.reader import DELAYS, delay_log, origin_of, stored_stats
from streamauc.stats import Stats, Tallies
from streamauc.store import DamageError, Store, StoredSeries, catalogue
from streamauc.store.change import Batch, SeriesChange
from streamauc.store.entry_rows import OPEN
from streamauc.store.entry_table import EntryTable
from streamauc.tiers import Tier
from streamauc.timeline import LABELLED, PREDICTED, Timeline
from streamauc.unwritten import Backlog, JoinBounds, Positions, Unwritten
from streamauc.window import Window

_LOG = logging.getLogger("streamauc")
_FLUSHES = "flushes"  # tallied beside the events, to recognise a flush that got through
_ENTRY_BYTES = 200


class StoredLedger(Ledger):
    """Keeps what comes until `take` and `write` put it into a store, and answers from there."""

    def __init__(
        self,
        counter: PaneCounter,
        clock: Clock,
        spans: tuple[Tier, ...],
        store: Store,
        series: StoredSeries,
        bounds: JoinBounds,
        max_unwritten: int,
        *,
        needs_positions: bool,
    ) -> None:
        super().__init__(counter, clock, spans)
        self._store = store
        self._series = series
        self._label_ttl = bounds.label_ttl
        self._putter = SeriesPutter(series, self._counter, self._scores, bounds)
        self._max_unwritten = max_unwritten
        self._writer = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._has_written = False
        self._has_counted = False  # a writer that only tells that it lives has not
        self._origin = origin_of(store, series)
        self._unwritten = self._nothing()
        self._backlog = Backlog(self._nothing, needs_positions=needs_positions)
        self._latest = -math.inf  # what time the store tells
        self._seen = -1  # the change after which it told that
        self._told = ""
        self._was_readable = True

    @property
    def series(self) -> StoredSeries:
        """The keeper of the series on disk."""
        return self._series

    def _nothing(self) -> Unwritten:
        return Unwritten(Timeline(self._scale, self._tiers))

    @property
    def _keeper(self) -> StoredSeries:
        return self._series

    @property
    def _has_predictions(self) -> bool:
        return PREDICTED in self._series.channels

    def _keep(self, panes: Fresh, scores: Callable[[], Fresh]) -> None:  # noqa: ARG002 - once written
        self.tallies, tallies = Tallies(), self.tallies
        self._unwritten.tallies.add(tallies.counts)
        self._unwritten.counts.add(LABELLED, panes)

    def count_keyed(self, arrivals: Sequence[Hashable], *, are_all: bool) -> None:
        """Take in predictions and labels, to be joined when they are written. O(n).

        Those for which there is no room are counted under ``store`` and left out.
        """
        for run in runs(arrivals):
            room = max(0, self._max_unwritten - self.n_waiting)
            self.tallies.add({"store": max(0, len(run.keys) - room)})
            kept = run if len(run.keys) <= room else _first(run, room)
            if not kept.keys:
                continue
            if isinstance(kept, Labels):
                self._unwritten.keyed.append((kept, self._known_at()))
            else:
                kept = Predictions(*self._admitted(kept))
                self._unwritten.keyed.append(kept)
            self._unwritten.n_keyed += len(kept.keys)
        if are_all:
            self._joined_at = self.clock.now()

    @property
    def n_waiting(self) -> int:
        """How many predictions and labels wait to be written."""
        return self._unwritten.n_keyed + self._backlog.n_keyed

    @property
    def is_filling(self) -> bool:
        """Whether there is little room left, so that it is better to write soon."""
        return 2 * self.n_waiting > self._max_unwritten

    def advance(self) -> float:
        """Return the time; panes expire when something is written."""
        return self.clock.now()

    def join_in(self) -> None:
        """Begin with the time that the store tells, when others have counted before."""
        self.look()
        self.catch_up()
        since = self._series.facts.since
        if since < math.inf:  # a clock that was set back began no earlier
            self._since = max(self._since, since)

    def catch_up(self) -> None:
        """Let the time be at least what the store told when `look` looked."""
        self.clock.catch_up(self._latest)

    def take(self) -> None:
        """Take what has been counted by now, to be written."""
        found, self._unwritten = self._unwritten, self._nothing()
        found.tallies.add(self.tallies.counts)
        self.tallies = Tallies()
        found.latest = self.clock.latest
        self._backlog.take(found)

    # From here on with the lock of whoever writes, and without the monitor's: events go on
    # coming in while a disk is slow.

    def look(self) -> None:
        """See what time the store tells, if somebody else has written."""
        database = self._store.database
        try:
            with database.reading:
                found = database.peek(
                    "SELECT change FROM series WHERE labels = ?", (self._series.name,)
                )
            if found is not None and found[0] != self._seen:
                self._latest = self._series.facts.latest
        except (OSError, ValueError) as error:
            _LOG.debug("%s", error)  # whoever writes or answers will raise it

    def seal(self, positions: Positions | None) -> None:
        """Let be written what has come by now; not without positions if they are needed."""
        if positions is not None and self._has_counted and not self._backlog.needs_positions:
            _LOG.warning(
                "events were written before the first position: after a crash in between they"
                " would be counted twice; pass positions=True to the monitor"
            )
        self._backlog.seal(positions)

    @property
    def is_behind(self) -> bool:
        """Whether something has not been written that came before this answer was asked for."""
        return not self._backlog.is_nothing

    @property
    def is_ready(self) -> bool:
        """Whether there is something to write."""
        return self._backlog.is_ready

    def is_overdue(self) -> bool:
        """Return whether a prediction has waited too long for its label. O(log n_open)."""
        if self._label_ttl == math.inf:
            return False
        oldest = self._oldest_open()
        return oldest is not None and oldest < self._now() - self._label_ttl

    def _oldest_open(self) -> float | None:
        """Return the time of the prediction that has been open for longest."""
        with self._store.database.read() as connection:
            row = catalogue.find(connection, self._name)
            if row is None:
                return None
            table = EntryTable(connection, row.id, self._name)
            line = table.line(OPEN, table.totals().first[OPEN])
            return next((entry.placed.real for entry in line), None)

    def write(self) -> None:
        """Write what is sealed into the store, in one transaction with its positions.

        It is there wholly when this returns, and not at all when it raises; but for a failure of
        the commit itself, of which the next try finds out.
        """
        horizons = self._backlog.horizons
        if horizons is not None:  # where panes have expired here, they must have there
            self._series.advance_to(horizons)
        with self._store.write() as batch:
            change = self._series.on(batch)
            self._latest = change.row.facts.latest
            number = change.tallies_of(self._writer).get(_FLUSHES, 0) + 1
            unwritten = self._backlog.begin(number)
            self._put(batch, change, unwritten)
            self._backlog.commit(number)
        self._backlog.end()
        self._has_counted |= not unwritten.is_nothing
        self._has_written, self._seen = True, change.row.change

    def roll_up(self) -> None:
        """Let panes expire that are too old by now; what can't be done now is done later."""
        now = self._latest if isinstance(self.clock, EventClock) else self.clock.latest
        if now == -math.inf:
            return
        try:
            self._series.advance(now)
        except (OSError, ValueError, RuntimeError) as error:
            self._tell_once(f"panes could not be rolled up: {error}")

    def _now(self) -> float:
        """Return the time, by an event clock that of what is written or about to be."""
        if not isinstance(self.clock, EventClock):
            return self.clock.now()
        return self._latest if self._latest > -math.inf else 0.0

    def _tell_once(self, message: str) -> None:
        if message != self._told:
            _LOG.warning("%s", message)
        self._told = message

    def _put(self, batch: Batch, change: SeriesChange, unwritten: Unwritten) -> None:
        is_event = isinstance(self.clock, EventClock)
        self._latest = max(self._latest, unwritten.latest if is_event else self.clock.latest)
        found = self._putter.put(change, unwritten, self._now())
        found.tallies[_FLUSHES] += 1
        self._note(batch, change, found)
        for name, value in unwritten.positions.items():
            batch.position(name, value)

    def _note(self, batch: Batch, change: SeriesChange, found: Put) -> None:
        """Write down beside the counts what belongs to them."""
        self._since = min(self._since, found.earliest)
        self._put_delays(batch, found.delays)
        self._tell(change, found.tallies)

    def _put_delays(self, batch: Batch, delays: list[tuple[float, float]]) -> None:
        if delays:
            log = DelayLog()
            log.add(delays)
            found = batch.load(DELAYS, self._name)
            if found is not None:
                log.merge(found.body)
            batch.save(DELAYS, self._name, log.to_bytes(), self._wall())

    def _tell(self, change: SeriesChange, tallies: Counter[str]) -> None:
        change.tally(
            self._writer,
            tallies,
            now=self._wall(),
            latest=self._latest if self._latest > -math.inf else None,
            since=self._since if self._since < math.inf else None,
        )

    def close(self) -> None:
        """Write down that this writer has ended."""
        self._tell_of_rest()
        if not self._has_written:
            return
        try:
            self._series.close_writer(self._writer, self._wall())
        except (OSError, ValueError, RuntimeError) as error:
            _LOG.warning("the end of a writer could not be written down: %s", error)

    def _tell_of_rest(self) -> None:
        rest = self._backlog.rest
        if rest is None:
            return
        _LOG.warning(
            "what came after the last position was not written: %d events, %d predictions and"
            " labels; read them again from that position",
            rest.tallies.counts["accepted"],
            rest.n_keyed,
        )

    def _wall(self) -> float:
        """Return the time by which others see when this writer wrote last."""
        return time.time() if isinstance(self.clock, EventClock) else self.clock.now()

    @property
    def _name(self) -> str:
        return self._series.name

    def window(self, start: float, end: float, min_coverage: float = 0.0) -> Window:
        """Return the window of a span, rounded outwards, from all writers' events."""
        with self._series.moment():
            return super().window(start, end, min_coverage)

    def answer(self, start: float, end: float, min_coverage: float) -> Window:
        """Return the window of a span; where the store can't be read, an empty one that says so."""
        try:
            found = self.window(start, end, min_coverage)
        except (OSError, DamageError) as error:
            return self._unreadable(start, end, error)
        self._was_readable = True
        return found

    def answers(
        self,
        step: Duration | CalendarStep,
        start: float | None,
        end: float | None,
        zone: tzinfo,
        min_coverage: float,
    ) -> tuple[Window, ...]:
        """Return a window a step; where the store can't be read, one empty one that says so."""
        try:
            found = self.windows(step, start, end, zone, min_coverage)
        except (OSError, DamageError) as error:
            high = self.clock.now() if end is None else end
            low = min(self._since, high) if start is None else start
            return (self._unreadable(low, high, error),)
        self._was_readable = True
        return found

    def _unreadable(self, start: float, end: float, error: Exception) -> Window:
        """Return a window of which nothing is known, and log why once, until it can be read."""
        if self._was_readable:
            _LOG.warning("a poll could not read the store: %s", error)
        self._was_readable = False
        return Window(
            start=float(start),
            end=float(max(start, end)),
            observed_since=self._since,
            time_caveats=(*self._more_caveats, "unreadable"),
            parts=(),
            empty=ScoreHistogram.empty(self._scale),
            origin=self._origin,
            pane_seconds=self._tiers[0].pane_seconds,
        )

    def moment(self) -> AbstractContextManager[object]:
        """Answer everything within by the same state of the store."""
        return self._series.moment()

    @property
    def observed_since(self) -> float:
        """When counting began, whoever counted."""
        return min(self._since, self._series.facts.since)

    @property
    def _more_caveats(self) -> tuple[str, ...]:
        return ("unwritten",) if self.is_behind else ()

    def _left_out(self, start: float, end: float) -> bool:
        return self._series.left_out(start, end)

    def _delay_log(self) -> DelayLog:
        return delay_log(self._store, self._series)

    @property
    def nbytes(self) -> int:
        """Bytes held by what has not been written."""
        return self._backlog.nbytes + _ENTRY_BYTES * self._backlog.n_keyed

    def stats(self) -> Stats:
        """Return what became of every event of every writer so far.

        Predictions and labels that are not written yet are not among them.
        """
        return stored_stats(self._series, self._backlog.tallies)

    def label_delay(self, share: float) -> LabelDelay:
        """Return the delay within which a share of the labels arrive. O(n_open log n_open)."""
        now = self.clock.now()
        with self._series.moment():
            opened = self._series.entries().opened
            ages = np.array([now - placed.real for _, placed in opened])
            return self._delay_log().estimate(share, ages)

    def state(self, classes: tuple[object, object] | None) -> SeriesState:
        """Return everything that the store holds of the series. O(total size)."""
        with self._series.moment():
            facts = self._series.facts
            return SeriesState(
                scale=facts.scale,
                event_clock=isinstance(self.clock, EventClock),
                tiers=tuple((tier.pane_seconds, tier.keep) for tier in self._tiers),
                classes=classes,
                observed_since=self.observed_since,
                latest=facts.latest,
                horizons=facts.first,
                tallies={k: v for k, v in self._series.tallies().items() if k != _FLUSHES},
                join=self._series.entries(),
                panes=[
                    (channel, tier, index, part.wide)
                    for channel in self._series.channels
                    for tier, index, part in self._series.panes(channel)
                ],
            )

    def absorb(self, state: SeriesState, parts: Panes) -> None:
        """Add what `rebinned` made of another ledger's state, in one transaction."""
        self._latest = max(self._latest, state.latest)
        self.catch_up()
        self._since = min(self._since, state.observed_since)
        self._series.advance_to(state.horizons)
        with self._store.write() as batch:
            change = self._series.on(batch)
            tallies = Counter(state.tallies)
            found = self._putter.absorb(change, parts, state.join, self._known_at(), tallies)
            self._note(batch, change, found)
        self._has_written = True


def _first(run: Predictions | Labels, n_entries: int) -> Predictions | Labels:
    """Return the first entries of a run."""
    if isinstance(run, Labels):
        return Labels(run.keys[:n_entries], run.labels[:n_entries])
    return Predictions(run.keys[:n_entries], run.placed[:n_entries])
