"""The connections of one process to one file, and what a fork does to them.

SQLite keeps one account of its locks for all connections of a process to a file. A child inherits
that account but not the locks, so whatever it then opens believes to hold locks that it does not.
Therefore everything is closed just before a fork, and opened again afterwards, when it is needed:
by the parent and by the child, each for itself. Only a transaction that is open in the very
thread that forks can't be closed: then the child must not use the file any more, and is told so.
"""

import ctypes
import sqlite3
import threading
import weakref

from streamauc import _fork
from streamauc.store.opening import Stamp

Identity = tuple[int, int]  # device and inode


class Connections:
    """Two connections, each behind a lock, and those that somebody reads on at length."""

    def __init__(self, patience: float) -> None:
        self.reading = threading.RLock()
        self.writing = threading.RLock()
        self.reader: sqlite3.Connection | None = None
        self.writer: sqlite3.Connection | None = None
        self.others: set[sqlite3.Connection] = set()
        self.identity: Identity | None = None
        self.still: Stamp | None = None  # of a file that the reader reads without locks
        self.generation = 0
        self._patience = patience
        self._held: list[threading.RLock] = []
        with _REGISTRY.lock:
            _REGISTRY.all.add(self)

    def close(self) -> None:
        """Close everything; the writer last, because only it can bring the log into the file."""
        for connection in (*self.others, self.reader, self.writer):
            if connection is not None:
                connection.close()
        self.others.clear()
        self.reader = self.writer = self.still = None

    @property
    def is_stranded(self) -> bool:
        """Whether a parent had a transaction open when it forked."""
        return self.identity in _REGISTRY.stranded

    def before_fork(self) -> None:
        """Close everything that is at rest, when others are done with it."""
        for lock in (self.writing, self.reading):
            if lock.acquire(timeout=self._patience):
                self._held.append(lock)
        if len(self._held) == 2 and not self._is_busy():
            self.close()

    def after_fork(self) -> None:
        """Go on in the parent."""
        while self._held:
            self._held.pop().release()

    def begin_in_child(self) -> None:
        """Start without any connection; what could not be closed is left alone, for ever."""
        left = [one for one in (*self.others, self.reader, self.writer) if one is not None]
        for connection in left:
            # Freeing it would close it, and undo what the parent is writing.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        if left and self.identity is not None:
            _REGISTRY.stranded.add(self.identity)
        self.others, self.reader, self.writer, self.still = set(), None, None, None
        self.reading, self.writing, self._held = threading.RLock(), threading.RLock(), []
        self.generation += 1

    def _is_busy(self) -> bool:
        mine = [one for one in (self.reader, self.writer) if one is not None]
        return bool(self.others) or any(one.in_transaction for one in mine)


class _Registry:
    """Everything that a fork concerns."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all: weakref.WeakSet[Connections] = weakref.WeakSet()
        self.stranded: set[Identity] = set()

    def before_fork(self) -> None:
        self.lock.acquire()
        for connections in self.all:
            connections.before_fork()

    def after_fork(self) -> None:
        for connections in self.all:
            connections.after_fork()
        self.lock.release()

    def begin_in_child(self) -> None:
        for connections in self.all:
            connections.begin_in_child()
        self.lock = threading.Lock()


# The one thing that is shared by all stores of a process, as a fork concerns them all.
_REGISTRY = _Registry()

_fork.concern(
    _fork.GROUND,
    before=_REGISTRY.before_fork,
    in_parent=_REGISTRY.after_fork,
    in_child=_REGISTRY.begin_in_child,
)
