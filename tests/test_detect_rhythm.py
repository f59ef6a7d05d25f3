"""Rhythms, and panes that differ by more than chance: quiet where nothing changed."""

import math

import numpy as np
import pytest

from streamauc.change.detect import PrevalenceDetector, State
from streamauc.change.dispersion import Dispersion, estimate, excess
from streamauc.change.reference import ReferencePanes
from streamauc.demo.flights import load_flights

DAY = 288


def rhythm(first, n_days, seed, *, weekly=0.15, rise=1.0):
    """Panes of a stream with busy days, quiet nights and weekends of their own."""
    rng = np.random.default_rng(seed)
    panes = np.arange(first, first + n_days * DAY)
    hour = panes % DAY / 12
    n = rng.poisson(300 * (1 + 0.7 * np.sin((hour - 8) / 24 * 2 * np.pi)))
    weekend = panes // DAY % 7 >= 5
    prevalence = 0.02 * (1 + 0.4 * np.cos(hour / 24 * 2 * np.pi)) * (1 + weekly * weekend)
    return panes, rng.binomial(n, rise * prevalence), n


def aged(n_pos, n, age, rng):
    """Return what is labelled of a pane after `age` hours: positives come more slowly."""
    late = rng.binomial(n_pos, 1 - math.exp(-age / 6))
    return late, rng.binomial(n - n_pos, 1 - math.exp(-age / 2))


def read_at(age, panes, n_pos, n, seed):
    found = aged(n_pos, n, age, np.random.default_rng(seed))
    return panes, *found, sum(found) / np.maximum(n, 1)


def reference_of(age, n_days=56, **kwargs):
    panes, n_pos, n_neg, _ = read_at(age, *rhythm(0, n_days, 10, **kwargs), seed=11)
    return ReferencePanes(panes, n_pos, n_neg)


@pytest.fixture(scope="module")
def quiet():
    """60 quiet days behind the reference: the panes an hour old, and a day old."""
    days = rhythm(56 * DAY, 60, 12)
    return read_at(1, *days, seed=13), read_at(24, *days, seed=14)


def poll(detector, quiet):
    """Show each pane twice, too young and mature, as a job does that asks for what there is."""
    states = set()
    for young, old in zip(zip(*quiet[0], strict=True), zip(*quiet[1], strict=True), strict=True):
        for pane, n_pos, n_neg, coverage in (young, old):
            states.add(detector.step(int(pane), int(n_pos), int(n_neg), coverage=coverage))
    return states


@pytest.mark.parametrize(
    "settings",
    [{"seasonal": "1w"}, {"seasonal": "1d", "overdispersion": "estimate"}],
    ids=["weekly", "daily, weekends as dispersion"],
)
def test_sixty_quiet_days_with_a_rhythm(quiet, settings):
    """Nothing fires, neither nights nor weekends nor late labels; a rise after them does."""
    detector = PrevalenceDetector(reference_of(24), **settings)
    assert poll(detector, quiet) == {State.QUIET}
    assert detector.n_immature > 10_000

    panes, n_pos, n_neg, coverage = read_at(24, *rhythm(116 * DAY, 7, 15, rise=2), seed=16)
    for row in zip(panes.tolist(), n_pos.tolist(), n_neg.tolist(), coverage, strict=True):
        if detector.step(*row[:3], coverage=row[3]) is State.ALARM:
            break
    assert detector.alarm.direction == "up"
    assert detector.alarm.pane < 118 * DAY
    assert detector.alarm.began >= 116 * DAY - DAY // 2


def test_a_rhythm_without_seasons_cries_wolf(quiet):
    """What the settings above are for."""
    assert State.ALARM in poll(PrevalenceDetector(reference_of(24)), quiet)


def test_immature_panes_would_look_like_a_fall(quiet):
    """Were panes an hour old taken in, the late positives would be missed."""
    detector = PrevalenceDetector(reference_of(24), seasonal="1w", min_coverage=0.0)
    poll(detector, quiet)
    assert detector.alarm.direction == "down"


