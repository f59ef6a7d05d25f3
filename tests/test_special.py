"""The special functions against SciPy and exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from streamauc._special import digamma_rise, expit, logit, normal_quantile


def test_digamma_rise_equals_scipy():
    """Where the two values differ clearly, their difference is SciPy's to 1e-13."""
    rng = np.random.default_rng(15)
    x = np.concatenate([rng.uniform(0.5, 30, 50_000), 10 ** rng.uniform(0, 9, 50_000)])
    step = x * rng.uniform(0.5, 100, x.size)
    want = special.psi(x + step) - special.psi(x)

    assert digamma_rise(x, step) == pytest.approx(want, rel=1e-13, abs=1e-13)
    assert digamma_rise(np.ones(1), np.ones(1)) == pytest.approx([1.0], rel=4e-16)


@pytest.mark.parametrize("start", [1, 2, 9, 10, 11, 1000, 10**9, 10**15])
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_small_rises_of_large_arguments(start, steps):
    """For whole steps it is a sum of reciprocals, right to the last digits however small."""
    exact = float(sum(Fraction(1, start + i) for i in range(steps)))
    found = digamma_rise(np.array([float(start)]), np.array([float(steps)]))

    assert found[0] == pytest.approx(exact, rel=1e-13)


@pytest.mark.filterwarnings("error")
def test_rises_of_arguments_of_any_size():
    """Up to the largest float it is the logarithm of the ratio, without overflow."""
    x = 10.0 ** np.arange(15, 308, 3)
    for ratio in (1e-9, 0.5, 3.0):
        assert digamma_rise(x, ratio * x) == pytest.approx(np.full(x.size, np.log1p(ratio)))
    assert digamma_rise(np.array([2.0, 1e200]), np.ones(2)) == pytest.approx([0.5, 1e-200])


@pytest.mark.parametrize("steps", [1, 3, 100])
def test_rises_around_the_shift_are_exact(steps):
    """Below and above the argument from which nothing is shifted, against sums in fractions."""
    starts = [0.25 * k for k in range(1, 500)]
    exact = [float(sum(1 / (Fraction(start) + i) for i in range(steps))) for start in starts]
    found = digamma_rise(np.array(starts), np.full(len(starts), float(steps)))

    assert found == pytest.approx(exact, rel=3e-14, abs=0)


def test_a_rise_does_not_depend_on_its_neighbours():
    """To the last bit, so that equal bins in different company have equal precisions."""
    rng = np.random.default_rng(16)
    x = np.concatenate([rng.uniform(0.5, 200, 50), 10 ** rng.uniform(0, 9, 50)])
    step = rng.integers(1, 50, x.size).astype(np.float64)
    found = digamma_rise(x, step)

    for part in (slice(0, 1), slice(3, 20), slice(30, 99)):
        assert digamma_rise(x[part], step[part]).tolist() == found[part].tolist()


def test_arguments_are_not_written_to():
    """The arrays that come in stay as they are."""
    x, step = np.array([1.0, 50.0]), np.array([3.0, 4.0])
    digamma_rise(x, step)

    assert (x.tolist(), step.tolist()) == ([1.0, 50.0], [3.0, 4.0])


@given(st.floats(0, 1))
def test_logit_equals_scipy(p):
    """Infinite at both ends, SciPy's in between."""
    assert logit(p) == pytest.approx(float(special.logit(p)), rel=1e-13, abs=1e-15)


@given(st.floats(-800, 800))
def test_expit_equals_scipy_and_undoes_logit(x):
    """No overflow at either end; the way back is the way there."""
    p = expit(x)

    assert p == pytest.approx(float(special.expit(x)), rel=1e-13, abs=1e-300)
    if -30 < x < 15:
        assert logit(p) == pytest.approx(x, abs=1e-9)
    assert expit(-math.inf) == 0
    assert expit(math.inf) == 1


@pytest.mark.parametrize("level", [1e-9, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9])
def test_normal_quantile_equals_scipy(level):
    """The two-sided quantile at common and at extreme levels."""
    assert normal_quantile(level) == pytest.approx(stats.norm.ppf(0.5 + level / 2), rel=1e-12)
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054, rel=1e-15)
