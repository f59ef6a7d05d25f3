"""Prevalence before the labels come: EM, ranks and chi-square against slow ones and simulation."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import events, histogram_of, lattice
from scipy import optimize, stats

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.change.label_shift import LabelShift, label_shift
from streamauc.change.label_shift.fit import mixture_fit
from streamauc.change.label_shift.groups import (
    Groups,
    Sample,
    automatic_groups,
    group,
    variance_of_mean,
)
from streamauc.change.label_shift.mixture import limits, most_likely_share, standard_error
from streamauc.metrics.intervals import wilson_interval

EXACT = Scale.exact()
PROBABILITY = Scale.probability()
tables = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=8
)


def shares_of(table):
    """Return the shares of positives, negatives and current scores of a table of counts."""
    columns = np.array(table, dtype=np.float64).T
    assume((columns.sum(axis=1) > 0).all())
    return [column / column.sum() for column in columns]


def em_step(share, pos, neg, current):
    """One step of Saerens, Latinne & Decaestecker 2002: the mean chance of being positive."""
    total = 0.0
    for p, n, q in zip(pos.tolist(), neg.tolist(), current.tolist(), strict=True):
        if q and (p or n):
            total += q * share * p / (share * p + (1 - share) * n)
    return total / sum(
        q for p, n, q in zip(pos.tolist(), neg.tolist(), current.tolist(), strict=True) if p or n
    )


def log_likelihood(share, pos, neg, current):
    """Return the mean log chance of the current scores; those seen in no class left out."""
    mixed = share * pos + (1 - share) * neg
    seen = (current > 0) & ((pos > 0) | (neg > 0))
    if (mixed[seen] == 0).any():
        return -math.inf
    return float(np.dot(current[seen], np.log(mixed[seen])))


@given(tables)
def test_em_rests_where_it_is_said_to(table):
    """A step of EM from the result does not move it, and no share of a grid is more likely."""
    pos, neg, current = shares_of(table)
    found = most_likely_share(pos, neg, current)
    told = (current > 0) & (pos != neg)
    if not told.any():
        assert math.isnan(found)
        return
    assert 0 <= found <= 1
    if 0 < found < 1:
        assert em_step(found, pos, neg, current) == pytest.approx(found, abs=1e-9)
    best = log_likelihood(found, pos, neg, current)
    for other in np.linspace(0, 1, 201).tolist():
        assert log_likelihood(other, pos, neg, current) <= best + 1e-12


@given(tables)
def test_equals_plain_em(table):
    """To 1e-8 where EM, one slow step after the other, has come to rest itself."""
    pos, neg, current = shares_of(table)
    assume(((current > 0) & (pos != neg)).any())
    share = 0.5
    for _ in range(2_000):
        before, share = share, em_step(share, pos, neg, current)
        if abs(share - before) < 1e-13:
            assert most_likely_share(pos, neg, current) == pytest.approx(share, abs=1e-8)
            break


def test_equals_plain_em_on_four_thousand_bins():
    """Every bin by itself, the two classes overlapping, shares rare and frequent."""
    rng = np.random.default_rng(6)
    bins = np.linspace(-4, 6, 4_000)
    pos, neg = (1 + rng.poisson(300 * stats.norm.pdf(bins, mean)) for mean in (2.0, 0.0))
    pos, neg = pos / pos.sum(), neg / neg.sum()
    for truth in (0.001, 0.03, 0.6, 1.0):
        current = rng.multinomial(50_000, truth * pos + (1 - truth) * neg) / 50_000
        share, before = 0.5, 0.0
        while abs(share - before) > 1e-13:
            before = share
            share = float(current @ (share * pos / (share * pos + (1 - share) * neg)))
        assert most_likely_share(pos, neg, current) == pytest.approx(share, abs=1e-8)
        assert share == pytest.approx(truth, abs=0.02)


def test_a_step_onto_the_end_is_not_taken():
    """Newton's method goes to exactly 1 here, where a current score would have no chance."""
    pos, neg = np.array([0.5, 0.0, 0.5]), np.array([0.25, 0.75, 0.0])
    current = np.array([0.9, 0.1, 0.0])
    found = most_likely_share(pos, neg, current)

    assert em_step(found, pos, neg, current) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-4, 0.3, 1 - 1e-7, 1.0])
