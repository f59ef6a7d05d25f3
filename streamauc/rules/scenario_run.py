"""Runs a test of rules and says where they did not do what was expected."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamauc.rules.backtest import Backtest, Stepper, times
from streamauc.rules.evaluate import Result
from streamauc.rules.formats import brief, span
from streamauc.rules.model import Key
from streamauc.rules.replay import Replay
from streamauc.rules.scenario import Expectation, Scenario
from streamauc.rules.selector import braced


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An expectation that was not met, and how; `line` is where it stands in the test file."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test found; it passed if there is no mismatch."""

    file: str
    n_expectations: int
    mismatches: Sequence[Mismatch]
    backtest: Backtest

    @property
    def passed(self) -> bool:
        """Whether every expectation was met."""
        return not self.mismatches

    def __str__(self) -> str:
        lines = [f"{self.file}:{one.line}: {one.message}" for one in self.mismatches]
        met = self.n_expectations - len(self.mismatches)
        return "\n".join([*lines, f"{self.file}: {met} of {self.n_expectations} as expected"])


def run(scenario: Scenario) -> Outcome:
    """Replay the stream, evaluate as often as the test says, and compare."""
    source = Replay(
        scenario.arrivals,
        series=scenario.series,
        start=scenario.start,
        references=dict(scenario.references),
    )
    stepper = Stepper(scenario.rules, source)
    waiting = sorted(scenario.expectations, key=lambda one: (one.at, one.line))
    end = max((one.at for one in waiting), default=scenario.start)
    moments = times(scenario.start, end + scenario.every / 2, scenario.every)
    mismatches: list[Mismatch] = []
    for now in moments:
        results = {result.key: result for result in stepper.step(now)}
        while waiting and waiting[0].at <= now + scenario.every / 2:
            one = waiting.pop(0)
            mismatches += _mismatches(one, results, scenario.start)
    found = Backtest(
        n_evaluations=len(moments), changes=tuple(stepper.changes), records=stepper.records
    )
    n_expected = len(scenario.expectations)
    return Outcome(scenario.file, n_expected, sorted(mismatches, key=lambda one: one.line), found)


def _mismatches(expected: Expectation, results: dict[Key, Result], start: float) -> list[Mismatch]:
    """Return how a result differs from what was expected, at most one."""
    none = not expected.series
    result = results.get(Key.of(expected.rule, expected.series))
    if result is None and none:
        result = results.get(Key.of(expected.rule, None))
    where = f"{expected.rule.id} of {braced(expected.series)} at {span(expected.at - start)}"
    if result is None:
        return [Mismatch(expected.line, f"{where}: expected {expected.state}, got no such series")]
    difference = _difference(expected, result)
    return [] if difference is None else [Mismatch(expected.line, f"{where}: {difference}")]


def _difference(expected: Expectation, result: Result) -> str | None:
    record = result.record
    if record.state is not expected.state:
        return f"expected {expected.state}, got {record.state}: {record.reason}"
    if expected.value is not None and not _is_close(expected, result.value):
        return f"expected the value {brief(expected.value)}, got {brief(result.value)}"
    if expected.reason is not None and expected.reason not in record.reason:
        return f"expected a reason with {expected.reason!r}, got {record.reason!r}"
    annotations = result.annotations
    for name, text in expected.annotations.items():
        if annotations.get(name) != text:
            return f"expected the annotation {name} {text!r}, got {annotations.get(name)!r}"
    return None


def _is_close(expected: Expectation, value: float) -> bool:
    wanted = expected.value or 0.0
    return math.isclose(value, wanted, rel_tol=1e-9, abs_tol=expected.tolerance)