def test_phases_are_compared_with_their_own():
    """Two halves of a day, given as pairs, a mapping and panes: the same null."""
    n = np.where(np.arange(24) < 12, 1000, 2000)
    n_pos = np.where(np.arange(24) < 12, 100, 600)
    by_pane = ReferencePanes(np.arange(24), n_pos, n - n_pos)
    halves = [(1200, 10_800), (7200, 16_800)]
    common = {"seasonal": "1d", "pane_seconds": 3600, "phase": "12h"}
    first, second, third = (
        PrevalenceDetector(reference, **common)
        for reference in (by_pane, halves, dict(enumerate(halves)))
    )

    assert first.baseline.nulls == second.baseline.nulls == third.baseline.nulls
    assert [null.prevalence for null in first.baseline.nulls] == [0.1, 0.3]
    for pane in range(-48, 480):
        k = 30 if pane % 24 >= 12 else 10
        assert first.step(pane, k, 100 - k) is State.QUIET
    assert "0.3 (" in first.reason


def test_all_intervals_hold_at_once():
    """Over phases, the Wilson intervals together cover all truths as often as `level` says."""
    rng = np.random.default_rng(1)
    truth = np.linspace(0.02, 0.3, 24)
    covered = []
    for _ in range(200):
        k = rng.binomial(5000, truth)
        detector = PrevalenceDetector(
            list(zip(k.tolist(), (5000 - k).tolist(), strict=True)), seasonal="1d", level=0.9
        )
        nulls = detector.baseline.nulls
        covered.append(all(a.low <= p <= a.high for a, p in zip(nulls, truth, strict=True)))
    assert np.mean(covered) > 0.86


def test_a_phase_without_reference_tells_nothing():
    """Its panes are counted as empty."""
    detector = PrevalenceDetector({1: (100, 900)}, seasonal=600, pane_seconds=300)
    detector.step(0, 400, 100)
    detector.step(1, 50, 450)
    assert detector.n_empty == 1
    assert detector.evidence.panes.tolist() == [1]


def test_the_bound_is_above_the_exact_mean():
    """`excess` beside the exact mean of exp(u (P - p)) for betas (Kummer's function)."""
    from scipy.special import hyp1f1

    for p in (0.01, 0.2, 0.5, 0.9):
        for size in (0.1, 3.0, 50.0, 2000.0):
            for u in (-30.0, -2.0, 0.1, 0.5, 3.0, 40.0):
                exact = math.log(hyp1f1(p * size, size, u)) - u * p
                assert exact <= excess(u / size, p, size) + 1e-9


@pytest.mark.parametrize("rho", [0.0, 0.002, 0.02])
def test_the_correlation_is_estimated_from_above(rho):
    """Rarely below the truth, and not by far above it."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = rng.integers(100, 900, 600)
        size = 1 / max(rho, 1e-9) - 1
        own = rng.beta(0.1 * size, 0.9 * size, n.size)
        k = rng.binomial(n, own)
        p = k.sum() / n.sum()
        found.append(
            estimate(
                np.arange(n.size),
                k - n * p,
                n * p * (1 - p),
                n.astype(float),
                n_fitted=1,
                level=0.99,
            ).correlation
        )
    assert np.mean(np.array(found) >= rho) > 0.95
    assert np.median(found) < 1.6 * rho + 0.002


def test_fitting_many_phases_hides_no_variance():
    """Three days fit 24 prevalences, which take a third of the variance with them."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        k = rng.binomial(500, rng.beta(0.1 * 99, 0.9 * 99, 72))
        panes = ReferencePanes(np.arange(72), k, 500 - k)
        detector = PrevalenceDetector(
            panes, pane_seconds=3600, seasonal="1d", overdispersion="estimate", level=0.5
        )
        found.append(detector.baseline.dispersion.correlation)
    assert np.median(found) > 0.0095


def test_phases_that_do_not_fit_are_a_pane_long():
    """Seven hours divide no day; 7 minutes no hour."""
    panes = ReferencePanes(np.arange(576), np.full(576, 9), np.full(576, 91))
    for phase in ("7h", "7m"):
        detector = PrevalenceDetector(panes, seasonal="1d", phase=phase)
        assert len(detector.baseline.nulls) == 288


