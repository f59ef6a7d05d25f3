"""Partial areas against integrating the curve in fractions, scikit-learn, and counting pairs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import confusion_by_rows, counts_of, events, histogram_of, split, weighted_events
from sklearn import metrics as sk

from streamauc import Scale, ScoreHistogram, roc_auc, threshold_counts
from streamauc.metrics.partial import partial_roc_auc, partial_roc_auc_bounds
from streamauc.metrics.reweighted import at_prevalence
from streamauc.storage import WideCounts

EXACT = Scale.exact()
BINNED = [Scale.probability(bits=1), Scale.probability(bits=1, thresholds=(0.3, 0.6))]
TOL = 1e-12

ends = st.sampled_from([0.0, 1e-6, 0.1, 0.125, 0.25, 0.3, 0.5, 0.6, 0.875, 0.999, 1.0])
regions = st.tuples(ends, ends, st.sampled_from(["fpr", "tpr"])).filter(lambda r: r[0] < r[1])
both = st.one_of(events, weighted_events).filter(lambda rows: all(split(rows)))


def named(region):
    """Return a region as keyword arguments."""
    low, high, kind = region
    return {f"min_{kind}": low, f"max_{kind}": high}


def curve_of(rows):
    """Return the points of the ROC curve by falling threshold, in fractions."""
    cuts = [math.inf, *sorted({row[1] for row in rows}, reverse=True)]
    points = (confusion_by_rows(rows, cut) for cut in cuts)
    return [(fp / (fp + tn), tp / (tp + fn)) for tp, fp, fn, tn in points]


def integrated(points, low, high):
    """Return the area under straight pieces (x not decreasing), piece by piece."""
    area = Fraction(0)
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        start, stop = max(x0, low), min(x1, high)
        if start < stop:
            slope = (y1 - y0) / (x1 - x0)
            area += (stop - start) * (y0 + slope * ((start + stop) / 2 - x0))
    return area


def area_of(rows, region):
    """Return the raw area by its definition."""
    low, high, kind = Fraction(region[0]), Fraction(region[1]), region[2]
    points = curve_of(rows)
    if kind == "tpr":
        points = [(tpr, 1 - fpr) for fpr, tpr in points]
    return integrated(points, low, high)


def standard(area, region):
    """Return an area between what chance and what perfection give in its region."""
    low, high, kind = Fraction(region[0]), Fraction(region[1]), region[2]
    chance = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))]
    if kind == "tpr":
        chance = [(x, 1 - y) for x, y in chance]
    least = integrated(chance, low, high)
    return (1 + (area - least) / (high - low - least)) / 2


@given(both, regions)
def test_the_area_is_the_integral_of_the_curve(rows, region):
    """Raw and standardised, in fractions, wherever the ends of the region fall."""
    counts = counts_of(rows, EXACT)
    want = area_of(rows, region)

    assert partial_roc_auc(counts, **named(region)) == pytest.approx(float(want), rel=TOL, abs=TOL)
    scaled = partial_roc_auc(counts, **named(region), standardised=True)
    assert scaled == pytest.approx(float(standard(want, region)), rel=TOL, abs=TOL)


@given(both)
def test_of_the_whole_range_it_is_the_auc(rows):
    """Of either kind, raw and standardised, with the ends given or not."""
    counts = counts_of(rows, EXACT)
    auc = roc_auc(counts)
    assert partial_roc_auc(counts) == pytest.approx(auc, rel=TOL)
    for whole in ({"max_fpr": 1}, {"min_tpr": 0}, {"min_fpr": 0, "max_fpr": 1}, {"max_tpr": 1}):
        for standardised in (False, True):
            found = partial_roc_auc(counts, **whole, standardised=standardised)
            assert found == pytest.approx(auc, rel=TOL, abs=TOL)


def test_scikit_learn_agrees_from_zero_on():
    """`roc_auc_score(max_fpr=)`, which is standardised, weighted or not."""
    rng = np.random.default_rng(52)
    for _ in range(300):
        n = int(rng.integers(3, 40))
        labels = rng.integers(0, 2, n)
        labels[:2] = 0, 1
        scores = rng.integers(0, 9, n) / 8
        weights = rng.integers(1, 9, n) / 4 if rng.uniform() < 0.5 else None
        counts = threshold_counts(
            ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=weights)
        )
        most = float(rng.choice([0.01, 0.1, 0.25, 0.5, 0.9]))
        want = sk.roc_auc_score(labels, scores, max_fpr=most, sample_weight=weights)
        found = partial_roc_auc(counts, max_fpr=most, standardised=True)
        assert found == pytest.approx(want, abs=1e-10)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=30), st.data())
def test_without_ties_it_is_a_mean_over_negatives(labels, data):
    """Of the k negatives that score highest, the share of positives above each."""
    rows = [(label, -float(place)) for place, label in enumerate(labels)]
    pos, neg = split(rows)
    if not pos or not neg:
        return
    k = data.draw(st.integers(1, len(neg)))
    above = [sum(p > n for p, _ in pos) for n, _ in sorted(neg, reverse=True)[:k]]

    found = partial_roc_auc(counts_of(rows, EXACT), max_fpr=k / len(neg))
    assert found == pytest.approx(sum(above) / len(pos) / len(neg), rel=TOL, abs=TOL)


@given(both, st.lists(ends, min_size=2, max_size=4, unique=True), st.sampled_from(["fpr", "tpr"]))
def test_regions_side_by_side_add_up(rows, cuts, kind):
    """The areas of the parts of a region are the area of the whole."""
    counts, cuts = counts_of(rows, EXACT), sorted(cuts)
    parts = [
        partial_roc_auc(counts, **named((low, high, kind)))
        for low, high in itertools.pairwise(cuts)
    ]

    whole = partial_roc_auc(counts, **named((cuts[0], cuts[-1], kind)))
    assert sum(parts) == pytest.approx(whole, rel=1e-10, abs=TOL)


@given(both, regions)
def test_the_two_kinds_mirror_each_other(rows, region):
    """With labels and order swapped, TPR from c to d is FPR from 1 - d to 1 - c."""
    low, high, kind = region
    swapped = [(1 - y, -s, *w) for y, s, *w in rows]
    other = (1 - high, 1 - low, "tpr" if kind == "fpr" else "fpr")
    for standardised in (False, True):
        found = partial_roc_auc(counts_of(rows, EXACT), **named(region), standardised=standardised)
        again = partial_roc_auc(
            counts_of(swapped, EXACT), **named(other), standardised=standardised
        )
        assert again == pytest.approx(found, rel=1e-9, abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(1, 4)), max_size=20),
    regions,
    st.randoms(),
)
def test_only_order_and_weight_matter(rows, region, random):
    """Weights are repetitions; transforms, merging, order and prevalence change nothing."""
    counts = counts_of([(y, s / 8, float(w)) for y, s, w in rows], EXACT)
    want = partial_roc_auc(counts, **named(region))
    repeated = [(y, s / 8) for y, s, times in rows for _ in range(times)]
    mixed = random.sample(repeated, len(repeated))
    half = len(mixed) // 2
    merged = histogram_of(mixed[:half], EXACT) + histogram_of(mixed[half:], EXACT)
    others = [
        threshold_counts(merged),
        counts_of([(y, s**3 - 7) for y, s in repeated], EXACT),
        at_prevalence(counts, 0.01),
    ]
    for other in others:
        found = partial_roc_auc(other, **named(region))
        assert found == pytest.approx(want, rel=TOL, abs=TOL, nan_ok=True)


@given(both, regions, st.sampled_from(BINNED), st.booleans())
def test_bounds_hold_the_exact_area(rows, region, scale, standardised):
    """However coarse the bins, and the value of the bins lies between them too."""
    how = {**named(region), "standardised": standardised}
    exact, binned = counts_of(rows, EXACT), counts_of(rows, scale)
    bounds = partial_roc_auc_bounds(binned, **how)

    for counts in (exact, binned):
        value = partial_roc_auc(counts, **how)
        slack = TOL * max(1, abs(value))
        assert bounds.low - slack <= value <= bounds.high + slack
    of_exact = partial_roc_auc_bounds(exact, **how)
    assert of_exact.low == of_exact.high == partial_roc_auc(exact, **how)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5),
    regions,
    st.booleans(),
)
def test_bounds_are_reached(table, region, standardised):
    """For any counts by bin there are raw scores inside the bins that attain each bound."""
    if not all(sum(column) for column in zip(*table, strict=True)):
        return
    scale = Scale.probability(bits=1)
    first = scale.bin(0.5)
    how = {**named(region), "standardised": standardised}
    found = []
    for pos_at, neg_at in ((0.25, 0.75), (0.75, 0.25)):
        rows = []
        for k, (n_pos, n_neg) in enumerate(table):
            low, high = scale.lower_edges([first + k, first + k + 1])
            rows += [(1, low + (high - low) * pos_at)] * n_pos
            rows += [(0, low + (high - low) * neg_at)] * n_neg
        found.append(partial_roc_auc(counts_of(rows, EXACT), **how))
    bounds = partial_roc_auc_bounds(counts_of(rows, scale), **how)

    assert (bounds.low, bounds.high) == pytest.approx(found, rel=TOL, abs=TOL)


@pytest.mark.parametrize(
    ("region", "chance"),
    [
        ((0.0, 0.25, "fpr"), 1 / 32),
        ((0.5, 0.75, "fpr"), 5 / 32),
        ((0.75, 1.0, "tpr"), 1 / 32),
        ((0.25, 0.5, "tpr"), 5 / 32),
    ],
)
def test_chance_is_one_half_and_perfection_one(region, chance):
    """Also in regions that do not start at 0, and of the other kind."""
    worthless = counts_of([(1, 0.5), (0, 0.5)], EXACT)
    perfect = counts_of([(1, 0.9), (0, 0.5)], EXACT)
    wrong = counts_of([(1, 0.1), (0, 0.5)], EXACT)

    assert partial_roc_auc(worthless, **named(region)) == chance
    assert partial_roc_auc(worthless, **named(region), standardised=True) == 0.5
    assert partial_roc_auc(perfect, **named(region)) == 0.25
    assert partial_roc_auc(perfect, **named(region), standardised=True) == 1
    assert partial_roc_auc(wrong, **named(region)) == 0
    below = partial_roc_auc(wrong, **named(region), standardised=True)
    assert below == pytest.approx(0.5 - chance / (0.25 - chance) / 2)


def test_four_billion_of_each():
    """Products beyond int64 lose nothing that shows."""
    half = 2 * 10**9
    table = np.array([[half, half], [half // 2, 3 * half // 2]])
    counts = threshold_counts(ScoreHistogram(EXACT, WideCounts(EXACT.bins([0.2, 0.8]), table)))

    assert partial_roc_auc(counts, max_fpr=0.25) == pytest.approx(0.25 * 0.375 / 2, rel=TOL)
    assert partial_roc_auc(counts, min_fpr=0.5) == pytest.approx(0.5 * 0.875, rel=TOL)
    assert partial_roc_auc(counts, min_tpr=0.75) == pytest.approx(0.25 * 0.25, rel=TOL)


@pytest.mark.parametrize("rows", [[], [(1, 0.5)], [(0, 0.5), (0, 0.7)]])
def test_without_a_class_it_is_undefined(rows):
    """``nan``, from bins and at another prevalence too."""
    for scale in (EXACT, *BINNED):
        counts = counts_of(rows, scale)
        for one in (counts, at_prevalence(counts, 0.2)):
            bounds = partial_roc_auc_bounds(one, max_fpr=0.5)
            values = (partial_roc_auc(one, min_tpr=0.5), bounds.low, bounds.high)
            assert all(math.isnan(value) for value in values)


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ({"max_fpr": 0}, "max_fpr must be in (0.0, 1], got 0.0"),
        ({"max_fpr": 1.5}, "max_fpr must be in (0.0, 1], got 1.5"),
        ({"min_fpr": 1}, "min_fpr must be in [0, 1), got 1.0"),
        ({"min_fpr": -0.1, "max_fpr": 0.5}, "min_fpr must be in [0, 1), got -0.1"),
        ({"min_tpr": 0.5, "max_tpr": 0.5}, "max_tpr must be in (0.5, 1], got 0.5"),
        ({"max_tpr": math.nan}, "max_tpr must be finite, got nan"),
        (
            {"max_fpr": 0.1, "min_tpr": 0.8},
            "the region must be of one kind, got max_fpr=0.1 and min_tpr=0.8",
        ),
    ],
)
def test_wrong_regions_are_named(region, message):
    """Whatever the counts are, empty ones included."""
    for rows in ([], [(1, 0.5), (0, 0.2)]):
        for ask in (partial_roc_auc, partial_roc_auc_bounds):
            with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is compared)
                ask(counts_of(rows, EXACT), **region)
            assert str(caught.value) == message
