"""Cases taken from public bug reports of other tools; `cases.jsonl` says where from and why.

Each function runs one case and returns what it found in the shape of the case's `expected`.
"""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, LATER, agree
from reference import LARGEST, counts_of, histogram_of

from streamauc import (
    Accumulator,
    Scale,
    ScoreHistogram,
    average_precision,
    confusion_at,
    precision_recall_curve,
    roc_auc,
    roc_auc_interval,
    roc_curve,
    threshold_counts,
)
from streamauc.metrics.intervals import roc_auc_variance
from streamauc.storage import WideCounts

EXACT = Scale.exact()
RUN = {}


def runs(name):
    """Enter a function into the table of cases."""

    def enter(function):
        RUN[name] = function
        return function

    return enter


def labelled(rows):
    """Return (score, label, ...) rows as (label, score, ...)."""
    return [(label, float(score), *rest) for score, label, *rest in rows]


def areas(counts):
    """Return both areas."""
    return {"roc_auc": roc_auc(counts), "average_precision": average_precision(counts)}


def from_histogram(rows):
    """Return the histogram of (score, pos, neg) rows."""
    table = sorted(rows)
    counts = np.array([[neg for *_, neg in table], [pos for _, pos, _ in table]], dtype=np.int64)
    return ScoreHistogram(EXACT, WideCounts(EXACT.bins([row[0] for row in table]), counts))


def refusal(call):
    """Return the message with which a call refuses its input."""
    with pytest.raises(ValueError, match="must") as caught:
        call()
    return f"error: {caught.value}"


def all_equal(found):
    """Return the first of several results that have to be the same."""
    assert all(one == found[0] for one in found)
    return found[0]


@runs("tie-order")
def tie_order(case):
    rows, orders = labelled(case["input"]["rows"]), case["input"]["orders"]
    return all_equal([areas(counts_of([rows[i] for i in order], EXACT)) for order in orders])


@runs("tie-half-credit-integer")
def tie_half_credit(case):
    rows, n = labelled(case["input"]["rows"]), case["query"]["n"]
    window, found = ScoreHistogram.empty(EXACT), []
    for seen, row in enumerate(rows, start=1):
        window = window + histogram_of([row], EXACT)
        if seen > n:
            window = window - histogram_of([rows[seen - n - 1]], EXACT)
        if seen in case["query"]["after"]:
            found.append({"roc_auc": roc_auc(threshold_counts(window))})
    return found


@runs("tie-one-ulp")
def tie_one_ulp(case):
    rows = labelled(case["input"]["rows"])
    places = case["query"]["also_round_decimals"]
    rounded = [(label, round(score, places)) for label, score in rows]
    return {"exact": auc_and_distinct(rows), "rounded": auc_and_distinct(rounded)}


def auc_and_distinct(rows):
    """Return the AUC and how many different scores there are."""
    histogram = histogram_of(rows, EXACT)
    return {"roc_auc": roc_auc(threshold_counts(histogram)), "distinct_scores": histogram.n_bins}


@runs("one-class-window")
def one_class_window(case):
    found = {}
    for name, rows in case["input"]["windows"].items():
        counts = counts_of(labelled(rows), EXACT)
        found[name] = areas(counts) | {"fpr": confusion_at(counts, case["query"]["fpr_at"]).fpr}
    return found


@runs("nan-and-inf-scores")
def nan_and_inf_scores(case):
    with_nan, with_inf = (labelled(case["input"][name]["rows"]) for name in ("nan", "inf"))
    finite = [row for row in with_nan if math.isfinite(row[1])]
    # Infinities are refused; the largest finite scores have the same rank.
    assert "must be finite, got inf" in refusal(lambda: counts_of(with_inf, EXACT))
    clipped = [(label, float(np.clip(score, -LARGEST, LARGEST))) for label, score in with_inf]
    return {
        "nan_strict": refusal(lambda: counts_of(with_nan, EXACT)),
        "nan_skip": {
            "roc_auc": roc_auc(counts_of(finite, EXACT)),
            "skipped": len(with_nan) - len(finite),
        },
        "inf": {"roc_auc": roc_auc(counts_of(clipped, EXACT))},
    }


@runs("count-above-2-24")
def count_above_2_24(case):
    acc = Accumulator(EXACT)
    acc.merge(from_histogram(case["input"]["histogram"]["rows"]))
    for score, label in case["input"]["then_updates"]["rows"]:
        acc.update(label, np.float32(score) if score == np.float32(score) else score)
    counts = threshold_counts(acc.histogram())
    found = confusion_at(counts, case["query"]["confusion_at"])
    return {
        "n_pos": counts.n_pos,
        "n_neg": counts.n_neg,
        "tp": found.tp,
        "fp": found.fp,
        "roc_auc": roc_auc(counts),
    }


@runs("float32-score-float64-threshold")
def float32_score(case):
    scores, thresholds = case["input"]["float32_scores_as_float64"], case["input"]["thresholds"]
    scale = Scale.probability(thresholds=thresholds)
    narrow = np.array(scores, dtype=np.float32)
    flags = (scale.bins(narrow) >= scale.bins(thresholds)).tolist()
    one_by_one = [
        scale.bin(score) >= scale.bin(threshold)
        for score, threshold in zip(narrow, thresholds, strict=True)
    ]
    mixed = labelled(case["input"]["mixed"]["rows"])
    return {
        "flag": all_equal([flags, one_by_one]),
        "roc_auc_mixed": all_equal([roc_auc(counts_of(mixed, s)) for s in (EXACT, scale)]),
    }


@runs("large-logits")
def large_logits(case):
    rows = labelled(case["input"]["rows"])
    # The default bits of the real scale tell these apart as well.
    assert auc_and_distinct(rows)["roc_auc"] == roc_auc(counts_of(rows, Scale.real()))
    return auc_and_distinct(rows)


