"""The monitor: counts a stream of scored events by time, and answers for any window of it."""

import functools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC
from types import TracebackType
from typing import Literal, Self, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check, _time, codec
from streamauc._check import IntArray
from streamauc._time import CalendarStep, Duration, Timestamp
from streamauc.clock import Clock, EventClock, WallClock
from streamauc.codec import SeriesState
from streamauc.events import PaneCounter
from streamauc.histogram import LARGEST_WEIGHT, ScoreHistogram, weight_fault
from streamauc.history import DEFAULT_METRICS, History
from streamauc.intake import Batch, Intake
from streamauc.join import LabelJoin, Labels, MemoryJoinStore, Predictions
from streamauc.ledger import Ledger, rebinned
from streamauc.maturity import LabelDelay
from streamauc.offered import Columns, Rules, check_and_count, check_labels, check_predictions
from streamauc.scale import Scale
from streamauc.stats import Stats
from streamauc.tiers import TierSpec, check_tiers
from streamauc.window import Window

DEFAULT_TIERS: TierSpec = ((60, "2d"), (3600, "90d"), (86_400, "5y"))
_LABELLED = "labelled"
# A writer folds this many events at most, so that none of its calls takes long.
_FOLD_EVENTS = 8_192
# With this much waiting, writers wait for a fold after all, so that memory stays bounded.
_MAX_WAITING_EVENTS = 262_144
_MAX_WAITING_BATCHES = 64
_FOLD_KEYED, _MAX_KEYED = 2 * 4_096, 2 * _MAX_WAITING_EVENTS
_FOLD_LENGTH, _MAX_LENGTH = 3 * _FOLD_EVENTS, 3 * _MAX_WAITING_EVENTS
# Other kinds of numbers are widened first, and what merely compares like one is refused.

BadEvents = Literal["raise", "skip"]
Now = Callable[[], float]

# A forked child empties the monitors it inherits, so that merging counts nothing twice.
_monitors: "weakref.WeakSet[Monitor]" = weakref.WeakSet()


