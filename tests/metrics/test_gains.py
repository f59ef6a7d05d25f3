"""Gain, lift, largest distance and Gini against counting, random order, SciPy and each other."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import counts_of, events, weighted_events
from scipy import stats

from streamauc import Scale, ThresholdCounts, confusion_at, prevalence, roc_auc, roc_auc_interval
from streamauc.metrics.gains import (
    gain,
    gain_bounds,
    gains_curve,
    gini,
    gini_bounds,
    gini_interval,
    ks_statistic,
    ks_statistic_bounds,
    ks_threshold,
    lift,
    lift_bounds,
)
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
BINNED = Scale.probability(bits=1)
any_events = st.one_of(events, weighted_events)
both = events.filter(lambda rows: {label for label, _ in rows} == {0, 1})
shares = st.integers(1, 24).map(lambda k: k / 24)


def weighted_rows(rows):
    """Return (label, score, weight) in fractions, without those of weight 0."""
    full = [(row[0], row[1], Fraction(row[2]) if len(row) == 3 else Fraction(1)) for row in rows]
    return [row for row in full if row[2]]


def gain_by_counting(rows, share):
    """Return the mean share of positives reached if tied events come in random order."""
    full = weighted_rows(rows)
    wanted = Fraction(share) * sum(weight for *_, weight in full)
    reached = Fraction(0)
    for score in sorted({score for _, score, _ in full}, reverse=True):
        tied = [(label, weight) for label, other, weight in full if other == score]
        size = sum(weight for _, weight in tied)
        part = min(Fraction(1), max(Fraction(0), wanted / size))
        reached += part * sum(weight for label, weight in tied if label)
        wanted -= size
    return reached / sum(weight for label, _, weight in full if label)


@given(any_events, shares)
def test_gain_and_lift_are_counted(rows, share):
    """Event by event, in fractions; lift is gain by share."""
    counts = counts_of(rows, EXACT)
    found = gain(counts, share=share)
    if not counts.n_pos:
        assert math.isnan(found)
        assert math.isnan(lift(counts, share=share))
        return

    assert found == pytest.approx(float(gain_by_counting(rows, share)), rel=1e-13)
    assert lift(counts, share=share) == found / share
    assert gain(counts, share=1) == 1
    assert lift(counts, share=1) == 1


def test_ties_are_in_random_order():
    """The mean over shuffled orders of a tie is the gain of the tie."""
    rng = np.random.default_rng(7)
    labels, scores = rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    counts = counts_of(list(zip(labels, scores, strict=True)), EXACT)
    found = []
    for _ in range(4000):
        order = rng.permutation(40)
        first = order[np.argsort(-scores[order], kind="stable")][:13]
        found.append(labels[first].sum() / labels.sum())

    error = np.std(found) / math.sqrt(len(found))
    assert gain(counts, share=13 / 40) == pytest.approx(np.mean(found), abs=4 * error)


@given(any_events, st.sampled_from([EXACT, BINNED]))
def test_the_curve_has_the_rates_of_every_threshold(rows, scale):
    """Share flagged, recall, and precision over prevalence."""
    counts = counts_of(rows, scale)
    curve = gains_curve(counts)

    assert curve.thresholds.tolist() == counts.thresholds.tolist()
    assert math.isnan(curve.lift[0])
    for i, threshold in enumerate(curve.thresholds.tolist()):
        point = confusion_at(counts, threshold)
        assert curve.share[i] == pytest.approx(point.alert_rate, rel=1e-14, nan_ok=True)
        assert curve.gain[i] == pytest.approx(point.recall, rel=1e-14, nan_ok=True)
        if i and counts.n_pos:
            assert curve.lift[i] == pytest.approx(point.precision / prevalence(counts), rel=1e-13)
            at = gain(counts, share=min(float(curve.share[i]), 1.0))
            assert at == pytest.approx(point.recall, rel=1e-12)


@given(any_events, shares)
def test_bounds_hold_the_exact_gain(rows, share):
    """From bins of any width, of gain and lift alike; exact on the exact scale."""
    exact = gain(counts_of(rows, EXACT), share=share)
    for bits in (1, 3):
        counts = counts_of(rows, Scale.probability(bits=bits))
        bounds, of_lift = gain_bounds(counts, share=share), lift_bounds(counts, share=share)
        if math.isnan(exact):
            assert math.isnan(bounds.low)
            continue
        assert bounds.low - 1e-14 <= exact <= bounds.high + 1e-14
        assert bounds.low <= gain(counts, share=share) <= bounds.high
        assert (of_lift.low, of_lift.high) == (bounds.low / share, bounds.high / share)
    bounds = gain_bounds(counts_of(rows, EXACT), share=share)
    assert (bounds.low, bounds.high) == pytest.approx((exact, exact), abs=0, nan_ok=True)


def test_gain_bounds_are_reached():
    """Positives first and positives last in the bin that the share cuts through."""
    scores = [0.255 + i / 1000 for i in range(8)]
    binned = counts_of([(int(i < 3), score) for i, score in enumerate(scores)], BINNED)
    assert binned.tps.size == 2
    for share in (0.25, 0.5, 0.75):
        bounds = gain_bounds(binned, share=share)
        last = counts_of([(int(i < 3), score) for i, score in enumerate(scores)], EXACT)
        first = counts_of([(int(i < 3), -score) for i, score in enumerate(scores)], EXACT)
        assert bounds.high == pytest.approx(gain(first, share=share), rel=1e-14)
        assert bounds.low == pytest.approx(gain(last, share=share), abs=1e-15)


def ks_by_counting(rows):
    """Return the largest distance and the highest threshold that has it, in fractions."""
    full = weighted_rows(rows)
    totals = [sum(weight for label, _, weight in full if label == side) for side in (0, 1)]
    found = (Fraction(0), math.inf)
    for cut in sorted({score for _, score, _ in full}, reverse=True):
        fpr, tpr = (
            sum(weight for label, score, weight in full if label == side and score >= cut)
            / totals[side]
            for side in (0, 1)
        )
        if abs(tpr - fpr) > found[0]:
            found = abs(tpr - fpr), cut
    return found


@given(any_events)
def test_the_largest_distance_is_counted(rows):
    """Its value to the last bit but one, and the highest threshold that has it."""
    counts = counts_of(rows, EXACT)
    found = ks_threshold(counts)
    assert ks_statistic(counts) == pytest.approx(found.statistic, abs=0, nan_ok=True)
    if not (counts.n_pos and counts.n_neg):
        assert math.isnan(found.statistic)
        assert math.isnan(found.threshold)
        return
    distance, cut = ks_by_counting(rows)
    point = confusion_at(counts, cut)

    assert found.statistic == pytest.approx(float(distance), rel=2e-16)
    assert found.threshold == cut
    assert (found.tpr, found.fpr) == pytest.approx((point.tpr, point.fpr), rel=1e-15)


@settings(max_examples=30)
@given(both)
def test_the_statistic_is_scipys(rows):
    """That of its two-sample test; the mode only concerns the p-value."""
    counts = counts_of(rows, EXACT)
    pos, neg = ([score for label, score in rows if label == side] for side in (1, 0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        want = stats.ks_2samp(pos, neg, method="asymp").statistic

    assert ks_statistic(counts) == pytest.approx(want, rel=1e-14)


def test_equal_distances_are_seen_as_equal():
    """0.1 - 0 and 0.8 - 0.7 are not the same floats; the highest threshold is named."""
    levels = [(1, 9)] + 7 * [(1, 8), (0, 8)] + 2 * [(1, 7)] + 3 * [(0, 7)]
    counts = counts_of(levels, EXACT)
    assert counts.tpr[2] - counts.fpr[2] > counts.tpr[1] - counts.fpr[1]

    assert ks_threshold(counts).threshold == 9
    assert ks_statistic(counts) == 0.1


@given(any_events)
def test_bounds_hold_the_exact_distance(rows):
    """From bins of any width; their own value is the lower one."""
    exact = ks_statistic(counts_of(rows, EXACT))
    for bits in (1, 3):
        counts = counts_of(rows, Scale.probability(bits=bits))
        bounds = ks_statistic_bounds(counts)
        if math.isnan(exact):
            assert math.isnan(bounds.low)
            continue
        assert bounds.low == ks_statistic(counts)
        assert bounds.low - 1e-15 <= exact <= bounds.high + 1e-15
    bounds = ks_statistic_bounds(counts_of(rows, EXACT))
    assert (bounds.low, bounds.high) == pytest.approx((exact, exact), abs=0, nan_ok=True)


def test_a_bin_may_hide_all_of_the_distance():
    """One bin: nothing is seen, and anything up to perfect separation is possible."""
    binned = counts_of([(1, 0.26), (0, 0.255)], BINNED)
    assert ks_statistic(binned) == 0
    assert ks_threshold(binned).threshold == math.inf
    assert ks_statistic_bounds(binned).high == ks_statistic(
        counts_of([(1, 0.26), (0, 0.255)], EXACT)
    )


@pytest.mark.parametrize("wrong_way_round", [False, True])
def test_huge_counts_are_compared_exactly(wrong_way_round):
    """Two thresholds one event apart in 10^19; the difference is below a float's digits."""
    tps = np.array([0, 2_000_000_002, 2_000_000_003, 4_000_000_007])
    fps = np.array([0, 1_000_000_000, 1_000_000_001, 4_000_000_009])
    gaps = [
        abs(int(t) * 4_000_000_009 - int(f) * 4_000_000_007) for t, f in zip(tps, fps, strict=True)
    ]
    assert gaps[2] > gaps[1]
    parts = (fps, tps) if wrong_way_round else (tps, fps)
    counts = ThresholdCounts(np.array([math.inf, 3.0, 2.0, 1.0]), *parts)

    found = ks_threshold(counts)
    assert found.threshold == 2.0
    assert found.statistic == gaps[2] / (4_000_000_007 * 4_000_000_009)
    assert (found.tpr < found.fpr) == wrong_way_round


