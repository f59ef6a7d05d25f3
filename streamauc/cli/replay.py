"""``streamauc replay``: files in, a row a window out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamauc import _time
from streamauc.cli import verify
from streamauc.cli.against import Since, parse_span
from streamauc.cli.output import Notices, emit, reading_progress
from streamauc.cli.plan import TimePlan, parse_moment, parse_step
from streamauc.cli.reading import EventBatch, EventStream, ReadOptions, open_events
from streamauc.cli.report import Report, Shown, choose_metrics
from streamauc.cli.verify import RawRows
from streamauc.history import History
from streamauc.monitor import Monitor
from streamauc.scale import Scale
from streamauc.window import JsonValue, Window

# So many scores are looked at to see whether they take few distinct values.
_SAMPLE = 100_000
_FEW_SCORES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """The options of the command, as they were given."""

    files: tuple[str, ...]
    score: str | None = None
    label: str | None = None
    time: str | None = None
    weight: str | None = None
    positive: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    tz: str | None = None
    time_unit: str | None = None
    skip_bad: bool = False
    scale: str = "probability"
    bits: int = 7
    thresholds: tuple[float, ...] = ()
    window: str | None = None
    start: str | None = None
    end: str | None = None
    pane: str | None = None
    reference: str | None = None
    metrics: str | None = None
    verify: bool = False
    output: str = "table"
    plot: Path | None = None

    def make_scale(self) -> Scale:
        """Return the scale asked for; on the exact one every threshold is an edge already."""
        if self.scale == "exact":
            return Scale.exact()
        make = Scale.probability if self.scale == "probability" else Scale.real
        return make(bits=self.bits, thresholds=self.thresholds)

    def read_options(self, scale: Scale) -> ReadOptions:
        """Return what the reader has to know."""
        return ReadOptions(
            score=self.score,
            label=self.label,
            time=self.time,
            weight=self.weight,
            positive=self.positive,
            delimiter=self.delimiter,
            decimal=self.decimal,
            tz=self.tz,
            time_unit=self.time_unit,
            scores=(scale.low, scale.high),
            skip_bad=self.skip_bad,
        )


def run_replay(request: ReplayRequest) -> int:
    """Replay the files and print the result; return the exit code."""
    scale = request.make_scale()
    shown = choose_metrics(request.metrics, request.thresholds)
    zone = None if request.tz is None else _time.time_zone(request.tz)
    plan = TimePlan(
        window=request.window,
        pane=request.pane,
        start=parse_moment("--start", request.start, zone, -math.inf),
        end=parse_moment("--end", request.end, zone, math.inf),
        zone=zone or UTC,
    )
    if plan.window is not None:
        parse_step(plan.window)
    if request.reference is not None:
        parse_span(request.reference, plan.zone)
    _check_extras(request)
    notices = Notices()
    with open_events(request.files, request.read_options(scale)) as events:
        replay = Replay(scale, plan, keep_rows=request.verify)
        with reading_progress(events) as progress:
            for batch in events:
                replay.take(batch)
                progress.advance()
    notices.say_all(events.notes)
    return _finish(request, replay, events, shown, notices)


def _check_extras(request: ReplayRequest) -> None:
    """Fail before the reading, not after it, when an extra is missing."""
    if request.verify:
        verify.check_available()
    if request.plot is not None:
        from streamauc.plot.overview import picture_format

        picture_format(request.plot)


class Replay:
    """Counts batches as they are read; the monitor is made when the first one shows its span."""

    def __init__(self, scale: Scale, plan: TimePlan, *, keep_rows: bool) -> None:
        self.scale = scale
        self.plan = plan
        self.raw = RawRows() if keep_rows else None
        self.n_pending = self.n_bad = self.n_outside = 0
        self.bad_reasons: dict[str, int] = {}
        self.timeless = False
        self.monitor: Monitor | None = None
        self.pane_seconds = 1
        self._sample: list[NDArray[np.float64]] = []
        self._n_sampled = 0

    def take(self, batch: EventBatch) -> None:
        """Count one batch."""
        self.n_pending += batch.n_pending
        self.n_bad += batch.n_bad
        for reason, number in batch.bad_reasons.items():
            self.bad_reasons[reason] = self.bad_reasons.get(reason, 0) + number
        if batch.y_true.size:
            self._count(batch)

    def _count(self, batch: EventBatch) -> None:
        labels, scores, weights = batch.y_true, batch.y_score, batch.weights
        times = batch.timestamps
        if times is None:
            self.timeless = True
            times = np.zeros(scores.size)
        elif (outside := (times < self.plan.start) | (times >= self.plan.end)).any():
            self.n_outside += int(outside.sum())
            labels, scores, times = labels[~outside], scores[~outside], times[~outside]
            weights = None if weights is None else weights[~outside]
        if not scores.size:
            return
        monitor = self._monitor(times)
        monitor.update_many(labels, scores, times, weights)
        self._look_at(scores)
        if self.raw is not None:
            self._keep(labels, scores, times, weights)

    def _monitor(self, times: NDArray[np.float64]) -> Monitor:
        if self.monitor is None:
            span = float(times.max() - times.min())
            self.pane_seconds = 1 if self.timeless else self.plan.pane_seconds(span)
            tiers = ((self.pane_seconds, math.inf),)
            self.monitor = Monitor(scale=self.scale, tiers=tiers, clock="event")
        return self.monitor

    def _look_at(self, scores: NDArray[np.float64]) -> None:
        if self._n_sampled < _SAMPLE:
            self._sample.append(np.array(scores[: _SAMPLE - self._n_sampled]))
            self._n_sampled += self._sample[-1].size

    def _keep(
        self,
        labels: NDArray[np.uint8],
        scores: NDArray[np.float64],
        times: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
    ) -> None:
        if self.raw is None:
            return
        self.raw.y_true.append(labels.copy())
        self.raw.y_score.append(scores.copy())
        self.raw.timestamps.append(times.copy())
        if weights is not None:
            self.raw.weights.append(weights.copy())

    def n_distinct(self) -> int | None:
        """Return how many distinct scores a sample takes if they are few, else None."""
        if self._n_sampled < 100:
            return None
        n_distinct = np.unique(np.concatenate(self._sample)).size
        few = n_distinct <= min(_FEW_SCORES, self._n_sampled // 10)
        return n_distinct if few else None

    def history(self, monitor: Monitor, zone: tzinfo) -> tuple[History, Window, str]:
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
        history = monitor.history(step, start=start, end=end, tz=str(zone))
        return history, monitor.window(start, end), name


def _finish(
    request: ReplayRequest,
    replay: Replay,
    events: EventStream,
    shown: Sequence[Shown],
    notices: Notices,
) -> int:
    """Print the result and what is worth knowing about it."""
    zone = replay.plan.zone
    if replay.monitor is None:
        raise ValueError(_nothing(replay, request))
    history, whole, name = replay.history(replay.monitor, zone)
    if request.window is None and not replay.timeless:
        notices.say(f"window {name} (chosen for the span; --window sets it)")
    _say_what_was_left_out(request, replay, events, notices)
    report = Report(history.windows, whole, shown, zone, replay.timeless)
    facts = _facts(request, replay)
    if request.reference is not None:
        since = Since.of(replay.monitor, request.reference, whole.end, replay.pane_seconds, zone)
        report = replace(report, marks=since.marks(history), story=since.story(request.thresholds))
        facts["reference"] = since.to_dict(request.thresholds)
    code = 0
    if replay.raw is not None:
        verdict = verify.verify([*history.windows, whole], replay.raw)
        notices.say(str(verdict))
        facts["verified"] = str(verdict)
        code = 0 if verdict.holds else 1
    emit(report, request.output, facts)
    if request.plot is not None:
        _draw(request.plot, history, whole, request, replay)
        notices.say(f"drawn: {request.plot}")
    return code


def _nothing(replay: Replay, request: ReplayRequest) -> str:
    left_out = [
        f"{number} {what}"
        for number, what in (
            (replay.n_pending, "pending"),
            (replay.n_bad, "bad"),
            (replay.n_outside, "outside --start and --end"),
        )
        if number
    ]
    files = ", ".join(request.files)
    return f"{files} must hold events with outcomes, got none ({', '.join(left_out) or 'no rows'})"


def _say_what_was_left_out(
    request: ReplayRequest, replay: Replay, events: EventStream, notices: Notices
) -> None:
    if replay.n_pending:
        rows = "1 row" if replay.n_pending == 1 else f"{replay.n_pending:,} rows"
        notices.say(f"{rows} pending: their label is not known yet")
    if replay.n_bad:
        reasons = ", ".join(f"{number:,} {why}" for why, number in replay.bad_reasons.items())
        notices.say(f"{replay.n_bad:,} bad rows left out: {reasons}")
    if replay.n_outside:
        notices.say(f"{replay.n_outside:,} rows outside --start and --end")
    if request.positive is not None and not events.positive_seen:
        notices.say(f"no row has the positive label {request.positive!r}")
    n_distinct = replay.n_distinct()
    if n_distinct is not None and not replay.scale.is_exact:
        notices.say(
            f"scores take only {n_distinct} distinct values: --scale exact treats equal ones as"
            " the ties they are, and is exact"
        )


def _facts(request: ReplayRequest, replay: Replay) -> dict[str, JsonValue]:
    reasons: dict[str, JsonValue] = dict(replay.bad_reasons)
    return {
        "files": list(request.files),
        "scale": repr(replay.scale),
        "n_pending": replay.n_pending,
        "n_bad": replay.n_bad,
        "bad_reasons": reasons,
        "n_outside": replay.n_outside,
    }


def _draw(
    path: Path, history: History, whole: Window, request: ReplayRequest, replay: Replay
) -> None:
    from streamauc.plot.overview import overview, save

    names = [Path(name).name for name in request.files]
    title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    figure = overview(
        history,
        whole.counts,
        title=title,
        thresholds=request.thresholds,
        zone=replay.plan.zone,
    )
    save(figure, path)
