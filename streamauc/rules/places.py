r"""On which line of a TOML text each key stands; `tomllib` reads values but tells no lines.

The text has been read by `tomllib` before, so it is valid here: strings, comments and brackets
only have to be told apart, not judged. Line breaks count as in editors: one each ``\n``.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

# ("rule", 2, "labels", "severity"): keys, and indices of arrays and of arrays of tables.
Path = tuple[str | int, ...]

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[^\s.=\]\"'#]+")
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")
# Possessive, so that a text that does not end is given up at once.
_TEXTS = {
    '"""': re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}', re.DOTALL),
    "'''": re.compile(r"'''(?:[^']|'(?!''))*+'{3,5}"),
    '"': re.compile(r'"(?:[^"\\\n]|\\.)*+"'),
    "'": re.compile(r"'[^'\n]*'"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key or an element stands, and where the text that it holds begins.

    `text_line` is None unless the breaks of the text are those of the file.
    """

    line: int
    text_line: int | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one text."""

    found: Mapping[Path, Place]

    def line(self, path: Path) -> int:
        """Return the line of a path, or of the nearest path above it that is known; else 1."""
        while path and path not in self.found:
            path = path[:-1]
        return self.found[path].line if path else 1

    def line_within(self, path: Path, text: str, position: int) -> int:
        """Return the line of a position in the text that stands at a path."""
        place = self.found.get(path)
        if place is None or place.text_line is None:
            return self.line(path)
        return place.text_line + text.count("\n", 0, position)


NOWHERE = Places({})


def locate(text: str) -> Places:
    """Return the places of a valid TOML text; none if it is in a form not known here. O(length)."""
    try:
        return Places(_Scanner(text).document())
    except ValueError:
        return NOWHERE


class _Scanner:
    """Walks through a text once; `_at` is where it is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        self._found: dict[Path, Place] = {}
        self._counts: dict[Path, int] = {}  # of each array of tables, so far

    def document(self) -> dict[Path, Place]:
        """Return the place of every key."""
        table: Path = ()
        while self._next() != "":
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._found

    def _next(self) -> str:
        """Skip blanks, breaks and comments and return the character behind, "" at the end."""
        self._skip(_SKIPPED)
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> str:
        """Go on to where the pattern ends and return what it matched."""
        match = pattern.match(self._text, self._at)
        if match is None:
            self._give_up()
        self._at = match.end()
        return match[0]

    def _give_up(self) -> NoReturn:
        raise ValueError(f"text must be TOML as known here, got {self._text[self._at :][:20]!r}")

    @property
    def _line(self) -> int:
        return bisect_left(self._breaks, self._at) + 1

    def _mark(self, path: Path, line: int, text_line: int | None = None) -> None:
        for length in range(1, len(path)):  # tables that only a longer key names
            self._found.setdefault(path[:length], Place(line))
        if path not in self._found or text_line is not None:
            self._found[path] = Place(line, text_line)

    def _header(self) -> Path:
        line = self._line
        width = 2 if self._text.startswith("[[", self._at) else 1
        self._at += width
        *outer, last = self._key()
        self._at += width
        path: Path = ()
        for part in outer:
            path = self._inside((*path, part))
        path = (*path, last)
        if width == 2:
            self._mark(path, line)
            index = self._counts.get(path, 0)
            self._counts[path] = index + 1
            path = (*path, index)
        self._mark(path, line)
        return path

    def _inside(self, path: Path) -> Path:
        """Return the path itself, or of the last table if it is an array of tables."""
        count = self._counts.get(path)
        return path if count is None else (*path, count - 1)

    def _key(self) -> list[str]:
        """Read a key and the blanks behind it; ``a."b c"`` has two parts."""
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            quote = self._text[self._at : self._at + 1]
            if quote in ('"', "'"):
                raw = self._skip(_TEXTS[quote])
                parts.append(str(tomllib.loads(f"key = {raw}")["key"]))
            else:
                parts.append(self._skip(_BARE_KEY))
            self._skip(_BLANK)
            if self._text[self._at : self._at + 1] != ".":
                return parts
            self._at += 1

    def _pair(self, table: Path) -> None:
        line = self._line
        path = (*table, *self._key())
        self._at += 1  # the equals sign
        self._mark(path, line)
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip(_BLANK)
        first = self._text[self._at : self._at + 1]
        if first in ('"', "'"):
            self._quoted(path, first)
        elif first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        else:
            self._skip(_BARE_VALUE)

    def _quoted(self, path: Path, quote: str) -> None:
        triple = quote * 3
        if not self._text.startswith(triple, self._at):
            self._skip(_TEXTS[quote])
            return
        begin = self._line
        raw = self._skip(_TEXTS[triple]).removeprefix(triple)
        # A break behind the quotes is dropped; one behind a backslash, too, and \n is none.
        if quote == "'" or "\\" not in raw:
            self._mark(path, self.place_line(path), begin + raw.replace("\r", "").startswith("\n"))

    def place_line(self, path: Path) -> int:
        """Return the line that a path was marked with."""
        return self._found[path].line

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._next() not in ("]", ""):
            self._mark((*path, index), self._line)
            self._value((*path, index))
            index += 1
            self._comma("]")
        self._at += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while self._next() not in ("}", ""):
            self._pair(path)
            self._comma("}")
        self._at += 1

    def _comma(self, end: str) -> None:
        """Skip the comma behind an element, unless it is the last."""
        if self._next() == ",":
            self._at += 1
        elif self._next() != end:
            self._give_up()
