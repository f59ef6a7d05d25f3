"""The best threshold against looking at every threshold in fractions, and scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import confusion_by_rows, counts_of, events, histogram_of, split, weighted_events
from sklearn import metrics as sk

from streamauc import Scale, ScoreHistogram, confusion_at, threshold_counts
from streamauc.metrics.best import BestThreshold, best_threshold
from streamauc.metrics.costs import CostMatrix, total_cost
from streamauc.metrics.reweighted import at_prevalence
from streamauc.storage import WideCounts

EXACT = Scale.exact()
BINNED = Scale.probability(bits=1)
NAMES = ("f1", "f_beta", "informedness", "mcc", "closest_to_corner", "recall")
TOL = 1e-12

small = st.integers(-3, 9).map(float)
matrices = st.builds(CostMatrix, tp=small, fn=small, fp=small, tn=small)
criteria = st.one_of(
    st.sampled_from(NAMES).map(lambda name: {"by": name}),
    st.sampled_from([0.0, 0.5, 2.0]).map(lambda beta: {"by": "f_beta", "beta": beta}),
    matrices.map(lambda matrix: {"by": matrix}),
).map(lambda asked: {"beta": 1.0, **asked} if asked["by"] == "f_beta" else asked)
shares = st.sampled_from([0.05, 0.1, 0.25, 0.3, 0.5, 0.75, 0.8, 1.0])
limit_sets = st.fixed_dictionaries(
    {}, optional={"min_precision": shares, "max_fpr": shares, "max_alert_rate": shares}
)
dailies = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"max_alerts_per_day": st.sampled_from([0, 0.5, 1, 3]), "days": st.sampled_from([0.5, 2])}
    ),
)


def ratio(part, whole):
    """Return a quotient, None where it is 0 / 0."""
    return Fraction(part) / whole if whole else None


def quality(point, by, beta=None):
    """Return how good a confusion matrix is in a form that is exact, higher better."""
    tp, fp, fn, tn = point
    if isinstance(by, CostMatrix):
        better = [(tp, by.tp, by.fn), (fn, by.fn, by.tp), (fp, by.fp, by.tn), (tn, by.tn, by.fp)]
        return -sum(n * Fraction(max(0.0, cost - other)) for n, cost, other in better)
    if by in ("f1", "f_beta"):
        square = Fraction(1 if beta is None else beta) ** 2
        return ratio((1 + square) * tp, (1 + square) * tp + square * fn + fp)
    if by == "recall":
        return ratio(tp, tp + fn)
    if by == "mcc":
        lead = tp * tn - fp * fn
        return ratio(lead * abs(lead), (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    fnr, fpr = ratio(fn, tp + fn), ratio(fp, fp + tn)
    if fnr is None or fpr is None:
        return None
    return 1 - fnr - fpr if by == "informedness" else -(fnr**2) - fpr**2


def is_near(found, best, by):
    """Return whether a quality is within 1 % of the best; two of them are squares."""
    percent = Fraction(1, 100)
    part = 1 - percent if best > 0 else 1 + percent
    return found >= best * (part**2 if by in ("mcc", "closest_to_corner") else part)


def keeps(point, limits, volume):
    """Return whether a confusion matrix keeps all limits."""
    tp, fp, _, tn = point
    flagged, n = tp + fp, sum(point)
    least = {name: Fraction(str(limit)) for name, limit in limits.items()}
    rules = {
        "min_precision": lambda least: flagged > 0 and Fraction(tp) / flagged >= least,
        "max_fpr": lambda most: Fraction(fp) / (fp + tn) <= most,
        "max_alert_rate": lambda most: Fraction(flagged) / n <= most,
        "max_alerts_per_day": lambda most: flagged * volume / n <= most * least["days"],
    }
    return all(rules[name](limit) for name, limit in least.items() if name != "days")


def by_looking(rows, asked, limits, prevalence=None):
    """Return threshold, confusion matrix, range and number of ties, from the rows."""
    pos, neg = split(rows)
    n_pos, n_neg = (sum((w for _, w in side), Fraction(0)) for side in (pos, neg))
    weight = Fraction(1)
    if prevalence is not None:
        odds = 1 / Fraction(str(prevalence)) - 1
        weight = n_pos * odds / n_neg
    cuts = [math.inf, *sorted({score for score, _ in pos + neg}, reverse=True)]
    points = []
    for cut in cuts:
        tp, fp, fn, tn = confusion_by_rows(rows, cut)
        points.append((tp, fp * weight, fn, tn * weight))
    found = [
        quality(point, **asked) if keeps(point, limits, n_pos + n_neg) else None for point in points
    ]
    known = [one for one in found if one is not None]
    if not known:
        return None
    best, near = max(known), []
    row = found.index(best)
    for step in (-1, 1):
        at = row
        while 0 <= at + step < len(cuts) and found[at + step] is not None:
            if not is_near(found[at + step], best, asked["by"]):
                break
            at += step
        near.append(cuts[at])
    return cuts[row], points[row], (near[1], near[0]), known.count(best)


def check(found, expected, tol=TOL):
    """Compare with what looking at every threshold gave."""
    threshold, point, span, n_tied = expected
    confusion = found.confusion
    assert (found.threshold, found.n_tied, found.reason) == (threshold, n_tied, None)
    assert (found.low, found.high) == span
    assert (confusion.threshold, confusion.requested, confusion.exact) == (*[threshold] * 2, True)
    counts = (confusion.tp, confusion.fp, confusion.fn, confusion.tn)
    assert counts == pytest.approx([float(count) for count in point], rel=tol)


def value_of(point, by, beta=None):
    """Return what the criterion is called, of a confusion matrix of floats."""
    if isinstance(by, CostMatrix):
        return by.tp * point.tp + by.fn * point.fn + by.fp * point.fp + by.tn * point.tn
    if by == "closest_to_corner":
        return math.sqrt(point.fnr**2 + point.fpr**2)
    return point.f_beta(beta) if by == "f_beta" else getattr(point, by)


def on_edges(rows, scale):
    """Return the rows with each score at the edge that stands for it."""
    return [(y, float(scale.lower_edges(scale.bins([s]))[0]), *w) for y, s, *w in rows]


@settings(max_examples=300)
@given(st.one_of(events, weighted_events), criteria, limit_sets, dailies)
def test_no_threshold_is_better(rows, asked, limits, daily):
    """Threshold, confusion, ties and range are those of looking at each, in fractions."""
    for scale in (EXACT, BINNED):
        seen = rows if scale is EXACT else on_edges(rows, scale)
        found = best_threshold(counts_of(rows, scale), **asked, **limits, **daily)
        if found.reason in ("empty", "no_positives", "no_negatives"):
            continue
        expected = by_looking(seen, asked, {**limits, **daily})
        if expected is None:
            assert found.reason in ("no_variation", "infeasible")
            continue
        check(found, expected)
        assert found.value == pytest.approx(value_of(found.confusion, **asked), rel=TOL, abs=TOL)


@given(
    st.one_of(events, weighted_events), criteria, limit_sets, dailies, st.sampled_from([0.01, 0.3])
)
def test_another_prevalence_weighs_the_negatives(rows, asked, limits, daily, share):
    """As if the negatives came more or less often; alerts a day of as many events as there are."""
    counts = counts_of(rows, EXACT)
    found = best_threshold(counts, **asked, **limits, **daily, prevalence=share)
    if not counts.n_pos or not counts.n_neg:
        assert found.reason in ("empty", "no_positives", "no_negatives")
        return
    expected = by_looking(rows, asked, {**limits, **daily}, share)
    if expected is None:
        assert found.reason in ("no_variation", "infeasible")
        return

    check(found, expected, 1e-9)
    assert found.confusion == confusion_at(at_prevalence(counts, share), found.threshold)


@given(st.one_of(events, weighted_events), criteria, limit_sets, dailies)
def test_undefined_says_why(rows, asked, limits, daily):
    """Each reason holds exactly when it should, and never comes with numbers."""
    pos, neg = split(rows)
    found = best_threshold(counts_of(rows, EXACT), **asked, **limits, **daily)
    by_cost = isinstance(asked["by"], CostMatrix)
    both = asked["by"] in ("informedness", "mcc", "closest_to_corner")
    if not pos and not neg:
        want = "empty"
    elif not pos and not by_cost:
        want = "no_positives"
    elif not neg and (both or "max_fpr" in limits):
        want = "no_negatives"
    elif by_looking(rows, asked, {}) is None:
        want = "no_variation"
    else:
        kept = by_looking(rows, asked, {**limits, **daily})
        want = "infeasible" if kept is None else None

    assert found.reason == want
    if want is not None:
        numbers = (found.threshold, found.value, found.low, found.high)
        assert all(math.isnan(number) for number in numbers)
        assert (found.confusion, found.n_tied) == (None, 0)


@pytest.mark.parametrize("by", [*NAMES, CostMatrix(tp=-5, fn=1, fp=3, tn=-1)])
def test_each_criterion_on_longer_streams(by):
    """The same on streams with positives above negatives, where criteria disagree."""
    rng = np.random.default_rng(53)
    asked = {"by": by, "beta": 2.0} if by == "f_beta" else {"by": by}
    for _ in range(60):
        n_pos, n_neg = rng.integers(5, 40, 2)
        pos, neg = rng.binomial(24, 0.6, n_pos) / 24, rng.binomial(24, 0.4, n_neg) / 24
        rows = [*((1, float(s)) for s in pos), *((0, float(s)) for s in neg)]
        for limits in ({}, {"max_fpr": 0.2}):
            found = best_threshold(counts_of(rows, EXACT), **asked, **limits)
            check(found, by_looking(rows, asked, limits))


def stream(rng):
    """Return labels of both classes and scores that tie."""
    n = int(rng.integers(3, 40))
    labels = rng.integers(0, 2, n)
    labels[:2] = 0, 1
    return labels, rng.integers(0, 9, n) / 8


def test_scikit_learn_finds_nothing_better():
    """Its curves hold no better F1, Youden's J, MCC or recall within limits."""
    rng = np.random.default_rng(50)
    for _ in range(60):
        labels, scores = stream(rng)
        counts = counts_of(zip(labels, scores, strict=True), EXACT)
        fpr, tpr, thresholds = sk.roc_curve(labels, scores, drop_intermediate=False)
        flags = scores >= thresholds[:, None]
        f1 = [sk.f1_score(labels, flag, zero_division=0) for flag in flags]
        assert best_threshold(counts, by="f1").value == pytest.approx(max(f1))
        assert best_threshold(counts, by="informedness").value == pytest.approx(
            max(tpr - fpr), abs=TOL
        )
        mcc = [sk.matthews_corrcoef(labels, flag) for flag in flags[1:-1]]
        if mcc:
            assert best_threshold(counts, by="mcc").value == pytest.approx(max(mcc), abs=TOL)
        within = best_threshold(counts, by="recall", max_fpr=0.2)
        assert within.value == max(tpr[fpr <= 0.2])
        assert within.threshold == thresholds[np.argmax(np.where(fpr <= 0.2, tpr, -1))]
        check_with_precision(counts, labels, scores)


