"""A monitor from the outside: what it takes, refuses, counts and answers, also among threads."""

import copy
import json
import math
import multiprocessing
import os
import pickle
import re
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from panes import SMALL_TIERS, cells, cells_of, check_timeline, content, random_rows

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.recorder import FOLD_EVENTS, MAX_WAITING_BATCHES, MAX_WAITING_EVENTS

LABELS, SCORES, TIMES = [0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], [0, 1, 2, 3]
HINT = "bool or 0/1 (other labels through classes=(negative, positive))"


def event_monitor(**settings):
    """Return a monitor whose time is that of the events."""
    return Monitor(**{"clock": "event", "tiers": SMALL_TIERS, **settings})


def columns_of(rows):
    """Return rows as the arguments of `update_many`."""
    times, labels, scores, weights = np.array(rows, dtype=float).reshape(-1, 4).T.copy()
    return labels, scores, times, None if (weights == 1).all() else weights


EXPECTED = event_monitor()
for _row in zip(LABELS, SCORES, TIMES, strict=True):
    EXPECTED.update(*_row)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        lambda values: [bool(value) for value in values],
        lambda values: np.array(values, dtype=bool),
        lambda values: np.array(values, dtype=np.uint8),
        lambda values: np.array(values, dtype=np.int64),
        lambda values: np.array(values, dtype=np.uint64),
        lambda values: np.array(values, dtype=np.float16),
        lambda values: np.array(values, dtype=np.float32),
        lambda values: np.array(values, dtype=">f8"),
        lambda values: np.array(values, dtype=float)[::-1][::-1],
        lambda values: np.array([Decimal(value) for value in values]),
        pd.Series,
        lambda values: pd.Series(values, dtype="Int64"),
        lambda values: pd.Series(values, dtype="boolean"),
        lambda values: pd.Series(values, dtype="Float32"),
        lambda values: pl.Series(values, dtype=pl.Float32),
        lambda values: pl.Series(values).cast(pl.Int64).cast(pl.Boolean),
        lambda values: pa.array(values, pa.float64()),
        lambda values: pa.array([bool(value) for value in values]),
        lambda values: pa.chunked_array([values[:1], values[1:]], pa.float32()),
    ],
)
def test_columns_of_every_kind_are_counted_alike(make):
    """Labels and scores may be in lists, arrays and columns of data frames, of any width."""
    monitor = event_monitor()
    monitor.update_many(make(LABELS), make(SCORES), make(TIMES) if make is list else TIMES)

    assert content(monitor) == content(EXPECTED)


@pytest.mark.parametrize("label", [True, np.True_, 1, 1.0, np.int8(1), np.float32(1), Decimal(1)])
@pytest.mark.parametrize(
    "score", [0.75, np.float64(0.75), np.float32(0.75), np.float16(0.75), Fraction(3, 4)]
)
@pytest.mark.parametrize(
    "timestamp",
    [
        7,
        7.0,
        np.int64(7),
        np.float32(7),
        np.datetime64(7, "s"),
        datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC),
        "1970-01-01T01:00:07+01:00",
    ],
)
def test_single_events_of_every_kind_are_counted_alike(label, score, timestamp):
    """However its numbers are written, an event is the same, with counts that are integers."""
    monitor = event_monitor()
    monitor.update(label, score, timestamp)
    window = monitor.window(7, 8)

    assert cells(window.histogram) == {(monitor.scale.bin(0.75), 1): (1, None)}
    assert window.histogram.counts.dtype == np.int64


def test_narrow_floats_are_widened_before_they_are_compared():
    """0.1 as a float32 is the float64 that it is, alone and in a column."""
    monitor, score = event_monitor(scale=Scale.exact()), np.float32(0.1)
    monitor.update(1, score, 0)
    monitor.update_many([1], np.array([score]), [0])

    bin_ = monitor.scale.bin(float(score))
    assert cells(monitor.window(0, 1).histogram) == {(bin_, 1): (2, None)}


def test_labels_by_name():
    """Other labels come through `classes`, negative first."""
    monitor = event_monitor(classes=("ok", "fraud"))
    monitor.update("fraud", 0.9, 0)
    monitor.update(np.str_("ok"), 0.1, 0)
    for make in (list, np.array, pd.Series, pd.Categorical, pl.Series, pa.array):
        monitor.update_many(make(["ok", "fraud", "ok"]), [0.1, 0.9, 0.2], [0, 0, 0])

    window = monitor.window(0, 1)
    assert (window.n_pos, window.n_neg, window.roc_auc) == (7, 13, 1.0)
    assert Monitor.from_bytes(monitor.to_bytes()).window(0, 1).n_pos == 7
    for bad in ("Fraud", 1, None, math.nan):
        with pytest.raises(ValueError, match=re.escape("label must be one of ('ok', 'fraud')")):
            monitor.update(bad, 0.5, 0)


MISSING = [
    [1, None, 0],
    [1.0, math.nan, 0.0],
    np.array([1, np.nan, 0]),
    np.ma.masked_array([1, 1, 0], [False, True, False]),
    pd.Series([1, None, 0]),
    pd.Series([1, None, 0], dtype="Int64"),
    pd.Series([True, None, False], dtype="boolean"),
    pl.Series([1, None, 0]),
    pl.Series([True, None, False]),
    pa.array([1, None, 0]),
    pa.array([True, None, False]),
]


@pytest.mark.parametrize("labels", MISSING, ids=lambda column: type(column).__module__)
def test_missing_labels_are_no_negatives(labels):
    """An outcome that is not known is refused, or skipped and counted."""
    strict, lenient = event_monitor(), event_monitor(bad="skip")
    message = rf"y_true must be {re.escape(HINT)}, got .* at index 1 \(1 of 3 values are bad\)"
    with pytest.raises(ValueError, match=message):
        strict.update_many(labels, [0.5, 0.5, 0.5], [0, 0, 0])
    lenient.update_many(labels, [0.5, 0.5, 0.5], [0, 0, 0])

    assert strict.stats.n_offered == 0
    assert (lenient.stats.n_accepted, lenient.stats.rejected) == (2, {"label": 1})


