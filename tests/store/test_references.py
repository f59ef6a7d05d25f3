"""References are kept by name: of a window with its span, or of a histogram."""

import math

import pytest

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.store import Store

HISTOGRAM = ScoreHistogram.from_scores([0, 1, 1], [0.2, 0.9, 0.4], scale=Scale.probability())


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "metrics.db") as opened:
        yield opened


@pytest.fixture
def window():
    monitor = Monitor(clock="event")
    monitor.update_many([0, 1, 1, 1], [0.2, 0.9, 0.4, 0.4], [70, 80, 150, 400])
    return monitor.window(65, 170)


def test_a_window_brings_its_span(store, window):
    """The one that it really covers, rounded outwards to panes."""
    made = store.reference("fraud-v3", window)
    for found in (made, store.reference("fraud-v3"), *store.references()):
        assert (found.start, found.end) == (60, 180)
        assert found.histogram.counts.tolist() == window.histogram.counts.tolist()
    with pytest.raises(ValueError, match="pass replace=True"):
        store.reference("fraud-v3", window)
    assert store.reference("fraud-v3", window, replace=True, at=7).saved == 7


def test_a_window_of_the_same_store(store):
    with Monitor(store=store, series={"model": "x"}, clock="event") as monitor:
        monitor.update(1, 0.5, 0.0)
        store.reference("whole", monitor.window(0, 60))
    found = store.reference("whole")
    assert (found.start, found.end, found.histogram.totals.tolist()) == (0, 60, [0, 1])


def test_the_span_of_a_window_can_not_be_another_one(store, window):
    for span in ({"start": 0}, {"end": 1}):
        with pytest.raises(TypeError, match="start and end are the window's own"):
            store.reference("fraud-v3", window, **span)
    assert store.references() == ()


@pytest.mark.parametrize("wrong", [0.86, "fraud-v2", [0.1, 0.2], HISTOGRAM.to_bytes(), Monitor()])
def test_what_is_neither_is_named(store, wrong):
    """Before anything is written."""
    with pytest.raises(TypeError, match="must be a Window or a ScoreHistogram, got"):
        store.reference("fraud-v3", wrong)
    with pytest.raises(TypeError, match="name of a reference must be text, got 3"):
        store.reference(3, HISTOGRAM)
    assert store.references() == ()


def test_the_span_of_a_histogram_may_be_unknown(store):
    assert math.isnan(store.reference("fraud-v3", HISTOGRAM).start)
    assert store.reference("fraud-v4", HISTOGRAM, start=0, end=60).end == 60
