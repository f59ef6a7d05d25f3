"""What rules would have said: an evaluation every so often, over a source whose time is moved."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streamauc import _time
from streamauc.rules.evaluate import Result, evaluate
from streamauc.rules.model import Key, Measure, RulesFile
from streamauc.rules.readings import Failed, Missing, Reading
from streamauc.rules.record import Change, Record, State
from streamauc.rules.source import Source

MAX_STEPS = 1_000_000


class Moving(Source, Protocol):
    """A source whose time is moved, forwards only."""

    def move(self, now: float) -> None:
        """Make it `now`: from here on the source answers as it would have then."""

    def due(self, moment: float) -> float:
        """Return the first time, from `moment` on, of which it can tell."""


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert from when it fired to when it ended; `end` is None if it had not by then."""

    key: Key
    start: float
    end: float | None
    reason: str
    value: float


@dataclass(slots=True)
class Judged:
    """How often a rule judged a series, and how often it could not, with the last reason.

    `n_wide` counts the judgements whose window was shorter than a pane that was left there.
    """

    n_judged: int = 0
    n_no_data: int = 0
    n_errors: int = 0
    n_wide: int = 0
    no_data: str = ""
    error: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether there was anything to judge, at least once."""
        return self.n_judged > 0

    def add(self, reading: Reading, *, is_wide: bool) -> None:
        """Count what was read once."""
        if isinstance(reading, Failed):
            self.n_errors, self.error = self.n_errors + 1, reading.reason
        elif isinstance(reading, Missing):
            self.n_no_data, self.no_data = self.n_no_data + 1, reading.reason
        else:
            self.n_judged += 1
            self.n_wide += is_wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """All changes of state, in the order of time, and the records after the last evaluation.

    `judged` says of how much of it that is all: an alert that was never judged never fires.
    """

    n_evaluations: int
    changes: Sequence[tuple[Key, Change]]
    records: Mapping[Key, Record]
    judged: Mapping[Key, Judged] = field(default_factory=dict)

    @property
    def firings(self) -> list[Firing]:
        """When each alert fired, RECOVERING included. O(number of changes)."""
        open_since: dict[Key, Change] = {}
        found: list[Firing] = []
        for key, change in self.changes:
            fires = change.after in (State.FIRING, State.RECOVERING)
            if fires:
                open_since.setdefault(key, change)
            elif key in open_since:
                found.append(_firing(key, open_since.pop(key), change.at))
        found += [_firing(key, change, None) for key, change in open_since.items()]
        return sorted(found, key=lambda one: (one.start, one.key))


def _firing(key: Key, change: Change, end: float | None) -> Firing:
    return Firing(key, change.at, end, change.reason, change.value)


def times(start: float, end: float, every: float) -> Sequence[float]:
    """Return when is evaluated: from `start`, every so often, up to and with `end`."""
    if not every > 0:
        raise ValueError(f"every must be positive, got {every!r} s")
    if not start <= end:
        raise ValueError(
            f"end must not be before start, got start {_time.shown(start)} and end"
            f" {_time.shown(end)}"
        )
    n_steps = (end - start) / every
    if not n_steps < MAX_STEPS:
        raise ValueError(f"every must give at most {MAX_STEPS} evaluations, got {n_steps:.4g}")
    return [start + number * every for number in range(math.floor(n_steps) + 1)]


class Stepper:
    """Evaluates a file again and again, each time with the records of the time before."""

    def __init__(self, file: RulesFile, source: Moving) -> None:
        self._file = file
        self._source = source
        self.records: dict[Key, Record] = {}
        self.changes: list[tuple[Key, Change]] = []

    def step(self, now: float) -> list[Result]:
        """Move the source to `now` and evaluate."""
        self._source.move(now)
        results = evaluate(self._file, self._source, self.records)
        self.records = {result.key: result.record for result in results}
        self.changes += [
            (result.key, result.change) for result in results if result.change is not None
        ]
        return results


def backtest(
    file: RulesFile, source: Moving, *, start: float, end: float, every: float
) -> Backtest:
    """Evaluate from `start` to `end` and return what changed. Raises ValueError for bad times.

    Where the source can't tell of a time, the next of which it can takes its place.
    """
    stepper = Stepper(file, source)
    judged: dict[Key, Judged] = {}
    n_evaluations, now = 0, -math.inf
    for moment in times(start, end, every):
        if moment <= now:
            continue
        now = source.due(moment)
        if now > end:
            break
        for result in stepper.step(now):
            one = judged.setdefault(result.key, Judged())
            one.add(result.reading, is_wide=_is_wide(result, source))
        n_evaluations += 1
    return Backtest(
        n_evaluations=n_evaluations,
        changes=tuple(stepper.changes),
        records=stepper.records,
        judged=judged,
    )


def _is_wide(result: Result, source: Source) -> bool:
    """Return whether the window of a rule was shorter than the pane that it begins in."""
    measure = result.rule.measure
    if not isinstance(measure, Measure) or measure.last is None or not result.key.series:
        return False
    if measure.last >= source.tiers(result.labels)[-1].pane_seconds:
        return False
    low, high = source.pane(result.labels, source.now() - measure.offset - measure.last)
    return high - low > measure.last
