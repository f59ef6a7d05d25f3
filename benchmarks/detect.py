"""Delay against false alarms of the class-ratio alarm and of what else is there; what a step costs.

Panes of five minutes, 500 events, 2 % positives. A false alarm restarts the detector; a delay
counts from the change, after 200 quiet panes. What needs a known prevalence is given it.
"""

import math
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Protocol

import numpy as np

from benchmarks.timing import Row, race
from streamauc.change.detect import PrevalenceDetector, State
from streamauc.change.settings import RATIOS

_SUITE = "detect"
_N, _P = 500, 0.02
_MONTH = 30 * 288
_QUIET_PANES = 200
_LONGEST = 600
# True where the pane with that many positives raises an alarm.
_Alarms = Callable[[int], bool]
_Rival = Callable[[], _Alarms]


class _Drift(Protocol):
    """A detector of River."""

    drift_detected: bool

    def update(self, x: float) -> object:
        """Take one value."""


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the median delays and the false alarms of each rival, then the cost of a step."""
    months, runs = (10, 40) if quick else (60, 200)
    quiet = [_panes(seed, _P, _MONTH) for seed in range(months)]
    for name, rival in _rivals(quiet).items():
        ours = name.startswith("PrevalenceDetector")
        false_alarms = sum(_n_alarms(rival, stream) for stream in quiet) / months
        yield Row(
            _SUITE,
            f"false alarms, {name}",
            false_alarms,
            "in 30 days",
            1.0 if ours else None,
            f"{months} times 30 quiet days",
        )
        for rise, limit in ((1.2, 65.0), (1.5, 14.0)):
            delay, early = _delay(rival, rise, runs)
            detail = f"median of {runs}, {early} alarmed before the change"
            what = f"delay after +{round(100 * rise) - 100} %, {name}"
            yield Row(_SUITE, what, delay, "panes", limit if ours else None, detail)
    if _river() is None:
        yield Row(_SUITE, "ADWIN and Page-Hinkley", math.nan, "", None, "river is missing")
    yield from _step_cost(quick=quick)


def _panes(seed: int, prevalence: float, n_panes: int) -> list[int]:
    positives: list[int] = np.random.default_rng(seed).binomial(_N, prevalence, n_panes).tolist()
    return positives


def _rivals(quiet: Sequence[Sequence[int]]) -> dict[str, _Rival]:
    z = _as_quiet(_last_hour, [tenths / 10 for tenths in range(30, 70)], quiet)
    rivals: dict[str, _Rival] = {
        "PrevalenceDetector, 30d": _prevalence_detector,
        "last hour beyond 3 sigma": lambda: _last_hour(3.0),
        f"last hour beyond {z:.1f} sigma (as quiet)": lambda: _last_hour(z),
    }
    river = _river()
    if river is not None:
        of = f"River {version('river')}"
        # ADWIN takes values in [0, 1]: five times the mean is 1. Page-Hinkley takes any.
        rivals[f"ADWIN, {of}"] = lambda: _river_alarms(river.ADWIN(), scale=5 * _N * _P)
        rivals[f"Page-Hinkley, {of}"] = lambda: _river_alarms(river.PageHinkley())

        def page_hinkley(threshold: float) -> _Alarms:
            return _river_alarms(river.PageHinkley(threshold=threshold))

        height = _as_quiet(page_hinkley, [50.0 * step for step in range(1, 21)], quiet)
        rivals[f"Page-Hinkley, threshold {height:.0f} (as quiet)"] = lambda: page_hinkley(height)
    return rivals


def _river() -> ModuleType | None:
    try:
        version("river")
    except PackageNotFoundError:
        return None
    return import_module("river.drift")


def _prevalence_detector() -> _Alarms:
    detector = PrevalenceDetector(_P)
    panes = iter(range(10**9))
    return lambda k: detector.step(next(panes), k, _N - k) is State.ALARM


def _last_hour(z: float) -> _Alarms:
    hour: deque[int] = deque(maxlen=12)
    reach = z * math.sqrt(12 * _N * _P * (1 - _P))

    def alarms(k: int) -> bool:
        hour.append(k)
        return len(hour) == 12 and abs(sum(hour) - 12 * _N * _P) > reach

    return alarms


def _as_quiet(
    rule: Callable[[float], _Alarms], settings: Sequence[float], quiet: Sequence[Sequence[int]]
) -> float:
    """Return the first setting of a rule with one alarm in 30 days or less; else the last."""
    for setting in settings:
        rival = partial(rule, setting)
        if sum(_n_alarms(rival, stream) for stream in quiet) <= len(quiet):
            return setting
    return settings[-1]


def _river_alarms(drift: _Drift, scale: float = 1.0) -> _Alarms:
    def alarms(k: int) -> bool:
        drift.update(min(k / scale, 1.0) if scale != 1.0 else k)
        return drift.drift_detected

    return alarms


def _n_alarms(rival: _Rival, stream: Sequence[int]) -> int:
    found, alarms = 0, rival()
    for k in stream:
        if alarms(k):
            found += 1
            alarms = rival()
    return found


def _delay(rival: _Rival, rise: float, runs: int) -> tuple[float, int]:
    """Return the median delay in panes, and how many runs alarmed before the change."""
    delays, early = [], 0
    for seed in range(runs):
        alarms = rival()
        before = [alarms(k) for k in _panes(seed, _P, _QUIET_PANES)]
        if any(before):
            early += 1
            continue
        after = _panes(10_000 + seed, _P * rise, _LONGEST)
        delays.append(next((i + 1 for i, k in enumerate(after) if alarms(k)), _LONGEST))
    return statistics.median(delays) if delays else math.nan, early


class _Empty:
    def step(self, pane: int, n_pos: int, n_neg: int) -> None:
        """Do nothing: what a call costs."""


def _step_cost(*, quick: bool) -> Iterator[Row]:
    counts = _panes(1, _P, 10_000 if quick else 50_000)

    def feed(step: Callable[[int, int, int], object]) -> None:
        for pane, k in enumerate(counts):
            step(pane, k, _N - k)

    medians = race(
        {
            "empty": lambda: feed(_Empty().step),
            "step": lambda: feed(PrevalenceDetector(_P).step),
            "overdispersed": lambda: feed(PrevalenceDetector(_P, overdispersion=2.0).step),
        },
        15,
    )
    for name, what in (("step", "step"), ("overdispersed", "step with overdispersion")):
        cost = medians[name] / len(counts) * 1e6
        detail = f"{cost:.1f} us, {2 * len(RATIOS)} ratios"
        yield Row(_SUITE, what, medians[name] / medians["empty"], "x empty call", 100.0, detail)
