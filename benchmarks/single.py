"""`update`, one event at a time, against an empty method call in the same loop."""

import threading
import time
from collections.abc import Iterator
from typing import Protocol

from benchmarks.data import logistic, over
from benchmarks.timing import Row, percentile, race
from streamauc import Monitor

_SUITE = "single event"
_TIERS = ((60, "2d"), (3600, "90d"), (86_400, "5y"))
Event = tuple[int, float, float]


class _Update(Protocol):
    def __call__(self, label: int, score: float, timestamp: float) -> None:
        """Take one event."""


class _Empty:
    def update(self, label: int, score: float, timestamp: float) -> None:
        """Do nothing: what a call costs."""


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the cost of a call, and its 99.9th percentile while another thread polls."""
    n, rounds = (50_000, 5) if quick else (300_000, 15)
    events = _events(n)
    recent = [(label, score, when + time.time() - events[-1][2]) for label, score, when in events]
    medians = race(
        {
            "empty": lambda: _feed(_Empty().update, events),
            "update": lambda: _feed(Monitor(tiers=_TIERS, clock="event").update, events),
            "wall": lambda: _feed(Monitor(tiers=_TIERS).update, recent),
        },
        rounds,
    )
    empty = medians["empty"]
    yield Row(_SUITE, "empty three-argument method", empty / n * 1e9, "ns/event")
    for name, what in (("update", "Monitor.update"), ("wall", "the same, clock of time")):
        detail = f"{medians[name] / n * 1e9:.0f} ns/event"
        yield Row(_SUITE, what, medians[name] / empty, "x empty call", 6.0, detail)
    for polling, what in ((False, "alone"), (True, "polled ten times a second")):
        pauses = _pauses(events * (1 if quick else 4), polling=polling)
        detail = f"worst {max(pauses) * 1e6:.0f} us"
        limit = 1_000.0 if polling else None
        yield Row(
            _SUITE, f"99.9 % of calls, {what}", percentile(pauses, 0.999) * 1e6, "us", limit, detail
        )


def _events(n: int) -> list[Event]:
    y_true, y_score = logistic(n)
    times = over(max(1, n // 1_000), n)
    return list(zip(y_true.tolist(), y_score.tolist(), times.tolist(), strict=True))


def _feed(update: _Update, events: list[Event]) -> None:
    for label, score, timestamp in events:
        update(label, score, timestamp)


def _pauses(events: list[Event], *, polling: bool) -> list[float]:
    """Return how long each call took, with or without a thread that polls."""
    monitor = Monitor(tiers=_TIERS, clock="event")
    done = threading.Event()

    def poll() -> None:
        while not done.wait(0.1):
            assert monitor.window(last="1h").roc_auc != 0

    poller = threading.Thread(target=poll)
    if polling:
        poller.start()
    found = []
    for label, score, timestamp in events:
        begin = time.perf_counter()
        monitor.update(label, score, timestamp)
        found.append(time.perf_counter() - begin)
    done.set()
    if polling:
        poller.join()
    return found
