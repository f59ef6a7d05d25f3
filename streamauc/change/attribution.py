"""Which part of a change is due to the class ratio, which to the scores of either class.

A metric is a function of three things that can be swapped between the two sides: the prevalence,
the distribution of the positives' scores and that of the negatives'. The eight mixtures are the
values of a game of three players, and the parts are its Shapley values: what a swap changes,
averaged over the six orders in which the three can be swapped (Shapley 1953). They add up to
the change and depend on no order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise, product

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.aligned import NEGATIVES, POSITIVES, Aligned
from streamauc.change.results import Attribution
from streamauc.counts import ThresholdCounts
from streamauc.metrics.operating import Confusion
from streamauc.metrics.scalars import BinSteps

# The side (0 reference, 1 current) of the prevalence, of the positives, of the negatives.
Mixture = tuple[int, int, int]
_MIXTURES: tuple[Mixture, ...] = tuple(product((0, 1), (0, 1), (0, 1)))
_REFERENCE, _CURRENT = (0, 0, 0), (1, 1, 1)
# A weight as (numerator, denominator): with whole counts the quotient is rounded once, at the end.
Weight = tuple[float, float]


def attribute(aligned: Aligned, thresholds: Sequence[float]) -> dict[str, Attribution]:
    """Return the attribution of each metric by name, ``precision@0.7`` and so on. O(n_bins).

    The average precision, and at each threshold precision, recall, FPR and alert rate. Parts
    are ``nan`` where a mixture is undefined, for want of a class on one side, and `total` too
    where one of the sides is.
    """
    totals = _Totals.of(aligned)
    found = {"average_precision": shapley(_average_precisions(aligned, totals))}
    for threshold in thresholds:
        for name, game in _Points.at(threshold, aligned, totals).games().items():
            found[f"{name}@{shown(threshold)}"] = _shares(game)
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
    values: list[float] = game.ravel().tolist()
    return _shares(values)


def _shares(values: Sequence[float]) -> Attribution:
    """Return the parts from the values of the mixtures, in the order of `_MIXTURES`."""
    total = values[-1] - values[0]
    parts = [_part(values, step) for step in (4, 2, 1)]
    if math.isnan(sum(parts)):
        return Attribution(math.nan, math.nan, math.nan, total)
    # The largest part takes up the rounding, so that a part that is 0 stays 0.
    largest = max(range(3), key=lambda player: abs(parts[player]))
    parts[largest] = total - sum(parts[:largest] + parts[largest + 1 :])
    return Attribution(prevalence=parts[0], positives=parts[1], negatives=parts[2], total=total)


def _part(values: Sequence[float], step: int) -> float:
    """Return what swapping the player `step` values apart changes, averaged over the orders.

    It is the first in a third of them, the last in a third, and between the others in the rest.
    """
    changes = [values[at + step] - values[at] for at in range(8) if not at & step]
    before, after_one, after_other, after = changes
    return (2 * before + after_one + after_other + 2 * after) / 6


@dataclass(frozen=True, slots=True)
class _Totals:
    """All positives and all negatives of either side; ints, or floats when weighted.

    `weights` are those of a negative that give each mixture its prevalence.
    """

    pos: tuple[float, float]
    neg: tuple[float, float]
    weights: Mapping[Mixture, Weight]

    @classmethod
    def of(cls, aligned: Aligned) -> "_Totals":
        """Return the totals of two sides. O(1)."""
        first, second = aligned.sides
        pos, neg = (first.n_pos, second.n_pos), (first.n_neg, second.n_neg)
        weights = {mixture: _negative_weight(pos, neg, mixture) for mixture in _MIXTURES}
        return cls(pos, neg, weights)

    def weighted(self, negatives: float, mixture: Mixture) -> float:
        """Return how many negatives some of a side are in a mixture."""
        factor, divisor = self.weights[mixture]
        return negatives * factor / divisor


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


def _average_precisions(aligned: Aligned, totals: _Totals) -> FloatArray:
    """Return the average precision of each mixture, by the estimator of `average_precision`."""
    steps = {
        mixture: _weighted(pair, totals.weights[mixture])
        for (of_pos, of_neg), pair in _pairs(aligned, totals).items()
        for mixture in ((0, of_pos, of_neg), (1, of_pos, of_neg))
        if not math.isnan(totals.weights[mixture][0])
    }
    game = np.full((2, 2, 2), math.nan)
    if steps:
        # All at once: a pass over eight mixtures is cheaper than eight passes.
        every = BinSteps.joined(list(steps.values()))
        gains = every.as_one_tie() if aligned.scale.is_exact else every.interleaved()
        ends = accumulate((one.p.size for one in steps.values()), initial=0)
        for mixture, (begin, end) in zip(steps, pairwise(ends), strict=True):
            total = float(gains[begin:end].sum())
            game[mixture] = min(1.0, total / totals.pos[mixture[1]])
    return game


def _pairs(aligned: Aligned, totals: _Totals) -> dict[tuple[int, int], BinSteps]:
    """Return the bins with positives of one side, and the negatives of one side in them."""
    pairs = {}
    for of_pos in range(2):
        if not totals.pos[of_pos]:
            continue
        used = np.flatnonzero(aligned.steps[POSITIVES, of_pos] > 0)
        p = aligned.steps[POSITIVES, of_pos].take(used)
        tp = aligned.cumulated[POSITIVES, of_pos].take(used)
        squares = None
        if aligned.squares is not None:
            squares = aligned.squares[POSITIVES, of_pos].take(used)
        for of_neg in range(2):
            n = aligned.steps[NEGATIVES, of_neg].take(used)
            fp = aligned.cumulated[NEGATIVES, of_neg].take(used)
            pairs[of_pos, of_neg] = BinSteps(p=p, n=n, tp=tp, fp=fp, squares=squares)
    return pairs


def _weighted(steps: BinSteps, weight: Weight) -> BinSteps:
    if weight == (1, 1):
        return steps
    # The product comes first: of whole counts only the quotient is rounded then, so that equal
    # mixtures made in two ways are equal to the last bit.
    over, under = float(weight[0]), float(weight[1])
    return replace(steps, n=steps.n * over / under, fp=steps.fp * over / under)


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Both sides at one threshold."""

    points: tuple[Confusion, Confusion]
    aligned: Aligned
    totals: _Totals

    @classmethod
    def at(cls, threshold: float, aligned: Aligned, totals: _Totals) -> "_Points":
        """Return the points of two sides at a threshold. O(log n_bins)."""
        rows = aligned.rows_at(threshold)
        first, second = map(partial(_rates, threshold), aligned.sides, rows)
        return cls((first, second), aligned, totals)

    def games(self) -> dict[str, list[float]]:
        """Return each metric of each mixture, those of the two sides themselves as they are."""
        first, second = self.points
        return {
            "precision": self._game(first.precision, self._precision, second.precision),
            "recall": self._game(first.recall, self._recall, second.recall),
            "fpr": self._game(first.fpr, self._fpr, second.fpr),
            "alert_rate": self._game(first.alert_rate, self._alert_rate, second.alert_rate),
        }

    def _game(
        self, reference: float, mixed: Callable[[Mixture], float], current: float
    ) -> list[float]:
        return [reference, *map(mixed, _MIXTURES[1:-1]), current]

    def _recall(self, mixture: Mixture) -> float:
        return self.points[mixture[1]].recall

    def _fpr(self, mixture: Mixture) -> float:
        return self.points[mixture[2]].fpr

    def _flagged(self, mixture: Mixture) -> tuple[float, float]:
        """Return the true and the weighted false positives."""
        tp, fp = self.points[mixture[1]].tp, self.points[mixture[2]].fp
        return tp, self.totals.weighted(fp, mixture)

    def _alert_rate(self, mixture: Mixture) -> float:
        tp, fp = self._flagged(mixture)
        neg = self.totals.weighted(self.totals.neg[mixture[2]], mixture)
        return _ratio(tp + fp, self.totals.pos[mixture[1]] + neg)

    def _precision(self, mixture: Mixture) -> float:
        """Return the precision; where nobody is flagged, that of the first who would be.

        This is the limit as the threshold falls to the highest score of the mixture.
        """
        tp, fp = self._flagged(mixture)
        return _ratio(tp, tp + fp) if tp + fp else self._first_precision(mixture)

    def _first_precision(self, mixture: Mixture) -> float:
        pos_place, pos = self._top(POSITIVES, mixture[1])
        neg_place, neg = self._top(NEGATIVES, mixture[2])
        if pos_place != neg_place:
            return 1.0 if pos_place < neg_place else 0.0
        return _ratio(pos, pos + self.totals.weighted(neg, mixture))

    def _top(self, label: int, side: int) -> tuple[int, float]:
        """Return how many bins are above the first that holds events, and its events."""
        cumulated = self.aligned.cumulated[label, side]
        row = int(cumulated.searchsorted(0, side="right"))
        return row - 1, float(cumulated[row]) if row < cumulated.size else 0.0


def _rates(threshold: float, counts: ThresholdCounts, row: int) -> Confusion:
    """Return the counts at a row; only the rates are read off, which need no edge."""
    tp, fp = counts.tps[row].item(), counts.fps[row].item()
    fn, tn = counts.n_pos - tp, counts.n_neg - fp
    return Confusion(threshold, threshold, exact=True, tp=tp, fp=fp, fn=fn, tn=tn)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
