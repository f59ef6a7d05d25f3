"""What thinned curves keep, and that they say exactly what they lost."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import counts_of, events, lattice, weighted_events

from streamauc import (
    PrecisionRecallCurve,
    RocCurve,
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    average_precision,
    confusion_at,
    roc_auc,
    threshold_counts,
)
from streamauc.metrics.hull import hull_rows, roc_hull_auc
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.thinning import (
    ThinnedCurve,
    thin_precision_recall_curve,
    thin_roc_curve,
)

EXACT = Scale.exact()
BINNED = Scale.probability(bits=2)
both = st.one_of(events, weighted_events).filter(
    lambda rows: {row[0] for row in rows if row[-1] or len(row) == 2} == {0, 1}
)
cuts = st.lists(st.one_of(lattice, st.floats(-0.5, 1.5)), max_size=2)
thinners = st.sampled_from([thin_roc_curve, thin_precision_recall_curve])


def window(seed=0, size=20_000):
    """Return the counts of some thousand bins."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, 2, size)
    scores = 1 / (1 + np.exp(-rng.normal(y_true, 3.0)))
    return threshold_counts(ScoreHistogram.from_scores(y_true, scores, scale=Scale.probability()))


WINDOW = window()


def points_of(counts, thin):
    """Return the points of the whole curve in fractions, by row of the counts."""
    tps, fps = ([Fraction(v) for v in part.tolist()] for part in (counts.tps, counts.fps))
    if thin is thin_roc_curve:
        return {
            i: (fp / fps[-1], tp / tps[-1]) for i, (tp, fp) in enumerate(zip(tps, fps, strict=True))
        }
    return {
        i: (tp / tps[-1], tp / (tp + fp))
        for i, (tp, fp) in enumerate(zip(tps, fps, strict=True))
        if i
    }


def largest_distance(points, rows):
    """Return how far a point is from the line drawn past it at most, vertically."""
    worst = Fraction(0)
    for first, last in pairwise(rows):
        (x, y), (later_x, later_y) = points[first], points[last]
        for row in range(first + 1, last):
            if later_x > x:
                line = y + (later_y - y) * (points[row][0] - x) / (later_x - x)
                worst = max(worst, abs(points[row][1] - line))
    return worst


def row_read(counts, threshold):
    """Return the row that `confusion_at` reads: the one with its counts."""
    point = confusion_at(counts, threshold)
    flagged = (counts.tps + counts.fps).tolist()
    return flagged.index(point.tp + point.fp)


@given(both, st.integers(4, 12), cuts, st.sampled_from([EXACT, BINNED]), thinners)
def test_what_is_kept_and_what_is_said(rows, max_points, thresholds, scale, thin):
    """The ends, the operating thresholds, at most so many; and the distance that was caused."""
    counts = counts_of(rows, scale)
    first = 0 if thin is thin_roc_curve else 1
    last = counts.tps.size - 1
    found = thin(counts, max_points, thresholds=thresholds)
    kept = found.rows.tolist()

    assert sorted(set(kept)) == kept
    assert (kept[0], kept[-1]) == (first, last)
    assert {row_read(counts, cut) for cut in thresholds} - {0} <= set(kept)
    assert len(kept) <= max_points
    assert found.n_full == last + 1 - first
    assert found.thresholds.tolist() == counts.thresholds[found.rows].tolist()
    points = points_of(counts, thin)
    assert found.deviation == pytest.approx(float(largest_distance(points, kept)), abs=1e-15)
    missing = set(hull_rows(counts).tolist()) - set(kept) - ({0} if first else set())
    assert found.hull_missing == len(missing)
    if missing:
        always = {row_read(counts, cut) for cut in thresholds} | {first, last}
        assert set(kept) <= always | set(hull_rows(counts).tolist())
    elif found.deviation > 1e-12:
        assert len(kept) == max_points


@given(both, thinners)
def test_with_room_for_all_nothing_is_lost(rows, thin):
    """And points on a line between others are not needed for that."""
    counts = counts_of(rows, EXACT)
    found = thin(counts, 1000)

    assert found.deviation <= 1e-12
    assert found.hull_missing == 0
    points = points_of(counts, thin)
    assert largest_distance(points, found.rows.tolist()) <= Fraction(1, 10**12)


@given(both, st.integers(4, 12))
def test_values_are_those_of_the_whole_curve(rows, max_points):
    """At the kept rows, none is made up or moved."""
    counts = counts_of(rows, EXACT)
    roc, pr = thin_roc_curve(counts, max_points), thin_precision_recall_curve(counts, max_points)

    assert roc.fpr.tolist() == counts.fpr[roc.rows].tolist()
    assert roc.tpr.tolist() == counts.tpr[roc.rows].tolist()
    assert pr.precision.tolist() == counts.precision[pr.rows].tolist()
    assert pr.recall.tolist() == counts.recall[pr.rows].tolist()


