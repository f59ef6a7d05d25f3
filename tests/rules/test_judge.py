"""The state machine of an alert beside a slow, obvious oracle that looks at all history again."""

import json
import math
import os
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamauc.rules.judge import judge
from streamauc.rules.policy import NO_DATA, Limits, Policy
from streamauc.rules.readings import Decided, Failed, Measured, Missing
from streamauc.rules.record import Change, Record, State

# All on one small lattice, so that ties with limits and with lengths of time are common.
levels = st.integers(0, 6)
lengths = st.integers(0, 7)


@st.composite
def limits(draw):
    below, above = sorted(draw(st.sets(levels, min_size=2, max_size=2)))
    kind = draw(st.sampled_from(["below", "above", "both"]))
    low, high = (below if kind != "above" else None), (above if kind != "below" else None)
    # Often far from the limits, so that there are values between.
    middle = draw(st.integers(below, above))
    low_clear = max(middle, draw(levels)) if kind == "below" else middle
    high_clear = min(middle, draw(levels)) if kind == "above" else middle
    clears = draw(st.booleans())
    return Limits(
        below=low,
        above=high,
        clear_above=low_clear if clears and low is not None else None,
        clear_below=high_clear if clears and high is not None and draw(st.booleans()) else None,
    )


policies = st.builds(
    Policy,
    limits=limits(),
    hold=lengths,
    keep=lengths,
    no_data=st.sampled_from(NO_DATA),
    no_data_after=lengths,
)


@st.composite
def intervals(draw):
    low, value, high = sorted(draw(st.lists(levels, min_size=3, max_size=3)))
    return Measured(value, low, high)


readings = st.one_of(
    levels.map(Measured.of),
    levels.map(Measured.of),
    intervals(),
    st.just(Measured.of(math.nan)),
    st.just(Measured(3, math.nan, 4)),
    st.just(Missing("none")),
    st.just(Failed("broken")),
    st.builds(Decided, st.booleans(), levels, st.just("said so")),
)
steps = st.lists(st.tuples(st.integers(-2, 5), readings), max_size=14)


@dataclass
class Seen:
    """One look at which something was known, or taken as known."""

    at: int
    past_limit: bool
    past_clear: bool
    absent: bool = False


def past(reading, below, above):
    """Judge by the words: all of it less than the one, or all of it more than the other."""
    return (below is not None and reading.high < below) or (
        above is not None and reading.low > above
    )


def oracle(policy, history):
    """Return the state after a history of (time, reading), from the words of the documents."""
    looks: list[Seen] = []
    state, absent_since = None, None
    for at, reading in history:
        known = seen(policy, at, reading)
        if isinstance(reading, Failed):
            state = State.ERROR
        elif known is not None:
            absent_since = None
            looks.append(known)
            state = settled(policy, looks)
        else:
            absent_since = at if absent_since is None else absent_since
            lasted = at - absent_since
            if policy.no_data == "keep" or lasted < policy.no_data_after:
                state = settled(policy, looks) or State.NO_DATA
            elif policy.no_data == "no_data":
                state = State.NO_DATA
            elif policy.no_data == "ok":
                looks.append(Seen(at, False, False))
                state = settled(policy, looks)
            else:
                looks.append(Seen(at, True, True, absent=True))
                state = State.FIRING
    return state


def seen(policy, at, reading):
    if isinstance(reading, Decided):
        return Seen(at, reading.is_active, reading.is_active)
    if not isinstance(reading, Measured):
        return None
    if any(math.isnan(one) for one in (reading.value, reading.low, reading.high)):
        return None
    set_to = policy.limits
    clear_above = set_to.below if set_to.clear_above is None else set_to.clear_above
    clear_below = set_to.above if set_to.clear_below is None else set_to.clear_below
    return Seen(
        at, past(reading, set_to.below, set_to.above), past(reading, clear_above, clear_below)
    )


def settled(policy, looks):
    """Say what the looks amount to: find the last time it fired, and what became of it since."""
    if not looks:
        return None
    fired = None  # index of the look since which it fires
    began = None  # since when it is past the limit, before it fires
    for index, look in enumerate(looks):
        if fired is not None:
            ended = end_of(looks, fired, index)
            if ended is not None and look.at - looks[ended].at >= policy.keep:
                fired, began = None, None
        elif look.absent:
            fired, began = index, None
        elif not look.past_limit:
            began = None
        else:
            began = look.at if began is None else began
            if look.at - began >= policy.hold:
                fired = index
    if fired is None:
        return State.OK if began is None else State.PENDING
    return State.FIRING if end_of(looks, fired, len(looks) - 1) is None else State.RECOVERING


