"""What changed since a reference, in words, in marks and as plain values."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from streamauc import _time
from streamauc.change.compare import Comparison, compare
from streamauc.cli.against import Sighting, Watch
from streamauc.history import History
from streamauc.monitor import Monitor
from streamauc.window import JsonValue, Window

_SIGNS = {"up": "▲", "down": "▼"}


@dataclass(frozen=True, slots=True)
class Episode:
    """Alarms of one direction that follow each other, and what they were about."""

    sightings: Sequence[Sighting]
    comparison: Comparison

    @property
    def first(self) -> Sighting:
        """The first alarm."""
        return self.sightings[0]

    @property
    def last(self) -> Sighting:
        """The last alarm."""
        return self.sightings[-1]


@dataclass(frozen=True, slots=True)
class Since:
    """A reference window, all mature that came after it, and what a watch saw there."""

    reference: Window
    rest: Window
    episodes: tuple[Episode, ...]
    zone: tzinfo
    is_cut: bool
    is_on: bool

    @classmethod
    def of(cls, monitor: Monitor, watch: Watch, end: float, zone: tzinfo) -> "Since":
        """Compare what follows a reference with it. Raises ValueError if nothing does."""
        reference = watch.reference(monitor)
        if reference.end >= end:
            raise ValueError(f"--reference must end before the last event, got {watch.text!r}")
        # Where labels are outstanding, those known are no fair sample of what will come.
        recent = monitor.window(min(watch.mature_until, end), end)
        is_cut = recent.coverage < watch.min_coverage
        until = max(watch.mature_until, reference.end) if is_cut else end
        episodes = tuple(
            _episode(monitor, reference, list(group), until)
            for _, group in itertools.groupby(watch.found, lambda one: one.direction)
        )
        rest = monitor.window(reference.end, until)
        return cls(reference, rest, episodes, zone, is_cut, watch.is_on)

    def marks(self, history: History) -> list[str]:
        """Return for each window which way the class ratio was seen to move in it, if at all."""
        seen = [one for episode in self.episodes for one in episode.sightings]
        return [
            "".join(
                dict.fromkeys(
                    _SIGNS[one.direction] for one in seen if window.start <= one.moment < window.end
                )
            )
            for window in history.windows
        ]

    def story(self, thresholds: Sequence[float]) -> str:
        """Return in words what changed."""
        lines = [self._comparison(thresholds).explain()]
        if self.is_cut:
            lines.append(
                f"Compared up to {self._day(self.rest.end)}: of what came later too few labels are"
                " known, and those known early are not a fair sample."
            )
        if not self.is_on:
            lines.append("Class ratio: not watched, too few labels of the reference are known.")
        elif not self.episodes:
            lines.append("Class ratio: not seen to move by more than it varies in the reference.")
        return "\n".join([*lines, *(self._told(episode) for episode in self.episodes)])

    def steps(self, history: History) -> str:
        """Return a line a window: the class ratio and the ranking beside the reference."""
        lines = ["beside the reference  positives  class ratio      AUC  ranking"]
        drift = history.drift(self.reference)
        for window, found, mark in zip(
            history.windows, drift.comparisons, self.marks(history), strict=True
        ):
            if found is not None:
                lines.append(f"{self._day(window.start):<20}{_step(window, found)}{mark}".rstrip())
        return "\n".join(lines)

    def _told(self, episode: Episode) -> str:
        """Return an episode in one sentence on the class ratio and one on the ranking."""
        first, last = episode.first, episode.last
        again = f", and again until {self._day(last.moment)}" if last is not first else ""
        return (
            f"Class ratio: seen to move {first.direction} on {self._day(first.moment)},"
            f" to {first.prevalence:.1%} since about {self._day(first.began)}{again}."
            f" {_ranking(episode.comparison)}"
        )

    def to_dict(self, thresholds: Sequence[float]) -> dict[str, JsonValue]:
        """Return the comparison and the sightings as plain values for JSON."""
        sightings: list[JsonValue] = [
            {
                "seen": self._iso(one.moment),
                "began": self._iso(one.began),
                "direction": one.direction,
                "prevalence": one.prevalence,
            }
            for episode in self.episodes
            for one in episode.sightings
        ]
        return {
            **self._comparison(thresholds).to_dict(),
            "compared_until": self._iso(self.rest.end),
            "class_ratio_moved": sightings,
        }

    def _comparison(self, thresholds: Sequence[float]) -> Comparison:
        return compare(self.reference, self.rest, threshold=list(thresholds))

    def _day(self, moment: float) -> str:
        return f"{_time.utc(moment).astimezone(self.zone):%Y-%m-%d}"

    def _iso(self, moment: float) -> str:
        return _time.utc(moment).astimezone(self.zone).isoformat()


def _episode(
    monitor: Monitor, reference: Window, sightings: list[Sighting], until: float
) -> Episode:
    """Compare the span of alarms of one direction with the reference."""
    low = max(sightings[0].began, reference.end)
    high = max(min(sightings[-1].moment, until), low + 1)
    return Episode(sightings, compare(reference, monitor.window(low, high)))


def _step(window: Window, found: Comparison) -> str:
    """Return one window beside the reference; one that is immature is not judged."""
    share = f"{window.prevalence:11.1%}"
    if "immature" in window.caveats:
        return f"{share}  {window.coverage:.0%} of the labels are known: too early to say  "
    auc = found.roc_auc
    if auc.interval.high < 0:
        ranking = "worse"
    elif auc.interval.low > 0:
        ranking = "better"
    else:
        ranking = "no change seen"
    change = f"{100 * found.prevalence_difference:+.1f} points"
    return f"{share}  {change:>12}  {auc.current:7.3f}  {ranking:<16}"


def _ranking(comparison: Comparison) -> str:
    """Return in words whether the ranking changed as well."""
    auc = comparison.roc_auc
    values = f"AUC {auc.current:.3f}, in the reference {auc.reference:.3f}"
    if auc.interval.high < 0:
        return f"The ranking got worse, too ({values})."
    if auc.interval.low > 0:
        return f"That is no worse ranking: it is better ({values})."
    if auc.interval.low <= 0 <= auc.interval.high:
        return f"No change of the ranking is seen ({values})."
    return "Whether the ranking changed can't be said: a class is missing."
