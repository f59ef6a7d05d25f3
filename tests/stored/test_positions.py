"""Counts and the position of their source are written together, so each event counts once."""

import logging
import math

import pytest
from stored_world import NEVER, scratch, stored

from streamauc.store import Store

SOURCE = [(k % 2, (k % 9) / 8, float(k)) for k in range(100)]


@pytest.fixture
def path():
    with scratch() as found:
        yield found


def read(path, ends, *, crash_at=None, **settings):
    """Count the source from where it was read to, flushing at `ends`; return the monitor."""
    with Store(path) as store:
        start = store.position("source") or 0
    monitor = stored(path, **settings)
    monitor.flush(position={"source": start})
    for k in range(start, len(SOURCE)):
        if k in ends:
            monitor.flush(position={"source": k})
        if k == crash_at:
            return monitor
        monitor.update(*SOURCE[k])
    monitor.flush(position={"source": len(SOURCE)})
    return monitor


def n_written(path):
    with Store(path) as store:
        whole = store.all_series()[0].cover("labelled", -1e9, 1e9)
        return sum(int(part.totals.sum()) for part in whole.parts), store.position("source")


@pytest.mark.parametrize("flush_seconds", [NEVER, 0.01, math.inf])
@pytest.mark.parametrize("crash_at", [3, 37, 95])
@pytest.mark.parametrize(
    "last",
    [
        lambda monitor: monitor.window(0, 60),
        lambda monitor: monitor.stats,
        lambda monitor: monitor.flush(),
        lambda monitor: monitor.close(),
        lambda monitor: monitor._write_rest(True),
        lambda monitor: monitor.__del__(),
        lambda _: None,
    ],
)
def test_what_came_after_the_last_position_is_left_to_the_next_run(
    path, flush_seconds, crash_at, last
):
    """Whatever else would write does not, so that nothing is counted twice after a crash."""
    monitor = read(path, {10, 40, 80}, crash_at=crash_at, flush_seconds=flush_seconds)
    last(monitor)
    n_events, position = n_written(path) if crash_at > 10 else (0, 0)
    assert n_events == position
    final = read(path, {10, 40, 80}, flush_seconds=flush_seconds)
    assert n_written(path) == (100, 100)
    assert final.stats.n_accepted == 100
    window = final.window(0, 100)
    assert (window.n_samples, window.caveats) == (100, ())


@pytest.mark.parametrize("flush_seconds", [NEVER, math.inf])
def test_a_poll_says_that_something_is_not_written_yet(path, flush_seconds):
    """It answers from the store, with a caveat."""
    monitor = read(path, {10}, crash_at=12, flush_seconds=flush_seconds)
    window = monitor.window(0, 60)
    assert (window.n_samples, window.caveats) == (10, ("unwritten",))
    assert all("unwritten" in one.caveats for one in monitor.history(60).windows)
    monitor.flush(position={"source": 12})
    assert (monitor.window(0, 60).n_samples, monitor.window(0, 60).caveats) == (12, ())


def test_a_close_tells_what_it_leaves(path, caplog):
    """Events after the last position are not lost silently."""
    monitor = read(path, {10}, crash_at=12)
    with caplog.at_level(logging.WARNING, "streamauc"):
        monitor.close()
    assert "what came after the last position was not written: 2 events" in caplog.text


def test_without_positions_everything_writes(path):
    """A poll, a close: all of them."""
    with stored(path) as monitor:
        monitor.update(1, 0.5, 0.0)
        assert monitor.window(0, 60).n_pos == 1
        monitor.update(1, 0.5, 0.0)
    assert n_written(path) == (2, None)


def test_only_flush_writes_where_that_is_asked_for(path):
    """With flush_seconds=inf polls leave what waits alone, and say so; closing writes it."""
    with stored(path, flush_seconds=math.inf) as monitor:
        monitor.update(1, 0.5, 0.0)
        assert (monitor.window(0, 60).n_pos, monitor.window(0, 60).caveats) == (0, ("unwritten",))
        assert monitor.stats.n_accepted == 1
        monitor.flush()
        assert (monitor.window(0, 60).n_pos, monitor.window(0, 60).caveats) == (1, ())
        monitor.update(1, 0.5, 0.0)
    assert n_written(path) == (2, None)


def test_positions_of_several_sources_stay(path):
    """A flush names those that moved; the others keep theirs."""
    monitor = stored(path)
    monitor.flush(position={"a": 1, "b": 1})
    monitor.update(1, 0.5, 0.0)
    monitor.flush(position={"b": 2})
    with Store(path) as store:
        assert store.positions() == {"a": 1, "b": 2}
