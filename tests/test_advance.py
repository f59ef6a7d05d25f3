"""A detector advanced over a live stream: each pane once, in order, when its labels are there."""

import math

import numpy as np
import pytest

from streamauc import (
    Monitor,
    PrevalenceDetector,
    RankingDetector,
    Scale,
    ScoreHistogram,
    ShiftDetector,
)
from streamauc.change.detect import State

PANE = 300
DAY = 86_400


class Recorder:
    """A detector that only writes down what it is shown."""

    pane_seconds, min_coverage, stall_after = PANE, 0.95, DAY / 4
    state = State.QUIET

    def __init__(self):
        self.last_pane = None
        self.taken = []
        self.left = []

    @property
    def held(self):
        """The panes with events that were taken in."""
        return [pane for pane, *counts in self.taken if any(counts)]

    def step(self, pane, histogram, *, coverage):
        n_neg, n_pos = histogram.totals.tolist()
        if coverage >= self.min_coverage:
            assert self.last_pane is None or pane > self.last_pane
            self.last_pane = pane
            self.taken.append((pane, n_pos, n_neg))
        else:
            self.left.append(pane)
        return self.state


class Clock:
    """A clock that tests set."""

    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now


def stream(rng, n=2_000, span=40 * PANE, prevalence=0.3, delay=2 * PANE):
    """Return times, labels, and when each label is known: those of positives twice as late."""
    times = np.sort(rng.uniform(0, span, n))
    labels = (rng.random(n) < prevalence).astype(int)
    return times, labels, times + rng.exponential(delay / 3, n) * (1 + labels)


def live(times, labels, known, poll, *, until=math.inf, every=60.0):
    """Feed a stream as it happens and call `poll` each minute."""
    clock = Clock()
    monitor = Monitor(clock=clock)
    predicted, resolved = 0, 0
    order = np.argsort(known, kind="stable")
    end = until if math.isfinite(until) else float(known[np.isfinite(known)].max()) + every
    for now in np.arange(every, end + every, every):
        clock.now = float(now)
        upto = int(np.searchsorted(times, now))
        rows = range(predicted, upto)
        monitor.predict_many(list(rows), np.full(len(rows), 0.5), times[predicted:upto])
        predicted = upto
        upto = int(np.searchsorted(known[order], now))
        rows = order[resolved:upto]
        monitor.resolve_many(rows, labels[rows])
        resolved = upto
        poll(monitor)
    return monitor


@pytest.mark.parametrize("seed", range(10))
def test_each_mature_pane_is_taken_in_once_and_in_order(seed):
    """However often it is polled: no pane twice, none (of 200) before 95 % of its labels."""
    times, labels, known = stream(np.random.default_rng(seed), n=8_000)
    detector = Recorder()
    live(times, labels, known, lambda monitor: monitor.advance(detector))

    assert detector.held == list(range(40))
    for pane, n_pos, n_neg in detector.taken[:40]:
        inside = times // PANE == pane
        assert 0.95 * inside.sum() <= n_pos + n_neg <= inside.sum()
        assert n_pos <= labels[inside].sum()


def test_it_waits_for_the_late_class():
    """Positives come later; read at once, every pane would look like a fall in prevalence."""
    times, labels, known = stream(np.random.default_rng(1), n=20_000)
    detector = PrevalenceDetector(0.3, pane_seconds=PANE, min_coverage=0.99)
    hasty = PrevalenceDetector(0.3, pane_seconds=PANE, min_coverage=0.3)

    def poll(monitor):
        monitor.advance(detector)
        monitor.advance(hasty)

    live(times, labels, known, poll)

    assert detector.state is State.QUIET
    assert hasty.state is State.ALARM
    assert hasty.alarm.direction == "down"


