"""The alarm of the ranking: its promise, what it finds how soon, and what is nothing to it."""

import math
import os
from types import SimpleNamespace

import numpy as np
import pytest
from change.rank_streams import (
    Runs,
    block_square,
    blocks,
    distance,
    histogram,
    logistic,
    ranking_values,
    wins,
    won,
)
from hypothesis import given
from hypothesis import strategies as st

from streamauc import PrevalenceDetector, Scale, ScoreHistogram, roc_auc, threshold_counts
from streamauc.change.bets import _rank_variance
from streamauc.change.detect import State
from streamauc.change.ranking_detector import RankingDetector
from streamauc.change.settings import RATIOS
from streamauc.metrics.intervals import roc_auc_interval

LONG = os.environ.get("STREAMAUC_LONG") == "1"
MONTH = 30 * 288  # five-minute panes
DAY = 288
AUC = 0.85


def normal(rng, n_runs, n, centre=0.0, spread=1.0):
    return centre + spread * rng.standard_normal((n_runs, n))


def quiet_runs(n_runs, promise, sizes, null, make, *, times=10):
    """Return the time to an alarm of many quiet runs, censored; `make` gives a pane's scores."""
    runs = Runs(null, n_runs, promise)
    while runs.n_panes < times * promise and not runs.is_over:
        runs.fold(*ranking_values(*make(runs.n_panes, *sizes)))
    return np.minimum(runs.times, times * promise)


@pytest.mark.parametrize("sizes", [(2, 38), (8, 8), (20, 4)], ids=str)
def test_false_alarms_are_as_rare_as_promised(sizes):
    """Quiet runs, known AUC: the mean time to an alarm, censored at some times the promise."""
    promise, n_runs, times = (MONTH, 100, 3) if LONG else (100, 200, 10)
    rng = np.random.default_rng(1)
    centre = distance(AUC)

    def make(_, n_pos, n_neg):
        return normal(rng, n_runs, n_pos, centre), normal(rng, n_runs, n_neg)

    found = quiet_runs(n_runs, promise, sizes, (AUC, AUC), make, times=times)
    assert found.mean() >= promise
    assert (found < times * promise).mean() > 0.05 * times  # the detector is not just deaf


