"""Intervals of rates: mirror images, shares counted row by row, and a width at the ends."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import counts_of, events, lattice, weighted_events

from streamauc import Monitor, Scale
from streamauc.metrics import catalogue
from streamauc.metrics.intervals import wilson_interval

EXACT = Scale.exact()
AT = {"threshold": 0.5}
levels = st.sampled_from([0.5, 0.95])
# Nobody of a thousand of each class is judged wrongly.
PERFECT = [(1, 0.9)] * 1_000 + [(0, 0.1)] * 1_000
RATES = (
    *("recall", "fpr", "fnr", "specificity", "precision", "npv", "accuracy", "f1"),
    *("alert_rate", "balanced_accuracy", "informedness"),
)


@pytest.mark.parametrize("weight", [None, 2.5])
@pytest.mark.parametrize("name", RATES)
def test_where_no_mistake_is_seen_there_may_be_some(name, weight):
    """No rate is certain after a thousand of each class."""
    rows = PERFECT if weight is None else [(*row, weight) for row in PERFECT]
    found = catalogue.interval(counts_of(rows, EXACT), name, **AT)
    assert 0.001 < found.high - found.low < 0.05
    assert found.low <= catalogue.value(counts_of(rows, EXACT), name, **AT) <= found.high


@given(st.one_of(events, weighted_events), lattice, levels)
def test_a_rate_and_its_complement_mirror_each_other(rows, threshold, level):
    """Of the same class, and with labels and order turned round."""
    counts = counts_of(rows, EXACT)
    # What was at or above the threshold is then below it.
    turned = counts_of([(1 - y, -s, *w) for y, s, *w in rows], EXACT)
    at = {"threshold": threshold, "level": level}
    behind = {"threshold": math.nextafter(-threshold, math.inf), "level": level}
    for name, other, seen, where in (
        ("fnr", "recall", counts, at),
        ("specificity", "fpr", counts, at),
        ("npv", "precision", turned, behind),
        ("specificity", "recall", turned, behind),
        ("alert_rate", "alert_rate", turned, behind),
    ):
        found = catalogue.interval(counts, name, **at)
        wanted = catalogue.interval(seen, other, **where)
        ends = wanted.low, wanted.high
        if name in ("fnr", "alert_rate") or seen is counts:
            ends = 1 - wanted.high, 1 - wanted.low
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-9, nan_ok=True)
        assert found.note == wanted.note


@given(events, lattice, levels)
def test_shares_have_the_wilson_interval_of_their_counts(rows, threshold, level):
    """F1 is ``2 J / (1 + J)``, J the share of hits among all but the true negatives."""
    counts = counts_of(rows, EXACT)
    tp, fp, fn, tn = (
        sum(y == label and (s >= threshold) == flagged for y, s in rows)
        for label, flagged in ((1, True), (0, True), (1, False), (0, False))
    )
    for name, hits, trials in (
        ("fnr", fn, tp + fn),
        ("specificity", tn, fp + tn),
        ("npv", tn, tn + fn),
        ("alert_rate", tp + fp, len(rows)),
        ("accuracy", tp + tn, len(rows)),
    ):
        found = catalogue.interval(counts, name, threshold=threshold, level=level)
        want = wilson_interval(hits, trials, level=level)
        assert (found.low, found.high) == pytest.approx((want.low, want.high), nan_ok=True)
        assert found.note == want.note
    found = catalogue.interval(counts, "f1", threshold=threshold, level=level)
    want = wilson_interval(tp, tp + fp + fn, level=level)
    ends = [2 * end / (1 + end) for end in (want.low, want.high)]
    assert [found.low, found.high] == pytest.approx(ends, nan_ok=True)


@given(weighted_events, lattice)
def test_weighted_shares_are_linearised(rows, threshold):
    """Event by event: Wilson's of as many events as vary alike."""
    counts = counts_of(rows, EXACT)
    right = [w for y, s, w in rows if w and (s >= threshold) == y]
    wrong = [w for y, s, w in rows if w and (s >= threshold) != y]
    everyone = right + wrong
    assume(everyone)
    share = sum(right) / sum(everyone)
    variance = sum((w * (1 - share)) ** 2 for w in right) + sum((w * share) ** 2 for w in wrong)
    variance /= sum(everyone) ** 2
    trials = sum(everyone) ** 2 / sum(w * w for w in everyone)
    if variance:
        trials = share * (1 - share) / variance
    want = wilson_interval(share * trials, trials)
    found = catalogue.interval(counts, "accuracy", threshold=threshold)
    assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-9)


