"""Isotonic calibration against a fit by looking at every stretch of scores, and scikit-learn."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import LARGEST, counts_of, events, lattice, random_floats, weighted_events
from sklearn.isotonic import IsotonicRegression

from streamauc import Scale, ScoreHistogram, ThresholdCounts, threshold_counts
from streamauc.metrics.isotonic import isotonic, pool
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
COARSE = Scale.probability(bits=1)


def by_min_max(rows):
    """{score: chance}: the largest of the least shares of stretches that end here or begin here.

    The min-max formula of isotonic regression (Barlow et al. 1972, eq. 1.9), in fractions.
    """
    groups = {}
    for label, score, *weight in rows:
        factor = Fraction(weight[0]) if weight else Fraction(1)
        if factor:
            pos, total = groups.get(score, (Fraction(0), Fraction(0)))
            groups[score] = pos + factor * int(label), total + factor
    scores = sorted(groups)

    def share(first, last):
        stretch = [groups[score] for score in scores[first : last + 1]]
        return sum(pos for pos, _ in stretch) / sum(total for _, total in stretch)

    places = range(len(scores))
    return {
        scores[i]: max(min(share(j, k) for k in places if k >= i) for j in places if j <= i)
        for i in places
    }


@given(st.one_of(events, weighted_events))
@example([(1, 0.5)])
@example([(0, 0.5), (0, 0.75)])
def test_equals_the_min_max_formula(rows):
    """Ties, weights and weights of zero included, at every score that occurs."""
    want = by_min_max(rows)
    found = isotonic(counts_of(rows, EXACT)).calibrate(list(want))

    assert found == pytest.approx([float(one) for one in want.values()], rel=1e-12, abs=1e-15)


@given(st.one_of(events, weighted_events), st.lists(st.floats(-0.5, 1.5), max_size=10))
def test_equals_scikit_learn_between_the_scores_as_well(rows, scores):
    """Straight between two scores, level beyond the first and the last."""
    rows = [row for row in rows if len(row) == 2 or row[2]]
    if rows:
        y_true, y_score, *weights = np.array(rows, dtype=np.float64).T
        other = IsotonicRegression(out_of_bounds="clip").fit(
            y_score, y_true, sample_weight=weights[0] if weights else None
        )
        found = isotonic(counts_of(rows, EXACT)).calibrate(scores)

        if scores:
            assert found == pytest.approx(other.predict(scores), rel=1e-9, abs=1e-12)


@given(events, st.lists(lattice, max_size=5))
def test_a_bin_is_one_group(rows, others):
    """Every score of a bin that holds samples has the share fitted to the bin, and no other."""
    edges = COARSE.lower_edges(COARSE.bins([score for _, score in rows])).tolist()
    want = by_min_max([(label, edge) for (label, _), edge in zip(rows, edges, strict=True)])
    found = isotonic(counts_of(rows, COARSE))
    for edge in want:
        inside = [edge, float(np.nextafter(COARSE.lower_edges([COARSE.bin(edge) + 1])[0], 0))]
        inside += [score for score in others if COARSE.bin(score) == COARSE.bin(edge)]
        inside = [min(one, 1.0) for one in inside]

        assert found.calibrate(inside) == pytest.approx([float(want[edge])] * len(inside))


@given(events, st.lists(st.floats(0, 1), max_size=20), st.booleans())
def test_chances_rise_with_the_score(rows, scores, exact):
    """For any scores, on both scales, between the lowest and the highest chance."""
    found = isotonic(counts_of(rows, EXACT if exact else COARSE))
    chances = found.calibrate(sorted(scores))

    assert (np.diff(found.thresholds) > 0).all()
    assert (np.diff(found.values) >= 0).all()
    if rows:
        assert (np.diff(chances) >= 0).all()
        assert ((chances >= found.values[0]) & (chances <= found.values[-1])).all()


def test_any_floats_can_be_asked_for():
    """From the smallest to the largest, where differences of scores are not floats any more."""
    rng = np.random.default_rng(3)
    scores = np.unique(np.append(random_floats(rng, -LARGEST, LARGEST, 500), [5e-324, 1e-323, 0]))
    labels = (np.arange(scores.size) > scores.size / 2) ^ (rng.random(scores.size) < 0.3)
    histogram = ScoreHistogram.from_scores(labels, scores, scale=EXACT)
    found = isotonic(threshold_counts(histogram))
    asked = np.sort(np.append(random_floats(rng, -LARGEST, LARGEST, 2_000), scores))

    assert np.isfinite(found.calibrate(asked)).all()
    assert (np.diff(found.calibrate(asked)) >= 0).all()
    own = found.calibrate(found.thresholds)
    assert own.tolist() == found.values.tolist()
    far = isotonic(counts_of([(0, -LARGEST), (1, LARGEST)], EXACT))
    assert far.calibrate([-LARGEST, -LARGEST / 2, 0, LARGEST]).tolist() == [0, 0.25, 0.5, 1]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=40))
@example([(0, 1)] * 3)
@example([(k, 50) for k in range(30)] + [(0, 100_000)])
def test_pooling_is_optimal_however_it_goes(groups):
    """By passes or block by block: each block's share is that of its groups, and they rise."""
    pos = np.array([min(one) for one in groups], dtype=np.float64)
    total = np.array([max(one) for one in groups], dtype=np.float64)
    starts, shares = pool(pos, total)
    ends = [*starts[1:].tolist(), pos.size]

    assert (np.diff(shares) > 0).all()
    for start, stop, share in zip(starts.tolist(), ends, shares.tolist(), strict=True):
        assert share == pytest.approx(pos[start:stop].sum() / total[start:stop].sum(), rel=1e-12)
        # No part from the left end of a block has a smaller share than the whole.
        partial = pos[start:stop].cumsum() / total[start:stop].cumsum()
        assert (partial >= share * (1 - 1e-12)).all()


