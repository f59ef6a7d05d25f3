"""The AUC of the last n events, read after every event, every hundred, and rarely; beside River's.

River's `RollingROCAUC` gets the same events in the same rounds. Where a speed was asked for, the
row shows its inverse, the cost, as all rows do.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Protocol

import numpy as np

from benchmarks.data import FloatArray, IntArray, logistic
from benchmarks.timing import Row, race
from streamauc.sliding import SlidingWindow

_SUITE = "sliding"
Event = tuple[int, float]


class _Peer(Protocol):
    def update(self, y_true: int, y_pred: float) -> None:
        """Take in an event."""

    def get(self) -> float:
        """Return the AUC."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How often somebody reads; by size of the window, events a round and the most it may cost."""

    what: str
    every: int
    n_events: dict[int, int]
    most: dict[int, float]


_READINGS = (
    _Reading(
        "read after every event",
        1,
        {100: 20_000, 1_000: 10_000, 10_000: 4_000, 100_000: 500},
        {100: 1 / 0.9, 1_000: 1 / 2, 10_000: 1 / 8, 100_000: 1 / 60},
    ),
    _Reading(
        "read every 100 events",
        100,
        {1_000: 20_000, 10_000: 10_000, 100_000: 3_000},
        {1_000: 2.0, 10_000: 2.5, 100_000: 0.6},
    ),
    _Reading(
        "read every 20,000 events",
        20_000,
        {1_000: 60_000, 10_000: 60_000, 100_000: 40_000},
        {1_000: 1 / 1.3, 10_000: 1 / 1.3, 100_000: 1 / 1.3},
    ),
)


def _rounded(n: int) -> tuple[IntArray, FloatArray]:
    y_true, y_score = logistic(n)
    return y_true, np.round(y_score, 3)


_STREAMS: dict[str, Callable[[int], tuple[IntArray, FloatArray]]] = {
    "30 %": logistic,
    "1 %": lambda n: logistic(n, prevalence=0.01),
    "30 %, three decimals": _rounded,
}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the cost of an event beside River's, by how often it is read and how many are kept."""
    try:
        make = import_module("river.metrics").RollingROCAUC
    except ImportError:
        yield Row(_SUITE, "River is missing: pip install '.[bench]'", math.nan, "")
        return
    for reading, (kind, stream) in product(_READINGS, _STREAMS.items()):
        for size in reading.most:
            yield _row(reading, size, kind, stream, make(window_size=size), 3 if quick else 11)


def _row(
    reading: _Reading,
    size: int,
    kind: str,
    stream: Callable[[int], tuple[IntArray, FloatArray]],
    peer: _Peer,
    rounds: int,
) -> Row:
    n = reading.n_events[size]
    y_true, y_score = stream(size + (rounds + 1) * n)
    events = list(zip(y_true.tolist(), y_score.tolist(), strict=True))
    window = SlidingWindow(size)
    for label, score in events[:size]:
        window.update(label, score)
        peer.update(label, score)
    batches = [events[start : start + n] for start in range(size, len(events), n)]
    feeds = {
        "ours": _each(batches, lambda batch: _feed(window, batch, reading.every)),
        "River": _each(batches, lambda batch: _feed_peer(peer, batch, reading.every)),
    }
    for feed in feeds.values():  # the first round is not timed: the window finds its form
        feed()
    medians = race(feeds, rounds)
    ours, theirs = medians["ours"], medians["River"]
    detail = (
        f"{ours / n * 1e6:.3g} us an event, River {theirs / n * 1e6:.3g} us: {theirs / ours:.2f} x"
        f" its speed, asked for {1 / reading.most[size]:.2f} x"
    )
    what = f"{reading.what}, the last {size:,}, {kind}"
    return Row(_SUITE, what, ours / theirs, "x River's cost", reading.most[size], detail)


def _each(
    batches: Sequence[list[Event]], feed: Callable[[list[Event]], None]
) -> Callable[[], None]:
    """Return what feeds the next batch whenever it is called."""
    remaining = iter(batches)
    return lambda: feed(next(remaining))


def _feed(window: SlidingWindow, events: list[Event], every: int) -> None:
    update = window.update
    if every == 1:
        for label, score in events:
            update(label, score)
            assert window.roc_auc != -1
        return
    for start in range(0, len(events), every):
        for label, score in events[start : start + every]:
            update(label, score)
        assert window.roc_auc != -1


def _feed_peer(peer: _Peer, events: list[Event], every: int) -> None:
    update, get = peer.update, peer.get
    if every == 1:
        for label, score in events:
            update(label, score)
            assert get() != -1
        return
    for start in range(0, len(events), every):
        for label, score in events[start : start + every]:
            update(label, score)
        assert get() != -1
