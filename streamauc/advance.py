"""Shows a detector the panes of a stream as their labels mature: each once, in order of time."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamauc.change.verdict import State
from streamauc.histogram import ScoreHistogram
from streamauc.tiers import Tier
from streamauc.window import Window

# A pane of fewer events is judged together with those behind it, at most so many.
_ENOUGH = 100
_MOST_PANES = 16


class PaneDetector(Protocol):
    """A fold over panes, as `PrevalenceDetector`, `RankingDetector` and `ShiftDetector` are."""

    @property
    def pane_seconds(self) -> int:
        """Length of a pane."""

    @property
    def min_coverage(self) -> float:
        """Labelled share from which on a pane is mature."""

    @property
    def stall_after(self) -> float:
        """How long nothing may be folded, in seconds."""

    @property
    def last_pane(self) -> int | None:
        """The last pane that was closed; None before the first."""

    @property
    def state(self) -> State:
        """What it says now."""

    def step(self, pane: int, histogram: ScoreHistogram, /, *, coverage: float) -> State:
        """Take in a pane."""


@dataclass(frozen=True, slots=True)
class PaneStream:
    """A stream by panes: how to read a span, where it began, the time, the labels' usual delay."""

    read: Callable[[float, float], Window]
    begin: float
    now: float
    label_delay: float


def check_grain(pane_seconds: int, spans: Sequence[Tier], offset: float = 0.0) -> None:
    """Raise ValueError unless a detector's panes are whole panes of those that are left for it.

    They are read when they have ended and the `offset` has passed.
    """
    finest, needed = spans[0], pane_seconds + offset
    if pane_seconds % finest.pane_seconds:
        raise ValueError(
            f"detector must have panes of a multiple of {finest.pane_seconds} s,"
            f" got {pane_seconds} s"
        )
    left = next((tier for tier in spans if tier.keep >= needed), None)
    if left is None or pane_seconds % left.pane_seconds:
        later = f", and its offset, {offset:.10g} s" if offset else ""
        raise ValueError(
            f"tiers must keep panes of {finest.pane_seconds} s for a pane of the detector,"
            f" {pane_seconds} s{later}, got {finest.keep:.10g} s"
        )


def advance(detector: PaneDetector, panes: PaneStream) -> State:
    """Step a detector over the panes that are mature and not yet closed; return its state.

    It waits at the first pane that is not mature; one of fewer than 100 events may be judged by
    its coverage together with the panes behind it, up to 16. Once that pane is older than twice
    the usual delay of labels and the time after which a detector stalls, it is overdue: if younger
    events are mature, its own labels are lost and it is passed over; else the detector is shown
    the newest pane, so that it knows that it is stalled. Ends at a pane that raises an alarm.
    O(panes since the last call).
    """
    alarmed = detector.state is State.ALARM
    for index, window in _ended(detector, panes):
        coverage = _coverage(detector, panes, window)
        is_mature = coverage >= detector.min_coverage
        if not is_mature and not _is_passed_over(detector, panes, window):
            break
        state = _show(detector, index, window, coverage)
        if state is State.ALARM and not alarmed:
            break
    return detector.state


def _ended(detector: PaneDetector, panes: PaneStream) -> Iterator[tuple[int, Window]]:
    """Yield the panes that ended since the last one closed."""
    seconds = detector.pane_seconds
    last = detector.last_pane
    if panes.begin == math.inf:
        return
    first = int(panes.begin // seconds) if last is None else last + 1
    for index in range(first, int(panes.now // seconds)):
        yield index, panes.read(index * seconds, (index + 1) * seconds)


def _coverage(detector: PaneDetector, panes: PaneStream, window: Window) -> float:
    """Return the coverage of a pane, or if that is more, of a few events from its start on.

    What is to be told is whether labels of that age are there. A pane of a few events tells it
    badly, and to wait until each single one has its last labels would take very long.
    """
    if math.isnan(window.coverage):
        return 1.0  # without any event there is no label to wait for
    found, end = window, window.end
    while (
        found.coverage < detector.min_coverage
        and found.predicted.totals.sum() < _ENOUGH
        and end - window.start < _MOST_PANES * detector.pane_seconds
        and end < panes.now
    ):
        end += end - window.start
        found = panes.read(window.start, end)
    return max(window.coverage, found.coverage)


def _is_passed_over(detector: PaneDetector, panes: PaneStream, window: Window) -> bool:
    """Return whether to go on behind a pane that is not mature."""
    seconds, wait = detector.pane_seconds, detector.stall_after
    if window.end - window.start != seconds:  # its fine panes have expired
        return True
    if panes.now - window.end <= 2 * panes.label_delay + wait:
        return False
    younger = panes.read(window.end, window.end + wait)
    if younger.coverage >= detector.min_coverage:
        return True
    newest = int(panes.now // seconds) - 1
    detector.step(newest, window.empty, coverage=0.0)
    return False


def _show(detector: PaneDetector, index: int, window: Window, coverage: float) -> State:
    """Step a detector over one pane; one that is no longer there by itself tells nothing."""
    if window.end - window.start != detector.pane_seconds:
        return detector.step(index, window.empty, coverage=0.0)
    return detector.step(index, window.histogram, coverage=coverage)