def test_a_mixture_is_recovered(share):
    """Current shares that are one exactly, however lopsided; overlapping or not."""
    for pos, neg in (([0.1, 0.2, 0.7], [0.6, 0.3, 0.1]), ([0.0, 0.5, 0.5], [0.5, 0.5, 0.0])):
        p, n = np.array(pos), np.array(neg)
        found = most_likely_share(p, n, share * p + (1 - share) * n)
        assert found == pytest.approx(share, rel=1e-6, abs=1e-12)


def test_an_end_is_reached_exactly():
    """Where fewer, or more, of the scores are high than even without, or with only, positives."""
    pos, neg = np.array([0.2, 0.8]), np.array([0.8, 0.2])

    assert most_likely_share(pos, neg, np.array([0.9, 0.1])) == 0
    assert most_likely_share(pos, neg, np.array([0.1, 0.9])) == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0.5, 1.0, 4.0])), min_size=3, max_size=20
    )
)
def test_weighted_variances_are_linearised(rows):
    """Event by event: the squared weight times the squared distance from the mean."""
    group_of, weights = np.array([place for place, _ in rows]), np.array([w for _, w in rows])
    values = np.array([0.0, 1.0, 5.0])
    sample = Sample.of(
        np.bincount(group_of, weights, minlength=3), np.bincount(group_of, weights**2, minlength=3)
    )
    mean = np.average(values[group_of], weights=weights)
    want = np.sum(weights**2 * (values[group_of] - mean) ** 2) / weights.sum() ** 2
    size = weights.sum() ** 2 / np.sum(weights**2)
    found = variance_of_mean(sample, sample.shares * sample.rates, values)

    assert sample.size == pytest.approx(size)
    assert found == pytest.approx(want / (1 - 1 / size), rel=1e-9)


def groups_of(table):
    """Return the groups of a table of counts."""
    return Groups(*(Sample.of(np.array(column), None) for column in np.array(table).T))


@pytest.mark.parametrize("hits", [0, 1, 30, 99, 100])
def test_classes_that_do_not_overlap_have_wilsons_interval(hits):
    """And the binomial standard error, where the reference is as good as infinite."""
    huge = 10**12
    groups = groups_of([(0, huge, 100 - hits), (huge, 0, hits)])
    share = hits / 100
    wilson = wilson_interval(hits, 100)

    assert limits(share, groups, 0.95) == pytest.approx((wilson.low, wilson.high), abs=1e-8)
    at = min(max(share, 0.005), 0.995)
    want = math.sqrt(at * (1 - at) / 100)
    assert standard_error(share, groups) == pytest.approx(want, rel=1e-6)


def normal_histogram(rng, n_pos, n_neg, *, auc_shift, scale=PROBABILITY):
    """Return the histogram of normal logits, the positives' shifted upwards."""
    logits = np.append(rng.normal(auc_shift, 1, n_pos), rng.normal(0, 1, n_neg))
    labels = np.repeat([1, 0], [n_pos, n_neg])
    return ScoreHistogram.from_scores(labels, 1 / (1 + np.exp(-logits)), scale=scale)


def simulated(n, *, n_pos, n_neg, n_current, share, shift, seed=1):
    """Return the results of so many references and current sides."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        hits = rng.binomial(n_current, share)
        reference = normal_histogram(rng, n_pos, n_neg, auc_shift=shift)
        current = normal_histogram(rng, hits, n_current - hits, auc_shift=shift)
        found.append(label_shift(reference, current, independent=True))
    return found


@pytest.mark.parametrize(
    ("sizes", "share"),
    [
        # The reference's positives, its negatives and the current scores limit it in turn.
        ({"n_pos": 100, "n_neg": 5_000, "n_current": 5_000}, 0.4),
        ({"n_pos": 1_000, "n_neg": 300, "n_current": 5_000}, 0.1),
        ({"n_pos": 2_000, "n_neg": 5_000, "n_current": 500}, 0.1),
    ],
)
def test_errors_and_intervals_are_right_by_simulation(sizes, share):
    """The standard errors of both estimators, the interval's coverage, the size of the test."""
    found = simulated(400, **sizes, share=share, shift=1.5)
    shares = np.array([one.prevalence for one in found])
    held = np.array([one.interval.low <= share <= one.interval.high for one in found])
    moments = np.array([one.moment.share for one in found])
    p_values = np.array([one.fit.p_value for one in found])

    # 400 draws give a standard deviation to 3.5 %, and a share of 0.95 to 0.011.
    errors = np.mean([one.standard_error for one in found])
    assert errors == pytest.approx(shares.std(), rel=0.12)
    assert shares.mean() == pytest.approx(share, abs=0.35 * shares.std())
    assert 0.92 <= held.mean() <= 0.98
    moment_errors = np.mean([one.moment.standard_error for one in found])
    assert moment_errors == pytest.approx(moments.std(), rel=0.12)
    assert moments.mean() == pytest.approx(share, abs=0.2 * moments.std())
    assert 0.02 <= np.mean(p_values < 0.05) <= 0.08
    assert np.mean(p_values < 0.5) == pytest.approx(0.5, abs=0.08)


