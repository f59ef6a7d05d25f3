"""The processes of the test: each is started here, waited for with patience, and ended."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

TESTS = Path(__file__).parent.parent
PATIENCE_SECONDS = 60.0


def wait_for(what, condition):
    """Return what `condition` says, once it says something."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)
    return found


def start(*command, log, **environment):
    """Start a module of Python in a process group of its own."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", *map(str, command)],
            env={**os.environ, "PYTHONPATH": path, **environment},
            cwd=log.parent,  # so that what is installed is run, and not what lies around
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def end(process):
    """Ask a process to end, as a supervisor does, and return its exit code."""
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE_SECONDS)


def kill_group(process):
    """Kill a process and its children, unless it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)


@dataclass
class Service:
    """Four workers behind one port, and who watches over them."""

    supervisor: subprocess.Popen
    url: str
    seen: set[int] = field(default_factory=set)

    def healthy(self):
        """Return the worker that answers, None if none does."""
        try:
            found = httpx.get(f"{self.url}/healthz", trust_env=False).json()
        except httpx.TransportError:
            return None
        assert found["supervisor"] == self.supervisor.pid
        self.seen.add(found["worker"])
        return found["worker"]

    def wait_until_seen(self, n_workers):
        """Wait until so many different workers have answered."""
        wait_for(f"{n_workers} workers", lambda: self.healthy() and len(self.seen) >= n_workers)

    def kill(self, worker):
        """Kill a worker with SIGKILL; return when."""
        assert worker in self.seen  # and so a child of the supervisor that we started
        os.kill(worker, signal.SIGKILL)
        return time.time()


@contextmanager
def running_service(store, log, n_workers):
    """Start the service; yield it when every worker answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ("uvicorn", "service.app:app", "--workers", n_workers, "--port", port)
    quiet = ("--no-access-log", "--log-level", "warning")
    supervisor = start(*command, *quiet, log=log, FRAUD_STORE=str(store))
    try:
        service = Service(supervisor, f"http://127.0.0.1:{port}")
        service.wait_until_seen(n_workers)
        yield service
    finally:
        kill_group(supervisor)


class LabelJob:
    """The label job, which can be killed and started again."""

    def __init__(self, outcomes, store, log):
        self._command = ("service.labels", outcomes, store)
        self._log = log
        self.process = start(*self._command, log=log)

    def kill_and_restart(self):
        """Kill it with SIGKILL, and start another one."""
        kill_group(self.process)
        self.process = start(*self._command, log=self._log)


@contextmanager
def running_labels(outcomes, store, log):
    """Start the label job."""
    job = LabelJob(outcomes, store, log)
    try:
        yield job
    finally:
        kill_group(job.process)


@dataclass(frozen=True)
class Checked:
    """What one run of ``streamauc check`` said."""

    code: int
    document: dict
    err: str

    def alert(self, name):
        """Return what was said of an alert."""
        return next(one for one in self.document["alerts"] if one["alert"] == name)


def check(rules, store):
    """Run ``streamauc check`` once."""
    command = [sys.executable, "-m", "streamauc", "check", rules, "--store", store]
    done = subprocess.run(
        [*map(str, command), "--format", "json"],
        cwd=rules.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    document = json.loads(done.stdout or '{"alerts": []}')
    return Checked(done.returncode, document, done.stderr)


@contextmanager
def checking(rules, store):
    """Check again and again while the block runs; yield the list of what was said."""
    found, stopping = [], threading.Event()

    def run():
        while not stopping.wait(1.0):
            found.append(check(rules, store))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield found
    finally:
        stopping.set()
        thread.join()
