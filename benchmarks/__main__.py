"""Run the suites and print what each figure came to beside what was asked for."""

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

from benchmarks.timing import Row

_SUITES = (
    "ingest",
    "single",
    "sliding",
    "query",
    "join",
    "store",
    "metrics",
    "change",
    "accuracy",
    "replay",
    "detect",
    "expected",
)
_PACKAGES = ("numpy", "sortedcontainers", "pyarrow", "scikit-learn", "river")


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ratios to a yardstick timed in the same run; medians of interleaved rounds."
        " Absolute times mean little on a shared machine.",
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
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(_SUITES)
    if unknown:
        parser.error(f"suites must be among {', '.join(_SUITES)}, got {', '.join(unknown)}")
    rows = _collect(arguments.suites, quick=arguments.quick)
    print(_as_json(rows) if arguments.json else _as_markdown(rows))


def _collect(suites: Iterable[str], *, quick: bool) -> list[Row]:
    rows: list[Row] = []
    for name in suites:
        for row in importlib.import_module(f"benchmarks.{name}").run(quick=quick):
            print(f"{row.what}: {row.value:.4g} {row.unit}", file=sys.stderr)
            rows.append(row)
    return rows


def _machine() -> dict[str, str]:
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": str(os.cpu_count()),
    }
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def _as_json(rows: list[Row]) -> str:
    return json.dumps({"versions": _machine(), "rows": [asdict(row) for row in rows]}, indent=2)


def _as_markdown(rows: list[Row]) -> str:
    lines = [", ".join(f"{name} {what}" for name, what in _machine().items()), ""]
    lines += ["| suite | what | value | asked for | | |", "|---|---|---|---|---|---|"]
    for row in rows:
        asked = "" if row.limit is None else f"at most {row.limit:g}"
        lines.append(
            f"| {row.suite} | {row.what} | {row.value:.3g} {row.unit} | {asked} |"
            f" {row.verdict} | {row.detail} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
