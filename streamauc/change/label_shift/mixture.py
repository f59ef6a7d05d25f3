"""The share of positives in a mixture of two known distributions: the most likely, how certain.

With p and n the shares of the reference's positives and negatives in each group, q those of the
current scores and ``h(x) = x p + (1 - x) n``, the likelihood of a share x of positives is
``sum q log h(x)``. It is concave, and its slope ``U(x) = sum q (p - n) / h(x)`` never rises.

The EM algorithm (Saerens, Latinne & Decaestecker 2002, eq. 9) goes from x to ``sum q x p / h(x)``,
which is ``x + x (1 - x) U(x)``: it comes to rest where U is 0, or at an end of [0, 1] towards
which U points. That is where Newton's method goes at once.
"""

import math
from collections.abc import Callable

import numpy as np

from streamauc._check import BoolArray, FloatArray
from streamauc._special import normal_quantile
from streamauc.change.label_shift.groups import Groups, variance_of_mean

_MOST_STEPS = 200
_CLOSE = 1e-12
# Each round leaves one part of so many of where a limit may be.
_PARTS, _ROUNDS = 48, 6


def most_likely_share(pos: FloatArray, neg: FloatArray, current: FloatArray) -> float:
    """Return the fixpoint of EM to 1e-10. O(n_groups) a step, about ten steps.

    All are shares of shape (n_groups,). Groups in which the reference has no events say
    nothing. ``nan`` where current scores occur only in groups in which positives and negatives
    have equal shares.
    """
    told = np.flatnonzero((current > 0) & (pos != neg))
    pos, neg, current = pos[told], neg[told], current[told]
    rise = pos - neg
    if not told.size:
        return math.nan
    # The slope at an end is infinite where a score occurs that has no chance there.
    if neg.all() and float(np.dot(current, rise / neg)) <= 0:
        return 0.0
    if pos.all() and float(np.dot(current, rise / pos)) >= 0:
        return 1.0
    return _root(neg, rise, current)


def _root(neg: FloatArray, rise: FloatArray, current: FloatArray) -> float:
    """Return where the slope is 0: Newton's steps, and the middle where they leave the bracket."""
    low, high, share = 0.0, 1.0, 0.5
    for _ in range(_MOST_STEPS):
        ratio = rise / (neg + share * rise)
        weighted = current * ratio
        slope = float(weighted.sum())
        if slope >= 0:
            low = share
        else:
            high = share
        step = slope / float(np.dot(weighted, ratio))
        if abs(step) <= _CLOSE * min(share, 1 - share):
            break
        # Not onto an end, either, where a score may have no chance at all.
        share = share + step if low < share + step < high else (low + high) / 2
    return share


def standard_error(share: float, groups: Groups) -> float:
    """Return that of the most likely share, by the delta method. O(n_groups).

    All three samples vary: the current scores, and the reference's positives and negatives. At
    an end of [0, 1] it is that half a current event away from it.
    """
    half = min(0.5, 0.5 / groups.current.total)
    at = np.array([min(max(share, half), 1 - half)])
    mixed = _mixed(at, groups)
    information = float((_rise(groups) ** 2 / mixed).sum())
    return math.sqrt(float(_variance(at, groups)[0])) / information


def limits(share: float, groups: Groups, level: float) -> tuple[float, float]:
    """Return the shares that differ from `share` just as far as chance allows. O(n_groups).

    Where the slope, over its standard deviation if that were the true share, is z and -z. With
    classes that do not overlap this is Wilson's interval.
    """
    z = normal_quantile(level)
    low = _crossing(0.0, share, lambda at: _deviation(at, groups) >= z)
    return low, _crossing(1.0, share, lambda at: -_deviation(at, groups) >= z)


def _crossing(outside: float, inside: float, is_beyond: Callable[[FloatArray], BoolArray]) -> float:
    """Return how far from `inside` towards `outside` one can go before `is_beyond` holds."""
    for _ in range(_ROUNDS):
        points = np.linspace(inside, outside, _PARTS + 1)
        beyond = np.flatnonzero(is_beyond(np.clip(points, _CLOSE, 1 - _CLOSE)))
        if not beyond.size:
            return outside
        first = int(beyond[0])
        inside, outside = float(points[max(first - 1, 0)]), float(points[first])
    return outside


def _deviation(shares: FloatArray, groups: Groups) -> FloatArray:
    """Return the slope at each share over its standard deviation were that the true one."""
    slopes = (groups.current.shares * _rise(groups) / _mixed(shares, groups)).sum(axis=1)
    deviations: FloatArray = slopes / np.sqrt(_variance(shares, groups))
    return deviations


def _variance(shares: FloatArray, groups: Groups) -> FloatArray:
    """Return the variance of the slope at each share, were that the true one.

    There the slope moves by ``(p - n) / h`` with the shares of the current scores, by ``n / h``
    with those of the positives and by ``-p / h`` with those of the negatives.
    """
    mixed = _mixed(shares, groups)
    own = (groups.current.rates * _rise(groups) ** 2 / mixed).sum(axis=1)
    pos, neg = groups.pos, groups.neg
    of_pos = variance_of_mean(pos, pos.noise, neg.shares / mixed)
    found: FloatArray = own + of_pos + variance_of_mean(neg, neg.noise, pos.shares / mixed)
    return found


def _mixed(shares: FloatArray, groups: Groups) -> FloatArray:
    """Return the mixture at each share, shape (n_shares, n_groups)."""
    column = shares[:, np.newaxis]
    mixed: FloatArray = column * groups.pos.shares + (1 - column) * groups.neg.shares
    return mixed


def _rise(groups: Groups) -> FloatArray:
    return groups.pos.shares - groups.neg.shares
