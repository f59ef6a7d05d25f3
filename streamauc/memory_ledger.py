"""The ledger of a monitor without a store: panes and predictions in memory."""

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from streamauc.clock import Clock, EventClock
from streamauc.codec import SeriesState
from streamauc.events import PaneCounter
from streamauc.join import JoinDelta, LabelJoin, Labels, runs
from streamauc.ledger import Fresh, Ledger, Panes, events_of
from streamauc.maturity import LabelDelay
from streamauc.stats import Stats
from streamauc.tiers import Tier
from streamauc.timeline import LABELLED, PREDICTED, Timeline


class MemoryLedger(Ledger):
    """Joins what arrives at once, and keeps the panes in a `Timeline`."""

    def __init__(
        self, counter: PaneCounter, clock: Clock, spans: tuple[Tier, ...], join: LabelJoin
    ) -> None:
        super().__init__(counter, clock, spans)
        self._join = join
        self._timeline = Timeline(self._scale, spans)
        # From the first prediction on, PREDICTED counts every event, those before it too.
        self._is_predicting = False

    @property
    def _keeper(self) -> Timeline:
        return self._timeline

    @property
    def _has_predictions(self) -> bool:
        return self._is_predicting

    def _keep(self, panes: Fresh, scores: Callable[[], Fresh]) -> None:
        self._timeline.add(LABELLED, panes)
        if self._is_predicting:  # beside them, an event is one whose label is known already
            self._timeline.add(PREDICTED, scores())

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts."""
        return self._timeline.nbytes

    def count_keyed(self, arrivals: Sequence[Hashable], *, are_all: bool) -> None:
        """Join predictions and labels, and count what came of it. O(n).

        `are_all` says that nothing which came before this moment waits to be counted.
        """
        if not arrivals and not self._join.n_open:  # a stream that only updates pays no more
            self._joined_at = self.clock.now() if are_all else self._joined_at
            return
        delta = JoinDelta()
        for run in runs(arrivals):
            if not run.keys:
                continue
            if isinstance(run, Labels):
                self._join.resolve(run.keys, run.labels, self._known_at(), delta)
            else:
                self._join.predict(*self._admitted(run), delta)
        now = self.clock.now()
        if are_all:
            self._joined_at = now
        self._join.expire(now, delta)
        self._count_delta(delta)

    def _count_delta(self, delta: JoinDelta) -> None:
        self.tallies.add(delta.tallies)
        self._delays.add(delta.delays)
        self.tallies.add({"accepted": len(delta.predicted)})
        if delta.predicted:
            predicted = events_of(delta.predicted, 0.0)
            self._since = min(self._since, predicted.earliest)
            self.advance()
            self._begin_predictions()
            self._timeline.add(PREDICTED, self._scores.count(predicted))
        for label in (0.0, 1.0):
            found = [placed for placed, known in delta.labelled if known == label]
            if found:
                self._timeline.add(LABELLED, self._counter.count(events_of(found, label)))
        for placed, label in delta.unlabelled:
            self._timeline.remove(LABELLED, self._counter.count(events_of([placed], label)))

    def _begin_predictions(self) -> None:
        if not self._is_predicting:
            self._is_predicting = True
            for tier, index, part in self._timeline.panes(LABELLED):
                self._timeline.put(PREDICTED, tier, index, part.pooled().stored)

    def stats(self) -> Stats:
        """Return what became of every event so far."""
        delta = JoinDelta()
        self._join.expire(self.clock.now(), delta)
        self._count_delta(delta)
        return self.tallies.stats(n_open=self._join.n_open, n_early=self._join.n_early)

    def label_delay(self, share: float) -> LabelDelay:
        """Return the delay within which a share of the labels arrive. O(n_open log n_open)."""
        now = self.clock.now()
        ages = np.array([now - placed.real for _, placed in self._join.state().opened])
        return self._delays.estimate(share, ages)

    def advance(self) -> float:
        """Let panes expire that are too old by now and return the time."""
        now = self.clock.now()
        # Without any event, an event clock says 0, by which nothing must expire.
        if self.clock.latest > -math.inf:
            self._timeline.advance(self.clock.latest)
        return now

    def state(self, classes: tuple[object, object] | None) -> SeriesState:
        """Return everything counted so far, as `codec` writes it down. O(total size)."""
        self.advance()
        return SeriesState(
            scale=self._scale,
            event_clock=isinstance(self.clock, EventClock),
            tiers=tuple((tier.pane_seconds, tier.keep) for tier in self._tiers),
            classes=classes,
            observed_since=self._since,
            latest=self.clock.latest,
            horizons=self._timeline.first,
            tallies=dict(self.tallies.counts),
            join=self._join.state(),
            panes=[
                (channel, tier, index, part.wide)
                for channel in self._timeline.channels
                for tier, index, part in self._timeline.panes(channel)
            ],
        )

    def absorb(self, state: SeriesState, parts: Panes) -> None:
        """Add what `rebinned` made of another ledger's state."""
        self.tallies.add(state.tallies)
        self._since = min(self._since, state.observed_since)
        self.clock.catch_up(state.latest)
        self.advance()
        # Where the other's fine panes have expired, only coarse ones can be added up.
        first = zip(self._timeline.first, state.horizons, strict=True)
        self._timeline.advance_to(tuple(max(pair) for pair in first))
        theirs = any(channel == PREDICTED for channel, *_ in parts)
        if theirs:
            self._begin_predictions()
        for channel, tier, index, part in parts:
            self._timeline.put(channel, tier, index, part.stored)
            if self._is_predicting and not theirs:
                self._timeline.put(PREDICTED, tier, index, part.pooled().stored)
        delta = JoinDelta()
        self._join.absorb(state.join, self._known_at(), delta)
        self._count_delta(delta)
