"""JSON from a file of strangers, taken apart field by field."""

import json
import math
from collections.abc import Iterator, Mapping

from streamauc.store.documents import Json

_LONGEST = 60


class Record:
    """A JSON object; whatever is not what it must be is a ValueError that says where it stands."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{where} must be an object, got {shown(value)}")  # noqa: TRY004 - a file
        self._fields: Mapping[str, object] = value
        self.where = where

    @classmethod
    def parse(cls, text: str | bytes, where: str) -> "Record":
        """Return the object that a text holds."""
        try:
            return cls(json.loads(text), where)
        except (ValueError, RecursionError) as error:
            if isinstance(error, ValueError) and str(error).startswith(where):
                raise
            raise ValueError(f"{where} must be JSON, got {shown(text)}: {error}") from error

    def names(self) -> tuple[str, ...]:
        """Return the names of its fields."""
        return tuple(self._fields)

    def value(self, name: str) -> object:
        """Return a field."""
        if name not in self._fields:
            raise ValueError(f"{self.where}: {name} is missing")
        return self._fields[name]

    def fault(self, name: str, requirement: str) -> ValueError:
        """Return the error for a field."""
        got = shown(self._fields.get(name))
        return ValueError(f"{self.where}: {name} must be {requirement}, got {got}")

    def text(self, name: str) -> str:
        """Return a field that is text."""
        found = self.value(name)
        if not isinstance(found, str):
            raise self.fault(name, "text")
        return found

    def flag(self, name: str) -> bool:
        """Return a field that is true or false."""
        found = self.value(name)
        if not isinstance(found, bool):
            raise self.fault(name, "true or false")
        return found

    def integer(self, name: str, low: int, high: int) -> int:
        """Return a field that is an integer from `low` to `high`."""
        found = self.value(name)
        if type(found) is not int or not low <= found <= high:
            raise self.fault(name, f"an integer from {low} to {high}")
        return found

    def real(self, name: str, largest: float) -> float:
        """Return a field that is a number of at most this size."""
        return self._real(name, self.value(name), largest)

    def real_or_none(self, name: str, largest: float) -> float | None:
        """Return a field that is such a number, or null."""
        return None if self.value(name) is None else self.real(name, largest)

    def _real(self, name: str, found: object, largest: float) -> float:
        if not is_real(found, largest):
            raise self.fault(name, f"a number of at most {largest:g}")
        return float(found)  # type: ignore[arg-type]  # just checked

    def items(self, name: str) -> list[object]:
        """Return a field that is a list."""
        found = self.value(name)
        if not isinstance(found, list):
            raise self.fault(name, "a list")
        return found

    def reals(self, name: str, largest: float) -> list[float]:
        """Return a field that is a list of such numbers."""
        return [self._real(name, one, largest) for one in self.items(name)]

    def texts(self, name: str) -> list[str]:
        """Return a field that is a list of different texts."""
        found = [one for one in self.items(name) if isinstance(one, str)]
        if len(set(found)) != len(self.items(name)):
            raise self.fault(name, "a list of different texts")
        return found

    def record(self, name: str) -> "Record":
        """Return a field that is an object."""
        return Record(self.value(name), f"{self.where}: {name}")

    def records(self, name: str) -> Iterator["Record"]:
        """Yield the objects of a field that is a list of them."""
        for number, one in enumerate(self.items(name)):
            yield Record(one, f"{self.where}: {name} {number + 1}")

    def integers(self, largest: int) -> dict[str, int]:
        """Return all fields, which are integers of at most this size."""
        return {name: self.integer(name, -largest, largest) for name in self._fields}

    def plain(self) -> dict[str, Json]:
        """Return all fields as they are."""
        found: dict[str, Json] = json.loads(json.dumps(self._fields))
        return found


def is_real(value: object, largest: float) -> bool:
    """Return whether a value is a number of at most this size."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and abs(value) <= largest


def shown(value: object) -> str:
    """Return a value as it is quoted in an error."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
