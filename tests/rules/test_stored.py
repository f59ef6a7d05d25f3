"""Rules on a store: the states of memory, shared by all who judge, each pane stepped once."""

import itertools
import json
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from streamauc import Monitor, PrevalenceDetector
from streamauc.rules.backtest import Stepper
from streamauc.rules.document import parse
from streamauc.rules.memory import MonitorSource
from streamauc.rules.model import Key, series_key
from streamauc.rules.record import State
from streamauc.rules.store_source import StoreSource
from streamauc.rules.stored import evaluate_stored, state_history
from streamauc.rules.stored_detectors import acknowledge
from streamauc.store import DamageError, Store, mirror

LABELS = {"model": "fraud"}
PANE = 300
RULES = """
[budget]
false_alarm_every = "10d"

[[rule]]
alert = "Ranking"
metric = "roc_auc"
window = "2h"
below = 0.7
clear_above = 0.75
for = "20m"
keep_firing_for = "30m"

[[rule]]
alert = "Ratio"
detector = "prevalence"
reference = "before"
pane = "5m"

[[rule]]
alert = "Moved"
metric = "prevalence_difference"
reference = "before"
window = "2h"
above = 0.05
by = "bound"

[[rule]]
alert = "Silent"
metric = "newest_event_age"
above = 3600

[[rule]]
alert = "Rejected"
metric = "rejected_share"
above = 0.5
"""


class Clock:
    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now


def stream(seed, *, n_panes=120):
    """Yield (pane, labels, scores): the ratio moves, the ranking goes, and there is silence."""
    rng = np.random.default_rng(seed)
    for pane in range(n_panes):
        n = 0 if 90 <= pane < 110 else 60
        labels = rng.random(n) < (0.2 if pane < 40 else 0.35)
        quality = 0.3 if pane < 60 else 0.0
        scores = np.clip(rng.random(n) * 0.7 + quality * labels, 0, 1)
        yield pane, labels.astype(int), scores


def stored(path, clock, **options):
    return Monitor(clock=clock, store=path, series=LABELS, bad="skip", **options)


