"""Files, one after the other, as one stream of checked event batches."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from types import TracebackType
from typing import Self

from streamauc.cli.reading.batches import EventBatch, Notes
from streamauc.cli.reading.columnar import ArrowReader, ParquetReader
from streamauc.cli.reading.delimited import DelimitedReader
from streamauc.cli.reading.jsonlines import JsonLinesReader
from streamauc.cli.reading.labels import LabelReader
from streamauc.cli.reading.names import check_columns, resolve_columns
from streamauc.cli.reading.options import ROLES, Columns, ReadOptions
from streamauc.cli.reading.readers import Reader
from streamauc.cli.reading.rows import RowChecker
from streamauc.cli.reading.sniff import detect_format
from streamauc.cli.reading.source import Source, input_name, input_size, naming

# What a file is that has lost rows which were counted.
CUT = (
    "they have been counted before, and it has been cut since; put the rows that were added to it"
    " into a file of their own"
)


def open_events(
    paths: Sequence[str], options: ReadOptions, skip: Mapping[str, int] | None = None
) -> "EventStream":
    """Open files (``-`` is standard input) for reading as events.

    `skip` says how many rows at the beginning of which file to leave out, unread; one that has
    fewer is a ValueError, for what was added to it can't be told from them. The first file
    is opened at once, so that its columns are known. Raises `OSError` for a file that cannot be
    opened and `ValueError` for one that cannot be understood; both name the file.
    """
    return EventStream(paths, options, skip or {})


class EventStream:
    """The events of several files in file order; iterate once, and close it or use ``with``.

    Attributes:
        columns: the resolved column names, the same for all files.
        bytes_total: size of all files as they are stored, `None` if one is a stream.

    """

    def __init__(self, paths: Sequence[str], options: ReadOptions, skip: Mapping[str, int]) -> None:
        if not paths:
            raise ValueError("paths must name at least one file, got none")
        sizes = [input_size(path) for path in paths]
        self._sizes = [size or 0 for size in sizes]
        self.bytes_total = None if None in sizes else sum(self._sizes)
        self._paths = paths
        self._options = options
        self._skip = skip
        self._notes = Notes()
        self._labels = LabelReader(options.positive)
        self._n_before = 0
        self._wanted = [name for role in ROLES if (name := options.column(role))]
        self._open(paths[0])
        self._batches = self._all_batches()
        try:
            name = self._source.name
            self.columns: Columns = resolve_columns(name, self._reader.names, options, self._notes)
            self._wanted = list(self.columns.used().values())
        except BaseException:
            self.close()
            raise

    @property
    def notes(self) -> list[str]:
        """What was guessed or assumed so far, in words; complete after the last batch."""
        return list(self._notes.lines)

    @property
    def positive_seen(self) -> bool:
        """Whether a positive label has been seen so far."""
        return self._labels.positive_seen

    @property
    def bytes_done(self) -> int:
        """Bytes read so far, of `bytes_total`."""
        return self._n_before + self._reader.bytes_done

    def __iter__(self) -> Iterator[EventBatch]:
        return self._batches

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file being read; no more batches follow."""
        self._batches.close()
        self._source.close()

    def _open(self, path: str) -> None:
        with naming(input_name(path)):
            self._source = Source(path)
        try:
            with naming(self._source.name):
                self._reader = open_reader(self._source, self._options, self._wanted, self._notes)
        except BaseException:
            self._source.close()
            raise

    def _all_batches(self) -> Generator[EventBatch, None, None]:
        for index, path in enumerate(self._paths):
            if index:
                self._n_before += self._sizes[index - 1]
                self._open(path)
            with closing(self._source), naming(self._source.name):
                check_columns(self._source.name, self._reader.names, self.columns)
                yield from self._file_batches()
        self._labels.note(self._notes)

    def _file_batches(self) -> Iterator[EventBatch]:
        checker = RowChecker(
            self._source.name, self.columns, self._options, self._labels, self._notes
        )
        n_done, to_skip = 0, self._skip.get(self._source.name, 0)
        for chunk in self._reader.chunks(self.columns):
            n_skipped = min(len(chunk), max(0, to_skip - n_done))
            n_done += len(chunk)
            if n_skipped < len(chunk):
                rest = chunk.skip(n_skipped) if n_skipped else chunk
                batch = checker.check(rest, self._reader.decimal)
                yield replace(batch, file=self._source.name, n_done=n_done)
        if n_done < to_skip:
            raise ValueError(
                f"{self._source.name} must hold {to_skip:,} rows, got {n_done:,}: {CUT}"
            )


def open_reader(
    source: Source, options: ReadOptions, wanted: Sequence[str], notes: Notes
) -> Reader:
    """Return the reader for the format that the bytes of `source` are in.

    `wanted` are the columns known from the options or from a file before.
    """
    kind = detect_format(source.name, source.feed.head())
    if kind == "parquet":
        return ParquetReader(source, options.batch_rows)
    if kind in ("arrow file", "arrow stream"):
        return ArrowReader(source, options.batch_rows, stream=kind == "arrow stream")
    if kind == "json lines":
        return JsonLinesReader(source, wanted, notes)
    return DelimitedReader(source, options, notes)