@given(any_events)
def test_gini_is_the_accuracy_ratio(rows):
    """The area between gain and chance over that of perfect scores, which is 2 AUC - 1."""
    counts = counts_of(rows, EXACT)
    found = gini(counts)
    if not (counts.n_pos and counts.n_neg):
        assert math.isnan(found)
        return
    curve = gains_curve(counts)
    above_chance = np.trapezoid(curve.gain, curve.share) - 0.5

    assert found == pytest.approx(above_chance / ((1 - prevalence(counts)) / 2), abs=1e-13)
    assert found == 2 * roc_auc(counts) - 1


@settings(max_examples=30)
@given(both.filter(lambda rows: len({score for _, score in rows}) > 1))
def test_gini_is_somers_d(rows):
    """SciPy's, of the score given the outcome; and scikit-learn's AUC."""
    labels, scores = zip(*rows, strict=True)
    counts = counts_of(rows, EXACT)

    assert gini(counts) == pytest.approx(stats.somersd(labels, scores).statistic, abs=1e-13)
    assert gini(counts) == pytest.approx(2 * sk.roc_auc_score(labels, scores) - 1, abs=1e-13)


@given(events)
def test_gini_has_the_interval_and_bounds_of_the_auc(rows):
    """Stretched to [-1, 1]."""
    counts = counts_of(rows, BINNED)
    auc, found = roc_auc_interval(counts, level=0.9), gini_interval(counts, level=0.9)
    assert (found.low, found.high) == pytest.approx(
        (2 * auc.low - 1, 2 * auc.high - 1), nan_ok=True
    )
    assert (found.level, found.note) == (0.9, auc.note)
    exact, bounds = gini(counts_of(rows, EXACT)), gini_bounds(counts)
    assert math.isnan(exact) or bounds.low - 1e-14 <= exact <= bounds.high + 1e-14


