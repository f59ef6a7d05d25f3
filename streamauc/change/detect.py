"""Alarms with a promise: tells when the class ratio has left its reference, and since when."""

from collections import deque
from collections.abc import Sequence
from typing import Literal, Self

from streamauc import _check, codec
from streamauc._time import Duration, duration
from streamauc.change import detector_state
from streamauc.change.detector_state import Snapshot
from streamauc.change.evidence import Mixture, Tilt
from streamauc.change.pane_fold import PaneFold, check_pane
from streamauc.change.reference import (
    Baseline,
    Null,
    Reference,
    check_count,
    fit_reference,
    totals,
)
from streamauc.change.seen import Seen
from streamauc.change.settings import ESTIMATE, RATIOS, Settings, whole_seconds
from streamauc.change.verdict import Alarm, Evidence, State, alarm_reason, span
from streamauc.histogram import ScoreHistogram

__all__ = ["Alarm", "Evidence", "PrevalenceDetector", "State"]

_PLAIN = 2**53


class PrevalenceDetector(PaneFold):
    """Tells when the share of positives leaves a reference, and keeps its false alarms rare.

    A fold over panes: each is stepped once, in the order of time, whoever polls, when its
    labels are mature. The promise: given that the reference's interval holds the truth,
    the mean time to a false alarm is at least `false_alarm_every`, however often it is polled.
    It holds for every prevalence in the null, also one that wanders inside it, and needs no
    large counts; the proof is in `evidence`. It supposes that the events are independent
    given the prevalence of their pane, and that how many of them are labelled does not depend
    on their class. With `overdispersion` it is a different one:

    * a number f: each pane's own prevalence may differ from the mean like a beta variable, or
      one less spread, that makes the variance of the positives f times the binomial one;
    * ``"estimate"``: the same, the correlation of a pane's events being at most the one
      estimated (see `dispersion.estimate`). The proof takes panes as independent; where they
      follow each other, the factor is that of the sums over longer blocks, and the promise is
      an approximation, right for changes that build up slowly.

    Changes below some 1.5 % (half of the smallest ratio in `RATIOS`) are never found.

    Parameters, all but the first by keyword:

    * `reference`: a prevalence that is known, (n_pos, n_neg), a histogram, a `Window`, or
      `ReferencePanes`. With `seasonal` one of these for each phase, or `ReferencePanes`.
    * `tolerance`: a relative change of the prevalence that is of no interest; the null goes
      from ``low * (1 - tolerance)`` to ``high * (1 + tolerance)``.
    * `false_alarm_every`: the promise; a share of a `FalseAlarmBudget` with many detectors.
    * `pane_seconds`: length of a pane.
    * `level`: of the reference's Wilson interval; with phases all intervals hold at once.
    * `seasonal`: a length of time, such as ``"1d"``, after which the prevalence repeats: panes
      are compared with the same phase of the reference. Phase 0 begins with pane 0, which is
      midnight UTC for a day. `phase` is how long one is, for `ReferencePanes`.
    * `min_coverage`: panes of which fewer predictions are labelled are left out.
    * `stall_after`: how long nothing may be folded before the state is ``STALLED``.
    * `history`: how many panes of `evidence` are kept.
    * `ratios`: the grid of odds ratios upwards; downwards their reciprocals.

    Late counts: a pane at or before the last one stepped is closed, so labels that arrive
    later are not seen here; such steps are ignored and counted in `n_ignored`.
    States do not merge; counts do, so merge them before the step. Not safe for threads: whoever
    polls holds a lock or a transaction.

    >>> detector = PrevalenceDetector((4_000, 196_000), false_alarm_every="30d")
    >>> [detector.step(pane, n_pos=20, n_neg=480).value for pane in range(5)]
    ['quiet', 'quiet', 'quiet', 'alarm', 'alarm']
    >>> detector.alarm
    Alarm(pane=3, direction='up', began=0, n_pos=80.0, n_neg=1920.0)
    """

    def __init__(
        self,
        reference: Reference,
        *,
        tolerance: float = 0.0,
        false_alarm_every: Duration = "30d",
        pane_seconds: int = 300,
        level: float = 0.99,
        seasonal: Duration | None = None,
        phase: Duration = "1h",
        overdispersion: float | Literal["estimate"] = 1.0,
        min_coverage: float = 0.95,
        stall_after: Duration = "1d",
        history: int = 288,
        ratios: Sequence[float] = RATIOS,
    ) -> None:
        settings = Settings(
            tolerance=_check.number("tolerance", tolerance),
            false_alarm_every=duration("false_alarm_every", false_alarm_every),
            pane_seconds=pane_seconds,
            level=level,
            season=0 if seasonal is None else whole_seconds("seasonal", seasonal),
            phase=whole_seconds("phase", phase),
            overdispersion=_overdispersion(overdispersion),
            min_coverage=_check.number("min_coverage", min_coverage),
            stall_after=duration("stall_after", stall_after),
            history=history,
            ratios=tuple(_check.finite("ratios", ratio) for ratio in ratios),
        )
        self._settings = settings
        self._set_up(fit_reference(reference, settings))

    def _set_up(self, baseline: Baseline) -> None:
        self._baseline = baseline
        self._fault = baseline.fault
        run_length, ratios = self._settings.run_length, self._settings.ratios
        self._tilts = [Tilt(null, ratios, baseline, run_length) for null in baseline.nulls]
        self._season_panes = self._settings.season_panes
        self._min_coverage = self._settings.min_coverage
        # Of the sum over a side: its mean reaches twice the run length, because there are two.
        self._threshold = 2 * run_length * len(ratios)
        self._seen = Seen()
        self._alarm: Alarm | None = None
        self._history: deque[tuple[int, float, float]] = deque(maxlen=self._settings.history)
        self._forget()

    def _forget(self) -> None:
        self._mixture = Mixture.fresh(len(self._settings.ratios))
        self._n_pos = self._n = 0.0

    def step(
        self,
        pane: int,
        n_pos: float | ScoreHistogram,
        n_neg: float | None = None,
        *,
        coverage: float = 1.0,
    ) -> State:
        """Take in the labelled events of a mature pane and return the state. O(n_ratios).

        ``step(pane, n_pos, n_neg)`` or ``step(pane, histogram)``. Panes may be missing; one at or
        before the last one is ignored. A `coverage` (labelled share of the predictions) below
        `min_coverage`, or ``nan``, leaves the pane open: it may come again, until a later one
        is taken in. Raises ValueError or TypeError for what is no pane or no count, whatever
        the state; no counts raise.
        """
        pane = check_pane(pane)
        pos, neg = _counts(n_pos, n_neg)
        mature = coverage >= self._min_coverage
        if self._seen.admits(pane, mature) and self._fold(pane, pos, pos + neg):
            return self._judge(pane) if self._alarm is None else State.ALARM
        return self.state

    def _fold(self, pane: int, n_pos: float, n: float) -> bool:
        """Take in a pane that is new and mature; return whether it told anything."""
        tilt = self._tilts[pane % self._season_panes * len(self._tilts) // self._season_panes]
        if self._fault is not None:
            return False
        if not n or tilt.is_blind:
            self._seen.n_empty += 1
            return False
        mixture = self._mixture
        mixture.fold(tilt.gains(n_pos, n), tilt.weights(n), (pane, self._n_pos, self._n))
        self._n_pos += n_pos
        self._n += n
        self._seen.folded = pane
        self._history.append((pane, mixture.up, mixture.down))
        return True

    def _judge(self, pane: int) -> State:
        upwards = self._mixture.up >= self._threshold
        if not upwards and self._mixture.down < self._threshold:
            return State.QUIET
        began, n_pos, n = self._mixture.start(upwards=upwards)
        n_pos, n = self._n_pos - n_pos, self._n - n
        self._alarm = Alarm(pane, "up" if upwards else "down", began, n_pos, n - n_pos)
        return State.ALARM

    @property
    def _is_alarmed(self) -> bool:
        return self._alarm is not None

    def _stall(self) -> str | None:
        if self._fault is not None:
            return self._fault
        return self._seen.stall(self._settings)

    @property
    def reason(self) -> str:
        """Why the state is what it is, in words."""
        if self._alarm is not None:
            null = self._null_at(self._alarm.began)
            return alarm_reason(self._alarm, null, self.pane_seconds)
        stall = self._stall()
        if stall is not None:
            return stall
        if self._seen.folded is None:
            return "no mature pane with events has come yet"
        share = max(self._mixture.up, self._mixture.down) / self._threshold
        null = self._null_at(self._seen.folded)
        return f"the prevalence agrees with {span(null)}: {share:.2g} of the evidence for an alarm"

    def _null_at(self, pane: int) -> Null:
        nulls = self._baseline.nulls
        return nulls[pane % self._season_panes * len(nulls) // self._season_panes]

    @property
    def alarm(self) -> Alarm | None:
        """The alarm that has not been acknowledged, as it was when it came."""
        return self._alarm

    @property
    def baseline(self) -> Baseline:
        """What was learnt from the reference: the null of each phase and the dispersion."""
        return self._baseline

    @property
    def evidence(self) -> Evidence:
        """The evidence after each of the last panes. O(history)."""
        return self._evidence_of(self._history)

    def acknowledge(self) -> None:
        """End an alarm: keep the reference and the panes closed, start the evidence anew."""
        self._alarm = None
        self._forget()

    def reset(self, reference: Reference) -> None:
        """Start anew with another reference and the same settings; any pane may come next.

        Raises what the constructor raises, and changes nothing then.
        """
        self._set_up(fit_reference(reference, self._settings))

    def to_bytes(self) -> bytes:
        """Return settings, reference and evidence in the format that `codec` describes."""
        alarm = self._alarm
        snapshot = Snapshot(
            settings=self._settings,
            baseline=self._baseline,
            seen=self._seen,
            mixture=self._mixture,
            counted=(self._n_pos, self._n),
            alarm=None if alarm is None else _row(alarm),
            history=tuple(self._history),
        )
        return codec.encode_detector(detector_state.pack(snapshot))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the detector that `to_bytes` wrote. Raises ValueError for other bytes."""
        found = detector_state.unpack(codec.decode_detector(data))
        self = cls.__new__(cls)
        self._settings = found.settings
        self._set_up(found.baseline)
        self._seen, self._mixture = found.seen, found.mixture
        self._n_pos, self._n = found.counted
        self._history.extend(found.history)
        if found.alarm is not None:
            pane, began, rises, n_pos, n_neg = found.alarm
            self._alarm = Alarm(pane, "up" if rises else "down", began, n_pos, n_neg)
        return self


def _row(alarm: Alarm) -> tuple[int, int, bool, float, float]:
    return alarm.pane, alarm.began, alarm.direction == "up", alarm.n_pos, alarm.n_neg


def _overdispersion(value: float | str) -> float:
    if isinstance(value, str):
        if value != "estimate":
            raise ValueError(f'overdispersion must be at least 1, or "estimate", got {value!r}')
        return ESTIMATE
    found = _check.number("overdispersion", value)
    if found == ESTIMATE:
        raise ValueError(f'overdispersion must be at least 1, or "estimate", got {found!r}')
    return found


def _counts(n_pos: object, n_neg: object) -> tuple[float, float]:
    if type(n_pos) is int and type(n_neg) is int and 0 <= n_pos < _PLAIN and 0 <= n_neg < _PLAIN:
        return float(n_pos), float(n_neg)
    if isinstance(n_pos, ScoreHistogram):
        if n_neg is not None:
            raise TypeError(f"n_neg must be left out with a histogram, got {n_neg!r}")
        return totals(n_pos)
    return check_count("n_pos", n_pos), check_count("n_neg", n_neg)