@pytest.mark.parametrize(
    "labels",
    [["ok", None], pd.Series(["ok", None]), pd.Series(["ok", pd.NA], dtype="string"), ["ok", ""]],
)
def test_missing_names_are_no_negatives(labels):
    """Of named labels, too."""
    monitor = event_monitor(classes=("ok", "fraud"), bad="skip")
    monitor.update_many(labels, [0.5, 0.5], [0, 0])

    assert (monitor.stats.n_accepted, monitor.stats.rejected) == (1, {"label": 1})


BAD_EVENTS = [
    ((2, 0.5, 0), ValueError, "label", f"label must be {HINT}, got 2"),
    ((None, 0.5, 0), ValueError, "label", f"label must be {HINT}, got None"),
    ((math.nan, 0.5, 0), ValueError, "label", f"label must be {HINT}, got nan"),
    ((pd.NA, 0.5, 0), ValueError, "label", f"label must be {HINT}, got <NA>"),
    (("1", 0.5, 0), ValueError, "label", f"label must be {HINT}, got '1'"),
    (([1], 0.5, 0), ValueError, "label", f"label must be {HINT}, got [1]"),
    (
        (1, 1.5, 0),
        ValueError,
        "score",
        "score must be in [0, 1] on probability(bits=7), got 1.5; Sc",
    ),
    ((1, math.nan, 0), ValueError, "score", "score must be finite, got nan"),
    ((1, np.float32("inf"), 0), ValueError, "score", "score must be finite, got inf"),
    ((1, 10**400, 0), ValueError, "score", "score must fit a float64, got 1000"),
    ((1, "0.5", 0), TypeError, "score", "score must be a number, got '0.5'"),
    ((1, None, 0), TypeError, "score", "score must be a number, got None"),
    ((1, pd.NA, 0), TypeError, "score", "score must be a number, got <NA>"),
    ((1, 0.5j, 0), TypeError, "score", "score must be a number, got 0.5j"),
    ((1, np.array([0.5]), 0), TypeError, "score", "score must be a number, got array([0.5])"),
    ((1, 0.5, math.nan), ValueError, "timestamp", "timestamp must be finite, got nan"),
    ((1, 0.5, np.float16("inf")), ValueError, "timestamp", "timestamp must be finite, got inf"),
    ((1, 0.5, None), ValueError, "timestamp", "timestamp must be given when the clock is 'event'"),
    ((1, 0.5, 1.7e12), ValueError, "timestamp", "timestamp must be in seconds since the epoch"),
    ((1, 0.5, "noon"), ValueError, "timestamp", "timestamp must be an ISO 8601 time, got 'noon'"),
    ((1, 0.5, 0, -1), ValueError, "weight", "weight must be finite and not negative, got -1.0"),
    (
        (1, 0.5, 0, math.nan),
        ValueError,
        "weight",
        "weight must be finite and not negative, got nan",
    ),
    (
        (1, 0.5, 0, 1e200),
        ValueError,
        "weight",
        "weight must be 0, or from 1e-100 to 1e+100, got 1e+200",
    ),
    (
        (1, 0.5, 0, 1e-101),
        ValueError,
        "weight",
        "weight must be 0, or from 1e-100 to 1e+100, got 1e-101",
    ),
    ((1, 0.5, 0, "2"), TypeError, "weight", "weight must be a number, got '2'"),
    ((1, 0.5, 0, None), TypeError, "weight", "weight must be a number, got None"),
]


@pytest.mark.parametrize(("event", "error", "reason", "message"), BAD_EVENTS)
def test_a_bad_event_changes_nothing_or_is_counted(event, error, reason, message):
    """A bad event is named in the call that brought it, or skipped for the same reason."""
    strict, lenient = event_monitor(), event_monitor(bad="skip")
    for monitor in (strict, lenient):
        monitor.update(1, 0.5, 3)
    before = strict.to_bytes()
    with pytest.raises(error, match="^" + re.escape(message)):
        strict.update(*event)
    lenient.update(*event)

    assert strict.to_bytes() == before
    stats = lenient.stats
    assert (stats.n_accepted, stats.n_rejected, stats.rejected) == (1, 1, {reason: 1})
    assert stats.n_offered == 2
    assert content(lenient)[0] == content(strict)[0]


BAD_BATCHES = [
    (([1, 5], [0.5] * 2, [0] * 2), "label", f"y_true must be {HINT}, got 5 at index 1 (1 of 2"),
    (([1, -1], [0.5] * 2, [0] * 2), "label", f"y_true must be {HINT}, got -1 at index 1 (1 of 2"),
    (([1, 0.5], [0.5] * 2, [0] * 2), "label", f"y_true must be {HINT}, got 0.5 at index 1 (1 of"),
    ((["1", "x"], [0.5] * 2, [0] * 2), "label", f"y_true must be {HINT}, got '1' at index 0 (2 of"),
    (
        (np.array([1, 2**64 - 1], dtype=np.uint64), [0.5] * 2, [0] * 2),
        "label",
        f"y_true must be {HINT}, got 18446744073709551615 at index 1 (1 of 2 values are bad)",
    ),
    (
        ([1, 1], [0.5, 1.5], [0] * 2),
        "score",
        "y_score must be in [0, 1] on probability(bits=7), got",
    ),
    (([1, 1], [0.5, math.nan], [0] * 2), "score", "y_score must be finite, got nan at index 1 (1"),
    (([1, 1], [0.5, None], [0] * 2), "score", "y_score must be finite, got nan at index 1 (1 of 2"),
    (
        ([1, 1], [0.5] * 2, [0, math.inf]),
        "timestamp",
        "timestamps must be finite, got inf at index 1 (1 of 2 values are bad)",
    ),
    (([1, 1], [0.5] * 2, [0, 1.7e12]), "timestamp", "timestamps must be in seconds since the"),
    (([1, 1], [0.5] * 2, [0, None]), "timestamp", "timestamps must be finite, got nan at index 1"),
    (
        ([1, 1], [0.5] * 2, [0] * 2, [1, -2]),
        "weight",
        "weights must be finite and not negative, got -2.0 at index 1 (1 of 2 values are bad)",
    ),
    (
        ([1, 1], [0.5] * 2, [0] * 2, [1, 1e200]),
        "weight",
        "weights must be 0, or from 1e-100 to 1e+100, got 1e+200 at index 1"
        " (1 of 2 values are bad)",
    ),
    (
        ([1, 1], np.array([0.5, "a"], dtype=object), [0] * 2),
        "score",
        "y_score must hold numbers, got 'a' at index 1",
    ),
    (
        ([1, 1], [0.5] * 2, ["1970-01-01T00:00Z", "noon"]),
        "timestamp",
        "timestamps must be an ISO 8601 time, got 'noon' at index 1",
    ),
    (
        ([1, 1], [0.5] * 2, [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 1, 5, 9)]),  # noqa: DTZ001, RUF100
        "timestamp",
        "timestamps must carry a time zone, got datetime(2026, 1, 5, 9, 0); add tzinfo, or pass"
        " seconds since the epoch at index 1",
    ),
]