def test_a_pane_whose_labels_are_lost_is_passed_over():
    """Younger panes mature, so the lost one is left, after twice the delay and `stall_after`."""
    times, labels, known = stream(np.random.default_rng(2), n=20_000, span=2 * DAY)
    known[(times // PANE) == 3] = math.inf
    detector = Recorder()
    waited = []

    def poll(monitor):
        monitor.advance(detector)
        if detector.last_pane == 2:
            waited.append(monitor)

    live(times, labels, known, poll)

    assert detector.held == [*range(3), *range(4, 576)]
    assert 3 in detector.left
    assert len(waited) * 60 > Recorder.stall_after


def test_labels_that_stop_coming_are_a_stall():
    """No younger pane matures either: the detector hears of it and says so."""
    times, labels, known = stream(np.random.default_rng(3), n=20_000, span=2 * DAY)
    known[times > DAY / 2] = math.inf
    detector = PrevalenceDetector(0.3, pane_seconds=PANE, stall_after=DAY / 4)
    states = {}

    def poll(monitor):
        states[monitor.window(last=1).end] = monitor.advance(detector)

    live(times, labels, known, poll, until=2 * DAY)

    early = [state for end, state in states.items() if end < DAY / 2 + DAY / 4]
    assert set(early) == {State.QUIET}
    assert list(states.values())[-1] is State.STALLED
    assert "was there with a coverage of at least 0.95" in detector.reason


def test_an_alarm_ends_the_call_and_the_next_one_goes_on():
    """A replay that polls once at the end still sees each alarm."""
    monitor = Monitor(clock="event")
    for pane in range(400):
        n_pos = 60 if pane % 200 > 150 else 30
        labels = [1] * n_pos + [0] * (100 - n_pos)
        monitor.update_many(labels, [0.5] * 100, [pane * PANE] * 100)
    detector = PrevalenceDetector((30_000, 70_000), pane_seconds=PANE)

    found = []
    while monitor.advance(detector) is State.ALARM:
        found.append(detector.alarm.pane)
        assert detector.last_pane == found[-1]
        detector.acknowledge()

    assert {pane // 200 for pane in found} == {0, 1}
    assert all(pane % 200 > 150 for pane in found)
    assert detector.last_pane == 398  # the newest pane has not ended


def test_an_alarm_that_stands_does_not_hold_up_the_panes():
    monitor = Monitor(clock="event")
    for pane in range(50):
        monitor.update_many([1] * 100, [0.5] * 100, [pane * PANE] * 100)
    detector = PrevalenceDetector((30_000, 70_000), pane_seconds=PANE)
    monitor.advance(detector)
    first = detector.last_pane
    monitor.advance(detector)

    assert first < detector.last_pane == 48


def test_panes_without_events_have_no_label_to_wait_for():
    """They close at once, so that a poll after a silence does not go over them again."""
    monitor = Monitor(clock="event")
    monitor.update_many([0, 1], [0.5, 0.5], [0, 0])
    monitor.update_many([0, 1], [0.5, 0.5], [50 * PANE, 90 * PANE])
    detector = Recorder()
    monitor.advance(detector)

    assert detector.held == [0, 50]
    assert detector.last_pane == 89
    assert detector.left == []


def test_a_stream_that_falls_silent_is_a_stall():
    clock = Clock()
    monitor = Monitor(clock=clock)
    monitor.update_many([0, 1] * 50, [0.5] * 100, [0.0] * 100)
    detector = PrevalenceDetector(0.5, pane_seconds=PANE, stall_after=DAY)
    clock.now = DAY / 2

    assert monitor.advance(detector) is State.QUIET
    clock.now = 2 * DAY
    assert monitor.advance(detector) is State.STALLED
    assert "no labelled events" in detector.reason


def test_a_stream_without_events_says_nothing():
    detector = Recorder()
    Monitor(clock="event").advance(detector)

    assert detector.taken == detector.left == []


def test_fine_panes_that_expired_are_passed_over():
    """Their hour cannot be told apart into the detector's panes any more."""
    monitor = Monitor(clock="event", tiers=((60, "1h"), (3600, "90d")))
    for moment in range(0, 10 * 3600, PANE):
        monitor.update_many([0, 1], [0.2, 0.7], [moment, moment])
    detector = Recorder()
    monitor.advance(detector)

    assert detector.taken[0][0] * PANE >= 8 * 3600
    assert detector.taken[-1][0] == 118


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        (((7, "1d"),), "detector must have panes of a multiple of 7 s, got 300 s"),
        (((60, "2m"), (3600, "1d")), "tiers must keep panes of 60 s for a pane of the detector"),
    ],
)
def test_panes_that_no_tier_keeps_are_refused(tiers, message):
    monitor = Monitor(clock="event", tiers=tiers)

    with pytest.raises(ValueError, match=message):
        monitor.advance(Recorder())


def test_small_panes_do_not_wait_for_their_last_label():
    """Of ten events one late label is a tenth; the events around them say that labels are there."""
    times, labels, known = stream(np.random.default_rng(5), n=4_000, span=400 * PANE)
    late = np.arange(4_000) % 50 == 0
    known[late] += 30 * PANE
    detector = Recorder()
    lags = []

    def poll(monitor):
        monitor.advance(detector)
        now = monitor.window(last=1).end
        if detector.last_pane is not None and now < 400 * PANE:
            lags.append(now / PANE - detector.last_pane)

    live(times, labels, known, poll)

    assert detector.held == list(range(400))
    assert np.median(lags) < 20


@pytest.mark.parametrize("kind", [RankingDetector, ShiftDetector])
def test_detectors_that_look_at_scores_are_shown_them(kind):
    """From labels that come late; a lower score of the positives is found, and nothing before."""
    rng = np.random.default_rng(8)
    n, span = 30_000, 200 * PANE
    times = np.sort(rng.uniform(0, span, n))
    labels = rng.random(n) < 0.2
    logits = rng.normal(-1.0, 1.0, n) + labels * np.where(times < span / 2, 1.5, 0.5)
    scores = 1 / (1 + np.exp(-logits))
    early = times < span / 4
    reference = ScoreHistogram.from_scores(labels[early], scores[early], scale=Scale.probability())
    detector = kind(reference)
    clock = Clock()
    monitor = Monitor(clock=clock, max_ahead="10d")
    monitor.predict_many(range(n), scores, times)
    monitor.resolve_many(range(n), labels)
    states = []
    for now in np.arange(PANE, span + 2 * PANE, PANE):
        clock.now = float(now)
        states.append(monitor.advance(detector))

    found = states.index(State.ALARM)
    assert 100 <= found < 140
    assert detector.alarm.direction == "down"
    assert 95 <= detector.alarm.began <= found
