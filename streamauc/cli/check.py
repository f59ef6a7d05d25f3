"""``streamauc check``: one evaluation of alert rules, for a monitoring system or a cron job.

The first line is what monitoring plugins print: a status, a summary, and behind a bar the values
with their limits. The exit code is that of the worst rule, of critical, unknown, warning and ok
in this order.
"""

import json
import math
import time
from collections.abc import Sequence

from streamauc import _time
from streamauc.cli.existing import existing_store
from streamauc.cli.judged import JsonValue, print_results, to_dict
from streamauc.cli.unknown import UNKNOWN
from streamauc.rules.document import load
from streamauc.rules.evaluate import Result
from streamauc.rules.model import Measure
from streamauc.rules.policy import Limits
from streamauc.rules.record import State
from streamauc.rules.stored import evaluate_stored

OK, WARNING, CRITICAL = 0, 1, 2
_NAMES = {OK: "OK", WARNING: "WARNING", CRITICAL: "CRITICAL", UNKNOWN: "UNKNOWN"}
_WORST = (CRITICAL, UNKNOWN, WARNING, OK)
# So many alerts are named in the first line, which a pager shows whole.
_NAMED = 3


def run_check(
    rules: str, store: str, *, output: str, now: str | None = None, skip_damaged: bool = False
) -> int:
    """Evaluate the rules once, print what they say, and return the exit code.

    As of another time than now nothing is kept, so that trying something out changes no state.
    """
    moment = None if now is None else _time.seconds("--now", now)
    file = load(rules)
    is_live = moment is None
    clock = time.time if moment is None else lambda: moment
    with existing_store(store, read_only=not is_live, skip_damaged=skip_damaged) as opened:
        results = evaluate_stored(file, opened, clock=clock, keep=is_live)
    code = exit_code(results)
    if output == "json":
        print(json.dumps(_document(results, code), indent=2, allow_nan=False))
        return code
    print(plugin_line(results))
    print_results(results)
    return code


def exit_code(results: Sequence[Result]) -> int:
    """Return the code of the worst result; UNKNOWN where there is none."""
    codes = {_code(result) for result in results} or {UNKNOWN}
    return next(code for code in _WORST if code in codes)


def _code(result: Result) -> int:
    if result.state is State.FIRING:
        return CRITICAL if result.rule.severity == "critical" else WARNING
    return UNKNOWN if result.state in (State.NO_DATA, State.ERROR) else OK


def plugin_line(results: Sequence[Result]) -> str:
    """Return the line that monitoring plugins print first."""
    line = f"STREAMAUC {_NAMES[exit_code(results)]} - {_summary(results)}"
    data = " ".join(_performance(result) for result in results)
    return f"{line} | {data}" if data else line


def _summary(results: Sequence[Result]) -> str:
    """Return how many alerts are in which state, and the worst by name."""
    if not results:
        return "no rules"
    bad = sorted(
        (result for result in results if _code(result) != OK),
        key=lambda result: _WORST.index(_code(result)),
    )
    if not bad:
        return f"{_number(len(results), 'alert')} ok"
    named = [f"{_name(one)} {one.state.value}: {one.record.reason}" for one in bad[:_NAMED]]
    more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    # A bar begins the performance data.
    return ("; ".join(named) + more).replace("|", "/").replace("\n", " ")


def _number(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n:,} {word}s"


def _name(result: Result) -> str:
    labels = ",".join(f"{name}={value}" for name, value in sorted(result.labels.items()))
    return f"{result.rule.alert}{{{labels}}}" if labels else result.rule.alert


def _performance(result: Result) -> str:
    """Return ``'label'=value;warning;critical``; U is a value that is not known."""
    values = "/".join(value for _, value in sorted(result.labels.items()))
    label = f"{result.rule.alert}/{values}" if values else result.rule.alert
    for sign in "='|\n":  # which mean something else there
        label = label.replace(sign, "_")
    number = f"{result.value:.6g}" if math.isfinite(result.value) else "U"
    limits = _range(result.rule.policy.limits) if isinstance(result.rule.measure, Measure) else ""
    both = f";{limits}" if result.rule.severity == "critical" else f"{limits};"
    return f"'{label}'={number};{both}"


def _range(limits: Limits) -> str:
    """Return the values that are fine, as plugins write them: ``0.8:`` or ``~:0.02``."""
    low = "~" if limits.below is None else f"{limits.below:.6g}"
    high = "" if limits.above is None else f"{limits.above:.6g}"
    return f"{low}:{high}"


def _document(results: Sequence[Result], code: int) -> dict[str, JsonValue]:
    return {
        "status": _NAMES[code],
        "exit_code": code,
        "alerts": [to_dict(result) for result in results],
    }
