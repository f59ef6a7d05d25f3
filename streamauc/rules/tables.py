"""Tables of a TOML file read key by key; what is wrong is noted, never raised."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from streamauc import _check, _time
from streamauc.rules.places import Path
from streamauc.rules.problems import Log, joined, nearest, shown

_LENGTH = re.compile(r"\s*(?:\d+(?:\.\d+)?\s*[A-Za-z]+\s*)+")
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 60
_Found = TypeVar("_Found")


class Table:
    """One table of the file. Each reader returns None where the key is absent or wrong.

    What is wrong goes to the log; `close` notes the keys that nobody knows.
    """

    def __init__(self, values: Mapping[str, object], path: Path, log: Log) -> None:
        self.values = values
        self.path = path
        self.log = log

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def fault(self, key: str, message: str) -> None:
        """Note what is wrong with a key, or with the table for one that it does not hold."""
        self.log.add((*self.path, key), message)

    def close(self, known: Sequence[str]) -> None:
        """Note every key that is not known."""
        for key in self.values:
            if key not in known:
                self.fault(key, f"unknown key {shown(key)}{nearest(key, known)}")

    def _read(
        self, key: str, wanted: str, convert: Callable[[object], _Found | None]
    ) -> _Found | None:
        """Return what `convert` makes of a value, which is None for a wrong one."""
        if key not in self.values:
            return None
        found = convert(self.values[key])
        if found is None:
            self.fault(key, f"{key} must be {wanted}, got {shown(self.values[key])}")
        return found

    def text(self, key: str) -> str | None:
        """Return a text that is not empty."""
        return self._read(key, "a text that is not empty", _text)

    def choice(self, key: str, allowed: Sequence[str]) -> str | None:
        """Return one of some texts."""
        found = self._read(key, f"one of {joined(allowed)}", _text)
        if found is None or found in allowed:
            return found
        hint = nearest(found, allowed) if len(allowed) > 1 else ""
        hint = hint if "did you mean" in hint else ""
        self.fault(key, f"{key} must be {joined(allowed)}, got {shown(found)}{hint}")
        return None

    def number(
        self,
        key: str,
        wanted: str = "a finite number",
        fits: Callable[[float], bool] = lambda _: True,
    ) -> float | None:
        """Return a finite number that fits; `wanted` says in words which do."""
        return self._read(key, wanted, lambda value: _fitting(_number(value), fits))

    def share(self, key: str) -> float | None:
        """Return a number in [0, 1]."""
        return self.number(key, "a number in [0, 1]", lambda value: 0 <= value <= 1)

    def integer(self, key: str, low: int) -> int | None:
        """Return an integer of at least `low`."""
        return self._read(key, f"an integer of at least {low}", lambda value: _integer(value, low))

    def length(self, key: str, *, zero: bool = False) -> float | None:
        """Return a length of time in seconds: text such as 90s or 1h30m, or a number of seconds.

        It is longer than 0 unless `zero` allows that.
        """
        wanted = f"a length of time such as 90s, 15m or 1h30m{_months(self.values.get(key))}"
        wanted += "" if zero else ", longer than 0"
        return self._read(key, wanted, lambda value: _fitting(_length(value), _least(zero=zero)))

    def level(self, key: str) -> float | None:
        """Return a number strictly between 0 and 1."""
        rule = f"a number in (0, 1), at most {_check.HIGHEST_LEVEL}"
        return self.number(key, rule, lambda value: 0 < value <= _check.HIGHEST_LEVEL)

    def amount(self, key: str, *, of_time: bool) -> float | None:
        """Return a limit: a number, or of what is measured in seconds also a length of time."""
        if not of_time:
            return self.number(key)
        wanted = "a number of seconds or a length of time such as 15m"
        return self._read(key, wanted + _months(self.values.get(key)), _length)

    def table(self, key: str) -> "Table | None":
        """Return a table inside this one."""
        found = self._read(key, "a table", lambda value: value if isinstance(value, dict) else None)
        return None if found is None else Table(found, (*self.path, key), self.log)

    def tables(self, key: str) -> "list[Table]":
        """Return the tables of an array of tables, without elements that are none."""
        values = self.values.get(key, [])
        if not isinstance(values, list):
            self.fault(key, f"{key} must be an array of tables, [[{key}]], got {shown(values)}")
            return []
        found = []
        for index, value in enumerate(values):
            path = (*self.path, key, index)
            if isinstance(value, dict):
                found.append(Table(value, path, self.log))
            else:
                self.log.add(path, f"{key} must hold tables, [[{key}]], got {shown(value)}")
        return found

    def texts(self, key: str, *, names: bool = False) -> dict[str, str]:
        """Return a table of texts; its keys are names such as ``severity`` if `names` says so."""
        table = self.table(key)
        if table is None:
            return {}
        found = {}
        for name, value in table.values.items():
            if names and not _NAME.fullmatch(name):
                wanted = "of letters, digits and _, not beginning with a digit"
                table.fault(name, f"{key} must have names {wanted}, got {shown(name)}")
            elif not isinstance(value, str):
                table.fault(name, f"{key}.{name} must be a text, got {shown(value)}")
            else:
                found[name] = value
        return found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _integer(value: object, low: int) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and low <= value <= 2**53 else None  # type: ignore[operator,return-value]


def _length(value: object) -> float | None:
    if not isinstance(value, str):
        return _number(value)
    if len(value) > _LONGEST or not _LENGTH.fullmatch(value):
        return None
    total = 0.0
    for number, unit in _PART.findall(value):
        if float(number):
            try:
                total += _time.duration("length", f"{number}{unit}")
            except ValueError:
                return None
    return total


def _months(value: object) -> str:
    """Return what to add to a message about a length of time with an M."""
    units = [unit for _, unit in _PART.findall(value[:_LONGEST])] if isinstance(value, str) else []
    return f" ({_time.MONTHS})" if "M" in units else ""


def seconds_of(text: str) -> float | None:
    """Return a text as a length of time longer than 0, or None if it is none."""
    return _fitting(_length(text), _least(zero=False))


def _least(*, zero: bool) -> Callable[[float], bool]:
    return lambda value: (value >= 0 if zero else value > 0) and value <= _time.MAX_TIME


def _fitting(value: float | None, fits: Callable[[float], bool]) -> float | None:
    return value if value is not None and fits(value) else None
