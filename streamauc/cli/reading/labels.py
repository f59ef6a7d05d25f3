"""Label columns of any type as 0, 1 or not known yet."""

import numpy as np
import pyarrow as pa

from streamauc.cli.reading.arrow import Cells, Encoded
from streamauc.cli.reading.batches import ConvertedLabels, LabelArray, Notes, Problem
from streamauc.cli.reading.texts import is_text, parsed_number, shown_text

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>", "#n/a", "\\n"})
_TRUTH = {"true": 1.0, "false": 0.0}
_NEGATIVE, _POSITIVE, _MISSING, _BAD = range(4)
_NAMED_OTHERS = 5
_REQUIREMENT = "must be 0 or 1, true or false (or name the positive value with --positive)"


class LabelReader:
    """Reads labels; remembers whether a positive was seen and what was taken as negative."""

    def __init__(self, positive: str | None) -> None:
        self._positive = None if positive is None else _canonical(positive.strip())
        self._named = positive
        self._others: list[str] = []
        self.positive_seen = False

    def read(self, cells: Cells, decimal: str = ".") -> ConvertedLabels:
        """Return the column as labels. O(n_rows), and once more a different value."""
        if pa.types.is_nested(cells.type):
            everything = np.ones(len(cells), np.bool_)
            problem = Problem(_REQUIREMENT, everything)
            return ConvertedLabels(np.zeros(len(cells), np.uint8), None, (problem,))
        labels = None if self._positive is not None else _plain_labels(cells)
        result = self._by_value(cells, decimal) if labels is None else ConvertedLabels(labels)
        self.positive_seen = self.positive_seen or bool((result.values == _POSITIVE).any())
        return result

    def note(self, notes: Notes) -> None:
        """Say which values were taken as negative, once all have been seen."""
        if self._others:
            known = ", ".join(self._others[:_NAMED_OTHERS])
            more = ", ..." if len(self._others) > _NAMED_OTHERS else ""
            positive = shown_text(self._named or "")
            notes.add(f"labels taken as negative: {known}{more} (positive is {positive})")

    def _by_value(self, cells: Cells, decimal: str) -> ConvertedLabels:
        """Look each different value up once."""
        encoded = _encoded(cells)
        codes = [self._code(value, decimal) for value in encoded.dictionary.to_pylist()]
        table = np.array([*codes, _MISSING], np.uint8)
        index = encoded.indices.cast(pa.int64()).fill_null(len(codes)).to_numpy()
        if self._positive is not None and len(self._others) <= _NAMED_OTHERS:
            self._remember_others(encoded.dictionary, codes, np.unique(index))
        values: LabelArray = table[index]
        missing, bad = values == _MISSING, values == _BAD
        problems = (Problem(_REQUIREMENT, bad),) if bad.any() else ()
        return ConvertedLabels(values, missing if missing.any() else None, problems)

    def _code(self, value: object, decimal: str) -> int:
        text = _text(value)
        canonical = _canonical(text, decimal)
        if self._positive is not None and canonical == self._positive:
            return _POSITIVE
        if text.lower() in MISSING_WORDS:
            return _MISSING
        if self._positive is not None:
            return _NEGATIVE
        return {0.0: _NEGATIVE, 1.0: _POSITIVE}.get(_as_float(canonical), _BAD)

    def _remember_others(
        self,
        dictionary: Cells,
        codes: list[int],
        present: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> None:
        for index in present:
            if index < len(codes) and codes[index] == _NEGATIVE:
                other = shown_text(_text(dictionary[int(index)].as_py()))
                if other not in self._others:
                    self._others.append(other)


def _plain_labels(cells: Cells) -> LabelArray | None:
    """Booleans and integers that are all 0 or 1, without a look at single values."""
    if cells.null_count:
        return None
    values: LabelArray
    if pa.types.is_boolean(cells.type):
        values = cells.cast(pa.uint8()).to_numpy()
        return values
    if not pa.types.is_integer(cells.type):
        return None
    numbers = cells.to_numpy()
    # Seen as unsigned, a negative number is a huge one.
    unsigned = numbers.view(f"u{numbers.dtype.itemsize}")
    return numbers.astype(np.uint8) if unsigned.size == 0 or unsigned.max() <= 1 else None


def _encoded(cells: Cells) -> Encoded:
    if not isinstance(cells, pa.DictionaryArray):
        if is_text(cells):
            cells = cells.cast(pa.string())
        elif pa.types.is_float16(cells.type):  # which older Arrows cannot encode
            cells = cells.cast(pa.float32())
        return cells.dictionary_encode()
    return cells


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode(errors="replace").strip()
    return "" if value is None else str(value).strip()


def _canonical(text: str, decimal: str = ".") -> str | float:
    """Return a number or truth value as a float, other text as it is."""
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    number = parsed_number(text, decimal)
    if number is None and decimal != ".":
        number = parsed_number(text)
    return text if number is None or number != number else number


def _as_float(canonical: str | float) -> float:
    return canonical if isinstance(canonical, float) else -1.0
