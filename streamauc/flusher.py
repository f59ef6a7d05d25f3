"""Writes what waits, every few seconds and when the process ends."""

import atexit
import logging
import os
import signal
import threading
import weakref
from collections.abc import Callable
from types import FrameType

_LOG = logging.getLogger("streamauc")
_LONGEST_WAIT = 86_400.0  # the longest time that can be waited for is not the same everywhere
_Handler = Callable[[int, FrameType | None], object] | int | None
# Told whether this is one of the turns of a thread, which others are to see.
Flush = Callable[[bool], None]
_WeakFlush = weakref.WeakMethod[Flush]


class Flusher:
    """Calls `flush` of an owner from a daemon thread, and on exit, for as long as it lives.

    An error is logged once until it is another one or gone; the next turn tries again.
    """

    def __init__(self, flush: "_WeakFlush", seconds: float) -> None:
        self._flush = flush
        self._seconds = min(seconds, _LONGEST_WAIT)
        self._stopping = threading.Event()
        self._waking = threading.Event()
        self._told = ""
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="streamauc flush", daemon=True)
        self._thread.start()
        atexit.register(self._turn)
        self._watch_worker()

    def _watch_worker(self) -> None:
        """Take a turn when a worker of multiprocessing ends, which knows nothing of `atexit`."""
        from multiprocessing import util  # not for those who have no store

        self._end_of_worker = util.Finalize(None, self._turn, exitpriority=0)
        # A worker that is forked forgets what was to be done at its end.
        util.register_after_fork(self, Flusher._watch_worker)

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._waking.set()
        self._forget()

    def _forget(self) -> None:
        atexit.unregister(self._turn)
        self._end_of_worker.cancel()

    def wake(self) -> None:
        """Take a turn soon, unless the last one failed."""
        self._waking.set()

    def _run(self) -> None:
        while not self._wait():
            if not self._turn(is_beat=True):
                self._forget()
                return

    def _wait(self) -> bool:
        """Wait for the next turn; return whether there is to be none."""
        (self._stopping if self._told else self._waking).wait(self._seconds)
        self._waking.clear()
        return self._stopping.is_set()

    def _turn(self, *, is_beat: bool = False) -> bool:
        """Flush once; return whether there is still somebody to flush."""
        flush = self._flush()
        if flush is None or self._pid != os.getpid():
            return False
        self._take_turn(flush, is_beat=is_beat)
        return True

    def last_turn(self, flush: Flush) -> None:
        """Flush for an owner that is about to go."""
        self.stop()
        if self._pid == os.getpid():
            self._take_turn(flush, is_beat=False)

    def _take_turn(self, flush: Flush, *, is_beat: bool) -> None:
        try:
            flush(is_beat)
        except Exception as error:  # noqa: BLE001 - a thread that ends would never write again
            self._tell(f"{error}")
        else:
            if self._told:
                _LOG.info("the store can be written again")
            self._told = ""

    def _tell(self, message: str) -> None:
        if message != self._told:
            _LOG.warning("what waits could not be written, trying again: %s", message)
        self._told = message


class SigtermFlush:
    """Lets SIGTERM flush first, and then do what it did before.

    The flush runs in a thread of its own: the signal may have come while the main thread, which
    handles it, was counting. A process has one of these, however many there are to flush; a
    forked child has the same.
    """

    def __init__(self) -> None:
        self._flushes: list[_WeakFlush] = []
        self._is_done = False
        self._thread: threading.Thread | None = None
        self._before: _Handler = None

    @classmethod
    def install(cls, flush: "_WeakFlush") -> None:
        """Let SIGTERM call `flush` too. Raises ValueError outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            raise ValueError(
                "flush_on_sigterm must be asked for in the main thread, which handles signals"
            )
        now = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
        if not isinstance(now, cls):
            now = cls()
            now._before = signal.signal(signal.SIGTERM, now._handle)
        now._flushes = [one for one in now._flushes if one() is not None] + [flush]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._is_done:
            if self._thread is None:
                self._thread = threading.Thread(target=self._flush_all, name="streamauc sigterm")
                self._thread.start()
            return
        self._is_done, self._thread = False, None  # whoever survives may be told again
        if callable(self._before):
            self._before(number, frame)
        elif self._before != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _flush_all(self) -> None:
        try:
            for flush in (one() for one in self._flushes):
                if flush is not None:
                    _flush_or_tell(flush)
        finally:
            self._is_done = True
            os.kill(os.getpid(), signal.SIGTERM)  # once more, for what it did before


def _flush_or_tell(flush: Flush) -> None:
    try:
        flush(False)  # noqa: FBT003
    except Exception as error:  # noqa: BLE001 - the signal must still do what it did before
        _LOG.warning("what waits could not be written before the end: %s", error)
