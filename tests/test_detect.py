"""The detector of the class ratio: its evidence, its states, what it takes and refuses."""

import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamauc import Scale, ScoreHistogram
from streamauc.change.budget import FalseAlarmBudget
from streamauc.change.detect import PrevalenceDetector, State
from streamauc.change.reference import ReferencePanes
from streamauc.change.settings import RATIOS
from streamauc.change.verdict import begin

DAY = 288


def oracle(counts, p0, ratios, run_length):
    """Return the grid's mean of the sum over every beginning of the likelihood ratios since."""
    means = []
    for ratio in ratios:
        odds = ratio * p0 / (1 - p0)
        q = odds / (1 + odds)
        logs = [stats.binom.logpmf(k, n, q) - stats.binom.logpmf(k, n, p0) for k, n in counts]
        gain = stats.bernoulli(q).expect(
            lambda x, q=q: stats.bernoulli.logpmf(x, q) - stats.bernoulli.logpmf(x, p0)
        )
        total = 0.0
        for start, (_, n) in enumerate(counts):
            weight = min(1.0, n * gain * run_length / 10)
            total += weight * math.exp(sum(logs[start:])) if n else 0.0
        means.append(total)
    return np.mean(means)


panes = st.lists(
    st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=12,
)


@given(panes, st.sampled_from([0.01, 0.2, 0.5, 0.9]))
@settings(deadline=None)
def test_evidence_is_the_sum_over_every_beginning(counts, p0):
    """Beside the slow sum, both sides, with empty panes; the threshold is twice the promise."""
    detector = PrevalenceDetector(p0, false_alarm_every=86_400.0, pane_seconds=300)
    for pane, (k, n) in enumerate(counts):
        detector.step(pane, k, n - k)
    if all(n == 0 for _, n in counts):
        assert detector.evidence.panes.size == 0
        return
    for found, grid in (
        (detector.evidence.up, RATIOS),
        (detector.evidence.down, [1 / ratio for ratio in RATIOS]),
    ):
        want = math.log(oracle(counts, p0, grid, DAY) / (2 * DAY))
        assert found[-1] == pytest.approx(want, rel=1e-9, abs=1e-9)


def feed(detector, prevalence, first, n_panes, n=500, seed=0):
    """Step quiet panes; return the first pane at which it alarms."""
    rng = np.random.default_rng(seed)
    for pane in range(first, first + n_panes):
        k = int(rng.binomial(n, prevalence))
        if detector.step(pane, k, n - k) is State.ALARM:
            return pane
    return None


@pytest.mark.parametrize(("prevalence", "direction"), [(0.028, "up"), (0.013, "down")])
def test_an_alarm_says_when_the_change_began(prevalence, direction):
    """Direction, beginning and size of the change, in numbers and in words."""
    detector = PrevalenceDetector(0.02)
    assert feed(detector, 0.02, 1000, 600) is None
    pane = feed(detector, prevalence, 1600, 100, seed=1)

    alarm = detector.alarm
    assert (alarm.direction, alarm.pane) == (direction, pane)
    assert abs(alarm.began - 1600) <= 8
    assert alarm.prevalence == pytest.approx(prevalence, rel=0.2)
    assert alarm.n_pos + alarm.n_neg == 500 * (pane - alarm.began + 1)
    span = f"since {begin(alarm.began, 300)}, found with those until {begin(pane + 1, 300)}"
    for word in (span, "0.02", "rose" if direction == "up" else "fell"):
        assert word in detector.reason
    assert detector.evidence.panes[-1] == pane
    side = detector.evidence.up if direction == "up" else detector.evidence.down
    assert side[-1] >= 0 > side[-2]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_the_beginning_is_the_likeliest(seed):
    """Of every beginning and every ratio, by looking at all of them."""
    rng = np.random.default_rng(seed)
    k = rng.binomial(500, np.where(np.arange(200) < 100, 0.02, 0.026)).tolist()
    detector = PrevalenceDetector(0.02)
    pane = next(i for i, n in enumerate(k) if detector.step(i, n, 500 - n) is State.ALARM)
    alarm = detector.alarm
    grid = np.array(RATIOS) if alarm.direction == "up" else 1 / np.array(RATIOS)

    gains = [np.log(grid) * n - 500 * np.log1p(0.02 * (grid - 1)) for n in k[: pane + 1]]
    since = np.cumsum(gains[::-1], axis=0)[::-1]
    assert alarm.began == int(np.argmax(since.max(axis=1)))
    assert alarm.n_pos == sum(k[alarm.began : pane + 1])


