"""The store: one file, its series, its positions, documents and references."""

import difflib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from streamauc.histogram import ScoreHistogram
from streamauc.scale import Scale
from streamauc.store import catalogue, documents, references
from streamauc.store.budget import Budget
from streamauc.store.catalogue import SeriesRow
from streamauc.store.change import Batch, writing
from streamauc.store.database import Database
from streamauc.store.documents import Document, Json
from streamauc.store.errors import Place
from streamauc.store.facts import check_classes, check_labels, new_facts, spans_of
from streamauc.store.info import Info, info
from streamauc.store.mirror import Mirrors
from streamauc.store.references import StoredReference
from streamauc.store.repair import repair
from streamauc.store.series import StoredSeries
from streamauc.store.verify import Report, verify
from streamauc.tiers import Tier, TierSpec
from streamauc.window import Window

_MIRROR_BYTES = 2**28


class Store:
    """Series of panes in one SQLite file, for several processes of one machine at once.

    * `busy_seconds`: how long to wait for others who hold the file locked.
    * `read_only`: don't write; the file must exist.
    * `skip_damaged`: leave damaged panes out of answers, log each once with the logger
      ``streamauc``, and list it in `StoredSeries.damaged`, instead of raising `DamageError`. A
      window without them has the caveat ``damaged``.
    * `mirror_bytes`: about how many bytes of panes to keep in memory for reading.

    Threads may share a store, and it may be used on in a forked child. Every method raises
    TimeoutError, PermissionError or another OSError, ValueError for a foreign or newer file, and
    its kind `DamageError`; what is raised within a transaction undoes it.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "metrics.db"
    >>> with Store(path) as store:
    ...     series = store.series({"model": "fraud"}, Scale.probability(), ((60, "2d"),))
    ...     one = ScoreHistogram.from_scores([0, 1], [0.2, 0.9], scale=Scale.probability())
    ...     series.add("labelled", [(0, one.stored)])
    ...     series.cover("labelled", 0, 60).parts[0].totals
    array([1, 1])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 30.0,
        read_only: bool = False,
        skip_damaged: bool = False,
        mirror_bytes: int = _MIRROR_BYTES,
    ) -> None:
        self.database = Database(path, busy_seconds=busy_seconds, read_only=read_only)
        self._mirrors = Mirrors(self.database, Budget(mirror_bytes), skip_damaged=skip_damaged)

    @property
    def nbytes(self) -> int:
        """About how many bytes of panes are kept in memory for reading."""
        return self._mirrors.nbytes

    def close(self) -> None:
        """Close the file. Whatever was written has been on disk before."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def series(
        self,
        labels: Mapping[str, str],
        scale: Scale | None = None,
        tiers: TierSpec | Sequence[Tier] | None = None,
        classes: Sequence[object] | None = None,
        *,
        event_clock: bool = False,
    ) -> StoredSeries:
        """Return the series with these labels; with `scale` and `tiers`, one that may be new.

        A new one is made at its first write. A finer scale of the same kind than the stored one
        is brought to it; a coarser one, another kind, or other tiers are a ValueError, and so
        are labels that no series has, when `scale` or `tiers` is None.
        """
        text = check_labels(labels)
        wish = None
        if scale is not None and tiers is not None:
            wish = new_facts(
                scale, spans_of(tiers), check_classes(classes), event_clock=event_clock
            )
        with self.database.read() as connection:
            row = catalogue.find(connection, text)
            if row is None and wish is None:
                raise ValueError(self._unknown(text, catalogue.all_series(connection)))
        found = StoredSeries(self._mirrors, text, scale, wish)
        if row is not None:
            found.take(row, spans_of(tiers) if tiers is not None else None)
        return found

    def _unknown(self, labels: str, rows: Iterable[SeriesRow]) -> str:
        near = difflib.get_close_matches(labels, [row.labels for row in rows], n=3, cutoff=0.4)
        hint = f"; there is {', '.join(near)}" if near else ""
        return f"no series has the labels {labels}{hint}; give scale and tiers to make one"

    def all_series(self) -> tuple[StoredSeries, ...]:
        """Return every series, in the order in which they were made. O(n_series)."""
        with self.database.read() as connection:
            rows = list(catalogue.all_series(connection))
        found = []
        for row in rows:
            found.append(StoredSeries(self._mirrors, row.labels, None, None))
            found[-1].take(row, None)
        return tuple(found)

    @contextmanager
    def write(self) -> Iterator[Batch]:
        """Change series, positions and documents in one transaction: all of it, or nothing."""
        with writing(self.database) as batch:
            yield batch

    def position(self, name: str) -> Json:
        """Return how far a source has been read, None if nothing is known of it."""
        with self.database.read() as connection:
            return documents.position(connection, name)

    def positions(self) -> dict[str, Json]:
        """Return every position by name."""
        with self.database.read() as connection:
            return documents.positions(connection)

    def load(self, kind: str, name: str) -> Document | None:
        """Return a document, None if there is none."""
        with self.database.read() as connection:
            return documents.load(connection, kind, name)

    def load_all(self, kind: str) -> tuple[Document, ...]:
        """Return the documents of a kind, by name."""
        with self.database.read() as connection:
            return documents.load_all(connection, kind)

    def journal(self, kind: str, name: str) -> tuple[Document, ...]:
        """Return the journal of a kind and name, in the order in which it was written."""
        with self.database.read() as connection:
            return documents.journal(connection, kind, name)

    def reference(
        self,
        name: str,
        histogram: Window | ScoreHistogram | None = None,
        *,
        start: float | None = None,
        end: float | None = None,
        replace: bool = False,
        at: float | None = None,
    ) -> StoredReference:
        """Return the reference of that name; with a window or histogram, save it first.

        A window brings its span; of a histogram `start` and `end` tell it, in seconds since the
        epoch. `at` is when it is saved, now unless given. Raises ValueError for an unknown name,
        and for one that is taken unless `replace`.
        """
        if histogram is None:
            found = self.load(references.KIND, name)
            if found is None:
                raise ValueError(self._unknown_reference(name))
            return references.loads(found)
        saved = time.time() if at is None else at
        reference = references.made(name, histogram, start, end, saved)
        with self.write() as batch:
            references.put(batch, reference, replace=replace)
        return reference

    def _unknown_reference(self, name: str) -> str:
        names = [reference.name for reference in self.references()]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        return f"no reference is named {name!r}{'; there is ' + ', '.join(near) if near else ''}"

    def references(self) -> tuple[StoredReference, ...]:
        """Return every reference, by name."""
        return tuple(map(references.loads, self.load_all(references.KIND)))

    def reference_history(self, name: str) -> tuple[StoredReference, ...]:
        """Return what a reference was, from the first to the present one."""
        return tuple(map(references.loads, self.journal(references.KIND, name)))

    def verify(self) -> Report:
        """Read everything and compare it with every sum and count. O(size of the file)."""
        return verify(self.database)

    def repair(self) -> tuple[Place, ...]:
        """Give up every damaged pane, so that the rest can be written to; return where they were.

        Raises DamageError for what is damaged besides, which is left.
        """
        return repair(self.database)

    def compact(self) -> None:
        """Write the file anew without any room in it. O(size of the file), which is locked."""
        self.database.compact()

    def info(self) -> Info:
        """Return what is in the store, all of one moment. O(n_chunks)."""
        return info(self.database)
