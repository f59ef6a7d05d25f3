"""The regularised incomplete beta function, so that the core gets by without SciPy.

``I_x(a, b)`` is the chance that a Beta(a, b) variable is at most x. Everywhere it is a kernel,
``x^a (1 - x)^b / B(a, b)``, times a factor that is found in two ways: by a continued fraction
while a or b is small, which takes the more terms the larger both are; and else by quadrature of
the smooth peak that is left then, whose cost does not grow.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from streamauc._check import FloatArray

# Below it the fraction takes at most thirty terms, from it on the peak is smooth enough.
_BOTH_LARGE = 60
# Below it logarithms of gamma functions are small enough to be subtracted from each other.
_FEW = 16
# The peak is followed down to exp(-_DEPTH), which is far below the last digit.
_DEPTH = 42
_N_NODES = 32
_MOST_TERMS = 500
# Next to 0 the fraction is 1 to the last digit, and a smaller x need not be divided by.
_NOTHING = 1e-30
# How far a logarithm may be from its argument before the two are simply subtracted.
_NEAR = 0.2


def incomplete_beta(x: FloatArray, a: float, b: float) -> FloatArray:
    """Return ``I_x(a, b)``, the distribution function of Beta(a, b), for each of `x`.

    >>> incomplete_beta(np.array([0.25, 0.5]), 2.0, 2.0)
    array([0.15625, 0.5    ])
    """
    return beta_tails(x, a, b).lower


class BetaTails(NamedTuple):
    """``I_x(a, b)``, ``1 - I_x(a, b)`` and the kernel ``x^a (1 - x)^b / B(a, b)``, shape (n,).

    The kernel is what neighbouring distribution functions differ by: ``I_x(a, b) - I_x(a + 1, b)``
    is the kernel divided by a, and ``I_x(a, b + 1) - I_x(a, b)`` is it divided by b (DLMF 8.17.20
    and 8.17.21).
    """

    lower: FloatArray
    upper: FloatArray
    kernel: FloatArray


def beta_tails(x: FloatArray, a: float, b: float) -> BetaTails:
    """Return both tails of Beta(a, b) at each of `x`, shape (n,). O(n).

    Good to about 1e-13 of the lower one up to ``x = (a + 1) / (a + b + 2)``, about the mean, and
    of the upper one beyond, however small; at parameters around 1e9 to 1e-11, as x itself is
    only known to so many digits. The other is what is left of 1. All are ``nan`` where x is;
    beyond 0 and 1 they are as there. Raises ValueError unless both parameters are positive and
    finite.
    """
    for name, value in (("a", a), ("b", b)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value!r}")
    lower = np.clip(x, 0.0, 1.0)
    upper, kernel = 1 - lower, 0 * lower
    inside = np.flatnonzero((x > 0) & (x < 1))
    kernel[inside] = _kernel(x[inside], 1 - x[inside], a, b)
    early = x[inside] * (a + b + 2) <= a + 1
    below, above = inside[early], inside[~early]
    if below.size:
        lower[below] = kernel[below] * _factor(x[below], 1 - x[below], a, b)
        upper[below] = 1 - lower[below]
    if above.size:
        upper[above] = kernel[above] * _factor(1 - x[above], x[above], b, a)
        lower[above] = 1 - upper[above]
    return BetaTails(lower, upper, kernel)


def _factor(x: FloatArray, y: FloatArray, a: float, b: float) -> FloatArray:
    """Return ``I_x(a, b) / kernel`` for x up to about the mean.

    `y` is ``1 - x``, of which the tiny one has all its digits.
    """
    if min(a, b) < _BOTH_LARGE:
        x = np.maximum(x, _NOTHING)
        return _fraction(y / x, a, b) / (a * x)
    return _peak(x, y, a, b)


def _kernel(x: FloatArray, y: FloatArray, a: float, b: float) -> FloatArray:
    n = a + b
    if n < _FEW:
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(n)
        return np.exp(a * np.log(x) + b * np.log(y) - log_beta)
    # The same by Stirling's formula, with what cancels between the three gammas and the powers
    # taken out: the kernel is a density, and u the distance from its mean.
    rest = math.exp(_stirling_rest(n) - _stirling_rest(a) - _stirling_rest(b))
    u = x * b - y * a
    depth = a * _log_less(u / a, x * (n / a)) + b * _log_less(-u / b, y * (n / b))
    return math.sqrt(a / n * b / (2 * math.pi)) * rest * np.exp(depth)


def _stirling_rest(z: float) -> float:
    """Return what Stirling's formula leaves of ``log gamma(z)`` (Abramowitz & Stegun 6.1.40)."""
    if z < 16:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + math.log(2 * math.pi) / 2)
    u = 1 / (z * z)
    return (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u / 1188)))) / z


