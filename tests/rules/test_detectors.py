"""Detectors of rules: each pane is stepped once and when it is mature, whoever polls how often."""

import random

import numpy as np
import pytest
from rules.malformed import DETECTOR, bare
from rules.sources import FRAUD, Clock, one

from streamauc import Monitor, PrevalenceDetector
from streamauc.rules.document import parse
from streamauc.rules.memory import MonitorSource
from streamauc.rules.model import Key
from streamauc.rules.stored import evaluate_stored
from streamauc.store import Store

PANE = 60
FILE = parse(bare('detector = "prevalence"', "reference = 0.2", 'pane = "1m"'))


def filled(n_panes, share, clock, *, first=0):
    """Return a monitor with 50 events a pane, of which so many are positive."""
    made = Monitor(clock=clock, max_ahead="10000d")
    for pane in range(first, first + n_panes):
        n_pos = round(50 * share(pane))
        labels = [1] * n_pos + [0] * (50 - n_pos)
        made.update_many(labels, [0.5] * 50, [pane * PANE + 5.0] * 50)
    return made


def stepped(n_panes, share, first=0):
    """Return a detector stepped by hand over the same panes."""
    (found,) = FILE.rules
    detector = PrevalenceDetector(
        0.2, pane_seconds=PANE, false_alarm_every=found.measure.false_alarm_every
    )
    for pane in range(first, first + n_panes):
        n_pos = round(50 * share(pane))
        detector.step(pane, n_pos, 50 - n_pos)
    return detector


def rising(pane):
    return 0.2 if pane < 20 else 0.4


