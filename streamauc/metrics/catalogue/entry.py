"""What an entry of the catalogue says of a metric, and how entries are made."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from streamauc.counts import ThresholdCounts
from streamauc.metrics.intervals import Interval
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.scalars import Bounds

Need = Literal["samples", "positives", "negatives", "flagged", "varying"]
Direction = Literal["higher", "lower", "neither"]

# Ranges of values: shares and areas, correlations, numbers and sums, costs.
SHARE, SIGNED, AMOUNT = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf)
ANY = (-math.inf, math.inf)


Params = Mapping[str, float]
MetricFunction = Callable[[ThresholdCounts, Params], float]
IntervalFunction = Callable[[ThresholdCounts, float, Params], Interval]
BoundsFunction = Callable[[ThresholdCounts, Params], Bounds]
ReasonFunction = Callable[[ThresholdCounts, Params], str | None]


class _PlainInterval(Protocol):
    def __call__(self, counts: ThresholdCounts, *, level: float) -> Interval:
        """Return the interval at a level."""


class _IntervalAtThreshold(Protocol):
    def __call__(self, counts: ThresholdCounts, *, threshold: float, level: float) -> Interval:
        """Return the interval at a level for what is flagged at a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """An entry: what is computed, from what, and how to read it.

    `parameters` are needed, `optional` ones not; the first of `parameters` may stand behind the
    name without its own, as in ``precision@0.7``.
    """

    name: str
    summary: str
    unit: str
    better: Direction
    needs: tuple[Need, ...]
    function: MetricFunction = field(repr=False)
    # Between which two no value is outside.
    within: tuple[float, float] = SHARE
    interval: IntervalFunction | None = field(default=None, repr=False)
    bounds: BoundsFunction | None = field(default=None, repr=False)
    # Why it is undefined, where `needs` does not tell.
    reason: ReasonFunction | None = field(default=None, repr=False)
    parameters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    # Whether it is read off all scores, their labels known or not.
    of_scores: bool = False
    # Whether it depends on nothing but the order of the scores.
    of_order: bool = True
    # Whether noise moves it to one side, as it raises the best of many thresholds and a mean
    # distance: its bootstrap takes that off.
    is_biased: bool = False
    # What to know of an interval that is drawn.
    caution: str = ""
    # Whether that is still too narrow at another class ratio, where few events may decide.
    unsure_elsewhere: bool = False
    # A metric with a formula for its interval which this one never is below.
    never_below: str | None = None


def ranking_share(
    name: str,
    summary: str,
    function: MetricFunction,
    *,
    interval: IntervalFunction | None = None,
    bounds: BoundsFunction | None = None,
    optional: tuple[str, ...] = (),
    within: tuple[float, float] = SHARE,
    is_biased: bool = False,
) -> Metric:
    """Return the entry of a share that says how well positives are ranked above negatives."""
    return Metric(
        name=name,
        summary=summary,
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=function,
        interval=interval,
        bounds=bounds,
        optional=optional,
        within=within,
        is_biased=is_biased,
    )


def plain(read: Callable[[ThresholdCounts], float]) -> MetricFunction:
    """Return the function of a metric without parameters."""
    return lambda counts, _params: read(counts)


def plain_interval(read: _PlainInterval) -> IntervalFunction:
    """Return the interval of a metric without parameters."""
    return lambda counts, level, _params: read(counts, level=level)


def plain_bounds(read: Callable[[ThresholdCounts], Bounds]) -> BoundsFunction:
    """Return the bounds of a metric without parameters, or that do not depend on them."""
    return lambda counts, _params: read(counts)


def interval_at(read: _IntervalAtThreshold) -> IntervalFunction:
    """Return the interval of a metric at a threshold."""
    return lambda counts, level, params: read(counts, threshold=params["threshold"], level=level)


def at_threshold(read: Callable[[Confusion], float]) -> MetricFunction:
    """Return the function of what is read off a confusion matrix."""
    return lambda counts, params: read(confusion_at(counts, params["threshold"]))
