"""The alarm of the scores: tells when a class is scored differently, and which one."""

from dataclasses import dataclass
from typing import Literal, final

from streamauc.change.bets import NullMean
from streamauc.change.detector_state import AlarmRow
from streamauc.change.rank_fold import RankFold
from streamauc.change.rank_reference import RankTable
from streamauc.change.rank_sizes import NEGATIVES, POSITIVES
from streamauc.change.rank_state import RankState
from streamauc.change.rank_track import Track
from streamauc.change.sources import Source, histogram_of
from streamauc.change.verdict import Evidence, found_words
from streamauc.histogram import ScoreHistogram

ClassName = Literal["positives", "negatives"]
_LABELS = {"positives": POSITIVES, "negatives": NEGATIVES}


@dataclass(frozen=True, slots=True)
class ShiftAlarm:
    """A shift of the scores of one class, found at `pane`, that most likely began at `began`.

    `which` is the class that moved, ``"positives"`` or ``"negatives"``, and `direction` is
    ``"up"`` or ``"down"``. `n` of its events count from `began` to `pane`, and `mean_rank` is
    their mean rank among the reference's, 0.5 where nothing changed.
    """

    pane: int
    which: str
    direction: str
    began: int
    n: float
    mean_rank: float


@final
class ShiftDetector(RankFold[Source]):
    """Tells when the scores of a class move away from a reference, and names the class.

    A fold over panes: each is stepped once, in the order of time, whoever polls, when its
    labels are mature. The promise: given that the intervals of the reference hold the truth,
    which they do together with probability `level` or more, the mean time to a false alarm is
    at least `false_alarm_every`, however often it is polled. It holds for all distributions of
    the scores and all numbers of events; the proof is in `bets` and `rank_reference`. It
    supposes that the events are independent, and that which of them are labelled does not
    depend on their scores. Where scores have a rhythm, or differ from pane to pane by more than
    chance, a `tolerance` has to cover it. With weights it is an approximation.

    Each event is ranked among those of its class in the reference, and the mean rank is
    followed, for positives and negatives, up and down. So a change of the class ratio is no
    evidence, a recalibration is, and a change of the spread that leaves the mean rank as it is
    is not found.

    Parameters, all but the first by keyword:

    * `reference`: a histogram or a `Window`. Panes may be on any scale of the same kind; the
      coarser one is used.
    * `tolerance`: a change of the mean rank that is of no interest, see `nulls`. A shift by a
      tenth of the standard deviation changes it by 0.03.
    * `ratios`: the grid of odds ratios ``rank / (1 - rank)`` upwards; downwards the reciprocals.
    * `false_alarm_every`, `pane_seconds`, `level`, `min_coverage`, `stall_after`, `history`: as
      for the `RankingDetector`.

    The alarm is of the class with the most evidence; `evidence_of` has that of either. Late
    counts, merging and threads: as for the `PrevalenceDetector`.

    >>> from streamauc import Scale
    >>> def pane(shift):  # ten positives among a hundred negatives
    ...     scores = [k + shift for k in range(100)] + [60.0 + 10 * k for k in range(10)]
    ...     return ScoreHistogram.from_scores([0] * 100 + [1] * 10, scores, scale=Scale.exact())
    >>> detector = ShiftDetector(ScoreHistogram.merge([pane(0)] * 50))
    >>> [detector.step(k, pane(0 if k < 10 else 15)).value for k in range(20)].index("alarm")
    11
    >>> alarm = detector.alarm
    >>> alarm.which, alarm.direction, alarm.began, alarm.n, round(alarm.mean_rank, 3)
    ('negatives', 'up', 10, 200.0, 0.639)
    """

    _kind = "scores"
    _track_names = tuple(_LABELS)
    _wanted = "events"
    _unknown = ("the reference holds no events", "the reference is too small to tell anything")

    def _learn(self, reference: Source) -> None:
        histogram = histogram_of("reference", reference)
        settings = self._settings
        tables = _tables(histogram)
        # Both intervals hold at once with probability `level` (Bonferroni).
        level = 1 - (1 - settings.level) / len(tables)
        self._begin(
            {
                name: Track(table.null(level, settings.tolerance), settings)
                for name, table in tables.items()
            }
        )
        self._reference, self._tables = histogram, tables

    def _resume(self, found: RankState) -> None:
        reference = found.kept.get("reference")
        if reference is None:
            raise ValueError("data is malformed: there is no reference")
        self._begin(found.tracks)
        self._reference, self._tables = reference, _tables(reference)

    def _state(self) -> tuple[dict[str, ScoreHistogram], dict[str, int]]:
        return {"reference": self._reference}, {}

    def _check_fits(self, histogram: ScoreHistogram) -> None:
        mine, other = self._reference.scale, histogram.scale
        if mine.kind != other.kind:
            raise ValueError(f"histogram must be on a scale like {mine}, got {other}")

    def _fold(self, pane: int, histogram: ScoreHistogram) -> bool:
        found = self._on_common_scale(histogram)
        told = False
        for name, label in _LABELS.items():
            parts = self._tables[name].parts(found, label)
            if parts is not None:
                self._tracks[name].fold(pane, parts, parts.n)
                told = True
        self._seen.n_empty += not told
        return told

    def _on_common_scale(self, histogram: ScoreHistogram) -> ScoreHistogram:
        mine, other = self._reference.scale, histogram.scale
        if mine is other or mine == other:
            return histogram
        scale = mine.common(other)
        if scale != mine:  # ranks among fewer, larger ties are ranks as well
            self._reference = self._reference.rebinned(scale)
            self._tables = _tables(self._reference)
        return histogram.rebinned(scale)

    @property
    def alarm(self) -> ShiftAlarm | None:
        """The alarm that has not been acknowledged, as it was when it came."""
        return None if self._found is None else _alarm(*self._found)

    @property
    def nulls(self) -> dict[str, NullMean]:
        """The mean ranks of each class at which nothing is reported."""
        return {name: track.null for name, track in self._tracks.items()}

    def evidence_of(self, which: ClassName) -> Evidence:
        """Return the evidence on one class after each of the last panes. O(history)."""
        if which not in self._tracks:
            raise ValueError(f"which must be positives or negatives, got {which!r}")
        return self._evidence(self._tracks[which])

    def _alarm_words(self, name: str, row: AlarmRow) -> str:
        alarm = _alarm(name, row)
        (other,) = self._tracks.keys() - {name}
        verb = "rose" if alarm.direction == "up" else "fell"
        return (
            f"the scores of the {name} {verb}: mean rank {alarm.mean_rank:.4g} in the reference,"
            f" where {self._tracks[name].null} is expected, over {alarm.n:.0f} events"
            f" {found_words(alarm.began, alarm.pane, self.pane_seconds)}; {self._shares(other)}"
        )

    def _quiet_words(self) -> str:
        return f"the scores agree with the reference: {self._shares(*self._tracks)}"

    def _shares(self, *names: str) -> str:
        shares = [f"{self._share(self._tracks[name]):.2g} ({name})" for name in names]
        return f"{' and '.join(shares)} of the evidence for an alarm"


def _tables(histogram: ScoreHistogram) -> dict[str, RankTable]:
    return {name: RankTable.of(histogram, label) for name, label in _LABELS.items()}


def _alarm(name: str, row: AlarmRow) -> ShiftAlarm:
    pane, began, rises, n, mean_rank = row
    return ShiftAlarm(pane, name, "up" if rises else "down", began, n, mean_rank)
