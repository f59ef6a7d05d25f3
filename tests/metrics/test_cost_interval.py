"""The interval of the lowest cost: what it is made of, and that it holds."""

import math

import numpy as np
import pytest

from streamauc import CostMatrix, Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.cost_interval import lowest_mean_cost, lowest_mean_cost_interval
from streamauc.metrics.reweighted import at_prevalence

COSTS = CostMatrix(tp=-5, fn=20, fp=3, tn=0.5)


def counts_of(y_true, y_score, weights=None):
    found = ScoreHistogram.from_scores(y_true, y_score, weights=weights, scale=Scale.exact())
    return threshold_counts(found)


def stream(n_pos, n_neg, seed=0, gap=1.5):
    rng = np.random.default_rng(seed)
    scores = np.concatenate((rng.normal(gap, 1, n_pos), rng.normal(0, 1, n_neg)))
    return counts_of(np.repeat([1, 0], [n_pos, n_neg]), np.round(scores, 1))


@pytest.mark.parametrize("prevalence", [None, 0.02])
def test_the_lowest_cost_is_that_of_the_best_threshold(prevalence):
    """By going through all thresholds; also at another class ratio."""
    counts = stream(40, 200)
    best = best_threshold(counts, by=COSTS, prevalence=prevalence)
    seen = counts if prevalence is None else at_prevalence(counts, prevalence)
    found = lowest_mean_cost(counts, COSTS, prevalence=prevalence)
    assert found == pytest.approx(best.value / seen.n_samples, rel=1e-12)


def test_with_many_events_it_is_the_bootstrap_without_its_bias():
    """The mean difference between resamples and sample is taken off."""
    counts = stream(2_000, 5_000)
    found = lowest_mean_cost_interval(counts, COSTS, n_resamples=300)
    value = lowest_mean_cost(counts, COSTS)
    assert found.low < value < found.high
    assert found.note.startswith("300 bootstrap resamples")
    # Resamples look cheaper still, so the middle is above what was seen.
    assert (found.low + found.high) / 2 > value


def test_separated_classes_leave_room_for_mistakes_that_were_not_seen():
    """The limits of the rates say how many there may be: three of ten misses, say."""
    counts = counts_of([0] * 200 + [1] * 10, [0.1] * 200 + [0.9] * 10)
    found = lowest_mean_cost_interval(counts, CostMatrix(fn=1, fp=1), n_resamples=50)
    assert lowest_mean_cost(counts, CostMatrix(fn=1, fp=1)) == 0
    assert found.low == 0
    missed, alarms = 1 - 0.7224672, 0.0188462  # Wilson's of 10 in 10 and of 0 in 200
    assert found.high == pytest.approx(math.hypot(10 * missed, 200 * alarms) / 210, rel=1e-4)
    assert found.note.startswith("hull of Wilson's of both rates and ")


def test_it_holds_what_it_should():
    """The cost at the best of all thresholds, in at least 85 of 100 streams of 60 events."""
    grid = np.linspace(-5, 7, 3_001)
    normal = np.vectorize(lambda x: math.erfc(x / math.sqrt(2)) / 2)
    tpr, fpr = normal(grid - 1.5), normal(grid)
    costs = CostMatrix(fn=1, fp=1)
    truth = float(((1 - tpr) / 2 + fpr / 2).min())
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = np.concatenate((rng.normal(1.5, 1, 30), rng.normal(0, 1, 30)))
        counts = counts_of(np.repeat([1, 0], 30), scores)
        found = lowest_mean_cost_interval(counts, costs, n_resamples=100, seed=seed)
        hits += found.low <= truth <= found.high
    assert hits >= 85


@pytest.mark.parametrize("rows", [[], [(0, 0.3)], [(1, 0.3), (1, 0.4)]])
def test_without_both_classes_there_is_none(rows):
    """Undefined, with a note; the cost itself is known from one class."""
    counts = counts_of([label for label, _ in rows], [score for _, score in rows])
    found = lowest_mean_cost_interval(counts, COSTS)
    assert math.isnan(found.low)
    assert found.note == "undefined: events of one class"
    assert math.isnan(lowest_mean_cost(counts, COSTS)) == (not rows)
    assert math.isnan(lowest_mean_cost(counts, COSTS, prevalence=0.1))


def test_the_seed_decides_and_a_wrong_level_is_named():
    """As for every bootstrap."""
    counts = stream(20, 30)
    first, again = (lowest_mean_cost_interval(counts, COSTS, seed=1) for _ in range(2))
    assert first == again
    with pytest.raises(ValueError, match="level must be in"):
        lowest_mean_cost_interval(counts, COSTS, level=2)
