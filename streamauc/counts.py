"""Counts at thresholds: the one thing that every metric is a function of. Ties live here."""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamauc._check import FloatArray
from streamauc.histogram import ScoreHistogram

NumberArray = NDArray[np.int64] | NDArray[np.float64]


class ThresholdCounts:
    """How many positives and negatives are flagged at each threshold; immutable.

    A sample is flagged (predicted positive) when ``score >= threshold``. All arrays have shape
    (n_thresholds + 1,), start at the threshold ``inf``, where nobody is flagged, and go down.

    `exact` says whether samples that enter at the same threshold are real ties; otherwise they
    only share a bin, which reaches from the threshold up to, not including, its `ceiling`.
    `tps` and `fps` are int64, or float64 sums of weights with `tps_squares` and `fps_squares`,
    the cumulative squared weights, beside them.

    `thresholds` and `ceilings` may be given as functions, which are called when first needed:
    the area under a curve does not depend on them.
    """

    def __init__(
        self,
        thresholds: FloatArray | Callable[[], FloatArray],
        tps: NumberArray,
        fps: NumberArray,
        exact: bool = True,  # noqa: FBT001, FBT002  (a field like the others)
        *,
        ceilings: FloatArray | Callable[[], FloatArray] | None = None,
        tps_squares: FloatArray | None = None,
        fps_squares: FloatArray | None = None,
    ) -> None:
        self._thresholds = thresholds
        self._ceilings = ceilings
        self.tps = tps
        self.fps = fps
        self.exact = exact
        self.tps_squares = tps_squares
        self.fps_squares = fps_squares

    def __getstate__(self) -> dict[str, object]:
        """Return what is pickled: arrays, never the functions that would give them."""
        return self.__dict__ | {"_thresholds": self.thresholds, "_ceilings": self.ceilings}

    @cached_property
    def thresholds(self) -> FloatArray:
        """The thresholds, strictly decreasing from ``inf``."""
        return self._thresholds() if callable(self._thresholds) else self._thresholds

    @cached_property
    def ceilings(self) -> FloatArray | None:
        """Where each bin ends; None when that is not known or the counts are exact."""
        return self._ceilings() if callable(self._ceilings) else self._ceilings

    @property
    def n_pos(self) -> int | float:
        """Number of positives, or the sum of their weights."""
        total: int | float = self.tps[-1].item()
        return total

    @property
    def n_neg(self) -> int | float:
        """Number of negatives, or the sum of their weights."""
        total: int | float = self.fps[-1].item()
        return total

    @property
    def n_samples(self) -> int | float:
        """Number of samples, or the sum of their weights."""
        return self.n_pos + self.n_neg

    @property
    def is_weighted(self) -> bool:
        """Whether the counts are sums of weights."""
        return self.tps_squares is not None

    @cached_property
    def tpr(self) -> FloatArray:
        """True positive rate, also called recall; all ``nan`` without positives."""
        return _share(self.tps, self.n_pos)

    @cached_property
    def fpr(self) -> FloatArray:
        """False positive rate; all ``nan`` without negatives."""
        return _share(self.fps, self.n_neg)

    @property
    def recall(self) -> FloatArray:
        """The true positive rate by its other name."""
        return self.tpr

    @cached_property
    def precision(self) -> FloatArray:
        """Share of the flagged that are positive; ``nan`` where nobody is flagged."""
        flagged = self.tps + self.fps
        out = np.full(flagged.shape, np.nan)
        np.divide(self.tps, flagged, out=out, where=flagged > 0)
        return out

    @property
    def pos_steps(self) -> NumberArray:
        """Positives that enter at each threshold after ``inf``, shape (n_thresholds,)."""
        return self.tps[1:] - self.tps[:-1]

    @property
    def neg_steps(self) -> NumberArray:
        """Negatives that enter at each threshold after ``inf``, shape (n_thresholds,)."""
        return self.fps[1:] - self.fps[:-1]


def threshold_counts(histogram: ScoreHistogram, *, positive: int = 1) -> ThresholdCounts:
    """Cumulate a histogram from the highest score down. O(n_bins).

    Class `positive` against all others. Raises ValueError if there is no such class.
    """
    if not 0 <= positive < histogram.n_classes:
        raise ValueError(f"positive must be in [0, {histogram.n_classes - 1}], got {positive}")
    scale, bins = histogram.scale, histogram.bins[::-1]
    tps, fps = _cumulated(histogram.counts, positive)
    tps_squares = fps_squares = None
    if histogram.squares is not None:
        squares = _cumulated(histogram.squares, positive)
        tps_squares, fps_squares = (part.astype(np.float64, copy=False) for part in squares)
    beyond = math.nextafter(scale.high, math.inf)  # no score is as large
    return ThresholdCounts(
        lambda: _from_infinity(scale.lower_edges(bins)),
        tps,
        fps,
        exact=scale.is_exact,
        ceilings=None
        if scale.is_exact
        else lambda: _from_infinity(np.minimum(scale.lower_edges(bins + 1), beyond)),
        tps_squares=tps_squares,
        fps_squares=fps_squares,
    )


def _from_infinity(edges: FloatArray) -> FloatArray:
    return np.concatenate(([np.inf], edges))


def _cumulated(counts: NumberArray, positive: int) -> tuple[NumberArray, NumberArray]:
    pos: NumberArray = counts[positive, ::-1]
    # Added up, not subtracted from the sum: weights that are not there must leave exactly 0.
    others = counts[1 - positive] if len(counts) == 2 else np.delete(counts, positive, 0).sum(0)
    neg: NumberArray = others[::-1]
    return _from_zero(pos), _from_zero(neg)


def _from_zero(steps: NumberArray) -> NumberArray:
    total: NumberArray = np.concatenate((np.zeros(1, dtype=steps.dtype), steps)).cumsum()
    return total


def _share(counts: NumberArray, total: float) -> FloatArray:
    return counts / total if total > 0 else np.full(counts.shape, np.nan)
