"""Intervals of what noise raises and of what shows no mistake, through the catalogue."""

import math
from functools import partial

import numpy as np
import pytest
from reference import counts_of
from scipy.stats import norm

from streamauc import Scale
from streamauc.metrics import bootstrap, catalogue

EXACT = Scale.exact()
GIVEN = {
    "threshold": 0.5,
    "beta": 0.5,
    "fn": 9.0,
    "fp": 1.0,
    "max_fpr": 0.2,
    "min_precision": 0.6,
    "max_alert_rate": 0.6,
    "share": 0.3,
}


def test_no_interval_sells_what_was_not_seen_as_certain():
    """A thousand of each class, perfectly told apart: no end is the value at both sides."""
    counts = counts_of([(1, 1.0), (0, 0.0)] * 1_000, EXACT)
    # Of a gain the positives in the first tenth of all events are a tenth, whoever may come; and
    # only two scores can be thresholds.
    for name, metric in catalogue.METRICS.items():
        if metric.unit in ("events", "score") or name in ("gain", "lift"):
            continue
        found = catalogue.interval(counts, name, **{key: GIVEN[key] for key in metric.parameters})
        assert found.high > found.low, name
        width = found.high - found.low
        assert (width / counts.n_samples if name == "total_cost" else width) < 0.6, name


def calibrated(rng, n):
    """Return rows of scores that are the chance of a positive."""
    scores = rng.beta(2, 5, n)
    return np.column_stack((rng.random(n) < scores, scores))


def normal_classes(rng, n_pos, n_neg, shift):
    """Return rows of normal scores, the positives' mean `shift`."""
    labels = np.repeat([1, 0], [n_pos, n_neg])
    return np.column_stack((labels, rng.normal(labels * shift)))


@pytest.mark.parametrize("name", ["expected_calibration_error", "brier_reliability"])
def test_a_calibrated_score_may_be_calibrated(name):
    """The interval of what noise alone makes positive reaches 0."""
    for seed in range(10):
        counts = counts_of(calibrated(np.random.default_rng(seed), 1_500), EXACT)
        assert catalogue.interval(counts, name).low == 0 < catalogue.value(counts, name)


@pytest.mark.parametrize("sizes", [(400, 400), (400, 1_000)])
@pytest.mark.parametrize("name", ["ks_statistic", "roc_hull_auc", "best_mcc", "h_measure"])
def test_the_best_of_many_thresholds_is_not_taken_for_the_truth(name, sizes, monkeypatch):
    """In 100 samples with an AUC of 0.6 at least 88 intervals hold the true value."""
    few = partial(bootstrap.bootstrap_interval, n_resamples=200)
    monkeypatch.setattr(bootstrap, "bootstrap_interval", few)
    shift, quantiles = math.sqrt(2) * norm.ppf(0.6), {}
    for n in sizes:
        quantiles[n] = norm.ppf((np.arange(20 * n) + 0.5) / (20 * n))
    rows = [(1, s + shift) for s in quantiles[sizes[0]]] + [(0, s) for s in quantiles[sizes[1]]]
    truth, held = catalogue.value(counts_of(rows, EXACT), name), 0
    for seed in range(100):
        counts = counts_of(normal_classes(np.random.default_rng(seed), *sizes, shift), EXACT)
        found = catalogue.interval(counts, name)
        held += found.low <= truth <= found.high
    assert held >= 88


@pytest.mark.parametrize("name", [name for name, one in catalogue.METRICS.items() if one.is_biased])
def test_an_interval_without_bias_stays_within_the_limits(name):
    """Of few events, too, whose square without its bias may be below 0 or above 1."""
    least, most = catalogue.METRICS[name].within
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = [(y, s) for y, s in zip([0, 1] * 4, rng.integers(0, 5, 8) / 4, strict=True)]
        params = {key: GIVEN[key] for key in catalogue.METRICS[name].parameters}
        found = catalogue.interval(counts_of(rows, EXACT), name, **params)
        assert least <= found.low <= found.high <= most


def test_the_mcc_at_another_class_ratio_says_that_it_may_cover_less():
    """Others do not."""
    counts = counts_of(normal_classes(np.random.default_rng(2), 300, 300, 1.0), EXACT)
    for name, params, is_warned in (
        ("best_mcc", {"prevalence": 0.01}, True),
        ("best_mcc", {}, False),
        ("best_f1", {"prevalence": 0.01}, False),
    ):
        note = catalogue.interval(counts, name, **params).note
        assert note.endswith("; at another class ratio it may cover 75 % where it says 95 %") == (
            is_warned
        )


@pytest.mark.parametrize(("shift", "is_warned"), [(1.0, False), (4.0, True)])
def test_near_the_best_value_the_note_says_that_it_may_cover_less(shift, is_warned):
    """Though there are many events of each class."""
    counts = counts_of(normal_classes(np.random.default_rng(2), 300, 300, shift), EXACT)
    for name in ("ks_statistic", "h_measure", "best_mcc"):
        note = catalogue.interval(counts, name).note
        assert note.endswith("it may cover 87 % where it says 95 %") == is_warned
    assert "87 %" not in catalogue.interval(counts, "roc_hull_auc").note


@pytest.mark.parametrize("name", ["closest_to_corner", "best_f1_threshold", "ks_threshold"])
def test_what_is_known_to_cover_less_says_so(name):
    """In simulations it held the truth in 85 and 75 of 100 streams, at the least."""
    counts = counts_of(normal_classes(np.random.default_rng(2), 400, 400, 1.0), EXACT)
    assert catalogue.interval(counts, name).note.endswith("where it says 95 %")
