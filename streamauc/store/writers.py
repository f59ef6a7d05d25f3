"""Who writes to a series: when each began, wrote last and ended, and what it tallied."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamauc.store.address import checksum
from streamauc.store.errors import DamageError, Place

# Stands for all writers that ended long ago.
RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class WriterInfo:
    """A writer; times in seconds since the epoch, `closed` None while it has not ended.

    `tallies` map names to numbers of events, as in `Stats`.
    """

    id: str
    started: float
    flushed: float
    closed: float | None
    tallies: Mapping[str, int]


def load(connection: sqlite3.Connection, series: int, name: str) -> WriterInfo | None:
    """Return a writer of a series, None if it has not written yet."""
    row = connection.execute(
        "SELECT id, started, flushed, closed, tallies, crc FROM writer WHERE series = ? AND id = ?",
        (series, name),
    ).fetchone()
    return None if row is None else _writer(series, row)


def load_all(connection: sqlite3.Connection, series: int, n_writers: int) -> tuple[WriterInfo, ...]:
    """Return the writers of a series, by name. Raises DamageError unless there are `n_writers`."""
    rows = connection.execute(
        "SELECT id, started, flushed, closed, tallies, crc FROM writer"
        " WHERE series = ? ORDER BY id",
        (series,),
    ).fetchall()
    found = tuple(_writer(series, row) for row in rows)
    if len(found) != n_writers:
        raise DamageError(
            f"{n_writers} writers were written, {len(found)} are left",
            Place("writer", key=str(series)),
        )
    return found


def _writer(series: int, row: tuple[str, float, float, float | None, str, int]) -> WriterInfo:
    name, started, flushed, closed, text, crc = row
    if crc != checksum("writer", series, name, started, flushed, closed, text):
        raise DamageError("a writer was altered", Place("writer", key=f"{series} {name}"))
    return WriterInfo(name, started, flushed, closed, json.loads(text))


def save(connection: sqlite3.Connection, series: int, writer: WriterInfo) -> None:
    """Write a writer down."""
    text = json.dumps(dict(writer.tallies), separators=(",", ":"))
    fields = (writer.id, writer.started, writer.flushed, writer.closed, text)
    connection.execute(
        "INSERT OR REPLACE INTO writer VALUES(?, ?, ?, ?, ?, ?, ?)",
        (series, *fields, checksum("writer", series, *fields)),
    )


def told(before: WriterInfo | None, name: str, counts: Mapping[str, int], now: float) -> WriterInfo:
    """Return a writer that has now written, and tallied so much more."""
    if before is None:
        before = WriterInfo(name, float(now), float(now), None, {})
    total = Counter(before.tallies)
    total.update(counts)
    tallies = {key: number for key, number in total.items() if number}
    return replace(before, flushed=max(before.flushed, float(now)), closed=None, tallies=tallies)


def fold(
    connection: sqlite3.Connection, series: int, writers: tuple[WriterInfo, ...], before: float
) -> int:
    """Put those that ended before some time into one row; return how many rows are saved."""
    old = [
        one
        for one in writers
        if one.id == RETIRED or (one.closed is not None and one.flushed < before)
    ]
    if all(one.id == RETIRED for one in old):
        return 0
    started, flushed = min(one.started for one in old), max(one.flushed for one in old)
    closed = max(one.closed or one.flushed for one in old)
    everyone = WriterInfo(RETIRED, started, flushed, closed, total(old))
    for one in old:
        statement = "DELETE FROM writer WHERE series = ? AND id = ?"
        connection.execute(statement, (series, one.id))
    save(connection, series, everyone)
    return len(old) - 1


def total(writers: tuple[WriterInfo, ...] | list[WriterInfo]) -> dict[str, int]:
    """Return the tallies of all writers together."""
    found: Counter[str] = Counter()
    for writer in writers:
        found.update(writer.tallies)
    return dict(found)