def test_the_promise_holds_where_the_auc_wanders_in_the_null():
    """From one end of a null that a tolerance has made wide to the other, and back."""
    promise, n_runs, rng = 100, 150, np.random.default_rng(2)
    ends = distance(0.83), distance(0.87)

    def make(pane, n_pos, n_neg):
        return normal(rng, n_runs, n_pos, ends[pane // 40 % 2]), normal(rng, n_runs, n_neg)

    found = quiet_runs(n_runs, promise, (4, 36), (0.83, 0.87), make)
    assert found.mean() >= promise


def test_the_promise_holds_whatever_the_scores_are():
    """Every pane is scored anew: moved, stretched, put on few values; the AUC stays."""
    promise, n_runs, rng = 100, 150, np.random.default_rng(3)
    moves = rng.normal(0, 2, 10 * promise)
    shares = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    tied = float(np.dot(shares[0], np.cumsum(shares[1]) - shares[1] / 2))
    centre = distance(tied)

    def make(pane, n_pos, n_neg):
        if pane % 3 == 0:
            return tuple(
                rng.choice(4, (n_runs, n), p=p) for n, p in zip((n_pos, n_neg), shares, strict=True)
            )
        pos, neg = normal(rng, n_runs, n_pos, centre), normal(rng, n_runs, n_neg)
        return tuple(np.exp(moves[pane] + 0.1 * (1 + pane % 7) * part) for part in (pos, neg))

    found = quiet_runs(n_runs, promise, (4, 36), (tied, tied), make)
    assert found.mean() >= promise


def test_the_promise_with_an_estimated_auc():
    """Given a reference of 2,000 events, over many references."""
    promise, n_runs = 60, 40
    times = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        detector = RankingDetector(
            logistic(2_000, rng, prevalence=0.2), false_alarm_every=promise * 300
        )
        states = (
            detector.step(pane, logistic(30, rng, prevalence=0.2)) is State.ALARM
            for pane in range(5 * promise)
        )
        times.append(next((i + 1 for i, alarm in enumerate(states) if alarm), 5 * promise))
    assert np.mean(times) >= promise


def test_the_simulation_is_the_class():
    """The runs of the simulation alarm where the class does."""
    rng = np.random.default_rng(5)
    n_runs, n_panes, null = 20, 60, (0.84, 0.86)
    centres = distance(0.85) + rng.choice([-1.0, -0.3, 0.0, 1.0], n_runs)[:, None]
    panes = [
        (rng.standard_normal((n_runs, k)) + centres, rng.standard_normal((n_runs, 40)))
        for k in rng.integers(2, 12, n_panes)
    ]
    runs = Runs(null, n_runs, 100.0)
    for pos, neg in panes:
        runs.fold(*ranking_values(pos, neg))
    found = []
    for run in range(n_runs):
        detector = RankingDetector(
            0.85, tolerance=0.01, pane_seconds=10, false_alarm_every=1000.0, stall_after=1000.0
        )
        states = [
            detector.step(pane, histogram(pos[run], neg[run]))
            for pane, (pos, neg) in enumerate(panes)
        ]
        found.append(next((i + 1 for i, s in enumerate(states) if s is State.ALARM), n_panes + 1))

    assert runs.times.tolist() == found
    assert len(set(found)) > 7


def first_alarm(detector, make, n_panes):
    return next((k for k in range(n_panes) if detector.step(k, make(k)) is State.ALARM), n_panes)


def median_delay(before, after, *, n_reference=None, n_runs=20, n_panes=150):
    """Return the median of panes of 500 events, 2 % positives, with a promise of 30 days."""
    found = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        reference = before
        if n_reference is not None:
            reference = logistic(n_reference, rng, apart=distance(before))
        panes = (logistic(500, rng, apart=distance(after)) for _ in range(n_panes))
        detector = RankingDetector(reference)
        found.append(1 + first_alarm(detector, lambda _, panes=panes: next(panes), n_panes))
    return float(np.median(found))


@pytest.mark.parametrize(
    ("before", "after", "n_reference", "limit"),
    [
        (0.85, 0.75, None, 18),
        (0.85, 0.75, 200_000, 19),
        (0.85, 0.75, 20_000, 26),
        (0.95, 0.90, 200_000, 25),
        (0.85, 0.90, 200_000, 60),
        (0.99, 0.97, 200_000, 26),
    ],
)
def test_changes_are_found_soon(before, after, n_reference, limit):
    """Medians of panes, against a known and an estimated reference, down and up."""
    assert median_delay(before, after, n_reference=n_reference) < limit


def recalibrated(move, *, slope=1.0, prevalence=0.02, n=500):
    """Return panes whose logits are moved and stretched from pane 100 on."""
    rng = np.random.default_rng(7)

    def make(pane):
        labels = (rng.random(n) < prevalence).astype(int)
        logits = rng.standard_normal(n) + distance(AUC) * labels - 3
        if pane >= 100:
            logits = slope * logits + move
        return ScoreHistogram.from_scores(
            labels, 1 / (1 + np.exp(-logits)), scale=Scale.probability()
        )

    return make


@pytest.mark.parametrize(
    "change", [{"move": 0.3}, {"move": -2.0}, {"move": 0, "slope": 2}, {"move": 5, "slope": 0.2}]
)
def test_a_recalibration_is_nothing(change):
    """Every logit moved or stretched: days of five-minute panes."""
    detector = RankingDetector(logistic(200_000, np.random.default_rng(1)))
    n_panes = 20 * DAY if LONG else 700
    assert first_alarm(detector, recalibrated(**change), n_panes) == n_panes


def test_another_class_ratio_is_nothing():
    """Five times as many positives, which the class ratio's own detector sees at once."""
    reference = logistic(200_000, np.random.default_rng(1))
    ranking, ratio = RankingDetector(reference), PrevalenceDetector(reference)
    make = recalibrated(0.0, prevalence=0.1)
    for pane in range(300):
        found = make(pane)
        ranking.step(pane, found)
        ratio.step(pane, found)
    assert (ranking.state, ratio.state) == (State.QUIET, State.ALARM)


@given(st.integers(0, 10**6), st.sampled_from([(3, 9), (8, 8), (1, 30)]))
def test_any_increasing_map_of_the_scores_is_nothing(seed, sizes):
    """On the exact scale, to the last bit; nor is turning around both labels and scores."""
    rng = np.random.default_rng(seed)
    plain, mapped, turned = (RankingDetector(0.7) for _ in range(3))
    for pane in range(3):
        pos, neg = (rng.integers(0, 9, n) / 8 for n in sizes)
        plain.step(pane, histogram(pos, neg))
        mapped.step(pane, histogram(np.exp(3 * pos) - 5, np.exp(3 * neg) - 5))
        turned.step(pane, histogram(-neg, -pos))

    assert mapped.evidence.down.tolist() == plain.evidence.down.tolist()
    assert turned.evidence.down == pytest.approx(plain.evidence.down, rel=1e-9)
    assert turned.evidence.up == pytest.approx(plain.evidence.up, rel=1e-9)


def oracle(panes, m, ratios, run_length):
    """Return the grid's mean of the sum over every beginning of what was won since."""
    means = []
    for ratio in ratios:
        # Downwards is upwards for what is left to 1.
        r, odds = (m, ratio) if ratio > 1 else (1 - m, 1 / ratio)
        target = odds * r / (1 - r + odds * r)
        move = target - r
        logs, weights = [], []
        for pos, neg in panes:
            found = wins(np.array(pos), np.array(neg))
            n, i, j = blocks(len(pos), len(neg))
            variance = target * (1 - target) + (i + j - 2) * _rank_variance(target)
            kelly = move * target / (r * (variance / (i * j) + move * target))
            stake = SimpleNamespace(bet=kelly, base=-kelly * r, loss=math.log1p(-kelly * r))
            found = found if ratio > 1 else 1 - found
            gain = won(stake, target, np.array(variance / (i * j) + target**2))
            logs.append(n * won(stake, found.mean(), block_square(found, i, j)))
            weights.append(min(1.0, n * gain * run_length / 10))
        means.append(sum(w * math.exp(math.fsum(logs[start:])) for start, w in enumerate(weights)))
    return np.mean(means)


pane_scores = st.tuples(
    st.lists(st.integers(0, 8), min_size=4, max_size=9),
    st.lists(st.integers(0, 8), min_size=4, max_size=30),
)


@given(st.lists(pane_scores, min_size=1, max_size=6), st.sampled_from([0.5, 0.7, 0.95]))
def test_evidence_is_the_sum_over_every_beginning(panes, m):
    """Beside the slow sum, both sides; the threshold is twice the promise."""
    detector = RankingDetector(m, false_alarm_every=86_400.0, pane_seconds=300)
    for pane, (pos, neg) in enumerate(panes):
        detector.step(pane, histogram(np.array(pos) / 8, np.array(neg) / 8))
    for found, grid in (
        (detector.evidence.up, RATIOS),
        (detector.evidence.down, [1 / ratio for ratio in RATIOS]),
    ):
        want = math.log(oracle(panes, m, grid, DAY) / (2 * DAY))
        assert found[-1] == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_the_alarm_has_the_auc_since_its_beginning():
    """The mean of the panes' AUCs, weighted by their positives, exactly."""
    rng = np.random.default_rng(4)
    detector = RankingDetector(0.85)
    panes = [logistic(500, rng, apart=distance(0.85 if k < 50 else 0.7)) for k in range(100)]
    pane = next(k for k, one in enumerate(panes) if detector.step(k, one) is State.ALARM)
    alarm = detector.alarm
    since = [threshold_counts(one) for one in panes[alarm.began : pane + 1]]

    assert abs(alarm.began - 50) <= 5
    assert alarm.n_pos == sum(counts.n_pos for counts in since)
    assert alarm.roc_auc == pytest.approx(
        np.average([roc_auc(c) for c in since], weights=[c.n_pos for c in since])
    )
    assert f"the AUC fell below 0.85: {alarm.roc_auc:.4g} over" in detector.reason


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_the_null_is_the_interval_and_the_tolerance(tolerance):
    """At the level asked for; within 0 and 1."""
    reference = logistic(5_000, np.random.default_rng(1))
    null = RankingDetector(reference, tolerance=tolerance, level=0.9).null
    interval = roc_auc_interval(threshold_counts(reference), level=0.9)

    assert (null.low, null.high) == (interval.low - tolerance, interval.high + tolerance)
    assert null.value == roc_auc(threshold_counts(reference))
    known = RankingDetector(0.99, tolerance=0.02).null
    assert (known.low, known.high, known.value) == (0.97, 1.0, 0.99)


def test_a_tolerance_is_quiet_up_to_itself():
    """A fall of 0.05 is nothing with a tolerance of 0.06, and is found with 0.01."""
    rng = np.random.default_rng(1)
    panes = [logistic(500, rng, apart=distance(0.8)) for _ in range(500)]
    wide, narrow = RankingDetector(AUC, tolerance=0.06), RankingDetector(AUC, tolerance=0.01)
    assert first_alarm(wide, panes.__getitem__, 500) == 500
    assert first_alarm(narrow, panes.__getitem__, 500) < 100


def test_panes_of_single_events_are_judged_together():
    """Sixteen pairs at a time; as one pane would be, and dated from the first of them."""
    rng = np.random.default_rng(1)
    single, joined = (RankingDetector(0.9, false_alarm_every="1h") for _ in range(2))
    pos, neg = rng.random(40), rng.random(40)
    for k in range(40):
        single.step(2 * k, histogram([pos[k]], []))
        single.step(2 * k + 1, histogram([], [neg[k]]))
        if k % 4 == 3:
            joined.step(2 * k + 1, histogram(pos[k - 3 : k + 1], neg[k - 3 : k + 1]))

    assert single.evidence.panes.tolist() == joined.evidence.panes.tolist()
    assert single.evidence.down.tolist() == joined.evidence.down.tolist()
    assert single.n_empty == 0
    first, other = single.alarm, joined.alarm
    assert (first.pane, first.roc_auc) == (other.pane, other.roc_auc)
    assert first.began == other.began - 7


def test_what_waits_too_long_is_left_out():
    """Positives of more than `stall_after` ago are not ranked among the negatives of now."""
    detector, fresh = (RankingDetector(0.9, stall_after="1h") for _ in range(2))
    detector.step(0, histogram([0.1] * 5, []))
    for one in (detector, fresh):
        one.step(12, histogram([0.9], [0.2] * 15))
        one.step(13, histogram([], [0.2] * 5))

    assert detector.evidence.up.tolist() == fresh.evidence.up.tolist()
    assert detector.evidence.panes.tolist() == [13]


@pytest.mark.parametrize(
    ("pane", "words"),
    [
        (([0.5], []), "no labelled negatives from 1970-01-01 00:00 UTC to"),
        (([], [0.5]), "no labelled positives from 1970-01-01 00:00 UTC to"),
    ],
)
def test_one_class_alone_is_a_stall(pane, words):
    """The reason names the class that does not come."""
    detector = RankingDetector(0.9, stall_after="1h")
    for k in range(20):
        detector.step(k, histogram(*pane))
    assert detector.state is State.STALLED
    assert words in detector.reason


def test_streams_that_tell_nothing_do_not_alarm_by_waiting():
    """A pane of 16 pairs every five minutes, ranked exactly as expected, for a year."""
    detector = RankingDetector(0.5)
    pane = histogram([0.1, 0.9], [0.5] * 8)
    states = {detector.step(k, pane) for k in range(365 * DAY if LONG else 60 * DAY)}
    assert states == {State.QUIET}


@pytest.mark.parametrize(
    ("reference", "pane", "alarms"),
    [
        (1.0, ([0.9] * 9, [0.1] * 90), False),
        (1.0, ([0.9] * 8 + [0.0], [0.1] * 90), True),
        (0.0, ([0.0] * 9, [0.1] * 90), False),
        (0.0, ([0.0] * 8 + [0.9], [0.1] * 90), True),
        (0.5, ([0.5] * 9, [0.5] * 90), False),
    ],
)
def test_references_at_the_ends(reference, pane, alarms):
    """What agrees with them stays quiet for 20 days, what does not is found in a day."""
    detector = RankingDetector(reference)
    n_panes = DAY if alarms else 20 * DAY
    assert (first_alarm(detector, lambda _: histogram(*pane), n_panes) < n_panes) == alarms


def test_bad_references_are_named():
    with pytest.raises(ValueError, match=r"reference must be an AUC in \[0, 1\], got 1.5"):
        RankingDetector(1.5)
    with pytest.raises(ValueError, match=r"reference must be an AUC in \[0, 1\], got nan"):
        RankingDetector(math.nan)


@pytest.mark.parametrize(
    ("pos", "neg", "words"),
    [
        ([0.5], [0.1] * 9, "fewer than two positives or negatives"),
        ([0.5, 0.6], [0.5, 0.6], None),
        ([0.9] * 2, [0.1] * 2, None),
    ],
)
def test_small_references_are_a_stall_or_leave_much_open(pos, neg, words):
    """What is not known is no alarm."""
    detector = RankingDetector(histogram(pos, neg))
    state = detector.step(0, histogram([0.1] * 9, [0.9] * 9))
    assert (state is State.STALLED) == (words is not None)
    assert words is None or words in detector.reason


def test_a_tolerance_that_leaves_everything_possible_is_a_stall():
    detector = RankingDetector(0.5, tolerance=0.6)
    assert detector.step(0, histogram([0.1] * 9, [0.9] * 9)) is State.STALLED
    assert detector.reason == "the reference and the tolerance leave every AUC possible"
