"""How a replay cuts time: the window asked for, or one that suits the span, and the pane."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

from streamauc import _time
from streamauc._time import CalendarStep, Duration

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
# What a window may be when none is asked for: the first that gives at most so many rows.
_STEPS: tuple[tuple[str, float], ...] = (
    ("1m", _MINUTE),
    ("5m", 5 * _MINUTE),
    ("15m", 15 * _MINUTE),
    ("1h", _HOUR),
    ("6h", 6 * _HOUR),
    ("1d", _DAY),
    ("1w", 7 * _DAY),
    ("month", 30 * _DAY),
)
_MAX_ROWS = 40
_PANES = (_HOUR, 15 * _MINUTE, 5 * _MINUTE, _MINUTE, 1)
_CALENDAR: dict[str, CalendarStep] = {
    "1d": "day",
    "day": "day",
    "1w": "week",
    "7d": "week",
    "week": "week",
    "month": "month",
}

Step = float | Literal["day", "week", "month"]


@dataclass(frozen=True, slots=True)
class TimePlan:
    """What was asked about time; `window` None means that one is to be chosen."""

    window: str | None
    pane: Duration | None
    start: float
    end: float
    zone: tzinfo

    def pane_seconds(self, first_span: float) -> int:
        """Return the pane: as asked, or the largest that every edge of a window falls on.

        `first_span` is the span of the first batch, a hint where no window was asked for.
        """
        if self.pane is not None:
            return _whole(self.pane)
        length = self._shortest(first_span)
        edges = [length, *(edge for edge in (self.start, self.end) if math.isfinite(edge))]
        offset = datetime.now(UTC).astimezone(self.zone).utcoffset()
        if offset is not None:
            edges.append(offset.total_seconds())
        return next((pane for pane in _PANES if all(edge % pane == 0 for edge in edges)), 1)

    def _shortest(self, first_span: float) -> float:
        if self.window is None:
            # The file may be many batches long: only a long first one rules out short windows.
            return _HOUR if first_span > 6 * _HOUR else _MINUTE
        step = parse_step(self.window)
        return _HOUR if isinstance(step, str) else step

    def choose(self, span: float, pane_seconds: int) -> str:
        """Return the window asked for, or a readable one for the span."""
        if self.window is not None:
            return self.window
        usable = [(name, length) for name, length in _STEPS if length >= pane_seconds]
        for name, length in usable:
            if span <= _MAX_ROWS * length:
                return name
        return usable[-1][0] if usable else f"{pane_seconds}s"


def parse_step(window: str) -> Step:
    """Return a step for `Monitor.history`: days and weeks are the calendar's."""
    if window.lower() in _CALENDAR:
        return _CALENDAR[window.lower()]
    return _time.duration("window", window)


def parse_moment(name: str, text: str | None, zone: tzinfo | None, missing: float) -> float:
    """Return a time given on the command line; without an offset it is in `zone`."""
    if text is None:
        return missing
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{name} must be a time such as 2024-03-01 or 2024-03-01T06:00Z, got {text!r}"
        ) from None
    if moment.tzinfo is None:
        if zone is None:
            raise ValueError(f"{name} must carry an offset, got {text!r}; or give --tz")
        moment = moment.replace(tzinfo=zone)
    return moment.timestamp()


def _whole(pane: Duration) -> int:
    seconds = _time.duration("pane", pane)
    if seconds != int(seconds):
        raise ValueError(f"pane must be a whole number of seconds, got {pane!r}")
    return int(seconds)
