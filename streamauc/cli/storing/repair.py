"""``streamauc store repair``: damaged panes given up, and what that leaves."""

import json
from collections.abc import Sequence
from pathlib import Path

from streamauc.cli.storing import words
from streamauc.cli.storing.access import busy, opened
from streamauc.cli.storing.verify import where
from streamauc.store import Place, Report
from streamauc.store.documents import Json


def run_repair(path: Path, output: str) -> int:
    """Give up damaged panes and print which; return the exit code, 1 if damage is left."""
    with opened(path, read_only=False) as store, busy("reading every pane"):
        places = store.repair()
        report = store.verify()
    if output == "json":
        print(json.dumps(_to_dict(path, places, report), indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(path, places, report)))
    return 0 if report.is_whole else 1


def _lines(path: Path, places: Sequence[Place], report: Report) -> list[str]:
    lines = [f"{path}: no pane is damaged; nothing was changed"]
    if places:
        given_up = words.plural(len(places), "place")
        lines = [f"{path}: given up in {given_up}; the events that were there are gone"]
        lines += [f"  {where(one)}" for one in places]
    if not report.is_whole:
        left = words.plural(len(report.problems), "place")
        lines.append(f"{path}: damaged in {left} besides, left as it is; see store verify")
    return lines


def _to_dict(path: Path, places: Sequence[Place], report: Report) -> dict[str, Json]:
    return {
        "path": str(path),
        "whole": report.is_whole,
        "given_up": [
            {
                "table": place.table,
                "series": place.series,
                "channel": place.channel,
                "tier": place.tier,
                "start": words.iso(place.start),
                "key": place.key,
            }
            for place in places
        ],
        "n_problems_left": len(report.problems),
    }
