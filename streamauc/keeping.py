"""Keeping what is counted: flushing it to a store, and letting polls read it from there."""

import logging
import math
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamauc.flusher import Flusher, SigtermFlush
from streamauc.ledger import Ledger
from streamauc.predictions import PredictionRecorder
from streamauc.unwritten import JoinBounds, check_positions

if TYPE_CHECKING:
    from streamauc.store.documents import Json
    from streamauc.stored_ledger import StoredLedger

_LOG = logging.getLogger("streamauc")
# So often a writer with nothing to write tells that it is alive.
_BEAT_SECONDS = 30.0
# How long a flush that nobody waits for waits for another one.
_PATIENCE_SECONDS = 30.0


class KeepingRecorder(PredictionRecorder):
    """A recorder that flushes what it counted, and answers polls when all is counted."""

    _stored: "StoredLedger | None" = None
    _flusher: Flusher | None = None
    _handles_sigterm = False  # a forked child inherits the handler

    def _start_empty(self) -> None:
        """Begin anew; in a forked child as well, so that it counts only what is its own.

        Without input or output: a child must not use its parent's connections, and has no others
        yet.
        """
        self._flush_lock = threading.Lock()
        self._n_failed = 0
        self._written_at = -math.inf
        super()._start_empty()
        if self._storing is not None and not self._closed and not self._storing.is_manual:
            self._flusher = Flusher(
                weakref.WeakMethod(self._write_rest), self._storing.flush_seconds
            )
        if self._flush_on_sigterm and not self._handles_sigterm:
            self._handles_sigterm = True
            SigtermFlush.install(weakref.WeakMethod(self._write_rest))

    def _new_ledger(self) -> Ledger:
        if self._storing is None:
            return super()._new_ledger()
        bounds = JoinBounds(label_ttl=self._label_ttl, **self._bounds)
        self._stored = self._storing.ledger(
            self._counter, self._new_clock(), self.tiers, self._rules.classes, bounds, self._stored
        )
        return self._stored

    def __del__(self) -> None:
        """Write what waits, as a file does that nobody closed."""
        flusher: Flusher | None = getattr(self, "_flusher", None)
        # When the interpreter ends, the flush on exit has been before, and nothing works any more.
        if flusher is not None and not self._closed and not sys.is_finalizing():
            flusher.last_turn(self._write_rest)

    def _after_fold(self) -> None:
        if self._stored is not None and self._flusher is not None and self._stored.is_filling:
            self._flusher.wake()

    def flush(self, position: Mapping[str, "Json"] | None = None) -> None:
        """Count everything that waits and, with a store, write it down.

        When this returns, it is on disk. `position` says by name how far the sources of all
        events have been read (a file's offset, a topic's offsets), anything that JSON can say; it
        is written in the same transaction, and `Store.position` gives it back. With
        ``positions=True``, or once a position has been given, nothing is written without the next
        one: not by the thread, a poll, on exit or on closing, nor by a flush that has none. So
        whoever reads on from the stored position after a crash counts each event once. Without
        ``positions=True`` what came before the first position may have been written without it,
        and be counted twice then.

        With a store raises TimeoutError when others hold it locked for too long, or another
        OSError; then everything is kept, and the next flush writes it, with its position.
        """
        if self._stored is not None:
            self._flush(self._stored, position)
            return
        if position is not None:
            raise ValueError("position must be written to a store, got a monitor without one")
        with self._lock:
            self._fold_all()

    def _write_rest(self, is_beat: bool) -> None:  # noqa: FBT001 - a `flusher.Flush`
        """Flush; with nothing to write, a beat tells now and then that this writer is alive."""
        if self._stored is None:
            return
        # A process that ends, or that was forked, must not wait for ever for somebody else's flush.
        if not self._flush_lock.acquire(timeout=_PATIENCE_SECONDS):
            raise TimeoutError(f"another flush has taken more than {_PATIENCE_SECONDS:g} s")
        try:
            self._take(self._stored)
            is_silent = time.monotonic() > self._written_at + _BEAT_SECONDS
            self._write_unasked(self._stored, is_due=is_beat and is_silent and not self._closed)
        finally:
            self._flush_lock.release()

    def _flush(self, ledger: "StoredLedger", position: Mapping[str, "Json"] | None) -> None:
        if position is not None:
            check_positions(position)
        with self._flush_lock:
            self._take(ledger)
            ledger.seal(position)
            self._write(ledger)

    def _take(self, ledger: "StoredLedger") -> None:
        """Let the ledger take what has come by now; with the lock of whoever flushes."""
        ledger.look()
        with self._lock:
            ledger.catch_up()
            self._fold_all()
            ledger.take()

    def _write_unasked(self, ledger: "StoredLedger", *, is_due: bool = False) -> None:
        """Write what waits, but what needs a position and has none."""
        ledger.seal(None)
        self._write(ledger, is_due=is_due)

    def _write(self, ledger: "StoredLedger", *, is_due: bool = False) -> None:
        """Write what is sealed by now; with the lock of whoever flushes."""
        try:
            # After its end a writer has nothing to do with what becomes of predictions.
            if is_due or ledger.is_ready or (not self._closed and ledger.is_overdue()):
                ledger.write()
                self._written_at = time.monotonic()
        except BaseException:
            self._n_failed += 1
            raise
        ledger.roll_up()

    def close(self) -> None:
        """Write or count everything that waits and refuse what comes later; polls still answer.

        Where positions are needed, what came after the last one is not written, and the log says
        so. Raises as `flush` does. Then what waits is tried again by the thread, on exit, and by
        closing once more.
        """
        self._closed = True
        self._refresh_limit()
        if self._stored is None:
            self.flush()
            return
        with self._flush_lock:
            self._take(self._stored)
            self._write_unasked(self._stored)
        if self._flusher is not None:
            self._flusher.stop()
        with self._flush_lock:
            self._stored.close()

    @contextmanager
    def _answering(self) -> Iterator[Ledger]:
        """Let a poll read the ledger when everything that waited is counted.

        A poll that comes during a fold waits for it, so it misses nothing. With a store it writes
        what waits first, unless only `flush` is to write; where that fails it answers without.
        Then its windows say so.
        """
        if self._stored is None:
            with self._lock:
                self._fold_all()
                yield self._ledger
            return
        n_failed = self._n_failed
        with self._flush_lock:
            self._take(self._stored)
            # A poll that has waited for a try in vain does not wait for another one.
            if self._n_failed == n_failed:
                self._try_to_write(self._stored)
            yield self._stored

    def _try_to_write(self, ledger: "StoredLedger") -> None:
        if self._storing is not None and self._storing.is_manual:
            return
        try:
            self._write_unasked(ledger)
        except (OSError, RuntimeError, ValueError) as error:  # damage is a ValueError
            _LOG.debug("a poll could not write what waits: %s", error)
