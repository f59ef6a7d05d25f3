"""What can go wrong with a file, and how the caller hears of it: as built-in errors."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamauc import _time

# A file whose rows or schema contradict what was found in it before.
_DAMAGE = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_NOTADB,
}
_WAITED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a store something is: the table, and what is known of the row.

    * `series`: its labels, as JSON; `channel` and `tier` of a pane.
    * `start`: where the pane begins, in seconds since the epoch.
    * `key`: the key of any other row.
    """

    table: str
    series: str | None = None
    channel: str | None = None
    tier: int | None = None
    start: float | None = None
    key: str | None = None

    def __str__(self) -> str:
        known = {
            "series": self.series,
            "channel": self.channel,
            "tier": self.tier,
            "start": None if self.start is None else _time.shown(self.start),
            "key": self.key,
        }
        rest = [f"{name} {value}" for name, value in known.items() if value is not None]
        return ", ".join([f"table {self.table}", *rest])


class DamageError(ValueError):
    """The file does not hold what was written to it; `place` says where."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message, place)
        self.place = place

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.place})"


@contextmanager
def translated(path: str, busy_seconds: float) -> Iterator[None]:
    """Raise SQLite's errors as built-in ones that name the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path, busy_seconds) from error


def translate(error: sqlite3.Error, path: str, busy_seconds: float) -> Exception:
    """Return the built-in error that stands for one of SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Raised by the module itself: for text that is not UTF-8, or for a wrong call.
        if isinstance(error, sqlite3.OperationalError):
            return DamageError(f"{path} is damaged: {error}", Place("unknown"))
        return ValueError(f"{path}: {error}")
    kind = code & 0xFF
    if kind in _WAITED:
        return busy(path, busy_seconds)
    if kind in _DAMAGE:
        return DamageError(f"{path} is damaged: {error}", Place("unknown"))
    if kind == sqlite3.SQLITE_TOOBIG:
        return ValueError(f"{path}: {error}")
    if kind == sqlite3.SQLITE_NOMEM:
        return MemoryError(f"{path}: {error}")
    return _of_the_system(error, kind, path)


def busy(path: str, busy_seconds: float) -> TimeoutError:
    """Return the error for a lock that others held too long."""
    return TimeoutError(
        errno.ETIMEDOUT, f"the store stayed locked by another writer for {busy_seconds:g} s", path
    )


def _of_the_system(error: sqlite3.Error, kind: int, path: str) -> OSError:
    if kind == sqlite3.SQLITE_FULL:
        return OSError(errno.ENOSPC, "the store can't grow: its disk or its limit is full", path)
    if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_DIRECTORY:
        return _no_log(path)
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return PermissionError(errno.EACCES, f"the store can't be written to: {error}", path)
    if kind == sqlite3.SQLITE_CANTOPEN:
        return _unreachable(error, path)
    return OSError(errno.EIO, f"the store can't be read or written: {error}", path)


def _no_log(path: str) -> PermissionError:
    parent = Path(path).absolute().parent
    return PermissionError(
        errno.EACCES, f"the store's log can't be opened: {parent} must be writable too", path
    )


def _unreachable(error: sqlite3.Error, path: str) -> OSError:
    parent = Path(path).absolute().parent
    if not parent.is_dir():
        return FileNotFoundError(errno.ENOENT, "the store's directory does not exist", str(parent))
    if Path(path).is_dir():
        return IsADirectoryError(errno.EISDIR, "the store must be a file", path)
    if os.access(path, os.R_OK) and not os.access(parent, os.W_OK):
        return _no_log(path)
    if not os.access(parent, os.W_OK) or (Path(path).exists() and not os.access(path, os.R_OK)):
        return PermissionError(errno.EACCES, f"the store can't be opened: {error}", path)
    return OSError(errno.EIO, f"the store can't be opened: {error}", path)
