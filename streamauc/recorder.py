"""The recorder: takes in events from many threads, and folds them into the ledger."""

import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check, _fork, _time
from streamauc._time import Duration, Timestamp
from streamauc.clock import Clock, EventClock, WallClock
from streamauc.events import PaneCounter
from streamauc.histogram import ScoreHistogram, weight_fault
from streamauc.intake import Batch, Intake
from streamauc.join import LabelJoin, MemoryJoinStore
from streamauc.ledger import Ledger
from streamauc.memory_ledger import MemoryLedger
from streamauc.offered import Columns, Rules, check_and_count
from streamauc.scale import Scale
from streamauc.storage import LARGEST_WEIGHT, SMALLEST_WEIGHT
from streamauc.tiers import TierSpec, check_tiers

if TYPE_CHECKING:
    from streamauc.store import Store
    from streamauc.storing import Storing

DEFAULT_TIERS: TierSpec = ((60, "2d"), (3600, "90d"), (86_400, "5y"))
# A writer folds this many events at most, so that none of its calls takes long.
FOLD_EVENTS = 8_192
# With this much waiting, writers wait for a fold after all, so that memory stays bounded.
MAX_WAITING_EVENTS = 262_144
MAX_WAITING_BATCHES = 64
FOLD_KEYED, MAX_KEYED = 2 * 4_096, 2 * MAX_WAITING_EVENTS
_FOLD_LENGTH, _MAX_LENGTH = 3 * FOLD_EVENTS, 3 * MAX_WAITING_EVENTS

BadEvents = Literal["raise", "skip"]
Now = Callable[[], float]

# A forked child empties the recorders it inherits, so that merging counts nothing twice.
_recorders: "weakref.WeakSet[Recorder]" = weakref.WeakSet()


