"""A history: one window a step, and metrics as columns."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import cached_property

import numpy as np

from streamauc import _html, _time
from streamauc._check import FloatArray
from streamauc._time import CalendarStep, Duration
from streamauc.drift import Against, Drift, drift_of
from streamauc.metrics import catalogue
from streamauc.window import Window, spelled_caveats

DEFAULT_METRICS = ("prevalence", "roc_auc", "average_precision")
# Of more windows than these a notebook shows some at each end.
_MOST_SHOWN, _SHOWN_AT_ENDS = 12, 5
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

    def _repr_html_(self) -> str:
        """Return the first and the last windows as a table for notebooks."""
        if not self.windows:
            return _html.view("History", "no windows")
        shown = _first_and_last(self.windows)
        windows = [window for window in shown if window is not None]
        is_predicted = any(window.predicted_parts for window in windows)
        rows = [self._html_row(window, is_predicted=is_predicted) for window in shown]
        known = ["labels known (share)"] * is_predicted
        heads = itertools.chain(*(_html_heads(metric) for metric in self.metrics))
        titles = ("time (UTC)", "events", "positives", *known, *heads, "caveats")
        table = _html.table(titles, rows)
        caveats = dict.fromkeys(name for window in windows for name in window.caveats)
        notes = _html.notes(spelled_caveats(caveats))
        when = f"{_html.period(self.windows[0].start, self.windows[-1].end)}, UTC"
        return _html.view(f"History of {len(self):,} windows", when, table, notes)

    def _html_row(self, window: Window | None, *, is_predicted: bool) -> tuple[str, ...]:
        """Return what is shown of a window; of those left out, how many they are."""
        if window is None:
            return (f"… {len(self) - 2 * _SHOWN_AT_ENDS:,} more windows …",)
        known = [_html.number(window.coverage, "empty")] * is_predicted
        values = itertools.chain(*(_html_cells(window, metric) for metric in self.metrics))
        when = _html.period(window.start, window.end)
        sizes = _html.amount(window.n_samples), _html.amount(window.n_pos)
        return (when, *sizes, *known, *values, ", ".join(window.caveats))

    def _column(self, read: Callable[[Window], float]) -> FloatArray:
        return np.array([read(window) for window in self.windows], dtype=np.float64)


def _html_heads(metric: str) -> list[str]:
    """Return the heads of a metric's columns, one more where its interval has a formula."""
    entry, title = catalogue.parse(metric)[0], _html.title(metric)
    heads = [f"{title} ({entry.unit})", f"{title}, 95 % interval"]
    return heads if entry.interval is not None else heads[:1]


def _html_cells(window: Window, metric: str) -> list[str]:
    entry, params = catalogue.parse(metric)
    value, reason = window.value(entry.name, **params), window.reason(entry.name, **params)
    cells = [_html.measured(value, entry.unit, reason)]
    if entry.interval is not None:
        found = window.interval(entry.name, **params)
        cells.append(_html.span(found.low, found.high))
    return cells


def _first_and_last(windows: Sequence[Window]) -> list[Window | None]:
    """Return all windows if they are few, else those at both ends, and None for the others."""
    if len(windows) <= _MOST_SHOWN:
        return list(windows)
    return [*windows[:_SHOWN_AT_ENDS], None, *windows[-_SHOWN_AT_ENDS:]]


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
