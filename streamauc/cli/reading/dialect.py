"""How delimited text is written: delimiter, header and decimal mark, from its first lines."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from streamauc.cli.reading.instants import parsed_instant
from streamauc.cli.reading.options import ReadOptions
from streamauc.cli.reading.texts import parsed_number

_DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 1_000
_SAMPLE = 1 << 18
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the first lines tell; `rows` are the first records after the header."""

    delimiter: str
    names: tuple[str, ...]
    header_lines: int
    rows: tuple[tuple[str, ...], ...]

    def cells(self, name: str) -> list[str]:
        """Return the first cells of a column."""
        index = self.names.index(name)
        return [row[index] for row in self.rows if len(row) == len(self.names)]


def find_dialect(file: str, text: str, options: ReadOptions) -> Dialect:
    """Read the header from the beginning of a file, which ends with a whole record.

    Raises `ValueError` if the first line names no columns.
    """
    sample = _whole_lines(text)
    delimiter = options.field_mark or _guessed_delimiter(sample)
    records = read_records(sample, delimiter)
    lines, header = next(((last, row) for _, last, row in records), (0, [""]))
    names = tuple(name.strip() for name in header)
    _check_header(file, names, options)
    rows = tuple(tuple(row) for _, (_, _, row) in zip(range(_LOOKED_AT), records, strict=False))
    return Dialect(delimiter, names, lines, rows)


def guessed_decimal(delimiter: str, cells: Sequence[str]) -> str:
    """Return a comma if the first scores have one and nothing else separates the fields by it."""
    if delimiter == ",":
        return "."
    return "," if any(_COMMA_NUMBER.fullmatch(cell) for cell in cells) else "."


def read_records(text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield first line, last line and fields of every record; blank lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    before = 0
    with _any_field_size():
        for row in reader:
            first, before = before + 1, reader.line_num
            if len(row) > 1 or (row and row[0].strip()):
                yield first, before, row


def _whole_lines(text: str) -> str:
    """Return the beginning of a block, cut at a line end."""
    cut = max(text.rfind("\n", 0, _SAMPLE), text.rfind("\r", 0, _SAMPLE)) + 1
    return text[:cut] if len(text) > _SAMPLE and cut else text


def _guessed_delimiter(sample: str) -> str:
    """Return the candidate that splits the header into most fields, the likeliest if none does."""

    def n_fields(delimiter: str) -> int:
        return max(len(next(read_records(sample, delimiter), (0, 0, []))[2]), 1)

    return max(_DELIMITERS, key=n_fields)


def _check_header(file: str, names: Sequence[str], options: ReadOptions) -> None:
    named = {options.score, options.label} <= set(names)
    if not named and all(map(_is_datum, names)):
        shown = ",".join(names)[:60]
        raise ValueError(
            f"{file} must begin with a line that names the columns, got {shown!r}; add one"
        )


def _is_datum(text: str) -> bool:
    """Whether a cell of the first line is a value rather than a name."""
    return text == "" or parsed_number(text) is not None or parsed_instant(text) is not None


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Lift the limit of the csv module, whose default refuses a field of 128 KB."""
    before = csv.field_size_limit(1 << 30)
    try:
        yield
    finally:
        csv.field_size_limit(before)
