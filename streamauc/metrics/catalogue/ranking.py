"""Entries: how well the scores rank, over all thresholds."""

import math

from streamauc.counts import ThresholdCounts
from streamauc.metrics import intervals, scalars
from streamauc.metrics.area_intervals import average_precision_interval, partial_roc_auc_interval
from streamauc.metrics.catalogue.entry import (
    SHARE,
    Metric,
    Params,
    plain,
    plain_bounds,
    plain_interval,
    ranking_share,
)
from streamauc.metrics.intervals import Interval
from streamauc.metrics.partial import partial_roc_auc, partial_roc_auc_bounds
from streamauc.metrics.reweighted import at_prevalence
from streamauc.metrics.reweighted_intervals import average_precision_interval_at
from streamauc.metrics.scalars import Bounds


def _average_precision(counts: ThresholdCounts, params: Params) -> float:
    return scalars.average_precision(counts, prevalence=params.get("prevalence"))


def _average_precision_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    if "prevalence" in params:
        return average_precision_interval_at(counts, prevalence=params["prevalence"], level=level)
    return average_precision_interval(counts, level=level)


def _average_precision_bounds(counts: ThresholdCounts, params: Params) -> Bounds:
    if "prevalence" in params:
        counts = at_prevalence(counts, params["prevalence"])
    return scalars.average_precision_bounds(counts)


_REGION = ("min_fpr", "max_fpr", "min_tpr", "max_tpr")


def _partial(name: str, summary: str, unit: str, *, standardised: bool) -> Metric:
    """Return the entry of an area of a region."""

    def interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
        return partial_roc_auc_interval(counts, **params, standardised=standardised, level=level)

    return Metric(
        name=name,
        summary=summary,
        unit=unit,
        better="higher",
        needs=("positives", "negatives"),
        function=lambda counts, params: partial_roc_auc(
            counts, **params, standardised=standardised
        ),
        interval=interval,
        # Chance is 1/2 there; what is worse is far below where chance has little to lose.
        within=(-math.inf, 1.0) if standardised else SHARE,
        bounds=lambda counts, params: partial_roc_auc_bounds(
            counts, **params, standardised=standardised
        ),
        optional=_REGION,
    )


ENTRIES = (
    ranking_share(
        "roc_auc",
        "chance that a positive scores above a negative, ties one half",
        plain(scalars.roc_auc),
        interval=plain_interval(intervals.roc_auc_interval),
        bounds=plain_bounds(scalars.roc_auc_bounds),
    ),
    Metric(
        name="average_precision",
        summary="precision averaged over the positives, the area under the PR curve",
        unit="share",
        better="higher",
        needs=("positives",),
        function=_average_precision,
        interval=_average_precision_interval,
        bounds=_average_precision_bounds,
        optional=("prevalence",),
    ),
    _partial(
        "partial_roc_auc",
        "area under the ROC curve in a range of rates of false or of true positives",
        "area",
        standardised=False,
    ),
    _partial(
        "standardised_partial_roc_auc",
        "the same, 1/2 by chance and 1 at best",
        "share",
        standardised=True,
    ),
)
