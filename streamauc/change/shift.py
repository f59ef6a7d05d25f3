"""How far the scores of a class moved, whatever became of the outcomes."""

import math

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.aligned import NEGATIVES, POSITIVES, Aligned
from streamauc.change.results import ScoreShift

N_GROUPS = 10
_TINY = float(np.finfo(np.float64).tiny)
_CLASSES = ("positives", "negatives", "overall")


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
    cumulated = _with_overall(aligned.cumulated)
    totals = cumulated[:, :, -1]
    squares = None if aligned.squares is None else _with_overall(aligned.squares).sum(axis=2)
    known = np.logical_and.reduce(totals > 0, axis=1)
    if not known.all():
        cumulated, totals = cumulated[known], totals[known]
        squares = None if squares is None else squares[known]
    halves = np.full_like(totals, 0.5) if squares is None else squares / totals / 2
    found = iter(_shifts(cumulated, halves))
    nothing = ScoreShift(math.nan, math.nan, math.nan)
    return {name: next(found) if known[place] else nothing for place, name in enumerate(_CLASSES)}


def _with_overall(classes: FloatArray) -> FloatArray:
    """Return arrays of both classes in the order of `_CLASSES`."""
    first, second = classes[POSITIVES], classes[NEGATIVES]
    return np.stack((first, second, first + second))


def _shifts(cumulated: FloatArray, halves: FloatArray) -> list[ScoreShift]:
    """Return the shifts of some classes at once; their cumulated counts, (n, 2, n_bins + 1)."""
    totals = cumulated[:, :, -1:]
    shares = cumulated / totals
    measures = (
        np.abs(shares[:, 1] - shares[:, 0]).max(axis=1),
        _psi(cumulated, halves),
        _jensen_shannon(shares[:, :, 1:] - shares[:, :, :-1]),
    )
    return [ScoreShift(*row) for row in np.transpose(measures).tolist()]


def _psi(cumulated: FloatArray, halves: FloatArray) -> FloatArray:
    """Return the PSIs; `halves` are what an empty group counts as on each side, (n, 2)."""
    groups = _groups(cumulated)
    counted = np.maximum(groups, halves[:, :, np.newaxis]) / cumulated[:, :, -1:]
    p, q = counted[:, 0], counted[:, 1]
    psi: FloatArray = np.sum((q - p) * np.log(q / p), axis=1, where=groups.any(axis=1))
    return psi


def _groups(cumulated: FloatArray) -> FloatArray:
    """Return the events of each class and side in the groups, shape (n, 2, N_GROUPS)."""
    reference = cumulated[:, 0]
    doubled_ranks = reference[:, :-1] + reference[:, 1:]  # of the middle of each bin
    wanted = 2 * reference[:, -1:] * np.arange(1, N_GROUPS) / N_GROUPS
    edges = np.zeros((len(cumulated), N_GROUPS + 1), dtype=np.int64)
    edges[:, -1] = doubled_ranks.shape[1]
    for row, ranks, cuts in zip(edges, doubled_ranks, wanted, strict=True):
        row[1:-1] = ranks.searchsorted(cuts)
    at = [sides.take(row, axis=1) for sides, row in zip(cumulated, edges, strict=True)]
    groups: FloatArray = np.diff(np.array(at).reshape(-1, 2, N_GROUPS + 1))
    return groups


def _jensen_shannon(shares: FloatArray) -> FloatArray:
    """Return the divergences from the shares of each class and side in each bin."""
    # What makes the logarithm of a share of 0 finite; any other share is rounded back to itself.
    shares = shares + _TINY
    middles = shares[:, :1] + shares[:, 1:]
    middles *= 0.5
    found: FloatArray = np.vecdot(shares, np.log2(shares / middles)).sum(axis=1) / 2
    return np.clip(found, 0.0, 1.0)
