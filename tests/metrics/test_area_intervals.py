"""Intervals of average precision and partial areas: formulas, invariances, the bootstrap."""

import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.area_intervals import (
    average_precision_interval,
    partial_roc_auc_interval,
    partial_roc_auc_variance,
)
from streamauc.metrics.bootstrap import bootstrap
from streamauc.metrics.intervals import roc_auc_interval, roc_auc_variance
from streamauc.metrics.partial import partial_roc_auc
from streamauc.metrics.scalars import average_precision

EXACT = Scale.exact()
REGIONS = (
    {"max_fpr": 0.2},
    {"min_fpr": 0.1, "max_fpr": 0.45},
    {"min_tpr": 0.8},
    {"min_tpr": 0.3, "max_tpr": 0.6},
)
rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), max_size=40)


def counts_of(y_true, y_score, weights=None):
    found = ScoreHistogram.from_scores(y_true, y_score, weights=weights, scale=EXACT)
    return threshold_counts(found)


def stream(rng, n_pos, n_neg, lattice=None):
    """Draw overlapping classes, on a lattice of a few scores if asked for."""
    scores = np.concatenate((rng.normal(1.2, 1.3, n_pos), rng.normal(0, 1, n_neg)))
    if lattice:
        scores = np.round(scores * lattice) / lattice
    return np.repeat([1, 0], [n_pos, n_neg]), scores


def worth_by_rows(y_true, y_score, low, high):
    """Return what each positive and each negative is worth: averages over its piece of the curve.

    The curve is followed in thousands of steps, so that only steps are averaged.
    """
    pos, neg = y_score[y_true == 1], y_score[y_true == 0]
    u, r = np.array([0.0]), np.array([0.0])
    place = {}
    for score in np.unique(y_score)[::-1]:
        du, dr = (neg == score).mean(), (pos == score).mean()
        steps = np.linspace(0, 1, 4_001)[1:]
        place[score] = slice(u.size, u.size + steps.size)
        u, r = np.concatenate((u, u[-1] + du * steps)), np.concatenate((r, r[-1] + dr * steps))
    clipped = np.clip(u, low, high)
    ahead = high - clipped
    moved = np.interp(clipped, u, r)
    return (
        np.array([ahead[place[score]].mean() for score in pos]),
        np.array([moved[place[score]].mean() for score in neg]),
    )


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.3), (0.15, 0.5), (0.4, 1.0)])
def test_the_variance_is_that_of_what_each_sample_is_worth(low, high):
    """Row by row, ties spread along the curve; n - 1 variances of both classes."""
    y_true, y_score = stream(np.random.default_rng(3), 40, 60, lattice=2)
    ahead, moved = worth_by_rows(y_true, y_score, low, high)
    wanted = ahead.var(ddof=1) / ahead.size + moved.var(ddof=1) / moved.size
    found = partial_roc_auc_variance(counts_of(y_true, y_score), min_fpr=low, max_fpr=high)
    assert found == pytest.approx(wanted, rel=2e-3)


@given(rows)
def test_over_the_whole_range_it_is_delongs(given_rows):
    """Of either kind of region."""
    counts = counts_of(*np.array(given_rows, dtype=float).reshape(-1, 2).T)
    for region in ({"max_fpr": 1.0}, {"min_tpr": 0.0}):
        found, wanted = partial_roc_auc_variance(counts, **region), roc_auc_variance(counts)
        assert found == pytest.approx(wanted, abs=1e-14, nan_ok=True)


# A vertical stretch of the curve right at the end of the region.
UPRIGHT = [(0, 0)] * 4 + [(0, 2), (1, 1), (1, 2)]