@pytest.mark.parametrize(("batch", "reason", "message"), BAD_BATCHES)
def test_a_bad_row_changes_nothing_or_is_counted(batch, reason, message):
    """A batch with a bad row is refused as a whole, or counted without that row."""
    strict, lenient = event_monitor(), event_monitor(bad="skip")
    for monitor in (strict, lenient):
        monitor.update(1, 0.5, 3)
    before = strict.to_bytes()
    with pytest.raises((ValueError, TypeError), match="^" + re.escape(message)):
        strict.update_many(*batch)
    lenient.update_many(*batch)

    assert strict.to_bytes() == before
    stats = lenient.stats
    n_bad = 2 if "(2 of" in message else 1
    assert stats.rejected == {reason: n_bad}
    assert (stats.n_accepted, stats.n_offered) == (3 - n_bad, 3)


@pytest.mark.parametrize("bad", ["raise", "skip"])
@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (
            ([1], [0.5, 0.5], [0, 0]),
            ValueError,
            "y_true and y_score and timestamps must have the same length, got 1 and 2 and 2",
        ),
        (
            ([1], [0.5], [0], [1, 1]),
            ValueError,
            "y_true and y_score and timestamps and weights must have the same length",
        ),
        ((1, [0.5], [0]), ValueError, "y_true must be 1-D, got shape ()"),
        (([1], [[0.5]], [0]), ValueError, "y_score must be 1-D, got shape (1, 1)"),
        (([1], [0.5], 0), ValueError, "timestamps must be 1-D, got shape ()"),
        (([1], [0.5], [0], 2), ValueError, "weights must be 1-D, got shape ()"),
        (([1], ["0.5"], [0]), TypeError, "y_score must hold numbers, got dtype <U3"),
        (([1], [0.5], [True]), TypeError, "timestamps must hold times, got dtype bool"),
    ],
)
def test_columns_of_the_wrong_kind_are_an_error_either_way(batch, error, message, bad):
    """No row is to blame when a column has the wrong kind, shape or length."""
    monitor = event_monitor(bad=bad)
    before = monitor.to_bytes()
    with pytest.raises(error, match="^" + re.escape(message)):
        monitor.update_many(*batch)
    assert monitor.to_bytes() == before


def test_a_row_is_rejected_for_its_first_fault():
    """Faults of one row count once; rows with different faults count by reason."""
    monitor = event_monitor(bad="skip")
    scores, times = [math.nan, math.nan, 0.5, 0.5], [0, 0, math.nan, 0]
    monitor.update_many([7, 1, 1, 1], scores, times, [-1, 1, 1, -1])
    monitor.update(7, math.nan, math.nan, -1)

    stats = monitor.stats
    assert stats.rejected == {"score": 1, "label": 2, "timestamp": 1, "weight": 1}
    assert (stats.n_rejected, stats.n_offered) == (5, 5)


def test_rejected_events_do_not_pile_up():
    """A stream of nothing but bad events needs no memory, however seldom it is polled."""
    monitor = event_monitor(bad="skip")
    for _ in range(20 * FOLD_EVENTS):
        monitor.update(1, math.nan, 0)

    assert len(monitor._intake) <= 2 * FOLD_EVENTS
    assert monitor.stats.n_rejected == 20 * FOLD_EVENTS


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"bad": "ignore"}, ValueError, "bad must be 'raise' or 'skip', got 'ignore'"),
        ({"clock": 5}, ValueError, "clock must be a function or 'event', got 5"),
        ({"max_ahead": 0}, ValueError, "max_ahead must be positive, got 0"),
        ({"tiers": ()}, ValueError, "tiers must hold at least one (pane, keep), got none"),
        (
            {"classes": ("ok",)},
            ValueError,
            "classes must be two different labels (negative, positive), got ('ok',)",
        ),
        ({"classes": "ab"}, ValueError, "classes must be two different labels"),
        ({"classes": (1, 1.0)}, ValueError, "classes must be two different labels"),
    ],
)
def test_settings_are_checked(settings, error, message):
    """A monitor that cannot work is refused when it is made."""
    with pytest.raises(error, match=re.escape(message)):
        event_monitor(**settings)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "window takes start and end, or last with or without offset"),
        ({"start": 0}, TypeError, "window takes start and end, or last"),
        ({"start": 0, "last": 5}, TypeError, "window takes start and end, or last"),
        ({"start": 0, "end": 1, "offset": 1}, TypeError, "window takes start and end, or last"),
        (
            {"start": 5, "end": 1},
            ValueError,
            "end must not be before start, got 5.0 and 1.0",
        ),
        ({"start": math.nan, "end": 1}, ValueError, "start must be finite, got nan"),
        ({"last": 0}, ValueError, "last must be positive, got 0"),
        ({"last": "3h", "offset": -1}, ValueError, "offset must be positive, got -1"),
    ],
)
def test_polls_are_checked(arguments, error, message):
    """A question that cannot be meant says so, and leaves the monitor usable."""
    monitor = event_monitor()
    with pytest.raises(error, match=re.escape(message)):
        monitor.window(**arguments)
    assert monitor.window(0, 1).n_samples == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 0}, "step must be positive, got 0"),
        ({"step": "year"}, "step must be a length of time such as"),
        ({"step": 1e-6}, "step must cut the span into at most 1000000 steps, got"),
        ({"step": "day", "tz": "Mars"}, "tz must be a known time zone such as Europe/Berlin"),
        ({"step": 1, "metrics": ("auc",)}, "metric must be in the catalogue, got 'auc'"),
        ({"step": 1, "metrics": ("precision@x",)}, "threshold must be a number, got 'x'"),
        ({"step": "day", "start": -1e11}, "time must lie in the years 1 to 9999, got"),
    ],
)
def test_histories_are_checked(arguments, message):
    """A history that cannot be meant is refused in the call that asks for it."""
    monitor = event_monitor()
    monitor.update_many([0, 1], [0.5, 0.5], [0, 3])
    with pytest.raises(ValueError, match=re.escape(message)):
        monitor.history(**arguments)
    assert len(monitor.history(1)) == 4


