"""``replay --reference``: what changed since, and when the class ratio was seen to move."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from streamauc import _time
from streamauc.change.compare import Comparison, compare
from streamauc.change.detect import PrevalenceDetector
from streamauc.change.reference import ReferencePanes
from streamauc.change.verdict import State
from streamauc.cli.plan import parse_moment
from streamauc.history import History
from streamauc.monitor import Monitor
from streamauc.window import JsonValue, Window

_DAY = 86_400
# With so many panes of a day a reference tells how much days vary.
_FEWEST_PANES = 20


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


@dataclass(frozen=True, slots=True)
class Since:
    """A reference window, all that came after it, and when the class ratio was seen to move."""

    reference: Window
    rest: Window
    found: tuple[Sighting, ...]
    zone: tzinfo

    @classmethod
    def of(
        cls, monitor: Monitor, span: str, end: float, pane_seconds: int, zone: tzinfo
    ) -> "Since":
        """Compare what follows the span START..END with it. Raises ValueError if nothing does."""
        low, high = parse_span(span, zone)
        reference = monitor.window(low, high)
        if reference.end >= end:
            raise ValueError(f"--reference must end before the last event, got {span!r}")
        found = _sightings(monitor, reference, end, pane_seconds)
        return cls(reference, monitor.window(reference.end, end), tuple(found), zone)

    def marks(self, history: History) -> list[str]:
        """Return for each window which way the class ratio was seen to move in it, if at all."""
        signs = {"up": "▲", "down": "▼"}
        return [
            "".join(
                dict.fromkeys(
                    signs[one.direction]
                    for one in self.found
                    if window.start <= one.moment < window.end
                )
            )
            for window in history.windows
        ]

    def story(self, thresholds: Sequence[float]) -> str:
        """Return in words what changed."""
        seen = [
            self._sentence(list(group))
            for _, group in itertools.groupby(self.found, lambda one: one.direction)
        ]
        quiet = ["Class ratio: not seen to move by more than it varies in the reference."]
        return "\n".join([self._comparison(thresholds).explain(), *(seen or quiet)])

    def _sentence(self, group: Sequence[Sighting]) -> str:
        """Return one sentence for alarms of one direction that follow each other."""
        first, last = group[0], group[-1]
        again = f", and again until {self._day(last.moment)}" if last is not first else ""
        return (
            f"Class ratio: seen to move {first.direction} on {self._day(first.moment)},"
            f" to {first.prevalence:.1%} since about {self._day(first.began)}{again}."
        )

    def to_dict(self, thresholds: Sequence[float]) -> dict[str, JsonValue]:
        """Return the comparison and the sightings as plain values for JSON."""
        sightings: list[JsonValue] = [
            {
                "seen": _time.utc(one.moment).astimezone(self.zone).isoformat(),
                "began": _time.utc(one.began).astimezone(self.zone).isoformat(),
                "direction": one.direction,
                "prevalence": one.prevalence,
            }
            for one in self.found
        ]
        return {**self._comparison(thresholds).to_dict(), "class_ratio_moved": sightings}

    def _comparison(self, thresholds: Sequence[float]) -> Comparison:
        return compare(self.reference, self.rest, threshold=list(thresholds))

    def _day(self, moment: float) -> str:
        return f"{_time.utc(moment).astimezone(self.zone):%Y-%m-%d}"


def _sightings(
    monitor: Monitor, reference: Window, end: float, pane_seconds: int
) -> list[Sighting]:
    """Fold a detector over the panes after the reference; it starts anew after each alarm.

    Panes are of a day if the reference has twenty, else of the replay's own length. It is
    promised a false alarm in ten spans of the reference, and takes from the reference how much
    more than binomially counts vary.
    """
    length = reference.end - reference.start
    pane = _DAY if length >= _FEWEST_PANES * _DAY else pane_seconds
    before = monitor.history(pane, start=reference.start, end=reference.end)
    detector = PrevalenceDetector(
        ReferencePanes(
            [round(window.start // pane) for window in before.windows],
            [window.n_pos for window in before.windows],
            [window.n_neg for window in before.windows],
        ),
        pane_seconds=pane,
        false_alarm_every=10 * length,
        stall_after=1_000 * length,
        overdispersion="estimate",
    )
    found: list[Sighting] = []
    half = pane / 2  # a pane is named by its middle, so that a day keeps its date in any zone
    for window in monitor.history(pane, start=reference.end, end=end).windows:
        state = detector.step(round(window.start // pane), int(window.n_pos), int(window.n_neg))
        alarm = detector.alarm
        if state is State.ALARM and alarm is not None:
            found.append(
                Sighting(
                    window.start + half,
                    alarm.began * pane + half,
                    alarm.direction,
                    alarm.prevalence,
                )
            )
            detector.acknowledge()
    return found
