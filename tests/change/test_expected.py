"""Performance before the labels come, against every outcome that there can be."""

import copy
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import counts_of, events, histogram_of, lattice
from sklearn.isotonic import IsotonicRegression

from streamauc import (
    Monitor,
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    average_precision,
    confusion_at,
    roc_auc,
    threshold_counts,
)
from streamauc.change.label_shift import ExpectedPerformance, expected_performance
from streamauc.metrics.isotonic import Isotonic, isotonic

EXACT = Scale.exact()
PROBABILITY = Scale.probability(thresholds=(0.4, 0.7))
# A few scores and the chance that goes with each, rising.
CHANCES = Isotonic(np.array([0.1, 0.3, 0.5, 0.8]), np.array([0.1, 0.25, 0.5, 0.9]))
few_scores = st.lists(st.sampled_from(CHANCES.thresholds.tolist()), min_size=1, max_size=7)


def scores_of(scores, scale=EXACT, weights=None):
    """Return the histogram of scores in one class."""
    labels = np.zeros(len(scores), dtype=int)
    return ScoreHistogram.from_scores(labels, scores, scale=scale, weights=weights, n_classes=1)


def every_outcome(scores):
    """Yield each outcome of the events with its chance, outcomes being independent."""
    chances = CHANCES.calibrate(scores).tolist()
    for labels in itertools.product((0, 1), repeat=len(scores)):
        yield labels, math.prod(p if y else 1 - p for y, p in zip(labels, chances, strict=True))


@given(few_scores)
def test_average_precision_is_expected_over_every_outcome(scores):
    """Of ties, exactly: the expected sum of precisions over the expected positives."""
    found = expected_performance(CHANCES, scores_of(scores))
    total = positives = 0.0
    for labels, chance in every_outcome(scores):
        n_pos = sum(labels)
        positives += chance * n_pos
        if n_pos:
            value = average_precision(counts_of(zip(labels, scores, strict=True), EXACT))
            total += chance * n_pos * value

    assert found.average_precision == pytest.approx(total / positives, rel=1e-12)


@given(few_scores)
def test_events_of_a_bin_enter_one_by_one(scores):
    """The same where the scores of a bin differ, whichever is first."""
    scores = sorted(scores, reverse=True)
    bins = Scale.probability(bits=1)
    assert len(set(bins.bins(CHANCES.thresholds))) == CHANCES.thresholds.size
    edges = bins.lower_edges(bins.bins(CHANCES.thresholds))
    # The chance of each of the scores for the whole of its bin.
    ends = np.nextafter(bins.lower_edges(bins.bins(CHANCES.thresholds) + 1), 0)
    points = np.stack([edges, ends], axis=1).ravel()
    found = expected_performance(
        Isotonic(points, CHANCES.values.repeat(2)), scores_of(scores, bins)
    )
    total = positives = 0.0
    for labels, chance in every_outcome(scores):
        positives += chance * sum(labels)
        total += chance * sum(
            sum(labels[: place + 1]) / (place + 1) for place, label in enumerate(labels) if label
        )

    assert found.average_precision == pytest.approx(total / positives, rel=1e-12)


@given(few_scores, st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 0.9]))
def test_precision_and_recall_are_expected_over_every_outcome(scores, threshold):
    """Hits, false alarms and misses exactly; recall is the ratio of two of them."""
    found = expected_performance(CHANCES, scores_of(scores)).confusion(threshold)
    cells = np.zeros(4)
    for labels, chance in every_outcome(scores):
        at = confusion_at(counts_of(zip(labels, scores, strict=True), EXACT), threshold)
        cells += chance * np.array([at.tp, at.fp, at.fn, at.tn])

    assert [found.tp, found.fp, found.fn, found.tn] == pytest.approx(cells, abs=1e-12)


@given(few_scores)
def test_auc_is_the_ratio_of_expected_pairs(scores):
    """A pair is won with the chance that one is positive and the other negative."""
    chances = CHANCES.calibrate(scores)
    won = sum(
        chances[i] * (1 - chances[j]) * ((a > b) + 0.5 * (a == b))
        for (i, a), (j, b) in itertools.product(enumerate(scores), repeat=2)
    )
    found = expected_performance(CHANCES, scores_of(scores))

    assert found.roc_auc == pytest.approx(won / chances.sum() / (1 - chances).sum(), rel=1e-12)
    assert found.prevalence == pytest.approx(chances.mean(), rel=1e-12)