def check_with_precision(counts, labels, scores):
    """Compare the highest recall of a precision with the one on scikit-learn's curve."""
    precision, recall, _ = sk.precision_recall_curve(labels, scores)
    enough = precision[:-1] >= 0.75  # the last point is invented
    found = best_threshold(counts, by="recall", min_precision=0.75)
    if enough.any():
        assert found.value == max(recall[:-1][enough])
    else:
        assert found.reason == "infeasible"


def rest(found):
    """Return what must not depend on the form of the input."""
    return found.threshold, found.low, found.high, found.n_tied, found.reason


@given(events, criteria, limit_sets, st.randoms())
def test_order_and_merging_change_nothing(rows, asked, limits, random):
    """Rows in any order, and in two parts, give the same."""
    whole = best_threshold(counts_of(rows, EXACT), **asked, **limits)
    mixed = random.sample(rows, len(rows))
    half = len(rows) // 2
    merged = histogram_of(mixed[:half], EXACT) + histogram_of(mixed[half:], EXACT)
    again = best_threshold(threshold_counts(merged), **asked, **limits)

    assert rest(again) == pytest.approx(rest(whole), nan_ok=True, abs=0)
    assert again.confusion == whole.confusion


@given(events, criteria, limit_sets)
def test_thresholds_move_with_a_monotone_transform(rows, asked, limits):
    """On the exact scale only the order of the scores matters."""
    plain = best_threshold(counts_of(rows, EXACT), **asked, **limits)
    cubed = best_threshold(
        counts_of([(y, 8 * s**3 + s - 2) for y, s in rows], EXACT), **asked, **limits
    )

    def moved(threshold):
        return 8 * threshold**3 + threshold - 2

    assert cubed.threshold == pytest.approx(moved(plain.threshold), nan_ok=True, abs=0)
    assert cubed.low == pytest.approx(moved(plain.low), nan_ok=True, abs=0)
    assert cubed.high == pytest.approx(moved(plain.high), nan_ok=True, abs=0)
    assert (cubed.n_tied, cubed.reason) == (plain.n_tied, plain.reason)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(1, 4)), max_size=20),
    criteria,
    limit_sets,
    dailies,
)
def test_a_weight_is_a_repetition(rows, asked, limits, daily):
    """Of whole weights; and a common factor of all weights changes no threshold."""
    repeated = [(y, s / 8) for y, s, times in rows for _ in range(times)]
    weighted = [(y, s / 8, float(times)) for y, s, times in rows]
    want = best_threshold(counts_of(repeated, EXACT), **asked, **limits, **daily)
    found = best_threshold(counts_of(weighted, EXACT), **asked, **limits, **daily)
    tenths = [(y, s, weight / 10) for y, s, weight in weighted]
    scaled = best_threshold(counts_of(tenths, EXACT), **asked, **limits)
    unscaled = best_threshold(counts_of(repeated, EXACT), **asked, **limits)

    assert rest(found) == pytest.approx(rest(want), nan_ok=True, abs=0)
    assert found.value == pytest.approx(want.value, nan_ok=True, abs=TOL)
    assert rest(scaled) == pytest.approx(rest(unscaled), nan_ok=True, abs=0)


