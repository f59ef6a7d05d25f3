"""The ROC hull against its definition, against Qhull, and on shapes that are hard to reduce."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import counts_of, events, weighted_events
from scipy import stats
from scipy.spatial import ConvexHull

from streamauc import Scale, ThresholdCounts, roc_auc
from streamauc.metrics.hull import (
    hull_rows,
    positives_first,
    roc_hull,
    roc_hull_auc,
    roc_hull_auc_bounds,
    upper_hull,
)
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
BINNED = Scale.probability(bits=1)
scales = st.sampled_from([EXACT, BINNED])
any_events = st.one_of(events, weighted_events)
steps = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def by_definition(x, y):
    """Points that no chord between an earlier and a later one reaches; of equal ones the first."""
    points = list(zip(x, y, strict=True))
    places = {point: i for i, point in reversed(list(enumerate(points)))}
    distinct = sorted(places)
    return [
        places[middle]
        for middle in distinct
        if not any(
            (middle[1] - first[1]) * (last[0] - first[0])
            <= (last[1] - first[1]) * (middle[0] - first[0])
            for first in distinct
            for last in distinct
            if first < middle < last
        )
    ]


def chain(x, y):
    """Andrew's monotone chain on Python's integers, which never overflow; the first of equals."""
    hull = []
    for i in range(len(x)):
        if hull and (x[i], y[i]) == (x[hull[-1]], y[hull[-1]]):
            continue
        while len(hull) > 1:
            a, b = hull[-2:]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def cumulated(rows):
    """Return x and y of steps from (0, 0)."""
    table = np.array([(0, 0), *rows], dtype=np.int64)
    return table.cumsum(axis=0).T


def fractions(counts):
    """Return fps and tps as fractions."""
    return [[Fraction(v) for v in part.tolist()] for part in (counts.fps, counts.tps)]


@given(any_events, scales)
def test_vertices_are_those_of_the_definition(rows, scale):
    """By looking at every chord, in fractions; rates and thresholds are those of the rows."""
    counts = counts_of(rows, scale)
    hull = roc_hull(counts)
    if not (counts.n_pos and counts.n_neg):
        assert hull.rows.size == hull.fpr.size == hull.thresholds.size == hull.slopes.size == 0
        return

    assert hull.rows.tolist() == by_definition(*fractions(counts))
    assert hull.fpr.tolist() == counts.fpr[hull.rows].tolist()
    assert hull.tpr.tolist() == counts.tpr[hull.rows].tolist()
    assert hull.thresholds.tolist() == counts.thresholds[hull.rows].tolist()
    assert (np.diff(hull.slopes) < 0).all()


@given(steps)
def test_equal_points_count_once(rows):
    """The first of several; without any at all there is one point."""
    x, y = cumulated(rows)

    assert upper_hull(x, y).tolist() == by_definition(x.tolist(), y.tolist())


@given(any_events, scales)
def test_area_is_qhulls(rows, scale):
    """Of the points together with (1, 0), and never below the curve's own or one half."""
    counts = counts_of(rows, scale)
    area = roc_hull_auc(counts)
    if not (counts.n_pos and counts.n_neg):
        assert math.isnan(area)
        return
    points = np.column_stack((counts.fpr, counts.tpr))

    assert area == pytest.approx(ConvexHull(np.vstack((points, (1, 0)))).volume, rel=1e-12)
    assert area >= max(0.5, roc_auc(counts)) - 1e-15
    assert area <= 1


@given(any_events, st.floats(0, 10))
def test_a_vertex_is_the_best_between_its_slopes(rows, slope):
    """No threshold has more of ``tpr - slope * fpr``, and no other vertex is as good inside."""
    counts = counts_of(rows, EXACT)
    hull = roc_hull(counts)
    if not hull.rows.size:
        return
    best = int((hull.slopes > slope).sum())

    gains = counts.tpr - slope * counts.fpr
    assert gains[hull.rows[best]] >= gains.max() - 1e-12


