"""Entries: how many events there are, and how many of them are positive."""

from streamauc.counts import ThresholdCounts
from streamauc.metrics import intervals, scalars
from streamauc.metrics.catalogue.entry import AMOUNT, Metric, plain, plain_interval


def _count(name: str, summary: str) -> Metric:
    read = getattr(ThresholdCounts, name).fget
    return Metric(
        name=name,
        summary=summary,
        unit="events",
        better="neither",
        needs=(),
        function=plain(read),
        within=AMOUNT,
    )


ENTRIES = (
    _count("n_samples", "events with an outcome"),
    _count("n_pos", "positives"),
    _count("n_neg", "negatives"),
    Metric(
        name="prevalence",
        summary="share of positives, the class ratio",
        unit="share",
        better="neither",
        needs=("samples",),
        function=plain(scalars.prevalence),
        interval=plain_interval(intervals.prevalence_interval),
    ),
)
