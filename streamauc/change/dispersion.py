"""Counts that vary more than binomial ones: by how much, and how to see it in a reference."""

import math
from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc._special import normal_quantile

# Fewer sums than this say too little about how much they vary.
_FEWEST_BLOCKS = 10
_SMALLEST_SIZE = 1e-9


@dataclass(frozen=True, slots=True)
class Dispersion:
    """The variance of a pane's positives is at most `factor_of` times the binomial one.

    `factor` holds for panes of any size; `correlation` is that between two events of one pane,
    as when the prevalence itself differs from pane to pane (Williams 1982).
    """

    factor: float = 1.0
    correlation: float = 0.0

    @property
    def is_binomial(self) -> bool:
        """Whether there is nothing beyond the binomial variance."""
        return self.factor <= 1 and self.correlation <= 0

    def factor_of(self, n: float) -> float:
        """Return the variance factor of a pane of `n` events, from 1 to `n`."""
        return max(1.0, min(n, self.factor + (n - 1) * self.correlation))

    def beta_size(self, n: float) -> float:
        """Return the size ``a + b`` of the beta distribution that gives that variance.

        From ``factor = 1 + (n - 1) / (size + 1)``; infinite where the variance is binomial.
        """
        factor = self.factor + (n - 1) * self.correlation
        if factor <= 1 or n <= 1:
            return math.inf
        if factor >= n:
            return _SMALLEST_SIZE
        size = (n - factor) / (factor - 1)
        return size if size > _SMALLEST_SIZE else _SMALLEST_SIZE


def excess(x: float, prevalence: float, size: float) -> float:
    """Return a bound of ``log E[exp(u (P - p))]``, P a beta with mean p, ``x = u / size``.

    ``size * min(p g(-x), (1 - p) g(x))`` with ``g(y) = y - log(1 + y)``. A beta of shapes
    (a, b) is ``X / (X + Y)`` for gammas of these shapes, and X is its product with the
    independent ``X + Y``, of mean `size`; so by Jensen's inequality P is less spread than
    ``X / size``, whose moment generating function is ``(1 - x) ** -a``. The same for 1 - P.
    """
    by_pos = -x - math.log1p(-x) if x < 1 else math.inf
    by_neg = x - math.log1p(x) if x > -1 else math.inf
    return size * min(prevalence * by_pos, (1 - prevalence) * by_neg)


def lower_bound_of(x: float, p: float) -> tuple[float, float]:
    """Return the sign of y and the share so that ``size * share * g(sign * x)`` is `excess`."""
    by_pos = p * (-x - math.log1p(-x)) if x < 1 else math.inf
    by_neg = (1 - p) * (x - math.log1p(x)) if x > -1 else math.inf
    return (-1.0, p) if by_pos <= by_neg else (1.0, 1 - p)


def estimate(
    panes: IntArray,
    residuals: FloatArray,
    variances: FloatArray,
    sizes: FloatArray,
    *,
    n_fitted: int,
    level: float,
) -> Dispersion:
    """Return how much the panes of a reference vary. O(n_panes log n_panes).

    All arrays have shape (n_panes,), in the order of time: pane indices, positives less those
    expected, binomial variances, events. `n_fitted` is how many prevalences were fitted.

    The correlation is the larger of two moment estimates: the upper confidence bound at
    `level` from single panes, and, because a slow drift shows only in sums, the largest from
    the sums over blocks of 2, 4, 8, ... panes, while there are at least ten blocks.
    """
    n_panes = residuals.size
    if n_panes <= n_fitted or not variances.sum() > 0:
        return Dispersion()
    # By how much a unit of correlation raises the variance of a sum beyond the binomial one.
    slope = float(np.dot(variances, sizes - 1) / variances.sum())
    if not slope > 0:
        return Dispersion()
    place = panes - panes[0]
    factor = _factor(place, residuals, variances, n_fitted, z=normal_quantile(level))
    width = 2
    while int(place[-1]) // width + 1 >= _FEWEST_BLOCKS:
        factor = max(factor, _factor(place // width, residuals, variances, n_fitted, z=0.0))
        width *= 2
    return Dispersion(correlation=min(1.0, max(0.0, (factor - 1) / slope)))


def _factor(
    blocks: IntArray, residuals: FloatArray, variances: FloatArray, n_fitted: int, *, z: float
) -> float:
    """Return the variance of sums over blocks beside the binomial one, plus z standard errors."""
    _, block = np.unique(blocks, return_inverse=True)
    sums, spread = np.bincount(block, residuals), np.bincount(block, variances)
    n_blocks, n_panes = sums.size, residuals.size
    if n_blocks < 2:
        return 1.0
    # Fitted prevalences take their share of the variance with them.
    left = min(1 - 1 / n_blocks, 1 - n_fitted / n_panes)
    ratio = float(np.dot(sums, sums) / spread.sum())
    terms = sums**2 - ratio * spread
    error = float(np.sqrt(np.dot(terms, terms))) / float(spread.sum())
    return (ratio + z * error) / left