def test_rare_positives_and_small_references_by_simulation():
    """The interval holds nearly as often as it says, and says when it may not."""
    for sizes, share in (
        ({"n_pos": 30, "n_neg": 3_000, "n_current": 3_000}, 0.02),
        ({"n_pos": 200, "n_neg": 200, "n_current": 3_000}, 0.02),
    ):
        found = simulated(250, **sizes, share=share, shift=1.8, seed=2)
        held = [one.interval.low <= share <= one.interval.high for one in found]
        assert np.mean(held) >= 0.9
        small = min(sizes["n_pos"], sizes["n_neg"]) < 50
        assert all(("fewer than 50" in one.interval.note) == small for one in found)


def test_the_reference_counts_in_the_error():
    """A reference a hundredth of the size makes it several times larger."""
    rng = np.random.default_rng(3)
    current = normal_histogram(rng, 4_000, 6_000, auc_shift=1.5)
    large, small = (
        label_shift(normal_histogram(rng, n, n, auc_shift=1.5), current, independent=True)
        for n in (100_000, 300)
    )

    assert small.standard_error > 3 * large.standard_error
    assert small.moment.standard_error > 3 * large.moment.standard_error


def test_the_fit_sees_more_than_a_change_of_ratio():
    """Scores of both classes moved: no mixture looks like that, and the words say so."""
    rng = np.random.default_rng(4)
    reference = normal_histogram(rng, 3_000, 3_000, auc_shift=1.5)
    logits = np.append(rng.normal(3.0, 1, 1_500), rng.normal(1.5, 1, 1_500))
    moved = ScoreHistogram.from_scores(
        np.zeros(3_000, dtype=int), 1 / (1 + np.exp(-logits)), scale=PROBABILITY
    )
    found = label_shift(reference, moved, independent=True)

    assert found.fit.p_value < 1e-10
    assert "More than the class ratio changed (p < 0.0001)" in found.explain()


@given(st.lists(st.tuples(*[st.integers(6, 60)] * 3), min_size=3, max_size=7))
def test_chi_square_is_the_least_distance(table):
    """Over all shares of the tangent, in the metric of the whole covariance, term by term."""
    groups = groups_of(table)
    pos, neg, current = (side.shares for side in (groups.pos, groups.neg, groups.current))
    share = most_likely_share(pos, neg, current)
    assume(not math.isnan(share) and np.abs(pos - neg).max() > 1e-3)
    mixed = share * pos + (1 - share) * neg
    assume((mixed * groups.current.size >= 5).all())
    found = mixture_fit(share, groups)
    covariance = (np.diag(mixed) - np.outer(mixed, mixed)) / groups.current.size
    for side, weight in ((groups.pos, share), (groups.neg, 1 - share)):
        noise = np.diag(side.shares / side.size + 1 / side.size**2)
        spread = np.eye(pos.size) - np.outer(side.shares, np.ones(pos.size))
        covariance += weight**2 * spread @ noise @ spread.T
    inverse = np.linalg.pinv(covariance, rcond=1e-12)

    def distance(step):
        left = current - mixed - step * (pos - neg)
        return float(left @ inverse @ left)

    best = optimize.minimize_scalar(distance).fun
    assert found.degrees == len(table) - 2
    assert found.statistic == pytest.approx(best, rel=1e-4, abs=1e-6)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, found.degrees), rel=1e-9)