@given(events, st.one_of(st.sampled_from(["informedness", "mcc", "closest_to_corner"]), matrices))
def test_swapped_labels_and_scores_give_the_same_value(rows, by):
    """Who is not flagged takes the place of who is, hits that of negatives left alone."""
    swapped = [(1 - y, -s) for y, s in rows]
    other = by
    if isinstance(by, CostMatrix):
        other = CostMatrix(tp=by.tn, fn=by.fp, fp=by.fn, tn=by.tp)
    found = best_threshold(counts_of(rows, EXACT), by=by)
    again = best_threshold(counts_of(swapped, EXACT), by=other)

    assert again.value == pytest.approx(found.value, nan_ok=True, abs=TOL)
    assert again.n_tied == found.n_tied


@given(events, matrices, small, small, st.sampled_from([0.1, 3.0, 1e-30, 1e30]))
def test_equivalent_costs_give_the_same_answer(rows, costs, of_pos, of_neg, factor):
    """What a class costs more, flagged or not, and the unit move neither threshold nor range."""
    counts = counts_of(rows, EXACT)
    more = CostMatrix(
        tp=(costs.tp + of_pos) * factor,
        fn=(costs.fn + of_pos) * factor,
        fp=(costs.fp + of_neg) * factor,
        tn=(costs.tn + of_neg) * factor,
    )
    found, again = best_threshold(counts, by=costs), best_threshold(counts, by=more)

    assert rest(again) == pytest.approx(rest(found), nan_ok=True, abs=0)