@pytest.mark.parametrize("seed", range(5))
def test_large_windows_equal_scikit_learn(seed):
    """Thousands of distinct scores, and a heavy last one that pools backwards step by step."""
    rng = np.random.default_rng(seed)
    y_score = np.append(rng.random(3_000), np.ones(3_000))
    y_true = (rng.random(6_000) < y_score**2 * (y_score < 1)).astype(np.int64)
    other = IsotonicRegression(out_of_bounds="clip").fit(y_score, y_true)
    found = isotonic(threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=EXACT)))

    assert found.calibrate(y_score) == pytest.approx(other.predict(y_score), rel=1e-12, abs=1e-15)


@given(events)
def test_order_repetition_and_parts_do_not_matter(rows):
    """The order of arrival, weights instead of repetitions, and a merge of two halves."""
    first = isotonic(counts_of(rows, EXACT))
    halves = [rows[::2], rows[1::2]]
    parts = [
        ScoreHistogram.from_scores(
            [label for label, _ in half], [score for _, score in half], scale=EXACT
        )
        for half in halves
        if half
    ]
    others = [
        counts_of(rows[::-1], EXACT),
        counts_of([(*row, 3.0) for row in rows], EXACT),
        counts_of([row for row in rows for _ in range(2)], EXACT),
        *([threshold_counts(ScoreHistogram.merge(parts))] if parts else []),
    ]
    for other in map(isotonic, others):
        assert other.thresholds.tolist() == first.thresholds.tolist()
        assert other.values == pytest.approx(first.values, rel=1e-14)


@given(events)
def test_the_other_class_is_the_mirror(rows):
    """Labels and scores turned round give one minus the chance."""
    mirrored = isotonic(counts_of([(1 - label, -score) for label, score in rows], EXACT))
    first = isotonic(counts_of(rows, EXACT))

    assert (-mirrored.thresholds[::-1]).tolist() == first.thresholds.tolist()
    assert 1 - mirrored.values[::-1] == pytest.approx(first.values, abs=1e-15)


def test_a_monotone_transform_moves_the_points_only():
    """Isotonic regression sees ranks; the points are where the scores are."""
    rows = [(0, 0.1), (1, 0.2), (0, 0.3), (1, 0.8)]
    first = isotonic(counts_of(rows, EXACT))
    moved = isotonic(counts_of([(label, math.log(score)) for label, score in rows], EXACT))

    assert moved.values.tolist() == first.values.tolist()
    assert moved.thresholds == pytest.approx(np.log(first.thresholds))


def test_one_class_one_bin_and_nothing():
    """One class is 0 or 1 everywhere; nothing to learn from is nan everywhere."""
    for label in (0, 1):
        found = isotonic(counts_of([(label, 0.3), (label, 0.6)], COARSE))
        assert found.calibrate([0.0, 0.5, 1.0]).tolist() == [label] * 3
    assert isotonic(counts_of([(0, 0.3), (1, 0.3)], EXACT)).calibrate([0, 1]).tolist() == [0.5, 0.5]
    nothing = isotonic(counts_of([], EXACT))
    assert np.isnan(nothing.calibrate([0.5])).all()
    assert nothing.calibrate([]).size == 0


def test_counts_at_another_prevalence():
    """Each chance has its odds times one factor; without one class there is no chance."""
    rows = [(0, 0.1), (0, 0.1), (1, 0.1), (0, 0.6), (1, 0.6), (1, 0.6)]
    counts = counts_of(rows, EXACT)
    found = isotonic(at_prevalence(counts, 0.1)).values
    odds = np.array([1 / 2, 2.0]) / 9

    assert found == pytest.approx(odds / (1 + odds), rel=1e-14)
    assert isotonic(at_prevalence(counts_of([(1, 0.5)], EXACT), 0.1)).values.size == 0


def test_huge_counts_and_unknown_ceilings():
    """Billions of each class fit; a bin of unknown end reaches up to the next threshold."""
    big = 4_000_000_000
    counts = ThresholdCounts(
        np.array([math.inf, 0.8, 0.2]),
        np.array([0, big, big + 10]),
        np.array([0, 10, big]),
        exact=False,
    )
    found = isotonic(counts)

    assert found.values[[0, -1]] == pytest.approx([10 / big, big / (big + 10)], rel=1e-8)
    assert found.calibrate([0.2, 0.5, 0.79]).tolist() == [found.values[0]] * 3
    assert found.calibrate([0.8, 0.9]).tolist() == [found.values[-1]] * 2


def test_scores_that_are_no_numbers_are_refused():
    """As everywhere else, with the index."""
    found = isotonic(counts_of([(0, 0.1), (1, 0.2)], EXACT))
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match=r"y_score must be finite, got (nan|inf) at index 1"):
            found.calibrate([0.1, bad])


def test_every_small_pattern():
    """All labels of up to six distinct scores, by the formula."""
    for n in range(1, 7):
        for labels in itertools.product((0, 1), repeat=n):
            rows = [(label, k / 8) for k, label in enumerate(labels)]
            want = [float(one) for one in by_min_max(rows).values()]
            found = isotonic(counts_of(rows, EXACT)).calibrate([score for _, score in rows])
            assert found == pytest.approx(want, rel=1e-14)
