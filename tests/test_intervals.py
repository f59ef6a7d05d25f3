"""Confidence intervals against slow definitions, and the properties every interval has."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import counts_of, events, lattice, weighted_events
from scipy.stats import binomtest, norm

from streamauc import (
    Scale,
    ScoreHistogram,
    prevalence_interval,
    roc_auc,
    roc_auc_interval,
    threshold_counts,
    wilson_interval,
)
from streamauc.metrics import catalogue, intervals
from streamauc.metrics.intervals import (
    SMALL_CLASS,
    fpr_interval,
    precision_interval,
    recall_interval,
    roc_auc_variance,
)
from streamauc.storage import WideCounts

EXACT = Scale.exact()
CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("cases.jsonl").read_text().splitlines())
}
METHODS = ("auto", "delong", "newcombe", "hull")
levels = st.floats(0.01, 0.999)


def components_variance(pos, neg):
    """DeLong's variance from the structural components, pair by pair; (score, weight) rows.

    The mean of a class is that of its components; its variance is linearised: each event's
    squared weight times its squared deviation, with the correction that is n / (n - 1) for
    equal weights.
    """
    kernel = np.array([[(p > n) + (p == n) / 2 for n, _ in neg] for p, _ in pos])
    v, w = (np.array([weight for _, weight in side]) for side in (pos, neg))
    auc = v @ kernel @ w / v.sum() / w.sum()
    total = 0.0
    for components, weights in ((kernel @ w / w.sum(), v), (v @ kernel / v.sum(), w)):
        shares = weights / weights.sum()
        spread = sum(s**2 * (c - auc) ** 2 for s, c in zip(shares, components, strict=True))
        total += spread / (1 - sum(s**2 for s in shares))
    return total


def sides(rows):
    """Return positives and negatives as (score, weight), those of weight 0 left out."""
    full = [(y, s, *w) if w else (y, s, 1.0) for y, s, *w in rows]
    return [[(s, w) for y, s, w in full if y == label and w] for label in (1, 0)]


def enough(rows):
    """Return whether both classes would vary as much as two equal samples."""
    return all(
        side and sum(w for _, w in side) ** 2 >= (2 - 1e-9) * sum(w * w for _, w in side)
        for side in sides(rows)
    )


@given(st.one_of(events, weighted_events))
def test_variance_equals_the_structural_components(rows):
    """From counts in O(bins) the same as from all pairs, ties and weights included."""
    variance = roc_auc_variance(counts_of(rows, EXACT))
    if not enough(rows):
        assert math.isnan(variance)
        return
    assert variance == pytest.approx(components_variance(*sides(rows)), rel=1e-10, abs=1e-15)


@given(events)
def test_variance_of_unweighted_rows_is_delongs(rows):
    """Sample variances with n - 1, as published."""
    pos, neg = sides(rows)
    assume(min(len(pos), len(neg)) >= 2)
    kernel = np.array([[(p > n) + (p == n) / 2 for n, _ in neg] for p, _ in pos])
    v10, v01 = kernel.mean(axis=1), kernel.mean(axis=0)
    want = v10.var(ddof=1) / len(pos) + v01.var(ddof=1) / len(neg)

    assert roc_auc_variance(counts_of(rows, EXACT)) == pytest.approx(want, rel=1e-10, abs=1e-15)


@given(events)
def test_weights_of_one_and_a_common_factor_change_nothing(rows):
    """Weights only count relative to each other."""
    plain = counts_of(rows, EXACT)
    for factor in (1.0, 0.125, 8.0):
        weighted = counts_of([(*row, factor) for row in rows], EXACT)
        for method in METHODS:
            found, want = (roc_auc_interval(c, method=method) for c in (weighted, plain))
            assert (found.low, found.high) == pytest.approx((want.low, want.high), nan_ok=True)
        for interval in (prevalence_interval, *at_half()):
            found, want = interval(weighted), interval(plain)
            assert (found.low, found.high) == pytest.approx((want.low, want.high), nan_ok=True)


def at_half():
    """Return the intervals of rates at the threshold 0.5."""
    return [
        lambda counts, f=f, **level: f(counts, threshold=0.5, **level)
        for f in (recall_interval, fpr_interval, precision_interval)
    ]


def test_a_weight_says_less_than_as_many_rows():
    """Eight rows of weight 4 have the spread of eight rows, not of 32."""
    rows = [(1, 0.9), (1, 0.6), (0, 0.6), (1, 0.4), (0, 0.3), (0, 0.2), (1, 0.2), (0, 0.7)]
    few = counts_of(rows, EXACT)
    weighted = counts_of([(*row, 4.0) for row in rows], EXACT)
    repeated = counts_of(rows * 4, EXACT)

    assert roc_auc_variance(weighted) == pytest.approx(roc_auc_variance(few))
    assert roc_auc_variance(repeated) < roc_auc_variance(few) / 4
    found, want = prevalence_interval(weighted), prevalence_interval(few)
    assert (found.low, found.high) == pytest.approx((want.low, want.high))


def test_a_few_heavy_events_widen_the_interval():
    """What rests on few events is less certain than the same total spread evenly."""
    rng = np.random.default_rng(23)
    scores = rng.uniform(size=400)
    labels = rng.uniform(size=400) < scores
    weights = np.ones(400)
    heavy = np.where(np.arange(400) % 20 == 0, 30.0, 1.0)
    even, uneven = (
        threshold_counts(ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=w))
        for w in (weights, heavy)
    )

    assert roc_auc_variance(uneven) > 2 * roc_auc_variance(even)
    for interval in (roc_auc_interval, prevalence_interval):
        assert width(interval(uneven)) > 1.2 * width(interval(even))


def width(interval):
    """Return how wide an interval is."""
    return interval.high - interval.low


def test_delong_small():
    """Nine rows from a public report: AUC, variance and the interval on the logit scale."""
    case = CASES["delong-small"]
    rows = [(1, s) for s in case["input"]["pos"]] + [(0, s) for s in case["input"]["neg"]]
    counts, want = counts_of(rows, EXACT), case["expected"]
    found = roc_auc_interval(counts, level=case["query"]["confidence"], method="delong")

    assert roc_auc(counts) == pytest.approx(want["auc"], abs=case["tol"])
    assert roc_auc_variance(counts) == pytest.approx(want["variance"], abs=case["tol"])
    assert [found.low, found.high] == pytest.approx(want["logit"], abs=case["tol"])
    assert found.note == "DeLong (logit scale)"


def test_delong_large_counts():
    """Ten million of each class: no overflow, and an interval that is narrow but has a width."""
    case = CASES["delong-large-counts"]
    rows, want = np.array(case["input"]["histogram"]["rows"]), case["expected"]
    wide = WideCounts(EXACT.bins(rows[:, 0]), rows[:, [2, 1]].T.astype(np.int64))
    counts = threshold_counts(ScoreHistogram(EXACT, wide))
    found = roc_auc_interval(counts)

    assert roc_auc(counts) == pytest.approx(want["auc"], abs=case["tol"])
    assert roc_auc_variance(counts) == pytest.approx(want["variance"], rel=case["tol"])
    assert found.low < 0.825 < found.high
    assert width(found) == pytest.approx(2 * 1.96 * math.sqrt(want["variance"]), rel=1e-4)


@given(events, levels)
def test_newcombe_solves_its_equation(rows, level):
    """Both ends are as far from the AUC as z of their own standard errors."""
    counts = counts_of(rows, EXACT)
    auc = roc_auc(counts)
    assume(min(counts.n_pos, counts.n_neg) >= 2)
    assume(0 < auc < 1)
    z, m = norm.ppf(0.5 + level / 2), counts.n_samples / 2 - 1
    found = roc_auc_interval(counts, level=level, method="newcombe")

    assert 0 < found.low < auc < found.high < 1
    for a in (found.low, found.high):
        variance = a * (1 - a) * (1 + m * (1 - a) / (2 - a) + m * a / (1 + a))
        distance = z * math.sqrt(variance / (counts.n_pos * counts.n_neg))
        assert abs(auc - a) == pytest.approx(distance, abs=1e-9)


@given(events)
def test_the_hull_holds_both_and_auto_is_one_of_them(rows):
    """From the lower of the two to the higher; auto is the hull for small classes."""
    counts = counts_of(rows, EXACT)
    assume(min(counts.n_pos, counts.n_neg) >= 2)
    assume(0 < roc_auc(counts) < 1)
    delong, newcombe, hull, auto = (
        roc_auc_interval(counts, method=m) for m in ("delong", "newcombe", "hull", "auto")
    )

    assert hull.low == min(delong.low, newcombe.low)
    assert hull.high == max(delong.high, newcombe.high)
    assert auto == hull


@pytest.mark.parametrize("larger", [1, 20])
def test_auto_switches_where_the_smaller_class_is_large_enough(larger):
    """One below the switch it is the hull, at the switch it is DeLong."""
    rng = np.random.default_rng(24)
    for n, method in ((SMALL_CLASS - 1, "hull"), (SMALL_CLASS, "delong")):
        for n_pos, n_neg in ((n, SMALL_CLASS * larger), (SMALL_CLASS * larger, n)):
            scores = np.concatenate([rng.normal(0, 1, n_neg), rng.normal(1, 1, n_pos)])
            labels = np.repeat([0, 1], [n_neg, n_pos])
            counts = threshold_counts(ScoreHistogram.from_scores(labels, scores, scale=EXACT))
            assert roc_auc_interval(counts) == roc_auc_interval(counts, method=method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [EXACT, Scale.probability()], ids=repr)
@pytest.mark.parametrize("factor", [None, 0.1, 0.3])
def test_perfect_separation_is_one_sided(method, scale, factor):
    """No variance can be seen, so the smaller class says how sure one can be."""
    rng = np.random.default_rng(25)
    for n_pos, n_neg in ((2, 2), (3, 50), (50, 3), (400, 900)):
        rows = [(1, s) for s in rng.uniform(0.6, 1, n_pos)]
        rows += [(0, s) for s in rng.uniform(0, 0.4, n_neg)]
        if factor is not None:
            rows = [(*row, factor) for row in rows]
        bound = 0.05 ** (1 / min(n_pos, n_neg))
        perfect = roc_auc_interval(counts_of(rows, scale), method=method)
        worst = roc_auc_interval(
            counts_of([(1 - y, *rest) for y, *rest in rows], scale), method=method
        )
        assert perfect.note == worst.note == "one-sided: the classes are perfectly separated"
        assert (perfect.low, perfect.high) == (pytest.approx(bound, rel=1e-9), 1)
        assert (worst.low, worst.high) == (0, pytest.approx(1 - bound, abs=1e-9))


def test_separation_is_seen_through_rounding():
    """Sums of uneven weights round the AUC; separated classes are recognised all the same."""
    rng = np.random.default_rng(26)
    for _ in range(300):
        n = int(rng.integers(8, 60))
        labels = np.arange(n) % 2
        counts = threshold_counts(
            ScoreHistogram.from_scores(
                labels, labels + rng.uniform(size=n) / 2, scale=EXACT, weights=rng.uniform(1, 3, n)
            )
        )
        found = roc_auc_interval(counts)
        assert found.high == 1
        assert found.note.startswith("one-sided")


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ([], "undefined: fewer than two positives"),
        ([(1, 0.5), (0, 0.1), (0, 0.7)], "undefined: fewer than two positives"),
        ([(1, 0.5), (1, 0.4), (0, 0.1)], "undefined: fewer than two negatives"),
        (
            [(1, 0.5, 5.0), (1, 0.2, 0.1), (0, 0.1, 1.0), (0, 0.3, 1.0)],
            "undefined: fewer than two positives",
        ),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_fewer_than_two_of_a_class_is_undefined(rows, note, method):
    """Both ends are nan, and the note says which class is short."""
    counts = counts_of(rows, EXACT)
    found = roc_auc_interval(counts, method=method)

    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.note == note
    assert math.isnan(roc_auc_variance(counts))


@given(st.one_of(events, weighted_events), st.sampled_from(METHODS), st.data())
def test_a_higher_level_never_narrows_an_interval(rows, method, data):
    """Intervals of different levels lie inside each other and around the value."""
    low, high = sorted(data.draw(st.lists(levels, min_size=2, max_size=2)))
    counts = counts_of(rows, EXACT)
    ask = [
        lambda c, **kw: roc_auc_interval(c, method=method, **kw),
        prevalence_interval,
        *at_half(),
    ]
    for interval in ask:
        inner, outer = interval(counts, level=low), interval(counts, level=high)
        assert math.isnan(inner.low) == math.isnan(outer.low)
        if not math.isnan(inner.low):
            assert -1e-12 <= outer.low <= inner.low + 1e-9
            assert inner.high - 1e-9 <= outer.high <= 1 + 1e-12
            assert inner.low <= inner.high
            assert (inner.level, outer.level) == (low, high)


@given(st.one_of(events, weighted_events), st.sampled_from(METHODS), levels)
def test_swapping_labels_mirrors_the_interval(rows, method, level):
    """The interval of 1 - AUC is one minus the interval."""
    found, swapped = (
        roc_auc_interval(counts_of(part, EXACT), method=method, level=level)
        for part in (rows, [(1 - y, *rest) for y, *rest in rows])
    )

    assert swapped.low == pytest.approx(1 - found.high, abs=1e-9, nan_ok=True)
    assert swapped.high == pytest.approx(1 - found.low, abs=1e-9, nan_ok=True)


@given(st.integers(0, 60), st.integers(0, 60), levels)
def test_wilson_equals_scipy(successes, failures, level):
    """The score interval without continuity correction, ends included."""
    trials = successes + failures
    found = wilson_interval(successes, trials, level=level)
    if not trials:
        assert math.isnan(found.low)
        assert found.note == "undefined: no trials"
        return
    want = binomtest(successes, trials).proportion_ci(level, method="wilson")
    assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-12)
    assert found.low <= successes / trials <= found.high
    assert (found.low == 0) == (successes == 0)
    assert (found.high == 1) == (failures == 0)


@given(events, lattice, levels)
def test_rates_have_the_wilson_interval_of_their_counts(rows, threshold, level):
    """Prevalence, recall, false positive rate and precision are proportions."""
    counts = counts_of(rows, EXACT)
    pos = [s for y, s in rows if y]
    neg = [s for y, s in rows if not y]
    tp, fp = sum(s >= threshold for s in pos), sum(s >= threshold for s in neg)
    at = {"threshold": threshold, "level": level}

    for found, successes, trials in (
        (prevalence_interval(counts, level=level), len(pos), len(rows)),
        (recall_interval(counts, **at), tp, len(pos)),
        (fpr_interval(counts, **at), fp, len(neg)),
        (precision_interval(counts, **at), tp, tp + fp),
    ):
        want = wilson_interval(successes, trials, level=level)
        assert (found.low, found.high) == pytest.approx((want.low, want.high), nan_ok=True)


def linearised(hits, misses):
    """Return share and variance of a weighted proportion, one event at a time."""
    total = sum(hits) + sum(misses)
    share = sum(hits) / total
    variance = sum((w * (1 - share)) ** 2 for w in hits) + sum((w * share) ** 2 for w in misses)
    return share, variance / total**2


@given(weighted_events, lattice)
def test_weighted_proportions_are_linearised(rows, threshold):
    """Their Wilson interval is that of as many samples as vary alike."""
    assume(rows)
    counts = counts_of(rows, EXACT)
    pos, neg = sides(rows)
    sure = {
        "prevalence": ([w for _, w in pos], [w for _, w in neg]),
        "recall": ([w for s, w in pos if s >= threshold], [w for s, w in pos if s < threshold]),
        "fpr": ([w for s, w in neg if s >= threshold], [w for s, w in neg if s < threshold]),
        "precision": (
            [w for s, w in pos if s >= threshold],
            [w for s, w in neg if s >= threshold],
        ),
    }
    for name, (hits, misses) in sure.items():
        find = getattr(intervals, name + "_interval")
        found = find(counts) if name == "prevalence" else find(counts, threshold=threshold)
        if not hits and not misses:
            assert math.isnan(found.low)
            continue
        share, variance = linearised(hits, misses)
        everyone = hits + misses
        trials = (
            share * (1 - share) / variance
            if variance
            else sum(everyone) ** 2 / sum(w * w for w in everyone)
        )
        want = wilson_interval(share * trials, trials)
        assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-9)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan, math.inf])
def test_a_level_outside_0_to_1_is_refused(level):
    """95 is not 0.95."""
    counts = counts_of([(0, 0.1), (1, 0.9)], EXACT)
    for ask in (roc_auc_interval, prevalence_interval, *at_half()):
        with pytest.raises(ValueError, match="level must be"):
            ask(counts, level=level)


def test_an_unknown_method_is_refused():
    """The message lists the methods."""
    with pytest.raises(ValueError, match="method must be auto, delong, newcombe or hull, got 'x'"):
        roc_auc_interval(counts_of([], EXACT), method="x")


def test_intervals_hold_the_truth_as_often_as_they_say():
    """A short simulation; the whole table comes from the benchmark of the same name."""
    rng = np.random.default_rng(27)
    held = dict.fromkeys(METHODS, 0)
    for _ in range(400):
        scores = np.concatenate(
            [rng.normal(0, 1, 60), rng.normal(math.sqrt(2) * norm.ppf(0.8), 1, 40)]
        )
        histogram = ScoreHistogram.from_scores(np.repeat([0, 1], [60, 40]), scores, scale=EXACT)
        for method in METHODS:
            found = roc_auc_interval(threshold_counts(histogram), method=method)
            held[method] += found.low <= 0.8 <= found.high

    assert all(0.92 < n / 400 < 0.985 for n in held.values()), held


@pytest.mark.parametrize(("n_missed", "is_warned"), [(0, True), (4, True), (5, False)])
def test_an_interval_near_an_end_says_that_it_may_cover_less(n_missed, is_warned):
    """That of the recall, and of the precision at another class ratio, which is made of it."""
    rows = [(1, 0.9)] * 40 + [(1, 0.1)] * n_missed + [(0, 0.9)] * 20 + [(0, 0.1)] * 30
    counts = counts_of(rows, EXACT)
    for found in (
        catalogue.interval(counts, "recall", threshold=0.5),
        catalogue.interval(counts, "precision", threshold=0.5, prevalence=0.2),
    ):
        assert found.note.endswith("it may cover 88 % where it says 95 %") == is_warned


@pytest.mark.parametrize("sizes", [(10, 1_000), (19, 60), (1_000, 10), (20, 20), (30, 1_000)])
def test_with_few_of_a_class_the_auc_says_that_it_may_cover_less(sizes):
    """The one cell of the README's table below 92 % has 10 positives."""
    rng = np.random.default_rng(3)
    rows = [(y, s) for y, n in zip((1, 0), sizes, strict=True) for s in rng.normal(y, 1 + y, n)]
    note = roc_auc_interval(counts_of(rows, EXACT)).note
    assert ("fewer than 20 of a class it may cover 91 %" in note) == (min(sizes) < 20)
