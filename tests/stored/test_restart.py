"""What a store keeps when its writers end or die, and how a new one goes on."""

import copy
import math
import os

import pytest
from panes import SMALL_TIERS
from stored_world import SERIES, check_store, everything, scratch, shown, stored

from streamauc import Monitor, Scale
from streamauc.store import Store


@pytest.fixture
def path():
    with scratch() as found:
        yield found


def die_after(work):
    """Run work in a child that then vanishes, without any of what is done at an end."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def first_half(monitor):
    monitor.update_many([0, 1, 1], [0.2, 0.9, 0.1], [0, 30, 61])
    monitor.predict_many(["a", "b", "c"], [0.5, 0.25, 0.75], [62, 63, 64])
    monitor.resolve_many(["b", "early", 7], [1, 0, 1])


def second_half(monitor):
    monitor.predict("early", 0.5, 100.0)
    monitor.predict("a", 0.5, 101.0)
    monitor.resolve("a", 1)
    monitor.resolve("b", 0)
    monitor.update(0, 0.5, 700.0)
    monitor.resolve("c", 1)


@pytest.mark.parametrize("closed", [True, False])
def test_a_reopened_monitor_goes_on(path, closed):
    """Counts, open predictions, early labels and closed keys survive, however a writer ends."""

    def work():
        monitor = stored(path, tiers=SMALL_TIERS)
        first_half(monitor)
        monitor.flush(position={"file": {"offset": 12}, "topic": [1, 2, None]})
        if closed:
            monitor.close()
        else:
            monitor.update(1, 0.5, 65.0)  # not acknowledged

    die_after(work)
    memory = Monitor(clock="event", tiers=SMALL_TIERS)
    first_half(memory)
    monitor = stored(path, tiers=SMALL_TIERS)
    assert everything(monitor, 64) == everything(memory, 64)
    for one in (monitor, memory):
        second_half(one)
    assert everything(monitor, 700) == everything(memory, 700)
    monitor.close()
    with Store(path) as store:
        assert store.positions() == {"file": {"offset": 12}, "topic": [1, 2, None]}
        writers = store.series(SERIES).writers()
        assert sum(writer.closed is None for writer in writers) == (0 if closed else 1)
    check_store(path)


def test_counting_began_when_the_first_writer_began(path):
    """A monitor that starts later knows since when others have counted."""
    now = 1_000.0
    first = stored(path, clock=lambda: now)
    first.update(1, 0.5)
    first.close()
    now = 970.0  # set back
    stored(path, clock=lambda: now)._write_rest(True)
    now = 5_000.0
    second = stored(path, clock=lambda: now)
    second.update(1, 0.5)
    assert second.window(1_000, 5_000).observed_since == 1_000.0
    assert "warming_up" in second.window(0, 5_000).caveats
    assert "warming_up" not in second.window(1_000, 5_000).caveats


def test_an_event_clock_goes_on_where_all_writers_were(path):
    """A reopened monitor, and one that has been idle, know the latest event of all."""
    first, idle = stored(path, tiers=((1, 20),)), stored(path, tiers=((1, 20),))
    first.update(1, 0.5, 1_000.0)
    first.flush()
    for other in (idle, stored(path, tiers=((1, 20),))):
        assert other.window(last=10).n_pos == 1
        other.update(1, 0.5, 0.0)
        assert other.stats.n_expired
    assert first.stats.n_expired == 2


def test_what_the_store_has_dropped_already_is_expired(path):
    """Counted by a writer that did not know yet how late it is; weights make no number negative."""
    late, early = stored(path, tiers=((1, 20),)), stored(path, tiers=((1, 20),))
    early.update(1, 0.5, 1_000.0)
    early.flush()
    late.update_many([1, 0], [0.5, 0.5], [0.0, 1_000.0], [10.0, 1.0])
    late.predict_many(["a", "b"], [0.5, 0.5], [1.0, 1_000.0])
    stats = late.stats
    assert (stats.n_accepted + stats.n_expired, stats.n_offered) == (5, 5)
    assert stats.n_accepted >= 2
    assert shown(late.window(0, 2_000)) == shown(early.window(0, 2_000))
    assert late.window(0, 2_000).n_samples == 2
    check_store(path)


def test_a_poller_writes_nothing(path):
    """Who only asks leaves no trace in the store, not even a series."""
    with stored(path) as monitor:
        assert monitor.window(0, 60).n_samples == 0
        assert math.isnan(monitor.window(last=60).roc_auc)
        assert len(monitor.history(60)) == 0
        assert monitor.stats.n_offered == 0
    with Store(path) as store:
        assert store.all_series() == ()


def test_predictions_that_nobody_writes_about_are_abandoned(path):
    """Time alone makes a prediction too old, also in the answers of a process that only polls."""
    now = 0.0
    writer = stored(path, clock=lambda: now, label_ttl=60)
    poller = stored(path, clock=lambda: now, label_ttl=60)
    writer.predict("a", 0.5)
    writer.close()
    now = 50.0
    assert (poller.stats.n_open, poller.stats.n_abandoned) == (1, 0)
    now = 61.0
    assert (poller.stats.n_open, poller.stats.n_abandoned) == (0, 1)
    assert (writer.stats.n_open, writer.stats.n_abandoned) == (0, 1)


def test_a_closed_monitor_answers_and_stays_closed(path):
    """What becomes of predictions after its end is for others to write down."""
    now = 0.0
    monitor = stored(path, clock=lambda: now, label_ttl=60)
    monitor.predict("a", 0.5)
    monitor.close()
    now = 61.0
    assert monitor.window(0, 60).coverage == 0
    assert monitor.stats.n_predicted == 1
    with Store(path) as store:
        assert store.series(SERIES).writers()[0].closed == 0.0


def test_panes_expire_though_nobody_writes(path):
    """A poll after a long silence meets the panes that survive, as in memory."""
    now = 0.0
    settings = {"clock": lambda: now, "tiers": SMALL_TIERS}
    monitor, memory = stored(path, **settings), Monitor(**settings)
    for one in (monitor, memory):
        one.update(1, 0.5, 0.0)
    now = 90.0
    for span in ((0, 1), (0, 50)):
        assert shown(monitor.window(*span)) == shown(memory.window(*span))
    now = 9_000.0
    assert shown(monitor.window(0, 50)) == shown(memory.window(0, 50))
    assert "expired" in monitor.window(0, 50).caveats


def test_a_copy_is_another_writer_of_the_same_series(path):
    """It answers the same, shares all counts and counts nothing twice."""
    settings = {"scale": Scale.real(bits=5), "label_ttl": 60, "bad": "skip", "classes": ("n", "y")}
    monitor = stored(path, **settings)
    monitor.update("y", 2.0, 0.0)
    monitor.predict("a", 3.0, 1.0)
    other = copy.copy(monitor)
    assert everything(other, 1) == everything(monitor, 1)
    other.resolve("a", "n")
    other.update("maybe", 0.5, 2.0)
    assert everything(other, 1) == everything(monitor, 1)
    assert (monitor.stats.n_labelled, monitor.stats.n_rejected) == (1, 1)
    with pytest.raises(ValueError, match="shares all counts"):
        monitor.merge(other)


def test_stored_and_other_monitors_merge(path):
    """Into a store and out of one, through bytes and without."""
    memory, expected = Monitor(clock="event"), Monitor(clock="event")
    monitor = stored(path)
    for one in (memory, expected):
        first_half(one)
    for one in (monitor, expected):
        second_half(one)
    monitor.merge(memory)
    there = Monitor(clock="event")
    second_half(there)
    there.merge(memory)  # in the same order as in the store
    assert everything(monitor, 700)["panes"] == everything(there, 700)["panes"]
    assert monitor.stats == there.stats
    restored = Monitor.from_bytes(monitor.to_bytes())
    assert restored.stats == there.stats
    assert everything(restored, 700)["panes"] == everything(there, 700)["panes"]
    with scratch() as elsewhere:
        second = stored(elsewhere)
        second.merge(monitor)
        assert second.stats == there.stats
        assert everything(second, 700)["panes"] == everything(there, 700)["panes"]
        check_store(elsewhere)
    check_store(path)


@pytest.mark.parametrize("key", [("a", 1), b"bytes", math.nan, "\ud800", object()])
def test_keys_that_cannot_be_stored_are_refused_where_they_come(path, key):
    """Not when they are to be written, where they would keep everything else from the disk."""
    monitor = stored(path)
    for call in (
        lambda: monitor.predict(key, 0.5, 0.0),
        lambda: monitor.predict(key, 1, 0),
        lambda: monitor.resolve(key, 1),
        lambda: monitor.predict_many(["a", key], [0.5, 0.5], [0, 0]),
        lambda: monitor.resolve_many(["a", key], [1, 1]),
    ):
        with pytest.raises((TypeError, ValueError), match="key must be"):
            call()
    monitor.flush()
    assert monitor.stats.n_offered == 0
    skipping = stored(path, bad="skip")
    skipping.predict(key, 0.5, 0.0)
    skipping.resolve(key, 1)
    assert skipping.stats.rejected == {"key": 2}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"series": None}, ValueError, "series must be given"),
        ({"store": None}, ValueError, "store must be given"),
        ({"flush_seconds": 0}, ValueError, "flush_seconds must be positive, got 0"),
        ({"flush_seconds": "often"}, ValueError, "flush_seconds must be a length of time"),
        ({"max_unwritten": 0}, ValueError, "max_unwritten must be"),
        ({"store": None, "series": None, "flush_on_sigterm": True}, ValueError, "with a store"),
        ({"series": {}}, ValueError, "at least one label"),
        ({"series": {"a": 1}}, TypeError, "labels must map text to text"),
    ],
)
def test_settings_are_checked(path, settings, error, message):
    """Before the file is touched."""
    with pytest.raises(error, match=message):
        stored(**{"store": path, **settings})
    assert "label" in message or not path.exists()


def test_labels_mean_the_same_to_all_writers(path):
    """Names of the classes the other way round would count every label wrongly."""
    stored(path, classes=("ok", "fraud")).update("fraud", 0.5, 0.0)
    with Store(path) as store:
        assert store.series(SERIES).facts.classes == ("ok", "fraud")
    stored(path, classes=("ok", "fraud"))
    stored(path)
    with pytest.raises(ValueError, match=r"classes of the series .* must be \('ok', 'fraud'\)"):
        stored(path, classes=("fraud", "ok"))


def test_positions_need_a_store_and_json():
    """What can't be written is refused before anything is."""
    with pytest.raises(ValueError, match="position must be written to a store"):
        Monitor().flush(position={"a": 1})
    with scratch() as path:
        monitor = stored(path)
        monitor.update(1, 0.5, 0.0)
        for bad in ({"a": object()}, {"a": math.nan}, {1: 2}):
            with pytest.raises((TypeError, ValueError), match="position must"):
                monitor.flush(position=bad)
        with Store(path) as store:
            assert store.positions() == {}
        assert monitor.window(0, 60).n_pos == 1
        assert monitor.window(0, 60).caveats == ()