@given(st.one_of(events, weighted_events), matrices)
def test_the_value_of_costs_is_the_total(rows, costs):
    """No threshold on the lattice, nobody and everybody costs less."""
    counts = counts_of(rows, EXACT)
    assume(counts.n_samples)
    found = best_threshold(counts, by=costs)

    assert found.value == total_cost(counts, costs, found.threshold)
    totals = [total_cost(counts, costs, at) for at in (math.inf, -math.inf, *np.arange(9) / 8)]
    assert found.value <= min(totals) + TOL * (1 + abs(found.value))


@given(st.one_of(events, weighted_events), criteria, limit_sets)
def test_every_threshold_in_the_range_is_within_one_percent(rows, asked, limits):
    """Also those between scores, and of scores that are at least as good the best is above."""
    counts = counts_of(rows, EXACT)
    found = best_threshold(counts, **asked, **limits)
    assume(found.reason is None)
    best = quality(confusion_by_rows(rows, found.threshold), **asked)
    assert found.low <= found.threshold <= found.high
    for sixteenth in range(18):
        at = sixteenth / 16
        if found.low <= at <= found.high:
            point = confusion_by_rows(rows, at)
            assert keeps(point, limits, 0)
            assert is_near(quality(point, **asked), best, asked["by"])


def test_ties_go_to_the_fewest_flagged():
    """Worked example: two thresholds of the same F1, and what recall adds nothing to is left."""
    counts = counts_of([(1, 0.9), (0, 0.7), (0, 0.6), (1, 0.5), (0, 0.4)], EXACT)
    by_f1 = best_threshold(counts, by="f1")
    assert (by_f1.threshold, by_f1.n_tied, by_f1.value) == (0.9, 2, pytest.approx(2 / 3))
    assert (by_f1.low, by_f1.high) == (0.9, 0.9)
    within = best_threshold(counts, by="recall", max_alert_rate=0.6)
    assert (within.threshold, within.n_tied) == (0.9, 3)
    assert (within.low, within.high) == (0.6, 0.9)
    unlimited = best_threshold(counts, by="recall")
    assert (unlimited.threshold, unlimited.n_tied, unlimited.low) == (0.5, 2, 0.4)


