"""The alarm of the ranking: tells when positives stand out less, or more, than they did."""

import math
from dataclasses import dataclass
from typing import SupportsFloat, final

from streamauc import _check
from streamauc.change.bets import NullMean
from streamauc.change.detector_state import AlarmRow
from streamauc.change.rank_blocks import ENOUGH_PAIRS, auc_parts
from streamauc.change.rank_fold import RankFold
from streamauc.change.rank_sizes import NEGATIVES, POSITIVES, class_size
from streamauc.change.rank_state import RankState
from streamauc.change.rank_track import Track
from streamauc.change.settings import Settings
from streamauc.change.sources import Source, histogram_of
from streamauc.change.verdict import found_words
from streamauc.counts import threshold_counts
from streamauc.histogram import ScoreHistogram
from streamauc.metrics.intervals import roc_auc_interval
from streamauc.metrics.scalars import roc_auc

KnownAuc = SupportsFloat | Source
_AUC = "roc_auc"


@dataclass(frozen=True, slots=True)
class RankingAlarm:
    """A change of the AUC that was found at `pane` and most likely began at `began`.

    `direction` is ``"up"`` or ``"down"``; `n_pos` counts from `began` to `pane`, and `roc_auc` is
    the mean AUC of these panes, weighted by their positives.
    """

    pane: int
    direction: str
    began: int
    n_pos: float
    roc_auc: float


