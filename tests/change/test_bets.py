"""Bets on the mean of ranks: the promise, proved pane by pane with exact sums."""

import functools
import itertools

import numpy as np
import pytest
from change.rank_streams import block_square, blocks, histogram, wins
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import lattice
from scipy import stats

from streamauc import Scale, ScoreHistogram, roc_auc, threshold_counts
from streamauc.change.bets import Bets, NullMean, Parts, _rank_variance
from streamauc.change.rank_blocks import auc_parts
from streamauc.change.rank_reference import RankTable
from streamauc.change.rank_sizes import class_size
from streamauc.change.settings import RATIOS
from streamauc.storage import WideCounts

RUN_LENGTH = 1000.0
UP = slice(0, len(RATIOS))
DOWN = slice(len(RATIOS), None)
classes = st.lists(lattice, min_size=1, max_size=7)
shares = st.sampled_from(
    [(0.2, 0.3, 0.5), (0.9, 0.05, 0.05), (0.0, 0.5, 0.5), (0.34, 0.33, 0.33), (0.02, 0.08, 0.9)]
)


def parts_of(pos, neg):
    return auc_parts(histogram(pos, neg), float(len(pos)), float(len(neg)))


@functools.cache
def counted(pos, neg):
    """Return the parts of a pane whose events fall on three scores, from their counts."""
    return parts_of(np.repeat([0, 1, 2], pos), np.repeat([0, 1, 2], neg))


def samples(n, share):
    """Return every way for n events to fall on three scores, with its probability."""
    ways = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
    return list(zip(ways, stats.multinomial.pmf(ways, n, share).tolist(), strict=True))


def mean_factor(null, sizes, of_pos, of_neg):
    """Return the exact mean of L over the samples of a pane, by bet."""
    bets = Bets(NullMean(*null, null[0]), RATIOS, RUN_LENGTH)
    return sum(
        p * q * np.exp(bets.gains(counted(pos, neg)))
        for (pos, p), (neg, q) in itertools.product(
            samples(sizes[0], of_pos), samples(sizes[1], of_neg)
        )
        if p * q
    )


