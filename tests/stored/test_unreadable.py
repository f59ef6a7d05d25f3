"""A store that can't be read: polls answer that nothing is known, and never raise."""

import contextlib
import logging
import math
import sqlite3

import pytest
from rules.sources import Clock, rule

from streamauc import Monitor, PrevalenceDetector
from streamauc.rules.evaluate import evaluate
from streamauc.rules.memory import MonitorSource
from streamauc.rules.record import State
from streamauc.store import DamageError

SERIES = {"model": "fraud"}


def gone(path):
    for one in path.parent.glob("m.db*"):
        one.unlink()


def spoilt(path):
    """Alter every pane; return what they were."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT counts, id FROM pane").fetchall()
        connection.execute("UPDATE pane SET counts = x'01'")
        connection.commit()
    return rows


def without_series(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE series SET state = '{}', change = change + 1")
        connection.commit()


def mend(path, rows):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executemany("UPDATE pane SET counts = ? WHERE id = ?", rows)
        connection.commit()


@pytest.fixture
def monitor(tmp_path):
    with Monitor(store=tmp_path / "m.db", series=SERIES, clock=lambda: 7_200.0) as first:
        first.update_many([0, 1] * 50, [0.2, 0.9] * 50, [60.0 * step for step in range(100)])
    clock = lambda: 7_200.0  # noqa: E731 - as people write it
    made = Monitor(store=tmp_path / "m.db", series=SERIES, clock=clock, flush_seconds=3600)
    yield made
    with contextlib.suppress(OSError, ValueError):
        made.close()


@pytest.mark.parametrize("spoil", [gone, spoilt, without_series])
@pytest.mark.parametrize("waits", [False, True])
def test_a_poll_of_a_store_that_cannot_be_read_is_empty(tmp_path, monitor, spoil, waits, caplog):
    """Undefined, with a caveat; said in the log once, not at every poll."""
    caplog.set_level(logging.WARNING, logger="streamauc")
    spoil(tmp_path / "m.db")
    if waits:
        monitor.update(1, 0.9, 600.0)
    for _ in range(3):
        for window in (
            monitor.window(last="2h"),
            monitor.window(0.0, 600.0),
            *monitor.history("10m", start=0.0).windows,
            *monitor.history("1h").windows,
        ):
            assert window.caveats[-1] == "unreadable"
            assert ("unwritten" in window.caveats) == waits
            assert (window.n_samples, window.reason("roc_auc")) == (0, "empty")
            assert math.isnan(window.roc_auc)
            assert math.isnan(window.coverage)
    said = [one.message for one in caplog.records if "a poll could not read" in one.message]
    assert len(said) == 1
    assert "m.db" in said[0] or "table" in said[0]


def test_bad_arguments_still_raise(tmp_path, monitor):
    spoilt(tmp_path / "m.db")
    with pytest.raises(ValueError, match="last must be"):
        monitor.window(last="soon")


def test_what_can_be_read_again_is(tmp_path, monitor, caplog):
    """And a second time it cannot is said anew."""
    caplog.set_level(logging.WARNING, logger="streamauc")
    rows = spoilt(tmp_path / "m.db")
    assert monitor.window(0.0, 600.0).caveats == ("unreadable",)
    mend(tmp_path / "m.db", rows)
    assert monitor.window(0.0, 600.0).n_samples == 10
    gone(tmp_path / "m.db")
    assert monitor.window(0.0, 600.0).caveats == ("unreadable",)
    assert sum("a poll could not read" in one.message for one in caplog.records) == 2


def test_a_detector_does_not_pass_over_what_cannot_be_read(tmp_path, monitor):
    """It raises, and takes the panes in when they can be read."""
    detector = PrevalenceDetector((50, 50), pane_seconds=60, false_alarm_every="30d")
    rows = spoilt(tmp_path / "m.db")
    with pytest.raises(DamageError):
        monitor.advance(detector)
    mend(tmp_path / "m.db", rows)
    monitor.advance(detector)
    other = PrevalenceDetector((50, 50), pane_seconds=60, false_alarm_every="30d")
    Monitor(store=tmp_path / "m.db", series=SERIES, clock=lambda: 7_200.0).advance(other)
    assert detector.to_bytes() == other.to_bytes()


def test_a_rule_on_it_is_an_error(tmp_path, monitor):
    """An empty window would be fine to a rule about too many events."""
    spoilt(tmp_path / "m.db")
    file = rule('metric = "n_samples"', 'window = "2h"', "above = 1000")
    (found,) = evaluate(file, MonitorSource([(SERIES, monitor)], clock=Clock(7_200)))
    assert (found.state, found.record.reason) == (State.ERROR, "OSError: the store can't be read")
