"""Events in order of arrival, in arrays: new ones at the end, old ones off the front."""

from dataclasses import dataclass

import numpy as np

from streamauc._check import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Events in order of arrival: whether each is positive, and its score; shape (n_samples,)."""

    labels: BoolArray
    scores: FloatArray

    @staticmethod
    def none() -> "Arrivals":
        """Return no events."""
        return Arrivals(np.empty(0, dtype=np.bool_), np.empty(0))

    @property
    def size(self) -> int:
        """How many events there are."""
        return self.scores.size

    def last(self, n: int) -> "Arrivals":
        """Return the last `n`, or all if there are fewer; views."""
        first = max(0, self.size - n)
        return Arrivals(self.labels[first:], self.scores[first:])

    def then(self, other: "Arrivals") -> "Arrivals":
        """Return these followed by others, copied."""
        return Arrivals(
            np.concatenate((self.labels, other.labels)),
            np.concatenate((self.scores, other.scores)),
        )

    def without(self, index: int) -> "Arrivals":
        """Return all but one, copied."""
        return Arrivals(np.delete(self.labels, index), np.delete(self.scores, index))

    def sorted_by_class(self) -> tuple[FloatArray, FloatArray]:
        """Return the scores of the negatives and of the positives, each ascending. O(n log n)."""
        neg, pos = self.scores[~self.labels], self.scores[self.labels]
        neg.sort()
        pos.sort()
        return neg, pos


class Recent:
    """The events of a window in order of arrival; both ends move in amortised O(1) an event.

    The events lie in a stretch of larger arrays. When the stretch reaches their end it is copied
    to the front of new ones, twice as long as what is in them.
    """

    __slots__ = ("_arrays", "_start", "_stop")

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrays = arrivals
        self._start = 0
        self._stop = arrivals.size

    @property
    def size(self) -> int:
        """How many events there are."""
        return self._stop - self._start

    @property
    def arrivals(self) -> Arrivals:
        """The events; views, which the next push may overwrite."""
        return self._part(self._start, self._stop)

    def drop(self, n: int) -> Arrivals:
        """Take the oldest `n` off; they stay readable until the next push."""
        self._start += n
        return self._part(self._start - n, self._start)

    def push(self, arrivals: Arrivals) -> None:
        """Add the newest events."""
        stop = self._stop + arrivals.size
        if stop > self._arrays.size:
            self._move(self.size + arrivals.size)
            stop = self._stop + arrivals.size
        self._arrays.labels[self._stop : stop] = arrivals.labels
        self._arrays.scores[self._stop : stop] = arrivals.scores
        self._stop = stop

    def _part(self, start: int, stop: int) -> Arrivals:
        return Arrivals(self._arrays.labels[start:stop], self._arrays.scores[start:stop])

    def _move(self, n_needed: int) -> None:
        kept = self.arrivals
        room = 2 * n_needed
        self._arrays = Arrivals(np.empty(room, dtype=np.bool_), np.empty(room))
        self._start, self._stop = 0, kept.size
        self._arrays.labels[: kept.size] = kept.labels
        self._arrays.scores[: kept.size] = kept.scores
