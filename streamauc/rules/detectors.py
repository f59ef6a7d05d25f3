"""Detectors between evaluations: each pane is stepped once, when it is mature, whoever asks."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypedDict

from streamauc.advance import PaneStream, advance, check_grain
from streamauc.change.detect import PrevalenceDetector
from streamauc.change.ranking_detector import RankingDetector
from streamauc.change.reference import ReferencePanes
from streamauc.change.shift_detector import ShiftDetector
from streamauc.change.verdict import State
from streamauc.histogram import ScoreHistogram
from streamauc.rules.model import Detection, DetectorName, Key
from streamauc.rules.selector import Labels
from streamauc.rules.source import Verdict
from streamauc.tiers import Tier
from streamauc.window import Window

ReadSpan = Callable[[float, float], Window]
Detector = PrevalenceDetector | RankingDetector | ShiftDetector
Known = float | Window | ScoreHistogram | ReferencePanes
CLASSES: Mapping[DetectorName, type[Detector]] = {
    "prevalence": PrevalenceDetector,
    "ranking": RankingDetector,
    "shift": ShiftDetector,
}


class _Common(TypedDict):
    tolerance: float
    false_alarm_every: float
    pane_seconds: int
    level: float
    min_coverage: float
    stall_after: float


class References(Protocol):
    """What a detector is started with; part of a `Source`."""

    def tiers(self, labels: Labels) -> tuple[Tier, ...]:
        """Return the tiers of a series, from finest to coarsest."""

    def reference(self, name: str, labels: Labels) -> Window | ScoreHistogram:
        """Return a named reference for a series. Raises LookupError if there is none."""

    def reference_panes(self, name: str, labels: Labels, pane_seconds: int) -> ReferencePanes:
        """Return a named reference pane by pane. Raises LookupError if there is none."""


def start(detection: Detection, reference: Known) -> Detector:
    """Return a fresh detector. Raises TypeError for a reference that it can't be started with."""
    if detection.detector == "prevalence":
        return _of_prevalence(detection, reference)
    if isinstance(reference, ReferencePanes):
        raise TypeError(f"reference must be a histogram for {detection.subject}, got panes")
    common: _Common = {
        "tolerance": detection.tolerance,
        "false_alarm_every": detection.false_alarm_every,
        "pane_seconds": detection.pane_seconds,
        "level": detection.level,
        "min_coverage": detection.min_coverage,
        "stall_after": detection.stall_after,
    }
    if detection.detector == "ranking":
        return RankingDetector(reference, **common)
    if isinstance(reference, float | int):
        raise TypeError(f"reference must be a name for a shift detector, got {reference!r}")
    return ShiftDetector(reference, **common)


def check_panes(detection: Detection, references: References, labels: Labels) -> None:
    """Raise ValueError if no pane of a detector can be read once its labels are mature."""
    check_grain(detection.pane_seconds, references.tiers(labels), detection.offset)


def _of_prevalence(detection: Detection, reference: Known) -> PrevalenceDetector:
    return PrevalenceDetector(
        reference,
        tolerance=detection.tolerance,
        false_alarm_every=detection.false_alarm_every,
        pane_seconds=detection.pane_seconds,
        level=detection.level,
        seasonal=detection.seasonal,
        phase=detection.phase,
        overdispersion=detection.overdispersion,
        min_coverage=detection.min_coverage,
        stall_after=detection.stall_after,
    )


@dataclass(slots=True)
class Progress:
    """A detector and where its first pane begins; all there is to store of it."""

    detector: Detector
    since: float

    @classmethod
    def begin(
        cls, detection: Detection, references: References, labels: Labels, now: float
    ) -> "Progress":
        """Start a detector; its first pane is the last that is mature at `now`."""
        name = detection.reference
        reference: Known
        if not isinstance(name, str):
            reference = name
        elif detection.needs_panes:
            reference = references.reference_panes(name, labels, detection.pane_seconds)
        else:
            reference = references.reference(name, labels)
        n_mature = math.floor((now - detection.offset) / detection.pane_seconds)
        since = (n_mature - 1) * float(detection.pane_seconds)
        return cls(start(detection, reference), since)

    def advance(self, detection: Detection, read: ReadSpan, now: float) -> None:
        """Step every pane that became mature, see `advance.advance`. O(their number)."""
        # Once a pane is as old as the offset, labels are known to have had their time.
        stream = PaneStream(read, self.since, now - detection.offset, label_delay=0.0)
        if advance(self.detector, stream) is State.ALARM:
            advance(self.detector, stream)  # an alarm ends the first call, however much is left

    @property
    def until(self) -> float:
        """The end of the last pane that its state is of, ``-inf`` before the first."""
        alarm, last = self.detector.alarm, self.detector.last_pane
        pane = last if alarm is None else alarm.pane
        return -math.inf if pane is None else (pane + 1.0) * self.detector.pane_seconds

    @property
    def verdict(self) -> Verdict:
        """What the detector says now."""
        detector = self.detector
        evidence = detector.evidence
        share = math.nan  # until there was a pane to tell anything
        if evidence.panes.size:
            share = math.exp(min(700.0, max(float(evidence.up[-1]), float(evidence.down[-1]))))
        return Verdict(detector.state, share, detector.reason)


class Detectors:
    """Keeps detectors in memory, by rule and series."""

    def __init__(self) -> None:
        self._kept: dict[Key, tuple[Detection, Progress]] = {}

    def detect(
        self,
        key: Key,
        detection: Detection,
        labels: Labels,
        *,
        references: References,
        read: ReadSpan,
        now: float,
    ) -> Verdict:
        """Advance a detector to `now`; start it if it is new or its settings have changed."""
        check_panes(detection, references, labels)
        kept = self._kept.get(key)
        if kept is None or kept[0] != detection:
            kept = (detection, Progress.begin(detection, references, labels, now))
            self._kept[key] = kept
        kept[1].advance(detection, read, now)
        return kept[1].verdict

    def acknowledge(self, key: Key) -> None:
        """End an alarm and start its evidence anew. Raises KeyError for a detector not kept."""
        self._kept[key][1].detector.acknowledge()
