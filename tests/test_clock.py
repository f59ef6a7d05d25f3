"""Clocks decide what is too early or too late, in order of arrival, however it is batched."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panes import SMALL_TIERS, EventClockModel, PaneModel

from streamauc._time import MAX_TIME
from streamauc.clock import EventClock, WallClock
from streamauc.events import Events
from streamauc.tiers import check_tiers

COARSEST = check_tiers(SMALL_TIERS)[-1]
MODEL = PaneModel(SMALL_TIERS)
moments = st.one_of(
    st.integers(-20, 20).map(float),
    st.integers(-100, 100).map(lambda k: 10.0 * k),
    st.sampled_from([1e4, 1e4 + 10, 1e4 + 10.5, -1e4, 1e6, 1e6 + 9]),
)
batches = st.lists(st.lists(moments, max_size=12), max_size=6)


def events_at(times, scores=None):
    """Return one event at each time, known by its score."""
    times = np.array(times, dtype=float)
    scores = np.arange(times.size) / 1_000 if scores is None else np.array(scores, dtype=float)
    return Events.of(np.ones(times.size, dtype=np.int64), scores, times)


@given(batches, st.sampled_from([0.5, 10, 100, math.inf]))
def test_events_are_judged_as_one_after_the_other(found, max_ahead):
    """A sequential scan in plain Python lets the same events count, in the same order."""
    clock, slow = EventClock(max_ahead), EventClockModel(MODEL, max_ahead)
    number = 0
    counts = dict.fromkeys(("accepted", "expired", "ahead"), 0)
    for batch in found:
        names = [number + k for k in range(len(batch))]
        number += len(batch)
        admission = clock.admit(events_at(batch, names), COARSEST)
        accepted = []
        for moment, name in zip(batch, names, strict=True):
            accepted += slow.offer((moment, name))

        times, scores = admission.events.timestamps.tolist(), admission.events.scores.tolist()
        assert list(zip(times, scores, strict=True)) == accepted
        counts["accepted"] += len(accepted)
        counts["expired"] += admission.n_expired
        counts["ahead"] += admission.n_ahead
        assert counts == slow.counts
        assert clock.latest == slow.latest
        assert clock.now() == (slow.latest if slow.latest > -math.inf else 0.0)


@given(batches, st.sampled_from([0.5, 10, 100]))
def test_batches_make_no_difference(found, max_ahead):
    """All at once, in batches and one by one, the same events count."""
    every = [moment for batch in found for moment in batch]
    names = list(range(len(every)))
    cuts = np.cumsum([0, *(len(batch) for batch in found)]).tolist()

    def fed(bounds):
        clock, scores, n_expired, n_ahead = EventClock(max_ahead), [], 0, 0
        for start, stop in pairwise(bounds):
            admission = clock.admit(events_at(every[start:stop], names[start:stop]), COARSEST)
            scores += admission.events.scores.tolist()
            n_expired += admission.n_expired
            n_ahead += admission.n_ahead
        return scores, n_expired, n_ahead, clock.latest

    assert fed([0, len(every)]) == fed(cuts) == fed(list(range(len(every) + 1)))


@given(st.lists(st.tuples(moments, st.booleans()), max_size=15), st.sampled_from([10, math.inf]))
def test_histograms_are_judged_between_events(found, max_ahead):
    """One moment is judged by the events before it, and does not confirm a jump."""
    clock, slow = EventClock(max_ahead), EventClockModel(MODEL, max_ahead)
    for moment, whole in found:
        if whole:
            before = dict(slow.counts)
            slow.offer_histogram(moment, 1)
            (verdict,) = [name for name in before if slow.counts[name] > before[name]]
            assert clock.admit_one(moment, COARSEST) == verdict
        else:
            accepted = slow.offer((moment, 0.0))
            admission = clock.admit(events_at([moment]), COARSEST)
            assert admission.events.timestamps.tolist() == [row[0] for row in accepted]
        assert clock.latest == slow.latest


def test_a_jump_waits_for_a_second_event():
    """A lone stamp from the future does not move the time; two that agree do, and both count."""
    clock = EventClock(60)

    assert clock.admit(events_at([0.0, 1e6, 30.0]), COARSEST).n_ahead == 1
    assert clock.now() == 30.0
    assert clock.admit(events_at([2e6]), COARSEST).n_ahead == 1  # the first is ahead for good
    found = clock.admit(events_at([2e6 + 60]), COARSEST)
    assert found.events.timestamps.tolist() == [2e6, 2e6 + 60]
    assert found.n_ahead == -1
    assert clock.now() == 2e6 + 60


def test_the_waiting_event_keeps_its_weight():
    """A jump with a weight is confirmed by one without, and the other way round."""
    clock = EventClock(60)
    clock.admit(events_at([0.0]), COARSEST)
    heavy = Events.of(np.array([0]), np.array([0.5]), np.array([1e6]), np.array([2.5]))
    clock.admit(heavy, COARSEST)
    found = clock.admit(events_at([1e6]), COARSEST).events

    assert found.weights.tolist() == [2.5, 1.0]
    assert found.classes.tolist() == [0, 1]


def test_nothing_is_kept_of_the_batch_in_which_a_jump_came():
    """The waiting event is a copy: the caller's arrays may change."""
    clock = EventClock(60)
    batch = events_at([0.0, 1e6], [0.25, 0.75])
    clock.admit(batch, COARSEST)
    batch.timestamps[:] = 7.0
    batch.scores[:] = 0.0

    assert clock.admit(events_at([1e6 + 1]), COARSEST).events.scores.tolist() == [0.75, 0.0]


