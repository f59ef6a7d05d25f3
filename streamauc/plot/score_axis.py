"""The axis of scores: which part of it is shown, evenly or in log-odds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from streamauc._check import BoolArray, FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.plot.above import Tag
from streamauc.plot.log_odds import EVEN, LAST, logits, scores_at, show_logits

# Of each class so much may be beyond either end, if all of it would take so many times the room.
_TAIL = 0.001
_WIDE = 3.0
# So near 0 or 1 scores are close together on an even axis; with so many of them there it is not.
_NEAR = 0.05
_MOST_NEAR = 0.8
_MARGIN = 0.03
_FAR_OFF = 1e300


@dataclass(frozen=True, slots=True, eq=False)
class ScoreBins:
    """What holds samples, lowest score first; all arrays of shape (n_bins,).

    Scores from `low` up to `high` share a bin; on exact counts both are the score.
    """

    low: FloatArray
    high: FloatArray
    pos: FloatArray
    neg: FloatArray

    @classmethod
    def of(cls, counts: ThresholdCounts) -> Self:
        """Return the bins that hold samples. O(n_thresholds)."""
        pos, neg = counts.pos_steps[::-1], counts.neg_steps[::-1]
        held = np.flatnonzero(pos + neg > 0)
        low = counts.thresholds[:0:-1][held]
        high = low if counts.exact else _ends(counts)[held]
        return cls(low, high, pos[held].astype(np.float64), neg[held].astype(np.float64))

    @property
    def is_probability(self) -> bool:
        """Whether no score is outside [0, 1]."""
        return not self.low.size or bool(
            self.low[0] >= 0 and self.high[-1] <= math.nextafter(1.0, 2.0)
        )


def _ends(counts: ThresholdCounts) -> FloatArray:
    if counts.ceilings is not None:
        return counts.ceilings[:0:-1]
    ends = counts.thresholds[-2::-1].copy()
    # Nothing says how far the highest bin reaches.
    ends[-1:] = counts.thresholds[1:2]
    return ends


@dataclass(frozen=True, slots=True)
class ScoreAxis:
    """Scores from `low` to `high`, evenly or, if `is_logit`, in log-odds.

    `start` and `end` are the same two in log-odds if those are shown.
    """

    start: float
    end: float
    is_logit: bool

    @classmethod
    def of(cls, bins: ScoreBins, *, is_logit: bool | None = None) -> Self:
        """Return the axis for some bins. O(n_bins).

        Scores in [0, 1] are shown on all of it, others as far as they reach. Where a few are so
        far off that the rest could not be seen they are left out, and in log-odds those of 0 and
        1, which are infinitely far away. Without `is_logit`, log-odds are shown if most
        scores are very near to 0 or 1. Raises ValueError if they are asked for and scores are
        outside [0, 1].
        """
        if is_logit and not bins.is_probability:
            raise ValueError("is_logit must not be True for scores outside [0, 1], got True")
        in_logits = _is_crowded(bins) if is_logit is None else is_logit
        if bins.is_probability and not in_logits:
            return cls(0.0, 1.0, in_logits)
        return cls(*_reach(bins, is_logit=in_logits), in_logits)

    @property
    def low(self) -> float:
        """The lowest score that is shown."""
        return float(self.scores(np.array([self.start]))[0])

    @property
    def high(self) -> float:
        """The highest score that is shown."""
        return float(self.scores(np.array([self.end]))[0])

    def positions(self, scores: FloatArray) -> FloatArray:
        """Return where along the axis scores are."""
        return logits(scores) if self.is_logit else scores

    def scores(self, positions: FloatArray) -> FloatArray:
        """Return which scores are at positions along the axis."""
        return scores_at(positions) if self.is_logit else positions

    def holds(self, scores: FloatArray) -> BoolArray:
        """Return which scores are shown."""
        inside: BoolArray = (scores >= self.low) & (scores <= self.high)
        return inside

    def show(self, ax: Axes, name: str, notes: Sequence[str] = ()) -> None:
        """Set the limits, ticks and name of a panel's x axis, which is still empty."""
        text = f"{name} (log-odds scale)" if self.is_logit else name
        if self.is_logit:
            ax.set_xscale("logit")
        ax.set_xlim(self.low, self.high)
        if self.is_logit:
            show_logits(ax.xaxis, self.start, self.end)
        ax.set_xlabel("\n".join([text, *notes]))

    def draw_thresholds(self, ax: Axes, thresholds: Sequence[float]) -> list[Tag]:
        """Draw a line at each threshold that is shown; return what to write above them."""
        shown = self.shown(thresholds)
        ax.vlines(
            shown,
            0,
            1,
            transform=ax.get_xaxis_transform(),
            color="black",
            linewidth=0.9,
            zorder=3,
            label="threshold" if shown else "",
        )
        return [Tag(one, one, (f"{one:g}",)) for one in shown]

    def shown(self, thresholds: Sequence[float]) -> list[float]:
        """Return the thresholds that are shown, rising."""
        return [one for one in sorted(set(thresholds)) if self.low <= one <= self.high]

    def beyond(self, thresholds: Sequence[float]) -> list[str]:
        """Return a note that names the thresholds that are not shown, if there are any."""
        hidden = sorted(set(thresholds) - set(self.shown(thresholds)))
        names = ", ".join(f"{one:g}" for one in hidden)
        return [f"beyond the axis: threshold {names}"] if hidden else []


def _is_crowded(bins: ScoreBins) -> bool:
    """Return whether most scores are so near 0 or 1 that only log-odds tell them apart."""
    if not bins.is_probability:
        return False
    total = bins.pos + bins.neg
    is_near = (bins.low < _NEAR) | (bins.high > 1 - _NEAR)
    is_finite = (bins.low > 0) & (bins.high < 1)
    return float(total[is_near & is_finite].sum()) > _MOST_NEAR * float(total.sum())


def _reach(bins: ScoreBins, *, is_logit: bool) -> tuple[float, float]:
    """Return from where to where along the axis the scores reach, with a margin."""
    starts, ends = (logits(side) if is_logit else side for side in (bins.low, bins.high))
    shown = np.flatnonzero((np.abs(starts) < _FAR_OFF) & (np.abs(ends) < _FAR_OFF))
    if not shown.size:
        return EVEN if is_logit else (0.0, 1.0)
    starts, ends = starts[shown], ends[shown]
    central = [_central(side[shown]) for side in (bins.pos, bins.neg) if side[shown].any()]
    low = float(starts[min(first for first, _ in central)])
    high = float(ends[max(last for _, last in central)])
    if ends[-1] - starts[0] <= _WIDE * (high - low):
        low, high = float(starts[0]), float(ends[-1])
    margin = _MARGIN * (high - low) or max(1.0, abs(low)) / 2
    limits = low - margin, high + margin
    return (limits[0], min(limits[1], LAST)) if is_logit else limits


def _central(weights: FloatArray) -> tuple[int, int]:
    """Return the first and the last bin that more than a tail of a class reaches."""
    cumulated = weights.cumsum() / weights.sum()
    first = int(np.searchsorted(cumulated, _TAIL, side="right"))
    last = int(np.searchsorted(cumulated, 1 - _TAIL, side="left"))
    return first, min(last, weights.size - 1)
