"""What has arrived and is not yet counted.

Writers append to one flat list without waiting for anybody: ``rows += tuple`` is one step of
the interpreter, so the three numbers of an event never tear apart. Whoever holds the monitor's
lock takes them off the front; the list itself is never replaced.

A row is ``(time, score, class)``. Times are never ``nan``, so a row that begins with one is a
*mark*, and its last number says what it marks:

* `_WEIGHT`: the next row has the weight that stands in the middle;
* `_BATCH`: here arrived the batch that stands at the number in the middle;
* `_REJECTED`, `_AHEAD`: an event was left out here, for the reason numbered in the middle.
"""

import functools
import itertools
import math
import struct
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from streamauc._check import FloatArray
from streamauc.events import Events
from streamauc.histogram import ScoreHistogram
from streamauc.stats import REASONS
from streamauc.storage import Storage

_WEIGHT, _BATCH, _REJECTED, _AHEAD = -1.0, -2.0, -3.0, -4.0


_NONE: Mapping[str, int] = MappingProxyType({})


class Batch(NamedTuple):
    """Events that arrived together, or a histogram of events at `moment`.

    `panes` are the events already counted by pane, in case that all of them are admitted.
    """

    events: Events | None = None
    panes: list[tuple[int, Storage]] | None = None
    histogram: ScoreHistogram | None = None
    moment: float = math.nan
    rejected: Mapping[str, int] = _NONE
    n_ahead: int = 0

    def copy(self) -> "Batch":
        """Return the same batch with its events in arrays of their own."""
        events = None if self.events is None else self.events.copy()
        return self._replace(events=events)


class Intake:
    """The flat list, and what its marks stand for; safe for threads as described above."""

    def __init__(self) -> None:
        self.rows: list[float] = []
        # Predictions and labels in order of arrival, as `join.runs` reads them.
        self.keyed: list[Hashable] = []
        self._batches: dict[int, Batch] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        """How many rows wait."""
        return len(self.rows) // 3

    @property
    def n_batches(self) -> int:
        """How many batches wait."""
        return len(self._batches)

    def clear(self) -> None:
        """Forget everything, in place."""
        self.rows.clear()
        self.keyed.clear()
        self._batches.clear()

    def push(self, timestamp: float, score: float, label: float, weight: float) -> None:
        """Append one event, behind a mark unless its weight is 1."""
        event = (timestamp, score, label)
        self.rows.extend(event if weight == 1 else (math.nan, weight, _WEIGHT, *event))

    def push_batch(self, batch: Batch) -> None:
        """Append a batch in its place among the events."""
        number = next(self._numbers)
        self._batches[number] = batch
        self.rows.extend((math.nan, number, _BATCH))

    def push_rejected(self, reason: str) -> None:
        """Note that an event was left out because it was bad."""
        self.rows.extend((math.nan, REASONS.index(reason), _REJECTED))

    def push_ahead(self) -> None:
        """Note that an event was left out because it came from the future."""
        self.rows.extend((math.nan, 0, _AHEAD))

    def take(self, n_rows: int) -> Iterator[Batch]:
        """Take at least `n_rows` rows off the front, as batches in order of arrival.

        Only for the holder of the lock.
        """
        size = 3 * n_rows
        if self.rows[size - 1 : size] == [_WEIGHT]:
            size += 3  # a weight and its event stay together
        rows = _packed(self.rows[:size]).reshape(-1, 3)
        del self.rows[:size]
        marked = np.flatnonzero(np.isnan(rows[:, 0]))
        if not marked.size:
            yield Batch(_events(rows, None))
            return
        places = marked[rows[marked, 2] == _BATCH]
        yield from self._between(rows, places.tolist())

    def take_keyed(self, n_entries: int) -> list[Hashable]:
        """Take predictions and labels off the front. Only for the holder of the lock."""
        taken = self.keyed[: 2 * n_entries]
        del self.keyed[: 2 * n_entries]
        return taken

    def _between(self, rows: FloatArray, places: list[int]) -> Iterator[Batch]:
        """Yield the rows between the marks of batches, and each batch in its place."""
        start = 0
        for stop in [*places, len(rows)]:
            if stop > start:
                yield _plain(rows[start:stop])
            if stop < len(rows):
                yield self._batches.pop(int(rows[stop, 1]))
            start = stop + 1


def _packed(numbers: list[float]) -> FloatArray:
    """Return numbers as an array, twice as fast as numpy does."""
    try:
        packed = _packer(len(numbers)).pack(*numbers)
    except (struct.error, TypeError, ValueError, Warning):
        # Something that compares like a number but is not one, such as an array of one.
        return np.array([float(np.asarray(one).item()) for one in numbers])
    return np.frombuffer(packed, dtype=np.float64)


@functools.lru_cache(maxsize=4)
def _packer(size: int) -> struct.Struct:
    return struct.Struct(f"{size}d")


def _plain(rows: FloatArray) -> Batch:
    """Return rows without batches among them as one batch."""
    mark = np.where(np.isnan(rows[:, 0]), rows[:, 2], 0)
    rejected = Counter(REASONS[int(reason)] for reason in rows[mark == _REJECTED, 1])
    weights = None
    heavy = np.flatnonzero(mark == _WEIGHT)
    if heavy.size:
        weights = np.ones(len(rows))
        weights[heavy + 1] = rows[heavy, 1]
        weights = weights[mark == 0]
    events = _events(rows[mark == 0], weights)
    return Batch(events, rejected=rejected, n_ahead=int((mark == _AHEAD).sum()))


def _events(rows: FloatArray, weights: FloatArray | None) -> Events:
    if len(rows) == 1:  # what a poll between two events meets
        moment, score, label = rows[0].tolist()
        return Events(
            np.array([int(label)]), np.array([score]), np.array([moment]), weights, moment, moment
        )
    times, scores, classes = np.ascontiguousarray(rows.T)
    return Events.of(classes.astype(np.int64), scores, times, weights)
