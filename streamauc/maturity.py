"""How long labels take: after which delay a window can be taken at its word.

Labels that are known early are not a fair sample of all, and neither are their delays. So the
delay over all predictions counts those still waiting as having waited at least so long
(Kaplan & Meier 1958); by class that can't be done, as the class is not known before the label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray, fraction
from streamauc.accumulator import Accumulator
from streamauc.histogram import ScoreHistogram
from streamauc.scale import Scale

# Delays are binned 32 to an octave: within 3 %.
_DELAYS = Scale.real(bits=5)


@dataclass(frozen=True, slots=True)
class LabelDelay:
    """The delay, in seconds, within which `share` of the labels arrive; rounded up by 3 %.

    `overall` counts predictions that still wait; ``nan`` while too few have their label to
    tell. `negatives` and `positives` are of the labels that have arrived, and too short as
    long as many are outstanding; ``nan`` without any.
    """

    share: float
    overall: float
    negatives: float
    positives: float
    n_labels: int


class DelayLog:
    """Counts delays of labels by class."""

    def __init__(self) -> None:
        self._arrived = Accumulator(_DELAYS, n_classes=2)

    def add(self, delays: Sequence[tuple[float, float]]) -> None:
        """Count (delay, label) pairs; a label that was there first has a delay of 0. O(n)."""
        if delays:
            seconds, labels = np.array(delays).T
            self._arrived.update_many(labels.astype(np.int64), np.maximum(seconds, 0.0))

    def to_bytes(self) -> bytes:
        """Return what was counted, as `codec` writes it down."""
        return self._arrived.histogram().to_bytes()

    def merge(self, data: bytes) -> None:
        """Add what another log counted. Raises ValueError for other bytes."""
        self._arrived.merge(ScoreHistogram.from_bytes(data))

    def usual(self, share: float) -> float:
        """Return the delay within which a share of the labels that came did so; 0 without any."""
        found = self._arrived.histogram()
        ends = _DELAYS.lower_edges(found.bins + 1)
        delay = _quantile(ends, found.counts.sum(axis=0), share)
        return 0.0 if math.isnan(delay) else delay

    def estimate(self, share: float, ages: FloatArray) -> LabelDelay:
        """Return the delay, when predictions of these ages still wait. O(n log n)."""
        share = fraction("share", share)
        found = self._arrived.histogram()
        ends = _DELAYS.lower_edges(found.bins + 1)
        negatives, positives = (_quantile(ends, counts, share) for counts in found.counts)
        arrived = found.counts.sum(axis=0)
        overall = _kaplan_meier(found.lower_edges(), ends, arrived, ages, share)
        return LabelDelay(share, overall, negatives, positives, int(arrived.sum()))


def _quantile(ends: FloatArray, counts: FloatArray, share: float) -> float:
    total = counts.sum()
    if not total:
        return math.nan
    return float(ends[np.searchsorted(np.cumsum(counts), share * total)])


def _kaplan_meier(
    starts: FloatArray, ends: FloatArray, arrived: FloatArray, ages: FloatArray, share: float
) -> float:
    """Return the end of the first bin by which the share is reached; ``nan`` if none is."""
    waited_less = np.searchsorted(np.sort(ages), starts)
    n_at_risk = arrived[::-1].cumsum()[::-1] + ages.size - waited_less
    outstanding = np.cumprod(1 - arrived / n_at_risk)
    reached = np.flatnonzero(outstanding <= 1 - share)
    return float(ends[reached[0]]) if reached.size else math.nan
