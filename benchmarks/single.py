"""`update`, one event at a time, against an empty method call in the same loop, and the peers."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from benchmarks import peers
from benchmarks.data import FloatArray, IntArray, kinds, logistic, over
from benchmarks.timing import Row, percentile, race
from streamauc import Monitor

_SUITE = "single event"
_TIERS = ((60, "2d"), (3600, "90d"), (86_400, "5y"))
Event = tuple[int, float, float]


_MONITOR = "Monitor.update, folds included"
_KLL = "two KLL sketches, k = 200"


class _Update(Protocol):
    def __call__(self, label: int, score: float, timestamp: float) -> None:
        """Take one event."""


class _Empty:
    def update(self, label: int, score: float, timestamp: float) -> None:
        """Do nothing: what a call costs."""


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the cost of a call, its 99.9th percentile while another thread polls, and the peers."""
    yield from _beside_empty(quick=quick)
    yield from _beside_peers(quick=quick)


def _beside_empty(*, quick: bool) -> Iterator[Row]:
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
        clock=time.process_time,
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
    return _timed_events(*logistic(n))


def _timed_events(y_true: IntArray, y_score: FloatArray) -> list[Event]:
    n = y_true.size
    times = over(max(1, n // 1_000), n)
    return list(zip(y_true.tolist(), y_score.tolist(), times.tolist(), strict=True))


def _feed(update: _Update, events: list[Event]) -> None:
    for label, score, timestamp in events:
        update(label, score, timestamp)


def _pauses(events: list[Event], *, polling: bool) -> list[float]:
    """Return how long each call took, with or without a thread that polls.

    Garbage is collected as it comes, as in a service.
    """
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


def _beside_peers(*, quick: bool) -> Iterator[Row]:
    """Yield what an event costs in a monitor and in each peer with bounded memory."""
    n, rounds = (100_000, 5) if quick else (300_000, 15)
    events = _events(n)
    found, missing = peers.sort_out(peers.BOUNDED)
    runners: dict[str, Callable[[], object]] = {_MONITOR: lambda: _fold(events)}
    sizes = {_MONITOR: n}
    for kind in found:
        sizes[kind.name] = enough = min(n, kind.n_single)
        pairs = [(label, score) for label, score, _ in events[:enough]]
        runners[kind.name] = partial(_feed_peer, kind, pairs)
    medians = race(runners, rounds, clock=time.process_time)
    costs = {name: seconds / sizes[name] * 1e9 for name, seconds in medians.items()}
    for name, cost in costs.items():
        detail = "" if name == _MONITOR else f"{cost / costs[_MONITOR]:.1f} x the monitor"
        yield Row(_SUITE, f"{name}, one by one", cost, "ns/event", detail=detail)
    for kind in found:
        if kind.name == _KLL:
            yield from _beside_sketches(kind, n, rounds)
    for one in missing:
        yield Row.missing(_SUITE, f"{one.name}, one by one", one.reason)


def _beside_sketches(kll: peers.Kind, n: int, rounds: int) -> Iterator[Row]:
    """Yield the ratio that was asked for, on each kind of stream."""
    for name, (y_true, y_score) in kinds(n).items():
        events = _timed_events(y_true, y_score)
        pairs = [(label, score) for label, score, _ in events]
        runners = {"ours": partial(_fold, events), "theirs": partial(_feed_peer, kll, pairs)}
        medians = race(runners, rounds, clock=time.process_time)
        ratio = medians["ours"] / medians["theirs"]
        yield Row(_SUITE, f"Monitor.update beside two KLL sketches, {name}", ratio, "x", 1.0)


def _fold(events: list[Event]) -> None:
    """Count events one by one, down to the last: asking for the bytes folds what waits."""
    monitor = Monitor(tiers=_TIERS, clock="event")
    _feed(monitor.update, events)
    assert monitor.nbytes > 0


def _feed_peer(kind: peers.Kind, events: list[tuple[int, float]]) -> None:
    peer = kind.make()
    update = peer.entry()
    for label, score in events:
        update(label, score)
    if kind.is_window:
        assert peer.roc_auc() > 0  # it only puts events aside until it is asked