class Recorder:
    """Takes in events, never waiting for a poll; one fold at a time empties what has come.

    The constructor's arguments are those of `Monitor`.
    """

    def __init__(
        self,
        *,
        scale: Scale | None = None,
        tiers: TierSpec = DEFAULT_TIERS,
        clock: Now | Literal["event"] = time.time,
        max_ahead: Duration | None = None,
        bad: BadEvents = "raise",
        classes: Sequence[Hashable] | None = None,
        label_ttl: Duration = math.inf,
        max_pending: int = 1_000_000,
        max_early: int = 100_000,
        max_resolved: int = 1_000_000,
        store: "Store | str | os.PathLike[str] | None" = None,
        series: Mapping[str, str] | None = None,
        flush_seconds: Duration = 5.0,
        flush_on_sigterm: bool = False,
        max_unwritten: int = 1_000_000,
        positions: bool = False,
    ) -> None:
        if bad not in ("raise", "skip"):
            raise ValueError(f"bad must be 'raise' or 'skip', got {bad!r}")
        self.scale = Scale.probability() if scale is None else scale
        self.tiers = check_tiers(tiers)
        self._counter = PaneCounter(self.scale, self.tiers[0].pane_seconds)
        self._rules = Rules(self.scale, _check.class_pair(classes))
        self._skip = bad == "skip"
        self._source = clock
        self._max_ahead = _max_ahead(clock, max_ahead)
        # Open ends, and so exact in whatever precision a score is compared.
        self._below = math.nextafter(self.scale.low, -math.inf)
        self._above = math.nextafter(self.scale.high, math.inf)
        negative, positive = self._rules.classes or (0, 1)
        # As floats, which a fold packs several times faster than ints.
        self._class_of = {negative: 0.0, positive: 1.0}
        # What predictions and labels may be named by: anything hashable, or what can be stored.
        self._check_key: Callable[[Hashable], object] = hash
        self._intake = Intake()
        self._rows, self._keyed = self._intake.rows, self._intake.keyed  # at hand
        self._label_ttl = _time.duration("label_ttl", label_ttl)
        self._bounds = {
            "max_pending": _check.integer("max_pending", max_pending, 1),
            "max_early": _check.integer("max_early", max_early, 0),
            "max_resolved": _check.integer("max_resolved", max_resolved, 0),
        }
        self._storing: Storing | None = None
        if store is not None or series is not None:
            from streamauc import storing  # who has no store needs no database

            self._storing = storing.Storing.checked(
                store, series, flush_seconds, max_unwritten, needs_positions=positions
            )
            self._check_key = storing.check_key
        self._closed = False
        for name, is_given in (("flush_on_sigterm", flush_on_sigterm), ("positions", positions)):
            if is_given and self._storing is None:
                raise ValueError(f"{name} must stand with a store, got none")
        self._flush_on_sigterm = flush_on_sigterm
        self._start_empty()
        _recorders.add(self)

    def _start_empty(self) -> None:
        """Begin anew; in a forked child as well, so that it counts only what is its own."""
        self._lock = threading.Lock()
        self._intake.clear()
        self._ledger: Ledger = self._new_ledger()
        self._refresh_limit()

    def _new_ledger(self) -> Ledger:
        join = LabelJoin(MemoryJoinStore(**self._bounds), self._label_ttl)
        return MemoryLedger(self._counter, self._new_clock(), self.tiers, join)

    def _new_clock(self) -> Clock:
        if isinstance(self._source, str):
            return EventClock(self._max_ahead)
        return WallClock(self._source, self._max_ahead)

    def update(
        self,
        label: Hashable,
        score: float,
        timestamp: Timestamp | None = None,
        weight: float = 1,
    ) -> None:
        """Count one event whose outcome is known. Amortised O(1), no input or output.

        `timestamp` is the time of the event, seconds since the epoch, an aware datetime, a
        datetime64 or an ISO string with an offset; now, if it is left out. Raises ValueError or
        TypeError for a bad argument and changes nothing; with ``bad="skip"`` counts it instead.
        """
        try:
            # Written for speed: comparisons apart, not chained, `MAX_TIME` as a constant, and a
            # timestamp that is no number left to fail them. A score that is a float can't change
            # before it is counted.
            if (
                type(score) is float
                and self._below < score
                and score < self._above
                and timestamp > -(2.0**40)  # type: ignore[operator]
                and timestamp < self._limit  # type: ignore[operator]
                and weight == 1
            ):
                rows = self._rows
                rows += (timestamp, score, self._class_of[label])  # type: ignore[arg-type]
                if len(rows) < _FOLD_LENGTH:
                    return
                care = False
            else:
                care = True
        except (KeyError, TypeError, ValueError, ArithmeticError, Warning):
            care = True
        if care:
            self._update_with_care(label, score, timestamp, weight)
        else:
            self._fold_some()

    def _update_with_care(
        self, label: Hashable, score: float, timestamp: Timestamp | None, weight: float
    ) -> None:
        """Count an event that the quick look did not pass: unusual types, a weight, or bad."""
        self._check_open()
        if timestamp is None and self._source != "event":
            self.update(label, score, self._ledger.clock.now(), weight)  # the usual way
            return
        if isinstance(score, np.float64):
            # What most models return; a subclass of float, but not `float` itself.
            self.update(label, score.item(), timestamp, weight)
            return
        argument = "label"
        try:
            known = self._check_label(label)
            argument = "score"
            value = self._check_score(score)
            argument = "timestamp"
            moment = self._check_moment(timestamp)
            argument = "weight"
            factor = _check_weight(weight)
        except (TypeError, ValueError):
            if not self._skip:
                raise
            self._intake.push_rejected(argument)
        else:
            self._push(moment, value, known, factor)
        if len(self._rows) >= _FOLD_LENGTH:
            self._fold_some()

    def _push(self, moment: float, score: float, label: float, weight: float) -> None:
        if moment > self._limit and self._ledger.clock.is_ahead(moment):
            self._intake.push_ahead()
            return
        self._refresh_limit()
        self._intake.push(moment, score, label, weight)

    def _refresh_limit(self) -> None:
        # Whoever writes to a closed monitor is to meet the check that says so.
        self._limit = -math.inf if self._closed else self._ledger.clock.limit

    def _check_label(self, label: Hashable) -> float:
        try:
            return self._class_of[label]
        except (KeyError, TypeError):
            got = _check.plain(label)
            raise ValueError(f"label must be {self._rules.allowed_labels}, got {got!r}") from None

    def _check_score(self, score: SupportsFloat) -> float:
        value = _check.number("score", score)
        if not self.scale.low <= value <= self.scale.high:
            raise ValueError(self.scale.fault("score", value))
        return value

    def _check_moment(self, timestamp: Timestamp | None) -> float:
        if timestamp is not None:
            return _time.seconds("timestamp", timestamp)
        if self._source == "event":
            raise ValueError("timestamp must be given when the clock is 'event', got None")
        return self._ledger.clock.now()

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("monitor must be open to be written to, got a closed one")

    def update_many(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        timestamps: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> None:
        """Count a batch of events whose outcomes are known. O(n_samples) in time order.

        All columns have shape (n_samples,) and may be arrays, lists or columns of a data frame;
        `timestamps` as in `update`. Nothing is kept by reference. Raises ValueError or
        TypeError, names the first bad value and counts nothing; with ``bad="skip"`` counts the
        good rows. Columns of different lengths are an error either way.
        """
        self._check_open()
        columns = Columns(y_true, y_score, timestamps, weights)
        found = check_and_count(self._rules, self._counter, columns, skip=self._skip)
        self._arrive(Batch(found.events, found.panes, rejected=found.rejected))

    def update_histogram(self, histogram: ScoreHistogram, timestamp: Timestamp) -> None:
        """Count events that are already a histogram, all at one time. O(n_bins).

        The histogram has two classes and a scale at least as fine as the monitor's.
        """
        self._check_open()
        if not isinstance(histogram, ScoreHistogram):
            raise TypeError(f"histogram must be a ScoreHistogram, got {histogram!r}")
        if histogram.n_classes != 2:
            raise ValueError(f"histogram must have 2 classes, got {histogram.n_classes}")
        moment = _time.seconds("timestamp", timestamp)
        self._arrive(Batch(histogram=histogram.rebinned(self.scale), moment=moment))

    def _arrive(self, batch: Batch) -> None:
        """Count a batch now if nobody is folding, else leave it to whoever is."""
        crowded = self._intake.n_batches >= MAX_WAITING_BATCHES
        if not self._lock.acquire(blocking=crowded):
            # The caller may write to its arrays again as soon as this returns.
            self._intake.push_batch(batch.copy())
            if not self._lock.acquire(blocking=False):
                return
            batch = Batch()
        try:
            self._fold_all()
            self._count(batch)
        finally:
            self._lock.release()

    def _fold_some(self) -> None:
        """Fold a bounded number of events, unless somebody is at it already."""
        crowded = len(self._rows) >= _MAX_LENGTH or len(self._keyed) >= MAX_KEYED
        if self._lock.acquire(blocking=crowded):
            try:
                if len(self._rows) >= _FOLD_LENGTH:
                    self._fold(FOLD_EVENTS)
                self._fold_keyed(FOLD_KEYED // 2)
            finally:
                self._lock.release()
            self._after_fold()

    def _after_fold(self) -> None:
        """Look after what was folded; without the lock."""

    def _fold_all(self) -> None:
        """Fold what waits by now; with the lock held."""
        left = len(self._intake)
        while left > 0:
            # What is added meanwhile is behind it and may stay.
            left -= self._fold(min(left, MAX_WAITING_EVENTS))
        self._fold_keyed(len(self._keyed) // 2)

    def _fold_keyed(self, n_entries: int) -> None:
        taken = self._intake.take_keyed(n_entries)
        self._ledger.count_keyed(taken, are_all=not self._keyed)
        self._refresh_limit()

    def _fold(self, n_rows: int) -> int:
        for batch in self._intake.take(n_rows):
            self._count(batch)
        return n_rows

    def _count(self, batch: Batch) -> None:
        self._ledger.count(batch)
        self._refresh_limit()


def _max_ahead(clock: Now | Literal["event"], max_ahead: Duration | None) -> float:
    if clock != "event" and not callable(clock):
        raise ValueError(f"clock must be a function or 'event', got {clock!r}")
    if max_ahead is not None:
        return _time.duration("max_ahead", max_ahead)
    return math.inf if clock == "event" else 3600.0


def _check_weight(weight: SupportsFloat) -> float:
    factor = _check.number("weight", weight)
    if factor != 0 and not SMALLEST_WEIGHT <= factor <= LARGEST_WEIGHT:
        raise ValueError(weight_fault("weight", factor))
    return factor


def _empty_all() -> None:
    for recorder in list(_recorders):
        recorder._start_empty()


_fork.concern(_fork.ABOVE, in_child=_empty_all)