def test_an_event_clock_catches_up_with_another():
    """After a merge the time is the later one, and never an earlier one."""
    clock = EventClock(math.inf)
    for latest, now in ((-math.inf, 0.0), (-500.0, -500.0), (300.0, 300.0), (200.0, 300.0)):
        clock.catch_up(latest)
        assert clock.now() == now
    assert clock.admit(events_at([-140.5, -80.0]), COARSEST).n_expired == 1
    assert not clock.is_ahead(MAX_TIME)


def test_a_clock_set_back_stands_still():
    """The time is the largest that the source has told."""
    told = [100.0]
    clock = WallClock(lambda: told[0], 10.0)
    assert (clock.now(), clock.limit) == (100.0, 110.0)
    told[0] = 40.0
    assert (clock.now(), clock.limit, clock.latest) == (100.0, 110.0, 100.0)
    told[0] = 101.0
    assert (clock.now(), clock.limit) == (101.0, 111.0)


def test_the_limit_is_asked_anew_before_an_event_is_refused():
    """A cached limit may be out of date; what it refuses is judged by the present moment."""
    told = [0.0]
    clock = WallClock(lambda: told[0], 10.0)
    told[0] = 5.0

    assert not clock.is_ahead(15.0)
    assert clock.is_ahead(math.nextafter(15.0, math.inf))
    assert clock.limit == 15.0


@given(st.lists(moments, max_size=12), moments, st.sampled_from([0.5, 10, 100, math.inf]), moments)
def test_wall_clocks_judge_by_the_present_moment(times, now, max_ahead, other):
    """Every event of a batch is ahead, expired or accepted, and as one alone would be."""
    clock = WallClock(lambda: now, max_ahead)
    clock.catch_up(other)
    admission = clock.admit(events_at(times), COARSEST)
    verdicts = [
        "ahead"
        if moment > now + max_ahead
        else "expired"
        if MODEL.is_expired(moment, max(now, other))
        else "accepted"
        for moment in times
    ]

    assert [clock.admit_one(moment, COARSEST) for moment in times] == verdicts
    assert admission.n_ahead == verdicts.count("ahead")
    assert admission.n_expired == verdicts.count("expired")
    kept = [moment for moment, verdict in zip(times, verdicts, strict=True) if verdict[0] == "a"]
    assert len(kept) >= admission.events.size == verdicts.count("accepted")


@pytest.mark.parametrize("max_ahead", [1.0, math.inf])
def test_no_clock_reaches_beyond_the_range_of_time(max_ahead):
    """The limit is never later than the last time that can be."""
    clock = WallClock(lambda: MAX_TIME - 0.5, max_ahead)

    assert clock.limit == MAX_TIME
    assert not clock.is_ahead(MAX_TIME)