def end_of(looks, fired, last):
    """Return the look since which an alert that fires is over, or None while it is not."""
    ended = None
    by_value = not looks[fired].absent
    for index in range(fired + 1, last + 1):
        look = looks[index]
        if ended is None and by_value:
            # It fires for its value: only the clear level ends it; absence changes nothing.
            ended = None if look.past_clear else index
        elif look.absent:
            # It begins to fire for absence.
            ended, by_value = None, False
        elif look.past_limit:
            ended, by_value = None, True
        elif ended is None:
            ended = index
    return ended


@settings(max_examples=20_000 if os.environ.get("STREAMAUC_LONG") else 300)
@given(policies, steps)
def test_states_are_those_of_the_oracle(policy, steps):
    """At every step, through JSON each time; with the times that belong to them."""
    record, history, now, latest = None, [], 100, 100
    for ahead, reading in steps:
        now += ahead  # may go back: then time stands still
        latest = max(latest, now) if history else now
        history.append((latest, reading))

        after = judge(policy, record, reading, now)

        assert after.state is oracle(policy, history)
        assert after.at == latest
        change = Change.between(record, after)
        changed = record is None or record.state is not after.state
        assert (change is not None) == changed
        assert after.since == (latest if changed else record.since)
        assert after.reason
        check_times(after)
        record = again(after)
        assert change is None or again_change(change) == change.to_dict()


def check_times(record):
    """Check what only some states have."""
    assert (record.recovering_at is not None) == (record.phase is State.RECOVERING)
    assert (record.active_at is None) == (record.phase in (None, State.OK))
    assert record.state in (record.phase, State.NO_DATA, State.ERROR)


def again(record):
    found = Record.from_dict(json.loads(json.dumps(record.to_dict(), allow_nan=False)))
    assert found.to_dict() == record.to_dict()
    return found


def again_change(change):
    return Change.from_dict(json.loads(json.dumps(change.to_dict(), allow_nan=False))).to_dict()


@given(policies, steps)
def test_nan_is_never_healthy(policy, steps):
    """Without a defined value nothing becomes OK, unless the policy says so."""
    record, now = None, 0
    for ahead, reading in steps:
        now += ahead
        after = judge(policy, record, reading, now)
        undefined = isinstance(reading, Missing) or (
            isinstance(reading, Measured) and not reading.is_defined
        )
        if undefined and policy.no_data != "ok":
            was = None if record is None else record.phase
            assert after.state is not State.OK or was is State.OK
        record = after


def run(policy, *steps):
    """Return the (state, reason) after each (time, value or reading)."""
    record, found = None, []
    for at, value in steps:
        reading = Measured.of(value) if isinstance(value, int | float) else value
        record = judge(policy, record, reading, at)
        found.append((record.state.value, record.reason))
    return found


def test_reasons_are_words():
    """What it is, beside which limit, for how long."""
    policy = Policy(
        subject="roc_auc", limits=Limits(below=0.8, clear_above=0.85), hold=120, keep=300
    )

    assert run(
        policy, (0, 0.9), (60, 0.75), (180, 0.75), (240, 0.82), (300, 0.9), (420, 0.9), (600, 0.9)
    ) == [
        ("OK", "roc_auc 0.9"),
        ("PENDING", "roc_auc 0.75 is below 0.8, for 0s of 2m"),
        ("FIRING", "roc_auc 0.75 is below 0.8"),
        ("FIRING", "roc_auc 0.82 is below 0.85 (where it would clear)"),
        ("RECOVERING", "roc_auc 0.9; kept firing for 0s of 5m"),
        ("RECOVERING", "roc_auc 0.9; kept firing for 2m of 5m"),
        ("OK", "roc_auc 0.9"),
    ]


def test_reasons_without_data():
    """Why there is none, since when, and what is made of it."""
    gone = Missing("too few positives: 3 of at least 10")
    policy = Policy(limits=Limits(above=2), no_data_after=600)
    ok = Policy(limits=Limits(above=2), no_data="ok")
    keep = Policy(limits=Limits(above=2), no_data="keep")
    firing = Policy(limits=Limits(above=2), no_data="firing", no_data_after=60)

    assert run(policy, (0, gone), (60, 1), (120, gone), (720, gone), (780, Failed("oh: no"))) == [
        ("NO_DATA", gone.reason),
        ("OK", "value 1"),
        ("OK", f"kept for up to 10m: {gone.reason}"),
        ("NO_DATA", f"{gone.reason}, for 10m"),
        ("ERROR", "oh: no"),
    ]
    assert run(ok, (0, gone)) == [("OK", f"taken as OK: {gone.reason}")]
    assert run(keep, (0, 3), (60, gone)) == [
        ("FIRING", "value 3 is above 2"),
        ("FIRING", f"kept: {gone.reason}"),
    ]
    assert run(firing, (0, gone), (60, gone), (90, 1)) == [
        ("NO_DATA", gone.reason),
        ("FIRING", f"{gone.reason}, for 1m"),
        ("OK", "value 1"),
    ]


