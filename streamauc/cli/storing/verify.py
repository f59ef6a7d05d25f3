"""``streamauc store verify``: whether a store is as it was written."""

import json
from pathlib import Path

from rich.table import Table
from rich.text import Text

from streamauc.cli.storing import words
from streamauc.cli.storing.access import busy, existing, results
from streamauc.rules.selector import braced
from streamauc.store import DamageError, Problem, Report, Store
from streamauc.store.catalogue import labels_of
from streamauc.store.documents import Json
from streamauc.store.errors import Place

_MOST_LINES = 5


def run_verify(path: Path, output: str) -> int:
    """Print what is wrong with a store; return the exit code."""
    existing(path)
    with busy("reading every row"):
        report = _verified(path)
    if output == "json":
        print(json.dumps(_to_dict(path, report), indent=2, ensure_ascii=False))
    else:
        _print(path, report)
    return 0 if report.is_whole else 1


def _verified(path: Path) -> Report:
    try:
        with Store(path, read_only=True) as store:
            return store.verify()
    except DamageError as error:  # not even the tables can be read
        return Report(0, 0, (Problem(str(error.args[0]), error.place),))


def _print(path: Path, report: Report) -> None:
    read = f"{words.plural(report.n_series, 'series')}, {words.plural(report.n_panes, 'pane')}"
    if report.is_whole:
        print(f"{path}: all is as it was written ({read})")
        return
    n_places = words.plural(len(report.problems), "place")
    print(f"{path}: damaged in {n_places} ({read} read)\n")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("what", ratio=2)
    table.add_column("where", ratio=3, overflow="fold")
    for problem in report.problems:
        table.add_row(Text(_what(problem)), Text(where(problem.place)))
    console = results()
    table.expand = console.is_terminal
    console.print(table)
    if any(problem.place.table in ("pane", "chunk") for problem in report.problems):
        print(
            f"\nstreamauc store repair {path} gives up the damaged panes, after which the rest can"
            " be read and written to; until then check and rules backtest leave them out with"
            " --skip-damaged"
        )


def _what(problem: Problem) -> str:
    """Return what is wrong, in a few lines: SQLite may say it in a hundred."""
    lines = problem.what.splitlines()
    if len(lines) <= _MOST_LINES:
        return problem.what
    left_out = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], f"and {words.plural(left_out, 'line')} more"])


def where(place: Place) -> str:
    """Return where damage is, as a person looks for it."""
    parts = [f"table {place.table}"]
    if place.series is not None:
        parts.append(_labels(place.series))
    if place.channel is not None:
        parts.append(place.channel)
    if place.tier is not None:
        parts.append(f"tier {place.tier}")
    if place.start is not None:
        parts.append(f"from {words.moment(place.start)} UTC on")
    if place.key is not None:
        parts.append(f"key {place.key}")
    return ", ".join(parts)


def _labels(text: str) -> str:
    try:
        return braced(labels_of(text))
    except (ValueError, AttributeError, TypeError):  # damaged as well
        return text


def _to_dict(path: Path, report: Report) -> dict[str, Json]:
    return {
        "path": str(path),
        "whole": report.is_whole,
        "n_series": report.n_series,
        "n_panes": report.n_panes,
        "problems": [
            {
                "what": problem.what,
                "table": problem.place.table,
                "series": problem.place.series,
                "channel": problem.place.channel,
                "tier": problem.place.tier,
                "start": words.iso(problem.place.start),
                "key": problem.place.key,
            }
            for problem in report.problems
        ],
    }
