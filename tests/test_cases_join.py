"""Cases from public bug reports about events that are delivered again; see `cases.jsonl`."""

import numpy as np
import pytest
from cases import CASES, agree

from streamauc import Monitor, Scale

CASE = CASES["replayed-events"]


def one_by_one(monitor, rows):
    """Deliver each row as a prediction and its label."""
    for key, moment, score, label in rows:
        monitor.predict(key, score, moment)
        monitor.resolve(key, label)


def labels_first(monitor, rows):
    """Deliver all labels before any prediction."""
    for key, *_, label in rows:
        monitor.resolve(key, label)
    for key, moment, score, _ in rows:
        monitor.predict(key, score, moment)


def in_columns(monitor, rows):
    """Deliver all rows at once."""
    keys, moments, scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    monitor.predict_many(keys, scores, moments)
    monitor.resolve_many(keys, labels)


@pytest.mark.parametrize("deliver", [one_by_one, labels_first, in_columns])
@pytest.mark.parametrize("again", [False, True])
def test_replayed_events(deliver, again):
    """A row that comes again counts once, by its id; equal rows of other ids count each."""
    monitor, rows = Monitor(scale=Scale.exact(), clock="event"), CASE["input"]["rows"]
    deliver(monitor, rows)
    n_repeated = CASE["expected"]["duplicates"]
    if again:
        monitor = Monitor.from_bytes(monitor.to_bytes())
        deliver(monitor, rows)
        n_repeated += len(rows)
    window, stats = monitor.window(0, 60), monitor.stats
    found = {
        "n": window.n_samples,
        "duplicates": stats.n_repeated_predictions,
        "roc_auc": window.roc_auc,
    }

    assert agree(found, {**CASE["expected"], "duplicates": n_repeated}, CASE["tol"]), found
    assert stats.n_repeated_labels == n_repeated
    assert (stats.n_offered, window.coverage) == (CASE["expected"]["n"], 1.0)
