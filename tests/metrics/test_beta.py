"""The incomplete beta function against SciPy, exact sums and values from 60-digit arithmetic."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from streamauc._beta import beta_tails, incomplete_beta

# Not whole, where SciPy sums terms that are rounded more with large parameters than ours.
PARAMETERS = [
    *(0.001, 0.1, 0.5, 0.95, 1.0001, 1.5, 1.99, 2.5, 3.3, 7.7, 20.2, 40.5, 59.9, 60.1, 100.5),
    *(333.3, 1000.5, 1e4 + 0.5, 1e5 + 0.5, 1e6 + 0.5, 1e7 + 0.5, 1e8 + 0.5, 1e9 + 0.5),
]


def around(a, b):
    """Return arguments over the whole range: near the mean, far from it, next to both ends."""
    mean = a / (a + b)
    spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
    near = mean + spread * np.linspace(-15, 15, 61)
    ends = np.logspace(-12, 0, 13)
    x = np.unique(np.concatenate((near, ends * mean, 1 - ends * (1 - mean))))
    return x[(x > 0) & (x < 1)]


@pytest.mark.parametrize("a", PARAMETERS)
def test_both_tails_are_scipys(a):
    """To 1e-12 of each, but for what the last digit of x decides where parameters are large."""
    for b in PARAMETERS:
        x = around(a, b)
        lower, upper, _ = beta_tails(x, a, b)
        early = x * (a + b + 2) <= a + 1
        # What the last digit of x decides grows with the inverse of the spread.
        tol = 1e-12 + 1e-14 * math.sqrt(min(a, b))
        if max(a, b) > 1e4:
            tol += 1e-6  # older versions of SciPy are off by 4e-8; ours is held to `REFERENCES`
        for found, want, accurate in (
            (lower, special.betainc(a, b, x), early & (lower > 1e-290)),
            (upper, special.betaincc(a, b, x), ~early & (upper > 1e-290)),
        ):
            assert found[accurate] == pytest.approx(want[accurate], rel=tol)
            assert found == pytest.approx(want, abs=1e-12 if max(a, b) < 1e4 else 1e-6)


# (a, b, x, value), the value from 60-digit arithmetic, and how far off ours may be.
REFERENCES = [
    (1e9, 1e9, 0.4997204915028824, 3.056547936629725e-138, 2e-11),
    (1e9, 1e9, 0.49998881966011527, 0.15865525399136254, 2e-11),
    (1e9, 1e4, 0.9999875001374998, 3.6792204691442866e-119, 4e-12),
    (1e9, 1e4, 0.9999899001014991, 0.15865125002944178, 4e-12),
    (1e6, 1e6, 0.49116116744487603, 2.9114564255110255e-138, 4e-12),
    (1e6, 1e6, 0.500353553302205, 0.8413446855758903, 1e-12),
    (1e5, 3e5, 0.23288369147333585, 1.2439482125259876e-142, 3e-12),
    (200, 1e9, 2.6872843447911553e-08, 2.2771684919774346e-101, 3e-13),
    (1e9, 70.5, 0.999999719589332, 2.0363104044142098e-51, 1e-13),
    (2.5, 1e9, 6.376725627543728e-10, 0.06255191837112604, 1e-14),
    (2.5, 1e9, 4.081138817114349e-09, 0.8524839519024251, 1e-14),
    (0.3, 1e8, 2.3661700463080294e-09, 0.686109740128892, 1e-14),
    (3, 1e5, 4.731874211365581e-05, 0.8508881064029257, 1e-14),
    (61, 61, 0.4507137288057418, 0.13803379665476168, 5e-14),
    (1000, 1000, 0.22056135374381508, 3.748808800193275e-165, 1e-12),
    (2.3, 1.7, 0.12454465335010269, 0.019172103807259734, 5e-15),
    (0.5, 40, 0.008907214908435412, 0.6009919084701706, 5e-15),
    (59, 59, 0.4230987092141564, 0.046753377535251675, 5e-14),
]


@pytest.mark.parametrize(("a", "b", "x", "value", "tol"), REFERENCES)
def test_values_of_many_digits(a, b, x, value, tol):
    """Far out in a tail, and with parameters up to 1e9."""
    assert incomplete_beta(np.array([x]), a, b)[0] == pytest.approx(value, rel=tol)


@pytest.mark.parametrize("a", [1, 2, 3, 10])
@pytest.mark.parametrize("b", [1, 2, 5, 1000, 10**5, 10**9])
def test_whole_parameters_are_a_sum(a, b):
    """The chance of at least a successes in a + b - 1 trials, to 40 digits."""
    n = a + b - 1
    for hundredths in (1, 30, 100, 250, 600):
        x = min(0.99, hundredths / 100 * a / (a + b))
        with localcontext() as context:
            context.prec = 60
            success, trials = Decimal(x), Decimal(n)
            log_failure = (1 - success).ln()
            fewer = sum(
                Decimal(math.comb(n, i)) * success**i * ((trials - i) * log_failure).exp()
                for i in range(a)
            )
            want_upper, want_lower = float(fewer), float(1 - fewer)
        tails = beta_tails(np.array([x]), float(a), float(b))
        lower, upper = tails.lower[0], tails.upper[0]
        if x * (a + b + 2) <= a + 1:
            assert lower == pytest.approx(want_lower, rel=2e-14)
        else:
            assert upper == pytest.approx(want_upper, rel=2e-13)


@given(st.fractions(0, 1), st.integers(1, 6), st.integers(1, 6))
def test_small_whole_parameters_in_fractions(x, a, b):
    """The same sum without rounding, over all of [0, 1]."""
    x = Fraction(float(x))
    n = a + b - 1
    want = sum(math.comb(n, i) * x**i * (1 - x) ** (n - i) for i in range(a, n + 1))

    assert incomplete_beta(np.array([float(x)]), a, b)[0] == pytest.approx(float(want), rel=1e-13)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.floats(0.001, 0.999))
def test_neighbours_differ_by_the_kernel(a, b, x):
    """One more in either parameter; and the kernel is the density times x (1 - x)."""
    at = np.array([x])
    kernel = beta_tails(at, a, b).kernel[0]
    here, one_a, one_b = (
        incomplete_beta(at, *shape)[0] for shape in ((a, b), (a + 1, b), (a, b + 1))
    )

    assert here - one_a == pytest.approx(kernel / a, rel=1e-9, abs=1e-12)
    assert one_b - here == pytest.approx(kernel / b, rel=1e-9, abs=1e-12)
    density = stats.beta.logpdf(x, a, b) + math.log(x) + math.log1p(-x)
    if density > -600:
        assert math.log(kernel) == pytest.approx(density, abs=1e-9)


@given(st.floats(0.01, 1e9), st.floats(0.01, 1e9), st.floats(1e-9, 1 - 1e-9))
def test_exchanged_parameters_exchange_the_tails(a, b, x):
    """Exactly where 1 - x is exact, and they sum to one."""
    x = 1 - (1 - x)
    lower, upper, _ = (part[0] for part in beta_tails(np.array([x]), a, b))
    other_lower, other_upper, _ = (part[0] for part in beta_tails(np.array([1 - x]), b, a))

    assert lower + upper == pytest.approx(1, abs=2e-16)
    assert (other_upper, other_lower) == pytest.approx((lower, upper), rel=1e-6, abs=1e-11)


def test_beyond_the_ends_and_in_between():
    """0 and 1 at and beyond them, ``nan`` where x is, the argument is not written to."""
    x = np.array([-1.0, 0.0, 5e-324, 0.25, 1 - 2**-53, 1.0, 2.0, math.nan])
    before = x.copy()
    lower, upper, kernel = beta_tails(x, 2.0, 2.0)

    assert lower[:2].tolist() == [0, 0]
    assert 0 <= lower[2] < 1e-300
    assert lower[3] == pytest.approx(0.15625, rel=1e-15)
    assert lower[4:7].tolist() == [1, 1, 1]
    assert upper[:3].tolist() == [1, 1, 1]
    assert upper[4] == pytest.approx(3 * 2.0**-106, rel=1e-12)
    assert upper[5:7].tolist() == [0, 0]
    assert math.isnan(lower[7])
    assert math.isnan(upper[7])
    assert math.isnan(kernel[7])
    assert kernel[[0, 1, 5, 6]].tolist() == [0, 0, 0, 0]
    assert np.array_equal(x, before, equal_nan=True)
    assert incomplete_beta(np.empty(0), 2.0, 3.0).size == 0


def test_a_value_does_not_depend_on_its_neighbours():
    """Alone or in company; the number of terms is that of the hardest, so to rounding only."""
    x = np.linspace(0.01, 0.99, 99)
    for a, b in ((2.3, 1.7), (40, 7), (300, 200)):
        together = incomplete_beta(x, a, b)
        alone = [incomplete_beta(x[i : i + 1], a, b)[0] for i in range(x.size)]
        assert together == pytest.approx(alone, rel=2e-14)


def test_it_never_falls():
    """Across the seam between the two tails, and between the two ways."""
    for a in (0.5, 2.3, 59.9, 60.1, 1e4):
        for b in (0.7, 59.9, 60.1, 1e4):
            x = around(a, b)
            assert (np.diff(incomplete_beta(x, a, b)) >= -1e-15).all()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_parameters_are_checked(bad):
    """Both must be positive and finite."""
    with pytest.raises(ValueError, match=f"a must be positive and finite, got {bad}"):
        incomplete_beta(np.array([0.5]), bad, 1.0)
    with pytest.raises(ValueError, match=f"b must be positive and finite, got {bad}"):
        beta_tails(np.array([0.5]), 1.0, bad)
