"""The hull of several models' ROC curves: which model, at which threshold, for which costs.

No model need be the best everywhere. The hull of all curves together shows which one is at each
slope (Provost & Fawcett 2001), where the slope stands for the class ratio and the costs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.costs import CostMatrix
from streamauc.metrics.hull import hull_rows

# A vertex on the way: x, y, the number of its model, the row of that model's counts.
_Vertex = tuple[float, float, int, int]


@dataclass(frozen=True, slots=True)
class HullPoint:
    """A vertex: a model at a threshold and the rates it has there.

    Nobody or everybody is flagged at the ends, for which no model is needed: `model` is None
    and `threshold` is ``inf`` or ``-inf``.
    """

    model: str | None
    threshold: float
    fpr: float
    tpr: float


@dataclass(frozen=True, slots=True)
class BestModel:
    """What costs least: `point`, or as well any mixture of it with `tied` if that is not None.

    `point` is the one that flags fewer. `slope` is the one that the costs amount to, `cost` the
    mean cost of an event.
    """

    point: HullPoint
    tied: HullPoint | None
    slope: float
    cost: float


@dataclass(frozen=True, slots=True)
class Mixture:
    """An event is judged by `second` with chance `share`, and else by `first`.

    `fpr` and `tpr` are what that comes to.
    """

    first: HullPoint
    second: HullPoint
    share: float
    fpr: float
    tpr: float


@dataclass(frozen=True, slots=True, eq=False)
class ModelHull:
    """The vertices of the hull of several curves, from "flag nobody" to "flag everybody".

    `slopes`, shape (n_points - 1,), fall strictly; each is that of the line from a point to the
    next, along which the two are mixed. A point is the best for all slopes between the one
    after it and the one before it. `undefined` names the models without positives or without
    negatives, which have no curve; if that is all of them there are no points.
    """

    points: tuple[HullPoint, ...]
    slopes: FloatArray
    undefined: tuple[str, ...]

    @property
    def roc_auc(self) -> float:
        """The area under the hull; ``nan`` where there is none."""
        if not self.points:
            return math.nan
        fpr, tpr = np.array([(point.fpr, point.tpr) for point in self.points]).T
        return float(np.trapezoid(tpr, fpr))

    def best(self, costs: CostMatrix, *, prevalence: float) -> BestModel | None:
        """Return what costs least where `prevalence` is the share of positives. O(log n).

        At the slope ``(1 - pi) false_alarm / (pi miss)`` (Provost & Fawcett 2001). None if
        no model has a curve, and for costs by which one kind of mistake is cheaper than being
        right, or neither is dearer: then the best is not on the hull. Raises ValueError for a
        prevalence outside (0, 1).
        """
        share = parameters.prevalence(prevalence)
        alarm, miss = costs.false_alarm * (1 - share), costs.miss * share
        if not self.points or min(alarm, miss) < 0 or alarm == miss == 0:
            return None
        slope = alarm / miss if miss else math.inf
        first, last = self._at_slope(slope)
        point = self.points[first]
        always = costs.tn * (1 - share) + costs.tp * share
        cost = always + alarm * point.fpr + miss * (1 - point.tpr)
        return BestModel(point, self.points[last] if last > first else None, slope, cost)

    def at_slope(self, slope: float) -> tuple[HullPoint, ...]:
        """Return the best point at a slope, or both ends of the line that has it. O(log n).

        Nothing if no model has a curve. Raises ValueError for a negative slope and ``nan``.
        """
        if not slope >= 0:
            raise ValueError(f"slope must not be negative, got {slope!r}")
        first, last = self._at_slope(slope)
        return self.points[first : last + 1]

    def at_fpr(self, fpr: float) -> Mixture | None:
        """Return the mixture that has the highest recall at a false positive rate. O(n).

        None if no model has a curve. Raises ValueError outside [0, 1].
        """
        if not 0 <= fpr <= 1:
            raise ValueError(f"fpr must be in [0, 1], got {fpr!r}")
        if not self.points:
            return None
        after = sum(point.fpr <= fpr for point in self.points)
        left, right = self.points[min(after, len(self.points) - 1) - 1 :][:2]
        share = (fpr - left.fpr) / (right.fpr - left.fpr)
        return Mixture(left, right, share, fpr, left.tpr + share * (right.tpr - left.tpr))

    def _at_slope(self, slope: float) -> tuple[int, int]:
        falling = -self.slopes
        first = int(np.searchsorted(falling, -slope, side="left"))
        return first, int(np.searchsorted(falling, -slope, side="right"))


def model_hull(models: Mapping[str, ThresholdCounts]) -> ModelHull:
    """Return the hull of the ROC curves of models by name. O(total number of thresholds).

    The models need not have seen the same events. Where two reach the same point the one that
    stands first in `models` is named. Raises ValueError if there are no models.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> def counts(y_true, y_score):
    ...     h = ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact())
    ...     return threshold_counts(h)
    >>> scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    >>> careful = counts([1, 1, 0, 0, 1, 0], scores)
    >>> eager = counts([0, 1, 1, 1, 0, 0], scores)
    >>> hull = model_hull({"careful": careful, "eager": eager})
    >>> [(point.model, point.threshold) for point in hull.points]
    [(None, inf), ('careful', 0.8), ('eager', 0.6), (None, -inf)]
    >>> hull.best(CostMatrix(fn=1, fp=5), prevalence=0.5).point.model
    'careful'
    """
    if not models:
        raise ValueError("models must hold at least one model, got none")
    hulls = {name: hull_rows(counts) for name, counts in models.items()}
    curves = [(name, models[name], rows) for name, rows in hulls.items() if rows.size]
    n_pos, n_neg = _common_totals([counts for _, counts, _ in curves])
    vertices: list[_Vertex] = []
    for model, (_, counts, rows) in enumerate(curves):
        x = _scaled(counts.fps[rows].tolist(), counts.n_neg, n_neg)
        y = _scaled(counts.tps[rows].tolist(), counts.n_pos, n_pos)
        vertices += zip(x, y, repeat(model), rows.tolist(), strict=False)
    found = _chain(sorted(vertices))
    points = tuple(
        _point(*curves[model][:2], row, last=i == len(found) - 1)
        for i, (_, _, model, row) in enumerate(found)
    )
    undefined = tuple(name for name, rows in hulls.items() if not rows.size)
    return ModelHull(points, _slopes(found, n_pos, n_neg), undefined)


def _common_totals(counts: Sequence[ThresholdCounts]) -> tuple[float, float]:
    """Return the numbers of positives and negatives that all points are brought to.

    Those of integers are integers, so that nothing is rounded; rates are those out of 1.0.
    """
    if any(part.tps.dtype.kind == "f" or part.fps.dtype.kind == "f" for part in counts):
        return 1.0, 1.0
    n_pos = math.lcm(*(int(part.n_pos) for part in counts))
    return n_pos, math.lcm(*(int(part.n_neg) for part in counts))


def _scaled(values: Sequence[float], total: float, common: float) -> list[float]:
    """Return counts out of `total` as counts out of `common`, whole numbers as such."""
    if isinstance(common, int):
        times = common // int(total)
        return [value * times for value in values]
    return [value / total for value in values]


def _chain(vertices: Sequence[_Vertex]) -> list[_Vertex]:
    """Return those on the upper hull, by Andrew's monotone chain."""
    hull: list[_Vertex] = []
    for vertex in vertices:
        if hull and hull[-1][:2] == vertex[:2]:
            continue
        while len(hull) > 1 and not _bends_down(hull[-2], hull[-1], vertex):
            hull.pop()
        hull.append(vertex)
    return hull


def _bends_down(first: _Vertex, middle: _Vertex, last: _Vertex) -> bool:
    rise, later_rise = middle[1] - first[1], last[1] - middle[1]
    run, later_run = middle[0] - first[0], last[0] - middle[0]
    return rise * later_run > later_rise * run


def _slopes(vertices: Sequence[_Vertex], n_pos: float, n_neg: float) -> FloatArray:
    """Return the slopes between vertices in rates; the first may be infinite."""
    slopes = []
    for first, last in pairwise(vertices):
        run, rise = (last[0] - first[0]) * n_pos, (last[1] - first[1]) * n_neg
        slopes.append(rise / run if run else math.inf)
    return np.array(slopes, dtype=np.float64)


def _point(name: str, counts: ThresholdCounts, row: int, *, last: bool) -> HullPoint:
    if not row:
        return HullPoint(None, math.inf, 0.0, 0.0)
    if last:
        return HullPoint(None, -math.inf, 1.0, 1.0)
    threshold = float(counts.thresholds[row])
    return HullPoint(name, threshold, float(counts.fpr[row]), float(counts.tpr[row]))
