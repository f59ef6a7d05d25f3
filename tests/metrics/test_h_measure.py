"""The H-measure against integrating the cost of the best threshold, and the R package's values."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import counts_of, events, weighted_events
from scipy import integrate, stats

from streamauc import Scale, ThresholdCounts, prevalence
from streamauc.metrics.h_measure import h_measure, h_measure_bounds
from streamauc.metrics.hull import roc_hull
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
any_events = st.one_of(events, weighted_events)
ratios = st.sampled_from([None, 0.01, 0.3, 1.0, 4.0, 50.0])


def distribution(counts, ratio):
    """Return the distribution of the cost of a false positive."""
    if ratio is not None:
        return stats.beta(2, 1 + 1 / ratio)
    share = counts.n_pos / counts.n_samples
    return stats.beta(share + 1, 2 - share)


def integrated(counts, ratio):
    """Return the definition: over each cost, the least cost of any threshold, by quadrature.

    Cut where the best threshold may change, which is where two vertices cost the same.
    """
    weight = distribution(counts, ratio)
    fps, tps = counts.fps.astype(float), counts.tps.astype(float)
    n_pos, n_neg = float(counts.n_pos), float(counts.n_neg)

    def lost(c):
        return (c * fps + (1 - c) * (n_pos - tps)).min() * weight.pdf(c)

    def lost_without(c):
        return min(c * n_neg, (1 - c) * n_pos) * weight.pdf(c)

    hull = roc_hull(counts).rows
    pos, neg = np.diff(tps[hull]), np.diff(fps[hull])
    knots = np.unique(np.concatenate(([0.0, 1.0, n_pos / (n_pos + n_neg)], pos / (pos + neg))))
    totals = [
        sum(integrate.quad(cost, *span, epsabs=1e-13)[0] for span in pairwise(knots))
        for cost in (lost, lost_without)
    ]
    return 1 - totals[0] / totals[1]


@settings(max_examples=40)
@given(any_events, ratios)
def test_it_is_the_integral(rows, ratio):
    """Of the least cost over all thresholds, beside that without a score."""
    counts = counts_of(rows, EXACT)
    found = h_measure(counts, severity_ratio=ratio)
    if not (counts.n_pos and counts.n_neg):
        assert math.isnan(found)
        return

    assert found == pytest.approx(integrated(counts, ratio), abs=1e-9)
    assert 0 <= found <= 1


def test_it_is_a_mean_over_many_drawn_costs():
    """No integral: a million costs, for each the cheapest of all thresholds."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 60)
    rows = list(zip(labels, rng.normal(labels, 1.0).round(1), strict=True))
    counts = counts_of(rows, EXACT)
    c = distribution(counts, None).rvs(200_000, random_state=rng)
    fn = counts.n_pos - counts.tps
    least = np.minimum.reduce(
        [c * fp + (1 - c) * miss for fp, miss in zip(counts.fps, fn, strict=True)]
    )
    without = np.minimum(c * counts.n_neg, (1 - c) * counts.n_pos)

    assert h_measure(counts) == pytest.approx(1 - least.mean() / without.mean(), abs=3e-3)


# The vertices of the hull that the R package hmeasure finds for its example, a linear
# discriminant on the Pima data of MASS: 223 without and 109 with diabetes.
PIMA = ThresholdCounts(
    np.array([math.inf, *range(13, 0, -1)]),
    np.array([0, 1, 18, 40, 59, 61, 62, 75, 98, 100, 107, 108, 109, 109]),
    np.array([0, 0, 3, 7, 15, 16, 17, 33, 68, 77, 119, 137, 196, 223]),
)


@pytest.mark.parametrize(
    ("ratio", "value"),
    [
        (None, 0.431750796329978),  # there severity.ratio < 0
        (1, 0.42144692438763),
        (0.3, 0.484302831391568),
        (4, 0.373863152716492),
    ],
)
def test_values_of_the_r_package(ratio, value):
    """Version 1.0 gives these, for its Beta(pi1 + 1, pi0 + 1) and three severity ratios."""
    assert h_measure(PIMA, severity_ratio=ratio) == pytest.approx(value, rel=1e-13)


def test_values_of_its_python_translation():
    """Ten events; its default, a ratio of pi1 / pi0, is not ours."""
    labels = [1, 1, 0, 1, 1, 0, 1, 1, 1, 0]
    scores = [0.84901876, 0.10282827, 0.43752488, 0.46004468, 0.90878931]
    scores += [0.79177719, 0.5297229, 0.13803906, 0.73166264, 0.22959056]
    counts = counts_of(list(zip(labels, scores, strict=True)), EXACT)
    found = [h_measure(counts, severity_ratio=ratio) for ratio in (None, 7 / 3, 0.7, 0.1, 0.5)]

    assert found == pytest.approx(
        [
            0.18310946512079307,
            0.18889596344769588,
            0.13502616807120948,
            0.001212529211507385,
            0.10750123502531805,
        ],
        rel=1e-12,
    )


def test_perfect_chance_and_worse():
    """1, 0 and, as the hull has chance at least, 0."""
    rows = [(1, 3), (1, 3), (0, 1), (0, 2), (0, 1)]

    assert h_measure(counts_of(rows, EXACT)) == 1
    assert h_measure(counts_of([(label, 7) for label, _ in rows], EXACT)) == 0
    assert h_measure(counts_of([(label, -score) for label, score in rows], EXACT)) == 0