def test_arrays_are_not_kept():
    """What a caller does to its arrays afterwards changes nothing, also when a batch waits."""
    monitor, expected = event_monitor(), event_monitor()
    rows = random_rows(np.random.default_rng(1), 500, 0, 3, weighted=True)
    for held in (False, True):
        columns = columns_of(rows)
        expected.update_many(*(column.copy() for column in columns))
        if held:
            monitor._lock.acquire()
        monitor.update_many(*columns)
        for column in columns:
            column[:] = math.nan
        if held:
            monitor._lock.release()

    assert content(monitor) == content(expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "scale", [Scale.probability(thresholds=(0.3,)), Scale.real(bits=9), Scale.exact()], ids=repr
)
def test_every_way_of_counting_counts_the_same(scale, weighted):
    """One by one, in batches, as histograms and from merged workers: the same panes."""
    rows = random_rows(np.random.default_rng(2), 4_000, 1_000, 1_100, weighted=weighted)
    monitors = [event_monitor(scale=scale) for _ in range(5)]
    single, batch, mixed, whole, merged = monitors
    for moment, label, score, weight in rows:
        single.update(label, score, moment, weight)
    batch.update_many(*columns_of(rows))
    for part in (rows[:1], rows[1:100], rows[100:1_300], rows[1_300:]):
        for moment, label, score, weight in part[:50]:
            mixed.update(label, score, moment, weight)
        if part[50:]:
            mixed.update_many(*columns_of(part[50:]))
    for second in sorted({math.floor(row[0]) for row in rows}):
        labels, scores, _, weights = columns_of([row for row in rows if row[0] // 1 == second])
        found = ScoreHistogram.from_scores(labels, scores, scale=scale, weights=weights)
        whole.update_histogram(found, second + 0.5)
    for worker in range(4):
        part = event_monitor(scale=scale)
        part.update_many(*columns_of(rows[worker::4]))
        merged.merge(part)

    panes = [content(monitor)[0] for monitor in monitors]
    # A worker's or a histogram's pane expires by another time; what is younger is the same.
    assert panes[0] == panes[1] == panes[2]
    windows = [monitor.window(1_081, 1_101) for monitor in monitors]
    expected = cells_of([row for row in rows if row[0] >= 1_081], scale)
    assert [cells(window.histogram) for window in windows] == [expected] * 5
    assert content(merged)[0] == panes[0]


def test_workers_with_finer_bins_are_merged_coarser():
    """The other side may be finer, never coarser, and a refused merge changes nothing."""
    rows = random_rows(np.random.default_rng(3), 1_000, 0, 30)
    coarse, fine = (event_monitor(scale=Scale.probability(bits=bits)) for bits in (4, 9))
    for monitor in (coarse, fine):
        monitor.update_many(*columns_of(rows))
    before = fine.to_bytes()
    with pytest.raises(ValueError, match="scale must be coarser than"):
        fine.merge(coarse)
    assert fine.to_bytes() == before
    coarse.merge(fine)

    assert cells(coarse.window(0, 31).histogram) == cells_of(rows + rows, coarse.scale)
    assert coarse.stats.n_accepted == 2_000


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"tiers": ((1, 20), (5, 100))}, "tiers must be the same, got ((1, 20.0), (5, 100.0)) and"),
        ({"scale": Scale.real()}, "different"),
    ],
)
def test_monitors_that_do_not_fit_are_not_merged(other, message):
    """Other tiers and other kinds of scale are an error that changes nothing."""
    monitor, worker = event_monitor(), event_monitor(**other)
    monitor.update(1, 0.5, 0)
    worker.update(1, 0.5, 500)
    before = monitor.to_bytes()
    with pytest.raises(ValueError, match=re.escape(message)):
        monitor.merge(worker)
    with pytest.raises(ValueError, match="other must be another monitor, got this one"):
        monitor.merge(monitor)
    assert monitor.to_bytes() == before


def test_a_merged_clock_does_not_lose_what_is_accepted():
    """Where a worker's clock was ahead, older events have expired, and are counted as that."""
    told = [1_000.0]
    monitor = Monitor(clock=lambda: told[0], tiers=SMALL_TIERS)
    worker = Monitor(clock=lambda: told[0] + 300, tiers=SMALL_TIERS)
    worker.update(1, 0.5, 1_290)
    monitor.merge(worker)
    for moment in (890, 899.75, 900, 1_000):
        monitor.update(0, 0.5, moment)

    stats = monitor.stats
    assert (stats.n_accepted, stats.n_expired) == (3, 2)
    assert monitor.window(-1e5, 1e5).n_samples == 3
    assert monitor.window(last=1).end == 1_020  # its own time is not moved


def test_histograms_are_checked():
    """A histogram has two classes and a scale at least as fine."""
    monitor = event_monitor()
    before = monitor.to_bytes()
    three = ScoreHistogram.from_scores([2], [0.5], scale=monitor.scale, n_classes=3)
    with pytest.raises(ValueError, match="histogram must have 2 classes, got 3"):
        monitor.update_histogram(three, 0)
    with pytest.raises(TypeError, match="histogram must be a ScoreHistogram, got 5"):
        monitor.update_histogram(5, 0)
    coarse = ScoreHistogram.empty(Scale.probability(bits=3))
    with pytest.raises(ValueError, match="scale must be coarser than"):
        monitor.update_histogram(coarse, 0)
    with pytest.raises(ValueError, match="timestamp must be finite, got nan"):
        monitor.update_histogram(ScoreHistogram.empty(monitor.scale), math.nan)
    assert monitor.to_bytes() == before


