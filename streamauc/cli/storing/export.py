"""``streamauc store export``: a store as one Parquet file."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamauc.cli.storing import words
from streamauc.cli.storing.access import Advance, chosen, opened, progress, say, selector
from streamauc.cli.storing.columns import Lane, pane_rows
from streamauc.cli.storing.facts import SeriesRecord, dump_series
from streamauc.cli.storing.layout import (
    GROUP_ROWS,
    MAX_METADATA,
    METADATA,
    METADATA_CRC,
    REST,
    SCHEMA,
    VERSION,
    crc_of,
    dumps,
    is_parquet,
)
from streamauc.cli.storing.remainder import dump_document, dump_entries
from streamauc.cli.storing.snapshot import Snapshot
from streamauc.reader import DELAYS
from streamauc.rules.selector import Selector
from streamauc.store.catalogue import SeriesRow, labels_of
from streamauc.store.documents import Json

_REST_ROWS = 256


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    n_series: int
    n_rows: int


def run_export(path: Path, out: Path, series: Sequence[str]) -> int:
    """Write a store as Parquet and say what was written; return the exit code."""
    wanted = selector(series)
    with (
        opened(path, read_only=True) as store,
        store.database.snapshot() as connection,
        _replaced(out) as temporary,
    ):
        found = _export(Snapshot(connection), temporary, wanted)
    print(
        f"{out}: {words.size(out.stat().st_size)}, {words.plural(found.n_series, 'series')},"
        f" {words.plural(found.n_rows, 'row')}"
    )
    if wanted.matchers:
        say("positions, references and detectors are left out: they belong to the whole store")
    return 0


@contextmanager
def _replaced(out: Path) -> Iterator[Path]:
    """Let a file be written beside another, and take its place when it is whole and on disk."""
    if out.exists() and not (out.is_file() and is_parquet(out)):
        raise ValueError(f"OUT must be a new file or Parquet to be replaced, got {out}")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {out.parent}")
    temporary = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)


def _export(snapshot: Snapshot, out: Path, wanted: Selector) -> Exported:
    rows = chosen([(labels_of(row.labels), row) for row in snapshot.series()], wanted)
    n_panes = sum(map(snapshot.n_panes, rows))
    with (
        pq.ParquetWriter(out, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
        progress("writing", n_panes) as done,
    ):
        counts = _Groups(writer)
        records = [_write_series(snapshot, row, counts, done) for row in rows]
        counts.close()
        positions = {} if wanted.matchers else snapshot.positions()
        n_rest = _write_rest(writer, _rest(snapshot, rows, whole=not wanted.matchers))
        metadata = _metadata(records, counts.n_groups, n_rest, positions)
        writer.add_key_value_metadata({METADATA: metadata, METADATA_CRC: crc_of(metadata.encode())})
    return Exported(len(records), counts.n_rows)


class _Groups:
    """Gathers rows and writes them as row groups of about the same size."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._waiting: list[pa.RecordBatch] = []
        self._n_waiting = 0
        self.n_rows = 0
        self.n_groups = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch)
        self._n_waiting += batch.num_rows
        self.n_rows += batch.num_rows
        if self._n_waiting >= GROUP_ROWS:
            self.close()

    def close(self) -> None:
        """Write what waits."""
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, SCHEMA)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self.n_groups += 1
        self._waiting, self._n_waiting = [], 0


def _write_series(
    snapshot: Snapshot, row: SeriesRow, counts: _Groups, done: Advance
) -> SeriesRecord:
    """Write the counts of a series; return what else is known of it."""
    facts, n_before = row.facts, counts.n_rows
    for channel in facts.lanes:
        for tier, span in enumerate(facts.tiers):
            lane = Lane(row.labels, facts.scale, channel, tier, span.pane_seconds)
            for panes in snapshot.panes(row, channel, tier):
                counts.add(pane_rows(lane, panes))
                done.by(len(panes))
    return SeriesRecord(
        labels=row.labels,
        facts=replace(facts, lanes={}),
        channels=tuple(facts.lanes),
        writers=snapshot.writers(row),
        n_rows=counts.n_rows - n_before,
    )


def _rest(snapshot: Snapshot, rows: Sequence[SeriesRow], *, whole: bool) -> Iterator[str]:
    """Yield what is not counts; of a part of a store only what belongs to its series."""
    for row in rows:
        yield from dump_entries(row.labels, snapshot.waiting(row))
    if whole:
        yield from (dump_document("document", one) for one in snapshot.documents())
        yield from (dump_document("journal", one) for one in snapshot.journal())
        return
    for row in rows:
        delays = snapshot.document(DELAYS, row.labels)
        if delays is not None:
            yield dump_document("document", delays)


def _write_rest(writer: pq.ParquetWriter, rest: Iterable[str]) -> int:
    """Write the rows behind the counts; return how many there are."""
    rows, n_rows = iter(rest), 0
    while some := list(islice(rows, _REST_ROWS)):
        columns = [
            pa.array(some) if field.name == REST else pa.nulls(len(some), field.type)
            for field in SCHEMA
        ]
        writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA))
        n_rows += len(some)
    return n_rows


def _metadata(
    series: Sequence[SeriesRecord], n_groups: int, n_rest: int, positions: dict[str, Json]
) -> str:
    found = dumps(
        {
            "version": VERSION,
            "n_groups": n_groups,
            "n_rest": n_rest,
            "positions": positions,
            "series": [dump_series(one) for one in series],
        }
    )
    if len(found) > MAX_METADATA:
        raise ValueError(
            f"series must fit the metadata of one file, got {len(series):,}; export them in parts"
            " with --series"
        )
    return found
