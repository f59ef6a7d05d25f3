"""The promise of the detector: proved pane by pane with exact sums, and simulated."""

import math
import os
from itertools import repeat

import numpy as np
import pytest
from detector_runs import first_alarms
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamauc.change.detect import PrevalenceDetector, State
from streamauc.change.dispersion import Dispersion
from streamauc.change.evidence import Tilt
from streamauc.change.reference import Baseline, Null, ReferencePanes
from streamauc.change.settings import RATIOS
from streamauc.metrics.intervals import wilson_interval

N, P = 500, 0.02
MONTH = 30 * 288  # five-minute panes
prevalences = st.sampled_from([1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
LONG = os.environ.get("STREAMAUC_LONG") == "1"


def mean_ratio(tilt, pmf, n):
    """Return the exact mean of L over the counts of a pane, by ratio, upwards first."""
    with np.errstate(over="ignore"):
        table = np.exp([tilt.gains(float(k), float(n)) for k in range(n + 1)])
    return np.asarray(pmf) @ table


def tilt_of(low, high, dispersion=None, typical=1.0, run_length=1000.0):
    null = Null(low, high, (low + high) / 2)
    return Tilt(null, RATIOS, Baseline((null,), dispersion or Dispersion(), typical), run_length)


@given(prevalences, prevalences, st.integers(1, 300), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_no_prevalence_of_the_null_is_worth_evidence(one, other, n, share):
    """The mean of L is at most 1 for all of the null, and 1 at the end it is compared with."""
    low, high = min(one, other), max(one, other)
    tilt = tilt_of(low, high)
    k = np.arange(n + 1)

    inside = mean_ratio(tilt, stats.binom.pmf(k, n, low + share * (high - low)), n)
    assert inside.max() <= 1 + 1e-9
    at_ends = [mean_ratio(tilt, stats.binom.pmf(k, n, end), n) for end in (high, low)]
    assert at_ends[0][: len(RATIOS)] == pytest.approx(1, rel=1e-8)
    assert at_ends[1][len(RATIOS) :] == pytest.approx(1, rel=1e-8)


@given(
    prevalences,
    prevalences,
    st.integers(2, 150),
    st.sampled_from([1e-4, 0.003, 0.05, 0.4, 0.95]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([1.0, 20.0, 150.0, 5000.0]),
)
@settings(max_examples=80, deadline=None)
def test_beta_binomial_counts_are_worth_no_evidence(n_one, n_two, n, rho, share, less, typical):
    """Also for less spread than was taken, inside the null, and panes of another size."""
    low, high = min(n_one, n_two), max(n_one, n_two)
    tilt = tilt_of(low, high, Dispersion(correlation=rho), typical)
    p, size = low + share * (high - low), 1 / max(rho * less, 1e-7) - 1
    for mean, spread in ((p, size), (low, 1 / rho - 1), (high, 1 / rho - 1)):
        pmf = stats.betabinom.pmf(np.arange(n + 1), n, mean * spread, (1 - mean) * spread)
        pmf = np.nan_to_num(pmf) / np.nansum(pmf)
        assert mean_ratio(tilt, pmf, n).max() <= 1 + 1e-6


@pytest.mark.parametrize("factor", [1.0, 1.5, 4.0])
def test_the_simulation_is_the_class(factor):
    """The runs of the simulation below alarm where the class does."""
    rng = np.random.default_rng(5)
    low, high = 0.018, 0.022
    n = rng.integers(300, 700, 120) if factor == 1 else np.full(120, N)
    n_pos = rng.binomial(n, rng.choice([0.01, 0.02, 0.03, 0.035], 40)[:, None], (40, 120))
    size = math.inf if factor == 1 else (N - factor) / (factor - 1)
    found = []
    for row in n_pos:
        detector = PrevalenceDetector(
            0.02, false_alarm_every=3000.0, pane_seconds=10, overdispersion=factor, tolerance=0.1
        )
        null = detector.baseline.nulls[0]
        assert (null.low, null.high) == pytest.approx((low, high))
        states = [
            detector.step(i, int(k), int(m - k))
            for i, (k, m) in enumerate(zip(row, n, strict=True))
        ]
        found.append(next((i + 1 for i, s in enumerate(states) if s is State.ALARM), 121))
    # A factor for panes of any size is that of very large ones.
    typical = 1.0 if factor == 1 else size * (factor - 1)
    batch = first_alarms(n_pos, n, repeat((low, high)), 300.0, size=size, typical=typical)

    assert batch.tolist() == found
    assert len(set(found)) > 10


def quiet_runs(n_runs, n_panes, seed, p=P):
    return np.random.default_rng(seed).binomial(N, p, (n_runs, n_panes))


def test_false_alarms_are_as_rare_as_promised():
    """400 quiet runs, known reference: the mean time to an alarm, censored at ten times."""
    promise = MONTH if LONG else 200
    n_pos = quiet_runs(400, 10 * promise, 1)
    found = first_alarms(n_pos, np.full(10 * promise, N), repeat((P, P)), promise)

    assert np.minimum(found, 10 * promise).mean() >= promise
    assert (found <= 10 * promise).mean() > 0.8  # the detector is not just deaf


def test_the_promise_holds_where_the_prevalence_wanders_in_the_null():
    """From one end of a null that a tolerance has made wide to the other, and back."""
    promise = 200
    t = np.arange(10 * promise)
    wander = 0.02 * (1 + 0.1 * np.sign(np.sin(t / 40)))
    n_pos = quiet_runs(200, t.size, 2, wander)
    found = first_alarms(n_pos, np.full(t.size, N), repeat((0.018, 0.022)), promise)

    assert np.minimum(found, t.size).mean() >= promise


def median_delay(rise, n_runs=400, *, n_reference=None, seed=3):
    """Return the median number of panes until a rise is found, with a promise of 30 days."""
    rng = np.random.default_rng(seed)
    ends = (P, P)
    if n_reference is not None:
        found = [
            wilson_interval(int(k), n_reference, level=0.99)
            for k in rng.binomial(n_reference, P, n_runs)
        ]
        ends = np.array([one.low for one in found]), np.array([one.high for one in found])
    n_pos = rng.binomial(N, P * rise, (n_runs, 400))
    return float(np.median(first_alarms(n_pos, np.full(400, N), repeat(ends), MONTH)))


@pytest.mark.parametrize(
    ("rise", "n_reference", "limit"),
    [(1.2, None, 65), (1.5, None, 14), (1.2, 200_000, 95), (1.5, 200_000, 18)],
)
def test_rises_are_found_soon(rise, n_reference, limit):
    """The delays that were asked for, against a known and an estimated reference."""
    assert median_delay(rise, n_reference=n_reference) < limit


def test_falls_are_found_as_soon():
    """The other side works alike."""
    assert median_delay(0.8) < 65
    assert median_delay(0.5) < 14


def test_the_promise_with_beta_binomial_panes():
    """Independent panes whose own prevalence varies, twice the binomial variance."""
    rng = np.random.default_rng(4)
    promise, factor = 200, 2.0
    size = (N - factor) / (factor - 1)
    own = rng.beta(P * size, (1 - P) * size, (300, 10 * promise))
    n_pos, n = rng.binomial(N, own), np.full(10 * promise, N)

    aware = first_alarms(n_pos, n, repeat((P, P)), promise, size=size, typical=float(N))
    naive = first_alarms(n_pos, n, repeat((P, P)), promise)
    assert np.minimum(aware, 10 * promise).mean() >= promise
    assert np.minimum(naive, 10 * promise).mean() < promise / 2


def test_polling_twice_changes_nothing():
    """Whoever polls, a pane counts once."""
    n_pos = quiet_runs(1, 60, 6)[0].tolist()
    once, often = (PrevalenceDetector(P) for _ in range(2))
    for pane, k in enumerate(n_pos):
        once.step(pane, k, N - k)
        for _ in range(3):
            often.step(pane, k, N - k)

    assert often.evidence.up.tolist() == once.evidence.up.tolist()
    assert often.n_ignored == 120


def own_prevalences(rng, n_panes, memory):
    """Return prevalences of panes with correlation 0.004, independent or an AR(1) process."""
    rho = 0.004
    if not memory:
        return rng.beta(P * (1 / rho - 1), (1 - P) * (1 / rho - 1), n_panes)
    carry, level = 1 - 1 / memory, rng.standard_normal(n_panes)
    for i in range(1, n_panes):
        level[i] = carry * level[i - 1] + math.sqrt(1 - carry**2) * level[i]
    spread = math.sqrt(rho * (1 - P) / P)
    return P * np.exp(spread * level - spread**2 / 2)


@pytest.mark.parametrize("memory", [0, 10])
def test_the_promise_with_an_estimated_dispersion(memory):
    """Panes with three times the binomial variance, also where they resemble the one before."""
    promise, times = 200, []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        k = rng.binomial(N, own_prevalences(rng, 14 * 288, memory))
        detector = PrevalenceDetector(
            ReferencePanes(np.arange(k.size), k, N - k),
            overdispersion="estimate",
            false_alarm_every=promise * 300,
        )
        k = rng.binomial(N, own_prevalences(rng, 10 * promise, memory)).tolist()
        states = (detector.step(5000 + i, n, N - n) is State.ALARM for i, n in enumerate(k))
        times.append(next((i + 1 for i, alarm in enumerate(states) if alarm), 10 * promise))
    assert np.mean(times) >= promise
