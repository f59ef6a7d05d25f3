"""How long labels take, and what that says of windows whose labels are still coming."""

import math

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from streamauc import Monitor
from streamauc.maturity import DelayLog

BIN = 2 ** (1 / 32) * 1.02  # a delay is rounded up to the end of its bin


def monitor_of(times, delays, labels, until):
    """Replay predictions and labels in order of arrival, up to a moment."""
    monitor = Monitor(clock="event", tiers=((60, math.inf),))
    arrivals = [(when, 0, row) for row, when in enumerate(times)]
    arrivals += [
        (when + wait, 1, row) for row, (when, wait) in enumerate(zip(times, delays, strict=True))
    ]
    for when, kind, row in sorted(arrivals):
        if when > until:
            break
        if kind:
            monitor.update(0, 0.5, when, weight=0)  # moves the clock to when the label came
            monitor.flush()
            monitor.resolve(row, labels[row])
        else:
            monitor.predict(row, 0.5, when)
        monitor.flush()
    return monitor


def test_delays_by_class_are_quantiles_of_what_arrived():
    """With every label there, each class has the quantile of its own delays, within a bin."""
    rng = np.random.default_rng(1)
    delays, labels = rng.exponential(3_600, 4_000), rng.integers(0, 2, 4_000)
    delays[labels == 1] *= 3
    log = DelayLog()
    log.add(list(zip(delays.tolist(), labels.tolist(), strict=True)))
    found = log.estimate(0.9, np.array([]))

    assert found.n_labels == 4_000
    for value, chosen in (
        (found.negatives, labels == 0),
        (found.positives, labels == 1),
        (found.overall, labels >= 0),
    ):
        truth = np.quantile(delays[chosen], 0.9)
        assert truth / 1.01 <= value <= truth * BIN * 1.01


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_waiting_predictions_count_as_waiting(share):
    """The overall delay is the quantile of SciPy's estimate from censored delays."""
    rng = np.random.default_rng(2)
    true, age = rng.exponential(3_600, 3_000), rng.uniform(0, 10_000, 3_000)
    arrived = true <= age
    log = DelayLog()
    log.add([(delay, 0.0) for delay in true[arrived].tolist()])
    found = log.estimate(share, age[~arrived])
    curve = ecdf(CensoredData(uncensored=true[arrived], right=age[~arrived])).sf
    truth = curve.quantiles[np.flatnonzero(curve.probabilities <= 1 - share)[0]]

    assert truth / 1.05 <= found.overall <= truth * 1.05
    assert found.negatives < found.overall
    assert math.isnan(found.positives)


def test_too_few_labels_leave_it_open():
    """While most predictions wait nobody knows how long the last labels take."""
    log = DelayLog()
    assert math.isnan(log.estimate(0.95, np.array([])).overall)
    log.add([(10.0, 1.0)])
    assert math.isnan(log.estimate(0.95, np.full(50, 100.0)).overall)
    with pytest.raises(ValueError, match=r"share must be in \(0, 1\), got 1"):
        log.estimate(1, np.array([]))


def test_a_monitor_knows_its_delays():
    """Through `predict` and `resolve`: the delay of each class, from a stream in its order."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.random(400) * 36_000)
    labels = rng.integers(0, 2, 400)
    delays = np.where(labels == 1, 3_000.0, 600.0)
    found = monitor_of(times, delays, labels, math.inf).label_delay(0.95)

    assert 600 <= found.negatives <= 600 * BIN
    assert 3_000 <= found.positives <= 3_000 * BIN
    assert found.n_labels == 400


def test_recent_windows_are_immature():
    """Labels of positives take longer, so the last hour shows too few, and says it is immature."""
    rng = np.random.default_rng(4)
    times = np.sort(rng.random(2_000) * 36_000)
    labels = rng.integers(0, 2, 2_000)
    monitor = monitor_of(times, np.where(labels == 1, 3_000.0, 60.0), labels, 36_000)
    fresh = monitor.window(32_400, 36_000, min_coverage=0.95)
    mature = monitor.window(25_200, 28_800, min_coverage=0.95)

    with pytest.raises(ValueError, match=r"min_coverage must be in \[0, 1\], got 95"):
        monitor.window(last="1h", min_coverage=95)
    assert fresh.caveats == ("immature",)
    assert mature.caveats == ()
    assert fresh.prevalence < 0.3 < mature.prevalence
