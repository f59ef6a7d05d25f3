"""What the best threshold reaches and where it is, by trying every threshold in fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import confusion_by_rows, counts_of, events, weighted_events

from streamauc import CostMatrix, Scale, best_threshold
from streamauc.metrics import catalogue

EXACT = Scale.exact()
COSTS = {"fn": 9.0, "fp": 1.0, "tp": -0.5, "tn": 0.25}


def ratio(part, whole):
    return Fraction(part) / whole if whole else None


def f_beta(beta, tp, fp, fn, _tn):
    square = Fraction(beta) ** 2
    if not tp + fn:  # no threshold is better than another
        return None
    return ratio((1 + square) * tp, (1 + square) * tp + square * fn + fp)


def signed_square_of_mcc(tp, fp, fn, tn):
    above = tp * tn - fp * fn
    return ratio(above * abs(above), (tp + fp) * (tn + fn) * (tp + fn) * (tn + fp))


def informedness(tp, fp, fn, tn):
    return ratio(tp, tp + fn) - ratio(fp, fp + tn) if tp + fn and fp + tn else None


def distance(tp, fp, fn, tn):
    found = informedness(tp, fp, fn, tn)
    return None if found is None else abs(found)


def minus_square_to_corner(tp, fp, fn, tn):
    return -(ratio(fn, tp + fn) ** 2 + ratio(fp, fp + tn) ** 2) if tp + fn and fp + tn else None


def minus_cost(tp, fp, fn, tn):
    cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    found = ratio(sum(Fraction(COSTS[key]) * cells[key] for key in cells), sum(cells.values()))
    return None if found is None else -found


def root(square):
    return math.copysign(math.sqrt(abs(square)), square)


# Parameters, how good a confusion matrix is, and what its value is made of that.
ORACLES = {
    "best_f1": ({}, lambda *cells: f_beta(1, *cells), float),
    "best_f_beta": ({"beta": 0.5}, lambda *cells: f_beta(0.5, *cells), float),
    "best_mcc": ({}, signed_square_of_mcc, root),
    "best_informedness": ({}, informedness, float),
    "closest_to_corner": ({}, minus_square_to_corner, lambda square: math.sqrt(-square)),
    "lowest_mean_cost": (COSTS, minus_cost, lambda found: -float(found)),
    "ks": ({}, distance, float),
}


def best(rows, gain):
    """Return the highest gain and the highest threshold that has it, or None."""
    tried = [(gain(*confusion_by_rows(rows, at)), at) for at in [math.inf, *(r[1] for r in rows)]]
    return max((one for one in tried if one[0] is not None), default=None)


@pytest.mark.parametrize("name", ORACLES)
@given(st.one_of(events, weighted_events))
def test_the_best_is_that_of_all_thresholds(name, rows):
    """Its value, and the highest threshold that reaches it; none where that is to flag nobody."""
    rows = [row for row in rows if len(row) == 2 or row[2]]
    params, gain, value_of = ORACLES[name]
    counts, threshold = counts_of(rows, EXACT), f"{name}_threshold"
    found = best(rows, gain)
    if name in catalogue.METRICS:
        value = catalogue.value(counts, name, **params)
        if found is None:
            assert math.isnan(value)
        else:
            assert value == pytest.approx(value_of(found[0]), abs=1e-12)
    if threshold in catalogue.METRICS:
        value = catalogue.value(counts, threshold, **params)
        if found is None or math.isinf(found[1]):
            assert math.isnan(value)
            reason = catalogue.reason(counts, threshold, **params)
            assert (reason == "flag_nobody") == (found is not None)
        else:
            assert value == found[1]


@given(st.one_of(events, weighted_events), st.integers(0, 8).map(lambda k: k / 8))
def test_total_cost_is_the_sum_over_events(rows, threshold):
    """0 without events; the mean cost times their number."""
    counts = counts_of(rows, EXACT)
    given_costs = COSTS | {"threshold": threshold}
    tp, fp, fn, tn = confusion_by_rows(rows, threshold)
    cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    want = sum(Fraction(COSTS[key]) * cells[key] for key in cells)

    assert catalogue.value(counts, "total_cost", **given_costs) == pytest.approx(float(want))
    if counts.n_samples:
        mean = catalogue.value(counts, "mean_cost", **given_costs)
        assert mean * counts.n_samples == pytest.approx(float(want), abs=1e-12)


def test_to_flag_nobody_is_no_threshold_to_follow():
    """`best_threshold` says ``inf``; the catalogue says that there is none, and why."""
    counts = counts_of([(1, 0.2), (0, 0.8), (0, 0.9)], EXACT)
    costs = {"fn": 1.0, "fp": 5.0}

    assert best_threshold(counts, by=CostMatrix(**costs)).threshold == math.inf
    assert math.isnan(catalogue.value(counts, "lowest_mean_cost_threshold", **costs))
    assert catalogue.reason(counts, "lowest_mean_cost_threshold", **costs) == "flag_nobody"
    assert catalogue.reason(counts, "best_informedness_threshold") == "flag_nobody"
    assert catalogue.value(counts, "best_f1_threshold") == 0.2


def test_at_another_prevalence_the_threshold_is_that_of_best_threshold():
    """Where positives are rare fewer are flagged."""
    rows = [(0, 0.1), (0, 0.3), (1, 0.3), (0, 0.5), (1, 0.5), (1, 0.7), (0, 0.9), (1, 0.9)]
    counts = counts_of(rows, EXACT)
    for share in (0.01, 0.3, 0.9):
        for by in ("f1", "mcc", "informedness"):
            want = best_threshold(counts, by=by, prevalence=share).threshold
            found = catalogue.value(counts, f"best_{by}_threshold", prevalence=share)
            assert found == want
