"""The panes of a channel in one tier, read in order and compared with the sums beside them."""

import sqlite3
from collections.abc import Callable, Iterator

from streamauc.codec import decode_panes
from streamauc.storage import Storage
from streamauc.store import address
from streamauc.store.catalogue import SeriesRow
from streamauc.store.errors import DamageError, Place
from streamauc.store.rows import PANES, Total, raised, read_chunks, unsealed
from streamauc.timeline import n_classes_of

Panes = list[tuple[int, Storage]]  # (index, counts)
Skip = Callable[[DamageError], None]


def read_lane(
    connection: sqlite3.Connection,
    row: SeriesRow,
    channel: str,
    tier: int,
    skip: Skip = raised,
) -> Iterator[Panes]:
    """Yield the panes of a lane in the order of time, a chunk at once.

    Those of each chunk are compared with its sum, and the chunks with that of the lane. Damage is
    left out if `skip` does not raise the error.
    """
    lane = row.facts.lanes[channel][tier]
    chunks, mixed = read_chunks(connection, lane.number, row.where, skip)
    if (len(chunks), mixed) != (lane.n_chunks, lane.mixed):
        skip(DamageError("chunks are missing", Place("chunk", row.labels, channel, tier)))
    following, end = address.lane_span(lane.number)
    for chunk, total in chunks.items():
        begin, last = address.chunk_span(chunk)
        _check_gap(connection, row, (following, begin - 1), skip)
        yield _read_chunk(connection, row, channel, (chunk, total), skip)
        following = last + 1
    _check_gap(connection, row, (following, end), skip)


def _check_gap(
    connection: sqlite3.Connection, row: SeriesRow, span: tuple[int, int], skip: Skip
) -> None:
    """Tell of a pane between two chunks, where none can be."""
    found = connection.execute(
        "SELECT id FROM pane WHERE id BETWEEN ? AND ? LIMIT 1", span
    ).fetchone()
    if found is not None:
        skip(DamageError("a pane stands elsewhere", row.where("pane", found[0])))


def _read_chunk(
    connection: sqlite3.Connection,
    row: SeriesRow,
    channel: str,
    chunk: tuple[int, Total],
    skip: Skip,
) -> Panes:
    number, total = chunk
    found: dict[int, bytes] = {}
    crcs = []
    for key, blob in connection.execute(PANES, address.chunk_span(number)).fetchall():
        try:
            found[key], crc = unsealed(key, blob, row.where)
        except DamageError as error:
            skip(error)
        else:
            crcs.append(crc)
    if (len(crcs), address.combined(crcs)) != total:
        where = row.where("chunk", number)
        skip(DamageError("panes are missing, or others in their place", where))
    parts = decode_panes(found.values(), n_classes_of(channel))
    return list(zip(map(address.index_of, found), parts, strict=True))
