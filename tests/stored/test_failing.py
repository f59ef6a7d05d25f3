"""Writing fails: nothing is lost, nothing counted twice, nobody waits who only counts."""

import contextlib
import errno
import logging
import os
import resource
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
from panes import SMALL_TIERS
from stored_world import NEVER, SERIES, check_store, everything, scratch, shown, stored

from streamauc import Monitor
from streamauc.store import Store, series
from streamauc.store.database import Database

TOO_LATE = OSError(errno.EIO, "told too late")


@pytest.fixture
def path():
    with scratch() as found:
        yield found


@contextlib.contextmanager
def held(path):
    """Hold a store locked, as another writer might."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def locked(_monitor, path):
    """Let somebody else hold the lock."""
    return held(path)


@contextlib.contextmanager
def full(monitor, _path):
    """Let the file not grow."""
    connection = monitor._storing.store.database._writer()
    (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
    (most,) = connection.execute("PRAGMA max_page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {n_pages}")
    yield
    connection.execute(f"PRAGMA max_page_count = {most}")


@contextlib.contextmanager
def read_only(monitor, _path):
    """Let nothing be written."""
    connection = monitor._storing.store.database._writer()
    connection.execute("PRAGMA query_only = ON")
    yield
    connection.execute("PRAGMA query_only = OFF")


@contextlib.contextmanager
def failing_late(_monitor, _path):
    """Let transactions be made, and rolled back at their end."""
    usual = Database.write

    @contextlib.contextmanager
    def write(self):
        with usual(self) as connection:
            yield connection
            raise OSError(errno.EIO, "no")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "write", write)
        yield


@contextlib.contextmanager
def committed(_monitor, _path, error=TOO_LATE):
    """Let a commit fail when it has got through."""
    usual = Database.write

    @contextlib.contextmanager
    def write(self):
        with usual(self) as connection:
            yield connection
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "write", write)
        yield


FAILURES = [
    (locked, TimeoutError, "stayed locked by another writer"),
    (full, OSError, "can't grow: its disk or its limit is full"),
    (read_only, PermissionError, "can't be written to"),
    (failing_late, OSError, "no"),
    (committed, OSError, "told too late"),
]


def quick(path, **settings):
    """Return a monitor that waits for a lock for a moment only."""
    return stored(Store(path, busy_seconds=0.05), **settings)


def some(k):
    """Return events, predictions and labels, to be given to several monitors alike."""
    size = 400  # so that they don't fit in pages that are there

    def work(monitor):
        times = [float(k)] * size
        monitor.update_many([j % 2 for j in range(size)], [j / size for j in range(size)], times)
        monitor.update(1, 0.25, float(k), 0.5)
        keys = [f"a rather long key {k} {j}" for j in range(size)]
        monitor.predict_many(keys, [j / size for j in range(size)], times)
        monitor.resolve_many(keys[::2], [j % 2 for j in range(size // 2)])
        monitor.resolve(f"a rather long key {k - 1} 0", 1)
        monitor.predict(f"a rather long key {k} 1", 0.5, float(k))

    return work


@pytest.mark.parametrize(("failing", "error", "message"), FAILURES)
def test_what_cannot_be_written_is_kept(path, failing, error, message):
    """A flush says why; a poll answers without, and says so; later all of it counts once."""
    monitor, memory = quick(path), Monitor(clock="event")
    for one in (monitor, memory):
        some(0)(one)
        one.flush()
    for rounds in range(3):
        before = shown(memory.window(0, 60))
        with failing(monitor, path):
            for k in range(2):
                for one in (monitor, memory):
                    some(100 * rounds + 10 * k + 1)(one)
                with pytest.raises(error, match=message):
                    monitor.flush(position={"source": rounds})
            if failing is not committed:
                window = monitor.window(0, 60)
                assert window.caveats == ("unwritten",)
                assert shown(window) == {**before, "caveats": ("unwritten",)}
                assert "unwritten" in monitor.history(60).windows[0].caveats
                offered = monitor.stats.n_offered
                assert offered == memory.stats.n_offered - 2 * 400  # without predictions
            some(100 * rounds + 50)(monitor)
        some(100 * rounds + 50)(memory)
        monitor.flush(position={"source": rounds + 0.5})
        assert everything(monitor, 60) == everything(memory, 60)
        with Store(path) as store:
            assert store.position("source") == rounds + 0.5
    assert monitor.window(0, 60).caveats == ()
    monitor.close()
    check_store(path)


@pytest.mark.parametrize("error", [OSError(errno.EIO, "late"), KeyboardInterrupt()])
@pytest.mark.parametrize("writes_between", [0, 1, 2])
def test_a_commit_that_got_through_is_counted_once(path, error, writes_between):
    """And what came after it is counted too, however often it fails, whoever tries again."""
    monitor, memory = quick(path), Monitor(clock="event")
    for k in range(6):
        with committed(monitor, path, error) if k % 3 != 2 else contextlib.nullcontext():
            for one in (monitor, memory):
                some(k)(one)
            with contextlib.suppress(OSError, KeyboardInterrupt):
                monitor.flush()
        for _ in range(writes_between):
            with contextlib.suppress(TimeoutError), locked(monitor, path):
                monitor.flush()
    monitor.flush()
    assert everything(monitor, 6) == everything(memory, 6)
    check_store(path)


def test_a_flush_that_failed_is_written_with_its_position_by_whoever_is_next(path):
    """Never without it: a crash would count its events once more."""
    monitor = quick(path)
    monitor.update(1, 0.5, 0.0)
    with held(path), pytest.raises(TimeoutError):
        monitor.flush(position={"source": 1})
    monitor.update(1, 0.5, 0.0)
    monitor._write_rest(True)
    with Store(path) as store:
        assert store.position("source") == 1
    assert monitor.window(0, 60).n_pos == 1
    monitor.flush(position={"source": 2})
    assert monitor.window(0, 60).n_pos == 2


def test_a_roll_up_that_fails_is_no_failed_flush(path, monkeypatch, caplog):
    """What is on disk is not written again because something else went wrong behind it."""
    monitor = stored(path, tiers=SMALL_TIERS)
    usual = series.StoredSeries.advance

    def fail(*_):
        raise OSError(errno.ENOSPC, "no room for that")

    monkeypatch.setattr(series.StoredSeries, "advance", fail)
    with caplog.at_level(logging.WARNING, "streamauc"):
        for moment in (0.0, 100.0, 200.0):
            monitor.update(1, 0.5, moment)
            monitor.flush()
    assert caplog.text.count("no room for that") == 1
    assert monitor.stats.n_accepted == 3
    monkeypatch.setattr(series.StoredSeries, "advance", usual)
    assert monitor.window(-400, 400).n_pos == 3
    check_store(path)


def test_panes_expire_while_they_wait(path):
    """However long writing fails, no more panes are kept than in memory, and none is lost."""
    monitor, memory = quick(path, tiers=SMALL_TIERS), Monitor(clock="event", tiers=SMALL_TIERS)
    n_panes = []
    with held(path):
        for moment in range(0, 900, 3):
            for one in (monitor, memory):
                one.update(1, 0.5, float(moment))
            if moment % 30 == 0:
                # As a flush does that fails at once.
                monitor._take(monitor._stored)
                monitor._stored.seal(None)
                backlog = monitor._stored._backlog
                n_panes.append(len(list(backlog._ready.counts.panes("labelled"))))
    assert max(n_panes) < 70
    assert everything(monitor, 900) == everything(memory, 900)
    check_store(path)


def test_there_is_room_for_so_many_predictions_and_labels(path):
    """The ones that come later are counted under `store`; the ones that were kept are written."""
    monitor = quick(path, max_unwritten=5)
    with held(path):
        monitor.predict_many(list("abc"), [0.5] * 3, [0.0] * 3)
        with pytest.raises(TimeoutError):
            monitor.flush()
        monitor.resolve("a", 1)
        assert "unwritten" in monitor.window(0, 60).caveats
        monitor.predict_many(list("defg"), [0.5] * 4, [0.0] * 4)
        monitor.resolve("b", 1)
        monitor.update(1, 0.5, 0.0)  # needs no room
        assert monitor.stats.rejected == {"store": 4}
    monitor.flush()
    stats = monitor.stats
    assert (stats.n_predicted, stats.n_labelled, stats.rejected) == (4, 1, {"store": 4})
    assert stats.n_accepted == 5
    monitor.predict_many(list("hijkl"), [0.5] * 5, [0.0] * 5)
    assert monitor.stats.n_predicted == 9
    check_store(path)


def test_the_thread_writes_before_there_is_no_more_room(path):
    """Much that comes between two of its turns wakes it."""
    monitor = stored(path, max_unwritten=20_000)
    waits = threading.Event()
    monitor._flusher._take_turn = lambda *_, **__: waits.set()
    for k in range(20_000):
        monitor.predict(k, 0.5, 0.0)
    assert waits.wait(30)


def test_the_thread_logs_once_and_recovers(path, caplog):
    """It tries again and again, quietly, and says when it works."""
    monitor = quick(path, flush_seconds=0.01)
    with caplog.at_level(logging.INFO, "streamauc"):
        with held(path):
            monitor.update(1, 0.5, 0.0)
            wait_for(lambda: monitor._n_failed > 3)
        wait_for(lambda: "can be written again" in caplog.text)
    assert caplog.text.count("stayed locked") == 1
    with Store(path) as store:
        assert store.series(SERIES).tallies()["accepted"] == 1


def wait_for(condition):
    """Wait until something is so."""
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not come to that")


def test_nobody_who_counts_waits_for_the_disk(path):
    """While a flush hangs, events, predictions and labels are taken in; polls wait for it once."""
    monitor = stored(Store(path, busy_seconds=60))
    go = threading.Thread(target=lambda: contextlib.suppress(OSError) and flush(monitor))
    with held(path):
        monitor.update(1, 0.5, 0.0)
        go.start()
        wait_for(lambda: monitor._flush_lock.locked())
        for k in range(20_000):
            monitor.update(1, 0.5, 0.0)
            monitor.predict(k, 0.5, 0.0)
            monitor.resolve(k, 1)
        monitor.update_many([0], [0.5], [0.0])
        monitor.predict_many([-1], [0.5], [0.0])
        assert monitor._flush_lock.locked()
    go.join()
    assert monitor.stats.n_accepted == 40_003
    assert monitor.window(0, 60).n_samples == 40_002


def flush(monitor):
    with contextlib.suppress(OSError):
        monitor.flush()


def test_polls_that_wait_for_a_try_in_vain_do_not_each_try_again(path):
    """Eight of them take as long as one or two, not as long as eight."""
    monitor = stored(Store(path, busy_seconds=0.3))
    monitor.update(1, 0.5, 0.0)
    with held(path):
        threads = [threading.Thread(target=lambda: monitor.window(0, 60)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert monitor._n_failed <= 3


def test_closing_may_fail_and_be_tried_again(path):
    """The monitor takes nothing more in, and the thread goes on trying to write what it has."""
    monitor = quick(path, flush_seconds=0.05)
    monitor.update(1, 0.5, 0.0)
    with held(path), pytest.raises(TimeoutError):
        monitor.close()
    with pytest.raises(ValueError, match="must be open"):
        monitor.update(1, 0.5, 0.0)
    wait_for(lambda: n_flushed(path) == 1)
    monitor.close()
    monitor.close()
    assert monitor.window(0, 60).n_pos == 1
    with Store(path) as store:
        (writer,) = store.series(SERIES).writers()
        assert writer.closed is not None


def n_flushed(path):
    with Store(path) as store:
        return store.series(SERIES).tallies()["accepted"] if store.all_series() else 0


def test_a_read_only_store_can_be_polled(path):
    """Whoever may only read gets answers; what it counts itself stays with it."""
    writer = stored(path)
    writer.update(1, 0.5, 0.0)
    writer.close()
    with Store(path, read_only=True) as store:
        monitor = stored(store)
        assert (monitor.window(0, 60).n_pos, monitor.window(0, 60).caveats) == (1, ())
        monitor.update(1, 0.5, 0.0)
        with pytest.raises(PermissionError, match="read-only"):
            monitor.flush()
        assert (monitor.window(0, 60).n_pos, monitor.window(0, 60).caveats) == (1, ("unwritten",))


def test_a_transaction_of_the_caller_does_not_hang_a_poll(path):
    """A poll within one answers from what is written."""
    store = Store(path, busy_seconds=0.1)
    monitor = stored(store)
    monitor.update(1, 0.5, 0.0)
    monitor.flush()
    with store.write():
        monitor.update(1, 0.5, 0.0)
        assert (monitor.window(0, 60).n_pos, monitor.window(0, 60).caveats) == (1, ("unwritten",))
    assert (monitor.window(0, 60).n_pos, monitor.window(0, 60).caveats) == (2, ())


def test_a_small_disk():
    """A tmpfs of one megabyte: a clear error, and writing resumes where there is room again."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not permitted here")
        try:
            fill(Path(folder))
        finally:
            subprocess.run(["umount", folder], check=True)


