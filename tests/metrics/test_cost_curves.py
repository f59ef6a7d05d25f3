"""Cost curves against looking at every line in fractions, and the costs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import confusion_by_rows, counts_of, events, split, weighted_events

from streamauc import Scale, ScoreHistogram, ThresholdCounts, threshold_counts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.cost_curves import (
    cost_curve,
    normalised_cost,
    probability_cost,
)
from streamauc.metrics.costs import CostMatrix, mean_cost
from streamauc.metrics.reweighted import at_prevalence
from streamauc.storage import WideCounts

EXACT = Scale.exact()
EIGHTHS = [Fraction(k, 8) for k in range(9)]
streams = st.one_of(events, weighted_events).filter(lambda rows: all(split(rows)))


def lines(rows):
    """Return threshold, false positive rate and false negative rate of each, highest first."""
    pos, neg = split(rows)
    out = []
    for cut in [math.inf, *sorted({score for score, _ in pos + neg}, reverse=True)]:
        tp, fp, fn, tn = confusion_by_rows(rows, cut)
        out.append((cut, fp / (fp + tn), fn / (tp + fn)))
    return out


def at(line, x):
    """Return the height of a line."""
    return line[2] * x + line[1] * (1 - x)


def envelope(rows):
    """Return the ends of the ranges and the line of each, by looking at all crossings."""
    found = lines(rows)
    crossings = {Fraction(0), Fraction(1)}
    for (_, fpr, fnr), (_, other_fpr, other_fnr) in itertools.combinations(found, 2):
        slope = (fnr - fpr) - (other_fnr - other_fpr)
        if slope and 0 < (other_fpr - fpr) / slope < 1:
            crossings.add((other_fpr - fpr) / slope)
    ends, best = [], []
    for low, high in itertools.pairwise(sorted(crossings)):
        line = min(found, key=lambda line: at(line, (low + high) / 2))
        if not best or best[-1] != line:
            ends.append(low)
            best.append(line)
    return [*ends, Fraction(1)], best


@given(streams)
def test_the_envelope_is_that_of_all_lines(rows):
    """Ranges, thresholds and costs are those of the pairwise crossings, in fractions."""
    curve = cost_curve(counts_of(rows, EXACT))
    ends, best = envelope(rows)

    assert curve.thresholds.tolist() == [cut for cut, *_ in best]
    assert curve.probability_cost == pytest.approx([float(end) for end in ends], rel=1e-12)
    assert curve.fpr == pytest.approx([float(fpr) for _, fpr, _ in best], rel=1e-12)
    assert curve.fnr == pytest.approx([float(fnr) for *_, fnr in best], rel=1e-12, abs=1e-12)
    costs = [min(at(line, end) for line in lines(rows)) for end in ends]
    assert curve.normalised_cost == pytest.approx([float(cost) for cost in costs], abs=1e-12)
    assert (np.diff(curve.probability_cost) > 0).all()
    assert (np.diff(curve.thresholds) < 0).all()


@given(streams)
def test_no_threshold_costs_less_anywhere(rows):
    """At nine places the curve is the lowest of the lines, and the named threshold's own."""
    counts = counts_of(rows, EXACT)
    curve = cost_curve(counts)
    for x in EIGHTHS:
        want = min(at(line, x) for line in lines(rows))
        threshold = curve.threshold_at(float(x))
        assert curve.cost_at(float(x)) == pytest.approx(float(want), abs=1e-12)
        own = normalised_cost(counts, threshold=threshold, probability_cost=float(x))
        assert own == pytest.approx(float(want), abs=1e-12)


@given(
    streams,
    st.sampled_from([0.01, 0.2, 0.5, 0.9]),
    st.builds(
        CostMatrix,
        tp=st.integers(-3, 0),
        fn=st.integers(0, 9),
        fp=st.integers(0, 9),
        tn=st.integers(-3, 0),
    ),
)
def test_the_curve_gives_the_lowest_mean_cost(rows, share, costs):
    """At the probability cost of a matrix and a prevalence it is what `best_threshold` finds."""
    counts = counts_of(rows, EXACT)
    x = probability_cost(costs, share)
    if costs.miss == costs.false_alarm == 0:
        assert math.isnan(x)
        return
    curve = cost_curve(counts)
    scale = share * costs.miss + (1 - share) * costs.false_alarm
    base = share * costs.tp + (1 - share) * costs.tn
    best = best_threshold(counts, by=costs, prevalence=share)
    lowest = mean_cost(counts, costs, best.threshold, prevalence=share)

    assert base + scale * curve.cost_at(x) == pytest.approx(lowest, rel=1e-9, abs=1e-9)
    chosen = mean_cost(counts, costs, curve.threshold_at(x), prevalence=share)
    assert chosen == pytest.approx(lowest, rel=1e-9, abs=1e-9)


