"""Davis & Goadrich's interpolation against its definition, numerical integration and finer ties."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import example, given
from hypothesis import strategies as st
from reference import counts_of, events, weighted_events
from scipy import integrate

from streamauc import Scale, ThresholdCounts, average_precision
from streamauc.metrics.hull import roc_hull
from streamauc.metrics.pr_area import (
    interpolated_curve,
    interpolated_precision,
    pr_area,
    pr_area_bounds,
)
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
BINNED = Scale.probability(bits=1)
any_events = st.one_of(events, weighted_events)
with_positives = any_events.filter(lambda rows: any(row[0] and row[-1] for row in rows))
recalls = st.integers(0, 24).map(lambda k: Fraction(k, 24))


def segments(counts):
    """Return (tp, fp, p, n) of each threshold that adds positives, in fractions."""
    tps, fps = ([Fraction(v) for v in part.tolist()] for part in (counts.tps, counts.fps))
    return [
        (tps[i], fps[i], tps[i + 1] - tps[i], fps[i + 1] - fps[i])
        for i in range(len(tps) - 1)
        if tps[i + 1] > tps[i]
    ]


def precision_by_definition(counts, recall):
    """Return the highest precision among all segments that reach the recall."""
    hits = Fraction(recall) * Fraction(counts.n_pos)
    found = []
    for tp, fp, p, n in segments(counts):
        if tp <= hits <= tp + p:
            share = (hits - tp) / p
            false = fp + share * n
            # From (0, 0) on it is the same all the way, which is the limit at recall 0.
            found.append(hits / (hits + false) if hits + false else p / (p + n))
    return max(found)


def area_by_quadrature(counts):
    """Integrate the precision over the recall, segment by segment."""
    total = 0.0
    for tp, fp, p, n in segments(counts):
        tp, fp, p, n = float(tp), float(fp), float(p), float(n)

        def precision(x, tp=tp, fp=fp, ratio=n / p):
            return (tp + x) / (tp + x + fp + x * ratio)

        total += integrate.quad(precision, 0, p, epsabs=1e-13, epsrel=1e-13)[0]
    return total / float(counts.n_pos)


@given(with_positives, st.lists(recalls, max_size=6), st.sampled_from([EXACT, BINNED]))
def test_precision_is_the_papers(rows, wanted, scale):
    """At any recall, from the counts that a mixture of two thresholds has there."""
    counts = counts_of(rows, scale)
    found = interpolated_precision(counts, [float(recall) for recall in wanted])

    want = [float(precision_by_definition(counts, float(recall))) for recall in wanted]
    assert found == pytest.approx(want, rel=1e-12, abs=1e-12)


def test_the_papers_example():
    """Twenty positives, from 5 true and 5 false positives to 10 and 30."""
    counts = ThresholdCounts(
        np.array([math.inf, 3.0, 2.0, 1.0]), np.array([0, 5, 10, 20]), np.array([0, 5, 30, 2000])
    )
    found = interpolated_precision(counts, [0.25, 0.3, 0.35, 0.4, 0.45, 0.5])

    assert found.round(3).tolist() == [0.5, 0.375, 0.318, 0.286, 0.265, 0.25]
    curve = interpolated_curve(counts, between=4)
    assert curve.recall[5:11] == pytest.approx([0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
    assert curve.precision[5:11].round(3).tolist() == [0.5, 0.375, 0.318, 0.286, 0.265, 0.25]
    assert curve.between[5:11].tolist() == [False, True, True, True, True, False]


def test_negatives_that_come_alone_are_a_drop():
    """Both ends of it are points, at one recall."""
    curve = interpolated_curve(counts_of([(1, 4), (0, 3), (0, 2), (1, 1)], EXACT), between=0)

    assert curve.recall.tolist() == [0, 0.5, 0.5, 1]
    assert curve.precision == pytest.approx([1, 1, 1 / 3, 1 / 2])
    assert not curve.between.any()


@given(with_positives, st.sampled_from([EXACT, BINNED]))
def test_area_is_the_integral(rows, scale):
    """By adaptive quadrature of the definition, and by fine trapezoids of the curve."""
    counts = counts_of(rows, scale)
    found = pr_area(counts)

    assert found == pytest.approx(area_by_quadrature(counts), rel=1e-11)
    curve = interpolated_curve(counts, between=200)
    assert found == pytest.approx(sk.auc(curve.recall, curve.precision), abs=2e-4)


WEIGHTED = [(0, 0.125, 0.25), (1, 0.0, 2.75), (1, 0.25, 3.5)]


@given(with_positives, st.integers(0, 5))
@example(WEIGHTED, 0)
def test_the_curve_is_made_of_points_and_points_between(rows, between):
    """Recall rises from 0 to 1; each point has the precision of its recall."""
    counts = counts_of(rows, EXACT)
    curve = interpolated_curve(counts, between=between)

    assert (curve.recall[0], curve.recall[-1]) == (0, 1)
    assert (np.diff(curve.recall) >= 0).all()
    highest = interpolated_precision(counts, curve.recall)
    first = np.diff(curve.recall, prepend=-1) > 0
    assert curve.precision[first] == pytest.approx(highest[first], rel=1e-12)
    assert (curve.precision[~first] < highest[~first]).all()
    assert first.sum() == len(segments(counts)) * (between + 1) + 1
    reached = {(recall, cut) for recall, cut in zip(counts.recall, counts.precision, strict=True)}
    points = zip(curve.recall[~curve.between], curve.precision[~curve.between], strict=True)
    assert {point for point in points if point[0]} <= {point for point in reached if point[0]}


@given(events.filter(lambda rows: any(label for label, _ in rows)))
def test_a_tie_in_a_random_order_has_the_area_of_the_tie(rows):
    """A tie of twice as many events in halves has the same counts in between, so the same area."""
    counts = counts_of(rows, EXACT)
    middles = [(part[1:] + part[:-1]) / 2 for part in (counts.tps, counts.fps)]
    tps, fps = (
        np.insert(part.astype(float), np.arange(1, part.size), middle)
        for part, middle in zip((counts.tps, counts.fps), middles, strict=True)
    )
    halves = ThresholdCounts(np.array([math.inf, *range(tps.size - 1, 0, -1)]), tps, fps)

    assert pr_area(halves) == pytest.approx(pr_area(counts), rel=1e-12)


def test_beside_average_precision():
    """Without ties they tend to the same; where all score the same both are the prevalence."""
    rng = np.random.default_rng(5)
    rows = [(int(rng.random() < 0.3), score) for score in rng.permutation(3000) / 3000]
    rows = [(label, score + 0.3 * label) for label, score in rows]
    counts = counts_of(rows, EXACT)
    assert pr_area(counts) == pytest.approx(average_precision(counts), abs=2e-3)
    tied = counts_of([(label, 0.5) for label, _ in rows], EXACT)
    assert pr_area(tied) == pytest.approx(average_precision(tied), rel=1e-12)
    # In two ties the average precision takes every positive at its tie's end.
    coarse = counts_of([(1, 2), (0, 2), (1, 1), (0, 1), (0, 1)], EXACT)
    assert average_precision(coarse) == pytest.approx((1 / 2 + 2 / 5) / 2)
    assert pr_area(coarse) == pytest.approx(area_by_quadrature(coarse), rel=1e-12)
    assert pr_area(coarse) > average_precision(coarse)


@given(any_events)
def test_bounds_hold_the_exact_area(rows):
    """From bins of any width; both are the area itself on the exact scale."""
    exact = pr_area(counts_of(rows, EXACT))
    for bits in (1, 3):
        counts = counts_of(rows, Scale.probability(bits=bits))
        bounds = pr_area_bounds(counts)
        if math.isnan(exact):
            assert math.isnan(bounds.low)
            continue
        assert bounds.low - 1e-14 <= exact <= bounds.high + 1e-14
        assert bounds.low <= pr_area(counts) <= bounds.high
    bounds = pr_area_bounds(counts_of(rows, EXACT))
    assert (bounds.low, bounds.high) == pytest.approx((exact, exact), abs=0, nan_ok=True)


def test_bounds_are_reached():
    """By positives that come first in a bin, and nearly so by the last of many."""
    binned = counts_of([(1, 0.26), (1, 0.26), (0, 0.26), (0, 0.26)], BINNED)
    assert pr_area_bounds(binned).high == 1
    last = counts_of([(0, 0.27), (0, 0.27), *((1, 0.26 - i / 1e6) for i in range(2))], EXACT)
    assert pr_area(last) == pytest.approx(pr_area_bounds(binned).low, rel=1e-12)


@given(any_events)
def test_the_achievable_curve_is_that_of_the_hull(rows):
    """No lower anywhere than the curve itself; its area is that of the hull's points."""
    counts = counts_of(rows, EXACT)
    found = pr_area(counts, on_hull=True)
    if not (counts.n_pos and counts.n_neg):
        assert found == pytest.approx(pr_area(counts), nan_ok=True)
        return
    hull = roc_hull(counts).rows
    vertices = ThresholdCounts(counts.thresholds[hull], counts.tps[hull], counts.fps[hull])
    assert found == pytest.approx(area_by_quadrature(vertices), rel=1e-11)
    assert found >= pr_area(counts) - 1e-14


