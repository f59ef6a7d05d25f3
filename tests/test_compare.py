"""Two sets of events compared: class ratio and AUC against slow definitions and simulation."""

import copy
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import counts_of, events, histogram_of, lattice, weighted_events
from scipy import optimize, stats

from streamauc import (
    Monitor,
    Scale,
    ScoreHistogram,
    compare,
    prevalence_interval,
    roc_auc,
    roc_auc_interval,
    threshold_counts,
)
from streamauc.change import proportions
from streamauc.change.aligned import align
from streamauc.change.proportions import fisher_p_value
from streamauc.metrics.intervals import roc_auc_variance

EXACT = Scale.exact()
BINNED = Scale.probability(bits=3)
cells = st.integers(0, 30)
some = st.lists(st.tuples(st.integers(0, 1), lattice), min_size=1, max_size=40)


def pair_of(reference, current, scale=EXACT, **settings):
    """Compare two lists of (label, score[, weight]) rows."""
    sides = histogram_of(reference, scale), histogram_of(current, scale)
    return compare(*sides, independent=True, **settings)


def shares(pos, n):
    """Return rows with that many positives among n, all at one score."""
    return [(1, 0.5)] * pos + [(0, 0.5)] * (n - pos)


def wilson_by_roots(hits, n, z):
    """Return the two p that lie just z standard errors, their own, from the observed share."""

    def excess(p):
        return (hits / n - p) ** 2 - z * z * p * (1 - p) / n

    share = min(max(hits / n, 1e-9), 1 - 1e-9)  # 0 and 1 are roots themselves
    low = 0.0 if hits == 0 else optimize.brentq(excess, 0, share)
    high = 1.0 if hits == n else optimize.brentq(excess, share, 1)
    return low, high


def drawn(rng, n, prevalence, distance):
    """Return rows with normal scores."""
    labels = (rng.random(n) < prevalence).astype(int)
    return np.column_stack([labels, rng.normal(0, 1, n) + distance * labels])


# The examples of Newcombe 1998, table II: (a / m, b / n), method 10.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ],
)
def test_the_prevalence_interval_is_newcombes(first, second, low, high):
    """The worked examples of the paper, to its four decimals."""
    interval = pair_of(shares(*second), shares(*first)).prevalence.interval

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert "Newcombe" in interval.note


@given(cells, cells, cells, cells, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_intervals_of_two_shares_from_their_roots(a, b, c, d, level):
    """Difference and ratio from Wilson limits found by root-finding; the two agree on "changed"."""
    assume(a + b and c + d)
    result = pair_of(shares(a, a + b), shares(c, c + d), level=level)
    z = stats.norm.ppf((1 + level) / 2)
    p, q = a / (a + b), c / (c + d)
    (l_p, u_p), (l_q, u_q) = wilson_by_roots(a, a + b, z), wilson_by_roots(c, c + d, z)
    found, ratio = result.prevalence.interval, result.prevalence_ratio_interval

    assert found.low == pytest.approx(q - p - math.hypot(q - l_q, u_p - p), abs=1e-9)
    assert found.high == pytest.approx(q - p + math.hypot(u_q - q, p - l_p), abs=1e-9)
    assert -1 - 1e-12 <= found.low <= result.prevalence_difference <= found.high <= 1 + 1e-12
    if not a:
        assert math.isnan(ratio.low)
        assert math.isnan(result.prevalence_ratio)
        return
    # The limits are the R at which the interval of q - R p just reaches 0.
    assert q - ratio.low * p == pytest.approx(math.hypot(q - l_q, ratio.low * (u_p - p)), abs=1e-9)
    assert ratio.high * p - q == pytest.approx(
        math.hypot(u_q - q, ratio.high * (p - l_p)), rel=1e-9, abs=1e-9
    )
    assert ratio.low <= result.prevalence_ratio * (1 + 1e-12)
    assert result.prevalence_ratio <= ratio.high * (1 + 1e-12)
    if min(abs(found.low), abs(found.high)) > 1e-9:
        assert (found.low > 0, found.high < 0) == (ratio.low > 1, ratio.high < 1)


def fisher_by_fractions(a, b, c, d):
    """Sum the exact chance of every table with these margins that is at most as likely."""
    n, pos = a + b, a + c
    chances = {
        k: Fraction(math.comb(pos, k) * math.comb(b + d, n - k), math.comb(pos + b + d, n))
        for k in range(max(0, n - b - d), min(n, pos) + 1)
    }
    return float(sum(chance for chance in chances.values() if chance <= chances[a]))


@given(cells, cells, cells, cells)
def test_fishers_test_is_the_sum_over_tables(a, b, c, d):
    """Exact fractions, table by table; and the same whichever side comes first."""
    assume(a + b and c + d)
    found = fisher_p_value(a, b, c, d)

    assert found == pytest.approx(fisher_by_fractions(a, b, c, d), rel=1e-11)
    assert found == pytest.approx(fisher_p_value(c, d, a, b), rel=1e-11)
    assert found == pytest.approx(fisher_p_value(b, a, d, c), rel=1e-11)


@pytest.mark.parametrize(
    "table",
    [
        (400, 19_600, 700, 29_300),
        (400, 19_600, 600, 29_400),
        (2_000, 30_000, 100, 60_000),
        (49_000, 1_000, 48_800, 1_100),
        (0, 50_000, 40, 40_000),
        (40, 40_000, 0, 50_000),
        (1, 0, 0, 90_000),
        (45_000, 4_000, 4_000, 45_000),
    ],
)
def test_fishers_test_equals_scipy_on_large_tables(table):
    """Where exact fractions take too long, SciPy's own."""
    a, b, c, d = table
    want = stats.fisher_exact([[a, b], [c, d]]).pvalue

    assert fisher_p_value(*table) == pytest.approx(want, rel=1e-7, abs=1e-300)


def test_the_test_changes_with_the_number_of_events():
    """Fisher's below 100,000 events of both sides, the score test from there on."""
    half = proportions.FISHER_BELOW // 2
    one, other = ScoreHistogram.empty(EXACT), ScoreHistogram.empty(EXACT)
    one += histogram_of(shares(1_000, half), EXACT)
    other += histogram_of(shares(1_100, half), EXACT)
    less = other - histogram_of(shares(0, 1), EXACT)
    below, above = (compare(one, x, independent=True).prevalence.test for x in (less, other))
    table = [[1_000, half - 1_000], [1_100, half - 1_100]]

    assert (below.method, above.method) == ("Fisher's exact test", "score test")
    want = stats.chi2_contingency(table, correction=False).pvalue
    assert above.p_value == pytest.approx(want, rel=1e-12)
    table[1][1] -= 1
    assert below.p_value == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-7)
    assert below.p_value == pytest.approx(above.p_value, rel=0.1)


