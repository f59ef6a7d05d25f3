"""Where things go: results to standard output, all else to standard error."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from streamauc.cli.reading import EventStream
from streamauc.cli.report import Report, print_table, to_csv, to_json
from streamauc.window import JsonValue

# Wide enough for any table: nothing is cut or wrapped in a pipe.
_PIPE_WIDTH = 10_000

Moment = TypeVar("Moment")


class Notices:
    """Lines for the person at the terminal, on standard error."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(Text(line, style="dim"))

    def say_all(self, lines: Iterable[str]) -> None:
        """Print several lines."""
        for line in lines:
            self.say(line)


class _Advance:
    """Moves a progress bar to where a stream of events is."""

    def __init__(self, progress: Progress, task: TaskID, events: EventStream) -> None:
        self._progress = progress
        self._task = task
        self._events = events

    def advance(self) -> None:
        """Show how much has been read."""
        self._progress.update(self._task, completed=self._events.bytes_done)


@contextmanager
def reading_progress(events: EventStream) -> Iterator[_Advance]:
    """Show how much of the files has been read, on a terminal only."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar as progress:
        yield _Advance(progress, progress.add_task("", total=events.bytes_total), events)


def playing_progress(moments: Iterable[Moment], played: Callable[[], float]) -> Iterator[Moment]:
    """Pass moments on; show how much has been played, on a terminal only."""
    console = Console(stderr=True)
    columns = (TextColumn("playing"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=1.0)
        for moment in moments:
            bar.update(task, completed=played())
            yield moment


def emit(report: Report, output: str, facts: dict[str, JsonValue]) -> None:
    """Print a report as ``table``, ``csv`` or ``json`` to standard output."""
    if output == "json":
        print(to_json(report, facts))
    elif output == "csv":
        print(to_csv(report), end="")
    else:
        terminal = sys.stdout.isatty()
        print_table(report, Console(width=None if terminal else _PIPE_WIDTH, highlight=False))
