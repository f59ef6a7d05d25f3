"""Times written as text: fast where they look alike, one by one where they do not."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from streamauc.cli.reading.arrow import Cells
from streamauc.cli.reading.batches import BoolArray, FloatArray
from streamauc.cli.reading.epochs import epoch_seconds
from streamauc.cli.reading.texts import trimmed, unset_mask

FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp() + 1.0
# Microseconds first: they are exact in a float64 and reach every year.
TEXT_TYPES = (
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns", "UTC"),
    pa.timestamp("us"),
    pa.timestamp("ns"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"[.,](\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class TextInstants:
    """Seconds since 1970, UTC, or on the wall clock where `local`; shape (n_rows,)."""

    seconds: FloatArray
    unset: BoolArray
    local: BoolArray


def parsed_instants(cells: Cells) -> TextInstants:
    """Read ISO 8601 times; `unset` where a cell is none. O(n_rows)."""
    text = trimmed(cells)
    for kind in TEXT_TYPES:
        try:
            stamps = text.cast(kind)
        except pa.ArrowInvalid:
            continue
        counts = stamps.cast(pa.int64()).fill_null(0).to_numpy()
        local = np.full(len(text), kind.tz is None) & ~unset_mask(text)
        return TextInstants(epoch_seconds(counts, kind.unit), unset_mask(text), local)
    return _one_by_one(text)


def uniform_type(samples: list[str]) -> pa.DataType:
    """Return the Arrow type that all of some cells can be parsed as, text if there is none."""
    text = pa.array([sample.strip() for sample in samples if sample.strip()], pa.string())
    for kind in (pa.int64(), pa.float64(), *TEXT_TYPES):
        try:
            text.cast(kind)
        except pa.ArrowInvalid:
            continue
        return kind
    return pa.string()


def _one_by_one(text: Cells) -> TextInstants:
    seconds = np.zeros(len(text))
    unset = np.zeros(len(text), np.bool_)
    local = np.zeros(len(text), np.bool_)
    for index, value in enumerate(text.to_pylist()):
        parsed = parsed_instant(value or "")
        if parsed is None:
            unset[index] = True
        else:
            seconds[index], local[index] = parsed
    return TextInstants(seconds, unset, local)


def parsed_instant(text: str) -> tuple[float, bool] | None:
    """One time as seconds, and whether it is a local one; `None` if it is no time.

    The fraction is read apart, so that it may have any number of digits.
    """
    fraction = _FRACTION.search(text)
    whole = text if fraction is None else text[: fraction.start()] + text[fraction.end() :]
    try:
        moment = datetime.fromisoformat(whole.upper())
        local = moment.tzinfo is None
        since = (moment.replace(tzinfo=UTC) if local else moment) - _EPOCH
    except (ValueError, OverflowError):
        return None
    part = 0.0 if fraction is None else float(f"0.{fraction[1]}")
    return since // timedelta(seconds=1) + part, local
