"""Entries: what flagging at a threshold does."""

from dataclasses import replace

from streamauc.counts import ThresholdCounts
from streamauc.metrics import combined, intervals, rate_intervals
from streamauc.metrics.catalogue.entry import (
    SIGNED,
    Direction,
    IntervalFunction,
    Metric,
    Need,
    Params,
    at_threshold,
    interval_at,
)
from streamauc.metrics.intervals import Interval
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.reweighted import at_prevalence


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


def _f_beta(counts: ThresholdCounts, params: Params) -> float:
    return confusion_at(counts, params["threshold"]).f_beta(params["beta"])


def _f_beta_interval(counts: ThresholdCounts, level: float, params: Params) -> Interval:
    return rate_intervals.f_beta_interval(
        counts, threshold=params["threshold"], beta=params["beta"], level=level
    )


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
        function=at_threshold(read),
        interval=interval,
        parameters=("threshold",),
    )


ENTRIES = (
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
        interval_at(intervals.recall_interval),
    ),
    _rate(
        "fpr",
        "share of the negatives that are flagged",
        "lower",
        ("negatives",),
        interval_at(intervals.fpr_interval),
    ),
    _rate(
        "fnr",
        "share of the positives that are missed",
        "lower",
        ("positives",),
        interval_at(rate_intervals.fnr_interval),
    ),
    _rate(
        "specificity",
        "share of the negatives not flagged",
        "higher",
        ("negatives",),
        interval_at(rate_intervals.specificity_interval),
    ),
    _rate(
        "npv",
        "share of the unflagged that are negative",
        "higher",
        ("varying",),
        interval_at(rate_intervals.npv_interval),
    ),
    replace(
        _rate(
            "alert_rate",
            "share of all events that are flagged",
            "neither",
            ("samples",),
            interval_at(rate_intervals.alert_rate_interval),
        ),
        of_scores=True,
    ),
    _rate(
        "accuracy",
        "share of all events judged rightly",
        "higher",
        ("samples",),
        interval_at(rate_intervals.accuracy_interval),
    ),
    _rate(
        "balanced_accuracy",
        "mean of recall and specificity",
        "higher",
        ("positives", "negatives"),
        interval_at(rate_intervals.balanced_accuracy_interval),
    ),
    replace(
        _rate(
            "informedness",
            "recall + specificity - 1",
            "higher",
            ("positives", "negatives"),
            interval_at(rate_intervals.informedness_interval),
        ),
        within=SIGNED,
    ),
    _rate(
        "f1",
        "harmonic mean of precision and recall",
        "higher",
        ("positives",),
        interval_at(rate_intervals.f_beta_interval),
    ),
    Metric(
        name="f_beta",
        summary="mean of precision and recall that weighs recall beta times as much",
        unit="share",
        better="higher",
        needs=("positives", "flagged"),  # with a beta of 0 it is the precision
        function=_f_beta,
        interval=_f_beta_interval,
        parameters=("threshold", "beta"),
    ),
    replace(
        _rate("mcc", "correlation of prediction and outcome", "higher", ("positives", "negatives")),
        within=SIGNED,
    ),
)
