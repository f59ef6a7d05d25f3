"""What a monitor with a store has taken in and not written yet."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from streamauc import tiers
from streamauc.join import Labels, Predictions
from streamauc.stats import Tallies
from streamauc.store.documents import Json
from streamauc.timeline import LABELLED, Timeline

Positions = Mapping[str, Json]


@dataclass(slots=True)
class Unwritten:
    """What came in a stretch of time: counts by pane, and predictions and labels in order.

    Labels stand with the earliest time at which they can have come. `latest` is what the time
    was at its end, and `positions` say how far the sources had been read.
    """

    counts: Timeline
    keyed: list[Predictions | tuple[Labels, float]] = field(default_factory=list)
    n_keyed: int = 0
    tallies: Tallies = field(default_factory=Tallies)
    latest: float = -math.inf
    positions: dict[str, Json] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.keyed or self.tallies.counts or self.counts.channels or self.positions)

    def absorb(self, later: "Unwritten") -> None:
        """Add what came later."""
        first = zip(self.counts.first, later.counts.first, strict=True)
        self.counts.advance_to(tuple(max(pair) for pair in first))
        for tier, index, part in later.counts.panes(LABELLED):
            self.counts.put(LABELLED, tier, index, part.stored)
        self.keyed += later.keyed
        self.n_keyed += later.n_keyed
        self.tallies.add(later.tallies.counts)
        self.latest = max(self.latest, later.latest)
        self.positions |= later.positions


class Backlog:
    """What has been taken in and is not known to be on disk; needs the lock of whoever writes.

    With `needs_positions` nothing is written without one from the beginning, otherwise from the
    first one on.

    * `tried`: what was to be written when a commit failed. Whether it was written after all, the
      next transaction finds out by the number of the try.
    * `ready`: what the next transaction is to write besides.
    * `rest`: what came after the last position. It waits for the next one: were it written
      without, whoever goes on from the last position after a crash would count it twice.

    While one of them waits, its panes expire into coarser ones as those in a store do, so that
    its counts are bounded however long writing fails.
    """

    def __init__(self, new: Callable[[], Unwritten], *, needs_positions: bool = False) -> None:
        self._new = new
        self._tried: Unwritten | None = None
        self._number = 0
        self._ready: Unwritten | None = None
        self._rest: Unwritten | None = None
        self._needs_positions = needs_positions
        self.n_keyed = 0

    def _parts(self) -> Iterator[Unwritten]:
        return (part for part in (self._tried, self._ready, self._rest) if part is not None)

    @property
    def is_nothing(self) -> bool:
        """Whether everything is on disk."""
        return not any(self._parts())

    @property
    def is_ready(self) -> bool:
        """Whether something may be written now."""
        return self._tried is not None or self._ready is not None

    @property
    def needs_positions(self) -> bool:
        """Whether nothing is written any more without a position."""
        return self._needs_positions

    @property
    def rest(self) -> Unwritten | None:
        """What came after the last position."""
        return self._rest

    @property
    def nbytes(self) -> int:
        """Bytes held by counts."""
        return sum(part.counts.nbytes for part in self._parts())

    @property
    def tallies(self) -> Tallies:
        """What became of the events that wait."""
        found = Tallies()
        for part in self._parts():
            found.add(part.tallies.counts)
        return found

    @property
    def horizons(self) -> tuple[int, ...] | None:
        """Up to where panes have expired; None where no time has passed while they waited."""
        aged = [part.counts.first for part in (self._tried, self._ready) if part is not None]
        aged = [first for first in aged if any(one != tiers.FOR_EVER for one in first)]
        return tuple(map(max, *aged)) if len(aged) > 1 else next(iter(aged), None)

    def take(self, arrived: Unwritten) -> None:
        """Take in what came by now."""
        if not arrived.is_nothing:
            self._rest = _joined(self._rest, arrived)
        self._count()

    def seal(self, positions: Positions | None) -> None:
        """Let what has come be written: with positions, or without if none are needed."""
        if positions is not None:
            self._needs_positions = True
            self._rest = self._new() if self._rest is None else self._rest
            self._rest.positions |= positions
        if self._rest is not None and (positions is not None or not self._needs_positions):
            self._ready, self._rest = _joined(self._ready, self._rest), None

    def begin(self, number: int) -> Unwritten:
        """Return what a transaction is to write that is the try of this number.

        If the number has moved on, the last try was written after all.
        """
        if self._tried is not None and number <= self._number:
            self._ready = _joined(self._tried, self._ready)
        self._tried = None
        self._count()
        return self._new() if self._ready is None else self._ready

    def commit(self, number: int) -> None:
        """Note that the try of this number is about to be committed."""
        self._tried, self._ready, self._number = self._ready, None, number

    def end(self) -> None:
        """Note that the try has been committed."""
        self._tried = None
        self._count()

    def _count(self) -> None:
        self.n_keyed = sum(part.n_keyed for part in self._parts())


def _joined(first: Unwritten | None, later: Unwritten | None) -> Unwritten | None:
    """Return what came first with what came later; with both, panes expire that are too old."""
    if first is None or later is None:
        return later if first is None else first
    first.absorb(later)
    if first.latest > -math.inf:
        first.counts.advance(first.latest)
    return first


def check_positions(positions: Positions) -> None:
    """Raise TypeError or ValueError for positions that JSON can't say."""
    for name, value in positions.items():
        if not isinstance(name, str):
            raise TypeError(f"position must have names that are text, got {name!r}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"position must be what JSON can say, got {value!r} for {name!r}: {error}"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinBounds:
    """How long labels are waited for, in seconds, and how many entries of each kind are kept."""

    label_ttl: float
    max_pending: int
    max_early: int
    max_resolved: int
