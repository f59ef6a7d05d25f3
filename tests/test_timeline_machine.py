"""The whole way from updates to windows against a list of raw events, step by step."""

import itertools
import math
import os
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from panes import (
    SMALL_TIERS,
    EventClockModel,
    PaneModel,
    cells,
    cells_of,
    check_timeline,
    content,
    random_rows,
    scores_for,
)

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc import _time as time_of
from streamauc.events import Events, PaneCounter
from streamauc.tiers import check_tiers
from streamauc.timeline import Timeline

LONG = os.environ.get("STREAMAUC_LONG") == "1"
SETTINGS = settings(
    max_examples=1_000 if LONG else 30,
    stateful_step_count=60 if LONG else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TIERS = [
    SMALL_TIERS,
    ((1, 20), (5, 100), (20, math.inf)),
    ((2, 10), (60, 240)),
    ((3, 7.5),),
    ((1, 16), (4, 17), (16, 64), (64, 1_000)),
]
SCALES = [Scale.probability(), Scale.real(bits=2), Scale.exact()]
ORIGINS = [0.0, -1_000.0, 1_394_347_000.0]

shifts = st.one_of(
    st.integers(-8, 8),
    st.integers(-120, 20),
    st.integers(-700, 60),
    st.sampled_from([-5_000, 21, 30, 100, 500, 3_000]),
)
nudges = st.sampled_from(["on", "below", "quarter", "half"])
rows_drawn = st.tuples(
    shifts,
    nudges,
    st.integers(0, 1),
    st.integers(0, 8),
    st.sampled_from([1, 1, 1, 1, 0.5, 3, 0]),
)
spans = st.tuples(st.integers(-700, 60), nudges, st.integers(0, 500), nudges)


def nudged(moment, nudge):
    """Return a moment on, just below or between the ends of panes."""
    if nudge == "below":
        return math.nextafter(moment, -math.inf)
    return moment + {"on": 0.0, "quarter": 0.25, "half": 0.5}[nudge]


class Machine(RuleBasedStateMachine):
    """Monitors fed alike in different ways, and a list of the events that were accepted."""

    def start(self, tiers, scale, max_ahead, origin, eager):
        self.tiers, self.scale, self.max_ahead = tiers, scale, max_ahead
        self.origin, self.eager = origin, eager
        self.model = PaneModel(tiers)
        self.rows = []
        self.n_offered = 0
        self.monitor = self.new_monitor()  # fed as the rule says
        self.patient = self.new_monitor()  # fed one by one
        self.hasty = self.new_monitor()  # fed one by one, and flushed after each

    def everyone(self):
        return self.monitor, self.patient, self.hasty

    def drawn(self, rows):
        """Return (time, label, score, weight) rows, beginning at the time it is."""
        return [
            (
                nudged(math.floor(self.about_now()) + shift, nudge),
                label,
                scores_for(self.scale, eighth / 8),
                weight,
            )
            for shift, nudge, label, eighth, weight in rows
        ]

    def feed_one_by_one(self, rows):
        for moment, label, score, weight in rows:
            self.patient.update(label, score, moment, weight)
            self.hasty.update(label, score, moment, weight)
            self.hasty.flush()
            self.n_offered += 1
            self.rows += self.judge((moment, label, score, weight))

    @rule(rows=st.lists(rows_drawn, min_size=1, max_size=8), held=st.booleans())
    def update(self, rows, held):
        """Write single events, also while nobody can fold."""
        rows = self.drawn(rows)
        if held:
            self.monitor._lock.acquire()
        for moment, label, score, weight in rows:
            self.monitor.update(label, score, moment, weight)
        if held:
            self.monitor._lock.release()
        self.feed_one_by_one(rows)

    @rule(
        batches=st.lists(st.lists(rows_drawn, max_size=10), min_size=1, max_size=3),
        held=st.booleans(),
    )
    def update_many(self, batches, held):
        """Write batches, also while nobody can fold; their arrays are spoilt afterwards."""
        batches = [self.drawn(rows) for rows in batches]
        if held:
            self.monitor._lock.acquire()
        for rows in batches:
            moments, labels, scores, weights = np.array(rows, dtype=float).reshape(-1, 4).T.copy()
            given = None if (weights == 1).all() else weights
            self.monitor.update_many(labels, scores, moments, given)
            for column in (moments, labels, scores, weights):
                column[:] = math.nan
        if held:
            self.monitor._lock.release()
        for rows in batches:
            self.feed_one_by_one(rows)

    @rule(rows=st.lists(rows_drawn, min_size=1, max_size=6), held=st.booleans())
    def update_histogram(self, rows, held):
        """Write events as a histogram, which is judged by one time."""
        rows = self.drawn(rows)
        moment = rows[0][0]
        _, labels, scores, weights = zip(*rows, strict=True)
        histogram = ScoreHistogram.from_scores(
            labels,
            scores,
            scale=self.scale,
            weights=None if all(weight == 1 for weight in weights) else weights,
        )
        for monitor in self.everyone():
            if held:
                monitor._lock.acquire()
            monitor.update_histogram(histogram, moment)
            if held:
                monitor._lock.release()
        n_events = round(sum(weights))
        self.n_offered += n_events
        if self.judge_histogram(moment, n_events):
            self.rows += [(moment, *row[1:]) for row in rows]

    @rule(span=spans)
    def poll(self, span):
        """Ask for any span: the window holds what the list holds in the span that it reports."""
        shift, low_nudge, length, high_nudge = span
        begin = math.floor(self.about_now()) + shift
        low, high = nudged(begin, low_nudge), nudged(begin + length, high_nudge)
        self.check_window(self.monitor.window(low, max(low, high)), low, max(low, high))

    @rule(far=st.sampled_from([1e4, 1e9, 2.0**40]))
    def poll_far(self, far):
        """Ask for more than there is, before and after."""
        window = self.monitor.window(-far, far)
        kept = self.model.kept(self.rows, window.start, window.end, self.latest())

        assert window.start <= -far
        assert window.end >= far
        assert cells(window.histogram) == cells_of(kept, self.scale)

    @rule(
        last=st.sampled_from([1, 5, 19.5, 20, 60, 100, 450]),
        offset=st.sampled_from([None, 0, 1, 7.25, 50]),
    )
    def poll_last(self, last, offset):
        """Ask for what ends now or some time ago; its last moment belongs to it."""
        window = self.monitor.window(last=last, offset=offset)
        back = offset or 0
        low, high = self.now() - back - last, math.nextafter(self.now() - back, math.inf)
        self.check_window(window, low, high)

        assert window.end > self.now() - back

    @rule(span=spans, step=st.sampled_from([0.75, 1, 2, 5, 7.5, 20, 60, math.inf]))
    def history(self, span, step):
        """Ask for steps, which show each surviving pane once, with its true span."""
        shift, low_nudge, length, high_nudge = span
        begin = math.floor(self.about_now()) + shift
        low, high = nudged(begin, low_nudge), nudged(begin + length, high_nudge)
        history = self.monitor.history(step, start=low, end=high)
        if high <= low:
            assert not len(history)
            return
        if math.isinf(step):
            edges = [low, high]
        else:
            n_steps = next(k for k in itertools.count(1) if low + k * step >= high)
            edges = [low + k * step for k in range(n_steps + 1)]
        self.check_history(history, edges)

    @rule(
        days=st.integers(-2, 0),
        step=st.sampled_from(["day", "week", "month"]),
        tz=st.sampled_from(["America/New_York", "Asia/Kathmandu"]),
    )
    def calendar_history(self, days, step, tz):
        """Ask for calendar steps, which are cut at local midnights and covered by panes."""
        low = self.about_now() + 86_400 * days
        high = self.about_now() + 1
        history = self.monitor.history(step, start=low, end=high, tz=tz)
        edges = time_of.calendar_edges(low, high, step, ZoneInfo(tz))
        self.check_history(history, edges)

    @rule()
    def default_history(self):
        """Ask without a start: the history begins with the first event that survives."""
        history = self.monitor.history(50)
        if not len(history):
            return
        kept = self.model.kept(self.rows, -math.inf, math.inf, self.latest())

        assert history.start[0] <= min((row[0] for row in kept), default=math.inf)
        assert history.end[-1] > self.now()
        assert history.n_samples.sum() == sum(row[3] for row in kept if row[0] < history.end[-1])

    @rule()
    def restore(self):
        """Go on from bytes; a jump that waits stays counted as ahead."""
        before = content(self.monitor)
        self.monitor, self.patient, self.hasty = map(self.restored, self.everyone())
        self.restored_model()

        assert content(self.monitor) == before

    @rule(rows=st.lists(rows_drawn, max_size=8), shift=st.sampled_from([0, 0, 0, -300, 60]))
    def merge(self, rows, shift):
        """Merge a worker, whose events are as if they had been counted here."""
        rows = self.drawn(rows)
        other, accepted = self.other_worker(rows, shift)
        for monitor in self.everyone():
            monitor.merge(other)
        self.rows += accepted
        self.n_offered += len(rows)

    def check_window(self, window, low, high):
        latest = self.latest()
        kept = self.model.kept(self.rows, window.start, window.end, latest)

        assert (window.start, window.end) == self.model.span(low, high, latest)
        assert cells(window.histogram) == cells_of(kept, self.scale)
        assert ("expired" in window.caveats) == self.model.is_expired(low, latest)
        earliest = min((row[0] for row in self.rows), default=math.inf)
        assert window.observed_since == self.since(earliest)

    def check_history(self, history, edges):
        latest = self.latest()
        starts = {self.model.pane_at(edge, latest)[0] for edge in edges[:-1]}
        end = self.model.pane_at(math.nextafter(edges[-1], -math.inf), latest)[1]
        bounds = sorted({*starts, end})

        found = [(window.start, window.end) for window in history.windows]
        assert found == list(pairwise(bounds))
        kept = self.model.kept(self.rows, bounds[0], bounds[-1], latest)
        for window in history.windows:
            rows = [row for row in kept if window.start <= row[0] < window.end]
            assert cells(window.histogram) == cells_of(rows, self.scale)

    @precondition(lambda self: self.eager)
    @invariant()
    def check(self):
        """Check that nothing is lost, however it was fed, and that nodes are right."""
        found = [content(monitor) for monitor in self.everyone()]
        stats = found[0][1]

        assert found[0] == found[1] == found[2]
        assert stats.n_offered == self.n_offered
        decided = {
            "accepted": stats.n_accepted,
            "expired": stats.n_expired,
            "ahead": stats.n_ahead,
        }
        assert decided == self.decided()
        for monitor in self.everyone():
            check_timeline(monitor._ledger._timeline)

    def teardown(self):
        if hasattr(self, "monitor"):
            self.check()
            self.poll_far(2.0**40)


class EventTime(Machine):
    """Time is the largest event time seen."""

    @initialize(
        tiers=st.sampled_from(TIERS),
        scale=st.sampled_from(SCALES),
        max_ahead=st.sampled_from([math.inf, 10, 50]),
        origin=st.sampled_from(ORIGINS),
        eager=st.booleans(),
    )
    def begin(self, tiers, scale, max_ahead, origin, eager):
        self.clock = EventClockModel(PaneModel(tiers), max_ahead)
        self.start(tiers, scale, max_ahead, origin, eager)

    def new_monitor(self):
        return Monitor(scale=self.scale, tiers=self.tiers, clock="event", max_ahead=self.max_ahead)

    def now(self):
        return self.clock.latest if self.rows else 0.0

    def about_now(self):
        return self.clock.latest if self.rows else self.origin

    def latest(self):
        return self.clock.latest

    def since(self, earliest):
        return earliest

    def judge(self, row):
        return self.clock.offer(row)

    def judge_histogram(self, moment, n_events):
        return self.clock.offer_histogram(moment, n_events)

    def decided(self):
        return self.clock.counts

    def restored(self, monitor):
        return Monitor.from_bytes(monitor.to_bytes(), max_ahead=self.max_ahead)

    def restored_model(self):
        self.clock.waiting = None

    def other_worker(self, rows, shift):
        clock = EventClockModel(self.model, self.max_ahead)
        other, accepted = self.new_monitor(), []
        for row in [(row[0] + shift, *row[1:]) for row in rows]:
            other.update(row[1], row[2], row[0], row[3])
            accepted += clock.offer(row)
        self.clock.latest = max(self.clock.latest, clock.latest)
        for name, number in clock.counts.items():
            self.clock.counts[name] += number
        return other, accepted


class WallTime(Machine):
    """Time comes from a source, which may jump, stand still and go back."""

    @initialize(
        tiers=st.sampled_from(TIERS),
        scale=st.sampled_from(SCALES),
        max_ahead=st.sampled_from([math.inf, 10, 50]),
        origin=st.sampled_from(ORIGINS),
        eager=st.booleans(),
    )
    def begin(self, tiers, scale, max_ahead, origin, eager):
        self.source = self.told = self.began = origin
        self.others = -math.inf
        self.counts = dict.fromkeys(("accepted", "expired", "ahead"), 0)
        self.start(tiers, scale, max_ahead, origin, eager)

    def new_monitor(self):
        return Monitor(
            scale=self.scale, tiers=self.tiers, clock=self.tell, max_ahead=self.max_ahead
        )

    def tell(self):
        return self.source

    @rule(step=st.sampled_from([0.25, 1, 4.75, 20, 90, 500, 5_000, -30]))
    def pass_time(self, step):
        """Move the clock on, after counting what waits: an event is judged when it is counted."""
        for monitor in self.everyone():
            monitor.flush()
        self.source += step
        self.told = max(self.told, self.source)
        for monitor in self.everyone():
            monitor._ledger.clock.now()

    def now(self):
        return self.told

    def about_now(self):
        return self.told

    def latest(self):
        return max(self.told, self.others)

    def since(self, earliest):
        return min(self.began, earliest)

    def judge(self, row):
        return [row] if self.judge_histogram(row[0], 1) else []

    def judge_histogram(self, moment, n_events):
        if moment > self.told + self.max_ahead:
            verdict = "ahead"
        elif self.model.is_expired(moment, self.latest()):
            verdict = "expired"
        else:
            verdict = "accepted"
        self.counts[verdict] += n_events
        return verdict == "accepted"

    def decided(self):
        return self.counts

    def restored(self, monitor):
        found = Monitor.from_bytes(monitor.to_bytes(), clock=self.tell, max_ahead=self.max_ahead)
        assert found._ledger.clock.now() == self.source
        return found

    def restored_model(self):
        # The source may be behind what it had told before the restart.
        self.others = max(self.others, self.told)
        self.told = self.source

    def other_worker(self, rows, shift):
        told = self.told + shift
        other = Monitor(
            scale=self.scale, tiers=self.tiers, clock=lambda: told, max_ahead=self.max_ahead
        )
        accepted = []
        for row in rows:
            other.update(row[1], row[2], row[0], row[3])
            if row[0] > told + self.max_ahead:
                self.counts["ahead"] += 1
            elif self.model.is_expired(row[0], told):
                self.counts["expired"] += 1
            else:
                self.counts["accepted"] += 1
                accepted.append(row)
        self.others = max(self.others, told)
        self.began = min(self.began, told)
        return other, accepted


EventTime.TestCase.settings = SETTINGS
WallTime.TestCase.settings = SETTINGS
TestEventTime = EventTime.TestCase
TestWallTime = WallTime.TestCase


def fed_timeline(rng, tiers, scale, origin, n_steps):
    """Yield after each of many writes, polls and jumps: a timeline, its rows and the time."""
    timeline, rows = Timeline(scale, check_tiers(tiers)), []
    counter, now = PaneCounter(scale, tiers[0][0]), origin
    for _ in range(n_steps):
        step = rng.choice([0, 0, 0.25, 3, 7, 30, 150], p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.08, 0.02])
        now += step
        timeline.advance(now)
        size = int(rng.choice([1, 3, 40]))
        low = now - rng.choice([2, 30, 130, 390])
        new = random_rows(rng, size, low, now + 5, weighted=rng.random() < 0.1)
        new = [(t, y, scores_for(scale, s), w) for t, y, s, w in new]
        rows += new
        moments, labels, scores, weights = np.array(new).T.copy()
        given = None if (weights == 1).all() else weights
        events = Events.of(labels.astype(np.int64), scores, moments, given)
        timeline.add("labelled", counter.count(events))
        yield timeline, rows, now