@given(events, st.integers(1, 4), shares)
def test_invariances(rows, times, share):
    """Weight is repetition; only the order counts; exchanged classes turn both round."""
    counts = counts_of(rows, EXACT)
    same = [
        counts_of([(*row, times) for row in rows], EXACT),
        counts_of(rows[::-1] * times, EXACT),
        counts_of([(label, math.atan(score) - 7) for label, score in rows], EXACT),
    ]
    for other in same:
        for function in (ks_statistic, gini, lambda c: gain(c, share=share)):
            assert function(other) == pytest.approx(function(counts), rel=1e-12, nan_ok=True)
    turned = counts_of([(1 - label, -score) for label, score in rows], EXACT)
    assert ks_statistic(turned) == pytest.approx(ks_statistic(counts), rel=1e-14, nan_ok=True)
    assert gini(turned) == pytest.approx(gini(counts), abs=1e-14, nan_ok=True)


@given(both, st.sampled_from([0.01, 0.5, 0.9]))
def test_at_another_prevalence(rows, share):
    """Neither of the distance and Gini moves; gain does, and is defined."""
    counts = counts_of(rows, EXACT)
    moved = at_prevalence(counts, share)

    assert ks_statistic(moved) == pytest.approx(ks_statistic(counts), rel=1e-12, abs=1e-15)
    assert gini(moved) == pytest.approx(gini(counts), abs=1e-12)
    assert gain(moved, share=1) == pytest.approx(1)


def test_undefined_and_refused():
    """Without positives nothing; without negatives gain is the share."""
    empty, negatives, positives = (
        counts_of(rows, EXACT) for rows in ([], [(0, 0.5)], [(1, 0.5), (1, 0.2)])
    )
    for counts in (empty, negatives, at_prevalence(positives, 0.5)):
        assert math.isnan(gain(counts, share=0.5))
        assert math.isnan(lift_bounds(counts, share=0.5).low)
        assert math.isnan(ks_statistic(counts))
        assert math.isnan(ks_statistic_bounds(counts).high)
        assert math.isnan(gini(counts))
        assert math.isnan(gini_bounds(counts).low)
        assert np.isnan(gains_curve(counts).lift).all()
    assert gain(positives, share=0.3) == pytest.approx(0.3)
    assert lift(positives, share=0.3) == pytest.approx(1)
    for bad in (0, -0.1, 1.5):
        with pytest.raises(ValueError, match=r"share must be in \(0, 1\], got"):
            gain(empty, share=bad)
    with pytest.raises(ValueError, match="share must be finite, got nan"):
        lift(positives, share=math.nan)
