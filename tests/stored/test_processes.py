"""Forks, pools and the ends of processes, with monitors that write to a store."""

import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor

import pytest
from stored_world import (
    NEVER,
    SERIES,
    check_store,
    count,
    count_in_pool,
    scratch,
    stored,
)

from streamauc import Monitor, flusher
from streamauc.store import Store


@pytest.fixture
def path():
    with scratch() as found:
        yield found


def in_child(work):
    """Run work in a forked child, which then ends without any of what is done at an end."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - a child ends here, whatever it is
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def n_stored(path, series=SERIES):
    """Return how many events the store holds."""
    with Store(path) as store:
        if all(one.labels != series for one in store.all_series()):
            return 0
        return store.series(series).tallies().get("accepted", 0)


def wait_for(condition):
    """Wait until something is so."""
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not come to that")


def test_a_forked_child_is_another_writer(path):
    """It starts empty, even when the parent was about to write, and its own thread writes."""
    monitor = stored(path, flush_seconds=0.02)
    monitor._flusher.stop()
    monitor.update_many([0, 1], [0.5, 0.5], [0.0, 0.0])
    monitor.predict("a", 0.5, 0.0)
    with monitor._flush_lock, monitor._lock:  # what a thread of the parent may hold just then

        def work():
            monitor.update(1, 0.5, 0.0)
            monitor.resolve("a", 1)
            wait_for(lambda: n_stored(path) == 1)
            assert monitor.window(0, 60).n_samples == 1
            assert monitor._flusher._thread.is_alive()
            monitor.predict("b", 0.5, 0.0)
            monitor.close()

        in_child(work)
    assert n_stored(path) == 2
    assert monitor.window(0, 60).n_samples == 4
    assert (monitor.stats.n_accepted, monitor.stats.n_open) == (5, 1)
    with Store(path) as store:
        assert len(store.series(SERIES).writers()) == 2
    check_store(path)


def test_a_fork_while_a_thread_of_the_parent_writes(path):
    """The child neither waits for the parent's locks nor uses its connections."""
    store = Store(path)
    monitor = stored(store)
    monitor.update(1, 0.5, 0.0)
    monitor.flush()
    is_inside = threading.Event()

    def hold():
        with store.database.read(), store.write():
            is_inside.set()
            time.sleep(0.3)  # in which the fork waits, rather than tear the transaction

    def work():
        monitor.update(1, 0.5, 0.0)
        assert monitor.window(0, 60).n_pos == 2

    thread = threading.Thread(target=hold)
    thread.start()
    is_inside.wait(60)
    in_child(work)
    thread.join()
    assert monitor.window(0, 60).n_pos == 2
    check_store(path)


def test_a_fork_of_a_fork_and_of_a_closed_monitor(path):
    """Each is a writer of its own; what was closed stays closed."""
    monitor, closed = stored(path), stored(path)
    closed.close()

    def work():
        monitor.update(1, 0.5, 0.0)
        in_child(lambda: (monitor.update(1, 0.5, 0.0), monitor.flush()))
        monitor.flush()
        with pytest.raises(ValueError, match="must be open"):
            closed.update(1, 0.5, 0.0)

    in_child(work)
    assert monitor.stats.n_accepted == 2


@pytest.mark.parametrize("kind", ["spawn", "fork", "forkserver"])
def test_worker_pools(path, kind):
    """A monitor that is sent to a worker writes to the same series, at the latest at its end."""
    monitor = stored(path, bad="skip", classes=None)
    monitor.update(1, 0.5, 0.0)
    context = multiprocessing.get_context(kind)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        pids = set(pool.map(count_in_pool, [monitor] * 6, range(6)))
    assert os.getpid() not in pids
    assert monitor.stats.n_accepted == 13
    assert monitor.stats.n_open == 6
    check_store(path)


