"""One promise about false alarms, split over many detectors."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streamauc import _check
from streamauc._time import Duration, duration


@dataclass(frozen=True, slots=True, init=False)
class FalseAlarmBudget:
    """At most one false alarm in so long a time, on average, from all detectors together.

    The rates add: a detector with the share w of the weights is promised one false alarm in
    ``every / w``. Then the mean time to the first false alarm of any of them is at least
    `every`, however their streams depend on each other: detector i fires once its evidence,
    whose mean grows by at most 1 a pane, reaches ``c_i``, and by then ``sum_i (c / c_i) M_i``,
    a weighted mean of the evidence because ``sum_i c / c_i = 1``, has reached c.

    >>> FalseAlarmBudget("30d").split(["a", "b", "c"], {"a": 2})
    {'a': 5184000.0, 'b': 10368000.0, 'c': 10368000.0}
    """

    every: float

    def __init__(self, every: Duration) -> None:
        object.__setattr__(self, "every", duration("every", every))

    def split(
        self, names: Iterable[str], weights: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Return each detector's `false_alarm_every` in seconds. O(number of names).

        A larger weight is a larger share of the alarms; names without a weight have 1. Raises
        ValueError for no name, a name twice, a weight of no name or one that is not positive.
        """
        found = list(names)
        given = dict(weights or {})
        if not found or len(set(found)) < len(found):
            raise ValueError(f"names must hold at least one name and none twice, got {found!r}")
        if extra := sorted(set(given) - set(found)):
            raise ValueError(f"weights must belong to names, got one for {extra[0]!r}")
        shares = [_weight(name, given.get(name, 1.0)) for name in found]
        total = math.fsum(shares)
        return {name: self.every * total / share for name, share in zip(found, shares, strict=True)}


def _weight(name: str, weight: float) -> float:
    found = _check.finite(f"the weight of {name}", weight)
    if not found > 0:
        raise ValueError(f"the weight of {name} must be positive, got {found!r}")
    return found
