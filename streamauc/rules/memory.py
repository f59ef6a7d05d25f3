"""A source of monitors in memory: for a service that watches itself, for tests and backtests."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from streamauc import _time
from streamauc._time import Timestamp
from streamauc.change.reference import ReferencePanes
from streamauc.histogram import ScoreHistogram
from streamauc.monitor import Monitor
from streamauc.rules.detectors import Detectors
from streamauc.rules.model import Detection, Key, series_key
from streamauc.rules.newest import newest_event
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, Health, Verdict
from streamauc.rules.tallies import Book, Tally, grown
from streamauc.tiers import Tier
from streamauc.window import Window

# A named reference: counts, or a span of each series' own past.
NamedReference = Compared | tuple[Timestamp, Timestamp]


class MonitorSource:
    """Monitors by their labels, as a `Source`.

    * `monitors`: pairs of labels and monitor.
    * `clock`: what time it is, the same clock as that of the monitors. Monitors with
      ``clock="event"`` are asked as at this time, too.
    * `references`: named references, for all series: a window, a histogram, or (start, end), a
      span of each series' own past.
    """

    def __init__(
        self,
        monitors: Iterable[tuple[Labels, Monitor]],
        *,
        clock: Callable[[], float] = time.time,
        references: Mapping[str, NamedReference] | None = None,
    ) -> None:
        self._monitors = {series_key(labels): (dict(labels), one) for labels, one in monitors}
        self._clock = clock
        self._references = dict(references or {})
        self.detectors = Detectors()
        self._tallies: Book = {}

    def monitor(self, labels: Labels) -> Monitor:
        """Return the monitor of a series. Raises LookupError if there is none."""
        return self._monitors[series_key(labels)][1]

    def now(self) -> float:
        """Return the time."""
        return self._clock()

    def series(self) -> Sequence[Labels]:
        """Return the labels of every monitor."""
        return [labels for labels, _ in self._monitors.values()]

    def tiers(self, labels: Labels) -> tuple[Tier, ...]:
        """Return the tiers of a monitor."""
        return self.monitor(labels).tiers

    def pane(self, labels: Labels, moment: float) -> tuple[float, float]:
        """Return the span of the finest pane that survives and holds a moment."""
        window = self.window(labels, moment, math.nextafter(moment, math.inf))
        return window.start, window.end

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end), rounded outwards to panes."""
        return self.monitor(labels).window(start, end)

    def health(self, labels: Labels) -> Health:
        """Return how a monitor is doing; the newest event to the end of its pane."""
        return Health(
            newest_event=newest_event(lambda low, high: self.window(labels, low, high), self.now())
        )

    def tallies(self, labels: Labels) -> Sequence[Tally]:
        """Return what a monitor had been offered by now and by earlier evaluations."""
        key, now, stats = series_key(labels), self.now(), self.monitor(labels).stats
        began = self.window(labels, now, now).observed_since
        newest = Tally(now, stats.n_offered, stats.n_rejected)
        found = self._tallies[key] = grown(self._tallies.get(key, ()), newest, began)
        return found

    def reference(self, name: str, labels: Labels) -> Compared:
        """Return a named reference. Raises LookupError if there is none."""
        found = self._reference(name)
        if isinstance(found, Window | ScoreHistogram):
            return found
        start, end = found
        return self.window(labels, _time.seconds("start", start), _time.seconds("end", end))

    def reference_panes(self, name: str, labels: Labels, pane_seconds: int) -> ReferencePanes:
        """Return a named reference pane by pane; it must be a span, or a window of this series."""
        found = self._reference(name)
        if isinstance(found, ScoreHistogram):
            raise LookupError(  # noqa: TRY004 - a histogram is a reference, but not for this
                f"reference {name!r} must be a span to be read pane by pane"
            )
        start, end = (found.start, found.end) if isinstance(found, Window) else found
        history = self.monitor(labels).history(pane_seconds, start=start, end=end)
        windows = [one for one in history.windows if one.end - one.start == pane_seconds]
        return ReferencePanes(
            [round(one.start // pane_seconds) for one in windows],
            [one.n_pos for one in windows],
            [one.n_neg for one in windows],
        )

    def _reference(self, name: str) -> NamedReference:
        if name not in self._references:
            known = ", ".join(map(repr, self._references)) or "none"
            raise LookupError(f"reference must be a known one, got {name!r}; known are {known}")
        return self._references[name]

    def detect(self, key: Key, detection: Detection, labels: Labels, now: float) -> Verdict:
        """Advance a detector to `now` and return what it says."""
        return self.detectors.detect(
            key,
            detection,
            labels,
            references=self,
            read=lambda start, end: self.window(labels, start, end),
            now=now,
        )
