"""CSV, TSV and the like: parsed in parallel by Arrow, and by hand where a block has a bad row."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import pyarrow as pa
import pyarrow.csv as pcsv

from streamauc.cli.reading.arrow import arrow_input, in_one_piece
from streamauc.cli.reading.batches import Chunk, Notes
from streamauc.cli.reading.blocks import Block, parsed_ahead, text_blocks
from streamauc.cli.reading.dialect import find_dialect, guessed_decimal, read_records
from streamauc.cli.reading.instants import uniform_type
from streamauc.cli.reading.options import Columns, ReadOptions, Role
from streamauc.cli.reading.readers import TextChunk, unplaced
from streamauc.cli.reading.source import Source

_Types = dict[Role, pa.DataType]
_Parsed = tuple[_Types, pa.Table | None]
_LOOSE_LABEL: _Types = {"label": pa.dictionary(pa.int32(), pa.string())}
_LOOSE_LABEL_TIME: _Types = {"label_time": pa.string()}
_LOOSE_TIME: _Types = {"time": pa.string()}
# A label time varies more than a time, as rows whose label is not known yet may hold any text.
_LOOSER = (
    _LOOSE_LABEL,
    _LOOSE_LABEL | _LOOSE_LABEL_TIME,
    _LOOSE_LABEL | _LOOSE_LABEL_TIME | _LOOSE_TIME,
)


class DelimitedReader:
    """Reads delimited text with a header; see `readers.Reader`."""

    def __init__(self, source: Source, options: ReadOptions, notes: Notes) -> None:
        self._source = source
        self._options = options
        self._notes = notes
        # The header, inside the first block, decides the delimiter; until then any may be it.
        marks = (options.field_mark or ",;\t|").encode()
        self._blocks = text_blocks(source.feed, source.name, delimiter=marks)
        self._first = next(self._blocks)
        self._dialect = find_dialect(source.name, self._first.text(), options)
        self._types: _Types = {}
        self.decimal = options.decimal or "."
        if options.delimiter is None and self._dialect.delimiter != ",":
            notes.add(f"delimiter: {self._dialect.delimiter!r} (guessed)")

    @property
    def names(self) -> Sequence[str]:
        """The header."""
        return self._dialect.names

    @property
    def bytes_done(self) -> int:
        """Bytes taken from the file."""
        return self._source.position

    def chunks(self, columns: Columns) -> Iterator[Chunk]:
        """Yield a chunk a block."""
        used = {role: self.names.index(name) for role, name in columns.used().items()}
        self._find_decimal(columns.score)
        self._types = {role: self._likely_type(role, name) for role, name in columns.used().items()}
        first = _without_lines(self._first, self._dialect.header_lines)
        blocks = (block for block in chain([first], self._blocks) if len(block.data))
        for block, parsed in parsed_ahead(lambda b: self._parse_likely(b, used), blocks):
            yield self._typed(block, parsed, used) or self._careful(block, used)

    def _find_decimal(self, score: str) -> None:
        if self._options.decimal is None:
            self.decimal = guessed_decimal(self._dialect.delimiter, self._dialect.cells(score))
            if self.decimal == ",":
                self._notes.add("decimal mark: ',' (guessed)")

    def _typed(self, block: Block, parsed: _Parsed, used: dict[Role, int]) -> Chunk | None:
        """Return the cells converted while they are parsed, `None` if some do not convert."""
        types, table = parsed
        if table is None:
            table = self._parse_loosely(block, used, types)
        if table is None:
            return None
        cells = {role: in_one_piece(table[str(index)]) for role, index in used.items()}
        return Chunk(cells, table.num_rows, unplaced, careful=lambda: self._careful(block, used))

    def _parse_likely(self, block: Block, used: dict[Role, int]) -> _Parsed:
        types = self._types
        return types, self._parse(block, used, types)

    def _parse_loosely(self, block: Block, used: dict[Role, int], tried: _Types) -> pa.Table | None:
        """Parse with types that take more, and keep to them if that is enough.

        The types `tried` may be older than the last change, as blocks are parsed ahead.
        """
        for looser in _LOOSER:
            types = {role: looser.get(role, kind) for role, kind in self._types.items()}
            if types == tried:
                continue
            tried = types
            table = self._parse(block, used, types)
            if table is not None:
                self._types = types
                return table
        return None

    def _parse(self, block: Block, used: dict[Role, int], kinds: _Types) -> pa.Table | None:
        types = {str(index): kinds[role] for role, index in used.items()}
        try:
            return pcsv.read_csv(
                arrow_input(block.data),
                pcsv.ReadOptions(
                    block_size=len(block.data) + 1,
                    use_threads=False,  # the blocks themselves are parsed side by side
                    column_names=[str(index) for index in range(len(self.names))],
                ),
                pcsv.ParseOptions(delimiter=self._dialect.delimiter, newlines_in_values=True),
                pcsv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=[""],
                    strings_can_be_null=False,
                    decimal_point=self.decimal,
                ),
            )
        except pa.ArrowInvalid:
            return None

    def _likely_type(self, role: Role, name: str) -> pa.DataType:
        """Return the type that the first cells of a column can be parsed as."""
        if role == "label":
            binary = {cell.strip() for cell in self._dialect.cells(name)} <= {"0", "1", ""}
            return pa.int8() if binary else _LOOSE_LABEL[role]
        if role in ("time", "label_time"):
            return uniform_type(self._dialect.cells(name))
        return pa.float64()

    def _careful(self, block: Block, used: dict[Role, int]) -> Chunk:
        """Return the cells as text, with the line of each row and the rows of another length."""
        chunk = TextChunk(list(used))
        n_names = len(self.names)
        for first, _, row in read_records(block.text(), self._dialect.delimiter):
            line = block.first_line + first - 1
            if len(row) == n_names:
                chunk.add(line, [row[index] for index in used.values()])
            else:
                chunk.add_malformed(line, f"must have {n_names} fields", str(len(row)))
        return chunk.finish()


def _without_lines(block: Block, n_lines: int) -> Block:
    """Return the block without its first lines."""
    ends = re.finditer(rb"\r\n|\r|\n", block.data)
    ends_of_lines = [end.end() for end in islice(ends, n_lines)]
    start = ends_of_lines[-1] if len(ends_of_lines) == n_lines else len(block.data)
    return Block(block.data[start:], block.first_line + n_lines)
