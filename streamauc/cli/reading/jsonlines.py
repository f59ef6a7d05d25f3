"""JSON lines: parsed in parallel by Arrow, and line by line where a block has a bad row."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import pyarrow as pa
import pyarrow.json as pjson

from streamauc.cli.reading.arrow import arrow_input, in_one_piece
from streamauc.cli.reading.batches import Chunk, Notes
from streamauc.cli.reading.blocks import Block, parsed_ahead, text_blocks
from streamauc.cli.reading.options import Columns, Role
from streamauc.cli.reading.readers import TextChunk, unplaced
from streamauc.cli.reading.source import Source
from streamauc.cli.reading.texts import shown_text

_LOOKED_AT = 1_000
_Record = dict[str, object]


class JsonLinesReader:
    """Reads one JSON object a line; a key that is missing is null. See `readers.Reader`.

    The keys in `wanted` count as columns before they are seen, because the first labels may come
    late in a file; if they never do, a note says so.
    """

    decimal = "."

    def __init__(self, source: Source, wanted: Sequence[str], notes: Notes) -> None:
        self._source = source
        self._wanted = wanted
        self._notes = notes
        self._blocks = text_blocks(source.feed, source.name, delimiter=None)
        self._first = next(self._blocks)
        self._schema = pa.schema([])

    @property
    def names(self) -> Sequence[str]:
        """The keys of the first block, in the order of appearance, and those wanted."""
        seen = dict.fromkeys(key for record in _records(self._first) for key in record)
        return list(seen | dict.fromkeys(self._wanted))

    @property
    def bytes_done(self) -> int:
        """Bytes taken from the file."""
        return self._source.position

    def chunks(self, columns: Columns) -> Iterator[Chunk]:
        """Yield a chunk a block."""
        used = unseen = columns.used()
        self._schema = _schema(self._first, used)
        for block, table in parsed_ahead(self._parse, chain([self._first], self._blocks)):
            chunk = self._typed(block, table, used) or self._careful(block, used)
            unseen = {r: n for r, n in unseen.items() if chunk.cells[r].null_count == chunk.n_rows}
            yield chunk
        for name in unseen.values():
            self._notes.add(f"no row of {self._source.name} has a value for {name!r}")

    def _parse(self, block: Block) -> pa.Table | None:
        return _parsed(block, self._schema)

    def _typed(self, block: Block, table: pa.Table | None, used: dict[Role, str]) -> Chunk | None:
        """Return the cells converted while they are parsed, `None` if some do not convert."""
        if table is None:
            # Perhaps what was unset so far is set, or a value is written in another way.
            self._schema = _schema(block, used)
            table = self._parse(block)
        if table is None:
            return None
        cells = {role: in_one_piece(table[name]) for role, name in used.items()}
        return Chunk(cells, table.num_rows, unplaced, careful=lambda: self._careful(block, used))

    def _careful(self, block: Block, used: dict[Role, str]) -> Chunk:
        chunk = TextChunk(list(used))
        for line, text in _numbered_lines(block):
            record = _object(text)
            if record is None:
                chunk.add_malformed(line, "must be a JSON object", shown_text(text))
            else:
                chunk.add(line, [_cell(record.get(name)) for name in used.values()])
        return chunk.finish()


def _parsed(block: Block, schema: pa.Schema) -> pa.Table | None:
    reading = pjson.ReadOptions(use_threads=False, block_size=len(block.data) + 1)
    parsing = pjson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        return pjson.read_json(arrow_input(block.data), reading, parsing)
    except pa.ArrowInvalid:
        return None


def _schema(block: Block, used: dict[Role, str]) -> pa.Schema:
    """Return the types that the first lines of a block have; text where they differ."""
    records = list(islice(_records(block), _LOOKED_AT))
    return pa.schema(
        [
            (name, _type(role, [record.get(name) for record in records]))
            for role, name in used.items()
        ]
    )


def _type(role: Role, values: list[object]) -> pa.DataType:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.float64() if role in ("score", "weight") else pa.int64()
    if kinds and kinds <= {int, float}:
        return pa.float64()
    # Times stay text, because Arrow's JSON reader takes a time without a zone for UTC.
    return pa.string()


def _records(block: Block) -> Iterator[_Record]:
    for _, text in _numbered_lines(block):
        record = _object(text)
        if record is not None:
            yield record


def _numbered_lines(block: Block) -> Iterator[tuple[int, str]]:
    """Return the lines that are not blank."""
    for offset, text in enumerate(block.text().split("\n")):
        if text.strip():
            yield block.first_line + offset, text


def _object(text: str) -> _Record | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _cell(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