huge = st.integers(0, 4_000_000_000)
# Beyond the integers that floats can tell apart.
larger = st.integers(0, 400_000_000_000_000_000)
huge_steps = st.one_of(
    *(st.lists(st.tuples(size, size), min_size=1, max_size=10) for size in (huge, larger))
)


@given(huge_steps, st.integers(2, 30))
def test_huge_counts_are_compared_exactly(rows, parts):
    """On lines whose products do not fit in 64 bits, and one event off them."""
    x, y = cumulated(rows)
    knots = np.unique(np.column_stack((x, y)), axis=0)
    inner = [
        first + (last - first) // parts * i + (0, off)
        for first, last in itertools.pairwise(knots)
        for i, off in ((1, 0), (2, -1), (3, 1))
    ]
    points = np.unique(np.vstack([knots, *inner]), axis=0)
    points[:, 1] = np.maximum.accumulate(points[:, 1])

    found = upper_hull(points[:, 0], points[:, 1])
    assert found.tolist() == chain(points[:, 0].tolist(), points[:, 1].tolist())


@pytest.mark.parametrize("factor", [1, 40_000_000, 1_000_000_000_000_003])
def test_collinear_points_are_no_vertices_however_large(factor):
    """A line of a thousand thresholds has two, and one event more on it makes a third."""
    x = np.arange(1001) * (3 * factor)
    y = np.arange(1001) * (5 * factor)

    assert upper_hull(x, y).tolist() == [0, 1000]
    y[500] += 1
    assert upper_hull(x, y).tolist() == [0, 500, 1000]


def test_rounding_does_not_decide_between_huge_slopes():
    """Where the steps themselves are more than floats can tell apart, one event is seen."""
    rng = np.random.default_rng(9)
    for _ in range(300):
        a, b = rng.integers(10**16, 10**17, 2).tolist()
        times, off = int(rng.integers(2, 9)), int(rng.integers(-1, 2))
        x, y = np.array([0, a, times * a]), np.array([0, b, times * b + off])
        assert upper_hull(x, y).tolist() == ([0, 1, 2] if off < 0 else [0, 2])


def arc(n):
    """Return a quarter of a circle of n points, all of them vertices."""
    angle = np.linspace(0, np.pi / 2, n)
    return ((1 - np.cos(angle)) * 2e9).astype(np.int64), (np.sin(angle) * 2e9).astype(np.int64)


def repeated(x, y, times):
    """Return a curve one after the other, so that there is a dent between them."""
    return [
        np.concatenate([part[:1], *(part[1:] + i * part[-1] for i in range(times))])
        for part in (x, y)
    ]


def hook(spread):
    """Return the curve of normal scores with unequal spread, which dips below chance."""
    cuts = np.linspace(8, -10, 4000)
    tpr, fpr = stats.norm.sf((cuts - 1) / spread), stats.norm.sf(cuts)
    return (np.append(fpr, 1) * 4e9).astype(np.int64), (np.append(tpr, 1) * 4e9).astype(np.int64)


def noise(seed, size, most):
    """Return a random walk."""
    rng = np.random.default_rng(seed)
    return cumulated(rng.integers(0, most, (size, 2)) * rng.integers(0, 2, (size, 2)))


