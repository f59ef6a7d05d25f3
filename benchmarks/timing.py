"""Timing: interleaved rounds, medians, ratios, and the machine's pulse beside them."""

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple, Self

# Additions of the loop that is the pulse.
_PULSE = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a result: what was measured, what was asked for, and whether it was reached.

    `limit` is the largest value asked for, `at_least` the smallest. A value of ``nan`` could not
    be measured; `detail` says why.
    """

    suite: str
    what: str
    value: float
    unit: str
    limit: float | None = None
    detail: str = ""
    at_least: float | None = None

    @classmethod
    def missing(cls, suite: str, what: str, reason: str) -> Self:
        """Return the row of something that is not installed."""
        return cls(suite, what, math.nan, "", detail=f"missing: {reason}")

    @property
    def asked(self) -> str:
        """What was asked for, in words."""
        if self.limit is not None:
            return f"at most {self.limit:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    @property
    def verdict(self) -> str:
        """The comparison with what was asked for, in a word."""
        if not self.asked or math.isnan(self.value):
            return ""
        too_large = self.limit is not None and self.value > self.limit
        too_small = self.at_least is not None and self.value < self.at_least
        return "MISSED" if too_large or too_small else "ok"


class Beat(NamedTuple):
    """Seconds that the fixed loop took: on the clock, and of the processor's time."""

    wall: float
    processor: float


# The beats of each race of the suite that is running, if somebody wants them.
pulses: ContextVar[list[list[Beat]] | None] = ContextVar("pulses", default=None)


def beat() -> Beat:
    """Time a loop of pure Python that never changes: how fast the machine is at this moment."""
    wall, processor = time.perf_counter(), time.process_time()
    total = 0
    for number in range(_PULSE):
        total += number
    return Beat(time.perf_counter() - wall, time.process_time() - processor)


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep garbage collection off, so that it falls into nobody's time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def race(
    runners: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the median seconds of each runner, timed in turns with garbage collection off.

    The pulse is taken in every round. With `clock` ``time.process_time``, what other programs
    do meanwhile counts for less; not for runners that start processes or wait.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    beats: list[Beat] = []
    with without_collection():
        for _ in range(rounds):
            beats.append(beat())
            for name, run in runners.items():
                begin = clock()
                run()
                times[name].append(clock() - begin)
    found = pulses.get()
    if found is not None:
        found.append(beats)
    return {name: statistics.median(each) for name, each in times.items()}


def percentile(values: list[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def pulse_row(suite: str, groups: list[list[Beat]]) -> Row:
    """Return what the machine's pulse was during a suite, over all and group by group."""
    beats = [one for group in groups for one in group]
    middle = _middle(beats)
    wall = statistics.median(one.wall for one in beats)
    detail = f"of the processor's time; {wall / middle:.1f} x that on the clock; group by group"
    detail += "".join(f" {_middle(group) * 1e3:.2f}" for group in groups)
    what = f"pulse: {_PULSE:,} additions in pure Python"
    return Row(suite, what, middle * 1e3, "ms", detail=detail)


def _middle(beats: list[Beat]) -> float:
    return statistics.median(one.processor for one in beats)
