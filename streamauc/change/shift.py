"""How far the scores of a class moved, whatever became of the outcomes."""

import math

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.aligned import Aligned
from streamauc.change.results import ScoreShift
from streamauc.counts import NumberArray

N_GROUPS = 10
_TINY = float(np.finfo(np.float64).tiny)


def score_shift(aligned: Aligned) -> dict[str, ScoreShift]:
    """Return the shift of the ``positives``, the ``negatives`` and ``overall``. O(n_bins).

    Each is ``nan`` where one side has no such events.

    * KS on the bins, every one of which ends at a true threshold.
    * PSI, ``sum (q - p) log(q / p)`` over `N_GROUPS` groups of equal shares of the reference: a
      bin belongs to the tenth in which the middle of its events lies. So a score that many share
      is in one group, and scores the reference has not seen are in that of their neighbours. An
      empty group counts as half an event of average weight (p or q would be 0).
    * Jensen-Shannon, ``sum p log2(2 p / (p + q)) / 2`` and the same for q, over the bins. It
      sees the finest change and has the most noise: two samples of one distribution that fill
      their bins come out at about ``(n_bins - 1) (1 / n_reference + 1 / n_current) / 8 log 2``.
    """
    pos = _shift(aligned.pos, aligned.tps, aligned.pos_squares)
    neg = _shift(aligned.neg, aligned.fps, aligned.neg_squares)
    squares = None
    if aligned.pos_squares is not None and aligned.neg_squares is not None:
        squares = aligned.pos_squares + aligned.neg_squares
    overall = _shift(aligned.pos + aligned.neg, aligned.tps + aligned.fps, squares)
    return {"positives": pos, "negatives": neg, "overall": overall}


def _shift(steps: NumberArray, cumulated: NumberArray, squares: NumberArray | None) -> ScoreShift:
    """Return the shift of a class from its (2, n_bins) counts and what they cumulate to."""
    totals = cumulated[:, -1:].astype(np.float64)
    if not totals.all():
        return ScoreShift(math.nan, math.nan, math.nan)
    shares = steps / totals
    above = cumulated / totals
    halves = np.full(2, 0.5) if squares is None else squares.sum(axis=1) / totals[:, 0] / 2
    return ScoreShift(
        ks=float(np.abs(above[1] - above[0]).max()),
        psi=_psi(cumulated, halves),
        jensen_shannon=_jensen_shannon(shares[0], shares[1]),
    )


def _psi(cumulated: NumberArray, halves: FloatArray) -> float:
    """Return the PSI; `halves` are what an empty group counts as on each side."""
    below = cumulated[0, :-1] + cumulated[0, 1:]  # twice the rank of the middle of each bin
    wanted = 2 * cumulated[0, -1] * np.arange(1, N_GROUPS) / N_GROUPS
    edges = np.searchsorted(below, wanted)
    at = cumulated[:, np.concatenate(([0], edges, [below.size]))]
    groups = np.diff(at, axis=1)
    used = groups.any(axis=0)
    totals = cumulated[:, -1:].astype(np.float64)
    p, q = np.maximum(groups[:, used], halves[:, np.newaxis]) / totals
    return float(np.dot(q - p, np.log(q / p)))


def _jensen_shannon(p: FloatArray, q: FloatArray) -> float:
    # A share that is 0 gives 0, whatever finite logarithm it is multiplied by.
    middle = np.maximum(p + q, _TINY) / 2
    logs = np.log2(np.maximum(p / middle, _TINY)), np.log2(np.maximum(q / middle, _TINY))
    found = float(np.dot(p, logs[0]) + np.dot(q, logs[1])) / 2
    return min(1.0, max(0.0, found))
