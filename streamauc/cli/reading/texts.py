"""Numbers written as text, and cells written into messages."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from streamauc.cli.reading.arrow import Cells
from streamauc.cli.reading.batches import BoolArray

# RE2 and `re` read these alike; a not-a-number is a number here, so that it is refused by name.
_DIGITS = r"[+-]?(?:[0-9]+{mark}?[0-9]*|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
_PATTERNS = {
    decimal: rf"^(?:{_DIGITS.format(mark=mark)}|-?(?i:nan|inf|infinity))$"
    for decimal, mark in ((".", r"\."), (",", ","))
}
_LONGEST_SHOWN = 60


def is_text(cells: Cells) -> bool:
    """Whether a column holds text (or bytes taken as text)."""
    kinds = pa.types
    return bool(
        kinds.is_string(cells.type)
        or kinds.is_large_string(cells.type)
        or kinds.is_string_view(cells.type)
        or kinds.is_binary(cells.type)
        or kinds.is_large_binary(cells.type)
    )


def trimmed(cells: Cells) -> Cells:
    """Text cells without the space around them."""
    return pc.utf8_trim_whitespace(cells.cast(pa.string()))


def parsed_numbers(cells: Cells, decimal: str = ".") -> Cells:
    """Text cells as float64, correctly rounded; null where a cell is no number."""
    text = trimmed(cells)
    is_number = pc.match_substring_regex(text, _PATTERNS[decimal])
    numbers: Cells = pc.if_else(is_number, text, pa.scalar(None, pa.string()))
    if decimal != ".":
        numbers = pc.replace_substring(numbers, decimal, ".")
    return numbers.cast(pa.float64())


def parsed_number(text: str, decimal: str = ".") -> float | None:
    """One text as a number, `None` if it is none."""
    if re.match(_PATTERNS[decimal], text.strip()) is None:
        return None
    return float(text.strip().replace(decimal, "."))


def unset_mask(cells: Cells) -> BoolArray:
    """Where cells are null; shape (n_rows,)."""
    mask: BoolArray = cells.is_null().to_numpy(zero_copy_only=False)
    return mask


def shown(cells: Cells, index: int) -> str:
    """Return a cell as a message shows it: numbers bare, other text quoted, long text cut."""
    cell = cells[index]
    if not cell.is_valid:
        return "null"
    if pa.types.is_timestamp(cells.type):
        return _shown_time(cells, index)
    value = cell.as_py()
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return shown_text(value) if isinstance(value, str) else str(value)


def shown_text(text: str) -> str:
    """Text as a message shows it."""
    if not text.strip():
        return "an empty cell"
    if parsed_number(text) is not None:
        return text.strip()
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")


def _shown_time(cells: Cells, index: int) -> str:
    """Return a timestamp in UTC or its own local time, its count where no calendar reaches it."""
    unit = cells.type.unit
    plain = cells.slice(index, 1).cast(pa.timestamp(unit))
    written = str(plain.cast(pa.string())[0])
    if "out of range" in written:
        return f"{plain.cast(pa.int64())[0]} {unit} since the epoch"
    return f"{written}Z" if cells.type.tz else written
