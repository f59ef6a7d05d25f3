"""The catalogue: every metric by name, with what it needs, its unit and its good direction.

Windows, histories, the command line and the README's table all read it; a metric added here is
known to all of them.
"""

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from streamauc.counts import ThresholdCounts
from streamauc.metrics import combined, intervals, scalars
from streamauc.metrics.intervals import Interval
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.scalars import Bounds

Need = Literal["samples", "positives", "negatives", "flagged", "varying"]
Direction = Literal["higher", "lower", "neither"]


Params = Mapping[str, float]
MetricFunction = Callable[[ThresholdCounts, Params], float]
IntervalFunction = Callable[[ThresholdCounts, float, Params], Interval]


class _PlainInterval(Protocol):
    def __call__(self, counts: ThresholdCounts, *, level: float) -> Interval:
        """Return the interval at a level."""


class _IntervalAtThreshold(Protocol):
    def __call__(self, counts: ThresholdCounts, *, threshold: float, level: float) -> Interval:
        """Return the interval at a level for what is flagged at a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """An entry: what is computed, from what, and how to read it."""

    name: str
    summary: str
    unit: str
    better: Direction
    needs: tuple[Need, ...]
    function: MetricFunction = field(repr=False)
    interval: IntervalFunction | None = field(default=None, repr=False)
    bounds: Callable[[ThresholdCounts], Bounds] | None = field(default=None, repr=False)
    parameters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    # Whether it is read off all scores, their labels known or not.
    of_scores: bool = False


class UnknownMetricError(ValueError):
    """A name that the catalogue does not hold."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(METRICS)}"
        super().__init__(f"metric must be in the catalogue, got {name!r}{hint}")


def find(name: str) -> Metric:
    """Return the entry of that name. Raises ValueError and suggests the nearest otherwise."""
    try:
        return METRICS[name]
    except KeyError:
        raise UnknownMetricError(name) from None


def parse(text: str) -> tuple[Metric, dict[str, float]]:
    """Return the entry and the parameters that a text such as ``precision@0.7`` names."""
    name, at, threshold = text.partition("@")
    metric = find(name)
    if not at:
        return metric, {}
    try:
        return metric, {"threshold": float(threshold)}
    except ValueError:
        raise ValueError(f"threshold must be a number, got {threshold!r} in {text!r}") from None


def value(counts: ThresholdCounts, name: str, **params: float) -> float:
    """Return a metric by name; ``nan`` where it is undefined."""
    metric = find(name)
    _check_parameters(metric, params)
    return metric.function(counts, params)


def interval(
    counts: ThresholdCounts, name: str, *, level: float = 0.95, **params: float
) -> Interval:
    """Return a metric's confidence interval. Raises ValueError if it has none."""
    metric = find(name)
    _check_parameters(metric, params)
    if metric.interval is None:
        raise ValueError(f"metric must be one with an interval, got {name!r}")
    return metric.interval(counts, level, params)


def bounds(counts: ThresholdCounts, name: str) -> Bounds:
    """Return what binning leaves open of a metric. Raises ValueError if it has no bounds."""
    metric = find(name)
    if metric.bounds is None:
        raise ValueError(f"metric must be one with bounds, got {name!r}")
    return metric.bounds(counts)


def reason(counts: ThresholdCounts, name: str, **params: float) -> str | None:
    """Return why a metric is ``nan``, or None if it is not.

    One of ``empty``, ``no_positives``, ``no_negatives``, ``nothing_flagged`` and ``no_variation``
    (of the predictions or the outcomes).
    """
    if not math.isnan(value(counts, name, **params)):
        return None
    if not counts.n_samples:
        return "empty"
    needs = find(name).needs
    if "prevalence" in params:  # the scores of both classes are needed to mix them anew
        needs += ("positives", "negatives")
    if "positives" in needs and not counts.n_pos:
        return "no_positives"
    if "negatives" in needs and not counts.n_neg:
        return "no_negatives"
    return "nothing_flagged" if "flagged" in needs else "no_variation"


def _check_parameters(metric: Metric, params: Params) -> None:
    missing = [name for name in metric.parameters if name not in params]
    extra = [name for name in params if name not in metric.parameters + metric.optional]
    if missing:
        raise ValueError(f"metric {metric.name!r} needs {missing[0]}=")
    if extra:
        raise ValueError(f"metric {metric.name!r} takes no {extra[0]}=")


def table() -> str:
    """Return the catalogue as a Markdown table; optional parameters in parentheses."""
    head = "| name | what it is | unit | better | parameters | interval | bounds |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for metric in METRICS.values():
        names = [f"`{name}`" for name in metric.parameters]
        names += [f"(`{name}`)" for name in metric.optional]
        has = ["yes" if part else "" for part in (metric.interval, metric.bounds)]
        what = [f"`{metric.name}`", metric.summary, metric.unit, metric.better]
        rows.append("| " + " | ".join([*what, ", ".join(names), *has]) + " |")
    return "\n".join(rows)


