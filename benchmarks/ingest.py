"""`update_many` against `np.bincount` over ready-made indices of the same events, and the peers."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.data import FloatArray, IntArray, kinds, logistic, over
from benchmarks.timing import Row, race
from streamauc import Monitor

_SUITE = "ingest"
_TIERS = ((60, "2d"), (3600, "90d"), (86_400, "5y"))


_MONITOR = "Monitor"
_THRESHOLDS = "torchmetrics, 200 thresholds"
# How many times as fast as the fastest peer, by the size of the batches.
_FASTER = {100_000: 7.0, 1_000: 1.0}
_FASTER_THAN_THRESHOLDS = 80.0


def run(*, quick: bool) -> Iterator[Row]:
    """Yield a row for each order of times, then a monitor and its peers in batches."""
    yield from _beside_bincount(quick=quick)
    yield from _beside_peers(quick=quick)


def _beside_bincount(*, quick: bool) -> Iterator[Row]:
    n, rounds = (200_000, 5) if quick else (1_000_000, 15)
    y_true, y_score = logistic(n)
    indices = _ready(y_true, y_score)
    in_one = over(1, n)
    columns = {
        "one pane": (in_one, 4.0),
        "1,000 panes, time order": (over(1_000, n), 8.0),
        "1,000 panes, random order": (over(1_000, n, ordered=False), 15.0),
    }
    runners: dict[str, Callable[[], object]] = {"bincount": lambda: np.bincount(indices)}
    for name, (times, _) in columns.items():
        runners[name] = partial(_whole, y_true, y_score, times)
    runners["batches of 1,000"] = lambda: _in_batches(y_true, y_score, in_one, 1_000)
    medians = race(runners, rounds)
    yardstick = medians.pop("bincount")
    yield Row(_SUITE, "np.bincount, ready indices", yardstick / n * 1e9, "ns/event")
    limits = {name: limit for name, (_, limit) in columns.items()} | {"batches of 1,000": 30.0}
    for name, seconds in medians.items():
        detail = f"{seconds / n * 1e9:.1f} ns/event"
        yield Row(_SUITE, name, seconds / yardstick, "x bincount", limits[name], detail)


def _ready(y_true: IntArray, y_score: FloatArray) -> IntArray:
    scale = Monitor(clock="event").scale
    return 2 * scale.bins(y_score) + y_true


def _whole(y_true: IntArray, y_score: FloatArray, times: FloatArray) -> None:
    Monitor(tiers=_TIERS, clock="event").update_many(y_true, y_score, times)


def _in_batches(y_true: IntArray, y_score: FloatArray, times: FloatArray, size: int) -> None:
    monitor = Monitor(tiers=_TIERS, clock="event")
    for start in range(0, y_true.size, size):
        stop = start + size
        monitor.update_many(y_true[start:stop], y_score[start:stop], times[start:stop])


def _beside_peers(*, quick: bool) -> Iterator[Row]:
    n, rounds = (500_000, 3) if quick else (1_000_000, 11)
    found, missing = peers.sort_out(peers.BOUNDED)
    for name, (y_true, y_score) in kinds(n).items():
        for size in _FASTER:
            what = f"batches of {size:,}, {name}"
            yield from _one_size(what, size, y_true, y_score, found, rounds)
    for one in missing:
        yield Row.missing(_SUITE, f"batches, {one.name}", one.reason)


def _one_size(
    what: str,
    size: int,
    y_true: IntArray,
    y_score: FloatArray,
    rivals: Sequence[peers.Kind],
    rounds: int,
) -> Iterator[Row]:
    """Yield what an event costs in a monitor and in each peer, then the ratios asked for."""
    n = y_true.size
    minute, minutes = over(1, n), over(max(1, n // 1_000), n)
    runners: dict[str, Callable[[], object]] = {
        _MONITOR: lambda: _in_batches(y_true, y_score, minute, size),
        f"{_MONITOR}, 1,000 events a minute": lambda: _in_batches(y_true, y_score, minutes, size),
    }
    sizes = dict.fromkeys(runners, n)
    for kind in rivals:
        sizes[kind.name] = enough = min(n, max(size, kind.n_batched))
        runners[kind.name] = partial(_fill, kind, y_true[:enough], y_score[:enough], size)
    medians = race(runners, rounds, clock=time.process_time)
    costs = {name: seconds / sizes[name] * 1e9 for name, seconds in medians.items()}
    for name, cost in costs.items():
        detail = (
            "" if name == _MONITOR else f"{cost / costs[_MONITOR]:.1f} x the monitor in a minute"
        )
        yield Row(_SUITE, f"{name}: {what}", cost, "ns/event", detail=detail)
    theirs = {kind.name: costs[kind.name] / costs[_MONITOR] for kind in rivals}
    if theirs:
        fastest = min(theirs, key=lambda name: theirs[name])
        ratio = theirs[fastest]
        yield Row(
            _SUITE, f"fastest peer by monitor: {what}", ratio, "x", None, fastest, _FASTER[size]
        )
    if _THRESHOLDS in theirs and size == max(_FASTER):
        ratio, limit = theirs[_THRESHOLDS], _FASTER_THAN_THRESHOLDS
        yield Row(_SUITE, f"{_THRESHOLDS}, by monitor: {what}", ratio, "x", at_least=limit)


def _fill(kind: peers.Kind, y_true: IntArray, y_score: FloatArray, size: int) -> None:
    """Hand a stream to a new peer in batches."""
    peer = kind.make()
    for start in range(0, y_true.size, size):
        peer.update_many(y_true[start : start + size], y_score[start : start + size])
