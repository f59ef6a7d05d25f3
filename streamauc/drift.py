"""Drift over a history: each window compared with a reference, as columns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from streamauc._check import FloatArray
from streamauc._time import Duration, duration
from streamauc.change.compare import Comparison, compare
from streamauc.change.results import Change
from streamauc.window import Window

Against = Window | Duration | Literal["previous"]


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """Comparisons of windows with their references; None where a window has none.

    Columns are float64 arrays of shape (n_windows,), ``nan`` where a comparison is missing or
    undefined.
    """

    comparisons: tuple[Comparison | None, ...]

    @property
    def prevalence_difference(self) -> FloatArray:
        """By how much the share of positives is above that of the reference."""
        return self._column(lambda found: found.prevalence_difference)

    @property
    def prevalence_interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of the interval of `prevalence_difference`."""
        return self._interval(lambda found: found.prevalence)

    @property
    def roc_auc_difference(self) -> FloatArray:
        """By how much the AUC is above that of the reference."""
        return self._column(lambda found: found.roc_auc_difference)

    @property
    def roc_auc_interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of the interval of `roc_auc_difference`."""
        return self._interval(lambda found: found.roc_auc)

    def part(self, metric: str, of: Literal["prevalence", "positives", "negatives"]) -> FloatArray:
        """Return one part of the change of a metric such as ``average_precision``."""
        return self._column(lambda found: float(getattr(found.attribution[metric], of)))

    @property
    def columns(self) -> dict[str, FloatArray]:
        """The differences, by name."""
        return {
            "prevalence_difference": self.prevalence_difference,
            "roc_auc_difference": self.roc_auc_difference,
        }

    def _interval(self, change: Callable[[Comparison], Change]) -> tuple[FloatArray, FloatArray]:
        low = self._column(lambda found: change(found).interval.low)
        return low, self._column(lambda found: change(found).interval.high)

    def _column(self, read: Callable[[Comparison], float]) -> FloatArray:
        found = [math.nan if one is None else read(one) for one in self.comparisons]
        return np.array(found, dtype=np.float64)


def drift_of(windows: Sequence[Window], against: Against, level: float) -> Drift:
    """Compare each window with `against`; see `History.drift`."""
    references = _references(windows, against)
    return Drift(
        tuple(
            None if reference is None else compare(reference, window, level=level)
            for reference, window in zip(references, windows, strict=True)
        )
    )


def _references(windows: Sequence[Window], against: Against) -> list[Window | None]:
    if isinstance(against, Window):
        return [None if _overlap(against, window) else against for window in windows]
    if against == "previous":
        return [None, *windows[:-1]][: len(windows)]
    back = duration("against", against)
    by_span = {(window.start, window.end): window for window in windows}
    spans = [(window.start - back, window.end - back) for window in windows]
    return [by_span.get(span) for span in spans]


def _overlap(one: Window, other: Window) -> bool:
    return one.start < other.end and other.start < one.end
