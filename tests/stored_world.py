"""What the tests of stored monitors share: where files lie, and everything that a poll says."""

import contextlib
import dataclasses
import os
import shutil
import tempfile
from pathlib import Path

from panes import cells

from streamauc import Monitor, ScoreHistogram
from streamauc.store import Store

SERIES = {"model": "fraud"}
FAR = 2.0**40
NEVER = 10_000.0  # seconds between flushes of the thread: only the test writes
# Where nothing is to survive a crash of the machine, memory does and is fast.
_MEMORY = "/dev/shm"  # noqa: S108 - folders in it are made by tempfile
FAST = _MEMORY if Path(_MEMORY).is_dir() else None


@contextlib.contextmanager
def scratch():
    """Yield the path of a store that vanishes afterwards."""
    folder = tempfile.mkdtemp(dir=FAST)
    try:
        yield Path(folder) / "metrics.db"
    finally:
        shutil.rmtree(folder)


def stored(store, **settings):
    """Return a monitor of the usual series that writes when it is told to."""
    return Monitor(
        **{"store": store, "series": SERIES, "clock": "event", "flush_seconds": NEVER, **settings}
    )


def shown(window):
    """Return everything that a window says, as plain values."""
    return {
        "span": (window.start, window.end),
        "since": window.observed_since,
        "caveats": window.caveats,
        "labelled": cells(window.histogram),
        "predicted": cells(window.predicted),
        "coverage": str(window.coverage),
    }


def panes_of(monitor):
    """Return every pane that holds events."""
    state = monitor.state()
    panes = {
        (channel, tier, index): cells(ScoreHistogram(state.scale, counts, counts.counts.shape[0]))
        for channel, tier, index, counts in state.panes
    }
    return {place: pane for place, pane in panes.items() if pane}


def everything(monitor, now):
    """Return every answer of a monitor about the time around `now`."""
    spans = [(-FAR, FAR), (now - 30, now + 10), (now - 300, now - 7), (now, now)]
    windows = [monitor.window(*span, min_coverage=0.5) for span in spans]
    windows += [monitor.window(last=20), monitor.window(last=100, offset=15)]
    whole, recent = (
        monitor.history(50),
        monitor.history(7, start=now - 40, end=now + 3, min_coverage=0.3),
    )
    delay = monitor.label_delay(0.5)
    return {
        "windows": [shown(window) for window in windows],
        "history": [shown(window) for one in (whole, recent) for window in one.windows],
        "stats": dataclasses.asdict(monitor.stats),
        "delay": str(delay),
        "panes": panes_of(monitor),
    }


def check_store(path):
    """Check that the file is whole and that every prediction is accounted for."""
    with Store(path) as store:
        report = store.verify()
        assert report.is_whole, report.problems
        for series in store.all_series():
            tallies, (n_open, n_early) = series.tallies(), series.n_entries()
            ends = tallies.get("labelled", 0) + n_open + tallies.get("abandoned", 0)
            assert tallies.get("predicted", 0) == ends
            assert n_open >= 0
            assert n_early >= 0


KEPT = []  # what lives until its process ends


def count_in_pool(monitor, key):
    """Count an event in a worker of a pool, and leave it to its end to write it."""
    monitor.update(1, 0.5, 0.0)
    monitor.predict(key, 0.5, 0.0)
    KEPT.append(monitor)
    return os.getpid()


def count(monitor):
    """Count in a process that ends thereafter."""
    monitor.update(1, 0.5, 0.0)
    KEPT.append(monitor)
