"""Entries: where the best threshold is, to be followed over time.

The lowest score that is flagged there. Where no threshold is better than to flag nobody, which
`best_threshold` calls ``inf``, there is no such score: ``nan``, with the reason ``flag_nobody``.
"""

import math
from collections.abc import Callable

from streamauc.counts import ThresholdCounts
from streamauc.metrics import gains
from streamauc.metrics.best import best_threshold
from streamauc.metrics.best_criteria import CriterionName
from streamauc.metrics.catalogue.choosing import COSTS, MORE_COSTS, matrix
from streamauc.metrics.catalogue.entry import ANY, Metric, Need, Params

# Returns the threshold, and why there is none.
_Choice = Callable[[ThresholdCounts, Params], tuple[float, str | None]]


def _by(name: CriterionName) -> _Choice:
    """Return the choice by a criterion, whose parameters are those of `best_threshold`."""

    def choose(counts: ThresholdCounts, params: Params) -> tuple[float, str | None]:
        found = best_threshold(counts, by=name, **params)
        return found.threshold, found.reason

    return choose


def _by_costs(counts: ThresholdCounts, params: Params) -> tuple[float, str | None]:
    found = best_threshold(counts, by=matrix(params), prevalence=params.get("prevalence"))
    return found.threshold, found.reason


def _by_distance(counts: ThresholdCounts, _params: Params) -> tuple[float, str | None]:
    return gains.ks_threshold(counts).threshold, None


def _threshold(
    of: str,
    summary: str,
    choose: _Choice,
    needs: tuple[Need, ...],
    parameters: tuple[str, ...] = (),
    optional: tuple[str, ...] = ("prevalence",),
) -> Metric:
    def value(counts: ThresholdCounts, params: Params) -> float:
        threshold, _ = choose(counts, params)
        return math.nan if math.isinf(threshold) else threshold

    def reason(counts: ThresholdCounts, params: Params) -> str | None:
        threshold, why = choose(counts, params)
        return "flag_nobody" if math.isinf(threshold) else why

    return Metric(
        name=f"{of}_threshold",
        summary=summary,
        unit="score",
        better="neither",
        needs=needs,
        function=value,
        within=ANY,
        reason=reason,
        parameters=parameters,
        optional=optional,
        of_order=False,
        caution="the best place moves by jumps, so it may cover 75 % where it says 95 %",
    )


_BOTH: tuple[Need, ...] = ("positives", "negatives")
ENTRIES = (
    _threshold("best_f1", "where F1 is highest", _by("f1"), ("positives",)),
    _threshold("best_f_beta", "where F-beta is highest", _by("f_beta"), ("positives",), ("beta",)),
    _threshold("best_mcc", "where MCC is highest", _by("mcc"), _BOTH),
    _threshold(
        "best_informedness", "where informedness is highest, Youden's", _by("informedness"), _BOTH
    ),
    _threshold("ks", "where the KS statistic is reached", _by_distance, _BOTH, optional=()),
    _threshold(
        "lowest_mean_cost", "where an event costs least", _by_costs, ("samples",), COSTS, MORE_COSTS
    ),
)
