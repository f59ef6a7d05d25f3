"""The alarm of the scores: its promise, which class it names how soon, what is nothing to it."""

import math
import os

import numpy as np
import pytest
from change.rank_streams import Runs, histogram, logistic
from hypothesis import given
from hypothesis import strategies as st
from reference import lattice

from streamauc import PrevalenceDetector, Scale
from streamauc.change.bets import Parts
from streamauc.change.detect import State
from streamauc.change.rank_reference import RankTable
from streamauc.change.ranking_detector import RankingDetector
from streamauc.change.settings import RATIOS
from streamauc.change.shift_detector import ShiftDetector

LONG = os.environ.get("STREAMAUC_LONG") == "1"
MONTH = 30 * 288  # five-minute panes
DAY = 288
some = st.lists(lattice, min_size=1, max_size=12)


def first_alarm(detector, make, n_panes):
    return next((k for k in range(n_panes) if detector.step(k, make(k)) is State.ALARM), n_panes)


def uniform_ranks(rng, n_runs, n):
    """Return what the ranks of new scores tell in a reference without end."""
    ranks = rng.random((n_runs, n))
    parts = Parts(n, math.nan, math.nan, own=0.0, shared=1.0)
    return ranks.mean(axis=1), (ranks**2).mean(axis=1), parts


def test_false_alarms_are_as_rare_as_promised():
    """Quiet runs, a reference without end: the mean time to an alarm, censored."""
    promise, n_runs, times = (MONTH, 100, 3) if LONG else (100, 300, 10)
    rng = np.random.default_rng(1)
    pos, neg = (Runs((0.5, 0.5), n_runs, promise, n_sides=4) for _ in range(2))
    while pos.n_panes < times * promise:
        pos.fold(*uniform_ranks(rng, n_runs, 3))
        neg.fold(*uniform_ranks(rng, n_runs, 40))
    found = np.minimum(np.minimum(pos.times, neg.times), times * promise)

    assert found.mean() >= promise
    assert (found < times * promise).mean() > 0.05 * times  # the detector is not just deaf


def test_the_simulation_is_the_class():
    """The runs of the simulation alarm where the class does; a large lattice as reference."""
    rng = np.random.default_rng(2)
    n_runs, n_panes, n_reference = 12, 50, 10_000
    reference = (np.arange(n_reference) + 0.5) / n_reference
    moved = rng.choice([0.0, 0.1, -0.1], n_runs)[:, None]
    known = histogram(reference, reference)
    null = ShiftDetector(known).nulls["positives"]
    runs = [Runs((null.low, null.high), n_runs, 100, n_sides=4) for _ in range(2)]
    settings = {"pane_seconds": 10, "false_alarm_every": 1000, "stall_after": 1000}
    detectors = [ShiftDetector(known, **settings) for _ in range(n_runs)]
    found = np.full(n_runs, n_panes + 1)
    for pane in range(n_panes):
        scores = [np.clip(rng.random((n_runs, n)) + moved, 0, 1) for n in (4, 25)]
        for run, one in zip(runs, scores, strict=True):
            ranks = reference.searchsorted(one) / n_reference
            parts = Parts(one.shape[1], math.nan, math.nan, own=0.0, shared=1.0)
            run.fold(ranks.mean(axis=1), (ranks**2).mean(axis=1), parts)
        for k, detector in enumerate(detectors):
            state = detector.step(pane, histogram(scores[0][k], scores[1][k]))
            if state is State.ALARM:
                found[k] = min(found[k], pane + 1)

    assert np.minimum(runs[0].times, runs[1].times).tolist() == found.tolist()
    assert len(set(found.tolist())) > 3


@pytest.mark.parametrize(("level", "holds"), [(0.99, True), (1e-6, False)])
def test_a_small_reference_is_no_shift(level, holds):
    """Its sampling error is there for good; taken as the truth it would be found."""
    n_alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        detector = ShiftDetector(logistic(500, rng, prevalence=0.2), level=level)
        panes = (logistic(2_000, rng, prevalence=0.2) for _ in range(60))
        n_alarms += first_alarm(detector, lambda _, panes=panes: next(panes), 60) < 60
    assert (n_alarms <= 1) == holds


