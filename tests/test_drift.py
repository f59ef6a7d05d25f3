"""`History.drift`: each window beside its reference."""

import math

import numpy as np
import pytest

from streamauc import Monitor, compare

HOUR = 3600


@pytest.fixture(scope="module")
def monitor():
    """Three days of hours whose class ratio has a daily rhythm and rises on the third day."""
    rng = np.random.default_rng(5)
    times = np.sort(rng.random(20_000)) * 72 * HOUR
    share = 0.2 + 0.1 * np.sin(times / (24 * HOUR) * 2 * np.pi) + 0.1 * (times >= 48 * HOUR)
    labels = (rng.random(times.size) < share).astype(int)
    scores = rng.beta(2 + labels, 4)
    made = Monitor(clock="event", tiers=((HOUR, math.inf),))
    made.update_many(labels, scores, times)
    return made


def test_against_the_previous_window(monitor):
    """The first window has no previous one; each other is what `compare` says of the two."""
    history = monitor.history("6h")
    drift = history.drift()

    assert math.isnan(drift.prevalence_difference[0])
    for number in range(1, len(history)):
        found = compare(*history.windows[number - 1 : number + 1])
        assert drift.prevalence_difference[number] == found.prevalence_difference
        assert drift.roc_auc_difference[number] == found.roc_auc_difference
        low, high = (ends[number] for ends in drift.prevalence_interval)
        assert low < drift.prevalence_difference[number] < high
        parts = [
            drift.part("average_precision", of)[number]
            for of in ("prevalence", "positives", "negatives")
        ]
        assert math.isclose(sum(parts), found.attribution["average_precision"].total)


def test_against_the_same_hours_a_day_before(monitor):
    """The rhythm cancels: only the third day stands out, by what it rose."""
    drift = monitor.history("6h").drift("1d")

    assert np.isnan(drift.prevalence_difference[:4]).all()
    assert np.abs(drift.prevalence_difference[4:8]).max() < 0.06
    assert np.abs(drift.prevalence_difference[8:] - 0.1).max() < 0.06


def test_against_a_window(monitor):
    """Windows that share events with the reference are left out, all others compared with it."""
    history = monitor.history("1d")
    drift = history.drift(monitor.window(0, 24 * HOUR))

    assert np.isnan(drift.columns["prevalence_difference"]).tolist() == [True, False, False]
    assert drift.roc_auc_difference[2] == (history.windows[2].roc_auc - history.windows[0].roc_auc)


def test_a_bad_reference_is_refused(monitor):
    """What is neither a window, a word nor a length of time is named."""
    with pytest.raises(ValueError, match="against must be a length of time"):
        monitor.history("1d").drift("yesterday")
