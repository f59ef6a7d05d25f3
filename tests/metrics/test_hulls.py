"""The hull of several models against trying every model, threshold and mixture in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import counts_of, events, lattice, weighted_events

from streamauc import Scale, ThresholdCounts
from streamauc.metrics.costs import CostMatrix
from streamauc.metrics.hull import roc_hull, roc_hull_auc
from streamauc.metrics.hulls import HullPoint, ModelHull, model_hull

EXACT = Scale.exact()
NOBODY = HullPoint(None, math.inf, 0.0, 0.0)
EVERYBODY = HullPoint(None, -math.inf, 1.0, 1.0)
pairs = st.lists(st.tuples(st.integers(0, 1), lattice, lattice), min_size=1, max_size=40)
shares = st.sampled_from([0.01, 0.25, 0.5, 0.9])
slopes = st.sampled_from([Fraction(k, 4) for k in range(12)] + [Fraction(1000)])


def models_of(rows):
    """Return two models' counts of the same events, by name."""
    return {
        name: counts_of([(row[0], row[column]) for row in rows], EXACT)
        for column, name in ((1, "left"), (2, "right"))
    }


def candidates(models):
    """Return every (model, threshold, fpr, tpr) there is, in fractions."""
    found = []
    for name, counts in models.items():
        if not (counts.n_pos and counts.n_neg):
            continue
        for row, threshold in enumerate(counts.thresholds.tolist()):
            fpr = Fraction(counts.fps[row].item()) / Fraction(counts.n_neg)
            tpr = Fraction(counts.tps[row].item()) / Fraction(counts.n_pos)
            found.append((name, threshold, fpr, tpr))
    return found


def as_points(found):
    """Return candidates as points; the ends belong to nobody."""
    points = set()
    for name, threshold, fpr, tpr in found:
        point = HullPoint(name, threshold, float(fpr), float(tpr))
        ends = {(0, 0): NOBODY, (1, 1): EVERYBODY}
        points.add(ends.get((fpr, tpr), point))
    return points


@given(pairs, slopes)
def test_the_best_at_a_slope_is_the_best_of_all(rows, slope):
    """Among every model and threshold; of equally good ones the ends of the line are named."""
    models = models_of(rows)
    hull, every = model_hull(models), candidates(models)
    if not every:
        assert hull.points == ()
        assert hull.at_slope(float(slope)) == ()
        return
    gain = max(tpr - slope * fpr for *_, fpr, tpr in every)
    best = [found for found in every if found[3] - slope * found[2] == gain]
    fewest, most = min(best, key=lambda f: f[2:]), max(best, key=lambda f: f[2:])

    found = hull.at_slope(float(slope))
    assert set(found) <= as_points(best)
    assert (found[0].fpr, found[-1].fpr) == (float(fewest[2]), float(most[2]))
    assert len(found) == (1 if fewest[2:] == most[2:] else 2)


@given(pairs, shares, st.sampled_from([(1, 0, 1, 0), (50, 0, 1, -5), (2, -1, 7, 3), (0, 0, 1, 0)]))
def test_the_best_model_costs_least(rows, share, prices):
    """The mean cost of each model and threshold, from the four shares of all events."""
    models = models_of(rows)
    fp, tn, fn, tp = prices
    costs = CostMatrix(fp=fp, tn=tn, fn=fn, tp=tp)
    found, every = model_hull(models).best(costs, prevalence=share), candidates(models)
    if not every:
        assert found is None
        return

    def mean_cost(fpr, tpr):
        of_negatives = fp * fpr + tn * (1 - fpr)
        return share * (tp * tpr + fn * (1 - tpr)) + (1 - share) * of_negatives

    least = min(mean_cost(float(fpr), float(tpr)) for *_, fpr, tpr in every)
    assert found.cost == pytest.approx(least, rel=1e-12, abs=1e-12)
    for point in (found.point, found.tied or found.point):
        assert mean_cost(point.fpr, point.tpr) == pytest.approx(least, rel=1e-12, abs=1e-12)
        assert point in as_points(every)


