r"""Ranks of new scores among those of the same class in a reference.

The rank of a score is the share of the reference below it, ties one half, so its mean over new
scores is the AUC of new against old. Were the reference infinite, the mean would be 1/2 while
nothing changes. With N reference scores it is a mean m that the reference has fixed for good,
however many new scores come: m is 1 less the mean of the ranks of its N scores in the true
distribution, which are independent. Such a rank is uniform on [0, 1], or with ties the mean of
a uniform variable over part of its range; by Jensen's inequality its moment generating function
about 1/2 is at most the uniform one, ``sinh(t / 2) / (t / 2) <= exp(t**2 / 24)``. So, for every
distribution and every N,

``P(|m - 1/2| > e) <= 2 exp(-6 N e**2)``,

and the null reaches ``e = sqrt(log(2 / (1 - level)) / (6 N))`` to either side of 1/2. It is bet
against with each rank as a part of its own: given the reference, they are independent.
"""

import math
from typing import Self

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.change.bets import NullMean, Parts
from streamauc.change.rank_sizes import class_size
from streamauc.histogram import ScoreHistogram


class RankTable:
    """The scores of one class in a reference: what the rank of another score is among them."""

    __slots__ = ("_bins", "_cumulated", "size")

    def __init__(self, bins: IntArray, counts: IntArray | FloatArray, size: float) -> None:
        self.size = size
        self._bins = bins
        total = counts.sum()
        self._cumulated = np.concatenate(([0.0], np.cumsum(counts))) / max(total, 1e-300)

    @classmethod
    def of(cls, histogram: ScoreHistogram, label: int) -> Self:
        """Return the table of a class. O(n_bins)."""
        return cls(histogram.bins, histogram.counts[label], class_size(histogram, label))

    def null(self, level: float, tolerance: float) -> NullMean:
        """Return the mean ranks of new scores at which nothing is to be reported."""
        if not self.size:
            return NullMean(0.0, 1.0, math.nan)
        reach = math.sqrt(math.log(2 / (1 - level)) / (6 * self.size)) + tolerance
        return NullMean(max(0.0, 0.5 - reach), min(1.0, 0.5 + reach), 0.5)

    def parts(self, histogram: ScoreHistogram, label: int) -> Parts | None:
        """Return what the ranks of a class tell, None without events of it. O(n log n_bins).

        `histogram` must be on the scale of the reference.
        """
        counts = histogram.counts[label]
        held = counts.nonzero()[0]
        n = class_size(histogram, label)
        if not n or not self.size:
            return None
        bins, shares = histogram.bins[held], counts[held] / counts.sum()
        first, last = self._bins.searchsorted(bins), self._bins.searchsorted(bins, side="right")
        ranks = (self._cumulated[first] + self._cumulated[last]) / 2
        weighed = shares * ranks
        return Parts(n, float(weighed.sum()), float(np.dot(weighed, ranks)), own=0.0, shared=1.0)
