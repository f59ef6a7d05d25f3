"""Slow, obvious answers that the tests compare with, and the streams they are compared on."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from streamauc import Scale, ScoreHistogram, ThresholdCounts, threshold_counts

LARGEST = float(np.finfo(np.float64).max)
# Scores on a lattice of few values, so that ties are common.
lattice = st.integers(0, 8).map(lambda k: k / 8)
events = st.lists(st.tuples(st.integers(0, 1), lattice), max_size=50)
weighted_events = st.lists(
    st.tuples(st.integers(0, 1), lattice, st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0])), max_size=30
)


def histogram_of(rows: Iterable[Sequence[float]], scale: Scale) -> ScoreHistogram:
    """Return the histogram of (label, score) or (label, score, weight) rows."""
    columns = np.array(list(rows), dtype=np.float64)
    if not columns.size:
        return ScoreHistogram.empty(scale)
    weights = columns[:, 2] if columns.shape[1] == 3 else None
    return ScoreHistogram.from_scores(columns[:, 0], columns[:, 1], scale=scale, weights=weights)


def counts_of(rows: Iterable[Sequence[float]], scale: Scale) -> ThresholdCounts:
    """Return the counts at thresholds of (label, score[, weight]) rows."""
    return threshold_counts(histogram_of(rows, scale))


def counted(rows: Iterable[tuple[int, float]], scale: Scale) -> Counter[tuple[int, int]]:
    """Return how often each (bin, class) occurs, one event at a time."""
    return Counter((scale.bin(score), label) for label, score in rows)


def as_counter(histogram: ScoreHistogram) -> Counter[tuple[int, int]]:
    """Return the cells of a histogram that are not zero."""
    return Counter(
        {
            (bin_, label): int(histogram.counts[label, column])
            for column, bin_ in enumerate(histogram.bins.tolist())
            for label in range(histogram.n_classes)
            if histogram.counts[label, column]
        }
    )


def split(
    rows: Iterable[Sequence[float]],
) -> tuple[list[tuple[float, Fraction]], list[tuple[float, Fraction]]]:
    """Return the positives and the negatives as (score, weight) without those of weight 0."""
    sides: tuple[list[tuple[float, Fraction]], ...] = ([], [])
    for label, score, *weight in rows:
        factor = Fraction(weight[0]) if weight else Fraction(1)
        if factor:
            sides[int(label)].append((score, factor))
    return sides[1], sides[0]


def pairwise_auc(rows: Iterable[Sequence[float]]) -> Fraction | None:
    """P(pos > neg) + P(pos == neg) / 2, by looking at every pair."""
    pos, neg = split(rows)
    if not pos or not neg:
        return None
    won = sum(
        (v * w * (Fraction(int(p > n)) + Fraction(int(p == n), 2)))
        for (p, v), (n, w) in itertools.product(pos, neg)
    )
    return won / sum(w for _, w in pos) / sum(w for _, w in neg)


def counted_ap(rows: Iterable[Sequence[float]]) -> Fraction | None:
    """Return the step sum: for each positive, the precision among all that score as high."""
    pos, neg = split(rows)
    if not pos:
        return None
    total = Fraction(0)
    for score, weight in pos:
        tp = sum(w for s, w in pos if s >= score)
        fp = sum(w for s, w in neg if s >= score)
        total += weight * tp / (tp + fp)
    return total / sum(w for _, w in pos)


def confusion_by_rows(
    rows: Iterable[Sequence[float]], threshold: float
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return tp, fp, fn, tn by looking at every row."""
    pos, neg = split(rows)
    tp = sum((w for s, w in pos if s >= threshold), Fraction(0))
    fp = sum((w for s, w in neg if s >= threshold), Fraction(0))
    return tp, fp, sum(w for _, w in pos) - tp, sum(w for _, w in neg) - fp


def same(left: float, right: float, *, tol: float = 0.0) -> bool:
    """Return whether two numbers agree, ``nan`` with ``nan``."""
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return abs(left - right) <= tol


def random_floats(rng: np.random.Generator, low: float, high: float, size: int) -> np.ndarray:
    """Return floats in [low, high], evenly over the bit patterns, subnormals included."""
    exact = Scale.exact()
    first, last = exact.bin(low), exact.bin(high)
    return exact.lower_edges(rng.integers(first, last, size, endpoint=True))


def beside(scores: np.ndarray, scale: Scale) -> np.ndarray:
    """Return scores with the next float above and below each, as far as the scale takes them."""
    scores = np.asarray(scores, dtype=np.float64)
    near = np.concatenate([scores, above(scores), below(scores)])
    return near[(near >= scale.low) & (near <= scale.high)]


def above(scores: np.ndarray) -> np.ndarray:
    """Return the next float above each score."""
    with np.errstate(over="ignore"):  # the largest float is followed by infinity
        return np.nextafter(scores, np.inf)


def below(scores: np.ndarray) -> np.ndarray:
    """Return the next float below each score."""
    return -above(-scores)
