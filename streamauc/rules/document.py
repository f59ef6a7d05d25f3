"""A rules file: TOML text to rules, or to a list of everything that is wrong with it."""

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as FilePath

from streamauc.change.budget import FalseAlarmBudget
from streamauc.rules.measure_keys import read_measure
from streamauc.rules.model import DEFAULT_SEVERITY, SEVERITIES, Detection, Measure, Rule, RulesFile
from streamauc.rules.places import locate
from streamauc.rules.policy import NO_DATA, Limits, Policy
from streamauc.rules.problems import Log, Problem, RulesError, joined, shown
from streamauc.rules.selector import Matcher, Selector
from streamauc.rules.tables import Table
from streamauc.rules.templates import Template, TemplateError

MAX_BYTES = 1_000_000
MAX_RULES = 10_000
DEFAULT_BUDGET = 30 * 86_400.0

# Keys of every rule, whatever it measures.
COMMON_KEYS = (
    "alert",
    "metric",
    "detector",
    "series",
    "for",
    "keep_firing_for",
    "no_data",
    "no_data_after",
    "labels",
    "annotations",
)
_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)")
_AT_END = re.compile(r"\s*\(at end of document\)")


def load(path: str | os.PathLike[str]) -> RulesFile:
    """Return the rules of a file. Raises RulesError with all its problems, and OSError."""
    with FilePath(path).open("rb") as file:
        return parse(file.read(MAX_BYTES + 1), os.fspath(path))


def parse(data: bytes | str, file: str = "rules.toml") -> RulesFile:
    """Return the rules of a text; `file` is its name in messages. O(length).

    Raises RulesError with all problems, and nothing else.
    """
    top = read_toml(data, file)
    weighted, every = _read_file(top)
    top.log.check()
    rules = _with_budget(weighted, every)
    for rule in rules:
        _check_share(rule, top.log)
    top.log.check()
    doubts = tuple(sorted(top.log.doubts))
    return RulesFile(file=file, rules=rules, false_alarm_every=every, doubts=doubts)


