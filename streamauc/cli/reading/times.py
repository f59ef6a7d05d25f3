"""Time columns of any kind as seconds since the epoch, UTC."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamauc.cli.reading.arrow import Cells, decoded
from streamauc.cli.reading.batches import BoolArray, Converted, FloatArray, Notes, Problem
from streamauc.cli.reading.epochs import EPOCH_WORDS, epoch_seconds, guessed_unit
from streamauc.cli.reading.instants import FIRST, LAST, parsed_instants
from streamauc.cli.reading.options import TIME_UNITS, ReadOptions
from streamauc.cli.reading.scores import as_numbers
from streamauc.cli.reading.texts import is_text, parsed_number, parsed_numbers, trimmed, unset_mask
from streamauc.cli.reading.zones import LocalClock

_IntArray = NDArray[np.int64]
NOT_A_TIME = "must be a time (ISO 8601 or seconds since the epoch)"
NO_ZONE = "must carry a time zone (or name one with --tz)"
OUT_OF_CALENDAR = "must be in the years 1 to 9999"
_DAY = 86_400


@dataclass(frozen=True, slots=True, eq=False)
class _Instants:
    """Seconds since the epoch with where they are unset, and where they lack a zone."""

    seconds: FloatArray
    unset: BoolArray
    zoneless: BoolArray | None = None


class TimeReader:
    """Reads a time column of one file; what it guesses once holds for the whole file.

    `what` is the word for its times in notes.
    """

    def __init__(
        self, file: str, column: str, options: ReadOptions, notes: Notes, what: str = "times"
    ) -> None:
        self._what = what
        self._where = f"{file}, column {column}"
        self._notes = notes
        self._unit = options.time_unit
        self._tz = options.tz
        zone = options.zone
        self._clock = None if zone is None else LocalClock(zone)
        self._numeric: bool | None = None
        self._decimal = options.decimal or "."

    def read(self, cells: Cells, decimal: str = ".") -> Converted:
        """Return the column as float64 seconds since the epoch, with what is wrong in it."""
        self._decimal = decimal
        cells = decoded(cells)
        return _checked(self._reader_of(cells)(cells))

    def _reader_of(self, cells: Cells) -> Callable[[Cells], _Instants]:
        kinds, kind = pa.types, cells.type
        if kinds.is_timestamp(kind):
            return self._stamps
        if kinds.is_date(kind):
            return self._dates
        if is_text(cells):
            return self._text
        if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
            return self._numbers
        return _nothing

    def _stamps(self, cells: Cells) -> _Instants:
        """Timestamps as Arrow has them: with their unit, and a zone or none."""
        counts = cells.cast(pa.int64()).fill_null(0).to_numpy()
        unset = unset_mask(cells)
        if cells.type.tz:
            return _Instants(epoch_seconds(counts, cells.type.unit), unset)
        return self._local(counts, cells.type.unit, unset)

    def _dates(self, cells: Cells) -> _Instants:
        """Calendar days begin at local midnight."""
        days = cells.cast(pa.date32()).cast(pa.int32()).fill_null(0).to_numpy()
        return self._local(days.astype(np.int64) * _DAY, "s", unset_mask(cells))

    def _text(self, cells: Cells) -> _Instants:
        if self._numeric is None:
            self._numeric = _looks_numeric(cells, self._decimal)
        if self._numeric:
            return self._numbers(_exact_numbers(cells, self._decimal))
        stamps = parsed_instants(cells)
        if not stamps.local.any():
            return _Instants(stamps.seconds, stamps.unset)
        if self._clock is None:
            return _Instants(stamps.seconds, stamps.unset, stamps.local)
        wall = stamps.seconds[stamps.local]
        stamps.seconds[stamps.local] = wall - self._offsets(np.floor(wall).astype(np.int64))
        return _Instants(stamps.seconds, stamps.unset)

    def _numbers(self, cells: Cells) -> _Instants:
        numbers = as_numbers(cells)
        unset = unset_mask(numbers)
        counts = numbers.fill_null(pa.scalar(0, numbers.type)).to_numpy()
        if self._unit is None and not unset.all():
            self._unit = guessed_unit(counts[~unset], self._where)
            self._notes.add(f"{self._what} are {EPOCH_WORDS[self._unit]} (guessed)")
        return _Instants(epoch_seconds(counts, self._unit or "s"), unset)

    def _local(self, counts: _IntArray, unit: str, unset: BoolArray) -> _Instants:
        if self._clock is None:
            return _Instants(epoch_seconds(counts, unit), unset, ~unset)
        per_second = TIME_UNITS[unit]
        whole = counts // per_second
        exact = whole.astype(np.float64) - self._offsets(whole)
        return _Instants(exact + (counts - whole * per_second) / per_second, unset)

    def _offsets(self, local: _IntArray) -> FloatArray:
        if self._clock is None:
            raise AssertionError("local times need a zone here")
        self._notes.add(
            f"times without a zone are read as {self._tz}"
            " (an hour that occurs twice: the first; one that is skipped: moved forward)"
        )
        # Two days inside the calendar, so that the look-up cannot leave it.
        return self._clock.offsets(np.clip(local, int(FIRST) + 2 * _DAY, int(LAST) - 2 * _DAY))


def _checked(instants: _Instants) -> Converted:
    seconds, unset = instants.seconds, instants.unset
    fine = not unset.any() and instants.zoneless is None
    if fine and (seconds.size == 0 or (seconds.min() >= FIRST and seconds.max() < LAST)):
        return Converted(seconds)
    outside = ~((seconds >= FIRST) & (seconds < LAST)) & ~unset
    zoneless = instants.zoneless
    first = () if zoneless is None else (Problem(NO_ZONE, zoneless),)
    return Converted(
        seconds, (*first, Problem(NOT_A_TIME, unset), Problem(OUT_OF_CALENDAR, outside))
    )


def _nothing(cells: Cells) -> _Instants:
    """Return a column of a type that holds no times."""
    return _Instants(np.zeros(len(cells)), np.ones(len(cells), np.bool_))


def _looks_numeric(cells: Cells, decimal: str) -> bool | None:
    """Whether the first cell that is not empty is a number; `None` if all are empty."""
    for value in cells.cast(pa.string()).drop_null():
        text = value.as_py().strip()
        if text:
            return parsed_number(text, decimal) is not None
    return None


def _exact_numbers(cells: Cells, decimal: str) -> Cells:
    """Text as integers where all are, because nanoseconds do not fit a float64."""
    try:
        return trimmed(cells).cast(pa.int64())
    except pa.ArrowInvalid:
        return parsed_numbers(cells, decimal)
