"""When an alert fires: limits with hysteresis, how long they must be passed, what absence means."""

import math
from dataclasses import dataclass
from typing import Literal

from streamauc.rules.formats import brief

NoData = Literal["no_data", "ok", "firing", "keep"]
NO_DATA: tuple[NoData, ...] = ("no_data", "ok", "firing", "keep")


@dataclass(frozen=True, slots=True)
class Limits:
    """What is past the limits; None where there is none.

    A value is past when it is less than `below` or more than `above`. Once an alert fires, it
    goes on until the value is neither less than `clear_above` nor more than `clear_below`,
    which are the limits themselves unless given.
    """

    below: float | None = None
    above: float | None = None
    clear_above: float | None = None
    clear_below: float | None = None

    def past(self, low: float, high: float, *, clearing: bool) -> str | None:
        """Return in words which limit all of [low, high] is past, or None.

        `clearing` asks by the levels at which an alert that fires would end.
        """
        below, above = self.below, self.above
        if clearing:
            below = below if self.clear_above is None else self.clear_above
            above = above if self.clear_below is None else self.clear_below
        if below is not None and high < below:
            return _words("below", below, self.below)
        if above is not None and low > above:
            return _words("above", above, self.above)
        return None


def _words(side: str, level: float, limit: float | None) -> str:
    clear = " (where it would clear)" if level != limit else ""
    return f"{side} {brief(level)}{clear}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All that decides about the state of an alert; times in seconds.

    * `subject`: what is measured, for reasons.
    * `hold` (`for`): how long the limit must be passed before the alert fires.
    * `keep` (`keep_firing_for`): how long it goes on firing after that.
    * `no_data`, `no_data_after`: what absence means once it has lasted so long; until then the
      state stays as it is.
    """

    subject: str = "value"
    limits: Limits = Limits()
    hold: float = 0.0
    keep: float = 0.0
    no_data: NoData = "no_data"
    no_data_after: float = 0.0

    @property
    def patience(self) -> float:
        """How long absence changes nothing."""
        return math.inf if self.no_data == "keep" else self.no_data_after
