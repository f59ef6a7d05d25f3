"""The monitor: counts a stream of scored events by time, and answers for any window of it."""

import functools
import math
import time
from collections.abc import Callable, Sequence
from datetime import UTC
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from streamauc import _time, codec
from streamauc._time import CalendarStep, Duration, Timestamp
from streamauc.advance import PaneDetector, check_grain
from streamauc.change.verdict import State
from streamauc.codec import SeriesState
from streamauc.history import DEFAULT_METRICS, History
from streamauc.keeping import KeepingRecorder
from streamauc.ledger import rebinned
from streamauc.maturity import LabelDelay
from streamauc.recorder import BadEvents, Now
from streamauc.stats import Stats
from streamauc.window import Window

if TYPE_CHECKING:
    from streamauc.storing import Storing


class Monitor(KeepingRecorder):
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
    * `store`, `series`: where to keep the counts, a `Store` or its path, and the labels of the
      series there; in memory unless given.
    * `flush_seconds`: how often a thread writes. With ``math.inf`` only `flush` and `close` do:
      there is no thread, and polls and the exit leave what waits.
    * `flush_on_sigterm`: let SIGTERM write what waits before it does what it did before.
    * `max_unwritten`: how many predictions and labels may wait to be written.
    * `positions`: write nothing without the position of its source, see `flush`.

    Many threads may write and poll: writers don't wait, a poll sees whole updates only, and
    every update that returned before the poll began. Up to 262,144 events and 64 batches wait
    for a fold that is held up; then writers wait for it.

    >>> monitor = Monitor(clock="event")
    >>> monitor.update_many([0, 1, 1], [0.2, 0.9, 0.1], [0, 30, 61])
    >>> monitor.window(0, 60).roc_auc
    1.0
    """

    def merge(self, other: "Monitor") -> None:
        """Add everything that another monitor counted. O(total size of its panes).

        Both must have the same tiers, and the other a scale at least as fine. The other is
        left as it is. Raises ValueError otherwise. With a store it is written at once and without
        a position, so it is a ValueError where `positions` were asked for.
        """
        self._check_open()
        if other is self:
            raise ValueError("other must be another monitor, got this one")
        if self._storing is not None and self._storing.is_same(other._storing):
            raise ValueError("other must be of another series, got one that shares all counts")
        if self._storing is not None and self._storing.needs_positions:
            raise ValueError("merge writes without a position, which positions=True rules out")
        state = other.state()
        parts = rebinned(state, self.scale, self.tiers)
        with self._answering() as ledger:
            ledger.absorb(state, parts)
            self._refresh_limit()

    def state(self) -> SeriesState:
        """Return everything counted so far, as `codec` writes it down. O(total size)."""
        with self._answering() as ledger:
            return ledger.state(self._rules.classes)

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
        make: Callable[..., Monitor] = Monitor if self._storing else Monitor.from_bytes
        restore = functools.partial(
            make,
            clock=self._source,
            max_ahead=self._max_ahead,
            bad="skip" if self._skip else "raise",
            label_ttl=self._label_ttl,
            max_pending=self._bounds["max_pending"],
            max_early=self._bounds["max_early"],
            max_resolved=self._bounds["max_resolved"],
        )
        if self._storing is None:
            return restore, (self.to_bytes(),)
        return self._reduced(self._storing, restore)

    def _reduced(
        self, storing: "Storing", make: "functools.partial[Monitor]"
    ) -> tuple[Callable[..., "Monitor"], tuple[object, ...]]:
        """Return what makes another writer of the same series, with the same settings."""
        from streamauc.storing import reopened

        with self._answering():
            pass  # so that the copy answers the same, if what waits can be written
        make = functools.partial(
            make,
            scale=self.scale,
            tiers=tuple((tier.pane_seconds, tier.keep) for tier in self.tiers),
            classes=self._rules.classes,
            series=storing.series,
            flush_seconds=storing.flush_seconds,
            max_unwritten=storing.max_unwritten,
            positions=storing.needs_positions,
        )
        return reopened, (make, storing.opener(), self._flush_on_sigterm)

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
        with self._answering() as ledger:
            now = ledger.advance()
            return ledger.answer(*_span(start, end, last, offset, now), min_coverage)

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
        with self._answering() as ledger:
            windows = ledger.answers(step, low, high, zone, min_coverage)
        return History(windows, tuple(metrics))

    def advance(self, detector: PaneDetector) -> State:
        """Step a detector over the panes whose labels have matured since it was last stepped.

        Whoever polls may call it as often as they like: each pane is taken in once, in order of
        time, when its coverage reaches the detector's `min_coverage`, and only with what is known
        by then. A pane whose labels stay away while those of younger ones come is passed over.
        Returns the detector's state, at the first pane that raises an alarm; call again after
        `acknowledge`. Raises ValueError unless the detector's panes are whole panes of the finest
        tier, kept that long. O(panes since the last call).
        """
        check_grain(detector.pane_seconds, self.tiers)
        with self._answering() as ledger:
            return ledger.step(detector)

    def label_delay(self, share: float = 0.95) -> LabelDelay:
        """Return the delay within which a share of the labels arrive, overall and by class.

        Windows that end that long ago are mature: ``window(last=..., offset=...)``.
        O(n_open log n_open).
        """
        with self._answering() as ledger:
            return ledger.label_delay(share)

    @property
    def stats(self) -> Stats:
        """What became of every event offered so far."""
        with self._answering() as ledger:
            return ledger.stats()

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts; bounded by bins x panes, whatever the traffic."""
        with self._answering() as ledger:
            return ledger.nbytes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _check_coverage(min_coverage: float) -> None:
    if not 0 <= min_coverage <= 1:
        raise ValueError(f"min_coverage must be in [0, 1], got {min_coverage!r}")


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