@given(events, lattice, st.sampled_from([0.5, 1.0, 3.0]))
def test_every_interval_holds_its_value_and_is_undefined_with_it(rows, threshold, beta):
    """Within the range of the metric."""
    counts = counts_of(rows, EXACT)
    for name in (*RATES, "f_beta"):
        params = {"threshold": threshold} | ({"beta": beta} if name == "f_beta" else {})
        value = catalogue.value(counts, name, **params)
        found = catalogue.interval(counts, name, **params)
        assert math.isnan(found.low) == math.isnan(value), name
        if not math.isnan(value):
            assert found.low - 1e-9 <= value <= found.high + 1e-9, name
            lowest = -1 if name == "informedness" else 0
            assert lowest - 1e-9 <= found.low <= found.high <= 1 + 1e-9


@pytest.mark.parametrize(
    ("tpr", "fpr", "sizes"), [(0.9, 0.02, (40, 400)), (0.995, 0.005, (200, 200))]
)
def test_intervals_hold_the_truth(tpr, fpr, sizes):
    """In 1,000 samples 95 % is 92 % to 99.5 %, and near an end at least 88 %."""
    rng = np.random.default_rng(5)
    n_pos, n_neg = sizes
    share = n_pos / (n_pos + n_neg)
    hits, alarms = share * tpr, (1 - share) * fpr
    truth = {
        "fnr": 1 - tpr,
        "specificity": 1 - fpr,
        "accuracy": hits + 1 - share - alarms,
        "balanced_accuracy": (tpr + 1 - fpr) / 2,
        "informedness": tpr - fpr,
        "f1": 2 * hits / (hits + share + alarms),
    }
    held = dict.fromkeys(truth, 0)
    flagged = rng.binomial(n_pos, tpr, 1_000), rng.binomial(n_neg, fpr, 1_000)
    for tp, fp in zip(*flagged, strict=True):
        table = [[1, 0.9], [1, 0.1], [0, 0.9], [0, 0.1]]
        counts = counts_of(np.repeat(table, [tp, n_pos - tp, fp, n_neg - fp], 0), EXACT)
        for name, wanted in truth.items():
            found = catalogue.interval(counts, name, **AT)
            held[name] += found.low <= wanted <= found.high
    assert all(880 <= n <= 998 for n in held.values()), held


def partly_labelled(n_labelled):
    """Return a window of 2,000 predictions, the highest scores labelled."""
    monitor = Monitor(scale=EXACT, clock="event", tiers=((60, "1d"),))
    scores = np.linspace(1, 0, 2_000, endpoint=False).round(4)
    for key, score in enumerate(scores.tolist()):
        monitor.predict(key, score, 0.0)
    for key in range(n_labelled):
        monitor.resolve(key, key % 2)
    return monitor


@pytest.mark.parametrize("n_labelled", [0, 500])
def test_an_interval_is_of_the_events_of_its_value(n_labelled):
    """The alert rate is of all predictions, their labels known or not; in a history, too."""
    monitor = partly_labelled(n_labelled)
    window = monitor.window(0, 60)
    value = window.value("alert_rate", threshold=0.75)
    found = window.interval("alert_rate", threshold=0.75)
    wanted = wilson_interval(round(value * 2_000), 2_000)
    assert value == pytest.approx(0.25, abs=0.001)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert found.note == "Wilson"
    low, high = monitor.history(step="1m", start=0, end=60).interval("alert_rate@0.75")
    assert (low[0], high[0]) == (found.low, found.high)