@given(events, st.integers(1, 4))
def test_weight_and_prevalence_are_repetition(rows, times):
    """Of all events, and of the negatives alone."""
    counts = counts_of(rows, EXACT)
    for repeated in (counts_of(rows * times, EXACT), counts_of([(*r, times) for r in rows], EXACT)):
        assert pr_area(repeated) == pytest.approx(pr_area(counts), rel=1e-13, nan_ok=True)
    if counts.n_pos and counts.n_neg:
        more = counts_of(rows + [row for row in rows if not row[0]] * (times - 1), EXACT)
        share = counts.n_pos / (counts.n_pos + times * counts.n_neg)
        assert pr_area(counts, prevalence=share) == pytest.approx(pr_area(more), rel=1e-12)


@given(events)
def test_a_monotone_transform_changes_nothing(rows):
    """Only the order of the scores counts."""
    moved = counts_of([(label, math.atan(score) - 7) for label, score in rows], EXACT)

    assert pr_area(moved) == pytest.approx(pr_area(counts_of(rows, EXACT)), abs=0, nan_ok=True)


def test_huge_counts():
    """Four billion of each class in two bins, against fractions of them."""
    huge = ThresholdCounts(
        np.array([math.inf, 2.0, 1.0]),
        np.array([0, 3, 4]) * 1_000_000_000,
        np.array([0, 1, 4]) * 1_000_000_000,
        exact=False,
    )
    small = ThresholdCounts(
        np.array([math.inf, 2.0, 1.0]), np.array([0, 3, 4]), np.array([0, 1, 4])
    )

    assert pr_area(huge) == pytest.approx(pr_area(small), rel=1e-14)
    assert interpolated_precision(huge, [0.8]) == pytest.approx(
        interpolated_precision(small, [0.8])
    )


