"""The ledger: what has been counted, and when it was; every method needs the monitor's lock."""

import itertools
import math
import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo

import numpy as np

from streamauc import tiers
from streamauc._time import CalendarStep, Duration
from streamauc.advance import PaneDetector, PaneStream, advance
from streamauc.change.verdict import State
from streamauc.clock import Clock, EventClock
from streamauc.codec import SeriesState
from streamauc.events import Events, PaneCounter
from streamauc.histogram import ScoreHistogram
from streamauc.history import step_edges
from streamauc.intake import Batch
from streamauc.join import JoinDelta, LabelJoin, Labels, Predictions, runs
from streamauc.maturity import DelayLog, LabelDelay
from streamauc.scale import Scale
from streamauc.stats import Stats, Tallies
from streamauc.storage import WideCounts
from streamauc.tiers import Cover, Tier, check_tiers
from streamauc.timeline import Timeline
from streamauc.window import Window

LABELLED, PREDICTED = "labelled", "predicted"
Panes = Sequence[tuple[str, int, int, ScoreHistogram]]  # (channel, tier, index, counts)


class Ledger:
    """Counts batches in panes, by the verdict of a clock, and covers spans with them."""

    def __init__(
        self, counter: PaneCounter, clock: Clock, spans: tuple[Tier, ...], join: LabelJoin
    ) -> None:
        self.clock = clock
        self._join = join
        self._delays = DelayLog()
        self.tallies = Tallies()
        self._counter = counter
        self._scores = PaneCounter(counter.scale, spans[0].pane_seconds, n_classes=1)
        self._scale = counter.scale
        self._tiers = spans
        self._timeline = Timeline(self._scale, spans)
        # From the first prediction on, PREDICTED counts every event, those before it too.
        self._has_predictions = False
        self._ahead: tuple[Hashable, complex] | None = None  # may be confirmed by the next
        self._joined_at = clock.now()
        # A clock of time counts from now on; with event time, from the first event on.
        self._since = math.inf if isinstance(clock, EventClock) else clock.now()
        # Marks the windows of one stream; equal after pickling, new in a forked child.
        self._origin = os.urandom(16).hex()

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts."""
        return self._timeline.nbytes

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
        self._timeline.add(LABELLED, panes)
        if self._has_predictions:  # beside them, an event is one whose label is known already
            self._count_scores(admitted)

    def _count_scores(self, events: Events) -> None:
        nobody = replace(events, classes=np.zeros(events.size, dtype=np.int64))
        self._timeline.add(PREDICTED, self._scores.count(nobody))

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
        self._timeline.add(LABELLED, [(pane, histogram.stored)])
        if self._has_predictions:
            self._timeline.add(PREDICTED, [(pane, histogram.pooled().stored)])

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

    def _count_delta(self, delta: JoinDelta) -> None:
        self.tallies.add(delta.tallies)
        self._delays.add(delta.delays)
        self.tallies.add({"accepted": len(delta.predicted)})
        if delta.predicted:
            predicted = _events(delta.predicted, 0.0)
            self._since = min(self._since, predicted.earliest)
            self.advance()
            self._begin_predictions()
            self._timeline.add(PREDICTED, self._scores.count(predicted))
        for label in (0.0, 1.0):
            found = [placed for placed, known in delta.labelled if known == label]
            if found:
                self._timeline.add(LABELLED, self._counter.count(_events(found, label)))
        for placed, label in delta.unlabelled:
            self._timeline.remove(LABELLED, self._counter.count(_events([placed], label)))

    def _begin_predictions(self) -> None:
        if not self._has_predictions:
            self._has_predictions = True
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

    def step(self, detector: PaneDetector) -> State:
        """Step a detector over the panes that have matured; see `advance.advance`."""
        now = self.advance()
        delay = self._delays.usual(detector.min_coverage)
        return advance(detector, PaneStream(self.window, self._begin(), now, delay))

    def advance(self) -> float:
        """Let panes expire that are too old by now and return the time."""
        now = self.clock.now()
        # Without any event, an event clock says 0, by which nothing must expire.
        if self.clock.latest > -math.inf:
            self._timeline.advance(self.clock.latest)
        return now

    def window(self, start: float, end: float, min_coverage: float = 0.0) -> Window:
        """Return the window of a span, rounded outwards. O(log n_panes)."""
        cover = self._timeline.cover(LABELLED, start, end)
        predicted = (
            self._timeline.cover(PREDICTED, start, end).parts if self._has_predictions else ()
        )
        return self._window(cover, predicted, min_coverage)

    def windows(
        self,
        step: Duration | CalendarStep,
        start: float | None,
        end: float | None,
        zone: tzinfo,
        min_coverage: float = 0.0,
    ) -> tuple[Window, ...]:
        """Return a window a step; from the first event and until now where None."""
        now = self.advance()
        low = self._begin() if start is None else start
        high = math.nextafter(now, math.inf) if end is None else end
        if not low < high:
            return ()
        edges = self._timeline.snapped(step_edges(step, low, high, zone))
        pairs = itertools.pairwise(edges)
        return tuple(self.window(low, high, min_coverage) for low, high in pairs)

    def _begin(self) -> float:
        """Return where the first pane begins that may hold events."""
        if self._since == math.inf:
            return math.inf
        return self._timeline.snapped((max(self._since, self._timeline.oldest),))[0]

    def _window(
        self, cover: Cover, predicted: tuple[ScoreHistogram, ...], min_coverage: float
    ) -> Window:
        caveats = []
        if cover.start < tiers.floor(self._since, self._tiers[0].pane_seconds):
            caveats.append("warming_up")
        if cover.expired:
            caveats.append("expired")
        return Window(
            start=float(cover.start),
            end=float(cover.end),
            observed_since=self._since,
            time_caveats=tuple(caveats),
            parts=cover.parts,
            predicted_parts=predicted,
            min_coverage=min_coverage,
            empty=ScoreHistogram.empty(self._scale),
            origin=self._origin,
        )

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

    def absorb(
        self, state: SeriesState, parts: Sequence[tuple[str, int, int, ScoreHistogram]]
    ) -> None:
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
            if self._has_predictions and not theirs:
                self._timeline.put(PREDICTED, tier, index, part.pooled().stored)
        delta = JoinDelta()
        self._join.absorb(state.join, self._known_at(), delta)
        self._count_delta(delta)

    def restore(self, state: SeriesState, parts: Panes) -> None:
        """Take over a state as it is, the beginning of counting included."""
        self._since = math.inf
        self.absorb(state, parts)


def _events(placed: Sequence[complex], label: float) -> Events:
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