def test_the_beginning_is_found_within_a_few_panes():
    """Median error over 100 changes of 50 %."""
    errors = []
    for seed in range(100):
        detector = PrevalenceDetector(0.02)
        feed(detector, 0.02, 0, 100, seed=seed)
        feed(detector, 0.03, 100, 100, seed=1000 + seed)
        errors.append(detector.alarm.began - 100)
    assert abs(np.median(errors)) <= 1
    assert np.mean(np.abs(errors)) < 5


def test_an_alarm_stays_until_acknowledged():
    """Then the evidence begins anew, with the same reference, and may alarm again."""
    detector = PrevalenceDetector(0.02)
    first = feed(detector, 0.03, 0, 100)
    assert feed(detector, 0.02, first + 1, 50) == first + 1
    alarm = detector.alarm
    detector.acknowledge()

    assert detector.state is State.QUIET
    assert detector.alarm is None
    assert detector.last_pane == first + 1
    again = feed(detector, 0.03, first + 2, 100)
    assert 3 < again - first < 40
    assert detector.alarm.began > alarm.pane


def test_reset_takes_another_reference():
    """What was an alarm is quiet with the reference of after the change."""
    detector = PrevalenceDetector((4_000, 196_000))
    assert feed(detector, 0.03, 0, 100) is not None
    detector.reset((6_000, 194_000))

    assert detector.state is State.QUIET
    assert detector.last_pane is None
    assert feed(detector, 0.03, 0, 500) is None
    with pytest.raises(ValueError, match=r"prevalence in \[0, 1\], got 2"):
        detector.reset(2.0)
    assert detector.baseline.nulls[0].prevalence == 0.03


def test_a_tolerance_is_quiet_up_to_itself():
    """A rise of 25 % is nothing with a tolerance of 0.3, and is found with 0.05."""
    assert feed(PrevalenceDetector(0.02, tolerance=0.3), 0.025, 0, 2000) is None
    assert feed(PrevalenceDetector(0.02, tolerance=0.05), 0.025, 0, 200) is not None


@pytest.mark.parametrize("make", ["pair", "histogram", "window", "totals", "array"])
def test_references_of_every_kind_are_alike(make):
    """Two numbers, a histogram, anything with a histogram or with totals."""
    y = [1] * 30 + [0] * 970
    histogram = ScoreHistogram.from_scores(y, np.linspace(0, 1, 1000), scale=Scale.probability())
    reference = {
        "pair": (30, 970),
        "histogram": histogram,
        "window": SimpleNamespace(histogram=histogram),
        "totals": SimpleNamespace(n_pos=30, n_neg=970),
        "array": np.array([30, 970]),
    }[make]
    null = PrevalenceDetector(reference).baseline.nulls[0]

    assert null.prevalence == 0.03
    assert (null.low, null.high) == pytest.approx((0.01890, 0.04734), abs=1e-4)


def test_a_histogram_is_a_pair_of_counts():
    """`step` takes either; weighted events count as many as would vary as much."""
    y, scores = [1] * 20 + [0] * 480, np.linspace(0, 1, 500)
    plain = ScoreHistogram.from_scores(y, scores, scale=Scale.probability())
    weighted = ScoreHistogram.from_scores(
        y, scores, scale=Scale.probability(), weights=np.full(500, 3.0)
    )
    detectors = [PrevalenceDetector(0.02) for _ in range(3)]
    detectors[0].step(0, 20, 480)
    detectors[1].step(0, plain)
    detectors[2].step(0, weighted)

    first, *others = (detector.evidence.up[0] for detector in detectors)
    assert others == pytest.approx([first, first])


def test_an_overdispersed_reference_is_worth_less():
    """With f times the variance, as much as a binomial one of an f-th of the events."""
    spread = PrevalenceDetector((4_000, 196_000), overdispersion=4.0).baseline.nulls[0]
    small = PrevalenceDetector((1_000, 49_000)).baseline.nulls[0]

    assert (spread.low, spread.high) == pytest.approx((small.low, small.high))
    n_pos = np.array([20, 60] * 50)
    panes = ReferencePanes(np.arange(100), n_pos, 500 - n_pos)
    found = PrevalenceDetector(panes, overdispersion="estimate").baseline
    same = PrevalenceDetector(
        (4_000, 46_000), overdispersion=found.dispersion.factor_of(500)
    ).baseline
    assert found.nulls[0].high == pytest.approx(same.nulls[0].high)
    assert found.nulls[0].high - 0.08 > 0.01


def test_immature_panes_wait():
    """A pane below the coverage stays open, may come again, and is closed by a later one."""
    detector = PrevalenceDetector(0.02, min_coverage=0.9)
    detector.step(5, 400, 100, coverage=0.5)
    detector.step(5, 400, 100, coverage=math.nan)
    assert (detector.last_pane, detector.n_immature) == (None, 2)
    detector.step(5, 10, 490, coverage=0.9)
    detector.step(7, 10, 490, coverage=1.0)
    detector.step(6, 400, 100, coverage=1.0)

    assert (detector.last_pane, detector.n_ignored) == (7, 1)
    assert detector.evidence.panes.tolist() == [5, 7]
    assert detector.state is State.QUIET