def test_a_share_that_never_varies_is_no_evidence():
    """All positive or none on both sides: p is 1, by either test."""
    for pos in (0, 1):
        rows = [(pos, 0.5)] * 10
        many = ScoreHistogram.from_scores([pos] * 60_000, [0.5] * 60_000, scale=EXACT)
        assert pair_of(rows, rows).prevalence.test.p_value == 1
        assert compare(many, many, independent=True).prevalence.test.p_value == 1


@given(weighted_events, weighted_events, st.sampled_from([0.25, 3.0]))
def test_weighted_shares(first, second, factor):
    """Linearised variances; all weights times a factor change nothing, unit weights neither."""
    result = pair_of(first, second)
    again = pair_of(*([(y, s, w * factor) for y, s, w in rows] for rows in (first, second)))
    assume(not math.isnan(result.prevalence_difference))

    assert "weighted" in result.prevalence.test.method
    assert again.prevalence.test.p_value == pytest.approx(result.prevalence.test.p_value, rel=1e-9)
    assert again.prevalence.interval.low == pytest.approx(result.prevalence.interval.low, abs=1e-9)
    total = sum(w for *_, w in first + second)
    pooled = sum(w for y, _, w in first + second if y) / total
    variance = sum(
        sum(w * w * (y - pooled) ** 2 for y, _, w in rows) / sum(w for *_, w in rows) ** 2
        for rows in (first, second)
    )
    if variance > 1e-12:
        z = result.prevalence_difference / math.sqrt(variance)
        assert result.prevalence.test.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), abs=1e-9)


@given(some, some)
def test_unit_weights_are_no_weights(first, second):
    """Intervals are those of the unweighted, and so is the AUC's test."""
    plain = pair_of(first, second)
    weighted = pair_of([(*row, 1.0) for row in first], [(*row, 1.0) for row in second])

    for name in ("prevalence", "roc_auc"):
        one, other = getattr(plain, name), getattr(weighted, name)
        assert other.interval.low == pytest.approx(one.interval.low, abs=1e-9, nan_ok=True)
        assert other.interval.high == pytest.approx(one.interval.high, abs=1e-9, nan_ok=True)
        if name == "roc_auc":
            assert other.test.p_value == pytest.approx(one.test.p_value, abs=1e-9, nan_ok=True)


