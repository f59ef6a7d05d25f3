"""Tests of rules, as promtool's unit tests: a recorded stream and the states expected of it.

rules = "rules.toml"                       # beside this file
start = "2026-03-01T09:00:00Z"             # times below count from here
every = "1m"                               # how often the rules are evaluated

[[series]]
labels = { model = "fraud" }
events = [
  { from = "0s", until = "10m", every = "10s", label = 0, score = 0.1, count = 5 },
  { at = "30s", label = 1, score = 0.9 },              # an event
  { at = "40s", key = "a", score = 0.8 },              # a prediction ...
  { at = "9m", key = "a", label = 1 },                 # ... and its outcome
]
file = "events.csv"                        # the same as columns, or .jsonl

[references]
fraud-v3 = { from = "0s", until = "5m" }

[[expect]]
at = "10m"
alert = "Low AUC"
series = { model = "fraud" }
state = "FIRING"
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamauc.rules.backtest import MAX_STEPS
from streamauc.rules.document import MAX_BYTES, load, read_toml
from streamauc.rules.model import Rule, RulesFile
from streamauc.rules.problems import RulesError, joined, nearest, shown
from streamauc.rules.record import State
from streamauc.rules.recording import MAX_ARRIVALS, moment_of, read_events, read_start, span_of
from streamauc.rules.replay import Arrival
from streamauc.rules.selector import Labels
from streamauc.rules.tables import Table

_EXPECT_KEYS = (
    "at",
    "alert",
    "labels",
    "series",
    "state",
    "value",
    "tolerance",
    "reason",
    "annotations",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What one rule should say of one series at one time; None where anything will do.

    `at` is in seconds since the epoch; `reason` is contained in the reason.
    """

    line: int
    at: float
    rule: Rule
    series: Labels
    state: State
    value: float | None
    tolerance: float
    reason: str | None
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A test file, read; times in seconds since the epoch."""

    file: str
    rules: RulesFile
    start: float
    every: float
    series: Sequence[Labels]
    arrivals: Sequence[Arrival]
    references: Mapping[str, tuple[float, float]]
    expectations: Sequence[Expectation]


def load_scenario(path: str | os.PathLike[str], rules: RulesFile | None = None) -> Scenario:
    """Return the test of a file, of the rules that it names unless `rules` are given.

    Raises RulesError with all problems of the file, or of its rules; and OSError.
    """
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    return parse_scenario(data, os.fspath(path), rules)


def parse_scenario(
    data: bytes | str, file: str = "test.toml", rules: RulesFile | None = None
) -> Scenario:
    """Return the test of a text; files that it names are beside `file`. Raises RulesError."""
    top = read_toml(data, file)
    top.close(("rules", "start", "every", "series", "references", "expect"))
    folder = Path(file).parent
    found = _read_rules(top, folder) if rules is None else rules
    start = read_start(top)
    every = top.length("every") or 60.0
    arrivals, series = _read_series(top, start, folder)
    references = _read_references(top, start)
    tables = top.tables("expect")
    if "expect" not in top:
        top.log.add((), "file must hold at least one [[expect]]")
    expectations = [
        one
        for table in tables
        if found is not None and (one := _read_expectation(table, found, start, every)) is not None
    ]
    top.log.check()
    if found is None:
        raise RulesError(file, top.log.problems)
    return Scenario(
        file=file,
        rules=found,
        start=start,
        every=every,
        series=series,
        arrivals=arrivals,
        references=references,
        expectations=expectations,
    )


def _read_rules(top: Table, folder: Path) -> RulesFile | None:
    name = top.text("rules")
    if "rules" not in top:
        top.fault("rules", "rules is missing: the file with the rules to be tested")
    if name is None:
        return None
    try:
        return load(folder / name)
    except (OSError, ValueError) as error:
        if isinstance(error, RulesError):
            raise
        top.fault("rules", f"rules must be a file that can be read, got {shown(name)}: {error}")
        return None


def _read_series(top: Table, start: float, folder: Path) -> tuple[list[Arrival], list[Labels]]:
    arrivals: list[Arrival] = []
    series: list[Labels] = []
    for table in top.tables("series"):
        table.close(("labels", "events", "file"))
        labels = table.texts("labels")
        series.append(labels)
        arrivals += read_events(table, labels, start, folder)
        if len(arrivals) > MAX_ARRIVALS:
            table.fault("events", f"events must be at most {MAX_ARRIVALS}, got more")
            break
    return arrivals, series


def _read_references(top: Table, start: float) -> dict[str, tuple[float, float]]:
    table = top.table("references")
    if table is None:
        return {}
    found = {}
    for name in table.values:
        inner = table.table(name)
        if inner is not None:
            inner.close(("from", "until"))
            span = span_of(inner, start)
            if span is not None:
                found[name] = span
    return found


def _read_expectation(
    table: Table, rules: RulesFile, start: float, every: float
) -> Expectation | None:
    before = len(table.log.problems)
    table.close(_EXPECT_KEYS)
    at = moment_of(table, "at", start)
    rule = _read_rule(table, rules)
    state = table.choice("state", [one.value for one in State])
    for key in ("at", "state"):
        if key not in table:
            table.fault(key, f"{key} is missing")
    if at is not None and not _is_step(at - start, every):
        table.fault("at", f"at must be a multiple of every, {every:g} s, got {at - start:g} s")
    value, tolerance = table.number("value"), table.number("tolerance")
    found = Expectation(
        line=table.log.places.line(table.path),
        at=start if at is None else at,
        rule=rules.rules[0] if rule is None else rule,
        series=table.texts("series"),
        state=State.OK if state is None else State(state),
        value=value,
        tolerance=1e-9 if tolerance is None else abs(tolerance),
        reason=table.text("reason"),
        annotations=table.texts("annotations"),
    )
    return None if len(table.log.problems) > before else found


def _is_step(after: float, every: float) -> bool:
    if not -1 < after / every < MAX_STEPS:
        return False
    steps = round(after / every)
    return steps >= 0 and abs(steps * every - after) < 1e-6


def _read_rule(table: Table, rules: RulesFile) -> Rule | None:
    name = table.text("alert")
    if "alert" not in table:
        table.fault("alert", "alert is missing")
    if name is None:
        return None
    named = [rule for rule in rules.rules if rule.alert == name]
    labels = table.texts("labels")
    same = [rule for rule in named if rule.labels == labels]
    fitting = same or [rule for rule in named if labels.items() <= dict(rule.labels).items()]
    if not named:
        hint = nearest(name, [rule.alert for rule in rules.rules])
        table.fault("alert", f"alert must be that of a rule, got {shown(name)}{hint}")
    elif len(fitting) != 1:
        ids = [rule.id for rule in (fitting or named)]
        table.fault("alert", f"alert and labels must be of one rule, got {joined(ids)}")
    return fitting[0] if len(fitting) == 1 else None