def read_toml(data: bytes | str, file: str) -> Table:
    """Return the topmost table of a text. Raises RulesError if it is no TOML, or too long."""
    text = _text(data, file)
    try:
        values = tomllib.loads(text)
        places = locate(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise RulesError(file, [_toml_problem(str(error), text)]) from None
    except RecursionError:
        raise RulesError(file, [Problem(1, "", "file must not be nested so deeply")]) from None
    except (ValueError, OverflowError) as error:  # of integers with thousands of digits
        raise RulesError(file, [Problem(1, "", f"file must be TOML: {error}")]) from None
    return Table(values, (), Log(file, places))


def _text(data: bytes | str, file: str) -> str:
    size = len(data)
    if size > MAX_BYTES:
        raise RulesError(file, [Problem(1, "", f"file must be at most {MAX_BYTES} bytes long")])
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"file must be UTF-8, got byte 0x{data[error.start]:02x}"
        raise RulesError(file, [Problem(line, "", message)]) from None


def _toml_problem(message: str, text: str) -> Problem:
    match = _LINE.search(message)
    line = int(match[1]) if match else text.count("\n") + 1
    where = f" at column {match[2]}" if match else " at the end of the file"
    words = _AT_END.sub("", _LINE.sub("", message))
    return Problem(line, "", f"file must be TOML: {words[:1].lower()}{words[1:]}{where}")


def _read_file(top: Table) -> tuple[list[tuple[Rule, float]], float]:
    """Return the rules with the weights of their detectors, and the budget."""
    top.close(("rule", "budget"))
    every = DEFAULT_BUDGET
    budget = top.table("budget")
    if budget is not None:
        budget.close(("false_alarm_every",))
        every = budget.length("false_alarm_every") or every
        if not budget.values:
            budget.fault("false_alarm_every", "false_alarm_every is missing from [budget]")
    tables = top.tables("rule")
    if len(tables) > MAX_RULES:
        top.fault("rule", f"file must hold at most {MAX_RULES} rules, got {len(tables)}")
        return [], every
    found = [rule for table in tables if (rule := _read_rule(table)) is not None]
    if top.values.get("rule", []) == []:
        top.log.add((), "file must hold at least one [[rule]]")
    _check_unique([rule for rule, _ in found], top.log)
    return found, every


def _check_unique(rules: Sequence[Rule], log: Log) -> None:
    first: dict[str, Rule] = {}
    for rule in rules:
        other = first.setdefault(rule.id, rule)
        if other is not rule:
            message = (
                f"alert and labels must differ from those of any other rule, got {rule.id} again,"
                f" first on line {other.line}"
            )
            log.add(("alert",), message, line=rule.line)


def _read_rule(table: Table) -> tuple[Rule, float] | None:
    """Return a rule and its weight in the budget, or None if anything is wrong with it."""
    before = len(table.log.problems)
    alert = table.text("alert")
    if "alert" not in table:
        table.fault("alert", "alert is missing: each rule needs a name")
    measure, limits, weight = _read_measured(table)
    labels, annotations = _read_labels(table), _read_annotations(table)
    series = _read_series(table)
    policy = _read_policy(table)
    if len(table.log.problems) > before or measure is None or alert is None:
        return None
    rule = Rule(
        alert=alert,
        measure=measure,
        policy=replace(policy, subject=measure.subject, limits=limits),
        series=series,
        labels=labels,
        annotations=annotations,
        line=table.log.places.line(table.path),
    )
    return rule, weight


def _read_measured(table: Table) -> tuple[Measure | Detection | None, Limits, float]:
    if "metric" in table and "detector" in table:
        table.fault("detector", "detector must be left out of a rule with a metric, or the metric")
    elif "detector" in table:
        # Loaded here: few files have a detector, and a check begins anew each time.
        from streamauc.rules.detector_keys import read_detection

        found = read_detection(table, COMMON_KEYS)
        return (None, Limits(), 1.0) if found is None else (found[0], Limits(), found[1])
    elif "metric" in table:
        measured = read_measure(table, COMMON_KEYS)
        return (None, Limits(), 1.0) if measured is None else (*measured, 1.0)
    else:
        table.fault("metric", "metric is missing: each rule needs a metric or a detector")
    return None, Limits(), 1.0


def _read_policy(table: Table) -> Policy:
    hold = table.length("for", zero=True)
    keep = table.length("keep_firing_for", zero=True)
    chosen = table.choice("no_data", NO_DATA)
    after = table.length("no_data_after", zero=True)
    no_data = next((one for one in NO_DATA if one == chosen), NO_DATA[0])
    if no_data == "keep" and after is not None:
        table.fault(
            "no_data_after",
            'no_data_after must be left out with no_data = "keep", which is for ever',
        )
    return Policy(hold=hold or 0.0, keep=keep or 0.0, no_data=no_data, no_data_after=after or 0.0)


def _read_labels(table: Table) -> dict[str, str]:
    labels = table.texts("labels", names=True)
    severity = labels.get("severity", DEFAULT_SEVERITY)
    if severity not in SEVERITIES:
        message = f"labels.severity must be {joined(SEVERITIES)}, got {shown(severity)}"
        table.log.add((*table.path, "labels", "severity"), message)
    for name, text in labels.items():
        if "{{" in text:
            message = f"labels.{name} must be the same at all times, got a template {shown(text)}"
            table.log.add((*table.path, "labels", name), message)
    return labels


def _read_annotations(table: Table) -> dict[str, Template]:
    found = {}
    for name, text in table.texts("annotations", names=True).items():
        try:
            found[name] = Template.parse(text)
        except TemplateError as error:
            path = (*table.path, "annotations", name)
            line = table.log.places.line_within(path, text, error.position)
            table.log.add(path, f"annotations.{name}: {error}", line=line)
    return found


def _read_series(table: Table) -> Selector:
    matchers = []
    for label, text in table.texts("series").items():
        try:
            matchers.append(Matcher.parse(label, text))
        except ValueError as error:
            table.log.add((*table.path, "series", label), f"series.{label} {error}")
    return Selector(tuple(matchers))


def _with_budget(weighted: Sequence[tuple[Rule, float]], every: float) -> tuple[Rule, ...]:
    """Return the rules, the budget split over their detectors and each one's series."""
    weights = {rule.id: weight for rule, weight in weighted if isinstance(rule.measure, Detection)}
    shares = FalseAlarmBudget(every).split(weights, weights) if weights else {}
    return tuple(_with_share(rule, shares) for rule, _ in weighted)


def _with_share(rule: Rule, shares: dict[str, float]) -> Rule:
    if not isinstance(rule.measure, Detection):
        return rule
    detection = rule.measure
    share = shares[rule.id] * detection.max_series
    return replace(rule, measure=replace(detection, false_alarm_every=share))


def _check_share(rule: Rule, log: Log) -> None:
    if isinstance(rule.measure, Detection):
        pane, share = rule.measure.pane_seconds, rule.measure.false_alarm_every
        if share < pane:
            message = (
                f"pane must be at most this rule's share of the budget, {share:g} s, got {pane} s"
            )
            log.add(("pane",), message, line=rule.line)
