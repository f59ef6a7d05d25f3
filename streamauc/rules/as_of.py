"""A source as it was at an earlier time, as far as the panes that are left can tell."""

import math
from collections.abc import Sequence
from dataclasses import replace

from streamauc.change.reference import ReferencePanes
from streamauc.rules.detectors import Detectors
from streamauc.rules.model import Detection, Key
from streamauc.rules.newest import newest_event
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, Health, Source, Verdict
from streamauc.rules.tallies import Tally
from streamauc.tiers import Tier
from streamauc.window import Window


class AsOf:
    """A stored source as at an earlier time: windows end at the last pane that was complete.

    Nothing of the future is seen. What was not stored can't be known: labels count as known from
    the beginning, even those that came late; rejected events and the writers' flushes are not
    known, so rules about them have no data; and named references are those of today. Detectors
    start anew.

    Where finer panes have expired, it can tell only what was at the ends of the panes that are
    left, see `due`; at any other time a series answers as at the last such end.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._now = -math.inf
        self._detectors = Detectors()

    def move(self, now: float) -> None:
        """Make it `now`."""
        self._now = now

    def due(self, moment: float) -> float:
        """Return when, from `moment` on, a pane that is left ends first. O(number of series)."""
        panes = (self._source.pane(labels, moment) for labels in self._source.series())
        return min((low if low == moment else high for low, high in panes), default=moment)

    def now(self) -> float:
        """Return the time that was set."""
        return self._now

    def series(self) -> Sequence[Labels]:
        """Return the labels of every series there is today."""
        return self._source.series()

    def tiers(self, labels: Labels) -> tuple[Tier, ...]:
        """Return the tiers of which panes are left there, which do not expire in a backtest."""
        low, high = self.pane(labels, self._now)
        found = (one for one in self._source.tiers(labels) if one.pane_seconds >= high - low)
        return tuple(replace(one, keep=math.inf) for one in found)

    def pane(self, labels: Labels, moment: float) -> tuple[float, float]:
        """Return the span of the finest pane that is left and holds a moment."""
        return self._source.pane(labels, moment)

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end) as at the end of the last complete pane."""
        limit, _ = self.pane(labels, self._now)
        # By so much it would reach into a pane that was not complete; references do not.
        late = max(0.0, min(end, self._now) - limit)
        return self._complete(labels, start - late, self._ended(labels, end - late))

    def _ended(self, labels: Labels, end: float) -> float:
        """Return an end without the very moment at which a longer pane begins.

        A window holds the events of the moment at which it ends. Of a longer pane they can't be
        told from all others, and hours would take the place of a minute.
        """
        edge = math.nextafter(end, -math.inf)
        low, high = self.pane(labels, edge)
        is_longer = high - low > self._source.tiers(labels)[0].pane_seconds
        return edge if is_longer and low == edge else end

    def _complete(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end) that were complete by now."""
        limit, _ = self.pane(labels, self._now)
        end = min(end, limit)
        return self._source.window(labels, min(start, end), end)

    def health(self, labels: Labels) -> Health:
        """Return what is known of then: the newest event, to the end of its pane."""
        return Health(
            newest_event=newest_event(lambda *span: self._complete(labels, *span), self._now)
        )

    def tallies(self, labels: Labels) -> Sequence[Tally]:  # noqa: ARG002 - not known of any series
        """Return nothing: what was rejected by then is not known."""
        return ()

    def reference(self, name: str, labels: Labels) -> Compared:
        """Return a named reference as it is today."""
        return self._source.reference(name, labels)

    def reference_panes(self, name: str, labels: Labels, pane_seconds: int) -> ReferencePanes:
        """Return a named reference pane by pane, as it is today."""
        return self._source.reference_panes(name, labels, pane_seconds)

    def detect(self, key: Key, detection: Detection, labels: Labels, now: float) -> Verdict:
        """Advance a detector of the backtest's own."""
        return self._detectors.detect(
            key,
            detection,
            labels,
            references=self,
            read=lambda start, end: self._complete(labels, start, end),
            now=now,
        )
