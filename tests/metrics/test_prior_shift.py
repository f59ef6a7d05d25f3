"""Scores and thresholds at another prevalence, against Bayes' rule in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from cases import CASES, agree
from hypothesis import example, given
from hypothesis import strategies as st
from reference import beside

from streamauc import Scale
from streamauc.metrics.prior_shift import PriorShift

shares = st.floats(1e-6, 1 - 1e-6)
ratios = st.floats(1e-6, 1e6)


def by_bayes(score, before, after):
    """P(positive | score) at the new prevalence, from the densities that the old one implies."""
    score, before, after = Fraction(score), Fraction(before), Fraction(after)
    of_positives, of_negatives = score / before, (1 - score) / (1 - before)
    return after * of_positives / (after * of_positives + (1 - after) * of_negatives)


@given(st.floats(0, 1), shares, shares)
@example(2.8e-309, 0.001953125, 0.9999989999998897)
def test_scores_follow_bayes(score, before, after):
    """To 1e-14 of its value, worked out exactly from the two class densities."""
    found = PriorShift.between(before, after).scores([score])[0]

    assert found == pytest.approx(float(by_bayes(score, before, after)), rel=1e-14, abs=1e-300)


def test_case_threshold_after_undersampling():
    """The case from the cost-sensitive literature: 0.9 becomes 1/12, the threshold 11/12."""
    case = CASES["threshold-after-undersampling"]
    given, cost = case["input"], case["input"]["cost"]
    shift = PriorShift.between(given["train_prevalence"], given["live_prevalence"])
    threshold = cost["fp"] / (cost["fp"] + cost["fn"])
    found = {
        "p_live": shift.scores([given["p"]])[0],
        "threshold_live": threshold,
        "threshold_on_train_scale": shift.inverse.threshold(threshold),
    }

    assert agree(found, case["expected"], case["tol"])


@given(st.floats(0, 1), ratios)
def test_there_and_back(score, ratio):
    """The inverse undoes it, and 0 and 1 never move."""
    shift = PriorShift(ratio)
    there = shift.scores([score, 0.0, 1.0])
    back = shift.inverse.scores(there)

    assert there[1:].tolist() == [0, 1]
    # What was rounded near 1 cannot be had back any better.
    assert back[0] == pytest.approx(score, rel=1e-9, abs=1e-15 * max(1.0, ratio))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), ratios)
def test_no_two_scores_change_places(scores, ratio):
    """Neither far apart nor one float apart, so that a moved threshold flags the same."""
    near = np.sort(beside(np.array(scores), Scale.probability()))
    moved = PriorShift(ratio).scores(near)

    assert (np.diff(moved) >= 0).all()
    assert ((moved >= 0) & (moved <= 1)).all()
    thresholds = [PriorShift(ratio).threshold(one) for one in near.tolist()]
    assert thresholds == moved.tolist()


@given(st.floats(0.001, 0.999), st.floats(0.001, 1))
def test_undersampling_is_a_change_of_prevalence(prevalence, kept):
    """Leaving out negatives raises the prevalence; the shift back does not need to know it."""
    before = prevalence / (prevalence + kept * (1 - prevalence))
    shift = PriorShift.between(before, prevalence)

    assert PriorShift.undersampled(kept).odds_ratio == pytest.approx(shift.odds_ratio, rel=1e-8)


def test_an_undersampled_model_is_put_right():
    """Simulated: chances learnt with a tenth of the negatives agree with all of them afterwards."""
    rng = np.random.default_rng(5)
    chance = rng.choice([0.01, 0.05, 0.2], 300_000)
    y_true = rng.random(chance.size) < chance
    kept = y_true | (rng.random(chance.size) < 0.1)
    learnt = [y_true[kept & (chance == one)].mean() for one in (0.01, 0.05, 0.2)]

    assert PriorShift.undersampled(0.1).scores(learnt) == pytest.approx([0.01, 0.05, 0.2], rel=0.1)


def test_thresholds_beyond_the_scores_stay():
    """Whoever flags nobody or everybody does so at any prevalence."""
    shift = PriorShift(0.01)
    for threshold in (-math.inf, -0.5, 0.0, 1.0, 1.5, math.inf):
        assert shift.threshold(threshold) == threshold


def test_bad_input_is_named():
    """Each message names the argument, the requirement and the value."""
    with pytest.raises(ValueError, match=r"before must be in \(0, 1\), got 0.0"):
        PriorShift.between(0, 0.5)
    with pytest.raises(ValueError, match=r"after must be in \(0, 1\), got 1.0"):
        PriorShift.between(0.5, 1)
    with pytest.raises(ValueError, match=r"kept_negatives must be in \(0, 1\], got 0.0"):
        PriorShift.undersampled(0)
    with pytest.raises(ValueError, match=r"odds_ratio must be positive, got -1\.0"):
        PriorShift(-1)
    with pytest.raises(ValueError, match=r"before must be in \[1e-12, 1 - 1e-12\], got 5e-324"):
        PriorShift.between(5e-324, 0.5)
    with pytest.raises(ValueError, match=r"y_score must be in \[0, 1\].*got 1.5.* at index 1"):
        PriorShift(2).scores([0.5, 1.5])
    with pytest.raises(ValueError, match="threshold must be a number, got nan"):
        PriorShift(2).threshold(math.nan)
