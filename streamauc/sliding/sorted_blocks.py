"""A large window for those who read after every event: lists in blocks."""

from array import array

import numpy as np

from streamauc._check import FloatArray
from streamauc.sliding.block_list import BlockList
from streamauc.sliding.recent import Arrivals
from streamauc.sliding.sharing import Sharing
from streamauc.sliding.sorted_arrays import SortedArrays
from streamauc.sliding.sorted_lists import PUT_AT_ONCE


class SortedBlocks:
    """The scores of each class in a `BlockList`, with the pairs won (see `SortedArrays`).

    `left` says how many more events may be put in before it is looked whether somebody still reads.
    """

    __slots__ = (
        "_capacity",
        "_labels",
        "_neg",
        "_oldest",
        "_pos",
        "_scores",
        "_sharing",
        "left",
        "n_pos",
        "pairs",
        "won",
    )

    def __init__(self, arrays: SortedArrays, capacity: int) -> None:
        events = arrays.arrivals()
        # A ring, in arrays: they are passed through in order, so memory is fetched ahead.
        self._labels = bytearray(events.labels.tobytes())
        self._scores = array("d", events.scores.tobytes())
        self._oldest = 0
        self._capacity = capacity
        self._sharing = Sharing(capacity)
        self._neg = BlockList(self._sharing.share(arrays.neg), capacity)
        self._pos = BlockList(self._sharing.share(arrays.pos), capacity)
        self.n_pos = arrays.n_pos
        self.won, self.pairs = arrays.won, arrays.pairs
        self.left = 0

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self._scores)

    def sorted_by_class(self) -> tuple[FloatArray, FloatArray]:
        """Return the scores of the negatives and of the positives, each ascending, copied."""
        return self._neg.to_array(), self._pos.to_array()

    def arrivals(self) -> Arrivals:
        """Return the events in order of arrival, copied."""
        labels = np.roll(np.frombuffer(self._labels, np.bool_), -self._oldest)
        scores = np.roll(np.frombuffer(self._scores, np.float64), -self._oldest)
        return Arrivals(labels, scores)

    def rearm(self) -> None:
        """Let more events be put in."""
        self.left = PUT_AT_ONCE
        self._sharing.review()

    def stop(self) -> None:
        """Let no more events be put in."""
        self.left = 0

    def put(self, label: int, score: float) -> bool:
        """Take in an event, and let the oldest go if it is full; False when none is `left`.

        O(log size) comparisons.
        """
        if not self.left:
            return False
        self.left -= 1
        if self._sharing.objects is not None:
            score = self._sharing.objects.setdefault(score, score)
        size = len(self._scores)
        if size == self._capacity:
            self._replace_oldest(label, score)
        else:
            self._labels.append(label)
            self._scores.append(score)
            size += 1
        if label:
            self.won += self._neg.twice_below(score)
            self._pos.add(score)
            self.n_pos += 1
        else:
            self.won += 2 * self.n_pos - self._pos.twice_below(score)
            self._neg.add(score)
        self.pairs = 2 * self.n_pos * (size - self.n_pos)
        return True

    def _replace_oldest(self, label: int, score: float) -> None:
        at = self._oldest
        was, old = self._labels[at], self._scores[at]
        self._labels[at], self._scores[at] = label, score
        self._oldest = at + 1 if at + 1 < self._capacity else 0
        if was:
            self.won -= self._neg.twice_below(old)
            self._pos.remove(old)
            self.n_pos -= 1
        else:
            self.won -= 2 * self.n_pos - self._pos.twice_below(old)
            self._neg.remove(old)

    def are_in_order(self) -> bool:
        """Return whether both lists are what they should be. O(size)."""
        return self._neg.is_in_order() and self._pos.is_in_order()