def test_the_auc_test_is_delongs_for_independent_samples():
    """Variances add; test and interval are those of a normal difference when classes are large."""
    rng = np.random.default_rng(1)
    first, second = (histogram_of(drawn(rng, 2_000, 0.4, d), EXACT) for d in (1.0, 1.1))
    result = compare(first, second, independent=True, level=0.9).roc_auc
    a, b = threshold_counts(first), threshold_counts(second)
    error = math.sqrt(roc_auc_variance(a) + roc_auc_variance(b))
    difference = roc_auc(b) - roc_auc(a)
    want = stats.norm.interval(0.9, difference, error)

    assert result.difference == difference
    assert result.test.p_value == pytest.approx(2 * stats.norm.sf(abs(difference) / error))
    assert (result.interval.low, result.interval.high) == pytest.approx(want, rel=1e-12)
    assert "DeLong" in result.test.method


def test_small_classes_get_the_wider_interval():
    """The hull with the interval from the limits of the two AUCs; the test stays DeLong's."""
    rng = np.random.default_rng(2)
    first, second = (histogram_of(drawn(rng, 80, 0.4, d), EXACT) for d in (1.0, 2.0))
    result = compare(first, second, independent=True).roc_auc
    a, b = threshold_counts(first), threshold_counts(second)
    error = math.sqrt(roc_auc_variance(a) + roc_auc_variance(b))
    one, other = roc_auc_interval(a), roc_auc_interval(b)
    low = result.difference - math.hypot(roc_auc(b) - other.low, one.high - roc_auc(a))
    high = result.difference + math.hypot(other.high - roc_auc(b), roc_auc(a) - one.low)
    z = stats.norm.ppf(0.975)

    assert result.interval.low == pytest.approx(min(low, result.difference - z * error))
    assert result.interval.high == pytest.approx(max(high, result.difference + z * error))
    assert result.test.p_value == pytest.approx(2 * stats.norm.sf(abs(result.difference) / error))


def test_perfect_separation_is_not_certainty():
    """Three positives above all negatives are no proof of a better model; 300 are."""
    rng = np.random.default_rng(3)
    reference = histogram_of(drawn(rng, 1_000, 0.3, 1.5), EXACT)
    for n_pos, sure in ((3, False), (300, True)):
        perfect = histogram_of([(1, 2.0)] * n_pos + [(0, 1.0)] * 300, EXACT)
        result = compare(reference, perfect, independent=True).roc_auc
        assert (result.test.p_value < 0.05) == sure
        assert (result.interval.low > 0) == sure
        assert "from the interval" in result.test.method
    same = compare(perfect, perfect, independent=True).roc_auc
    assert (same.difference, same.test.p_value) == (0, 1)
    assert same.interval.low < 0 < same.interval.high


def test_tied_scores_have_no_error():
    """One score for all: the AUC is one half without variance, and nothing changed."""
    rows = shares(400, 1_000)
    result = pair_of(rows, rows).roc_auc

    assert (result.difference, result.test.p_value) == (0, 1)


@pytest.mark.parametrize(
    ("reference", "current", "why"),
    [
        ([], [(1, 0.5)], "no events in reference"),
        ([(1, 0.5)], [], "no events in current"),
        ([(1, 0.5), (0, 0.4)], [(1, 0.5), (0, 0.4)], "fewer than two positives in reference"),
        (shares(2, 4), [(1, 0.5), (1, 0.5), (0, 0.4)], "fewer than two negatives in current"),
    ],
)
def test_what_is_undefined_says_why(reference, current, why):
    """The values are nan, JSON has null, and a reason is given; nothing raises."""
    result = pair_of(reference, current, threshold=(0.0, 0.5, 1.0))
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    test = result.roc_auc.test if "two" in why else result.prevalence.test

    assert test.method == f"undefined: {why}"
    assert math.isnan(test.p_value)
    assert found["roc_auc"]["p_value"] is None
    assert isinstance(result.explain(), str)
    assert "Comparison(" in repr(result)


