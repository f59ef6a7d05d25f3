"""Everything that a store holds at one moment, read piece by piece and checked on the way."""

import sqlite3
from collections.abc import Iterator

from streamauc.codec import JoinState
from streamauc.store import catalogue, documents, writers
from streamauc.store.catalogue import SeriesRow
from streamauc.store.documents import Document, Json
from streamauc.store.entries import reading_join
from streamauc.store.lane import Panes, read_lane
from streamauc.store.rows import read_chunks
from streamauc.store.writers import WriterInfo


class Snapshot:
    """Reads a store within a transaction; what is damaged or missing is a `DamageError`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def series(self) -> list[SeriesRow]:
        """Return every series."""
        return list(catalogue.all_series(self._connection))

    def n_panes(self, row: SeriesRow) -> int:
        """Return how many panes a series holds. O(n_chunks)."""
        return sum(
            number
            for lanes in row.facts.lanes.values()
            for lane in lanes
            for number, _ in read_chunks(self._connection, lane.number, row.where)[0].values()
        )

    def panes(self, row: SeriesRow, channel: str, tier: int) -> Iterator[Panes]:
        """Yield the panes of a lane in order, at most 256 at once.

        Those of each chunk are compared with its sum, and the chunks with that of the lane.
        """
        return read_lane(self._connection, row, channel, tier)

    def writers(self, row: SeriesRow) -> tuple[WriterInfo, ...]:
        """Return the writers of a series, by name."""
        return writers.load_all(self._connection, row.id, row.facts.n_writers)

    def waiting(self, row: SeriesRow) -> JoinState:
        """Return what waits in a series. O(n_entries)."""
        return reading_join(self._connection, row.id, row.labels).state()

    def positions(self) -> dict[str, Json]:
        """Return every position by name."""
        return documents.positions(self._connection)

    def document(self, kind: str, name: str) -> Document | None:
        """Return a document."""
        return documents.load(self._connection, kind, name)

    def documents(self) -> Iterator[Document]:
        """Yield every document, by kind and name."""
        catalogue.check_count(self._connection, "document")
        for kind, name in self._names("document"):
            found = self.document(kind, name)
            if found is not None:
                yield found

    def journal(self) -> Iterator[Document]:
        """Yield every entry of the journal, by kind, name and age."""
        catalogue.check_count(self._connection, "journal")
        for kind, name in self._names("journal"):
            yield from documents.journal(self._connection, kind, name)

    def _names(self, table: str) -> list[tuple[str, str]]:
        statement = f"SELECT DISTINCT kind, name FROM {table} ORDER BY kind, name"  # noqa: S608  (names of our own)
        return self._connection.execute(statement).fetchall()