def test_nobody_is_a_candidate_and_everybody_too():
    """A limit that only nobody keeps, and costs for which everybody is cheapest."""
    counts = counts_of([(0, 0.9), (1, 0.7), (0, 0.2)], EXACT)
    nobody = best_threshold(counts, by="recall", max_fpr=0.1)
    assert (nobody.threshold, nobody.value, nobody.reason) == (math.inf, 0.0, None)
    assert (nobody.confusion.tp, nobody.confusion.fp) == (0, 0)
    everybody = best_threshold(counts, by=CostMatrix(fn=1, fp=-1))
    assert (everybody.threshold, everybody.value) == (0.2, -2.0)
    assert best_threshold(counts, by=CostMatrix(fn=1, fp=5)).threshold == math.inf
    # Precision is 0 / 0 for nobody, so that nobody keeps no limit on it.
    assert best_threshold(counts, by="recall", min_precision=0.6).reason == "infeasible"
    assert best_threshold(counts, by="mcc", max_alert_rate=0).reason == "infeasible"


def test_a_cost_of_zero_and_a_benefit():
    """Worked example of the range: 1 % of what is above perfect decisions, whatever the sign."""
    rows = [(1, 0.9)] * 100 + [(0, 0.8)] + [(1, 0.7)] * 100 + [(0, 0.6)] * 101 + [(1, 0.5)]
    counts = counts_of(rows, EXACT)
    # A false alarm each at 0.7, where one hit is missed: 2 above perfect, 101 more at 0.6.
    costs = CostMatrix(tp=-5, fn=1, fp=50, tn=0)
    found = best_threshold(counts, by=costs)
    assert (found.threshold, found.value) == (0.7, -5 * 200 + 50 + 1)
    assert (found.low, found.high) == (0.7, 0.7)
    balanced = CostMatrix(tp=-5, fn=1, fp=50, tn=9.35)
    assert abs(best_threshold(counts, by=balanced).value) < 1000
    assert best_threshold(counts, by=balanced).threshold == 0.7
    # Perfect decisions: only what is as good is near.
    perfect = best_threshold(counts_of([(1, 0.9), (0, 0.2)], EXACT), by=CostMatrix(fn=1, fp=1))
    assert (perfect.threshold, perfect.value, perfect.low, perfect.high) == (0.9, 0.0, 0.9, 0.9)
    # One false alarm more among 200 costs less than 1 % of them.
    many = [(0, 0.9)] * 200 + [(1, 0.9)] * 900 + [(0, 0.8)] + [(1, 0.7)] + [(0, 0.6)] * 9
    near = best_threshold(counts_of(many, EXACT), by=CostMatrix(fn=1, fp=1))
    assert (near.threshold, near.low, near.high, near.n_tied) == (0.9, 0.7, 0.9, 2)


