"""What a threshold must keep to, to be chosen at all."""

from dataclasses import dataclass

import numpy as np

from streamauc import _check
from streamauc._check import BoolArray, FloatArray
from streamauc.counts import ThresholdCounts

# By how much, relatively, a rate may pass its limit: as much as rounding makes of equal numbers.
_SLACK = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on a threshold, all of which it must keep; None where there is none.

    ``min_precision`` in (0, 1], ``max_fpr`` and ``max_alert_rate`` in [0, 1], and
    ``max_alerts_per_day``, not negative, over the `days` that the counts span. Raises ValueError
    for others, and for one of the last two without the other.
    """

    min_precision: float | None = None
    max_fpr: float | None = None
    max_alert_rate: float | None = None
    max_alerts_per_day: float | None = None
    days: float | None = None

    def __post_init__(self) -> None:
        """Check each limit that is given."""
        _check_share("min_precision", self.min_precision, "(0, 1]")
        _check_share("max_fpr", self.max_fpr, "[0, 1]")
        _check_share("max_alert_rate", self.max_alert_rate, "[0, 1]")
        _check_pair(self.max_alerts_per_day, self.days)

    def kept(self, counts: ThresholdCounts, n_samples: float) -> BoolArray:
        """Return which thresholds keep all limits, shape (n_thresholds + 1,). O(n_thresholds).

        To flag nobody keeps every limit but one on the precision, which is undefined there.
        Alerts are those among `n_samples` events that are flagged at the rates of `counts`.
        """
        kept = np.ones(counts.tps.shape, dtype=bool)
        if self.min_precision is not None:
            kept &= counts.precision >= self.min_precision * (1 - _SLACK)
        if self.max_fpr is not None:
            kept &= _at_most(counts.fpr, self.max_fpr)
        if self.max_alert_rate is not None:
            kept &= _at_most(_alert_rates(counts), self.max_alert_rate)
        if self.max_alerts_per_day is not None and self.days is not None:
            daily = _alert_rates(counts) * (n_samples / self.days)
            kept &= _at_most(daily, self.max_alerts_per_day)
        return kept


def _alert_rates(counts: ThresholdCounts) -> FloatArray:
    rates: FloatArray = (counts.tps + counts.fps) / counts.n_samples
    return rates


def _at_most(rates: FloatArray, limit: float) -> BoolArray:
    kept: BoolArray = rates <= limit * (1 + _SLACK)
    return kept


def _check_share(name: str, limit: float | None, allowed: str) -> None:
    if limit is None:
        return
    share = _check.finite(name, limit)
    if not 0 <= share <= 1 or (share == 0 and allowed.startswith("(")):
        raise ValueError(f"{name} must be in {allowed}, got {share!r}")


def _check_pair(limit: float | None, days: float | None) -> None:
    if (limit is None) != (days is None):
        name, other = "max_alerts_per_day", "days"
        name, other = (name, other) if limit is None else (other, name)
        raise ValueError(f"{name} must be given with {other}, got None")
    if limit is not None and _check.finite("max_alerts_per_day", limit) < 0:
        raise ValueError(f"max_alerts_per_day must not be negative, got {_check.plain(limit)!r}")
    if days is not None and _check.finite("days", days) <= 0:
        raise ValueError(f"days must be positive, got {_check.plain(days)!r}")
