"""What the detectors of ranks have in common: panes in, a state out, and the promise kept."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from streamauc import _check, codec
from streamauc._time import Duration, duration
from streamauc.change import rank_state
from streamauc.change.detector_state import AlarmRow
from streamauc.change.pane_fold import PaneFold, check_pane
from streamauc.change.rank_state import RankState
from streamauc.change.rank_track import Track
from streamauc.change.seen import Seen
from streamauc.change.settings import RATIOS, Settings
from streamauc.change.verdict import Evidence, State
from streamauc.histogram import ScoreHistogram

ReferenceT = TypeVar("ReferenceT")


class RankFold(PaneFold, Generic[ReferenceT]):
    """A fold over panes that bets on means of ranks, one `Track` for each.

    A detector says what the tracks are, what a pane tells each of them, and how to put it into
    words. With k sides in all, two a track, an alarm comes when the mean of a side's evidence
    over the grid reaches k times the run length that is promised: a k-th of the sum of all
    sides has reached the run length by then, and grows by at most 1 a pane.
    """

    _kind: ClassVar[str]
    _track_names: ClassVar[tuple[str, ...]]
    _counter_names: ClassVar[tuple[str, ...]] = ()
    # What a pane must hold so that it tells anything, and what is not known without a reference.
    _wanted: ClassVar[str]
    _unknown: ClassVar[tuple[str, str]]

    def __init__(
        self,
        reference: ReferenceT,
        *,
        tolerance: float = 0.0,
        false_alarm_every: Duration = "30d",
        pane_seconds: int = 300,
        level: float = 0.99,
        min_coverage: float = 0.95,
        stall_after: Duration = "1d",
        history: int = 288,
        ratios: Sequence[float] = RATIOS,
    ) -> None:
        self._settings = Settings(
            tolerance=_check.number("tolerance", tolerance),
            false_alarm_every=duration("false_alarm_every", false_alarm_every),
            pane_seconds=pane_seconds,
            level=level,
            season=0,
            phase=pane_seconds,
            overdispersion=1.0,
            min_coverage=_check.number("min_coverage", min_coverage),
            stall_after=duration("stall_after", stall_after),
            history=history,
            ratios=tuple(_check.finite("ratios", ratio) for ratio in ratios),
        )
        self._learn(reference)

    def _begin(self, tracks: Mapping[str, Track]) -> None:
        """Start anew with tracks."""
        self._tracks = dict(tracks)
        settings, n_sides = self._settings, 2 * len(self._tracks)
        self._threshold = n_sides * settings.run_length * len(settings.ratios)
        self._seen = Seen()
        self._found: tuple[str, AlarmRow] | None = None
        self._fault = self._look_for_fault()

    def _look_for_fault(self) -> str | None:
        tracks = self._tracks.values()
        if not all(track.bets.is_blind for track in tracks):
            return None
        is_empty = all(math.isnan(track.null.value) for track in tracks)
        return self._unknown[0 if is_empty else 1]

    @abstractmethod
    def _learn(self, reference: ReferenceT) -> None:
        """Begin with a reference, or raise ValueError or TypeError and change nothing."""

    @abstractmethod
    def _resume(self, found: RankState) -> None:
        """Begin with what was written; raise ValueError if it is no state of this detector."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, ScoreHistogram], dict[str, int]]:
        """Return the histograms and the integers that are to be written."""

    @abstractmethod
    def _check_fits(self, histogram: ScoreHistogram) -> None:
        """Raise ValueError for a histogram that cannot be taken in."""

    @abstractmethod
    def _fold(self, pane: int, histogram: ScoreHistogram) -> bool:
        """Tell the tracks of a pane that is new and mature; return whether there was anything."""

    @abstractmethod
    def _alarm_words(self, name: str, row: AlarmRow) -> str:
        """Return what an alarm of a track says."""

    @abstractmethod
    def _quiet_words(self) -> str:
        """Return what is known while there is no alarm."""

    def step(self, pane: int, histogram: ScoreHistogram, *, coverage: float = 1.0) -> State:
        """Take in the labelled events of a mature pane and return the state. O(n_bins).

        Panes may be missing; one at or before the last one is ignored. A `coverage` (labelled
        share of the predictions) below `min_coverage`, or ``nan``, leaves the pane open: it may
        come again, until a later one is taken in. Raises ValueError or TypeError for what is no
        pane or no histogram of two classes that fits those before, whatever the state; no
        counts raise.
        """
        pane = check_pane(pane)
        if not isinstance(histogram, ScoreHistogram):
            got = _check.plain(histogram)
            raise TypeError(f"histogram must be a ScoreHistogram, got {got!r}")
        if histogram.n_classes != 2:
            raise ValueError(f"histogram must have two classes, got {histogram.n_classes}")
        self._check_fits(histogram)
        mature = coverage >= self._settings.min_coverage
        if self._seen.admits(pane, mature) and self._fault is None and self._fold(pane, histogram):
            self._judge(pane)
        return self.state

    def _judge(self, pane: int) -> None:
        self._seen.folded = pane
        for track in self._tracks.values():
            track.note(pane)
        name, track = max(self._tracks.items(), key=lambda item: item[1].evidence)
        if self._found is None and track.evidence >= self._threshold:
            began, n, mean = track.since_start()
            self._found = name, (pane, began, track.rises, n, mean)

    @property
    def _is_alarmed(self) -> bool:
        return self._found is not None

    def _stall(self) -> str | None:
        if self._fault is not None:
            return self._fault
        found = self._seen.stall(self._settings)
        return found and found.replace("labelled events", f"labelled {self._missing()}", 1)

    def _missing(self) -> str:
        """Return what did not come while nothing could be folded."""
        return "events"

    @property
    def reason(self) -> str:
        """Why the state is what it is, in words."""
        if self._found is not None:
            return self._alarm_words(*self._found)
        if (stall := self._stall()) is not None:
            return stall
        if self._seen.folded is None:
            return f"no mature pane with {self._wanted} has come yet"
        return self._quiet_words()

    def _share(self, track: Track) -> float:
        """Return how much of the evidence for an alarm there is."""
        return track.evidence / self._threshold

    @property
    def evidence(self) -> Evidence:
        """The evidence after each of the last panes, of the track with most of it. O(history)."""
        found = [self._evidence(track) for track in self._tracks.values()]
        up = np.maximum.reduce([one.up for one in found])
        return Evidence(found[0].panes, up, np.maximum.reduce([one.down for one in found]))

    def _evidence(self, track: Track) -> Evidence:
        return self._evidence_of(track.history)

    def acknowledge(self) -> None:
        """End an alarm: keep the reference and the panes closed, start the evidence anew."""
        self._found = None
        for track in self._tracks.values():
            track.forget()

    def reset(self, reference: ReferenceT) -> None:
        """Start anew with another reference and the same settings; any pane may come next.

        Raises what the constructor raises, and changes nothing then.
        """
        self._learn(reference)

    def to_bytes(self) -> bytes:
        """Return settings, reference and evidence in the format that `codec` describes."""
        kept, counters = self._state()
        state = RankState(
            kind=self._kind,
            settings=self._settings,
            seen=self._seen,
            tracks=self._tracks,
            alarm=self._found,
            kept=kept,
            counters=counters,
        )
        return codec.encode_detector(rank_state.pack(state))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the detector that `to_bytes` wrote. Raises ValueError for other bytes."""
        found = rank_state.unpack(
            codec.decode_detector(data),
            kind=cls._kind,
            names=cls._track_names,
            counters=cls._counter_names,
        )
        self = cls.__new__(cls)
        self._settings = found.settings
        self._resume(found)
        self._seen, self._found = found.seen, found.alarm
        return self
