"""``streamauc replay``: files in, a row a window out."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from streamauc import _time
from streamauc.cli import verify
from streamauc.cli.against import Watch
from streamauc.cli.counting import Counting, TimedCounting
from streamauc.cli.output import Notices, emit, playing_progress, reading_progress
from streamauc.cli.plan import TimePlan, parse_moment, parse_step
from streamauc.cli.reading import EventStream, open_events
from streamauc.cli.report import Report, Shown, choose_metrics
from streamauc.cli.request import ReplayRequest
from streamauc.cli.story import Since
from streamauc.history import History
from streamauc.scale import Scale
from streamauc.window import JsonValue, Window


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
    watch = None
    if request.reference is not None:
        watch = Watch.parse(request.reference, plan.zone, request.min_coverage)
    _check_extras(request)
    with _undisturbed(request), closing(_counting(request, scale, plan)) as replay:
        return _run(request, replay, shown, watch)


def _undisturbed(request: ReplayRequest) -> AbstractContextManager[None]:
    """Keep other runs from counting the same files into a store."""
    if request.store is None:
        return nullcontext()
    from streamauc.cli.alone import alone

    return alone(request.files)


def _run(
    request: ReplayRequest, replay: Counting, shown: Sequence[Shown], watch: Watch | None
) -> int:
    """Read the files and print what was counted; return the exit code."""
    notices = Notices()
    skips = replay.skips()
    notices.say_all(replay.notes)
    with (
        open_events(request.files, request.read_options(replay.scale), skips) as events,
        reading_progress(events) as progress,
    ):
        for batch in events:
            replay.take(batch)
            progress.advance()
    notices.say_all(events.notes)
    for moment in playing_progress(replay.moments(), replay.played):
        if watch is not None and replay.monitor is not None:
            watch.poll(replay.monitor, moment)
    return _finish(request, replay, events, shown, notices, watch)


def _counting(request: ReplayRequest, scale: Scale, plan: TimePlan) -> Counting:
    """Return what counts, in memory or into a store."""
    if request.store is None:
        if request.series:
            raise ValueError("--series must stand with --store, which it is a series of")
        make = Counting if request.label_time is None else TimedCounting
        return make(scale, plan, keep_rows=request.verify)
    from streamauc.cli.into_store import StoredCounting, parse_labels
    from streamauc.store import Store

    labels = parse_labels(request.series)
    for option, is_given in (
        ("--label-time", request.label_time is not None),
        ("--verify", request.verify),
        # What they leave out would be taken for counted by the next run.
        ("--start", request.start is not None),
        ("--end", request.end is not None),
    ):
        if is_given:
            raise ValueError(f"{option} can't be used with --store")
    if not labels:
        raise ValueError("--store needs --series NAME=VALUE, e.g. --series model=fraud")
    return StoredCounting(
        scale,
        plan,
        store=Store(request.store),
        labels=labels,
        files=request.files,
        alike=request.alike,
    )


def _check_extras(request: ReplayRequest) -> None:
    """Fail before the reading, not after it, when an extra is missing."""
    if request.verify:
        verify.check_available()
    if request.plot is not None:
        from streamauc.plot.overview import picture_format

        picture_format(request.plot)


def _finish(
    request: ReplayRequest,
    replay: Counting,
    events: EventStream,
    shown: Sequence[Shown],
    notices: Notices,
    watch: Watch | None,
) -> int:
    """Print the result and what is worth knowing about it."""
    zone = replay.plan.zone
    if replay.monitor is None:
        raise ValueError(_nothing(replay, request))
    history, whole, name = replay.history(replay.monitor, zone, request.min_coverage)
    if request.window is None and not replay.timeless:
        notices.say(f"window {name} (chosen for the span; --window sets it)")
    _say_what_was_left_out(request, replay, events, notices)
    with_coverage = request.label_time is not None
    report = Report(history.windows, whole, shown, zone, replay.timeless, with_coverage)
    facts = _facts(request, replay)
    if watch is not None:
        since = Since.of(replay.monitor, watch, whole.end, zone)
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
        _draw(request.plot, history, whole, request, replay, watch)
        notices.say(f"drawn: {request.plot}")
    return code


def _nothing(replay: Counting, request: ReplayRequest) -> str:
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
    request: ReplayRequest, replay: Counting, events: EventStream, notices: Notices
) -> None:
    if replay.n_pending:
        rows = "1 row" if replay.n_pending == 1 else f"{replay.n_pending:,} rows"
        again = "" if request.store is None else "; the store's next run will not read them again"
        notices.say(f"{rows} pending: their label is not known yet{again}")
    if replay.n_unknown:
        labels = "1 label" if replay.n_unknown == 1 else f"{replay.n_unknown:,} labels"
        notices.say(f"{labels} not used: they became known after the last event, or --end")
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


def _facts(request: ReplayRequest, replay: Counting) -> dict[str, JsonValue]:
    reasons: dict[str, JsonValue] = dict(replay.bad_reasons)
    return {
        "files": list(request.files),
        "scale": repr(replay.scale),
        "n_pending": replay.n_pending,
        "n_bad": replay.n_bad,
        "bad_reasons": reasons,
        "n_outside": replay.n_outside,
        "n_unknown": replay.n_unknown,
    }


def _draw(
    path: Path,
    history: History,
    whole: Window,
    request: ReplayRequest,
    replay: Counting,
    watch: Watch | None,
) -> None:
    from streamauc.cli.marks import drift_marks
    from streamauc.plot.overview import overview, save

    names = [Path(name).name for name in request.files]
    title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    figure = overview(
        history,
        whole.counts,
        title=title,
        thresholds=request.thresholds,
        zone=replay.plan.zone,
        drift=None if watch is None else drift_marks(watch),
    )
    save(figure, path)
