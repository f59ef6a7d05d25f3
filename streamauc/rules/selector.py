"""Which series a rule is for: a table of labels, each with a text that its value must match.

| text | matches |
|---|---|
| ``"fraud"`` | the value itself |
| ``"!fraud"`` | any other value |
| ``"~eu-.*"`` | values that the regular expression matches as a whole |
| ``"!~eu-.*"`` | values that it does not match |
| ``"=~x"`` | the value ``~x`` itself, when it begins with ``!``, ``~`` or ``=`` |

As in Prometheus, a label that a series does not have is the empty text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Matcher:
    """What the value of one label must be; see the table above."""

    label: str
    value: str
    pattern: re.Pattern[str] | None = None
    negated: bool = False

    @classmethod
    def parse(cls, label: str, text: str) -> "Matcher":
        """Return the matcher of a text. Raises ValueError for a bad regular expression."""
        if text.startswith("="):
            return cls(label, text[1:])
        negated = text.startswith("!")
        rest = text.removeprefix("!")
        if not rest.startswith("~"):
            return cls(label, rest, None, negated)
        try:
            pattern = re.compile(rest[1:])
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"must be a regular expression behind ~, got {text!r}: {error}") from (
                None
            )
        return cls(label, rest[1:], pattern, negated)

    def matches(self, labels: Labels) -> bool:
        """Return whether a series with these labels is meant."""
        value = labels.get(self.label, "")
        same = value == self.value if self.pattern is None else bool(self.pattern.fullmatch(value))
        return same != self.negated

    def __str__(self) -> str:
        sign = ("!" if self.negated else "=") + ("=" if self.pattern is None else "~")
        return f"{self.label}{sign.replace('==', '=')}{quoted(self.value)}"


@dataclass(frozen=True, slots=True)
class Selector:
    """The series whose labels match all matchers; without any, every series."""

    matchers: tuple[Matcher, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Return whether a series with these labels is meant. O(n_matchers)."""
        return all(matcher.matches(labels) for matcher in self.matchers)

    def __str__(self) -> str:
        return f"{{{', '.join(map(str, self.matchers))}}}"


def braced(labels: Labels) -> str:
    """Return labels as text, sorted, as Prometheus shows them.

    >>> braced({"model": "fraud", "region": "eu"})
    '{model="fraud", region="eu"}'
    """
    parts = [f"{name}={quoted(labels[name])}" for name in sorted(labels)]
    return f"{{{', '.join(parts)}}}"


def quoted(text: str) -> str:
    """Return a text in double quotes, with escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