@given(events, st.lists(lattice, min_size=1, max_size=20))
def test_chances_are_those_of_scikit_learn(rows, scores):
    """Fitted to the reference, and straight between its scores where it lacks one."""
    assume(rows)
    y_true, y_score = np.array(rows).T
    other = IsotonicRegression(out_of_bounds="clip").fit(y_score, y_true)
    found = expected_performance(histogram_of(rows, EXACT), scores_of(scores))

    assert found.prevalence == pytest.approx(other.predict(scores).mean(), rel=1e-9, abs=1e-12)
    outside = [score < min(y_score) or score > max(y_score) for score in scores]
    assert found.outside == pytest.approx(np.mean(outside))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=6))
def test_a_calibrated_reference_expects_itself(groups):
    """Where shares rise with the score, precision, recall, AUC and prevalence are its own."""
    groups = sorted(((min(one), max(one)) for one in groups), key=lambda one: one[0] / one[1])
    rows = [
        (int(place < pos), number / 8)
        for number, (pos, total) in enumerate(groups)
        for place in range(total)
    ]
    reference, counts = histogram_of(rows, EXACT), counts_of(rows, EXACT)
    found = expected_performance(reference, reference)

    assert found.prevalence == pytest.approx(counts.n_pos / counts.n_samples, abs=1e-12)
    assert found.roc_auc == pytest.approx(roc_auc(counts), rel=1e-12, nan_ok=True)
    for threshold in counts.thresholds[1:].tolist():
        want = confusion_at(counts, threshold)
        assert found.precision(threshold) == pytest.approx(want.precision, abs=1e-12)
        assert found.recall(threshold) == pytest.approx(want.recall, abs=1e-12, nan_ok=True)


def stream(rng, n, centre):
    """Return labels and scores under one truth; where scores lie is up to `centre`."""
    logits = rng.normal(centre, 1.5, n)
    y_true = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(np.int64)
    # Scores that are no probabilities themselves: the calibration must find out.
    return y_true, 1 / (1 + np.exp(-2 * logits - 1))


@pytest.mark.parametrize("scale", [EXACT, PROBABILITY])
def test_what_is_expected_comes_about(scale):
    """Simulated covariate shift: within a few standard deviations of what the labels say."""
    rng = np.random.default_rng(3)
    y_true, y_score = stream(rng, 100_000, -1.0)
    reference = ScoreHistogram.from_scores(y_true, y_score, scale=scale)
    y_true, y_score = stream(rng, 50_000, 0.5)
    realised = threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=EXACT))
    found = expected_performance(reference, scores_of(y_score, scale), thresholds=(0.4, 0.7))

    assert found.prevalence == pytest.approx(y_true.mean(), abs=0.01)
    assert found.roc_auc == pytest.approx(roc_auc(realised), abs=0.01)
    assert found.average_precision == pytest.approx(average_precision(realised), abs=0.01)
    for threshold in found.thresholds:
        at = confusion_at(realised, threshold)
        assert found.precision(threshold) == pytest.approx(at.precision, abs=0.01)
        assert found.recall(threshold) == pytest.approx(at.recall, abs=0.01)


def test_the_average_precision_of_bins_is_that_of_the_scores():
    """At 7 bits, of scores that all differ: to 2e-5 of what the exact scale expects."""
    rng = np.random.default_rng(4)
    learnt = isotonic(
        threshold_counts(ScoreHistogram.from_scores(*stream(rng, 20_000, -1), scale=EXACT))
    )
    _, y_score = stream(rng, 50_000, -1)
    exact, binned = (
        expected_performance(learnt, scores_of(y_score, scale)) for scale in (EXACT, PROBABILITY)
    )

    assert binned.average_precision == pytest.approx(exact.average_precision, abs=2e-5)
    assert binned.roc_auc == pytest.approx(exact.roc_auc, abs=2e-5)


