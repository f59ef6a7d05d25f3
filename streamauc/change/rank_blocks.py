r"""The AUC of a pane as independent parts, so that it can be bet on.

The pairs of a positive and a negative are not independent: n events have ``n_pos n_neg`` pairs.
So the pane is dealt out at random into blocks, each of i positives and j negatives that no other
block has. The AUCs of the blocks are independent, and the mean of each is the AUC of the pane's
distributions, whatever these are: nothing is assumed of the scores, and no other pane is looked
at, so a recalibration of all scores changes nothing.

Nothing is dealt out in fact. The factor of a bet, a product over the blocks, has a mean of at
most 1 under the null for every way to deal, so its mean over all ways has, too (Hoeffding 1963,
section 5); and the exponential of the mean of its logarithm is at most that (Jensen). What `bets`
counts is below this mean and needs no dealing: the mean AUC of a block is the AUC of the pane, and
the mean of its square follows from how often one event wins both of two pairs.

The design that comes to mind first, new positives among the negatives of earlier panes, has no
such proof: given these negatives, the mean rank is not the AUC but off by their own sampling
error, in the same direction for as long as they are used, and a recalibration makes them stale.

Let ``h(x, y)`` be 1 where the positive x is above the negative y, 1/2 where they tie, 0 below, and
let p be the mean of a product of two of them over all that share both events, only the positive,
only the negative, or none. Then the mean square of the AUC of a block is

``(p_both + (j - 1) p_pos + (i - 1) p_neg + (i - 1) (j - 1) p_none) / (i j)``,

and the four p follow from what the histogram gives: that for blocks of one event or all events of
either class. Where the events do not come out even, some blocks are larger; their squares are
smaller on average, so to count them as small is on the safe side.

Small blocks waste pairs, large ones leave little to bet on. About 16 pairs a block come close to
the best for changes between 0.01 and 0.1. Where one class is more than 16 times as frequent,
blocks of one event of the other have more of its pairs than that.
"""

import math

import numpy as np

from streamauc._check import FloatArray
from streamauc.change.bets import Parts
from streamauc.histogram import ScoreHistogram

# Of a side of a block while both classes are equally frequent.
_SIDE = 4
# From so many pairs on a pane is judged by itself.
ENOUGH_PAIRS = _SIDE * _SIDE


def auc_parts(histogram: ScoreHistogram, n_pos: float, n_neg: float) -> Parts:
    """Return what an AUC tells, given the sizes of both classes, at least 1. O(n_bins)."""
    n_blocks = _number_of_blocks(n_pos, n_neg)
    i, j = n_pos // n_blocks, n_neg // n_blocks
    neg, pos = (row / row.sum() for row in histogram.counts)
    below, above = _middle(neg), 1 - _middle(pos)
    auc = float(np.dot(pos, below))
    both = auc - float(np.dot(pos, neg)) / 4
    of_pos, of_neg = float(np.dot(pos, below * below)), float(np.dot(neg, above * above))
    return Parts(
        n=n_blocks,
        mean=auc,
        square=_square((both, of_pos, of_neg, auc * auc), (n_pos, n_neg), (i, j)),
        own=1 / (i * j),
        shared=(i + j - 2) / (i * j),
    )


def _number_of_blocks(n_pos: float, n_neg: float) -> float:
    rarer, other = min(n_pos, n_neg), max(n_pos, n_neg)
    side = max(1, round(_SIDE * math.sqrt(rarer / other)))
    return max(1.0, rarer // side)


def _middle(shares: FloatArray) -> FloatArray:
    """Return the share below the middle of each bin."""
    return np.cumsum(shares) - shares / 2


def _square(
    whole: tuple[float, float, float, float],
    events: tuple[float, float],
    block: tuple[float, float],
) -> float:
    """Return the mean square of the AUC of a block.

    `whole` are its four means for a block of one pair, of one positive and all negatives, of
    all positives and one negative, and of all.
    """
    (both, of_pos, of_neg, of_all), (n_pos, n_neg), (i, j) = whole, events, block
    only_pos = (n_neg * of_pos - both) / (n_neg - 1) if j > 1 else 0.0
    only_neg = (n_pos * of_neg - both) / (n_pos - 1) if i > 1 else 0.0
    found = both + (j - 1) * only_pos + (i - 1) * only_neg
    if i > 1 and j > 1:
        rest = n_pos * n_neg * of_all - both - (n_neg - 1) * only_pos - (n_pos - 1) * only_neg
        found += (i - 1) * (j - 1) * rest / ((n_pos - 1) * (n_neg - 1))
    return found / (i * j)
