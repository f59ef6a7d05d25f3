"""``streamauc store compact``: panes rolled up as of now, and free space given back."""

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from streamauc import _time
from streamauc.cli.storing import words
from streamauc.cli.storing.access import busy, opened, progress, say
from streamauc.rules.selector import braced
from streamauc.store import Info, SeriesInfo, Store, StoredSeries, opening
from streamauc.store.documents import Json
from streamauc.store.errors import translated

_BUSY_SECONDS = 30.0
# While it is cut back, the log lets nobody write.
_CUT_MILLISECONDS = 2_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a store was before and is now; whether its log is back in the file."""

    before: Info
    after: Info
    is_log_empty: bool


def run_compact(path: Path, now: str | None, output: str) -> int:
    """Make a store smaller and print what that saved; return the exit code."""
    asked = None if now is None else _time.seconds("--now", now)
    with opened(path, read_only=False) as store:
        found = compact(store, asked, time.time())
    if output == "json":
        print(json.dumps(_to_dict(found), indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(found)))
    if not found.is_log_empty:
        say("a reader still needs the log; the file shrinks when it is done and somebody writes")
    return 0


def compact(store: Store, asked: float | None, present: float) -> Compacted:
    """Roll up every series, and rewrite the file without gaps."""
    before = store.info()
    _check_time(asked, present, before.series)
    series = store.all_series()
    with progress("rolling up", len(series)) as done:
        for one in series:
            one.advance(_moment(one, asked, present))
            one.tidy(present)
            done.by(1)
    with busy("rewriting the file; writers wait"):
        is_log_empty = _rewrite(store.database.path)
    return Compacted(before, store.info(), is_log_empty)


def _check_time(asked: float | None, present: float, series: Sequence[SeriesInfo]) -> None:
    """Raise ValueError for a time that nobody has reached: much would expire at once."""
    latest = max([present, *(one.latest for one in series)])
    if asked is not None and asked > latest:
        raise ValueError(
            f"--now must not be later than the present or the latest event,"
            f" {words.iso(latest)}, got {words.iso(asked)}"
        )


def _moment(series: StoredSeries, asked: float | None, present: float) -> float:
    """Return the time as of which panes of a series expire.

    By the present, the panes of a log from years ago would all expire; so with event time, time
    goes as far as the events. A clock of time goes on, whether somebody writes or not.
    """
    if asked is not None:
        return asked
    facts = series.facts
    return facts.latest if facts.event_clock else max(present, facts.latest)


def _rewrite(path: Path) -> bool:
    """Write the file anew without gaps, and cut its log back; return whether that went."""
    connection = opening.connect(path, busy_seconds=_BUSY_SECONDS, read_only=False)
    with translated(str(path), _BUSY_SECONDS), closing(connection):
        connection.execute("PRAGMA synchronous = FULL")
        opening.begin(connection, "VACUUM", time.monotonic() + _BUSY_SECONDS)
        connection.execute(f"PRAGMA busy_timeout = {_CUT_MILLISECONDS}")
        return _is_cut_back(connection)


def _is_cut_back(connection: sqlite3.Connection) -> bool:
    is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


def _n_panes(info: SeriesInfo) -> int:
    return sum(sum(numbers) for numbers in info.n_panes.values())


def _pairs(found: Compacted) -> list[tuple[SeriesInfo, int, int]]:
    """Return each series with its number of panes before and after."""
    before = {braced(one.labels): _n_panes(one) for one in found.before.series}
    return [
        (one, before.get(braced(one.labels), _n_panes(one)), _n_panes(one))
        for one in found.after.series
    ]


def _lines(found: Compacted) -> list[str]:
    old, new = found.before.nbytes, found.after.nbytes
    saved = f"{words.size(old - new)} saved" if new < old else "nothing saved"
    lines = [f"{found.after.path}: {words.size(old)} before, {words.size(new)} now, {saved}"]
    for one, n_before, n_after in _pairs(found):
        if n_before != n_after:
            lines.append(
                f"  {braced(one.labels)}  rolled up: {words.plural(n_before, 'pane')} before,"
                f" {n_after:,} now"
            )
    if len(lines) == 1:
        lines.append("  no panes had to be rolled up")
    return lines


def _to_dict(found: Compacted) -> dict[str, Json]:
    return {
        "path": found.after.path,
        "nbytes_before": found.before.nbytes,
        "nbytes": found.after.nbytes,
        "log_empty": found.is_log_empty,
        "series": [
            {"labels": dict(one.labels), "n_panes_before": n_before, "n_panes": n_after}
            for one, n_before, n_after in _pairs(found)
        ],
    }
