"""Predictions, labels and events by two workers against a slow model, step by step."""

import copy
import math
import os
from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from panes import SMALL_TIERS, PaneModel, cells, cells_of, check_timeline

from streamauc import Monitor, Scale, ScoreHistogram, join

LONG = os.environ.get("STREAMAUC_LONG") == "1"
SETTINGS = settings(
    max_examples=2_000 if LONG else 120,
    stateful_step_count=50 if LONG else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
BOUNDS = [(1_000, 1_000, 1_000), (1_000, 1_000, 1_000), (2, 1, 2), (3, 2, 0), (4, 0, 3), (1, 3, 1)]
SCALES = [Scale.probability(bits=3), Scale.exact(), Scale.real(bits=12)]
FAR = 2.0**40

keys = st.sampled_from(["a", "b", "c", "d", 5, 6.5, True, None])
shifts = st.one_of(
    st.integers(-4, 4), st.integers(-60, 8), st.sampled_from([-500, -120, 30, 200, 900])
)
moments = st.tuples(shifts, st.sampled_from([0, 0, 0.25, 0.5]))
labels = st.integers(0, 1)
scores = st.integers(0, 8).map(lambda k: k / 8)
predictions = st.tuples(st.just("predict"), keys, scores, moments)
resolutions = st.tuples(st.just("resolve"), keys, labels)
updates = st.tuples(st.just("update"), labels, scores, moments, st.sampled_from([1, 1, 1, 0.5, 2]))
waits = st.tuples(st.just("wait"), st.sampled_from([0.25, 3, 11, 70, 300]))


class Worker:
    """What a monitor should hold, entry by entry; and the monitor."""

    def __init__(self, machine):
        self.machine = machine
        self.monitor = machine.new_monitor()
        self.open, self.early, self.closed = {}, {}, {}
        self.labelled, self.predicted, self.updates = [], [], []
        self.n = Counter()
        self.told = self.joined_at = machine.source
        self.latest = -math.inf if machine.event_time else machine.source
        self.jump = None

    def now(self):
        """Return what the monitor takes for the present."""
        if self.machine.event_time:
            return self.latest if self.latest > -math.inf else 0.0
        self.told = max(self.told, self.machine.source)
        self.latest = max(self.latest, self.told)
        return self.told

    def known_at(self):
        """Return when a label that is counted now can have come at the earliest."""
        return self.now() if self.machine.event_time else self.joined_at

    def is_ahead(self, moment):
        """Return whether an event is too far in the future."""
        if self.machine.event_time:
            return self.latest > -math.inf and moment > self.latest + self.machine.max_ahead
        return moment > self.now() + self.machine.max_ahead

    def is_expired(self, moment):
        """Return whether an event is older than every tier."""
        self.now()
        return self.machine.model.is_expired(moment, self.latest)

    def accept(self, moment):
        """Return whether an event that is not ahead counts; note what became of it."""
        if self.is_expired(moment):
            self.n["expired"] += 1
            return False
        if self.machine.event_time:
            self.latest = max(self.latest, moment)
        self.n["accepted"] += 1
        return True

    def fold(self, waiting):
        """Count what waited: events first, then the rest in order."""
        for op in waiting:
            if op[0] == "update":
                self.update(*op[1:])
        for op in waiting:
            if op[0] == "predict":
                self.predict(*op[1:])
            elif op[0] == "resolve":
                self.resolve(*op[1:])
        self.joined_at = self.now()
        self.expire()

    def update(self, label, score, moment, weight):
        if self.is_ahead(moment):
            self.n["ahead"] += 1
        elif self.accept(moment):
            self.updates.append((moment, label, score, weight))

    def predict(self, key, score, moment):
        if self.is_ahead(moment):
            waited, self.jump = self.jump, (key, score, moment)
            if not (
                self.machine.event_time
                and waited is not None
                and waited[0] != key
                and abs(moment - waited[2]) <= self.machine.max_ahead
            ):
                self.n["ahead"] += 1
                return
            self.jump = None
            self.n["ahead"] -= 1
            self.latest = waited[2]
            self.n["accepted"] += 1
            self.enter(*waited)
        if self.accept(moment):
            self.enter(key, score, moment)

    def enter(self, key, score, moment):
        """Take in a prediction whose time counts."""
        if key in self.open or key in self.closed:
            self.n["repeated_predictions"] += 1
            self.n["accepted"] -= 1
            return
        self.n["predicted"] += 1
        self.predicted.append((moment, 0, score, 1))
        if key in self.early:
            self.count_label(key, score, moment, self.early.pop(key))
        else:
            self.open[key] = (score, moment)
            self.bound_open()

    def count_label(self, key, score, moment, label):
        self.n["labelled"] += 1
        self.labelled.append((moment, label, score, 1))
        self.close(key, score, moment, label)

    def close(self, key, score, moment, label):
        self.closed[key] = (score, moment, label)
        self.bound_closed()

    def bound_open(self):
        while len(self.open) > self.machine.bounds[0]:
            self.abandon(next(iter(self.open)))

    def bound_closed(self):
        while len(self.closed) > self.machine.bounds[2]:
            del self.closed[next(iter(self.closed))]

    def abandon(self, key):
        self.n["abandoned"] += 1
        self.close(key, *self.open.pop(key), None)

    def resolve(self, key, label):
        if key in self.open:
            if self.open[key][1] < self.known_at() - self.machine.ttl:
                self.n["late_labels"] += 1
                self.abandon(key)
            else:
                self.count_label(key, *self.open.pop(key), label)
        elif key in self.closed:
            self.resolve_again(key, label)
        elif key in self.early:
            same = self.early[key] == label
            self.n["repeated_labels" if same else "changed_labels"] += 1
            self.early[key] = label
        else:
            self.early[key] = label
            if len(self.early) > self.machine.bounds[1]:
                del self.early[next(iter(self.early))]
                self.n["dropped_labels"] += 1

    def resolve_again(self, key, label):
        score, moment, known = self.closed[key]
        if known is None:
            self.n["late_labels"] += 1
        elif known == label:
            self.n["repeated_labels"] += 1
        else:
            self.n["changed_labels"] += 1
            self.labelled.remove((moment, known, score, 1))
            self.labelled.append((moment, label, score, 1))
            self.closed[key] = (score, moment, label)

    def expire(self):
        """Abandon what is too old, in order of arrival, up to the first that is not."""
        while self.open:
            key, (_, moment) = next(iter(self.open.items()))
            if moment >= self.now() - self.machine.ttl:
                return
            self.abandon(key)

    def merge(self, other):
        """Take in another worker, whose counts are added and whose entries meet those here."""
        self.n += Counter()
        for name, number in other.n.items():
            self.n[name] += number
        self.labelled += other.labelled
        self.predicted += other.predicted
        self.updates += other.updates
        self.latest = max(self.latest, other.latest)
        waited = []
        for key, entry in other.closed.items():
            if key in self.open:
                del self.open[key]
                self.n["abandoned"] += 1
            if key in self.early:
                waited.append((key, self.early.pop(key)))
            self.closed.setdefault(key, entry)
        for key, label in waited:
            self.resolve_again(key, label)
        self.bound_closed()
        for key, (score, moment) in other.open.items():
            self.merge_open(key, score, moment)
        for key, label in other.early.items():
            self.resolve(key, label)

    def merge_open(self, key, score, moment):
        if key in self.open or key in self.closed:
            self.n["abandoned"] += 1
        elif key in self.early:
            self.count_label(key, score, moment, self.early.pop(key))
        else:
            self.open[key] = (score, moment)
            self.bound_open()

    def check(self):
        """Check every number, every histogram and every invariant."""
        self.expire()
        self.check_stats(self.monitor.stats)
        self.check_window(self.monitor.window(-FAR, FAR))
        self.check_panes()

    def check_stats(self, stats):
        numbers = {
            **{f"n_{name}": number for name, number in self.n.items()},
            "n_open": len(self.open),
            "n_early": len(self.early),
        }
        found = {name: getattr(stats, name) for name in stats.__slots__ if name != "rejected"}
        assert {name: n for name, n in found.items() if n} == {
            name: n for name, n in numbers.items() if n
        }
        assert stats.n_offered == stats.n_accepted + stats.n_expired + stats.n_ahead
        assert stats.n_offered == self.machine.offered[self]
        assert stats.n_predicted == stats.n_labelled + stats.n_open + stats.n_abandoned

    def check_window(self, window):
        """Check a window against the events in the span that it reports."""
        model, scale = self.machine.model, self.machine.scale
        self.now()
        every = self.labelled + self.updates, self.predicted + self.updates
        labelled, predicted = (
            model.kept(rows, window.start, window.end, self.latest) for rows in every
        )
        assert cells(window.histogram) == cells_of(labelled, scale)
        of_one_class = [(moment, 0, score, weight) for moment, _, score, weight in predicted]
        assert window.predicted.n_classes == 1
        assert cells(window.predicted) == cells_of(of_one_class, scale)
        n_labelled, n_predicted = (sum(row[3] for row in rows) for rows in (labelled, predicted))
        if n_predicted:
            assert window.coverage == n_labelled / n_predicted
        else:
            assert math.isnan(window.coverage)
        immature = n_labelled < window.min_coverage * n_predicted
        assert ("immature" in window.caveats) == immature

    def check_panes(self):
        """Check that no pane holds a negative count, and that every label has its prediction."""
        panes = {}
        for channel, tier, index, counts in self.monitor.state().panes:
            assert (counts.counts >= 0).all()
            histogram = ScoreHistogram(self.machine.scale, counts, counts.counts.shape[0])
            assert (histogram.counts.sum(axis=0) > 0).all()
            panes[channel, tier, index] = histogram
        channels = {channel for channel, *_ in panes}
        assert self.predicted or "predicted" not in channels
        for (channel, *place), histogram in panes.items():
            if channel == "labelled" and "predicted" in channels:
                both = panes["predicted", *place] - histogram.pooled()  # raises if negative
                assert (both.counts >= 0).all()
        check_timeline(self.monitor._ledger._timeline)


class Machine(RuleBasedStateMachine):
    """Two workers that are merged now and then, in either order."""

    event_time = True

    @initialize(
        tiers=st.sampled_from([SMALL_TIERS, SMALL_TIERS, ((2, 10), (60, math.inf))]),
        scale=st.sampled_from(SCALES),
        ttl=st.sampled_from([math.inf, 8, 60]),
        bounds=st.sampled_from(BOUNDS),
        max_ahead=st.sampled_from([math.inf, 25]),
        many=st.sampled_from([1, 2, 32]),
        origin=st.sampled_from([0.0, -900.0, 1_394_347_000.0]),
    )
    def begin(self, tiers, scale, ttl, bounds, max_ahead, many, origin):
        self.tiers, self.scale, self.ttl, self.bounds = tiers, scale, ttl, bounds
        self.max_ahead, self.source = max_ahead, origin
        self.model = PaneModel(tiers)
        self.offered = Counter()
        self.usual, join._MANY = join._MANY, many
        self.workers = [Worker(self), Worker(self)]

    @property
    def only_predictions(self):
        """Return whether jumps of other events would wait, as other tests show."""
        return self.event_time and self.max_ahead < math.inf

    @property
    def settings(self):
        names = "max_pending", "max_early", "max_resolved"
        return {
            "clock": "event" if self.event_time else lambda: self.source,
            "max_ahead": self.max_ahead,
            "label_ttl": self.ttl,
            **dict(zip(names, self.bounds, strict=True)),
        }

    def new_monitor(self):
        return Monitor(scale=self.scale, tiers=self.tiers, **self.settings)

    def placed(self, worker, moment):
        """Return a drawn moment as a time about now."""
        now = worker.latest if worker.latest > -math.inf else self.source
        return float(math.floor(now) + moment[0] + moment[1])

    def drawn(self, worker, op):
        """Return an operation with a time instead of a distance."""
        if op[0] in ("predict", "update"):
            return (*op[:3], self.placed(worker, op[3]), *op[4:])
        return op

    @rule(
        which=st.integers(0, 1),
        ops=st.lists(st.one_of(predictions, predictions, resolutions, resolutions, updates, waits)),
    )
    def burst(self, which, ops):
        """Write one by one; all of it is counted at once, after time has passed between."""
        worker, waiting = self.workers[which], []
        for op in (self.drawn(worker, op) for op in ops):
            if op[0] == "update" and self.only_predictions:
                continue
            if op[0] == "wait":
                self.source += op[1]
                continue
            before = worker.n["ahead"]
            if not self.event_time and op[0] != "resolve" and worker.is_ahead(op[3]):
                worker.n["ahead"] += 1  # judged at once, and once more when it is counted
            getattr(worker.monitor, op[0])(*op[1:])
            if worker.n["ahead"] == before:
                waiting.append(op)
            self.offered[worker] += op[0] != "resolve"
        self.fold(worker, waiting)

    def fold(self, worker, waiting):
        before = worker.n["repeated_predictions"]
        worker.monitor.flush()
        worker.fold(waiting)
        self.offered[worker] -= worker.n["repeated_predictions"] - before

    @rule(which=st.integers(0, 1), ops=st.lists(predictions, max_size=6))
    def predict_many(self, which, ops):
        """Write predictions as columns."""
        worker = self.workers[which]
        ops = [self.drawn(worker, op) for op in ops]
        worker.monitor.predict_many(*([op[field] for op in ops] for field in (1, 2, 3)))
        self.offered[worker] += len(ops)
        self.fold(worker, ops)

    @rule(which=st.integers(0, 1), ops=st.lists(resolutions, max_size=6))
    def resolve_many(self, which, ops):
        """Write labels as columns."""
        worker = self.workers[which]
        worker.monitor.resolve_many(*([op[field] for op in ops] for field in (1, 2)))
        self.fold(worker, ops)

    @rule(which=st.integers(0, 1), ops=st.lists(updates, max_size=4))
    def update_many(self, which, ops):
        """Write events whose labels are known as columns."""
        worker = self.workers[which]
        ops = [self.drawn(worker, op) for op in ops]
        columns = ([op[field] for op in ops] for field in (1, 2, 3, 4))
        if self.only_predictions:
            return
        worker.monitor.update_many(*columns)
        self.offered[worker] += len(ops)
        self.fold(worker, ops)

    @rule(step=st.sampled_from([0.25, 1, 4.75, 20, 90, 500, 5_000, -30]))
    def pass_time(self, step):
        """Move the clock on, past the patience for labels and past every tier."""
        self.source += step
        if self.event_time and step > 0 and not self.only_predictions:
            moment = self.placed(self.workers[0], (step, 0))
            for worker in self.workers:
                if not worker.is_ahead(moment):
                    worker.monitor.update(0, 0.5, moment)
                    self.offered[worker] += 1
                    self.fold(worker, [("update", 0, 0.5, moment, 1)])

    @rule(
        which=st.integers(0, 1),
        shift=st.integers(-450, 60),
        length=st.integers(0, 300),
        share=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    )
    def poll(self, which, shift, length, share):
        """Ask for any span, and for a share of labels."""
        worker = self.workers[which]
        low = self.placed(worker, (shift, 0))
        worker.check_window(worker.monitor.window(low, low + length, min_coverage=share))
        last = worker.monitor.window(last=length + 1, offset=abs(shift), min_coverage=share)
        worker.check_window(last)
        history = worker.monitor.history(50, start=low, end=low + length, min_coverage=share)
        for window in history.windows:
            worker.check_window(window)

    @rule(which=st.integers(0, 1), as_copy=st.booleans())
    def restore(self, which, as_copy):
        """Go on from bytes, or from a copy."""
        worker = self.workers[which]
        if as_copy:
            worker.monitor = copy.copy(worker.monitor)
        else:
            data = worker.monitor.to_bytes()
            worker.monitor = Monitor.from_bytes(data, **self.settings)
        worker.jump = None
        if not self.event_time:
            worker.now()
            worker.told = worker.joined_at = self.source

    @rule(which=st.integers(0, 1))
    def merge(self, which):
        """Let one worker take in the other, which begins anew."""
        into, other = self.workers[which], self.workers[1 - which]
        other.check()
        into.monitor.merge(other.monitor)
        into.joined_at = into.now()
        into.expire()
        into.merge(other)
        self.offered[into] += self.offered.pop(other, 0)
        self.workers[1 - which] = Worker(self)

    @invariant()
    def check(self):
        for worker in getattr(self, "workers", ()):
            worker.joined_at = worker.now()
            worker.check()

    def teardown(self):
        if hasattr(self, "workers"):
            self.check()
            join._MANY = self.usual


class WallTime(Machine):
    """Time comes from a source, which may jump, stand still and go back."""

    event_time = False


Machine.TestCase.settings = SETTINGS
WallTime.TestCase.settings = SETTINGS
TestEventTime = Machine.TestCase
TestWallTime = WallTime.TestCase
