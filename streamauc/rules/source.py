"""What rules read: a Protocol that a store, monitors in memory and a backtest fulfil."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from streamauc.change.compare import Comparison, compare
from streamauc.change.reference import ReferencePanes
from streamauc.change.verdict import State as DetectorState
from streamauc.histogram import ScoreHistogram
from streamauc.rules.model import Detection, Key, series_key
from streamauc.rules.selector import Labels
from streamauc.rules.tallies import Tally
from streamauc.tiers import Tier
from streamauc.window import Window

Compared = Window | ScoreHistogram
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a stream is doing, seconds since the epoch.

    * `newest_event`: the largest event time; ``nan`` before any event or where not known.
    * `writers`: each open writer's seconds since its last flush; closed ones are left out.
    """

    newest_event: float = math.nan
    writers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a detector says: its state, how much of an alarm's evidence there is, and why.

    `evidence` is ``nan`` while no pane with events was mature.
    """

    state: DetectorState
    evidence: float
    reason: str


class Source(Protocol):
    """What rules read. An evaluation asks series by series, and for each window once.

    Anything may raise; then the rules that asked are in ERROR.
    """

    def now(self) -> float:
        """Return the time, seconds since the epoch."""

    def series(self) -> Sequence[Labels]:
        """Return the labels of every series."""

    def tiers(self, labels: Labels) -> tuple[Tier, ...]:
        """Return the tiers of a series, from finest to coarsest."""

    def pane(self, labels: Labels, moment: float) -> tuple[float, float]:
        """Return the span of the finest pane that survives and holds a moment."""

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end) of a series, rounded outwards to panes."""

    def health(self, labels: Labels) -> Health:
        """Return how a series is doing."""

    def tallies(self, labels: Labels) -> Sequence[Tally]:
        """Return what had been offered and rejected by now and by earlier evaluations.

        Oldest first; none where it is not known. That it was asked for is remembered.
        """

    def reference(self, name: str, labels: Labels) -> Compared:
        """Return a named reference for a series. Raises LookupError if there is none."""

    def reference_panes(self, name: str, labels: Labels, pane_seconds: int) -> ReferencePanes:
        """Return a named reference pane by pane. Raises LookupError if there is none."""

    def detect(self, key: Key, detection: Detection, labels: Labels, now: float) -> Verdict:
        """Advance a detector to `now`, each pane once whoever asks, and return what it says.

        It is started when first asked for, and anew when its settings have changed.
        """


@dataclass(slots=True)
class _Outcome:
    value: object = None
    error: Exception | None = None


class View:
    """One evaluation's look at a source: one time, each question asked once, failures too."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.now = source.now()
        self._known: dict[tuple[object, ...], _Outcome] = {}

    def forget(self) -> None:
        """Forget the answers, when the next series begins."""
        self._known.clear()

    def _once(self, key: tuple[object, ...], ask: Callable[[], _Found]) -> _Found:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Outcome()
            try:
                found.value = ask()
            except Exception as error:
                found.error = error
                raise
        if found.error is not None:
            raise found.error
        return found.value  # type: ignore[return-value]

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the window of a span, read once."""
        return self._once(
            ("window", series_key(labels), start, end),
            lambda: self._source.window(labels, start, end),
        )

    def last(self, labels: Labels, last: float, offset: float) -> Window:
        """Return the window of the `last` seconds that end `offset` ago, as `Monitor.window`."""
        end = self.now - offset
        # An event that carries this very moment belongs to the window that ends now.
        return self.window(labels, end - last, math.nextafter(end, math.inf))

    def health(self, labels: Labels) -> Health:
        """Return how a series is doing, read once."""
        return self._once(("health", series_key(labels)), lambda: self._source.health(labels))

    def tallies(self, labels: Labels) -> Sequence[Tally]:
        """Return what had been offered and rejected, read once."""
        return self._once(("tallies", series_key(labels)), lambda: self._source.tallies(labels))

    def reference(self, name: str, labels: Labels) -> Compared:
        """Return a named reference, read once."""
        return self._once(
            ("reference", series_key(labels), name), lambda: self._source.reference(name, labels)
        )

    def comparison(
        self, sides: tuple[Compared, Window], level: float, threshold: float | None
    ) -> Comparison:
        """Return a comparison, worked out once for all rules that ask for the same."""
        reference, current = sides
        return self._once(
            ("compare", id(reference), id(current), level, threshold),
            # A stored histogram is of the past, before anything that is compared with it.
            lambda: compare(reference, current, level=level, threshold=threshold, independent=True),
        )

    def detect(self, key: Key, detection: Detection, labels: Labels) -> Verdict:
        """Return what a detector says."""
        return self._source.detect(key, detection, labels, self.now)
