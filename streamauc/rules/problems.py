"""What is wrong with a rules file: every problem, with its line, its key and a suggestion."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamauc.rules.places import Path, Places

_LONGEST = 60


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One problem of a file: the line, the key there ("" for the file), and what is wrong."""

    line: int
    key: str
    message: str


class RulesError(ValueError):
    """A file that cannot be used; `problems` holds all there are, in the order of lines."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(f"{file}:{one.line}: {one.message}" for one in self.problems))

    def __reduce__(self) -> tuple[type["RulesError"], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.file, self.problems)


class Log:
    """Collects problems while a file is read, and what is right but makes no sense."""

    def __init__(self, file: str, places: Places) -> None:
        self.file = file
        self.places = places
        self.problems: list[Problem] = []
        self.doubts: list[Problem] = []

    def add(self, path: Path, message: str, *, line: int | None = None) -> None:
        """Note a problem of the value at a path; at the nearest place that is known."""
        self.problems.append(self._problem(path, message, line))

    def doubt(self, path: Path, message: str) -> None:
        """Note something that the file can be used with, but that nobody can want."""
        self.doubts.append(self._problem(path, message, None))

    def _problem(self, path: Path, message: str, line: int | None) -> Problem:
        key = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
        return Problem(line or self.places.line(path), key, message)

    def check(self) -> None:
        """Raise RulesError if there is any problem."""
        if self.problems:
            raise RulesError(self.file, self.problems)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests a name, or lists those that are known."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name[:_LONGEST], names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"


def shown(value: object) -> str:
    """Return a value of a TOML file for a message, cut where it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    # An int of thousands of digits has no repr.
    text = "a huge integer" if _is_huge(value) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() > _LONGEST * 4


def joined(names: Sequence[str]) -> str:
    """Return names as ``'a', 'b' or 'c'``."""
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
