"""Opening a store for a command, and choosing series of it."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from streamauc.rules.selector import Matcher, Selector, braced
from streamauc.store import DamageError, Store

_PIPE_WIDTH = 10_000

Found = TypeVar("Found")


@contextmanager
def opened(path: Path, *, read_only: bool) -> Iterator[Store]:
    """Open a store that exists; what is damaged is said with the command that tells more."""
    existing(path)
    try:
        with Store(path, read_only=read_only) as store:
            yield store
    except DamageError as error:
        raise ValueError(
            f"{error}; streamauc store verify {path} lists all damage, streamauc store repair"
            f" {path} gives up damaged panes"
        ) from error


def existing(path: Path) -> None:
    """Raise FileNotFoundError unless a file exists: one that is misspelt must not be made."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")


def selector(texts: Sequence[str]) -> Selector:
    """Return what LABEL=VALUE texts select. Raises ValueError for other texts."""
    matchers = []
    for text in texts:
        label, equals, value = text.partition("=")
        if not equals or not label:
            raise ValueError(f"--series must be LABEL=VALUE, got {text!r}")
        try:
            matchers.append(Matcher.parse(label, value))
        except ValueError as error:
            raise ValueError(f"--series {label} {error}") from error
    return Selector(tuple(matchers))


def chosen(found: Sequence[tuple[Mapping[str, str], Found]], wanted: Selector) -> list[Found]:
    """Return what has labels that are wanted. Raises ValueError if some is wanted and none is."""
    kept = [one for labels, one in found if wanted.matches(labels)]
    if wanted.matchers and not kept:
        names = [braced(labels) for labels, _ in found]
        there = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise ValueError(f"--series must match a series, got {wanted}; there is {there or 'none'}")
    return kept


def say(line: str) -> None:
    """Print a notice on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(line, style="dim"))


def results() -> Console:
    """Return standard output: as wide as the terminal, in a pipe as wide as it takes."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, highlight=False)


class Advance:
    """Moves a progress bar on."""

    def __init__(self, progress: Progress, total: float) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def by(self, number: float) -> None:
        """Show that so much more is done."""
        self._progress.advance(self._task, number)

    def over(self, things: Iterable[Found]) -> Iterator[Found]:
        """Pass things on, and show that one more is done after each."""
        for one in things:
            yield one
            self.by(1)


@contextmanager
def progress(what: str, total: float) -> Iterator[Advance]:
    """Show how much is done of something long, on a terminal only."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    if bar.disable:  # older versions print an empty line when even such a bar ends
        yield Advance(bar, total)
        return
    with bar:
        yield Advance(bar, total)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show that something is going on, on a terminal only."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
