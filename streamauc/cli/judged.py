"""What rules say, as a table for people and as plain values for programs."""

import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from streamauc.rules.evaluate import Result
from streamauc.rules.model import Measure
from streamauc.rules.policy import Limits
from streamauc.rules.record import State

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
_PIPE_WIDTH = 10_000
# The worst first.
_STYLES = {
    State.FIRING: "bold red",
    State.ERROR: "bold magenta",
    State.NO_DATA: "magenta",
    State.PENDING: "yellow",
    State.RECOVERING: "yellow",
    State.OK: "green",
}


def print_results(results: Sequence[Result]) -> None:
    """Print a row an alert; what fires or cannot be judged first."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not results:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("state", "severity", "alert", "series", "value", "limit", "since (UTC)", "reason"):
        table.add_column(head, justify="right" if head == "value" else "left")
    order = list(_STYLES)
    for result in sorted(results, key=lambda one: order.index(one.state)):
        state = Text(result.state.value, style=_STYLES[result.state])
        table.add_row(state, result.rule.severity, *map(Text, _cells(result)))
    terminal = sys.stdout.isatty()
    Console(width=None if terminal else _PIPE_WIDTH, highlight=False).print(table)
    for result in results:
        if result.state is State.FIRING:
            for name, text in sorted(result.annotations.items()):
                print(f"{result.rule.alert} {name}: {text.strip()}")


def _cells(result: Result) -> list[str]:
    labels = ",".join(f"{name}={value}" for name, value in sorted(result.labels.items()))
    return [
        result.rule.alert,
        labels or "-",
        shown(result.record.value),
        limits_shown(result),
        f"{datetime.fromtimestamp(result.record.since, UTC):%Y-%m-%d %H:%M:%S}",
        result.record.reason,
    ]


def shown(value: float) -> str:
    """Return a value as short as it can be told apart."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"


def limits_shown(result: Result) -> str:
    """Return where an alert begins, in words."""
    measure = result.rule.measure
    if not isinstance(measure, Measure):
        return "evidence"
    by = "" if measure.level is None else f" with all of its {measure.level:.0%} interval"
    return f"{measure.subject} {_limits(result.rule.policy.limits)}{by}"


def _limits(limits: Limits) -> str:
    parts = []
    if limits.below is not None:
        parts.append(f"< {limits.below:g}")
    if limits.above is not None:
        parts.append(f"> {limits.above:g}")
    return " or ".join(parts)


def to_dict(result: Result) -> dict[str, JsonValue]:
    """Return a result as plain values for JSON; what is undefined is None."""
    interval = result.interval
    labels: dict[str, JsonValue] = dict(result.labels)
    annotations: dict[str, JsonValue] = dict(result.annotations)
    return {
        "alert": result.rule.alert,
        "labels": dict(result.rule.labels),
        "series": labels,
        "severity": result.rule.severity,
        "limit": limits_shown(result),
        "interval": None if interval is None else [_finite(end) for end in interval],
        "changed": result.change is not None,
        "annotations": annotations,
        **result.record.to_dict(),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
