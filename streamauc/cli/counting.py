"""Counting what is read: at once, or with a label time in the order in which it became known."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import tzinfo

import numpy as np
from numpy.typing import NDArray

from streamauc.cli.plan import TimePlan, parse_step
from streamauc.cli.reading import EventBatch
from streamauc.cli.tape import Player, Recording
from streamauc.cli.verify import RawRows
from streamauc.history import History
from streamauc.monitor import Monitor
from streamauc.scale import Scale
from streamauc.window import Window

FloatArray = NDArray[np.float64]
# So many scores are looked at to see whether they take few distinct values.
_SAMPLE = 100_000
_FEW_SCORES = 1_000


class Counting:
    """Counts batches as they are read; the monitor is made when the first one shows its span."""

    def __init__(self, scale: Scale, plan: TimePlan, *, keep_rows: bool = False) -> None:
        self.scale = scale
        self.plan = plan
        self.raw = RawRows() if keep_rows else None
        self.n_pending = self.n_bad = self.n_outside = 0
        self.n_unknown = 0
        self.bad_reasons: dict[str, int] = {}
        self.timeless = False
        self.notes: list[str] = []
        self.monitor: Monitor | None = None
        self.pane_seconds = 1
        self._sample: list[FloatArray] = []
        self._n_sampled = 0

    def skips(self) -> dict[str, int]:
        """Return how many rows at the beginning of which file have been counted before."""
        return {}

    def close(self) -> None:
        """End the counting; answers may be asked for until then."""

    def take(self, batch: EventBatch) -> None:
        """Count one batch."""
        self.n_pending += batch.n_pending
        self.n_bad += batch.n_bad
        for reason, number in batch.bad_reasons.items():
            self.bad_reasons[reason] = self.bad_reasons.get(reason, 0) + number
        inside = self._inside(batch)
        if inside.y_true.size:
            self._look_at(inside.y_score)
            self._count(inside)

    def _inside(self, batch: EventBatch) -> EventBatch:
        """Return the events between --start and --end."""
        times = batch.timestamps
        if times is None:
            self.timeless = True
            return batch
        outside = (times < self.plan.start) | (times >= self.plan.end)
        if not outside.any():
            return batch
        self.n_outside += int(outside.sum())
        return _taken(batch, ~outside)

    def _count(self, batch: EventBatch) -> None:
        times = np.zeros(batch.y_true.size) if batch.timestamps is None else batch.timestamps
        if self.monitor is None:
            self._choose_pane(times)
            self.monitor = self._make()
        self.monitor.update_many(batch.y_true, batch.y_score, times, batch.weights)
        if self.raw is not None:
            self.raw.add(batch.y_true, batch.y_score, times, batch.weights)

    def _make(self) -> Monitor:
        tiers = ((self.pane_seconds, math.inf),)
        return Monitor(scale=self.scale, tiers=tiers, clock="event")

    def _choose_pane(self, times: FloatArray) -> None:
        span = float(times.max() - times.min())
        self.pane_seconds = 1 if self.timeless else self.plan.pane_seconds(span)

    def moments(self) -> Iterator[float | None]:
        """Yield when there is something new for a detector: here once, with all counted."""
        if self.monitor is not None:
            yield None

    def played(self) -> float:
        """Return which share of the rows has been counted."""
        return 1.0

    def _look_at(self, scores: FloatArray) -> None:
        if self._n_sampled < _SAMPLE:
            self._sample.append(np.array(scores[: _SAMPLE - self._n_sampled]))
            self._n_sampled += self._sample[-1].size

    def n_distinct(self) -> int | None:
        """Return how many distinct scores a sample takes if they are few, else None."""
        if self._n_sampled < 100:
            return None
        n_distinct = np.unique(np.concatenate(self._sample)).size
        few = n_distinct <= min(_FEW_SCORES, self._n_sampled // 10)
        return n_distinct if few else None

    def history(
        self, monitor: Monitor, zone: tzinfo, min_coverage: float
    ) -> tuple[History, Window, str]:
        """Return the windows, the whole span, and the window's length in words."""
        since = monitor.window(0, 0).observed_since
        if self.timeless:
            whole = monitor.window(0, 1)
            return History((whole,)), whole, "all rows"
        last = monitor.window(last=1).end
        name = self.plan.choose(last - since, self.pane_seconds)
        step = parse_step(name)
        start = since
        if not isinstance(step, str):
            start = self.plan.start if math.isfinite(self.plan.start) else since // step * step
        end = min(self.plan.end, last)
        history = monitor.history(
            step, start=start, end=end, tz=str(zone), min_coverage=min_coverage
        )
        return history, monitor.window(start, end, min_coverage=min_coverage), name


def _taken(batch: EventBatch, rows: NDArray[np.bool_]) -> EventBatch:
    def column(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else values[rows]

    return replace(
        batch,
        y_true=batch.y_true[rows],
        y_score=batch.y_score[rows],
        timestamps=column(batch.timestamps),
        weights=column(batch.weights),
        known_at=column(batch.known_at),
    )


class TimedCounting(Counting):
    """Keeps the rows of all batches, and plays them in the order in which they became known.

    It ends at --end or with the last event: what became known later is `n_unknown`.
    """

    def __init__(self, scale: Scale, plan: TimePlan, *, keep_rows: bool = False) -> None:
        super().__init__(scale, plan, keep_rows=keep_rows)
        self._recording = Recording()
        self._player: Player | None = None

    def _count(self, batch: EventBatch) -> None:
        if batch.timestamps is None or batch.known_at is None:
            raise AssertionError("a label time is read beside a time")
        if batch.weights is not None:
            raise ValueError(
                "--label-time must stand without weights, as a prediction counts once;"
                " --weight '' leaves them out"
            )
        self._recording.add(batch.y_true, batch.y_score, batch.timestamps, batch.known_at)

    def moments(self) -> Iterator[float | None]:
        """Play the rows; yield the time after each step."""
        if not self._recording.y_true:
            return
        tape = self._recording.tape()
        self._choose_pane(tape.timestamps)
        player = Player(tape, scale=self.scale, pane_seconds=self.pane_seconds, end=self.plan.end)
        self._player = player
        self.monitor, self.n_unknown = player.monitor, player.n_unknown
        yield from player.play()
        if self.raw is not None:
            known = tape.known_by(player.end)
            self.raw.add(known.y_true, known.y_score, known.timestamps, None)

    def played(self) -> float:
        """Return which share of the rows has been counted."""
        return 0.0 if self._player is None else self._player.played
