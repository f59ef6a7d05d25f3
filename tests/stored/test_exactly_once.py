"""A job that is killed or fails, at any moment, and is run again counts each event once."""

import logging
import math
import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from stored_world import NEVER, SERIES, scratch, stored

from streamauc import Monitor
from streamauc.store import Store

README = (Path(__file__).parents[2] / "README.md").read_text()
JOB = re.search(r"```python\n(import csv\n.*?)```", README, re.DOTALL)[1]
# What happens to a run at a row, whatever else is going on: a turn of the thread comes first.
ENDS = {
    "error": "raise RuntimeError('the source hiccups')",
    "exit": "sys.exit(0)",
    "kill": "os.kill(os.getpid(), 9)",
    "sigterm": "os.kill(os.getpid(), 15); time.sleep(5)",
}
TURN = "monitor._write_rest(True)"
RUN = """
import os, sys, time
from streamauc import Monitor, Store

class Failing(Monitor):
    n = 0

    def __init__(self, **settings):
        super().__init__(**settings, flush_on_sigterm=True)

    def update(self, *event):
        super().update(*event)
        self.n += 1
        if self.n == int(sys.argv[2]):
            monitor = self
            {turn}
            {end}

{job}
{begin}
"""


@pytest.fixture
def path():
    with scratch() as found:
        yield found


def outcomes(folder, n):
    path = folder / "outcomes.csv"
    rows = [f"{k % 2},{k % 97 / 97},{1_772_355_630 + k}\n" for k in range(n)]
    path.write_text("".join(rows))
    return path


def run(path, source, end, fail_at):
    """Run the README's job, whose monitor fails at so many events, in a process of its own."""
    code = RUN.format(
        turn=TURN,
        end=ENDS[end],
        job=JOB.replace("Monitor(", "Failing("),
        begin=f"count_outcomes({str(source)!r}, {str(path)!r})",
    )
    assert "Failing(" in code
    command = [sys.executable, "-c", code, "", str(fail_at)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=os.environ
    )
    return done.returncode, done.stderr


def n_written(path):
    with Store(path) as store:
        if not store.all_series():
            return 0
        whole = store.all_series()[0].cover("labelled", -1e12, 1e12)
        return sum(int(part.totals.sum()) for part in whole.parts)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("first", [3, 1_300])  # before the first position, and behind it
def test_the_job_of_the_readme_counts_each_event_once(path, end, first):
    """Copied as it is; it fails twice, and the third run finishes."""
    source = outcomes(path.parent, 2_500)
    for fail_at in (first, 700):
        code, err = run(path, source, end, fail_at)
        assert (code == 0) == (end == "exit"), err
        with Store(path) as store:
            position = store.position("outcomes.csv")
        counted = source.read_text()[: position or 0].count("\n")
        assert n_written(path) == counted
    assert counted == (1_000 if first > 1_000 else 0)
    code, err = run(path, source, "error", 0)
    assert (code, err) == (0, "")
    assert n_written(path) == 2_500
    code, err = run(path, source, "error", 0)
    assert (code, n_written(path)) == (0, 2_500), err


LAST = {
    "window": lambda monitor: monitor.window(0, 60),
    "stats": lambda monitor: monitor.stats,
    "close": lambda monitor: monitor.close(),
    "turn of the thread, exit, SIGTERM": lambda monitor: monitor._write_rest(True),
    "del": lambda monitor: monitor.__del__(),
}


@pytest.mark.parametrize(
    "settings",
    [
        {"positions": True},
        {"positions": True, "flush_seconds": 0.01},
        {"positions": True, "flush_seconds": math.inf},
    ],
    ids=str,
)
@pytest.mark.parametrize("last", LAST)
def test_nothing_is_written_before_the_first_position(path, settings, last):
    """Whoever reads anew from the beginning after that counts each event once."""
    monitor = stored(path, **settings)
    monitor.update(1, 0.5, 0.0)
    LAST[last](monitor)
    assert n_written(path) == 0
    with stored(path, **settings) as again:
        again.update(1, 0.5, 0.0)
        again.flush(position={"source": 1})
    assert n_written(path) == 1


