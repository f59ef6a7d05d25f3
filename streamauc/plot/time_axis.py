"""Times on an axis and in words, in the time zone of the reader."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.ticker import Formatter, Locator
from numpy.typing import NDArray

from streamauc import _time
from streamauc._check import FloatArray

# A year's room at either end, because a date axis looks beyond what it shows.
_DATED = tuple(datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2, 9998))
_DAY, _MINUTE = "%d %b", "%H:%M"

# Their types are said here, because `matplotlib.dates` does not.
_date_numbers: Callable[[NDArray[np.datetime64]], FloatArray] = dates.date2num
_date_locator: Callable[..., Locator] = dates.AutoDateLocator
_date_formatter: Callable[..., Formatter] = dates.ConciseDateFormatter


def is_dated(start: float, end: float) -> bool:
    """Return whether a span lies in the years that calendars here know."""
    return _DATED[0] <= start <= end <= _DATED[1]


def positions(seconds: FloatArray) -> FloatArray:
    """Return seconds since the epoch as positions on a date axis."""
    moments = np.round(seconds * 1e6).astype("datetime64[us]")
    return _date_numbers(moments)


def show_dates(ax: Axes, zone: tzinfo) -> None:
    """Make the x axis one of dates in a time zone, with few and short labels."""
    locator = _date_locator(tz=zone, minticks=4, maxticks=9)
    ax.xaxis.set_major_locator(locator)
    formatter = _date_formatter(
        locator,
        tz=zone,
        formats=["%Y", "%b", _DAY, _MINUTE, _MINUTE, "%H:%M:%S"],
        zero_formats=["", "%Y", _DAY, _DAY, _MINUTE, "%H:%M:%S"],
        offset_formats=["", "%Y", "%Y", f"{_DAY} %Y", f"{_DAY} %Y", f"{_DAY} %Y"],
    )
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel(f"time ({zone})")


def period(start: float, end: float, zone: tzinfo) -> str:
    """Return the span [start, end) in words; whole days by their first and last.

    >>> period(0, 172_800, UTC)
    '1970-01-01 to 1970-01-02, UTC'
    >>> period(0, 90, UTC)
    '1970-01-01 00:00:00 to 00:01:30, UTC'
    """
    if not is_dated(start, end):
        return f"{start:.10g} to {end:.10g} s since the epoch"
    first, after = (_time.utc(moment).astimezone(zone) for moment in (start, end))
    if _is_midnight(first) and _is_midnight(after):
        last = after.date() - timedelta(days=1)
        days = [first.date().isoformat(), last.isoformat()]
        return f"{' to '.join(dict.fromkeys(days))}, {zone}"
    clock = "%H:%M" if first.second == after.second == 0 else "%H:%M:%S"
    to = clock if first.date() == after.date() else f"%Y-%m-%d {clock}"
    return f"{first.strftime(f'%Y-%m-%d {clock}')} to {after.strftime(to)}, {zone}"


def _is_midnight(moment: datetime) -> bool:
    return moment.timetz().replace(tzinfo=None) == datetime.min.time()