@pytest.mark.parametrize("origin", [0.0, -64.0, 1_394_347_000.0])
@pytest.mark.parametrize(
    ("tiers", "scale"),
    [
        (SMALL_TIERS, Scale.probability(bits=3)),
        (((1, 40), (4, 300), (16, math.inf)), Scale.exact()),
        (((1, 10_000),), Scale.real(bits=2)),
    ],
    ids=["small", "for ever", "one tier"],
)
def test_nodes_follow_every_write(tiers, scale, origin):
    """Polls between writes keep sums of panes; whatever is written then, they stay right."""
    rng = np.random.default_rng(5)
    model = PaneModel(tiers)
    n_steps = 2_000 if LONG else 60
    for step, (timeline, rows, now) in enumerate(fed_timeline(rng, tiers, scale, origin, n_steps)):
        kept = model.kept(rows, -math.inf, math.inf, now)
        # Long windows first: they leave the highest nodes.
        for back, length in ((512, 600), (100, 64), (rng.integers(0, 300), rng.integers(0, 300))):
            start = math.floor(now) - back
            cover = timeline.cover("labelled", start, start + length)
            assert (cover.start, cover.end) == model.span(start, start + length, now)
            inside = [row for row in kept if cover.start <= row[0] < cover.end]
            found = ScoreHistogram.merge([*cover.parts, ScoreHistogram.empty(scale)])
            assert cells(found) == cells_of(inside, scale)
        if step % 10 == 0:
            check_timeline(timeline)
            assert timeline.nbytes > 0