@pytest.mark.parametrize("n_reference", [5, 200])
@pytest.mark.parametrize("n_values", [2, 5, 10**9])
def test_the_null_holds_the_mean_rank(n_reference, n_values):
    """As often as `level` says at least, for few values and for many."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(400):
        reference = rng.integers(0, n_values, n_reference)
        null = RankTable.of(histogram(reference, []), 1).null(0.9, 0.0)
        # The mean rank of new scores, given the reference.
        ranks = 1 - (reference + 0.5) / n_values
        inside.append(null.low <= ranks.mean() <= null.high)
    assert np.mean(inside) >= 0.9


@given(some, some)
def test_ranks_are_shares_of_the_reference(reference, new):
    """Below count one, ties one half, by looking at every pair; scores it has not seen, too."""
    new = [*new, 0.0625, 2.0]
    found = RankTable.of(histogram(reference, []), 1).parts(histogram(new, []), 1)
    ranks = [
        np.mean([(score > other) + 0.5 * (score == other) for other in reference]) for score in new
    ]

    assert found.n == len(new)
    assert found.mean == pytest.approx(np.mean(ranks), abs=1e-12)
    assert found.square == pytest.approx(np.mean(np.square(ranks)), abs=1e-12)


def moved(move, *, which=(0, 1), prevalence=0.02, n=500, since=100, seed=7):
    """Return panes in which the logits of some classes are moved from pane `since` on."""
    rng = np.random.default_rng(seed)

    def make(pane):
        n_pos = rng.binomial(n, prevalence)
        pos, neg = rng.standard_normal(n_pos) - 1.5, rng.standard_normal(n - n_pos) - 3
        if pane >= since:
            pos, neg = pos + move * (1 in which), neg + move * (0 in which)
        return histogram(1 / (1 + np.exp(-pos)), 1 / (1 + np.exp(-neg)), Scale.probability())

    return make


def reference(n=200_000):
    return moved(0.0, n=n, seed=1)(0)


@pytest.mark.parametrize("n_reference", [20_000, 200_000])
def test_a_recalibration_moves_the_scores_and_not_the_ranking(n_reference):
    """0.3 on every logit: one fires within two panes, the other stays quiet for days."""
    ranking, shift = RankingDetector(reference(n_reference)), ShiftDetector(reference(n_reference))
    make = moved(0.3)
    states = []
    for pane in range(20 * DAY if LONG else 600):
        found = make(pane)
        states.append((ranking.step(pane, found), shift.step(pane, found)))

    assert {state for state, _ in states} == {State.QUIET}
    assert [state for _, state in states].index(State.ALARM) in (100, 101)
    assert (shift.alarm.which, shift.alarm.direction, shift.alarm.began) == ("negatives", "up", 100)
    assert "the scores of the negatives rose" in shift.reason


@pytest.mark.parametrize("move", [0.5, -0.5])
@pytest.mark.parametrize(("label", "name"), [(0, "negatives"), (1, "positives")])
def test_the_class_that_moved_is_named(label, name, move):
    """And its direction, beginning, and mean rank; of the other there is no evidence."""
    detector = ShiftDetector(reference())
    make = moved(move, which=(label,))
    panes = [make(pane) for pane in range(160)]
    pane = first_alarm(detector, panes.__getitem__, 160)
    alarm = detector.alarm
    (other,) = {"positives", "negatives"} - {name}

    assert (alarm.which, alarm.direction) == (name, "up" if move > 0 else "down")
    assert abs(alarm.began - 100) <= 4
    assert alarm.n == sum(one.totals[label] for one in panes[alarm.began : pane + 1])
    # A shift by half a standard deviation: the chance to be above is that of a normal difference.
    want = 0.5 + math.copysign(0.1382, move)
    assert alarm.mean_rank == pytest.approx(want, abs=0.06)
    assert f"the scores of the {name} {'rose' if move > 0 else 'fell'}" in detector.reason
    assert f"({other}) of the evidence for an alarm" in detector.reason
    side = "up" if move > 0 else "down"
    assert getattr(detector.evidence_of(name), side)[-1] >= 0
    assert max(detector.evidence_of(other).up[-1], detector.evidence_of(other).down[-1]) < 0


def median_delay(move, which, n_reference, *, n_runs=15, n_panes=150):
    """Return the median of panes of 500 events, 2 % positives, with a promise of 30 days."""
    found = []
    for seed in range(n_runs):
        detector = ShiftDetector(moved(0.0, n=n_reference, seed=1000 + seed)(0))
        make = moved(move, which=which, since=0, seed=seed)
        found.append(1 + first_alarm(detector, make, n_panes))
    return float(np.median(found))


@pytest.mark.parametrize(
    ("move", "which", "n_reference", "limit"),
    [
        (0.3, (0, 1), 200_000, 2),
        (0.1, (0, 1), 200_000, 11),
        (0.1, (0, 1), 20_000, 20),
        (-0.5, (1,), 200_000, 22),
        (0.3, (1,), 200_000, 60),
    ],
)
def test_shifts_are_found_soon(move, which, n_reference, limit):
    """Medians of panes: of all scores, and of the ten positives of a pane alone."""
    assert median_delay(move, which, n_reference) < limit


def test_another_class_ratio_is_nothing():
    """Five times as many positives, which the class ratio's own detector sees at once."""
    scores, ratio = ShiftDetector(reference()), PrevalenceDetector(reference())
    make = moved(0.0, prevalence=0.1)
    for pane in range(300):
        found = make(pane)
        scores.step(pane, found)
        ratio.step(pane, found)
    assert (scores.state, ratio.state) == (State.QUIET, State.ALARM)


