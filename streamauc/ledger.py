"""What all ledgers do: judge what arrives by a clock, and cover spans with windows."""

import math
import os
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from streamauc import tiers
from streamauc.answers import Answers
from streamauc.clock import Clock, EventClock
from streamauc.codec import SeriesState
from streamauc.events import Events, PaneCounter
from streamauc.histogram import ScoreHistogram
from streamauc.intake import Batch
from streamauc.join import Predictions
from streamauc.maturity import DelayLog, LabelDelay
from streamauc.scale import Scale
from streamauc.stats import Stats, Tallies
from streamauc.storage import Storage, WideCounts
from streamauc.tiers import Tier, check_tiers

Panes = Sequence[tuple[str, int, int, ScoreHistogram]]  # (channel, tier, index, counts)
Fresh = list[tuple[int, Storage]]  # (pane of the finest tier, counts)


class Ledger(Answers):
    """Counts batches in panes, by the verdict of a clock; everything needs the monitor's lock."""

    def __init__(self, counter: PaneCounter, clock: Clock, spans: tuple[Tier, ...]) -> None:
        # Equal after pickling, new in a forked child.
        super().__init__(counter.scale, spans, origin=os.urandom(16).hex())
        self.clock = clock
        self._delays = DelayLog()
        self.tallies = Tallies()
        self._counter = counter
        self._scores = PaneCounter(counter.scale, spans[0].pane_seconds, n_classes=1)
        self._ahead: tuple[Hashable, complex] | None = None  # may be confirmed by the next
        self._joined_at = clock.now()
        # A clock of time counts from now on; with event time, from the first event on.
        self._since = math.inf if isinstance(clock, EventClock) else clock.now()

    @abstractmethod
    def _keep(self, panes: Fresh, scores: Callable[[], Fresh]) -> None:
        """Count labelled events, and their `scores` where there are predictions beside them."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held by the counts."""

    @abstractmethod
    def count_keyed(self, arrivals: Sequence[Hashable], *, are_all: bool) -> None:
        """Take in predictions and labels. O(n).

        `are_all` says that nothing which came before this moment waits to be counted.
        """

    @abstractmethod
    def stats(self) -> Stats:
        """Return what became of every event so far."""

    @abstractmethod
    def label_delay(self, share: float) -> LabelDelay:
        """Return the delay within which a share of the labels arrive. O(n_open log n_open)."""

    @abstractmethod
    def state(self, classes: tuple[object, object] | None) -> SeriesState:
        """Return everything counted so far, as `codec` writes it down. O(total size)."""

    @abstractmethod
    def absorb(self, state: SeriesState, parts: Panes) -> None:
        """Add what `rebinned` made of another ledger's state."""

    def restore(self, state: SeriesState, parts: Panes) -> None:
        """Take over a state as it is, the beginning of counting included."""
        self._since = math.inf
        self.absorb(state, parts)

    @property
    def observed_since(self) -> float:
        """When counting began."""
        return self._since

    def _delay_log(self) -> DelayLog:
        return self._delays

    def count(self, batch: Batch) -> None:
        """Count one batch. O(its size) in time order."""
        if batch.rejected or batch.n_ahead:
            self.tallies.add(batch.rejected)
            self.tallies.add({"ahead": batch.n_ahead})
        if batch.histogram is not None:
            self._count_histogram(batch.histogram, batch.moment)
        if batch.events is not None and batch.events.size:
            self._count_events(batch.events, batch)

    def _count_events(self, events: Events, batch: Batch) -> None:
        admission = self.clock.admit(events, self._tiers[-1])
        admitted = admission.events
        self.tallies.add(
            {
                "accepted": admitted.size,
                "expired": admission.n_expired,
                "ahead": admission.n_ahead,
            }
        )
        if not admitted.size:
            return
        self._since = min(self._since, admitted.earliest)
        self.advance()
        panes = batch.panes
        if panes is None or admitted is not events:
            panes = self._counter.count(admitted)
        self._keep(panes, lambda: self._scores.count(_without_labels(admitted)))

    def _count_histogram(self, histogram: ScoreHistogram, moment: float) -> None:
        """Count a histogram as a whole: one time decides for all of its events."""
        n_events = round(float(histogram.totals.sum()))
        verdict = self.clock.admit_one(moment, self._tiers[-1])
        self.tallies.add({verdict: n_events})
        if verdict != "accepted":
            return
        self._since = min(self._since, moment)
        self.advance()
        pane = tiers.pane_of(moment, self._tiers[0].pane_seconds)
        self._keep([(pane, histogram.stored)], lambda: [(pane, histogram.pooled().stored)])

    def _known_at(self) -> float:
        """Return the earliest time at which a label that is counted now can have come.

        So that no label is late only because it was left to wait for a fold.
        """
        return self.clock.now() if isinstance(self.clock, EventClock) else self._joined_at

    def _admitted(self, run: Predictions) -> tuple[list[Hashable], list[complex]]:
        """Return the predictions whose time counts."""
        moments = [placed.real for placed in run.placed]
        if self.clock.admit_span(min(moments), max(moments), self._tiers[-1]):
            return run.keys, run.placed
        kept = list(self._judged(run))
        return [key for key, _ in kept], [placed for _, placed in kept]

    def _judged(self, run: Predictions) -> Iterator[tuple[Hashable, complex]]:
        """Judge predictions one by one; yield those that count, a confirmed earlier one too."""
        tier = self._tiers[-1]
        for key, placed in zip(run.keys, run.placed, strict=True):
            verdict = self.clock.admit_one(placed.real, tier)
            waited = self._ahead
            if verdict == "ahead":
                self._ahead = (key, placed)
                if (
                    waited is not None
                    and waited[0] != key
                    and self.clock.confirm(waited[1].real, placed.real)
                ):
                    self._ahead = None
                    self.tallies.add({"ahead": -1})
                    yield waited
                    verdict = self.clock.admit_one(placed.real, tier)
            if verdict == "accepted":
                yield key, placed
            else:
                self.tallies.add({verdict: 1})


def _without_labels(events: Events) -> Events:
    return replace(events, classes=np.zeros(events.size, dtype=np.int64))


def events_of(placed: Sequence[complex], label: float) -> Events:
    """Return predictions as events that all have one label."""
    both = np.array(placed, dtype=np.complex128)
    classes = np.full(both.size, int(label), dtype=np.int64)
    return Events.of(classes, both.imag.copy(), both.real.copy())


def _histogram(scale: Scale, counts: WideCounts) -> ScoreHistogram:
    return ScoreHistogram(scale, counts, counts.counts.shape[0])


def rebinned(state: SeriesState, scale: Scale, spans: tuple[Tier, ...]) -> Panes:
    """Return the panes of a state on a scale. Raises ValueError unless tiers and scale fit."""
    if check_tiers(state.tiers) != spans:
        raise ValueError(f"tiers must be the same, got {state.tiers} and {spans}")
    return [
        (channel, tier, index, _histogram(state.scale, counts).rebinned(scale))
        for channel, tier, index, counts in state.panes
    ]
