"""``streamauc check`` and ``streamauc rules``: their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streamauc.cli.flowing import flowing
from streamauc.cli.guard import guarded, guarded_check

rules_app = typer.Typer(
    name="rules",
    help="Write, check and try out alert rules.",
    no_args_is_help=True,
)


class CheckFormat(StrEnum):
    """How the result of a check is printed."""

    TABLE = "table"
    JSON = "json"


_Rules = Annotated[
    str,
    typer.Argument(
        metavar="RULES.toml", help="The rules; `streamauc rules init` writes some to begin with."
    ),
]

_SkipDamaged = Annotated[
    bool,
    typer.Option(
        "--skip-damaged",
        help="Judge without panes that can't be read, and say so, instead of an ERROR;"
        " `streamauc store repair` gives them up for good.",
    ),
]


@flowing
def check(
    rules: _Rules,
    store: Annotated[
        str, typer.Option(metavar="FILE.db", help="The store that monitors write to.")
    ],
    *,
    now: Annotated[
        str | None,
        typer.Option(
            help="Judge as of this time, e.g. 2026-03-01T06:00Z, and keep nothing; now if left out."
        ),
    ] = None,
    skip_damaged: _SkipDamaged = False,
    output: Annotated[
        CheckFormat, typer.Option("--format", help="How to print.")
    ] = CheckFormat.TABLE,
) -> None:
    """Evaluate alert rules once; for a monitoring system, a cron job or a person.

    The first line is that of a monitoring plugin, with performance data; then comes a table.
    States are kept in the store, so that it makes no difference who checks, or from where.

    Exit code: 0 ok, pending or recovering; 1 a warning fires; 2 a critical alert fires; 3 no
    data, an error, or a wrong option. Of several, critical comes before unknown, then warning,
    then ok.

        streamauc check rules.toml --store metrics.db
    """
    guarded_check(rules, store, output=output.value, now=now, skip_damaged=skip_damaged)


@rules_app.command()
@flowing
def lint(rules: _Rules) -> None:
    """Say everything that is wrong with a rules file.

    A limit that no value of its metric can be past, or that every value is past, is doubtful: it
    can be used, but the alert never fires, always, or never clears.

    Exit code: 0 if nothing is wrong, 1 if something is doubtful, 2 if the file can't be used.
    """

    def run() -> int:
        from streamauc.cli.rules_tools import run_lint

        return run_lint(rules)

    guarded(run)


@rules_app.command()
@flowing
def init(
    path: Annotated[
        Path, typer.Argument(metavar="RULES.toml", help="Where to write; must not exist.")
    ] = Path("rules.toml"),
) -> None:
    """Write a rules file to begin with: an example of each kind, with comments."""

    def run() -> int:
        from streamauc.cli.rules_tools import run_init

        return run_init(path)

    guarded(run)


@rules_app.command("test")
@flowing
def run_tests_of_rules(
    scenarios: Annotated[
        list[str],
        typer.Argument(metavar="TEST.toml...", help="A stream, and the states expected of it."),
    ],
    *,
    rules: Annotated[
        str | None, typer.Option(help="The rules, if the test files do not name them.")
    ] = None,
) -> None:
    r"""Run rules on recorded streams and compare their states with what is expected.

    A test file is TOML. Times are lengths of time after `start`, before it with a minus:

        rules = "rules.toml"              # beside this file, or see --rules
        start = "2026-03-01T09:00:00Z"
        every = "1m"                      # how often rules are evaluated

        [\[series]]
        labels = { model = "fraud" }
        events = [
          { from = "-1h", until = "9m", every = "5s", label = 0, score = 0.1 },
          { at = "20s", label = 0, score = 0.1, count = 5 },
          { at = "30s", label = 1, score = 0.9 },
          { at = "40s", key = "a", score = 0.8 },    # a prediction,
          { at = "9m", key = "a", label = 1 },       # and its outcome
        ]
        file = "events.csv"      # optional, or .jsonl; columns as these keys

        \[references]                      # optional: spans of a series' past
        fraud-v3 = { from = "-1h", until = "0s" }

        [\[expect]]                        # any number of them
        at = "10m"
        alert = "RankingWorse"
        series = { model = "fraud" }
        state = "FIRING"                  # or OK, PENDING, NO_DATA, ...

    Columns of a file: at or timestamp, label, score, key, count. States: OK, PENDING, FIRING,
    RECOVERING, NO_DATA, ERROR. An expectation may also hold `labels` (of the rule, if several
    share a name), `value` with `tolerance`, `reason` (a part of it) and `annotations`.

    Exit code: 0 if all is as expected, 1 if not, 2 for a file that is wrong.
    """

    def run() -> int:
        from streamauc.cli.rules_tools import run_tests

        return run_tests(scenarios, rules)

    guarded(run)


@rules_app.command()
@flowing
def backtest(
    rules: _Rules,
    store: Annotated[str, typer.Option(metavar="FILE.db", help="The store with the past.")],
    *,
    start: Annotated[str, typer.Option(help="From when on, e.g. 2026-01-01T00:00Z.")],
    end: Annotated[str, typer.Option(help="Until when.")],
    every: Annotated[str, typer.Option(help="How often the rules are evaluated.")] = "5m",
    skip_damaged: _SkipDamaged = False,
    output: Annotated[
        CheckFormat, typer.Option("--format", help="How to print.")
    ] = CheckFormat.TABLE,
) -> None:
    """Print when each rule would have fired over a span of the past that a store holds.

    What is long ago is there by hours or days only: rules are evaluated where such a pane ends,
    and windows are rounded to the panes that the store still has. What could not be judged is
    counted, with a reason. Labels count as known from the beginning, as the store does not keep
    when they came. Nothing is written.

    Exit code: 0, or 3 if a rule had nothing to judge in all the span, or only errors for a series.
    """

    def run() -> int:
        from streamauc.cli.rules_backtest import run_backtest

        return run_backtest(
            rules,
            store,
            start=start,
            end=end,
            every=every,
            output=output.value,
            skip_damaged=skip_damaged,
        )

    guarded(run)


@rules_app.command()
@flowing
def history(
    store: Annotated[
        str, typer.Option(metavar="FILE.db", help="The store in which states are kept.")
    ],
    *,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="ALERT", help="Only alerts of this name. Repeatable."),
    ] = None,
    output: Annotated[
        CheckFormat, typer.Option("--format", help="How to print.")
    ] = CheckFormat.TABLE,
) -> None:
    """List every change of state that checks have found, oldest first."""

    def run() -> int:
        from streamauc.cli.rules_tools import run_history

        return run_history(store, tuple(rule or ()), output=output.value)

    guarded(run)


@rules_app.command()
@flowing
def acknowledge(
    alert: Annotated[str, typer.Argument(metavar="ALERT", help="The name of the alert.")],
    store: Annotated[
        str, typer.Option(metavar="FILE.db", help="The store in which states are kept.")
    ],
) -> None:
    """End the alarm of a detector, whose evidence then begins anew.

    A detector's alarm stays until somebody has seen it. When the class ratio has moved for good,
    replace the reference as well.
    """

    def run() -> int:
        from streamauc.cli.rules_tools import run_acknowledge

        return run_acknowledge(store, alert)

    guarded(run)
