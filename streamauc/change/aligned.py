"""Two histograms side by side: the same bins, so that rows can be swapped between them."""

from dataclasses import dataclass

import numpy as np

from streamauc._check import IntArray
from streamauc.counts import NumberArray
from streamauc.histogram import ScoreHistogram


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """Reference (row 0) and current (row 1) on the bins that either holds, highest score first.

    `pos` and `neg` are the counts by bin, shape (2, n_bins); `tps` and `fps` the same cumulated
    from 0, shape (2, n_bins + 1). All are int64, or float64 sums of weights with `pos_squares`
    and `neg_squares`, the sums of squared weights, beside `pos` and `neg`.
    """

    is_exact: bool
    pos: NumberArray
    neg: NumberArray
    tps: NumberArray
    fps: NumberArray
    pos_squares: NumberArray | None
    neg_squares: NumberArray | None


def align(reference: ScoreHistogram, current: ScoreHistogram) -> Aligned:
    """Return two histograms of one scale side by side. O(n_bins log n_bins)."""
    n_bins, places = _places(reference.bins, current.bins)
    tables = [side.counts for side in (reference, current)]
    neg, pos = _spread(tables, places, n_bins)
    pos_squares = neg_squares = None
    if reference.squares is not None or current.squares is not None:
        # An event without a weight weighs 1, and so does its square.
        both = [one.counts if one.squares is None else one.squares for one in (reference, current)]
        neg_squares, pos_squares = _spread(both, places, n_bins)
    return Aligned(
        is_exact=reference.scale.is_exact,
        pos=pos,
        neg=neg,
        tps=_from_zero(pos),
        fps=_from_zero(neg),
        pos_squares=pos_squares,
        neg_squares=neg_squares,
    )


def _places(first: IntArray, second: IntArray) -> tuple[int, tuple[IntArray, IntArray]]:
    """Return the number of different bins, and each one's place among them from the top."""
    every = np.concatenate((first, second))
    order = np.argsort(every, kind="stable")
    ordered = every[order]
    rank = np.zeros(every.size, dtype=np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=rank[1:])
    n_bins = int(rank[-1]) + 1 if rank.size else 0
    place = np.empty_like(rank)
    place[order] = n_bins - 1 - rank
    return n_bins, (place[: first.size], place[first.size :])


def _spread(
    tables: list[NumberArray], places: tuple[IntArray, IntArray], n_bins: int
) -> tuple[NumberArray, NumberArray]:
    """Return (2, n_bins) for the negatives and for the positives of (2, own bins) each."""
    kind = np.result_type(*tables)
    sides = np.zeros((2, 2, n_bins), dtype=kind)  # class, side, bin
    for side, (table, place) in enumerate(zip(tables, places, strict=True)):
        for label in range(2):
            sides[label, side, place] = table[label]
    return sides[0], sides[1]


def _from_zero(steps: NumberArray) -> NumberArray:
    total = np.zeros((2, steps.shape[1] + 1), dtype=steps.dtype)
    np.cumsum(steps, axis=1, out=total[:, 1:])
    return total
