"""The file that is imported: opened, its metadata and rows read and checked."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamauc.cli.storing.access import Advance
from streamauc.cli.storing.cells import Pane, PaneMaker, RowChecker
from streamauc.cli.storing.facts import SeriesRecord, load_series
from streamauc.cli.storing.layout import METADATA, METADATA_CRC, REST, SCHEMA, VERSION, crc_of
from streamauc.cli.storing.records import Record
from streamauc.cli.storing.remainder import Remainder, Waiting
from streamauc.store.documents import Json

_BATCH_ROWS = 65_536
_PAGE_BUFFER = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """What the metadata and the last rows hold."""

    series: tuple[SeriesRecord, ...]
    positions: dict[str, Json]
    remainder: Remainder

    @property
    def n_rows(self) -> int:
        """How many rows of counts there are."""
        return sum(one.n_rows for one in self.series)


@contextmanager
def opened_source(path: Path) -> Iterator["Source"]:
    """Open a file that export has written; all that is wrong with it is a ValueError."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    with (
        _said_of(path),
        pq.ParquetFile(
            path, pre_buffer=False, buffer_size=_PAGE_BUFFER, page_checksum_verification=True
        ) as file,
    ):
        yield Source(file)


@contextmanager
def _said_of(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise ValueError(f"{path} can't be read as Parquet: {_line(error)}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path} can't be read as Parquet: {_line(error)}") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


class Source:
    """A file that export has written."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self._file = file
        _check_columns(file.schema_arrow)
        metadata = _metadata(file)
        self._n_groups = metadata.integer("n_groups", 0, file.num_row_groups)
        series = tuple(map(load_series, metadata.records("series")))
        _check_different(series)
        n_rows = sum(one.n_rows for one in series)
        self._check_groups(n_rows)
        self.contents = Contents(
            series=series,
            positions=metadata.record("positions").plain(),
            remainder=self._remainder(series, n_rows, metadata.integer("n_rest", 0, 2**62)),
        )

    def _check_groups(self, n_rows: int) -> None:
        info = self._file.metadata
        found = sum(info.row_group(number).num_rows for number in range(self._n_groups))
        if found != n_rows:
            raise _other_rows("counts", n_rows, found)

    def _remainder(self, series: tuple[SeriesRecord, ...], n_before: int, n_rows: int) -> Remainder:
        """Return what the rows behind the counts hold."""
        found = Remainder({one.labels: Waiting(one.facts.scale) for one in series})
        row = n_before
        groups = list(range(self._n_groups, self._file.num_row_groups))
        batches = self._file.iter_batches(256, row_groups=groups, columns=[REST]) if groups else ()
        for batch in batches:
            for text in batch.column(REST).to_pylist():
                row += 1
                if text is None:
                    raise ValueError(f"row {row:,}: {REST} must not be null behind the counts")
                found.take(text, f"row {row:,}")
        if row - n_before != n_rows:
            raise _other_rows("what is not counts", n_rows, row - n_before)
        found.check()
        return found

    def panes(self, done: Advance) -> Iterator[tuple[SeriesRecord, Iterator[Pane]]]:
        """Yield every series with its panes, which must be taken in before the next series."""
        batches = _Batches(self._file, self._n_groups, done)
        for series in self.contents.series:
            yield series, _panes(series, batches)


class _Batches:
    """The rows of counts, to be taken in any number."""

    def __init__(self, file: pq.ParquetFile, n_groups: int, done: Advance) -> None:
        groups = list(range(n_groups))
        self._batches = file.iter_batches(_BATCH_ROWS, row_groups=groups) if groups else iter(())
        self._waiting: pa.RecordBatch | None = None
        self._done = done
        self.n_taken = 0

    def take(self, most: int) -> pa.RecordBatch:
        """Return the next rows, at least one and at most so many."""
        found = self._waiting
        while found is None or not found.num_rows:
            found = next(self._batches, None)
            if found is None:  # a page that can't be read may be left out without a word
                raise ValueError(f"the file must hold more rows of counts, got {self.n_taken:,}")
        self._waiting = found.slice(most)
        self.n_taken += min(most, found.num_rows)
        self._done.by(min(most, found.num_rows))
        return found.slice(0, most)


def _other_rows(what: str, wanted: int, found: int) -> ValueError:
    return ValueError(
        f"the file must hold {wanted:,} rows of {what}, as its metadata say, got {found:,}"
    )


def _panes(series: SeriesRecord, batches: _Batches) -> Iterator[Pane]:
    maker, left = PaneMaker(series), series.n_rows
    while left:
        row = batches.n_taken + 1
        batch = batches.take(left)
        checker = RowChecker(series, lambda index, row=row: row + index)  # type: ignore[misc]
        yield from maker.take(checker.check(batch), row)
        left -= batch.num_rows
    yield from maker.rest()


def _check_columns(schema: pa.Schema) -> None:
    missing = [field.name for field in SCHEMA if field.name not in schema.names]
    if missing:
        raise ValueError(f"the file must have the columns of an export, {missing[0]} is missing")
    for field in SCHEMA:
        found = schema.field(field.name)
        if found.type != field.type:
            raise ValueError(f"column {field.name} must be {field.type}, got {found.type}")


def _metadata(file: pq.ParquetFile) -> Record:
    found = file.metadata.metadata or {}
    text = found.get(METADATA.encode())
    if text is None:
        raise ValueError(
            "the file must carry the metadata of an export, got none; has another program written"
            " it anew?"
        )
    if found.get(METADATA_CRC.encode()) != crc_of(text).encode():
        raise ValueError("metadata must be as export wrote them, got others: their CRC differs")
    metadata = Record.parse(text, "metadata")
    version = metadata.integer("version", 1, 2**31)
    if version > VERSION:
        raise ValueError(f"the file has version {version}, newer than this program's {VERSION}")
    return metadata


def _check_different(series: tuple[SeriesRecord, ...]) -> None:
    seen: set[str] = set()
    for one in series:
        if one.labels in seen:
            raise ValueError(f"metadata: series must be different, got {one.labels} twice")
        seen.add(one.labels)
