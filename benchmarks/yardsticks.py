"""What the machine needs for the same events at the very least, and what we need.

The bytes copied, the counting alone, a compiled loop that does no more than is necessary, and
what a call costs before anything is done in it.
"""

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Protocol

import numpy as np

from benchmarks.data import FloatArray, IntArray, logistic, over
from benchmarks.timing import Row, race
from streamauc import Monitor

_SUITE = "yardsticks"
_TIERS = ((60, "2d"), (3600, "90d"), (86_400, "5y"))
_BITS = 7
_SHIFT = 52 - _BITS
_BASE = (1023 - 65) << _BITS


class _Pass(Protocol):
    def __call__(self, y_true: IntArray, y_score: FloatArray, counts: IntArray) -> None:
        """Add the events to `counts`, 2 numbers a bin."""


class _Empty:
    def update(self, label: int, score: float, timestamp: float) -> None:
        """Do nothing."""


def run(*, quick: bool) -> Iterator[Row]:
    """Yield nanoseconds an event."""
    n, rounds = (200_000, 7) if quick else (1_000_000, 31)
    y_true, y_score = logistic(n)
    times = over(1, n)
    n_bins = Monitor(clock="event").scale.n_bins or 0
    indices = 2 * Monitor(clock="event").scale.bins(y_score) + y_true
    counts = np.zeros(2 * n_bins, dtype=np.int64)
    columns = [(column, np.empty_like(column)) for column in (y_true, y_score, times)]
    events = list(zip(y_true.tolist(), y_score.tolist(), times.tolist(), strict=True))[:50_000]
    runners: dict[str, Callable[[], object]] = {
        "copying the bytes of labels, scores and times": lambda: _copy(columns),
        "np.bincount on ready indices": lambda: np.bincount(indices),
        "Monitor.update_many, one minute": lambda: _whole(y_true, y_score, times),
        "an empty method call": lambda: _call(_Empty(), events),
    }
    compiled, reason = compiled_pass()
    what = "a compiled pass from scores to counts (numba)"
    if compiled is not None:
        one_pass = compiled
        one_pass(y_true, y_score, counts)  # compiles it
        assert np.array_equal(counts, np.bincount(indices, minlength=counts.size))
        runners[what] = lambda: one_pass(y_true, y_score, counts)
    medians = race(runners, rounds, clock=time.process_time)
    for name, seconds in medians.items():
        size = len(events) if name == "an empty method call" else n
        yield Row(_SUITE, name, seconds / size * 1e9, "ns/event")
    if compiled is None:
        yield Row.missing(_SUITE, what, reason)


def compiled_pass() -> tuple[_Pass | None, str]:
    """Return the loop that numba compiles when first called, or None and why there is none."""
    try:
        numba = import_module("numba")
    except ImportError as error:
        return None, str(error)
    made: _Pass = numba.njit(_pass)
    return made, ""


def _pass(y_true: IntArray, y_score: FloatArray, counts: IntArray) -> None:
    for row in range(y_score.size):
        odds = y_score[row] / (1.0 - y_score[row])
        counts[2 * ((np.float64(odds).view(np.int64) >> _SHIFT) - _BASE) + y_true[row]] += 1


def _copy(columns: list[tuple[FloatArray | IntArray, FloatArray | IntArray]]) -> None:
    for column, target in columns:
        np.copyto(target, column)


def _whole(y_true: IntArray, y_score: FloatArray, times: FloatArray) -> None:
    Monitor(tiers=_TIERS, clock="event").update_many(y_true, y_score, times)


def _call(empty: _Empty, events: list[tuple[int, float, float]]) -> None:
    update = empty.update
    for label, score, timestamp in events:
        update(label, score, timestamp)
