"""A backtest says what live evaluations would have said, on generated streams."""

import json
import os
import random
import re
from dataclasses import replace

import pytest
from rules.sources import Clock

from streamauc import Monitor
from streamauc.rules.as_of import AsOf
from streamauc.rules.backtest import Backtest, backtest, times
from streamauc.rules.document import parse
from streamauc.rules.evaluate import evaluate
from streamauc.rules.memory import MonitorSource
from streamauc.rules.model import Key
from streamauc.rules.record import Change, Record, State
from streamauc.rules.replay import Arrival, Replay

N_STREAMS = 1_000 if os.environ.get("STREAMAUC_LONG") else 100
RULES_TEXT = """
[[rule]]
alert = "auc"
metric = "roc_auc"
window = "5m"
below = 0.6
clear_above = 0.75
for = "1m"
keep_firing_for = "2m"
no_data_after = "3m"

[[rule]]
alert = "prevalence"
metric = "prevalence"
window = "3m"
above = 0.6
below = 0.2
by = "bound"
level = 0.6
min_pos = 1
min_neg = 1
no_data = "keep"

[[rule]]
alert = "worse"
metric = "prevalence_difference"
reference = "previous"
window = "2m"
offset = "1m"
above = 0.3
no_data = "ok"

[[rule]]
alert = "silent"
metric = "newest_event_age"
above = "2m"
no_data = "firing"
no_data_after = "1m"

[[rule]]
alert = "moved"
detector = "prevalence"
reference = 0.5
pane = "1m"
min_coverage = 0.5
max_series = 2
series = { model = "~.*" }

[[rule]]
alert = "coverage"
metric = "coverage"
window = "5m"
offset = "1m"
below = 0.5
"""
RULES = parse(RULES_TEXT)
# The same with every length five times as long, so that each is one of whole panes of the
# longer tier. The age of the newest event is left out: its pane tells it less exactly.
COARSE = RULES_TEXT.replace(
    'metric = "newest_event_age"\nabove = "2m"', 'metric = "coverage"\nwindow = "2m"\nbelow = 0.5'
)
MINUTES = re.compile(r'"(\d+)m"')
SERIES = ({"model": "a"}, {"model": "b"})
START, EVERY, N_STEPS = 1_200.0, 60.0, 14


def recorded(rng, *, late):
    """Return a cheap stream: bursts, silences, drifts; with `late`, outcomes that come later."""
    arrivals = []
    for labels in SERIES:
        share, quality = rng.random(), rng.random()
        for minute in range(N_STEPS + 4):
            if rng.random() < 0.2:
                share, quality = rng.random(), rng.random()
            if rng.random() < 0.3:
                continue
            for number in range(rng.choice((1, 3, 8))):
                # Never at the very moment of an evaluation, where only arrivals could tell.
                at = START - 240 + minute * 60 + rng.choice((1, 20, 59))
                label = int(rng.random() < share)
                score = rng.choice((0.2, 0.8)) if rng.random() > quality else 0.2 + 0.6 * label
                if not late:
                    arrivals.append(Arrival(at=at, series=labels, label=label, score=score))
                    continue
                key = f"{minute}-{number}"
                arrivals.append(Arrival(at=at, series=labels, key=key, score=score))
                if rng.random() < 0.8:
                    delay = rng.choice((0, 30, 120))
                    arrivals.append(Arrival(at=at + delay, series=labels, key=key, label=label))
    return arrivals


def live(arrivals, rng):
    """Act as a service: events come one by one, a job polls, all is restarted at times."""
    clock = Clock(START - 240)
    monitors = [Monitor(clock=clock, bad="skip") for _ in SERIES]
    source = MonitorSource(zip(SERIES, monitors, strict=True), clock=clock)
    stored, changes = "[]", []
    waiting = sorted(arrivals, key=lambda one: one.at)
    for step in range(N_STEPS):
        now = START + step * EVERY
        while waiting and waiting[0].at <= now:
            arrival = waiting.pop(0)
            clock.now = max(clock.now, arrival.at)
            arrival.feed(source.monitor(arrival.series))
        clock.now = now
        if rng.random() < 0.1:
            detectors = source.detectors
            monitors = [
                Monitor.from_bytes(source.monitor(one).to_bytes(), clock=clock) for one in SERIES
            ]
            source = MonitorSource(zip(SERIES, monitors, strict=True), clock=clock)
            source.detectors = detectors
        results = evaluate(RULES, source, restored(stored))
        stored = json.dumps(
            [(one.key.rule, one.key.series, one.record.to_dict()) for one in results],
            allow_nan=False,
        )
        changes += [(one.key, one.change) for one in results if one.change is not None]
    return changes, restored(stored)


