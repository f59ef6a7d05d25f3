"""``--merge``: a series of the file is added to the same series of a store."""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from streamauc.cli.storing.cells import Pane
from streamauc.cli.storing.facts import SeriesRecord
from streamauc.cli.storing.putting import join_of, make_channels, part_of, put_panes, put_writers
from streamauc.cli.storing.snapshot import Snapshot
from streamauc.codec import JoinState
from streamauc.events import PaneCounter
from streamauc.histogram import ScoreHistogram
from streamauc.join import JoinDelta, LabelJoin
from streamauc.ledger import events_of
from streamauc.rules.selector import braced
from streamauc.scale import Scale
from streamauc.storage import Storage
from streamauc.store import Store, catalogue, rollup
from streamauc.store.catalogue import SeriesRow
from streamauc.store.change import SeriesChange
from streamauc.store.writers import RETIRED, WriterInfo
from streamauc.timeline import LABELLED, PREDICTED


class Merge:
    """Adds a series of the file to that of the store with the same labels.

    Raises ValueError unless tiers, clock and classes are the same, the scale of the file is at
    least as fine, and no writer has written to both.
    """

    def __init__(self, store: Store, connection: sqlite3.Connection, series: SeriesRecord) -> None:
        facts = series.facts
        self._connection = connection
        self._series = series
        # Counts of the file are on its own scale, those of the store on that of the store.
        self._theirs = store.series(series.names, facts.scale, facts.tiers)
        self._ours = store.series(series.names)
        self._row = self._loaded()
        self._check()

    def _loaded(self) -> SeriesRow:
        row = catalogue.find(self._connection, self._series.labels)
        if row is None:
            raise ValueError(f"no series has the labels {self._series.labels}")
        return row

    def _check(self) -> None:
        ours, theirs, name = self._row.facts, self._series.facts, braced(self._series.names)
        if ours.event_clock != theirs.event_clock:
            raise ValueError(f"clock of {name} must be the same on both sides, time or event time")
        if None not in (ours.classes, theirs.classes) and ours.classes != theirs.classes:
            raise ValueError(f"classes of {name} must be {ours.classes}, got {theirs.classes}")
        known = {one.id for one in Snapshot(self._connection).writers(self._row)} - {RETIRED}
        both = sorted(known.intersection(one.id for one in self._series.writers))
        if both:
            raise ValueError(
                f"{name} must not hold the same events on both sides, but writer {both[0]} has"
                " written to both"
            )

    def run(self, panes: Iterable[Pane], waiting: JoinState) -> None:
        """Do it. O(size)."""
        self._let_expire()
        ours, theirs = self._row.facts.lanes, self._series.channels
        if PREDICTED in theirs and PREDICTED not in ours:
            self._begin_predictions()
        if PREDICTED in ours and PREDICTED not in theirs:
            panes = _with_predictions(panes, self._series.facts.scale)
        with part_of(self._connection) as batch:
            make_channels(self._ours.on(batch), theirs)
        put_panes(self._theirs, self._connection, panes)
        with part_of(self._connection) as batch:
            change = self._ours.on(batch)
            tallies = self._join(change, waiting)
            put_writers(change, self._series.facts, self._writers(tallies))

    def _let_expire(self) -> None:
        """Let expire what has expired on the other side."""
        pairs = zip(self._series.facts.first, self._row.facts.first, strict=True)
        target = tuple(max(pair) for pair in pairs)
        is_done = False
        while not is_done:
            with part_of(self._connection) as batch:
                is_done = rollup.step(self._ours.on(batch), target)
        self._row = self._loaded()

    def _begin_predictions(self) -> None:
        """Let all events count as predictions that came before the first one."""
        scale = self._row.facts.scale
        for tier in range(len(self._row.facts.tiers)):
            if LABELLED in self._row.facts.lanes:
                for panes in Snapshot(self._connection).panes(self._row, LABELLED, tier):
                    pooled = [(PREDICTED, tier, at, _pooled(scale, one)) for at, one in panes]
                    put_panes(self._ours, self._connection, pooled)

    def _join(self, change: SeriesChange, waiting: JoinState) -> Counter[str]:
        """Let predictions of either side find their labels on the other; return the tallies."""
        delta = JoinDelta()
        LabelJoin(join_of(change), math.inf).absorb(waiting, 0.0, delta)
        facts = change.row.facts
        counter = PaneCounter(facts.scale, facts.tiers[0].pane_seconds)
        for label in (0.0, 1.0):
            found = [placed for placed, known in delta.labelled if known == label]
            if found:
                change.add(LABELLED, counter.count(events_of(found, label)))
        for placed, label in delta.unlabelled:
            change.remove(LABELLED, counter.count(events_of([placed], label)))
        return delta.tallies

    def _writers(self, tallies: Counter[str]) -> tuple[WriterInfo, ...]:
        """Return the writers of the file; the last one has joined what waited."""
        *others, last = self._series.writers or (WriterInfo(RETIRED, 0.0, 0.0, 0.0, {}),)
        tallies.update(last.tallies)
        return *others, replace(last, tallies=tallies)


def _pooled(scale: Scale, part: Storage) -> Storage:
    return ScoreHistogram(scale, part).pooled().stored


def _with_predictions(panes: Iterable[Pane], scale: Scale) -> Iterator[Pane]:
    """Yield panes, and those of labelled events as predictions, too."""
    for channel, tier, index, part in panes:
        yield channel, tier, index, part
        if channel == LABELLED:
            yield PREDICTED, tier, index, _pooled(scale, part)
