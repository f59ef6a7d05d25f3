"""Precision, average precision and the PR curve at another prevalence."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from reference import counts_of, events, lattice, weighted_events
from scipy import optimize

from streamauc import (
    Monitor,
    Scale,
    average_precision,
    confusion_at,
    precision_recall_curve,
    prevalence,
)
from streamauc.metrics import catalogue
from streamauc.metrics.combined import precision_interval_at
from streamauc.metrics.intervals import fpr_interval, recall_interval, roc_auc_interval
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.scalars import average_precision_bounds, roc_auc, roc_auc_bounds

EXACT = Scale.exact()
BINNED = Scale.probability(bits=3)
both = events.filter(lambda rows: {label for label, _ in rows} == {0, 1})
prevalences = st.sampled_from([1e-6, 0.01, 0.2, 0.5, 0.9, 1 - 1e-6])


@given(both, prevalences, lattice)
def test_precision_is_the_formula_of_the_rates(rows, share, threshold):
    """``tpr pi / (tpr pi + fpr (1 - pi))`` in fractions, at a threshold and along the curve."""
    counts = counts_of(rows, EXACT)

    def formula(at):
        pos = [score >= at for label, score in rows if label]
        neg = [score >= at for label, score in rows if not label]
        hits = Fraction(sum(pos), len(pos)) * Fraction(share)
        false = Fraction(sum(neg), len(neg)) * (1 - Fraction(share))
        return float(hits / (hits + false)) if hits + false else math.nan

    found = catalogue.value(counts, "precision", threshold=threshold, prevalence=share)
    assert found == pytest.approx(formula(threshold), rel=1e-12, nan_ok=True)
    curve = precision_recall_curve(counts, prevalence=share)
    want = [formula(at) for at in curve.thresholds.tolist()]
    assert curve.precision == pytest.approx(want, rel=1e-12)
    assert curve.recall.tolist() == precision_recall_curve(counts).recall.tolist()


@given(both, prevalences)
def test_average_precision_is_scikit_learns_with_class_weights(rows, share):
    """On exact scores, the negatives weighted."""
    labels, scores = zip(*rows, strict=True)
    n_pos = sum(labels)
    weight = (1 - share) / share * n_pos / (len(rows) - n_pos)
    want = sk.average_precision_score(
        labels, scores, sample_weight=[1 if label else weight for label in labels]
    )

    found = catalogue.value(counts_of(rows, EXACT), "average_precision", prevalence=share)
    assert found == pytest.approx(want, rel=1e-9)


@given(both, st.integers(1, 20), st.sampled_from([EXACT, BINNED]))
def test_a_prevalence_is_repeated_negatives(rows, times, scale):
    """What a stream with so many more negatives shows, from bins as well; 1 changes nothing."""
    more = [row for row in rows for _ in range(1 if row[0] else times)]
    few, many = counts_of(rows, scale), counts_of(more, scale)
    share = prevalence(many)

    assert average_precision(few, prevalence=share) == pytest.approx(
        average_precision(many), rel=1e-11
    )
    assert at_prevalence(few, share).precision == pytest.approx(
        many.precision, rel=1e-12, nan_ok=True
    )
    own = at_prevalence(few, prevalence(few))
    assert (prevalence(own), own.n_pos) == pytest.approx((prevalence(few), few.n_pos))


@given(weighted_events, prevalences, st.sampled_from([EXACT, BINNED]))
def test_weights_keep_their_squares(rows, share, scale):
    """Weighted counts reach the prevalence too, and a common factor changes nothing."""
    counts = counts_of(rows, scale)
    again = counts_of([(y, s, 3 * w) for y, s, w in rows], scale)
    found = at_prevalence(counts, share)
    if not counts.n_pos or not counts.n_neg:
        assert math.isnan(average_precision(counts, prevalence=share))
        assert math.isnan(found.n_neg)
        return
    weight = found.n_neg / counts.n_neg

    assert prevalence(found) == pytest.approx(share)
    assert found.fps_squares == pytest.approx(counts.fps_squares * weight**2)
    assert found.tps_squares == pytest.approx(counts.tps_squares)
    assert average_precision(again, prevalence=share) == pytest.approx(
        average_precision(counts, prevalence=share), rel=1e-9
    )


@given(both, prevalences, lattice, st.sampled_from([0.5, 0.95]))
def test_the_interval_follows_from_that_of_the_ratio(rows, share, threshold, level):
    """Its ends are where ``fpr - R tpr`` just reaches 0, found by root-finding."""
    counts = counts_of(rows, EXACT)
    found = precision_interval_at(counts, threshold=threshold, prevalence=share, level=level)
    point = confusion_at(counts, threshold)
    if not point.tp + point.fp:
        assert math.isnan(found.low)
        return
    tpr = recall_interval(counts, threshold=threshold, level=level)
    fpr = fpr_interval(counts, threshold=threshold, level=level)
    value = catalogue.value(counts, "precision", threshold=threshold, prevalence=share)
    assert 0 <= found.low <= value * (1 + 1e-12)
    assert value <= found.high * (1 + 1e-12)
    assert found.high <= 1

    # In the odds of the precision: odds = (pi / (1 - pi)) tpr / fpr, as an angle in [0, pi / 2].
    def excess(angle, lower):
        x, y = math.cos(angle), math.sin(angle)  # fpr y = tpr x at the estimate
        reach = (tpr.low if lower else tpr.high), (fpr.high if lower else fpr.low)
        away = math.hypot(x * (point.recall - reach[0]), y * (point.fpr - reach[1]))
        gap = x * point.recall - y * point.fpr
        return gap - away if lower else gap + away

    centre = math.atan2(point.recall, point.fpr)
    for lower, end in ((True, found.low), (False, found.high)):
        outside = 0.0 if lower else math.pi / 2
        if excess(outside, lower) * excess(centre, lower) >= 0:
            continue  # the end is 0 or 1, or the estimate itself
        odds = (
            share
            / (1 - share)
            * math.tan(
                optimize.brentq(excess, *sorted((outside, centre)), args=(lower,), xtol=1e-15)
            )
        )
        assert end == pytest.approx(odds / (1 + odds), rel=1e-6, abs=1e-9)


def test_the_interval_holds_the_truth():
    """2,000 samples of 40 positives and 400 negatives: 95 % is 93 % to 99 %."""
    rng = np.random.default_rng(1)
    tpr, fpr, share, rounds = 0.6, 0.05, 0.02, 2_000
    truth = share * tpr / (share * tpr + (1 - share) * fpr)
    inside = 0
    for tp, fp in zip(rng.binomial(40, tpr, rounds), rng.binomial(400, fpr, rounds), strict=True):
        rows = np.repeat([[1, 0.9], [1, 0.1], [0, 0.9], [0, 0.1]], [tp, 40 - tp, fp, 400 - fp], 0)
        found = precision_interval_at(counts_of(rows, EXACT), threshold=0.5, prevalence=share)
        inside += found.low < truth < found.high

    assert 0.93 <= inside / rounds <= 0.99


def test_the_catalogue_takes_it_as_an_option():
    """With and without; through a window; refused elsewhere and out of range."""
    monitor = Monitor(scale=EXACT, clock="event")
    monitor.update_many([1, 1, 0, 0, 0, 0], [0.9, 0.1, 0.9, 0.1, 0.1, 0.1], range(6))
    window = monitor.window(0, 60)

    assert window.value("precision", threshold=0.5) == 0.5
    assert window.value("precision", threshold=0.5, prevalence=0.2) == pytest.approx(1 / 3)
    plain = window.interval("precision", threshold=0.5)
    moved = window.interval("precision", threshold=0.5, prevalence=0.2)
    assert plain.note.startswith("Wilson")
    assert moved.low < 1 / 3 < moved.high
    assert window.value("average_precision", prevalence=1 / 3) == window.average_precision
    for bad in (0, 1, -0.5, 2):
        with pytest.raises(ValueError, match=r"prevalence must be in \(0, 1\), got"):
            window.value("average_precision", prevalence=bad)
        with pytest.raises(ValueError, match=r"prevalence must be in \(0, 1\), got"):
            window.interval("precision", threshold=0.5, prevalence=bad)
    with pytest.raises(ValueError, match="metric 'recall' takes no prevalence="):
        window.value("recall", threshold=0.5, prevalence=0.2)
    with pytest.raises(ValueError, match="metric 'precision' needs threshold="):
        window.value("precision", prevalence=0.2)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "empty"),
        ([(0, 0.9)], "no_positives"),
        ([(1, 0.9)], "no_negatives"),
        ([(1, 0.1), (0, 0.1)], "nothing_flagged"),
    ],
)
def test_undefined_has_a_reason(rows, reason):
    """Both classes are needed to mix them anew, though one of them would do as it is."""
    counts = counts_of(rows, EXACT)
    params = {"threshold": 0.5, "prevalence": 0.2}

    assert math.isnan(catalogue.value(counts, "precision", **params))
    assert catalogue.reason(counts, "precision", **params) == reason
    assert math.isnan(catalogue.interval(counts, "precision", **params).low)
    if reason != "nothing_flagged":
        assert math.isnan(catalogue.value(counts, "average_precision", prevalence=0.2))
        assert catalogue.reason(counts, "average_precision", prevalence=0.2) == reason
        assert np.isnan(precision_recall_curve(counts, prevalence=0.2).precision).all()


@pytest.mark.parametrize("rows", [[], [(0, 0.9)], [(1, 0.9)]])
def test_nothing_reweighted_has_no_area(rows):
    """The AUC and its interval are undefined where there is no class to weigh."""
    counts = at_prevalence(counts_of(rows, EXACT), 0.2)
    assert math.isnan(roc_auc(counts))
    assert math.isnan(roc_auc_bounds(counts).low)
    assert math.isnan(roc_auc_interval(counts).low)
    assert math.isnan(average_precision_bounds(counts).high)
