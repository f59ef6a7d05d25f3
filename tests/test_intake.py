"""What writers append comes out as batches in order of arrival, nothing torn and nothing lost."""

import math
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamauc.events import Events
from streamauc.intake import Batch, Intake
from streamauc.stats import REASONS

# Each is what one writer does: (kind, how many events or which reason).
writes = st.lists(
    st.tuples(
        st.sampled_from(["event", "event", "weighted", "batch", "rejected", "ahead"]),
        st.integers(0, 3),
    ),
    max_size=40,
)


def push(intake, number, kind, size):
    """Do one write, known by its number, and return what has to come out of it."""
    if kind == "event":
        intake.rows.extend((float(number), 0.5, number % 2))
        return [(float(number), 0.5, number % 2, 1.0)]
    if kind == "weighted":
        intake.push(float(number), 0.25, number % 2, size / 2)
        return [(float(number), 0.25, number % 2, size / 2)]
    if kind == "batch":
        times = np.full(size, float(number))
        events = Events.of(np.zeros(size, dtype=np.int64), np.ones(size), times)
        intake.push_batch(Batch(events))
        return [(float(number), 1.0, 0, 1.0)] * size
    if kind == "rejected":
        intake.push_rejected(REASONS[size])
        return [REASONS[size]]
    intake.push_ahead()
    return ["ahead"]


def rows_of(batch):
    """Return the (time, score, class, weight) rows of a batch."""
    events = batch.events
    weights = np.ones(events.size) if events.weights is None else events.weights
    columns = events.timestamps, events.scores, events.classes, weights
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(writes, st.integers(1, 50))
def test_everything_comes_out_in_order_of_arrival(found, n_rows):
    """However few rows are taken at a time, marks stay with what they mark."""
    intake, pushed = Intake(), []
    for number, (kind, size) in enumerate(found):
        pushed += push(intake, number, kind, size)
    rows, notes = [], Counter()
    while len(intake):
        before = len(intake)
        for batch in intake.take(min(n_rows, len(intake))):
            rows += rows_of(batch)
            notes += Counter(batch.rejected) + Counter(ahead=batch.n_ahead)
        assert min(n_rows, before) <= before - len(intake) <= n_rows + 1

    assert rows == [row for row in pushed if not isinstance(row, str)]
    assert notes == Counter(note for note in pushed if isinstance(note, str))
    assert intake.n_batches == 0


def test_a_weight_and_its_event_stay_together():
    """A cut between a weight and its event moves behind the event."""
    intake = Intake()
    intake.push(1.0, 0.5, 1, 3.0)
    intake.push(2.0, 0.5, 0, 1)
    (batch,) = intake.take(1)

    assert rows_of(batch) == [(1.0, 0.5, 1, 3.0)]
    assert len(intake) == 1
    (batch,) = intake.take(1)
    assert rows_of(batch) == [(2.0, 0.5, 0, 1.0)]
    assert batch.events.weights is None


def test_forgetting_keeps_the_list_itself():
    """The list is emptied in place, because writers hold on to it."""
    intake = Intake()
    rows = intake.rows
    intake.push(1.0, 0.5, 1, 2)
    intake.push_batch(Batch())
    intake.clear()

    assert intake.rows is rows
    assert (len(intake), intake.n_batches, rows) == (0, 0, [])


def test_copies_share_no_array():
    """A batch that has to wait owns its columns."""
    columns = np.array([1]), np.array([0.5]), np.array([7.0]), np.array([2.0])
    batch = Batch(Events.of(*columns)).copy()
    for column in columns:
        column[:] = 0

    assert rows_of(batch) == [(7.0, 0.5, 1, 2.0)]
    assert Batch(moment=5.0).copy().moment == 5.0


@pytest.mark.parametrize("n_writers", [8])
def test_no_row_is_torn_by_many_writers(n_writers):
    """Rows of many threads, taken off meanwhile, are whole and all there."""
    intake, n_each, taken = Intake(), 20_000, Counter()

    def write(name):
        rows = intake.rows
        for number in range(n_each):
            if number % 5:
                rows += (float(name), name / 8, name)
            else:
                intake.push(float(name), name / 8, name, 2.0)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(n_writers)]
    for thread in threads:
        thread.start()
    while len(intake) or any(thread.is_alive() for thread in threads):
        for batch in intake.take(min(1_000, len(intake))):
            taken.update(rows_of(batch))
    for thread in threads:
        thread.join()

    expected = {}
    for name in range(n_writers):
        expected[float(name), name / 8, name, 1.0] = n_each * 4 // 5
        expected[float(name), name / 8, name, 2.0] = n_each // 5
    assert taken == expected
    assert not any(math.isnan(row[0]) for row in taken)
