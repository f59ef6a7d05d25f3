"""What both detectors of ranks keep: states, panes seen once, bytes, and messages."""

import functools
import math
import pickle
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from change.rank_streams import histogram, logistic
from hypothesis import given, settings
from hypothesis import strategies as st

from streamauc import PrevalenceDetector, Scale, ScoreHistogram
from streamauc.change.budget import FalseAlarmBudget
from streamauc.change.detect import State
from streamauc.change.ranking_detector import RankingDetector
from streamauc.change.shift_detector import ShiftDetector
from streamauc.change.verdict import begin
from streamauc.codec import DetectorState, decode_detector, encode_detector
from streamauc.codec.message import DETECTOR, seal

DETECTORS = (RankingDetector, ShiftDetector)
TABLES = ("settings", "counters", "reals", "marks")
EMPTY = ScoreHistogram.empty(Scale.probability())
KINDS = {RankingDetector: "ranking", ShiftDetector: "scores"}
both = pytest.mark.parametrize("kind", DETECTORS)


@functools.cache
def reference(n=20_000, seed=99, **kwargs):
    return logistic(n, np.random.default_rng(seed), **kwargs)


@functools.cache
def quiet(seed):
    return logistic(500, np.random.default_rng(seed))


@functools.cache
def moved(seed):
    """Return a pane in which positives are scored like negatives: either detector sees it."""
    return logistic(500, np.random.default_rng(seed), apart=0.0)


def feed(detector, panes, make):
    """Step panes until it alarms; return the pane."""
    for pane in panes:
        if detector.step(pane, make(pane)) is State.ALARM:
            return pane
    return None


@both
def test_an_alarm_says_when_the_change_began(kind):
    """Direction, beginning and size of the change, in numbers and in words."""
    detector = kind(reference())
    assert feed(detector, range(1000, 1200), quiet) is None
    pane = feed(detector, range(1200, 1260), moved)
    alarm = detector.alarm

    assert (alarm.pane, alarm.direction) == (pane, "down")
    assert abs(alarm.began - 1200) <= 4
    n = sum(moved(k).totals[1] for k in range(max(1200, alarm.began), pane + 1))
    n += sum(quiet(k).totals[1] for k in range(alarm.began, 1200))
    assert n == (alarm.n_pos if kind is RankingDetector else alarm.n)
    span = f"since {begin(alarm.began, 300)}, found with those until {begin(pane + 1, 300)}"
    for word in (span, "fell"):
        assert word in detector.reason
    assert detector.evidence.panes[-1] == pane
    assert detector.evidence.down[-1] >= 0 > detector.evidence.down[-2]


@both
def test_an_alarm_stays_until_acknowledged(kind):
    """Then the evidence begins anew, with the same reference, and may alarm again."""
    detector = kind(reference())
    first = feed(detector, range(100), moved)
    alarm = detector.alarm
    for pane in range(first + 1, first + 9):
        make = moved if pane < first + 5 else quiet
        assert detector.step(pane, make(pane)) is State.ALARM
        assert detector.alarm == alarm
    detector.acknowledge()

    assert (detector.state, detector.alarm, detector.last_pane) == (State.QUIET, None, first + 8)
    again = feed(detector, range(first + 9, first + 60), moved)
    assert 9 < again - first < 50
    assert detector.alarm.began > alarm.pane


@both
def test_reset_takes_another_reference(kind):
    """What was an alarm is quiet with the reference of after the change."""
    detector = kind(reference())
    assert feed(detector, range(100), moved) is not None
    detector.reset(reference(apart=0.0))

    assert (detector.state, detector.last_pane) == (State.QUIET, None)
    assert feed(detector, range(100), moved) is None
    before = detector.to_bytes()
    with pytest.raises((TypeError, ValueError), match="reference must"):
        detector.reset("0.9")
    assert detector.to_bytes() == before


@both
def test_windows_are_references(kind):
    """Anything with a histogram is as good as the histogram."""
    plain, window = kind(reference()), kind(SimpleNamespace(histogram=reference()))
    assert window.to_bytes() == plain.to_bytes()


@both
def test_immature_panes_wait(kind):
    """A pane below the coverage stays open, may come again, and is closed by a later one."""
    detector = kind(reference(), min_coverage=0.9)
    detector.step(5, moved(5), coverage=0.5)
    detector.step(5, moved(5), coverage=math.nan)
    assert (detector.last_pane, detector.n_immature) == (None, 2)
    detector.step(5, quiet(5), coverage=0.9)
    detector.step(7, quiet(7))
    detector.step(6, moved(6))

    assert (detector.last_pane, detector.n_ignored) == (7, 1)
    assert detector.evidence.panes.tolist() == [5, 7]
    assert detector.state is State.QUIET


