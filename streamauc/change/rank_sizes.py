"""How many events a class of a histogram is worth."""

from streamauc.histogram import ScoreHistogram

NEGATIVES, POSITIVES = 0, 1


def class_size(histogram: ScoreHistogram, label: int) -> float:
    """Return how many events vary as much as those of a class. O(n_bins).

    Their number, or with weights ``sum(w)**2 / sum(w**2)`` (Kish 1965).
    """
    total = float(histogram.counts[label].sum())
    if histogram.squares is None or not total:
        return total
    squares = float(histogram.squares[label].sum())
    # At least the one event that is there; the squares of tiny weights are rounded to 0.
    return max(1.0, total / squares * total) if squares else 1.0