def rows(start, crash_at):
    for k in range(start, 1_000):
        if k == crash_at:
            raise RuntimeError
        yield k


def test_three_runs_of_which_two_fail(path):
    """The second one begins behind a position, and fails before its own first one."""
    for crash_at in (500, 700, None):
        with Store(path) as store:
            start = store.position("source") or 0
        with suppress(RuntimeError), stored(path, positions=True) as monitor:
            for k in rows(start, crash_at):
                monitor.update(k % 2, 0.5, float(k))
                if (k + 1) % 400 == 0:
                    monitor.flush(position={"source": k + 1})
            monitor.flush(position={"source": 1_000})
    assert n_written(path) == 1_000


def test_a_flush_without_position_writes_until_there_is_one(path):
    """But not where positions are needed from the beginning."""
    for settings, n_events in (({}, 1), ({"positions": True}, 1)):
        monitor = stored(path, **settings)
        monitor.update(1, 0.5, 0.0)
        monitor.flush()
        assert n_written(path) == n_events


def test_who_gives_positions_late_is_told(path, caplog):
    """What was written before the first one would have been counted twice after a crash."""
    monitor = stored(path)
    monitor.update(1, 0.5, 0.0)
    assert monitor.window(0, 60).n_pos == 1  # which writes
    monitor.update(1, 0.5, 0.0)
    with caplog.at_level(logging.WARNING, "streamauc"):
        monitor.flush(position={"source": 2})
        monitor.flush(position={"source": 2})
    assert len(caplog.records) == 1
    assert "pass positions=True to the monitor" in caplog.text


@pytest.mark.parametrize("settings", [{}, {"positions": True}, {"flush_seconds": math.inf}])
def test_who_gives_positions_in_time_is_not(path, caplog, settings):
    with caplog.at_level(logging.WARNING, "streamauc"), stored(path, **settings) as monitor:
        monitor._write_rest(True)  # tells that the writer is alive
        monitor.update(1, 0.5, 0.0)
        monitor.flush(position={"source": 1})
    assert caplog.text == ""


def test_a_close_tells_what_it_leaves(path, caplog):
    """Whoever never gives a position does not lose events silently."""
    monitor = stored(path, positions=True)
    monitor.update(1, 0.5, 0.0)
    with caplog.at_level(logging.WARNING, "streamauc"):
        monitor.close()
    assert "was not written: 1 events, 0 predictions and labels" in caplog.text


def test_a_close_writes_what_a_flush_could_not(path):
    """It had its position."""
    store = Store(path, busy_seconds=0.05)
    monitor = stored(store, flush_seconds=math.inf)
    monitor.update(1, 0.5, 0.0)
    with Store(path).write(), pytest.raises(TimeoutError):
        monitor.flush(position={"source": 1})
    assert n_written(path) == 0
    monitor.close()
    assert n_written(path) == 1
    with Store(path) as reader:
        assert reader.position("source") == 1


def test_a_merge_has_no_position(path):
    """So it is refused where everything has to have one."""
    monitor = stored(path, positions=True)
    with pytest.raises(ValueError, match="merge writes without a position"):
        monitor.merge(Monitor(clock="event"))


def test_positions_are_of_a_store_and_survive_pickling(path):
    with pytest.raises(ValueError, match="positions must stand with a store"):
        Monitor(positions=True)
    copy = pickle.loads(pickle.dumps(stored(path, positions=True)))  # noqa: S301 - our own
    copy.update(1, 0.5, 0.0)
    copy.close()
    assert n_written(path) == 0
    assert copy._storing.flush_seconds == NEVER
    assert copy._storing.series == SERIES