@given(pairs, st.sampled_from([Fraction(k, 16) for k in range(17)]))
def test_the_mixture_has_the_highest_recall_at_a_false_positive_rate(rows, fpr):
    """Among all mixtures of any two models at any two thresholds."""
    models = models_of(rows)
    found, every = model_hull(models).at_fpr(float(fpr)), candidates(models)
    if not every:
        assert found is None
        return
    points = {(x, y) for *_, x, y in every}
    reached = [y for x, y in points if x == fpr]
    for x, y in points:
        for later_x, later_y in points:
            if x < fpr < later_x:
                reached.append(y + (fpr - x) / (later_x - x) * (later_y - y))

    assert found.tpr == pytest.approx(float(max(reached)), rel=1e-13)
    first, second, share = found.first, found.second, found.share
    assert 0 <= share <= 1
    assert first.fpr + share * (second.fpr - first.fpr) == pytest.approx(found.fpr, abs=1e-14)
    assert first.tpr + share * (second.tpr - first.tpr) == pytest.approx(found.tpr, abs=1e-14)
    assert {first, second} <= as_points(every)


@given(st.one_of(events, weighted_events))
def test_one_model_has_its_own_hull(rows):
    """Vertices, slopes and area are those of the hull of its curve."""
    counts = counts_of(rows, EXACT)
    hull, alone = model_hull({"only": counts}), roc_hull(counts)

    assert [point.fpr for point in hull.points] == pytest.approx(alone.fpr.tolist(), abs=1e-15)
    assert [point.tpr for point in hull.points] == pytest.approx(alone.tpr.tolist(), abs=1e-15)
    inner = [point.threshold for point in hull.points[1:-1]]
    assert inner == alone.thresholds[1:-1].tolist()
    assert hull.slopes == pytest.approx(alone.slopes, rel=1e-12)
    assert hull.roc_auc == pytest.approx(roc_hull_auc(counts), rel=1e-14, nan_ok=True)
    assert hull.undefined == (() if alone.rows.size else ("only",))


@given(events, events)
def test_models_of_different_events(rows, others):
    """No point of either curve is above the hull, and every vertex is a point of one."""
    models = {"left": counts_of(rows, EXACT), "right": counts_of(others, EXACT)}
    hull, every = model_hull(models), candidates(models)
    if not every:
        return

    assert set(hull.points) <= as_points(every)
    x, y = zip(*((point.fpr, point.tpr) for point in hull.points), strict=True)
    for *_, fpr, tpr in every:
        if fpr:
            assert float(tpr) <= np.interp(float(fpr), x, y) + 1e-14
    assert (np.diff(hull.slopes) < 0).all()


@given(pairs)
def test_the_first_of_equal_models_is_named(rows):
    """And a copy of it adds nothing."""
    models = models_of(rows)
    twice = {"copy": models["left"], **models}
    found = model_hull(twice)

    assert "left" not in {point.model for point in found.points}
    renamed = [
        HullPoint("left" if p.model == "copy" else p.model, p.threshold, p.fpr, p.tpr)
        for p in found.points
    ]
    assert tuple(renamed) == model_hull(models).points


def test_two_models_that_are_good_at_different_ends():
    """One finds half without a false alarm, the other all with some; between them a mixture."""
    careful = [(1, 0.9), (1, 0.9), (0, 0.5), (0, 0.5), (1, 0.1), (1, 0.1), (0, 0.1), (0, 0.1)]
    eager = [(0, 0.9), (1, 0.7), (1, 0.7), (1, 0.7), (1, 0.7), (0, 0.2), (0, 0.2), (0, 0.2)]
    hull = model_hull(
        {"careful": counts_of(careful, EXACT), "eager": counts_of(eager, EXACT), "new": EMPTY}
    )

    assert hull.points == (
        NOBODY,
        HullPoint("careful", 0.9, 0.0, 0.5),
        HullPoint("eager", 0.7, 0.25, 1.0),
        EVERYBODY,
    )
    assert hull.slopes.tolist() == [math.inf, 2.0, 0.0]
    assert hull.undefined == ("new",)
    mixed = hull.at_fpr(0.125)
    assert (mixed.first.model, mixed.second.model, mixed.share, mixed.tpr) == (
        "careful",
        "eager",
        0.5,
        0.75,
    )
    best = hull.best(CostMatrix(fn=1, fp=2), prevalence=0.5)
    assert (best.point.model, best.tied.model, best.slope) == ("careful", "eager", 2.0)
    assert hull.best(CostMatrix(fn=1, fp=2), prevalence=0.75).point.model == "eager"