def test_groups_too_small_for_chi_square_are_joined():
    """Until each expects five current events; with fewer than three of those there is no test."""
    table = [(1, 9, 3), (2, 8, 3), (3, 6, 3), (5, 5, 3), (8, 2, 3), (9, 1, 3)]
    joined = [(3, 17, 6), (8, 11, 6), (17, 3, 6)]
    share = 0.5
    assert mixture_fit(share, groups_of(table)).degrees == 1
    assert mixture_fit(share, groups_of(table)).statistic == pytest.approx(
        mixture_fit(share, groups_of(joined)).statistic, rel=0.15
    )
    few = mixture_fit(share, groups_of([(pos, neg, 1) for pos, neg, _ in table]))
    assert math.isnan(few.p_value)
    assert few.method == "undefined: fewer than three groups with five expected events"


@given(events, st.lists(lattice, min_size=1, max_size=20))
def test_the_moment_estimator_matches_mean_ranks(rows, scores):
    """By comparing every current score with every score of the reference."""
    pos, neg = ([score for label, score in rows if label == one] for one in (1, 0))
    assume(len(pos) > 1)
    assume(len(neg) > 1)

    def rank(score):
        beaten = [
            np.mean([(other < score) + 0.5 * (other == score) for other in side])
            for side in (pos, neg)
        ]
        return np.mean(beaten)

    means = [np.mean([rank(score) for score in side]) for side in (scores, pos, neg)]
    found = label_shift(
        histogram_of(rows, EXACT),
        histogram_of([(0, score) for score in scores], EXACT),
        independent=True,
    )
    if abs(means[1] - means[2]) < 1e-9:
        assert math.isnan(found.moment.share)
    else:
        want = (means[0] - means[2]) / (means[1] - means[2])
        assert found.moment.share == pytest.approx(want, rel=1e-9, abs=1e-9)


@given(events, st.lists(lattice, min_size=1, max_size=20), st.integers(2, 12))
def test_groups_keep_every_event(rows, scores, n_groups):
    """Scores of a bin stay together, lower ones in lower groups, and each group is known."""
    reference = histogram_of(rows, EXACT)
    assume((reference.totals > 0).all())
    current = histogram_of([(0, score) for score in scores], EXACT).pooled()
    found = group(reference, current, n_groups)

    assert found.n_groups <= n_groups
    for side, total in zip(
        (found.pos, found.neg, found.current), (*reference.totals[::-1], len(scores)), strict=True
    ):
        counts = side.shares * side.total
        assert side.total == total
        assert counts == pytest.approx(np.round(counts), abs=1e-9)
        assert counts.sum() == pytest.approx(total)
    assert (found.pos.shares + found.neg.shares > 0).all()
    if reference.n_bins <= n_groups:
        assert found.n_groups == reference.n_bins


def test_the_number_of_groups_follows_the_rarer_class():
    """One for 75 of its events, from 3 to 10; weights count by how much they vary."""
    rng = np.random.default_rng(5)
    for n_pos, want in ((10, 3), (100, 3), (300, 4), (500, 7), (5_000, 10)):
        reference = normal_histogram(rng, n_pos, 5_000, auc_shift=1.0)
        assert automatic_groups(reference) == want
        current = normal_histogram(rng, 10, 10, auc_shift=1.0)
        assert label_shift(reference, current, independent=True).n_groups == want
    weights = np.repeat([1.0, 0.0001], [200, 4_800])
    y_true, y_score = np.tile([0, 1], 2_500), rng.random(5_000)
    weighted = ScoreHistogram.from_scores(y_true, y_score, scale=EXACT, weights=weights)
    assert automatic_groups(weighted) == 3


def numbers(found):
    """Return every number of a result."""
    return [
        found.prevalence,
        found.standard_error,
        found.interval.low,
        found.interval.high,
        found.moment.share,
        found.moment.standard_error,
        found.fit.statistic,
        found.fit.p_value,
    ]


