"""Entries: what else a curve says, its hull, its largest distance, the gain of looking first."""

from collections.abc import Callable
from dataclasses import replace

from streamauc.counts import ThresholdCounts
from streamauc.metrics import gains
from streamauc.metrics.catalogue.entry import (
    AMOUNT,
    SHARE,
    SIGNED,
    Metric,
    Params,
    plain,
    plain_bounds,
    plain_interval,
    ranking_share,
)
from streamauc.metrics.h_measure import h_measure, h_measure_bounds
from streamauc.metrics.hull import roc_hull_auc, roc_hull_auc_bounds
from streamauc.metrics.intervals import Interval
from streamauc.metrics.pr_area import pr_area, pr_area_bounds
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.reweighted_intervals import pr_area_interval
from streamauc.metrics.scalars import Bounds


def _pr_area(counts: ThresholdCounts, params: Params) -> float:
    return pr_area(counts, prevalence=params.get("prevalence"))


def _pr_area_bounds(counts: ThresholdCounts, params: Params) -> Bounds:
    if "prevalence" in params:
        counts = at_prevalence(counts, params["prevalence"])
    return pr_area_bounds(counts)


def _pr_area_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    return pr_area_interval(counts, prevalence=params.get("prevalence"), level=level)


def _h_measure(counts: ThresholdCounts, params: Params) -> float:
    return h_measure(counts, severity_ratio=params.get("severity_ratio"))


def _h_measure_bounds(counts: ThresholdCounts, params: Params) -> Bounds:
    return h_measure_bounds(counts, severity_ratio=params.get("severity_ratio"))


def _at_the_top(
    name: str, summary: str, unit: str, reads: tuple[Callable[..., float], Callable[..., Bounds]]
) -> Metric:
    """Return the entry of what a share of all events holds, and of its bounds."""
    value, bounds = reads
    return Metric(
        name=name,
        summary=summary,
        unit=unit,
        better="higher",
        needs=("positives",),
        within=SHARE if unit == "share" else AMOUNT,
        function=lambda counts, params: value(counts, share=params["share"]),
        bounds=lambda counts, params: bounds(counts, share=params["share"]),
        parameters=("share",),
    )


ENTRIES = (
    ranking_share(
        "gini",
        "2 AUC - 1",
        plain(gains.gini),
        interval=plain_interval(gains.gini_interval),
        bounds=plain_bounds(gains.gini_bounds),
        within=SIGNED,
    ),
    ranking_share(
        "ks_statistic",
        "largest distance between the score distributions of the classes",
        plain(gains.ks_statistic),
        bounds=plain_bounds(gains.ks_statistic_bounds),
        is_biased=True,
    ),
    replace(
        ranking_share(
            "roc_hull_auc",
            "area under the convex hull of the ROC curve",
            plain(roc_hull_auc),
            bounds=plain_bounds(roc_hull_auc_bounds),
            is_biased=True,
        ),
        never_below="roc_auc",
    ),
    Metric(
        name="pr_area",
        summary="area under the interpolated precision-recall curve",
        unit="share",
        better="higher",
        needs=("positives",),
        function=_pr_area,
        interval=_pr_area_interval,
        bounds=_pr_area_bounds,
        optional=("prevalence",),
    ),
    ranking_share(
        "h_measure",
        "cost that the score saves, averaged over what mistakes may cost",
        _h_measure,
        bounds=_h_measure_bounds,
        is_biased=True,
        optional=("severity_ratio",),
    ),
    _at_the_top(
        "gain",
        "share of the positives among the share of all events with the highest scores",
        "share",
        (gains.gain, gains.gain_bounds),
    ),
    _at_the_top(
        "lift",
        "how many times as many positives they hold as as many events at random",
        "times",
        (gains.lift, gains.lift_bounds),
    ),
)
