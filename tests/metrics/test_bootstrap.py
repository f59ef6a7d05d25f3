"""The bootstrap against resampling the raw events one by one, and against formulas."""

import math

import numpy as np
import pytest
from scipy import stats

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.metrics import bootstrap as module
from streamauc.metrics.bootstrap import bootstrap, bootstrap_interval
from streamauc.metrics.gains import ks_statistic
from streamauc.metrics.intervals import roc_auc_variance
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.scalars import average_precision, prevalence, roc_auc

EXACT = Scale.exact()


def lattice_stream(n, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    y_true = rng.random(n) < 0.3
    y_score = np.clip(np.round(rng.normal(0.4 + 0.2 * y_true, 0.2), 1), 0, 1)
    weights = rng.choice([0.5, 1.0, 3.0], n) if weighted else None
    return y_true, y_score, weights


def counts_of(y_true, y_score, weights=None, scale=EXACT):
    return threshold_counts(
        ScoreHistogram.from_scores(y_true, y_score, weights=weights, scale=scale)
    )


@pytest.mark.parametrize("statistic", [roc_auc, average_precision, prevalence])
@pytest.mark.parametrize("n", [40, 4_000])
def test_it_is_resampling_the_events(statistic, n):
    """A resample of the counts has the distribution of one of the rows; both ways to draw."""
    y_true, y_score, _ = lattice_stream(n)
    rng = np.random.default_rng(1)
    rows = rng.integers(n, size=(600, n))
    naive = [statistic(counts_of(y_true[row], y_score[row])) for row in rows]
    found = bootstrap(counts_of(y_true, y_score), statistic, n_resamples=1_500, seed=2)
    assert stats.ks_2samp(naive, found).pvalue > 1e-3


def test_both_ways_of_drawing_have_the_moments_of_a_multinomial():
    """Means ``n p`` and covariances ``n (diag p - p p')``, cell by cell, and the exact total."""
    cells, n_rows = np.array([3, 0, 40, 7]), 20_000
    n = int(cells.sum())
    share = cells / n
    wanted = n * (np.diag(share) - np.outer(share, share))
    for draw in (module._draw_events, module._draw_cells):
        drawn = draw(cells, n, n_rows, np.random.default_rng(5))
        assert (drawn.sum(axis=1) == n).all()
        assert (drawn[:, 1] == 0).all()
        error = 6 * np.sqrt(np.diag(wanted) / n_rows)
        assert (abs(drawn.mean(axis=0) - cells) <= error).all()
        assert np.allclose(np.cov(drawn.T), wanted, atol=0.05 * wanted.max())


@pytest.mark.parametrize("weighted", [False, True])
def test_its_spread_is_that_of_the_formula(weighted):
    """The standard deviation of the AUC is DeLong's, with weights the linearised one."""
    counts = counts_of(*lattice_stream(3_000, weighted=weighted))
    found = bootstrap(counts, roc_auc, n_resamples=3_000)
    assert found.std() == pytest.approx(math.sqrt(roc_auc_variance(counts)), rel=0.05)
    assert found.mean() == pytest.approx(roc_auc(counts), abs=1e-3)


def test_weights_of_one_are_as_no_weights():
    """Up to the number of events, which a Poisson bootstrap lets vary."""
    y_true, y_score, _ = lattice_stream(2_000)
    plain = bootstrap(counts_of(y_true, y_score), roc_auc, n_resamples=2_000)
    weighted = bootstrap(counts_of(y_true, y_score, np.ones(2_000)), roc_auc, n_resamples=2_000)
    assert stats.ks_2samp(plain, weighted).pvalue > 1e-3


def test_the_seed_decides():
    """Equal seeds give equal numbers, other seeds others."""
    counts = counts_of(*lattice_stream(100))
    first, again, other = (bootstrap(counts, roc_auc, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_interval_covers_what_it_promises():
    """The true AUC lies in the interval of nearly 19 of 20 streams of 300 events."""
    truth = stats.norm.cdf(1 / math.sqrt(2))
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y_true = np.arange(300) < 100
        counts = counts_of(y_true, rng.normal(size=300) + y_true)
        found = bootstrap_interval(counts, roc_auc, n_resamples=200, seed=seed)
        hits += found.low <= truth <= found.high
    assert 180 <= hits <= 198


def test_resamples_without_a_value_are_told():
    """With two positives one in seven has none; without half of them there is no interval."""
    counts = counts_of([1, 1, *[0] * 20], [0.9, 0.4, *np.arange(20) / 20])
    found = bootstrap_interval(counts, roc_auc)
    assert 0 < found.low < found.high <= 1
    assert found.note.startswith("percentiles of 1,000 bootstrap resamples, 1")
    assert "of them without a value" in found.note
    assert found.note.endswith("with so few of a class it covers less than it says")
    never = bootstrap_interval(counts, lambda _: math.nan)
    assert math.isnan(never.low)
    assert never.note.startswith("undefined: ")


def test_the_bias_is_taken_off_the_square():
    """By the definition, resample by resample; the sign of a square is that of its root."""
    counts = counts_of(*lattice_stream(400))
    for shift in (0.0, -0.6, -2.0):

        def statistic(one, shift=shift):
            return ks_statistic(one) + shift

        drawn = bootstrap(counts, statistic)
        squares = [math.copysign(value**2, value) for value in drawn]
        value = statistic(counts)
        centre = 2 * math.copysign(value**2, value) - sum(squares) / len(squares)
        reach = stats.norm.ppf(0.95) * np.std(squares, ddof=1)
        ends = [math.copysign(math.sqrt(abs(end)), end) for end in (centre - reach, centre + reach)]
        found = bootstrap_interval(counts, statistic, level=0.9, is_biased=True)
        assert (found.low, found.high) == pytest.approx(ends, rel=1e-9)
        assert found.note.startswith("1,000 bootstrap resamples, their bias taken off")


@pytest.mark.parametrize("weight", [None, 0.1])
@pytest.mark.parametrize("scale", [EXACT, Scale.probability()])
def test_where_no_resample_differs_the_interval_is_of_two_events_more(weight, scale):
    """One of each class at either end; drawn from the rows with these in them."""
    rows = [(1, 0.9), (0, 0.1)] * 300
    more = [*rows, (1, 0.9), (0, 0.9), (1, 0.1), (0, 0.1)]
    plain, other = (
        counts_of(*zip(*part, strict=True), None if weight is None else [weight] * len(part), scale)
        for part in (rows, more)
    )
    for is_biased in (False, True):
        found = bootstrap_interval(plain, roc_auc, is_biased=is_biased)
        assert found.low == pytest.approx(np.quantile(bootstrap(other, roc_auc), 0.025), abs=2e-3)
        assert 0.98 < found.low < 0.996
        assert found.high == 1
        assert "hardly any resample differed, which says nothing of what was not seen" in found.note


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_is_no_certainty_either(label):
    """Of a share of positives of 0 or 1, with the other class never seen."""
    found = bootstrap_interval(counts_of([label] * 200, [0.5] * 200), prevalence)
    assert found.low <= label <= found.high
    assert 0.01 < found.high - found.low < 0.06


@pytest.mark.parametrize("scale", [EXACT, Scale.probability()])
def test_nothing_to_draw_from(scale):
    """No events, or one class to be reweighted by another that is not there."""
    empty = counts_of([], [], scale=scale)
    assert math.isnan(bootstrap_interval(empty, roc_auc).low)
    assert np.isnan(bootstrap(empty, roc_auc, n_resamples=3)).all()
    one_class = at_prevalence(counts_of([1, 1], [0.2, 0.7], scale=scale), 0.5)
    assert np.isnan(bootstrap(one_class, roc_auc, n_resamples=3)).all()


def test_thresholds_and_bins_stay_where_they_are():
    """A metric at a threshold sees the edges of the sample."""
    counts = counts_of(*lattice_stream(50), scale=Scale.probability())
    seen = []
    bootstrap(counts, lambda one: seen.append(one) or 0.0, n_resamples=4)
    for one in seen:
        assert np.array_equal(one.thresholds, counts.thresholds)
        assert np.array_equal(one.ceilings, counts.ceilings)
        assert one.n_samples == counts.n_samples
        assert not one.exact


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_resamples": 0}, "n_resamples must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"level": 1.0}, "level must be in .0, 1., got 1.0"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    """With the value that was given."""
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(counts_of([0, 1], [0.1, 0.9]), roc_auc, **settings)
