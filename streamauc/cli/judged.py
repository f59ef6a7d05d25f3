"""What rules say, as a table for people and as plain values for programs."""

import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from streamauc import _time
from streamauc.rules.evaluate import Result
from streamauc.rules.model import Measure
from streamauc.rules.policy import Limits
from streamauc.rules.record import State
from streamauc.rules.selector import Labels

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
_NUMBER = "value"
_HEADS = ("state", "severity", "alert", "series", _NUMBER, "limit", "since (UTC)", "reason")
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
    """Print a row an alert, what fires or cannot be judged first; in colour on a terminal."""
    if not results:
        return
    order = list(_STYLES)
    rows = sorted(results, key=lambda one: (order.index(one.state), one.rule.severity))
    if sys.stdout.isatty():
        _print_coloured(rows)
    else:
        _print_plain(rows)
    for result in results:
        if result.state is State.FIRING:
            for name, text in sorted(result.annotations.items()):
                print(f"{result.rule.alert} {name}: {text.strip()}")


def _print_coloured(results: Sequence[Result]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in _HEADS:
        table.add_column(head, justify="right" if head == _NUMBER else "left")
    for result in results:
        state, *cells = _cells(result)
        table.add_row(Text(state, style=_STYLES[result.state]), *map(Text, cells))
    Console(highlight=False).print(table)


def _print_plain(results: Sequence[Result]) -> None:
    """Print without the library for terminals: to load it takes as long as to judge."""
    rows = [_HEADS, *(tuple(_cells(result)) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if head == _NUMBER else cell.ljust(width)
            for head, cell, width in zip(_HEADS, row, widths, strict=True)
        ]
        print("  ".join(cells).rstrip())


def _cells(result: Result) -> list[str]:
    return [
        result.state.value,
        result.rule.severity,
        result.rule.alert,
        labels_shown(result.labels),
        shown(result.value),
        limits_shown(result),
        f"{datetime.fromtimestamp(result.record.since, UTC):%Y-%m-%d %H:%M:%S}",
        result.record.reason,
    ]


def labels_shown(labels: Labels) -> str:
    """Return the labels of a series, ``-`` for none."""
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items())) or "-"


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
    """Return a result as plain values for JSON; what is undefined is None.

    `value` is what was judged now, `last_value` the last that there was.
    """
    interval = result.interval
    start, end = result.span or (math.nan, math.nan)
    labels: dict[str, JsonValue] = dict(result.labels)
    annotations: dict[str, JsonValue] = dict(result.annotations)
    fields = result.record.to_dict()
    return {
        "alert": result.rule.alert,
        "labels": dict(result.rule.labels),
        "series": labels,
        "severity": result.rule.severity,
        "limit": limits_shown(result),
        "interval": None if interval is None else [_finite(end) for end in interval],
        "start": _iso(start),
        "end": _iso(end),
        "changed": result.change is not None,
        "annotations": annotations,
        **fields,
        "value": None if math.isnan(result.value) else fields["value"],
        "last_value": fields["value"],
    }


def _iso(moment: float) -> str | None:
    """Return a time in UTC; None where there is none, or none that has a date."""
    try:
        return _time.utc(moment).isoformat()
    except ValueError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