def test_four_billion_of_each():
    """Products of four counts exceed every integer type; MCC and costs stay right."""
    half = 2 * 10**9
    pos, neg = [half, half, 5], [5, half - 5, half]  # from the highest score down
    bins = EXACT.bins([0.2, 0.5, 0.8])
    counts = threshold_counts(
        ScoreHistogram(EXACT, WideCounts(bins, np.array([neg[::-1], pos[::-1]])))
    )
    points = [(sum(pos[:k]), sum(neg[:k]), sum(pos[k:]), sum(neg[k:])) for k in range(len(pos) + 1)]
    for by in ("mcc", "informedness", "f1", CostMatrix(tp=-5, fn=1, fp=50, tn=0)):
        qualities = [quality(point, by) for point in points]
        best = max(one for one in qualities if one is not None)
        found = best_threshold(counts, by=by)
        assert found.threshold == (math.inf, 0.8, 0.5, 0.2)[qualities.index(best)]
        if by == "mcc":
            assert found.value**2 == pytest.approx(float(best), rel=TOL)
        if isinstance(by, CostMatrix):
            assert found.value == -5 * half + (half + 5) + 50 * 5


def test_alerts_a_day():
    """Worked example: 30 flagged in ten days are three a day, at another prevalence more."""
    rows = [(1, 0.9)] * 20 + [(0, 0.9)] * 10 + [(1, 0.5)] * 20 + [(0, 0.5)] * 50
    counts = counts_of(rows, EXACT)
    three = best_threshold(counts, by="recall", max_alerts_per_day=3, days=10)
    assert (three.threshold, three.value) == (0.9, 0.5)
    assert best_threshold(counts, by="recall", max_alerts_per_day=2.9, days=10).value == 0
    assert best_threshold(counts, by="recall", max_alerts_per_day=10, days=10).value == 1
    # Of 100 events 80 positives: 40 + 20 / 6 are flagged at 0.9.
    shifted = {"by": "recall", "days": 10, "prevalence": 0.8}
    assert best_threshold(counts, max_alerts_per_day=4.33, **shifted).value == 0
    assert best_threshold(counts, max_alerts_per_day=4.34, **shifted).value == 0.5


