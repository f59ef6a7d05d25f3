"""Monitors that share a store answer what one monitor in memory does."""

import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from panes import SMALL_TIERS, cells
from stored_world import NEVER, check_store, everything, scratch, stored

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.change.detect import PrevalenceDetector
from streamauc.store import Store

LONG = os.environ.get("STREAMAUC_LONG") == "1"
SETTINGS = settings(
    max_examples=2_000 if LONG else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
SCALES = [Scale.probability(bits=3), Scale.exact(), Scale.real(bits=12)]
TIERS = [SMALL_TIERS, SMALL_TIERS, ((2, 10), (60, math.inf)), ((3, 9),)]
BOUNDS = [(1_000,) * 3, (1_000,) * 3, (2, 1, 2), (3, 2, 0), (4, 0, 3), (1, 3, 1)]

keys = st.sampled_from(["a", "b", "c", "d", "é", 5, 6.5, True, None])
labels = st.integers(0, 1)
scores = st.integers(0, 8).map(lambda k: k / 8)
shifts = st.one_of(st.integers(-8, 4), st.sampled_from([-500, -120, -41, 0.25, 30, 200]))
weights = st.sampled_from([1, 1, 0.5, 2, 3])
events = st.tuples(labels, scores, shifts, weights)
predictions = st.tuples(keys, scores, shifts)
operations = st.one_of(
    st.tuples(st.just("update"), events),
    st.tuples(st.just("update"), events),
    st.tuples(st.just("bad"), st.sampled_from([(2, 0.5), (1, math.nan), (1, "x")])),
    st.tuples(st.just("update_many"), st.lists(events, max_size=6)),
    st.tuples(st.just("update_histogram"), st.tuples(events, events)),
    st.tuples(st.just("predict"), predictions),
    st.tuples(st.just("predict"), predictions),
    st.tuples(st.just("resolve"), st.tuples(keys, labels)),
    st.tuples(st.just("resolve"), st.tuples(keys, labels)),
    st.tuples(st.just("predict_many"), st.lists(predictions, max_size=6)),
    st.tuples(st.just("resolve_many"), st.lists(st.tuples(keys, labels), max_size=6)),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 3, 11, 70, 300, 900, -30])),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("poll"), st.none()),
)


class Twins:
    """One monitor in memory, and several over one file that are to be like it together."""

    def __init__(self, path, n_workers, settings, *, event_time):
        self.source = 1_000.0
        self.event_time = event_time
        clock = "event" if event_time else lambda: self.source
        self.settings = {**settings, "bad": "skip", "clock": clock}
        self.memory = Monitor(**self.settings)
        self.path = path
        self.workers = [stored(path, **self.settings) for _ in range(n_workers)]
        self.detectors = [
            PrevalenceDetector(
                0.5, false_alarm_every="1y", pane_seconds=settings["tiers"][0][0], min_coverage=0.5
            )
            for _ in range(2)
        ]
        self.latest = self.source
        # Of a series that nobody has written to, nobody knows since when it is counted.
        self.do(0, "update", (1, 0.5, 0, 1))

    def at(self, shift):
        return float(self.latest + shift)

    def both(self, which, call):
        """Let the memory and one worker do the same, and every other worker know of it."""
        worker = self.workers[which % len(self.workers)]
        for monitor in (self.memory, worker):
            call(monitor)
        for monitor in (self.memory, worker, *self.workers):
            monitor.flush()

    def do(self, which, name, value):
        """Do one operation."""
        if name == "update":
            label, score, shift, weight = value
            moment = self.at(shift)
            self.both(which, lambda one: one.update(label, score, moment, weight))
        elif name == "bad":
            self.both(which, lambda one: one.update(*value, self.at(0)))
        elif name == "update_many":
            rows = [(label, score, self.at(shift), weight) for label, score, shift, weight in value]
            columns = [[row[field] for row in rows] for field in range(4)]
            self.both(which, lambda one: one.update_many(*columns))
        elif name == "update_histogram":
            pairs = [pair[:2] for pair in value]
            scale = self.memory.scale
            one = ScoreHistogram.from_scores(*zip(*pairs, strict=True), scale=scale)
            moment = self.at(value[0][2])
            self.both(which, lambda monitor: monitor.update_histogram(one, moment))
        elif name == "predict":
            key, score, shift = value
            moment = self.at(shift)
            self.both(which, lambda one: one.predict(key, score, moment))
        elif name == "resolve":
            self.both(which, lambda one: one.resolve(*value))
        elif name == "predict_many":
            rows = [(key, score, self.at(shift)) for key, score, shift in value]
            columns = [[row[field] for row in rows] for field in range(3)]
            self.both(which, lambda one: one.predict_many(*columns))
        elif name == "resolve_many":
            columns = [[row[field] for row in value] for field in range(2)]
            self.both(which, lambda one: one.resolve_many(*columns))
        elif name == "wait":
            self.source += value
            if self.event_time and value > 0:
                self.do(which, "update", (0, 0.5, value, 1))
            self.both(which, lambda _: None)
        elif name == "restart":
            self.restart(which % len(self.workers))
        elif name == "poll":
            self.check(which)
        self.latest = self.memory._ledger.clock.now()

    def restart(self, which):
        """Let a worker end, or die with nothing unwritten, and another one take its place.

        A clock that has been set back stands still, but not in a process that starts thereafter.
        """
        if self.source < self.latest and not self.event_time:
            return
        if self.source % 2:
            self.workers[which].close()
        self.workers[which] = stored(self.path, **self.settings)
        self.both(which, lambda _: None)

    def check(self, which):
        worker = self.workers[which % len(self.workers)]
        assert everything(worker, self.latest) == everything(self.memory, self.latest)
        for detector, monitor in zip(self.detectors, (self.memory, worker), strict=True):
            monitor.advance(detector)
        one, other = self.detectors
        assert one.to_bytes() == other.to_bytes()

    def close(self):
        for worker in self.workers:
            worker.close()