SHAPES = {
    "arc": arc(4000),
    "dent": repeated(*arc(2000), 2),
    "scallops": repeated(*arc(200), 20),
    "late rise": [np.append(arc(4000)[0], 2_000_000_000), np.append(arc(4000)[1], 8_000_000_000)],
    "late hook": hook(2.0),
    "early hook": hook(0.5),
    "below chance": [part[-1] - part[::-1] for part in arc(4000)][::-1],
    "noise": noise(1, 4000, 2),
    "loud noise": noise(2, 4000, 1_000_000),
    "few events": noise(3, 150, 2),
    "one step": cumulated([(3, 5)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_are_hard_to_reduce(shape):
    """Long arcs, dents, hooks and noise have the vertices of the monotone chain."""
    x, y = SHAPES[shape]
    want = chain(x.tolist(), y.tolist())

    assert upper_hull(x, y).tolist() == want
    # Halves are exact, so floats must have the same.
    assert upper_hull(x / 2, y / 2).tolist() == want


@given(events, scales, st.integers(1, 4))
def test_weight_is_repetition(rows, scale, times):
    """The same vertices, and the same area to the last digits."""
    once, repeats = (
        counts_of([(*row, times) for row in rows], scale),
        counts_of(rows * times, scale),
    )

    assert hull_rows(once).tolist() == hull_rows(repeats).tolist()
    assert roc_hull_auc(once) == pytest.approx(roc_hull_auc(repeats), rel=1e-15, nan_ok=True)


@given(events)
def test_invariances(rows):
    """A monotone transform moves no vertex; exchanged classes mirror the hull."""
    counts = counts_of(rows, EXACT)
    moved = counts_of([(label, math.atan(score) - 7) for label, score in rows], EXACT)
    swapped = counts_of([(1 - label, -score) for label, score in rows], EXACT)

    assert hull_rows(moved).tolist() == hull_rows(counts).tolist()
    mirrored = counts.tps.size - 1 - hull_rows(swapped)[::-1]
    assert mirrored.tolist() == hull_rows(counts).tolist()
    assert roc_hull_auc(swapped) == pytest.approx(roc_hull_auc(counts), rel=1e-14, nan_ok=True)


@given(any_events, st.sampled_from([1e-6, 0.2, 0.9]))
def test_the_prevalence_does_not_move_it(rows, share):
    """Undefined where either class is missing, and else the same area."""
    counts = counts_of(rows, EXACT)
    moved = at_prevalence(counts, share)

    assert roc_hull_auc(moved) == pytest.approx(roc_hull_auc(counts), rel=1e-12, nan_ok=True)


@given(any_events)
def test_bounds_hold_the_exact_area(rows):
    """From bins of any width: the exact hull is no smaller, and within its bins."""
    exact = roc_hull_auc(counts_of(rows, EXACT))
    for bits in (1, 3):
        counts = counts_of(rows, Scale.probability(bits=bits))
        bounds = roc_hull_auc_bounds(counts)
        if math.isnan(exact):
            assert math.isnan(bounds.low)
            assert math.isnan(bounds.high)
            continue
        assert bounds.low == roc_hull_auc(counts)
        assert bounds.low - 1e-14 <= exact <= bounds.high + 1e-14
    exactly = roc_hull_auc_bounds(counts_of(rows, EXACT))
    assert (exactly.low, exactly.high) == pytest.approx((exact, exact), abs=0, nan_ok=True)


def test_the_upper_bound_is_reached():
    """Where in every bin the positives do come first."""
    rows = [(1, 0.51), (0, 0.505), (0, 0.504), (1, 0.21), (0, 0.205), (1, 0.206)]
    binned = counts_of(rows, Scale.probability(bits=1))
    assert binned.tps.size == 3
    bounds = roc_hull_auc_bounds(binned)

    assert bounds.high == roc_hull_auc(counts_of(rows, EXACT))
    assert bounds.low < bounds.high
    fps, tps = positives_first(binned)
    assert (fps.tolist(), tps.tolist()) == ([0, 0, 2, 3], [0, 1, 3, 3])


def test_one_bin_is_chance():
    """Its hull is the diagonal."""
    counts = ThresholdCounts(np.array([math.inf, 0.5]), np.array([0, 3]), np.array([0, 9]))
    hull = roc_hull(counts)

    assert hull.rows.tolist() == [0, 1]
    assert hull.slopes.tolist() == [1.0]
    assert roc_hull_auc(counts) == 0.5


def test_thresholds_are_not_worked_out_for_the_area():
    """They cost more than the area itself."""

    def asked():
        raise AssertionError("thresholds were asked for")

    counts = ThresholdCounts(asked, np.array([0, 1, 2]), np.array([0, 0, 3]), exact=False)
    assert roc_hull_auc(counts) == 0.75
    assert roc_hull_auc_bounds(counts).high == 1.0
