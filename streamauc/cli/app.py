"""The commands and their options; what they do is imported only when one is run."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streamauc.cli.guard import guarded
from streamauc.cli.rules_app import check, rules_app
from streamauc.cli.storing.app import app as _store

app = typer.Typer(
    name="streamauc",
    help="ROC, PR, AUC and class ratio of scored events, in any time window.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(_store, name="store")
app.add_typer(rules_app)
app.command()(check)

_COLUMNS = "Columns"
_VALUES = "How values are written"
_WINDOWS = "Windows"
_OUTPUT = "Output"
_SCORES = "Scores"


class ScaleKind(StrEnum):
    """How scores are binned."""

    PROBABILITY = "probability"
    REAL = "real"
    EXACT = "exact"


class Alike(StrEnum):
    """What to do with a file that begins as one that was counted under another name."""

    REFUSE = "refuse"
    CONTINUE = "continue"
    COUNT = "count"


class Format(StrEnum):
    """How the result is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class TimeUnit(StrEnum):
    """What a plain number in the time column counts."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"


@app.callback()
def _about() -> None:
    """Take no options of its own."""


@app.command()
def replay(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, JSON lines, Parquet or Arrow, plain or packed with gzip or zstd;"
            " - is standard input.",
        ),
    ],
    *,
    score: Annotated[
        str | None,
        typer.Option(help="Score column; guessed if left out.", rich_help_panel=_COLUMNS),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Label column; guessed if left out.", rich_help_panel=_COLUMNS),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Time column; guessed if left out. '' for none: the whole file is one window.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    label_time: Annotated[
        str | None,
        typer.Option(
            help="Column that says when the label became known. Predictions and labels are then"
            " replayed in the order in which they became known, up to --end or the last event.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Weight column.", rich_help_panel=_COLUMNS)
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The label that is positive, e.g. fraud; needed unless labels are 0/1 or"
            " true/false.",
            rich_help_panel=_VALUES,
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between fields; guessed.", rich_help_panel=_VALUES)
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal mark, . or ,; guessed.", rich_help_panel=_VALUES)
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(
            help="Zone of times that carry none, and of days, weeks and months;"
            " e.g. Europe/Berlin.",
            rich_help_panel=_VALUES,
        ),
    ] = None,
    time_unit: Annotated[
        TimeUnit | None,
        typer.Option(
            help="Unit of times that are plain numbers; guessed.", rich_help_panel=_VALUES
        ),
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Count bad rows and go on, instead of stopping at the first.",
            rich_help_panel=_VALUES,
        ),
    ] = False,
    scale: Annotated[
        ScaleKind,
        typer.Option(
            help="probability: scores in [0, 1]; real: logits and margins; exact: every distinct"
            " score its own bin.",
            rich_help_panel=_SCORES,
        ),
    ] = ScaleKind.PROBABILITY,
    bits: Annotated[
        int, typer.Option(help="2**bits bins an octave.", min=1, max=12, rich_help_panel=_SCORES)
    ] = 7,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            help="Operating threshold: adds precision and recall. Repeatable.",
            rich_help_panel=_SCORES,
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            help="Length of a window: 15m, 6h, 1d, 1w, month; chosen from the span if left out.",
            rich_help_panel=_WINDOWS,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Leave out events before this time.", rich_help_panel=_WINDOWS),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(help="Leave out events from this time on.", rich_help_panel=_WINDOWS),
    ] = None,
    pane: Annotated[
        str | None,
        typer.Option(
            help="Finest grain of time kept, which windows are rounded to.",
            rich_help_panel=_WINDOWS,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="START..END",
            help="Compare all that follows with this span: says what changed and why, and marks"
            " windows in which the class ratio was seen to move.",
            rich_help_panel=_WINDOWS,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.db",
            help="Count into this store, each row once: a run that was interrupted goes on where"
            " it stopped, and a file that has grown is read on. Shows what the series holds.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="With --store: a label of the series to count into. Repeatable.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    alike: Annotated[
        Alike,
        typer.Option(
            help="With --store: what to do with a file that begins as one counted under another"
            " name. refuse: nothing; continue: it is the same, count the rows after those; count:"
            " it is another stream.",
            rich_help_panel=_OUTPUT,
        ),
    ] = Alike.REFUSE,
    min_coverage: Annotated[
        float,
        typer.Option(
            help="With --label-time: share of labels below which a window is marked as immature"
            " and not looked at by --reference.",
            min=0.0,
            max=1.0,
            rich_help_panel=_WINDOWS,
        ),
    ] = 0.95,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names from the catalogue with commas between, parameters behind @, e.g."
            " roc_auc,precision@0.7,partial_roc_auc@max_fpr=0.1.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Recompute every window from the raw rows with scikit-learn. Keeps all rows in"
            " memory.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    output: Annotated[
        Format, typer.Option("--format", help="How to print.", rich_help_panel=_OUTPUT)
    ] = Format.TABLE,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png|svg",
            help="Draw the history and the curves.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
) -> None:
    """Read a log of scored events and print one row a window.

    An empty label means "not known yet": such rows are counted as pending, not as negative.

        streamauc replay scores.csv --window 1d --threshold 0.5

        streamauc replay scores.csv --label-time refunded_at --reference 2026-01-01..2026-02-01

        streamauc replay payments-*.parquet --positive fraud --window month --tz Europe/Berlin
    """

    def run() -> int:
        from streamauc.cli.replay import run_replay
        from streamauc.cli.request import ReplayRequest

        return run_replay(
            ReplayRequest(
                files=tuple(files),
                score=score,
                label=label,
                time=time,
                label_time=label_time,
                weight=weight,
                positive=positive,
                delimiter=delimiter,
                decimal=decimal,
                tz=tz,
                time_unit=None if time_unit is None else time_unit.value,
                skip_bad=skip_bad,
                scale=scale.value,
                bits=bits,
                thresholds=tuple(threshold or ()),
                window=window,
                start=start,
                end=end,
                pane=pane,
                reference=reference,
                min_coverage=min_coverage,
                store=store,
                series=tuple(series or ()),
                alike=alike.value,
                metrics=metrics,
                verify=verify,
                output=output.value,
                plot=plot,
            )
        )

    guarded(run)


@app.command()
def demo(
    plot: Annotated[Path, typer.Option(metavar="FILE.png|svg", help="Where to draw.")] = Path(
        "flights.png"
    ),
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Keep the scored stream, with the time each label became known, for replay.",
        ),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Watch a real model of late flights from New York.

    A model that learns day by day scores each of the 327,346 flights of 2013 before it leaves:
    will it be 15 minutes late or more? It knows only flights that had landed by then. Takes
    about half a minute.
    """

    def run() -> int:
        from streamauc.cli.flights import run_demo

        return run_demo(plot=plot, save_to=save, output=output.value)

    guarded(run)
