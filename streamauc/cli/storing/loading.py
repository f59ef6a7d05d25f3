"""``streamauc store import``: what export has written, into a store, in one transaction."""

import sqlite3
from pathlib import Path

from streamauc.cli.storing import words
from streamauc.cli.storing.access import Advance, progress, say
from streamauc.cli.storing.merging import Merge
from streamauc.cli.storing.putting import part_of, put_new
from streamauc.cli.storing.remainder import Remainder
from streamauc.cli.storing.source import Contents, opened_source
from streamauc.cli.storing.staging import Staging
from streamauc.maturity import DelayLog
from streamauc.reader import DELAYS
from streamauc.rules.selector import braced
from streamauc.store import Store, catalogue, documents
from streamauc.store.change import Batch
from streamauc.store.documents import Document


def run_import(path: Path, target: Path, *, merge: bool) -> int:
    """Put what a file holds into a store and say what that was; return the exit code."""
    with Staging() as staging:
        contents = _checked(path, staging)
        with Store(target) as store:
            kept = Import(store, contents, staging, merge=merge).run()
            store.database.checkpoint()
    print(
        f"{target}: {words.plural(len(contents.series), 'series')},"
        f" {words.plural(contents.n_rows, 'row')} taken in from {path}"
    )
    for what in kept:
        say(f"{what} stays as it is in the store")
    return 0


def _checked(path: Path, staging: Staging) -> Contents:
    """Read and check a file, before the store is touched; return what it holds besides panes."""
    with (
        opened_source(path) as source,
        progress("reading", source.contents.n_rows) as done,
    ):
        for series, panes in source.panes(done):
            staging.put(series, panes)
        return source.contents


class Import:
    """Puts a file into a store; `merge` adds to what is there already."""

    def __init__(self, store: Store, contents: Contents, staging: Staging, *, merge: bool) -> None:
        self._store = store
        self._contents = contents
        self._staging = staging
        self._merge = merge
        self._kept: list[str] = []

    def run(self) -> list[str]:
        """Do it in one transaction; return what was left as it is in the store. O(size)."""
        with (
            progress("writing", self._staging.n_panes()) as done,
            self._store.database.write() as connection,
        ):
            self._check_new(connection)
            self._put_all(connection, done)
            with part_of(connection) as batch:
                self._put_positions(batch)
                self._put_documents(batch, self._contents.remainder)
        return self._kept

    def _check_new(self, connection: sqlite3.Connection) -> None:
        """Raise ValueError for a series that exists, unless it may be added to."""
        known = {row.labels for row in catalogue.all_series(connection)}
        for series in self._contents.series:
            if series.labels in known and not self._merge:
                raise ValueError(
                    f"series must be new to {self._store.database.path}, got"
                    f" {braced(series.names)}; --merge adds to it"
                )

    def _put_all(self, connection: sqlite3.Connection, done: Advance) -> None:
        for series in self._contents.series:
            panes = done.over(self._staging.panes(series))
            waiting = self._contents.remainder.waiting[series.labels]
            if catalogue.find(connection, series.labels) is None:
                put_new(self._store, connection, series, panes, waiting.state)
            else:
                Merge(self._store, connection, series).run(panes, waiting.state)

    def _put_positions(self, batch: Batch) -> None:
        known = documents.positions(batch.connection)
        for name, value in self._contents.positions.items():
            if name in known:
                self._keep(f"position {name!r}")
            else:
                batch.position(name, value)

    def _put_documents(self, batch: Batch, remainder: Remainder) -> None:
        known = set()
        for one in remainder.documents + remainder.journal:
            if _is_known(batch, one):
                known.add((one.kind, one.name))
        for kind, name in sorted(known):
            if kind != DELAYS or not self._merge:
                self._keep(f"{kind} {name!r}")
        for one in remainder.documents:
            if (one.kind, one.name) not in known:
                batch.save(one.kind, one.name, one.body, one.saved)
            elif one.kind == DELAYS:
                _merge_delays(batch, one)
        for one in remainder.journal:
            if (one.kind, one.name) not in known:
                batch.append(one.kind, one.name, one.body, one.saved)

    def _keep(self, what: str) -> None:
        """Leave something as it is in the store. Raises ValueError unless that was asked for."""
        if not self._merge:
            raise ValueError(
                f"{what} must be new to {self._store.database.path}; with --merge the store's own"
                " stays as it is"
            )
        self._kept.append(what)


def _is_known(batch: Batch, document: Document) -> bool:
    kind, name = document.kind, document.name
    if batch.load(kind, name) is not None:
        return True
    return bool(documents.journal(batch.connection, kind, name))


def _merge_delays(batch: Batch, document: Document) -> None:
    """Add label delays to those that the store has."""
    log = DelayLog()
    log.merge(document.body)
    found = batch.load(document.kind, document.name)
    if found is not None:
        log.merge(found.body)
    batch.save(document.kind, document.name, log.to_bytes(), document.saved)
