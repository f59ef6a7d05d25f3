"""Metrics against scikit-learn, against counting pairs, and against themselves."""

import copy
import importlib
import itertools
import math
import pickle
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from every_metric import every_metric
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import (
    confusion_by_rows,
    counted_ap,
    counts_of,
    events,
    histogram_of,
    lattice,
    pairwise_auc,
    same,
    weighted_events,
)
from sklearn import metrics as sk

from streamauc import (
    Bounds,
    Confusion,
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    average_precision,
    average_precision_bounds,
    confusion_at,
    precision_recall_curve,
    prevalence,
    roc_auc,
    roc_auc_bounds,
    roc_curve,
    storage,
    threshold_counts,
)
from streamauc.metrics import catalogue
from streamauc.storage import WideCounts

EXACT = Scale.exact()
BINNED = [
    Scale.probability(bits=1),
    Scale.probability(bits=1, thresholds=(0.3, 0.6)),
    Scale.real(bits=1),
]
TOL = 1e-12


def stream(rng):
    """Return labels, lattice scores, and weights in half of the streams."""
    n = int(rng.integers(2, 30))
    labels = rng.integers(0, 2, n)
    labels[:2] = 0, 1
    scores = rng.integers(0, 9, n) / 8
    return labels, scores, rng.integers(1, 9, n) / 4 if rng.uniform() < 0.5 else None


def test_areas_and_curves_equal_scikit_learn_on_thousands_of_streams():
    """AUC, AP and every point of both curves, with ties and weights, to 1e-12."""
    rng = np.random.default_rng(16)
    for _ in range(10_000):
        labels, scores, weights = stream(rng)
        histogram = ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=weights)
        counts = threshold_counts(histogram)
        fps, _, tps, _, cut = confusion_table(labels, scores, weights)
        assert np.array_equal(counts.thresholds[1:], cut)
        assert np.abs(counts.tps[1:] - tps).max() < TOL
        assert np.abs(counts.fps[1:] - fps).max() < TOL
        check_areas(counts, labels, scores, weights)


def confusion_table(labels, scores, weights):
    """Return fps, tns, tps, fns and thresholds, downwards, by comparing everything at once."""
    cut = np.unique(scores)[::-1]
    flagged = scores >= cut[:, None]
    weights = np.ones(len(labels)) if weights is None else weights
    fps, tps = flagged @ (weights * (labels == 0)), flagged @ (weights * labels)
    return fps, fps[-1] - fps, tps, tps[-1] - tps, cut


def check_areas(counts, labels, scores, weights):
    """Compare AUC, AP and the two curves with scikit-learn's."""
    fpr, tpr, thresholds = sk.roc_curve(
        labels, scores, sample_weight=weights, drop_intermediate=False
    )
    curve = roc_curve(counts)
    assert np.array_equal(curve.thresholds, thresholds)
    assert np.abs(curve.fpr - fpr).max() < TOL
    assert np.abs(curve.tpr - tpr).max() < TOL
    assert abs(roc_auc(counts) - sk.auc(fpr, tpr)) < TOL
    precision, recall, thresholds = sk.precision_recall_curve(labels, scores, sample_weight=weights)
    pr = precision_recall_curve(counts)
    # scikit-learn goes upwards and ends with an invented point.
    assert np.array_equal(pr.thresholds, thresholds[::-1])
    assert np.abs(pr.precision - precision[-2::-1]).max() < TOL
    assert np.abs(pr.recall - recall[-2::-1]).max() < TOL
    step_sum = -np.sum(np.diff(recall) * precision[:-1])
    assert abs(average_precision(counts) - step_sum) < TOL


def test_scores_equal_scikit_learns_own_functions():
    """`roc_auc_score` and `average_precision_score` themselves, weighted or not."""
    rng = np.random.default_rng(17)
    for _ in range(1000):
        labels, scores, weights = stream(rng)
        histogram = ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=weights)
        counts = threshold_counts(histogram)
        auc = sk.roc_auc_score(labels, scores, sample_weight=weights)
        ap = sk.average_precision_score(labels, scores, sample_weight=weights)
        assert abs(roc_auc(counts) - auc) < TOL
        assert abs(average_precision(counts) - ap) < TOL


RATES = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "tpr": sk.recall_score,
    "specificity": lambda y, p, **kw: sk.recall_score(y, p, pos_label=0, **kw),
    "fpr": lambda y, p, **kw: 1 - sk.recall_score(y, p, pos_label=0, **kw),
    "fnr": lambda y, p, **kw: 1 - sk.recall_score(y, p, **kw),
    "npv": lambda y, p, **kw: sk.precision_score(y, p, pos_label=0, **kw),
    "false_discovery_rate": lambda y, p, **kw: 1 - sk.precision_score(y, p, **kw),
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "informedness": lambda y, p, **kw: sk.balanced_accuracy_score(y, p, adjusted=True, **kw),
    "f1": sk.f1_score,
    "mcc": sk.matthews_corrcoef,
    "alert_rate": lambda _, p, sample_weight: np.average(p, weights=sample_weight),
}


