"""The special functions that the metrics need, so that the core gets by without SciPy."""

import math
from statistics import NormalDist

import numpy as np

from streamauc._check import FloatArray

_STANDARD_NORMAL = NormalDist()
# From here on the three terms of the series of digamma are good to 5e-14 of a rise.
_SERIES_FROM = 32
# digamma(z + 1/2) ~ log(z) + 1 / 24 z^2 - 7 / 960 z^4 + 31 / 8064 z^6: the midpoint form of
# Abramowitz & Stegun 6.3.18, which has no term in 1 / z.
_SERIES = (1 / 24, -7 / 960, 31 / 8064)


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal lies in [-z, z] with probability `level`."""
    return _STANDARD_NORMAL.inv_cdf(0.5 + level / 2)


def logit(p: float) -> float:
    """Return ``log(p / (1 - p))``; infinite at 0 and 1."""
    if p <= 0:
        return -math.inf
    return math.inf if p >= 1 else math.log(p) - math.log1p(-p)


def expit(x: float) -> float:
    """Return the inverse of `logit`, without overflow."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    odds = math.exp(x)
    return odds / (1 + odds)


def digamma_rise(x: FloatArray, step: FloatArray) -> FloatArray:
    """Return ``psi(x + step) - psi(x)``, psi the digamma function, for ``x > 0``, elementwise.

    Both of one shape. Shifts a small x up by the recurrence psi(x) = psi(x + 1) - 1 / x, then
    uses the series above. Good to about 1e-13 of its value, also where the difference of the
    two is far smaller than either.
    """
    start = x - 0.5
    small = np.nonzero(x < _SERIES_FROM)
    start[small] += _SERIES_FROM
    stop = start + step
    u, v = 1 / (start * start), 1 / (stop * stop)
    both, product = u + v, u * v
    first, second, third = _SERIES
    # u^2 + u v + v^2 is both^2 - product; u - v is taken before anything is rounded.
    slope = first + both * (second + third * both) - third * product
    rise = np.log1p(step / start)
    rise -= step * (start + stop) * product * slope
    rise[small] += _recurrence(x[small], step[small])
    return rise


def _recurrence(x: FloatArray, step: FloatArray) -> FloatArray:
    """Return the sum of ``1 / (x + i) - 1 / (x + step + i)`` over the shift."""
    terms = x + np.arange(_SERIES_FROM)[:, np.newaxis]
    total: FloatArray = (step / (terms * (terms + step))).sum(axis=0)
    return total
