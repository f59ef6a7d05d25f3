"""The tail of the gamma distribution against SciPy and against sums that need no function."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from streamauc._gamma import chi_square_tail, upper_gamma


@given(st.floats(0.01, 100), st.floats(0, 6))
def test_equals_scipy_for_small_shapes(a, ratio):
    """To 1e-12 of its value, on both sides of where series and fraction meet."""
    want = float(special.gammaincc(a, a * ratio))

    assert upper_gamma(a, a * ratio) == pytest.approx(want, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("a", [100.0, 1e3, 1e4])
def test_equals_scipy_for_large_shapes(a):
    """To 1e-10 of its value within eight standard deviations."""
    x = a + math.sqrt(a) * np.linspace(-8, 8, 101)
    found = [upper_gamma(a, one) for one in x.tolist()]

    assert found == pytest.approx(special.gammaincc(a, x), rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
@pytest.mark.parametrize("x", [1e-9, 0.3, 1.0, 7.0, 40.0])
def test_whole_shapes_are_poisson_sums(n, x):
    """Q(n, x) is the chance of fewer than n events where x are expected."""
    want = math.fsum(math.exp(-x) * x**k / math.factorial(k) for k in range(n))

    assert upper_gamma(n, x) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 18, 200])
def test_chi_square_tail_equals_scipy(degrees):
    """Quantiles come back as the level they were made from, far into the tail."""
    for level in (0.999, 0.5, 0.05, 1e-3, 1e-9, 1e-40):
        assert chi_square_tail(stats.chi2.isf(level, degrees), degrees) == pytest.approx(
            level, rel=1e-9
        )


def test_ends():
    """All of it above 0, nothing above infinity, and nothing made of a missing statistic."""
    assert upper_gamma(2.5, 0.0) == 1
    assert upper_gamma(2.5, -1.0) == 1
    assert upper_gamma(2.5, math.inf) == 0
    assert upper_gamma(2.5, 1e9) == 0
    assert math.isnan(upper_gamma(2.5, math.nan))


@pytest.mark.parametrize("a", [0.0, -1.0, math.inf, math.nan])
def test_shapes_must_be_positive(a):
    """The message says what was asked for and what came."""
    with pytest.raises(ValueError, match=r"a must be positive and finite, got (0|-1|inf|nan)"):
        upper_gamma(a, 1.0)
