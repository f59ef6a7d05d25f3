"""`update_many` against `np.bincount` over ready-made indices of the same events."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.data import FloatArray, IntArray, logistic, over
from benchmarks.timing import Row, race
from streamauc import Monitor

_SUITE = "ingest"
_TIERS = ((60, "2d"), (3600, "90d"), (86_400, "5y"))


def run(*, quick: bool) -> Iterator[Row]:
    """Yield a row for each order of times."""
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
    runners["batches of 1,000"] = lambda: _in_batches(y_true, y_score, in_one)
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


def _in_batches(y_true: IntArray, y_score: FloatArray, times: FloatArray) -> None:
    monitor = Monitor(tiers=_TIERS, clock="event")
    for start in range(0, y_true.size, 1_000):
        stop = start + 1_000
        monitor.update_many(y_true[start:stop], y_score[start:stop], times[start:stop])
