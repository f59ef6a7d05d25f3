"""What time it is, and which events are thereby too early or too late to count.

`WallClock` asks a source of time. `EventClock`, for replays, takes the largest event time seen;
it judges events one after the other in order of arrival, so that it makes no difference how
they are cut into batches.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc._time import MAX_TIME
from streamauc.events import Events
from streamauc.tiers import Tier, are_expired, is_expired


class Admission(NamedTuple):
    """The events that count, and how many do not.

    `n_ahead` is -1 when an event that had been counted as ahead is among the events after all.
    """

    events: Events
    n_expired: int = 0
    n_ahead: int = 0


Verdict = Literal["accepted", "expired", "ahead"]


class Clock(Protocol):
    """Tells the time and judges events by it; `limit` never falls."""

    limit: float  # events up to here are certainly not from the future

    def now(self) -> float:
        """Return the time, which never goes back."""

    def is_ahead(self, timestamp: float) -> bool:
        """Return whether one event is from too far in the future, asking the time anew."""

    def admit(self, events: Events, tier: Tier) -> Admission:
        """Judge events in order of arrival; `tier` is the one kept longest. O(n_samples)."""

    def admit_one(self, moment: float, tier: Tier) -> Verdict:
        """Judge what happened at one moment."""

    def admit_span(self, earliest: float, latest: float, tier: Tier) -> bool:
        """Return whether all events in a span count, whatever their order; takes them in if so."""

    def confirm(self, earlier: float, moment: float) -> bool:
        """Return whether two events that were ahead confirm a jump; takes the first in if so."""

    def catch_up(self, latest: float) -> None:
        """Take over what another clock had seen."""

    @property
    def latest(self) -> float:
        """The latest time known."""


class WallClock:
    """Time from a source such as `time.time`; events more than `max_ahead` later are refused."""

    def __init__(self, source: Callable[[], float], max_ahead: float) -> None:
        self._source = source
        self._max_ahead = max_ahead
        self._latest = -MAX_TIME
        self._others = -MAX_TIME  # the largest time that a merged clock had told
        self.limit = -MAX_TIME
        self.now()

    def now(self) -> float:
        """Return the largest time the source has told; a source set back stands still."""
        self._latest = max(self._latest, float(self._source()))
        self.limit = min(self._latest + self._max_ahead, MAX_TIME)
        return self._latest

    def is_ahead(self, timestamp: float) -> bool:
        """Return whether the event is later than `max_ahead` from now."""
        self.now()
        return timestamp > self.limit

    def admit(self, events: Events, tier: Tier) -> Admission:
        """Judge all events by the present moment."""
        self.now()
        oldest = self.latest - tier.keep
        if not events.size or (events.earliest >= oldest and events.latest <= self.limit):
            return Admission(events)
        times = events.timestamps
        ahead = times > self.limit
        expired = ~ahead & are_expired(times, np.full(times.shape, self.latest), tier)
        kept = events.take(~(ahead | expired))
        return Admission(kept, n_expired=int(expired.sum()), n_ahead=int(ahead.sum()))

    def admit_one(self, moment: float, tier: Tier) -> Verdict:
        """Judge what happened at one moment by the present one."""
        self.now()
        if moment > self.limit:
            return "ahead"
        return "expired" if is_expired(moment, self.latest, tier) else "accepted"

    def admit_span(self, earliest: float, latest: float, tier: Tier) -> bool:
        """Return whether all events in a span count by the present moment."""
        self.now()
        return latest <= self.limit and not is_expired(earliest, self.latest, tier)

    def confirm(self, earlier: float, moment: float) -> bool:  # noqa: ARG002 - for other clocks
        """Return False: what is ahead of the present moment stays so."""
        return False

    def catch_up(self, latest: float) -> None:
        """Let expire what had expired by another clock; `now` stays that of the source."""
        self._others = max(self._others, latest)

    @property
    def latest(self) -> float:
        """The largest time that the source or a merged clock has told."""
        return max(self._latest, self._others)


class EventClock:
    """Time as the largest event time seen.

    With a finite `max_ahead`, an event that would move the time further than that waits until a
    second one within `max_ahead` of it confirms the jump; then both count. Until then it is
    counted as ahead, and for good when another jump takes its place. Predictions wait apart:
    only another one, of another key, confirms theirs.
    """

    def __init__(self, max_ahead: float, latest: float = -math.inf) -> None:
        self._max_ahead = max_ahead
        self.latest = latest
        self.limit = MAX_TIME  # nothing is refused by itself: each event is judged in its turn
        self._waiting: Events | None = None

    def now(self) -> float:
        """Return the largest event time seen; 0 before the first event."""
        return self.latest if self.latest > -math.inf else 0.0

    def is_ahead(self, timestamp: float) -> bool:
        """Return whether the event is outside the range of time."""
        return timestamp > self.limit

    def admit(self, events: Events, tier: Tier) -> Admission:
        """Judge each event by the time that the events before it had made it."""
        if not events.size:
            return Admission(events)
        n_ahead = 0
        if self._max_ahead < math.inf and self._jumps(events.timestamps):
            before = events.size
            events = self._without_jumps(events)
            n_ahead = before - events.size
        if not events.size:
            return Admission(events, n_ahead=n_ahead)
        latest = max(self.latest, events.latest)
        # Nothing can have expired if it has not by the time of the whole batch.
        if events.earliest < latest - tier.keep:
            times = events.timestamps
            expired = are_expired(times, self._before(times), tier)
            self.latest = latest
            return Admission(events.take(~expired), int(expired.sum()), n_ahead)
        self.latest = latest
        return Admission(events, n_ahead=n_ahead)

    def admit_one(self, moment: float, tier: Tier) -> Verdict:
        """Judge what happened at one moment by the events before it; a jump is not confirmed."""
        before = self.latest
        if before > -math.inf and moment > before + self._max_ahead:
            return "ahead"
        if before > -math.inf and is_expired(moment, before, tier):
            return "expired"
        self.latest = max(before, moment)
        return "accepted"

    def admit_span(self, earliest: float, latest: float, tier: Tier) -> bool:
        """Return whether all events in a span count by the latest of them."""
        top = max(self.latest, latest)
        before = self.latest if self.latest > -math.inf else earliest
        if latest > before + self._max_ahead or is_expired(earliest, top, tier):
            return False
        self.latest = top
        return True

    def confirm(self, earlier: float, moment: float) -> bool:
        """Return whether two events that were ahead confirm a jump; takes the first in if so."""
        if abs(moment - earlier) > self._max_ahead:
            return False
        self.latest = max(self.latest, earlier)
        return True

    def catch_up(self, latest: float) -> None:
        """Take over the largest event time that another clock had seen."""
        self.latest = max(self.latest, latest)

    def _before(self, times: FloatArray) -> FloatArray:
        """Return the time just before each event, were all of them to count."""
        return np.maximum.accumulate(np.concatenate(([self.latest], times)))[:-1]

    def _jumps(self, times: FloatArray) -> bool:
        before = self._before(times)
        if self.latest == -math.inf:
            before[0] = times[0]  # the very first event is taken at its word
        return bool((times > before + self._max_ahead).any())

    def _without_jumps(self, events: Events) -> Events:
        """Return the events that count now, a confirmed earlier one among them."""
        waiting = self._waiting
        pool = events if waiting is None else Events.concatenate((waiting, events))
        offset = pool.size - events.size
        rows, held = self._scan(events.timestamps, offset, waiting)
        self._waiting = None if held is None else pool.take(np.array([held]))
        return pool.take(rows)

    def _scan(
        self, times: FloatArray, offset: int, waiting: Events | None
    ) -> tuple[IntArray, int | None]:
        """Return the rows of the pool that count, in order, and the row that waits.

        Only events beyond the present limit can be jumps, so only they are looked at one by one.
        """
        suspects = times > self.latest + self._max_ahead
        settled = np.maximum.accumulate(np.where(suspects, -math.inf, times))
        kept = ~suspects
        now = self.latest
        held = None if waiting is None else 0
        held_time = math.nan if waiting is None else float(waiting.timestamps[0])
        confirmed: list[tuple[int, int]] = []
        for row in np.flatnonzero(suspects).tolist():
            moment = float(times[row])
            now = max(now, float(settled[row]))
            if now == -math.inf or moment <= now + self._max_ahead:
                kept[row] = True
            elif abs(moment - held_time) <= self._max_ahead and held is not None:
                kept[row] = True
                confirmed.append((row, held))
                now, held, held_time = max(now, held_time), None, math.nan
            else:
                held, held_time = row + offset, moment
                continue
            now = max(now, moment)
        return _in_order(np.flatnonzero(kept), confirmed, offset), held


def _in_order(kept: IntArray, confirmed: list[tuple[int, int]], offset: int) -> IntArray:
    """Return rows of the pool, each confirmed one just before the row that confirmed it."""
    places = np.searchsorted(kept, [row for row, _ in confirmed])
    return np.insert(kept + offset, places, [held for _, held in confirmed])
