"""Whether label shift can be: whether any mixture of the classes looks like the current scores."""

import math
from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc._gamma import chi_square_tail
from streamauc.change.label_shift.groups import Groups

# What chi-square asks of each group (Cochran 1954).
_FEWEST_EXPECTED = 5.0


@dataclass(frozen=True, slots=True)
class Fit:
    """A chi-square test of "the current scores are a mixture of the reference's classes".

    A small `p_value` says that more than the class ratio changed. `degrees` are the degrees of
    freedom. Where it can't be tested, `statistic` and `p_value` are ``nan`` and `method` says
    why.
    """

    statistic: float
    degrees: int
    p_value: float
    method: str


def undefined(why: str) -> Fit:
    """Return the fit that was not tested."""
    return Fit(math.nan, 0, math.nan, f"undefined: {why}")


def mixture_fit(share: float, groups: Groups) -> Fit:
    """Test whether any mixture fits; `share` is the most likely one. O(n_groups^3).

    The differences ``e = q - h(share)`` vary with all three samples, with the covariance C. The
    statistic is the least ``(e - t (p - n))' C^-1 (e - t (p - n))`` over t, a generalised
    least-squares fit from `share` on. Groups next to each other are joined until at least five
    current events are expected in each. Of k groups k - 1 are free, and one is spent on the
    share: chi-square with ``k - 2`` degrees of freedom, if the reference's groups are not too
    small, either.
    """
    mixed = share * groups.pos.shares + (1 - share) * groups.neg.shares
    starts = _joined(mixed * groups.current.size)
    if starts.size < 3:
        return undefined("fewer than three groups with five expected events")
    pos, neg, current = (
        np.add.reduceat(sample.shares, starts)
        for sample in (groups.pos, groups.neg, groups.current)
    )
    covariance = (
        _covariance(mixed, mixed * groups.current.rates, starts)
        + share**2 * _covariance(groups.pos.shares, groups.pos.noise, starts)
        + (1 - share) ** 2 * _covariance(groups.neg.shares, groups.neg.noise, starts)
    )
    difference = current - np.add.reduceat(mixed, starts)
    # The last group follows from the others.
    sides = np.stack((difference, pos - neg), axis=1)[:-1]
    products = sides.T @ np.linalg.solve(covariance[:-1, :-1], sides)
    statistic = float(products[0, 0])
    if products[1, 1] > 0:
        statistic -= float(products[0, 1] ** 2 / products[1, 1])
    statistic, degrees = max(0.0, statistic), starts.size - 2
    p_value = chi_square_tail(statistic, degrees)
    return Fit(statistic, degrees, p_value, "chi-square, the reference's chance included")


def _joined(expected: FloatArray) -> IntArray:
    """Return the first of each run of groups that expects enough; what is left joins the last."""
    starts, sum_so_far = [0], 0.0
    for place, one in enumerate(expected.tolist()):
        if sum_so_far >= _FEWEST_EXPECTED:
            starts.append(place)
            sum_so_far = 0.0
        sum_so_far += one
    if sum_so_far < _FEWEST_EXPECTED and len(starts) > 1:
        starts.pop()
    return np.array(starts, dtype=np.int64)


def _covariance(shares: FloatArray, noise: FloatArray, starts: IntArray) -> FloatArray:
    """Return the covariance of joined shares from the variance of each group's by itself."""
    joined, spread = np.add.reduceat(shares, starts), np.add.reduceat(noise, starts)
    cross = np.outer(joined, spread)
    found: FloatArray = np.diag(spread) - cross - cross.T + spread.sum() * np.outer(joined, joined)
    return found
