"""The store: what a flush, a window, a year and a check cost, beside SQLite, memory and numpy."""

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.data import FloatArray, fraud, logistic
from benchmarks.timing import Row, percentile, race, without_collection
from streamauc import Monitor
from streamauc.events import Events, PaneCounter
from streamauc.rules.document import parse
from streamauc.rules.store_source import StoreSource
from streamauc.rules.stored import evaluate_stored
from streamauc.store import Store

_SUITE = "store"
_A_MINUTE = 1_000
_DAY = 86_400
_LABELS = {"model": "fraud"}
_TIERS = ((60, "2d"), (3600, "90d"), (_DAY, "5y"))
_RULE = """
[[rule]]
alert = "r{number}"
metric = "{metric}"
window = "{window}"
below = 0.0
"""


def run(*, quick: bool) -> Iterator[Row]:
    """Yield what each part of the store costs."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        yield from _flushes(place, 30 if quick else 200)
        yield from _month(place, quick=quick)
        yield from _year(place, 20 if quick else 365)
        yield from _checks(place, 3 if quick else 11)
        yield from _many_rules(place, 30 if quick else 1_000)


def _flushes(place: Path, rounds: int) -> Iterator[Row]:
    """Write one pane of 1,000 events, and the same bytes to a bare table."""
    monitor = Monitor(clock="event", store=place / "flush.db", series=_LABELS, flush_seconds="1d")
    bare = sqlite3.connect(place / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE pane(id INTEGER PRIMARY KEY, counts BLOB)")
    number = 0
    y_true, y_score = logistic(_A_MINUTE, seed=1)
    body = bytes(700)  # what such a pane takes, see the row of the year

    def fill() -> None:
        nonlocal number
        number += 1
        times = number * 60.0 + np.arange(_A_MINUTE) * (60 / _A_MINUTE)
        monitor.update_many(y_true, y_score, times)

    def commit() -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO pane VALUES(?, ?)", (number, body))
        bare.execute("COMMIT")

    ours: list[float] = []
    theirs: list[float] = []
    with without_collection():
        for _ in range(rounds):
            fill()
            ours.append(_timed(monitor.flush))
            theirs.append(_timed(commit))
    flush, bare_commit = percentile(ours, 0.5), percentile(theirs, 0.5)
    detail = f"{flush * 1e3:.2f} ms; a bare commit {bare_commit * 1e3:.2f} ms"
    yield Row(_SUITE, "flush of a pane of 1,000", flush / bare_commit, "x commit", 2.0, detail)
    monitor.close()


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _filled(path: Path) -> tuple[Monitor, Monitor]:
    """Return a month of minutes in memory, and the same in a store."""
    memory = Monitor(clock="event", tiers=_TIERS)
    disk = Monitor(
        clock="event", tiers=_TIERS, store=path, series=_LABELS, flush_seconds=float("inf")
    )
    for day in range(31):
        n = _A_MINUTE * 1_440
        y_true, y_score = fraud(n, seed=day)
        times: FloatArray = (day * _DAY + np.arange(n) * (60 / _A_MINUTE)).astype(np.float64)
        for monitor in (memory, disk):
            monitor.update_many(y_true, y_score, times)
        disk.flush()
    return memory, disk


def _month(place: Path, *, quick: bool) -> Iterator[Row]:
    """Read the last 30 days, from memory, from a store that is open, and from one just opened."""
    path = place / "month.db"
    memory, disk = _filled(path)
    now = 31 * _DAY - 1.0
    month = (now - 30 * _DAY, now)
    assert memory.window(*month).roc_auc == disk.window(*month).roc_auc

    def cold() -> float:
        with Store(path, read_only=True) as store:
            return StoreSource(store, clock=lambda: now).window(_LABELS, *month).roc_auc

    def warm() -> float:
        return disk.window(*month).roc_auc

    def after_a_write() -> float:
        disk.update(1, 0.5, now)
        disk.flush()
        return disk.window(*month).roc_auc

    rounds = 5 if quick else 25
    costs = race(
        {"memory": lambda: memory.window(*month).roc_auc, "warm": warm, "cold": cold}, rounds
    )
    writes = [_timed(disk.flush) for _ in range(3)]
    changed = percentile([_timed(after_a_write) for _ in range(rounds)], 0.5)
    base = costs["memory"]
    detail = f"{costs['warm'] * 1e3:.2f} ms; from memory {base * 1e3:.2f} ms"
    yield Row(_SUITE, "30 days, store open", costs["warm"] / base, "x memory", 10.0, detail)
    detail = f"{costs['cold'] * 1e3:.1f} ms, opening the store and reading its panes"
    yield Row(_SUITE, "30 days, store just opened", costs["cold"] / base, "x memory", None, detail)
    detail = f"with the write and its commit; {percentile(writes, 0.5) * 1e6:.0f} us for nothing"
    yield Row(_SUITE, "30 days, an event written before", changed * 1e3, "ms", None, detail)


def _year(place: Path, n_days: int) -> Iterator[Row]:
    """Write minutes without roll-up, and roll them up."""
    path = place / "year.db"
    store = Store(path)
    series = store.series(_LABELS, Monitor().scale, _TIERS, event_clock=True)
    counter = PaneCounter(Monitor().scale, 60)
    for day in range(n_days):
        n = _A_MINUTE * 1_440
        y_true, y_score = logistic(n, seed=day)
        times: FloatArray = (day * _DAY + np.arange(n) * (60 / _A_MINUTE)).astype(np.float64)
        with series.write() as change:
            change.add("labelled", counter.count(Events.of(y_true, y_score, times)))
    store.database.checkpoint()
    before = path.stat().st_size / 1e6 / n_days * 365
    detail = f"{path.stat().st_size / n_days / 1_440:.0f} bytes a minute, of {n_days} days"
    yield Row(_SUITE, "a year of minutes", before, "MB", 450.0, detail)
    begin = time.perf_counter()
    series.advance(n_days * _DAY)
    took = time.perf_counter() - begin
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("VACUUM")
    connection.close()
    detail = f"{n_days} days as they are, in {took:.1f} s"
    yield Row(_SUITE, "a year rolled up", path.stat().st_size / 1e6, "MB", 60.0, detail)


def _checks(place: Path, rounds: int) -> Iterator[Row]:
    """Run ``streamauc check`` with ten rules as a cron job does."""
    rules = place / "ten.toml"
    rules.write_text(_rules(10))
    command = [sys.executable, "-m", "streamauc", "check", str(rules), "--store"]
    command += [str(place / "month.db"), "--now", "1970-02-01T00:00:00Z"]

    def check() -> None:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own
        assert done.returncode == 0, done.stdout + done.stderr

    def numpy() -> None:
        subprocess.run([sys.executable, "-c", "import numpy"], check=True)

    check()
    times = race({"check": check, "numpy": numpy}, rounds)
    detail = f"{times['check'] * 1e3:.0f} ms; import numpy {times['numpy'] * 1e3:.0f} ms"
    ratio = times["check"] / times["numpy"]
    yield Row(_SUITE, "check with ten rules", ratio, "x import numpy", 3.0, detail)


def _rules(n: int) -> str:
    metrics = ("roc_auc", "prevalence", "average_precision", "n_samples", "precision@0.5")
    windows = ("1h", "3h", "1d", "7d")
    return "".join(
        _RULE.format(
            number=number,
            metric=metrics[number % len(metrics)],
            window=windows[number % len(windows)],
        )
        for number in range(n)
    )


def _many_rules(place: Path, n: int) -> Iterator[Row]:
    """Evaluate n rules on n series, each pane read once."""
    store = Store(place / "many.db")
    rng = np.random.default_rng(1)
    scale = Monitor().scale
    counter = PaneCounter(scale, 3600)
    times: FloatArray = np.sort(rng.random(2_000)) * 7 * _DAY
    with store.write() as batch:
        for number in range(n):
            y_true, y_score = logistic(times.size, seed=number)
            series = store.series({"model": f"m{number}"}, scale, ((3600, "90d"),))
            panes = counter.count(Events.of(y_true, y_score, times))
            series.on(batch).add("labelled", panes)
    file = parse(_rules(n))
    begin = time.perf_counter()
    results = evaluate_stored(file, store, clock=lambda: 7.0 * _DAY)
    took = time.perf_counter() - begin
    assert len(results) == n * n
    detail = f"{took:.1f} s for {n:,} rules on {n:,} series"
    yield Row(_SUITE, "a rule on a series", took / n / n * 1e6, "us", None, detail)
    store.close()