def copies(monitor):
    """Return a monitor that continues, in every way there is."""
    return [
        Monitor.from_bytes(monitor.to_bytes()),
        pickle.loads(pickle.dumps(monitor)),  # noqa: S301 - our own bytes
        copy.copy(monitor),
        copy.deepcopy(monitor),
    ]


@pytest.mark.parametrize("classes", [None, ("ok", "fraud"), (-1, 1)])
@pytest.mark.parametrize("scale", [Scale.probability(), Scale.exact()], ids=repr)
def test_copies_continue_exactly(scale, classes):
    """From bytes, pickles and copies, the same stream leads to the same state."""
    names = classes or (0, 1)
    rng = np.random.default_rng(4)
    first = random_rows(rng, 600, -250, 0, weighted=True)
    later = random_rows(rng, 600, -300, 90, weighted=True)
    monitor = event_monitor(scale=scale, classes=classes)

    def feed(target, rows):
        for moment, label, score, weight in rows:
            target.update(names[label], score, moment, weight)

    feed(monitor, first)
    found = copies(monitor)
    feed(monitor, later)
    for other in found:
        feed(other, later)
        assert content(other) == content(monitor)
        assert other.window(last=60).observed_since == monitor.window(last=60).observed_since
        assert other.to_bytes() == monitor.to_bytes()
        check_timeline(other._ledger._timeline)


def test_copies_are_apart():
    """What is counted in a copy is not counted in the original."""
    monitor = event_monitor()
    monitor.update(1, 0.5, 0)
    for other in copies(monitor):
        other.update_many([0, 1], [0.5, 0.5], [0, 0])
        assert other.window(0, 1).n_samples == 3
    assert monitor.window(0, 1).n_samples == 1


def test_copies_keep_their_settings():
    """A pickle keeps what bytes leave to the caller."""
    monitor = Monitor(clock=time.time, max_ahead=7, bad="skip", tiers=SMALL_TIERS)
    for other in copies(monitor)[1:]:
        other.update(1, math.nan)
        other.update(1, 0.5, time.time() + 60)
        other.update(1, 0.5)
        stats = other.stats
        assert (stats.n_rejected, stats.n_ahead, stats.n_accepted) == (1, 1, 1)
    assert pickle.loads(pickle.dumps(monitor.stats)) == monitor.stats  # noqa: S301 - our own bytes


def test_foreign_bytes_are_refused():
    """Bytes that hold something else are an error."""
    with pytest.raises(ValueError, match="data must hold a series, got a histogram"):
        Monitor.from_bytes(ScoreHistogram.empty(Scale.exact()).to_bytes())
    with pytest.raises(ValueError, match="foreign"):
        Monitor.from_bytes(b"PK\x03\x04" + bytes(100))


def test_worker_pools():
    """Monitors travel to another process and back."""
    monitor = event_monitor()
    monitor.update_many(*columns_of(random_rows(np.random.default_rng(6), 1_000, 0, 50)))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        stats, back = pool.map(attrgetter("stats"), [monitor]), pool.map(copy.copy, [monitor])

    assert stats == [monitor.stats]
    assert content(back[0]) == content(monitor)


def test_a_closed_monitor_answers_and_refuses():
    """Closing counts what waits; later writes are an error, in the fast path too."""
    with event_monitor() as monitor:
        monitor.update(1, 0.5, 0)
    assert monitor.window(0, 1).n_samples == 1
    writes = [
        lambda: monitor.update(1, 0.5, 0),
        lambda: monitor.update(1, 0.5, 0, 2),
        lambda: monitor.update_many([1], [0.5], [0]),
        lambda: monitor.update_histogram(monitor.window(0, 1).histogram, 0),
        lambda: monitor.merge(event_monitor()),
    ]
    for write in writes * 2:
        with pytest.raises(ValueError, match="monitor must be open to be written to, got a closed"):
            write()
    monitor.close()
    assert monitor.stats.n_offered == 1
    skipping = event_monitor(bad="skip")
    skipping.close()
    with pytest.raises(ValueError, match="must be open"):
        skipping.update(1, math.nan, 0)


def test_windows_are_plain_values_for_json():
    """What is undefined is null with its reason, never a made-up number."""
    monitor = event_monitor()
    empty = monitor.window(0, 1).to_dict()
    monitor.update(1, 0.5, 0)
    one = monitor.window(0, 1).to_dict()

    assert json.loads(json.dumps(empty, allow_nan=False)) == empty
    assert json.loads(json.dumps(one, allow_nan=False)) == one
    assert empty["roc_auc"] is empty["prevalence"] is empty["observed_since"] is None
    assert empty["reasons"] == dict.fromkeys(
        ("prevalence", "roc_auc", "average_precision"), "empty"
    )
    assert empty["caveats"] == ["warming_up"]
    assert (one["prevalence"], one["roc_auc"]) == (1.0, None)
    assert one["reasons"] == {"roc_auc": "no_negatives"}
    assert (one["start"], one["end"], one["observed_since"]) == (0.0, 1.0, 0.0)


def test_undefined_is_nan_with_a_reason():
    """A poll raises nothing and warns of nothing; it says why."""
    monitor = event_monitor()
    reasons = [monitor.window(0, 1).reason("roc_auc")]
    monitor.update(0, 0.5, 0)
    window = monitor.window(0, 1)
    reasons += [window.reason("average_precision"), window.reason("roc_auc")]
    monitor.update(1, 0.5, 0)
    window = monitor.window(0, 1)

    assert reasons == ["empty", "no_positives", "no_positives"]
    assert window.reason("roc_auc") is None
    assert math.isnan(window.value("precision", threshold=0.9))
    assert window.reason("precision", threshold=0.9) == "nothing_flagged"


