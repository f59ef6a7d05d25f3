"""A small window for those who read after every event: plain lists."""

import math
from typing import Self, TypeVar

import numpy as np

from streamauc._check import FloatArray
from streamauc.sliding.recent import Arrivals
from streamauc.sliding.sorted_arrays import SortedArrays

# After so many events it is looked whether somebody still reads.
PUT_AT_ONCE = 1_024
# In lists so long, moving a slice takes less time than `insort`, which moves scores one by one.
_LONG = 2_000

_Kept = TypeVar("_Kept")


class SortedLists:
    """The scores of each class in a sorted list, with the pairs won (see `SortedArrays`).

    `neg` and `pos` end with ``inf``, which no score reaches, so that whatever index a search
    returns can be looked at. `labels` and `scores` are a ring of `capacity` places, read
    backwards: the next event replaces the one at ``left - 1``, and so on down to 0; then `rearm`
    turns the ring. A label of None marks a place that is still empty. For example, with four
    places, two of them left, and events a, b, c, d in order of arrival the ring is [b, a, d, c].

    All of it is public: `SlidingWindow.update` works on it without a call, which would cost as
    much as a search. `are_long` says how to insert.
    """

    __slots__ = ("are_long", "labels", "left", "neg", "pairs", "pos", "scores", "won")

    def __init__(self, arrays: SortedArrays, capacity: int) -> None:
        events = arrays.arrivals()
        n_empty = capacity - events.size
        self.labels: list[int | None] = [*events.labels[::-1].astype(int).tolist()]
        self.labels += [None] * n_empty
        self.scores: list[float] = events.scores[::-1].tolist() + [math.nan] * n_empty
        self.neg: list[float] = [*arrays.neg.tolist(), math.inf]
        self.pos: list[float] = [*arrays.pos.tolist(), math.inf]
        self.won = arrays.won
        self.pairs = arrays.pairs
        self.left = 0
        self.are_long = capacity >= _LONG

    @classmethod
    def none(cls) -> Self:
        """Return lists without a place, in which nothing can be replaced."""
        return cls(SortedArrays(Arrivals.none()), 0)

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.neg) + len(self.pos) - 2

    @property
    def n_pos(self) -> int:
        """How many positives there are."""
        return len(self.pos) - 1

    def sorted_by_class(self) -> tuple[FloatArray, FloatArray]:
        """Return the scores of the negatives and of the positives, each ascending, copied."""
        return np.array(self.neg[:-1], dtype=float), np.array(self.pos[:-1], dtype=float)

    def arrivals(self) -> Arrivals:
        """Return the events in order of arrival, copied."""
        first = len(self.scores) - self.size  # empty places are the oldest
        labels = _in_order(self.labels, self.left)[first:]
        scores = _in_order(self.scores, self.left)[first:]
        return Arrivals(np.array(labels, dtype=bool), np.array(scores, dtype=float))

    def rearm(self) -> None:
        """Let a block of events be replaced, when no place is left. O(capacity)."""
        self.left = min(PUT_AT_ONCE, len(self.scores))
        self._turn(-self.left)

    def stop(self) -> None:
        """Let no more events be replaced. O(capacity)."""
        if self.left:
            self._turn(self.left)
            self.left = 0

    def _turn(self, n: int) -> None:
        self.labels = self.labels[n:] + self.labels[:n]
        self.scores = self.scores[n:] + self.scores[:n]


def _in_order(ring: list[_Kept], left: int) -> list[_Kept]:
    return ring[:left][::-1] + ring[left:][::-1]