@given(
    st.one_of(events, weighted_events),
    st.one_of(events, weighted_events),
    st.sampled_from([EXACT, BINNED]),
)
def test_aligned_sides_are_the_histograms_on_common_bins(first, second, scale):
    """Bin by bin from the highest score down, squares included."""
    sides = [histogram_of(rows, scale) for rows in (first, second)]
    counts = [threshold_counts(side) for side in sides]
    found = align(*sides, (counts[0], counts[1]))
    bins = sorted({*sides[0].bins.tolist(), *sides[1].bins.tolist()}, reverse=True)

    def table(side, of_side):
        cells = dict(zip(side.bins.tolist(), of_side.T.tolist(), strict=True))
        return np.array([cells.get(one, [0, 0]) for one in bins]).reshape(-1, 2).T

    want = np.stack([table(side, side.counts) for side in sides], axis=1)
    assert found.steps == pytest.approx(want, abs=1e-12)
    assert (found.cumulated[:, :, 0] == 0).all()
    assert found.cumulated[:, :, 1:] == pytest.approx(np.cumsum(want, axis=2), abs=1e-12)
    assert (found.squares is None) == all(side.squares is None for side in sides)
    if found.squares is not None:
        squares = [side.counts if side.squares is None else side.squares for side in sides]
        want = np.stack([table(*both) for both in zip(sides, squares, strict=True)], axis=1)
        assert found.squares == pytest.approx(want, abs=1e-12)


@settings(max_examples=60)
@given(events, events, st.sampled_from([EXACT, BINNED]))
def test_swapping_the_sides_turns_every_sign(first, second, scale):
    """Differences and parts change sign, intervals turn around, p-values stay."""
    there, back = pair_of(first, second, scale), pair_of(second, first, scale)

    for name in ("prevalence", "roc_auc"):
        one, other = getattr(there, name), getattr(back, name)
        assert other.difference == pytest.approx(-one.difference, abs=1e-15, nan_ok=True)
        assert other.interval.low == pytest.approx(-one.interval.high, abs=1e-12, nan_ok=True)
        assert other.test.p_value == pytest.approx(one.test.p_value, rel=1e-9, nan_ok=True)
    for name, part in there.attribution.items():
        for player in ("prevalence", "positives", "negatives", "total"):
            value = getattr(back.attribution[name], player)
            assert value == pytest.approx(-getattr(part, player), abs=1e-14, nan_ok=True)
    for name, shift in there.score_shift.items():
        mirrored = back.score_shift[name]
        assert (mirrored.ks, mirrored.jensen_shannon) == pytest.approx(
            (shift.ks, shift.jensen_shannon), abs=1e-12, nan_ok=True
        )


@settings(max_examples=40)
@given(events, events)
def test_a_monotone_transform_changes_nothing(first, second):
    """Only the order of scores matters, to every part of the result."""
    bent = [[(label, math.exp(3 * score) - 2) for label, score in x] for x in (first, second)]
    one, other = pair_of(first, second), pair_of(*bent)

    assert repr(other.to_dict()) == repr(one.to_dict())


def test_different_resolutions_meet_at_the_coarser():
    """As if both had been binned coarsely, with the thresholds that both have."""
    rng = np.random.default_rng(4)
    first, second = (1 / (1 + np.exp(-drawn(rng, 500, 0.3, 1.0)[:, 1])) for _ in range(2))
    labels = (rng.random(500) < 0.3).astype(int)
    fine = Scale.probability(bits=7, thresholds=(0.3, 0.7))
    coarse = Scale.probability(bits=5, thresholds=(0.7, 0.9))
    common = Scale.probability(bits=5, thresholds=(0.7,))
    mixed = compare(
        ScoreHistogram.from_scores(labels, first, scale=fine),
        ScoreHistogram.from_scores(labels, second, scale=coarse),
        independent=True,
    )
    plain = compare(
        *(ScoreHistogram.from_scores(labels, s, scale=common) for s in (first, second)),
        independent=True,
    )

    assert mixed.to_dict() == plain.to_dict()
    assert next(name for name in mixed.attribution if "@" in name) == "precision@0.7"


def two_hours(scale=EXACT):
    """Return a monitor with events in two hours."""
    monitor = Monitor(scale=scale, clock="event")
    rng = np.random.default_rng(5)
    rows = drawn(rng, 400, 0.3, 1.0)
    monitor.update_many(rows[:, 0], rows[:, 1], np.arange(400) * 18.0)
    return monitor


def test_windows_that_touch_are_compared_and_overlaps_are_refused():
    """[a, b) and [b, c) share nothing; a window and itself, or a part, share events."""
    monitor = two_hours()
    first, second = monitor.window(0, 3_600), monitor.window(3_600, 7_200)
    result = compare(first, second)

    assert result.roc_auc_difference == second.roc_auc - first.roc_auc
    assert result.prevalence_difference == second.prevalence - first.prevalence
    whole = monitor.window(0, 7_200)
    for sides in ((first, first), (first, whole), (whole, second), (second, whole)):
        for independent in (False, True):
            with pytest.raises(ValueError, match="must not overlap when they are windows of one"):
                compare(*sides, independent=independent)
    # Rounded outwards to minutes, these two share one.
    with pytest.raises(ValueError, match=r"\[0.0, 1860.0\) and \[1800.0, 3600.0\)"):
        compare(monitor.window(0, 1_830), monitor.window(1_830, 3_600))