def test_a_slow_drift_raises_the_estimate():
    """Prevalences that stay off for days weigh more than their variance from pane to pane."""
    rng = np.random.default_rng(3)
    own = 0.1 * (1 + 0.1 * np.repeat(rng.standard_normal(40), 25))
    n = np.full(1000, 500.0)
    expected = n * 0.1

    def correlation(order):
        k = rng.binomial(500, own[order])
        return estimate(
            np.arange(1000), k - expected, expected * 0.9, n, n_fitted=1, level=0.99
        ).correlation

    assert correlation(np.arange(1000)) > 5 * correlation(rng.permutation(1000))


def test_a_factor_is_at_most_the_size():
    """One event cannot vary more than binomially."""
    spread = Dispersion(factor=3.0, correlation=0.01)

    assert [spread.factor_of(n) for n in (0.5, 1, 2, 101)] == [1, 1, 2, 4]
    assert spread.beta_size(101) == pytest.approx(97 / 3)
    assert spread.beta_size(1) == math.inf


@pytest.fixture(scope="module")
def autumn():
    """Nine weeks of flights without storms, day by day and hour by hour: positives, flights."""
    flights = load_flights()
    start = np.datetime64("2013-09-16", "s").astype(np.int64)
    hour = (flights.timestamps - start) // 3600
    held = (hour >= 0) & (hour < 9 * 168)
    n_pos = np.bincount(hour[held], flights.late[held], minlength=9 * 168)
    return start // 3600, n_pos, np.bincount(hour[held], minlength=9 * 168)


@pytest.mark.parametrize("hours", [6, 24])
def test_resampled_quiet_weeks_of_the_flights(autumn, hours):
    """A hundred quarters of the year made of such weeks: no more alarms than one in 30 days."""
    first, n_pos, n = autumn
    n_pos, n = (column.reshape(-1, hours).sum(axis=1) for column in (n_pos, n))
    first, per_week = first // hours, 168 // hours
    reference = ReferencePanes(first + np.arange(n.size), n_pos, n - n_pos)
    detector = PrevalenceDetector(
        reference, pane_seconds=hours * 3600, seasonal="1d", phase="6h", overdispersion="estimate"
    )
    rng = np.random.default_rng(7)
    n_alarms = 0
    for _ in range(100):
        weeks = rng.integers(0, 9, 13)[:, None] * per_week + np.arange(per_week)
        for pane, source in enumerate(weeks.ravel().tolist(), first):
            state = detector.step(pane, int(n_pos[source]), int((n - n_pos)[source]))
            if state is State.ALARM:
                n_alarms += 1
                detector.acknowledge()
        detector.reset(reference)
    assert n_alarms <= 100 * 13 * 7 / 30


def test_the_storms_of_december_are_found(autumn):
    """From day to day, against the nine weeks before, as a rise."""
    flights = load_flights()
    first, n_pos, n = autumn
    n_pos, n = (column.reshape(-1, 24).sum(axis=1) for column in (n_pos, n))
    reference = ReferencePanes(first // 24 + np.arange(n.size), n_pos, n - n_pos)
    detector = PrevalenceDetector(reference, pane_seconds=86_400, overdispersion="estimate")
    day = flights.timestamps // 86_400
    for pane in range(first // 24 + n.size, int(day[-1])):
        late = flights.late[day == pane]
        detector.step(pane, int(late.sum()), int((late == 0).sum()))
    assert detector.state is State.ALARM
    assert detector.alarm.direction == "up"
    assert detector.alarm.prevalence > 0.3


def test_panes_that_vary_like_single_events_are_a_stall():
    """Where nothing could be told, the state says so instead of being quiet for ever."""
    n_pos = np.array([50, 0] * 50)
    detector = PrevalenceDetector(
        ReferencePanes(np.arange(100), n_pos, 50 - n_pos), overdispersion="estimate"
    )
    assert detector.step(100, 25, 25) is State.STALLED
    assert "longer panes are needed" in detector.reason
