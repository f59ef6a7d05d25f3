"""The sums of all chunks of a series in memory, and which chunks a span needs."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from sortedcontainers import SortedDict

from streamauc.store import address
from streamauc.store.catalogue import SeriesRow
from streamauc.store.errors import DamageError, Place
from streamauc.store.facts import Lane
from streamauc.store.rows import Total, chunk_total, read_chunks


@dataclass(slots=True)
class LaneState:
    """A channel in one tier: the sum of each of its chunks, in the order of time."""

    number: int
    channel: str
    tier: int
    seconds: int
    chunks: SortedDict[int, Total] = field(default_factory=SortedDict)
    mixed: int = 0  # the CRCs of the chunks' rows, combined

    def set(self, chunk: int, total: Total | None) -> None:
        """Let a chunk have this sum; None takes it away. O(log n_chunks)."""
        before = self.chunks.pop(chunk, None)
        if before is not None:
            self.mixed ^= address.combined([address.checksum("chunk", chunk, *before)])
        if total is not None:
            self.chunks[chunk] = total
            self.mixed ^= address.combined([address.checksum("chunk", chunk, *total)])

    def agrees(self, lane: Lane) -> bool:
        """Return whether the chunks are those of which the row of the series tells."""
        return (len(self.chunks), self.mixed) == (lane.n_chunks, lane.mixed)

    def between(self, low: int, high: int) -> list[int]:
        """Return the chunks that hold panes in [low, high) seconds. O(log n + their number)."""
        first = address.chunk_of(address.pane_key(self.number, low // self.seconds))
        last = address.chunk_of(address.pane_key(self.number, -(-high // self.seconds) - 1))
        return list(self.chunks.irange(first, last))


class Directory:
    """The lanes of a series, checked against the sums in its row."""

    def __init__(
        self, connection: sqlite3.Connection, row: SeriesRow, skip: Callable[[DamageError], None]
    ) -> None:
        """Read every chunk's row. O(n_chunks). What is damaged is told to `skip`."""
        self._lanes: dict[int, LaneState] = {}
        for state, lane in self._known(row):
            chunks, mixed = read_chunks(connection, lane.number, row.where, skip)
            state.chunks, state.mixed = chunks, mixed
            if not state.agrees(lane):
                skip(DamageError("chunks are missing", _place(row, state)))

    def _known(self, row: SeriesRow) -> Iterator[tuple[LaneState, Lane]]:
        """Yield every lane that the row of the series knows; new ones are taken up."""
        for channel, lanes in row.facts.lanes.items():
            for tier, lane in enumerate(lanes):
                seconds = row.facts.tiers[tier].pane_seconds
                state = LaneState(lane.number, channel, tier, seconds)
                yield self._lanes.setdefault(lane.number, state), lane

    def reread(self, connection: sqlite3.Connection, row: SeriesRow, chunks: Iterable[int]) -> bool:
        """Read the rows of some chunks again; return whether all sums are right now."""
        known = list(self._known(row))
        for chunk in chunks:
            state = self._lanes.get(address.lane_of(chunk))
            if state is None:
                return False
            found = connection.execute(
                "SELECT id, n, mixed, crc FROM chunk WHERE id = ?", (chunk,)
            ).fetchone()
            state.set(chunk, None if found is None else chunk_total(found, row.where))
        return all(state.agrees(lane) for state, lane in known)

    def lane(self, chunk: int) -> LaneState:
        """Return the lane of a chunk."""
        return self._lanes[address.lane_of(chunk)]

    def total(self, chunk: int) -> Total | None:
        """Return the sum of a chunk, None if it holds no panes."""
        return self.lane(chunk).chunks.get(chunk)

    def totals(self) -> dict[int, Total]:
        """Return the sums of all chunks."""
        return {
            chunk: total for state in self._lanes.values() for chunk, total in state.chunks.items()
        }

    def between(self, channel: str, low: int, high: int) -> list[tuple[LaneState, list[int]]]:
        """Return by lane the chunks of a channel that hold panes in [low, high) seconds."""
        return [
            (state, state.between(low, high))
            for state in self._lanes.values()
            if state.channel == channel
        ]


def _place(row: SeriesRow, state: LaneState) -> Place:
    return Place("chunk", row.labels, state.channel, state.tier)
