"""The tables of a store, their version, and how an older file is brought to it.

The tables, what a row of each says, and what protects it:

==========  ======================================================================================
table       a row
==========  ======================================================================================
`meta`      a count of what must not vanish unnoticed: series, positions, documents; the next lane
`series`    labels; as JSON its settings (scale, tiers, classes); the number of its last change; as
            JSON its state: horizons, and by channel the *lane* of each tier with how many chunks
            it has and their CRCs, combined (see `address.combined`)
`pane`      the counts of a pane, in the format of `codec.panes`, and their CRC-32 behind them;
            its key is the lane and the index of the pane (see `address`)
`chunk`     of 256 panes that stand side by side in a lane: how many there are, and their CRCs,
            combined likewise
`touched`   which panes a change changed, for those who keep panes in memory
`writer`    a process that writes: when it began, wrote last and ended, and what it tallied
`position`  how far a source has been read, as JSON
`document`  a reference, the state of a detector or of a rule, by kind and name
`journal`   what documents were before, and changes of state, in the order of time
`entry`...  predictions without a label, labels without a prediction, and keys that were seen:
            `entry_rows` describes them
==========  ======================================================================================

Every row carries a CRC-32 over its key and its values. So a row that was altered is noticed when
it is read; a row that is missing, because sums and counts above it differ.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streamauc.store.entry_rows import SCHEMA as ENTRY_TABLES

APPLICATION_ID = int.from_bytes(b"sauc", "big")

_TABLES = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL, crc INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE series(id INTEGER PRIMARY KEY, labels TEXT NOT NULL UNIQUE,"
    " settings TEXT NOT NULL, change INTEGER NOT NULL, state TEXT NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE pane(id INTEGER PRIMARY KEY, counts BLOB NOT NULL)",
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, n INTEGER NOT NULL, mixed INTEGER NOT NULL,"
    " crc INTEGER NOT NULL)",
    "CREATE TABLE touched(series INTEGER, change INTEGER, pane INTEGER,"
    " PRIMARY KEY(series, change, pane)) WITHOUT ROWID",
    "CREATE TABLE writer(series INTEGER, id TEXT, started REAL NOT NULL, flushed REAL NOT NULL,"
    " closed REAL, tallies TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY(series, id))"
    " WITHOUT ROWID",
    "CREATE TABLE position(name TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE document(kind TEXT, name TEXT, body BLOB NOT NULL, saved REAL NOT NULL,"
    " crc INTEGER NOT NULL, PRIMARY KEY(kind, name)) WITHOUT ROWID",
    "CREATE TABLE journal(kind TEXT, name TEXT, number INTEGER, at REAL NOT NULL,"
    " body BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY(kind, name, number)) WITHOUT ROWID",
)

Migration = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of a version; `migrations` lead from the version that is their key to the next."""

    version: int
    tables: tuple[str, ...]
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    def create(self, connection: sqlite3.Connection) -> None:
        """Make the tables in an empty file; needs a transaction."""
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {self.version}")
        for table in self.tables:
            connection.execute(table)

    def migrate(self, connection: sqlite3.Connection, version: int) -> None:
        """Bring tables of an older version up to this one, step by step; needs a transaction."""
        for step in range(version, self.version):
            self.migrations[step](connection)
        connection.execute(f"PRAGMA user_version = {self.version}")


SCHEMA = Schema(1, (*_TABLES, *ENTRY_TABLES))
