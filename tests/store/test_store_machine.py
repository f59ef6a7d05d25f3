"""Stores on one file against a timeline in memory, step by step."""

import math
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from panes import SMALL_TIERS, cells, scores_for

from streamauc import Scale, ScoreHistogram
from streamauc.events import Events, PaneCounter
from streamauc.store import Store, address, change, rollup
from streamauc.tiers import check_tiers, first_panes, home_of
from streamauc.timeline import Timeline, n_classes_of

LONG = os.environ.get("STREAMAUC_LONG") == "1"
LABELS = {"model": "fraud"}
TIERS = [
    SMALL_TIERS,
    ((1, 20), (5, 100), (20, math.inf)),
    ((2, 10), (60, 240)),
    ((3, 7.5),),
    ((1, 16), (4, 17), (16, 64), (64, 1_000)),
]
SCALES = [Scale.probability(), Scale.real(bits=2), Scale.exact()]
CHANNELS = ["labelled", "predicted"]
# Shrinking a failure takes minutes here; by a flag it is done.
PHASES = list(Phase) if LONG else [Phase.explicit, Phase.reuse, Phase.generate]
channels = st.sampled_from(CHANNELS)
who = st.integers(0, 2)
rows_drawn = st.lists(
    st.tuples(
        st.one_of(st.integers(-8, 8), st.integers(-120, 20), st.integers(-700, 60)),
        st.integers(0, 1),
        st.integers(0, 8),
        st.sampled_from([1, 1, 1, 1, 1, 1, 0.5, 3]),
    ),
    min_size=1,
    max_size=8,
)


def content(part):
    """Return the cells of a histogram; an event without a weight weighs 1, and so does its square.

    An emptied pane is deleted from the file, and thereby that it once was weighted.
    """
    return {
        key: (count, count if square is None else square)
        for key, (count, square) in cells(part).items()
    }


