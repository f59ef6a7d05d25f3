"""Times, lengths and sizes as people write them."""

import math
from datetime import datetime

from streamauc import _time

_UNITS = ((365 * 86_400, "y"), (86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_LONG = ((365 * 86_400, "year"), (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def length(seconds: float) -> str:
    """Return a length of time in the largest unit that fits it.

    >>> length(60), length(172_800), length(5 * 365 * 86_400), length(90)
    ('1m', '2d', '5y', '90s')
    """
    if math.isinf(seconds):
        return "for ever"
    size, unit = next(
        ((size, unit) for size, unit in _UNITS if seconds % size == 0 and seconds >= size),
        (1, "s"),
    )
    return f"{seconds / size:.10g}{unit}"


def span(seconds: float) -> str:
    """Return about how long something takes.

    >>> span(0.2), span(61), span(7_300), span(3 * 86_400)
    ('0 seconds', '1 minute', '2 hours', '3 days')
    """
    size, unit = next(((size, unit) for size, unit in _LONG if seconds >= size), _LONG[-1])
    return plural(int(seconds // size), unit)


def ago(moment: float, now: float) -> str:
    """Return how long ago something was, or in how long it will be.

    >>> ago(0.0, 61), ago(7_300, 0.0), ago(0.0, 0.5)
    ('1 minute ago', 'in 2 hours', 'just now')
    """
    if abs(now - moment) < 1:
        return "just now"
    return f"{span(now - moment)} ago" if moment <= now else f"in {span(moment - now)}"


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    >>> plural(1, "pane"), plural(1_200, "pane"), plural(0, "series")
    ('1 pane', '1,200 panes', '0 series')
    """
    return f"{number:,} {noun}{'' if number == 1 or noun == 'series' else 's'}"


def moment(seconds: float) -> str:
    """Return a time in UTC, to the second only where it needs it.

    >>> moment(0.0), moment(90.5)
    ('1970-01-01 00:00', '1970-01-01 00:01:30')
    """
    found = _at(seconds)
    if found is None:
        return f"{seconds:.0f} s"
    text = f"{found:%m-%d %H:%M}" + (f":{found:%S}" if found.second else "")
    return f"{found.year:04}-{text}"


def iso(seconds: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC; None where there is none, or none that has a name."""
    found = None if seconds is None or not math.isfinite(seconds) else _at(seconds)
    return None if found is None else found.isoformat()


def _at(seconds: float) -> datetime | None:
    try:
        return _time.utc(seconds)
    except (OverflowError, ValueError):  # beyond the year 9999
        return None


def size(n_bytes: float) -> str:
    """Return a number of bytes.

    >>> size(999), size(40_960), size(1_234_567)
    ('999 bytes', '41.0 kB', '1.2 MB')
    """
    if n_bytes < 1_000:
        return plural(int(n_bytes), "byte")
    power = 1 if n_bytes < 999_950 else 2 if n_bytes < 999_950_000 else 3
    return f"{n_bytes / 1_000**power:,.1f} {('kB', 'MB', 'GB')[power - 1]}"
