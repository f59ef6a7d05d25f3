"""Local times as instants, exactly as `zoneinfo` has them."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from streamauc.cli.reading.batches import FloatArray

_EPOCH = datetime(1970, 1, 1)
_SLOT = 900


class LocalClock:
    """Finds the offset of a zone for many local times, one look-up a quarter of an hour.

    An hour that occurs twice is taken the first time (``fold=0``); one that the clocks skip has
    the offset from before the change, so 02:30 becomes 03:30.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._known: dict[int, float] = {}

    def offsets(self, local: NDArray[np.int64]) -> FloatArray:
        """Return seconds east of UTC for local seconds since 1970, both of shape (n,).

        O(n log n). The times must lie in the years 2 to 9998.
        """
        slots, where = np.unique(local // _SLOT, return_inverse=True)
        found = np.array([self._slot_offset(int(slot)) for slot in slots], np.float64)
        result: FloatArray = found[where]
        for index in np.flatnonzero(np.isnan(result)):
            result[index] = self._offset(int(local[index]))
        return result

    def _slot_offset(self, slot: int) -> float:
        """Return the offset all through a slot, `nan` where it changes inside."""
        offset = self._known.get(slot)
        if offset is None:
            first = self._offset(slot * _SLOT)
            last = self._offset(slot * _SLOT + _SLOT - 1)
            offset = self._known[slot] = first if first == last else np.nan
        return offset

    def _offset(self, local: int) -> float:
        wall = _EPOCH.replace(tzinfo=self._zone) + timedelta(seconds=local)  # adds to the wall time
        offset = wall.utcoffset()
        if offset is None:
            raise AssertionError("a zone has an offset at every local time")
        return offset.total_seconds()
