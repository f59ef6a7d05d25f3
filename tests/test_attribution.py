"""What a change is due to: against fractions over all six orders, and where the answer is plain."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import counts_of, events, histogram_of, lattice, weighted_events

from streamauc import (
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    average_precision,
    compare,
    confusion_at,
    threshold_counts,
)
from streamauc.change.attribution import shapley, shown
from streamauc.storage import WideCounts

EXACT = Scale.exact()
BINNED = Scale.probability(bits=3)
AT_METRICS = ("precision", "recall", "fpr", "alert_rate")
PLAYERS = ("prevalence", "positives", "negatives")
both = st.lists(st.tuples(st.integers(0, 1), lattice), max_size=40).filter(
    lambda rows: {label for label, _ in rows} == {0, 1}
)
lattices = st.integers(0, 8).map(lambda k: k / 8)


def attributed(reference, current, scale=EXACT, **settings):
    """Return the attribution between two lists of rows."""
    sides = histogram_of(reference, scale), histogram_of(current, scale)
    return compare(*sides, independent=True, **settings).attribution


def parts(found):
    """Return the three parts and the total."""
    return [found.prevalence, found.positives, found.negatives, found.total]


def by_orders(value):
    """Average what each player's swap changes over the six orders; then the total."""
    found = [Fraction(0)] * 3
    for order in itertools.permutations(range(3)):
        state = [0, 0, 0]
        for player in order:
            before = value(*state)
            state[player] = 1
            found[player] += Fraction(value(*state)) - before
    return [part / 6 for part in found] + [Fraction(value(1, 1, 1)) - value(0, 0, 0)]


class Mixtures:
    """The metrics of every mixture, in fractions, event by event."""

    def __init__(self, reference, current, threshold=Fraction(1, 2)):
        self.sides = [
            [[Fraction(s) for y, s in rows if y == label] for label in (0, 1)]
            for rows in (reference, current)
        ]
        self.threshold = threshold

    def classes(self, i, j, k):
        """Return the scores of both classes and the prevalence."""
        neg, pos = self.sides[i]
        return self.sides[j][1], self.sides[k][0], Fraction(len(pos), len(pos) + len(neg))

    def rates(self, i, j, k, threshold):
        """Return the share of all events that are flagged and positive, and negative."""
        pos, neg, share = self.classes(i, j, k)
        tpr = Fraction(sum(s >= threshold for s in pos), len(pos))
        fpr = Fraction(sum(s >= threshold for s in neg), len(neg))
        return share * tpr, (1 - share) * fpr

    def precision(self, i, j, k):
        """Return the precision, at a threshold lowered until somebody is flagged."""
        pos, neg, _ = self.classes(i, j, k)
        hits, false = self.rates(i, j, k, min(self.threshold, max(pos + neg)))
        return hits / (hits + false)

    def recall(self, i, j, k):
        """Return the recall."""
        return self.rates(i, j, k, self.threshold)[0] / self.classes(i, j, k)[2]

    def fpr(self, i, j, k):
        """Return the false positive rate."""
        return self.rates(i, j, k, self.threshold)[1] / (1 - self.classes(i, j, k)[2])

    def alert_rate(self, i, j, k):
        """Return the share of events that are flagged."""
        return sum(self.rates(i, j, k, self.threshold))

    def average_precision(self, i, j, k):
        """Return the step sum."""
        pos = self.classes(i, j, k)[0]
        total = Fraction(0)
        for score in pos:
            hits, false = self.rates(i, j, k, score)
            total += hits / (hits + false) / len(pos)
        return total


@settings(max_examples=60)
@given(both, both, lattices)
def test_the_parts_are_the_average_over_all_orders(first, second, threshold):
    """Every metric, in fractions; the limit where a mixture flags nobody included."""
    found = attributed(first, second, threshold=threshold)
    oracle = Mixtures(first, second, Fraction(threshold))
    flagged = [any(s >= threshold for _, s in rows) for rows in (first, second)]

    for name in AT_METRICS:
        if name == "precision" and not all(flagged):
            continue
        want = [float(part) for part in by_orders(getattr(oracle, name))]
        assert parts(found[f"{name}@{threshold:g}"]) == pytest.approx(want, abs=1e-14), name
    want = [float(part) for part in by_orders(oracle.average_precision)]
    assert parts(found["average_precision"]) == pytest.approx(want, abs=1e-13)


