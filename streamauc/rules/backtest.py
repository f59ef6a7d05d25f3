"""What rules would have said: an evaluation every so often, over a source whose time is moved."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamauc.change.reference import ReferencePanes
from streamauc.rules.detectors import Detectors
from streamauc.rules.evaluate import Result, evaluate
from streamauc.rules.model import Detection, Key, RulesFile
from streamauc.rules.newest import newest_event
from streamauc.rules.record import Change, Record, State
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, Health, Source, Verdict
from streamauc.rules.tallies import Tally
from streamauc.window import Window

MAX_STEPS = 1_000_000


class Moving(Source, Protocol):
    """A source whose time is moved, forwards only."""

    def move(self, now: float) -> None:
        """Make it `now`: from here on the source answers as it would have then."""


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert from when it fired to when it ended; `end` is None if it had not by then."""

    key: Key
    start: float
    end: float | None
    reason: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """All changes of state, in the order of time, and the records after the last evaluation."""

    n_evaluations: int
    changes: Sequence[tuple[Key, Change]]
    records: Mapping[Key, Record]

    @property
    def firings(self) -> list[Firing]:
        """When each alert fired, RECOVERING included. O(number of changes)."""
        open_since: dict[Key, Change] = {}
        found: list[Firing] = []
        for key, change in self.changes:
            fires = change.after in (State.FIRING, State.RECOVERING)
            if fires:
                open_since.setdefault(key, change)
            elif key in open_since:
                found.append(_firing(key, open_since.pop(key), change.at))
        found += [_firing(key, change, None) for key, change in open_since.items()]
        return sorted(found, key=lambda one: (one.start, one.key))


def _firing(key: Key, change: Change, end: float | None) -> Firing:
    return Firing(key, change.at, end, change.reason, change.value)


def times(start: float, end: float, every: float) -> Sequence[float]:
    """Return when is evaluated: from `start`, every so often, up to and with `end`."""
    if not every > 0 or not start <= end:
        raise ValueError(f"every must be positive and end not before start, got {every!r} s")
    n_steps = (end - start) / every
    if not n_steps < MAX_STEPS:
        raise ValueError(f"every must give at most {MAX_STEPS} evaluations, got {n_steps:.4g}")
    return [start + number * every for number in range(math.floor(n_steps) + 1)]


class Stepper:
    """Evaluates a file again and again, each time with the records of the time before."""

    def __init__(self, file: RulesFile, source: Moving) -> None:
        self._file = file
        self._source = source
        self.records: dict[Key, Record] = {}
        self.changes: list[tuple[Key, Change]] = []

    def step(self, now: float) -> list[Result]:
        """Move the source to `now` and evaluate."""
        self._source.move(now)
        results = evaluate(self._file, self._source, self.records)
        self.records = {result.key: result.record for result in results}
        self.changes += [
            (result.key, result.change) for result in results if result.change is not None
        ]
        return results


def backtest(
    file: RulesFile, source: Moving, *, start: float, end: float, every: float
) -> Backtest:
    """Evaluate from `start` to `end` and return what changed. Raises ValueError for bad times."""
    stepper = Stepper(file, source)
    moments = times(start, end, every)
    for now in moments:
        stepper.step(now)
    return Backtest(
        n_evaluations=len(moments), changes=tuple(stepper.changes), records=stepper.records
    )


class AsOf:
    """A stored source as at an earlier time: windows end at the last pane that was complete.

    Nothing of the future is seen. What was not stored can't be known: labels count as known from
    the beginning, even those that came late; rejected events and the writers' flushes are not
    known, so rules about them have no data; and named references are those of today. Detectors
    start anew.

    `pane_seconds` is the finest pane of the source. Where finer panes have expired, one that
    reaches beyond the moment is an error: step by whole panes of those that are left.
    """

    def __init__(self, source: Source, *, pane_seconds: float = 60.0) -> None:
        self._source = source
        self._pane_seconds = pane_seconds
        self._now = -math.inf
        self._detectors = Detectors()

    def move(self, now: float) -> None:
        """Make it `now`."""
        self._now = now

    def now(self) -> float:
        """Return the time that was set."""
        return self._now

    def series(self) -> Sequence[Labels]:
        """Return the labels of every series there is today."""
        return self._source.series()

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end) that were complete by then."""
        limit = math.floor(self._now / self._pane_seconds) * self._pane_seconds
        end = min(end, limit)
        window = self._source.window(labels, min(start, end), end)
        if window.end > limit:
            raise ValueError(
                f"window must end by {limit!r} to be known then, but the panes that are left there"
                f" reach to {window.end!r}: step by whole panes of those"
            )
        return window

    def health(self, labels: Labels) -> Health:
        """Return what is known of then: the newest event, to the end of its pane."""
        return Health(
            newest_event=newest_event(lambda *span: self.window(labels, *span), self._now)
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
            read=lambda start, end: self.window(labels, start, end),
            now=now,
        )
