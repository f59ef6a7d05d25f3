"""The commands of ``streamauc store``; what they do is imported only when one is run."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streamauc.cli.flowing import flowing
from streamauc.cli.guard import guarded

app = typer.Typer(
    help="Look into a store, check it, make it smaller, take it to Parquet and back.",
    no_args_is_help=True,
    add_completion=False,
)


class Format(StrEnum):
    """How the result is printed."""

    TABLE = "table"
    JSON = "json"


_Store = Annotated[Path, typer.Argument(metavar="STORE", help="The store's file.")]
_Series = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=VALUE",
        help="Only series with this label. Repeatable: all must match. VALUE may be a regular"
        " expression behind ~, and ! in front means any other: model=~fraud-.*, region=!eu.",
    ),
]
_Output = Annotated[Format, typer.Option("--format", help="How to print.")]


@app.command()
@flowing
def info(store: _Store, *, series: _Series = None, output: _Output = Format.TABLE) -> None:
    """Say what is in a store: series, time spans, panes, open predictions, writers, positions.

    Reads only, beside whoever writes. A writer is alive when it wrote within the last two minutes,
    ended when it said so, and silent otherwise: killed, perhaps, or kept from the disk.

        streamauc store info metrics.db

        streamauc store info metrics.db --series model=fraud --format json
    """

    def run() -> int:
        from streamauc.cli.storing.report import run_info

        return run_info(store, series or (), output.value)

    guarded(run)


@app.command()
@flowing
def verify(store: _Store, *, output: _Output = Format.TABLE) -> None:
    """Read all of a store and compare every row with its checksum, every sum with its parts.

    Exit code 0: all is as it was written. 1: damage was found, and each place is listed. 2: the
    file can't be opened as a store.

    Reads only, beside whoever writes. The rest of a damaged store can still be read: with
    --skip-damaged by `streamauc check` and `streamauc rules backtest`, in Python with
    Store("metrics.db", skip_damaged=True). `streamauc store repair` makes it whole again.
    """

    def run() -> int:
        from streamauc.cli.storing.verify import run_verify

        return run_verify(store, output.value)

    guarded(run)


@app.command()
@flowing
def repair(store: _Store, *, output: _Output = Format.TABLE) -> None:
    """Give up the damaged panes of a store, so that the rest can be read and written to again.

    Every pane that is not as it was written is deleted, and the sums are made anew of those that
    are left; each place is listed. The events of those panes are gone, and windows do not say so
    afterwards, so keep a copy of the file if they may be wanted from a backup or from the source.

    Whatever else is damaged is left as it is: the row of a series, positions, references, states
    of rules, open predictions. It may run beside writers.

    Exit code 0: the store is whole. 1: other damage is left. 2: the store can't be repaired.

        streamauc store repair metrics.db
    """

    def run() -> int:
        from streamauc.cli.storing.repair import run_repair

        return run_repair(store, output.value)

    guarded(run)


@app.command()
@flowing
def retire(
    store: _Store,
    writers: Annotated[
        list[str], typer.Argument(metavar="WRITER...", help="As `streamauc store info` names them.")
    ],
) -> None:
    """Write down that writers have ended which could not say so themselves.

    A worker that was killed stays silent for ever, and a rule on seconds_since_flush goes on
    firing until somebody has looked into it and retires it here. What it wrote stays counted.

        streamauc store retire metrics.db 4711-9f2c01d4e8aa
    """

    def run() -> int:
        from streamauc.cli.storing.retire import run_retire

        return run_retire(store, writers)

    guarded(run)


@app.command()
@flowing
def compact(
    store: _Store,
    *,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Let panes expire as of this time, e.g. 2026-03-01T00:00Z. If left out: the"
            " present, but for series with clock='event' the latest event.",
        ),
    ] = None,
    output: _Output = Format.TABLE,
) -> None:
    """Roll panes up as the tiers of their series say, and give free space back to the disk.

    Writers do the former themselves; a series that nobody writes to any more has it done here.
    Nothing is lost that its tiers keep. It may run beside writers: they wait while the file is
    rewritten, a few seconds a GB, and it needs free space of twice the size of the store.
    """

    def run() -> int:
        from streamauc.cli.storing.compact import run_compact

        return run_compact(store, now, output.value)

    guarded(run)


@app.command()
@flowing
def export(
    store: _Store,
    out: Annotated[
        Path, typer.Argument(metavar="OUT.parquet", help="A new file, or Parquet to replace.")
    ],
    *,
    series: _Series = None,
) -> None:
    """Write a store as one Parquet file: a row for each pane, score bin and class.

    Its columns:

        series                 the labels, as JSON
        channel                labelled: events whose outcome is known
                               predicted: all predictions, by their score alone
        tier                   0 is the finest
        pane_start, pane_end   the span of the pane
        bin                    the number of the score bin
        score_low, score_high  score_low <= score < score_high
        class                  0 negative, 1 positive; null for predicted
        count                  number of events; null if they had weights
        weight                 sum of weights; equal to count if they had none
        weight_squares         sum of squared weights; null if they had none

    An event stands in one tier only, so all rows of a channel may be added up. The positives of
    each day, in DuckDB and in pandas:

        SELECT (pane_start AT TIME ZONE 'UTC')::DATE AS day, sum(weight)
        FROM 'out.parquet' WHERE channel = 'labelled' AND class = 1
        GROUP BY day ORDER BY day

        rows = pd.read_parquet("out.parquet", filters=[
            ("channel", "==", "labelled"), ("class", "==", 1)])
        rows.groupby(rows.pane_start.dt.floor("D")).weight.sum()

    All else that import needs is there, too. The metadata hold settings, writers and positions; the
    last rows, in the column _rest, open predictions with their keys, references and detectors. With
    --series, positions, references and detectors are left out: they belong to the whole store.

    Reads only, all of one moment, beside whoever writes.
    """

    def run() -> int:
        from streamauc.cli.storing.export import run_export

        return run_export(store, out, series or ())

    guarded(run)


@app.command("import")
@flowing
def import_(
    source: Annotated[
        Path, typer.Argument(metavar="IN.parquet", help="A file that export has written.")
    ],
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="The store's file; made if it is missing.")
    ],
    *,
    merge: Annotated[
        bool,
        typer.Option(
            "--merge",
            help="Add to series that the store has already, such as those of another host.",
        ),
    ] = False,
) -> None:
    """Put into a store what export has written: all of it in one transaction, or nothing.

    A store made this way answers as the one that was exported, and exports the same file. In a
    store that exists, series, positions, references and detectors of the file must be new.

    With --merge, counts, tallies, open predictions and label delays are added to those of a series
    with the same labels, tiers and classes; a finer scale is brought to that of the store. What
    only one of both can be, positions, references and detectors, stays as it is in the store. A
    writer that is known on both sides is an error, as its events would count twice.

    Every value of the file is checked before the store is touched. Only then do others who write to
    the same store have to wait, about 10 seconds for 100,000 panes.
    """

    def run() -> int:
        from streamauc.cli.storing.loading import run_import

        return run_import(source, store, merge=merge)

    guarded(run)
