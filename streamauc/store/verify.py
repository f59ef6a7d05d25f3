"""Whether a store is whole: everything is read and compared with every sum and count."""

import functools
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from streamauc.codec import decode_panes
from streamauc.store import address, catalogue, documents, writers
from streamauc.store.catalogue import SeriesRow
from streamauc.store.database import Database
from streamauc.store.entry_check import check_entries
from streamauc.store.errors import DamageError, Place
from streamauc.store.facts import Lane
from streamauc.store.rows import PANES, Total, read_chunks, unsealed
from streamauc.timeline import n_classes_of

_T = TypeVar("_T")
_COUNTED = ("series", "position", "document", "journal")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written."""

    what: str
    place: Place


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` has read, and what is wrong with it."""

    n_series: int
    n_panes: int
    problems: tuple[Problem, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(database: Database) -> Report:
    """Read everything and compare it with every sum and count. O(size of the file)."""
    problems: list[Problem] = []
    n_panes, rows = 0, []
    try:
        with database.snapshot() as connection:
            problems += _of_sqlite(connection)
            rows = _collected(problems, lambda: list(catalogue.all_series(connection))) or []
            for row in rows:
                n_panes += _verify_series(connection, row, problems)
            problems += _orphans(connection, rows)
            _verify_others(connection, problems)
    except DamageError as error:
        problems.append(Problem(str(error.args[0]), error.place))
    return Report(len(rows), n_panes, tuple(problems))


def _collected(problems: list[Problem], read: Callable[[], _T]) -> _T | None:
    """Return what is read; where that is damaged, None, and the problem is noted."""
    try:
        return read()
    except DamageError as error:
        problems.append(Problem(str(error.args[0]), error.place))
        return None


def _of_sqlite(connection: sqlite3.Connection) -> Iterator[Problem]:
    for (line,) in connection.execute("PRAGMA integrity_check(100)").fetchall():
        if line != "ok":
            yield Problem(str(line), Place("file"))


def _verify_series(connection: sqlite3.Connection, row: SeriesRow, problems: list[Problem]) -> int:
    """Compare the panes, chunks, lanes and writers of a series; return its number of panes."""
    _collected(problems, lambda: writers.load_all(connection, row.id, row.facts.n_writers))
    problems += [
        Problem("an entry is damaged or lost", place)
        for place in check_entries(connection, row.id, labels=row.labels)
    ]
    n_panes = 0
    for channel, lanes in row.facts.lanes.items():
        for tier, lane in enumerate(lanes):
            found = _verify_panes(connection, row, channel, tier, problems)
            n_panes += sum(number for number, _ in found.values())
            _compare(
                connection, row, Place("chunk", row.labels, channel, tier), lane, found, problems
            )
    return n_panes


def _verify_panes(
    connection: sqlite3.Connection, row: SeriesRow, channel: str, tier: int, problems: list[Problem]
) -> dict[int, Total]:
    """Read the panes of a lane; return the sum of each chunk as it is."""
    totals: dict[int, Total] = {}
    lane = row.facts.lanes[channel][tier]
    rows = connection.execute(
        PANES,
        address.lane_span(lane.number),
    )
    for key, blob in rows:
        place = row.where("pane", key)
        try:
            body, crc = unsealed(key, blob, row.where)
            decode_panes([body], n_classes_of(channel))
        except DamageError as error:
            problems.append(Problem(str(error.args[0]), error.place))
            continue
        except ValueError as error:
            problems.append(Problem(str(error), place))
            continue
        if not _may_be_here(row, tier, address.index_of(key)):
            problems.append(Problem("a pane is where none survives", place))
        chunk = address.chunk_of(key)
        number, mixed = totals.get(chunk, (0, 0))
        totals[chunk] = number + 1, mixed ^ address.combined([crc])
    return totals


def _may_be_here(row: SeriesRow, tier: int, index: int) -> bool:
    """Return whether a pane survives, and the finer ones at its time do not."""
    spans, first = row.facts.tiers, row.facts.first
    if index < first[tier]:
        return False
    end = (index + 1) * spans[tier].pane_seconds
    return tier == 0 or end <= first[tier - 1] * spans[tier - 1].pane_seconds


def _compare(
    connection: sqlite3.Connection,
    row: SeriesRow,
    place: Place,
    lane: Lane,
    found: dict[int, Total],
    problems: list[Problem],
) -> None:
    """Compare the sums of a lane's chunks with what was found, and their sum with the series."""
    read = _collected(problems, lambda: read_chunks(connection, lane.number, row.where))
    if read is None:
        return
    totals, mixed = read
    if (len(totals), mixed) != (lane.n_chunks, lane.mixed):
        problems.append(Problem("chunks are missing", place))
    for chunk in sorted(totals.keys() | found.keys()):
        if totals.get(chunk) != found.get(chunk):
            where = row.where("chunk", chunk)
            problems.append(Problem("panes are missing, or others in their place", where))


def _orphans(connection: sqlite3.Connection, rows: list[SeriesRow]) -> Iterator[Problem]:
    """Yield panes and chunks whose lane belongs to no series."""
    known = {lane.number for row in rows for lanes in row.facts.lanes.values() for lane in lanes}
    for table in ("pane", "chunk"):
        statement = f"SELECT DISTINCT id >> {address.INDEX_BITS} FROM {table}"  # noqa: S608  (names of our own)
        for (lane,) in connection.execute(statement).fetchall():
            if lane not in known:
                yield Problem("rows belong to no series", Place(table, key=f"lane {lane}"))


def _verify_others(connection: sqlite3.Connection, problems: list[Problem]) -> None:
    """Read positions, documents and the journal, and compare the counts of all rows."""
    for table in _COUNTED:
        _collected(problems, functools.partial(catalogue.check_count, connection, table))
    _collected(problems, functools.partial(documents.positions, connection))
    for table, read in (("document", documents.load), ("journal", documents.journal)):
        statement = f"SELECT DISTINCT kind, name FROM {table}"  # noqa: S608  (names of our own)
        for kind, name in connection.execute(statement).fetchall():
            _collected(problems, functools.partial(read, connection, kind, name))
