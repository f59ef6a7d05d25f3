"""Parquet and Arrow files, whose columns have their types: a bounded number of rows at a time."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from streamauc.cli.reading.batches import Chunk, Place
from streamauc.cli.reading.options import Columns
from streamauc.cli.reading.source import Source

_PAGE_BUFFER = 1 << 20


class ParquetReader:
    """Reads a Parquet file page by page; see `readers.Reader`."""

    decimal = "."

    def __init__(self, source: Source, batch_rows: int) -> None:
        self._source = source
        self._batch_rows = batch_rows
        # Pages are read as they are needed: a file may be one row group as large as itself.
        file = source.seekable_file()
        self._file = pq.ParquetFile(file, pre_buffer=False, buffer_size=_PAGE_BUFFER)
        self._n_rows: int = self._file.metadata.num_rows
        self._n_done = 0

    @property
    def names(self) -> Sequence[str]:
        """The columns of the schema."""
        names: list[str] = self._file.schema_arrow.names
        return names

    @property
    def bytes_done(self) -> int:
        """The share of the file that its rows read so far make up."""
        share = self._n_done / self._n_rows if self._n_rows else 1.0
        return round(share * (self._source.size or 0))

    def chunks(self, columns: Columns) -> Iterator[Chunk]:
        """Yield at most `batch_rows` rows at a time."""
        with self._file:
            names = list(columns.used().values())
            for batch in self._file.iter_batches(self._batch_rows, columns=names):
                yield _chunk(batch, columns, self._n_done)
                self._n_done += batch.num_rows


class ArrowReader:
    """Reads an Arrow file or stream batch by batch; see `readers.Reader`."""

    decimal = "."

    def __init__(self, source: Source, batch_rows: int, *, stream: bool) -> None:
        self._source = source
        self._batch_rows = batch_rows
        self._opened = _Stream(source) if stream else _File(source)

    @property
    def names(self) -> Sequence[str]:
        """The columns of the schema."""
        return self._opened.names

    @property
    def bytes_done(self) -> int:
        """Bytes taken from a stream, the share of a file's batches read so far."""
        return self._opened.bytes_done

    def chunks(self, columns: Columns) -> Iterator[Chunk]:
        """Yield at most `batch_rows` rows at a time."""
        n_done = 0
        for batch in self._opened.batches(columns):
            for start in range(0, batch.num_rows, self._batch_rows):
                part = batch.slice(start, self._batch_rows)
                yield _chunk(part, columns, n_done)
                n_done += part.num_rows


class _Stream:
    """The batches of an Arrow stream."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reader = pa.ipc.open_stream(source.feed)
        self.names: list[str] = self._reader.schema.names

    @property
    def bytes_done(self) -> int:
        return self._source.position

    def batches(self, columns: Columns) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        yield from self._reader


class _File:
    """The batches of an Arrow file, also known as Feather."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._file = source.seekable_file()
        with pa.ipc.open_file(self._file) as reader:
            self.names: list[str] = reader.schema.names
            self._n_batches: int = reader.num_record_batches
        self._n_done = 0

    @property
    def bytes_done(self) -> int:
        return (self._source.size or 0) * self._n_done // max(self._n_batches, 1)

    def batches(self, columns: Columns) -> Iterator[pa.RecordBatch]:
        fields = [self.names.index(name) for name in columns.used().values()]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with pa.ipc.open_file(self._file, options=options) as reader:
            for index in range(self._n_batches):
                yield reader.get_batch(index)
                self._n_done += 1


def _chunk(batch: pa.RecordBatch, columns: Columns, n_before: int) -> Chunk:
    cells = {role: batch.column(name) for role, name in columns.used().items()}
    return Chunk(cells, batch.num_rows, lambda index: Place("row", n_before + index + 1))
