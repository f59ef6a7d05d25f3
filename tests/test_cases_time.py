"""Cases from public bug reports of other tools that have to do with time; see `cases.jsonl`.

A window here is [start, end), rounded outwards to panes; where a case wants the right end
closed, panes of one second are used and the span is moved by one of them.
"""

import json
import math
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from streamauc import Monitor, Scale

CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("cases.jsonl").read_text().splitlines())
}
TIERS = ((1, "1d"),)


def exact_monitor(**settings):
    """Return a monitor with exact scores and panes of one second."""
    return Monitor(**{"scale": Scale.exact(), "tiers": TIERS, "clock": "event", **settings})


def columns_of(case):
    """Return times, scores and labels of a case with rows."""
    return zip(*case["input"]["rows"], strict=True)


def check(window, expected, tol):
    """Check the number of events and the AUC of a window."""
    assert window.n_samples == expected["n"]
    auc = expected["roc_auc"]
    if isinstance(auc, str):
        assert auc == "error: undefined, no negatives"
        assert math.isnan(window.roc_auc)
        assert window.reason("roc_auc") == "no_negatives"
    else:
        assert window.roc_auc == pytest.approx(auc, abs=tol)


def closed_right(monitor, end, width):
    """Return the window (end - width, end] of whole seconds."""
    return monitor.window(end - width + 1, end + 1)


def test_restore_mid_window():
    """A monitor from bytes forgets what it was given before as if it had never stopped."""
    case = CASES["restore-mid-window"]
    monitor, rows = exact_monitor(), case["input"]["rows"]
    stop = case["input"]["save_and_load_after_row"]
    for moment, score, label in rows[:stop]:
        monitor.update(label, score, moment)
    monitor = Monitor.from_bytes(monitor.to_bytes())
    for moment, score, label in rows[stop:]:
        monitor.update(label, score, moment)

    query = case["query"]
    window = closed_right(monitor, query["end"], query["width"])
    check(window, case["expected"], case["tol"])
    assert (window.n_samples, window.start) == (4, 2.0)


def test_window_ends():
    """The rule is [start, end); the other three are spans moved by a second."""
    case = CASES["window-ends"]
    times, scores, labels = columns_of(case)
    monitor = exact_monitor()
    monitor.update_many(labels, scores, times)
    start, end = case["query"]["start"], case["query"]["end"]
    spans = {
        "left": (start, end),
        "right": (start + 1, end + 1),
        "both": (start, end + 1),
        "neither": (start + 1, end),
    }

    for closed, span in spans.items():
        check(monitor.window(*span), case["expected"][closed], case["tol"])
    width = case["query"]["tumbling_width"]
    tumbling = monitor.history(width, start=0, end=max(times) + 1)
    assert tumbling.n_samples.tolist() == case["expected"]["tumbling_counts"]
    assert tumbling.n_samples.sum() == len(times)


def test_clock_steps_back():
    """Events are in a window by their time, in whatever order they arrived."""
    case = CASES["clock-steps-back"]
    monitor = exact_monitor()
    expected = dict(zip(case["query"]["after_rows"], case["expected"], strict=True))
    found = 0
    for number, (moment, score, label) in enumerate(case["input"]["rows"], start=1):
        monitor.update(label, score, moment)
        if number in expected:
            window = monitor.window(last=case["query"]["width"] - 1)
            check(window, expected[number], case["tol"])
            found += 1
    assert found == 2


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamp_units(unit):
    """A column's own unit is used; the same instants give the same answer."""
    case = CASES["timestamp-units"]
    ticks = case["input"]["columns_by_unit"][unit]
    times = np.array(ticks, dtype=f"datetime64[{unit}]")
    monitor = exact_monitor()
    monitor.update_many(case["input"]["label"], case["input"]["score"], times)
    # (end - 60 s, end] with end at 41.0 s past a minute: seconds 2 to 61 of that minute.
    window = monitor.window(last=case["query"]["width_s"] - 1)

    check(window, case["expected"], case["tol"])
    first = datetime.fromisoformat(case["expected"]["first"]).timestamp()
    assert monitor.window(first, first + 1).observed_since == first
    # Plain integers in these units are beyond the range of time, and an error that says so.
    with pytest.raises(ValueError, match="is it in milliseconds"):
        monitor.update_many([0] * 4, case["input"]["score"], ticks)


def test_mixed_utc_offsets():
    """Texts with different offsets are instants first, one by one and in a column."""
    case = CASES["mixed-utc-offsets"]
    times, scores, labels = columns_of(case)
    batch, single = exact_monitor(), exact_monitor()
    batch.update_many(labels, scores, times)
    for moment, score, label in zip(times, scores, labels, strict=True):
        single.update(label, score, moment)

    query = case["query"]
    for monitor in (batch, single):
        check(monitor.window(query["start"], query["end"]), case["expected"], case["tol"])


def test_bounded_state():
    """Neither events nor polls make the state grow; what is out of the window is let go."""
    case = CASES["bounded-state"]
    n, width = case["input"]["generator"]["n"], case["query"]["width"]
    place = np.arange(n) * 37 % 101
    scores, labels = place / 100, (place >= 60) != (np.arange(n) % 7 == 0)
    monitor = exact_monitor(tiers=((1, width),))
    sizes = []
    every = case["query"]["query_every"]
    for start in range(0, n, every):
        rows = slice(start, start + every)
        monitor.update_many(labels[rows], scores[rows], np.arange(n)[rows])
        answers = [closed_right(monitor, start + every - 1, width) for _ in range(3)]
        assert [window.n_samples for window in answers] == [width] * 3
        sizes.append(monitor.nbytes)

    window = closed_right(monitor, n - 1, width)
    expected = case["expected"]
    assert window.n_samples == expected["live_events"]
    assert window.histogram.n_bins == expected["distinct_scores"]
    assert window.roc_auc == pytest.approx(expected["roc_auc"], abs=case["tol"])
    assert max(sizes) <= 1.5 * sizes[0]
    # Time goes on without the stream: everything expires, a last event apart.
    then = case["query"]["then_advance_to"]
    monitor.update(1, 0.5, then)
    after = expected["after_advance"]
    window = monitor.window(0, then)
    assert (window.n_samples, window.histogram.n_bins) == (
        after["live_events"],
        after["distinct_scores"],
    )
    assert monitor.nbytes < 1_000


def test_nan_scores_are_skipped_and_counted():
    """Of a stream with a NaN score, the rest is counted; strictly, nothing is."""
    case = CASES["nan-and-inf-scores"]
    scores, labels = zip(*case["input"]["nan"]["rows"], strict=True)
    scores = [float(score) for score in scores]
    strict, lenient, single = exact_monitor(), exact_monitor(bad="skip"), exact_monitor(bad="skip")
    with pytest.raises(ValueError, match="y_score must be finite, got nan at index 0"):
        strict.update_many(labels, scores, [0.0] * len(scores))
    lenient.update_many(labels, scores, [0.0] * len(scores))
    for label, score in zip(labels, scores, strict=True):
        single.update(label, score, 0.0)

    expected = case["expected"]["nan_skip"]
    assert strict.stats.n_offered == 0
    for monitor in (lenient, single):
        assert monitor.window(0, 1).roc_auc == pytest.approx(expected["roc_auc"], abs=case["tol"])
        assert monitor.stats.rejected == {"score": expected["skipped"]}