@pytest.mark.parametrize("kind", ["spawn", "fork"])
def test_the_end_of_a_worker_process_writes(path, kind):
    """Workers of multiprocessing, as web servers start them, end without `atexit`."""
    monitor = stored(path)
    process = multiprocessing.get_context(kind).Process(target=count, args=(monitor,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert monitor.stats.n_accepted == 1


def test_settings_survive_pickling(path):
    """Those of the store too."""
    store = Store(path, busy_seconds=7, skip_damaged=True, mirror_bytes=10**6)
    monitor = Monitor(
        store=store,
        series=SERIES,
        flush_seconds=NEVER,
        max_unwritten=99,
        label_ttl="1h",
        max_pending=5,
        tiers=((60, "1d"), (3600, float("inf"))),
        clock=time.time,
    )
    other = pickle.loads(pickle.dumps(monitor))  # noqa: S301 - our own
    for name in ("scale", "tiers", "_label_ttl", "_bounds", "_max_ahead", "_source"):
        assert getattr(other, name) == getattr(monitor, name)
    assert other._storing.is_same(monitor._storing)
    assert other._storing.store is not store
    for name in ("flush_seconds", "max_unwritten", "series"):
        assert getattr(other._storing, name) == getattr(monitor._storing, name)
    opener = other._storing.opener()
    assert opener.keywords == monitor._storing.opener().keywords
    assert opener.keywords["busy_seconds"] == 7


BEGIN = """
import os, signal, sys, threading, time
from streamauc import Monitor
from streamauc.store import Store
path = sys.argv[1]
def stored(**settings):
    return Monitor(store=path, series={"model": "fraud"}, clock="event",
                   **{"flush_seconds": 10_000, **settings})
"""


def run(path, code, *, kill=None):
    """Run code in an interpreter of its own; with `kill` send that signal when it says so."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", BEGIN + textwrap.dedent(code), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = ""
    if kill is not None:
        said = process.stdout.readline()
        process.send_signal(kill)
    out, err = process.communicate(timeout=120)
    return process.returncode, said + out, err


def test_the_end_of_a_process_writes(path):
    """Also that of one that ends with an error, or that let go of its monitor before."""
    code, _, err = run(
        path,
        """
        kept = stored()
        kept.update(1, 0.5, 0.0)
        dropped = stored()
        dropped.update(1, 0.5, 0.0)
        del dropped
        raise SystemExit(3)
        """,
    )
    assert (code, err) == (3, "")
    assert n_stored(path) == 2


def test_what_is_let_go_is_written(path):
    """As with a file that nobody closed; its thread ends."""
    monitor = stored(path)
    thread = monitor._flusher._thread
    monitor.update(1, 0.5, 0.0)
    del monitor
    assert n_stored(path) == 1
    thread.join(timeout=30)
    assert not thread.is_alive()


SLEEP = """
print("ready", flush=True)
for _ in range(1_000):
    time.sleep(0.05)
"""


@pytest.mark.parametrize(
    ("before", "after", "code", "said"),
    [
        ("", "", -signal.SIGTERM, ""),
        (
            "signal.signal(signal.SIGTERM, lambda *_: (print('mine', flush=True), sys.exit(5)))",
            "",
            5,
            "mine\n",
        ),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "time.sleep(1); os._exit(6)", 6, ""),
    ],
)
def test_sigterm_writes_first(path, before, after, code, said):
    """Then it does what it did before: end the process, call the user's handler, or nothing."""
    work = f"""
{before}
some = [stored(flush_on_sigterm=True) for _ in range(4)]
for monitor in some:
    monitor.update(1, 0.5, 0.0)
print("ready", flush=True)
{after or "time.sleep(60)"}
"""
    found, out, err = run(path, work, kill=signal.SIGTERM)
    assert (found, out, err) == (code, "ready\n" + said, "")
    assert n_stored(path) == 4


def test_sigterm_in_a_forked_child_writes_what_is_the_childs(path):
    """The handler that it inherits flushes its own monitor."""
    work = """
    monitor = stored(flush_on_sigterm=True)
    monitor.update(1, 0.5, 0.0)
    child = os.fork()
    if child == 0:
        monitor.update(1, 0.5, 0.0)
        monitor.update(1, 0.5, 0.0)
        print("ready", flush=True)
        time.sleep(60)
    _, status = os.waitpid(child, 0)
    monitor.close()
    print(status, flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + textwrap.dedent(work), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
    )
    os.kill(int(children.stdout), signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert out == f"{int(signal.SIGTERM)}\n"
    assert n_stored(path) == 3


def test_sigterm_while_the_store_is_locked_still_ends_the_process(path):
    """What can't be written is lost then, and said to be."""
    stored(path).close()
    work = """
    import sqlite3
    monitor = Monitor(store=Store(path, busy_seconds=0.1), series={"model": "fraud"},
                      clock="event", flush_seconds=10_000, flush_on_sigterm=True)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monitor.update(1, 0.5, 0.0)
    print("ready", flush=True)
    time.sleep(60)
    """
    code, _, err = run(path, work, kill=signal.SIGTERM)
    assert code == -signal.SIGTERM
    assert "could not be written before the end" in err


def test_sigterm_is_handled_in_the_main_thread_only(path):
    """A monitor made elsewhere can't ask for it."""
    code, out, err = run(
        path,
        """
        def work():
            try:
                stored(flush_on_sigterm=True)
            except ValueError as error:
                print(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
    )
    assert (code, err) == (0, "")
    assert "flush_on_sigterm must be asked for in the main thread" in out


def test_nothing_is_printed(path, capfd, caplog):
    """Whatever happens goes to the logger."""
    with caplog.at_level(logging.DEBUG, "streamauc"):
        monitor = stored(path, flush_seconds=0.01)
        monitor.update(1, 0.5, 0.0)
        wait_for(lambda: n_stored(path) == 1)
        monitor.close()
    assert capfd.readouterr() == ("", "")
    assert flusher._LOG.name == "streamauc"