def _log_less(t: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``log(1 + t) - t``; `whole` is ``1 + t``, which t may have too few digits for."""
    out = _log_less_near(np.clip(t, -_NEAR, _NEAR))
    far = np.abs(t) > _NEAR
    if far.any():
        out[far] = np.log(whole[far]) - t[far]
    return out


def _log_less_near(t: FloatArray) -> FloatArray:
    """Return ``log(1 + t) - t`` near 0 from ``log(1 + t) = 2 artanh(r)``, ``r = t / (2 + t)``."""
    r = t / (2 + t)
    square = r * r
    series = np.full_like(t, 1 / 17)
    for power in (15, 13, 11, 9, 7, 5, 3):
        series *= square
        series += 1 / power
    out: FloatArray = r * (2 * square * series - t)
    return out


def _fraction(odds: FloatArray, a: float, b: float) -> FloatArray:
    """Return ``a I_x(a, b) x / kernel`` as a continued fraction in ``odds = (1 - x) / x``.

    The even part of DLMF 8.17.22, divided by x throughout, so that it does not
    matter which of x and 1 - x is the tiny one. The smallest odds need the most terms.
    """
    terms = _terms(float(odds.min()), a, b)
    value = odds + terms[-1][0]
    for plain, factor in terms[-2::-1]:
        np.divide(factor, value, out=value)
        value += plain
        value += odds
    return 1 / value


def _terms(odds: float, a: float, b: float) -> list[tuple[float, float]]:
    """Return ``(e_m, g_(m+1))`` of ``odds + e_0 + g_1 / (odds + e_1 + g_2 / ...)``.

    As many as change the value at those odds (Lentz's method, which evaluates from the front).
    """
    plain = (1 - b) / (a + 1)
    factor = (a + b) / (a + 1) * (b - 1) / ((a + 1) * (a + 2))
    terms = [(plain, factor)]
    # The value is the product of the ratios of numerators and of denominators.
    above, below = odds + plain, 0.0
    for m in range(1, _MOST_TERMS):
        s = a + 2 * m
        plain = (a * (2 * m + 1 - b) + m * (3 * m + 2 - b)) / (s * (s + 1))
        plain += m * (b - m) / (s * (s - 1))
        above = odds + plain + factor / above
        below = 1 / (odds + plain + factor * below)
        factor = (a + m) / s * ((a + b + m) / (s + 1)) * ((m + 1) / (s + 1)) * (b - m - 1) / (s + 2)
        terms.append((plain, factor))
        if abs(above * below - 1) < 2e-16:
            break
    return terms


def _peak(x: FloatArray, y: FloatArray, a: float, b: float) -> FloatArray:
    """Return ``I_x(a, b) / kernel``, the integral of ``exp(h(s))`` over ``s > 0``.

    In the log-odds, s below those of x, the density of Beta(a, b) is its value at x times
    ``exp(-a s - (a + b) log(1 - x (1 - exp(-s))))``. The exponent is concave and falls from 0 at
    least as fast as the parabola that touches it there, about which the range is chosen.
    """
    nodes, weights = _rule()
    u = x * b - y * a
    reach = 2 * _DEPTH / (np.sqrt(u * u + 2 * _DEPTH * (a + b) * x * y) - u)
    s = reach[:, np.newaxis] * nodes
    if a <= b:
        w = -np.expm1(-s)
        h = u[:, np.newaxis] * w
        h += a * _log_less_at_most(w)
        h -= (a + b) * _log_less_at_most(x[:, np.newaxis] * w)
    else:  # the same in terms of y, which is the smaller one here
        h = b * s - (a + b) * np.log1p(y[:, np.newaxis] * np.expm1(s))
    area: FloatArray = (np.exp(h) @ weights) * reach
    return area


def _log_less_at_most(w: FloatArray) -> FloatArray:
    """Return ``log(1 - w) + w`` for w in [0, 1)."""
    if float(w.max()) > _NEAR:
        return np.log1p(-w) + w
    return _log_less_near(-w)


@cache
def _rule() -> tuple[FloatArray, FloatArray]:
    """Return the nodes in [0, 1] and the weights of Gauss and Legendre's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    return (nodes + 1) / 2, weights / 2
