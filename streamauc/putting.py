"""Puts what a monitor took in into a series of a store, within a transaction."""

import math
from collections import Counter
from dataclasses import dataclass

from streamauc.codec import JoinState
from streamauc.events import PaneCounter
from streamauc.histogram import ScoreHistogram
from streamauc.join import JoinDelta, LabelJoin, Predictions
from streamauc.ledger import Panes, events_of
from streamauc.store import StoredSeries
from streamauc.store.change import SeriesChange
from streamauc.store.entries import StoredJoin
from streamauc.timeline import LABELLED, PREDICTED, Timeline
from streamauc.unwritten import JoinBounds, Unwritten


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """What was put into a series: its tallies, its earliest prediction, its labels' delays.

    `delays` are (seconds, label); `earliest` is ``inf`` without a prediction.
    """

    tallies: Counter[str]
    earliest: float
    delays: list[tuple[float, float]]


class SeriesPutter:
    """Joins what came and counts it in a series, each time within a transaction."""

    def __init__(
        self, series: StoredSeries, counter: PaneCounter, scores: PaneCounter, bounds: JoinBounds
    ) -> None:
        self._series = series
        self._counter = counter
        self._scores = scores
        self._bounds = bounds

    def put(self, change: SeriesChange, unwritten: Unwritten, now: float) -> Put:
        """Put down what waited. O(its size)."""
        delta = JoinDelta()
        join = self._join(change)
        for run in unwritten.keyed:
            if isinstance(run, Predictions):
                join.predict(run.keys, run.placed, delta)
            else:
                labels, known_at = run
                join.resolve(labels.keys, labels.labels, known_at, delta)
        join.expire(now, delta)
        tallies = Counter(unwritten.tallies.counts)
        is_predicting = bool(delta.predicted) or PREDICTED in change.channels
        if is_predicting:
            self._begin_predictions(change)
        _drop(_put_counts(change, unwritten.counts, is_predicting=is_predicting), tallies)
        return self._put_delta(change, delta, tallies)

    def absorb(
        self,
        change: SeriesChange,
        parts: Panes,
        entries: JoinState,
        known_at: float,
        tallies: Counter[str],
    ) -> Put:
        """Put down what another monitor held. O(its size)."""
        self._put_parts(change, parts)
        delta = JoinDelta()
        self._join(change).absorb(entries, known_at, delta)
        return self._put_delta(change, delta, tallies)

    def _join(self, change: SeriesChange) -> LabelJoin:
        bounds = self._bounds
        store = StoredJoin(
            change.connection,
            change.series_id,
            max_pending=bounds.max_pending,
            max_early=bounds.max_early,
            max_resolved=bounds.max_resolved,
            labels=self._series.name,
        )
        return LabelJoin(store, bounds.label_ttl)

    def _begin_predictions(self, change: SeriesChange) -> None:
        """Let PREDICTED count what came before the first prediction, too."""
        if PREDICTED not in change.channels:
            for tier, index, part in self._series.panes(LABELLED):
                change.inherit(PREDICTED, tier, index, part.pooled().stored)  # on its own scale

    def _put_delta(self, change: SeriesChange, delta: JoinDelta, tallies: Counter[str]) -> Put:
        tallies.update(delta.tallies)
        tallies["accepted"] += len(delta.predicted)
        earliest = math.inf
        if delta.predicted:
            predicted = events_of(delta.predicted, 0.0)
            earliest = predicted.earliest
            _drop(change.add(PREDICTED, self._scores.count(predicted)), tallies)
        for label in (0.0, 1.0):
            found = [placed for placed, known in delta.labelled if known == label]
            if found:
                change.add(LABELLED, self._counter.count(events_of(found, label)))
        for placed, label in delta.unlabelled:
            change.remove(LABELLED, self._counter.count(events_of([placed], label)))
        return Put(tallies, earliest, delta.delays)

    def _put_parts(self, change: SeriesChange, parts: Panes) -> None:
        theirs = any(channel == PREDICTED for channel, *_ in parts)
        if theirs:
            self._begin_predictions(change)
        for channel, tier, index, part in parts:
            change.put(channel, tier, index, part.stored)
            if PREDICTED in change.channels and not theirs:
                change.put(PREDICTED, tier, index, part.pooled().stored)


def _drop(n_dropped: int, tallies: Counter[str]) -> None:
    """Count as expired what is older than every pane that the store still keeps.

    Of events with weights their number is not known any more.
    """
    n_dropped = min(n_dropped, tallies["accepted"])
    tallies["accepted"] -= n_dropped
    tallies["expired"] += n_dropped


def _put_counts(change: SeriesChange, counts: Timeline, *, is_predicting: bool) -> int:
    """Count what came; return how many events are older than every pane that survives."""
    n_dropped = 0
    for tier, index, part in counts.panes(LABELLED):
        if is_predicting:
            _put_pane(change, PREDICTED, tier, index, part.pooled())
        n_dropped += _put_pane(change, LABELLED, tier, index, part)
    return n_dropped


def _put_pane(
    change: SeriesChange, channel: str, tier: int, index: int, part: ScoreHistogram
) -> int:
    if tier == 0:
        return change.add(channel, [(index, part.stored)])
    change.put(channel, tier, index, part.stored)
    return 0
