"""Crossings of two ROC curves against drawing both and looking along many lines, in fractions."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import counts_of, events, lattice, weighted_events

from streamauc import Scale, ThresholdCounts, roc_auc
from streamauc.metrics.crossing import roc_crossings
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
both = events.filter(lambda rows: {label for label, _ in rows} == {0, 1})
weighted = weighted_events.filter(lambda rows: {row[0] for row in rows if row[2]} == {0, 1})
scored_twice = st.lists(st.tuples(st.integers(0, 1), lattice, lattice), max_size=40).filter(
    lambda rows: {row[0] for row in rows} == {0, 1}
)


def two(rows):
    """Return the counts of two scores of the same events."""
    return [counts_of([(row[0], row[column]) for row in rows], EXACT) for column in (1, 2)]


def corners(counts):
    """Return the points of a curve in fractions."""
    fps, tps = ([Fraction(v) for v in part.tolist()] for part in (counts.fps, counts.tps))
    return [(x / fps[-1], y / tps[-1]) for x, y in zip(fps, tps, strict=True)]


def height(points, total):
    """How far up the curve is where it meets the line ``fpr + tpr = total``."""
    for (x, y), (later_x, later_y) in pairwise(points):
        if x + y <= total <= later_x + later_y:
            share = (total - x - y) / (later_x + later_y - x - y)
            return y + share * (later_y - y)
    raise AssertionError


def seen_above(first, second, total):
    """1, -1 or 0: which curve is above the other on one line."""
    gap = height(corners(first), total) - height(corners(second), total)
    return (gap > 0) - (gap < 0)


def check_stretches(first, second):
    """Look along forty lines; compare with the stretch that each is in, but at its ends."""
    found = roc_crossings(first, second)
    ends = found.fpr + found.tpr
    assert (ends[0], ends[-1]) == (0, 2)
    assert (np.diff(ends) > 0).all()
    assert (np.diff(found.above) != 0).all()
    for k in range(1, 41):
        total = Fraction(2 * k, 41)
        if np.abs(ends - float(total)).min() > 1e-9:
            stretch = int(np.searchsorted(ends, float(total))) - 1
            assert found.above[stretch] == seen_above(first, second, total)
    return found


@given(both, both)
def test_each_stretch_has_the_curve_above_that_one_sees(rows, others):
    """Of two samples with totals of their own, along lines that meet each curve once."""
    check_stretches(counts_of(rows, EXACT), counts_of(others, EXACT))


@given(scored_twice)
def test_two_scores_of_the_same_events(rows):
    """Where many points coincide."""
    check_stretches(*two(rows))


@given(weighted, weighted)
def test_weights(rows, others):
    """Sums of weights take the place of counts."""
    check_stretches(counts_of(rows, EXACT), counts_of(others, EXACT))


@given(scored_twice)
def test_areas_add_up_to_the_difference_of_the_areas_under_the_curves(rows):
    """And each has the sign of its stretch."""
    first, second = two(rows)
    found = roc_crossings(first, second)

    assert found.areas.sum() == pytest.approx(roc_auc(first) - roc_auc(second), abs=1e-14)
    assert np.sign(found.areas).tolist() == found.above.tolist()


@given(scored_twice)
def test_a_crossing_is_a_point_of_both_curves(rows):
    """Where the line through it meets them, both are as high."""
    first, second = two(rows)
    found = roc_crossings(first, second)

    signs = [sign for sign in found.above.tolist() if sign]
    assert len(found.crossings) == sum(a != b for a, b in pairwise(signs))
    for fpr, tpr in found.crossings.tolist():
        total = Fraction(fpr) + Fraction(tpr)
        for counts in (first, second):
            assert float(height(corners(counts), total)) == pytest.approx(tpr, abs=1e-12)


@given(scored_twice)
def test_exchanged_curves_change_the_sign_only(rows):
    """Nothing else depends on which comes first."""
    first, second = two(rows)
    found, other = roc_crossings(first, second), roc_crossings(second, first)

    assert other.above.tolist() == (-found.above).tolist()
    assert other.areas == pytest.approx(-found.areas, abs=1e-16)
    assert other.fpr == pytest.approx(found.fpr, abs=1e-15)
    turned = {"first": "second", "second": "first"}
    assert other.dominant == turned.get(found.dominant, found.dominant)


@given(scored_twice)
def test_exchanged_classes_mirror_it(rows):
    """Along the diagonal, from the other end."""
    found = roc_crossings(*two(rows))
    other = roc_crossings(*two([(1 - label, -a, -b) for label, a, b in rows]))

    assert other.above.tolist() == found.above[::-1].tolist()
    assert other.fpr == pytest.approx(1 - found.tpr[::-1], abs=1e-14)


@given(both)
def test_a_curve_lies_on_itself(rows):
    """Also at other totals: three times the events, another prevalence, repeated points."""
    counts = counts_of(rows, EXACT)
    repeated = ThresholdCounts(
        np.repeat(counts.thresholds, 2), np.repeat(counts.tps, 2), np.repeat(counts.fps, 2)
    )
    for other in (counts, counts_of(rows * 3, EXACT), at_prevalence(counts, 0.01), repeated):
        found = roc_crossings(counts, other)
        assert found.above.tolist() == [0]
        assert found.dominant == "same"
        assert found.crossings.shape == (0, 2)


@given(both)
def test_perfect_scores_dominate(rows):
    """Nothing is ever above them."""
    counts = counts_of(rows, EXACT)
    perfect = counts_of([(label, label) for label, _ in rows], EXACT)
    found = roc_crossings(perfect, counts)

    assert found.dominant == ("same" if roc_auc(counts) == 1 else "first")
    assert (found.above >= 0).all()


def test_touching_is_no_crossing():
    """The first is above, meets the second in one point, is above again."""
    first = counts_of([(1, 4), (0, 3), (1, 2), (0, 1)], EXACT)
    second = counts_of([(1, 3), (0, 3), (1, 2), (0, 2)], EXACT)
    found = roc_crossings(first, second)

    assert found.above.tolist() == [1]
    assert found.areas.tolist() == [0.25]
    assert found.dominant == "first"


def test_a_common_stretch_between_two_sides():
    """First above, then the same, then second above: they change sides where they part."""
    first = counts_of([(1, 9), (0, 8), (1, 7), (0, 6), (0, 5), (1, 4)], EXACT)
    second = counts_of([(0, 9), (1, 8), (1, 7), (0, 6), (1, 5), (0, 4)], EXACT)
    found = roc_crossings(first, second)

    assert found.above.tolist() == [1, 0, -1]
    assert found.crossings.tolist() == [pytest.approx([2 / 3, 2 / 3])]
    assert found.dominant == "neither"


def test_huge_counts():
    """Four billion of each class, one curve better by a thousandth."""
    totals = np.array([0, 2, 4]) * 1_000_000_000
    level = ThresholdCounts(np.array([math.inf, 2.0, 1.0]), totals, totals)
    better = ThresholdCounts(
        np.array([math.inf, 2.0, 1.0]), totals + np.array([0, 4_000_000, 0]), totals
    )
    found = roc_crossings(level, better)

    assert found.above.tolist() == [-1]
    assert found.areas.tolist() == [pytest.approx(-0.0005, rel=1e-12)]


@pytest.mark.parametrize("rows", [[], [(1, 0.5)], [(0, 0.5)]])
def test_undefined(rows):
    """Without a curve there is nothing to compare, on either side."""
    counts = counts_of([(1, 0.5), (0, 0.5)], EXACT)
    other = counts_of(rows, EXACT)
    for pair in ((counts, other), (other, counts), (counts, at_prevalence(other, 0.5))):
        found = roc_crossings(*pair)
        assert found.above.size == found.areas.size == found.fpr.size == 0
        assert found.dominant is None
        assert found.crossings.shape == (0, 2)