def two_sides(seed=7):
    """Return a reference and current scores as columns."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random(1_500) < 0.3).astype(np.int64)
    y_score = 1 / (1 + np.exp(-rng.normal(1.2 * y_true, 1)))
    hidden = rng.random(800) < 0.1
    return y_true, y_score, 1 / (1 + np.exp(-rng.normal(1.2 * hidden, 1)))


def shift_of(y_true, y_score, current, *, scale=EXACT, weights=None):
    """Return the result of columns."""
    reference = ScoreHistogram.from_scores(y_true, y_score, scale=scale, weights=weights)
    scores = ScoreHistogram.from_scores(np.zeros(len(current), dtype=int), current, scale=scale)
    return label_shift(reference, scores, independent=True)


def test_only_the_order_of_scores_matters():
    """The order of arrival, a monotone transform, weights of 1 and weights of 7 change nothing."""
    y_true, y_score, current = two_sides()
    first = numbers(shift_of(y_true, y_score, current))
    order = np.random.default_rng(8).permutation(y_true.size)
    cubed = shift_of(y_true, y_score**3, current**3)
    again = shift_of(y_true[order], y_score[order], current[::-1])
    assert numbers(cubed) == pytest.approx(first, rel=1e-9)
    assert numbers(again) == pytest.approx(first, rel=1e-9)
    for weight in (1.0, 7.0):
        weighted = shift_of(y_true, y_score, current, weights=np.full(y_true.size, weight))
        assert numbers(weighted) == pytest.approx(first, rel=1e-9)


def test_the_other_class_sees_the_mirror_image():
    """Labels and scores turned round: one minus the share, the interval turned round."""
    y_true, y_score, current = two_sides()
    first = shift_of(y_true, y_score, current)
    other = shift_of(1 - y_true, -y_score, -current)

    assert other.prevalence == pytest.approx(1 - first.prevalence, abs=0.02)
    labels_only = shift_of(1 - y_true, y_score, current)
    assert labels_only.prevalence == pytest.approx(1 - first.prevalence, abs=1e-10)
    assert labels_only.interval.low == pytest.approx(1 - first.interval.high, abs=1e-8)
    assert labels_only.interval.high == pytest.approx(1 - first.interval.low, abs=1e-8)
    assert labels_only.standard_error == pytest.approx(first.standard_error, rel=1e-9)
    assert labels_only.moment.share == pytest.approx(1 - first.moment.share, rel=1e-9)
    assert labels_only.fit.statistic == pytest.approx(first.fit.statistic, rel=1e-7)


def test_weights_are_repetitions_for_values_but_not_for_errors():
    """A weight of 3 moves the share like three events and the error like one."""
    y_true, y_score, current = two_sides()
    weights = np.where(y_score > 0.5, 3.0, 1.0)
    repeated = np.repeat(np.arange(y_true.size), weights.astype(int))
    groups = [
        group(
            ScoreHistogram.from_scores(labels, scores, scale=EXACT, weights=given),
            ScoreHistogram.from_scores(np.zeros(800, dtype=int), current, scale=EXACT).pooled(),
            6,
        )
        for labels, scores, given in (
            (y_true, y_score, weights),
            (y_true[repeated], y_score[repeated], None),
        )
    ]
    shares = [
        most_likely_share(one.pos.shares, one.neg.shares, one.current.shares) for one in groups
    ]

    assert shares[0] == pytest.approx(shares[1], rel=1e-9)
    errors = [standard_error(share, one) for share, one in zip(shares, groups, strict=True)]
    assert errors[0] > 1.1 * errors[1]


def test_a_merge_of_parts_is_the_whole():
    """Halves of the reference and of the current scores, merged, give the same."""
    y_true, y_score, current = two_sides()
    whole = shift_of(y_true, y_score, current)
    parts = ScoreHistogram.merge(
        [ScoreHistogram.from_scores(y_true[i::2], y_score[i::2], scale=EXACT) for i in (0, 1)]
    )
    scores = ScoreHistogram.merge(
        [
            ScoreHistogram.from_scores(np.zeros(400, dtype=int), current[i::2], scale=EXACT)
            for i in (0, 1)
        ]
    )

    assert numbers(label_shift(parts, scores, independent=True)) == numbers(whole)


def test_labels_of_the_current_side_are_not_looked_at():
    """Two classes or one, whatever they are."""
    y_true, y_score, current = two_sides()
    reference = ScoreHistogram.from_scores(y_true, y_score, scale=EXACT)
    labels = np.random.default_rng(9).integers(0, 2, current.size)
    sides = [
        ScoreHistogram.from_scores(labels, current, scale=EXACT),
        ScoreHistogram.from_scores(np.zeros_like(labels), current, scale=EXACT),
        ScoreHistogram.from_scores(labels, current, scale=EXACT).pooled(),
        ScoreHistogram.from_scores(labels * 2, current, scale=EXACT, n_classes=3),
    ]
    found = [numbers(label_shift(reference, side, independent=True)) for side in sides]

    assert found[1:] == found[:-1]


def test_scales_are_brought_to_the_coarser():
    """As if both had been counted on it; kinds that differ are an error."""
    y_true, y_score, current = two_sides()
    fine, coarse = Scale.probability(bits=9), Scale.probability(bits=5)
    labels = np.zeros(current.size, dtype=int)
    mixed = label_shift(
        ScoreHistogram.from_scores(y_true, y_score, scale=fine),
        ScoreHistogram.from_scores(labels, current, scale=coarse),
        independent=True,
    )

    assert numbers(mixed) == numbers(shift_of(y_true, y_score, current, scale=coarse))
    with pytest.raises(ValueError, match="different scales"):
        label_shift(
            ScoreHistogram.from_scores(y_true, y_score, scale=fine),
            ScoreHistogram.from_scores(labels, current, scale=EXACT),
            independent=True,
        )


def test_windows_give_their_predictions():
    """All scores of a window, their labels known or not; windows that overlap are refused."""
    y_true, y_score, current = two_sides()
    monitor = Monitor(clock="event")
    monitor.update_many(y_true, y_score, np.full(y_true.size, 1_000.0))
    for key, score in enumerate(current.tolist()):
        monitor.predict(key, score, 5_000.0)
    for key in range(50):
        monitor.resolve(key, 0)
    before, now = monitor.window(960, 1_020), monitor.window(4_980, 5_040)
    found = label_shift(before, now)
    want = shift_of(y_true, y_score, current, scale=monitor.scale)

    assert found.n_current == current.size
    assert numbers(found) == pytest.approx(numbers(want), rel=1e-12)
    with pytest.raises(ValueError, match="must not overlap"):
        label_shift(monitor.window(960, 5_040), now)


def test_scores_outside_the_reference_are_told_of():
    """They count with their neighbours, and their share is given."""
    rows = [(label, 0.3 + 0.04 * (k + 2 * label)) for label in (0, 1) for k in range(8)] * 9
    reference = histogram_of(rows, EXACT)
    current = histogram_of([(0, 0.1)] * 3 + [(0, 0.42)] * 6 + [(0, 0.9)], EXACT)
    found = label_shift(reference, current, independent=True)

    assert found.outside == pytest.approx(0.4)
    assert "40 % of the scores lie outside the reference's." in found.explain()


@pytest.mark.parametrize(
    ("rows", "scores", "why"),
    [
        ([(0, 0.2), (0, 0.4)], [0.2], "no positives in the reference"),
        ([(1, 0.2)], [0.2], "no negatives in the reference"),
        ([], [0.2], "no events in the reference"),
        ([(0, 0.2), (1, 0.4)] * 5, [], "no current scores"),
        ([(0, 0.2), (1, 0.2)] * 5, [0.2], "positives and negatives cannot be told apart"),
        ([(0, 0.2), (0, 0.4), (1, 0.4)], [0.4], "fewer than two positives in the reference"),
        ([(1, 0.2), (1, 0.4), (0, 0.2)], [0.4], "fewer than two negatives in the reference"),
    ],
)
def test_what_is_undefined_has_a_reason(rows, scores, why):
    """nan, a note and a sentence; never an error, never a warning."""
    found = label_shift(
        histogram_of(rows, EXACT),
        histogram_of([(0, score) for score in scores], EXACT),
        independent=True,
    )

    assert found.interval.note == f"undefined: {why}"
    assert math.isnan(found.interval.low)
    assert math.isnan(found.standard_error)
    assert math.isnan(found.fit.p_value)
    assert math.isnan(found.prevalence) == ("fewer than two" not in why)
    assert why in found.explain()
    assert json.loads(json.dumps(found.to_dict()))["interval"] == [None, None]


def test_shares_at_the_ends():
    """Nobody or everybody positive: the interval begins or ends there, and the error is not 0."""
    rng = np.random.default_rng(10)
    reference = normal_histogram(rng, 2_000, 2_000, auc_shift=4)
    none, every = (
        label_shift(reference, normal_histogram(rng, *sizes, auc_shift=4), independent=True)
        for sizes in ((0, 500), (500, 0))
    )

    assert none.interval.low == 0
    assert none.prevalence < 0.01 < none.interval.high + 0.01
    assert every.interval.high == 1
    assert every.prevalence > 0.99
    assert min(none.standard_error, every.standard_error) > 0


def test_billions_of_events():
    """No overflow, and an interval as narrow as they allow."""
    big = 4_000_000_000
    counts = np.array([[3, 2, 1], [1, 2, 3]]) * big
    stored = histogram_of([(0, 0.2), (0, 0.5), (1, 0.8)], EXACT)
    reference = ScoreHistogram(EXACT, type(stored.stored)(stored.bins, counts))
    scores = ScoreHistogram(EXACT, type(stored.stored)(stored.bins, counts[:1] * 3 + counts[1:]), 1)
    found = label_shift(reference, scores, independent=True)

    assert found.prevalence == pytest.approx(0.25, abs=1e-9)
    assert found.interval.low < 0.25 < found.interval.high
    assert found.standard_error < 1e-4


def test_words():
    """A line for what went in, the share, the cross-check and the test."""
    y_true, y_score, current = two_sides()
    lines = shift_of(y_true, y_score, current).explain().splitlines()

    assert lines[0] == "Reference: 1,500 events, 29.9 % positive. Current: 800 scores."
    assert lines[1].startswith("If only the class ratio changed, ")
    assert "% are positive (95 % interval " in lines[1]
    assert lines[2].startswith("Mean ranks alone say ")
    assert lines[3].startswith("The scores look like such a mixture (p = ")


@pytest.mark.parametrize(
    ("known", "n_current", "words"),
    [
        ([], 0, "Reference: no events. Current: no scores."),
        ([], 1, "Reference: no events. Current: 1 score."),
        ([1], 0, "Reference: 1 event, 100 % positive. Current: no scores."),
        ([0, 1], 2, "Reference: 2 events, 50 % positive. Current: 2 scores."),
    ],
)
def test_what_is_missing_is_said(known, n_current, words):
    """No sentence says ``nan``."""
    found = label_shift(
        ScoreHistogram.from_scores(known, [0.5] * len(known), scale=EXACT),
        ScoreHistogram.from_scores([0] * n_current, [0.5] * n_current, scale=EXACT),
        independent=True,
    )

    assert found.explain().splitlines()[0] == words
    assert "nan" not in found.explain()


def test_results_are_plain_values():
    """Immutable, copied and pickled as they are, and JSON all through."""
    found = shift_of(*two_sides())
    assert isinstance(found, LabelShift)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301  (made here)
    assert copy.deepcopy(found) == found
    with pytest.raises(AttributeError):
        found.prevalence = 0.5
    assert json.loads(json.dumps(found.to_dict()))["n_groups"] == found.n_groups


def test_bad_input_is_named():
    """Each message names the argument, the requirement and the value."""
    y_true, y_score, current = two_sides()
    reference = ScoreHistogram.from_scores(y_true, y_score, scale=EXACT)
    with pytest.raises(ValueError, match="independent must be True"):
        label_shift(reference, reference)
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 1.0"):
        label_shift(reference, reference, level=1, independent=True)
    with pytest.raises(ValueError, match="n_groups must be at least 2, got 1"):
        label_shift(reference, reference, n_groups=1, independent=True)
    with pytest.raises(TypeError, match="reference must be a ScoreHistogram or have one"):
        label_shift(0.3, reference, independent=True)
    with pytest.raises(TypeError, match="current must be a ScoreHistogram or have one"):
        label_shift(reference, current, independent=True)
    with pytest.raises(ValueError, match="reference must have 2 classes, got 1"):
        label_shift(reference.pooled(), reference, independent=True)
