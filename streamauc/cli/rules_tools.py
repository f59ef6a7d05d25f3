"""``streamauc rules``: what its commands do."""

import json
import math
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from streamauc import _time
from streamauc.cli.existing import existing_store
from streamauc.rules.backtest import AsOf, Firing, backtest
from streamauc.rules.document import load
from streamauc.rules.example import EXAMPLE
from streamauc.rules.model import Key
from streamauc.rules.scenario import load_scenario
from streamauc.rules.scenario_run import run
from streamauc.rules.stored import StoreSource, acknowledge, known_rules, state_history


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


def run_backtest(
    rules: str,
    store: str,
    *,
    start: str,
    end: str,
    every: str,
    output: str,
    skip_damaged: bool = False,
) -> int:
    """Print when rules would have fired; return the exit code."""
    file = load(rules)
    low, high = _time.seconds("--start", start), _time.seconds("--end", end)
    with existing_store(store, read_only=True, skip_damaged=skip_damaged) as opened:
        finest = min((one.tiers[0].pane_seconds for one in opened.all_series()), default=60)
        source = AsOf(StoreSource(opened), pane_seconds=finest)
        found = backtest(file, source, start=low, end=high, every=_time.duration("--every", every))
    firings = found.firings
    print(f"{found.n_evaluations:,} evaluations", file=sys.stderr)
    if output == "json":
        print(json.dumps([_to_dict(one) for one in firings], indent=2, allow_nan=False))
    else:
        _print_firings(firings)
    return 0


def _print_firings(firings: Sequence[Firing]) -> None:
    if not firings:
        print("no rule would have fired")
    for one in firings:
        until = "and goes on" if one.end is None else f"until {_shown(one.end)}"
        print(f"{_shown(one.start)} {until:<26} {one.key.rule} {_labels(one.key)}: {one.reason}")


def run_history(store: str, alerts: Sequence[str], *, output: str) -> int:
    """Print the changes of state; return the exit code."""
    with existing_store(store, read_only=True) as opened:
        changes = [
            (key, change)
            for rule in known_rules(opened)
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
            f"{_shown(change.at)} {key.rule} {_labels(key)}: {before}-> {change.after.value}:"
            f" {change.reason}"
        )
    return 0


def run_acknowledge(store: str, alert: str) -> int:
    """End the alarms of an alert's detectors; return the exit code."""
    with existing_store(store) as opened:
        n_ended = acknowledge(opened, alert, now=time.time())
    if not n_ended:
        raise ValueError(f"alert must be one whose detector is in alarm, got {alert!r}")
    print(f"{alert}: {n_ended} alarm{'s' * (n_ended != 1)} acknowledged")
    return 0


def _labels(key: Key) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(key.labels.items())) or "-"


def _shown(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%SZ}"


def _to_dict(firing: Firing) -> dict[str, object]:
    return {
        "rule": firing.key.rule,
        "series": dict(firing.key.labels),
        "start": firing.start,
        "end": firing.end,
        "reason": firing.reason,
        "value": firing.value if math.isfinite(firing.value) else None,
    }
