"""The catalogue: the row of each series, and the counts of what must not vanish unnoticed."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streamauc.store import address
from streamauc.store import facts as facts_of
from streamauc.store.address import checksum
from streamauc.store.errors import DamageError, Place
from streamauc.store.facts import Facts, Lane

_COLUMNS = "id, labels, settings, change, state, crc"


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """A series: its key, labels and settings as JSON, the number of its last change, its facts.

    `state` and `crc` are those of the row as it was read or written.
    """

    id: int
    labels: str
    settings: str
    change: int
    facts: Facts
    state: str
    crc: int

    def is_row(self, row: tuple[int, str, str, int, str, int]) -> bool:
        """Return whether a row of the table says the same."""
        return row == (self.id, self.labels, self.settings, self.change, self.state, self.crc)

    def where(self, table: str, key: int) -> Place:
        """Return the place of a pane or a chunk of this series."""
        index = address.index_of(key)
        for channel, lanes in self.facts.lanes.items():
            for tier, lane in enumerate(lanes):
                if lane.number == address.lane_of(key):
                    seconds = self.facts.tiers[tier].pane_seconds
                    if table == "chunk":
                        index = address.index_of(address.chunk_span(key)[0])
                    return Place(table, self.labels, channel, tier, float(index * seconds))
        return Place(table, self.labels, key=str(key))


def count(connection: sqlite3.Connection, name: str) -> int:
    """Return a count of the table `meta`, 0 where there is none."""
    row = connection.execute("SELECT value, crc FROM meta WHERE name = ?", (name,)).fetchone()
    if row is None:
        return 0
    value, crc = row
    if crc != checksum("meta", name, value):
        raise DamageError("a count was altered", Place("meta", key=name))
    return int(value)


def add_to_count(connection: sqlite3.Connection, name: str, number: int) -> int:
    """Add to a count of the table `meta` and return what it was before."""
    before = count(connection, name)
    value = before + number
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES(?, ?, ?)", (name, value, checksum("meta", name, value))
    )
    return before


def check_count(connection: sqlite3.Connection, table: str) -> None:
    """Raise DamageError unless a table holds as many rows as were put into it. O(n_rows)."""
    (found,) = connection.execute(f"SELECT count(*) FROM {table} NOT INDEXED").fetchone()  # noqa: S608  (names of our own)
    wanted = count(connection, table)
    if found != wanted:
        raise DamageError(f"{wanted} rows were written, {found} are left", Place(table))


def find(connection: sqlite3.Connection, labels: str) -> SeriesRow | None:
    """Return the series with these labels. O(log n_series), or O(n_series) if there is none."""
    statement = f"SELECT {_COLUMNS} FROM series WHERE labels = ?"  # noqa: S608  (a constant)
    row = connection.execute(statement, (labels,)).fetchone()
    if row is not None:
        return _row(row)
    # Perhaps only the way to it is damaged.
    if labels in (one.labels for one in all_series(connection)):
        raise DamageError("the index does not lead to the series", Place("series", series=labels))
    return None


def load(connection: sqlite3.Connection, number: int, known: SeriesRow | None = None) -> SeriesRow:
    """Return the series with this key, which must exist. O(log n_series).

    The same object as `known` if it is still what the row says, which saves most of the time.
    """
    statement = f"SELECT {_COLUMNS} FROM series WHERE id = ?"  # noqa: S608  (a constant)
    row = connection.execute(statement, (number,)).fetchone()
    if row is None:
        raise DamageError("a series has vanished", Place("series", key=str(number)))
    return known if known is not None and known.is_row(row) else _row(row)


def all_series(connection: sqlite3.Connection) -> Iterator[SeriesRow]:
    """Yield every series. Raises DamageError where one is damaged or missing."""
    statement = f"SELECT {_COLUMNS} FROM series NOT INDEXED ORDER BY id"  # noqa: S608  (a constant)
    yield from map(_row, connection.execute(statement).fetchall())
    check_count(connection, "series")


def _row(row: tuple[int, str, str, int, str, int]) -> SeriesRow:
    number, labels, settings, change, state, crc = row
    if crc != checksum("series", number, labels, settings, change, state):
        raise DamageError("a series was altered", Place("series", series=str(labels)))
    facts = facts_of.load_facts(settings, state)
    return SeriesRow(number, labels, settings, change, facts, state, crc)


def create(connection: sqlite3.Connection, labels: str, facts: Facts) -> SeriesRow:
    """Make a series."""
    number = add_to_count(connection, "series", 1) + 1
    row = SeriesRow(number, labels, facts_of.dump_settings(facts), 0, facts, "", 0)
    connection.execute(
        f"INSERT INTO series({_COLUMNS}) VALUES(?, ?, ?, ?, ?, ?)",
        (number, labels, row.settings, 0, "", 0),
    )
    return save(connection, row, 0, facts)


def save(connection: sqlite3.Connection, row: SeriesRow, change: int, facts: Facts) -> SeriesRow:
    """Write down what has changed of a series, and return it as it is now."""
    state = facts_of.dump_state(facts)
    crc = checksum("series", row.id, row.labels, row.settings, change, state)
    connection.execute(
        "UPDATE series SET change = ?, state = ?, crc = ? WHERE id = ?",
        (change, state, crc, row.id),
    )
    return SeriesRow(row.id, row.labels, row.settings, change, facts, state, crc)


def with_channel(connection: sqlite3.Connection, facts: Facts, channel: str) -> Facts:
    """Return facts in which a channel has lanes; new ones where it had none."""
    if channel in facts.lanes:
        return facts
    first = add_to_count(connection, "lanes", len(facts.tiers)) + 1
    span = address.lane_span(first)[0], address.lane_span(first + len(facts.tiers) - 1)[1]
    if connection.execute("SELECT 1 FROM chunk WHERE id BETWEEN ? AND ?", span).fetchone():
        raise DamageError("a new lane is not empty", Place("meta", key="lanes"))
    return facts.with_lanes(
        channel, tuple(Lane(first + number) for number in range(len(facts.tiers)))
    )


def with_totals(facts: Facts, totals: dict[int, tuple[int, int]]) -> Facts:
    """Return facts with more chunks in some lanes: by lane, how many, and their CRCs combined."""
    lanes = dict(facts.lanes)
    for channel, of_channel in facts.lanes.items():
        if any(lane.number in totals for lane in of_channel):
            lanes[channel] = tuple(_with_total(lane, totals) for lane in of_channel)
    return replace(facts, lanes=lanes)


def _with_total(lane: Lane, totals: dict[int, tuple[int, int]]) -> Lane:
    n_chunks, mixed = totals.get(lane.number, (0, 0))
    return Lane(lane.number, lane.n_chunks + n_chunks, lane.mixed ^ mixed)


def labels_of(text: str) -> dict[str, str]:
    """Return labels from JSON."""
    found: dict[str, str] = json.loads(text)
    return found