def test_caveats_and_the_beginning_of_counting():
    """A window says that it begins before counting did, and that older panes are gone."""
    told = [1_000.0]
    monitor = Monitor(clock=lambda: told[0], tiers=SMALL_TIERS)
    assert monitor.window(999, 1_000).caveats == ("warming_up",)
    assert monitor.window(1_000, 1_001).caveats == ()
    assert monitor.window(1_000.5, 1_001).observed_since == 1_000.0
    told[0] = 1_420.0
    assert monitor.window(1_020, 1_025).caveats == ()
    assert monitor.window(1_019, 1_025).caveats == ("expired",)
    assert monitor.window(0, 1_025).caveats == ("warming_up", "expired")
    monitor.update(1, 0.5, 1_022)  # in the pane of 20 seconds that begins at 1,020
    assert monitor.window(1_023, 1_024).start == 1_020
    late = event_monitor()
    late.update_many([1, 1], [0.5, 0.5], [10.5, 3.25])
    assert late.window(3, 11).observed_since == 3.25
    assert late.window(3, 11).caveats == ()


def test_an_idle_stream_empties_its_window():
    """Now goes on without events; with the time of events it does not."""
    told = [1_000.0]
    wall = Monitor(clock=lambda: told[0], tiers=SMALL_TIERS)
    wall.update(1, 0.5)
    assert wall.window(last="5s").n_samples == 1
    told[0] = 1_030.0
    idle = wall.window(last="5s")
    assert (idle.n_samples, idle.reason("prevalence")) == (0, "empty")
    assert (idle.start, idle.end) == (1_025.0, 1_031.0)
    assert wall.window(last="5s", offset=30).n_samples == 1
    told[0] = 1e6
    assert wall.window(0, 2e6).n_samples == 0
    assert wall.nbytes == 0
    assert wall.stats.n_accepted == 1


@pytest.mark.parametrize("now", [0.0, 59.99, 60.0, 1_394_347_000.0, -60.0, -0.25])
def test_an_event_of_this_moment_is_in_the_window_that_ends_now(now):
    """The window that ends now holds what has just been written, on the edge of a pane too."""
    for monitor in (Monitor(clock=lambda: now), event_monitor(tiers=((60, "2d"),))):
        monitor.update(1, 0.5, now)
        assert monitor.window(last=60).n_samples == 1
        assert monitor.window(last="1h", offset=0).n_samples == 1
        assert monitor.history(60).n_samples.sum() == 1
    monitor.update(0, 0.5, now + 7.0)
    assert monitor.window(last=5, offset=7).n_pos == 1


def test_a_poll_before_the_first_event_lets_nothing_expire():
    """An event clock that knows no time yet does not take it for 1970."""
    monitor = event_monitor()
    monitor.window(0, 1)
    monitor.merge(event_monitor())
    for moment in (-1e9, -1e9 + 3, -1e9 - 50):
        monitor.update(1, 0.5, moment)

    assert monitor.window(-1e9 - 100, -1e9 + 100).n_samples == 3
    assert monitor.window(last=math.inf).n_samples == 3
    assert "1938-04-24" in repr(monitor.window(last=1))


def test_times_at_both_ends_of_time():
    """The first and the last moment there is are counted, and shown without a date."""
    monitor = Monitor(clock="event", tiers=((1, math.inf),), scale=Scale.real(bits=12))
    times = np.array([-(2.0**40), 2.0**40, 0.0, -(2.0**40)])
    monitor.update_many([0, 1, 1, 1], [-5.0, 5.0, 1e300, -1e300], times)

    assert monitor.window(-(2**40), 2**40).n_samples == 3
    assert monitor.window(2**40, 2**40).n_samples == 0
    last = monitor.window(last=1)
    assert last.n_samples == 1
    assert repr(last).startswith("Window(1099511627775.0 to 1099511627777.0, n_pos=1, n_neg=0")


def hourly(zone, first, last):
    """Return every half hour between two local dates, seconds since the epoch."""
    start = datetime(*first, tzinfo=zone).timestamp()
    return np.arange(start, datetime(*last, tzinfo=zone).timestamp(), 1_800.0)


@pytest.mark.parametrize(
    ("tz", "first", "last", "odd"),
    [
        ("America/New_York", (2013, 3, 8), (2013, 3, 13), 46),
        ("America/New_York", (2013, 11, 1), (2013, 11, 6), 50),
        ("Australia/Lord_Howe", (2024, 4, 4), (2024, 4, 9), 49),
        ("Asia/Kathmandu", (2024, 3, 28), (2024, 4, 2), 48),
    ],
)
def test_days_of_a_history_follow_the_local_clock(tz, first, last, odd):
    """Each local day holds its own events, 23 hours of them, 25 or as many as it has."""
    zone = ZoneInfo(tz)
    times = hourly(zone, first, last)
    monitor = Monitor(clock="event", tiers=((900, "90d"), (3600, "1y")))
    labels = np.arange(times.size) % 2
    monitor.update_many(labels, np.full(times.size, 0.5), times)
    history = monitor.history("day", tz=tz, metrics=("prevalence", "precision@0.5"))

    days = [datetime.fromtimestamp(moment, zone).date() for moment in times.tolist()]
    assert history.n_samples.tolist() == [days.count(day) for day in sorted(set(days))]
    assert set(history.n_samples.tolist()) == {48, odd}
    shown = [datetime.fromtimestamp(start, zone) for start in history.start.tolist()]
    assert [moment.date() for moment in shown] == sorted(set(days))
    assert {(moment.hour, moment.minute) for moment in shown} == {(0, 0)}
    assert history.end.tolist()[:-1] == history.start.tolist()[1:]
    assert list(history.columns) == [
        *("start", "end", "n_samples", "n_pos"),
        *("prevalence", "precision@0.5"),
    ]
    assert monitor.history("week", tz=tz).n_samples.sum() == times.size
    assert monitor.history("month", tz=tz).n_pos.sum() == times.size // 2


