"""The forms in which a comparison answers."""

import math
from dataclasses import dataclass

from streamauc.metrics.intervals import Interval

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Significance:
    """A two-sided test of "no change"; `method` says which, or why `p_value` is ``nan``."""

    p_value: float
    method: str


@dataclass(frozen=True, slots=True)
class Change:
    """A value on both sides, their difference (current - reference), its interval and test."""

    reference: float
    current: float
    difference: float
    interval: Interval
    test: Significance

    def to_dict(self) -> dict[str, JsonValue]:
        """Return plain values for JSON; what is undefined is None."""
        return {
            "reference": or_none(self.reference),
            "current": or_none(self.current),
            "difference": or_none(self.difference),
            "interval": pair(self.interval),
            "interval_method": self.interval.note,
            "p_value": or_none(self.test.p_value),
            "test": self.test.method,
        }


@dataclass(frozen=True, slots=True)
class Attribution:
    """A change of a metric split among what changed; `total` is current - reference.

    `prevalence` is the part of the class ratio, `positives` and `negatives` those of the scores
    of each class. They add up to `total` to within 1e-15.
    """

    prevalence: float
    positives: float
    negatives: float
    total: float

    def to_dict(self) -> dict[str, JsonValue]:
        """Return plain values for JSON; what is undefined is None."""
        return {
            "prevalence": or_none(self.prevalence),
            "positives": or_none(self.positives),
            "negatives": or_none(self.negatives),
            "total": or_none(self.total),
        }


@dataclass(frozen=True, slots=True)
class ScoreShift:
    """How far apart two distributions of scores are; each is 0 when they are the same.

    `ks` is the Kolmogorov-Smirnov statistic, the largest difference of the shares of scores at
    or above any threshold. `psi` is the population stability index over ten groups of the
    reference. `jensen_shannon` is the divergence (not its root) in bits, from 0 to 1, bin by bin.
    """

    ks: float
    psi: float
    jensen_shannon: float

    def to_dict(self) -> dict[str, JsonValue]:
        """Return plain values for JSON; what is undefined is None."""
        return {
            "ks": or_none(self.ks),
            "psi": or_none(self.psi),
            "jensen_shannon": or_none(self.jensen_shannon),
        }


def or_none(value: float) -> float | None:
    """Return a finite value, and None for any other."""
    return value if math.isfinite(value) else None


def pair(interval: Interval) -> list[JsonValue]:
    """Return both ends of an interval."""
    return [or_none(interval.low), or_none(interval.high)]