def from_steps(pos, neg, weights=1):
    """Return counts of steps from the highest score down."""
    cuts = np.append(np.inf, -np.arange(len(pos), dtype=float))
    return ThresholdCounts(
        cuts,
        np.append(0, np.cumsum(pos)) * weights,
        np.append(0, np.cumsum(neg)) * weights,
    )


def walked(counts):
    """Return the rows of the upper hull, by walking the points in whole numbers."""
    kept = []
    for row, point in enumerate(zip(counts.fps.tolist(), counts.tps.tolist(), strict=True)):
        if kept and kept[-1][1] == point:
            continue
        while len(kept) > 1:
            (_, (x0, y0)), (_, (x1, y1)) = kept[-2:]
            if (y1 - y0) * (point[0] - x1) > (point[1] - y1) * (x1 - x0):
                break
            kept.pop()
        kept.append((row, point))
    return [row for row, _ in kept]


def test_curves_of_awkward_paths():
    """Curves that unravel one point a round, straight lines, rows without events, large counts."""
    k = np.arange(1, 400)
    rng = np.random.default_rng(51)
    paths = {
        "all vertices": (400 - k, k),
        "unravels from the end": (np.append(400 - k, 10**6), np.append(k, 1)),
        "unravels from the start": (np.append(1, 400 - k), np.append(10**6, k)),
        "unravels three times to one line": (
            np.tile(np.append(400 - k, 10**6), 3),
            np.tile(np.append(k, 1), 3),
        ),
        "one line": (np.full(399, 3), np.full(399, 7)),
        "below chance": (k, 400 - k),
        "empty rows": ((400 - k) * (k % 2), k * (k % 2)),
        "random": rng.integers(0, 5, (2, 3000)),
        "fraud": (rng.integers(0, 2, 3000), rng.integers(0, 9, 3000) ** 3),
        "billions a step": rng.integers(0, 8 * 10**9, (2, 200)),
    }
    for name, (pos, neg) in paths.items():
        counts = from_steps(pos, neg)
        curve, rows = cost_curve(counts), walked(counts)
        # Where the hull begins upright or ends level, its first or last vertex has no range.
        if counts.fps[rows[1]] == 0:
            rows = rows[1:]
        if counts.tps[rows[-2]] == counts.n_pos:
            rows = rows[:-1]
        assert curve.thresholds.tolist() == counts.thresholds[rows].tolist(), name
        assert (np.diff(curve.probability_cost) > 0).all(), name
        assert curve.normalised_cost[[0, -1]].tolist() == [0, 0], name
    tiny = from_steps(*paths["random"], weights=1e-150)
    large = from_steps(*paths["random"], weights=1e150)
    want = cost_curve(from_steps(*paths["random"]))
    for counts in (tiny, large):
        at_half = cost_curve(counts).cost_at(0.5)
        assert at_half == pytest.approx(want.cost_at(0.5), rel=1e-12)


def test_four_billion_of_each():
    """Products beyond int64 lose nothing that shows."""
    half = 2 * 10**9
    table = np.array([[half, half - 5, 5], [5, half, half]])
    histogram = ScoreHistogram(EXACT, WideCounts(EXACT.bins([0.2, 0.5, 0.8]), table))
    curve = cost_curve(threshold_counts(histogram))
    pos, neg = 2 * half + 5, 2 * half
    up, right = [Fraction(half, pos)] * 2, [Fraction(5, neg), Fraction(half - 5, neg)]
    ends = [float(r / (r + u)) for r, u in zip(right, up, strict=True)]
    last = Fraction(half, neg) / (Fraction(half, neg) + Fraction(5, pos))

    assert curve.thresholds.tolist() == [math.inf, 0.8, 0.5, 0.2]
    assert curve.probability_cost == pytest.approx([0, *ends, float(last), 1], rel=1e-12)


