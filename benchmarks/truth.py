"""The exact AUC and average precision of raw scores, without any of our own code.

Each positive is looked up among the negatives, which may pass by in pieces, so that there is
room for a hundred million of them.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from benchmarks.data import FloatArray, IntArray


class Areas(NamedTuple):
    """The area under the ROC curve, ties one half, and the step sum of the PR curve."""

    roc_auc: float
    average_precision: float


def exact_areas(positives: FloatArray, negatives: Iterable[FloatArray]) -> Areas:
    """Return both, of at least one positive and one negative. O(n log n)."""
    pos = np.sort(positives)
    below: IntArray = np.zeros(pos.size, dtype=np.int64)  # negatives with a lower score
    up_to: IntArray = np.zeros(pos.size, dtype=np.int64)  # and with the same
    n_neg = 0
    for piece in negatives:
        ordered = np.sort(piece)
        below += np.searchsorted(ordered, pos, side="left")
        up_to += np.searchsorted(ordered, pos, side="right")
        n_neg += piece.size
    # Whoever scores as high as a positive is flagged together with it.
    tp = pos.size - np.searchsorted(pos, pos, side="left")
    fp = n_neg - below
    twice_won = int(below.sum()) + int(up_to.sum())
    return Areas(twice_won / (2 * pos.size * n_neg), float(np.mean(tp / (tp + fp))))
