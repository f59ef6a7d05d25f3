"""When labels became known: a time column that is read only where there is a label."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamauc.cli.reading.arrow import Cells, decoded
from streamauc.cli.reading.batches import BoolArray, Converted, FloatArray, Notes, Problem
from streamauc.cli.reading.options import ReadOptions
from streamauc.cli.reading.texts import is_text, trimmed, unset_mask
from streamauc.cli.reading.times import TimeReader

NO_LABEL_TIME = "must be a time, because the row has a label"


class LabelTimeReader:
    """Reads the label times of one file, with guesses of its own; see `TimeReader`."""

    def __init__(self, file: str, column: str, options: ReadOptions, notes: Notes) -> None:
        self._times = TimeReader(file, column, options, notes, what="label times")

    def read(self, cells: Cells, pending: BoolArray | None, decimal: str = ".") -> Converted:
        """Return the column as float64 seconds since the epoch, with what is wrong in it.

        Cells of `pending` rows are not looked at; their values are arbitrary. O(n_rows).
        """
        cells = decoded(cells)
        if pending is None:
            result = self._times.read(cells, decimal)
        else:
            result = _labelled_only(self._times.read(_blanked(cells, pending), decimal), pending)
        if not any(problem.rows.any() for problem in result.problems):
            return Converted(result.values)
        return _empty_named(result, _empty_mask(cells))


def _blanked(cells: Cells, rows: BoolArray) -> Cells:
    """Return the cells with null in some rows, so that what is there decides no guess either."""
    if is_text(cells):
        cells = cells.cast(pa.string())  # Arrow cannot take from views
    # Not `if_else`, which reads a slice of text from the wrong place in Arrow 18.
    places: Cells = pa.array(np.arange(len(cells)), mask=rows)
    return cells.take(places)


def _labelled_only(times: Converted, pending: BoolArray) -> Converted:
    """Return the times with the problems of rows that have a label."""
    problems = [Problem(each.requirement, each.rows & ~pending) for each in times.problems]
    return Converted(times.values, tuple(problems))


def _empty_named(times: Converted, empty: BoolArray) -> Converted:
    """Return the times with a requirement of its own for cells that are empty."""
    rows = np.zeros(empty.size, np.bool_)
    for problem in times.problems:
        rows |= problem.rows & empty
    # It stands first, so it is the one that counts for a row.
    return Converted(times.values, (Problem(NO_LABEL_TIME, rows), *times.problems))


def _empty_mask(cells: Cells) -> BoolArray:
    """Where a cell is null, blank or not a number; shape (n_rows,)."""
    if is_text(cells):
        blank: Cells = pc.equal(trimmed(cells).fill_null(""), pa.scalar(""))
        mask: BoolArray = blank.to_numpy(zero_copy_only=False)
        return mask
    if pa.types.is_floating(cells.type):
        numbers: FloatArray = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.isnan(numbers)
    return unset_mask(cells)
