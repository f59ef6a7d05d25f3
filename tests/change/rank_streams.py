"""Streams of scores, and many detectors of ranks at once: what the classes must agree with."""

import math

import numpy as np

from streamauc import Scale, ScoreHistogram
from streamauc.change.bets import Bets, NullMean, Parts
from streamauc.change.settings import RATIOS

SQRT2 = math.sqrt(2)


def distance(auc):
    """Return how far apart two normal classes of spread 1 are that have this AUC."""
    from scipy.special import ndtri

    return float(SQRT2 * ndtri(auc))


def histogram(pos, neg, scale=None, weights=None):
    """Return the histogram of two columns of scores."""
    labels = np.repeat([1, 0], [len(pos), len(neg)])
    scores = np.concatenate((pos, neg))
    return ScoreHistogram.from_scores(labels, scores, scale=scale or Scale.exact(), weights=weights)


def logistic(n, rng, *, prevalence=0.02, apart=1.466, centre=-3.0, move=0.0, scale=None):
    """Return the histogram of scores in (0, 1) whose logits are normal; `move` is added to them."""
    labels = (rng.random(n) < prevalence).astype(int)
    logits = rng.standard_normal(n) + apart * labels + centre + move
    return ScoreHistogram.from_scores(
        labels, 1 / (1 + np.exp(-logits)), scale=scale or Scale.probability()
    )


def wins(pos, neg):
    """Return 1 where a positive is above a negative, 1/2 where they tie; (..., n_pos, n_neg)."""
    first, second = pos[..., :, None], neg[..., None, :]
    return (first > second) + 0.5 * (first == second)


def blocks(n_pos, n_neg):
    """Return the number of blocks of a pane, and the positives and negatives of the smallest."""
    rarer, other = sorted((n_pos, n_neg))
    side = max(1, round(4 * math.sqrt(rarer / other)))
    n = max(1, rarer // side)
    return n, n_pos // n, n_neg // n


def block_square(won, i, j):
    """Return the mean square of the AUC of i positives and j negatives, from all pairs of pairs."""
    n_pos, n_neg = won.shape[-2:]
    squares = won**2
    both = squares.mean(axis=(-2, -1))
    by_pos, by_neg = won.sum(axis=-1), won.sum(axis=-2)
    only_pos = ((by_pos**2).sum(axis=-1) - squares.sum(axis=(-2, -1))) / max(1, n_neg - 1)
    only_neg = ((by_neg**2).sum(axis=-1) - squares.sum(axis=(-2, -1))) / max(1, n_pos - 1)
    # What all pairs of pairs add up to, less those that share an event.
    shared = (by_pos**2).sum(axis=-1) + (by_neg**2).sum(axis=-1) - squares.sum(axis=(-2, -1))
    none = (won.sum(axis=(-2, -1)) ** 2 - shared) / max(1, (n_pos - 1) * (n_neg - 1))
    pairs = n_pos * n_neg
    found = both + (j - 1) * only_pos / pairs + (i - 1) * only_neg / pairs
    return (found + (i - 1) * (j - 1) * none / pairs) / (i * j)


def ranking_values(pos, neg):
    """Return the mean and the mean square of each pane, and what goes with all of that size.

    `pos` and `neg` have shape (n_runs, n_pos) and (n_runs, n_neg).
    """
    won = wins(pos, neg)
    n, i, j = blocks(*won.shape[-2:])
    parts = Parts(n, math.nan, math.nan, own=1 / (i * j), shared=(i + j - 2) / (i * j))
    return won.mean(axis=(-2, -1)), block_square(won, i, j), parts


def won(stake, mean, square):
    """Return log L for a part, from the parabola that is below the logarithm; shape (n_runs,).

    It meets it at 0 and touches it at ``square / mean``.
    """
    point = square / np.maximum(mean, 1e-12)
    top = 1 + stake.bet * point + stake.base
    height, slope = np.log(top), stake.bet / top
    rise = height - stake.loss
    # ``loss + first * w + second * w**2`` with the height and the slope at the point.
    second = np.divide(slope * point - rise, point**2, out=np.zeros_like(point), where=point > 0)
    first = np.divide(2 * rise - slope * point, point, out=np.zeros_like(point), where=point > 0)
    return stake.loss + first * mean + second * square


class Runs:
    """Many detectors of one mean, side by side, with a promise in panes."""

    def __init__(self, null, n_runs, run_length, n_sides=2):
        low, high = null
        self.bets = Bets(NullMean(low, high, low), RATIOS, run_length)
        self.evidence = np.zeros((n_runs, 2 * len(RATIOS)))
        self.threshold = n_sides * run_length
        self.found = np.zeros(n_runs, dtype=int)
        self.n_panes = 0

    def fold(self, mean, square, parts):
        """Take in one pane of each run."""
        stakes = self.bets.stakes(parts)
        half = len(stakes) // 2
        up = [won(stake, mean, square) for stake in stakes[:half]]
        down = [won(stake, 1 - mean, 1 - 2 * mean + square) for stake in stakes[half:]]
        gains = parts.n * np.transpose(up + down)
        self.evidence = (self.evidence + self.bets.weights(parts)) * np.exp(np.minimum(gains, 200))
        self.evidence = np.minimum(self.evidence, 1e200)
        self.n_panes += 1
        sides = self.evidence.reshape(len(mean), 2, -1).mean(axis=2)
        alarmed = (sides >= self.threshold).any(axis=1)
        self.found[alarmed & (self.found == 0)] = self.n_panes

    @property
    def is_over(self):
        return bool((self.found > 0).all())

    @property
    def times(self):
        """Panes until the alarm of each run; one more than there were where none came."""
        return np.where(self.found > 0, self.found, self.n_panes + 1)