def test_one_class_is_enough():
    """Months without a positive: the negatives are followed all the same."""
    detector = ShiftDetector(reference())
    make = moved(0.3, prevalence=0.0)
    assert first_alarm(detector, make, 200) in (100, 101)
    assert np.isneginf(detector.evidence_of("positives").up).all()
    assert "0 (positives) of the evidence" in detector.reason


def test_a_reference_of_one_class_follows_that_class():
    """Nothing is known of the other."""
    negatives = histogram([], np.linspace(0, 1, 5_000))
    detector = ShiftDetector(negatives)
    assert math.isnan(detector.nulls["positives"].value)
    for pane in range(5):
        detector.step(pane, histogram(np.ones(50), np.linspace(0, 1, 50)))
    assert detector.state is State.QUIET
    assert detector.step(5, histogram([], [0.9] * 50)) is State.ALARM
    assert detector.alarm.which == "negatives"


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_the_nulls_follow_from_the_sizes(tolerance):
    """``sqrt(log(2 / (1 - level)) / (6 N))`` to either side, half of 1 - level for each class."""
    detector = ShiftDetector(
        histogram(np.arange(100) / 100, np.arange(5_000) / 5_000), level=0.9, tolerance=tolerance
    )
    for name, n in (("positives", 100), ("negatives", 5_000)):
        null, reach = detector.nulls[name], math.sqrt(math.log(2 / 0.05) / (6 * n)) + tolerance
        assert (null.low, null.high) == pytest.approx((0.5 - reach, 0.5 + reach), rel=1e-12)
        assert null.value == 0.5


def test_a_tolerance_is_quiet_up_to_itself():
    """A shift that moves the mean rank by 0.028 is nothing with 0.05, and is found without."""
    make = moved(0.1, since=0)
    panes = [make(pane) for pane in range(300)]
    assert first_alarm(ShiftDetector(reference(), tolerance=0.05), panes.__getitem__, 300) == 300
    assert first_alarm(ShiftDetector(reference()), panes.__getitem__, 300) < 30


def oracle(panes, table, label, ratios, run_length):
    """Return the grid's mean of the sum over every beginning of what was won since."""
    means = []
    null = table.null(0.995, 0.0)
    for ratio in ratios:
        r, odds = (null.high, ratio) if ratio > 1 else (1 - null.low, 1 / ratio)
        target = odds * r / (1 - r + odds * r)
        move, a = target - r, target
        variance = (a / (2 - a) + 2 * a * a / (1 + a)) / 2 - a * a
        bet = move * a / (r * (variance + move * a))

        def gain(mean, square, bet=bet, r=r):
            top, share = math.log1p(bet * (square / mean - r)), mean**2 / square
            return share * top + (1 - share) * math.log1p(-bet * r)

        logs, weights = [], []
        for pane in panes:
            if (parts := table.parts(pane, label)) is None:
                continue
            mean, square = parts.mean, parts.square
            if ratio < 1:
                mean, square = 1 - mean, 1 - 2 * mean + square
            logs.append(parts.n * (gain(mean, square) if mean else math.log1p(-bet * r)))
            expected = gain(target, variance + target**2)
            weights.append(min(1.0, parts.n * expected * run_length / 10))
        means.append(sum(w * math.exp(math.fsum(logs[k:])) for k, w in enumerate(weights)))
    return float(np.mean(means))


