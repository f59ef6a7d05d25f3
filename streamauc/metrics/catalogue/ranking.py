"""Entries: how well the scores rank, over all thresholds."""

from streamauc.counts import ThresholdCounts
from streamauc.metrics import intervals, scalars
from streamauc.metrics.catalogue.entry import Metric, Params, plain, plain_interval


def _average_precision(counts: ThresholdCounts, params: Params) -> float:
    return scalars.average_precision(counts, prevalence=params.get("prevalence"))


ENTRIES = (
    Metric(
        name="roc_auc",
        summary="chance that a positive scores above a negative, ties one half",
        unit="share",
        better="higher",
        needs=("positives", "negatives"),
        function=plain(scalars.roc_auc),
        interval=plain_interval(intervals.roc_auc_interval),
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
)
