"""What ``streamauc store info`` gathers about a store."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamauc.cli.storing.access import chosen
from streamauc.reader import stored_stats
from streamauc.rules.selector import Selector
from streamauc.stats import Stats
from streamauc.store import Info, SeriesInfo, Store, StoredReference, WriterInfo
from streamauc.store.facts import Facts

# Writers tell every half minute that they are alive, if nothing else.
_ALIVE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class SeriesFound:
    """What the store says of a series, what it knows of it, and the tallies of all writers."""

    info: SeriesInfo
    facts: Facts
    stats: Stats


@dataclass(frozen=True, slots=True)
class Found:
    """What is in a store, all of one moment; `now` is when."""

    info: Info
    series: Sequence[SeriesFound]
    references: Sequence[StoredReference]
    now: float


def gather(store: Store, wanted: Selector, now: float) -> Found:
    """Return what is in a store. O(n_chunks)."""
    with store.database.read():
        known = store.info()
        kept = chosen([(one.labels, one) for one in known.series], wanted)
        found = []
        for one in kept:
            stored = store.series(one.labels)
            found.append(SeriesFound(one, stored.facts, stored_stats(stored)))
        return Found(known, found, store.references(), now)


def writer_state(writer: WriterInfo, now: float) -> str:
    """Return what a writer seems to be: alive, ended or silent."""
    if writer.closed is not None:
        return "ended"
    return "alive" if now - writer.flushed <= _ALIVE_SECONDS else "silent"
