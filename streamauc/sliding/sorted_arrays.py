"""A window for those who read now and then: a batch enters and leaves sorted arrays at once."""

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.sliding.recent import Arrivals, Recent

# Sorting so few from scratch takes less time than the calls that change sorted arrays.
_SORTED_ANEW = 2_048
# So large a share of new events, one in so many, is not merged either.
_MERGED_SHARE = 32


class SortedArrays:
    """The scores of each class in a sorted array, with the pairs won.

    `won` is how many pairs of a positive and a negative the positive wins, ties one half, times
    two; `pairs` is the number of pairs, times two. Both are ints of any size.
    """

    __slots__ = ("_recent", "neg", "pairs", "pos", "won")

    def __init__(self, arrivals: Arrivals) -> None:
        self._recent = Recent(arrivals)
        self.won = 0
        self._sort_anew()

    @property
    def size(self) -> int:
        """How many events there are."""
        return self._recent.size

    @property
    def n_pos(self) -> int:
        """How many positives there are."""
        return self.pos.size

    def sorted_by_class(self) -> tuple[FloatArray, FloatArray]:
        """Return the scores of the negatives and of the positives, each ascending."""
        return self.neg, self.pos

    def arrivals(self) -> Arrivals:
        """Return the events in order of arrival, copied."""
        return Arrivals.none().then(self._recent.arrivals)

    def slide(self, arrivals: Arrivals, n_leaving: int) -> None:
        """Take in a batch and take off the oldest. O(n_samples), a large batch O(n log n)."""
        leaving = self._recent.drop(n_leaving)
        if self.size > max(_SORTED_ANEW, _MERGED_SHARE * arrivals.size):
            self._exchange(leaving.sorted_by_class(), arrivals.sorted_by_class())
            self._recent.push(arrivals)
        else:
            self._recent.push(arrivals)
            self._sort_anew()

    def remove(self, index: int) -> None:
        """Take off one event, by its place in the order of arrival. O(n_samples)."""
        kept = self._recent.arrivals
        one = Arrivals(kept.labels[index : index + 1], kept.scores[index : index + 1])
        self._exchange(one.sorted_by_class(), Arrivals.none().sorted_by_class())
        self._recent = Recent(kept.without(index))

    def _sort_anew(self) -> None:
        self.neg, self.pos = self._recent.arrivals.sorted_by_class()
        if self.pos.size <= self.neg.size:  # fewer searches
            self.won = int(_twice_below(self.pos, self.neg).sum())
        else:
            lost = int(_twice_below(self.neg, self.pos).sum())
            self.won = 2 * self.pos.size * self.neg.size - lost
        self._count_pairs()

    def _exchange(
        self, old: tuple[FloatArray, FloatArray], new: tuple[FloatArray, FloatArray]
    ) -> None:
        """Replace scores, given sorted by class: the positives first, beside the old negatives.

        Won pairs are linear in either class, so it is enough to look at what changes.
        """
        (old_neg, old_pos), (new_neg, new_pos) = old, new
        self.won += _gained(old_pos, new_pos, self.neg)
        self.pos = _inserted(_deleted(self.pos, old_pos), new_pos)
        # A negative gives each positive two, but for those it is below.
        self.won += 2 * self.pos.size * (new_neg.size - old_neg.size)
        self.won -= _gained(old_neg, new_neg, self.pos)
        self.neg = _inserted(_deleted(self.neg, old_neg), new_neg)
        self._count_pairs()

    def _count_pairs(self) -> None:
        self.pairs = 2 * self.pos.size * self.neg.size


def _twice_below(values: FloatArray, among: FloatArray) -> IntArray:
    """Return how many of the sorted `among` lie below each value, ties one half, times two."""
    found: IntArray = among.searchsorted(values)
    found += among.searchsorted(values, side="right")
    return found


def _gained(old: FloatArray, new: FloatArray, among: FloatArray) -> int:
    """Return by how much the sum of `_twice_below` grows when `new` take the place of `old`."""
    below = _twice_below(np.concatenate((old, new)), among)
    return int(below[old.size :].sum()) - int(below[: old.size].sum())


def _deleted(scores: FloatArray, old: FloatArray) -> FloatArray:
    """Return sorted scores without some of them, each as often as it is given, sorted."""
    if not old.size:
        return scores
    place = np.arange(old.size)
    # The first of equal scores leaves first: [5, 5, 5, 8] becomes [5, 6, 7, 8].
    found = np.maximum.accumulate(scores.searchsorted(old) - place)
    found += place
    return np.delete(scores, found)


def _inserted(scores: FloatArray, new: FloatArray) -> FloatArray:
    return np.insert(scores, scores.searchsorted(new), new) if new.size else scores
