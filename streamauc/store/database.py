"""One SQLite file and its transactions.

A process has one connection that writes and one that reads, each behind a lock, so that threads
share a store.
"""

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from streamauc.store import opening
from streamauc.store.connections import Connections, Identity
from streamauc.store.errors import busy, translated
from streamauc.store.schema import SCHEMA, Schema

Value = str | bytes | int | float | None
Row = tuple[Value, ...]
# So much of the file is given back in one transaction: 2 MB.
_CUT_PAGES = 512


class Database:
    """A store's file.

    Raises, here and in every transaction: TimeoutError when others hold it locked for more than
    `busy_seconds`, PermissionError and other OSErrors when it can't be opened, read or written,
    ValueError for a foreign or newer file, `DamageError` where its bytes contradict each other.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 30.0,
        read_only: bool = False,
        schema: Schema = SCHEMA,
    ) -> None:
        self.path = Path(path).absolute()
        self._name = str(self.path)  # pathlib takes its time
        self.read_only = read_only
        self._schema = schema
        self._busy_seconds = busy_seconds
        self._own = Connections(busy_seconds)
        self._own.identity = self._identity()
        self._is_closed = False
        self._finalizer = weakref.finalize(self, self._own.close)
        with self._translated(), self._held(self._own.writing):
            if read_only:
                self._reader()
            else:
                self._writer()

    @property
    def generation(self) -> int:
        """Changes with a fork; what was kept in memory before is void."""
        return self._own.generation

    @property
    def reading(self) -> threading.RLock:
        """The lock of whoever reads, and of what readers keep in memory."""
        return self._own.reading

    @property
    def version(self) -> int:
        """The version of the tables."""
        return self._schema.version

    def close(self) -> None:
        """Close the file; closing again does nothing, anything else is a ValueError."""
        with self._own.writing, self._own.reading:
            self._is_closed = True
            with self._translated():
                self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that writes; it is on disk when the block has been left.

        Whatever is raised within rolls it back. Raises RuntimeError within another one.
        """
        self._check_writable()
        with self._translated(), self._held(self._own.writing):
            connection = self._writer()
            if connection.in_transaction:
                raise RuntimeError("a transaction that writes must not be begun within another")
            opening.begin(connection, "BEGIN IMMEDIATE", self._until())
            generation = self.generation
            try:
                self._check_version(connection)
                yield connection
                if generation != self.generation:
                    self._check_open()
                connection.execute("COMMIT")
            except BaseException:
                # A child that was forked within must not touch what is its parent's.
                if generation == self.generation and not opening.roll_back(connection):
                    self._own.writer = None
                    connection.close()
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that reads: everything within is of one moment."""
        with self._translated(), self._held(self._own.reading):
            connection = self._reader()
            if connection.in_transaction:  # within another one, which has its moment already
                yield connection
                return
            opening.begin(connection, "BEGIN", self._until())
            generation = self.generation
            try:
                yield connection
                self._check_still()
            finally:
                if generation == self.generation:
                    opening.roll_back(connection)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read on a connection of its own, for as long as it takes, in nobody's way.

        Within `read` it is of the same moment, and on the same connection.
        """
        self._check_open()
        with self._translated():
            with self._held(self._own.reading):
                reader = self._reader() if self.read_only else self._own.reader
                # With the lock in hand, a transaction that is open is one around this call.
                is_within = reader is not None and reader.in_transaction
            if reader is not None and is_within:
                yield reader
                return
            found = self._connection(read_only=self.read_only)
            self._own.others.add(found)
            try:
                opening.begin(found, "BEGIN", self._until())
                yield found
                self._check_still()
            finally:
                self._own.others.discard(found)
                found.close()

    def peek(self, statement: str, values: Sequence[Value]) -> Row | None:
        """Return the first row that a statement finds now. The reader's lock must be held."""
        try:
            found: Row | None = self._reader().execute(statement, values).fetchone()
        except sqlite3.Error:
            with self.read() as connection:  # waits, and says what is wrong
                found = connection.execute(statement, values).fetchone()
        return found

    def checkpoint(self) -> None:
        """Bring the log back into the file, as far as no reader needs it."""
        with self._translated(), self._held(self._own.writing):
            self._writer().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def cut_back(self) -> None:
        """Give back to the system what has become free, in transactions of bounded size.

        A quarter of the file may stay free: it will be needed again.
        """
        n_free, n_pages = 1, 0
        while 4 * n_free > n_pages:
            with self.write() as connection:
                connection.execute(f"PRAGMA incremental_vacuum({_CUT_PAGES})").fetchall()
                (n_free,) = connection.execute("PRAGMA freelist_count").fetchone()
                (n_pages,) = connection.execute("PRAGMA page_count").fetchone()

    def compact(self) -> None:
        """Write the file anew without any room in it; needs as much room beside it for a while."""
        self._check_writable()
        with self._translated(), self._held(self._own.writing):
            writer = self._writer()
            if writer.in_transaction:
                raise RuntimeError("a store must not be compacted within a transaction")
            opening.begin(writer, "VACUUM", self._until())
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _writer(self) -> sqlite3.Connection:
        self._check_open()
        own = self._own
        if own.writer is None:
            own.writer = self._connected(read_only=False)
        return own.writer

    def _reader(self) -> sqlite3.Connection:
        self._check_open()
        own = self._own
        if own.reader is not None and not own.reader.in_transaction and self._is_stale():
            own.reader.close()  # it would go on showing what it has read once
            own.reader, own.still = None, None
        if own.reader is None:
            own.reader = self._readable() if self.read_only else self._connected(read_only=False)
        return own.reader

    def _readable(self) -> sqlite3.Connection:
        """Return a connection that reads; without locks where there is no room for them."""
        try:
            return self._connected(read_only=True)
        except sqlite3.OperationalError as error:
            if not opening.may_be_still(error, self.path):
                raise
        self._own.still = opening.stamp(self.path)
        return self._connected(read_only=True)

    def _is_stale(self) -> bool:
        """Whether somebody has written to a file that is read without locks."""
        still = self._own.still
        return still is not None and still != opening.stamp(self.path)

    def _check_still(self) -> None:
        if self._is_stale():
            raise BlockingIOError(
                errno.EAGAIN, "the store was written to while it was read; read again", self._name
            )

    def _connection(self, *, read_only: bool) -> sqlite3.Connection:
        return opening.connect(
            self.path,
            busy_seconds=self._busy_seconds,
            read_only=read_only,
            is_still=self._own.still is not None,
        )

    def _connected(self, *, read_only: bool) -> sqlite3.Connection:
        connection = self._connection(read_only=read_only)
        try:
            opening.prepare(
                connection, self.path, self._schema, read_only=read_only, until=self._until()
            )
        except BaseException:
            connection.close()
            raise
        if self._own.identity is None:
            self._own.identity = self._identity()
        return connection

    def _identity(self) -> Identity | None:
        try:
            found = os.stat(self._name)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _check_version(self, connection: sqlite3.Connection) -> None:
        """Raise ValueError if another program has migrated the file meanwhile."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        opening.check_version(version, self.path, self._schema)

    def _check_writable(self) -> None:
        if self.read_only:
            raise PermissionError(errno.EACCES, "the store was opened read-only", self._name)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError(f"the store {self.path} is closed")
        if self._own.is_stranded:
            raise RuntimeError(
                f"{self.path} can't be used in a process that was forked within a transaction"
            )
        identity = self._own.identity
        if identity is not None and identity != self._identity():
            raise FileNotFoundError(
                errno.ENOENT, "the store was removed or replaced while it was open", self._name
            )

    def _until(self) -> float:
        return time.monotonic() + self._busy_seconds

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with translated(self._name, self._busy_seconds):
            yield

    @contextmanager
    def _held(self, lock: threading.RLock) -> Iterator[None]:
        if not lock.acquire(timeout=self._busy_seconds):
            raise busy(self._name, self._busy_seconds)
        try:
            yield
        finally:
            lock.release()