def test_an_interval_is_past_only_as_a_whole():
    """By its near end, at both limits."""
    policy = Policy(subject="x", limits=Limits(below=0.2, above=0.8))

    assert run(
        policy,
        (0, Measured(0.1, 0.05, 0.2)),
        (1, Measured(0.1, 0.05, 0.19)),
        (2, Measured(0.9, 0.8, 1)),
        (3, Measured(0.9, 0.81, 1, "warming_up")),
    ) == [
        ("OK", "x 0.1 [0.05, 0.2]"),
        ("FIRING", "x 0.1 [0.05, 0.19] is below 0.2"),
        ("OK", "x 0.9 [0.8, 1]"),
        ("FIRING", "x 0.9 [0.81, 1] is above 0.8 (warming_up)"),
    ]


def test_an_outage_does_not_forget_an_alert():
    """It fired before, it is past the limit after: it fires at once, without waiting again."""
    policy = Policy(limits=Limits(below=5), hold=100)

    states = run(policy, (0, 1), (100, 1), (200, Missing("x")), (300, Failed("y")), (400, 1))

    assert [state for state, _ in states] == ["PENDING", "FIRING", "NO_DATA", "ERROR", "FIRING"]


GONE = Missing("gone")


@pytest.mark.parametrize(
    ("policy", "values", "states"),
    [
        # Between the limits it goes on, but does not begin again once it is over.
        (
            Policy(limits=Limits(below=2, clear_above=5), keep=100),
            (3, 1, 3, 5, 3, 1, 3),
            "OK FIRING FIRING RECOVERING RECOVERING FIRING FIRING",
        ),
        # An alert that fires for want of data has no value to clear.
        (
            Policy(limits=Limits(below=2, clear_above=5), no_data="firing"),
            (GONE, 3, 1, GONE, 3, GONE, 5),
            "FIRING OK FIRING FIRING FIRING FIRING OK",
        ),
        # One that has come back for want of data, neither.
        (
            Policy(limits=Limits(below=2, clear_above=5), no_data="firing", keep=100),
            (1, 6, GONE, 3),
            "FIRING RECOVERING FIRING RECOVERING",
        ),
        # Absence that is taken as OK clears, whatever the levels.
        (
            Policy(limits=Limits(above=2, clear_below=1), no_data="ok"),
            (3, 2, GONE, 2, 3),
            "FIRING FIRING OK OK FIRING",
        ),
        # A band: each side has its own level.
        (
            Policy(limits=Limits(below=2, above=6, clear_above=3, clear_below=5)),
            (4, 1, 2, 3, 5, 6, 7, 6, 5),
            "OK FIRING FIRING OK OK OK FIRING FIRING OK",
        ),
    ],
)
def test_hysteresis(policy, values, states):
    """The levels to clear count while it fires for its value, and only then."""
    found = run(policy, *enumerate(values))

    assert [state for state, _ in found] == states.split()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("state", "FINE", "state must be one of OK, PENDING"),
        ("phase", "ERROR", "phase must be one of OK, PENDING, FIRING, RECOVERING, got 'ERROR'"),
        ("since", None, "since must be a finite number, got None"),
        ("at", "now", "at must be a finite number, got 'now'"),
        ("value", True, "value must be a finite number, got True"),
        ("active_at", math.inf, "active_at must be a finite number, got inf"),
        ("reason", 3, "record must have a reason"),
        ("by_absence", None, "record must have a reason and by_absence"),
    ],
)
def test_a_stored_record_is_checked(field, value, message):
    """Whatever is wrong with stored bytes is a ValueError."""
    fields = judge(Policy(), None, Measured.of(1.0), 5.0).to_dict()

    with pytest.raises(ValueError, match=message):
        Record.from_dict({**fields, field: value})


def test_a_stored_change_is_checked():
    """And keeps an infinite value finite, as JSON knows none."""
    change = Change(None, State.FIRING, 3.0, "x", math.inf)

    assert Change.from_dict(change.to_dict()).value > 1e308
    with pytest.raises(ValueError, match="reason"):
        Change.from_dict({**change.to_dict(), "reason": None})
