"""A recorded stream as a source: it is fed to monitors as it arrived, while time is moved."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from streamauc.monitor import Monitor
from streamauc.rules.memory import MonitorSource, NamedReference
from streamauc.rules.model import series_key
from streamauc.rules.selector import Labels

MakeMonitor = Callable[[Callable[[], float]], Monitor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What arrived at a moment, `count` times.

    With a score and a label it is an event whose outcome is known; with a key and a score a
    prediction; with a key and a label its outcome. `timestamp` is the event time, `at` unless
    given.
    """

    at: float
    series: Labels
    score: float | None = None
    label: Hashable | None = None
    key: Hashable | None = None
    timestamp: float | None = None
    count: int = 1

    def feed(self, monitor: Monitor) -> None:
        """Give it to a monitor. Raises what the monitor raises."""
        moment = self.at if self.timestamp is None else self.timestamp
        for _ in range(self.count):
            if self.key is None:
                monitor.update(self.label, self.score, moment)  # type: ignore[arg-type]
            elif self.label is None:
                monitor.predict(self.key, self.score, moment)  # type: ignore[arg-type]
            else:
                monitor.resolve(self.key, self.label)


class Replay(MonitorSource):
    """Monitors that have received what had arrived by now; a source that can be moved.

    * `arrivals`: in any order; those of one moment keep theirs.
    * `series`: those that have no arrivals, too.
    * `make`: makes a monitor from its clock; the default skips bad events and counts them.
    * `start`: when counting begins: with the first arrival unless given.

    Moving costs what feeding the monitors costs.
    """

    def __init__(
        self,
        arrivals: Iterable[Arrival],
        *,
        series: Iterable[Labels] = (),
        make: MakeMonitor | None = None,
        start: float | None = None,
        references: Mapping[str, NamedReference] | None = None,
    ) -> None:
        self._arrivals = sorted(arrivals, key=lambda arrival: arrival.at)
        self._fed = 0
        first = self._arrivals[0].at if self._arrivals else math.inf
        first = first if start is None else min(first, start)
        self._now = first if first < math.inf else 0.0
        labels = [*series, *(arrival.series for arrival in self._arrivals)]
        found = {series_key(one): one for one in labels}
        build = _monitor if make is None else make
        super().__init__(
            [(one, build(self.now)) for one in found.values()],
            clock=self.now,
            references=references,
        )

    def now(self) -> float:
        """Return the time that was set."""
        return self._now

    def due(self, moment: float) -> float:
        """Return `moment`: it can tell of any time."""
        return moment

    def move(self, now: float) -> None:
        """Feed what arrived up to and at `now`, at the moments at which it did."""
        while self._fed < len(self._arrivals) and self._arrivals[self._fed].at <= now:
            arrival = self._arrivals[self._fed]
            self._now = max(self._now, arrival.at)
            arrival.feed(self.monitor(arrival.series))
            self._fed += 1
        self._now = max(self._now, now)


def _monitor(clock: Callable[[], float]) -> Monitor:
    return Monitor(clock=clock, bad="skip")
