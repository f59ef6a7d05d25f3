"""Histograms against counting one event at a time; they add, and adding is exact."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import (
    as_counter,
    counted,
    events,
    histogram_of,
    lattice,
    pairwise_auc,
    weighted_events,
)

from streamauc import Scale, ScoreHistogram, roc_auc, threshold_counts
from streamauc.storage import WideCounts

SCALES = [
    Scale.probability(),
    Scale.probability(bits=1, thresholds=(0.25, 0.3)),
    Scale.real(bits=3),
    Scale.real(bits=12, thresholds=(0.5,)),
    Scale.exact(),
]
scales = st.sampled_from(SCALES)


def check(histogram):
    """Check what holds for every histogram; return it."""
    bins, counts, squares = histogram.bins, histogram.counts, histogram.squares
    assert bins.dtype == np.int64
    assert (np.diff(bins) > 0).all()
    assert counts.shape == (histogram.n_classes, bins.size)
    assert counts.dtype == (np.int64 if squares is None else np.float64)
    assert (counts >= 0).all()
    assert (counts.sum(axis=0) > 0).all()
    if squares is not None:
        assert squares.shape == counts.shape
        assert squares.dtype == np.float64
        assert (squares >= 0).all()
        assert ((squares > 0) == (counts > 0)).all()
    assert histogram.n_bins == bins.size
    assert histogram.nbytes > 0
    return histogram


@given(events, scales)
def test_counts_equal_counting_one_event_at_a_time(rows, scale):
    """Every cell holds how many events of its class fall in its bin."""
    histogram = check(histogram_of(rows, scale))

    assert as_counter(histogram) == counted(rows, scale)
    assert histogram.totals.tolist() == [sum(y == k for y, _ in rows) for k in (0, 1)]
    assert np.array_equal(histogram.lower_edges(), scale.lower_edges(histogram.bins))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_any_number_of_classes(n_classes, scale):
    """One class, two and more are counted alike, in small batches and in large."""
    rng = np.random.default_rng(n_classes)
    for size in (0, 1, 50, 20_000):
        labels = rng.integers(0, n_classes, size)
        scores = rng.integers(0, 40, size) / 40
        histogram = check(
            ScoreHistogram.from_scores(labels, scores, scale=scale, n_classes=n_classes)
        )
        rows = zip(labels.tolist(), scores.tolist(), strict=True)
        assert as_counter(histogram) == counted(rows, scale)
        assert ScoreHistogram.from_bytes(histogram.to_bytes()) == histogram
        doubled = check(histogram + histogram)
        assert np.array_equal(doubled.counts, 2 * histogram.counts)
        assert doubled - histogram == histogram


@given(st.lists(events, min_size=1, max_size=4), scales)
def test_merge_is_counting_everything(parts, scale):
    """In every order and grouping the sum of histograms is the histogram of all events."""
    whole = histogram_of(itertools.chain(*parts), scale)
    histograms = [histogram_of(rows, scale) for rows in parts]

    for order in itertools.permutations(histograms):
        assert check(ScoreHistogram.merge(order)) == whole
        total = ScoreHistogram.empty(scale)
        for part in order:
            total = total + part
        assert check(total) == whole
    first, *rest = histograms
    assert first + ScoreHistogram.merge([ScoreHistogram.empty(scale), *rest]) == whole


@given(events, events, scales)
def test_subtraction_undoes_addition(rows, others, scale):
    """`(a + b) - b` is a, with no bins left over, for integer counts exactly."""
    left, right = histogram_of(rows, scale), histogram_of(others, scale)

    assert check((left + right) - right) == left
    assert (left - left).n_bins == 0


@given(events, events, scales)
def test_below_zero_is_an_error(rows, others, scale):
    """Taking away an event that is not there says which class and score."""
    left, right = histogram_of(rows, scale), histogram_of(others, scale)
    missing = counted(others, scale)
    missing.subtract(counted(rows, scale))
    if any(number > 0 for number in missing.values()):
        with pytest.raises(ValueError, match="cannot subtract events that the histogram does not"):
            left - right
    else:
        assert as_counter(left - right) == counted(rows, scale) - counted(others, scale)


def test_below_zero_names_class_and_score():
    """The message in full."""
    left, right = (histogram_of([(1, x)], Scale.exact()) for x in (0.5, 0.25))
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        left - right

    assert str(caught.value) == (
        "cannot subtract events that the histogram does not hold:"
        " class 1 at scores from 0.25 would have -1"
    )


@given(weighted_events, scales)
def test_weights_and_their_squares_are_summed(rows, scale):
    """Cells hold exact sums of weights and squares; an event of weight 0 leaves no trace."""
    histogram = check(histogram_of(rows, scale)) if rows else ScoreHistogram.empty(scale)
    kept = [row for row in rows if row[2]]

    assert set(histogram.bins.tolist()) == {scale.bin(score) for _, score, _ in kept}
    for column, bin_ in enumerate(histogram.bins.tolist()):
        for label in (0, 1):
            cell = [w for y, s, w in kept if y == label and scale.bin(s) == bin_]
            assert histogram.counts[label, column] == sum(cell)
            assert histogram.squares[label, column] == sum(w * w for w in cell)


@given(weighted_events, weighted_events, events, scales)
def test_weighted_sums_and_differences(rows, others, plain, scale):
    """Weighted histograms add and subtract, also with unweighted ones, whose weights are 1."""
    assume(rows)
    assume(others)
    left, right, ones = (histogram_of(part, scale) for part in (rows, others, plain))
    as_weights = histogram_of([(*row, 1.0) for row in plain] or [(0, 0.5, 0.0)], scale)

    assert check(left + right) == histogram_of(rows + others, scale)
    assert check((left + right) - right) == left
    assert check(left + ones) == left + as_weights
    assert check((left + ones) - ones) == left
    assert check((as_weights + left) - left) == as_weights
    assert check((ones + left) - left) == as_weights


def test_weighted_rounding_leaves_nothing_behind():
    """Tenths do not add up in binary; what is left of a difference is set to zero."""
    scale = Scale.exact()
    rng = np.random.default_rng(7)
    parts = []
    for _ in range(200):
        y, s, w = rng.integers(0, 2, 30), rng.integers(0, 9, 30) / 8, rng.integers(1, 9, 30) / 10
        parts.append(ScoreHistogram.from_scores(y, s, scale=scale, weights=w))
    total = ScoreHistogram.merge(parts)
    kept = parts.pop()
    for part in parts:
        total = check(total - part)

    assert np.array_equal(total.bins, kept.bins)
    assert total.counts == pytest.approx(kept.counts, abs=1e-6)
    assert (total - kept).n_bins <= total.n_bins
    with pytest.raises(ValueError, match="cannot subtract"):
        kept - ScoreHistogram.from_scores([1], [0.5], scale=scale, weights=[100.0])


@given(events, st.sampled_from([(7, 3), (12, 1), (3, 3)]), st.lists(lattice, max_size=3))
def test_merging_different_bits_coarsens(rows, bits, thresholds):
    """Smaller bits win, common thresholds stay; the result is as if counted there at once."""
    thresholds = [value for value in thresholds if value]
    fine = Scale.probability(bits=bits[0], thresholds=(*thresholds, 0.33))
    coarse = Scale.probability(bits=bits[1], thresholds=(*thresholds, 0.44))
    target = Scale.probability(bits=bits[1], thresholds=thresholds)
    merged = check(histogram_of(rows, fine) + histogram_of(rows, coarse))

    assert merged == histogram_of(rows + rows, target)
    assert merged - histogram_of(rows, fine) == histogram_of(rows, target)
    assert check(histogram_of(rows, fine).rebinned(target)) == histogram_of(rows, target)


def test_what_cannot_be_merged_says_why():
    """Kinds, classes and finer targets are named."""
    half = Scale.probability()
    one = ScoreHistogram.from_scores([1], [0.5], scale=half)
    with pytest.raises(ValueError, match="different scales: probability\\(bits=7\\) and exact"):
        one + ScoreHistogram.empty(Scale.exact())
    with pytest.raises(ValueError, match="different numbers of classes: 2 and 3"):
        one + ScoreHistogram.empty(half, 3)
    with pytest.raises(ValueError, match="different numbers of classes: 2 and 3"):
        one - ScoreHistogram.empty(half, 3)
    with pytest.raises(ValueError, match="histograms must hold at least one histogram, got none"):
        ScoreHistogram.merge([])
    with pytest.raises(ValueError, match="scale must be coarser than probability"):
        one.rebinned(Scale.probability(bits=8))
    with pytest.raises(TypeError, match="unsupported operand"):
        one + 1
    with pytest.raises(TypeError, match="unsupported operand"):
        one - 1


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_counts_past_2_31_and_2_53_stay_exact(scale):
    """Doubling a histogram sixty times keeps every unit, which a float would lose."""
    total = histogram_of([(0, 0.25), (1, 0.25), (1, 0.5), (1, 0.5)], scale)
    one = histogram_of([(1, 0.25)], scale)
    for _ in range(60):
        total = check(total + total)
    total = check(total + one)

    assert total.totals.tolist() == [2**60, 3 * 2**60 + 1]
    assert ScoreHistogram.from_bytes(total.to_bytes()) == total
    assert (total - one).counts[1, 0] == 2**60
    counts = threshold_counts(total)
    assert (counts.n_pos, counts.n_neg) == (3 * 2**60 + 1, 2**60)
    assert roc_auc(counts) == pytest.approx((2 / 3 + 1 / 6), rel=1e-15)


def test_four_billion_a_side():
    """Pair products past 2**63 do not overflow: AUC of 4e9 positives x 4e9 negatives."""
    scale = Scale.exact()
    pos, neg = [10**9, 3 * 10**9], [3 * 10**9, 10**9]
    wide = WideCounts(scale.bins([0.2, 0.8]), np.array([neg, pos]))
    exact = Fraction(
        2 * pos[1] * neg[0] + pos[0] * neg[0] + pos[1] * neg[1], 2 * sum(pos) * sum(neg)
    )

    assert roc_auc(threshold_counts(ScoreHistogram(scale, wide))) == float(exact)
    small = [(0, 0.2)] * 3 + [(0, 0.8)] + [(1, 0.2)] + [(1, 0.8)] * 3
    assert exact == pairwise_auc(small)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"y_true": [0, 2], "y_score": [0.1, 0.2]},
            ValueError,
            "y_true must be bool or 0/1, got 2 at index 1",
        ),
        (
            {"y_true": [0, 3], "y_score": [0.1, 0.2], "n_classes": 3},
            ValueError,
            "y_true must be an integer from 0 to 2, got 3 at index 1",
        ),
        (
            {"y_true": [0.5], "y_score": [0.1], "n_classes": 3},
            ValueError,
            "y_true must be an integer from 0 to 2, got 0.5 at index 0",
        ),
        (
            {"y_true": [0, math.nan], "y_score": [0.1, 0.2]},
            ValueError,
            "y_true must be bool or 0/1, got nan at index 1",
        ),
        (
            {"y_true": ["yes"], "y_score": [0.1]},
            ValueError,
            "y_true must be bool or 0/1, got 'yes' at index 0",
        ),
        (
            {"y_true": [0, 1, 1], "y_score": [0.1, 0.2]},
            ValueError,
            "y_true and y_score must have the same length, got 3 and 2",
        ),
        (
            {"y_true": [0, 1], "y_score": [0.1, 0.2], "weights": [1.0]},
            ValueError,
            "y_true and y_score and weights must have the same length, got 2 and 2 and 1",
        ),
        (
            {"y_true": [0, 1], "y_score": [0.1, 0.2], "weights": [1.0, -1]},
            ValueError,
            "weights must be finite and not negative, got -1.0 at index 1",
        ),
        (
            {"y_true": [0, 1], "y_score": [0.1, 0.2], "weights": [math.nan, 1]},
            ValueError,
            "weights must be finite and not negative, got nan at index 0",
        ),
        (
            {"y_true": [0, 1], "y_score": [0.1, 0.2], "weights": [1, math.inf]},
            ValueError,
            "weights must be finite and not negative, got inf at index 1",
        ),
        (
            {"y_true": [0, 1], "y_score": [0.1, 0.2], "weights": [1, 1e200]},
            ValueError,
            "weights must be 0, or from 1e-100 to 1e+100, got 1e+200 at index 1",
        ),
        (
            {"y_true": [0], "y_score": [0.1], "weights": ["a"]},
            TypeError,
            "weights must hold numbers, got dtype <U1",
        ),
    ],
)
def test_bad_columns_are_named(arguments, error, message):
    """Argument, requirement, value and index, whatever the column."""
    with pytest.raises(error) as caught:
        ScoreHistogram.from_scores(**arguments, scale=Scale.probability())

    assert str(caught.value) == message


def test_labels_of_any_type_count_alike():
    """bool, small and unsigned integers, floats and objects that hold 0 and 1."""
    scale = Scale.exact()
    labels, scores = [0, 1, 1, 0], [0.1, 0.2, 0.2, 0.4]
    want = ScoreHistogram.from_scores(labels, scores, scale=scale)
    for dtype in (np.bool_, np.int8, np.uint64, np.float32, np.float64, object):
        column = np.array(labels, dtype=dtype)
        assert ScoreHistogram.from_scores(column, scores, scale=scale) == want
    with pytest.raises(ValueError, match="got 18446744073709551615 at index 0"):
        ScoreHistogram.from_scores(np.array([2**64 - 1], dtype=np.uint64), [0.1], scale=scale)
    with pytest.raises(ValueError, match="got None at index 0"):
        ScoreHistogram.from_scores([None, 1], [0.1, 0.2], scale=scale)


def test_equality_sees_everything():
    """Scale, bins, counts, classes and whether weighted; a histogram has no hash."""
    scale = Scale.probability()
    one = histogram_of([(1, 0.5)], scale)

    assert one != histogram_of([(0, 0.5)], scale)
    assert one != histogram_of([(1, 0.6)], scale)
    assert one != histogram_of([(1, 0.5)], Scale.probability(bits=8))
    assert one != histogram_of([(1, 0.5, 1.0)], scale)
    assert histogram_of([(1, 0.5, 2.0)], scale) != ScoreHistogram.merge(
        [histogram_of([(1, 0.5, 1.0)], scale)] * 2
    )
    assert ScoreHistogram.empty(scale) != ScoreHistogram.empty(scale, 3)
    assert one != 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@given(events, scales)
def test_copies_and_pickles_are_equal(rows, scale):
    """Copying and pickling keep everything; the text form names scale, bins and totals."""
    histogram = histogram_of(rows, scale)

    assert copy.deepcopy(histogram) == histogram
    assert pickle.loads(pickle.dumps(histogram)) == histogram  # noqa: S301
    assert repr(histogram).startswith(f"ScoreHistogram({scale}, n_bins={histogram.n_bins}")


def test_inputs_are_not_kept():
    """Writing to the arrays afterwards changes nothing."""
    labels, scores, weights = np.array([0, 1]), np.array([0.1, 0.9]), np.array([1.0, 2.0])
    for given_weights in (None, weights):
        histogram = ScoreHistogram.from_scores(
            labels, scores, scale=Scale.exact(), weights=given_weights
        )
        before = histogram.to_bytes()
        labels[:], scores[:], weights[:] = 0, 0.5, 9
        assert histogram.to_bytes() == before
        labels[:], scores[:], weights[:] = [0, 1], [0.1, 0.9], [1, 2]


@pytest.mark.parametrize("reach", [1.0, 3.0, 1e300])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_events_on_the_exact_scale_are_counted_however_far_they_reach(reach, n_classes):
    """Where bin and class fit in 64 bits together, and where they do not."""
    rng = np.random.default_rng(6)
    classes = rng.integers(0, n_classes, 500)
    scores = rng.integers(-4, 5, 500) / 4 * reach
    found = ScoreHistogram.from_scores(classes, scores, scale=Scale.exact(), n_classes=n_classes)

    distinct = np.unique(scores + 0.0)
    assert np.array_equal(found.lower_edges(), distinct)
    for label in range(n_classes):
        wanted = [int(((scores == score) & (classes == label)).sum()) for score in distinct]
        assert found.counts[label].tolist() == wanted
