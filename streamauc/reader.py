"""Reads a series of a store: windows and histories of all writers' events, nothing written."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from streamauc.answers import Answers
from streamauc.maturity import DelayLog
from streamauc.stats import Stats, Tallies
from streamauc.store import Store, StoredSeries
from streamauc.timeline import PREDICTED

DELAYS = "label delays"  # the kind of document in which a series keeps them


class SeriesReader(Answers):
    """Answers for one series of a store, as of the time that `clock` tells."""

    def __init__(self, store: Store, series: StoredSeries, clock: Callable[[], float]) -> None:
        facts = series.facts
        super().__init__(facts.scale, facts.tiers, origin=origin_of(store, series))
        self._store = store
        self._series = series
        self._clock = clock

    @property
    def _keeper(self) -> StoredSeries:
        return self._series

    @property
    def _has_predictions(self) -> bool:
        return PREDICTED in self._series.channels

    @property
    def observed_since(self) -> float:
        """When counting began, whoever counted."""
        return self._series.facts.since

    def advance(self) -> float:
        """Return the time; panes expire when somebody writes."""
        return self._clock()

    def moment(self) -> AbstractContextManager[object]:
        """Answer everything within by the same state of the store."""
        return self._series.moment()

    def _left_out(self, start: float, end: float) -> bool:
        return self._series.left_out(start, end)

    def _delay_log(self) -> DelayLog:
        return delay_log(self._store, self._series)

    def stats(self) -> Stats:
        """Return what became of every event of every writer so far."""
        return stored_stats(self._series)


def origin_of(store: Store, series: StoredSeries) -> str:
    """Return what marks the windows of a series, whoever reads it."""
    return f"{store.database.path} {series.name}"


def stored_stats(series: StoredSeries, unwritten: Tallies | None = None) -> Stats:
    """Return what became of every event of every writer, and of those not written yet."""
    with series.moment():
        tallies = Tallies(series.tallies())
        n_open, n_early = series.n_entries()
    tallies.add({} if unwritten is None else unwritten.counts)
    return tallies.stats(n_open=n_open, n_early=n_early)


def delay_log(store: Store, series: StoredSeries) -> DelayLog:
    """Return how long the labels of a series took, whoever joined them."""
    log = DelayLog()
    found = store.load(DELAYS, series.name)
    if found is not None:
        log.merge(found.body)
    return log