class Monitor:
    """Keeps sorted score histograms of both classes for every minute of event time.

    * `scale`: how scores are binned, `Scale.probability` unless given.
    * `tiers`: (pane, keep) from finest to coarsest: minutes for two days, hours for 90, days
      for five years unless given.
    * `clock`: a function that tells the time, or ``"event"`` for the largest event time seen.
    * `max_ahead`: how far in the future an event may lie. One hour with a clock of time; off
      with ``"event"``, where a jump beyond it waits for a second event to confirm it.
    * `bad`: ``"raise"`` an error for a bad event, or ``"skip"`` and count it in `stats`.
    * `classes`: the labels (negative, positive) when they are not bool or 0/1.
    * `label_ttl`: how long after its prediction a label is waited for; for ever unless set.
    * `max_pending`, `max_early`, `max_resolved`: how many predictions may wait for their label,
      labels for their prediction, and keys be remembered after that; oldest out first.

    Many threads may write and poll: writers don't wait, a poll sees whole updates only, and
    every update that returned before the poll began. Up to 262,144 events and 64 batches wait
    for a fold that is held up; then writers wait for it.

    >>> monitor = Monitor(clock="event")
    >>> monitor.update_many([0, 1, 1], [0.2, 0.9, 0.1], [0, 30, 61])
    >>> monitor.window(0, 60).roc_auc
    1.0
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
        self._intake = Intake()
        self._rows, self._keyed = self._intake.rows, self._intake.keyed  # at hand
        self._label_ttl = _time.duration("label_ttl", label_ttl)
        self._bounds = {
            "max_pending": _check.integer("max_pending", max_pending, 1),
            "max_early": _check.integer("max_early", max_early, 0),
            "max_resolved": _check.integer("max_resolved", max_resolved, 0),
        }
        self._closed = False
        self._start_empty()
        _monitors.add(self)

    def _start_empty(self) -> None:
        self._lock = threading.Lock()
        self._intake.clear()
        join = LabelJoin(MemoryJoinStore(**self._bounds), self._label_ttl)
        self._ledger = Ledger(self._counter, self._new_clock(), self.tiers, join)
        self._refresh_limit()

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

    def predict(self, key: Hashable, score: float, timestamp: Timestamp | None = None) -> None:
        """Count a score whose label is to come, see `resolve`. Amortised O(1).

        The event counts in the window of its `timestamp`, now if it is left out: its score at
        once, its label when that is known. A key that is known already is a repetition and
        counts nothing. Bad arguments as in `update`; `key` must be hashable. Of what waits to be
        counted, events of `update` come first, then predictions and labels in their order.
        """
        try:
            moment: float = timestamp  # type: ignore[assignment]  # else comparing it fails
            usual = (
                type(score) is float
                and type(timestamp) is float
                and self._below < score < self._above
                and -_time.MAX_TIME < moment < self._limit
            )
            if usual:
                hash(key)
        except (TypeError, ValueError, ArithmeticError, Warning):
            usual = False
        if usual:
            keyed = self._keyed
            keyed += (key, complex(moment, score))
        else:
            self._predict_with_care(key, score, timestamp)
        if len(self._keyed) >= _FOLD_KEYED:
            self._fold_some()

    def _predict_with_care(self, key: Hashable, score: float, timestamp: Timestamp | None) -> None:
        self._check_open()
        argument = "key"
        try:
            _check_key(key)
            argument = "score"
            value = self._check_score(score)
            argument = "timestamp"
            moment = self._check_moment(timestamp)
        except (TypeError, ValueError):
            if not self._skip:
                raise
            self._intake.push_rejected(argument)
            return
        if moment > self._limit and self._ledger.clock.is_ahead(moment):
            self._intake.push_ahead()
            return
        self._refresh_limit()
        self._keyed.extend((key, complex(moment, value)))

    def resolve(self, key: Hashable, label: Hashable) -> None:
        """Say which label the prediction of `key` got. Amortised O(1).

        It may come before the prediction, twice, or change: then the count moves. A label that
        comes later than `label_ttl` after the time of its prediction is not counted, unless
        nobody looked between. All of that is in `stats`. Raises ValueError for a bad label and
        TypeError for a key that is not hashable; with ``bad="skip"`` counts it.
        """
        self._check_open()
        argument = "key"
        try:
            _check_key(key)
            argument = "label"
            known = self._check_label(label)
        except (TypeError, ValueError):
            if not self._skip:
                raise
            self._intake.push_rejected(argument)
            return
        self._keyed.extend((key, known))
        if len(self._keyed) >= _FOLD_KEYED:
            self._fold_some()

    def predict_many(
        self, keys: Sequence[Hashable], y_score: ArrayLike, timestamps: ArrayLike
    ) -> None:
        """Count scores whose labels are to come, as `predict` does for one. O(n_samples).

        Bad rows as in `update_many`.
        """
        self._check_open()
        given = _key_list(keys)
        rows, events, rejected = check_predictions(
            self._rules, y_score, timestamps, skip=self._skip
        )
        _check_key_length(given, "y_score", events.size + rejected.total())
        placed = (events.timestamps + 1j * events.scores).tolist()
        self._keyed.extend((None, Predictions(_chosen(given, rows), placed)))
        self._arrive(Batch(rejected=rejected))

    def resolve_many(self, keys: Sequence[Hashable], y_true: ArrayLike) -> None:
        """Say which labels predictions got, as `resolve` does for one. O(n_samples)."""
        self._check_open()
        given = _key_list(keys)
        rows, classes, rejected = check_labels(self._rules, y_true, skip=self._skip)
        _check_key_length(given, "y_true", classes.size + rejected.total())
        labels = classes.astype(np.float64).tolist()
        self._keyed.extend((None, Labels(_chosen(given, rows), labels)))
        self._arrive(Batch(rejected=rejected))

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
        crowded = self._intake.n_batches >= _MAX_WAITING_BATCHES
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
        crowded = len(self._rows) >= _MAX_LENGTH or len(self._keyed) >= _MAX_KEYED
        if self._lock.acquire(blocking=crowded):
            try:
                if len(self._rows) >= _FOLD_LENGTH:
                    self._fold(_FOLD_EVENTS)
                self._fold_keyed(_FOLD_KEYED // 2)
            finally:
                self._lock.release()

    def _fold_all(self) -> None:
        """Fold what waits by now; with the lock held."""
        left = len(self._intake)
        while left > 0:
            # What is added meanwhile is behind it and may stay.
            left -= self._fold(min(left, _MAX_WAITING_EVENTS))
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

    def merge(self, other: "Monitor") -> None:
        """Add everything that another monitor counted. O(total size of its panes).

        Both must have the same tiers, and the other a scale at least as fine. The other is
        left as it is. Raises ValueError otherwise.
        """
        self._check_open()
        if other is self:
            raise ValueError("other must be another monitor, got this one")
        state = other.state()
        parts = rebinned(state, self.scale, self.tiers)
        with self._lock:
            self._fold_all()
            self._ledger.absorb(state, parts)
            self._refresh_limit()

    def state(self) -> SeriesState:
        """Return everything counted so far, as `codec` writes it down. O(total size)."""
        with self._lock:
            self._fold_all()
            return self._ledger.state(self._rules.classes)

    def to_bytes(self) -> bytes:
        """Return everything counted so far in the format that `codec` describes.

        Not a function that is the clock, nor `bad`, `max_ahead`, `label_ttl` and the bounds of
        what waits: they are given to `from_bytes`. An event that waits for another to confirm it
        stays counted as ahead.
        Keys and the labels in `classes` must be text, numbers, bools or None.
        """
        return codec.encode_series(self.state())

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        *,
        clock: Now | Literal["event"] | None = None,
        max_ahead: Duration | None = None,
        bad: BadEvents = "raise",
        label_ttl: Duration = math.inf,
        max_pending: int = 1_000_000,
        max_early: int = 100_000,
        max_resolved: int = 1_000_000,
    ) -> Self:
        """Return a monitor that continues where `to_bytes` stopped.

        `clock` is the kind that was written unless given. Raises ValueError for other bytes.
        """
        state = codec.decode_series(data)
        usual: Now | Literal["event"] = "event" if state.event_clock else time.time
        monitor = cls(
            scale=state.scale,
            tiers=state.tiers,
            clock=usual if clock is None else clock,
            max_ahead=max_ahead,
            bad=bad,
            classes=state.classes,
            label_ttl=label_ttl,
            max_pending=max_pending,
            max_early=max_early,
            max_resolved=max_resolved,
        )
        monitor._ledger.restore(state, rebinned(state, monitor.scale, monitor.tiers))
        monitor._refresh_limit()
        return monitor

    def __reduce__(self) -> tuple[Callable[..., "Monitor"], tuple[object, ...]]:
        restore = functools.partial(
            Monitor.from_bytes,
            clock=self._source,
            max_ahead=self._max_ahead,
            bad="skip" if self._skip else "raise",
            label_ttl=self._label_ttl,
            max_pending=self._bounds["max_pending"],
            max_early=self._bounds["max_early"],
            max_resolved=self._bounds["max_resolved"],
        )
        return restore, (self.to_bytes(),)

    def window(
        self,
        start: Timestamp | None = None,
        end: Timestamp | None = None,
        *,
        last: Duration | None = None,
        offset: Duration | None = None,
        min_coverage: float = 0.0,
    ) -> Window:
        """Return the events of [start, end), or the `last` so long, ending `offset` ago.

        A window in which less than `min_coverage` of the events have their label carries the
        caveat ``immature``.

        The span is rounded outwards to the panes that survive; the window says what it really
        covers. O(log n_panes) parts.
        """
        _check_coverage(min_coverage)
        with self._lock:  # a poll that comes during a fold waits for it, so it misses nothing
            self._fold_all()
            now = self._ledger.advance()
            return self._ledger.window(*_span(start, end, last, offset, now), min_coverage)

    def history(
        self,
        step: Duration | CalendarStep,
        *,
        start: Timestamp | None = None,
        end: Timestamp | None = None,
        metrics: Sequence[str] = DEFAULT_METRICS,
        tz: str | None = None,
        min_coverage: float = 0.0,
    ) -> History:
        """Return a window a step, from when counting began until now unless given.

        Steps are lengths of time, or ``"day"``, ``"week"`` and ``"month"``, cut whole at local
        midnights of `tz` (UTC unless given). A step finer than the panes that survive gives
        each surviving pane once, with its true span.
        """
        _check_coverage(min_coverage)
        zone = UTC if tz is None else _time.time_zone(tz)
        low = None if start is None else _time.seconds("start", start)
        high = None if end is None else _time.seconds("end", end)
        with self._lock:
            self._fold_all()
            windows = self._ledger.windows(step, low, high, zone, min_coverage)
        return History(windows, tuple(metrics))

    def label_delay(self, share: float = 0.95) -> LabelDelay:
        """Return the delay within which a share of the labels arrive, overall and by class.

        Windows that end that long ago are mature: ``window(last=..., offset=...)``.
        O(n_open log n_open).
        """
        with self._lock:
            self._fold_all()
            return self._ledger.label_delay(share)

    @property
    def stats(self) -> Stats:
        """What became of every event offered so far."""
        with self._lock:
            self._fold_all()
            return self._ledger.stats()

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts; bounded by bins x panes, whatever the traffic."""
        with self._lock:
            self._fold_all()
            return self._ledger.nbytes

    def flush(self) -> None:
        """Count everything that waits."""
        with self._lock:
            self._fold_all()

    def close(self) -> None:
        """Count everything that waits and refuse what comes later; polls still answer."""
        self._closed = True
        self._refresh_limit()
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _key_list(keys: Sequence[Hashable]) -> list[Hashable]:
    """Return keys as a list of Python's own objects, each of them hashable."""
    if not isinstance(keys, Iterable) or (isinstance(keys, np.ndarray) and keys.ndim != 1):
        raise TypeError(f"keys must be a sequence of hashables, got {keys!r}")
    found: list[Hashable] = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    try:
        for key in found:
            hash(key)
    except TypeError:
        index = next(index for index, key in enumerate(found) if not _is_hashable(key))
        raise TypeError(f"keys must be hashable, got {found[index]!r} at index {index}") from None
    return found