def test_coverage_that_never_comes_is_a_stall():
    """After `stall_after`, until a pane is mature; the reason names the coverage."""
    detector = PrevalenceDetector(0.02, stall_after="1h")
    states = [detector.step(pane, 1, 9, coverage=0.4) for pane in range(20)]

    assert states.index(State.STALLED) == 11
    assert (
        "no pane from 1970-01-01 00:00 UTC to 1970-01-01 01:40 UTC was there with"
        in detector.reason
    )
    assert detector.step(20, 10, 490) is State.QUIET


def test_a_stream_without_events_is_a_stall():
    """Empty panes are no evidence; a gap in the panes is none, either."""
    detector = PrevalenceDetector(0.02, stall_after="1h")
    detector.step(0, 10, 490)
    states = [detector.step(pane, 0, 0) for pane in range(1, 30)]

    assert states.index(State.STALLED) == 11
    assert "no labelled events from 1970-01-01 00:05 UTC to 1970-01-01 02:30 UTC" in detector.reason
    assert detector.n_empty == 29
    assert detector.step(10**6, 10, 490) is State.QUIET


def test_a_clock_that_jumped_is_a_stall():
    """Panes from before a jump are ignored; when that goes on, the state says so."""
    detector = PrevalenceDetector(0.02, stall_after="1h")
    detector.step(0, 10, 490)
    detector.step(10**9, 10, 490)
    states = [detector.step(pane, 10, 490) for pane in range(1, 30)]

    assert states.index(State.STALLED) == 12
    assert "has a clock jumped? reset() starts anew" in detector.reason
    for _ in range(100):  # one pane over and over is only a poll
        assert detector.step(10**9 + 1, 10, 490) is State.QUIET


@pytest.mark.parametrize(
    ("reference", "word"),
    [
        ((0, 0), "the reference holds no events"),
        (ReferencePanes([], [], []), "the reference holds no events"),
    ],
)
def test_an_empty_reference_is_a_stall(reference, word):
    """Never an exception from a step."""
    detector = PrevalenceDetector(reference)

    assert detector.step(0, 10, 490) is State.STALLED
    assert detector.reason == word


REFERENCES = (0.0, 1.0, 0.5, 1e-300, (0, 10), (10, 0), (5, 5), (1, 9), (0, 0), (10**15, 1))
STREAMS = {
    "all positive": [(500, 0)] * DAY,
    "all negative": [(0, 500)] * DAY,
    "huge": [(10**18, 3), (3, 10**18)] * 20,
    "single events": [(1, 0), (0, 1)] * 50,
    "weighted": [(0.25, 1e-12), (1e-300, 0.0), (0.0, 1e-300)] * 20,
}


@pytest.mark.parametrize("overdispersion", [1.0, 3.0, 1000.0])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_whatever_comes_there_is_a_state_and_a_reason(reference, stream, overdispersion):
    """One class for a day, tiny and huge panes, references at the ends or of ten events."""
    detector = PrevalenceDetector(reference, overdispersion=overdispersion)
    for pane, (n_pos, n_neg) in enumerate(STREAMS[stream]):
        assert isinstance(detector.step(pane, n_pos, n_neg), State)
        assert detector.reason
    assert not np.isnan(detector.evidence.up).any()
    assert not np.isnan(detector.evidence.down).any()
    assert PrevalenceDetector.from_bytes(detector.to_bytes()).reason == detector.reason


@pytest.mark.parametrize(
    ("reference", "counts", "alarms"),
    [
        (0.0, (0, 500), False),
        (0.0, (1, 499), True),
        (1.0, (500, 0), False),
        (1.0, (499, 1), True),
        ((0, 1000), (0, 500), False),
        ((1, 9), (50, 450), False),
        ((5, 5), (500, 0), True),
        ((5, 5), (0, 500), True),
    ],
)
def test_references_at_the_ends(reference, counts, alarms):
    """What agrees with them stays quiet for a year, what does not is found in a day."""
    detector = PrevalenceDetector(reference)
    states = [detector.step(pane, *counts) for pane in range(DAY if alarms else 365 * DAY)]

    assert (State.ALARM in states) == alarms


def test_streams_that_tell_nothing_do_not_alarm_by_waiting():
    """One event every five minutes, exactly as expected, for a year."""
    detector = PrevalenceDetector(0.02)
    assert feed(detector, 0.0, 0, 1) is None
    states = {detector.step(1 + i, int(i % 50 == 49), int(i % 50 != 49)) for i in range(365 * DAY)}

    assert states == {State.QUIET}


