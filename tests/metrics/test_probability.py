"""Brier score, its parts and the log loss against sums over raw scores, and scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import counts_of, events, same, weighted_events
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from streamauc import Scale, ScoreHistogram, ThresholdCounts, threshold_counts
from streamauc.metrics.probability import (
    CLIP,
    brier_parts,
    brier_reliability_bounds,
    brier_score,
    brier_score_bounds,
    log_loss,
    log_loss_bounds,
)
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
COARSE = Scale.probability(bits=1)
fine_events = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), max_size=30)
any_events = st.one_of(events, weighted_events, fine_events)


def brier_by_rows(rows):
    """Return the mean square, row by row, in fractions."""
    rows = [
        (int(row[0]), Fraction(row[1]), Fraction(row[2] if len(row) == 3 else 1)) for row in rows
    ]
    whole = sum(weight for *_, weight in rows)
    if not whole:
        return math.nan
    return float(sum((score - label) ** 2 * weight for label, score, weight in rows) / whole)


def log_loss_by_rows(rows, clip):
    """Return the mean surprise, row by row."""
    losses = []
    for label, score, *weight in rows:
        clipped = min(max(score, clip), 1 - clip)
        chance_against = clipped if label == 0 else 1 - clipped
        loss = math.inf if chance_against == 1 else -math.log1p(-chance_against)
        if label and clipped:
            loss = -math.log(clipped)
        losses.append((loss, weight[0] if weight else 1.0))
    whole = sum(weight for _, weight in losses)
    if not whole:
        return math.nan
    return math.fsum(loss * weight for loss, weight in losses if weight) / whole


@given(any_events)
def test_brier_score_is_the_mean_square(rows):
    """On the exact scale to 1e-14, and so are both bounds."""
    counts = counts_of(rows, EXACT)
    want, bounds = brier_by_rows(rows), brier_score_bounds(counts)

    assert same(brier_score(counts), want, tol=1e-14)
    assert same(bounds.low, want, tol=1e-14)
    assert same(bounds.high, want, tol=1e-14)


@given(any_events, st.sampled_from([CLIP, 1e-3, 0.25]))
def test_log_loss_is_the_mean_surprise(rows, clip):
    """Scores of exactly 0 and 1 with the other outcome included."""
    counts = counts_of(rows, EXACT)
    want, bounds = log_loss_by_rows(rows, clip), log_loss_bounds(counts, clip=clip)

    for found in (log_loss(counts, clip=clip), bounds.low, bounds.high):
        assert same(found, want) or found == pytest.approx(want, rel=1e-12, abs=1e-15)


@given(events)
def test_without_clipping_a_certain_score_that_is_wrong_is_infinite(rows):
    """And only such a score: 0 events of infinite loss are no loss."""
    found = log_loss(counts_of(rows, EXACT), clip=0)
    wrong = any(score == 1 - label for label, score in rows)

    assert (found == math.inf) == wrong
    if not wrong:
        assert same(found, log_loss_by_rows(rows, 0)) or found == pytest.approx(
            log_loss_by_rows(rows, 0), rel=1e-12
        )


@given(any_events)
def test_both_equal_scikit_learn(rows):
    """Weights included; its clipping is the same."""
    rows = [row for row in rows if len(row) == 2 or row[2]]
    if rows:
        y_true, y_score, *weights = np.array(rows, dtype=np.float64).T
        given = {"sample_weight": weights[0] if weights else None}
        counts = counts_of(rows, EXACT)

        assert brier_score(counts) == pytest.approx(
            brier_score_loss(y_true, y_score, pos_label=1, **given), rel=1e-12, abs=1e-15
        )
        assert log_loss(counts) == pytest.approx(
            sklearn_log_loss(y_true, y_score, labels=[0, 1], **given), rel=1e-12, abs=1e-15
        )


@given(fine_events, st.sampled_from([COARSE, Scale.probability(bits=7, thresholds=(0.3,))]))
def test_bounds_hold_for_the_scores_before_binning(rows, scale):
    """The value lies within them, and so does the one that stands for it."""
    counts = counts_of(rows, scale)
    for bounds, truth, found in (
        (brier_score_bounds(counts), brier_by_rows(rows), brier_score(counts)),
        (log_loss_bounds(counts), log_loss_by_rows(rows, CLIP), log_loss(counts)),
    ):
        if rows:
            slack = 1e-13 * (1 + abs(truth))
            assert bounds.low - slack <= truth <= bounds.high + slack
            assert bounds.low - slack <= found <= bounds.high + slack
        else:
            assert math.isnan(bounds.low)
            assert math.isnan(bounds.high)


def test_the_value_from_bins_is_much_nearer_than_the_bounds():
    """At 7 bits, on scores of every size: a hundredth of the distance of the bounds."""
    rng = np.random.default_rng(2)
    y_score = 1 / (1 + np.exp(-rng.normal(-3, 3, 100_000)))
    y_true = (rng.random(y_score.size) < y_score).astype(np.int64)
    exact, binned = (
        threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=scale))
        for scale in (EXACT, Scale.probability())
    )
    for value, limits in ((brier_score, brier_score_bounds), (log_loss, log_loss_bounds)):
        bounds = limits(binned)
        assert abs(value(binned) - value(exact)) < (bounds.high - bounds.low) / 100


@given(st.one_of(events, weighted_events), st.integers(1, 12))
def test_the_parts_add_up(rows, n_groups):
    """To the Brier score; with a group a score nothing is left over, as Murphy has it."""
    counts = counts_of(rows, EXACT)
    parts = brier_parts(counts, n_groups=n_groups)
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within

    assert same(total, brier_score(counts), tol=1e-15)
    if counts.thresholds.size - 1 <= n_groups and counts.n_samples:
        assert parts.within == pytest.approx(0, abs=1e-15)


@given(st.one_of(events, weighted_events))
def test_the_parts_are_murphys(rows):
    """Eq. 4 of Murphy 1973, score by score in fractions."""
    rows = [
        (int(row[0]), Fraction(row[1]), Fraction(row[2] if len(row) == 3 else 1)) for row in rows
    ]
    rows = [row for row in rows if row[2]]
    parts = brier_parts(counts_of(rows, EXACT), n_groups=9)
    if not rows:
        assert math.isnan(parts.reliability)
        return
    whole = sum(weight for *_, weight in rows)
    overall = sum(label * weight for label, _, weight in rows) / whole
    reliability = resolution = Fraction(0)
    for score in {score for _, score, _ in rows}:
        size = sum(weight for _, other, weight in rows if other == score)
        share = sum(label * weight for label, other, weight in rows if other == score) / size
        reliability += size * (score - share) ** 2 / whole
        resolution += size * (share - overall) ** 2 / whole

    assert parts.reliability == pytest.approx(float(reliability), rel=1e-12, abs=1e-16)
    assert parts.resolution == pytest.approx(float(resolution), rel=1e-12, abs=1e-16)
    assert parts.uncertainty == pytest.approx(float(overall * (1 - overall)), rel=1e-14)


def test_what_is_left_over_is_what_differs_inside_the_groups():
    """Stephenson, Coelho & Jolliffe 2008: variance within less twice the covariance within."""
    rng = np.random.default_rng(4)
    y_score = rng.random(1_000)
    y_true = (rng.random(1_000) < y_score).astype(np.int64)
    histogram = ScoreHistogram.from_scores(y_true, y_score, scale=EXACT)
    parts = brier_parts(threshold_counts(histogram), n_groups=10)
    order = np.argsort(y_score).reshape(10, 100)
    groups = [(y_score[one], y_true[one]) for one in order]
    variance = np.mean([np.var(score) for score, _ in groups])
    covariance = np.mean([np.cov(score, label, bias=True)[0, 1] for score, label in groups])

    assert parts.within == pytest.approx(variance - 2 * covariance, rel=1e-9)


@given(fine_events, st.integers(1, 6))
def test_bounds_of_the_reliability_hold(rows, n_groups):
    """For the raw scores of the same groups; resolution and uncertainty do not move."""
    counts = counts_of(rows, COARSE)
    bounds = brier_reliability_bounds(counts, n_groups=n_groups)
    parts = brier_parts(counts, n_groups=n_groups)
    if not rows:
        assert math.isnan(bounds.low)
        return
    assert bounds.low - 1e-15 <= parts.reliability <= bounds.high + 1e-15
    # Each score at the lower and at the upper end of its bin.
    for end in (0, 1):
        ends = COARSE.lower_edges(COARSE.bins([score for _, score in rows]) + end).tolist()
        moved = [(label, min(one, 1.0)) for (label, _), one in zip(rows, ends, strict=True)]
        fewer = len({score for _, score in moved}) < len(counts.thresholds) - 1
        if not fewer:
            found = brier_parts(counts_of(moved, EXACT), n_groups=n_groups)
            assert bounds.low - 1e-12 <= found.reliability <= bounds.high + 1e-12
            assert found.resolution == pytest.approx(parts.resolution, abs=1e-15)


@given(any_events)
def test_the_other_class_sees_the_same(rows):
    """Labels and scores turned round change nothing."""
    turned = [(1 - row[0], 1 - row[1], *row[2:]) for row in rows]
    back = [(1 - row[0], 1 - row[1], *row[2:]) for row in turned]  # what 1 - score could keep
    for value in (brier_score, log_loss):
        first, second = (value(counts_of(one, EXACT)) for one in (back, turned))
        assert same(first, second) or second == pytest.approx(first, rel=1e-9, abs=1e-12)


@given(events)
def test_order_and_repetition_do_not_matter(rows):
    """The order of arrival, repetitions, and weights instead of them."""
    parts = [counts_of(rows[::-1], EXACT), counts_of([(*row, 2.0) for row in rows], EXACT)]
    parts.append(counts_of([row for row in rows for _ in range(3)], EXACT))
    for value in (brier_score, log_loss):
        first = value(counts_of(rows, EXACT))
        for other in parts:
            assert same(value(other), first) or value(other) == pytest.approx(first, rel=1e-12)


def test_what_is_no_probability_is_undefined():
    """Scores that may lie outside [0, 1], and none at all; never an error, never a number."""
    for counts in (
        counts_of([(1, 0.5), (0, 1.5)], EXACT),
        counts_of([(1, -2.0)], Scale.real()),
        counts_of([], COARSE),
        at_prevalence(counts_of([(1, 0.5)], EXACT), 0.2),
    ):
        parts, bounds = brier_parts(counts), brier_reliability_bounds(counts)
        values = [brier_score(counts), log_loss(counts), bounds.low, bounds.high]
        values += [brier_score_bounds(counts).high, log_loss_bounds(counts).low]
        values += [parts.reliability, parts.resolution, parts.uncertainty, parts.within]
        assert all(math.isnan(value) for value in values)


def test_one_class_and_one_bin_are_defined():
    """A loss needs an event, not both outcomes."""
    assert brier_score(counts_of([(1, 0.75)], EXACT)) == 0.0625
    assert log_loss(counts_of([(0, 0.75)], EXACT)) == pytest.approx(math.log(4))
    assert brier_parts(counts_of([(1, 0.75)], EXACT)).uncertainty == 0


def test_at_another_prevalence():
    """Each class keeps its losses, and they are weighed anew."""
    counts = counts_of([(0, 0.2), (0, 0.4), (1, 0.4), (1, 0.9)], EXACT)
    found = at_prevalence(counts, 0.1)

    assert brier_score(found) == pytest.approx(0.1 * (0.36 + 0.01) / 2 + 0.9 * (0.04 + 0.16) / 2)


def test_huge_counts():
    """Billions of each class do not overflow."""
    big = 4_000_000_000
    counts = ThresholdCounts(
        np.array([math.inf, 0.8, 0.2]), np.array([0, big, big]), np.array([0, 0, big])
    )

    assert brier_score(counts) == pytest.approx(0.04, rel=1e-14)
    assert log_loss(counts) == pytest.approx(-math.log(0.8), rel=1e-14)


@pytest.mark.parametrize("clip", [-0.1, 0.5, math.nan])
def test_bad_clipping_is_named(clip):
    """By both functions that clip."""
    for value in (log_loss, log_loss_bounds):
        with pytest.raises(ValueError, match="clip must be"):
            value(counts_of([], EXACT), clip=clip)
