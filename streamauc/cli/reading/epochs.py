"""Counts since the epoch: their unit, and seconds from them."""

import numpy as np
from numpy.typing import NDArray

from streamauc.cli.reading.batches import FloatArray
from streamauc.cli.reading.options import TIME_UNITS

_Counts = NDArray[np.int64] | NDArray[np.float64]
EPOCH_WORDS = {
    "s": "epoch seconds",
    "ms": "epoch milliseconds",
    "us": "epoch microseconds",
    "ns": "epoch nanoseconds",
}
# 1e11 seconds is the year 5138, and 1e11 milliseconds March 1973.
_UNIT_BELOW = ((1e11, "s"), (1e14, "ms"), (1e17, "us"))
_LOOKED_AT = 1_000


def guessed_unit(counts: _Counts, where: str) -> str:
    """Return the unit that puts the middle of the first values near the present.

    Raises `ValueError` for numbers like 20240601, which are dates rather than counts.
    """
    first = np.asarray(counts[:_LOOKED_AT], np.float64)
    finite = first[np.isfinite(first)]
    if finite.size and all(_is_calendar_number(value) for value in finite):
        raise ValueError(
            f"{where}: must be counts since the epoch, got {finite[0]:.0f}, which looks like"
            " a date; write it as 2024-06-01, or give --time-unit if it is a count"
        )
    middle = float(np.median(np.abs(finite))) if finite.size else 0.0
    return next((unit for limit, unit in _UNIT_BELOW if middle < limit), "ns")


def epoch_seconds(counts: _Counts, unit: str) -> FloatArray:
    """Return counts of `unit` as float64 seconds, shape (n,)."""
    per_second = TIME_UNITS[unit]
    if per_second == 1:
        return counts.astype(np.float64, copy=False)
    if unit == "ns" and np.issubdtype(counts.dtype, np.integer):
        # Nanoseconds of today exceed 2**53, so the whole seconds are split off first.
        whole = counts // per_second
        result: FloatArray = whole + (counts - whole * per_second) / per_second
        return result
    return counts / per_second


def _is_calendar_number(value: float) -> bool:
    """Whether a number is written like 20240601, 20240601123000 or with a part of that."""
    digits = f"{value:.0f}"
    if len(digits) not in (8, 12, 14) or not value.is_integer():
        return False
    year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:8])
    return 1900 <= year <= 2100 and 1 <= month <= 12 and 1 <= day <= 31
