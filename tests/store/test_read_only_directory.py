"""A store in a directory that may not be written to can be read, whoever writes to it or not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from streamauc import Monitor
from streamauc.store import Store

# For those who run the tests as root, to whom nothing is forbidden.
AS_NOBODY = """
import contextlib, os, sqlite3, sys
from pathlib import Path
from typer.testing import CliRunner
from streamauc import Monitor
from streamauc.cli.app import app
from streamauc.store import Store

path, out = Path(sys.argv[1]), Path(sys.argv[2])

def run(path, target):
    for command in (
        ("store", "info", path), ("store", "verify", path), ("rules", "history", "--store", path),
        ("store", "export", path, target),
    ):
        done = CliRunner().invoke(app, [*map(str, command)])
        yield done.exit_code, command[1], done.stderr if done.exit_code else ""

if os.getuid() == 0:
    with Monitor(store=out / "other.db", series={"model": "x"}, clock="event") as monitor:
        monitor.update(1, 0.5, 0.0)
    list(run(out / "other.db", out / "other.parquet"))  # root's own modules are imported by that
    os.setuid(65_534)

def n_events(store):
    whole = store.all_series()[0].cover("labelled", -1e9, 1e9)
    return sum(int(part.totals.sum()) for part in whole.parts)

"""


@pytest.fixture
def path():
    """Yield a store with one event, in a directory that may not be written to."""
    with tempfile.TemporaryDirectory() as name:  # one above which others may look into all
        Path(name).chmod(0o755)
        folder, out = Path(name) / "metrics", Path(name) / "out"
        folder.mkdir()
        out.mkdir()
        out.chmod(0o777)
        add(folder / "metrics.db")
        folder.chmod(0o555)
        yield folder / "metrics.db"
        folder.chmod(0o755)


def add(path):
    with Store(path) as store, Monitor(store=store, series={"model": "x"}, clock="event") as one:
        one.update(1, 0.5, 0.0)


def begin(path, code):
    command = [sys.executable, "-W", "error", "-c", AS_NOBODY + code, str(path)]
    return subprocess.Popen(
        [*command, str(path.parent.parent / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(path, code):
    out, err = begin(path, code).communicate(timeout=60)
    assert err == ""
    return out


COMMANDS = """
for line in run(path, out / "metrics.parquet"):
    print(*line)
"""


@pytest.mark.parametrize("is_written_to", [False, True])
def test_the_commands_that_only_read(path, is_written_to):
    """With and without a writer who has it open."""
    if is_written_to:
        path.parent.chmod(0o755)
        with Store(path) as store:
            with store.write() as batch:
                batch.position("a", 1)  # so that there is something in the log
            path.parent.chmod(0o555)
            out = run(path, COMMANDS)
    else:
        out = run(path, COMMANDS)
    assert out == "0 info \n0 verify \n0 history \n0 export \n"
    assert {one.name for one in path.parent.iterdir()} <= {
        path.name + end for end in ("", "-shm", "-wal")
    }


LONG = """
with Store(path, read_only=True) as store:
    print(n_events(store), flush=True)
    for line in sys.stdin:
        print(n_events(store), flush=True)
"""


def test_what_is_written_meanwhile_is_seen(path):
    """A reader who stays sees the next writer's events, while it writes and when it has ended."""
    process = begin(path, LONG)

    def ask():
        process.stdin.write("\n")
        process.stdin.flush()
        return process.stdout.readline()

    assert process.stdout.readline() == "1\n"
    path.parent.chmod(0o755)
    with Store(path) as store:
        add(path)
        assert ask() == "2\n"
        store.database.checkpoint()
        add(path)
        assert ask() == "3\n"
    add(path)
    path.parent.chmod(0o555)
    assert ask() == "4\n"
    assert process.communicate(timeout=60) == ("", "")


TORN = """
with Store(path, read_only=True) as store:
    n_events(store)
    try:
        with store.database.read():
            print("reading", flush=True)
            sys.stdin.readline()
    except BlockingIOError as error:
        print(error)
    print(n_events(store))
"""


def test_what_is_written_during_an_answer_is_noticed(path):
    """Without locks nothing keeps a writer from what is being read."""
    process = begin(path, TORN)
    assert process.stdout.readline() == "reading\n"
    path.parent.chmod(0o755)
    add(path)
    path.parent.chmod(0o555)
    out, err = process.communicate("\n", timeout=60)
    assert err == ""
    assert "the store was written to while it was read; read again" in out
    assert out.endswith("2\n")


WRITES = """
for arguments in (dict(read_only=True), dict()):
    try:
        with Store(path, **arguments) as store, store.write() as batch:
            batch.position("a", 2)
    except PermissionError as error:
        print(error)
"""


def test_it_is_said_what_must_be_writable(path):
    """A log that a killed writer left can't be read without; nor can anything be written."""
    out = run(path, WRITES)
    assert out.splitlines()[0].endswith(f"the store was opened read-only: '{path}'")
    assert f"{path.parent} must be writable too" in out.splitlines()[1]
    path.parent.chmod(0o755)
    path.with_name(path.name + "-wal").write_bytes(os.urandom(5_000))
    path.parent.chmod(0o555)
    both = run(path, WRITES).splitlines()
    assert len(both) == 2
    for line in both:
        assert f"{path.parent} must be writable too" in line