@final
class RankingDetector(RankFold[KnownAuc]):
    """Tells when the AUC leaves a reference, and keeps its false alarms rare.

    A fold over panes: each is stepped once, in the order of time, whoever polls, when its
    labels are mature. The promise: given that the reference's interval holds the truth, the
    mean time to a false alarm is at least `false_alarm_every`, however often it is polled. It
    holds for every AUC in the null, also one that wanders inside it, whatever the scores'
    distributions and however they change, and needs no large counts; the proof is in `bets` and
    `rank_blocks`. It supposes that the events of a pane are independent, those of one class
    with the same distribution, and that which of them are labelled does not depend on their
    scores. With weights it is an approximation.

    Each positive is ranked among the negatives of its own pane, so a recalibration that moves
    all scores alike, or a change of the class ratio, is no evidence. Panes with fewer than 16
    pairs of a positive and a negative are judged together with those behind them, taken as
    alike, over no longer than `stall_after`.

    Parameters, all but the first by keyword:

    * `reference`: an AUC that is known, a histogram or a `Window`, on a scale as fine as that
      of the panes.
    * `tolerance`: a change of the AUC that is of no interest; the null goes from
      ``low - tolerance`` to ``high + tolerance``.
    * `false_alarm_every`: the promise; a share of a `FalseAlarmBudget` with many detectors.
    * `pane_seconds`: length of a pane.
    * `level`: of the reference's interval, see `roc_auc_interval`.
    * `min_coverage`: panes of which fewer predictions are labelled are left out.
    * `stall_after`: how long nothing may be folded before the state is ``STALLED``.
    * `history`: how many panes of `evidence` are kept.
    * `ratios`: the grid of odds ratios ``AUC / (1 - AUC)`` upwards; downwards the reciprocals.

    Late counts, merging and threads: as for the `PrevalenceDetector`.

    >>> from streamauc import Scale
    >>> def pane(*ranks):  # positives among 100 negatives
    ...     scores = [k / 100 for k in range(100)] + [(rank - 0.5) / 100 for rank in ranks]
    ...     labels = [0] * 100 + [1] * len(ranks)
    ...     return ScoreHistogram.from_scores(labels, scores, scale=Scale.exact())
    >>> detector = RankingDetector(0.85)
    >>> [detector.step(k, pane(50, 60, 80, 90)).value for k in range(60)].index("alarm")
    10
    >>> alarm = detector.alarm
    >>> alarm.direction, alarm.began, alarm.n_pos, round(alarm.roc_auc, 3)
    ('down', 0, 44.0, 0.7)
    """

    _kind = "ranking"
    _track_names = (_AUC,)
    _counter_names = ("pending_from",)
    _wanted = "positives and negatives"
    _unknown = (
        "the reference holds fewer than two positives or negatives, so its AUC is not known",
        "the reference and the tolerance leave every AUC possible",
    )

    def _learn(self, reference: KnownAuc) -> None:
        self._begin({_AUC: Track(_null(reference, self._settings), self._settings)})
        self._pending: tuple[int, ScoreHistogram] | None = None

    def _resume(self, found: RankState) -> None:
        held, since = found.kept.get("pending"), found.counters.get("pending_from")
        if (held is None) != (since is None) or (held is not None and held.n_classes != 2):
            raise ValueError("data is malformed: no pane goes with the events that wait")
        self._begin(found.tracks)
        self._pending = None if held is None or since is None else (since, held)

    def _state(self) -> tuple[dict[str, ScoreHistogram], dict[str, int]]:
        if self._pending is None:
            return {}, {}
        since, histogram = self._pending
        return {"pending": histogram}, {"pending_from": since}

    def _check_fits(self, histogram: ScoreHistogram) -> None:
        if self._pending is not None:
            self._pending[1].scale.common(histogram.scale)

    def _fold(self, pane: int, histogram: ScoreHistogram) -> bool:
        if not histogram.n_bins:
            self._seen.n_empty += 1
            return False
        since, found = self._with_pending(pane, histogram)
        n_pos, n_neg = class_size(found, POSITIVES), class_size(found, NEGATIVES)
        if n_pos * n_neg < ENOUGH_PAIRS:
            self._pending = since, found
            return False
        self._pending = None
        self._tracks[_AUC].fold(since, auc_parts(found, n_pos, n_neg), n_pos)
        return True

    def _with_pending(self, pane: int, histogram: ScoreHistogram) -> tuple[int, ScoreHistogram]:
        """Return a pane with those before it that were too few, and the first of them."""
        if self._pending is None:
            return pane, histogram
        since, held = self._pending
        if pane - since >= self._settings.stall_panes:
            return pane, histogram
        return since, ScoreHistogram.merge((held, histogram))

    def _missing(self) -> str:
        if self._pending is None:
            return "events"
        n_neg, n_pos = self._pending[1].totals.tolist()
        if n_pos and n_neg:
            return f"events but {n_pos:g} positives and {n_neg:g} negatives"
        return "negatives" if n_pos else "positives"

    @property
    def alarm(self) -> RankingAlarm | None:
        """The alarm that has not been acknowledged, as it was when it came."""
        return None if self._found is None else _alarm(self._found[1])

    @property
    def null(self) -> NullMean:
        """The AUCs at which nothing is reported, and that of the reference."""
        return self._tracks[_AUC].null

    def _alarm_words(self, name: str, row: AlarmRow) -> str:
        alarm, null = _alarm(row), self._tracks[name].null
        verb = "rose above" if alarm.direction == "up" else "fell below"
        return (
            f"the AUC {verb} {null}: {alarm.roc_auc:.4g} over {alarm.n_pos:.0f} positives"
            f" {found_words(alarm.began, alarm.pane, self.pane_seconds)}"
        )

    def _quiet_words(self) -> str:
        share = self._share(self._tracks[_AUC])
        return f"the AUC agrees with {self.null}: {share:.2g} of the evidence for an alarm"


def _alarm(row: AlarmRow) -> RankingAlarm:
    pane, began, rises, n_pos, auc = row
    return RankingAlarm(pane, "up" if rises else "down", began, n_pos, auc)


def _null(reference: KnownAuc, settings: Settings) -> NullMean:
    low, high, value = _known(reference, settings.level)
    if math.isnan(low):
        return NullMean(0.0, 1.0, math.nan)
    return NullMean(max(0.0, low - settings.tolerance), min(1.0, high + settings.tolerance), value)


def _known(reference: KnownAuc, level: float) -> tuple[float, float, float]:
    """Return the interval of a reference's AUC, and the AUC."""
    if not isinstance(reference, SupportsFloat):
        counts = threshold_counts(histogram_of("reference", reference))
        interval = roc_auc_interval(counts, level=level)
        return interval.low, interval.high, roc_auc(counts)
    known = _check.number("reference", reference)
    if not 0 <= known <= 1:
        raise ValueError(f"reference must be an AUC in [0, 1], got {known!r}")
    return known, known, known
