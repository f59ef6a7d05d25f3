"""The rows of panes and chunks, checked against each other."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable

from sortedcontainers import SortedDict

from streamauc.store import address
from streamauc.store.errors import DamageError, Place

# What a chunk holds: how many panes, and their CRCs combined.
Total = tuple[int, int]
# Says where a pane or a chunk is, given the table and the key.
Where = Callable[[str, int], Place]
_CRC_BYTES = 4
# As bytes: what is not text any more, though it says so, has the wrong CRC.
PANE = "SELECT CAST(counts AS BLOB) FROM pane WHERE id = ?"
PANES = "SELECT id, CAST(counts AS BLOB) FROM pane WHERE id BETWEEN ? AND ? ORDER BY id"


def unsealed(key: int, blob: object, where: Where) -> tuple[bytes, int]:
    """Return the counts in the row of a pane, as bytes, and their CRC. Raises DamageError."""
    if not isinstance(blob, bytes) or len(blob) <= _CRC_BYTES:
        raise DamageError("a pane was altered", where("pane", key))
    body, crc = blob[:-_CRC_BYTES], int.from_bytes(blob[-_CRC_BYTES:], "little")
    if crc != address.pane_checksum(key, body):
        raise DamageError("a pane was altered", where("pane", key))
    return body, crc


def chunk_total(row: tuple[int, int, int, int], where: Where) -> Total:
    """Return what the row of a chunk says. Raises DamageError if it was altered."""
    key, n_panes, mixed, crc = row
    if crc != address.checksum("chunk", key, n_panes, mixed):
        raise DamageError("a chunk was altered", where("chunk", key))
    return n_panes, mixed


def raised(error: DamageError) -> None:
    """Raise an error; where damage is to be left out, another function takes its place."""
    raise error


def read_chunks(
    connection: sqlite3.Connection,
    lane: int,
    where: Where,
    skip: Callable[[DamageError], None] = raised,
) -> tuple[SortedDict[int, Total], int]:
    """Return the chunks of a lane in the order of time, and the CRCs of their rows combined.

    Damaged ones are left out if `skip` does not raise the error.
    """
    rows = connection.execute(
        "SELECT id, n, mixed, crc FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id",
        address.lane_span(lane),
    ).fetchall()
    found: SortedDict[int, Total] = SortedDict()
    for row in rows:
        try:
            found[row[0]] = chunk_total(row, where)
        except DamageError as error:
            skip(error)
    return found, address.combined(row[3] for row in rows)


class PaneRows:
    """The panes of a series within a transaction that writes; sums are brought up by `settle`."""

    def __init__(self, connection: sqlite3.Connection, where: Where) -> None:
        self._connection = connection
        self._where = where
        self._totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        self._written: list[tuple[int, bytes]] = []
        self._deleted: list[tuple[int]] = []

    def read(self, key: int) -> tuple[bytes, int] | None:
        """Return a pane's counts as bytes and their CRC."""
        row = self._connection.execute(PANE, (key,)).fetchone()
        return None if row is None else unsealed(key, row[0], self._where)

    def read_some(self, first: int, last: int, limit: int) -> list[tuple[int, bytes, int]]:
        """Return (key, counts, CRC) of the first panes between two keys, at most `limit`."""
        rows = self._connection.execute(
            f"{PANES} LIMIT ?",
            (first, last, limit),
        )
        return [(key, *unsealed(key, blob, self._where)) for key, blob in rows.fetchall()]

    def write(self, key: int, body: bytes, before: int | None) -> None:
        """Put counts in a pane, in place of those whose CRC was `before`; no bytes delete it."""
        if before is not None:
            self._count(key, -1, before)
        if body:
            crc = address.pane_checksum(key, body)
            self._count(key, 1, crc)
            self._written.append((key, body + crc.to_bytes(_CRC_BYTES, "little")))
        elif before is not None:
            self._deleted.append((key,))

    def _count(self, key: int, number: int, crc: int) -> None:
        total = self._totals[address.chunk_of(key)]
        total[0] += number
        total[1] ^= address.combined((crc,))

    @property
    def changed(self) -> list[int]:
        """The keys of the panes that were written or deleted."""
        return [key for key, _ in self._written] + [key for (key,) in self._deleted]

    def settle(self) -> dict[int, Total]:
        """Write everything; return by lane how many chunks it gained, and how their CRCs changed.

        Raises DamageError where a sum can't be right.
        """
        if self._written:
            self._connection.executemany("INSERT OR REPLACE INTO pane VALUES(?, ?)", self._written)
        if self._deleted:
            self._connection.executemany("DELETE FROM pane WHERE id = ?", self._deleted)
        lanes: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for chunk, (number, mixed) in self._totals.items():
            gained, crcs = self._settle_chunk(chunk, number, mixed)
            lane = lanes[address.lane_of(chunk)]
            lane[0] += gained
            lane[1] ^= crcs
        return {lane: (gained, crcs) for lane, (gained, crcs) in lanes.items()}

    def _settle_chunk(self, chunk: int, number: int, mixed: int) -> Total:
        row = self._connection.execute(
            "SELECT id, n, mixed, crc FROM chunk WHERE id = ?", (chunk,)
        ).fetchone()
        n_panes, crcs = (0, 0) if row is None else chunk_total(row, self._where)
        before = [] if row is None else [row[3]]
        n_panes, crcs = n_panes + number, crcs ^ mixed
        if n_panes < 0 or (n_panes == 0 and crcs):
            raise DamageError("panes are missing", self._where("chunk", chunk))
        if n_panes == 0:
            self._connection.execute("DELETE FROM chunk WHERE id = ?", (chunk,))
            return -len(before), address.combined(before)
        crc = address.checksum("chunk", chunk, n_panes, crcs)
        self._connection.execute(
            "INSERT OR REPLACE INTO chunk VALUES(?, ?, ?, ?)", (chunk, n_panes, crcs, crc)
        )
        return 1 - len(before), address.combined([*before, crc])
