"""Entries: what flagging costs, and what the best threshold would reach."""

from streamauc.counts import ThresholdCounts
from streamauc.metrics.best import BestThreshold, best_threshold
from streamauc.metrics.best_criteria import CriterionName
from streamauc.metrics.catalogue.entry import Metric, Need, Params
from streamauc.metrics.cost_interval import (
    lowest_mean_cost,
    lowest_mean_cost_interval,
    mean_cost_interval,
)
from streamauc.metrics.costs import CostMatrix, mean_cost
from streamauc.metrics.intervals import Interval

_COSTS = ("fn", "fp")
_MORE_COSTS = ("tp", "tn", "prevalence")


def _matrix(params: Params) -> CostMatrix:
    return CostMatrix(**{name: params[name] for name in ("tp", "fn", "fp", "tn") if name in params})


def _mean_cost(counts: ThresholdCounts, params: Params) -> float:
    share = params.get("prevalence")
    return mean_cost(counts, _matrix(params), params["threshold"], prevalence=share)


def _mean_cost_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    share = params.get("prevalence")
    return mean_cost_interval(
        counts, _matrix(params), params["threshold"], prevalence=share, level=level
    )


def _lowest(counts: ThresholdCounts, params: Params) -> float:
    return lowest_mean_cost(counts, _matrix(params), prevalence=params.get("prevalence"))


def _lowest_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    share = params.get("prevalence")
    return lowest_mean_cost_interval(counts, _matrix(params), prevalence=share, level=level)


def _limited(counts: ThresholdCounts, params: Params) -> BestThreshold:
    return best_threshold(
        counts,
        by="recall",
        min_precision=params.get("min_precision"),
        max_fpr=params.get("max_fpr"),
        max_alert_rate=params.get("max_alert_rate"),
    )


def _best(name: CriterionName, summary: str, needs: tuple[Need, ...]) -> Metric:
    """Return the entry of the highest value of a criterion."""
    return Metric(
        name=f"best_{name}",
        summary=summary,
        unit="share",
        better="higher",
        needs=needs,
        function=lambda counts, params: best_threshold(counts, by=name, **params).value,
        reason=lambda counts, params: best_threshold(counts, by=name, **params).reason,
        optional=("prevalence",),
        biased_up=True,
        limits=(-1.0, 1.0) if name == "mcc" else (0.0, 1.0),
        unsure_elsewhere=name == "mcc",
    )


def _recall_within(limit: str, summary: str, needs: tuple[Need, ...]) -> Metric:
    """Return the entry of the highest recall within a limit."""
    return Metric(
        name=f"recall_at_{limit.partition('_')[2]}",
        summary=summary,
        unit="share",
        better="higher",
        needs=needs,
        function=lambda counts, params: _limited(counts, params).value,
        reason=lambda counts, params: _limited(counts, params).reason,
        parameters=(limit,),
    )


_BOTH: tuple[Need, ...] = ("positives", "negatives")
ENTRIES = (
    Metric(
        name="mean_cost",
        summary="cost of an event at a threshold, by what each outcome costs",
        unit="cost",
        better="lower",
        needs=("samples",),
        function=_mean_cost,
        interval=_mean_cost_interval,
        parameters=("threshold", *_COSTS),
        optional=_MORE_COSTS,
    ),
    Metric(
        name="lowest_mean_cost",
        summary="cost of an event at the threshold that costs least",
        unit="cost",
        better="lower",
        needs=("samples",),
        function=_lowest,
        interval=_lowest_interval,
        parameters=_COSTS,
        optional=_MORE_COSTS,
    ),
    _best("f1", "highest F1 of any threshold", ("positives",)),
    _best("mcc", "highest MCC of any threshold", _BOTH),
    _best("informedness", "highest informedness of any threshold, Youden's index", _BOTH),
    _recall_within("max_fpr", "highest recall with a false positive rate of at most", _BOTH),
    _recall_within(
        "min_precision", "highest recall with a precision of at least", ("positives", "flagged")
    ),
    _recall_within(
        "max_alert_rate", "highest recall with a share of flagged of at most", ("positives",)
    ),
)
