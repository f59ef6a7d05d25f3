"""Predictions whose labels come later, against a dict of the same keys."""

import subprocess
import sys
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from benchmarks.data import FloatArray
from benchmarks.timing import Row, race
from streamauc import Monitor

_SUITE = "join"
_BATCH = 100_000
_MEMORY_LIMIT = 260.0
# Run in a process of its own, so that nothing but the monitor holds the keys.
_OPEN_MANY = """
import gc
import sys
from pathlib import Path
from streamauc import Monitor


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


monitor = Monitor(clock="event")
monitor.predict("txn", 0.5, 0.0)
monitor.resolve("txn", 1)
monitor.flush()
gc.collect()
before = resident()
for i in range(int(sys.argv[1])):
    monitor.predict(f"txn-{i:010d}", i % 1_000 / 1_000, i * 0.05)
monitor.flush()
assert monitor.stats.n_open == int(sys.argv[1])
print(resident() - before)
"""


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the memory of open predictions, and what joining costs, alone and in batches."""
    n, rounds = (100_000, 3) if quick else (1_000_000, 5)
    megabytes = _grown_by(n) / 1e6 * (1_000_000 / n)
    yield Row(_SUITE, "a million open predictions", megabytes, "MB", _MEMORY_LIMIT)
    keys: list[Hashable] = [f"txn-{i:010d}" for i in range(n)]
    yield from _singles(keys, rounds)
    yield from _batches(keys, rounds)


def _grown_by(n: int) -> int:
    """Return by how many bytes a process grows with so many open predictions."""
    done = subprocess.run(  # noqa: S603 - a program of our own
        [sys.executable, "-c", _OPEN_MANY, str(n)],
        capture_output=True,
        check=True,
        text=True,
    )
    return int(done.stdout)


def _singles(keys: Sequence[Hashable], rounds: int) -> Iterator[Row]:
    events = [(key, i % 1_000 / 1_000, i * 0.05) for i, key in enumerate(keys)]
    labels = [(key, i % 2) for i, key in enumerate(keys)]

    def join() -> None:
        monitor = Monitor(clock="event")
        for key, score, moment in events:
            monitor.predict(key, score, moment)
        for key, label in labels:
            monitor.resolve(key, label)
        monitor.flush()

    def insert_and_pop() -> None:
        held: dict[Hashable, float] = {}
        for key, score, _ in events:
            held[key] = score  # noqa: PERF403 - one at a time, as they arrive
        for key, _ in labels:
            held.pop(key)

    times = race({"dict": insert_and_pop, "join": join}, rounds)
    detail = f"{times['join'] / len(keys) * 1e9:.0f} ns a prediction and its label"
    ratio = times["join"] / times["dict"]
    yield Row(_SUITE, "predict and resolve", ratio, "x dict insert and pop", 15.0, detail)


class _Batch:
    """Keys with their scores, times and labels."""

    def __init__(self, keys: Sequence[Hashable], start: int) -> None:
        rng = np.random.default_rng(start)
        self.keys = keys
        self.scores: FloatArray = rng.random(len(keys))
        self.times: FloatArray = np.arange(start, start + len(keys), dtype=np.float64) * 0.05
        self.labels = rng.integers(0, 2, len(keys))
        self.plain = dict(zip(keys, self.scores.tolist(), strict=True))


def _batches(keys: Sequence[Hashable], rounds: int) -> Iterator[Row]:
    starts = range(0, len(keys), _BATCH)
    batches = [_Batch(keys[start : start + _BATCH], start) for start in starts]
    monitor = Monitor(clock="event")

    def update() -> None:
        held: dict[Hashable, float] = {}
        for batch in batches:
            held.update(zip(batch.keys, batch.scores.tolist(), strict=True))

    def update_known() -> None:
        held: dict[Hashable, float] = {}
        for batch in batches:
            held.update(batch.plain)

    def predict() -> None:
        nonlocal monitor
        monitor = Monitor(clock="event")
        for batch in batches:
            monitor.predict_many(batch.keys, batch.scores, batch.times)

    def resolve() -> None:
        for batch in batches:
            monitor.resolve_many(batch.keys, batch.labels)

    runners = {"dict": update, "dict of dict": update_known, "predict": predict, "resolve": resolve}
    times = race(runners, rounds)
    for name in ("predict", "resolve"):
        detail = (
            f"{times[name] / len(keys) * 1e9:.0f} ns a key;"
            f" {times[name] / times['dict of dict']:.1f} x the update from another dict"
        )
        ratio = times[name] / times["dict"]
        yield Row(_SUITE, f"{name}_many", ratio, "x dict.update", 5.0, detail)
