"""The special functions that the metrics need, so that the core gets by without SciPy."""

import functools
import math

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray

# psi(z + 1/2) ~ log((y + 1/12)^2 - 1/45) / 4 + _CUBE / y^3 + _FOURTH / y^4 with y = z^2: the
# logarithm takes in what stands before y^-3 in the midpoint form of Abramowitz & Stegun 6.3.18,
# log(y) / 2 + 1 / 24 y - 7 / 960 y^2 + 31 / 8064 y^3 - 127 / 30720 y^4, and part of the rest.
_CUBE = 31 / 8064 - 53 / 51840
_FOURTH = -127 / 30720 + 761 / 4147200
# From here on a rise is the logarithm's to 2e-14; below, arguments are shifted up first.
_FAR = 100
_SHIFT = 16
# From here on, where fourth powers would leave float64, the ratio of the two is all that matters.
_BEYOND = 1e60


@functools.lru_cache(maxsize=64)
def normal_quantile(level: float) -> float:
    """Return z such that a standard normal lies in [-z, z] with probability `level`."""
    # Loaded here, since a command that needs no interval should start at once.
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + _check.level(level) / 2)


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

    Both of shape (n,). Good to about 3e-14 of its value, also where
    the difference of the two is far smaller than either. One logarithm an element; near zero
    the recurrence psi(x) = psi(x + 1) - 1 / x shifts x up to where the series above holds.
    """
    start = x - 0.5
    if np.maximum.reduce(x, initial=0.0) > _BEYOND:
        shrink = np.maximum(x / _BEYOND, 1.0)
        start, step = start / shrink, step / shrink
    near = np.flatnonzero(x < _FAR)
    start[near] += _SHIFT
    rise = _rise_of_logarithm(start, step)
    if near.size:
        rise[near] += _rise_of_rest(x[near], step[near])
    return rise


def _rise_of_logarithm(z: FloatArray, step: FloatArray) -> FloatArray:
    """Return the rise of ``log((z^2 + 1/12)^2 - 1/45) / 4`` from z to z + step."""
    further = 2 * z  # by how much the square grows, taken before anything is rounded
    further += step
    further *= step
    square = z * z
    square += 1 / 12
    growth = 2 * square
    growth += further
    growth *= further
    square *= square
    square -= 1 / 45
    growth /= square
    np.log1p(growth, out=growth)
    growth *= 0.25
    return growth


def _rise_of_rest(x: FloatArray, step: FloatArray) -> FloatArray:
    """Return what the shift takes off, and the rise of the last two terms after it."""
    terms = x + np.arange(_SHIFT)[:, np.newaxis]
    parts = step / (terms * (terms + step))
    # By halves: an element's sum is the same to the last bit whatever stands beside it.
    while len(parts) > 1:
        half = len(parts) // 2
        parts = parts[:half] + parts[half:]
    start = x + (_SHIFT - 0.5)
    u = 1 / np.square((start, start + step))
    # These are so small that the rounding of their difference does not matter.
    at_start, at_stop = (_CUBE + _FOURTH * u) * u * u * u
    rest: FloatArray = parts[0] + (at_stop - at_start)
    return rest
