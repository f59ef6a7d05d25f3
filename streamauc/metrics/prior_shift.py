"""Scores and thresholds for another prevalence: the odds of every score times one factor.

A model trained where positives are common (or made common, by leaving out negatives) and used
where they are rare gives scores that are too high. If a positive looks as positives did in
training, and a negative as negatives did, then by Bayes' rule every score's odds are wrong by the
same factor, the ratio of the two prevalences' odds (Elkan 2001, theorem 2).
"""

import math
from dataclasses import dataclass
from typing import Self, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check
from streamauc._check import FloatArray
from streamauc.metrics import parameters
from streamauc.scale import Scale


@dataclass(frozen=True, slots=True)
class PriorShift:
    """A change of prevalence; `odds_ratio` is the new odds of a positive over the old.

    A model trained on as many positives as negatives, used at 1 % positives:

    >>> shift = PriorShift.between(0.5, 0.01)
    >>> shift.scores([0.0, 0.5, 0.9, 1.0]).round(4)
    array([0.    , 0.01  , 0.0833, 1.    ])

    Whoever would act from a chance of 10 % on has to flag the model's own scores from here on:

    >>> round(shift.inverse.threshold(0.1), 4)
    0.9167
    """

    odds_ratio: float

    def __post_init__(self) -> None:
        ratio = _check.finite("odds_ratio", self.odds_ratio)
        if ratio <= 0:
            raise ValueError(f"odds_ratio must be positive, got {ratio!r}")
        object.__setattr__(self, "odds_ratio", ratio)

    @classmethod
    def between(cls, before: SupportsFloat, after: SupportsFloat) -> Self:
        """Return the shift from one prevalence to another.

        Raises ValueError for a prevalence outside (0, 1).
        """
        old = parameters.prevalence(before, name="before")
        new = parameters.prevalence(after, name="after")
        return cls(new / (1 - new) / (old / (1 - old)))

    @classmethod
    def undersampled(cls, kept_negatives: SupportsFloat) -> Self:
        """Return the shift from a training set with that share of its negatives back to all.

        Whatever the prevalence is, odds in the reduced set are ``1 / kept_negatives`` times
        those in all (Dal Pozzolo et al. 2015, eq. 4). Raises ValueError outside (0, 1].
        """
        share = _check.finite("kept_negatives", kept_negatives)
        if not 0 < share <= 1:
            raise ValueError(f"kept_negatives must be in (0, 1], got {share!r}")
        return cls(share)

    @property
    def inverse(self) -> Self:
        """The way back."""
        return type(self)(1 / self.odds_ratio)

    def scores(self, y_score: ArrayLike) -> FloatArray:
        """Return what the scores are after the shift, shape (n_samples,). O(n_samples).

        0 and 1 stay as they are, and the order of no two scores is turned round. Raises
        ValueError for scores outside [0, 1].
        """
        scores = Scale.probability().check(y_score)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            odds_against = (1 - scores) / (scores * self.odds_ratio)
        # Each of the rounded steps is monotone, which ``odds / (1 + odds)`` would not be.
        odds_against += 1
        return np.reciprocal(odds_against, out=odds_against)

    def threshold(self, threshold: SupportsFloat) -> float:
        """Return the threshold that flags, after the shift, whom `threshold` flags before.

        From 1 upwards and from 0 downwards it stays as it is: nobody (but scores of exactly 1)
        or everybody is flagged at any prevalence. Raises ValueError for ``nan``.
        """
        found = _check.number("threshold", threshold)
        if math.isnan(found):
            raise ValueError("threshold must be a number, got nan")
        return float(self.scores(np.array([found]))[0]) if 0 < found < 1 else found