def test_a_history_shows_each_surviving_pane_once():
    """Steps finer than what survives give that, with its true span, also empty panes."""
    monitor = event_monitor()
    rows = random_rows(np.random.default_rng(7), 3_000, 0, 300)
    monitor.update_many(*columns_of(sorted(rows)))
    history = monitor.history(1)
    spans = list(zip(history.start.tolist(), history.end.tolist(), strict=True))

    assert {end - start for start, end in spans} == {20.0, 5.0, 1.0}
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    for (start, end), window in zip(spans, history.windows, strict=True):
        inside = [row for row in rows if start <= row[0] < end]
        assert cells(window.histogram) == cells_of(inside, monitor.scale)
    assert history.n_samples.sum() == 3_000


def test_numbers_of_a_window():
    """Events by class, or the sums of their weights."""
    monitor = event_monitor()
    monitor.update_many([0, 1, 1], [0.2, 0.9, 0.2], [0, 0, 0])
    plain = monitor.window(0, 1)
    monitor.update(1, 0.9, 0, 2.5)
    heavy = monitor.window(0, 1)

    assert (plain.n_samples, plain.n_pos, plain.n_neg) == (3, 2, 1)
    assert plain.prevalence == 2 / 3
    assert plain.roc_auc == 0.75
    assert (heavy.n_samples, heavy.n_pos, heavy.n_neg) == (5.5, 4.5, 1.0)
    assert plain.value("roc_auc") == plain.roc_auc
    assert plain.interval("prevalence").low < 2 / 3 < plain.interval("prevalence").high
    assert plain.bounds("roc_auc").low <= 0.75 <= plain.bounds("roc_auc").high


def test_memory_is_bounded_by_bins_and_panes():
    """A hundred times the events in the same panes take hardly more room."""
    rng = np.random.default_rng(8)
    monitor, sizes = Monitor(clock="event", tiers=((60, "1d"), (3600, "2d"))), []
    for _ in range(100):
        scores, times = rng.beta(1, 3, 20_000), rng.uniform(0, 300, 20_000)
        monitor.update_many(scores > rng.random(20_000), scores, times)
        monitor.window(0, 3_600)
        sizes.append(monitor.nbytes)

    assert monitor.window(0, 300).n_samples == 2_000_000
    assert sizes[-1] < 10 * sizes[0]
    assert sizes[-1] < 10 * 8 * 2 * monitor.scale.n_bins