@pytest.mark.parametrize("thin", [thin_roc_curve, thin_precision_recall_curve])
def test_a_window_of_thousands_of_bins(thin):
    """The more room, the closer; with the whole hull from its size on, and never past the limit."""
    n_hull = hull_rows(WINDOW).size
    deviations = []
    for max_points in (5, 10, n_hull - 5, n_hull + 5, 200, 500, 1000):
        found = thin(WINDOW, max_points, thresholds=(0.7,))
        assert found.rows.size == max_points
        assert row_read(WINDOW, 0.7) in found.rows
        assert (found.hull_missing == 0) == (max_points > n_hull)
        deviations.append(found.deviation)
    assert deviations[-4:] == sorted(deviations[-4:], reverse=True)
    limit = 2e-3 if thin is thin_roc_curve else 5e-3
    assert deviations[-1] < limit
    assert thin(WINDOW, 10_000).deviation <= 1e-12


def test_the_hull_of_a_thinned_curve_is_the_whole_hull():
    """So its area is the same, from as many points as it has vertices."""
    n_hull = hull_rows(WINDOW).size
    found = thin_roc_curve(WINDOW, n_hull)
    kept = ThresholdCounts(found.thresholds, WINDOW.tps[found.rows], WINDOW.fps[found.rows])

    assert found.rows.tolist() == hull_rows(WINDOW).tolist()
    assert roc_hull_auc(kept) == roc_hull_auc(WINDOW)


def test_too_little_room_for_the_hull_keeps_its_shape():
    """Half of the vertices are enough for the area to within a thousandth."""
    found = thin_roc_curve(WINDOW, hull_rows(WINDOW).size // 2)
    area = float(np.trapezoid(found.tpr, found.fpr))

    assert found.hull_missing > 0
    assert area == pytest.approx(roc_hull_auc(WINDOW), abs=1e-3)


@pytest.mark.parametrize("thin", [thin_roc_curve, thin_precision_recall_curve])
def test_it_is_no_input_of_a_choice(thin):
    """Neither a type nor a shape that functions of counts take."""
    found = thin(WINDOW, 50)

    assert isinstance(found, ThinnedCurve)
    assert not isinstance(found, ThresholdCounts | RocCurve | PrecisionRecallCurve)
    for function in (roc_auc, average_precision, hull_rows, lambda c: confusion_at(c, 0.5)):
        with pytest.raises(AttributeError, match="Thinned"):
            function(found)
    with pytest.raises(AttributeError, match="Thinned"):
        thin(found, 10)


@pytest.mark.parametrize("thin", [thin_roc_curve, thin_precision_recall_curve])
def test_room_is_needed_for_what_is_always_kept(thin):
    """Two ends and three thresholds."""
    thin(WINDOW, 5, thresholds=(0.3, 0.5, 0.7))
    with pytest.raises(ValueError, match=r"max_points must be at least 5, for the ends and the"):
        thin(WINDOW, 4, thresholds=(0.3, 0.5, 0.7))
    with pytest.raises(ValueError, match=r"max_points must be at least 2, got 1"):
        thin(WINDOW, 1)
    with pytest.raises(TypeError, match=r"max_points must be an integer, got 10\.5"):
        thin(WINDOW, 10.5)
    with pytest.raises(ValueError, match="threshold must be a number, got nan"):
        thin(WINDOW, 10, thresholds=(math.nan,))


def test_points_on_a_vertical_line_are_not_needed():
    """Nothing is lost between its ends, of either curve."""
    counts = counts_of([(int(i < 4), -i) for i in range(8)], EXACT)
    roc = thin_roc_curve(counts, 10)
    assert (roc.rows.tolist(), roc.deviation) == ([0, 4, 8], 0)
    # Precision falls by four negatives at recall 1.
    pr = thin_precision_recall_curve(counts, 10)
    assert (pr.rows.tolist(), pr.deviation) == ([1, 4, 8], 0)


def test_thresholds_beyond_the_scores_are_the_ends():
    """Where nobody and where everybody is flagged."""
    assert thin_roc_curve(WINDOW, 2, thresholds=(math.inf, -math.inf)).rows.size == 2
    assert thin_precision_recall_curve(WINDOW, 2, thresholds=(math.inf,)).rows.size == 2


@pytest.mark.parametrize(
    ("rows", "roc", "precision_recall"),
    [([], 1, 0), ([(1, 0.2), (1, 0.5)], 2, 2), ([(0, 0.2), (0, 0.5)], 2, 2)],
)
def test_undefined(rows, roc, precision_recall):
    """The ends alone, and no deviation where there is no curve."""
    counts = counts_of(rows, EXACT)
    for counted in (counts, at_prevalence(counts, 0.5)):
        found = thin_roc_curve(counted, 10, thresholds=(0.9,))
        assert found.rows.size == roc
        assert math.isnan(found.deviation)
        assert found.hull_missing == 0
    found = thin_precision_recall_curve(counts, 10)
    assert found.rows.size == precision_recall
    has_curve = any(label for label, _ in rows)
    assert found.deviation == (0.0 if has_curve else pytest.approx(math.nan, nan_ok=True))


def test_one_bin():
    """A curve of two points, and one of one point."""
    counts = counts_of([(1, 0.5), (0, 0.5)], EXACT)

    assert thin_roc_curve(counts, 2).rows.tolist() == [0, 1]
    found = thin_precision_recall_curve(counts, 2)
    assert (found.rows.tolist(), found.n_full, found.deviation) == ([1], 1, 0.0)