def _is_hashable(key: Hashable) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _check_key(key: Hashable) -> None:
    if not _is_hashable(key):
        raise TypeError(f"key must be hashable, got {key!r}")


def _check_key_length(keys: Sequence[Hashable], other: str, size: int) -> None:
    if len(keys) != size:
        raise ValueError(f"keys and {other} must have the same length, got {len(keys)} and {size}")


def _chosen(keys: list[Hashable], rows: IntArray | None) -> list[Hashable]:
    return keys if rows is None else [keys[row] for row in rows.tolist()]


def _check_coverage(min_coverage: float) -> None:
    if not 0 <= min_coverage <= 1:
        raise ValueError(f"min_coverage must be in [0, 1], got {min_coverage!r}")


def _max_ahead(clock: Now | Literal["event"], max_ahead: Duration | None) -> float:
    if clock != "event" and not callable(clock):
        raise ValueError(f"clock must be a function or 'event', got {clock!r}")
    if max_ahead is not None:
        return _time.duration("max_ahead", max_ahead)
    return math.inf if clock == "event" else 3600.0


def _check_weight(weight: SupportsFloat) -> float:
    factor = _check.number("weight", weight)
    if not 0 <= factor <= LARGEST_WEIGHT:
        raise ValueError(weight_fault("weight", factor))
    return factor


def _span(
    start: Timestamp | None,
    end: Timestamp | None,
    last: Duration | None,
    offset: Duration | None,
    now: float,
) -> tuple[float, float]:
    """Return the span that a poll asks for."""
    if last is None:
        if start is None or end is None or offset is not None:
            raise TypeError("window takes start and end, or last with or without offset")
        low, high = _time.seconds("start", start), _time.seconds("end", end)
        if high < low:
            raise ValueError(f"end must not be before start, got {low!r} and {high!r}")
        return low, high
    if start is not None or end is not None:
        raise TypeError("window takes start and end, or last with or without offset")
    back = 0.0 if offset is None or offset == 0 else _time.duration("offset", offset)
    # An event that carries this very moment belongs to the window that ends now.
    end = max(now - back, -_time.MAX_TIME)
    low = end - _time.duration("last", last)
    return max(low, -_time.MAX_TIME), math.nextafter(end, math.inf)


def _empty_all() -> None:
    for monitor in list(_monitors):
        monitor._start_empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_empty_all)
