"""A sorted list in blocks, so that a change moves little however long it is."""

import math
from bisect import bisect_left, bisect_right, insort_right
from itertools import chain

import numpy as np

from streamauc._check import FloatArray

# Blocks hold half to twice as many scores, in long lists more.
_SHORTEST = 1_000


class BlockList:
    """Scores in ascending order; finding, adding and removing one is O(log n) comparisons.

    No score in a block is above the block's top, and none in the next is below it; the last top is
    ``inf``. A top may stay when the score that it came from has left. For example, with two scores
    a block, the scores 1, 2, 2, 3, 5 are [[1, 2], [2, 3], [5]] with the tops [2, 3, inf].

    `sortedcontainers.SortedList` takes twice as long for what is needed here: this one looks for
    both ends of a tie at once, and adds up the lengths of the blocks, which are few, when asked.
    """

    __slots__ = ("_blocks", "_lengths", "_load", "_tops")

    def __init__(self, scores: list[float], capacity: int) -> None:
        load = self._load = max(_SHORTEST, 4 * math.isqrt(capacity))
        self._blocks = [scores[at : at + load] for at in range(0, len(scores), load)] or [[]]
        self._tops = [*(block[-1] for block in self._blocks[:-1]), math.inf]
        self._lengths = [len(block) for block in self._blocks]

    def __len__(self) -> int:
        return sum(self._lengths)

    def to_array(self) -> FloatArray:
        """Return the scores, copied."""
        return np.fromiter(chain.from_iterable(self._blocks), np.float64, len(self))

    def twice_below(self, score: float) -> int:
        """Return how many scores lie below one, equal ones one half, times two."""
        at = bisect_left(self._tops, score)
        block = self._blocks[at]
        first = bisect_left(block, score)
        before = sum(self._lengths[:at])
        if first < len(block):
            if block[first] != score:
                return 2 * (before + first)
            last = bisect_right(block, score, first)
            if last < len(block):
                return 2 * before + first + last
        return before + first + self._up_to(score)

    def _up_to(self, score: float) -> int:
        at = bisect_right(self._tops, score)
        return sum(self._lengths[:at]) + bisect_right(self._blocks[at], score)

    def add(self, score: float) -> None:
        """Put in a score."""
        at = bisect_left(self._tops, score)
        block = self._blocks[at]
        insort_right(block, score)
        self._lengths[at] += 1
        if len(block) > 2 * self._load:
            self._split(at)

    def remove(self, score: float) -> None:
        """Take out one score that is there."""
        at = bisect_left(self._tops, score)
        place = bisect_left(self._blocks[at], score)
        while place == len(self._blocks[at]):  # it begins a later block
            at, place = at + 1, 0
        block = self._blocks[at]
        del block[place]
        self._lengths[at] -= 1
        if 2 * len(block) < self._load and len(self._blocks) > 1:
            self._join(max(0, at - 1))

    def _split(self, at: int) -> None:
        block = self._blocks[at]
        half = len(block) // 2
        self._blocks[at : at + 1] = [block[:half], block[half:]]
        self._lengths[at : at + 1] = [half, len(block) - half]
        self._tops.insert(at, block[half - 1])

    def _join(self, at: int) -> None:
        """Make one block of two, or two of the same length."""
        block = self._blocks[at] + self._blocks[at + 1]
        self._blocks[at : at + 2] = [block]
        self._lengths[at : at + 2] = [len(block)]
        del self._tops[at]
        if len(block) > 2 * self._load:
            self._split(at)

    def is_in_order(self) -> bool:
        """Return whether the blocks are what the class says they are. O(n)."""
        floors = [-math.inf, *self._tops[:-1]]
        return (
            self._tops[-1] == math.inf
            and self._lengths == [len(block) for block in self._blocks]
            and (all(self._blocks) or len(self._blocks) == 1)
            and all(len(block) <= 2 * self._load for block in self._blocks)
            and all(block == sorted(block) for block in self._blocks)
            and all(
                floor <= min(block, default=floor) and max(block, default=top) <= top
                for floor, block, top in zip(floors, self._blocks, self._tops, strict=True)
            )
        )
