"""A year of traffic, 1,000 events a minute: its memory, the AUC of any window of it, the peers."""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.data import FloatArray, IntArray, fraud, logistic
from benchmarks.timing import Row, percentile, race, without_collection
from streamauc import Monitor

_SUITE = "year"
_HOUR = 3_600
_DAY = 86_400
_A_MINUTE = 1_000
_START = 1_672_531_200.0  # 2023, from its first minute
_KINDS: dict[str, Callable[[int, int], tuple[IntArray, FloatArray]]] = {
    "logistic": lambda n, seed: logistic(n, seed=seed),
    "fraud-like": lambda n, seed: fraud(n, seed=seed),
}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield memory and query times for two kinds of score, then the peers' beside ours."""
    n_days = 100 if quick else 365
    kept: dict[str, Monitor] = {}
    for kind, make in _KINDS.items():
        monitor, last_hour = _year(n_days, make)
        kept[kind] = monitor
        before = monitor.nbytes
        yield from _queries(monitor, n_days, last_hour, kind, 300 if quick else 2_000)
        detail = f"{before / 1e6:.1f} MB before the first query"
        yield Row(
            _SUITE, f"memory of {n_days} days, {kind}", monitor.nbytes / 1e6, "MB", 50.0, detail
        )
    for kind, monitor in kept.items():
        y_true, y_score = _KINDS[kind](100_000 if quick else 1_000_000, 0)
        yield from _beside_peers(monitor, n_days, kind, y_true, y_score, 15 if quick else 101)


def _year(
    n_days: int, make: Callable[[int, int], tuple[IntArray, FloatArray]]
) -> tuple[Monitor, list[NDArray[np.uint16]]]:
    """Return the year's monitor, and the keys of its last hour as they would be kept raw."""
    monitor = Monitor(clock="event")
    raw: list[NDArray[np.uint16]] = []
    for day in range(n_days):
        n = _A_MINUTE * 1_440
        y_true, y_score = make(n, day)
        times = _START + day * _DAY + np.arange(n) * (60 / _A_MINUTE)
        # The last day stops at 17:23:30, so that its hour and its day are unaligned.
        stop = n if day < n_days - 1 else (17 * 60 + 23) * _A_MINUTE + _A_MINUTE // 2
        monitor.update_many(y_true[:stop], y_score[:stop], times[:stop])
        if day == n_days - 1:
            keys = (2 * monitor.scale.bins(y_score[:stop]) + y_true[:stop]).astype(np.uint16)
            raw = np.split(keys[-60 * _A_MINUTE :], 60)
    return monitor, raw


def _queries(
    monitor: Monitor, n_days: int, raw: list[NDArray[np.uint16]], kind: str, n_polls: int
) -> Iterator[Row]:
    end = _START + (n_days - 1) * _DAY + (17 * 60 + 23.5) * 60
    rng = np.random.default_rng(7)
    hour: list[float] = []
    yardstick: list[float] = []
    others: list[float] = []
    with without_collection():
        for number in range(n_polls):
            monitor.update(number % 2, 0.3, end)
            hour.append(_timed(lambda: monitor.window(last="1h").roc_auc))
            yardstick.append(_timed(lambda: _concatenate_and_count(raw)))
            monitor.update(number % 2, 0.3, end)
            begin, stop = np.sort(_START + rng.random(2) * (end - _START)).tolist()
            if number % 2:  # every other window is aligned to days
                begin, stop = begin // _DAY * _DAY, (stop // _DAY + 1) * _DAY
            others.append(_timed(partial(_auc, monitor, begin, stop)))
    hour_cost, count_cost = percentile(hour, 0.5), percentile(yardstick, 0.5)
    yield Row(_SUITE, f"concatenate and count 60 panes, {kind}", count_cost * 1e3, "ms")
    yield Row(
        _SUITE,
        f"unaligned last hour, {kind}",
        hour_cost / count_cost,
        "x counting",
        1.0,
        f"{hour_cost * 1e3:.3f} ms",
    )
    slow = percentile(others, 0.99)
    yield Row(
        _SUITE,
        f"any window, 99th percentile, {kind}",
        slow / hour_cost,
        "x last hour",
        6.0,
        f"median {percentile(others, 0.5) * 1e3:.3f} ms, 99 % {slow * 1e3:.3f} ms",
    )


def _auc(monitor: Monitor, start: float, end: float) -> float:
    return monitor.window(start, end).roc_auc


def _timed(ask: Callable[[], float]) -> float:
    """Return the processor time of a call: in a percentile, other programs must not count."""
    begin = time.thread_time()
    value = ask()
    seconds = time.thread_time() - begin
    assert 0 < value < 1
    return seconds


def _concatenate_and_count(raw: list[NDArray[np.uint16]]) -> float:
    """Return the AUC of an hour the plain way: concatenate its panes' keys and count them."""
    table = np.bincount(np.concatenate(raw)).astype(np.int64)
    table = np.append(table, np.zeros(table.size % 2, dtype=np.int64)).reshape(-1, 2)
    neg, pos = table.T
    below = np.cumsum(neg) - neg / 2
    return float(np.dot(pos, below)) / float(pos.sum()) / float(neg.sum())


def _beside_peers(
    monitor: Monitor,
    n_days: int,
    kind: str,
    y_true: IntArray,
    y_score: FloatArray,
    rounds: int,
) -> Iterator[Row]:
    """Yield the AUC of windows that end now, one event written before each, and of each peer.

    A peer answers for all that it has seen, and knows no other window.
    """
    found, missing = peers.sort_out(peers.BOUNDED)
    now = _START + (n_days - 1) * _DAY + (17 * 60 + 23.5) * 60
    spans = {"one pane": 60, "one hour": _HOUR, "one day": _DAY, f"{n_days} days": n_days * _DAY}
    runners: dict[str, Callable[[], object]] = {
        name: partial(_written_and_asked, monitor, now, span) for name, span in spans.items()
    }
    for each in found:
        peer = each.make()
        peer.absorb(y_true, y_score)
        runners[each.name] = peer.roc_auc
    costs = race(runners, rounds, clock=time.process_time)
    theirs = {each.name: costs[each.name] for each in found if not each.is_window}
    for name, cost in costs.items():
        detail = ""
        if name in spans:
            detail = "; ".join(f"{cost / other:.1f} x {rival}" for rival, other in theirs.items())
        what = f"AUC of {name}" if name in spans else f"AUC of {name}: its whole state"
        yield Row("query", f"{what}, {kind}", cost * 1e6, "us", detail=detail)
    for one in missing:
        yield Row.missing("query", f"AUC of {one.name}, {kind}", one.reason)


def _written_and_asked(monitor: Monitor, now: float, span: int) -> float:
    monitor.update(1, 0.3, now)
    return monitor.window(last=span).roc_auc
