"""Giving up damaged panes, when that was asked for, so that the rest can be used and written to."""

import sqlite3
from dataclasses import replace

from streamauc.store import address, catalogue
from streamauc.store.catalogue import SeriesRow
from streamauc.store.database import Database
from streamauc.store.errors import DamageError, Place
from streamauc.store.facts import Lane
from streamauc.store.rows import PANES, Total, unsealed


def repair(database: Database) -> tuple[Place, ...]:
    """Delete every damaged pane and add up the others; return what was given up.

    One transaction a series. Whatever else is damaged is left, and raised as DamageError: without
    its row a series is nothing, and a position that is made up would count events twice.
    """
    with database.read() as connection:
        numbers = [row.id for row in catalogue.all_series(connection)]
    lost: list[Place] = []
    for number in numbers:
        with database.write() as connection:
            lost += _repair_series(connection, catalogue.load(connection, number))
    return tuple(lost)


def _repair_series(connection: sqlite3.Connection, row: SeriesRow) -> list[Place]:
    lost: list[Place] = []
    facts = row.facts
    for channel, lanes in facts.lanes.items():
        new = tuple(_repair_lane(connection, row, lane, lost) for lane in lanes)
        facts = facts.with_lanes(channel, new)
    if facts != row.facts:
        # Whoever keeps panes in memory has to compare the sums.
        facts = replace(facts, traced=row.change + 1)
        catalogue.save(connection, row, row.change + 1, facts)
    return lost


def _repair_lane(
    connection: sqlite3.Connection, row: SeriesRow, lane: Lane, lost: list[Place]
) -> Lane:
    """Return a lane as it is when its damaged panes are gone. O(size of its panes)."""
    span = address.lane_span(lane.number)
    totals: dict[int, Total] = {}
    for key, blob in connection.execute(PANES, span).fetchall():
        try:
            _, crc = unsealed(key, blob, row.where)
        except DamageError as error:
            lost.append(error.place)
            connection.execute("DELETE FROM pane WHERE id = ?", (key,))
            continue
        number, mixed = totals.get(address.chunk_of(key), (0, 0))
        totals[address.chunk_of(key)] = number + 1, mixed ^ address.combined([crc])
    return _with_chunks(connection, row, lane, totals, lost)


def _with_chunks(
    connection: sqlite3.Connection,
    row: SeriesRow,
    lane: Lane,
    totals: dict[int, Total],
    lost: list[Place],
) -> Lane:
    """Write the sums of a lane's chunks anew; note those from which panes had vanished."""
    span = address.lane_span(lane.number)
    statement = "SELECT id, n, mixed, crc FROM chunk WHERE id BETWEEN ? AND ?"
    before = {key: (n, mixed, crc) for key, n, mixed, crc in connection.execute(statement, span)}
    after = {
        chunk: (*total, address.checksum("chunk", chunk, *total)) for chunk, total in totals.items()
    }
    lost += [
        row.where("chunk", chunk)
        for chunk in sorted(before.keys() | after.keys())
        if before.get(chunk) != after.get(chunk)
    ]
    connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", span)
    rows = [(chunk, *total) for chunk, total in after.items()]
    connection.executemany("INSERT INTO chunk VALUES(?, ?, ?, ?)", rows)
    return Lane(lane.number, len(after), address.combined(crc for _, _, crc in after.values()))
