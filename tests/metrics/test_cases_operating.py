"""Cases from public bug reports about thresholds, costs and partial areas; see `cases.jsonl`.

Each function runs one case and returns what it found in the shape of the case's `expected`.
"""

import pytest
from cases import CASES, agree
from reference import counts_of

from streamauc import Scale, confusion_at
from streamauc.metrics.best import best_threshold
from streamauc.metrics.costs import CostMatrix, bayes_threshold
from streamauc.metrics.partial import partial_roc_auc
from streamauc.metrics.prior_shift import PriorShift

EXACT = Scale.exact()


def counts_in(case):
    """Return the counts of a case with (score, label) rows."""
    return counts_of([(label, score) for score, label in case["input"]["rows"]], EXACT)


def f1_best(case):
    """Choose by F1 where the highest score is a false alarm."""
    counts = counts_in(case)
    nobody = confusion_at(counts, case["query"]["above_max"])
    best = best_threshold(counts, by="f_beta", beta=case["query"]["beta"])
    return {
        "precision_above_max": nobody.precision,
        "recall_above_max": nobody.recall,
        "f_above_max": nobody.f1,
        "f_at_0.9": confusion_at(counts, 0.9).f1,
        "best_f": best.value,
        "best_threshold": best.threshold,
    }


def cost_orientation(case):
    """Read a matrix with rows of the truth by name, so that it cannot be read transposed."""

    def decided(rows):
        (tn, fp), (fn, tp) = rows
        threshold = bayes_threshold(CostMatrix(tp=tp, fn=fn, fp=fp, tn=tn))
        flags = [int(p >= threshold) for p in case["input"]["probabilities"]]
        return {"threshold": threshold, "flag": flags}

    return {
        "plain": decided(case["input"]["cost_rows_true_cols_predicted"]),
        "with_tp_cost": decided(case["input"]["cost_with_inspection_fee"]),
    }


def after_undersampling(case):
    """Move a score and a threshold between the balanced data and the live data."""
    given, costs = case["input"], CostMatrix(**case["input"]["cost"])
    before, after = given["train_prevalence"], given["live_prevalence"]
    return {
        "p_live": PriorShift.between(before, after).scores([given["p"]])[0],
        "threshold_live": bayes_threshold(costs),
        "threshold_on_train_scale": bayes_threshold(costs, calibrated_at=before, prevalence=after),
    }


def cut_inside_segment(case):
    """Cut the curve inside a diagonal piece, and say raw and standardised apart."""
    counts = counts_in(case)
    low, high = case["query"]["fpr"]
    region = {"min_fpr": low, "max_fpr": high}
    perfect = counts_of([(1, 0.9), (0, 0.1)], EXACT)
    return {
        "raw": partial_roc_auc(counts, **region),
        "mcclish": partial_roc_auc(counts, **region, standardised=True),
        "largest_possible_raw": partial_roc_auc(perfect, **region),
    }


RUN = {
    "f1-best-with-zero-tp-top": f1_best,
    "cost-matrix-orientation": cost_orientation,
    "threshold-after-undersampling": after_undersampling,
    "pauc-cut-inside-segment": cut_inside_segment,
}


@pytest.mark.parametrize("name", RUN)
def test_case(name):
    """The case gives the expected numbers, none of which were adapted."""
    case = CASES[name]
    found = RUN[name](case)

    assert agree(found, case["expected"], case["tol"]), (found, case["expected"])