@given(both, both, st.sampled_from([EXACT, BINNED]))
def test_the_parts_add_up_and_the_total_is_the_windows_own(first, second, scale):
    """To 1e-15; the values of the two sides are theirs to the last bit."""
    found = attributed(first, second, scale, threshold=0.5)
    a, b = counts_of(first, scale), counts_of(second, scale)

    assert found["average_precision"].total == average_precision(b) - average_precision(a)
    for name in AT_METRICS:
        at = [getattr(confusion_at(counts, 0.5), name) for counts in (a, b)]
        assert found[f"{name}@0.5"].total == pytest.approx(at[1] - at[0], abs=0, nan_ok=True)
    for part in found.values():
        if not math.isnan(part.total):
            total = part.prevalence + part.positives + part.negatives
            assert abs(total - part.total) <= 1e-15


@settings(max_examples=60)
@given(both, both)
def test_binned_mixtures_are_average_precisions_at_a_prevalence(first, second):
    """The mixture of one side's positives with the other's negatives, by the public functions."""
    pair = [histogram_of(rows, BINNED) for rows in (first, second)]
    every = pair[0] + pair[1]  # all bins that either has, from which both are cut
    tables = [np.zeros_like(every.counts) for _ in pair]
    for table, side in zip(tables, pair, strict=True):
        table[:, np.searchsorted(every.bins, side.bins)] = side.counts

    def value(i, j, k):
        mixed = np.stack([tables[k][0], tables[j][1]])
        counts = threshold_counts(ScoreHistogram(BINNED, WideCounts(every.bins, mixed)))
        totals = tables[i].sum(axis=1)
        return Fraction(average_precision(counts, prevalence=totals[1] / totals.sum()))

    want = [float(part) for part in by_orders(value)]
    assert parts(attributed(first, second, BINNED)["average_precision"]) == pytest.approx(
        want, abs=1e-12
    )


def test_thousands_of_bins_are_the_same_to_the_last_bit():
    """Sides that fill different bins: totals are the windows' own, and no change has no part."""
    rng = np.random.default_rng(3)
    scale = Scale.probability()
    labels = rng.random(20_000) < 0.2
    scores = 1 / (1 + np.exp(-rng.normal(-1, 3, labels.size) - labels))
    first = ScoreHistogram.from_scores(labels, scores, scale=scale)
    second = ScoreHistogram.from_scores(labels[:9_000], scores[:9_000] ** 1.1, scale=scale)
    more = ScoreHistogram.from_scores(
        np.concatenate([labels, *[labels[~labels]] * 6]),
        np.concatenate([scores, *[scores[~labels]] * 6]),
        scale=scale,
    )
    totals = [average_precision(threshold_counts(one)) for one in (first, second)]
    found = compare(first, second, independent=True).attribution["average_precision"]
    ratio = compare(first, more, independent=True).attribution["average_precision"]

    assert len(np.union1d(first.bins, second.bins)) > max(first.n_bins, second.n_bins) > 2_000
    assert found.total == totals[1] - totals[0]
    assert parts(ratio) == [ratio.total, 0, 0, ratio.total]


@settings(max_examples=60)
@given(
    st.one_of(events, weighted_events),
    st.one_of(events, weighted_events),
    st.one_of(lattices, st.floats(-0.5, 1.5)),
    st.sampled_from([EXACT, BINNED, Scale.real(bits=2), BINNED.with_thresholds((0.3,))]),
)
def test_points_are_the_confusion_matrices(first, second, threshold, scale):
    """A threshold on an edge, inside a bin and beyond all scores: rates to the last bit."""
    found = attributed(first, second, scale, threshold=threshold)
    a, b = counts_of(first, scale), counts_of(second, scale)

    for name in AT_METRICS:
        at = [getattr(confusion_at(counts, threshold), name) for counts in (a, b)]
        total = found[f"{name}@{shown(threshold)}"].total
        assert total == pytest.approx(at[1] - at[0], rel=0, abs=0, nan_ok=True), name


