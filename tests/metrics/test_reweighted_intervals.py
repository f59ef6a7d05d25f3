"""Average precision at another class ratio: the variance event by event, and how often it holds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import counts_of, events, weighted_events
from scipy import special, stats

from streamauc import Scale
from streamauc.metrics import catalogue
from streamauc.metrics.reweighted_intervals import average_precision_variance_at
from streamauc.metrics.scalars import average_precision

EXACT = Scale.exact()
BINNED = Scale.probability(bits=3)
prevalences = st.sampled_from([0.001, 0.05, 0.5, 0.95])


def enough(rows):
    """Return whether both classes would vary as much as two equal samples."""
    for label in (0, 1):
        weights = np.array([row[2] if row[2:] else 1.0 for row in rows if row[0] == label])
        if not weights.sum() ** 2 >= 2 * (weights**2).sum() > 0:
            return False
    return True


def jackknife(rows, prevalence):
    """Return the infinitesimal jackknife's variance: each event a trifle heavier, one by one.

    An event adds its derivative times its weight, squared; each class is corrected as a mean is.
    """
    rows = [row if row[2:] else (*row, 1.0) for row in rows]
    rows = [row for row in rows if row[2]]
    total = 0.0
    for label in (0, 1):
        weights = np.array([w for y, _, w in rows if y == label])
        moves = []
        for place, (y, s, w) in enumerate(rows):
            if y != label:
                continue
            ends = []
            for factor in (1 + 1e-5, 1 - 1e-5):
                heavier = [*rows[:place], (y, s, w * factor), *rows[place + 1 :]]
                ends.append(average_precision(counts_of(heavier, EXACT), prevalence=prevalence))
            moves.append((ends[0] - ends[1]) / 2e-5)
        share = (weights**2).sum() / weights.sum() ** 2
        total += sum(move * move for move in moves) / (1 - share)
    return total


@given(st.one_of(events, weighted_events), prevalences)
def test_the_variance_is_that_of_moving_each_event(rows, prevalence):
    """Ties and weights included; undefined with fewer than two of a class."""
    found = average_precision_variance_at(counts_of(rows, EXACT), prevalence=prevalence)
    if not enough(rows):
        assert math.isnan(found)
        return
    assert found == pytest.approx(jackknife(rows, prevalence), rel=1e-4, abs=1e-9)


@given(st.one_of(events, weighted_events), prevalences, st.sampled_from([EXACT, BINNED]))
def test_it_holds_its_value_and_widens_with_the_level(rows, prevalence, scale):
    """Or is undefined with a note; one-sided where the positives come first."""
    counts = counts_of(rows, scale)
    ask = {"prevalence": prevalence}
    found = catalogue.interval(counts, "average_precision", **ask)
    if not enough(rows):
        assert math.isnan(found.low)
        assert found.note.startswith("undefined: fewer than two ")
        return
    narrow = catalogue.interval(counts, "average_precision", level=0.5, **ask)
    value = catalogue.value(counts, "average_precision", **ask)
    ends = [0, found.low, narrow.low, value, narrow.high, found.high, 1]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(ends)), ends


def test_weights_of_one_and_a_common_factor_change_nothing():
    """Weights only count relative to each other."""
    rng = np.random.default_rng(1)
    rows = [(y, s) for y in (0, 1) for s in rng.normal(y, 1, 40).round(1).tolist()]
    plain = catalogue.interval(counts_of(rows, EXACT), "average_precision", prevalence=0.02)
    for factor in (1.0, 8.0):
        counts = counts_of([(*row, factor) for row in rows], EXACT)
        found = catalogue.interval(counts, "average_precision", prevalence=0.02)
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
        assert found.note == plain.note


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "prevalence"),
    [
        (300, 300, 0.01),
        (300, 300, 0.001),
        (1_000, 1_000, 0.01),
        (3_000, 200, 0.5),
        (3_000, 30, 0.9),
        (100, 1_000, 0.01),
    ],
)
def test_it_holds_the_truth_at_another_class_ratio(n_pos, n_neg, prevalence):
    """In at least 92 of 100 samples of normal classes with an AUC of 0.8."""
    shift = math.sqrt(2) * stats.norm.ppf(0.8)
    grid = np.linspace(-8, 14, 20_001)
    tpr, fpr = stats.norm.sf(grid - shift), stats.norm.sf(grid)
    precision = tpr * prevalence / (tpr * prevalence + fpr * (1 - prevalence))
    truth = float(-np.trapezoid(precision, tpr))
    held = dict.fromkeys(("average_precision", "pr_area"), 0)
    labels = np.repeat([1, 0], [n_pos, n_neg])
    for seed in range(100):
        scores = np.random.default_rng(seed).normal(labels * shift)
        counts = counts_of(np.column_stack((labels, scores)), EXACT)
        for name in held:
            found = catalogue.interval(counts, name, prevalence=prevalence)
            held[name] += found.low <= truth <= found.high
    assert min(held.values()) >= 92, held


@given(st.one_of(events, weighted_events), st.sampled_from([None, 0.05]))
def test_the_area_has_the_reach_of_the_average_precision(rows, prevalence):
    """On the logit scale; within [0, 1] and around the area where the areas are at an end."""
    counts = counts_of(rows, EXACT)
    params = {} if prevalence is None else {"prevalence": prevalence}
    (area, of_area), (value, of_value) = (
        (catalogue.value(counts, name, **params), catalogue.interval(counts, name, **params))
        for name in ("pr_area", "average_precision")
    )
    assert math.isnan(of_area.low) == math.isnan(of_value.low)
    assume(not math.isnan(of_area.low))
    assert 0 <= of_area.low <= area + 1e-12
    assert area - 1e-12 <= of_area.high <= 1
    if max(area, value) < 1:
        ends = special.logit([of_area.low, of_area.high]) - special.logit(area)
        wanted = special.logit([of_value.low, of_value.high]) - special.logit(value)
        assert ends == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("times", "is_warned"), [(1, True), (20, False)])
def test_the_note_says_how_few_negatives_decide_it(times, is_warned):
    """Half of the value comes from scores that three of the negatives reach, or sixty."""
    rows = [(1, 0.9)] * 40 + [(0, 0.9)] * 3 + [(1, 0.2)] * 60 + [(0, 0.1)] * 90
    found = catalogue.interval(counts_of(rows * times, EXACT), "average_precision", prevalence=0.01)
    warning = "half of it comes from scores that 3 negatives reach, it may be too high"
    assert (warning in found.note) == is_warned


def test_a_perfect_order_is_no_certainty():
    """A negative that was not seen may come first."""
    rows = [(1, 0.9)] * 100 + [(0, 0.1)] * 100
    found = catalogue.interval(counts_of(rows, EXACT), "average_precision", prevalence=0.01)
    assert (found.low < 0.4, found.high) == (True, 1)
    assert found.note == "one-sided: the positives come first"


@pytest.mark.parametrize("n_pos", [10, 19, 20])
def test_with_few_positives_it_says_that_it_may_cover_less(n_pos):
    """Two cells of the README's table with 10 positives are below 92 %."""
    rows = [(1, 0.9), (0, 0.9), (1, 0.1), (0, 0.1)] * (n_pos // 2) + [(1, 0.9)] * (n_pos % 2)
    note = catalogue.interval(counts_of(rows, EXACT), "average_precision", prevalence=0.1).note
    assert ("fewer than 20 positives it may cover 87 %" in note) == (n_pos < 20)
