"""``streamauc rules``: what its commands do."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from streamauc.cli.existing import existing_store
from streamauc.cli.judged import labels_shown
from streamauc.rules.document import load
from streamauc.rules.example import EXAMPLE
from streamauc.rules.problems import nearest
from streamauc.rules.scenario import load_scenario
from streamauc.rules.scenario_run import run
from streamauc.rules.stored import known_rules, state_history
from streamauc.rules.stored_detectors import acknowledge


def run_lint(rules: str) -> int:
    """Say what is wrong with a rules file; return the exit code, 1 if that is only doubtful."""
    file = load(rules)  # raises with all that is wrong
    for one in file.doubts:
        print(f"{rules}:{one.line}: {one.message}")
    n, n_doubts = len(file.rules), len(file.doubts)
    found = f"{n_doubts} doubtful limit{'s' * (n_doubts != 1)}" if n_doubts else "nothing wrong"
    print(f"{rules}: {n} rule{'s' * (n != 1)}, {found}")
    return 1 if file.doubts else 0


def run_init(path: Path) -> int:
    """Write the example; return the exit code."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE)
    except FileExistsError:
        raise FileExistsError(f"{path} exists and is left as it is; name another file") from None
    print(f"written: {path}; try: streamauc check {path} --store metrics.db")
    return 0


def run_tests(scenarios: Sequence[str], rules: str | None) -> int:
    """Run tests of rules and print what was not as expected; return the exit code."""
    file = None if rules is None else load(rules)
    passed = True
    for scenario in scenarios:
        outcome = run(load_scenario(scenario, file))
        print(outcome)
        passed = passed and outcome.passed
    return 0 if passed else 1


def run_history(store: str, alerts: Sequence[str], *, output: str) -> int:
    """Print the changes of state; return the exit code."""
    with existing_store(store, read_only=True) as opened:
        rules = known_rules(opened)
        for alert in alerts:
            _check_alert("--rule", alert, rules)
        changes = [
            (key, change)
            for rule in rules
            if not alerts or rule.partition("{")[0] in alerts
            for key, change in state_history(opened, rule)
        ]
    changes.sort(key=lambda one: one[1].at)
    if output == "json":
        fields = [
            {"rule": key.rule, "series": dict(key.labels), **change.to_dict()}
            for key, change in changes
        ]
        print(json.dumps(fields, indent=2, allow_nan=False))
        return 0
    if not changes:
        print("no alert has changed its state")
    for key, change in changes:
        before = "" if change.before is None else f"{change.before.value} "
        print(
            f"{_shown(change.at)} {key.rule} {labels_shown(key.labels)}: {before}->"
            f" {change.after.value}: {change.reason}"
        )
    return 0


def run_acknowledge(store: str, alert: str) -> int:
    """End the alarms of an alert's detectors; return the exit code."""
    with existing_store(store) as opened:
        _check_alert("alert", alert, known_rules(opened))
        n_ended = acknowledge(opened, alert, now=time.time())
    if not n_ended:
        raise ValueError(f"alert must be one whose detector is in alarm, got {alert!r}")
    print(f"{alert}: {n_ended} alarm{'s' * (n_ended != 1)} acknowledged")
    return 0


def _check_alert(name: str, alert: str, rules: Sequence[str]) -> None:
    """Raise ValueError for an alert that was never judged, and suggest the nearest that was."""
    known = sorted({rule.partition("{")[0] for rule in rules})
    if alert not in known:
        more = nearest(alert, known) if known else "; no check has judged any alert in this store"
        raise ValueError(f"{name} must be an alert that was judged, got {alert!r}{more}")


def _shown(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%SZ}"
