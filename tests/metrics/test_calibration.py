"""Reliability curve and calibration error against loops over raw scores, and scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import counts_of, events, same, weighted_events
from sklearn.calibration import calibration_curve

from streamauc import Scale, ScoreHistogram, ThresholdCounts, threshold_counts
from streamauc.metrics.calibration import (
    ProbabilityBins,
    expected_calibration_error,
    expected_calibration_error_bounds,
    fault,
    reliability_curve,
)
from streamauc.metrics.reweighted import at_prevalence

EXACT = Scale.exact()
COARSE = Scale.probability(bits=1)
fine_events = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), max_size=30)


def grouped(rows, n_groups):
    """Return lists of (label, score, weight), one a group, taking one score after the other."""
    rows = sorted(
        ((int(row[0]), row[1], Fraction(row[2] if len(row) == 3 else 1)) for row in rows),
        key=lambda row: row[1],
    )
    rows = [row for row in rows if row[2]]
    scores = sorted({score for _, score, _ in rows})
    whole = sum(weight for *_, weight in rows)
    groups, below = {}, Fraction(0)
    for place, score in enumerate(scores):
        tied = [row for row in rows if row[1] == score]
        size = sum(weight for *_, weight in tied)
        middle = (below + size / 2) / whole
        number = place if len(scores) <= n_groups else math.floor(middle * n_groups)
        groups.setdefault(number, []).extend(tied)
        below += size
    return [groups[number] for number in sorted(groups)]


def summed(group):
    """(events, mean score, share of positives) of a group, in fractions."""
    size = sum(weight for *_, weight in group)
    mean = sum(Fraction(score) * weight for _, score, weight in group) / size
    return size, mean, sum(label * weight for label, _, weight in group) / size


def error_by_groups(rows, n_groups):
    """Return the calibration error, group by group."""
    groups = [summed(group) for group in grouped(rows, n_groups)]
    whole = sum(size for size, *_ in groups)
    if not whole:
        return math.nan
    return float(sum(size * abs(mean - share) for size, mean, share in groups) / whole)


@given(st.one_of(events, weighted_events), st.integers(1, 12))
@example([(0, 0.5)] * 3 + [(1, 1.0)], 2)
def test_the_curve_is_that_of_the_groups(rows, n_groups):
    """Mean score, share and size of every group, ties never split, weights included."""
    curve = reliability_curve(counts_of(rows, EXACT), n_groups=n_groups)
    groups = [summed(group) for group in grouped(rows, n_groups)]

    assert curve.n_samples == pytest.approx([float(size) for size, *_ in groups], rel=1e-12)
    assert curve.predicted == pytest.approx([float(mean) for _, mean, _ in groups], rel=1e-12)
    assert curve.observed == pytest.approx([float(share) for *_, share in groups], rel=1e-12)
    assert curve.predicted_low.tolist() == curve.predicted_high.tolist()
    assert curve.thresholds.tolist() == [
        min(score for _, score, _ in group) for group in grouped(rows, n_groups)
    ]


@given(st.one_of(events, weighted_events), st.integers(1, 12))
def test_the_error_is_that_of_the_groups(rows, n_groups):
    """On the exact scale both bounds are the value."""
    counts = counts_of(rows, EXACT)
    found = expected_calibration_error(counts, n_groups=n_groups)
    bounds = expected_calibration_error_bounds(counts, n_groups=n_groups)

    assert same(found, error_by_groups(rows, n_groups), tol=1e-14)
    assert same(bounds.low, found, tol=1e-15)
    assert same(bounds.high, found, tol=1e-15)


def test_the_curve_is_that_of_scikit_learn():
    """Where no score is tied and the groups divide the samples."""
    rng = np.random.default_rng(1)
    y_score = rng.random(2_000)
    y_true = (rng.random(2_000) < y_score**2).astype(np.int64)
    share, mean = calibration_curve(y_true, y_score, n_bins=20, strategy="quantile")
    histogram = ScoreHistogram.from_scores(y_true, y_score, scale=EXACT)
    curve = reliability_curve(threshold_counts(histogram), n_groups=20)

    assert curve.observed == pytest.approx(share, rel=1e-12)
    assert curve.predicted == pytest.approx(mean, rel=1e-12)
    assert curve.n_samples.tolist() == [100] * 20


@given(fine_events, st.integers(1, 6))
def test_bounds_hold_for_the_scores_before_binning(rows, n_groups):
    """The raw scores of the same groups have a mean, and an error, within the bounds."""
    counts = counts_of(rows, COARSE)
    curve = reliability_curve(counts, n_groups=n_groups)
    number = np.searchsorted(curve.thresholds, [score for _, score in rows], side="right") - 1
    errors = []
    for group in range(curve.n_samples.size):
        inside = [row for row, own in zip(rows, number.tolist(), strict=True) if own == group]
        mean = sum(score for _, score in inside) / len(inside)
        share = sum(label for label, _ in inside) / len(inside)
        errors.append(len(inside) * abs(mean - share))
        assert curve.predicted_low[group] - 1e-12 <= mean <= curve.predicted_high[group] + 1e-12
        assert curve.observed[group] == pytest.approx(share)
    bounds = expected_calibration_error_bounds(counts, n_groups=n_groups)
    found = expected_calibration_error(counts, n_groups=n_groups)
    if rows:
        assert bounds.low - 1e-12 <= sum(errors) / len(rows) <= bounds.high + 1e-12
        assert bounds.low <= found <= bounds.high


@given(fine_events)
@example([(0, 0.999999999999)])
def test_the_middle_of_a_bin_is_half_way_in_log_odds(rows):
    """Within the bin; and the other class sees the mirror image of it."""
    bins = ProbabilityBins.of(counts_of(rows, COARSE))
    if bins is None:
        assert not rows
        return
    middle, low, high = bins.middle, bins.low, bins.high
    assert ((low <= middle) & (middle <= high)).all()
    inside = (low > 0) & (high < 1)
    scores = np.stack([low, middle, high])[:, inside]
    logits = np.log(scores) - np.log1p(-scores)
    # A score near 1 is rounded to 2**-53, which is much of its distance from 1.
    rounding = 1e-12 + 1e-15 / (1 - high[inside])
    assert (np.abs(2 * logits[1] - logits[0] - logits[2]) <= rounding).all()
    mirrored = ProbabilityBins(bins.neg, bins.pos, 1 - high, 1 - low).middle
    assert mirrored == pytest.approx(1 - middle, abs=1e-15)


@given(events, st.integers(1, 5))
def test_order_and_repetition_do_not_matter(rows, n_groups):
    """The order of arrival, repetitions, and weights instead of them."""
    first = expected_calibration_error(counts_of(rows, EXACT), n_groups=n_groups)
    parts = [counts_of(rows[::-1], EXACT), counts_of([(*row, 2.0) for row in rows], EXACT)]
    for other in [*parts, counts_of([row for row in rows for _ in range(3)], EXACT)]:
        assert same(expected_calibration_error(other, n_groups=n_groups), first, tol=1e-14)


@given(events)
def test_the_other_class_has_the_same_error(rows):
    """With a group a score, labels and scores turned round change nothing."""
    first = expected_calibration_error(counts_of(rows, EXACT), n_groups=50)
    turned = counts_of([(1 - label, 1 - score) for label, score in rows], EXACT)

    assert same(expected_calibration_error(turned, n_groups=50), first, tol=1e-14)


def test_what_is_no_probability_has_a_reason():
    """Scores that are, or may be, outside [0, 1] are undefined, not an error; so is nothing."""
    for scale, score in ((Scale.exact(), 1.5), (Scale.exact(), -0.1), (Scale.real(), 0.0)):
        counts = counts_of([(1, 0.5), (0, score)], scale)
        assert fault(counts) == "not_probabilities"
        assert math.isnan(expected_calibration_error(counts))
        assert math.isnan(expected_calibration_error_bounds(counts).low)
        assert reliability_curve(counts).predicted.size == 0
    # A bin of the real scale that begins at 1 may hold anything up to its end.
    assert fault(counts_of([(1, 1.0)], Scale.real())) == "not_probabilities"
    assert fault(counts_of([(1, 0.9)], Scale.real())) is None
    assert fault(counts_of([], EXACT)) == "empty"
    assert fault(counts_of([(0, 0.0), (1, 1.0)], COARSE)) is None
    assert math.isnan(expected_calibration_error(counts_of([], COARSE)))
    nobody = at_prevalence(counts_of([(1, 0.5)], EXACT), 0.2)
    assert fault(nobody) == "empty"
    assert math.isnan(expected_calibration_error(nobody))


def test_one_class_and_one_bin():
    """Both are defined: a share of 0 or 1 is a share."""
    assert expected_calibration_error(counts_of([(1, 0.75)], EXACT)) == 0.25
    assert expected_calibration_error(counts_of([(0, 0.75), (1, 0.75)], EXACT)) == 0.25
    assert expected_calibration_error(counts_of([(0, 0.0), (1, 1.0)], EXACT)) == 0


def test_at_another_prevalence():
    """Negatives weigh more, in size and in share."""
    counts = counts_of([(0, 0.25), (1, 0.25), (1, 0.75)], EXACT)
    curve = reliability_curve(at_prevalence(counts, 0.25))

    assert curve.n_samples == pytest.approx([1 + 6, 1])
    assert curve.observed == pytest.approx([1 / 7, 1])


def test_huge_counts():
    """Billions of each class do not overflow."""
    big = 4_000_000_000
    counts = ThresholdCounts(
        np.array([math.inf, 0.8, 0.2]), np.array([0, big, 2 * big]), np.array([0, big, 2 * big])
    )

    assert expected_calibration_error(counts) == pytest.approx(0.3, rel=1e-15)


def test_bins_of_unknown_ends_reach_to_the_next_threshold():
    """And the highest as far as a probability can."""
    counts = ThresholdCounts(
        np.array([math.inf, 0.8, 0.2]), np.array([0, 1, 1]), np.array([0, 0, 1]), exact=False
    )
    curve = reliability_curve(counts)

    assert curve.predicted_low.tolist() == [0.2, 0.8]
    assert curve.predicted_high.tolist() == [0.8, 1.0]
    assert 0.2 < curve.predicted[0] < 0.8 < curve.predicted[1] < 1


@pytest.mark.parametrize("n_groups", [0, -1])
def test_there_is_at_least_one_group(n_groups):
    """The message names the argument, the requirement and the value."""
    with pytest.raises(ValueError, match=f"n_groups must be at least 1, got {n_groups}"):
        expected_calibration_error(counts_of([], EXACT), n_groups=n_groups)
