"""What is in a store."""

import sqlite3
from dataclasses import dataclass

from streamauc.scale import Scale
from streamauc.store import address, catalogue, documents, writers
from streamauc.store.catalogue import SeriesRow
from streamauc.store.database import Database
from streamauc.store.documents import Json
from streamauc.store.rows import read_chunks
from streamauc.store.writers import WriterInfo
from streamauc.tiers import Tier


@dataclass(frozen=True, slots=True)
class SeriesInfo:
    """A series as it is stored; times in seconds since the epoch.

    * `n_panes`: by channel, how many panes of its own each tier holds.
    * `start`, `end`: the span of all panes, None without any.
    * `since`, `latest`: when counting began, and the latest time told; infinite before that.
    """

    labels: dict[str, str]
    scale: Scale
    tiers: tuple[Tier, ...]
    n_panes: dict[str, tuple[int, ...]]
    start: int | None
    end: int | None
    since: float
    latest: float
    writers: tuple[WriterInfo, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """A store: its path, its bytes with its log, the version of its tables, what it holds."""

    path: str
    nbytes: int
    version: int
    series: tuple[SeriesInfo, ...]
    positions: dict[str, Json]
    n_documents: int


def info(database: Database) -> Info:
    """Return what is in a store, all of one moment. O(n_chunks)."""
    with database.read() as connection:
        rows = list(catalogue.all_series(connection))
        series = tuple(_series(connection, row) for row in rows)
        return Info(
            path=str(database.path),
            nbytes=_n_bytes(database),
            version=database.version,
            series=series,
            positions=documents.positions(connection),
            n_documents=catalogue.count(connection, "document"),
        )


def _n_bytes(database: Database) -> int:
    log = database.path.with_name(database.path.name + "-wal")
    return sum(path.stat().st_size for path in (database.path, log) if path.exists())


def _series(connection: sqlite3.Connection, row: SeriesRow) -> SeriesInfo:
    n_panes = {}
    spans: list[tuple[int, int]] = []
    for channel, lanes in row.facts.lanes.items():
        numbers = []
        for tier, lane in zip(row.facts.tiers, lanes, strict=True):
            chunks, _ = read_chunks(connection, lane.number, row.where)
            numbers.append(sum(number for number, _ in chunks.values()))
            spans += _span(connection, lane.number, tier.pane_seconds)
        n_panes[channel] = tuple(numbers)
    facts = row.facts
    return SeriesInfo(
        labels=catalogue.labels_of(row.labels),
        scale=facts.scale,
        tiers=facts.tiers,
        n_panes=n_panes,
        start=min((start for start, _ in spans), default=None),
        end=max((end for _, end in spans), default=None),
        since=facts.since,
        latest=facts.latest,
        writers=writers.load_all(connection, row.id, facts.n_writers),
    )


def _span(connection: sqlite3.Connection, lane: int, seconds: int) -> list[tuple[int, int]]:
    """Return where the first pane of a lane begins and the last one ends, if there are any."""
    low, high = address.lane_span(lane)
    first, last = connection.execute(
        "SELECT (SELECT min(id) FROM pane WHERE id BETWEEN :low AND :high),"
        " (SELECT max(id) FROM pane WHERE id BETWEEN :low AND :high)",
        {"low": low, "high": high},
    ).fetchone()
    if first is None:
        return []
    return [(address.index_of(first) * seconds, (address.index_of(last) + 1) * seconds)]
