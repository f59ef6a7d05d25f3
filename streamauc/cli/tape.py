"""Rows played to a monitor as they happened: a score at its time, its label when it was known."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamauc.monitor import Monitor
from streamauc.scale import Scale

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Tape:
    """Scored events in the order of their time; arrays of shape (n_samples,).

    `known_at` is when a label became known, ``inf`` where it is not known yet.
    """

    y_true: LabelArray
    y_score: FloatArray
    timestamps: FloatArray
    known_at: FloatArray

    def known_by(self, end: float) -> "Tape":
        """Return the events whose label was known before `end`."""
        rows = self.known_at < end
        return Tape(
            self.y_true[rows], self.y_score[rows], self.timestamps[rows], self.known_at[rows]
        )


@dataclass(slots=True, eq=False)
class Recording:
    """Collects the columns of a tape, 25 bytes a row."""

    y_true: list[LabelArray] = field(default_factory=list)
    y_score: list[FloatArray] = field(default_factory=list)
    timestamps: list[FloatArray] = field(default_factory=list)
    known_at: list[FloatArray] = field(default_factory=list)

    def add(
        self,
        y_true: LabelArray,
        y_score: FloatArray,
        timestamps: FloatArray,
        known_at: FloatArray,
    ) -> None:
        """Keep a copy of some rows."""
        self.y_true.append(y_true.copy())
        self.y_score.append(y_score.copy())
        self.timestamps.append(timestamps.copy())
        self.known_at.append(known_at.copy())

    def tape(self) -> Tape:
        """Return all rows in the order of time. O(n log n)."""
        times = np.concatenate(self.timestamps)
        order = np.argsort(times, kind="stable")
        return Tape(
            np.concatenate(self.y_true)[order],
            np.concatenate(self.y_score)[order],
            times[order],
            np.concatenate(self.known_at)[order],
        )


class Player:
    """Plays a tape to a monitor of its own, whose clock it is, up to the moment `end`.

    Events and labels arrive in steps of one pane. Labels that became known at `end` or later are
    left unknown: `n_unknown` of them.
    """

    def __init__(
        self, tape: Tape, *, scale: Scale, pane_seconds: int, end: float = math.inf
    ) -> None:
        self._tape = tape
        self._step = pane_seconds
        last = math.nextafter(float(tape.timestamps[-1]), math.inf)
        self.end = last if math.isinf(end) else end
        self._order = np.argsort(tape.known_at, kind="stable")
        self._known_at = tape.known_at[self._order]
        self.n_unknown = int(np.isfinite(self._known_at[self._known_at >= self.end]).sum())
        self._now = float(tape.timestamps[0])
        self._n_played = 0
        n_rows = tape.y_true.size
        self.monitor = Monitor(
            scale=scale,
            tiers=((pane_seconds, math.inf),),
            clock=lambda: self._now,
            max_pending=n_rows,
            max_early=n_rows,
            max_resolved=0,  # every row is there once
        )

    @property
    def played(self) -> float:
        """Which share of the rows has been played."""
        return self._n_played / self._tape.y_true.size

    @property
    def edges(self) -> FloatArray:
        """Where the steps end in which something arrives."""
        ends = [
            (np.floor(moments[moments < self.end] / self._step) + 1) * self._step
            for moments in (self._tape.timestamps, self._known_at)
        ]
        # A label may be known before the first event: it waits for it.
        edges = np.unique(np.concatenate(ends))
        return np.unique(np.clip(edges, self._now, self.end))

    def play(self) -> Iterator[float]:
        """Feed the monitor; yield the time after each step in which something arrived."""
        tape, edges = self._tape, self.edges
        predicted = resolved = 0
        to_predict = np.searchsorted(tape.timestamps, edges).tolist()
        to_resolve = np.searchsorted(self._known_at, edges).tolist()
        for now, upto, known in zip(edges.tolist(), to_predict, to_resolve, strict=True):
            self._now = now
            rows = slice(predicted, upto)
            self.monitor.predict_many(
                range(predicted, upto), tape.y_score[rows], tape.timestamps[rows]
            )
            labelled = self._order[resolved:known]
            self.monitor.resolve_many(labelled.tolist(), tape.y_true[labelled])
            predicted, resolved = upto, known
            self._n_played = predicted
            yield now
