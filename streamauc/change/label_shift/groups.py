"""The scores of both classes of a reference and the current ones, counted in common groups."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.change.aligned import NEGATIVES, POSITIVES
from streamauc.counts import NumberArray
from streamauc.histogram import ScoreHistogram
from streamauc.metrics.calibration import group_starts

# An automatic group holds this many events of the rarer class on average. With fewer, chance
# makes the classes look further apart than they are, and the share that is found leans towards
# what is rare. Simulated with 500 of each class at AUC 0.9, a true share of 0.02 came out as
# 0.025 on average in ten groups (91 % of the intervals held it) and as 0.022 in five (96 %).
_EVENTS_A_GROUP = 75
_FEWEST_GROUPS, _MOST_GROUPS = 3, 10
# So many events more a class may have in a group than it shows: that none has fallen into it yet
# does not say that none can.
_UNSEEN = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Events of one kind in groups; all arrays of shape (n_groups,).

    `shares` are those of the groups, and `rates` their variance beside them: that of a share s is
    about ``s * rate``, so that without weights every rate is one over the number of events.
    `total` is that number or the sum of weights, and `size` how many equally weighted events
    would vary as much.
    """

    shares: FloatArray
    rates: FloatArray
    total: float
    size: float

    @classmethod
    def of(cls, counts: NumberArray, squares: NumberArray | None) -> Self:
        """Return the sample from the events, or weights and squared weights, of each group."""
        total = float(counts.sum())
        size = total if squares is None else total / float(squares.sum()) * total
        rates = np.full(counts.shape, 1 / size)
        if squares is not None:
            np.divide(squares, counts * total, out=rates, where=counts > 0)
        return cls(counts / total, rates, total, size)

    @property
    def noise(self) -> FloatArray:
        """The variance of each group's share by itself, as if it held an event more."""
        return self.shares * self.rates + _UNSEEN / self.size**2


def variance_of_mean(sample: Sample, noise: FloatArray, values: FloatArray) -> FloatArray:
    """Return the variance of the mean of `values`, shape (..., n_groups), over a sample.

    `noise` is the variance of each group's share by itself. At least two events.
    """
    deviations = values - (sample.shares * values).sum(axis=-1, keepdims=True)
    found: FloatArray = (noise * deviations**2).sum(axis=-1)
    return found / (1 - 1 / sample.size)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The reference's classes and the current scores in the same groups, lowest scores first."""

    pos: Sample
    neg: Sample
    current: Sample

    @property
    def n_groups(self) -> int:
        """How many groups there are, each with events of the reference."""
        return self.pos.shares.size


def group(reference: ScoreHistogram, current: ScoreHistogram, n_groups: int | None) -> Groups:
    """Return the events in groups; both classes and current scores must occur. O(n_bins).

    `current` has one class. Groups hold about equal parts of the reference with its classes
    weighted equally, so that the scores of rare positives are told apart as well; None for as
    many groups as `label_shift` says. A current score that the reference has not seen is in the
    group of the next lower one that it has.
    """
    pos, neg = reference.counts[POSITIVES], reference.counts[NEGATIVES]
    if n_groups is None:
        n_groups = automatic_groups(reference)
    starts = group_starts(pos / pos.sum() + neg / neg.sum(), n_groups)
    places = current.bins.searchsorted(reference.bins[starts])
    # What lies below the first bin of the reference belongs to its first group.
    places[0] = 0
    return Groups(
        pos=_sample(reference, POSITIVES, starts),
        neg=_sample(reference, NEGATIVES, starts),
        current=_sample(current, 0, places),
    )


def automatic_groups(reference: ScoreHistogram) -> int:
    """Return how many groups suit the size of the reference's rarer class."""
    rarer = min(class_size(reference, row) for row in (NEGATIVES, POSITIVES))
    return min(_MOST_GROUPS, max(_FEWEST_GROUPS, round(rarer / _EVENTS_A_GROUP)))


def class_size(histogram: ScoreHistogram, row: int) -> float:
    """Return how many equally weighted events of a class, which must occur, would vary as much."""
    total = float(histogram.counts[row].sum())
    if histogram.squares is None:
        return total
    return total / float(histogram.squares[row].sum()) * total


def _sample(histogram: ScoreHistogram, row: int, starts: IntArray) -> Sample:
    squares = None if histogram.squares is None else histogram.squares[row]
    return Sample.of(
        _sums(histogram.counts[row], starts), None if squares is None else _sums(squares, starts)
    )


def _sums(values: NumberArray, starts: IntArray) -> FloatArray:
    """Return the sums from each start up to the next, which may be the same: then 0."""
    cumulated = np.append(0.0, values.cumsum())
    return np.diff(cumulated[np.append(starts, values.size)])