@given(any_events, ratios)
def test_bounds_hold_the_exact_value(rows, ratio):
    """From bins of any width; their own value is the lower one."""
    exact = h_measure(counts_of(rows, EXACT), severity_ratio=ratio)
    for bits in (1, 3):
        counts = counts_of(rows, Scale.probability(bits=bits))
        bounds = h_measure_bounds(counts, severity_ratio=ratio)
        if math.isnan(exact):
            assert math.isnan(bounds.low)
            continue
        assert bounds.low == h_measure(counts, severity_ratio=ratio)
        assert bounds.low - 1e-13 <= exact <= bounds.high + 1e-13
    bounds = h_measure_bounds(counts_of(rows, EXACT), severity_ratio=ratio)
    assert (bounds.low, bounds.high) == pytest.approx((exact, exact), abs=0, nan_ok=True)


def test_the_upper_bound_is_reached():
    """Where in every bin the positives come first."""
    rows = [(1, 0.51), (0, 0.505), (0, 0.504), (1, 0.21), (0, 0.205), (1, 0.206)]
    bounds = h_measure_bounds(counts_of(rows, Scale.probability(bits=1)))

    assert bounds.high == pytest.approx(h_measure(counts_of(rows, EXACT)), rel=1e-14)
    assert bounds.low < bounds.high


@given(events, st.integers(1, 4), ratios)
def test_invariances(rows, times, ratio):
    """Weight is repetition; only the order counts; so does only the hull."""
    counts = counts_of(rows, EXACT)
    hull = roc_hull(counts).rows
    others = [
        counts_of([(*row, times) for row in rows], EXACT),
        counts_of(rows[::-1] * times, EXACT),
        counts_of([(label, math.atan(score) - 7) for label, score in rows], EXACT),
    ]
    if hull.size:
        others.append(ThresholdCounts(counts.thresholds[hull], counts.tps[hull], counts.fps[hull]))
    want = h_measure(counts, severity_ratio=ratio)
    for other in others:
        assert h_measure(other, severity_ratio=ratio) == pytest.approx(want, abs=1e-13, nan_ok=True)


@given(events)
def test_exchanged_classes(rows):
    """The default does not ask which class is called positive; nor does a ratio of 1."""
    counts = counts_of(rows, EXACT)
    turned = counts_of([(1 - label, -score) for label, score in rows], EXACT)
    for ratio in (None, 1):
        found, other = (h_measure(c, severity_ratio=ratio) for c in (counts, turned))
        assert other == pytest.approx(found, abs=1e-13, nan_ok=True)


@given(events, st.integers(2, 5))
def test_another_prevalence_is_repetition(rows, times):
    """Of the negatives; here it does depend on the prevalence."""
    counts = counts_of(rows, EXACT)
    assume(counts.n_pos and counts.n_neg)
    more = counts_of(rows + [row for row in rows if not row[0]] * (times - 1), EXACT)
    moved = at_prevalence(counts, prevalence(more))

    assert h_measure(moved) == pytest.approx(h_measure(more), abs=1e-12)
    assert math.isnan(h_measure(at_prevalence(counts_of([(1, 0.5)], EXACT), 0.5)))


def by_mean_of_losses(counts, weight):
    """Return the same from conditional means, with SciPy's beta; for one threshold in between.

    Below the share of positives among the flagged (above it among the others) it is used.
    """
    tp, fp = (float(part[1]) for part in (counts.tps, counts.fps))
    pos, neg = float(counts.n_pos), float(counts.n_neg)
    a, b = weight.args

    def loss(p, n):
        mean = a / (a + b)
        below = mean * stats.beta.cdf(p / (p + n), a + 1, b)
        above = (1 - mean) * stats.beta.sf(p / (p + n), a, b + 1)
        return n * below + p * above

    return 1 - (loss(tp, fp) + loss(pos - tp, neg - fp)) / loss(pos, neg)


@pytest.mark.parametrize("ratio", [None, 1e-9, 1e-4, 1.0, 1e4, 1e9])
@pytest.mark.parametrize(
    ("tps", "fps"),
    [
        ((0, 2_000_000_000, 4_000_000_000), (0, 1_000_000_000, 4_000_000_000)),
        ((0, 3, 10), (0, 1_000, 4_000_000_000)),
        ((0, 4_000_000, 4_000_000_000), (0, 1, 10)),
        ((0, 4_000_000_000 - 1000, 4_000_000_000), (0, 2, 10)),
    ],
)
def test_huge_and_lopsided_counts(tps, fps, ratio):
    """Billions against ten, either way round, and severities up to a billion."""
    counts = ThresholdCounts(np.array([math.inf, 2.0, 1.0]), np.array(tps), np.array(fps))
    found = h_measure(counts, severity_ratio=ratio)

    want = by_mean_of_losses(counts, distribution(counts, ratio))
    assert found == pytest.approx(want, rel=1e-6, abs=1e-7)
    turned = ThresholdCounts(
        np.array([math.inf, 2.0, 1.0]),
        counts.n_neg - counts.fps[::-1],
        counts.n_pos - counts.tps[::-1],
    )
    if ratio is None:
        assert h_measure(turned) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan])
def test_a_severity_ratio_is_checked(bad):
    """Positive and finite, whatever the counts."""
    for rows in ([], [(1, 0.5), (0, 0.4)]):
        with pytest.raises(ValueError, match="severity_ratio must be"):
            h_measure(counts_of(rows, EXACT), severity_ratio=bad)


@pytest.mark.parametrize("rows", [[], [(1, 0.5)], [(0, 0.5)]])
def test_undefined(rows):
    """Both classes are needed."""
    counts = counts_of(rows, EXACT)
    assert math.isnan(h_measure(counts))
    assert math.isnan(h_measure_bounds(counts).high)
    assert math.isnan(h_measure(counts, severity_ratio=2))
