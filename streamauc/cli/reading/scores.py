"""Score and weight columns of any numeric type, or text, as checked float64."""

import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamauc.cli.reading.arrow import Cells, decoded
from streamauc.cli.reading.batches import BoolArray, Converted, FloatArray, Problem
from streamauc.cli.reading.texts import is_text, parsed_numbers, unset_mask

_NOT_A_NUMBER = "must be a number"
_NOT_FINITE = "must be finite"


@dataclass(frozen=True, slots=True)
class NumberReader:
    """Reads numbers in a closed range; narrow types are widened, which is exact."""

    low: float
    high: float
    requirement: str
    decimal: str = "."

    def read(self, cells: Cells) -> Converted:
        """Return the column as float64 with what is wrong in it. O(n_rows)."""
        if not is_number_column(cells.type):
            everything = np.ones(len(cells), np.bool_)
            return Converted(np.zeros(len(cells)), (Problem(_NOT_A_NUMBER, everything),))
        numbers = as_numbers(cells, self.decimal)
        values = as_floats(numbers)
        if self._is_fine(values):
            return Converted(values)
        return Converted(values, self._problems(values, cells, unset_mask(numbers)))

    def _is_fine(self, values: FloatArray) -> bool:
        # A nan makes the minimum a nan, and that compares false.
        return values.size == 0 or bool(self.low <= values.min() and values.max() <= self.high)

    def _problems(
        self, values: FloatArray, cells: Cells, unparsed: BoolArray
    ) -> tuple[Problem, ...]:
        not_finite = ~np.isfinite(values) & ~unparsed
        outside = ((values < self.low) | (values > self.high)) & ~not_finite
        other_mark = self._other_mark(cells, unparsed)
        return (
            Problem(self._mark_requirement(), other_mark),
            Problem(_NOT_A_NUMBER, unparsed & ~other_mark),
            Problem(_NOT_FINITE, not_finite),
            Problem(self.requirement, outside),
        )

    def _mark_requirement(self) -> str:
        return f"{_NOT_A_NUMBER} with the decimal mark {self.decimal!r} (see --decimal)"

    def _other_mark(self, cells: Cells, unparsed: BoolArray) -> BoolArray:
        """Which unreadable cells would be numbers with the other decimal mark."""
        if not is_text(cells) or not unparsed.any():
            return np.zeros(len(cells), np.bool_)
        other = "," if self.decimal == "." else "."
        return unparsed & ~unset_mask(parsed_numbers(cells, other))


def score_reader(low: float, high: float, decimal: str = ".") -> NumberReader:
    """Return a reader of scores in ``[low, high]``."""
    return NumberReader(low, high, f"must be in [{low:g}, {high:g}]", decimal)


def weight_reader(decimal: str = ".") -> NumberReader:
    """Return a reader of weights, which are finite and at least 0."""
    return NumberReader(0.0, sys.float_info.max, "must be at least 0", decimal)


def is_number_column(kind: pa.DataType) -> bool:
    """Whether numbers can be read from a column of this type; text is tried, and so is null."""
    types = pa.types
    return not (types.is_boolean(kind) or types.is_temporal(kind) or types.is_nested(kind))


def as_numbers(cells: Cells, decimal: str = ".") -> Cells:
    """Return a column as an Arrow array of floats or integers; null where a cell is no number."""
    cells = decoded(cells)
    if is_text(cells):
        return parsed_numbers(cells, decimal)
    if pa.types.is_decimal(cells.type):
        # Through text, because Arrow's own conversion may miss the nearest float by one.
        return parsed_numbers(cells.cast(pa.string()))
    if pa.types.is_null(cells.type) or pa.types.is_float16(cells.type):
        return cells.cast(pa.float64())
    return cells


def as_floats(numbers: Cells) -> FloatArray:
    """Numbers as float64, nan where null; without a copy where the type is float64 already."""
    values: FloatArray = numbers.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values