@pytest.mark.parametrize("seed", range(3))
def test_a_store_judges_as_memory_does(tmp_path, seed):
    """Every state of every rule after every pane, reopened in between as a cron job does."""
    file = parse(RULES)
    clock = Clock()
    memory = Monitor(clock=clock, bad="skip")
    disk = stored(tmp_path / "m.db", clock)
    stepper = None
    seen = set()
    for pane, labels, scores in stream(seed):
        times = pane * PANE + np.linspace(0, PANE - 1, labels.size)
        clock.now = (pane + 1) * PANE
        for monitor in (memory, disk):
            monitor.update_many(labels, scores, times)
            monitor.update(1, 7.0, clock.now)  # bad, and counted
            monitor.flush()
        if pane < 20:
            continue
        if stepper is None:
            before = memory.window(0, 20 * PANE)
            stepper = Stepper(file, Moved(memory, clock, before))
            with Store(tmp_path / "m.db") as store:
                store.reference("before", before.histogram, start=0, end=20 * PANE)
        expected = stepper.step(clock.now)
        with Store(tmp_path / "m.db") as store:
            found = evaluate_stored(file, store, clock=clock)
        assert [one.key for one in found] == [one.key for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.record.state is other.record.state, (pane, one.record, other.record)
            assert one.record.reason == other.record.reason
            seen.add((one.rule.alert, one.state))
    assert ("Ranking", State.FIRING) in seen
    assert ("Ranking", State.PENDING) in seen
    assert ("Ratio", State.FIRING) in seen
    assert ("Moved", State.FIRING) in seen
    assert ("Silent", State.FIRING) in seen
    with Store(tmp_path / "m.db") as store:
        for rule in file.rules:
            ours = [(key, change.after) for key, change in state_history(store, rule.id)]
            theirs = [(k, c.after) for k, c in stepper.changes if k.rule == rule.id]
            assert ours == theirs


class Moved(MonitorSource):
    """A source in memory whose clock the test moves."""

    def __init__(self, monitor, clock, before):
        super().__init__([(LABELS, monitor)], clock=clock, references={"before": before.histogram})

    def move(self, now):
        assert now == self.now()


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "m.db"
    with Monitor(clock="event", store=path, series=LABELS) as monitor:
        for pane, labels, scores in stream(1):
            monitor.update_many(labels, scores, np.full(labels.size, pane * PANE + 1.0))
        before = monitor.window(0, 20 * PANE)
        with Store(path) as store:
            store.reference("before", before.histogram, start=0, end=20 * PANE)
    return path


def test_many_who_check_at_once_agree(filled):
    """A cron job and a server: each change of state is there once, each pane is stepped once."""
    file = parse(RULES)
    errors = []

    def check(number):
        try:
            with Store(filled) as store:
                for step in range(20, 80):
                    evaluate_stored(file, store, clock=Clock(step * PANE + float(number)))
        except BaseException as error:  # noqa: BLE001 - told in the main thread
            errors.append(error)

    threads = [threading.Thread(target=check, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not errors
    with Store(filled) as store:
        for rule in file.rules:
            changes = [change for _, change in state_history(store, rule.id)]
            for one, other in itertools.pairwise(changes):
                assert one.after is other.before
        document = store.load("detector", f"Ratio{{}} {series_key(LABELS)}")
        _, _, body = document.body.partition(b"\n")
        assert PrevalenceDetector.from_bytes(body).last_pane <= 79


CHECK = """
import sys
from streamauc.rules.document import load
from streamauc.rules.stored import evaluate_stored
from streamauc.store import Store

rules, path, now = sys.argv[1:]
with Store(path) as store:
    evaluate_stored(load(rules), store, clock=lambda: float(now))
"""


def test_processes_agree(filled, tmp_path):
    """The detector's evidence after many processes polled is that of one who polled alone."""
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES)
    for step in range(30, 60, 10):
        command = [sys.executable, "-c", CHECK, str(rules), str(filled), str(step * PANE + 1.0)]
        workers = [subprocess.Popen(command) for _ in range(3)]
        assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    with Store(filled) as store:
        name = f"Ratio{{}} {series_key(LABELS)}"
        shared = store.load("detector", name).body
        with store.write() as batch:
            batch.delete("detector", name)
            batch.delete("rule", "Ratio{}")
        for step in range(30, 60, 10):
            evaluate_stored(parse(RULES), store, clock=Clock(step * PANE + 1.0))
        assert store.load("detector", name).body == shared


def test_other_settings_start_a_detector_anew(filled):
    changed = RULES.replace('pane = "5m"', 'pane = "10m"')
    with Store(filled) as store:
        for text in (RULES, changed):
            evaluate_stored(parse(text), store, clock=Clock(40 * PANE))
        body = store.load("detector", f"Ratio{{}} {series_key(LABELS)}").body

    assert '"pane_seconds": 600' in json.loads(body.split(b"\n")[0])["settings"]


def test_a_reference_that_was_replaced_starts_a_detector_anew(filled):
    """After retraining, evidence against the old class ratio says nothing."""
    bodies = []
    with Store(filled) as store:
        for _ in range(2):
            evaluate_stored(parse(RULES), store, clock=Clock(40 * PANE))
            bodies.append(store.load("detector", f"Ratio{{}} {series_key(LABELS)}").body)
            found = store.reference("before")
            store.reference("before", found.histogram, start=0, end=20 * PANE, replace=True, at=1.0)

    assert bodies[0] != bodies[1]


def test_a_reference_that_is_missing_is_the_error_of_its_rules(filled):
    text = RULES.replace('reference = "before"', 'reference = "bevore"')
    with Store(filled) as store:
        found = {
            one.rule.alert: one for one in evaluate_stored(parse(text), store, clock=Clock(9e3))
        }

    assert found["Moved"].state is State.ERROR
    assert "there is before" in found["Moved"].record.reason
    assert found["Silent"].state is State.OK


def test_a_seasonal_reference_is_read_pane_by_pane(filled):
    text = RULES.replace('pane = "5m"', 'pane = "5m"\noverdispersion = "estimate"')
    with Store(filled) as store:
        source = StoreSource(store, clock=Clock(9_000.0))
        panes = source.reference_panes("before", LABELS, PANE)
        found = {
            one.rule.alert: one for one in evaluate_stored(parse(text), store, clock=Clock(9e3))
        }

    assert len(panes.panes) == 20
    assert found["Ratio"].state is not State.ERROR, found["Ratio"].record.reason


def test_writers_that_closed_are_not_missed(tmp_path):
    clock = Clock(1_000.0)
    one, other = (stored(tmp_path / "m.db", clock) for _ in range(2))
    for monitor in (one, other):
        monitor.update(1, 0.5)
        monitor.flush()
    other.close()
    clock.now = 1_300.0
    with Store(tmp_path / "m.db") as store:
        health = StoreSource(store, clock=clock).health(LABELS)

    assert list(health.writers.values()) == [300.0]
    one.close()


@pytest.mark.parametrize("kind", ["rule", "detector"])
def test_altered_states_are_damage(filled, kind):
    """Never judged by: a check that can't read its states says so."""
    with Store(filled) as store:
        evaluate_stored(parse(RULES), store, clock=Clock(40 * PANE))
    connection = sqlite3.connect(filled)
    connection.execute("UPDATE document SET body = body || x'20' WHERE kind = ?", (kind,))
    connection.commit()
    connection.close()
    with Store(filled) as store:
        if kind == "rule":
            with pytest.raises(DamageError, match="document"):
                evaluate_stored(parse(RULES), store, clock=Clock(41 * PANE))
        else:
            found = {
                one.rule.alert: one
                for one in evaluate_stored(parse(RULES), store, clock=Clock(41 * PANE))
            }
            assert found["Ratio"].state is State.ERROR
            assert "DamageError" in found["Ratio"].record.reason
            assert found["Ranking"].state is not State.ERROR


H = 3600


@pytest.mark.parametrize(
    ("now", "span", "n_samples"),
    [
        (11 * H, (10 * H, 11 * H), 120),
        (11 * H + 30, (10 * H, 11 * H), 120),
        (11 * H + 90, (10 * H + 60, 11 * H + 60), 120),
        (6 * H, (5 * H, 6 * H), 120),
        (6 * H + 60, (5 * H, 6 * H), 120),
    ],
)
def test_nothing_is_seen_of_what_came_after_a_time_in_the_past(tmp_path, now, span, n_samples):
    """Not even the rest of the pane that holds it, which may be of an hour."""
    found = as_of(half_a_day(tmp_path), now, "1h")

    assert (found.span, found.record.value) == (span, n_samples)
    assert found.record.reason == f"n_samples {n_samples}"


def test_a_pane_that_reaches_beyond_a_time_in_the_past_is_no_data(tmp_path):
    """Its events can't be told from those that came later."""
    found = as_of(half_a_day(tmp_path), 6 * H + 1200, "10m")

    assert (found.state, found.span) == (State.NO_DATA, (6 * H, 6 * H))
    assert found.record.reason == "the panes that are left there reach beyond the time asked for"


def half_a_day(tmp_path):
    """Write an event every 30 s, kept by the minute for two hours, then by the hour."""
    path, times = tmp_path / "day.db", np.arange(1440) * 30.0
    tiers = ((60, "2h"), (3600, "90d"))
    with Monitor(clock="event", store=path, series=LABELS, tiers=tiers) as monitor:
        monitor.update_many(np.arange(1440) % 2, np.full(1440, 0.5), times)
    return path


def as_of(path, now, window):
    file = parse(f'[[rule]]\nalert="n"\nmetric="n_samples"\nwindow="{window}"\nabove=1e6\n')
    with Store(path, read_only=True) as store:
        (found,) = evaluate_stored(file, store, clock=Clock(now), keep=False)
    return found


def test_keys_are_those_of_the_rules(filled):
    with Store(filled) as store:
        found = evaluate_stored(parse(RULES), store, clock=Clock(40 * PANE))

    assert {one.key for one in found} == {
        Key(rule.id, series_key(LABELS)) for rule in parse(RULES).rules
    }


def test_an_alarm_stays_until_it_is_acknowledged(filled):
    """However the class ratio goes on; then the evidence begins anew."""
    states = []
    with Store(filled) as store:
        for step in range(20, 80, 5):
            found = evaluate_stored(parse(RULES), store, clock=Clock(step * PANE))
            states.append(next(one for one in found if one.rule.alert == "Ratio").state)
        assert states[-1] is State.FIRING
        assert acknowledge(store, "Ratio", now=80.0 * PANE) == 1
        assert acknowledge(store, "Ratio", now=80.0 * PANE) == 0
        assert acknowledge(store, "Rat", now=80.0 * PANE) == 0
        after = evaluate_stored(parse(RULES), store, clock=Clock(75.0 * PANE))

    assert next(one for one in after if one.rule.alert == "Ratio").state is State.OK


HELD = """
[[rule]]
alert = "Held"
metric = "roc_auc"
window = "90d"
below = 0.9
for = "10m"
"""
MOVED = """
[budget]
false_alarm_every = "10d"

[[rule]]
alert = "Ratio"
detector = "prevalence"
reference = 0.2
pane = "5m"
"""


def one_state(text, store, clock, **options):
    (found,) = evaluate_stored(parse(text), store, clock=clock, **options)
    return found.state.value, found.record


def test_a_look_at_the_past_uses_no_state_of_later(tmp_path):
    """Nothing that it says is later than the time that was asked for; and nothing is kept."""
    clock = Clock(1e9)
    monitors = two_series(tmp_path / "m.db", clock)
    text = HELD + 'series = { model = "a" }\n'
    with Store(tmp_path / "m.db") as store:
        for _ in range(3):
            clock.now += 600.0
            one_state(text, store, clock)
        before = store.load("rule", "Held{}").body
        past = Clock(1e9 + 60)
        state, record = one_state(text, store, past, keep=False)
        later = one_state(text, store, Clock(clock.now), keep=False)
        after = store.load("rule", "Held{}").body
    for monitor in monitors:
        monitor.close()

    assert (state, record.since, record.at) == ("PENDING", past.now, past.now)
    assert record.reason.endswith(", for 0s of 10m")
    assert (later[0], later[1].since) == ("FIRING", 1e9 + 1200)
    assert before == after


def test_a_look_at_the_past_uses_no_pane_of_later(filled):
    """A detector that has read on starts anew; one that was in alarm by then, was."""
    with Store(filled) as store:
        clock = Clock(20.0 * PANE)
        while clock.now < 80 * PANE:
            clock.now += PANE
            state, _ = one_state(MOVED, store, clock)
            if state == "FIRING":
                break
        found = clock.now
        clock.now += 3600.0
        one_state(MOVED, store, clock)
        states = [
            one_state(MOVED, store, Clock(now), keep=False)[0]
            for now in (found - PANE, found, found + PANE)
        ]

    assert states == ["OK", "FIRING", "FIRING"]


@pytest.mark.parametrize("ahead", [120.0, 86_400.0])
def test_a_clock_that_was_ahead_holds_no_alert_up(tmp_path, caplog, ahead):
    """One check a day ahead, then others: the alert fires after the ten minutes of its rule."""
    clock = Clock(1e9)
    monitors = two_series(tmp_path / "m.db", clock)
    text = HELD + 'series = { model = "a" }\n'
    with Store(tmp_path / "m.db") as store:
        one_state(text, store, Clock(clock.now + ahead))
        found = []
        for _ in range(3):
            found.append(one_state(text, store, clock))
            clock.now += 300.0
    for monitor in monitors:
        monitor.close()

    assert [state for state, _ in found] == ["PENDING", "PENDING", "FIRING"]
    assert [record.at for _, record in found] == [1e9, 1e9 + 300, 1e9 + 600]
    assert "a clock was wrong" in found[0][1].reason
    assert "a clock was wrong" not in found[1][1].reason
    (line,) = [one.message for one in caplog.records]
    assert line.startswith("1 alert was judged last at a time later than now")


def test_a_clock_that_was_ahead_holds_no_detector_up(filled, caplog):
    """It would wait until that time has come, and see nothing of what is in between."""
    with Store(filled) as store:
        one_state(MOVED, store, Clock(20.0 * PANE + 86_400))
        clock, states = Clock(20.0 * PANE), []
        for _ in range(12):
            clock.now += 5 * PANE
            states.append(one_state(MOVED, store, clock)[0])

    assert states[-1] == "FIRING"
    assert any("detector" in one.message for one in caplog.records)


def two_series(path, clock):
    """Return monitors of two series in one store, whose ranking is that of chance."""
    monitors = [Monitor(clock=clock, store=path, series={"model": name}) for name in "ab"]
    for monitor in monitors:
        monitor.update_many([0, 1] * 50, [0.5] * 100, [clock.now - 60.0] * 100)
        monitor.flush()
    return monitors


def rank_of(name):
    return parse(
        f'[[rule]]\nalert = "Rank"\nmetric = "roc_auc"\nwindow = "90d"\nbelow = 0.9\nfor = "4m"\n'
        f'series = {{ model = "{name}" }}\n'
    )


def test_rules_of_one_name_in_two_files_keep_their_own_states(tmp_path):
    """Checked in turn: what one file says of its series is not lost when the other is checked."""
    clock, states = Clock(1e9), {"a": [], "b": []}
    monitors = two_series(tmp_path / "m.db", clock)
    with Store(tmp_path / "m.db") as store:
        for _ in range(4):
            for name, seen in states.items():
                clock.now += 60.0
                (result,) = evaluate_stored(rank_of(name), store, clock=clock)
                assert result.labels == {"model": name}
                seen.append(result.state.value)
    for monitor in monitors:
        monitor.close()

    assert states == {name: ["PENDING", "PENDING", "FIRING", "FIRING"] for name in "ab"}


@pytest.mark.parametrize(
    ("days", "is_there", "kept"), [(29, True, True), (31, True, False), (0, False, False)]
)
def test_a_state_that_no_rule_asks_for_is_let_go(tmp_path, days, is_there, kept):
    """With its series, or after a month; so that they do not become ever more."""
    clock = Clock(1e9)
    monitors = two_series(tmp_path / "m.db", clock)
    with Store(tmp_path / "m.db") as store:
        evaluate_stored(rank_of("a"), store, clock=clock)
        if not is_there:
            rename_series(store, Key("Rank{}", '{"model":"a"}'), '{"model":"z"}')
        clock.now += days * 86_400.0
        evaluate_stored(rank_of("b"), store, clock=clock)
        states = json.loads(store.load("rule", "Rank{}").body)
    for monitor in monitors:
        monitor.close()

    assert list(states) == ['{"model":"a"}', '{"model":"b"}'][not kept :]


def rename_series(store, key, name):
    """Let the states of a rule be of a series that the store does not have."""
    states = json.loads(store.load("rule", key.rule).body)
    states[name] = states.pop(key.series)
    with store.write() as batch:
        batch.save("rule", key.rule, json.dumps(states).encode(), 1e9)


def test_each_pane_is_read_once_whatever_the_rules_ask(tmp_path, monkeypatch):
    """Rules with windows of all lengths, twice, on several series: no pane comes twice."""
    path, n_minutes = tmp_path / "metrics.db", 90
    with Store(path) as store:
        for name in "abc":
            with Monitor(
                tiers=((60, "30d"), (3600, "90d")),
                clock="event",
                store=store,
                series={"model": name},
                flush_seconds=float("inf"),
            ) as monitor:
                times = np.arange(n_minutes * 4) * 15.0
                monitor.update_many(times % 60 > 20, times % 7 / 7, times)
    windows = ("5m", "20m", "1h", "90m", "1d")
    text = "".join(
        f'[[rule]]\nalert = "r{number}"\nmetric = "{metric}"\nwindow = "{window}"\nbelow = 0.1\n'
        for number, (metric, window) in enumerate(
            itertools.product(("roc_auc", "prevalence", "f1@0.5"), windows)
        )
    )
    seen = []
    unsealed = mirror.unsealed
    monkeypatch.setattr(
        mirror, "unsealed", lambda key, *rest: seen.append(key) or unsealed(key, *rest)
    )
    with Store(path, read_only=True) as store:
        results = evaluate_stored(parse(text), store, clock=lambda: n_minutes * 60.0, keep=False)
    assert len(results) == 3 * 3 * len(windows)
    assert len(seen) == len(set(seen)) == 3 * n_minutes
