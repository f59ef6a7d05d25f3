"""``streamauc check`` with plain options, read without the library that reads all others.

A monitoring system starts it every minute, and building the whole command line takes longer than
the check. Whatever is not plain (``--help``, an error, an abbreviation) is left to that library.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_OPTIONS = ("--store", "--now", "--format")
_SKIP_DAMAGED = "--skip-damaged"
_FORMATS = ("table", "json")


@dataclass(frozen=True, slots=True)
class PlainCheck:
    """The options of a check."""

    rules: str
    store: str
    now: str | None = None
    output: str = "table"
    skip_damaged: bool = False


def read_plain_check(arguments: Sequence[str]) -> PlainCheck | None:
    """Return the options that follow ``check``; None if they are not plain."""
    given: dict[str, str] = {}
    rest = iter(argument for argument in arguments if argument != _SKIP_DAMAGED)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not argument.startswith("-"):
            name, value = "rules", argument
        elif name not in _OPTIONS:
            return None
        elif not equals:
            value = next(rest, "-")
        if name in given or not value or value.startswith("-"):
            return None
        given[name] = value
    output, is_skipping = given.get("--format", "table"), _SKIP_DAMAGED in arguments
    if "rules" not in given or "--store" not in given or output not in _FORMATS:
        return None
    return PlainCheck(given["rules"], given["--store"], given.get("--now"), output, is_skipping)