@both
def test_polling_twice_changes_nothing(kind):
    """Whoever polls, a pane counts once."""
    once, often = kind(reference()), kind(reference())
    for pane in range(30):
        once.step(pane, quiet(pane))
        for _ in range(3):
            often.step(pane, quiet(pane))

    assert often.evidence.down.tolist() == once.evidence.down.tolist()
    assert often.n_ignored == 60


@both
def test_coverage_that_never_comes_is_a_stall(kind):
    """After `stall_after`, until a pane is mature; the reason names the coverage."""
    detector = kind(reference(), stall_after="1h")
    states = [detector.step(pane, EMPTY, coverage=0.4) for pane in range(20)]

    assert states.index(State.STALLED) == 11
    assert (
        "no pane from 1970-01-01 00:00 UTC to 1970-01-01 01:40 UTC was there with"
        in detector.reason
    )
    assert detector.step(20, quiet(20)) is State.QUIET


@both
def test_a_stream_without_events_is_a_stall(kind):
    """Empty panes are no evidence; a gap in the panes is none, either."""
    detector = kind(reference(), stall_after="1h")
    detector.step(0, quiet(0))
    states = [detector.step(pane, EMPTY) for pane in range(1, 30)]

    assert states.index(State.STALLED) == 11
    assert "no labelled events from 1970-01-01 00:05 UTC to 1970-01-01 02:30 UTC" in detector.reason
    assert detector.n_empty == 29
    assert detector.step(10**6, quiet(1)) is State.QUIET


@both
def test_a_clock_that_jumped_is_a_stall(kind):
    """Panes from before a jump are ignored; when that goes on, the state says so."""
    detector = kind(reference(), stall_after="1h")
    detector.step(0, quiet(0))
    detector.step(10**9, quiet(1))
    states = [detector.step(pane, quiet(pane)) for pane in range(1, 30)]

    assert states.index(State.STALLED) == 12
    assert "has a clock jumped? reset() starts anew" in detector.reason


@both
def test_before_the_first_pane_it_says_so(kind):
    detector = kind(reference(), history=0)
    assert detector.state is State.QUIET
    assert detector.reason.startswith("no mature pane with")
    detector.step(0, quiet(0))
    assert "agree" in detector.reason
    assert detector.evidence.up.shape == (0,)


STREAMS = {
    "all positive": [([0.5] * 50, [])] * 40,
    "all negative": [([], [0.5] * 50)] * 40,
    "single events": [([0.1], []), ([], [0.9])] * 40,
    "one score": [([0.5] * 9, [0.5] * 90)] * 40,
    "perfect": [([0.9] * 9, [0.1] * 90)] * 40,
    "backwards": [([0.1] * 9, [0.9] * 90)] * 40,
    "outside": [([0.0, 1.0] * 9, [0.0, 1.0] * 9)] * 40,
}
REFERENCES = {
    "empty": ([], []),
    "one class": ([0.5] * 9, []),
    "one each": ([0.5], [0.4]),
    "one score": ([0.5] * 90, [0.5] * 90),
    "separated": ([0.9] * 90, [0.1] * 900),
    "usual": (np.linspace(0.3, 1, 90), np.linspace(0, 0.7, 900)),
}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", REFERENCES)
@both
def test_whatever_comes_there_is_a_state_and_a_reason(kind, name, stream):
    """One class, one score, perfect ranking, references at the ends or of a few events."""
    scale = Scale.probability()
    detector = kind(histogram(*REFERENCES[name], scale))
    for pane, (pos, neg) in enumerate(STREAMS[stream]):
        assert isinstance(detector.step(pane, histogram(pos, neg, scale)), State)
        assert detector.reason
    assert not np.isnan(detector.evidence.up).any()
    assert not np.isnan(detector.evidence.down).any()
    assert kind.from_bytes(detector.to_bytes()).reason == detector.reason


@both
def test_an_empty_reference_is_a_stall(kind):
    """Never an exception from a step."""
    detector = kind(EMPTY)
    assert detector.step(0, quiet(0)) is State.STALLED
    assert detector.reason.startswith("the reference holds")
    assert (detector.last_pane, detector.evidence.panes.size) == (0, 0)