def test_rates_equal_scikit_learn():
    """Every rate of a `Confusion` at one threshold of each of some streams."""
    rng = np.random.default_rng(18)
    for _ in range(200):
        labels, scores, weights = stream(rng)
        histogram = ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=weights)
        threshold = float(rng.integers(0, 10)) / 8
        flagged = scores >= threshold
        found = confusion_at(threshold_counts(histogram), threshold)
        # Only asked where no rate is 0 / 0.
        if not 0 < flagged.sum() < flagged.size:
            continue
        for name, rate in RATES.items():
            want = rate(labels, flagged, sample_weight=weights)
            assert getattr(found, name) == pytest.approx(want, abs=TOL), name
        for beta in (0.5, 2):
            want = sk.fbeta_score(labels, flagged, beta=beta, sample_weight=weights)
            assert found.f_beta(beta) == pytest.approx(want, abs=TOL)


def test_rates_equal_their_definitions_on_thousands_of_streams():
    """The definitions worked out in arrays, at every threshold of 10,000 streams."""
    rng = np.random.default_rng(19)
    for _ in range(10_000):
        labels, scores, weights = stream(rng)
        histogram = ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=weights)
        fps, tns, tps, fns, cut = confusion_table(labels, scores, weights)
        row = int(rng.integers(cut.size))
        found = confusion_at(threshold_counts(histogram), float(cut[row]))
        fp, tn, tp, fn = (float(column[row]) for column in (fps, tns, tps, fns))
        assert (found.fp, found.tn, found.tp, found.fn) == (fp, tn, tp, fn)
        assert found.exact
        assert abs(found.precision - tp / (tp + fp)) < TOL
        assert abs(found.recall - tp / (tp + fn)) < TOL
        assert abs(found.specificity - tn / (tn + fp)) < TOL
        assert abs(found.accuracy - (tp + tn) / (tp + tn + fp + fn)) < TOL
        assert abs(found.balanced_accuracy - (tp / (tp + fn) + tn / (tn + fp)) / 2) < TOL
        assert abs(found.f_beta(2) - 5 * tp / (5 * tp + 4 * fn + fp)) < TOL
        margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        if margins:
            assert abs(found.mcc - (tp * tn - fp * fn) / math.sqrt(margins)) < TOL
        else:
            assert math.isnan(found.mcc)


def close(found, exact, tol=TOL):
    """Return whether a float equals a fraction, ``nan`` standing for None."""
    return math.isnan(found) if exact is None else abs(found - exact) <= tol


@given(st.one_of(events, weighted_events))
def test_areas_equal_counting_pairs(rows):
    """AUC and AP in exact fractions by looking at every pair; ``nan`` where there are none."""
    counts = counts_of(rows, EXACT)

    assert close(roc_auc(counts), pairwise_auc(rows))
    assert close(average_precision(counts), counted_ap(rows))
    for bounds, value in (
        (roc_auc_bounds(counts), roc_auc(counts)),
        (average_precision_bounds(counts), average_precision(counts)),
    ):
        assert same(bounds.low, value)
        assert same(bounds.high, value)


@given(st.one_of(events, weighted_events), st.sampled_from(BINNED))
def test_bounds_hold_the_exact_areas(rows, scale):
    """However coarse the bins, the value of the raw scores lies within the bounds."""
    counts = counts_of(rows, scale)
    auc, ap = pairwise_auc(rows), counted_ap(rows)
    bounds, ap_bounds = roc_auc_bounds(counts), average_precision_bounds(counts)

    if auc is None:
        assert math.isnan(bounds.low)
        assert math.isnan(bounds.high)
    else:
        assert bounds.low - TOL <= auc <= bounds.high + TOL
        assert bounds.low - TOL <= roc_auc(counts) <= bounds.high + TOL
    if ap is None:
        assert math.isnan(ap_bounds.low)
        assert math.isnan(ap_bounds.high)
    else:
        assert ap_bounds.low - TOL <= ap <= ap_bounds.high + TOL
        assert ap_bounds.low - TOL <= average_precision(counts) <= ap_bounds.high + TOL


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5))
def test_bounds_are_reached(table):
    """For any counts by bin there are raw scores inside the bins that attain each bound."""
    scale = Scale.probability(bits=1)
    first = scale.bin(0.5)
    orders = {"pos first": (0.75, 0.25), "neg first": (0.25, 0.75)}
    exact = {}
    for name, (pos_at, neg_at) in orders.items():
        rows = []
        for k, (n_pos, n_neg) in enumerate(table):
            low, high = scale.lower_edges([first + k, first + k + 1])
            # Positives one by one below the negatives, or as one tie above them.
            spread = 1 + np.arange(n_pos) / 100 if name == "neg first" else np.ones(n_pos)
            rows += [(1, low + (high - low) * pos_at * x) for x in spread]
            rows += [(0, low + (high - low) * neg_at)] * n_neg
        counts = counts_of(rows, scale)
        exact[name] = (pairwise_auc(rows), counted_ap(rows))
    bounds, ap_bounds = roc_auc_bounds(counts), average_precision_bounds(counts)

    assert close(bounds.high, exact["pos first"][0])
    assert close(bounds.low, exact["neg first"][0])
    assert close(ap_bounds.high, exact["pos first"][1])
    assert close(ap_bounds.low, exact["neg first"][1])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=5))