def test_more_false_alarms_are_the_negatives_doing():
    """20 positives and 10,000 negatives, 20 more false alarms: precision 0.50 to 0.33."""
    quiet = [(1, 0.9)] * 20 + [(0, 0.9)] * 20 + [(0, 0.1)] * 9_980
    noisy = [(1, 0.9)] * 20 + [(0, 0.9)] * 40 + [(0, 0.1)] * 9_960
    found = attributed(quiet, noisy, BINNED.with_thresholds((0.7,)))

    assert parts(found["precision@0.7"]) == [0, 0, 20 / 60 - 0.5, 20 / 60 - 0.5]
    assert parts(found["recall@0.7"]) == [0, 0, 0, 0]
    assert parts(found["fpr@0.7"]) == [0, 0, 40 / 10_000 - 20 / 10_000, 0.002]
    ap = found["average_precision"]
    assert (ap.prevalence, ap.positives, ap.negatives) == (0, 0, ap.total)
    assert ap.total < 0


@pytest.mark.parametrize("scale", [EXACT, BINNED])
def test_more_negatives_with_the_same_scores_are_the_class_ratio(scale):
    """Ten times the negatives: nothing but the class ratio moved, exactly."""
    rng = np.random.default_rng(1)
    positives = [(1, score) for score in rng.beta(3, 2, 300)]
    negatives = [(0, score) for score in rng.beta(2, 3, 700)]
    sides = [histogram_of(positives + negatives * n, scale) for n in (1, 10)]
    result = compare(*sides, independent=True, threshold=(0.25, 0.5, 0.75))

    assert result.roc_auc_difference == 0
    for name, found in result.attribution.items():
        moves = not name.startswith(("recall", "fpr"))
        assert (found.total != 0) == moves, name
        assert (found.prevalence, found.positives, found.negatives) == (found.total, 0, 0), name


def test_a_worse_model_is_the_scores_doing():
    """The same class ratio and scores that rank less well: no part for the ratio."""
    rng = np.random.default_rng(2)
    good, bad = (
        [(1, x) for x in rng.beta(a, 2, 300)] + [(0, x) for x in rng.beta(2, a, 700)]
        for a in (6, 3)
    )
    found = attributed(good, bad, BINNED, threshold=0.5)

    for name, part in found.items():
        assert part.prevalence == 0, name
    ap = found["average_precision"]
    assert ap.positives < 0
    assert ap.negatives < 0


def test_a_mixture_that_flags_nobody_has_the_precision_of_the_first_in_line():
    """From one hit to one false alarm; which class stands next below the threshold decides."""
    hit = [(1, 0.9), (0, 0.1)]
    for next_negative, first_in_line in ((0.2, 0.0), (0.0, 1.0)):
        # The mixture of these negatives with those positives flags nobody.
        before = [(1, 0.9), (0, next_negative)]
        after = [(1, 0.1), (0, 0.9)]
        found = attributed(before, after, threshold=0.5)["precision@0.5"]
        # Two mixtures, with either class ratio (the same here), have that value.
        worth = [1, first_in_line, 0.5, 0]  # reference; positives swapped; negatives; both
        positives = ((worth[1] - worth[0]) + (worth[3] - worth[2])) / 2
        negatives = ((worth[2] - worth[0]) + (worth[3] - worth[1])) / 2
        assert parts(found) == [0, positives, negatives, -1]
    tied = [(1, 0.9), (0, 0.1), (0, 0.1), (0, 0.1)]
    found = attributed(tied, [(1, 0.1), (0, 0.9)], threshold=0.5)["precision@0.5"]
    want = by_orders(Mixtures(tied, [(1, 0.1), (0, 0.9)]).precision)
    assert parts(found) == pytest.approx([float(part) for part in want], abs=1e-15)
    assert math.isnan(attributed(hit, hit, threshold=0.95)["precision@0.95"].total)


@pytest.mark.parametrize("first", [[], [(1, 0.5)], [(0, 0.5)]])
@pytest.mark.parametrize("second", [[], [(1, 0.5)], [(0, 0.5)], [(1, 0.5), (0, 0.5)]])
def test_missing_classes_give_nan_and_no_error(first, second):
    """The total is defined where both sides are; parts need the classes of both."""
    found = attributed(first, second, threshold=0.25)
    a, b = counts_of(first, EXACT), counts_of(second, EXACT)
    totals = {"average_precision": average_precision(b) - average_precision(a)} | {
        f"{name}@0.25": getattr(confusion_at(b, 0.25), name) - getattr(confusion_at(a, 0.25), name)
        for name in AT_METRICS
    }

    for name, part in found.items():
        assert part.total == pytest.approx(totals[name], nan_ok=True), name
        three = parts(part)[:3]
        assert all(map(math.isnan, three)) or sum(three) == pytest.approx(part.total)