@given(classes, classes)
def test_the_parts_are_what_dealing_out_gives(pos, neg):
    """Mean and mean square of the AUC of a block, over every block that can be dealt."""
    found = parts_of(pos, neg)
    n, i, j = blocks(len(pos), len(neg))
    won = wins(np.array(pos), np.array(neg))
    aucs = [
        won[np.ix_(some, others)].mean()
        for some in itertools.combinations(range(len(pos)), i)
        for others in itertools.combinations(range(len(neg)), j)
    ]

    assert found.n == n
    assert found.mean == pytest.approx(np.mean(aucs), abs=1e-12)
    assert found.square == pytest.approx(np.mean(np.square(aucs)), abs=1e-12)
    assert block_square(won, i, j) == pytest.approx(found.square, abs=1e-12)
    assert found.mean == pytest.approx(roc_auc(threshold_counts(histogram(pos, neg))), abs=1e-12)


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "n", "block"),
    [
        (10, 490, 10, (1, 49)),
        (50, 50, 12, (4, 4)),
        (9, 9, 2, (4, 4)),
        (30, 60, 10, (3, 6)),
        (3, 3, 1, (3, 3)),
        (1, 1, 1, (1, 1)),
        (4 * 10**9, 4 * 10**9, 10**9, (4, 4)),
    ],
)
def test_a_pane_is_dealt_out_by_the_numbers_alone(n_pos, n_neg, n, block):
    """About 16 pairs a block, one event of a rare class."""
    counts = np.array([[0, n_neg // 2, n_neg - n_neg // 2], [1, 0, n_pos - 1]])
    scale = Scale.exact()
    wide = WideCounts(scale.bins([0.1, 0.2, 0.3]), counts)
    found = auc_parts(ScoreHistogram(scale, wide), float(n_pos), float(n_neg))

    i, j = block
    assert (found.n, found.own, found.shared) == (n, 1 / (i * j), (i + j - 2) / (i * j))
    assert found.mean**2 <= found.square * (1 + 1e-12)


@given(
    st.sampled_from([(1, 1), (3, 2), (2, 7), (1, 9), (8, 8), (9, 9), (4, 12), (12, 1)]),
    shares,
    shares,
    st.floats(0, 1),
)
@settings(max_examples=40)
def test_no_auc_of_the_null_is_worth_evidence(sizes, of_pos, of_neg, share):
    """The mean of L over all samples is at most 1, wherever the AUC is in the null."""
    auc = float(np.dot(of_pos, np.cumsum(of_neg) - np.array(of_neg) / 2))
    for low, high in ((auc, auc), (auc * share, auc + (1 - auc) * (1 - share))):
        assert mean_factor((low, high), sizes, of_pos, of_neg).max() <= 1 + 1e-12


@pytest.mark.parametrize("sizes", [(1, 9), (8, 8)])
def test_the_bound_is_close(sizes):
    """At the ends of the null, small bets lose little by being on the safe side."""
    mean = mean_factor((0.5, 0.5), sizes, (0.3, 0.3, 0.4), (0.3, 0.3, 0.4))

    assert mean.min() > 0.7
    assert mean[UP][0] > 0.995
    assert mean[DOWN][0] > 0.995


@given(classes, shares, st.integers(1, 6), st.floats(0, 1))
def test_no_mean_rank_of_the_null_is_worth_evidence(reference, of_new, n, share):
    """Given the reference, the mean of L over all new samples is at most 1."""
    scores = np.array([0.25, 0.5, 0.75])
    table = RankTable.of(histogram(reference, []), 1)
    ranks = [table.parts(histogram([score], []), 1).mean for score in scores]
    truth = float(np.dot(of_new, ranks))
    null = NullMean(truth * share, truth + (1 - truth) * (1 - share), 0.5)
    bets = Bets(null, RATIOS, RUN_LENGTH)
    mean = sum(
        p * np.exp(bets.gains(table.parts(histogram(np.repeat(scores, counts), []), 1)))
        for counts, p in samples(n, of_new)
    )

    assert mean.max() <= 1 + 1e-12


values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def parts_with(found, *, more=0.0):
    """Return the parts that these values are."""
    u = np.array(found)
    return Parts(float(u.size), float(u.mean()), float((u**2).mean()) + more, 1 / 16, 6 / 16)


def products(bets, parts, found):
    """Return the sum of the logs of the factors themselves, by bet."""
    u = np.array(found)
    stakes = bets.stakes(parts)
    sides = [u] * len(RATIOS) + [1 - u] * len(RATIOS)
    return [
        float(np.log1p(stake.bet * w + stake.base).sum())
        for stake, w in zip(stakes, sides, strict=True)
    ]


@given(values, st.floats(0.001, 0.999), st.floats(0, 0.5))
def test_what_is_counted_is_at_most_the_product(found, m, more):
    """For any values, on both sides; and less where the squares are taken too large."""
    bets = Bets(NullMean(m, m, m), RATIOS, RUN_LENGTH)
    parts, larger = parts_with(found), parts_with(found, more=more)
    gains, less = bets.gains(parts), bets.gains(larger)
    for gain, low, product in zip(gains, less, products(bets, parts, found), strict=True):
        assert gain <= product + 1e-9 * (1 + abs(product))
        assert low <= gain + 1e-9 * (1 + abs(gain))


@given(st.integers(0, 6), st.integers(1, 6), st.floats(0.01, 1), st.floats(0.01, 0.99))
def test_nothing_is_lost_where_values_are_two(n_zero, n_other, value, m):
    """Upwards for 0 and another value, downwards for 1 and another one."""
    bets = Bets(NullMean(m, m, m), RATIOS, RUN_LENGTH)
    found = np.array([0.0] * n_zero + [value] * n_other)
    for side, u in ((UP, found), (DOWN, 1 - found)):
        parts = parts_with(u)
        want = products(bets, parts, u)[side]
        assert bets.gains(parts)[side] == pytest.approx(want, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("m", [0.02, 0.5, 0.85, 0.999])
@pytest.mark.parametrize("ratio", [3.0, 1.03])
def test_the_stake_gains_most(m, ratio):
    """Of all bets, by looking at many; downwards as upwards for what is left to 1."""
    own, shared = 1 / 49, 48 / 49
    mean = ratio * m / (1 - m + ratio * m)
    square = own * mean * (1 - mean) + shared * _rank_variance(mean) + mean**2
    share, point = mean**2 / square, square / mean
    bets = np.geomspace(1e-6, 1 - 1e-6, 20_000) / m
    gains = share * np.log1p(bets * (point - m)) + (1 - share) * np.log1p(-bets * m)
    up = Bets(NullMean(m, m, m), (ratio,), RUN_LENGTH)
    down = Bets(NullMean(1 - m, 1 - m, m), (ratio,), RUN_LENGTH)
    parts = Parts(1.0, mean, square, own, shared)

    assert up.stakes(parts)[0].gain == pytest.approx(gains.max(), rel=1e-5)
    assert down.stakes(parts)[1].gain == pytest.approx(gains.max(), rel=1e-5)


def test_the_variance_of_a_rank_is_that_of_exponential_scores():
    """One twelfth without any ranking; elsewhere beside simulated ranks in both classes."""
    rng = np.random.default_rng(1)
    auc = 0.85
    odds = auc / (1 - auc)
    pos = rng.exponential(odds, 400_000)
    in_negatives = 1 - np.exp(-pos)
    in_positives = np.exp(-rng.exponential(1, 400_000) / odds)

    assert _rank_variance(0.5) == pytest.approx(1 / 12)
    assert in_negatives.mean() == pytest.approx(auc, abs=2e-3)
    assert _rank_variance(auc) == pytest.approx(
        (in_negatives.var() + in_positives.var()) / 2, rel=0.01
    )


@pytest.mark.parametrize(
    ("null", "sides"),
    [
        ((0.0, 1.0), (False, False)),
        ((0.0, 0.6), (True, False)),
        ((0.4, 1.0), (False, True)),
        ((1.0, 1.0), (False, True)),
        ((0.0, 0.0), (True, False)),
        ((0.4, 0.6), (True, True)),
    ],
)
def test_a_side_without_an_end_takes_no_part(null, sides):
    """Nothing is above 1 or below 0: no gain, and no change begins."""
    bets = Bets(NullMean(*null, null[0]), RATIOS, RUN_LENGTH)
    found = parts_of([0.2, 0.4], [0.1, 0.3])
    gains, weights = bets.gains(found), bets.weights(found)

    for side, takes_part in zip((UP, DOWN), sides, strict=True):
        assert any(gains[side]) == takes_part
        assert any(weights[side]) == takes_part
    assert bets.is_blind == (not any(sides))


def test_a_change_that_cannot_be_seen_does_not_begin():
    """Its weight is the share of ten nats that it could give in the time promised."""
    bets = Bets(NullMean(0.5, 0.5, 0.5), (1.03, 3.0), 20.0)
    small = Parts(n=1.0, mean=0.5, square=1 / 3, own=0.0, shared=1.0)
    gain = bets.stakes(small)[0].gain

    assert bets.weights(small)[0] == pytest.approx(20 * gain / 10)
    assert bets.weights(Parts(n=1e6, mean=0.5, square=1 / 3, own=0.0, shared=1.0)) == [1.0] * 4


def test_squares_of_shares_are_at_most_their_mean():
    """However much too large they are taken, also where the mean is next to nothing."""
    bets = Bets(NullMean(0.5, 0.5, 0.5), RATIOS, RUN_LENGTH)
    for mean in (0.3, 1e-310):
        large, most = (bets.gains(Parts(9.0, mean, square, 0.0, 1.0))[UP] for square in (5.0, mean))
        assert large == most


def test_gains_have_a_ceiling():
    """Its exponential is a float."""
    bets = Bets(NullMean(0.5, 0.5, 0.5), RATIOS, RUN_LENGTH)
    assert max(bets.gains(Parts(n=1e12, mean=0.9, square=0.82, own=0.0, shared=1.0))) == 700


def test_sizes_are_those_of_equal_weights():
    """Weight 3 each as without; one heavy event counts little more than itself; none is none."""
    pos, neg = [0.5, 0.6, 0.7], [0.1, 0.2]
    equal = histogram(pos, neg, weights=[3.0] * 5)
    heavy = histogram(pos, neg, weights=[1e6, 1.0, 1.0, 1e-100, 0.0])

    assert [class_size(equal, label) for label in (0, 1)] == [2.0, 3.0]
    assert class_size(heavy, 1) == pytest.approx(1, abs=1e-5)
    assert class_size(heavy, 0) == 1.0
    assert class_size(histogram([0.5], []), 0) == 0.0


def test_weights_all_alike_change_nothing():
    """The parts of a weighted histogram are those of the plain one."""
    pos, neg = [0.5, 0.25, 0.75, 0.5], [0.0, 0.25, 0.5, 0.5, 1.0]
    weighted = histogram(pos, neg, weights=[2.0] * 9)
    found = auc_parts(weighted, class_size(weighted, 1), class_size(weighted, 0))
    plain = parts_of(pos, neg)

    assert found.n == plain.n
    assert (found.mean, found.square) == pytest.approx((plain.mean, plain.square), rel=1e-12)
