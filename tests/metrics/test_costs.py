"""Costs against adding up row by row, and thresholds against expected costs in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import confusion_by_rows, counts_of, events, lattice, weighted_events

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.costs import (
    CostMatrix,
    bayes_threshold,
    mean_cost,
    threshold_costs,
    total_cost,
)
from streamauc.metrics.reweighted import at_prevalence
from streamauc.storage import WideCounts

EXACT = Scale.exact()
small = st.integers(-3, 3).map(float)
matrices = st.builds(CostMatrix, tp=small, fn=small, fp=small, tn=small)
prevalences = st.sampled_from([0.01, 0.2, 0.5, 0.9])
PROBABILITIES = [Fraction(k, 24) for k in range(25)]


def total_by_rows(rows, costs, threshold):
    """Return the cost of every row, added up one by one."""
    total = Fraction(0)
    for label, score, *weight in rows:
        flagged = score >= threshold
        pair = (costs.fn, costs.tp) if label else (costs.tn, costs.fp)
        cost = pair[flagged]
        total += Fraction(cost) * Fraction(*weight or [1])
    return total


@given(st.one_of(events, weighted_events), matrices, st.one_of(lattice, st.floats(-1, 2)))
def test_costs_add_up_row_by_row(rows, costs, threshold):
    """Total and mean at any threshold; without events nothing costs, and nothing has a mean."""
    counts = counts_of(rows, EXACT)
    want = total_by_rows(rows, costs, threshold)

    assert total_cost(counts, costs, threshold) == pytest.approx(float(want), rel=1e-12)
    mean = mean_cost(counts, costs, threshold)
    if counts.n_samples:
        assert mean == pytest.approx(float(want) / counts.n_samples, rel=1e-12)
    else:
        assert math.isnan(mean)


@given(
    st.one_of(events, weighted_events),
    matrices,
    st.sampled_from([EXACT, Scale.probability(bits=1)]),
)
def test_costs_of_all_thresholds_are_those_of_each(rows, costs, scale):
    """One pass gives what asking threshold by threshold gives; nobody is flagged in the first."""
    counts = counts_of(rows, scale)
    found = threshold_costs(counts, costs)

    assert found.thresholds[0] == math.inf
    each = [total_cost(counts, costs, at) for at in found.thresholds.tolist()]
    assert found.total == pytest.approx(each, rel=1e-12)
    means = [mean_cost(counts, costs, at) for at in found.thresholds.tolist()]
    assert found.mean == pytest.approx(means, rel=1e-12, nan_ok=True)


@given(events, matrices, prevalences, lattice)
def test_the_mean_at_another_prevalence_mixes_the_classes(rows, costs, share, threshold):
    """In fractions of each class; ``nan`` unless there are both, in one pass as well."""
    counts = counts_of(rows, EXACT)
    found = mean_cost(counts, costs, threshold, prevalence=share)
    along = threshold_costs(counts, costs, prevalence=share)
    if not counts.n_pos or not counts.n_neg:
        assert math.isnan(found)
        assert np.isnan(along.mean).all()
        return
    tp, fp, fn, tn = (Fraction(count) for count in confusion_by_rows(rows, threshold))
    of_pos = (Fraction(costs.tp) * tp + Fraction(costs.fn) * fn) / (tp + fn)
    of_neg = (Fraction(costs.fp) * fp + Fraction(costs.tn) * tn) / (fp + tn)
    want = of_pos * Fraction(share) + of_neg * (1 - Fraction(share))

    assert found == pytest.approx(float(want), rel=1e-12, abs=1e-12)
    each = [mean_cost(counts, costs, at, prevalence=share) for at in along.thresholds.tolist()]
    assert along.mean == pytest.approx(each, rel=1e-9, abs=1e-12)
    assert along.total == pytest.approx(
        threshold_costs(at_prevalence(counts, share), costs).total, rel=1e-12
    )


def saves(costs, probability):
    """Return what flagging saves of the expected cost of an event with a known probability."""
    flagged = Fraction(costs.tp) * probability + Fraction(costs.fp) * (1 - probability)
    return Fraction(costs.fn) * probability + Fraction(costs.tn) * (1 - probability) - flagged


@given(matrices)
def test_the_bayes_threshold_flags_where_flagging_saves(costs):
    """For every probability, and all documented answers where the formula has none."""
    threshold = bayes_threshold(costs)
    gains = [saves(costs, probability) for probability in PROBABILITIES]
    if math.isnan(threshold):
        neither = costs.miss == costs.false_alarm == 0
        assert neither or (costs.miss < 0 and costs.false_alarm < 0)
        assert neither == (not any(gains))
        # Reversed: flagging saves less the higher the probability is.
        assert neither or gains == sorted(gains, reverse=True)
        assert neither or gains[0] > 0 > gains[-1]
        return

    for probability, gain in zip(PROBABILITIES, gains, strict=True):
        assert gain >= 0 if float(probability) >= threshold else gain <= 0
    if costs.miss > 0 and costs.false_alarm > 0:
        found = Fraction(costs.false_alarm) / Fraction(costs.false_alarm + costs.miss)
        assert threshold == float(found)


@pytest.mark.parametrize(
    ("costs", "want"),
    [
        ({"fn": 1, "fp": 1}, 0.5),
        ({"tp": -5, "fn": 1, "fp": 50, "tn": 0}, 50 / 56),
        ({"fn": 1, "fp": 0}, 0.0),
        ({"fn": 0, "fp": 1}, 1.0),
        ({"fn": 1, "fp": -1}, -math.inf),
        ({"fn": 0, "fp": -1}, -math.inf),
        ({"fn": -1, "fp": 1}, math.inf),
        ({"fn": -1, "fp": 0}, math.inf),
        ({"fn": 0, "fp": 0}, math.nan),
        ({"tp": 2, "fn": 2, "fp": -3, "tn": -3}, math.nan),
        ({"tp": 7, "fn": 0, "fp": 0, "tn": 2}, math.nan),
    ],
)
def test_degenerate_matrices_have_a_documented_answer(costs, want):
    """One row for each of the cases that the docstring tells apart."""
    assert bayes_threshold(CostMatrix(**costs)) == pytest.approx(want, nan_ok=True, abs=0)
    moved = bayes_threshold(CostMatrix(**costs), calibrated_at=0.5, prevalence=0.01)
    # What does not depend on the probability stays when it is moved.
    if want in (0, 1, math.inf, -math.inf) or math.isnan(want):
        assert moved == pytest.approx(want, nan_ok=True, abs=0)


def calibrated(sizes):
    """Return counts where exactly k of 24 at the score k / 24 are positive, for all given k."""
    bins = EXACT.bins([k / 24 for k in sorted(sizes)])
    pos = np.array([k * sizes[k] for k in sorted(sizes)])
    neg = np.array([(24 - k) * sizes[k] for k in sorted(sizes)])
    return threshold_counts(ScoreHistogram(EXACT, WideCounts(bins, np.array([neg, pos]))))


@given(
    st.dictionaries(st.integers(1, 23), st.integers(1, 9), min_size=1),
    st.builds(CostMatrix, tp=small, fn=small, fp=small, tn=small),
)
def test_calibrated_scores_need_no_search(sizes, costs):
    """The Bayes threshold costs no more than the best that is found, where it is defined."""
    threshold = bayes_threshold(costs)
    assume(not math.isnan(threshold))
    counts = calibrated(sizes)
    best = best_threshold(counts, by=costs)

    assert total_cost(counts, costs, threshold) == pytest.approx(best.value, rel=1e-12, abs=1e-9)
    if threshold > 0:
        assert best.threshold >= threshold


@given(
    st.dictionaries(st.integers(1, 23), st.integers(1, 9), min_size=1),
    st.builds(CostMatrix, fn=st.integers(1, 30), fp=st.integers(1, 30)),
    prevalences,
)
def test_so_do_scores_calibrated_elsewhere(sizes, costs, share):
    """Used at another prevalence, the moved threshold is the best of the reweighted counts."""
    counts = calibrated(sizes)
    own = counts.n_pos / counts.n_samples
    threshold = bayes_threshold(costs, calibrated_at=own, prevalence=share)
    best = best_threshold(counts, by=costs, prevalence=share)
    # Scores within rounding of the threshold may fall on either side, and cost the same there.
    costs_there = [
        mean_cost(counts, costs, at, prevalence=share)
        for at in (threshold * (1 - 1e-12), threshold * (1 + 1e-12))
    ]

    want = best.value / best.confusion.n_samples
    assert costs_there == pytest.approx([want, want], rel=1e-9)


def test_what_a_matrix_knows():
    """Differences, keywords only, equality, and floats whatever came in."""
    costs = CostMatrix(tp=-5, fn=1, fp=50, tn=0)
    assert (costs.miss, costs.false_alarm) == (6.0, 50.0)
    assert costs == CostMatrix(tp=-5.0, fn=np.float64(1), fp=50, tn=0.0)
    assert CostMatrix(fn=7, fp=2) == CostMatrix(tp=0, fn=7, fp=2, tn=0)
    mixed = CostMatrix(tp=np.int64(1), fn=np.float32(1), fp=2, tn=True)
    assert all(type(cost) is float for cost in (mixed.tp, mixed.fn, mixed.fp, mixed.tn))
    assert len({costs, CostMatrix(tp=-5, fn=1, fp=50, tn=0)}) == 1
    with pytest.raises(TypeError):
        CostMatrix(0, 2, 7, 0)


@given(st.one_of(events, weighted_events), matrices)
def test_regret_is_what_it_costs_more_than_perfect_decisions(rows, costs):
    """Of each event the cheaper of its two decisions, subtracted row by row."""
    counts = counts_of(rows, EXACT)
    assume(counts.n_samples)
    point = best_threshold(counts, by=costs).confusion
    least = Fraction(0)
    for label, _, *weight in rows:
        pair = (costs.tp, costs.fn) if label else (costs.fp, costs.tn)
        least += Fraction(min(pair)) * Fraction(*weight or [1])

    want = float(Fraction(costs.of(point)) - least)
    assert costs.regret_of(point) == pytest.approx(want, rel=1e-9, abs=1e-9)
    assert costs.regret_of(point) >= 0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda _: CostMatrix(fn=math.nan, fp=1), "fn must be finite, got nan"),
        (lambda _: CostMatrix(fn=1, fp=1, tp=math.nan), "tp must be finite, got nan"),
        (lambda _: CostMatrix(fn=1, fp=1, tn=-math.inf), "tn must be finite, got -inf"),
        (lambda _: CostMatrix(fn=1, fp=math.inf), "fp must be finite, got inf"),
        (lambda _: CostMatrix(fn=1, fp=-1e101), "fp must be at most 1e+100 in size, got -1e+101"),
        (
            lambda c: mean_cost(c, CostMatrix(fn=1, fp=1), 0.5, prevalence=0),
            "prevalence must be in (0, 1), got 0.0",
        ),
        (
            lambda c: threshold_costs(c, CostMatrix(fn=1, fp=1), prevalence=1),
            "prevalence must be in (0, 1), got 1.0",
        ),
        (
            lambda c: total_cost(c, CostMatrix(fn=1, fp=1), math.nan),
            "threshold must be a number, got nan",
        ),
        (
            lambda _: bayes_threshold(CostMatrix(fn=1, fp=1), calibrated_at=0.5),
            "prevalence must be given with calibrated_at, got None",
        ),
        (
            lambda _: bayes_threshold(CostMatrix(fn=1, fp=1), prevalence=0.5),
            "calibrated_at must be given with prevalence, got None",
        ),
        (
            lambda _: bayes_threshold(CostMatrix(fn=1, fp=1), prevalence=0.5, calibrated_at=0),
            "calibrated_at must be in (0, 1), got 0.0",
        ),
    ],
)
def test_wrong_arguments_are_named(ask, message):
    """Name, requirement and value."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        ask(counts_of([(1, 0.5), (0, 0.2)], EXACT))

    assert str(caught.value) == message


def test_four_billion_of_each():
    """Costs of 8e9 events are exact as long as their sums fit float64's whole numbers."""
    table = np.array([[2 * 10**9, 2 * 10**9], [1, 4 * 10**9 - 1]])
    counts = threshold_counts(ScoreHistogram(EXACT, WideCounts(EXACT.bins([0.2, 0.8]), table)))
    costs = CostMatrix(tp=-5, fn=1, fp=50, tn=0)

    assert total_cost(counts, costs, 0.8) == -5 * (4 * 10**9 - 1) + 1 + 50 * 2 * 10**9
    assert threshold_costs(counts, costs).total.tolist() == [
        4e9,
        -5 * (4 * 10**9 - 1) + 1 + 50 * 2 * 10**9,
        -5 * 4e9 + 50 * 4e9,
    ]