@both
def test_weights_are_taken(kind):
    """Weights all alike change nothing; others are worth fewer events."""
    plain, weighted, uneven = (kind(reference()) for _ in range(3))
    rng = np.random.default_rng(1)
    pos, neg = rng.random(20), rng.random(200)
    scale = Scale.probability()
    plain.step(0, histogram(pos, neg, scale))
    weighted.step(0, histogram(pos, neg, scale, weights=np.full(220, 3.0)))
    uneven.step(0, histogram(pos, neg, scale, weights=rng.exponential(1, 220)))

    found = [max(one.evidence.up[0], one.evidence.down[0]) for one in (plain, weighted, uneven)]
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    assert found[2] < found[0]
    assert kind.from_bytes(uneven.to_bytes()).to_bytes() == uneven.to_bytes()


@both
def test_a_budget_is_a_promise_of_seconds(kind):
    """A share of a budget is taken as `false_alarm_every`."""
    shares = FalseAlarmBudget("30d").split(["a", "b"])
    detector, strict = kind(reference()), kind(reference(), false_alarm_every=shares["a"])
    for one in (detector, strict):
        one.step(0, quiet(0))
    apart = detector.evidence.down[0] - strict.evidence.down[0]
    assert apart == pytest.approx(math.log(2), abs=0.02)  # some weights differ a little, too


SETTINGS = [
    {},
    {"tolerance": 0.01, "history": 3, "ratios": (1.5, 2), "stall_after": "1h", "level": 0.9},
]


@pytest.mark.parametrize("arguments", SETTINGS, ids=["usual", "other"])
@both
def test_a_detector_read_back_goes_on(kind, arguments):
    """At every pane, through an alarm and after a reset; byte for byte."""
    one = kind(reference(), **arguments)
    rng = np.random.default_rng(3)
    for pane in range(30):
        other = kind.from_bytes(one.to_bytes())
        assert other.to_bytes() == one.to_bytes()
        pane_scores = logistic(int(rng.integers(0, 300)), rng, apart=0.5 if pane < 15 else -2.0)
        coverage = float(rng.choice([0.5, 1.0], p=[0.1, 0.9]))
        for detector in (one, other):
            detector.step(pane, pane_scores, coverage=coverage)
        assert other.to_bytes() == one.to_bytes()
        assert (other.state, other.reason, other.alarm) == (one.state, one.reason, one.alarm)
        assert other.evidence.up.tolist() == one.evidence.up.tolist()
    assert one.alarm is not None
    for detector in (one, other):
        detector.acknowledge()
        detector.reset(reference())
    assert other.to_bytes() == one.to_bytes()


@pytest.mark.parametrize(
    "scale",
    [
        Scale.exact(),
        Scale.probability(bits=3, thresholds=(0.5, 0.7)),
        Scale.real(bits=12, thresholds=(-1.5, 0.0)),
    ],
    ids=str,
)
@both
def test_every_scale_is_written_down(kind, scale):
    """The bins of any scale come back from their edges; also of what waits to be judged."""
    rng = np.random.default_rng(2)
    low = 0.0 if scale.kind == "probability" else -1.0
    pos, neg = rng.uniform(low, 1, 40), rng.uniform(low, 1, 400)
    detector = kind(histogram(pos, neg, scale))
    detector.step(0, histogram([low], [1.0, low], scale))
    copy = kind.from_bytes(detector.to_bytes())
    for pane in range(1, 9):
        for one in (detector, copy):
            one.step(pane, histogram(pos[pane : pane + 2], neg[pane : pane + 5], scale))

    assert copy.to_bytes() == detector.to_bytes()
    assert copy.evidence.panes.size > 1


@both
def test_pickled_detectors_go_on(kind):
    """Copies for worker pools."""
    detector = kind(reference())
    for pane in range(20):
        detector.step(pane, quiet(pane))
    copy = pickle.loads(pickle.dumps(detector))  # noqa: S301 - our own bytes

    assert copy.step(20, moved(20)) is detector.step(20, moved(20))
    assert copy.to_bytes() == detector.to_bytes()
    assert repr(copy) == repr(detector)
    assert repr(copy).startswith(kind.__name__)


