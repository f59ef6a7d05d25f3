"""The ROC and the precision-recall curve, every point a true operating point."""

from dataclasses import dataclass

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.reweighted import at_prevalence


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """Points by falling threshold, all of shape (n_points,); the first is (0, 0) at ``inf``."""

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecallCurve:
    """Points by falling threshold, all of shape (n_points,), from the first real threshold on.

    No point is made up at recall 0, where precision is undefined.
    """

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray


def roc_curve(counts: ThresholdCounts) -> RocCurve:
    """Return the ROC curve. O(n_thresholds).

    `tpr` is ``nan`` without positives and `fpr` without negatives.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 1, 1], [0.1, 0.1, 0.9], scale=Scale.exact())
    >>> roc_curve(threshold_counts(h)).tpr
    array([0. , 0.5, 1. ])
    """
    return RocCurve(fpr=counts.fpr, tpr=counts.tpr, thresholds=counts.thresholds)


def precision_recall_curve(
    counts: ThresholdCounts, *, prevalence: float | None = None
) -> PrecisionRecallCurve:
    """Return the precision-recall curve. O(n_thresholds).

    `recall` is ``nan`` without positives. With `prevalence`, the curve that there would be if
    that were the share of positives and each class scored as it does; its `precision` is
    ``nan`` unless there are both. Raises ValueError for a prevalence outside (0, 1).
    """
    if prevalence is not None:
        counts = at_prevalence(counts, prevalence)
    return PrecisionRecallCurve(
        precision=counts.precision[1:],
        recall=counts.recall[1:],
        thresholds=counts.thresholds[1:],
    )
