"""What all detectors have in common: which panes they were shown, and how they answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Self

import numpy as np

from streamauc import _check
from streamauc.change.seen import Seen
from streamauc.change.settings import Settings
from streamauc.change.verdict import Evidence, State

_LAST_PANE = 2**62


class PaneFold(ABC):
    """A fold over panes, each taken in once; a detector says what a pane tells."""

    _settings: Settings
    _seen: Seen
    # The evidence, summed over the grid of a side, at which an alarm comes.
    _threshold: float

    @property
    @abstractmethod
    def _is_alarmed(self) -> bool:
        """Whether there is an alarm that was not acknowledged."""

    @abstractmethod
    def _stall(self) -> str | None:
        """Return why nothing can be told, None if something can."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why the state is what it is, in words."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return settings, reference and evidence in the format that `codec` describes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the detector that `to_bytes` wrote. Raises ValueError for other bytes."""

    @property
    def state(self) -> State:
        """What the detector says now; `reason` says why."""
        if self._is_alarmed:
            return State.ALARM
        return State.QUIET if self._stall() is None else State.STALLED

    @property
    def pane_seconds(self) -> int:
        """Length of a pane."""
        return self._settings.pane_seconds

    @property
    def min_coverage(self) -> float:
        """Labelled share of its predictions from which on a pane is mature."""
        return self._settings.min_coverage

    @property
    def stall_after(self) -> float:
        """How long nothing may be folded before the state is ``STALLED``, in seconds."""
        return self._settings.stall_after

    @property
    def last_pane(self) -> int | None:
        """The last pane that was closed; None before the first."""
        return self._seen.closed

    @property
    def n_ignored(self) -> int:
        """Steps ignored because their pane was closed."""
        return self._seen.n_ignored

    @property
    def n_immature(self) -> int:
        """Steps left out for their coverage."""
        return self._seen.n_immature

    @property
    def n_empty(self) -> int:
        """Panes that could tell nothing: without events, or without a reference to tell by."""
        return self._seen.n_empty

    def _evidence_of(self, history: Iterable[tuple[int, float, float]]) -> Evidence:
        """Return (pane, up, down) rows as logarithms of shares of an alarm's evidence."""
        rows = list(history)
        panes = np.array([row[0] for row in rows], dtype=np.int64)
        table = np.array([row[1:] for row in rows], dtype=np.float64).reshape(-1, 2)
        with np.errstate(divide="ignore"):
            logs = np.log(table / self._threshold)
        return Evidence(panes, logs[:, 0], logs[:, 1])

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.state.value}: {self.reason})"


def check_pane(pane: int) -> int:
    """Return the index of a pane. Raises ValueError or TypeError for what is none."""
    if type(pane) is int and -_LAST_PANE <= pane <= _LAST_PANE:
        return pane
    return _check.integer("pane", pane, -_LAST_PANE, _LAST_PANE)