def test_binned_average_precision_is_the_sum_it_stands_for(table):
    """The closed form equals the sum over positives that stand between the negatives."""
    assume(any(p for p, _ in table))
    scale = Scale.probability(bits=1)
    bins = np.arange(len(table)) + scale.bin(0.5)
    wide = WideCounts(bins, np.array([[n for _, n in table], [p for p, _ in table]]))
    counts = threshold_counts(ScoreHistogram(scale, wide))
    total, tp, fp = Fraction(0), 0, 0
    for p, n in reversed(table):
        for i in range(1, p + 1):
            total += Fraction(tp + i) / (tp + i + fp + Fraction(n * i, p + 1))
        tp, fp = tp + p, fp + n

    assert close(average_precision(counts), total / tp)


@given(events, st.sampled_from(BINNED), st.sampled_from([0.5, 1.0, 8.0]))
def test_equal_weights_change_no_value(rows, scale, weight):
    """From bins too, rows that all weigh the same are as good as rows without weights."""
    plain, weighted = counts_of(rows, scale), counts_of([(*row, weight) for row in rows], scale)

    for value in (roc_auc, average_precision, prevalence):
        assert same(value(weighted), value(plain), tol=TOL)


def zoo(rng, n=40_000):
    """Return named streams of scores in [0, 1]."""
    few, half = rng.uniform(size=n) < 0.01, rng.uniform(size=n) < 0.5
    normal = rng.normal(size=n)

    def pick(labels, pos, neg):
        return labels, np.where(labels, pos, neg)

    return {
        "fraud": pick(few, rng.beta(2, 20, n), rng.beta(0.5, 200, n)),
        "uniform, worthless": pick(half, rng.uniform(size=n), rng.uniform(size=n)),
        "triangles": pick(half, rng.triangular(0, 1, 1, n), rng.triangular(0, 0, 1, n)),
        "logistic": pick(half, 1 / (1 + np.exp(-normal - 1)), 1 / (1 + np.exp(-normal + 1))),
        "overconfident": pick(
            half, 1 / (1 + np.exp(-9 * normal - 9)), 1 / (1 + np.exp(-9 * normal))
        ),
        "next to 1": pick(half, 1 - rng.beta(0.5, 2000, n), 1 - rng.beta(1, 1000, n)),
        "next to 0": pick(few, 2.0 ** -rng.uniform(20, 60, n), 2.0 ** -rng.uniform(30, 70, n)),
        "nearly separated": pick(
            half, 0.5 + 0.49 * rng.uniform(size=n), 0.51 * rng.uniform(size=n)
        ),
        "inverted": pick(half, rng.beta(2, 5, n), rng.beta(5, 2, n)),
        "few positives": pick(rng.uniform(size=n) < 0.001, rng.beta(5, 5, n), rng.beta(1, 9, n)),
        "few negatives": pick(rng.uniform(size=n) < 0.999, rng.beta(9, 1, n), rng.beta(5, 5, n)),
        "two decimals": pick(half, rng.beta(3, 2, n).round(2), rng.beta(2, 3, n).round(2)),
        "saturated": pick(half, np.clip(0.8 + normal, 0, 1), np.clip(0.2 + normal, 0, 1)),
        "constant": pick(half, np.full(n, 0.5), np.full(n, 0.5)),
        "one bin": pick(half, 0.5 + rng.uniform(0, 1e-4, n), 0.5 + rng.uniform(0, 2e-4, n)),
    }


ZOO = zoo(np.random.default_rng(20))


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("bits", [3, 7])
def test_binning_errs_less_than_its_bounds_say(name, bits):
    """The exact AUC and AP lie within the bounds; at 7 bits the values are close to exact."""
    labels, scores = ZOO[name]
    for weights in (None, np.random.default_rng(21).uniform(0.5, 2, labels.size)):
        exact, binned = (
            threshold_counts(ScoreHistogram.from_scores(labels, scores, scale=s, weights=weights))
            for s in (EXACT, Scale.probability(bits=bits))
        )
        auc, ap = roc_auc(exact), average_precision(exact)
        bounds, ap_bounds = roc_auc_bounds(binned), average_precision_bounds(binned)
        assert bounds.low - TOL <= auc <= bounds.high + TOL
        assert ap_bounds.low - TOL <= ap <= ap_bounds.high + TOL
        assert abs(roc_auc(binned) - auc) <= (bounds.high - bounds.low) / 2 + TOL
        if bits == 7 and name not in ("one bin", "constant", "two decimals", "saturated"):
            assert abs(roc_auc(binned) - auc) < 2e-5
            assert abs(average_precision(binned) - ap) < (3e-3 if name == "few positives" else 1e-4)


