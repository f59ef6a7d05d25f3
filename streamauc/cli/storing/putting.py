"""Writing a series of the file into a store, some panes at a time, within one transaction."""

import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

import numpy as np

from streamauc.cli.storing.cells import Pane
from streamauc.cli.storing.facts import SeriesRecord
from streamauc.codec import JoinState
from streamauc.storage import SparseCounts
from streamauc.store import Store, StoredSeries
from streamauc.store.change import Batch, SeriesChange
from streamauc.store.entries import StoredJoin
from streamauc.store.facts import Facts
from streamauc.store.writers import WriterInfo
from streamauc.tiers import FOR_EVER

# So many panes, or entries, are in memory at once.
_AT_ONCE = 1_024
_UNBOUNDED = 2**62


@contextmanager
def part_of(connection: sqlite3.Connection) -> Iterator[Batch]:
    """Put down a part of a transaction; whoever began it ends it."""
    batch = Batch(connection)
    yield batch
    batch.settle()


def put_new(
    store: Store,
    connection: sqlite3.Connection,
    series: SeriesRecord,
    panes: Iterable[Pane],
    waiting: JoinState,
) -> None:
    """Make a series that is not there yet. O(size)."""
    facts = series.facts
    target = store.series(
        series.names, facts.scale, facts.tiers, facts.classes, event_clock=facts.event_clock
    )
    with part_of(connection) as batch:
        change = target.on(batch)
        change.begin_at(facts.first)
        make_channels(change, series.channels)
        put_writers(change, facts, series.writers)
    put_panes(target, connection, panes)
    with part_of(connection) as batch:
        put_waiting(join_of(target.on(batch)), waiting)


def make_channels(change: SeriesChange, channels: Iterable[str]) -> None:
    """Let a series have channels, even if all of their panes have expired."""
    first = change.row.facts.first[0]
    nothing = SparseCounts(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    for channel in channels:
        change.put(channel, 0, 0 if first == FOR_EVER else first, nothing)


def put_panes(target: StoredSeries, connection: sqlite3.Connection, panes: Iterable[Pane]) -> None:
    """Add panes to a series."""
    rest = iter(panes)
    while some := list(islice(rest, _AT_ONCE)):
        with part_of(connection) as batch:
            change = target.on(batch)
            for pane in some:
                change.put(*pane)


def put_writers(change: SeriesChange, facts: Facts, writers: Iterable[WriterInfo]) -> None:
    """Write down who wrote, when and what they tallied, and the times that they told."""
    for writer in writers:
        for moment, tallies in ((writer.started, {}), (writer.flushed, writer.tallies)):
            change.tally(
                writer.id,
                tallies,
                now=moment,
                latest=facts.latest if facts.latest > -math.inf else None,
                since=facts.since if facts.since < math.inf else None,
            )
        if writer.closed is not None:
            change.close_writer(writer.id, writer.closed)


def join_of(change: SeriesChange) -> StoredJoin:
    """Return the join of a series, which keeps whatever it is given."""
    return StoredJoin(
        change.connection,
        change.series_id,
        max_pending=_UNBOUNDED,
        max_early=_UNBOUNDED,
        max_resolved=_UNBOUNDED,
        labels=change.row.labels,
    )


def put_waiting(join: StoredJoin, waiting: JoinState) -> None:
    """Let what waits wait in an empty join, in the same order."""
    for start in range(0, len(waiting.opened), _AT_ONCE):
        opened = waiting.opened[start : start + _AT_ONCE]
        join.predict([key for key, _ in opened], [placed for _, placed in opened])
    for start in range(0, len(waiting.early), _AT_ONCE):
        early = waiting.early[start : start + _AT_ONCE]
        join.resolve([key for key, _ in early], [label for _, label in early], -math.inf)
    for start in range(0, len(waiting.closed), _AT_ONCE):
        join.remember(waiting.closed[start : start + _AT_ONCE])