def test_a_kept_calibration_is_as_good_as_the_reference():
    """The same numbers, learnt once."""
    rng = np.random.default_rng(5)
    reference = ScoreHistogram.from_scores(*stream(rng, 2_000, -1), scale=PROBABILITY)
    current = scores_of(stream(rng, 1_000, 0)[1], PROBABILITY)
    kept = isotonic(threshold_counts(reference))

    assert (
        expected_performance(kept, current).to_dict()
        == expected_performance(reference, current).to_dict()
    )


def test_weights_of_the_current_side():
    """A weight counts like repetitions; where it is the same for all, like none at all."""
    scores = [0.1, 0.3, 0.3, 0.5, 0.8, 0.8]
    plain = expected_performance(CHANCES, scores_of(scores))
    for scale in (EXACT, Scale.probability()):
        ones = expected_performance(CHANCES, scores_of(scores, scale, weights=np.full(6, 2.5)))
        same = expected_performance(CHANCES, scores_of(scores, scale))
        assert ones.average_precision == pytest.approx(same.average_precision, rel=1e-12)
        assert ones.roc_auc == pytest.approx(same.roc_auc, rel=1e-12)
        assert ones.counts.n_samples == pytest.approx(15)
    weighted = expected_performance(CHANCES, scores_of([0.1, 0.8], weights=[3.0, 1.0]))
    repeated = expected_performance(CHANCES, scores_of([0.1, 0.1, 0.1, 0.8]))
    assert weighted.prevalence == pytest.approx(repeated.prevalence)
    assert weighted.roc_auc == pytest.approx(repeated.roc_auc)
    assert plain.counts.is_weighted


@given(events, few_scores)
def test_only_the_order_of_scores_matters(rows, scores):
    """A monotone transform, the order of arrival and a merge of two halves change nothing."""
    assume(rows)
    current = [*scores, *[score for _, score in rows]]
    first = expected_performance(histogram_of(rows, EXACT), scores_of(scores))
    cubed = [(label, score**3) for label, score in rows]
    seen = {score for _, score in rows}
    known = [score for score in current if score in seen]
    direct = expected_performance(histogram_of(rows, EXACT), scores_of(known))
    moved = expected_performance(histogram_of(cubed, EXACT), scores_of([s**3 for s in known]))
    for name, value in direct.to_dict().items():
        assert moved.to_dict()[name] == (None if value is None else pytest.approx(value, rel=1e-12))
    turned = expected_performance(histogram_of(rows[::-1], EXACT), scores_of(scores[::-1]))
    halves = ScoreHistogram.merge([scores_of(scores[::2]), scores_of(scores[1::2])])
    merged = expected_performance(histogram_of(rows, EXACT), halves)
    assert turned.to_dict() == merged.to_dict() == first.to_dict()


def test_windows_give_their_predictions():
    """All scores of a window, their labels known or not, and the thresholds of its scale."""
    rng = np.random.default_rng(6)
    y_true, y_score = stream(rng, 2_000, -1)
    monitor = Monitor(scale=PROBABILITY, clock="event")
    monitor.update_many(y_true, y_score, np.full(y_true.size, 1_000.0))
    _, later = stream(rng, 500, 0)
    for key, score in enumerate(later.tolist()):
        monitor.predict(key, score, 5_000.0)
    monitor.resolve(0, 1)
    before, now = monitor.window(960, 1_020), monitor.window(4_980, 5_040)
    found = expected_performance(before, now)

    assert found.counts.n_samples == pytest.approx(500)
    assert found.thresholds == (0.4, 0.7)
    want = expected_performance(before.histogram, scores_of(later, PROBABILITY))
    assert found.to_dict() == want.to_dict()


def test_scores_the_reference_lacks():
    """Outside it they have the nearest chance, and are told of; inside they lie between."""
    reference = histogram_of([(0, 0.2), (1, 0.4), (0, 0.4), (1, 0.6)], EXACT)
    found = expected_performance(reference, scores_of([0.1, 0.3, 0.7, 0.4]))

    assert found.counts.tps[-1] == pytest.approx(0 + 0.25 + 1 + 0.5)
    assert found.outside == 0.5
    assert "50 % of the scores lie outside the reference's" in found.explain()


