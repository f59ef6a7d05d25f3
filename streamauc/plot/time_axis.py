"""Times on an axis and in words, in the time zone of the reader."""

from collections.abc import Callable
from dataclasses import dataclass
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
# How near ticks may be to each other, as a share of the widest gap.
_NEAREST = 0.6

# Their types are said here, because `matplotlib.dates` does not.
_date_numbers: Callable[[NDArray[np.datetime64]], FloatArray] = dates.date2num
_date_locator: Callable[..., Locator] = dates.AutoDateLocator
_date_formatter: Callable[..., Formatter] = dates.ConciseDateFormatter


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a panel shows, from `start` to `end`; ``nan`` where it shows none."""

    start: float
    end: float

    @property
    def is_dated(self) -> bool:
        """Whether the axis is one of dates; otherwise it counts seconds since the epoch."""
        return is_dated(self.start, self.end)

    def positions(self, seconds: FloatArray) -> FloatArray:
        """Return where on the axis moments within the span are."""
        return positions(seconds) if self.is_dated else seconds

    def part(self, low: float, high: float) -> tuple[float, float] | None:
        """Return where on the axis the part of [low, high] that is shown lies, if there is one."""
        # Unlike max and min, these let the nan of an empty span through.
        first, last = np.maximum(low, self.start), np.minimum(high, self.end)
        if not first <= last:
            return None
        left, right = self.positions(np.array([first, last])).tolist()
        return left, right

    def show(self, ax: Axes, zone: tzinfo) -> None:
        """Label the x axis: with dates in a time zone, or with seconds."""
        if self.is_dated:
            show_dates(ax, zone)
        else:
            ax.set_xlabel("time (s since the epoch)")


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
    ax.xaxis.set_major_locator(_Apart(locator))
    formatter = _date_formatter(
        locator,
        tz=zone,
        formats=["%Y", "%b", _DAY, _MINUTE, _MINUTE, "%H:%M:%S"],
        zero_formats=["", "%Y", _DAY, _DAY, _MINUTE, "%H:%M:%S"],
        offset_formats=["", "%Y", "%Y", f"{_DAY} %Y", f"{_DAY} %Y", f"{_DAY} %Y"],
    )
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel(f"time ({zone})")


class _Apart(Locator):
    """The ticks of another locator but those that nearly touch the next: the 29th and the 1st."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator

    def __call__(self) -> list[float]:
        self._locator.set_axis(self.axis)
        return _apart(np.array(self._locator()))

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the ticks between two places."""
        return _apart(np.array(self._locator.tick_values(vmin, vmax)))


def _apart(ticks: FloatArray) -> list[float]:
    """Return rising ticks without those that the next one follows too soon."""
    gaps = np.diff(ticks)
    if not gaps.size:
        return [float(tick) for tick in ticks]
    kept = np.append(gaps >= _NEAREST * gaps.max(), True)
    return [float(tick) for tick in ticks[kept]]


def moment(seconds: float, zone: tzinfo, *, with_clock: bool) -> str:
    """Return a moment as the axis writes its days, and the time of day if asked for.

    >>> moment(1_386_630_000, UTC, with_clock=False), moment(1_386_630_000, UTC, with_clock=True)
    ('09 Dec', '09 Dec 23:00')
    """
    local = _time.utc(seconds).astimezone(zone)
    return local.strftime(f"{_DAY} {_MINUTE}" if with_clock else _DAY)


def period(start: float, end: float, zone: tzinfo) -> str:
    """Return the span [start, end) in words; whole days by their first and last.

    >>> period(0, 172_800, UTC)
    '1970-01-01 to 1970-01-02, UTC'
    >>> period(0, 90, UTC)
    '1970-01-01 00:00:00 to 00:01:30, UTC'
    """
    if not is_dated(start, end):
        return f"{start:.10g} to {end:.10g} s since the epoch"
    first, after = (_time.utc(seconds).astimezone(zone) for seconds in (start, end))
    if _is_midnight(first) and _is_midnight(after):
        last = after.date() - timedelta(days=1)
        days = [first.date().isoformat(), last.isoformat()]
        return f"{' to '.join(dict.fromkeys(days))}, {zone}"
    clock = "%H:%M" if first.second == after.second == 0 else "%H:%M:%S"
    to = clock if first.date() == after.date() else f"%Y-%m-%d {clock}"
    return f"{first.strftime(f'%Y-%m-%d {clock}')} to {after.strftime(to)}, {zone}"


def _is_midnight(local: datetime) -> bool:
    return local.timetz().replace(tzinfo=None) == datetime.min.time()