@functools.cache
def some_bytes(kind):
    detector = kind(reference(500, seed=1), history=5, ratios=(1.3, 2.0))
    for pane in range(9):
        detector.step(pane, quiet(pane))
    detector.step(9, histogram([0.5], [0.4], Scale.probability()))  # waits to be judged
    return detector.to_bytes()


@both
def test_altered_bytes_are_refused(kind):
    """One bit anywhere, and truncation anywhere."""
    for place in range(0, len(some_bytes(kind)), 29):
        data = bytearray(some_bytes(kind))
        data[place] ^= 4
        for spoilt in (bytes(data), some_bytes(kind)[:place]):
            with pytest.raises(ValueError, match="data "):
                kind.from_bytes(spoilt)


@both
def test_other_messages_are_named(kind):
    """A histogram is no detector, one of the class ratio none of ranks, nor is tomorrow's."""
    (other,) = set(DETECTORS) - {kind}
    ratio = PrevalenceDetector(0.02).to_bytes()
    for data, message in (
        (EMPTY.to_bytes(), "must hold a detector, got a histogram"),
        (ratio, f"must hold a detector of the {KINDS[kind]}, got another one"),
        (some_bytes(other), f"must hold a detector of the {KINDS[kind]}, got another one"),
    ):
        with pytest.raises(ValueError, match=message):
            kind.from_bytes(data)
    with pytest.raises(ValueError, match="data is malformed"):
        PrevalenceDetector.from_bytes(some_bytes(kind))
    header = struct.pack("<4sBBIII", b"SAUC", 2, DETECTOR, 0, 0, zlib.crc32(b""))
    with pytest.raises(ValueError, match="version 2, newer"):
        kind.from_bytes(header + struct.pack("<I", zlib.crc32(header)))


def changed(kind, **tables):
    """Return the bytes of a detector with some of its tables replaced."""
    found = decode_detector(some_bytes(kind))
    parts = {name: {**getattr(found, name), **tables.get(name, {})} for name in TABLES}
    return encode_detector(DetectorState(**parts))


HEAD = (0.0, 7.0)
NAMES = {RankingDetector: ("roc_auc", "pending"), ShiftDetector: ("positives", "reference")}


@pytest.mark.parametrize(
    ("field", "name", "rows"),
    [
        ("settings", "pane_seconds", 0.0),
        ("settings", "history", math.inf),
        ("settings", "history", 1e300),
        ("settings", "season", 86_400.0),
        ("settings", "overdispersion", 2.0),
        ("counters", "n_lost", 1),
        ("reals", "TRACK nulls", []),
        ("reals", "TRACK nulls", [(0.5, 0.2, 0.3)]),
        ("reals", "TRACK nulls", [(0.1, 0.2, 0.2)] * 2),
        ("reals", "TRACK counted", [(-1.0, 2.0)]),
        ("reals", "TRACK counted", [(math.nan, 2.0)]),
        ("reals", "histogram KEPT", []),
        ("reals", "histogram KEPT", [HEAD, (0.5,), (1.0,)]),
        ("reals", "histogram KEPT", [HEAD, (0.5,), (1.0,), ()]),
        ("reals", "histogram KEPT", [HEAD, (0.5,), (-1.0,), (1.0,)]),
        ("reals", "histogram KEPT", [HEAD, (0.5,), (math.nan,), (1.0,)]),
        ("reals", "histogram KEPT", [HEAD, (0.5,), (1e19,), (1.0,)]),
        ("reals", "histogram KEPT", [HEAD, (0.5,), (1.0,), (1.0,), (math.inf,), (1.0,)]),
        ("reals", "histogram KEPT", [HEAD, (0.5, 0.4), (1.0, 1.0), (1.0, 1.0)]),
        ("reals", "histogram KEPT", [HEAD, (1.5,), (1.0,), (1.0,)]),
        ("reals", "histogram KEPT", [(3.0, 7.0), (0.5,), (1.0,), (1.0,)]),
        ("reals", "histogram KEPT", [(0.0, 7.5), (0.5,), (1.0,), (1.0,)]),
        ("reals", "histogram KEPT", [(0.0, math.inf), (0.5,), (1.0,), (1.0,)]),
        ("reals", "histogram KEPT", [(0.0, 99.0), (0.5,), (1.0,), (1.0,)]),
        ("reals", "histogram KEPT", [(0.0,), (0.5,), (1.0,), (1.0,)]),
        ("marks", "TRACK mixture", []),
        ("marks", "TRACK mixture", [(0, (math.nan, 0.0, 0.0, 0.0))] * 4),
        ("marks", "TRACK alarm", [(0, (1.0, 2.0, 3.0))]),
        ("marks", "TRACK history", [(0, (1.0,))]),
    ],
    ids=str,
)
@both
def test_states_that_no_detector_has_are_refused(kind, field, name, rows):
    """Behind right checksums, too."""
    kind.from_bytes(changed(kind))
    track, kept = NAMES[kind]
    name = name.replace("TRACK", track).replace("KEPT", kept)
    with pytest.raises(ValueError, match=r"must|data is malformed|unpack|convert"):
        kind.from_bytes(changed(kind, **{field: {name: rows}}))