@example(UPRIGHT, {"max_fpr": 0.2})
@given(rows, st.sampled_from(REGIONS[:2]))
def test_regions_are_each_others_mirror_image(given_rows, region):
    """Classes and order exchanged, a region of false positive rates is one of true ones."""
    y_true, y_score = np.array(given_rows, dtype=float).reshape(-1, 2).T
    ends = 1 - region["max_fpr"], 1 - region.get("min_fpr", 0.0)
    mirrored = dict(zip(("min_tpr", "max_tpr"), ends, strict=True))
    found = partial_roc_auc_interval(counts_of(y_true, y_score), **region)
    other = partial_roc_auc_interval(counts_of(1 - y_true, -y_score), **mirrored)
    assert found.low == pytest.approx(other.low, abs=1e-9, nan_ok=True)
    assert found.high == pytest.approx(other.high, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("lattice", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_agrees_with_the_bootstrap(region, lattice, weighted):
    """Also with many ties, and with weights."""
    rng = np.random.default_rng(5)
    y_true, y_score = stream(rng, 400, 900, lattice)
    weights = rng.choice([0.5, 1.0, 3.0], y_true.size) if weighted else None
    counts = counts_of(y_true, y_score, weights)
    found = bootstrap(counts, lambda one: partial_roc_auc(one, **region), n_resamples=800)
    wanted = math.sqrt(partial_roc_auc_variance(counts, **region))
    assert found.std() == pytest.approx(wanted, rel=0.1)


@given(rows, st.sampled_from(REGIONS), st.booleans())
def test_an_interval_holds_its_value_and_stays_in_range(given_rows, region, standardised):
    """Or is undefined with a note; where there are two of each class it never is."""
    y_true, y_score = np.array(given_rows, dtype=float).reshape(-1, 2).T
    counts = counts_of(y_true, y_score)
    found = partial_roc_auc_interval(counts, **region, standardised=standardised)
    if min(y_true.sum(), y_true.size - y_true.sum()) < 2:
        assert math.isnan(found.low)
        assert found.note.startswith("undefined: fewer than two ")
        return
    value = partial_roc_auc(counts, **region, standardised=standardised)
    assert found.low - 1e-9 <= value <= found.high + 1e-9
    assert found.high <= 1 + 1e-9


@given(rows)
def test_average_precision_is_within_its_interval(given_rows):
    """Which narrows with the level, and is one-sided where the positives come first."""
    y_true, y_score = np.array(given_rows, dtype=float).reshape(-1, 2).T
    counts = counts_of(y_true, y_score)
    found = average_precision_interval(counts)
    if y_true.sum() < 2:
        assert math.isnan(found.low)
        assert found.note == "undefined: fewer than two positives"
        return
    narrow, value = average_precision_interval(counts, level=0.5), average_precision(counts)
    assert 0 <= found.low <= narrow.low <= value <= narrow.high <= found.high <= 1
    if value == 1:
        assert found.low == pytest.approx(0.05 ** (1 / y_true.sum()))


def test_the_average_precision_of_a_paper():
    """By hand: ap 0.75 of 40 positives, ``logit(0.75) +- 1.96 / sqrt(40 * 0.75 * 0.25)``."""
    counts = counts_of([*[1] * 20, 0, *[1] * 20], [*[1.0] * 20, 0.7, *[0.5] * 20])
    value = average_precision(counts)
    reach = 1.959964 / math.sqrt(40 * value * (1 - value))
    low = 1 / (1 + math.exp(-(math.log(value / (1 - value)) - reach)))
    assert average_precision_interval(counts).low == pytest.approx(low, rel=1e-6)


def test_weights_of_one_change_nothing():
    """And equal weights give the interval of as many unweighted events."""
    y_true, y_score = stream(np.random.default_rng(9), 30, 70, 3)
    plain, weighted = counts_of(y_true, y_score), counts_of(y_true, y_score, np.full(100, 2.5))
    for find in (
        average_precision_interval,
        lambda one: partial_roc_auc_interval(one, max_fpr=0.3),
    ):
        first, second = find(plain), find(weighted)
        assert (first.low, first.high) == pytest.approx((second.low, second.high), rel=1e-9)


def test_wrong_levels_and_regions_are_named():
    """As everywhere."""
    counts = counts_of([0, 1], [0.1, 0.9])
    with pytest.raises(ValueError, match=re.escape("level must be in (0, 1), got 95.0")):
        average_precision_interval(counts, level=95)
    with pytest.raises(ValueError, match="max_fpr must be in"):
        partial_roc_auc_interval(counts, max_fpr=1.5)


def test_the_whole_range_resembles_the_interval_of_the_auc():
    """Where both use DeLong's variance on the logit scale they are the same."""
    counts = counts_of(*stream(np.random.default_rng(2), 400, 500))
    found = partial_roc_auc_interval(counts, max_fpr=1.0)
    wanted = roc_auc_interval(counts, method="delong")
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-12)
