"""The interval of the lowest cost: what it is made of, and that it holds."""

import math

import numpy as np
import pytest

from streamauc import CostMatrix, Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.bootstrap import bootstrap
from streamauc.metrics.cost_interval import (
    lowest_mean_cost,
    lowest_mean_cost_interval,
    mean_cost_interval,
)
from streamauc.metrics.costs import mean_cost
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


def test_a_large_sample_without_mistakes_is_no_certainty():
    """What counts is how many mistakes were seen, not how many events."""
    counts = counts_of([0] * 1_000 + [1] * 1_000, [0.1] * 1_000 + [0.9] * 1_000)
    costs = CostMatrix(fn=1, fp=1)
    for found in (
        lowest_mean_cost_interval(counts, costs, n_resamples=50),
        mean_cost_interval(counts, costs, 0.5),
    ):
        assert found.low == 0
        assert 0.001 < found.high < 0.01


@pytest.mark.parametrize("n", [400, 1_000])
def test_it_holds_where_few_mistakes_are_seen(n):
    """Positives so far away that a sample of hundreds sees about one mistake."""
    truth, held = math.erfc(3 / math.sqrt(2)) / 2, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = np.concatenate((rng.normal(6, 1, n), rng.normal(0, 1, n)))
        counts = counts_of(np.repeat([1, 0], n), scores)
        found = lowest_mean_cost_interval(counts, CostMatrix(fn=1, fp=1), n_resamples=50)
        held += found.low <= truth <= found.high
    assert held >= 93


@pytest.mark.parametrize("prevalence", [None, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_at_a_threshold_is_as_wide_as_the_bootstraps(prevalence, weighted):
    """Where there are mistakes enough; the class ratio varies unless it is given."""
    rng = np.random.default_rng(4)
    labels = np.repeat([1, 0], [800, 1_500])
    weights = rng.choice([0.5, 1.0, 3.0], labels.size) if weighted else None
    counts = counts_of(labels, rng.normal(1.5 * labels), weights)

    def cost(one):
        return mean_cost(one, COSTS, 0.7, prevalence=prevalence)

    found = mean_cost_interval(counts, COSTS, 0.7, prevalence=prevalence)
    drawn = bootstrap(counts, cost, n_resamples=2_000).std()
    assert found.low < cost(counts) < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * drawn, rel=0.1)


def test_the_interval_at_a_threshold_holds():
    """With the class ratio by chance, in at least 92 of 100 samples."""
    rng = np.random.default_rng(6)
    costs, share, tpr, fpr = CostMatrix(tp=-5, fn=20, fp=3, tn=0.5), 0.2, 0.9, 0.1
    chances = share * tpr, share * (1 - tpr), (1 - share) * fpr, (1 - share) * (1 - fpr)
    truth = float(np.dot(chances, (costs.tp, costs.fn, costs.fp, costs.tn)))
    held = 0
    for cells in rng.multinomial(150, chances, size=1_000):
        labels, scores = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], cells, axis=1)
        found = mean_cost_interval(counts_of(labels, scores), costs, 0.5)
        held += found.low <= truth <= found.high
    assert 920 <= held <= 985


def test_no_cost_is_beyond_that_of_the_worst_event():
    """Nor below that of the cheapest."""
    counts = counts_of([1, 1, 0, 0, 0], [0.9, 0.1, 0.8, 0.1, 0.2])
    for found in (
        lowest_mean_cost_interval(counts, COSTS),
        mean_cost_interval(counts, COSTS, 0.5),
    ):
        assert -5 <= found.low < found.high <= 20
    with pytest.raises(ValueError, match="level must be in"):
        mean_cost_interval(counts, COSTS, 0.5, level=0)
    assert math.isnan(mean_cost_interval(counts_of([1], [0.5]), COSTS, 0.5).low)