def test_reasons_of_a_choice_between_nobody_and_everybody():
    """MCC is 0 / 0 at both, whatever the limits; where it is defined a limit can be in the way."""
    constant = counts_of([(1, 0.5), (0, 0.5)], EXACT)
    assert best_threshold(constant, by="mcc").reason == "no_variation"
    assert best_threshold(constant, by="mcc", max_fpr=0).reason == "no_variation"
    varying = counts_of([(1, 0.5), (0, 0.6), (0, 0.2)], EXACT)
    assert best_threshold(varying, by="mcc").threshold == 0.5
    assert best_threshold(varying, by="mcc", max_fpr=0).reason == "infeasible"


def test_rounding_is_not_in_the_way_of_a_limit():
    """Weights of 0.1 and 0.2 are 0.3 of 1, though their sum is a little more."""
    rows = [(1, 0.9, 1.0), (0, 0.8, 0.1), (0, 0.7, 0.2), (1, 0.6, 1.0), (0, 0.5, 0.7)]
    counts = counts_of(rows, EXACT)
    assert counts.fpr[3] > 0.3
    assert best_threshold(counts, by="recall", max_fpr=0.3).threshold == 0.6


def test_counts_at_another_prevalence_without_a_class():
    """Their negatives are unknown; that is said, not an error."""
    for rows, want in (([(1, 0.5)], "no_negatives"), ([(0, 0.5)], "no_positives"), ([], None)):
        counts = at_prevalence(counts_of(rows, EXACT), 0.3)
        for by in ("f1", "recall", "mcc", CostMatrix(fn=1, fp=1)):
            found = best_threshold(counts, by=by)
            assert found.reason == (want or "no_positives")
            assert best_threshold(counts_of(rows, EXACT), by=by, prevalence=0.3).reason in (
                want,
                "empty",
            )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"by": "f2"},
            "by must be a CostMatrix or one of f1, f_beta, informedness, mcc, closest_to_corner,"
            " recall, got 'f2'",
        ),
        ({"by": "f_beta"}, "beta must be given for by='f_beta', got None"),
        ({"by": "f1", "beta": 2}, "beta must only be given for by='f_beta', got 2"),
        ({"by": "f_beta", "beta": -1}, "beta must be in [0, 1e+06], got -1.0"),
        ({"by": "f_beta", "beta": math.nan}, "beta must be finite, got nan"),
        ({"by": "mcc", "min_precision": 0}, "min_precision must be in (0, 1], got 0.0"),
        ({"by": "mcc", "min_precision": 1.5}, "min_precision must be in (0, 1], got 1.5"),
        ({"by": "mcc", "max_fpr": -0.1}, "max_fpr must be in [0, 1], got -0.1"),
        ({"by": "mcc", "max_alert_rate": 2}, "max_alert_rate must be in [0, 1], got 2.0"),
        ({"by": "mcc", "max_alert_rate": math.nan}, "max_alert_rate must be finite, got nan"),
        (
            {"by": "mcc", "max_alerts_per_day": 5},
            "days must be given with max_alerts_per_day, got None",
        ),
        ({"by": "mcc", "days": 5}, "max_alerts_per_day must be given with days, got None"),
        (
            {"by": "mcc", "days": 5, "max_alerts_per_day": -1},
            "max_alerts_per_day must not be negative, got -1",
        ),
        ({"by": "mcc", "days": 0, "max_alerts_per_day": 1}, "days must be positive, got 0"),
        ({"by": "mcc", "prevalence": 1}, "prevalence must be in (0, 1), got 1.0"),
    ],
)
def test_wrong_parameters_are_named(asked, message):
    """Whatever the counts are, empty ones included."""
    for rows in ([], [(1, 0.5), (0, 0.2)]):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
            best_threshold(counts_of(rows, EXACT), **asked)
        assert str(caught.value) == message


def test_the_result_is_a_plain_value():
    """Equal results are equal, and an undefined one can be told from a chosen one."""
    counts = counts_of([(1, 0.9), (0, 0.2)], EXACT)
    assert best_threshold(counts, by="f1") == best_threshold(counts, by="f1")
    assert BestThreshold.undefined("empty").reason == "empty"
