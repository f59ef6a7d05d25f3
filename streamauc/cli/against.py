"""``replay --reference``: a detector that watches what follows, and when it saw a move."""

from dataclasses import dataclass
from datetime import tzinfo

from streamauc.change.detect import PrevalenceDetector
from streamauc.change.reference import ReferencePanes
from streamauc.change.verdict import Alarm, Evidence, State
from streamauc.cli.plan import parse_moment
from streamauc.monitor import Monitor
from streamauc.window import Window

_DAY = 86_400
# With so many panes of a day a reference tells how much days vary.
_FEWEST_PANES = 20
_PLOTTED_PANES = 10_000


@dataclass(frozen=True, slots=True)
class Sighting:
    """When the class ratio was seen to move, which way, and since when it had."""

    moment: float
    began: float
    direction: str
    prevalence: float


def parse_span(text: str, zone: tzinfo | None) -> tuple[float, float]:
    """Return the span that START..END names; dates are midnights in `zone`."""
    start, dots, end = text.partition("..")
    if not dots or not start or not end:
        raise ValueError(f"--reference must be START..END, got {text!r}")
    low = parse_moment("--reference", start, zone, 0.0)
    high = parse_moment("--reference", end, zone, 0.0)
    if not low < high:
        raise ValueError(f"--reference must end after it starts, got {text!r}")
    return low, high


class Watch:
    """Folds a detector over the panes after a reference, as their labels become known.

    Panes are of a day if the reference has twenty, else the finest there are. The detector is
    promised a false alarm in ten spans of the reference, and takes from the reference how much
    more than binomially counts vary. It starts anew after each alarm.
    """

    def __init__(self, text: str, start: float, end: float, min_coverage: float) -> None:
        self.text = text
        self.start, self.end = start, end
        self.min_coverage = min_coverage
        self.found: list[Sighting] = []
        self._detector: PrevalenceDetector | None = None

    @classmethod
    def parse(cls, text: str, zone: tzinfo | None, min_coverage: float) -> "Watch":
        """Return the watch for START..END. Raises ValueError for another text."""
        return cls(text, *parse_span(text, zone), min_coverage)

    def reference(self, monitor: Monitor) -> Window:
        """Return the window of the reference."""
        return monitor.window(self.start, self.end)

    def poll(self, monitor: Monitor, moment: float | None) -> None:
        """Step the detector over what has matured.

        `moment` is what time it is; None when all is polled afterwards, and a move is then taken
        to be seen in the middle of the pane that shows it, so that a day keeps its date in any
        zone.
        """
        if self._detector is None and (moment is None or moment >= self.end):
            self._detector = self._started(monitor)
        if self._detector is None:
            return
        while monitor.advance(self._detector) is State.ALARM:
            alarm = self._detector.alarm
            if alarm is not None:
                self.found.append(self._sighting(alarm, moment))
            self._detector.acknowledge()

    def _sighting(self, alarm: Alarm, moment: float | None) -> Sighting:
        pane = self.pane_seconds
        seen = (alarm.pane + 0.5) * pane if moment is None else moment
        return Sighting(seen, (alarm.began + 0.5) * pane, alarm.direction, alarm.prevalence)

    def _started(self, monitor: Monitor) -> PrevalenceDetector | None:
        """Return a detector that begins behind the reference, once that is mature."""
        pane = self._pane(monitor)
        last = monitor.window(self.end - pane, self.end)
        if min(self.reference(monitor).coverage, last.coverage) < self.min_coverage:
            return None
        length = self.end - self.start
        panes = monitor.history(pane, start=self.start, end=self.end)
        detector = PrevalenceDetector(
            ReferencePanes(
                [round(window.start // pane) for window in panes.windows],
                [window.n_pos for window in panes.windows],
                [window.n_neg for window in panes.windows],
            ),
            pane_seconds=pane,
            false_alarm_every=10 * length,
            stall_after=1_000 * length,
            overdispersion="estimate",
            min_coverage=self.min_coverage,
            history=_PLOTTED_PANES,
        )
        detector.step(int(-(-self.end // pane)) - 1, 0, 0)  # all before the next pane is closed
        return detector

    def _pane(self, monitor: Monitor) -> int:
        finest = monitor.tiers[0].pane_seconds
        is_long = self.end - self.start >= _FEWEST_PANES * _DAY
        return _DAY if is_long and _DAY % finest == 0 else finest

    @property
    def is_on(self) -> bool:
        """Whether the reference matured, so that there is a detector."""
        return self._detector is not None

    @property
    def pane_seconds(self) -> int:
        """Length of the detector's panes; 0 before there is one."""
        return 0 if self._detector is None else self._detector.pane_seconds

    @property
    def evidence(self) -> Evidence | None:
        """The evidence of the last panes, to plot; None before there is a detector."""
        return None if self._detector is None else self._detector.evidence

    @property
    def mature_until(self) -> float:
        """Where the last pane ends whose labels were known well enough."""
        if self._detector is None or self._detector.last_pane is None:
            return self.end
        return float((self._detector.last_pane + 1) * self.pane_seconds)
