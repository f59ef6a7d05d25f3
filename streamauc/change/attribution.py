"""Which part of a change is due to the class ratio, which to the scores of either class.

A metric is a function of three things that can be swapped between the two sides: the prevalence,
the distribution of the positives' scores and that of the negatives'. The eight mixtures are the
values of a game of three players, and the parts are its Shapley values: what a swap changes,
averaged over the six orders in which the three can be swapped (Shapley 1953). They add up to
the change and depend on no order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.aligned import Aligned
from streamauc.change.results import Attribution
from streamauc.counts import NumberArray, ThresholdCounts
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.scalars import BinSteps

# The side (0 reference, 1 current) of the prevalence, of the positives, of the negatives.
Mixture = tuple[int, int, int]
_MIXTURES: tuple[Mixture, ...] = tuple(product((0, 1), (0, 1), (0, 1)))
_REFERENCE, _CURRENT = (0, 0, 0), (1, 1, 1)
# A weight as (numerator, denominator): with whole counts the quotient is rounded once, at the end.
Weight = tuple[float, float]


def attribute(
    aligned: Aligned,
    reference: ThresholdCounts,
    current: ThresholdCounts,
    thresholds: Sequence[float],
) -> dict[str, Attribution]:
    """Return the attribution of each metric by name, ``precision@0.7`` and so on. O(n_bins).

    The average precision, and at each threshold precision, recall, FPR and alert rate. Parts
    are ``nan`` where a mixture is undefined, for want of a class on one side, and `total` too
    where one of the sides is.
    """
    found = {"average_precision": shapley(_average_precisions(aligned))}
    for threshold in thresholds:
        points = _Points.at(threshold, aligned, reference, current)
        for name, game in points.games().items():
            found[f"{name}@{shown(threshold)}"] = shapley(game)
    return found


def shown(threshold: float) -> str:
    """Return a threshold as short as it can be read back."""
    short = f"{threshold:g}"
    return short if float(short) == threshold else repr(threshold)


def shapley(game: FloatArray) -> Attribution:
    """Return the Shapley values of three players from the value of each mixture.

    `game` has shape (2, 2, 2): by the side of the prevalence, the positives and the negatives.

    >>> shapley(np.array([[[0.0, 0.0], [0.0, 10.0]], [[1.0, 1.0], [1.0, 11.0]]]))
    Attribution(prevalence=1.0, positives=5.0, negatives=5.0, total=11.0)
    """
    total = float(game[_CURRENT] - game[_REFERENCE])
    parts = [_part(game, player) for player in range(3)]
    if math.isnan(sum(parts)):
        return Attribution(math.nan, math.nan, math.nan, total)
    # The largest part takes up the rounding, so that a part that is 0 stays 0.
    largest = max(range(3), key=lambda player: abs(parts[player]))
    parts[largest] = total - sum(parts[:largest] + parts[largest + 1 :])
    return Attribution(prevalence=parts[0], positives=parts[1], negatives=parts[2], total=total)


def _part(game: FloatArray, player: int) -> float:
    """Return what swapping one player changes, averaged over the orders.

    It is the first in a third of them, the last in a third, and between the others in the rest.
    """
    (before, after_one), (after_other, after) = np.diff(game, axis=player).reshape(2, 2).tolist()
    return float(2 * before + after_one + after_other + 2 * after) / 6


def _negative_weight(pos: Sequence[float], neg: Sequence[float], mixture: Mixture) -> Weight:
    """Return the weight of a negative that gives a mixture its prevalence.

    The positives keep theirs, so that one of them stays one event of its bin. It is 1 for the
    two sides themselves, whose metrics come out to the last bit, and ``nan`` where a mixture
    would need the scores of a class that its side does not have.
    """
    ratio, of_pos, of_neg = mixture
    if mixture in (_REFERENCE, _CURRENT) or not any(pos) or not any(neg):
        return 1, 1
    above, below = neg[ratio] * pos[of_pos], pos[ratio] * neg[of_neg]
    if not (above and below):
        return math.nan, 1
    if isinstance(above, int) and isinstance(below, int):
        common = math.gcd(above, below)
        return above // common, below // common
    return above, below


def _average_precisions(aligned: Aligned) -> FloatArray:
    """Return the average precision of each mixture, by the estimator of `average_precision`."""
    pos, neg = _totals(aligned.tps), _totals(aligned.fps)
    game = np.full((2, 2, 2), math.nan)
    for side in range(2):
        if not pos[side]:
            continue
        steps = [_steps(aligned, side, of_neg) for of_neg in range(2)]
        for mixture in _MIXTURES:
            weight = _negative_weight(pos, neg, mixture)
            if mixture[1] == side and not math.isnan(weight[0]):
                game[mixture] = _average(_weighted(steps[mixture[2]], weight), aligned, pos[side])
    return game


def _steps(aligned: Aligned, of_pos: int, of_neg: int) -> BinSteps:
    """Return the bins with positives of one side, and the negatives of one side in them."""
    used = np.flatnonzero(aligned.pos[of_pos])
    squares = aligned.pos_squares
    return BinSteps(
        p=aligned.pos[of_pos][used].astype(np.float64),
        n=aligned.neg[of_neg][used].astype(np.float64),
        tp=aligned.tps[of_pos][used].astype(np.float64),
        fp=aligned.fps[of_neg][used].astype(np.float64),
        squares=None if squares is None else squares[of_pos][used].astype(np.float64),
    )


def _weighted(steps: BinSteps, weight: Weight) -> BinSteps:
    if weight == (1, 1):
        return steps
    over, under = float(weight[0]), float(weight[1])
    return replace(steps, n=steps.n * over / under, fp=steps.fp * over / under)


def _average(steps: BinSteps, aligned: Aligned, n_pos: float) -> float:
    gains = steps.as_one_tie() if aligned.is_exact else steps.interleaved()
    return min(1.0, float(gains.sum()) / n_pos)


def _totals(cumulated: NumberArray) -> list[float]:
    totals: list[float] = cumulated[:, -1].tolist()
    return totals


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Both sides at one threshold, and the highest bin of each class on each side.

    `top_pos` and `top_neg` are (place from the top, events) pairs.
    """

    points: tuple[Confusion, Confusion]
    pos: Sequence[float]
    neg: Sequence[float]
    top_pos: tuple[tuple[int, float], tuple[int, float]]
    top_neg: tuple[tuple[int, float], tuple[int, float]]

    @classmethod
    def at(
        cls,
        threshold: float,
        aligned: Aligned,
        reference: ThresholdCounts,
        current: ThresholdCounts,
    ) -> "_Points":
        """Return the points of two sides at a threshold. O(n_bins)."""
        return cls(
            points=(confusion_at(reference, threshold), confusion_at(current, threshold)),
            pos=_totals(aligned.tps),
            neg=_totals(aligned.fps),
            top_pos=(_top(aligned.pos[0]), _top(aligned.pos[1])),
            top_neg=(_top(aligned.neg[0]), _top(aligned.neg[1])),
        )

    def games(self) -> dict[str, FloatArray]:
        """Return the values of each metric, those of the two sides themselves as they are."""
        first, second = self.points
        return {
            "precision": self._game(first.precision, self._precision, second.precision),
            "recall": self._game(first.recall, self._recall, second.recall),
            "fpr": self._game(first.fpr, self._fpr, second.fpr),
            "alert_rate": self._game(first.alert_rate, self._alert_rate, second.alert_rate),
        }

    def _game(
        self, reference: float, mixed: Callable[[Mixture], float], current: float
    ) -> FloatArray:
        values = [mixed(mixture) for mixture in _MIXTURES[1:-1]]
        return np.array([reference, *values, current]).reshape(2, 2, 2)

    def _recall(self, mixture: Mixture) -> float:
        return self.points[mixture[1]].recall

    def _fpr(self, mixture: Mixture) -> float:
        return self.points[mixture[2]].fpr

    def _flagged(self, mixture: Mixture) -> tuple[float, float]:
        """Return the true and the weighted false positives."""
        factor, divisor = _negative_weight(self.pos, self.neg, mixture)
        return self.points[mixture[1]].tp, self.points[mixture[2]].fp * factor / divisor

    def _alert_rate(self, mixture: Mixture) -> float:
        factor, divisor = _negative_weight(self.pos, self.neg, mixture)
        tp, fp = self._flagged(mixture)
        return _ratio(tp + fp, self.pos[mixture[1]] + self.neg[mixture[2]] * factor / divisor)

    def _precision(self, mixture: Mixture) -> float:
        """Return the precision; where nobody is flagged, that of the first who would be.

        This is the limit as the threshold falls to the highest score of the mixture.
        """
        tp, fp = self._flagged(mixture)
        return _ratio(tp, tp + fp) if tp + fp else self._first_precision(mixture)

    def _first_precision(self, mixture: Mixture) -> float:
        (pos_place, pos), (neg_place, neg) = self.top_pos[mixture[1]], self.top_neg[mixture[2]]
        if pos_place != neg_place:
            return 1.0 if pos_place < neg_place else 0.0
        factor, divisor = _negative_weight(self.pos, self.neg, mixture)
        return _ratio(pos, pos + neg * factor / divisor)


def _top(steps: NumberArray) -> tuple[int, float]:
    """Return the first place from the top that holds events, and how many."""
    used = np.flatnonzero(steps)
    place = int(used[0]) if used.size else steps.size
    return place, float(steps[place]) if used.size else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