def fill(folder):
    memory, monitor = Monitor(clock="event"), stored(folder / "metrics.db")
    blocker = folder / "blocker"
    blocker.write_bytes(bytes(300_000))
    with pytest.raises(OSError, match="full") as caught:
        write_on(monitor, memory)
    assert caught.value.errno == errno.ENOSPC
    assert monitor.window(0, 60).caveats == ("unwritten",)
    some(1_000)(monitor)
    some(1_000)(memory)
    blocker.unlink()
    monitor.flush()
    assert everything(monitor, 60) == everything(memory, 60)
    monitor.close()
    check_store(folder / "metrics.db")
    monitor._storing.store.close()


def write_on(monitor, memory):
    """Write more and more."""
    for k in range(200):
        for one in (monitor, memory):
            some(k)(one)
        monitor.flush()


def test_a_limit_of_the_file_size(path):
    """A process that may not write beyond a size hears of it, and goes on when it may."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            monitor, memory = stored(path), Monitor(clock="event")
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            with pytest.raises(OSError, match="can't"):
                write_on(monitor, memory)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            monitor.flush()
            assert everything(monitor, 60) == everything(memory, 60)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    check_store(path)


def test_a_file_that_may_only_be_read(path):
    """Who may not write to it is told so when the monitor is made."""
    stored(path).close()
    path.parent.chmod(0o755)
    path.chmod(0o444)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65_534)
            with pytest.raises(PermissionError):
                stored(path)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert NEVER
