"""Populations of scores, and streams drawn from them: what a metric may meet in the field.

A stream is drawn class by class, so that the negatives of a rare event can come piece by piece.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.data import FloatArray, IntArray

Generator = np.random.Generator
# How scores of a class, 0 or 1, are drawn: at these moments of the stream, which lasts from 0 to 1.
Draw = Callable[[Generator, int, FloatArray], FloatArray]
_PIECE = 1_000_000


@dataclass(frozen=True, slots=True)
class Population:
    """A named distribution of scores in [0, 1]; `has_ties` if different events score the same."""

    name: str
    draw: Draw
    has_ties: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of which the positives are at hand and the negatives come in pieces."""

    population: Population
    n_pos: int
    n_neg: int
    seed: int

    def positives(self) -> FloatArray:
        """Return the scores of the positives."""
        return self._scores(1, 0, self.n_pos, self.n_pos)

    def negatives(self) -> Iterator[FloatArray]:
        """Yield the scores of the negatives."""
        for start in range(0, self.n_neg, _PIECE):
            yield self._scores(0, start, min(start + _PIECE, self.n_neg), self.n_neg)

    def mixed(self) -> tuple[IntArray, FloatArray]:
        """Return labels and scores of the whole stream. O(n_samples) memory."""
        pos, neg = self.positives(), np.concatenate(list(self.negatives()))
        y_true = np.repeat(np.array([1, 0]), [pos.size, neg.size])
        # Shuffled: no peer should see one class first.
        order = np.random.default_rng((self.seed, 2)).permutation(y_true.size)
        return y_true[order], np.concatenate((pos, neg))[order]

    def _scores(self, label: int, start: int, stop: int, size: int) -> FloatArray:
        rng = np.random.default_rng((self.seed, label, start))
        return self.population.draw(rng, label, np.arange(start, stop) / size)


def stream(population: Population, n: int, prevalence: float, seed: int = 0) -> Stream:
    """Return a stream with that share of positives, to the nearest event and at least one."""
    n_pos = max(1, round(n * prevalence))
    return Stream(population, n_pos, n - n_pos, seed)


def _uniform(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw positives with a density that rises in proportion to the score."""
    drawn = rng.random(moments.size)
    return np.sqrt(drawn) if label else drawn


def _logit_normal(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    return _expit(rng.normal(1.5 * label - 1.5, 1.0, moments.size))


def _fraud_like(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw nearly all scores close to 0."""
    return rng.beta(2, 20, moments.size) if label else rng.beta(0.5, 200, moments.size)


def _saturated(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw large logits through a sigmoid in float32, which rounds many of them to exactly 1."""
    logits = rng.normal(12.0 + 4.0 * label, 6.0, moments.size).astype(np.float32)
    return (1 / (1 + np.exp(-logits))).astype(np.float64)


def _rounded(decimals: int) -> Draw:
    def draw(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
        return np.round(_logit_normal(rng, label, moments), decimals)

    return draw


def _constant(rng: Generator, label: int, moments: FloatArray) -> FloatArray:  # noqa: ARG001
    return np.full(moments.size, 0.37)


def _heavy_tailed(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw logits from Student's t with 1.5 degrees of freedom."""
    return _expit(rng.standard_t(1.5, moments.size) + 1.5 * label - 1.5)


def _subnormal(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw products of many factors, of which the most improbable underflow to subnormals.

    So do one negative in twenty and one positive in ten thousand; on a probability scale they
    share the bin of everything below ``2**-64``.
    """
    scores = _logit_normal(rng, label, moments)
    lost = rng.random(moments.size) < (0.0001 if label else 0.05)
    return np.where(lost, _underflown(rng, label, moments), scores)


def _underflown(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw nothing but subnormals, positives mostly larger."""
    return np.floor(2.0**50 * _uniform(rng, label, moments)) * 5e-324


def _bimodal(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw most scores near 0 or near 1, a tenth of each class at the wrong end."""
    near_one = rng.random(moments.size) < (0.9 if label else 0.1)
    return np.where(near_one, rng.beta(30, 2, moments.size), rng.beta(2, 30, moments.size))


def _drifting(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw logits that move by four from the first event to the last."""
    return _expit(rng.normal(0.0, 1.0, moments.size) + 1.5 * label - 3.5 + 4 * moments)


def _half_precision(rng: Generator, label: int, moments: FloatArray) -> FloatArray:
    """Draw what a network in float16 returns."""
    return _logit_normal(rng, label, moments).astype(np.float16).astype(np.float64)


def _expit(logits: FloatArray) -> FloatArray:
    """Return the logistic of logits, to the last digits at either end."""
    scores: FloatArray = np.exp(-np.logaddexp(0, -logits))
    return scores


POPULATIONS = (
    Population("uniform", _uniform),
    Population("logit-normal", _logit_normal),
    Population("fraud-like", _fraud_like),
    Population("saturated at 1", _saturated, has_ties=True),
    Population("two decimals", _rounded(2), has_ties=True),
    Population("three decimals", _rounded(3), has_ties=True),
    Population("one constant", _constant, has_ties=True),
    Population("heavy-tailed logits", _heavy_tailed),
    Population("subnormal", _subnormal),
    Population("bimodal", _bimodal),
    Population("drifting", _drifting),
    Population("half precision", _half_precision, has_ties=True),
)

# Not of the zoo: a probability scale has one bin for all of it, and says so.
UNDERFLOWN = Population("every score subnormal", _underflown)