@runs("scores-in-one-bin")
def scores_in_one_bin(case):
    rows = labelled(case["input"]["rows"])
    found = [roc_auc(counts_of(rows, scale)) for scale in (EXACT, Scale.probability())]
    return {"roc_auc": all_equal(found)}


@runs("saturated-at-one")
def saturated_at_one(case):
    found = []
    for scale in (EXACT, Scale.probability()):
        counts = counts_of(labelled(case["input"]["rows"]), scale)
        found.append({"roc_auc": roc_auc(counts), "roc_first_point": points(counts)[0]})
    return all_equal(found)


def points(counts):
    """Return [threshold, fpr, tpr] along the ROC curve."""
    curve = roc_curve(counts)
    return np.column_stack([curve.thresholds, curve.fpr, curve.tpr]).tolist()


@runs("roc-points-with-ties")
def roc_points(case):
    counts = counts_of(labelled(case["input"]["rows"]), EXACT)
    return {"points": points(counts), "roc_auc": roc_auc(counts)}


@runs("hard-labels-instead-of-scores")
def hard_labels(case):
    rows, threshold = labelled(case["input"]["rows"]), case["query"]["threshold"]
    counts = counts_of(rows, EXACT)
    decided = counts_of([(label, score >= threshold) for label, score in rows], EXACT)
    return {
        "roc_auc": roc_auc(counts),
        "roc_auc_of_decisions": roc_auc(decided),
        "balanced_accuracy": confusion_at(counts, threshold).balanced_accuracy,
    }


@runs("pr-start-and-three-areas")
def pr_areas(case):
    counts = counts_of(labelled(case["input"]["rows"]), EXACT)
    curve = precision_recall_curve(counts)
    recall = np.concatenate([[0], curve.recall])
    # The other two areas are the reader's own to draw from the curve.
    drawn = {
        "trapezoid_from_recall0_precision1": 1,
        "trapezoid_from_recall0_first_precision": curve.precision[0],
    }
    return {
        "points": np.column_stack([curve.thresholds, curve.recall, curve.precision]).tolist(),
        "average_precision": average_precision(counts),
    } | {
        name: np.trapezoid(np.concatenate([[first], curve.precision]), recall)
        for name, first in drawn.items()
    }


@runs("weights-zero-class-and-bad")
def weights(case):
    rows = labelled(case["input"]["rows"])
    factor = case["query"]["positive_weight_factor"]
    scaled = [(label, score, weight * factor**label) for label, score, weight in rows]
    bad = [[(1, 0.5, float(weight))] for weight in case["input"]["bad_weights"]]
    return {
        "as_given": areas(counts_of(rows, EXACT)),
        "positives_x10": areas(counts_of(scaled, EXACT)),
        "distinct_scores": histogram_of(rows, EXACT).n_bins,
        "bad": [refusal(lambda one=one: histogram_of(one, EXACT)) for one in bad],
    }


@runs("merge-workers")
def merge_workers(case):
    shards = [histogram_of(labelled(rows), EXACT) for rows in case["input"]["shards"].values()]
    merged = [ScoreHistogram.merge(order) for order in itertools.permutations(shards)]
    merged += [(a + b) + c for a, b, c in itertools.permutations(shards)]
    return areas(threshold_counts(all_equal(merged)))


@runs("delong-small")
def delong_small(case):
    given = case["input"]
    counts = counts_of([(1, s) for s in given["pos"]] + [(0, s) for s in given["neg"]], EXACT)
    level = case["query"]["confidence"]
    auc, variance = roc_auc(counts), roc_auc_variance(counts)
    reach = 1.959963984540054 * math.sqrt(variance)
    logit = roc_auc_interval(counts, level=level, method="delong")
    return {
        "auc": auc,
        "variance": variance,
        # Only the logit scale is offered; the plain interval follows from the variance.
        "normal_unclipped": [auc - reach, auc + reach],
        "normal_clipped": [auc - reach, min(1.0, auc + reach)],
        "logit": [logit.low, logit.high],
    }


@runs("delong-large-counts")
def delong_large_counts(case):
    counts = threshold_counts(from_histogram(case["input"]["histogram"]["rows"]))
    return {"auc": roc_auc(counts), "variance": roc_auc_variance(counts)}


@runs("no-silent-flip")
def no_silent_flip(case):
    return {"roc_auc": roc_auc(counts_of(labelled(case["input"]["rows"]), EXACT))}


@pytest.mark.parametrize("name", RUN)
def test_case(name):
    """The case gives the expected numbers, none of which were adapted."""
    case = CASES[name]
    found = RUN[name](case)

    assert agree(found, case["expected"], case["tol"]), (found, case["expected"])


def test_every_case_is_run_or_has_a_reason():
    """Each case is named by a test file that runs it, or stands in the table of reasons."""
    texts = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    run = {name for name in CASES if any(f'"{name}"' in text for text in texts)}

    assert run.isdisjoint(LATER)
    assert sorted([*run, *LATER]) == sorted(CASES)


def test_agreement_can_fail():
    """The comparison itself sees differences of each kind."""
    assert agree({"a": [1e-9, math.nan]}, {"a": [1e-9, "error: undefined"]}, 1e-12)
    assert agree([math.inf, True], ["inf", True], 1e-12)
    assert not agree(1e-9, 1.1e-9, 1e-12)
    assert not agree(0.5, 0.5 + 1e-9, 1e-12)
    assert not agree(0.5, "error: undefined", 1e-12)
    assert not agree(math.nan, 0.5, 1e-12)
    assert not agree([0.5], [0.5, 0.5], 1e-12)
    assert not agree({"a": 1}, {"b": 1}, 1e-12)
