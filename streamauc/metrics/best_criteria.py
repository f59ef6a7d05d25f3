"""What makes a threshold good: each criterion as an array over all thresholds, higher better."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.costs import CostMatrix, regrets
from streamauc.metrics.operating import Confusion

CriterionName = Literal["f1", "f_beta", "informedness", "mcc", "closest_to_corner", "recall"]
ClassName = Literal["positives", "negatives"]
_BOTH: tuple[ClassName, ...] = ("positives", "negatives")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion: how good each threshold is, how good one confusion matrix is by its own name.

    `gains` gives an array of shape (n_thresholds + 1,), higher better, ``nan`` where it is 0 / 0;
    `value` what people call the number, which is lower better for costs and distances. `needs`
    are the classes without which no threshold is better than another. `rounding` is by how much
    equal gains may differ besides `RELATIVE`, where they are differences of larger numbers.
    """

    gains: Callable[[ThresholdCounts], FloatArray]
    value: Callable[[Confusion], float]
    needs: tuple[ClassName, ...]
    rounding: float = 0.0


def criterion_of(by: CriterionName | CostMatrix, beta: float | None) -> Criterion:
    """Return the criterion that is asked for. Raises ValueError for unknown names and betas."""
    if not isinstance(by, CostMatrix) and by not in get_args(CriterionName):
        names = ", ".join(get_args(CriterionName))
        raise ValueError(f"by must be a CostMatrix or one of {names}, got {by!r}")
    if (beta is not None) != (by == "f_beta"):
        rule = "be given for" if beta is None else "only be given for"
        raise ValueError(f"beta must {rule} by='f_beta', got {_check.plain(beta)!r}")
    if isinstance(by, CostMatrix):
        return Criterion(lambda counts: -regrets(counts, by), by.of, needs=())
    if by == "f1" or beta is not None:
        return _f_beta(1.0 if beta is None else parameters.beta(beta))
    return _PLAIN[by]


def _f_beta(beta: float) -> Criterion:
    return Criterion(
        partial(_f_betas, square=beta * beta),
        lambda point: point.f_beta(beta),
        needs=("positives",),
    )


def _f_betas(counts: ThresholdCounts, square: float) -> FloatArray:
    hits = (1 + square) * counts.tps.astype(np.float64)
    whole = hits + square * (counts.n_pos - counts.tps) + counts.fps
    return _ratios(hits, whole.astype(np.float64, copy=False))


def _informedness(counts: ThresholdCounts) -> FloatArray:
    return counts.tpr - counts.fpr


def _mccs(counts: ThresholdCounts) -> FloatArray:
    """Return ``(tpr - fpr) * sqrt(n_pos * n_neg / (flagged * unflagged))``.

    The same as by the four counts, in factors none of which grows beyond float64.
    """
    flagged = (counts.tps + counts.fps).astype(np.float64)
    unflagged = ((counts.n_pos - counts.tps) + (counts.n_neg - counts.fps)).astype(np.float64)
    factor = np.sqrt(_ratios(counts.n_pos, flagged)) * np.sqrt(_ratios(counts.n_neg, unflagged))
    factor *= _informedness(counts)
    return np.clip(factor, -1.0, 1.0, out=factor)


def _closeness(counts: ThresholdCounts) -> FloatArray:
    missed = (counts.n_pos - counts.tps) / counts.n_pos
    distances: FloatArray = np.hypot(missed, counts.fpr)
    return -distances


def _ratios(parts: FloatArray | float, wholes: FloatArray) -> FloatArray:
    out = np.full(wholes.shape, np.nan)
    np.divide(parts, wholes, out=out, where=wholes > 0)
    return out


_PLAIN: dict[CriterionName, Criterion] = {
    "informedness": Criterion(
        _informedness, lambda point: point.informedness, needs=_BOTH, rounding=1e-15
    ),
    "mcc": Criterion(_mccs, lambda point: point.mcc, needs=_BOTH, rounding=1e-12),
    "closest_to_corner": Criterion(
        _closeness, lambda point: math.hypot(point.fnr, point.fpr), needs=_BOTH
    ),
    "recall": Criterion(
        lambda counts: counts.tpr, lambda point: point.recall, needs=("positives",)
    ),
}
