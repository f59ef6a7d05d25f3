"""Event time: float64 seconds since the epoch, UTC; and what people write instead.

Anything with a time zone becomes seconds; a time without one is an error that says how to fix
it, because guessing the zone moves every event by hours.
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamauc import _check
from streamauc._check import FloatArray

Timestamp = float | datetime | np.datetime64 | str
Duration = float | str | timedelta
CalendarStep = Literal["day", "week", "month"]

# Beyond the year 36,800; a time in milliseconds, micro- or nanoseconds is beyond it, too.
MAX_TIME = 2.0**40
_UNITS = {
    "s": 1,
    "sec": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": 86_400,
    "w": 604_800,
    "y": 365 * 86_400,
}
MONTHS = "M could be minutes or months: write m or min, or a number of days"
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(name: str, value: Timestamp) -> float:
    """Return one point in time as seconds since the epoch.

    Takes finite numbers of seconds, aware datetimes, datetime64 (UTC by definition) and ISO 8601
    strings with an offset. Raises TypeError or ValueError otherwise.
    """
    if isinstance(value, np.datetime64):
        return in_range(name, float(_from_datetime64(np.asarray(value))))
    if isinstance(value, str):
        return _from_datetime(name, _parsed(name, value), value)
    if isinstance(value, datetime):
        return _from_datetime(name, value)
    if isinstance(value, bool | np.bool_ | date) or not _check.is_number(value):
        raise TypeError(
            f"{name} must be seconds since the epoch, an aware datetime, a datetime64 or an ISO"
            f" string with an offset, got {_check.plain(value)!r}"
        )
    return in_range(name, _check.number(name, value))


def in_range(name: str, value: float) -> float:
    """Return a time that is finite and in the range of time."""
    if not -MAX_TIME <= value <= MAX_TIME:
        raise ValueError(time_fault(name, value))
    return value


def time_fault(name: str, value: float) -> str:
    """Return the message for a time outside the range of time."""
    if not math.isfinite(value):
        return f"{name} must be finite, got {value!r}"
    return f"{name} must be in seconds since the epoch, got {value!r}; is it in milliseconds?"


def _parsed(name: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} must be an ISO 8601 time, got {text!r}") from None


def _from_datetime(name: str, moment: datetime, text: str | None = None) -> float:
    if moment.utcoffset() is None and text is not None:
        zoned = text if "T" in text or " " in text else f"{text}T00:00"
        raise ValueError(
            f"{name} must carry a time zone, got {text!r}; write {zoned}Z if it is UTC, or"
            f" {zoned}+01:00"
        )
    if moment.utcoffset() is None:
        fields = moment.timetuple()[: 6 if moment.second else 5]
        shown = f"datetime({', '.join(str(part) for part in fields)})"
        raise ValueError(
            f"{name} must carry a time zone, got {shown}; add tzinfo, or pass seconds since"
            " the epoch"
        )
    return (moment - _EPOCH) / timedelta(seconds=1)


def _from_datetime64(values: NDArray[np.datetime64]) -> FloatArray:
    """Return datetime64 of any unit as seconds; ``NaT`` as ``nan``."""
    unit, step = np.datetime_data(values.dtype)
    if unit in ("Y", "M", "W", "D", "h", "m", "generic"):
        values, unit, step = values.astype("datetime64[s]"), "s", 1
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.get(unit, 0)
    if not per_second:
        values, per_second, step = values.astype("datetime64[ns]"), 10**9, 1
    ticks = values.astype(np.int64)
    ticks = ticks * step if step != 1 else ticks
    rest = np.fmod(ticks, per_second)  # of the same sign, so that nothing cancels before 1970
    out = np.asarray((ticks - rest) // per_second + rest / per_second, dtype=np.float64)
    return np.where(np.isnat(values), np.nan, out)


def time_column(timestamps: ArrayLike, *, skip: bool = False) -> FloatArray:
    """Return times as float64 seconds, shape (n_samples,); missing ones as ``nan``.

    Takes what `seconds` takes, as a column; with `skip`, single values that are no times come
    out as ``nan``, too. Values are not yet checked for their range.
    """
    if isinstance(timestamps, np.ma.MaskedArray):
        times = time_column(timestamps.data, skip=skip)
        return np.where(np.ma.getmaskarray(timestamps), np.nan, times)
    column = np.asarray(timestamps)
    if column.ndim != 1:
        raise ValueError(f"timestamps must be 1-D, got shape {column.shape}")
    if column.dtype.kind == "M":
        return _from_datetime64(column.astype(column.dtype, copy=False))
    if column.dtype.kind in "OUT":
        return _from_objects(column.tolist(), skip=skip)
    if column.dtype.kind not in "fiu":
        raise TypeError(f"timestamps must hold times, got dtype {column.dtype}")
    return column.astype(np.float64, copy=False)


def _from_objects(values: Sequence[Timestamp | None], *, skip: bool) -> FloatArray:
    out = np.full(len(values), np.nan)
    for index, value in enumerate(values):
        if value is None or _check.is_missing(value):
            continue
        try:
            out[index] = seconds("timestamps", value)
        except (TypeError, ValueError) as error:
            if not skip:
                raise type(error)(f"{error} at index {index}") from None
    return out


def duration(name: str, value: Duration) -> float:
    """Return a positive length of time in seconds: a number, a timedelta or text like "90d".

    Units: s, m (or min), h, d, w and y of 365 days; an M could be months, and is refused. ``inf``
    is allowed.
    """
    length = _duration(name, value)
    if not length > 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return length


def _duration(name: str, value: Duration) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        match = _DURATION.fullmatch(value)
        if not match or match[2].lower() not in _UNITS:
            raise ValueError(
                f"{name} must be a length of time such as 90s, 15m, 6h, 2d, 1w or 5y, got {value!r}"
            )
        if match[2] == "M":
            raise ValueError(f"{name} must have a unit that is clear, got {value!r}; {MONTHS}")
        return float(match[1]) * _UNITS[match[2].lower()]
    if isinstance(value, bool | np.bool_) or not _check.is_number(value):
        raise TypeError(
            f"{name} must be seconds, a timedelta or text such as 6h, got {_check.plain(value)!r}"
        )
    return _check.number(name, value)


def utc(moment: float) -> datetime:
    """Return seconds since the epoch as an aware datetime.

    Raises ValueError outside the years 1 to 9999, which datetimes know.
    """
    try:
        return _EPOCH + timedelta(seconds=moment)
    except OverflowError:
        raise ValueError(f"time must lie in the years 1 to 9999, got {moment!r}") from None


def shown(moment: float) -> str:
    """Return a time in UTC for people, to the second only where it needs it.

    >>> shown(0.0), shown(90.5)
    ('1970-01-01 00:00 UTC', '1970-01-01 00:01:30 UTC')
    """
    try:
        found = utc(moment)
    except (OverflowError, ValueError):  # beyond the years that have names
        return f"{moment:g} s"
    text = f"{found:%m-%d %H:%M}" + (f":{found:%S}" if found.second else "")
    return f"{found.year:04}-{text} UTC"


def calendar_edges(start: float, end: float, step: CalendarStep, zone: tzinfo) -> list[float]:
    """Return the local midnights that begin each step, from at or before `start` to `end`.

    Weeks begin on Monday. The last edge is the first at or after `end`. Steps differ in length
    when the clocks change. Raises ValueError outside the years 1 to 9999.
    """
    utc(end)
    # In whole seconds, because a datetime would round the last half microsecond of a day up.
    day = utc(math.floor(start)).astimezone(zone).date()
    if step == "week":
        day -= timedelta(days=day.weekday())
    elif step == "month":
        day = day.replace(day=1)
    edges = [_midnight(day, zone)]
    while edges[-1] < end:
        day = _next_day(day, step)
        edges.append(_midnight(day, zone))
    return edges


def _next_day(day: date, step: CalendarStep) -> date:
    if step == "month":
        return (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    return day + timedelta(days=7 if step == "week" else 1)


def _midnight(day: date, zone: tzinfo) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name, such as America/New_York."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"tz must be a known time zone such as Europe/Berlin, got {name!r}"
        ) from None
