"""A metric of the windows of a history, as it is drawn."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamauc._check import BoolArray, FloatArray
from streamauc.history import History
from streamauc.metrics.catalogue import Metric
from streamauc.plot import thin
from streamauc.plot.time_axis import Span

# Up to so many windows each has a marker and a bar, then a line and a band read better.
MOST_BARS = 60
_COLUMNS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """What is drawn, arrays of shape (n_windows,) in the order of time.

    `x` are the windows' middles, `starts` and `ends` where they begin and end, all on the axis.
    """

    x: FloatArray
    starts: FloatArray
    ends: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    is_immature: BoolArray

    @classmethod
    def read(
        cls, history: History, metric: str, entry: Metric, *, level: float, shown: Span
    ) -> Self:
        """Return a metric of the windows of a history that can be told apart on paper."""
        values = history.column(metric)
        if entry.interval is None:
            return cls.of(history, values, shown=shown)
        return cls.of(history, values, history.interval(metric, level=level), shown=shown)

    @classmethod
    def of(
        cls,
        history: History,
        values: FloatArray,
        ends_of_intervals: tuple[FloatArray, FloatArray] | None = None,
        *,
        shown: Span,
    ) -> Self:
        """Return a column of a history, which may have intervals, in the same way."""
        unknown = np.full(values.shape, math.nan)
        low, high = ends_of_intervals or (unknown, unknown)
        x = shown.positions((history.start + history.end) / 2)
        starts, ends = shown.positions(history.start), shown.positions(history.end)
        caveats = [window.caveats for window in history.windows]
        immature = np.array(["immature" in found for found in caveats], dtype=np.bool_)
        drawn = thin.visible(x, [values, low, high], _COLUMNS)
        x, starts, ends, values, low, high = (
            column[drawn] for column in (x, starts, ends, values, low, high)
        )
        return cls(x, starts, ends, values, low, high, immature[drawn])

    @property
    def is_few(self) -> bool:
        """Whether each window has a marker and a bar."""
        return self.x.size <= MOST_BARS

    @property
    def line_width(self) -> float:
        """A width at which neighbours do not run together, in points."""
        return 1.2 if self.is_few else 0.9 if self.x.size <= _COLUMNS else 0.5

    @property
    def settled(self) -> FloatArray:
        """The values of windows whose labels are known; ``nan`` in the others."""
        return np.where(self.is_immature, math.nan, self.values)

    @property
    def immature_spans(self) -> list[tuple[float, float]]:
        """Where immature windows that follow each other begin and end."""
        flags = np.concatenate(([False], self.is_immature, [False]))
        firsts = np.flatnonzero(~flags[:-1] & flags[1:])
        lasts = np.flatnonzero(flags[:-1] & ~flags[1:]) - 1
        return list(zip(self.starts[firsts].tolist(), self.ends[lasts].tolist(), strict=True))


def is_alone(values: FloatArray) -> BoolArray:
    """Return which values have none beside them, so that a line would not show them."""
    defined = np.concatenate(([False], np.isfinite(values), [False]))
    alone: BoolArray = defined[1:-1] & ~defined[:-2] & ~defined[2:]
    return alone
