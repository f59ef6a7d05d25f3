"""Run the suites and print what each figure came to beside what was asked for."""

import argparse
import importlib
import json
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import machine
from benchmarks.timing import Row, beat, pulse_row, pulses

_SUITES = (
    "yardsticks",
    "ingest",
    "single",
    "sliding",
    "query",
    "exact",
    "join",
    "store",
    "metrics",
    "change",
    "accuracy",
    "memory",
    "replay",
    "detect",
    "expected",
)


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ratios to a yardstick timed in the same run; medians of interleaved rounds."
        " Absolute times mean little on a shared machine. Peers come with the extra 'bench';"
        " one that is missing is named as missing.",
    )
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        default=list(_SUITES),
        help=f"which suites to run, from {', '.join(_SUITES)} (all)",
    )
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer rounds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to a file")
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(_SUITES)
    if unknown:
        parser.error(f"suites must be among {', '.join(_SUITES)}, got {', '.join(unknown)}")
    rows: list[Row] = []
    try:
        for row in _measured(arguments.suites, quick=arguments.quick):
            print(f"{row.what}: {row.value:.4g} {row.unit}", file=sys.stderr)
            rows.append(row)
    finally:  # what has been measured is not lost with what fails
        if arguments.markdown:
            arguments.markdown.write_text(_as_markdown(rows) + "\n", encoding="utf-8")
        if arguments.json:
            print(_as_json(rows))
        elif not arguments.markdown:
            print(_as_markdown(rows))


def _measured(suites: Iterable[str], *, quick: bool) -> Iterator[Row]:
    for name in suites:
        yield from _with_pulse(name, quick=quick)


def _with_pulse(name: str, *, quick: bool) -> Iterator[Row]:
    """Yield the rows of a suite, then the machine's pulse before, in and after it."""
    groups = [[beat()]]
    token = pulses.set(groups)
    suite = name
    try:
        for row in importlib.import_module(f"benchmarks.{name}").run(quick=quick):
            suite = row.suite
            yield row
    except ModuleNotFoundError as error:
        yield Row.missing(suite, f"the rest of the suite {name}", str(error))
    pulses.reset(token)
    yield pulse_row(suite, [*groups, [beat()]])


def _as_json(rows: list[Row]) -> str:
    versions = machine.describe()
    return json.dumps({"versions": versions, "rows": [_plain(row) for row in rows]}, indent=2)


def _plain(row: Row) -> dict[str, object]:
    """Return a row with null for what could not be measured: JSON knows no nan."""
    found: dict[str, object] = asdict(row) | {"verdict": row.verdict}
    return found if math.isfinite(row.value) else found | {"value": None}


def _as_markdown(rows: list[Row]) -> str:
    lines = [", ".join(f"{name} {what}" for name, what in machine.describe().items()), ""]
    lines += ["| suite | what | value | asked for | | |", "|---|---|---|---|---|---|"]
    for row in rows:
        value = "-" if math.isnan(row.value) else f"{row.value:.3g} {row.unit}"
        lines.append(
            f"| {row.suite} | {row.what} | {value} | {row.asked} | {row.verdict} | {row.detail} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
