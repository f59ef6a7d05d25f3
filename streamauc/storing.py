"""Where a monitor writes, and how often: its settings that concern a store."""

import functools
import math
import os
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from streamauc import _check
from streamauc._time import Duration, duration
from streamauc.clock import Clock, EventClock
from streamauc.events import PaneCounter
from streamauc.store import Store, StoredSeries
from streamauc.store.entries import key_texts
from streamauc.stored_ledger import StoredLedger
from streamauc.tiers import Tier
from streamauc.unwritten import JoinBounds

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Storing:
    """The store and series of a monitor, and when it writes."""

    store: Store
    series: dict[str, str]
    flush_seconds: float
    max_unwritten: int
    needs_positions: bool

    @property
    def is_manual(self) -> bool:
        """Whether nothing is written but by `flush` and `close`: not by a thread or a poll."""
        return math.isinf(self.flush_seconds)

    @classmethod
    def checked(
        cls,
        store: Store | str | os.PathLike[str] | None,
        series: Mapping[str, str] | None,
        flush_seconds: Duration,
        max_unwritten: int,
        *,
        needs_positions: bool,
    ) -> "Storing":
        """Return settings as they were given. Raises ValueError or TypeError for bad ones."""
        if store is None or series is None:
            missing = "store" if store is None else "series"
            raise ValueError(f"{missing} must be given: store and series belong together, got None")
        seconds = duration("flush_seconds", flush_seconds)
        most = _check.integer("max_unwritten", max_unwritten, 1)
        found = store if isinstance(store, Store) else Store(store)
        return cls(found, dict(series), seconds, most, needs_positions)

    def ledger(
        self,
        counter: PaneCounter,
        clock: Clock,
        spans: tuple[Tier, ...],
        classes: tuple[object, object] | None,
        bounds: JoinBounds,
        parent: StoredLedger | None,
    ) -> StoredLedger:
        """Return a ledger that writes there, as a writer of its own.

        In a forked child that of its `parent` is given, and nothing is read or written.
        """
        if parent is not None:
            series = parent.series
        else:
            is_event = isinstance(clock, EventClock)
            series = self.store.series(
                self.series, counter.scale, spans, classes, event_clock=is_event
            )
            _check_classes(series, classes)
        ledger = StoredLedger(
            counter,
            clock,
            spans,
            self.store,
            series,
            bounds,
            self.max_unwritten,
            needs_positions=self.needs_positions,
        )
        if parent is None:
            ledger.join_in()
        return ledger

    def is_same(self, other: "Storing | None") -> bool:
        """Return whether another monitor writes to the same series of the same file."""
        return (
            other is not None
            and self.series == other.series
            and self.store.database.path.resolve() == other.store.database.path.resolve()
        )

    def opener(self) -> "functools.partial[Store]":
        """Return what opens the same store again, in another process too."""
        database, mirrors = self.store.database, self.store._mirrors
        return functools.partial(
            Store,
            database.path,
            busy_seconds=database._busy_seconds,
            read_only=database.read_only,
            skip_damaged=mirrors.skip_damaged,
            mirror_bytes=mirrors._budget.limit,
        )


def _check_classes(series: StoredSeries, classes: tuple[object, object] | None) -> None:
    """Raise ValueError unless labels mean the same to all writers of a series."""
    stored = series.facts.classes
    if classes is not None and stored is not None and classes != stored:
        raise ValueError(f"classes of the series {series.name} must be {stored}, got {classes}")


def reopened(
    make: Callable[..., Made],
    open_store: Callable[[], Store],
    flush_on_sigterm: bool,  # noqa: FBT001 - pickle passes arguments by place
) -> Made:
    """Return a monitor over a store that is opened anew, for copies and worker pools."""
    is_main = threading.current_thread() is threading.main_thread()
    return make(store=open_store(), flush_on_sigterm=flush_on_sigterm and is_main)


def check_key(key: Hashable) -> None:
    """Raise TypeError or ValueError for the key of a prediction that can't be stored."""
    if not (type(key) is str and key.isascii()):
        key_texts((key,))