def test_nodes_around_the_epoch_reach_over_it():
    """Every node above a pane is forgotten, also those that begin at 0 and end there."""
    timeline = Timeline(Scale.exact(), check_tiers(((1, math.inf),)))
    counter = PaneCounter(timeline.scale, 1)

    for count, moment in enumerate([0, 255, 5, -1, -256, -7, 64, 1_023, -1_024, 0, 17], start=1):
        one = Events.of(np.array([1]), np.array([0.5]), np.array([float(moment)]))
        timeline.add("labelled", counter.count(one))
        for reach in (4, 16, 64, 256, 1_024, 4_096):
            timeline.cover("labelled", 0, reach)
            timeline.cover("labelled", -reach, 0)
        found = timeline.cover("labelled", -4_096, 4_096).parts
        assert sum(int(part.totals.sum()) for part in found) == count
        check_timeline(timeline)


def test_a_window_is_the_sum_of_a_few_nodes():
    """However long a window is, few histograms are added once it has been asked for."""
    timeline = Timeline(Scale.probability(), check_tiers(((1, math.inf),)))
    moments = np.arange(20_000.0)
    zeros = np.zeros(moments.size, dtype=np.int64)
    counter = PaneCounter(timeline.scale, 1)
    timeline.add("labelled", counter.count(Events.of(zeros, moments / 20_000, moments)))

    assert all(
        len(timeline.cover("labelled", start, 20_000 - start).parts) <= 50
        for start in range(0, 9_000, 777)
    )


def test_a_patient_timeline_works_nodes_out_when_asked_again():
    """First it adds the panes themselves; from the third time on few nodes, with equal counts."""
    timeline = Timeline(Scale.probability(), check_tiers(((1, math.inf),)), patient=True)
    moments = np.arange(5_000.0)
    zeros = np.zeros(moments.size, dtype=np.int64)
    counter = PaneCounter(timeline.scale, 1)
    timeline.add("labelled", counter.count(Events.of(zeros, moments / 5_000, moments)))

    answers = [timeline.cover("labelled", -1_000, 4_500).parts for _ in range(4)]

    assert [len(parts) for parts in answers[:2]] == [4_500, 4_500]
    assert len(answers[3]) <= 50
    assert ScoreHistogram.merge(answers[0]) == ScoreHistogram.merge(answers[3])
    check_timeline(timeline)