class Machine(RuleBasedStateMachine):
    """Three stores, as if of three processes, and the timeline that they must be like."""

    @initialize(
        tiers=st.sampled_from(TIERS),
        scale=st.sampled_from(SCALES),
        origin=st.sampled_from([0, -1_000, 1_394_347_000]),
        chunk_bits=st.sampled_from([1, 3, 8]),
        most=st.sampled_from([1, 3, 64]),
        most_touched=st.sampled_from([1, 4, 256]),
        trim=st.sampled_from([2, 256]),
    )
    def begin(self, tiers, scale, origin, chunk_bits, most, most_touched, trim):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(address, "_CHUNK_BITS", chunk_bits)
        self.patch.setattr(address, "CHUNK_PANES", 1 << chunk_bits)
        self.patch.setattr(rollup, "_MOST_PARENTS", most)
        self.patch.setattr(rollup, "_MOST_CHILDREN", most)
        self.patch.setattr(change, "_MOST_TOUCHED", most_touched)
        self.patch.setattr(change, "_REMEMBERED", trim)
        self.patch.setattr(change, "_TRIM_EVERY", trim)
        self.tiers, self.scale, self.now = tiers, scale, origin
        self.spans = check_tiers(tiers)
        self.timeline = Timeline(scale, self.spans)
        self.there = []
        self.folder = Path(tempfile.mkdtemp())
        self.stores = [
            Store(self.folder / "metrics.db", mirror_bytes=size) for size in (2**28, 20_000, 0)
        ]
        self.series = [store.series(LABELS, scale, tiers) for store in self.stores]
        with self.series[0].write():  # the series is made
            pass

    def teardown(self):
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            shutil.rmtree(self.folder)
            self.patch.undo()

    def counted(self, channel, rows):
        """Return rows (seconds before now, ...) as panes of a channel."""
        rows = [
            (float(self.now + shift), label, scores_for(self.scale, eighth / 8), weight)
            for shift, label, eighth, weight in rows
        ]
        moments, labels, scores, weights = np.array(rows, dtype=float).T.copy()
        n_classes = n_classes_of(channel)
        counter = PaneCounter(self.scale, self.spans[0].pane_seconds, n_classes=n_classes)
        classes = labels.astype(np.int64) if n_classes == 2 else np.zeros(len(rows), dtype=np.int64)
        given = None if (weights == 1).all() else weights
        return counter.count(Events.of(classes, scores, moments, given))

    @rule(who=who, channel=channels, rows=rows_drawn)
    def add(self, who, channel, rows):
        """Count events; those older than every tier are dropped and their number returned."""
        panes = self.counted(channel, rows)
        with self.series[who].write() as writing:
            writing.add(channel, panes)
        self.timeline.add(channel, panes)
        self.there += [(channel, pane) for pane in panes]

    @rule(who=who, picked=st.lists(st.integers(0, 100), min_size=1, max_size=4, unique=True))
    def remove(self, who, picked):
        """Take back panes that were added; what has expired meanwhile is left."""
        chosen = sorted({number % len(self.there) for number in picked} if self.there else ())
        with self.series[who].write() as writing:
            for number in chosen:
                channel, pane = self.there[number]
                writing.remove(channel, [pane])
        for number in reversed(chosen):
            channel, pane = self.there.pop(number)
            self.timeline.remove(channel, [pane])

    @rule(
        who=who,
        channel=channels,
        tier=st.integers(0, 3),
        shift=st.integers(-700, 20),
        rows=rows_drawn,
    )
    def put(self, who, channel, tier, shift, rows):
        """Count events in a pane of any tier, in both or in neither."""
        tier = min(tier, len(self.spans) - 1)
        index = (self.now + shift) // self.spans[tier].pane_seconds
        part = self.counted(channel, [(0, *row[1:]) for row in rows])[0][1]
        try:
            self.timeline.put(channel, tier, index, part)
        except ValueError:
            with (
                pytest.raises(ValueError, match="finer ones survive"),
                self.series[who].write() as writing,
            ):
                writing.put(channel, tier, index, part)
            return
        with self.series[who].write() as writing:
            writing.put(channel, tier, index, part)

    @rule(who=who, channel=channels, rows=rows_drawn)
    def fail(self, who, channel, rows):
        """Raise within a transaction, which undoes it."""
        with pytest.raises(KeyError):
            self.write_and_raise(who, channel, self.counted(channel, rows))

    def write_and_raise(self, who, channel, panes):
        with self.series[who].write() as writing:
            writing.add(channel, panes)
            raise KeyError

    @rule(who=who, channel=channels, rows=rows_drawn)
    def fail_at_the_end(self, who, channel, rows):
        """More than there is can't be taken away; nothing else of the transaction stays."""
        panes = self.counted(channel, rows)
        if any(home_of(self.spans, self.timeline.first, pane) is None for pane, _ in panes):
            return
        with pytest.raises(ValueError, match="cannot subtract"):
            self.write_and_remove_more(who, channel, panes, self.counted("labelled", rows))

    def write_and_remove_more(self, who, channel, panes, others):
        with self.series[who].write() as writing:
            writing.add("labelled", others)
            writing.remove(channel, panes * 1_000)

    @rule(who=who, step=st.sampled_from([0, 1, 5, 20, 90, 500, 5_000]))
    def advance(self, who, step):
        """Let time pass."""
        self.now += step
        self.series[who].advance(self.now)
        self.timeline.advance(self.now)

    @rule(who=who, step=st.sampled_from([5, 20, 90, 500]), n_steps=st.integers(1, 3))
    def advance_partly(self, who, step, n_steps):
        """Let time pass for somebody who is killed on the way."""
        self.now += step
        for _ in range(n_steps):
            with self.series[who].write() as writing:
                rollup.step(writing, rollup.advanced(writing.row.facts, self.now).first)
            self.timeline.advance_to(self.series[who].first)

    @rule(who=who)
    def reopen(self, who):
        """Start anew."""
        size = self.stores[who]._mirrors._budget.limit
        self.stores[who].close()
        self.stores[who] = Store(self.folder / "metrics.db", mirror_bytes=size)
        self.series[who] = self.stores[who].series(LABELS, self.scale, self.tiers)

    @rule(
        who=who,
        channel=channels,
        shift=st.integers(-700, 60),
        length=st.sampled_from([0, 1, 2.5, 5, 20, 60, 300, 900]),
    )
    def poll(self, who, channel, shift, length):
        """Ask for any span."""
        start = self.now + shift
        found = self.series[who].cover(channel, start, start + length)
        wanted = self.timeline.cover(channel, start, start + length)

        assert (found.start, found.end) == (wanted.start, wanted.end)
        assert found.expired == wanted.expired
        assert self.content(channel, found.parts) == self.content(channel, wanted.parts)
        edges = [start, start + length / 3, start + length]
        assert self.series[who].snapped(edges) == self.timeline.snapped(edges)

    @rule(who=who, far=st.sampled_from([1e4, 2.0**40, 1e15]))
    def poll_far(self, who, far):
        """Ask for more than there is."""
        for channel in CHANNELS:
            found = self.series[who].cover(channel, -far, far)
            wanted = self.timeline.cover(channel, -far, far)
            assert self.content(channel, found.parts) == self.content(channel, wanted.parts)

    def content(self, channel, parts):
        empty = ScoreHistogram.empty(self.scale, n_classes_of(channel))
        return content(ScoreHistogram.merge([*parts, empty]))

    @precondition(lambda self: hasattr(self, "stores"))
    @invariant()
    def check(self):
        """Every pane is what it is in memory."""
        series = self.series[0]
        assert series.oldest == self.timeline.oldest
        for channel in CHANNELS:
            assert self.panes(series, channel) == self.panes(self.timeline, channel)
        assert all(
            mirror._budget.used <= max(mirror._budget.limit, 200_000)
            for store in self.stores
            for mirror in store._mirrors._mirrors.values()
        )

    def panes(self, keeper, channel):
        found = {(tier, index): content(part) for tier, index, part in keeper.panes(channel)}
        return {key: pane for key, pane in found.items() if pane}


Machine.TestCase.settings = settings(
    max_examples=500 if LONG else 25,
    stateful_step_count=60 if LONG else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=PHASES,
)
TestStores = Machine.TestCase


def test_first_panes_are_those_of_the_plan(tmp_path):
    """The stored horizons are those that the plan tells, and never move back."""
    with Store(tmp_path / "metrics.db") as store:
        series = store.series(LABELS, Scale.probability(), SMALL_TIERS)
        one = ScoreHistogram.from_scores([1], [0.5], scale=Scale.probability())
        series.add("labelled", [(0, one.stored)])
        for now in (1_000, 900, 2_000):
            series.advance(now)
            assert series.first == first_panes(check_tiers(SMALL_TIERS), max(now, 1_000))
