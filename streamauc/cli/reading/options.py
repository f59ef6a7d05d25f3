"""What a reader is told: columns, the positive label, how numbers and times are written."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Role = Literal["score", "label", "time", "weight", "label_time"]
ROLES: tuple[Role, ...] = ("score", "label", "time", "weight", "label_time")
TIME_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    r"""How files become events; whatever is `None` is guessed from the file and noted.

    Attributes:
        score, label, time, weight: column names. A time of ``""`` means that there is none. A
            weight is guessed only from a column named ``weight`` or ``sample_weight``.
        label_time: the column that says when the label of a row became known. Never guessed:
            `None` means that there is none. It may be the time column.
        positive: the label value that is positive, as text. Numbers match by value (``"1"`` is
            1.0 too) and true counts as 1; every other value that is not missing is negative.
        delimiter, decimal: of delimited text; ``"\t"`` may also be written as backslash and t.
        tz: zone of times that carry none, a name of the time zone database.
        time_unit: ``s``, ``ms``, ``us`` or ``ns``, for times that are plain numbers; in both time
            columns. Where it is not given, each column is guessed by itself.
        scores: the closed range in which a score must lie.
        skip_bad: leave bad rows out and count them, rather than stop at the first.
        batch_rows: most rows a batch of a Parquet or Arrow file; text comes in blocks of 2 MB.

    """

    score: str | None = None
    label: str | None = None
    time: str | None = None
    weight: str | None = None
    label_time: str | None = None
    positive: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    tz: str | None = None
    time_unit: str | None = None
    scores: tuple[float, float] = (0.0, 1.0)
    skip_bad: bool = False
    batch_rows: int = 262_144

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise ValueError(problem)

    @property
    def field_mark(self) -> str | None:
        """The delimiter as it stands in the file."""
        return "\t" if self.delimiter == "\\t" else self.delimiter

    @property
    def zone(self) -> ZoneInfo | None:
        """The zone named by `tz`."""
        return None if self.tz is None else ZoneInfo(self.tz)

    def column(self, role: Role) -> str | None:
        """Return the name given for the column of `role`."""
        names: dict[Role, str | None] = {
            "score": self.score,
            "label": self.label,
            "time": self.time,
            "weight": self.weight,
            "label_time": self.label_time,
        }
        return names[role]


@dataclass(frozen=True, slots=True)
class Columns:
    """The resolved column names; all but score and label are `None` where there is no such column.

    A `label_time` comes with a `time`, and may be the same column.
    """

    score: str
    label: str
    time: str | None
    weight: str | None
    label_time: str | None = None

    def used(self) -> dict[Role, str]:
        """Return the name of every column that is read, by its role.

        A label time in the time column is read as that alone.
        """
        label_time = None if self.label_time == self.time else self.label_time
        names = (self.score, self.label, self.time, self.weight, label_time)
        return {role: name for role, name in zip(ROLES, names, strict=True) if name is not None}


def _problems(options: ReadOptions) -> Iterator[str]:
    """Yield what is wrong with the values given, in words."""
    delimiter, decimal, unit = options.delimiter, options.decimal, options.time_unit
    if delimiter is not None and delimiter != "\\t" and len(delimiter) != 1:
        yield f"delimiter must be one character, got {delimiter!r}"
    if delimiter is not None and delimiter in ('"', "\n", "\r"):
        yield f"delimiter must not be a quote or a line end, got {delimiter!r}"
    if decimal is not None and decimal not in (".", ","):
        yield f"decimal must be '.' or ',', got {decimal!r}"
    if options.label_time == "":
        yield "label_time must name a column, got ''"
    if unit is not None and unit not in TIME_UNITS:
        yield f"time_unit must be one of s, ms, us, ns, got {unit!r}"
    if options.tz is not None and not _is_zone(options.tz):
        yield f"tz must be a name like Europe/Berlin or UTC, got {options.tz!r}"
    if options.batch_rows < 1:
        yield f"batch_rows must be at least 1, got {options.batch_rows}"
    low, high = options.scores
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        yield f"scores must be two finite numbers in increasing order, got {options.scores}"


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
