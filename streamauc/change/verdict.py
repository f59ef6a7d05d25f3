"""What a detector answers."""

from dataclasses import dataclass
from enum import Enum

from streamauc import _time
from streamauc._check import FloatArray, IntArray
from streamauc.change.reference import Null


class State(Enum):
    """What a detector says.

    * ``QUIET``: nothing is known against the reference.
    * ``ALARM``: the prevalence has left it; stays until `acknowledge` or `reset`.
    * ``STALLED``: it cannot tell, because for longer than `stall_after` there was nothing to
      fold, or because the reference is empty.
    """

    QUIET = "quiet"
    ALARM = "alarm"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change that was found at `pane` and most likely began at `began`.

    `direction` is ``"up"`` or ``"down"``; `n_pos` and `n_neg` count from `began` to `pane`.
    """

    pane: int
    direction: str
    began: int
    n_pos: float
    n_neg: float

    @property
    def prevalence(self) -> float:
        """Share of positives from `began` to `pane`."""
        return self.n_pos / (self.n_pos + self.n_neg)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The evidence after each of the last panes, shape (n_panes,), to plot.

    `up` and `down` are logarithms of the evidence beside the alarm's threshold: the alarm
    comes at 0; -inf is no evidence at all.
    """

    panes: IntArray
    up: FloatArray
    down: FloatArray


def begin(pane: int, pane_seconds: int) -> str:
    """Return when a pane begins, in words."""
    return _time.shown(float(pane) * pane_seconds)


def found_words(began: int, pane: int, pane_seconds: int) -> str:
    """Return since when something is so, and with which events it was found, in words."""
    until = begin(pane + 1, pane_seconds)
    return f"since {begin(began, pane_seconds)}, found with those until {until}"


def alarm_reason(alarm: Alarm, null: Null, pane_seconds: int) -> str:
    """Return what an alarm says, in words."""
    verb = "rose above" if alarm.direction == "up" else "fell below"
    n = alarm.n_pos + alarm.n_neg
    return (
        f"the prevalence {verb} {span(null)}: {alarm.prevalence:.4g} of {n:.0f} events"
        f" {found_words(alarm.began, alarm.pane, pane_seconds)}"
    )


def span(null: Null) -> str:
    """Return the prevalences of a null, in words."""
    if null.low == null.high:
        return f"{null.low:.4g}"
    return f"{null.prevalence:.4g} ({null.low:.4g} to {null.high:.4g})"
