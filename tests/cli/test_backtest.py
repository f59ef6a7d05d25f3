"""``streamauc rules backtest``: a fall that is there is found, and what can't be told is said."""

import json
import subprocess
import sys

import numpy as np
import pytest

from streamauc import Monitor
from streamauc.store import Store

HOUR, DAY = 3600.0, 86_400.0
NOW = 1_772_366_400.0  # 2026-03-01T12:00Z
FALL = (NOW - 4 * DAY, NOW - 4 * DAY + 12 * HOUR)
RULE = '[[rule]]\nalert = "Rank"\nmetric = "roc_auc"\nbelow = 0.7\n'
HOURLY = RULE + 'window = "1h"\n'


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Write ten days of four events a minute; for twelve hours the ranking is that of chance."""
    path = tmp_path_factory.mktemp("backtest") / "metrics.db"
    times = np.arange(NOW - 10 * DAY, NOW, 15.0)
    number = np.arange(times.size)
    labels = number % 2
    # As many of each class have each score, or each class has its own.
    falls = (times >= FALL[0]) & (times < FALL[1])
    scores = np.where(falls, number // 2 % 2 * 0.6 + 0.2, 0.2 + 0.6 * labels)
    with (
        Store(path) as store,
        Monitor(clock="event", store=store, series={"model": "a"}) as monitor,
    ):
        for part in np.array_split(np.arange(times.size), 20):
            monitor.update_many(labels[part], scores[part], times[part])
            monitor.flush()
    return path


def run(tmp_path, store, rules, start, end, *more):
    path = tmp_path / "rules.toml"
    path.write_text(rules)
    command = [sys.executable, "-m", "streamauc", "rules", "backtest", str(path)]
    command += ["--store", str(store), "--start", iso(start), "--end", iso(end), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def iso(moment):
    return str(np.datetime64(round(moment), "s")) + "Z"


@pytest.mark.parametrize("start", [NOW - 6 * DAY, NOW - 6 * DAY + 7 * 60 + 11])
@pytest.mark.parametrize("every", ["5m", "1h", "50m", "7m"])
def test_a_fall_is_found_where_only_hours_are_left(tmp_path, store, start, every):
    """However the start lies and however often is asked: once, from its first hour to its last."""
    code, out, err = run(
        tmp_path, store, HOURLY, start, NOW - 3 * DAY, "--every", every, "--format", "json"
    )
    (firing,) = json.loads(out)["firings"]

    assert (code, "ERROR" in out) == (0, False), err
    # With steps of fifty minutes, each lies in another hour than the one before.
    assert (firing["start"], firing["end"]) == (FALL[0] + HOUR, FALL[1] + HOUR)
    assert json.loads(out)["rules"][0]["n_errors"] == 0


def test_it_says_how_often_it_could_evaluate(tmp_path, store):
    code, out, _ = run(tmp_path, store, HOURLY, NOW - 6 * DAY, NOW - 5 * DAY)

    assert code == 0
    assert out.splitlines() == [
        "no rule would have fired",
        "evaluated 25 times of 289: only at the ends of the panes that are left, as nothing is"
        " known of the times between",
    ]


def test_it_goes_on_where_minutes_are_left(tmp_path, store):
    """Across the border of two tiers."""
    rules = HOURLY.replace("below = 0.7", "above = 0.7")
    code, out, _ = run(
        tmp_path, store, rules, NOW - 3 * DAY, NOW - DAY, "--every", "10m", "--format", "json"
    )
    found = json.loads(out)
    n_coarse, n_fine = 24, 6 * 24

    assert code == 0
    assert found["n_asked"] == 2 * 6 * 24 + 1
    assert n_coarse + n_fine < found["n_evaluations"] < n_coarse + n_fine + 6 * 24
    assert [(one["start"], one["end"]) for one in found["firings"]] == [(NOW - 3 * DAY, None)]


def test_a_window_shorter_than_the_panes_that_are_left_is_told(tmp_path, store):
    rules = RULE + 'window = "5m"\n'
    code, out, _ = run(tmp_path, store, rules, NOW - 6 * DAY, NOW - 5 * DAY)

    assert code == 0
    assert "Rank: 25 windows were wider than asked for, as long as the panes that are left" in out


REFERENCE = (
    '[[rule]]\nalert = "Worse"\nmetric = "roc_auc_difference"\nreference = "gone"\nwindow = "1h"\n'
    "below = -0.1\n"
)
DETECTOR = '[[rule]]\nalert = "Ratio"\ndetector = "prevalence"\nreference = 0.5\npane = "5m"\n'


@pytest.mark.parametrize(
    ("rules", "days", "said"),
    [
        (REFERENCE, (6, 5), ["Worse: never judged; ERROR 25 (model=a: LookupError: ", "'gone'"]),
        (HOURLY + 'series = { model = "x" }\n', (6, 5), ["NO_DATA 25 (no series matches"]),
        (HOURLY, (60, 59), ["Rank: never judged; NO_DATA ", "(model=a: "]),
        (DETECTOR, (6, 5), ["Ratio: never judged; ERROR 25 (model=a: ", "3600 s, got 300 s"]),
    ],
)
def test_what_could_not_be_judged_is_no_all_clear(tmp_path, store, rules, days, said):
    """Neither in the words nor in the exit code."""
    start, end = (NOW - day * DAY for day in days)
    code, out, err = run(tmp_path, store, rules, start, end)

    assert code == 3, err
    assert out.startswith("nothing could be judged\n")
    for text in said:
        assert text in out


def test_one_rule_that_was_never_judged_is_enough(tmp_path, store):
    code, out, _ = run(tmp_path, store, HOURLY + REFERENCE, NOW - 6 * DAY, NOW - 3 * DAY)

    assert code == 3
    assert out.splitlines()[0].startswith("2026-02-25 13:00 UTC until 2026-02-26 01:00 UTC")
    assert "Worse: never judged; ERROR 73 (" in out
    assert "Rank: " not in out


def test_a_span_in_which_no_pane_ends(tmp_path, store):
    """Half an hour where only hours are left."""
    start = NOW - 5 * DAY + 600
    code, out, _ = run(tmp_path, store, HOURLY, start, start + 1800)

    assert code == 3
    assert out.startswith("nothing could be judged\nevaluated 0 times of 7: only at the ends of")
    assert "Rank: never judged" in out


def test_an_end_before_its_start_is_named(tmp_path, store):
    code, out, err = run(tmp_path, store, HOURLY, NOW, NOW - DAY)

    assert (code, out) == (2, "")
    assert err == (
        "streamauc: end must not be before start, got start 2026-03-01 12:00 UTC and end"
        " 2026-02-28 12:00 UTC\n"
    )
