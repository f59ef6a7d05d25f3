"""When the newest event was, found by asking for windows."""

import math
from collections.abc import Callable

from streamauc.window import Window


def newest_event(read: Callable[[float, float], Window], now: float) -> float:
    """Return the end of the newest pane that holds events, at most `now`; ``nan`` without any.

    Bisects, in O(log n_panes) windows.
    """
    whole = read(now, math.nextafter(now, math.inf))
    if _has_events(whole):
        return now
    low, high = whole.observed_since, whole.start
    if not low < high or not _has_events(read(low, high)):
        return math.nan
    while low < high:  # there are events in [low, high), and none from `high` on
        middle = (low + high) / 2
        pane = read(middle, math.nextafter(middle, math.inf))
        if pane.end < high and _has_events(read(pane.end, high)):
            low = pane.end
        elif _has_events(pane):
            return min(now, pane.end)
        else:
            high = pane.start
    return math.nan


def _has_events(window: Window) -> bool:
    parts = (*window.parts, *window.predicted_parts)
    return any(bool(part.totals.sum()) for part in parts)
