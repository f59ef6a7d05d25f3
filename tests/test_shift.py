"""The shift of scores: against SciPy and sums bin by bin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import events, histogram_of, lattice, weighted_events
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp

from streamauc import Scale, ScoreHistogram, compare

EXACT = Scale.exact()
some = st.lists(st.tuples(st.integers(0, 1), lattice), min_size=1, max_size=50)


def shifts(first, second, scale=EXACT):
    """Return the shifts between two lists of rows."""
    sides = histogram_of(first, scale), histogram_of(second, scale)
    return compare(*sides, independent=True).score_shift


def scores_of(rows, name):
    """Return the scores of the rows of a class, or of all."""
    wanted = {"positives": (1,), "negatives": (0,), "overall": (0, 1)}[name]
    return [row[1] for row in rows if row[0] in wanted]


@given(some, some)
def test_ks_and_jensen_shannon_on_ties(first, second):
    """Class by class and over all: KS threshold by threshold, the divergence by SciPy."""
    for name, found in shifts(first, second).items():
        a, b = scores_of(first, name), scores_of(second, name)
        if not a or not b:
            assert math.isnan(found.ks + found.psi + found.jensen_shannon)
            continue
        values = sorted({*a, *b})
        p, q = ([side.count(value) for value in values] for side in (a, b))
        above = [[np.mean(np.array(side) >= value) for value in values] for side in (a, b)]
        assert found.ks == pytest.approx(np.abs(np.subtract(*above)).max(), abs=1e-12)
        assert found.jensen_shannon == pytest.approx(jensenshannon(p, q, base=2) ** 2, abs=1e-9)


def psi_by_loops(a, b):
    """Put each score into the tenth of `a` that the middle of its rank lies in; sum the groups."""
    groups = {}
    for side, scores in enumerate((a, b)):
        for score in scores:
            above = sum(other > score for other in a)
            equal = sum(other == score for other in a)
            middle = 10 * (2 * above + equal) / (2 * len(a))
            # The groups count from the top; one that lies on a cut is below it.
            group = min(9, math.floor(middle))
            groups.setdefault(group, [0, 0])[side] += 1
    total = 0.0
    for x, y in groups.values():
        p, q = max(x, 0.5) / len(a), max(y, 0.5) / len(b)
        total += (q - p) * math.log(q / p)
    return total


@given(some, some)
def test_psi_is_the_sum_over_groups_of_the_reference(first, second):
    """Ten groups of equal mass by the middle of each bin; an empty one is half an event."""
    for name, found in shifts(first, second).items():
        a, b = scores_of(first, name), scores_of(second, name)
        if a and b:
            assert found.psi == pytest.approx(psi_by_loops(a, b), abs=1e-12)


def test_psi_of_many_scores_is_the_textbooks():
    """With a thousand different scores the groups are the reference's deciles, nearly.

    A new score between two of the reference at a cut may fall on either side of it.
    """
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 1_000), rng.normal(0.5, 1.2, 700)
    cuts = np.quantile(a, np.arange(1, 10) / 10)
    p = np.bincount(np.searchsorted(cuts, a), minlength=10) / a.size
    q = np.bincount(np.searchsorted(cuts, b), minlength=10) / b.size
    found = shifts([(0, x) for x in a], [(0, x) for x in b])["overall"]

    assert found.psi == pytest.approx(float(np.sum((q - p) * np.log(q / p))), rel=0.05)
    assert found.psi > 0.1
    assert found.ks == pytest.approx(ks_2samp(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("moved", [0.1, 0.9])
def test_scores_never_seen_before_are_seen(moved):
    """A reference with a single score, and everything now below, or above, it."""
    found = shifts([(0, 0.5)] * 100, [(0, moved)] * 100)["negatives"]

    assert (found.ks, found.jensen_shannon) == (1, 1)
    assert found.psi > 5


@given(events, st.integers(2, 10))
def test_more_of_the_same_is_no_shift(rows, times):
    """Every measure is 0 for the same shares, whatever the number of events."""
    for name, found in shifts(rows, rows * times, Scale.probability(bits=3)).items():
        if scores_of(rows, name):
            assert (found.ks, found.jensen_shannon) == pytest.approx((0, 0), abs=1e-15)
            assert found.psi == pytest.approx(0, abs=1e-15)


@given(weighted_events, weighted_events)
def test_a_weight_is_a_share(first, second):
    """All weights of a side times a factor change nothing; half an event is of average weight."""
    doubled = [(label, score, 4 * weight) for label, score, weight in second]
    one, other = shifts(first, second), shifts(first, doubled)

    for name, found in one.items():
        for measure in ("ks", "psi", "jensen_shannon"):
            value = getattr(other[name], measure)
            assert value == pytest.approx(getattr(found, measure), abs=1e-12, nan_ok=True)


@given(some, some)
def test_unit_weights_are_no_weights(first, second):
    """Weights of 1 give what no weights give."""
    plain = shifts(first, second)
    weighted = shifts([(*row, 1.0) for row in first], [(*row, 1.0) for row in second])

    for name, found in plain.items():
        for measure in ("ks", "psi", "jensen_shannon"):
            value = getattr(weighted[name], measure)
            assert value == pytest.approx(getattr(found, measure), abs=1e-12, nan_ok=True)


def test_quiet_samples_have_the_noise_that_is_documented():
    """Two samples of one distribution over 200 full bins: Jensen-Shannon as said, PSI small."""
    rng = np.random.default_rng(2)
    sides = [
        ScoreHistogram.from_scores(np.zeros(n, int), rng.integers(0, 200, n) / 200, scale=EXACT)
        for n in (20_000, 10_000)
    ]
    found = compare(*sides, independent=True).score_shift["overall"]

    noise = 199 * (1 / 20_000 + 1 / 10_000) / 8 / math.log(2)
    assert found.jensen_shannon == pytest.approx(noise, rel=0.4)
    assert found.psi < 0.005