def test_few_positives_among_very_many_negatives():
    """The bounds of AP stay right to the last digits where AP is 1e-10."""
    scale = Scale.probability()
    for n in (10**6, 10**8, 4 * 10**9):
        wide = WideCounts(np.array([8000, 9000]), np.array([[n // 2, n // 2], [1, 0]]))
        bounds = average_precision_bounds(threshold_counts(ScoreHistogram(scale, wide)))
        assert bounds.low == pytest.approx(1 / (n + 1), abs=1e-15)
        assert bounds.high == pytest.approx(1 / (n // 2 + 1), rel=1e-12)


def test_four_billion_of_each():
    """AUC and AP of 4e9 positives and 4e9 negatives, exact and from bins."""
    half = 2 * 10**9
    table = np.array([[half, half], [half // 2, 3 * half // 2]])
    for scale in (EXACT, Scale.probability()):
        histogram = ScoreHistogram(scale, WideCounts(scale.bins([0.2, 0.8]), table))
        counts = threshold_counts(histogram)
        assert roc_auc(counts) == 0.625
        found = average_precision_bounds(counts)
        assert found.low - TOL <= 0.75 * 0.6 + 0.25 * 0.5 <= found.high + TOL
        assert confusion_at(counts, 0.8).mcc == pytest.approx(1 / math.sqrt(15), rel=1e-12)
        assert counts.n_samples == 4 * half


@given(weighted_events)
def test_areas_never_leave_0_to_1(rows):
    """Rounding of weighted sums does not push a value or a bound outside."""
    tenths = [(y, s, w / 10) for y, s, w in rows]
    for scale in (EXACT, *BINNED):
        counts = counts_of(tenths, scale)
        for value in (roc_auc(counts), average_precision(counts), prevalence(counts)):
            assert math.isnan(value) or 0 <= value <= 1
        for bounds in (roc_auc_bounds(counts), average_precision_bounds(counts)):
            assert math.isnan(bounds.low) or -TOL <= bounds.low <= bounds.high + TOL <= 1 + 2 * TOL


THRESHOLDS = st.one_of(
    lattice,
    st.floats(-0.5, 1.5),
    st.sampled_from([math.inf, -math.inf, -0.0, 0.3, 0.6, math.nextafter(0.6, 0), 2.0]),
)


@given(st.one_of(events, weighted_events), THRESHOLDS, st.sampled_from([EXACT, *BINNED]))
def test_confusion_at_any_threshold(rows, threshold, scale):
    """Exact where it says so, otherwise at an edge just below and with bounds that hold."""
    found = confusion_at(counts_of(rows, scale), threshold)
    truth = confusion_by_rows(rows, threshold)

    assert found.requested == threshold
    assert (found.tp, found.fp, found.fn, found.tn) == confusion_by_rows(rows, found.threshold)
    assert found.tp_bounds.low <= truth[0] <= found.tp_bounds.high
    assert found.fp_bounds.low <= truth[1] <= found.fp_bounds.high
    assert (found.tp_bounds.high, found.fp_bounds.high) == (found.tp, found.fp)
    if found.exact:
        assert found.threshold == threshold
        assert (found.tp, found.fp, found.fn, found.tn) == truth
        assert found.tp_bounds == Bounds(found.tp, found.tp)
        assert found.fp_bounds == Bounds(found.fp, found.fp)
    else:
        assert scale is not EXACT
        assert found.threshold == scale.lower_edges([scale.bin(threshold)])[0] < threshold
    if scale is EXACT or threshold in (math.inf, -math.inf, *scale.thresholds):
        assert found.exact


def test_a_threshold_inside_a_bin():
    """Worked example: only a bin that holds samples makes a threshold inexact."""
    scale = Scale.probability(bits=1)
    low, high = (float(x) for x in scale.lower_edges(scale.bin(0.5) + np.array([0, 1])))
    counts = counts_of([(1, 0.5), (0, 0.52), (1, 0.9)], scale)
    inside = confusion_at(counts, 0.51)

    assert low == 0.5
    assert inside == Confusion(
        threshold=0.5,
        requested=0.51,
        exact=False,
        tp=2,
        fp=1,
        fn=0,
        tn=0,
        tp_bounds=Bounds(1, 2),
        fp_bounds=Bounds(0, 1),
    )
    assert confusion_at(counts, 0.5).exact
    assert confusion_at(counts, high).exact
    empty_bin = confusion_at(counts, math.nextafter(high, 1))
    assert (empty_bin.exact, empty_bin.threshold, empty_bin.tp) == (True, empty_bin.requested, 1)
    assert not confusion_at(counts, math.nextafter(high, 0)).exact
    assert confusion_at(counts, math.nextafter(0.5, 0)).exact


def test_a_threshold_above_every_possible_score_flags_nobody():
    """A score of 1 has a bin of its own, which a threshold above 1 does not cut."""
    for threshold in (math.nextafter(1, 2), 1.5, 1e300):
        found = confusion_at(counts_of([(1, 1.0), (0, 1.0)], Scale.probability()), threshold)
        assert (found.exact, found.tp, found.fp) == (True, 0, 0)
    found = confusion_at(counts_of([(1, 1e30)], Scale.real()), 1e40)
    assert (found.exact, found.tp_bounds) == (False, Bounds(0, 1))


@given(st.one_of(events, weighted_events), lattice, st.sampled_from([EXACT, *BINNED]))
def test_counts_can_be_copied_and_pickled(rows, threshold, scale):
    """Copies give the same values, whether or not the thresholds were asked for before."""
    counts = counts_of(rows, scale)
    for other in (pickle.loads(pickle.dumps(counts)), copy.deepcopy(counts)):  # noqa: S301
        assert_same(values(other, threshold), values(counts, threshold))
        assert np.array_equal(other.thresholds, counts.thresholds)
        assert np.array_equal(other.tps, counts.tps)


def test_counts_that_do_not_know_where_bins_end():
    """Without ceilings every threshold between two edges is taken to cut the lower bin."""
    counts = ThresholdCounts(
        np.array([np.inf, 0.8, 0.4]), np.array([0, 1, 3]), np.array([0, 2, 2]), exact=False
    )
    on_edge, between = confusion_at(counts, 0.8), confusion_at(counts, 0.7)

    assert (on_edge.exact, on_edge.tp, on_edge.fp) == (True, 1, 2)
    assert (between.exact, between.threshold, between.tp) == (False, 0.4, 3)
    assert between.tp_bounds == Bounds(1, 3)
    assert confusion_at(counts, 0.3).exact


def test_an_operating_threshold_in_an_empty_bin_is_exact():
    """Operating thresholds are edges whether or not anything lies near them."""
    for at in (0.2, 0.65, 0.7, 0.99):
        scale = Scale.probability(bits=1, thresholds=(at,))
        rows = [(1, 0.3), (0, 0.6), (1, 0.69), (0, 0.71), (1, 0.71)]
        found = confusion_at(counts_of(rows, scale), at)
        assert found.exact
        assert (found.tp, found.fp, found.fn, found.tn) == confusion_by_rows(rows, at)


def test_thresholds_at_infinity_and_no_threshold():
    """Inf flags nobody, -inf everybody; nan is refused; an empty stream has zeros."""
    counts = counts_of([(1, 0.5), (0, 0.5)], EXACT)
    assert (confusion_at(counts, math.inf).tp, confusion_at(counts, math.inf).fp) == (0, 0)
    assert (confusion_at(counts, -math.inf).tp, confusion_at(counts, -math.inf).fp) == (1, 1)
    with pytest.raises(ValueError, match="threshold must be a number, got nan"):
        confusion_at(counts, math.nan)
    nothing = confusion_at(counts_of([], Scale.probability()), 0.5)
    assert (nothing.tp, nothing.fp, nothing.fn, nothing.tn, nothing.exact) == (0, 0, 0, 0, True)


AT = {"threshold": 0.5}
UNDEFINED = [
    ([], "n_samples", {}, None),
    ([], "prevalence", {}, "empty"),
    ([], "roc_auc", {}, "empty"),
    ([], "average_precision", {}, "empty"),
    ([], "precision", AT, "empty"),
    ([], "mcc", AT, "empty"),
    ([(0, 0.7)], "prevalence", {}, None),
    ([(0, 0.7)], "roc_auc", {}, "no_positives"),
    ([(0, 0.7)], "average_precision", {}, "no_positives"),
    ([(0, 0.7)], "recall", AT, "no_positives"),
    ([(0, 0.7)], "fnr", AT, "no_positives"),
    ([(0, 0.7)], "balanced_accuracy", AT, "no_positives"),
    ([(0, 0.7)], "mcc", AT, "no_positives"),
    ([(0, 0.3)], "f1", AT, "no_positives"),
    ([(0, 0.3)], "f_beta", AT | {"beta": 2}, "no_positives"),
    ([(0, 0.7)], "precision", AT, None),
    ([(0, 0.3)], "precision", AT, "nothing_flagged"),
    ([(0, 0.7)], "npv", AT, "no_variation"),
    ([(0, 0.7)], "fpr", AT, None),
    ([(1, 0.7)], "roc_auc", {}, "no_negatives"),
    ([(1, 0.7)], "average_precision", {}, None),
    ([(1, 0.7)], "fpr", AT, "no_negatives"),
    ([(1, 0.7)], "specificity", AT, "no_negatives"),
    ([(1, 0.7)], "informedness", AT, "no_negatives"),
    ([(1, 0.7)], "mcc", AT, "no_negatives"),
    ([(1, 0.7), (0, 0.7)], "mcc", AT, "no_variation"),
    ([(1, 0.3), (0, 0.3)], "f1", AT, None),
    ([(1, 0.3), (0, 0.3)], "alert_rate", AT, None),
]


@pytest.mark.parametrize(("rows", "name", "params", "reason"), UNDEFINED)
def test_undefined_is_nan_with_a_reason(rows, name, params, reason):
    """Never 0, 0.5 or 1, never a warning; and a reason exactly where the value is ``nan``."""
    for scale in (EXACT, Scale.probability()):
        counts = counts_of(rows, scale)
        value = catalogue.value(counts, name, **params)
        assert math.isnan(value) == (reason is not None)
        assert catalogue.reason(counts, name, **params) == reason


@given(st.one_of(events, weighted_events), lattice)
def test_every_nan_has_a_reason_that_is_known(rows, threshold):
    """For every metric on any stream the reason is one of the documented ones."""
    counts = counts_of(rows, EXACT)
    for name, params in every_metric(threshold):
        value = catalogue.value(counts, name, **params)
        reason = catalogue.reason(counts, name, **params)
        assert math.isnan(value) == (reason is not None)
        assert reason in {None, *catalogue.REASONS}


# It draws a thousand resamples, and has tests of its own.
DRAWN = {"lowest_mean_cost"}


def values(counts, threshold, *, of_order=False):
    """Return every metric of the catalogue, its bounds and interval included.

    If asked for, only those that depend on nothing but the order of the scores.
    """
    found = {}
    for name, params in every_metric(threshold):
        if of_order and not catalogue.METRICS[name].of_order:
            continue
        rest = [f" {key}={value}" for key, value in params.items() if key != "threshold"]
        metric, key = catalogue.METRICS[name], name + "".join(rest)
        found[key] = catalogue.value(counts, name, **params)
        if metric.bounds:
            bounds = catalogue.bounds(counts, name, **params)
            found[key + " low"], found[key + " high"] = bounds.low, bounds.high
        if metric.interval and name not in DRAWN:
            interval = catalogue.interval(counts, name, **params)
            found[key + " from"], found[key + " to"] = interval.low, interval.high
    return found


def assert_same(left, right, tol=0.0):
    """Check that two dictionaries hold the same numbers, ``nan`` included."""
    assert left.keys() == right.keys()
    for name in left:
        assert same(left[name], right[name], tol=tol), name


ALL_SCALES = st.sampled_from([EXACT, *BINNED])


@given(st.one_of(events, weighted_events), st.randoms(), lattice, ALL_SCALES)
def test_no_metric_depends_on_arrival_order(rows, random, threshold, scale):
    """Shuffled rows give the same numbers."""
    shuffled = list(rows)
    random.shuffle(shuffled)

    assert_same(
        values(counts_of(rows, scale), threshold), values(counts_of(shuffled, scale), threshold)
    )


@given(st.one_of(events, weighted_events), lattice)
def test_no_metric_depends_on_more_than_the_order_of_scores(rows, threshold):
    """A strictly increasing transform of scores and threshold changes nothing."""
    for transform in (lambda s: s**3 - 5, lambda s: 1e300 * s, lambda s: -1e-300 / (s + 1)):
        moved = [(y, transform(s), *w) for y, s, *w in rows]
        assert_same(
            values(counts_of(rows, EXACT), threshold, of_order=True),
            values(counts_of(moved, EXACT), transform(threshold), of_order=True),
        )


@given(st.one_of(events, weighted_events), ALL_SCALES)
def test_swapping_labels_turns_the_auc_round(rows, scale):
    """AUC becomes 1 - AUC with its bounds, prevalence 1 - prevalence."""
    counts, swapped = (
        counts_of(part, scale) for part in (rows, [(1 - y, s, *w) for y, s, *w in rows])
    )
    bounds, turned = roc_auc_bounds(counts), roc_auc_bounds(swapped)

    assert same(roc_auc(swapped), 1 - roc_auc(counts), tol=TOL)
    assert same(prevalence(swapped), 1 - prevalence(counts), tol=TOL)
    assert same(turned.low, 1 - bounds.high, tol=TOL)
    assert same(turned.high, 1 - bounds.low, tol=TOL)


# A score is what is asked for, so it goes where the scores go.
THRESHOLDS_CHOSEN = {name for name in catalogue.METRICS if name.endswith("_threshold")}


@given(st.one_of(events, weighted_events))
def test_chosen_thresholds_follow_an_increasing_transform(rows):
    """The best threshold of transformed scores is the transformed one; ``nan`` stays ``nan``."""
    counts = counts_of(rows, EXACT)
    for transform in (lambda s: s**3 - 5, lambda s: 1e300 * s, lambda s: -1e-300 / (s + 1)):
        moved = counts_of([(y, transform(s), *w) for y, s, *w in rows], EXACT)
        for name, params in every_metric(0.5):
            if name in THRESHOLDS_CHOSEN:
                chosen = catalogue.value(counts, name, **params)
                found = catalogue.value(moved, name, **params)
                assert same(found, transform(chosen)), name
                reasons = {catalogue.reason(one, name, **params) for one in (counts, moved)}
                assert len(reasons) == 1


# What each metric becomes when the classes change places and the scores are turned round.
MIRRORED = {
    "n_samples": "n_samples",
    "n_pos": "n_neg",
    "n_neg": "n_pos",
    "recall": "specificity",
    "specificity": "recall",
    "fpr": "fnr",
    "fnr": "fpr",
    "precision": "npv",
    "npv": "precision",
} | {
    name: name
    for name in (
        *("roc_auc", "gini", "ks_statistic", "roc_hull_auc", "h_measure"),
        *("partial_roc_auc", "standardised_partial_roc_auc"),
        *("accuracy", "balanced_accuracy", "informedness", "mcc"),
        *("mean_cost", "total_cost", "lowest_mean_cost", "best_mcc", "best_informedness"),
        "closest_to_corner",
        *("brier_score", "brier_uncertainty", "log_loss"),
    )
}
# Those that look at the positives or the flagged only, and those that make groups from the top.
ONE_SIDED = {
    *("prevalence", "alert_rate", "average_precision", "pr_area"),
    *("f1", "f_beta", "best_f1", "best_f_beta"),
    *("gain", "lift", "recall_at_fpr", "recall_at_precision", "recall_at_alert_rate"),
    *("brier_reliability", "brier_resolution", "expected_calibration_error"),
    # Of equally good thresholds the highest is taken, which flags the fewest.
    *THRESHOLDS_CHOSEN,
}
MIRRORED_PARAMS = {
    "threshold": ("threshold", lambda value: 1 - value),
    "prevalence": ("prevalence", lambda value: 1 - value),
    "fn": ("fp", float),
    "fp": ("fn", float),
    "tp": ("tn", float),
    "tn": ("tp", float),
    "max_fpr": ("min_tpr", lambda value: 1 - value),
    "min_fpr": ("max_tpr", lambda value: 1 - value),
    "max_tpr": ("min_fpr", lambda value: 1 - value),
    "min_tpr": ("max_fpr", lambda value: 1 - value),
    "n_groups": ("n_groups", float),
}


@given(events, st.integers(0, 8).map(lambda k: (2 * k + 1) / 16))
def test_every_metric_has_its_mirror_image(rows, threshold):
    """Classes exchanged and scores turned round, each is the metric of the other class."""
    counts = counts_of(rows, EXACT)
    turned = counts_of([(1 - label, 1 - score) for label, score in rows], EXACT)
    for name, params in every_metric(threshold):
        # The weights of a severity ratio have no mirror image among them.
        unpaired = {("precision", "prevalence"), ("h_measure", "severity_ratio")}
        if name in ONE_SIDED or any((name, key) in unpaired for key in params):
            continue
        mirrored = {
            MIRRORED_PARAMS[key][0]: MIRRORED_PARAMS[key][1](value) for key, value in params.items()
        }
        left = catalogue.value(counts, name, **params)
        right = catalogue.value(turned, MIRRORED[name], **mirrored)
        assert same(left, right, tol=TOL), (name, params)
    assert {*MIRRORED} | ONE_SIDED == {*catalogue.METRICS}


@given(st.lists(st.tuples(st.integers(0, 1), lattice, st.integers(0, 4)), max_size=20), lattice)
def test_a_weight_is_a_repetition(rows, threshold):
    """On the exact scale a row of weight k counts like k rows, in every point value."""
    repeated = [(y, s) for y, s, w in rows for _ in range(w)]
    weighted, plain = counts_of(rows, EXACT), counts_of(repeated, EXACT)
    for name, params in every_metric(threshold):
        left = catalogue.value(weighted, name, **params)
        assert same(left, catalogue.value(plain, name, **params), tol=TOL), name


@given(st.lists(st.one_of(events, weighted_events), min_size=1, max_size=4), lattice, ALL_SCALES)
def test_a_merge_is_the_whole(parts, threshold, scale):
    """Metrics of merged histograms are those of all events, plain and weighted mixed."""
    merged = ScoreHistogram.merge(histogram_of(rows, scale) for rows in parts)
    rows = list(itertools.chain(*parts))
    if any(len(row) == 3 for row in rows):
        rows = [(*row, 1.0) if len(row) == 2 else row for row in rows]

    assert_same(
        values(threshold_counts(merged), threshold), values(counts_of(rows, scale), threshold)
    )


def test_one_class_against_all_others():
    """With more than two classes each has its own counts, equal to relabelled rows."""
    rng = np.random.default_rng(22)
    labels, scores = rng.integers(0, 4, 500), rng.integers(0, 9, 500) / 8
    histogram = ScoreHistogram.from_scores(labels, scores, scale=EXACT, n_classes=4)
    for positive in range(4):
        counts = threshold_counts(histogram, positive=positive)
        want = counts_of(zip(labels == positive, scores, strict=True), EXACT)
        assert np.array_equal(counts.tps, want.tps)
        assert np.array_equal(counts.fps, want.fps)
    with pytest.raises(ValueError, match=r"positive must be in \[0, 3\], got 4"):
        threshold_counts(histogram, positive=4)
    two = counts_of([(1, 0.2), (0, 0.6)], EXACT)
    other = threshold_counts(histogram_of([(1, 0.2), (0, 0.6)], EXACT), positive=0)
    assert roc_auc(other) == 1 - roc_auc(two)


@given(st.one_of(events, weighted_events), ALL_SCALES)
def test_curves_begin_and_end_where_they_should(rows, scale):
    """ROC from (0, 0) at inf to (1, 1); PR from its first real threshold to the prevalence."""
    counts = counts_of(rows, scale)
    roc, pr = roc_curve(counts), precision_recall_curve(counts)

    assert roc.thresholds[0] == math.inf
    assert (np.diff(roc.thresholds) < 0).all()
    if counts.n_pos and counts.n_neg:
        assert (roc.fpr[0], roc.tpr[0], roc.fpr[-1], roc.tpr[-1]) == (0, 0, 1, 1)
        assert (np.diff(roc.tpr) >= 0).all()
        assert (np.diff(roc.fpr) >= 0).all()
    assert pr.precision.shape == pr.recall.shape == pr.thresholds.shape
    assert np.isfinite(pr.thresholds).all()
    assert np.isfinite(pr.precision).all()
    if counts.n_pos:
        assert pr.recall[-1] == 1
        assert pr.precision[-1] == prevalence(counts)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda c: catalogue.value(c, "roc_acu"),
            "metric must be in the catalogue, got 'roc_acu'; did you mean 'roc_auc'?",
        ),
        (
            lambda c: catalogue.value(c, "average_precison"),
            "metric must be in the catalogue, got 'average_precison';"
            " did you mean 'average_precision'?",
        ),
        (lambda c: catalogue.value(c, "precision"), "metric 'precision' needs threshold="),
        (
            lambda c: catalogue.value(c, "f_beta", threshold=0.5),
            "metric 'f_beta' needs beta=",
        ),
        (
            lambda c: catalogue.value(c, "roc_auc", threshold=0.5),
            "metric 'roc_auc' takes no threshold=",
        ),
        (
            lambda c: catalogue.interval(c, "recall"),
            "metric 'recall' needs threshold=",
        ),
        (
            lambda c: catalogue.interval(c, "n_pos"),
            "metric must be one with an interval, got 'n_pos'",
        ),
        (
            lambda c: catalogue.bounds(c, "prevalence"),
            "metric must be one with bounds, got 'prevalence'",
        ),
        (
            lambda c: catalogue.value(c, "f_beta", threshold=0.5, beta=math.nan),
            "beta must be finite, got nan",
        ),
    ],
)
def test_wrong_requests_are_named(ask, message):
    """The nearest name is suggested, missing and extra parameters are named."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        ask(counts_of([(0, 0.1), (1, 0.9)], EXACT))

    assert str(caught.value) == message


def test_an_unlike_name_lists_the_catalogue():
    """Without a near name all are listed, and the table has a row for each."""
    with pytest.raises(ValueError, match=r"got 'zzz'; known are n_samples, n_pos, .*, mcc"):
        catalogue.find("zzz")
    assert len(catalogue.table().splitlines()) == 2 + len(catalogue.METRICS)
    assert all(f"| `{name}` |" in catalogue.table() for name in catalogue.METRICS)


def test_no_metric_warns():
    """On any of a few awkward streams every metric is computed without a warning."""
    streams = [
        [],
        [(0, 0.0)],
        [(1, 1.0)],
        [(0, 0.5), (1, 0.5)],
        [(1, 0.5, 1e-100), (0, 0.5, 1e100)],
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows, scale in itertools.product(streams, (EXACT, Scale.probability())):
            for threshold in (0.0, 0.5, 1.0, math.inf):
                values(counts_of(rows, scale), threshold)


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("roc_auc", "roc_auc", {}),
        ("precision@0.7", "precision", {"threshold": 0.7}),
        ("precision@threshold=0.7", "precision", {"threshold": 0.7}),
        ("precision@prevalence=0.01@0.7", "precision", {"threshold": 0.7, "prevalence": 0.01}),
        ("f_beta@-1.5@beta=2", "f_beta", {"threshold": -1.5, "beta": 2.0}),
    ],
)
def test_parameters_stand_behind_the_name(text, name, params):
    """The first that is needed without its name, any other with it."""
    found, given = catalogue.parse(text)
    assert (found.name, given) == (name, params)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precision@high", "threshold must be a number, got 'high' in 'precision@high'"),
        ("precision@0.5@threshold=0.6", "threshold must be given once"),
        ("f_beta@0.5@beta=", "beta must be a number, got ''"),
        ("precisoin@0.5", "did you mean 'precision'"),
    ],
)
def test_parameters_that_are_wrong_are_named(text, message):
    """With the text in which they stand."""
    with pytest.raises(ValueError, match=re.escape(message)):
        catalogue.parse(text)


def test_the_catalogue_knows_what_its_subjects_hold():
    """Each entry is found by its name, and no parameter is unknown."""
    assert [entry.name for entry in catalogue.METRICS.values()] == list(catalogue.METRICS)
    takes = {
        name for entry in catalogue.METRICS.values() for name in entry.parameters + entry.optional
    }
    assert takes == set(catalogue.PARAMETERS)
    folder = Path(catalogue.__file__).parent
    subjects = {path.stem for path in folder.glob("*.py")} - {"__init__", "entry"}
    held = [
        entry.name
        for subject in subjects
        for entry in importlib.import_module(f"{catalogue.__name__}.{subject}").ENTRIES
    ]
    assert sorted(held) == sorted(catalogue.METRICS)


def test_a_metric_without_a_formula_has_the_interval_of_the_bootstrap():
    """Of the same value, with its parameters; the note says how it was found."""
    rng = np.random.default_rng(3)
    labels = rng.random(2_000) < 0.4
    counts = counts_of(zip(labels, rng.normal(labels, 1).round(1), strict=True), EXACT)
    for name, params in (
        ("mcc", {"threshold": 0.5}),
        ("gain", {"share": 0.1}),
        ("lift", {"share": 0.1}),
    ):
        found = catalogue.interval(counts, name, **params)
        assert found.low < catalogue.value(counts, name, **params) < found.high
        assert found.note == "percentiles of 1,000 bootstrap resamples"


@pytest.mark.parametrize("unit", [storage.SMALLEST_WEIGHT, storage.LARGEST_WEIGHT])
@pytest.mark.parametrize("scale", [EXACT, Scale.probability()])
def test_no_metric_depends_on_the_unit_of_weights(unit, scale):
    """Nor does any raise or round to 0, from the smallest weights to the largest."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 300).tolist()
    scores = (rng.integers(0, 9, 300) / 8 * 0.8 + 0.1 * np.array(labels)).tolist()
    plain, other = (
        counts_of([(*row, weight) for row in zip(labels, scores, strict=True)], scale)
        for weight in (1.0, unit)
    )
    wanted, found = values(plain, 0.5), values(other, 0.5)
    for name, value in wanted.items():
        if name.partition(" ")[0] not in ("n_samples", "n_pos", "n_neg", "total_cost"):
            assert same(found[name], value, tol=1e-9), name