def test_undefined_and_refused():
    """``nan`` without positives and 1 without negatives, as for the average precision."""
    for rows in ([], [(0, 0.5)]):
        counts = counts_of(rows, EXACT)
        assert math.isnan(pr_area(counts))
        assert math.isnan(pr_area(counts, on_hull=True))
        assert math.isnan(pr_area_bounds(counts).high)
        assert np.isnan(interpolated_precision(counts, [0.0, 1.0])).all()
        assert interpolated_curve(counts).recall.size == 0
        assert math.isnan(pr_area(counts, prevalence=0.5))
    positives = counts_of([(1, 0.5), (1, 0.2)], EXACT)
    assert pr_area(positives) == pr_area(positives, on_hull=True) == 1
    assert interpolated_precision(positives, [0.0, 0.3, 1.0]).tolist() == [1, 1, 1]
    assert math.isnan(pr_area(positives, prevalence=0.5))
    assert math.isnan(pr_area_bounds(at_prevalence(positives, 0.5)).low)
    assert interpolated_curve(at_prevalence(positives, 0.5)).recall.size == 0
    with pytest.raises(ValueError, match=r"recall must be in \[0, 1\], got 1\.5 at index 1"):
        interpolated_precision(positives, [0.5, 1.5])
    with pytest.raises(ValueError, match=r"recall must be in \[0, 1\], got nan at index 0"):
        interpolated_precision(positives, [math.nan])
    with pytest.raises(ValueError, match="between must be at least 0, got -1"):
        interpolated_curve(positives, between=-1)
    with pytest.raises(ValueError, match=r"prevalence must be in \(0, 1\), got 1\.0"):
        pr_area(positives, prevalence=1)