EMPTY = counts_of([], EXACT)


def test_huge_counts_of_different_totals():
    """Points one event off a common line, at totals whose products fit no float."""
    line = np.array([0, 1_000_000_007, 2_000_000_014, 4_000_000_028])
    other = np.array([0, 1_000_000_009, 4_000_000_036])
    level = ThresholdCounts(np.array([math.inf, 3.0, 2.0, 1.0]), line, line)
    better = ThresholdCounts(
        np.array([math.inf, 9.0, 8.0]), other + np.array([0, 1, 0]), other, exact=False
    )

    assert len(model_hull({"level": level, "same": level}).points) == 2
    found = model_hull({"level": level, "better": better}).points
    assert [(point.model, point.threshold) for point in found[1:-1]] == [("better", 9.0)]


def test_points_on_a_common_line_are_no_vertices():
    """Of models with other totals, where the rates themselves are rounded."""
    steep = ThresholdCounts(
        np.array([math.inf, 2.0, 1.0]), np.array([0, 1, 1]), np.array([0, 1, 3])
    )
    for m in range(2, 40):
        for k in range(1, m):
            level = np.array([0, k, m])
            on_it = ThresholdCounts(steep.thresholds, level, np.array([0, k, 3 * m]))
            found = model_hull({"on it": on_it, "steep": steep}).points
            assert [point.model for point in found] == [None, "steep", None]


def test_the_costs_decide_on_the_ends():
    """A kind of mistake that costs nothing, or less than nothing."""
    hull = model_hull({"m": counts_of([(1, 0.9), (0, 0.5), (1, 0.5), (0, 0.1)], EXACT)})

    free_alarms = hull.best(CostMatrix(fn=1, fp=0), prevalence=0.5)
    assert (free_alarms.point.threshold, free_alarms.tied) == (0.5, EVERYBODY)
    free_misses = hull.best(CostMatrix(fn=0, fp=1), prevalence=0.5)
    assert (free_misses.point, free_misses.tied.threshold) == (NOBODY, 0.9)
    for costs in (CostMatrix(fn=0, fp=0), CostMatrix(fn=-1, fp=1), CostMatrix(fn=1, fp=-1)):
        assert hull.best(costs, prevalence=0.5) is None


def test_undefined_and_refused():
    """Without a curve there is nothing to choose; without a model nothing to ask."""
    nothing = model_hull({"empty": EMPTY, "negatives": counts_of([(0, 0.5)], EXACT)})
    assert nothing.points == ()
    assert nothing.undefined == ("empty", "negatives")
    assert math.isnan(nothing.roc_auc)
    assert nothing.at_fpr(0.5) is None
    assert nothing.best(CostMatrix(fn=1, fp=1), prevalence=0.5) is None
    assert isinstance(nothing, ModelHull)
    with pytest.raises(ValueError, match="models must hold at least one model, got none"):
        model_hull({})
    with pytest.raises(ValueError, match=r"slope must not be negative, got -1\.0"):
        nothing.at_slope(-1.0)
    with pytest.raises(ValueError, match="slope must not be negative, got nan"):
        nothing.at_slope(math.nan)
    with pytest.raises(ValueError, match=r"fpr must be in \[0, 1\], got 1\.5"):
        nothing.at_fpr(1.5)
    with pytest.raises(ValueError, match=r"prevalence must be in \(0, 1\), got 1\.0"):
        nothing.best(CostMatrix(fn=1, fp=1), prevalence=1)
