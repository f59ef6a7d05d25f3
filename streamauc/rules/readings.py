"""What a rule read: something to judge, or why there is nothing."""

import math
from dataclasses import dataclass

# From when to when was looked at, seconds since the epoch.
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, and the ends of what is compared with the limits: itself, or its interval.

    `note` is what may mislead about it, or more about it, in words; `span` is that of the panes
    it was read from, None where it is of no window; `advice` is what to do if it is past its
    limit.
    """

    value: float
    low: float
    high: float
    note: str = ""
    span: Span | None = None
    advice: str = ""

    @classmethod
    def of(cls, value: float, note: str = "") -> "Measured":
        """Return a reading that is compared by its value."""
        return cls(value, value, value, note)

    @property
    def is_defined(self) -> bool:
        """Whether there is a number to compare; ``nan`` is never healthy."""
        return not (math.isnan(self.value) or math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True, slots=True)
class Decided:
    """Something that has made up its mind already, such as a detector, and why."""

    is_active: bool
    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Missing:
    """There is nothing to judge, and why; `span` as in `Measured`."""

    reason: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Reading went wrong, and how."""

    reason: str


Reading = Measured | Decided | Missing | Failed
