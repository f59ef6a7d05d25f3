"""Predictions joined with labels that come later: the store, the queue of arrivals, the monitor."""

import copy
import math
import os
import pickle
import re
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panes import SMALL_TIERS, cells, cells_of, check_timeline, scores_for

from streamauc import Monitor, Scale, join
from streamauc.codec import JoinState
from streamauc.events import Events, PaneCounter
from streamauc.join import (
    JoinDelta,
    LabelJoin,
    Labels,
    MemoryJoinStore,
    Predictions,
    runs,
)
from streamauc.recorder import FOLD_KEYED, MAX_KEYED

FOREVER = -math.inf


def event_monitor(**settings):
    """Return a monitor whose time is that of the events."""
    return Monitor(**{"clock": "event", "tiers": SMALL_TIERS, **settings})


def store_of(max_pending=1_000, max_early=1_000, max_resolved=1_000):
    return MemoryJoinStore(max_pending=max_pending, max_early=max_early, max_resolved=max_resolved)


def places(*moments):
    return [complex(moment, 0.5) for moment in moments]


def summed(results):
    """Return what several results say together."""
    total = {}
    for result in results:
        for name in result.__slots__:
            value = getattr(result, name)
            value = value if isinstance(value, int) else list(value)
            total[name] = total[name] + value if name in total else value
    return total


bounds = st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 4))
keys = st.integers(0, 6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("predict"), st.lists(st.tuples(keys, st.integers(0, 9)), max_size=6)),
        st.tuples(st.just("resolve"), st.lists(st.tuples(keys, st.integers(0, 1)), max_size=6)),
        st.tuples(st.just("expire"), st.integers(0, 9)),
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(bounds=bounds, steps=steps, oldest=st.sampled_from([FOREVER, 4.0]))
def test_a_batch_is_its_entries_one_by_one(bounds, steps, oldest):
    """However entries are cut into batches, each sees what those before it left, bounds too."""
    usual, join._MANY = join._MANY, 1
    try:
        whole, single = store_of(*bounds), store_of(*bounds)
        for kind, what in steps:
            if kind == "expire":
                assert whole.expire(what) == single.expire(what)
                continue
            names = [key for key, _ in what]
            if kind == "predict":
                rest = ([complex(moment, 0.5) for _, moment in what],)
            else:
                rest = [float(label) for _, label in what], oldest
            found = getattr(whole, kind)(names, *rest)
            apart = [
                getattr(single, kind)([name], [value], *rest[1:])
                for name, value in zip(names, rest[0], strict=True)
            ]
            nothing = join.Opened([]) if kind == "predict" else join.Closed()
            assert summed([found, nothing]) == summed([*apart, nothing])
            assert repr(whole.state()) == repr(single.state())
    finally:
        join._MANY = usual


def test_each_kind_of_entry_has_its_own_bound():
    """The oldest goes first: predictions are abandoned, labels dropped, closed keys forgotten."""
    store = store_of(2, 1, 1)
    assert store.predict("abc", places(1, 2, 3)).n_abandoned == 1
    assert store.state().opened == (("b", 2 + 0.5j), ("c", 3 + 0.5j))
    assert [key for key, *_ in store.state().closed] == ["a"]
    assert store.resolve("b", [1.0], FOREVER).pairs == [(2 + 0.5j, 1.0)]
    assert [key for key, *_ in store.state().closed] == ["b"]
    # "a" has been forgotten, so its label waits, until that of "x" takes its room.
    assert store.resolve("a", [1.0], FOREVER).n_dropped == 0
    assert store.resolve("x", [0.0], FOREVER).n_dropped == 1
    assert store.state().early == (("x", 0.0),)


def test_the_queue_is_in_order_of_arrival_after_everything():
    """A key that left and came again stands at the end; a batch that fails moves nobody."""
    store = store_of(max_resolved=0)
    store.predict("abcd", places(1, 2, 3, 4))
    store.resolve("b", [1.0], FOREVER)
    store.predict("b", places(5))
    assert store.resolve(["d", "x"] * 20, [1.0] * 40, FOREVER).pairs == [(4 + 0.5j, 1.0)]
    assert [key for key, _ in store.state().opened] == ["a", "c", "b"]
    assert store.expire(4.0) == 2
    assert [key for key, _ in store.state().opened] == ["b"]