@SETTINGS
@given(
    tiers=st.sampled_from(TIERS),
    scale=st.sampled_from(SCALES),
    ttl=st.sampled_from([math.inf, 8, 60]),
    bounds=st.sampled_from(BOUNDS),
    event_time=st.booleans(),
    n_workers=st.integers(1, 3),
    script=st.lists(st.tuples(st.integers(0, 2), operations), max_size=25),
)
def test_several_writers_answer_like_one_in_memory(
    tiers, scale, ttl, bounds, event_time, n_workers, script
):
    """Each operation by any of them, in one order: all answers are equal, from all of them."""
    names = "max_pending", "max_early", "max_resolved"
    settings = {
        "scale": scale,
        "tiers": tiers,
        "label_ttl": ttl,
        **dict(zip(names, bounds, strict=True)),
    }
    with scratch() as path:
        twins = Twins(path, n_workers, settings, event_time=event_time)
        for which, (name, value) in script:
            twins.do(which, name, value)
        for which in range(n_workers):
            twins.check(which)
        twins.close()
        check_store(path)
        with Store(path) as store, Monitor(**settings, clock="event") as copy:
            copy.merge(stored(store, **twins.settings))
            assert (
                everything(copy, twins.latest)["panes"]
                == (everything(twins.memory, twins.latest)["panes"])
            )


class Shuffled:
    """A stream of predictions and labels, and what an offline count of it says."""

    def __init__(self, seed, size=400):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.times = 600 + rng.integers(0, 900, size) / 4
        self.scores = rng.integers(0, 9, size) / 8
        self.labels = rng.integers(0, 2, size)
        self.steps = [("predict", i) for i in range(size)] + [("resolve", i) for i in range(size)]
        again = rng.choice(size, size // 4, replace=False)
        self.steps += [("predict", i) for i in again] + [("resolve", i) for i in again]
        rng.shuffle(self.steps)

    def run(self, monitor, step):
        name, i = step
        key = f"key {i}"
        if name == "predict":
            monitor.predict(key, float(self.scores[i]), float(self.times[i]))
        else:
            monitor.resolve(key, int(self.labels[i]))

    def expected(self, scale, start, end):
        inside = (self.times >= start) & (self.times < end)
        return cells(
            ScoreHistogram.from_scores(self.labels[inside], self.scores[inside], scale=scale)
        )


@pytest.mark.parametrize("seed", range(60 if LONG else 6))
def test_labels_from_other_processes_in_any_order(seed):
    """Predicted here, resolved there, shuffled, flushed at will: the offline answer, exactly."""
    stream = Shuffled(seed)
    rng = stream.rng
    tiers = ((10, "1h"), (60, "1d"))
    with scratch() as path:
        workers = [stored(path, tiers=tiers) for _ in range(3)]
        for step in stream.steps:
            which = int(rng.integers(3))
            stream.run(workers[which], step)
            if rng.random() < 0.05:
                workers[int(rng.integers(3))].flush()
                check_store(path)
            if rng.random() < 0.02:
                workers[which].close()
                workers[which] = stored(path, tiers=tiers)
            elif rng.random() < 0.02:
                workers[which].window(last=60)
        for worker in workers:
            worker.flush()
        check_store(path)
        for worker in workers:
            for start, end in ((600, 840), (600, 700), (650, 720), (0, 10_000)):
                window = worker.window(start, end)
                assert cells(window.histogram) == stream.expected(worker.scale, start, end)
                assert window.coverage == 1
                assert not {"unwritten", "immature"} & set(window.caveats)
            stats = worker.stats
            assert (stats.n_predicted, stats.n_labelled) == (400, 400)
            assert (stats.n_repeated_predictions, stats.n_repeated_labels) == (100, 100)
            assert (stats.n_open, stats.n_early, stats.n_abandoned) == (0, 0, 0)


def test_a_finer_scale_joins_a_coarser_series():
    """What came before the first prediction counts among the predicted, on the series' scale."""
    with scratch() as path:
        coarse = stored(path, scale=Scale.probability(bits=2))
        fine = stored(path, scale=Scale.probability(bits=7))
        coarse.update_many([0, 1, 1], [0.1, 0.61, 0.9], [0, 1, 2])
        coarse.flush()
        fine.update_many([0, 1], [0.3, 0.8], [3, 4])
        fine.predict("a", 0.7, 5.0)
        fine.flush()
        expected = ScoreHistogram.from_scores(
            [0] * 6, [0.1, 0.61, 0.9, 0.3, 0.8, 0.7], scale=coarse.scale
        )
        for monitor in (coarse, fine):
            window = monitor.window(0, 60)
            assert cells(window.predicted) == cells(expected)
            assert window.coverage == 5 / 6
        assert not Store(path).verify().problems


def test_flush_seconds_may_be_any_length():
    """A length that no clock of the system can wait for is no error in the thread."""
    with scratch() as path, stored(path, flush_seconds=1e30) as monitor:
        assert monitor._flusher._thread.is_alive()
        monitor.update(1, 0.5, 0.0)
        assert monitor.window(0, 60).n_pos == 1
    assert NEVER