@given(st.lists(st.tuples(st.lists(lattice, max_size=9), some), min_size=1, max_size=6), some, some)
def test_evidence_is_the_sum_over_every_beginning(rows, pos, neg):
    """Beside the slow sum, both classes and sides; the threshold is four times the promise."""
    known = histogram(pos * 40, neg * 90)
    detector = ShiftDetector(known, false_alarm_every=86_400.0, pane_seconds=300)
    panes = [histogram(*row) for row in rows]
    for k, pane in enumerate(panes):
        detector.step(k, pane)
    for label, name in enumerate(("negatives", "positives")):
        table, found = RankTable.of(known, label), detector.evidence_of(name)
        for side, grid in (
            (found.up, RATIOS),
            (found.down, [1 / ratio for ratio in RATIOS]),
        ):
            want = oracle(panes, table, label, grid, DAY) / (4 * DAY)
            assert math.exp(side[-1]) == pytest.approx(want, rel=1e-8, abs=1e-300)
        assert (detector.evidence.up >= found.up).all()
        assert (detector.evidence.down >= found.down).all()


@given(st.integers(0, 10**6))
def test_any_increasing_map_of_reference_and_scores_is_nothing(seed):
    """On the exact scale, to the last bit; nor does it matter which class is called which."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 9, n) / 8 for n in (30, 90, 4, 9)]
    mapped = [np.exp(3 * column) - 5 for column in columns]
    found = []
    for pos, neg, new_pos, new_neg in (columns, mapped, [columns[k] for k in (1, 0, 3, 2)]):
        detector = ShiftDetector(histogram(pos, neg))
        detector.step(0, histogram(new_pos, new_neg))
        found.append([detector.evidence_of(name).up[0] for name in ("positives", "negatives")])

    assert found[1] == found[0]
    assert found[2] == found[0][::-1]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (Scale.probability(bits=7), Scale.probability(bits=3)),
        (Scale.probability(bits=3), Scale.probability(bits=7)),
        (Scale.probability(bits=4, thresholds=(0.3,)), Scale.probability(thresholds=(0.3, 0.5))),
        (Scale.probability(thresholds=(0.3, 0.5)), Scale.probability(bits=5, thresholds=(0.5,))),
    ],
    ids=str,
)
def test_panes_on_another_scale_are_taken_on_the_common_one(mine, theirs):
    """As if both had been on it from the start, and so are those after."""
    rng = np.random.default_rng(4)
    columns = [rng.random(n) for n in (200, 900)]
    common = mine.common(theirs)
    mixed, plain = (ShiftDetector(histogram(*columns, scale)) for scale in (mine, common))
    for pane in range(4):
        scores = [rng.random(n) for n in (20, 90)]
        mixed.step(pane, histogram(*scores, mine if pane == 2 else theirs))
        plain.step(pane, histogram(*scores, common))

    assert mixed.evidence.up.tolist() == plain.evidence.up.tolist()
    assert ShiftDetector.from_bytes(mixed.to_bytes()).to_bytes() == mixed.to_bytes()


def test_streams_that_tell_nothing_do_not_alarm_by_waiting():
    """The median score every five minutes, for two months."""
    detector = ShiftDetector(histogram([0.5] * 1000, [0.5] * 1000))
    pane = histogram([], [0.5])
    assert {detector.step(k, pane) for k in range(60 * DAY)} == {State.QUIET}


def test_what_is_no_class_is_named():
    with pytest.raises(ValueError, match="which must be positives or negatives, got 'both'"):
        ShiftDetector(reference(100)).evidence_of("both")


def test_small_references_say_so():
    """Of two events nothing can be told, whatever comes."""
    detector = ShiftDetector(histogram([0.5], [0.5]))
    assert detector.step(0, histogram([], [0.9] * 500)) is State.STALLED
    assert detector.reason == "the reference is too small to tell anything"