@pytest.mark.parametrize(
    ("rows", "scores", "why"),
    [
        ([], [0.5], "no reference"),
        ([(0, 0.2), (1, 0.4)], [], "no current scores"),
        ([], [], "no reference"),
    ],
)
def test_nothing_to_expect(rows, scores, why):
    """Undefined all through, with the reason in words; never an error, never a warning."""
    found = expected_performance(histogram_of(rows, EXACT), scores_of(scores), thresholds=[0.3])
    values = [found.prevalence, found.roc_auc, found.average_precision, found.outside]
    values += [found.precision(0.3), found.recall(0.3)]

    assert all(math.isnan(value) for value in values)
    assert found.explain() == f"Nothing can be expected ({why})."
    assert set(json.loads(json.dumps(found.to_dict())).values()) == {None}


def test_one_class_in_the_reference():
    """Every chance is 0 or 1: there is a prevalence, and no ranking."""
    for label, want in ((0, math.nan), (1, 1.0)):
        found = expected_performance(histogram_of([(label, 0.2)], EXACT), scores_of([0.1, 0.2]))
        assert found.prevalence == label
        assert math.isnan(found.roc_auc)
        assert found.average_precision == pytest.approx(want, nan_ok=True)


def test_billions_of_scores():
    """No overflow."""
    big = 4_000_000_000
    learnt = Isotonic(np.array([0.2, 0.8]), np.array([0.25, 0.75]))
    stored = scores_of([0.2, 0.8])
    many = ScoreHistogram(
        EXACT, type(stored.stored)(stored.bins, np.array([[big, big]])), n_classes=1
    )
    found = expected_performance(learnt, many)

    assert found.roc_auc == pytest.approx(0.75, abs=1e-12)
    assert found.precision(0.5) == pytest.approx(0.75)
    assert found.average_precision == pytest.approx(0.75 * 0.75 + 0.25 * 0.5, rel=1e-9)


def test_words():
    """What to expect, at each threshold, and what nobody can know."""
    found = expected_performance(CHANCES, scores_of([0.1, 0.5, 0.8, 0.8]), thresholds=(0.5,))

    assert found.explain().splitlines() == [
        "If a score means what it meant, 60 % of 4 scores are positive;"
        " AUC 0.865, average precision 0.941.",
        "At 0.5: precision 0.767, recall 0.958, 75 % flagged.",
        "Scores alone cannot show whether they still mean the same.",
    ]
    nobody = expected_performance(CHANCES, scores_of([0.1]), thresholds=(0.5,))
    assert "At 0.5: precision undefined, recall 0.000, 0 % flagged." in nobody.explain()


def test_results_are_plain_values():
    """Immutable, and copied and pickled as they are."""
    found = expected_performance(CHANCES, scores_of([0.1, 0.5, 0.8]))
    assert isinstance(found, ExpectedPerformance)
    assert isinstance(found.counts, ThresholdCounts)
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()  # noqa: S301  (made here)
    assert copy.deepcopy(found).to_dict() == found.to_dict()
    with pytest.raises(AttributeError):
        found.prevalence = 0.5


def test_bad_input_is_named():
    """Each message names the argument, the requirement and the value."""
    rows = [(0, 0.2), (1, 0.4)]
    reference = histogram_of(rows, EXACT)
    with pytest.raises(TypeError, match="reference must be a ScoreHistogram or have one"):
        expected_performance(0.5, scores_of([0.2]))
    with pytest.raises(TypeError, match="current must be a ScoreHistogram or have one"):
        expected_performance(reference, [0.2])
    with pytest.raises(ValueError, match="reference must have 2 classes, got 1"):
        expected_performance(scores_of([0.2]), scores_of([0.2]))
    with pytest.raises(ValueError, match="different scales"):
        expected_performance(reference, scores_of([0.2], Scale.probability()))
    with pytest.raises(ValueError, match="threshold must be finite, got nan"):
        expected_performance(reference, scores_of([0.2]), thresholds=[math.nan])