def _at_threshold(read: Callable[[Confusion], float]) -> MetricFunction:
    return lambda counts, params: read(confusion_at(counts, params["threshold"]))


def _precision(counts: ThresholdCounts, params: Params) -> float:
    if "prevalence" in params:
        counts = at_prevalence(counts, params["prevalence"])
    return confusion_at(counts, params["threshold"]).precision


def _precision_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    if "prevalence" in params:
        return combined.precision_interval_at(
            counts, threshold=params["threshold"], prevalence=params["prevalence"], level=level
        )
    return intervals.precision_interval(counts, threshold=params["threshold"], level=level)


def _average_precision(counts: ThresholdCounts, params: Params) -> float:
    return scalars.average_precision(counts, prevalence=params.get("prevalence"))


def _f_beta(counts: ThresholdCounts, params: Params) -> float:
    return confusion_at(counts, params["threshold"]).f_beta(params["beta"])


def _plain(read: Callable[[ThresholdCounts], float]) -> MetricFunction:
    return lambda counts, _params: read(counts)


def _plain_interval(read: _PlainInterval) -> IntervalFunction:
    return lambda counts, level, _params: read(counts, level=level)


def _interval_at(read: _IntervalAtThreshold) -> IntervalFunction:
    return lambda counts, level, params: read(counts, threshold=params["threshold"], level=level)


def _rate(
    name: str,
    summary: str,
    better: Direction,
    needs: tuple[Need, ...],
    interval: IntervalFunction | None = None,
) -> Metric:
    """Return the entry of a property of `Confusion`."""
    read = getattr(Confusion, name).fget
    return Metric(
        name=name,
        summary=summary,
        unit="share",
        better=better,
        needs=needs,
        function=_at_threshold(read),
        interval=interval,
        parameters=("threshold",),
    )


def _count(name: str, summary: str) -> Metric:
    read = getattr(ThresholdCounts, name).fget
    return Metric(
        name=name,
        summary=summary,
        unit="events",
        better="neither",
        needs=(),
        function=_plain(read),
    )


_ENTRIES = (
    _count("n_samples", "events with an outcome"),
    _count("n_pos", "positives"),
    _count("n_neg", "negatives"),
    Metric(
        name="prevalence",
        summary="share of positives, the class ratio",
        unit="share",
        better="neither",
        needs=("samples",),
        function=_plain(scalars.prevalence),
        interval=_plain_interval(intervals.prevalence_interval),
    ),
    Metric(
        name="roc_auc",
        summary="chance that a positive scores above a negative, ties one half",
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=_plain(scalars.roc_auc),
        interval=_plain_interval(intervals.roc_auc_interval),
        bounds=scalars.roc_auc_bounds,
    ),
    Metric(
        name="average_precision",
        summary="precision averaged over the positives, the area under the PR curve",
        unit="share",
        better="higher",
        needs=("positives",),
        function=_average_precision,
        bounds=scalars.average_precision_bounds,
        optional=("prevalence",),
    ),
    Metric(
        name="precision",
        summary="share of the flagged that are positive",
        unit="share",
        better="higher",
        needs=("flagged",),
        function=_precision,
        interval=_precision_interval,
        parameters=("threshold",),
        optional=("prevalence",),
    ),
    _rate(
        "recall",
        "share of the positives that are flagged",
        "higher",
        ("positives",),
        _interval_at(intervals.recall_interval),
    ),
    _rate(
        "fpr",
        "share of the negatives that are flagged",
        "lower",
        ("negatives",),
        _interval_at(intervals.fpr_interval),
    ),
    _rate("fnr", "share of the positives that are missed", "lower", ("positives",)),
    _rate("specificity", "share of the negatives not flagged", "higher", ("negatives",)),
    _rate("npv", "share of the unflagged that are negative", "higher", ("varying",)),
    replace(
        _rate("alert_rate", "share of all events that are flagged", "neither", ("samples",)),
        of_scores=True,
    ),
    _rate("accuracy", "share of all events judged rightly", "higher", ("samples",)),
    _rate(
        "balanced_accuracy",
        "mean of recall and specificity",
        "higher",
        ("positives", "negatives"),
    ),
    _rate("informedness", "recall + specificity - 1", "higher", ("positives", "negatives")),
    _rate("f1", "harmonic mean of precision and recall", "higher", ("positives",)),
    Metric(
        name="f_beta",
        summary="mean of precision and recall that weighs recall beta times as much",
        unit="share",
        better="higher",
        needs=("positives",),
        function=_f_beta,
        parameters=("threshold", "beta"),
    ),
    _rate("mcc", "correlation of prediction and outcome", "higher", ("positives", "negatives")),
)

METRICS = {metric.name: metric for metric in _ENTRIES}