def test_two_alarms_at_once_are_refused():
    """Only one class can have been the first."""
    alarm = [(3, (1.0, 5.0, 0.6)), (1, ())]
    one = ShiftDetector.from_bytes(changed(ShiftDetector, marks={"negatives alarm": alarm}))
    assert (one.alarm.which, one.alarm.direction, one.alarm.mean_rank) == ("negatives", "up", 0.6)
    both_moved = {"negatives alarm": alarm, "positives alarm": alarm}
    with pytest.raises(ValueError, match="two alarms at once"):
        ShiftDetector.from_bytes(changed(ShiftDetector, marks=both_moved))


@both
def test_what_is_missing_is_refused(kind):
    """Without any one of its tables but an alarm, which there need not be."""
    found = decode_detector(some_bytes(kind))
    for field in ("settings", "reals", "marks"):
        for name in getattr(found, field):
            parts = {key: dict(getattr(found, key)) for key in TABLES}
            del parts[field][name]
            with pytest.raises(ValueError, match="data is malformed"):
                kind.from_bytes(encode_detector(DetectorState(**parts)))


@both
@given(st.data())
@settings(deadline=None, max_examples=60)
def test_spoilt_bodies_in_a_valid_seal_are_read_or_refused(kind, data):
    """Never another exception, and what is read can be stepped."""
    body = bytearray(zlib.decompress(some_bytes(kind)[22:]))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        detector = kind.from_bytes(seal(DETECTOR, bytes(body)))
    except ValueError:
        return
    detector.step(10**6, EMPTY)
    assert detector.reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 1.0}, r"tolerance must be in \[0, 1\), got 1.0"),
        ({"tolerance": math.nan}, "tolerance must be"),
        ({"level": 1}, r"level must be in \(0, 1\), got 1"),
        ({"false_alarm_every": 100}, "at least one pane of 300 s, got 100"),
        ({"pane_seconds": 0}, "pane_seconds must be at least 1, got 0"),
        ({"min_coverage": 1.5}, r"min_coverage must be in \[0, 1\], got 1.5"),
        ({"ratios": ()}, "ratios must hold 1 to 1000 ratios, got 0"),
        ({"ratios": (1.2, 1.0)}, r"ratios must be in \(1, 1e6\], got 1.0 at index 1"),
        ({"stall_after": 1}, "stall_after must be at least one pane"),
        ({"history": -1}, r"history must be in \[0, 1000000\], got -1"),
        ({"reference": "0.9"}, "reference must be"),
        ({"reference": None}, "reference must be"),
        ({"reference": ScoreHistogram.empty(Scale.exact(), 3)}, "reference must have 2 classes"),
    ],
    ids=str,
)
@both
def test_bad_settings_are_named(kind, arguments, message):
    """Argument, requirement and value."""
    with pytest.raises((TypeError, ValueError), match=message):
        kind(**{"reference": reference(), **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, EMPTY), "pane must be an integer, got 0.5"),
        ((2**70, EMPTY), "pane must be in"),
        ((1, 5), "histogram must be a ScoreHistogram, got 5"),
        ((1, None), "histogram must be a ScoreHistogram, got None"),
        ((1, ScoreHistogram.empty(Scale.probability(), 3)), "must have two classes, got 3"),
        ((1, ScoreHistogram.empty(Scale.real())), "real"),
    ],
    ids=str,
)
@both
def test_bad_steps_change_nothing(kind, arguments, message):
    """What is no pane or no histogram that fits is refused in the call that brought it."""
    detector = kind(reference())
    detector.step(0, histogram([0.5], [0.4], Scale.probability()))  # waits to be judged
    before = detector.to_bytes()
    with pytest.raises((TypeError, ValueError), match=message):
        detector.step(*arguments)
    assert detector.to_bytes() == before