def restored(stored):
    return {Key(rule, series): Record.from_dict(one) for rule, series, one in json.loads(stored)}


def told(changes):
    return [(key, change.to_dict()) for key, change in changes]


def dicts(records):
    return {key: record.to_dict() for key, record in records.items()}


def states(changes):
    return [(key, change.before, change.after, change.at) for key, change in changes]


def run(source):
    end = START + (N_STEPS - 1) * EVERY
    return backtest(RULES, source, start=START, end=end, every=EVERY)


@pytest.mark.parametrize("part", range(4))
def test_live_and_backtest_agree(part):
    """Predictions with outcomes that come later, or never; changes, reasons and records."""
    seen = set()
    for seed in range(part, N_STREAMS, 4):
        rng = random.Random(seed)  # noqa: S311 - no secret
        arrivals = recorded(rng, late=seed % 2 == 0)
        wanted, records = live(arrivals, rng)

        found = run(Replay(arrivals, series=SERIES, start=START - 240))

        assert told(found.changes) == told(wanted)
        assert dicts(found.records) == dicts(records)
        seen |= {(key.rule, change.after) for key, change in found.changes}
    assert len(seen) >= 14  # states that the rules went through


@pytest.mark.parametrize("part", range(2))
def test_a_backtest_over_stored_panes_agrees_where_they_can_tell(part):
    """Outcomes known at once, evaluations at the ends of panes: the past is all in the panes."""
    for seed in range(part, N_STREAMS // 4, 2):
        rng = random.Random(seed + 10_000)  # noqa: S311 - no secret
        arrivals = recorded(rng, late=False)
        replay = Replay(arrivals, series=SERIES, start=START - 240)
        wanted = run(replay)
        replay.move(START + N_STEPS * EVERY + 600)

        found = run(AsOf(replay))

        assert told(found.changes) == told(wanted.changes)
        assert dicts(found.records) == dicts(wanted.records)


@pytest.mark.parametrize("part", range(2))
def test_a_backtest_over_longer_panes_agrees_at_their_ends(part):
    """Where only panes of five minutes are left, with windows of whole ones, however asked."""
    tiers = ((60, "10m"), (300, "90d"))
    file = parse(MINUTES.sub(lambda found: f'"{5 * int(found[1])}m"', COARSE))
    seen = set()
    for seed in range(part, N_STREAMS // 4, 2):
        rng = random.Random(seed + 20_000)  # noqa: S311 - no secret
        arrivals = [stretched(one) for one in recorded(rng, late=False)]
        first, last = START * 5 - 1_200, START * 5 + (N_STEPS - 1) * 300
        replay = Replay(
            arrivals,
            series=SERIES,
            start=first,
            make=lambda clock: Monitor(clock=clock, bad="skip", tiers=tiers),
        )
        wanted = backtest(file, replay, start=START * 5, end=last, every=300.0)
        replay.move(last + 7_200)

        source = AsOf(replay)
        found = backtest(file, source, start=START * 5 - 120, end=last + 60, every=60.0)

        assert source.pane(SERIES[0], START * 5)[1] == START * 5 + 300
        assert told(found.changes) == told(wanted.changes)
        assert dicts(found.records) == dicts(wanted.records)
        assert found.n_evaluations == wanted.n_evaluations == N_STEPS
        seen |= {(key.rule, change.after) for key, change in found.changes}
    assert len(seen) >= 14


def stretched(arrival):
    """Return an arrival of a stream that runs five times slower.

    None is in the first minute of a longer pane: a live window reaches into the pane that holds
    the moment at which it ends, which is as long as the panes are then.
    """
    at = arrival.at * 5
    return replace(arrival, at=at + 60 if at % 300 < 60 else at)


def counted(now):
    """Return how many events of the last two minutes AsOf sees."""
    clock = Clock()
    made = Monitor(clock=clock, max_ahead="10000d")
    for second in range(0, 600, 10):
        made.update(1, 0.5, float(second))
    clock.now = 10_000.0
    source = AsOf(MonitorSource([(SERIES[0], made)], clock=clock))
    source.move(now)
    return source.window(SERIES[0], now - 120, now).n_samples


def test_nothing_of_the_future_is_seen():
    """The running pane is left out, as what had come in it is not known."""
    assert counted(300.0) == 12
    assert counted(301.0) == 12
    assert counted(359.0) == 12
    assert counted(30.0) == 0


def test_where_only_hours_are_left_a_series_answers_as_at_the_end_of_the_last():
    """Also with a window of minutes, which is that hour."""
    clock = Clock(90_000)
    made = Monitor(clock=clock, tiers=((60, "1h"), (3600, "90d")))
    for moment in (1_000.0, 5_000.0, 5_000.0):
        made.update(1, 0.5, moment)
    source = AsOf(MonitorSource([(SERIES[0], made)], clock=clock))
    found = []
    for now in (1_800.0, 3_600.0, 5_400.0, 7_200.0):
        source.move(now)
        found.append((source.due(now), source.window(SERIES[0], now - 300, now).n_samples))

    assert found == [(3_600.0, 0), (3_600.0, 1), (7_200.0, 1), (7_200.0, 2)]


def test_series_of_other_panes_keep_their_own_pace():
    """One of hours beside one of minutes: it is judged by its last whole hour."""
    clock = Clock(90_000)
    fine = Monitor(clock=clock, tiers=((60, "90d"),))
    coarse = Monitor(clock=clock, tiers=((3600, "90d"),))
    for monitor in (fine, coarse):
        monitor.update_many([1] * 120, [0.5] * 120, [60.0 * minute for minute in range(120)])
    source = AsOf(MonitorSource(zip(SERIES, (fine, coarse), strict=True), clock=clock))
    source.move(5_400.0)

    assert source.due(5_400.0) == 5_400.0
    assert [source.window(one, 4_800.0, 5_400.0).n_samples for one in SERIES] == [10, 60]
    assert [source.window(one, 1_800.0, 5_400.0).end for one in SERIES] == [5_400.0, 3_600.0]
    assert [source.window(one, 0.0, 3_600.0).n_samples for one in SERIES] == [60, 60]


def test_what_was_not_stored_is_not_known():
    """Rejected events and flushes are no data in a backtest over panes."""
    file = parse(
        '[[rule]]\nalert = "a"\nmetric = "rejected_share"\nabove = 0.5\n'
        '[[rule]]\nalert = "b"\nmetric = "seconds_since_flush"\nabove = "1m"\n'
    )
    source = AsOf(MonitorSource([(SERIES[0], Monitor(clock=Clock(9_000)))], clock=Clock(9_000)))

    found = backtest(file, source, start=0.0, end=60.0, every=60.0)

    assert {change.after for _, change in found.changes} == {State.NO_DATA}


def test_firings_are_from_when_they_fired_to_their_end():
    """RECOVERING is part of them; one that has not ended has no end."""
    key, other = Key("a", "{}"), Key("b", "{}")

    def change(after, at):
        return Change(None, after, at, f"r{at}", 0.5)

    changes = [
        (key, change(State.OK, 0.0)),
        (key, change(State.FIRING, 1.0)),
        (other, change(State.FIRING, 2.0)),
        (key, change(State.RECOVERING, 3.0)),
        (key, change(State.FIRING, 4.0)),
        (key, change(State.OK, 5.0)),
    ]
    found = Backtest(n_evaluations=6, changes=changes, records={})

    assert [(one.key, one.start, one.end, one.reason) for one in found.firings] == [
        (key, 1.0, 5.0, "r1.0"),
        (other, 2.0, None, "r2.0"),
    ]


def test_times_of_evaluations():
    """Up to and with the end."""
    assert list(times(0.0, 3.0, 1.5)) == [0.0, 1.5, 3.0]
    assert list(times(0.0, 2.9, 1.5)) == [0.0, 1.5]
    for start, end, every in ((0, 1, 0), (0, float("inf"), 1), (0, 1e9, 1)):
        with pytest.raises(ValueError, match="every must"):
            times(start, end, every)
    with pytest.raises(ValueError, match="end must not be before start, got start 1970-01-01"):
        times(1, 0, 1)


def test_arrivals_come_at_their_own_time_however_far_it_is_moved():
    """An event from the future of its arrival is refused, though not from that of the move."""
    arrivals = [
        Arrival(at=0.0, series=SERIES[0], label=1, score=0.5, timestamp=7_200.0),
        Arrival(at=8_000.0, series=SERIES[0], label=1, score=0.5),
    ]
    source = Replay(arrivals)

    source.move(10_000.0)

    stats = source.monitor(SERIES[0]).stats
    assert (stats.n_ahead, stats.n_accepted) == (1, 1)
    assert source.now() == 10_000.0


def test_an_event_clock_can_be_replayed():
    """`Monitor(clock="event")`, as at the times of the evaluations."""
    rng = random.Random(7)  # noqa: S311 - no secret
    arrivals = recorded(rng, late=False)
    wanted = run(Replay(arrivals, series=SERIES, start=START - 240))

    found = run(
        Replay(
            arrivals,
            series=SERIES,
            start=START - 240,
            make=lambda _: Monitor(clock="event", bad="skip"),
        )
    )

    # Not the reasons: counting began with the first event, so that other windows are warming up.
    assert states(found.changes) == states(wanted.changes)
