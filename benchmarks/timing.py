"""Timing: interleaved rounds, medians, ratios."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a result: what was measured, what was asked for, and whether it was reached."""

    suite: str
    what: str
    value: float
    unit: str
    limit: float | None = None
    detail: str = ""

    @property
    def verdict(self) -> str:
        """The comparison with the limit, in a word."""
        if self.limit is None:
            return ""
        return "ok" if self.value <= self.limit else "MISSED"


def race(runners: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each runner, timed in turns with garbage collection off."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runners.items():
                begin = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - begin)
    finally:
        gc.enable()
    return {name: statistics.median(found) for name, found in times.items()}


def percentile(values: list[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
