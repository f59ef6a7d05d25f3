"""How many events had been offered and rejected by the time of each evaluation.

Rejected events are in no pane, so what became of them lately is the difference between two
evaluations. Those of the past are remembered ever more sparsely: time is cut into slots of a
power of two seconds, at most an eighth of their age, and of each slot the first is kept. So of an
age there is one up to a third older, if there were that many, and of a week of minutes about 100.
As slots of twice the length are unions of two, the first of each has not been forgotten before.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from streamauc import _time

# As far back as a rule may look.
MAX_LAST = 7 * 86_400.0
_SLOTS = 8

Book = dict[str, tuple["Tally", ...]]


class Tally(NamedTuple):
    """What had been offered and rejected by a time, in seconds since the epoch."""

    at: float
    n_offered: int
    n_rejected: int


def grown(earlier: Sequence[Tally], newest: Tally, began: float) -> tuple[Tally, ...]:
    """Return the tallies with another one, oldest first; before the first is when counting began.

    What can't have been before `newest` is forgotten. `began` may be ``inf``, as when all events
    so far were rejected. O(n_tallies).
    """
    kept = [
        one
        for one in earlier
        if one.at < newest.at
        and one.n_offered <= newest.n_offered
        and one.n_rejected <= newest.n_rejected
    ]
    first = kept or [Tally(min(began, newest.at), 0, 0)]
    return _thinned([*first, newest])


def _thinned(tallies: Sequence[Tally]) -> tuple[Tally, ...]:
    newest = tallies[-1]
    first = {_slot(one.at, newest.at - one.at): one for one in reversed(tallies[:-1])}
    kept = sorted(first.values())
    # One that is older than any rule looks back, for those that look back furthest.
    begin = max(0, sum(newest.at - one.at >= MAX_LAST for one in kept) - 1)
    return (*kept[begin:], newest)


def _slot(at: float, age: float) -> tuple[float, float]:
    """Return the length of the slot that holds a time, and its number."""
    length = 2.0 ** math.floor(math.log2(max(age / _SLOTS, 2.0**-20)))
    return length, at // length


def base_of(tallies: Sequence[Tally], last: float) -> Tally | None:
    """Return since when to count, so as to speak of the `last` seconds; None if that is not known.

    That is the latest tally at least so long ago; if it is more than twice as old, the earliest
    after it, as when checking has just begun; if there is none, as when checks are rarer than
    that, the check before this one. When counting began was no check, and counts only if it was
    not that long ago, or if the share is the same since any time.
    """
    if not tallies:
        return None
    limit = tallies[-1].at - last
    old = [one for one in tallies[:-1] if one.at <= limit]
    young = [one for one in tallies[:-1] if one.at > limit]
    if old and old[-1].at >= limit - last:
        return old[-1]
    if young:
        return young[0]
    newest = tallies[-1]
    # If none was ever rejected, or all were, that holds since any time.
    is_clear = newest.n_rejected in (0, newest.n_offered)
    return old[-1] if old and (old[-1].n_offered or is_clear) else None


def since_shown(base: Tally, now: float) -> str:
    """Return since when was counted, in words."""
    if base.at >= now:
        return "since counting began"
    try:
        began, moment = _time.utc(base.at), _time.utc(now)
    except ValueError:  # too far away for a date
        return f"since {base.at:.0f}"
    day = "" if began.date() == moment.date() else f"{began:%Y-%m-%d} "
    return f"since {day}{began:%H:%M} UTC"


def dumps(book: Mapping[str, Sequence[Tally]]) -> bytes:
    """Return the tallies of all series as JSON."""
    return json.dumps(book, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()


def loads(data: bytes) -> Book:
    """Return what `dumps` wrote. Raises ValueError for anything else."""
    try:
        return {
            name: tuple(Tally(float(at), int(n), int(bad)) for at, n, bad in rows)
            for name, rows in json.loads(data).items()
        }
    except (AttributeError, TypeError) as error:
        raise ValueError(f"tallies must be lists of three numbers by series: {error}") from error
