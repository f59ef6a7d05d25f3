"""Opening a file: what it must be, and how an empty or an older one becomes a store."""

import errno
import os
import sqlite3
import time
from pathlib import Path

from streamauc.store.errors import DamageError, Place
from streamauc.store.schema import APPLICATION_ID, Schema

# The log is cut back to this when a checkpoint has emptied it.
_LOG_BYTES = 2**24
_PAUSE = 0.01


# The file's size and time, and the size of its log; another one means that somebody has written.
Stamp = tuple[int, int, int]


def connect(
    path: Path, *, busy_seconds: float, read_only: bool, is_still: bool = False
) -> sqlite3.Connection:
    """Return a connection to a file, made if it is missing and may be written to.

    One that `is_still` is read without locks, which take a log and so a directory to write to;
    see `stamp`.
    """
    if read_only and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no store to read", str(path))
    mode = ("ro&immutable=1" if is_still else "ro") if read_only else "rwc"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )


def stamp(path: Path) -> Stamp:
    """Return what changes when somebody writes to a file, which is read without locks."""
    found, log = path.stat(), path.with_name(path.name + "-wal")
    return found.st_size, found.st_mtime_ns, log.stat().st_size if log.exists() else 0


def may_be_still(error: sqlite3.OperationalError, path: Path) -> bool:
    """Return whether a file can't be read only for want of a log, and has none with anything in it.

    Then nobody writes to it, or whoever does has just begun.
    """
    code = error.sqlite_errorcode
    is_want = code == sqlite3.SQLITE_READONLY_DIRECTORY or code & 0xFF == sqlite3.SQLITE_CANTOPEN
    return (
        is_want
        and os.access(path, os.R_OK)
        and not os.access(path.parent, os.W_OK)
        and stamp(path)[2] == 0
    )


def prepare(
    connection: sqlite3.Connection, path: Path, schema: Schema, *, read_only: bool, until: float
) -> None:
    """Make sure that a file is a store of this version: create it, or migrate it.

    Raises ValueError for a foreign file and for one of a newer version.
    """
    version = _version(connection, path, schema)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    if version == schema.version:
        if not read_only and _journal_mode(connection) != "wal":
            _use_log(connection, until)
        return
    if read_only:
        what = "is empty" if version is None else f"has the older version {version}"
        raise ValueError(f"{path} {what}; open it once for writing")
    # Only before the first table can it be settled that the file may be cut back.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _use_log(connection, until)
    begin(connection, "BEGIN IMMEDIATE", until)
    try:
        _bring_up(connection, path, schema)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _bring_up(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    # Looked at again: another process may have been faster.
    version = _version(connection, path, schema)
    if version is None:
        schema.create(connection)
    elif version < schema.version:
        schema.migrate(connection, version)


def _version(connection: sqlite3.Connection, path: Path, schema: Schema) -> int | None:
    """Return the version of a store, None for an empty file."""
    try:
        (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
            raise ValueError(f"{path} is no store: {error}") from None
        raise
    # Only now: what a killed process began to create, SQLite has rolled back by looking.
    size = path.stat().st_size
    if size and not n_pages:
        raise ValueError(f"{path} is no store: {size} bytes are no database")
    if application == version == n_tables == 0:
        return None
    if application != APPLICATION_ID:
        raise ValueError(f"{path} is an SQLite file of another application, not a store")
    check_version(version, path, schema)
    return int(version)


def check_version(version: int, path: Path, schema: Schema) -> None:
    """Raise ValueError unless a file of this version can be used or migrated."""
    if version > schema.version:
        raise ValueError(
            f"{path} has version {version}, newer than this program's {schema.version}"
        )
    if version != schema.version and version not in schema.migrations:
        raise DamageError(f"{path} has version {version}, which never was", Place("header"))


def _journal_mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def _use_log(connection: sqlite3.Connection, until: float) -> None:
    """Write ahead to a log; needs a moment in which nobody else reads or writes."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


def begin(connection: sqlite3.Connection, statement: str, until: float) -> None:
    """Begin a transaction; where SQLite itself gives up waiting early, try again."""
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _is_busy(error: sqlite3.OperationalError) -> bool:
    code = error.sqlite_errorcode & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def roll_back(connection: sqlite3.Connection) -> bool:
    """Undo an open transaction; return whether the connection can go on being used."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return True