def test_a_window_knows_its_monitor_after_travelling():
    """Copies and pickled windows of one monitor are still of one monitor; others are not."""
    monitor = two_hours()
    window = monitor.window(0, 3_600)
    for other in (copy.copy(window), pickle.loads(pickle.dumps(window))):  # noqa: S301  (our own)
        with pytest.raises(ValueError, match="must not overlap"):
            compare(window, other)
    assert compare(window, two_hours().window(0, 3_600)).roc_auc_difference == 0
    steps = monitor.history("1h").windows
    assert compare(steps[0], steps[1]).roc_auc_difference != 0


def test_histograms_must_be_said_to_be_independent():
    """Of bare histograms, or one beside a window, nothing is known."""
    histogram = histogram_of(shares(2, 4), EXACT)
    window = two_hours().window(0, 3_600)
    for sides in itertools.permutations((histogram, window)):
        with pytest.raises(ValueError, match="independent must be True"):
            compare(*sides)
        assert compare(*sides, independent=True).prevalence_difference != 0
    with pytest.raises(ValueError, match=r"independent must be True .* got False"):
        compare(histogram, histogram)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"current": 3.5}, TypeError, "current must be a ScoreHistogram or have one .* got 3.5"),
        ({"reference": None}, TypeError, "reference must be a ScoreHistogram"),
        (
            {"current": ScoreHistogram.empty(EXACT, 3)},
            ValueError,
            "current must have 2 classes, got 3",
        ),
        (
            {"current": ScoreHistogram.empty(BINNED)},
            ValueError,
            r"different scales: exact\(\) and probability",
        ),
        ({"level": 1.0}, ValueError, r"level must be in \(0, 1\), got 1.0"),
        ({"threshold": math.nan}, ValueError, "threshold must be finite, got nan"),
        ({"threshold": [0.5, math.inf]}, ValueError, "threshold must be finite, got inf"),
        ({"threshold": "0.5"}, TypeError, "threshold must be a number, got '0'"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    """The argument, the requirement and the value."""
    side = histogram_of(shares(2, 4), EXACT)
    arguments = {"reference": side, "current": side, "independent": True} | change

    with pytest.raises(error, match=message):
        compare(**arguments)


def test_the_intervals_hold_the_truth_and_the_tests_their_level():
    """600 pairs of samples that did not change, and the same with a change, at 95 %."""
    rng = np.random.default_rng(6)
    hits = {"prevalence": 0, "ratio": 0, "auc": 0, "auc p": 0, "prevalence p": 0}
    rounds, truth = 600, stats.norm.cdf(1.6 / math.sqrt(2)) - stats.norm.cdf(1.0 / math.sqrt(2))
    for _ in range(rounds):
        first, second = drawn(rng, 900, 0.4, 1.0), drawn(rng, 900, 0.5, 1.6)
        moved, quiet = pair_of(first, second), pair_of(first, drawn(rng, 900, 0.4, 1.0))
        auc, ratio = moved.roc_auc.interval, moved.prevalence_ratio_interval
        hits["prevalence"] += moved.prevalence.interval.low < 0.1 < moved.prevalence.interval.high
        hits["ratio"] += ratio.low < 1.25 < ratio.high
        hits["auc"] += auc.low < truth < auc.high
        hits["auc p"] += quiet.roc_auc.test.p_value > 0.05
        hits["prevalence p"] += quiet.prevalence.test.p_value > 0.05

    for name, count in hits.items():
        assert 0.925 <= count / rounds <= 0.985, name


def test_ten_times_the_negatives_leave_the_auc_alone():
    """The same scores: the difference is exactly 0, whatever rounding there might be."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = drawn(rng, 237, 0.1, 1.0).tolist()
        more = [row for row in rows for _ in range(1 if row[0] else 10)]
        assert pair_of(rows, more).roc_auc_difference == 0


def test_counts_are_at_hand():
    """The counts on the common scale, and the interval of each side, follow from the result."""
    result = pair_of(shares(3, 10), shares(5, 10))

    assert (result.reference.n_pos, result.current.n_pos) == (3, 5)
    assert prevalence_interval(result.current).low < 0.5
    assert result.prevalence_ratio == pytest.approx(5 / 3)
    assert counts_of(shares(3, 10), EXACT).tps.tolist() == result.reference.tps.tolist()
