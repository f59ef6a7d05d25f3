"""Two histograms side by side: the same bins, so that rows can be swapped between them."""

from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.counts import NumberArray, ThresholdCounts
from streamauc.histogram import ScoreHistogram
from streamauc.scale import Scale

NEGATIVES, POSITIVES = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """Reference (side 0) and current (side 1) on the bins that either holds, highest score first.

    `sides` are the counts of each on its own bins, `bins` these bins, ascending. `cumulated`
    are the events of each class and side from 0 upwards, shape (2, 2, n_bins + 1), and `steps`
    those of each bin, shape (2, 2, n_bins). `squares` are the squared weights of each bin, like
    `steps`; None when every weight was 1. All are float64, exact for counts below 2**53.
    """

    scale: Scale
    sides: tuple[ThresholdCounts, ThresholdCounts]
    bins: tuple[IntArray, IntArray]
    cumulated: FloatArray
    steps: FloatArray
    squares: FloatArray | None

    def rows_at(self, threshold: float) -> tuple[int, int]:
        """Return the row of each side's counts up to which a threshold flags. O(log n_bins).

        It is the row of `confusion_at`, found without the edges of all bins: as a threshold
        inside a bin that holds events moves down to its edge, what is flagged are the bins from
        that of the threshold on.
        """
        if threshold > self.scale.high:
            return 0, 0
        first = self.scale.bin(max(threshold, self.scale.low))
        reference, current = (own.size - int(own.searchsorted(first)) for own in self.bins)
        return reference, current


def align(
    reference: ScoreHistogram,
    current: ScoreHistogram,
    sides: tuple[ThresholdCounts, ThresholdCounts],
) -> Aligned:
    """Return two histograms of one scale and their counts side by side. O(n_bins log n_bins)."""
    rows = _rows(reference.bins, current.bins)
    cumulated = _spread([(side.fps, side.tps) for side in sides], rows)
    squares = None
    if any(side.is_weighted for side in sides):
        squares = _steps(_spread([_squares(side) for side in sides], rows))
    return Aligned(
        scale=reference.scale,
        sides=sides,
        bins=(reference.bins, current.bins),
        cumulated=cumulated,
        steps=_steps(cumulated),
        squares=squares,
    )


def _rows(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Return how many bins of each are among the highest 0, 1, 2, ... of all different bins.

    For example [3, 5] and [5, 8] give [0, 0, 1, 2] and [0, 1, 2, 2]. Both are ascending.
    """
    every = np.negative(np.concatenate((first[::-1], second[::-1])))
    order = np.argsort(every, kind="stable")  # which finds the two runs and merges them
    ordered = every.take(order)
    is_last = np.ones(every.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_last[:-1])
    last = np.flatnonzero(is_last)
    # The place of a bin in its own run says how many of that run there are up to here.
    place = order.take(last)
    of_first, of_second = np.zeros((2, last.size + 1), dtype=np.int64)
    of_first[1:] = np.where(place < first.size, place + 1, last - place + first.size)
    np.subtract(last + 1, of_first[1:], out=of_second[1:])
    return of_first, of_second


def _squares(side: ThresholdCounts) -> tuple[NumberArray, NumberArray]:
    if side.tps_squares is None or side.fps_squares is None:
        return side.fps, side.tps  # an event without a weight weighs 1, and so does its square
    return side.fps_squares, side.tps_squares


def _spread(
    sides: list[tuple[NumberArray, NumberArray]], rows: tuple[IntArray, IntArray]
) -> FloatArray:
    """Return what each side's classes cumulate to on the common bins."""
    spread = np.empty((2, 2, rows[0].size))
    for side, (classes, row) in enumerate(zip(sides, rows, strict=True)):
        for label, cumulated in enumerate(classes):
            spread[label, side] = cumulated.take(row)
    return spread


def _steps(cumulated: FloatArray) -> FloatArray:
    return cumulated[..., 1:] - cumulated[..., :-1]