def test_predictions_expire_in_order_of_arrival():
    """An older one that came later goes when it gets to the front, or when its label comes."""
    store = store_of()
    store.predict("abc", places(10, 1, 2))
    assert store.expire(5.0) == 0
    late = store.resolve("b", [1.0], 5.0)
    assert (late.pairs, late.n_late, late.n_abandoned) == ([], 1, 1)
    assert store.resolve("b", [1.0], 5.0).n_late == 1
    assert store.expire(11.0) == 2
    assert (store.n_open, store.n_early) == (0, 0)


def test_a_label_that_comes_exactly_in_time_counts():
    """The limit itself is in time, for expiry and for labels."""
    store = store_of()
    store.predict("ab", places(5, 5))
    assert store.expire(5.0) == 0
    assert store.resolve("a", [1.0], 5.0).pairs == [(5 + 0.5j, 1.0)]
    assert store.expire(math.nextafter(5.0, 6)) == 1


def test_memory_is_that_of_the_entries_however_many_came_and_went():
    """What 100,000 keys leave behind is bounded by what the store holds."""
    store = store_of(10, 10, 10)

    def churn(start, stop):
        for number in range(start, stop, 10):
            names = range(number, number + 10)
            store.predict(names, [complex(name, 0.5) for name in names])
            store.resolve([name - 3 for name in names], [1.0] * 10, FOREVER)
            store.resolve([-name for name in names], [1.0] * 10, FOREVER)

    churn(0, 1_000)
    tracemalloc.start()
    churn(1_000, 100_000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000


def test_the_oldest_is_found_at_once():
    """Taking entries off the front, and a small batch among many, do not go through the rest."""
    n, looks = 20_000, []

    class Key(int):
        def __hash__(self):
            looks.append(self)
            return super().__hash__()

    store, names = store_of(max_pending=10**6), [Key(number) for number in range(n + 40)]
    store.predict(names[:n], places(*range(n)))
    looks.clear()
    store.predict(names[n:], places(*range(n, n + 40)))
    store.resolve(names[n:], [1.0] * 40, FOREVER)
    assert store.expire(10.0) == 10
    assert len(looks) < 1_000


def test_runs_are_cut_where_the_kind_changes():
    """Predictions and labels come out in their order, whole runs in their place."""
    many = Predictions(["p", "q"], places(1, 2))
    later = Labels(["r"], [1.0])
    flat = ["a", 1 + 0.5j, "b", 2 + 0.5j, "a", 1.0, None, many, None, later, "b", 0.0, "c", 3 + 1j]
    found = [
        (type(run), run.keys, run.placed if isinstance(run, Predictions) else run.labels)
        for run in runs(flat)
        if run.keys
    ]
    assert found == [
        (Predictions, ["a", "b"], [1 + 0.5j, 2 + 0.5j]),
        (Labels, ["a"], [1.0]),
        (Predictions, ["p", "q"], many.placed),
        (Labels, ["r"], [1.0]),
        (Labels, ["b"], [0.0]),
        (Predictions, ["c"], [3 + 1j]),
    ]
    assert [run.keys for run in runs([])] == [[]]


def joined(opened=(), early=(), closed=()):
    """Return a join with these entries, and its delta since then."""
    one, delta = LabelJoin(store_of(), math.inf), JoinDelta()
    one.absorb(JoinState(opened, early, closed), 0.0, delta)
    return one, JoinDelta()


P, Q = 1 + 0.5j, 2 + 0.25j


@pytest.mark.parametrize(
    ("mine", "theirs", "tallies", "labelled", "unlabelled"),
    [
        ({"opened": [("k", P)]}, {"early": [("k", 1.0)]}, {"labelled": 1}, [(P, 1.0)], []),
        ({"opened": [("k", P)]}, {"opened": [("k", Q)]}, {"abandoned": 1}, [], []),
        ({"opened": [("k", P)]}, {"closed": [("k", Q, 1.0)]}, {"abandoned": 1}, [], []),
        ({"early": [("k", 1.0)]}, {"early": [("k", 1.0)]}, {"repeated_labels": 1}, [], []),
        ({"early": [("k", 1.0)]}, {"closed": [("k", P, 1.0)]}, {"repeated_labels": 1}, [], []),
        (
            {"early": [("k", 0.0)]},
            {"closed": [("k", P, 1.0)]},
            {"changed_labels": 1},
            [(P, 0.0)],
            [(P, 1.0)],
        ),
        ({"early": [("k", 0.0)]}, {"closed": [("k", P, math.nan)]}, {"late_labels": 1}, [], []),
        ({"closed": [("k", P, 1.0)]}, {"closed": [("k", Q, 0.0)]}, {}, [], []),
        ({"opened": [("k", P)]}, {"opened": [("m", Q)]}, {}, [], []),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_absorbing_is_the_same_in_either_order(
    mine, theirs, tallies, labelled, unlabelled, swapped
):
    """Of two joins, entries with one key meet, whichever takes in the other."""
    first, other = (theirs, mine) if swapped else (mine, theirs)
    one, delta = joined(**first)
    one.absorb(joined(**other)[0].state(), 0.0, delta)

    assert +delta.tallies == tallies
    assert (delta.labelled, delta.unlabelled) == (labelled, unlabelled)
    assert delta.predicted == []


HINT = "bool or 0/1 (other labels through classes=(negative, positive))"
BAD_CALLS = [
    ("predict", (["a"], 0.5, 0), TypeError, {"key": 1}, "key must be hashable, got ['a']"),
    ("predict", (["a"], 0.5, 0.0), TypeError, {"key": 1}, "key must be hashable, got ['a']"),
    (
        "predict",
        ("k", 1.5, 0.0),
        ValueError,
        {"score": 1},
        "score must be in [0, 1] on probability(bits=7), got 1.5",
    ),
    ("predict", ("k", "x", 0.0), TypeError, {"score": 1}, "score must be a number, got 'x'"),
    ("predict", ("k", 0.5, math.nan), ValueError, {"timestamp": 1}, "timestamp must be finite"),
    (
        "predict",
        ("k", 0.5),
        ValueError,
        {"timestamp": 1},
        "timestamp must be given when the clock is 'event', got None",
    ),
    ("resolve", ([], 1), TypeError, {"key": 1}, "key must be hashable, got []"),
    ("resolve", ("k", 2), ValueError, {"label": 1}, f"label must be {HINT}, got 2"),
    ("resolve", ("k", None), ValueError, {"label": 1}, f"label must be {HINT}, got None"),
    ("resolve", ("k", [1]), ValueError, {"label": 1}, f"label must be {HINT}, got [1]"),
    (
        "predict_many",
        (["a", "b"], [0.5, 1.5], [0, 0]),
        ValueError,
        {"score": 1},
        "y_score must be in [0, 1] on probability(bits=7), got 1.5",
    ),
    (
        "predict_many",
        (["a", "b"], [0.5, 0.5], [0, math.inf]),
        ValueError,
        {"timestamp": 1},
        "timestamps must be finite, got inf at index 1 (1 of 2 values are bad)",
    ),
    (
        "resolve_many",
        (["a", "b"], [1, 7]),
        ValueError,
        {"label": 1},
        f"y_true must be {HINT}, got 7 at index 1 (1 of 2 values are bad)",
    ),
]


@pytest.mark.parametrize(("method", "arguments", "error", "rejected", "message"), BAD_CALLS)
def test_a_bad_call_changes_nothing_or_is_counted(method, arguments, error, rejected, message):
    """What is wrong is named in the call that brought it, or skipped for the same reason."""
    strict, lenient = event_monitor(), event_monitor(bad="skip")
    before = strict.to_bytes()
    with pytest.raises(error, match="^" + re.escape(message)):
        getattr(strict, method)(*arguments)
    getattr(lenient, method)(*arguments)

    assert strict.to_bytes() == before
    stats = lenient.stats
    assert stats.rejected == rejected
    n_good = 1 if method == "predict_many" else 0
    assert (stats.n_offered, stats.n_predicted) == (1 + n_good, n_good)


@pytest.mark.parametrize("bad", ["raise", "skip"])
@pytest.mark.parametrize(
    ("method", "arguments", "error", "message"),
    [
        (
            "predict_many",
            (["a"], [0.5, 0.5], [0, 0]),
            ValueError,
            "keys and y_score must have the same length, got 1 and 2",
        ),
        (
            "predict_many",
            (["a"], [0.5], [0, 0]),
            ValueError,
            "y_score and timestamps must have the same length, got 1 and 2",
        ),
        (
            "resolve_many",
            (["a", "b"], [1]),
            ValueError,
            "keys and y_true must have the same length, got 2 and 1",
        ),
        ("resolve_many", (5, [1]), TypeError, "keys must be a sequence of hashables, got 5"),
        (
            "resolve_many",
            (["a", {}], [1, 1]),
            TypeError,
            "keys must be hashable, got {} at index 1",
        ),
        (
            "predict_many",
            (np.array([[1]]), [0.5], [0]),
            TypeError,
            "keys must be a sequence of hashables, got array([[1]])",
        ),
    ],
)
def test_columns_of_the_wrong_kind_are_an_error_either_way(method, arguments, error, message, bad):
    """No row is to blame for them, so none is skipped."""
    monitor = event_monitor(bad=bad)
    before = monitor.to_bytes()
    with pytest.raises(error, match=re.escape(message) + "$"):
        getattr(monitor, method)(*arguments)
    assert monitor.to_bytes() == before


def test_a_closed_monitor_refuses_predictions_and_labels():
    """What waits is counted on closing; later calls are an error, with skipping too."""
    for bad in ("raise", "skip"):
        with event_monitor(bad=bad) as monitor:
            monitor.predict("a", 0.5, 0.0)
        writes = [
            lambda monitor=monitor: monitor.predict("b", 0.5, 0.0),
            lambda monitor=monitor: monitor.predict([], 0.5, 0.0),
            lambda monitor=monitor: monitor.resolve("a", 1),
            lambda monitor=monitor: monitor.predict_many(["b"], [0.5], [0]),
            lambda monitor=monitor: monitor.resolve_many(["a"], [1]),
        ]
        for write in writes:
            with pytest.raises(ValueError, match="monitor must be open to be written to"):
                write()
        assert (monitor.stats.n_predicted, monitor.stats.n_open) == (1, 1)


@pytest.mark.parametrize(
    ("bound", "value", "message"),
    [
        ("max_pending", 0, "max_pending must be"),
        ("max_early", -1, "max_early must be"),
        ("max_resolved", 1.5, "max_resolved must be"),
        ("label_ttl", -5, "label_ttl must be"),
    ],
)
def test_bad_settings_are_named(bound, value, message):
    """A bound that is none is an error at construction."""
    with pytest.raises((ValueError, TypeError), match=message):
        event_monitor(**{bound: value})


@pytest.mark.parametrize(
    ("one_by_one", "in_column"),
    [
        ([1, 2, 3], np.array([1, 2, 3])),
        ([1, 2, 3], np.array([1, 2, 3], dtype=np.uint8)),
        (list(np.array([1, 2, 3])), [1, 2, 3]),
        (["a", "b", "c"], np.array(["a", "b", "c"])),
        ([np.str_("a"), "b", "c"], np.array(["a", "b", "c"], dtype=object)),
        ([("a", 1), frozenset("b"), b"c"], [("a", 1), frozenset("b"), b"c"]),
        ([None, 2.5, True], [None, 2.5, 1]),
        ("abc", ["a", "b", "c"]),
    ],
)
@pytest.mark.parametrize("singles_first", [False, True])
def test_keys_of_every_kind_meet(one_by_one, in_column, singles_first):
    """A key is the same alone and in a column, of numpy or not."""
    monitor, moments = event_monitor(), [0.0, 1.0, 2.0]
    if singles_first:
        for key, moment in zip(one_by_one, moments, strict=True):
            monitor.predict(key, 0.5, moment)
        monitor.resolve_many(in_column, [1, 0, 1])
    else:
        monitor.predict_many(in_column, [0.5] * 3, moments)
        for key, label in zip(one_by_one, [1, 0, 1], strict=True):
            monitor.resolve(key, label)

    assert (monitor.stats.n_labelled, monitor.stats.n_open, monitor.stats.n_early) == (3, 0, 0)
    assert monitor.window(0, 3).n_pos == 2


def test_keys_survive_bytes():
    """Text, numbers and those of numpy are written; other keys are an error that says so."""
    monitor = event_monitor()
    for key in ("a", np.int64(5), np.float64(2.5), None, True, "\ud800"):
        monitor.predict(key, 0.5, 0.0)
    back = Monitor.from_bytes(monitor.to_bytes())
    back.resolve_many(["a", 5, 2.5, None, True, "\ud800"], [1] * 6)
    assert (back.stats.n_labelled, back.stats.n_open) == (6, 0)
    monitor.predict(("tuple",), 0.5, 0.0)
    with pytest.raises(TypeError, match="keys must be text or numbers to be written"):
        monitor.to_bytes()


def test_copies_keep_their_patience_and_bounds():
    """A pickle and a copy keep what bytes leave to the caller."""
    monitor = event_monitor(label_ttl=5, max_pending=2, max_early=1, max_resolved=1)
    monitor.predict("a", 0.5, 0.0)
    monitor.resolve("x", 1)
    for other in (copy.copy(monitor), pickle.loads(pickle.dumps(monitor))):  # noqa: S301 - ours
        other.resolve("y", 1)
        other.predict_many(["b", "c"], [0.5, 0.5], [0.0, 0.0])
        stats = other.stats
        assert (stats.n_open, stats.n_abandoned, stats.n_early) == (2, 1, 1)
        other.predict("d", 0.5, 6.0)
        assert other.stats.n_abandoned == 3


@pytest.mark.parametrize("scale", [Scale.probability(), Scale.exact(), Scale.real(bits=12)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("later", "pane"), [(0, (3, 4)), (60, (0, 5)), (150, (0, 20))])
def test_a_changed_label_moves_wherever_its_pane_has_gone(scale, weighted, later, pane):
    """The count moves in the pane that survives, minutes, hours or days, and leaves no trace."""
    monitor, score = event_monitor(scale=scale), scores_for(scale, 0.75)
    rows = [(3.5, 0, score, 1), (3.25, 1, scores_for(scale, 0.25), 0.5 if weighted else 1)]
    monitor.update(1, rows[1][2], 3.25, rows[1][3])
    monitor.predict("k", score, 3.5)
    monitor.resolve("k", 1)
    assert monitor.window(3, 4).n_pos == 1 + rows[1][3]
    if later:
        monitor.update(0, 0.5, 3.5 + later)
    monitor.resolve("k", 0)
    window = monitor.window(3, 4)

    assert (window.start, window.end) == pane
    assert cells(window.histogram) == cells_of(rows, scale)
    assert (window.histogram.counts.sum(axis=0) > 0).all()
    assert window.coverage == 1.0
    assert monitor.stats.n_changed_labels == 1
    monitor.resolve("k", 1)
    monitor.resolve("k", 0)
    assert cells(monitor.window(3, 4).histogram) == cells_of(rows, scale)
    check_timeline(monitor._ledger._timeline)


def test_a_label_that_changes_after_every_tier_is_counted_and_moves_nothing():
    """Where there is no pane any more, only the number of changes tells."""
    monitor = event_monitor()
    monitor.predict("k", 0.5, 3.0)
    monitor.resolve("k", 1)
    monitor.predict("late", 0.5, 4.0)
    monitor.flush()
    monitor.update(1, 0.5, 5_000.0)
    monitor.resolve("k", 0)
    monitor.resolve("late", 0)
    stats = monitor.stats

    assert (stats.n_changed_labels, stats.n_labelled, stats.n_open) == (1, 2, 0)
    window = monitor.window(-10_000, 10_000)
    assert (window.n_samples, window.predicted.totals.tolist()) == (1, [1])


def test_taking_counts_back_is_seen_by_the_next_poll():
    """Sums of panes that were worked out before are forgotten."""
    monitor = event_monitor(tiers=((1, math.inf),))
    monitor.update_many([0] * 64, [0.5] * 64, range(64))
    timeline = monitor._ledger._timeline
    assert monitor.window(0, 64).n_samples == 64
    event = Events.of(np.array([0]), np.array([0.5]), np.array([7.0]))
    timeline.remove("labelled", PaneCounter(monitor.scale, 1).count(event))
    assert monitor.window(0, 64).n_samples == 63
    check_timeline(timeline)


def test_a_dense_pane_rolls_up_alone():
    """Thousands of events in few bins, alone in their hour, are counted the same in it."""
    monitor = event_monitor(scale=Scale.probability(bits=3))
    labels = np.arange(5_000) % 2
    scores = 0.5 + np.arange(5_000) % 7 / 50  # in bins that follow each other
    monitor.predict_many(range(5_000), scores, np.zeros(5_000))
    monitor.resolve_many(range(5_000), labels)
    assert monitor.window(0, 1).n_samples == 5_000
    for now in (30.0, 300.0):
        monitor.update(0, 0.5, now)
        window = monitor.window(0, 1)
        assert (window.n_samples, window.n_pos, window.coverage) == (5_000, 2_500, 1.0)


def test_a_window_knows_its_coverage_from_the_first_prediction_on():
    """Events of before the first prediction are among those whose label is known."""
    monitor = event_monitor()
    monitor.update_many([0, 1], [0.25, 0.5], [0, 0])
    assert "predicted" not in monitor._ledger._timeline.channels
    monitor.predict_many("abcdef", [0.75] * 6, [0] * 6)
    window = monitor.window(0, 1, min_coverage=0.5)
    assert (window.coverage, window.caveats) == (0.25, ("immature",))
    assert window.predicted.totals.tolist() == [8]
    monitor.resolve("a", 1)
    monitor.resolve("b", 1)
    assert monitor.window(0, 1, min_coverage=0.5).caveats == ()
    assert math.isnan(monitor.window(7, 8, min_coverage=0.5).coverage)


@pytest.mark.parametrize("swapped", [False, True])
def test_merging_one_that_predicts_and_one_that_does_not(swapped):
    """Coverage is right whichever of the two takes in the other."""
    plain, predicting = event_monitor(), event_monitor()
    plain.update_many([0, 1], [0.25, 0.5], [0, 0])
    predicting.predict_many("ab", [0.75] * 2, [0, 0])
    into, other = (predicting, plain) if swapped else (plain, predicting)
    into.merge(other)
    into.update(1, 0.5, 0)
    window = into.window(0, 1)
    assert (window.n_samples, window.coverage) == (3, 0.6)
    assert Monitor.from_bytes(into.to_bytes()).window(0, 1).coverage == 0.6


def test_what_has_no_entries_left_still_has_its_predictions():
    """A monitor whose keys are all forgotten knows its coverage, also from bytes."""
    monitor = event_monitor(max_pending=1, max_resolved=0)
    monitor.predict_many("abc", [0.5] * 3, [0.0] * 3)
    monitor.resolve("c", 1)
    assert monitor.state().join == JoinState()
    for one in (monitor, Monitor.from_bytes(monitor.to_bytes())):
        one.update(1, 0.5, 0.0)
        assert one.window(0, 1).coverage == 0.5


def test_without_predictions_nothing_is_paid():
    """A stream of events alone keeps no second channel, however it comes and goes."""
    monitor, other = event_monitor(), event_monitor()
    for one in (monitor, other):
        one.update(1, 0.5, 0.0)
        one.update_many([0], [0.5], [1.0])
        one.update_histogram(one.window(0, 1).histogram, 2.0)
    monitor.merge(other)
    monitor = Monitor.from_bytes(monitor.to_bytes())
    monitor.resolve("a label alone", 1)
    monitor.update(1, 0.5, 0.0)

    assert monitor._ledger._timeline.channels == ("labelled",)
    assert monitor.window(0, 3).coverage == 1.0
    stats = monitor.stats
    assert (stats.n_offered, stats.n_accepted, stats.n_predicted) == (7, 7, 0)


def test_a_label_is_not_late_because_nobody_looked():
    """A label that came in time counts, when it is counted only later; expiry then goes on."""
    now = [0.0]
    monitor = Monitor(clock=lambda: now[0], tiers=SMALL_TIERS, label_ttl=10)
    monitor.predict("a", 0.5, 0.0)
    monitor.predict("b", 0.5, 0.0)
    now[0] = 9.0
    monitor.resolve("a", 1)
    now[0] = 15.0
    stats = monitor.stats
    assert (stats.n_labelled, stats.n_late_labels, stats.n_abandoned) == (1, 0, 1)
    monitor.resolve("b", 1)
    assert (monitor.stats.n_labelled, monitor.stats.n_late_labels) == (1, 1)


def test_a_jump_is_confirmed_by_another_prediction():
    """Predictions go on after a gap longer than `max_ahead`; one delivered twice is no proof."""
    monitor = event_monitor(max_ahead=10)
    monitor.predict("a", 0.5, 0.0)
    for _ in range(2):
        monitor.predict("b", 0.5, 100.0)
    assert (monitor.stats.n_predicted, monitor.stats.n_ahead) == (1, 2)
    monitor.predict_many(["c", "d"], [0.5, 0.5], [104.0, 111.0])
    stats = monitor.stats
    assert (stats.n_predicted, stats.n_ahead, stats.n_offered) == (4, 1, 5)
    monitor.resolve("b", 1)
    assert monitor.window(100, 101).n_pos == 1


def test_the_first_batch_may_hold_a_jump():
    """Also before any event, times further apart than `max_ahead` are judged one by one."""
    monitor = event_monitor(max_ahead=10)
    monitor.predict_many(["a", "b"], [0.5, 0.5], [0.0, 9e9])
    assert (monitor.stats.n_predicted, monitor.stats.n_ahead) == (1, 1)
    assert monitor.window(last=5).end == 1


def test_a_merged_clock_lets_predictions_expire_alike():
    """Alone or in a batch, a prediction is judged by the largest time that is known."""
    now = [0.0]
    monitor = Monitor(clock=lambda: now[0], tiers=SMALL_TIERS)
    other = Monitor(clock=lambda: 1_000.0, tiers=SMALL_TIERS)
    monitor.merge(other)
    monitor.predict_many(["a"], [0.5], [0.0])
    monitor.predict_many(["a", "b"], [0.5] * 2, [0.0, 999.0])
    assert (monitor.stats.n_expired, monitor.stats.n_predicted) == (2, 1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_labels_in_any_order_give_the_offline_answer(data):
    """Shuffled, before or after their predictions: the mature window equals plain events."""
    n = data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    labels, scores = rng.integers(0, 2, n), rng.integers(0, 9, n) / 8
    moments = rng.integers(0, 240, n) / 4
    offline, monitor = event_monitor(), event_monitor()
    order = np.argsort(moments, kind="stable")  # so that no order makes one expire
    offline.update_many(labels[order], scores[order], moments[order])
    arrivals = [("predict", row, row) for row in range(n)]
    arrivals += [("resolve", n * rng.random() * 2 - n / 2, row) for row in range(n)]
    for kind, _, row in sorted(arrivals, key=lambda one: one[1]):
        if kind == "predict":
            monitor.predict(row, float(scores[row]), float(moments[row]))
        else:
            monitor.resolve(row, int(labels[row]))
        if rng.random() < 0.1:
            monitor.flush()

    window, expected = monitor.window(-500, 500), offline.window(-500, 500)
    assert cells(window.histogram) == cells(expected.histogram)
    assert (window.coverage, window.roc_auc) == (1.0, pytest.approx(expected.roc_auc, nan_ok=True))
    assert (monitor.stats.n_labelled, monitor.stats.n_open, monitor.stats.n_early) == (n, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_starts_empty():
    """What waits and what is open stays with the parent, so that merging counts it once."""
    monitor = event_monitor()
    monitor.predict("counted", 0.5, 0.0)
    monitor.flush()
    monitor.predict("waiting", 0.5, 0.0)
    child = os.fork()
    if child == 0:
        monitor.resolve("counted", 1)
        stats = monitor.stats
        os._exit(0 if (stats.n_predicted, stats.n_labelled, stats.n_early) == (0, 0, 1) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (monitor.stats.n_predicted, monitor.stats.n_open) == (2, 2)


@pytest.mark.parametrize("in_batches", [False, True])
def test_many_threads_predict_and_resolve(in_batches):
    """Four predict, four resolve in another order, one polls: each pair is counted once."""
    usual, n, size = sys.getswitchinterval(), 5_000, 50
    monitor, failures, done = Monitor(clock="event"), [], threading.Event()

    def predict(part):
        rows = np.arange(part, 4 * n, 4)
        if in_batches:
            for start in range(0, n, size):
                some = rows[start : start + size]
                monitor.predict_many(some, some % 8 / 8, some % 60)
        else:
            for row in rows.tolist():
                monitor.predict(row, row % 8 / 8, float(row % 60))

    def resolve(part):
        rows = shuffled[part::4]
        if in_batches:
            for start in range(0, n, size):
                some = rows[start : start + size]
                monitor.resolve_many(some, some // 8 % 2)
        else:
            for row in rows.tolist():
                monitor.resolve(row, row // 8 % 2)

    def poll():
        while not done.is_set():
            window, stats = monitor.window(0, 60), monitor.stats
            assert window.n_samples <= window.predicted.totals.sum() <= stats.n_predicted
            assert stats.n_predicted == stats.n_labelled + stats.n_open + stats.n_abandoned

    def guarded(work, *arguments):
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            failures.append(error)

    shuffled = np.random.default_rng(0).permutation(4 * n)
    writers = [
        threading.Thread(target=guarded, args=(work, part))
        for part in range(4)
        for work in (predict, resolve)
    ]
    poller = threading.Thread(target=guarded, args=(poll,))
    sys.setswitchinterval(1e-5)
    try:
        for thread in (poller, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        poller.join()
    finally:
        sys.setswitchinterval(usual)

    assert not failures
    stats, window = monitor.stats, monitor.window(0, 60)
    assert (stats.n_predicted, stats.n_labelled, stats.n_accepted) == (4 * n,) * 3
    assert (stats.n_open, stats.n_early, window.coverage) == (0, 0, 1.0)
    rows = [(row % 60, row // 8 % 2, row % 8 / 8, 1) for row in range(4 * n)]
    assert cells(window.histogram) == cells_of(rows, monitor.scale)


def test_writers_wait_when_too_much_is_waiting():
    """Predictions do not pile up without bound while a fold is held up, and none is lost."""
    monitor, n = event_monitor(), MAX_KEYED // 2 + 10

    def write():
        for number in range(n):
            monitor.predict(number, 0.5, 0.0)

    with monitor._lock:
        writer = threading.Thread(target=write)
        writer.start()
        writer.join(1.5)
        waited, waiting = writer.is_alive(), len(monitor._keyed)
    writer.join(30)
    assert waited
    assert waiting == MAX_KEYED > FOLD_KEYED
    assert monitor.stats.n_predicted == n
