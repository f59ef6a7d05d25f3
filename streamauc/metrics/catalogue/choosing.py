"""Entries: what flagging costs, and what the best threshold would reach."""

from dataclasses import replace

from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.best import BestThreshold, best_threshold
from streamauc.metrics.best_criteria import CriterionName
from streamauc.metrics.catalogue.entry import ANY, SHARE, SIGNED, Metric, Need, Params, plain
from streamauc.metrics.cost_interval import (
    lowest_mean_cost,
    lowest_mean_cost_interval,
    mean_cost_interval,
)
from streamauc.metrics.costs import CostMatrix, mean_cost, total_cost
from streamauc.metrics.intervals import Interval

COSTS = ("fn", "fp")
MORE_COSTS = ("tp", "tn", "prevalence")


def matrix(params: Params) -> CostMatrix:
    """Return the costs among the parameters."""
    return CostMatrix(**{name: params[name] for name in ("tp", "fn", "fp", "tn") if name in params})


def _mean_cost(counts: ThresholdCounts, params: Params) -> float:
    share = params.get("prevalence")
    return mean_cost(counts, matrix(params), params["threshold"], prevalence=share)


def _total_cost(counts: ThresholdCounts, params: Params) -> float:
    return total_cost(counts, matrix(params), params["threshold"])


def _mean_cost_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    share = params.get("prevalence")
    return mean_cost_interval(
        counts, matrix(params), params["threshold"], prevalence=share, level=level
    )


def _total_cost_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    found = mean_cost_interval(counts, matrix(params), params["threshold"], level=level)
    n = counts.n_samples
    return replace(found, low=n * found.low, high=n * found.high)


def _lowest(counts: ThresholdCounts, params: Params) -> float:
    return lowest_mean_cost(counts, matrix(params), prevalence=params.get("prevalence"))


def _lowest_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    share = parameters.prevalence(params["prevalence"]) if "prevalence" in params else None
    return lowest_mean_cost_interval(counts, matrix(params), prevalence=share, level=level)


def _limited(counts: ThresholdCounts, params: Params) -> BestThreshold:
    return best_threshold(
        counts,
        by="recall",
        min_precision=params.get("min_precision"),
        max_fpr=params.get("max_fpr"),
        max_alert_rate=params.get("max_alert_rate"),
    )


def _best(
    name: CriterionName, summary: str, needs: tuple[Need, ...], needed: tuple[str, ...] = ()
) -> Metric:
    """Return the entry of the highest value of a criterion."""
    return Metric(
        name=f"best_{name}",
        summary=summary,
        unit="share",
        better="higher",
        needs=needs,
        # No threshold of a score that ranks backwards may have a correlation of 0 or more.
        within=SIGNED if name == "mcc" else SHARE,
        function=lambda counts, params: best_threshold(counts, by=name, **params).value,
        reason=lambda counts, params: best_threshold(counts, by=name, **params).reason,
        parameters=needed,
        optional=("prevalence",),
        is_biased=True,
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
        within=ANY,
        parameters=("threshold", *COSTS),
        optional=MORE_COSTS,
    ),
    Metric(
        name="total_cost",
        summary="cost of all events at a threshold",
        unit="cost",
        better="lower",
        needs=(),
        function=_total_cost,
        interval=_total_cost_interval,
        within=ANY,
        parameters=("threshold", *COSTS),
        optional=("tp", "tn"),  # at another prevalence there are other events
    ),
    Metric(
        name="lowest_mean_cost",
        summary="cost of an event at the threshold that costs least",
        unit="cost",
        better="lower",
        needs=("samples",),
        function=_lowest,
        within=ANY,
        interval=_lowest_interval,
        parameters=COSTS,
        optional=MORE_COSTS,
    ),
    _best("f1", "highest F1 of any threshold", ("positives",)),
    _best("f_beta", "highest F-beta of any threshold", ("positives",), ("beta",)),
    _best("mcc", "highest MCC of any threshold", _BOTH),
    _best("informedness", "highest informedness of any threshold, Youden's index", _BOTH),
    Metric(
        name="closest_to_corner",
        summary="least distance of the ROC curve from its corner, perfect scores",
        unit="distance",
        better="lower",
        needs=_BOTH,
        function=plain(lambda counts: best_threshold(counts, by="closest_to_corner").value),
        within=(0.0, 1.0),  # to flag nobody has 1
        caution="it may cover 85 % where it says 95 %",
    ),
    _recall_within("max_fpr", "highest recall with a false positive rate of at most", _BOTH),
    _recall_within(
        "min_precision", "highest recall with a precision of at least", ("positives", "flagged")
    ),
    _recall_within(
        "max_alert_rate", "highest recall with a share of flagged of at most", ("positives",)
    ),
)
