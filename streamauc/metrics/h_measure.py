"""The H-measure: what a score saves, averaged over what mistakes might cost.

Let c be the cost of a false positive and 1 - c that of a false negative. At each c the best
threshold loses ``min(c FP + (1 - c) FN) / n``; without a score one loses ``min(c n_neg,
(1 - c) n_pos) / n``. The H-measure is one minus the first over the second, both averaged over
one distribution of c that is the same for all scores (Hand 2009; the AUC amounts to one that
depends on the score). Hand & Anagnostopoulos 2014 take Beta(pi1 + 1, pi0 + 1), pi1 the share of
positives: its mode, c = pi1, is where a mistake in the rarer class costs the more, in
proportion.
"""

import math

import numpy as np

from streamauc._beta import beta_tails
from streamauc._check import FloatArray
from streamauc.counts import NumberArray, ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.hull import hull_rows, positives_first, upper_hull
from streamauc.metrics.scalars import Bounds


def h_measure(counts: ThresholdCounts, *, severity_ratio: float | None = None) -> float:
    """Return the H-measure, 0 for what chance can do and 1 for perfect scores. O(n_thresholds).

    ``nan`` without positives or without negatives. By default c is Beta(pi1 + 1, pi0 + 1). With
    `severity_ratio`, how many times as much a false positive costs as a false negative is most
    likely to, it is Beta(2, 1 + 1 / severity_ratio), whose mode has that ratio (as in the R
    package hmeasure, whose own default is pi1 / pi0 so taken). Raises ValueError for a
    ratio beyond `parameters.LARGEST_SEVERITY`, or its inverse.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> scores = [0.1, 0.4, 0.35, 0.8]
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], scores, scale=Scale.exact())
    >>> h_measure(threshold_counts(h))
    0.5
    """
    shape = _shape(counts, severity_ratio)
    rows = hull_rows(counts)
    if not rows.size:
        return math.nan
    return _saved(counts.fps[rows], counts.tps[rows], shape)


def h_measure_bounds(counts: ThresholdCounts, *, severity_ratio: float | None = None) -> Bounds:
    """Bounds on the H-measure before binning; both equal it on the exact scale.

    Below: the value from the bins, whose thresholds are thresholds of the exact scores too.
    Above: in every bin the positives come first. O(n_thresholds).
    """
    value = h_measure(counts, severity_ratio=severity_ratio)
    if counts.exact or math.isnan(value):
        return Bounds(value, value)
    fps, tps = positives_first(counts)
    rows = upper_hull(fps, tps)
    best = _saved(fps[rows], tps[rows], _shape(counts, severity_ratio))
    return Bounds(value, max(value, best))


def _shape(counts: ThresholdCounts, severity_ratio: float | None) -> tuple[float, float]:
    """Return the parameters of the distribution of c."""
    if severity_ratio is not None:
        return 2.0, 1 + 1 / parameters.severity_ratio(severity_ratio)
    share = counts.n_pos / counts.n_samples if counts.n_samples else math.nan
    return 1 + share, 2 - share


def _saved(fps: NumberArray, tps: NumberArray, shape: tuple[float, float]) -> float:
    """Return the H-measure of the vertices of a hull.

    The best threshold at c flags whole segments of the hull, those whose share of positives is
    more than c; so what is lost is lost in each segment for itself, as if without a score.
    """
    pos = np.append(np.diff(tps), tps[-1]).astype(np.float64)
    neg = np.append(np.diff(fps), fps[-1]).astype(np.float64)
    losses = _loss_without_score(pos, neg, *shape)
    return min(1.0, max(0.0, 1 - float(losses[:-1].sum()) / float(losses[-1])))


def _loss_without_score(pos: FloatArray, neg: FloatArray, alpha: float, beta: float) -> FloatArray:
    """Return the mean of ``min(c neg, (1 - c) pos)`` for c of Beta(alpha, beta).

    The same with the classes exchanged where the positives are more, so that what is small is
    never what is left of something larger.
    """
    out = np.zeros_like(pos)
    few = np.flatnonzero((pos > 0) & (pos <= neg))
    many = np.flatnonzero((neg > 0) & (neg < pos))
    out[few] = _loss_of_few(pos[few], neg[few], alpha, beta)
    out[many] = _loss_of_few(neg[many], pos[many], beta, alpha)
    return out


def _loss_of_few(pos: FloatArray, neg: FloatArray, alpha: float, beta: float) -> FloatArray:
    """Return the same where the positives are no more than the negatives.

    It is ``c neg`` while c is less than the share of positives, with the mean of c there
    ``alpha / (alpha + beta) I(alpha + 1, beta)``; and else ``(1 - c) pos``, with the mean of
    1 - c ``beta / (alpha + beta) (1 - I(alpha, beta + 1))``. The two I differ by the kernel of
    (alpha + 1, beta) divided by ``beta share``.
    """
    total, share = alpha + beta, pos / (pos + neg)
    tails = beta_tails(share, alpha + 1, beta)
    below, above = alpha * tails.lower, beta * tails.upper - tails.kernel / share
    losses: FloatArray = (neg * below + pos * above) / total
    return losses