@given(streams, st.sampled_from([0.01, 0.3]), st.sampled_from([EXACT, Scale.probability(bits=1)]))
def test_the_curve_does_not_depend_on_the_prevalence(rows, share, scale):
    """The class ratio is on the axis: reweighted counts have the same curve."""
    counts = counts_of(rows, scale)
    curve, again = cost_curve(counts), cost_curve(at_prevalence(counts, share))
    for x in EIGHTHS:
        assert again.cost_at(float(x)) == pytest.approx(curve.cost_at(float(x)), abs=1e-12)


@given(events)
def test_swapped_labels_and_scores_mirror_the_curve(rows):
    """What false alarms cost becomes what misses cost."""
    curve = cost_curve(counts_of(rows, EXACT))
    other = cost_curve(counts_of([(1 - y, -s) for y, s in rows], EXACT))
    for x in EIGHTHS:
        assert other.cost_at(float(1 - x)) == pytest.approx(
            curve.cost_at(float(x)), abs=1e-12, nan_ok=True
        )


@pytest.mark.parametrize("rows", [[], [(1, 0.5)], [(0, 0.5), (0, 0.2)]])
def test_without_a_class_all_is_undefined(rows):
    """One range of ``nan``, and no error when it is asked."""
    for counts in (counts_of(rows, EXACT), at_prevalence(counts_of(rows, EXACT), 0.3)):
        curve = cost_curve(counts)
        assert curve.probability_cost.tolist() == [0, 1]
        for part in (curve.normalised_cost, curve.thresholds, curve.fpr, curve.fnr):
            assert np.isnan(part).all()
        assert math.isnan(curve.cost_at(0.5))
        assert math.isnan(curve.threshold_at(1))
        assert math.isnan(normalised_cost(counts, threshold=0.5, probability_cost=0.5))


def test_a_worked_example():
    """Between two thresholds the higher one is named; without skill two lines are left."""
    counts = counts_of([(1, 0.9), (1, 0.8), (0, 0.8), (0, 0.2)], EXACT)
    curve = cost_curve(counts)
    assert curve.thresholds.tolist() == [0.9, 0.8]
    assert curve.probability_cost.tolist() == [0, 0.5, 1]
    assert curve.normalised_cost.tolist() == [0, 0.25, 0]
    assert (curve.threshold_at(0.5), curve.threshold_at(0.51)) == (0.9, 0.8)
    assert math.isnan(curve.threshold_at(math.nan))
    assert math.isnan(curve.cost_at(math.nan))
    worthless = cost_curve(counts_of([(1, 0.5), (0, 0.5)], EXACT))
    assert worthless.thresholds.tolist() == [math.inf, 0.5]
    assert worthless.normalised_cost.tolist() == [0, 0.5, 0]
    perfect = cost_curve(counts_of([(1, 0.9), (0, 0.5)], EXACT))
    assert (perfect.thresholds.tolist(), perfect.cost_at(0.3)) == ([0.9], 0.0)


@pytest.mark.parametrize(
    ("costs", "want"),
    [
        ({"fn": 9, "fp": 1}, 0.5),
        ({"tp": -5, "fn": 4, "fp": 3, "tn": 2}, 0.5),
        ({"fn": 1, "fp": 0}, 1.0),
        ({"fn": 0, "fp": 1}, 0.0),
        ({"fn": 0, "fp": 0}, math.nan),
        ({"fn": -1, "fp": 1}, math.nan),
        ({"fn": 1, "fp": -1}, math.nan),
    ],
)
def test_probability_cost(costs, want):
    """At 10 % positives; ``nan`` where the lower envelope is not what costs least."""
    assert probability_cost(CostMatrix(**costs), 0.1) == pytest.approx(want, nan_ok=True)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: cost_curve(c).cost_at(1.5), "probability_cost must be in [0, 1], got 1.5"),
        (lambda c: cost_curve(c).threshold_at(-1), "probability_cost must be in [0, 1], got -1.0"),
        (
            lambda c: normalised_cost(c, threshold=0.5, probability_cost=2),
            "probability_cost must be in [0, 1], got 2.0",
        ),
        (
            lambda c: normalised_cost(c, threshold=math.nan, probability_cost=0.5),
            "threshold must be a number, got nan",
        ),
        (
            lambda _: probability_cost(CostMatrix(fn=1, fp=1), 1),
            "prevalence must be in (0, 1), got 1.0",
        ),
    ],
)
def test_wrong_arguments_are_named(ask, message):
    """Name, requirement and value."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        ask(counts_of([(1, 0.5), (0, 0.2)], EXACT))

    assert str(caught.value) == message
