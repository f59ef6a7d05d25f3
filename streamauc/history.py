"""A history: one window a step, and metrics as columns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import cached_property

import numpy as np

from streamauc import _time
from streamauc._check import FloatArray
from streamauc._time import CalendarStep, Duration
from streamauc.drift import Against, Drift, drift_of
from streamauc.metrics import catalogue
from streamauc.window import Window

DEFAULT_METRICS = ("prevalence", "roc_auc", "average_precision")
MAX_STEPS = 1_000_000
CALENDAR_STEPS: tuple[CalendarStep, ...] = ("day", "week", "month")


@dataclass(frozen=True, eq=False)
class History:
    """Windows that follow each other, empty ones included.

    `metrics` are names of the catalogue, a threshold behind ``@`` where one is needed
    (``precision@0.7``). Columns are float64 arrays of shape (n_windows,).
    """

    windows: tuple[Window, ...]
    metrics: tuple[str, ...] = DEFAULT_METRICS

    def __post_init__(self) -> None:
        for metric in self.metrics:
            catalogue.parse(metric)  # raises ValueError for an unknown one

    def __len__(self) -> int:
        """How many windows there are."""
        return len(self.windows)

    @cached_property
    def start(self) -> FloatArray:
        """Where each window begins, seconds since the epoch."""
        return self._column(lambda window: window.start)

    @cached_property
    def end(self) -> FloatArray:
        """Where each window ends, seconds since the epoch."""
        return self._column(lambda window: window.end)

    @cached_property
    def n_samples(self) -> FloatArray:
        """Events in each window, or the sums of their weights."""
        return self._column(lambda window: window.n_samples)

    @cached_property
    def n_pos(self) -> FloatArray:
        """Positives in each window, or the sums of their weights."""
        return self._column(lambda window: window.n_pos)

    @cached_property
    def coverage(self) -> FloatArray:
        """Labelled share of each window; ``nan`` in empty ones."""
        return self._column(lambda window: window.coverage)

    def column(self, metric: str) -> FloatArray:
        """Return a metric in each window; ``nan`` where it is undefined."""
        entry, params = catalogue.parse(metric)
        return self._column(lambda window: window.value(entry.name, **params))

    def interval(self, metric: str, *, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends of a metric's confidence intervals."""
        entry, params = catalogue.parse(metric)
        found = [window.interval(entry.name, level=level, **params) for window in self.windows]
        return np.array([one.low for one in found]), np.array([one.high for one in found])

    def drift(self, against: Against = "previous", *, level: float = 0.95) -> Drift:
        """Return each window compared with a reference, as columns.

        `against` is a `Window`, ``"previous"`` for the window before, or a length of time such
        as ``"7d"`` for the window of the same span so long ago. A window without a reference,
        or that shares events with it, is left out (``nan``).
        """
        return drift_of(self.windows, against, level)

    @property
    def columns(self) -> dict[str, FloatArray]:
        """The span, the number of events and each of `metrics`, by name."""
        fixed = {
            "start": self.start,
            "end": self.end,
            "n_samples": self.n_samples,
            "n_pos": self.n_pos,
        }
        return fixed | {name: self.column(name) for name in self.metrics}

    def _column(self, read: Callable[[Window], float]) -> FloatArray:
        return np.array([read(window) for window in self.windows], dtype=np.float64)


def step_edges(
    step: Duration | CalendarStep, start: float, end: float, zone: tzinfo = UTC
) -> Sequence[float]:
    """Return where the steps from `start` to `end` begin, and where the last one ends.

    Calendar steps are whole, from local midnight to local midnight. Raises ValueError for a
    step that is no length of time.
    """
    if isinstance(step, str) and step in CALENDAR_STEPS:
        return _time.calendar_edges(start, end, step, zone)
    seconds = _time.duration("step", step)
    if math.isinf(seconds):
        return [start, end]
    n_steps = max(1, math.floor((end - start) / seconds))
    n_steps += start + n_steps * seconds < end  # as the edges themselves are rounded
    if n_steps > MAX_STEPS:
        raise ValueError(f"step must cut the span into at most {MAX_STEPS} steps, got {n_steps}")
    return [start + number * seconds for number in range(n_steps + 1)]
