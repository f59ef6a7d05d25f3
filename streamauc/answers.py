"""How a keeper of panes answers: windows of any span, and a history of them."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import tzinfo
from typing import Protocol

from streamauc import tiers
from streamauc._time import CalendarStep, Duration
from streamauc.advance import PaneDetector, PaneStream, advance
from streamauc.change.verdict import State
from streamauc.histogram import ScoreHistogram
from streamauc.history import step_edges
from streamauc.maturity import DelayLog
from streamauc.scale import Scale
from streamauc.tiers import Cover, Tier
from streamauc.timeline import LABELLED, PREDICTED
from streamauc.window import Window


class Keeper(Protocol):
    """Who answers for the panes."""

    @property
    def oldest(self) -> float:
        """Where the oldest pane that may survive begins."""

    def cover(self, channel: str, start: float, end: float) -> Cover:
        """Return the smallest union of surviving panes that covers [start, end)."""

    def snapped(self, edges: Sequence[float]) -> list[int]:
        """Return edges moved to those of surviving panes."""


class Answers(ABC):
    """Makes the windows of one series from what its keeper covers them with."""

    def __init__(self, scale: Scale, spans: tuple[Tier, ...], origin: str) -> None:
        self._scale = scale
        self._tiers = spans
        self._origin = origin  # marks the windows of one stream

    @property
    @abstractmethod
    def _keeper(self) -> Keeper:
        """Who answers for the panes."""

    @property
    @abstractmethod
    def _has_predictions(self) -> bool:
        """Whether PREDICTED counts every event, those without a prediction too."""

    @property
    @abstractmethod
    def observed_since(self) -> float:
        """When counting began."""

    @abstractmethod
    def advance(self) -> float:
        """Let panes expire that are too old by now and return the time."""

    def moment(self) -> AbstractContextManager[object]:
        """Answer everything within by the same state."""
        return nullcontext()

    @abstractmethod
    def _delay_log(self) -> DelayLog:
        """Return how long labels took."""

    @property
    def _more_caveats(self) -> tuple[str, ...]:
        return ()

    def _left_out(self, start: float, end: float) -> bool:  # noqa: ARG002 - memory is never damaged
        """Return whether panes of [start, end) can't be read, and are left out."""
        return False

    def step(self, detector: PaneDetector) -> State:
        """Step a detector over the panes that have matured; see `advance.advance`."""
        now = self.advance()
        delay = self._delay_log().usual(detector.min_coverage)
        with self.moment():
            return advance(detector, PaneStream(self.window, self._begin(), now, delay))

    def window(self, start: float, end: float, min_coverage: float = 0.0) -> Window:
        """Return the window of a span, rounded outwards. O(log n_panes)."""
        cover = self._keeper.cover(LABELLED, start, end)
        predicted = self._keeper.cover(PREDICTED, start, end).parts if self._has_predictions else ()
        return self._window(cover, predicted, min_coverage)

    def windows(
        self,
        step: Duration | CalendarStep,
        start: float | None,
        end: float | None,
        zone: tzinfo,
        min_coverage: float = 0.0,
    ) -> tuple[Window, ...]:
        """Return a window a step; from the first event and until now where None."""
        now = self.advance()
        with self.moment():
            low = self._begin() if start is None else start
            high = math.nextafter(now, math.inf) if end is None else end
            if not low < high:
                return ()
            edges = self._keeper.snapped(step_edges(step, low, high, zone))
            pairs = itertools.pairwise(edges)
            return tuple(self.window(low, high, min_coverage) for low, high in pairs)

    def answer(self, start: float, end: float, min_coverage: float) -> Window:
        """Return `window` for a poll, which never raises for what can't be read."""
        return self.window(start, end, min_coverage)

    def answers(
        self,
        step: Duration | CalendarStep,
        start: float | None,
        end: float | None,
        zone: tzinfo,
        min_coverage: float,
    ) -> tuple[Window, ...]:
        """Return `windows` for a poll, which never raises for what can't be read."""
        return self.windows(step, start, end, zone, min_coverage)

    def _begin(self) -> float:
        """Return where the first pane begins that may hold events."""
        since = self.observed_since
        if since == math.inf:
            return math.inf
        return self._keeper.snapped((max(since, self._keeper.oldest),))[0]

    def _window(
        self, cover: Cover, predicted: tuple[ScoreHistogram, ...], min_coverage: float
    ) -> Window:
        since = self.observed_since
        caveats = list(self._more_caveats)
        if self._left_out(cover.start, cover.end):
            caveats.append("damaged")
        if cover.start < tiers.floor(since, self._tiers[0].pane_seconds):
            caveats.append("warming_up")
        if cover.expired:
            caveats.append("expired")
        return Window(
            start=float(cover.start),
            end=float(cover.end),
            observed_since=since,
            time_caveats=tuple(caveats),
            parts=cover.parts,
            predicted_parts=predicted,
            min_coverage=min_coverage,
            empty=ScoreHistogram.empty(self._scale),
            origin=self._origin,
            pane_seconds=self._tiers[0].pane_seconds,
        )