def in_child(work):
    """Fork, and return the pipe on which the child sends the bytes that `work` returns."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    code = 1
    try:
        signal.alarm(60)  # a child that hangs is to fail the test, not to stop it
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(work())
        code = 0
    finally:
        os._exit(code)


def sent_by(pid, reader):
    """Return what a child sent, once it has ended well."""
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return data


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
# Python warns of a fork beside other threads; here that is the very case to be tested.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_empty():
    """Parent and children, forked amid a fold with rows waiting, add up to the exact total."""
    monitor = event_monitor(tiers=((10, 10_000),))
    closed = event_monitor()
    closed.close()
    monitor.update_many([0, 1], [0.5, 0.5], [0, 0])
    held, done = threading.Event(), threading.Event()

    def hold():
        with monitor._lock:
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    for number in range(10):
        monitor.update(1, 0.25, number)
    monitor.update_many([0] * 20, [0.75] * 20, [5] * 20)

    def count(worker):
        assert monitor.stats.n_offered == 0
        assert monitor.nbytes == 0
        assert monitor.window(0, 10).observed_since == math.inf
        for number in range(1_500):
            monitor.update(number % 2, 0.5, 100 * worker)
        monitor.update_many([1] * worker, [0.5] * worker, [100 * worker] * worker)
        try:
            closed.update(1, 0.5, 0)
        except ValueError:
            return monitor.to_bytes()
        return b"the closed monitor was open"

    children = [in_child(lambda worker=worker: count(worker)) for worker in (1, 2, 3)]
    sent = [sent_by(*child) for child in children]
    done.set()
    holder.join()
    monitor.update(1, 0.5, 9)
    for data in sent:
        monitor.merge(Monitor.from_bytes(data))

    assert monitor.stats.n_accepted == monitor.stats.n_offered == 2 + 10 + 20 + 1 + 3 * 1_500 + 6
    found = [monitor.window(start, start + 10).n_samples for start in (0, 100, 200, 300)]
    assert found == [33, 1_501, 1_502, 1_503]


class Writers:
    """Threads that write singles and batches, and count what has been written for certain."""

    def __init__(self, monitor, n_writers, n_batches, n_singles, batch_size):
        self.monitor = monitor
        self.n_batches, self.n_singles, self.batch_size = n_batches, n_singles, batch_size
        self.returned = [0] * n_writers
        self.threads = [
            threading.Thread(target=self.write, args=(number,)) for number in range(n_writers)
        ]
        self.failures = []
        self.done = threading.Event()

    def write(self, number):
        try:
            self._write(number)
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            self.failures.append(error)

    def _write(self, number):
        half = self.batch_size // 2
        labels = np.repeat([0, 1], half)
        scores = np.linspace(0, 1, self.batch_size)
        times = np.full(self.batch_size, 100.0 + number)
        each = self.n_singles // self.n_batches
        for _ in range(self.n_batches):
            self.monitor.update_many(labels, scores, times)
            self.returned[number] += self.batch_size
            for single in range(each):
                self.monitor.update(single % 2, 0.5, 200.5 + single % 3)
                self.returned[number] += 1

    def poll(self, answers):
        """Poll until all have been written; note whether whole updates were seen, and all."""
        while not (answers and self.done.is_set()):
            before = sum(self.returned)
            batches = self.monitor.window(100, 200)
            every = self.monitor.window(0, 300)
            answers.append(
                (every.n_samples >= before, batches.n_pos == batches.n_neg, every.n_samples)
            )


@pytest.mark.parametrize("interval", [None, 1e-6])
def test_many_threads_write_and_poll(interval):
    """Of a million events by eight writers none is lost or torn, whoever polls meanwhile."""
    usual = sys.getswitchinterval()
    n_writers, n_batches, size, n_singles = 8, 50, 1_000, 75_000
    if interval is not None:
        sys.setswitchinterval(interval)
        n_batches, n_singles = 25, 10_000
    monitor = Monitor(clock="event", tiers=((1, 1_000), (60, 3_600)))
    writers = Writers(monitor, n_writers, n_batches, n_singles, size)
    answers = [[], []]
    pollers = [threading.Thread(target=writers.poll, args=(found,)) for found in answers]
    try:
        for thread in pollers + writers.threads:
            thread.start()
        for thread in writers.threads:
            thread.join()
        writers.done.set()
        for thread in pollers:
            thread.join()
    finally:
        sys.setswitchinterval(usual)

    total = n_writers * (n_batches * size + n_singles)
    assert not writers.failures
    assert interval is not None or total == 1_000_000
    assert monitor.stats.n_accepted == monitor.stats.n_offered == total
    assert monitor.window(0, 300).n_samples == total
    assert monitor.window(100, 101).n_samples == n_batches * size
    assert monitor.window(200, 300).n_pos == n_writers * n_singles // 2
    for found in answers:
        assert all(complete and whole for complete, whole, _ in found)
        assert [n for *_, n in found] == sorted(n for *_, n in found)
    check_timeline(monitor._ledger._timeline)


def run(work):
    """Run something in a thread of its own; return the thread."""
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_writers_do_not_wait_for_a_fold_that_is_held_up():
    """Singles and batches go on while a fold is held up; a poll waits and then sees all."""
    monitor, seen = event_monitor(), []
    n_events, n_batches = 4 * FOLD_EVENTS, 32

    def write():
        for number in range(n_events):
            monitor.update(number % 2, 0.5, 5)
            if number % (n_events // n_batches) == 0:
                monitor.update_many(np.array([0, 1]), np.array([0.5, 0.5]), np.array([5.0, 5.0]))
        monitor.update(1, 0.5, 5, 2.5)
        monitor.update_histogram(ScoreHistogram.empty(monitor.scale), 5)

    with monitor._lock:
        writer = run(write)
        writer.join(20)
        went_on = not writer.is_alive()
        poller = run(lambda: seen.append(monitor.window(0, 10).n_samples))
        poller.join(0.05)
        waited = poller.is_alive()
    poller.join()

    assert went_on
    assert waited
    assert seen == [n_events + 2 * n_batches + 2.5]


@pytest.mark.parametrize("kind", ["batches", "events"])
def test_writers_wait_when_too_much_is_waiting(kind):
    """Memory stays bounded however long a fold is held up, and nothing is lost by that."""
    monitor = event_monitor()
    limit = MAX_WAITING_BATCHES if kind == "batches" else MAX_WAITING_EVENTS

    def write():
        for _ in range(limit + 10):
            if kind == "batches":
                monitor.update_many([1], [0.5], [0])
            else:
                monitor.update(1, 0.5, 0.0)

    with monitor._lock:
        writer = run(write)
        writer.join(1.0)
        waited = writer.is_alive()
        waiting = monitor._intake.n_batches if kind == "batches" else len(monitor._intake)
    writer.join(30)

    assert waited
    assert waiting == limit
    assert monitor.stats.n_accepted == limit + 10


def test_a_poll_folds_all_that_waits_however_much_it_is():
    """More than one helping of events is folded, and what arrived behind it, before the answer."""
    monitor = event_monitor()
    with monitor._lock:
        for _ in range(MAX_WAITING_EVENTS - 1):  # one more would wait for the lock
            monitor.update(1, 0.5, 0.0)
        for _ in range(5):
            monitor.update_many([0], [0.5], [0.0])

    assert monitor.window(0, 1).n_samples == MAX_WAITING_EVENTS + 4


def test_jumps_of_an_event_clock():
    """One stamp from the future does not retire the panes; two that agree move the time."""
    monitor = event_monitor(max_ahead="10s")
    monitor.update_many([0, 1, 1], [0.1, 0.5, 0.9], [100, 101, 9_000_000])
    assert monitor.stats.n_ahead == 1
    assert monitor.window(last=5).end == 102
    monitor.update(1, 0.9, 9_000_005)
    assert monitor.stats.n_ahead == 0
    assert monitor.window(last=20).n_samples == 2
    assert monitor.window(100, 102).n_samples == 0  # expired, as it should by now
    assert monitor.stats.n_accepted == 4


def test_the_future_is_refused_by_a_wall_clock():
    """An event later than `max_ahead` is counted as ahead, alone and in a batch."""
    told = [1_000.0]
    monitor = Monitor(clock=lambda: told[0], max_ahead=60, tiers=SMALL_TIERS)
    monitor.update(1, 0.5, 1_060)
    monitor.update(1, 0.5, math.nextafter(1_060, math.inf))
    monitor.update_many([1, 1], [0.5, 0.5], [1_060, 1_061])
    monitor.update_histogram(monitor.window(1_060, 1_061).histogram, 1_061)
    told[0] = 1_001.0
    monitor.update(1, 0.5, 1_061)

    assert (monitor.stats.n_accepted, monitor.stats.n_ahead) == (3, 4)
    assert monitor.stats.n_offered == 7


def test_late_events_land_where_they_belong():
    """However late, an event is counted in the pane that survives at its time."""
    monitor = event_monitor()
    monitor.update(0, 0.5, 1_000)
    for late in (1.0, 15.0, 30.0, 90.0, 150.0, 399.0, 420.5, 5_000.0):
        monitor.update(1, 0.5, 1_000 - late)

    stats = monitor.stats
    assert (stats.n_accepted, stats.n_expired) == (7, 2)
    spans = [monitor.window(at, at + 0.5) for at in (999, 985, 970, 910, 850, 601)]
    assert [window.end - window.start for window in spans] == [1, 1, 5, 5, 20, 20]
    assert [window.n_pos for window in spans] == [1, 1, 1, 1, 1, 1]


def test_a_timedelta_is_a_length_of_time():
    """Windows and steps take what durations take."""
    monitor = event_monitor()
    monitor.update_many([0, 1], [0.5, 0.5], [0, 90])

    assert monitor.window(last=timedelta(minutes=2)).n_samples == 2
    assert len(monitor.history(timedelta(minutes=1))) == len(list(pairwise((0, 60, 120))))
