"""Which of three forms the events of a sliding window are kept in, and when that changes."""

from abc import ABC, abstractmethod
from collections import deque

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.sliding.recent import Arrivals
from streamauc.sliding.sorted_arrays import SortedArrays
from streamauc.sliding.sorted_blocks import SortedBlocks
from streamauc.sliding.sorted_lists import SortedLists

# The largest window in which it costs less to change a list than blocks.
LARGEST_LISTS = 12_000
# More than so many events since the last read are not taken in one by one, even once; one more
# for so many events in the window.
MANY = 32
MANY_SHARE = 256
# The form is changed after one read that does not suit it, and one more for so many events, up to
# so many reads: then they have cost as much as the change.
PATIENCE_SHARE = 2_048
MOST_PATIENCE = 48

Kept = SortedArrays | SortedLists | SortedBlocks


def few(n_kept: int) -> int:
    """Return how many events between two reads are worth taking in one by one.

    A fit to what was measured: one by one and all at once cost the same when 17 come between two
    reads of 100 events, 24 of 1,000, 40 of 10,000, 50 of 100,000 and 170 of a million.
    """
    return max(1, 3 * n_kept.bit_length() - 4 + n_kept // 8_192)


class AdaptingWindow(ABC):
    """Keeps the last `_size` events in the form that suits how often they are read.

    `_kept` holds them in one of three forms; the newest may wait beside it, in `_labels` and
    `_scores`, until somebody reads. `_lists` or `_blocks` is `_kept` when it has that form; while
    `left` of either is not 0, updates go there at once and nothing waits.
    """

    __slots__ = ("_blocks", "_kept", "_labels", "_lists", "_misfits", "_scores", "_size")

    @abstractmethod
    def update(self, label: int, score: float) -> None:
        """Take in an event."""

    def _begin(self, size: int, events: Arrivals) -> None:
        """Hold the last `size` of some events, which nobody else refers to, and nothing else."""
        self._size = size
        # When as many wait as there is room for, all that is kept has left.
        self._labels: deque[int] = deque(maxlen=size)
        self._scores: deque[float] = deque(maxlen=size)
        self._keep(SortedArrays(events.last(size)))

    def _keep(self, kept: Kept) -> None:
        self._kept = kept
        self._lists = kept if isinstance(kept, SortedLists) else SortedLists.none()
        self._blocks = kept if isinstance(kept, SortedBlocks) else None
        self._misfits = 0

    def _waiting(self) -> Arrivals:
        n = len(self._scores)
        return Arrivals(
            np.fromiter(self._labels, np.bool_, n), np.fromiter(self._scores, np.float64, n)
        )

    def _events(self) -> Arrivals:
        """Return the events of the window in order of arrival, copied; changes nothing."""
        return self._kept.arrivals().then(self._waiting()).last(self._size)

    def _current(self) -> Kept:
        """Return what is kept, with all events taken in, in the form that suits their number."""
        if self._lists.left:
            return self._lists
        blocks = self._blocks
        if blocks is not None and blocks.left:
            return blocks
        if self._scores and self._is_misfit(len(self._scores)):
            self._change_form()
        return self._taken_in()

    def _are_few(self, n_events: int) -> bool:
        """Return whether so many events between two reads are worth taking in one by one."""
        return n_events <= few(self._kept.size)

    def _is_misfit(self, n_waiting: int) -> bool:
        """Return whether it is time to change the form, when so many events came since a read."""
        n, one_by_one = self._kept.size, not isinstance(self._kept, SortedArrays)
        if self._are_few(n_waiting) == one_by_one:
            self._misfits = 0
            return False
        self._misfits += 1
        far_too_many = one_by_one and n_waiting > MANY + n // MANY_SHARE
        return far_too_many or self._misfits > min(n // PATIENCE_SHARE, MOST_PATIENCE)

    def _change_form(self) -> None:
        kept = self._kept
        if not isinstance(kept, SortedArrays):
            self._keep(SortedArrays(kept.arrivals()))
        elif self._size <= LARGEST_LISTS:
            self._keep(SortedLists(kept, self._size))
        else:
            self._keep(SortedBlocks(kept, self._size))

    def _taken_in(self) -> Kept:
        """Return what is kept, with all events taken in."""
        kept = self._kept
        if isinstance(kept, SortedArrays):
            self._slide(kept)
        else:
            self._put(kept)
        return kept

    def _put(self, kept: SortedLists | SortedBlocks) -> None:
        """Take in one by one what waits, and let more be put in."""
        waiting = list(zip(self._labels, self._scores, strict=True))
        self._forget_waiting()
        kept.rearm()
        for label, score in waiting:
            self.update(label, score)
            if not kept.left:
                kept.rearm()

    def _slide(self, arrays: SortedArrays) -> None:
        """Take in all that waits at once."""
        if self._scores:
            waiting = self._waiting()
            self._forget_waiting()
            arrays.slide(waiting, max(0, arrays.size + waiting.size - self._size))

    def _as_arrays(self) -> SortedArrays:
        """Return what is kept, with all events taken in, as arrays."""
        if not isinstance(self._kept, SortedArrays):
            arrays = SortedArrays(self._events())
            self._forget_waiting()
            self._keep(arrays)
            return arrays
        self._slide(self._kept)
        return self._kept

    def _wait(self, classes: IntArray, scores: FloatArray) -> None:
        """Let a batch wait."""
        if not isinstance(self._kept, SortedArrays):
            self._kept.stop()
        self._labels.extend(classes.tolist())
        self._scores.extend(scores.tolist())

    def _forget_waiting(self) -> None:
        self._labels.clear()
        self._scores.clear()

    def _check(self) -> None:
        """Raise AssertionError unless all that is kept follows from the events themselves.

        O(size log size).
        """
        kept, events = self._kept, self._kept.arrivals()
        neg, pos = events.sorted_by_class()
        kept_neg, kept_pos = kept.sorted_by_class()
        right = {
            "neg": np.array_equal(neg, kept_neg),
            "pos": np.array_equal(pos, kept_pos),
            "won": kept.won == SortedArrays(events).won,
            "pairs": kept.pairs == 2 * neg.size * pos.size,
            "n_pos": kept.n_pos == pos.size,
            "size": kept.size == events.size <= self._size,
            "waiting": len(self._labels) == len(self._scores),
            "order": isinstance(kept, SortedArrays) or not (kept.left and self._scores),
            "form": kept in (self._lists, self._blocks) or isinstance(kept, SortedArrays),
            "blocks": self._blocks is None or self._blocks.are_in_order(),
        }
        wrong = [name for name, good in right.items() if not good]
        if wrong:
            raise AssertionError(f"what is kept must follow from its events, got wrong {wrong}")