@settings(max_examples=60)
@given(weighted_events, weighted_events, st.sampled_from([EXACT, BINNED]))
def test_weights_are_repetition(first, second, scale):
    """Weight 3 is three events on the exact scale; a common factor of a side is none anywhere."""
    whole = [[(y, s) for y, s, w in rows for _ in range(int(4 * w))] for rows in (first, second)]
    weighted = attributed(first, second, scale, threshold=0.5)
    scaled = attributed(first, [(y, s, 8 * w) for y, s, w in second], scale, threshold=0.5)
    repeated = attributed(*whole, scale, threshold=0.5)

    for name, part in weighted.items():
        assert parts(scaled[name]) == pytest.approx(parts(part), abs=1e-9, nan_ok=True)
        if scale is EXACT or name != "average_precision":
            assert parts(repeated[name]) == pytest.approx(parts(part), abs=1e-12, nan_ok=True)


@given(events, events)
def test_unit_weights_are_no_weights(first, second):
    """From bins too, where the average precision counts single events."""
    plain = attributed(first, second, BINNED, threshold=0.5)
    weighted = attributed(
        [(*row, 1.0) for row in first], [(*row, 1.0) for row in second], BINNED, threshold=0.5
    )

    for name, part in plain.items():
        assert parts(weighted[name]) == pytest.approx(parts(part), abs=1e-12, nan_ok=True)


@given(st.lists(st.floats(-1, 1), min_size=8, max_size=8))
def test_shapley_of_any_game(values):
    """Against the six orders, in fractions, with the sum kept."""
    found = shapley(np.array(values).reshape(2, 2, 2))
    want = by_orders(lambda i, j, k: Fraction(values[4 * i + 2 * j + k]))

    assert parts(found) == pytest.approx([float(part) for part in want], abs=1e-15)
    assert abs(math.fsum(parts(found)[:3]) - found.total) <= 1e-15


@pytest.mark.parametrize("scale", [EXACT, BINNED])
@pytest.mark.parametrize("million", [10**6 + 3, 10**9 + 7, 10**9 + 9])
def test_huge_counts_are_exact(scale, million):
    """Thousands of millions of events: no overflow, and what did not change has no part."""
    sides = [
        ScoreHistogram(scale, WideCounts(scale.bins([0.2, 0.8]), np.array(table) * million))
        for table in ([[3, 1], [1, 3]], [[21, 7], [1, 3]])
    ]
    result = compare(*sides, independent=True, threshold=0.75)

    for name in ("precision@0.75", "alert_rate@0.75", "average_precision"):
        found = result.attribution[name]
        assert parts(found) == [found.total, 0, 0, found.total]
    assert result.attribution["precision@0.75"].total == 0.3 - 0.75


def test_thresholds_are_the_scales_own_unless_given():
    """Keys read like the catalogue's; several thresholds, each with four metrics."""
    rows = [(1, 0.9), (0, 0.1)]
    scale = Scale.probability(thresholds=(0.7, 0.05))
    names = list(attributed(rows, rows, scale))

    assert names[0] == "average_precision"
    assert names[1:] == [f"{name}@{at}" for at in ("0.05", "0.7") for name in AT_METRICS]
    assert list(attributed(rows, rows, scale, threshold=())) == ["average_precision"]
    third = 1 / 3
    assert f"recall@{third!r}" in attributed(rows, rows, scale, threshold=np.array([third, 1]))
    assert "recall@1" in attributed(rows, rows, scale, threshold=1)


def test_a_threshold_inside_a_bin_is_moved_to_its_edge():
    """On both sides, so that they are cut alike."""
    first, second = [(1, 0.54), (0, 0.3)], [(1, 0.551), (0, 0.53), (0, 0.3)]
    counts: list[ThresholdCounts] = [counts_of(rows, BINNED) for rows in (first, second)]
    found = attributed(first, second, BINNED, threshold=0.55)["precision@0.55"]
    own = [confusion_at(one, 0.55).precision for one in counts]

    assert own == [1, 0.5]
    assert found.total == own[1] - own[0]
