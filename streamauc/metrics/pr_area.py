"""Precision between thresholds, after Davis & Goadrich 2006, and the area below it.

Between two thresholds the counts move on a straight line, as those of a mixture do, so the
precision moves on a curve: joining points of a precision-recall curve by straight lines promises
what cannot be had.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check
from streamauc._check import FloatArray, IntArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.hull import hull_rows
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.scalars import Bounds

_ROUNDING = 2.0**-51


@dataclass(frozen=True, slots=True, eq=False)
class InterpolatedCurve:
    """Points by falling threshold, all of shape (n_points,), from recall 0 to 1.

    `recall` never falls; where negatives come alone the precision drops at the same recall.
    `between` is whether a point lies between two thresholds, as a mixture of the two.
    """

    precision: FloatArray
    recall: FloatArray
    between: _check.BoolArray


def interpolated_precision(counts: ThresholdCounts, recall: ArrayLike) -> FloatArray:
    """Return the precision at each of some recalls. O(n_thresholds + n log n_thresholds).

    With ``x`` more true positives than at the threshold before it is
    ``(TP + x) / (TP + x + FP + x (FP' - FP) / (TP' - TP))`` (Davis & Goadrich 2006, section 4).
    At a recall that several thresholds have it is the highest of their precisions, and at recall
    0 the limit. `recall` has shape (n,), and so has the result; all ``nan`` without positives.
    Raises ValueError for a recall outside [0, 1].

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([1, 0, 1], [0.9, 0.3, 0.3], scale=Scale.exact())
    >>> interpolated_precision(threshold_counts(h), [0.5, 0.75, 1.0])
    array([1.        , 0.75      , 0.66666667])
    """
    wanted = _recalls(recall)
    if not counts.n_pos > 0 or math.isnan(counts.n_neg):
        return np.full(wanted.shape, math.nan)
    return _Segments.of(counts).precision(wanted, counts.n_pos)


def interpolated_curve(counts: ThresholdCounts, *, between: int = 7) -> InterpolatedCurve:
    """Return the precision-recall curve with points in between. O(n_thresholds * between).

    So many evenly spaced ones between each threshold and the next that has a higher recall. The
    first point is the limit at recall 0. Empty without positives. Raises ValueError unless
    `between` is an integer that is not negative.
    """
    parts = _check.integer("between", between, 0) + 1
    if not counts.n_pos > 0 or math.isnan(counts.n_neg):
        none = np.empty(0)
        return InterpolatedCurve(none, none, np.empty(0, dtype=np.bool_))
    segments = _Segments.of(counts)
    share = np.arange(parts + 1) / parts
    tp, fp = segments.mixtures(share[:, np.newaxis])
    precision = segments.precision_of(tp, fp).T
    drops = np.ones(precision.shape, dtype=np.bool_)
    # A segment begins where the last one ended, unless negatives come in between.
    drops[1:, 0] = precision[1:, 0] < precision[:-1, -1]
    recall = np.minimum(tp.T / counts.n_pos, 1.0)
    inner = np.broadcast_to((share > 0) & (share < 1), precision.shape)
    return InterpolatedCurve(precision[drops], recall[drops], inner[drops])


def pr_area(
    counts: ThresholdCounts, *, prevalence: float | None = None, on_hull: bool = False
) -> float:
    """Return the area below the interpolated precision-recall curve. O(n_thresholds).

    Exactly, by the logarithm that each part integrates to, not from points. What shares a
    threshold, in ties or in bins, is mixed evenly, so that from bins it is close to what it was
    before them; the average precision, a sum of steps at the thresholds, is lower where many
    positives share one. ``nan`` without positives and 1 without negatives.

    With `prevalence`, what it would be if that were the share of positives and each class
    scored as it does; ``nan`` unless there are both. With `on_hull`, of the achievable curve:
    that of the vertices of the ROC hull only. Raises ValueError for a prevalence outside (0, 1).

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([1, 0, 1], [0.9, 0.3, 0.3], scale=Scale.exact())
    >>> round(pr_area(threshold_counts(h)), 4)
    0.8873
    """
    if prevalence is not None:
        counts = at_prevalence(counts, prevalence)
    if not counts.n_pos > 0 or math.isnan(counts.n_neg):
        return math.nan
    segments = _Segments.of(counts, on_hull=on_hull)
    return min(1.0, float(segments.mixed().sum()) / counts.n_pos)


def pr_area_bounds(counts: ThresholdCounts) -> Bounds:
    """Bounds on the area of the scores before binning; both equal it on the exact scale.

    At each recall the exact curve has between the false positives above the bin and those with
    it, and the precision falls with them. O(n_thresholds).
    """
    value = pr_area(counts)
    if counts.exact or math.isnan(value):
        return Bounds(value, value)
    segments = _Segments.of(counts)
    worst, best = segments.after(segments.fp + segments.n), segments.after(segments.fp)
    low, high = (float(gains.sum()) / counts.n_pos for gains in (worst, best))
    return Bounds(min(value, low), max(value, min(1.0, high)))


def _recalls(recall: ArrayLike) -> FloatArray:
    wanted = _check.float_column("recall", recall)
    bad = np.flatnonzero(~((wanted >= 0) & (wanted <= 1)))
    if bad.size:
        value, index = float(wanted[bad[0]]), int(bad[0])
        raise ValueError(f"recall must be in [0, 1], got {value!r} at index {index}")
    return wanted


@dataclass(frozen=True, slots=True, eq=False)
class _Segments:
    """The steps that raise the recall: p positives and n negatives after tp and fp of them.

    All of shape (n_segments,), by falling threshold. Negatives that enter alone are in `fp`.
    """

    p: FloatArray
    n: FloatArray
    tp: FloatArray
    fp: FloatArray

    @classmethod
    def of(cls, counts: ThresholdCounts, *, on_hull: bool = False) -> Self:
        """Return those of all thresholds, or of the vertices of the hull where there is one."""
        tps, fps = counts.tps.astype(np.float64), counts.fps.astype(np.float64)
        if on_hull and counts.n_neg > 0:
            rows = hull_rows(counts)
            tps, fps = tps[rows], fps[rows]
        pos = tps[1:] - tps[:-1]
        used = np.flatnonzero(pos > 0)
        return cls(p=pos[used], n=(fps[1:] - fps[:-1])[used], tp=tps[used], fp=fps[used])

    def precision(self, recall: FloatArray, n_pos: float) -> FloatArray:
        """Return the precision at recalls in [0, 1]."""
        hits = recall * n_pos
        # The first step that reaches it, where the precision is highest of those that have it;
        # a recall that was read off the curve does so but for two roundings.
        reached = np.searchsorted(self.tp + self.p, hits * (1 - _ROUNDING))
        step = np.minimum(reached, self.p.size - 1)
        share = np.clip((hits - self.tp[step]) / self.p[step], 0.0, 1.0)
        tp, fp = self._at(step).mixtures(share)
        return self._at(step).precision_of(tp, fp)

    def mixtures(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the true and the false positives after a share of each step."""
        return self.tp + share * self.p, self.fp + share * self.n

    def precision_of(self, tp: FloatArray, fp: FloatArray) -> FloatArray:
        """Return the precision of such counts; from (0, 0) on that of the whole step."""
        start = np.broadcast_to(self.p / (self.p + self.n), tp.shape)
        flagged = tp + fp
        return np.divide(tp, flagged, out=start.copy(), where=flagged > 0)

    def _at(self, step: IntArray) -> Self:
        return type(self)(self.p[step], self.n[step], self.tp[step], self.fp[step])

    def mixed(self) -> FloatArray:
        """Return the integral over each step's positives of the precision on the way.

        With C = TP + FP and a = (p + n) / p it is ``p / a + (TP - C / a) / a * log(1 + a p / C)``.
        """
        flagged, grown = self.tp + self.fp, self.p + self.n
        share = self.p / grown
        start = flagged * share
        growth = np.zeros_like(start)
        np.divide(grown, flagged, out=growth, where=flagged > 0)
        gains: FloatArray = share * (self.p + (self.tp - start) * np.log1p(growth))
        return gains

    def after(self, false: FloatArray) -> FloatArray:
        """Return the same for false positives that all come before the step's positives.

        ``p - FP log(1 + p / (TP + FP))``.
        """
        flagged = self.tp + false
        growth = np.zeros_like(flagged)
        np.divide(self.p, flagged, out=growth, where=flagged > 0)
        gains: FloatArray = self.p - false * np.log1p(growth)
        return gains
