"""Entries: what else a curve says, its hull, its largest distance, the gain of looking first."""

from collections.abc import Callable

from streamauc.counts import ThresholdCounts
from streamauc.metrics import gains
from streamauc.metrics.catalogue.entry import (
    BoundsFunction,
    Metric,
    MetricFunction,
    Params,
    plain,
    plain_bounds,
    plain_interval,
)
from streamauc.metrics.h_measure import h_measure, h_measure_bounds
from streamauc.metrics.hull import roc_hull_auc, roc_hull_auc_bounds
from streamauc.metrics.pr_area import pr_area, pr_area_bounds
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.scalars import Bounds


def _pr_area(counts: ThresholdCounts, params: Params) -> float:
    return pr_area(counts, prevalence=params.get("prevalence"))


def _pr_area_bounds(counts: ThresholdCounts, params: Params) -> Bounds:
    if "prevalence" in params:
        counts = at_prevalence(counts, params["prevalence"])
    return pr_area_bounds(counts)


def _h_measure(counts: ThresholdCounts, params: Params) -> float:
    return h_measure(counts, severity_ratio=params.get("severity_ratio"))


def _h_measure_bounds(counts: ThresholdCounts, params: Params) -> Bounds:
    return h_measure_bounds(counts, severity_ratio=params.get("severity_ratio"))


def _of_share(read: Callable[..., float]) -> MetricFunction:
    return lambda counts, params: read(counts, share=params["share"])


def _bounds_of_share(read: Callable[..., Bounds]) -> BoundsFunction:
    return lambda counts, params: read(counts, share=params["share"])


ENTRIES = (
    Metric(
        name="gini",
        summary="2 AUC - 1",
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=plain(gains.gini),
        interval=plain_interval(gains.gini_interval),
        bounds=plain_bounds(gains.gini_bounds),
    ),
    Metric(
        name="ks_statistic",
        summary="largest distance between the score distributions of the classes",
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=plain(gains.ks_statistic),
        bounds=plain_bounds(gains.ks_statistic_bounds),
    ),
    Metric(
        name="roc_hull_auc",
        summary="area under the convex hull of the ROC curve",
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=plain(roc_hull_auc),
        bounds=plain_bounds(roc_hull_auc_bounds),
    ),
    Metric(
        name="pr_area",
        summary="area under the interpolated precision-recall curve",
        unit="share",
        better="higher",
        needs=("positives",),
        function=_pr_area,
        bounds=_pr_area_bounds,
        optional=("prevalence",),
    ),
    Metric(
        name="h_measure",
        summary="cost that the score saves, averaged over what mistakes may cost",
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=_h_measure,
        bounds=_h_measure_bounds,
        optional=("severity_ratio",),
    ),
    Metric(
        name="gain",
        summary="share of the positives among the share of all events with the highest scores",
        unit="share",
        better="higher",
        needs=("positives",),
        function=_of_share(gains.gain),
        bounds=_bounds_of_share(gains.gain_bounds),
        parameters=("share",),
    ),
    Metric(
        name="lift",
        summary="how many times as many positives they hold as as many events at random",
        unit="times",
        better="higher",
        needs=("positives",),
        function=_of_share(gains.lift),
        bounds=_bounds_of_share(gains.lift_bounds),
        parameters=("share",),
    ),
)
