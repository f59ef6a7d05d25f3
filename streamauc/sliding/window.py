"""The sliding window: what its users see, and which of three forms its events are kept in."""

import math
from bisect import bisect_left, bisect_right, insort_right
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check
from streamauc.counts import ThresholdCounts, threshold_counts
from streamauc.histogram import ScoreHistogram, check_classes
from streamauc.scale import Scale
from streamauc.sliding.adapting import AdaptingWindow, Kept
from streamauc.sliding.recent import Arrivals
from streamauc.storage import WideCounts

# The largest window; when full it takes some gigabytes.
MAX_SIZE = 100_000_000
_EXACT = Scale.exact()


class SlidingWindow(AdaptingWindow):
    """The last `size` events and the area under their ROC curve, exact after each of them.

    Scores are any finite numbers, compared as float64; equal scores count one half, and -0.0
    equals 0.0. `roc_auc` is the quotient of two integers that are kept up to date (Tatti 2021),
    so nothing is rounded but the quotient.

    What an event costs depends on how often somebody reads. The window sees that and adapts:

    * after every event: each is applied at once, in a window of up to 12,000 to sorted lists, in
      a larger one to lists in blocks. O(log size) comparisons an update, O(1) a read.
    * every hundred events, say: events wait, and a read merges those that wait into sorted
      arrays. O(1) an update; a read searches for each that waits, and copies O(size) numbers.
    * once in a long run: events wait, the last `size` of them, and a read sorts anew.
      O(1) an update, O(size log size) a read.

    It takes a read that does not suit the form, and one more for every 2,048 events in the
    window, up to 48, to change it, so that the change pays. `size` is at most 100 million, and
    memory is taken as events come. Not safe for threads. A copy or pickle holds the events and
    shares nothing with the window.

    >>> window = SlidingWindow(size=4)
    >>> for label, score in [(1, 0.4), (0, 0.4), (1, 0.6), (0, 0.6), (1, 0.6)]:
    ...     window.update(label, score)
    ...     print(window.roc_auc)
    nan
    0.5
    0.75
    0.5
    0.75
    """

    __slots__ = ()

    def __init__(self, size: int) -> None:
        self._begin(_check_size(size), Arrivals.none())

    def update(self, label: int, score: float) -> None:
        """Take in an event, and let the oldest go if there are more than `size`.

        `label` is bool or 0/1, `score` finite. Raises ValueError or TypeError otherwise.
        O(log size) comparisons, or O(1) if it waits for a read.
        """
        # `change` is twice what the class of the event wins, by the new score and without the old.
        if type(score) is not float or score - score != 0.0:
            score = _check.finite("score", score)
        lists = self._lists
        try:
            if label == 0:
                label, own, other = 0, lists.neg, lists.pos
            elif label == 1:
                label, own, other = 1, lists.pos, lists.neg
            else:
                _refuse_label(label)
        except (TypeError, ValueError):  # of a label that does not say whether it is 0
            _refuse_label(label)
        left = lists.left - 1
        if left < 0:
            if self._blocks is None or not self._blocks.put(label, score):
                self._labels.append(label)
                self._scores.append(score)
            return
        was, old = lists.labels[left], lists.scores[left]
        at = bisect_left(other, score)
        change = at + (at if other[at] != score else bisect_right(other, score, at))
        if lists.are_long:
            at = bisect_right(own, score)
            own[at:at] = (score,)
        else:
            insort_right(own, score)
        if label == was:
            at = bisect_left(other, old)
            change -= at + (at if other[at] != old else bisect_right(other, old, at))
            del own[bisect_left(own, old)]
        else:
            if was is not None:
                at = bisect_left(own, old)
                end = at if own[at] != old else bisect_right(own, old, at)
                change += at + end - 2 * (len(lists.pos) - 1)  # pos has both the new and the old
                del other[bisect_left(other, old)]
            elif not label:
                change -= 2 * (len(lists.pos) - 1)
            lists.labels[left] = label
            lists.pairs = 2 * (len(own) - 1) * (len(other) - 1)
        lists.scores[left] = score
        lists.won += change if label else -change
        lists.left = left

    def update_many(self, y_true: ArrayLike, y_score: ArrayLike) -> None:
        """Take in a batch in order of arrival. O(n_samples).

        `y_true` (bool or 0/1) and `y_score` (finite) have shape (n_samples,). Raises ValueError
        or TypeError otherwise.
        """
        classes = check_classes(y_true, 2)
        scores = _EXACT.check(y_score)
        n = _check.same_length(y_true=classes, y_score=scores)
        if self._are_few(n):
            for label, score in zip(classes.tolist(), scores.tolist(), strict=True):
                self.update(label, score)
        else:
            self._wait(classes[-self._size :], scores[-self._size :])

    def retract(self, label: int, score: float) -> None:
        """Take back an event, as if it had never come; those that it drove out stay out.

        Of several that are equal the latest goes, so that it undoes an `update` just made. When
        a label is revised, retract the event and update with the new label: it then counts as
        the newest. Raises ValueError if the window does not hold such an event (it may have left
        already), and changes nothing. O(size), or O(size log size) after single updates.
        """
        score = _check.finite("score", score)
        _check_label(label)
        arrays = self._as_arrays()
        events = arrays.arrivals()
        found = np.flatnonzero((events.scores == score) & (events.labels == (label == 1)))
        if not found.size:
            raise ValueError(
                "label and score must be those of an event in the window, got"
                f" {_check.plain(label)!r} and {score!r}"
            )
        arrays.remove(int(found[-1]))

    def resize(self, size: int) -> None:
        """Make the window hold up to `size` events; the oldest go first. O(size log size)."""
        self._begin(_check_size(size), self._events())

    def counts(self) -> ThresholdCounts:
        """Return the counts at thresholds, exact, from which every metric follows.

        The thresholds are the different scores. O(size), after single updates with sorting.
        """
        return threshold_counts(self.histogram)

    @property
    def histogram(self) -> ScoreHistogram:
        """The events on the exact scale, such as `compare` takes them. O(size)."""
        by_class = self._current().sorted_by_class()
        scores = np.unique(np.concatenate(by_class))
        counts = [np.diff(one.searchsorted(scores), append=one.size) for one in by_class]
        return ScoreHistogram(_EXACT, WideCounts(_EXACT.bins_of(scores), np.stack(counts)))

    @property
    def roc_auc(self) -> float:
        """Chance that a positive of the window scores above a negative, ties one half.

        ``nan`` unless there are both. O(1), and what updates since the last read put off.
        """
        lists = self._lists
        kept: Kept = lists if lists.left else self._current()
        pairs = kept.pairs
        return kept.won / pairs if pairs else math.nan

    @property
    def size(self) -> int:
        """How many events the window holds when it is full."""
        return self._size

    @property
    def n_samples(self) -> int:
        """How many events the window holds."""
        return min(self._size, self._kept.size + len(self._scores))

    @property
    def n_pos(self) -> int:
        """How many positives the window holds."""
        return self._current().n_pos

    @property
    def n_neg(self) -> int:
        """How many negatives the window holds."""
        return self.n_samples - self.n_pos

    def __repr__(self) -> str:
        return f"SlidingWindow(size={self._size}, n_samples={self.n_samples})"

    def __reduce__(self) -> tuple[type["SlidingWindow"], tuple[int], Arrivals]:
        return type(self), (self._size,), self._events()

    def __setstate__(self, events: Arrivals) -> None:
        """Take in events that were pickled, checked like any others."""
        labels = check_classes(events.labels, 2).astype(np.bool_)
        scores = _EXACT.check(events.scores)
        _check.same_length(labels=labels, scores=scores)
        self._begin(self._size, Arrivals(labels, scores))


def _check_size(size: int) -> int:
    """Return a size in [1, `MAX_SIZE`]. Any other number is a ValueError, bools included."""
    if isinstance(size, bool | np.bool_ | float | np.floating):
        got = _check.plain(size)
        raise ValueError(  # noqa: TRY004  (as for any other number that is no size)
            f"size must be an integer in [1, {MAX_SIZE}], got {got!r}"
        )
    return _check.integer("size", size, 1, MAX_SIZE)


def _check_label(label: object) -> None:
    try:
        if label == 0 or label == 1:
            return
    except (TypeError, ValueError):
        pass
    _refuse_label(label)


def _refuse_label(label: object) -> NoReturn:
    raise ValueError(f"label must be bool or 0/1, got {_check.plain(label)!r}") from None