def test_duplicated_batches_are_seen_once():
    """A replay of panes changes nothing but the number ignored."""
    detector = PrevalenceDetector(0.02)
    feed(detector, 0.02, 0, 100)
    before = detector.evidence.up.tolist()
    feed(detector, 0.05, 0, 100)

    assert detector.evidence.up.tolist() == before
    assert detector.n_ignored == 100


def test_history_is_bounded():
    """The last panes only; none when none are asked for."""
    detector = PrevalenceDetector(0.02, history=10)
    feed(detector, 0.02, 0, 50)
    assert detector.evidence.panes.tolist() == list(range(40, 50))
    detector = PrevalenceDetector(0.02, history=0)
    feed(detector, 0.02, 0, 50)
    assert detector.evidence.up.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 1.0}, r"tolerance must be in \[0, 1\), got 1.0"),
        ({"tolerance": math.nan}, "tolerance must be"),
        ({"level": 1}, r"level must be in \(0, 1\), got 1"),
        ({"false_alarm_every": 100}, "at least one pane of 300 s, got 100"),
        ({"pane_seconds": 0}, "pane_seconds must be at least 1, got 0"),
        ({"seasonal": 1000}, "multiple of a pane of 300 s, got 1000 s"),
        ({"overdispersion": 0.5}, 'at least 1, or "estimate", got 0.5'),
        ({"overdispersion": 0.0}, 'at least 1, or "estimate", got 0.0'),
        ({"overdispersion": "much"}, "got 'much'"),
        ({"overdispersion": "estimate"}, "needs a reference pane by pane"),
        ({"min_coverage": 1.5}, r"min_coverage must be in \[0, 1\], got 1.5"),
        ({"ratios": ()}, "ratios must hold 1 to 1000 ratios, got 0"),
        ({"ratios": (1.2, 1.0)}, r"ratios must be in \(1, 1e6\], got 1.0 at index 1"),
        ({"stall_after": 1}, "stall_after must be at least one pane"),
        ({"reference": 1.5}, r"prevalence in \[0, 1\], got 1.5"),
        ({"reference": (1, 2, 3)}, r"counts must be \(n_pos, n_neg\)"),
        ({"reference": (-1, 2)}, r"n_pos must be a count from 0 to 2\*\*63, got -1"),
        ({"reference": [(1, 2)] * 5, "seasonal": "1d"}, "divides the 288 panes of a season, got 5"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    """Argument, requirement and value."""
    with pytest.raises(ValueError, match=message):
        PrevalenceDetector(**{"reference": 0.02, **arguments})


@pytest.mark.parametrize("reference", ["2%", None, object(), {1: (1, 2)}])
def test_what_is_no_reference_is_refused(reference):
    """Text, nothing, and phases without a season."""
    with pytest.raises((TypeError, ValueError), match="must be"):
        PrevalenceDetector(reference)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, -1, 5), "n_pos must be a count"),
        ((0, 5, math.nan), "n_neg must be a count"),
        ((0, 5), "n_neg must be a count, got None"),
        ((0, True, 5), "n_pos must be a count, got True"),
        ((0.5, 1, 5), "pane must be an integer, got 0.5"),
        ((2**70, 1, 5), "pane must be in"),
    ],
)
def test_bad_steps_change_nothing(arguments, message):
    """What is no pane or no count is refused in the call that brought it."""
    detector = PrevalenceDetector(0.02)
    before = detector.to_bytes()
    with pytest.raises((TypeError, ValueError), match=message):
        detector.step(*arguments)
    assert detector.to_bytes() == before


def test_a_budget_adds_up():
    """The rates of all detectors make that of the budget, by weight."""
    shares = FalseAlarmBudget("30d").split("abcd", {"a": 3, "b": 0.5})

    assert sum(1 / every for every in shares.values()) == pytest.approx(1 / (30 * 86_400))
    assert shares["b"] == 6 * shares["a"] == 2 * shares["c"]
    with pytest.raises(ValueError, match="none twice"):
        FalseAlarmBudget("30d").split(["a", "a"])
    with pytest.raises(ValueError, match="got one for 'z'"):
        FalseAlarmBudget("30d").split(["a"], {"z": 1})
    with pytest.raises(ValueError, match=r"the weight of a must be positive, got 0\.0"):
        FalseAlarmBudget("30d").split(["a"], {"a": 0})


def test_pickled_detectors_go_on():
    """Copies for worker pools."""
    detector = PrevalenceDetector(0.02)
    feed(detector, 0.02, 0, 20)
    copy = pickle.loads(pickle.dumps(detector))  # noqa: S301 - our own bytes

    assert copy.step(20, 30, 470) is detector.step(20, 30, 470)
    assert copy.to_bytes() == detector.to_bytes()
    assert repr(copy) == repr(detector)