@pytest.mark.parametrize("seed", range(5))
def test_it_does_not_matter_how_often_is_polled(seed):
    """Every second or once in half an hour: the detector is that stepped pane by pane."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    clock = Clock()
    found = MonitorSource([(FRAUD, filled(60, rising, clock))], clock=clock)
    result = None
    now = float(PANE)
    clock.now = now
    result = one(FILE, found)
    while now < 60 * PANE:
        now = min(60.0 * PANE, now + rng.choice((1, 30, 60, 61, 600, 1800)))
        clock.now = now
        result = one(FILE, found, {result.key: result.record})

    wanted = stepped(60, rising)
    assert result.record.reason == wanted.reason
    assert result.state.value == "FIRING"
    assert result.record.value >= 1
    assert "rose above 0.2" in result.record.reason
    began = wanted.alarm.began
    assert f" since 1970-01-01 00:{began:02} UTC, found with those until " in result.record.reason


def test_panes_are_read_when_they_are_mature():
    """Not before their end, and as long after it as `offset` says."""
    file = parse(bare('detector = "prevalence"', "reference = 0.2", 'pane = "1m"', 'offset = "5m"'))
    clock, reads = Clock(), []
    found = MonitorSource([(FRAUD, filled(30, rising, clock))], clock=clock)
    window = found.window
    found.window = lambda labels, start, end: (
        reads.append((start, end)) or window(labels, start, end)
    )

    for now in (360, 419, 420, 600):
        clock.now = float(now)
        one(file, found)

    assert reads == [(0, 60), (60, 120), (120, 180), (180, 240), (240, 300)]


def test_panes_with_too_few_labels_wait_for_them():
    """A pane comes again until its labels are there."""
    clock = Clock(0)
    made = Monitor(clock=clock)
    for key in range(100):
        made.predict(key, 0.5, 5.0)
    found = MonitorSource([(FRAUD, made)], clock=clock)
    clock.now = 60.0
    early = one(FILE, found)
    for key in range(100):
        made.resolve(key, key % 2)
    clock.now = 61.0
    late = one(FILE, found, {early.key: early.record})

    assert early.state.value == "NO_DATA"
    assert early.record.reason == "no mature pane with events has come yet"
    assert late.record.value > 0


def test_panes_without_events_are_mature():
    """There is no label to wait for; after long enough the detector is stalled."""
    clock = Clock(60)
    found = MonitorSource([(FRAUD, Monitor(clock=clock))], clock=clock)
    file = parse(
        bare('detector = "prevalence"', "reference = 0.2", 'pane = "1m"', 'stall_after = "10m"')
    )
    first = one(file, found)
    assert (first.state.value, first.record.reason) == (
        "NO_DATA",
        "no mature pane with events has come yet",
    )
    clock.now = 900.0

    result = one(file, found)

    assert result.state.value == "NO_DATA"
    assert (
        "no labelled events from 1970-01-01 00:00 UTC to 1970-01-01 00:15 UTC"
        in result.record.reason
    )


def test_panes_that_were_rolled_up_are_passed_over():
    """They are part of longer ones, which would be counted again and again."""
    clock = Clock(60)
    made = Monitor(clock=clock, tiers=((60, "10m"), (3600, "90d")), max_ahead="10d")
    found = MonitorSource([(FRAUD, made)], clock=clock)
    first = one(FILE, found)
    made.update_many([1] * 500, [0.5] * 500, [90.0] * 500)
    clock.now = 4 * 3600.0

    result = one(FILE, found, {first.key: first.record})

    assert result.state.value == "NO_DATA"
    assert "no mature pane with events has come yet" in result.record.reason


@pytest.mark.parametrize("policy", ["no_data", "ok", "firing", "keep"])
def test_before_its_first_pane_a_detector_has_no_data(policy):
    """Whatever the rule makes of that; it is no all-clear by itself."""
    clock = Clock(60)
    found = MonitorSource([(FRAUD, Monitor(clock=clock))], clock=clock)
    lines = ['detector = "prevalence"', "reference = 0.2", f'no_data = "{policy}"']
    result = one(parse(bare(*lines)), found)

    wanted = {"ok": "OK", "firing": "FIRING"}.get(policy, "NO_DATA")
    assert result.state.value == wanted
    assert "no mature pane with events has come yet" in result.record.reason


MINUTES = ((60, "2d"), (3600, "90d"))


@pytest.mark.parametrize(
    ("tiers", "lines", "message"),
    [
        (((3600, "90d"),), ['pane = "5m"'], "must have panes of a multiple of 3600 s, got 300 s"),
        (MINUTES, ['pane = "90s"'], "must have panes of a multiple of 60 s, got 90 s"),
        (
            MINUTES,
            ['pane = "5m"', 'offset = "3d"'],
            "tiers must keep panes of 60 s for a pane of the detector, 300 s, and its offset,"
            " 259200 s, got 172800 s",
        ),
        (MINUTES, ['pane = "1h"', 'offset = "91d"'], "and its offset, 7862400 s"),
        (((60, "2m"), (3600, "90d")), ['pane = "5m"'], "300 s, got 120 s"),
        (((3600, "90d"),), ['pane = "1h"'], None),
        (MINUTES, ['pane = "5m"', 'offset = "47h"'], None),
        # The hours are left then.
        (MINUTES, ['pane = "1h"', 'offset = "3d"'], None),
        (MINUTES, ['pane = "2h"', 'offset = "80d"'], None),
    ],
)
@pytest.mark.parametrize("in_store", [False, True])
def test_panes_that_can_not_be_read_are_an_error(tmp_path, tiers, lines, message, in_store):
    """In memory and in a store; where they can, a change is found."""
    file = parse(bare('detector = "prevalence"', "reference = 0.3", *lines))
    (found,) = file.rules
    pane, offset = found.measure.pane_seconds, found.measure.offset
    clock = Clock(offset)
    options = {"store": tmp_path / "m.db", "series": FRAUD} if in_store else {}
    monitor = Monitor(clock=clock, tiers=tiers, **options)
    source = MonitorSource([(FRAUD, monitor)], clock=clock)
    start, result = offset // pane * pane, None
    for number in range(40):
        clock.now = start + (number + 1) * pane - 1
        monitor.update_many([0, 1] * 50, [0.5] * 100, [start + number * pane + 5.0] * 100)
    for number in range(1, 42):
        clock.now = start + offset + number * pane
        monitor.flush()
        if in_store:
            with Store(tmp_path / "m.db") as store:
                (result,) = evaluate_stored(file, store, clock=clock)
        else:
            result = one(file, source, result and {result.key: result.record})
    monitor.close()

    if message is None:
        assert result.state.value == "FIRING", result.record.reason
    else:
        assert result.state.value == "ERROR"
        assert message in result.record.reason


def reference_source(clock, reference):
    return MonitorSource(
        [(FRAUD, filled(60, lambda _: 0.2, clock))], clock=clock, references={"v": reference}
    )


def test_a_named_reference_starts_it():
    """A span; pane by pane where that is needed."""
    for more in ("", 'overdispersion = "estimate"', 'seasonal = "10m"\nphase = "5m"'):
        clock = Clock()
        found = reference_source(clock, (0.0, 1800.0))
        clock.now = 2400.0
        lines = ['detector = "prevalence"', 'reference = "v"', 'pane = "1m"', more]
        result = one(parse(bare(*lines)), found)
        assert result.state.value == "OK", result.record.reason
        assert "agrees with 0.2" in result.record.reason


def test_a_reference_that_does_not_suit_is_an_error():
    """Of this rule, with a reason."""
    clock = Clock()
    made = filled(60, lambda _: 0.2, clock)
    lines = ['detector = "prevalence"', 'reference = "v"', 'overdispersion = "estimate"']
    found = MonitorSource(
        [(FRAUD, made)], clock=clock, references={"v": made.window(0, 600).histogram}
    )
    clock.now = 2400.0

    result = one(parse(bare(*lines)), found)

    assert result.state.value == "ERROR"
    assert "must be a span to be read pane by pane" in result.record.reason
    assert one(parse(DETECTOR), found).record.reason == (
        "LookupError: reference must be a known one, got 'fraud-v3'; known are 'v'"
    )


def test_acknowledging_ends_an_alarm():
    """The evidence begins anew."""
    clock = Clock(PANE)
    found = MonitorSource([(FRAUD, filled(60, rising, clock))], clock=clock)
    one(FILE, found)
    clock.now = 60.0 * PANE
    key = Key.of(FILE.rules[0], FRAUD)
    assert one(FILE, found).state.value == "FIRING"

    found.detectors.acknowledge(key)

    assert one(FILE, found).state.value == "OK"
    with pytest.raises(KeyError):
        found.detectors.acknowledge(Key("x", ""))


def test_changed_settings_start_it_anew():
    """Another reference is another detector."""
    clock = Clock(PANE)
    found = MonitorSource([(FRAUD, filled(60, rising, clock))], clock=clock)
    one(FILE, found)
    clock.now = 60.0 * PANE
    assert one(FILE, found).state.value == "FIRING"
    changed = parse(bare('detector = "prevalence"', "reference = 0.4", 'pane = "1m"'))

    assert one(changed, found).state.value == "OK"


def scored(n_panes, clock, move):
    """Return a monitor with 100 events a pane, 20 of them positive, scored by `move(pane)`.

    It gives how much is added to the logits of the negatives and of the positives.
    """
    made = Monitor(clock=clock, max_ahead="10000d")
    rng = np.random.default_rng(4)
    labels = np.arange(100) < 20
    for pane in range(n_panes):
        of_neg, of_pos = move(pane)
        logits = rng.normal(-2.0, 1.0, 100) + np.where(labels, 1.5 + of_pos, of_neg)
        made.update_many(labels, 1 / (1 + np.exp(-logits)), np.full(100, pane * PANE + 5.0))
    return made


def judged(kind, reference, move):
    """Return what a rule with a detector says after 200 panes, polled every ten minutes."""
    file = parse(bare(f'detector = "{kind}"', f"reference = {reference}", 'pane = "1m"'))
    clock = Clock(PANE)
    references = {"v": scored(500, Clock(), lambda _: (0.0, 0.0)).window(0, 500 * PANE)}
    found = MonitorSource([(FRAUD, scored(200, clock, move))], clock=clock, references=references)
    result = one(file, found)
    for moment in range(600, 201 * PANE, 600):
        clock.now = float(moment)
        result = one(file, found, {result.key: result.record})
    return result


@pytest.mark.parametrize("kind", ["ranking", "shift"])
def test_other_detectors_are_quiet_while_nothing_moves(kind):
    """Started with a named reference."""
    result = judged(kind, '"v"', lambda _: (0.0, 0.0))
    assert result.state.value == "OK"
    assert result.record.reason.count("of the evidence for an alarm") == 1


def test_a_worse_ranking_is_found_and_a_recalibration_is_not():
    """By the detector of the ranking, also from an AUC that is known."""
    for reference in ('"v"', "0.86"):
        worse = judged("ranking", reference, lambda pane: (0.0, -1.0 if pane >= 50 else 0.0))
        assert worse.state.value == "FIRING"
        assert worse.record.reason.startswith("the AUC fell below 0.8")
    moved = judged("ranking", '"v"', lambda pane: (0.3, 0.3) if pane >= 50 else (0.0, 0.0))
    assert moved.state.value == "OK"


def test_a_shift_names_the_class_that_moved():
    """By the detector of the scores."""
    moved = judged("shift", '"v"', lambda pane: (0.5 if pane >= 50 else 0.0, 0.0))
    assert moved.state.value == "FIRING"
    assert "negatives" in moved.record.reason
