"""One operating point: the confusion matrix at a threshold, and the rates read off it."""

import math
from dataclasses import dataclass

import numpy as np

from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.scalars import Bounds


@dataclass(frozen=True, slots=True)
class Confusion:
    """Who is flagged at `threshold`, the edge that stands for the `requested` one.

    With ``exact=False`` the requested threshold lies inside a bin, whose samples are all
    counted as flagged; the counts at the requested threshold lie within `tp_bounds` and
    `fp_bounds`. Counts are ints, or floats when weighted. A rate is ``nan`` where it is 0 / 0.

    >>> Confusion(threshold=0.5, requested=0.5, exact=True, tp=8, fp=2, fn=4, tn=86).precision
    0.8
    """

    threshold: float
    requested: float
    exact: bool
    tp: float
    fp: float
    fn: float
    tn: float
    tp_bounds: Bounds | None = None
    fp_bounds: Bounds | None = None

    @property
    def n_samples(self) -> float:
        """All samples."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def precision(self) -> float:
        """Share of the flagged that are positive, TP / (TP + FP)."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """Share of the positives that are flagged, TP / (TP + FN)."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def tpr(self) -> float:
        """The recall by its other name."""
        return self.recall

    @property
    def fnr(self) -> float:
        """Share of the positives that are missed, FN / (TP + FN)."""
        return _ratio(self.fn, self.tp + self.fn)

    @property
    def fpr(self) -> float:
        """Share of the negatives that are flagged, FP / (FP + TN)."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def specificity(self) -> float:
        """Share of the negatives that are not flagged, TN / (FP + TN)."""
        return _ratio(self.tn, self.fp + self.tn)

    @property
    def npv(self) -> float:
        """Share of the unflagged that are negative, TN / (TN + FN)."""
        return _ratio(self.tn, self.tn + self.fn)

    @property
    def false_discovery_rate(self) -> float:
        """Share of the flagged that are negative, FP / (TP + FP)."""
        return _ratio(self.fp, self.tp + self.fp)

    @property
    def alert_rate(self) -> float:
        """Share of all samples that are flagged, (TP + FP) / n."""
        return _ratio(self.tp + self.fp, self.n_samples)

    @property
    def accuracy(self) -> float:
        """Share of all samples that are judged rightly, (TP + TN) / n."""
        return _ratio(self.tp + self.tn, self.n_samples)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of recall and specificity."""
        return (self.recall + self.specificity) / 2

    @property
    def informedness(self) -> float:
        """Youden's J, recall + specificity - 1."""
        return self.recall + self.specificity - 1

    @property
    def f1(self) -> float:
        """F-beta with beta 1."""
        return self.f_beta(1)

    def f_beta(self, beta: float) -> float:
        """Return ``(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)``.

        0 when nobody is flagged and there are positives, though precision is undefined there.
        """
        square = parameters.beta(beta) ** 2
        hits = (1 + square) * self.tp
        return _ratio(hits, hits + square * self.fn + self.fp)

    @property
    def mcc(self) -> float:
        """Matthews' correlation of prediction and outcome; ``nan`` if either never varies."""
        flagged = (self.tp + self.fp) * (self.tn + self.fn)
        positive = (self.tp + self.fn) * (self.tn + self.fp)
        if not (flagged and positive):
            return math.nan
        # In ratios: the product of all four margins of weights can be beyond a float64, and
        # these are exactly 1 where every event is judged rightly, or every one wrongly.
        slope = (self.tp * self.tn - self.fp * self.fn) / positive
        return max(min(slope / math.sqrt(flagged / positive), 1.0), -1.0)


def confusion_at(counts: ThresholdCounts, threshold: float) -> Confusion:
    """Return the confusion matrix when ``score >= threshold`` is flagged. O(log n_thresholds).

    A threshold inside a bin that holds samples is moved down to the bin's edge, see
    `Confusion`. Raises ValueError for ``nan``; ``inf`` flags nobody, ``-inf`` everybody.
    """
    requested = parameters.threshold(threshold)
    # Rows up to `above` hold exactly the samples of bins that begin at or above the threshold.
    above = int(np.searchsorted(-counts.thresholds, -requested, side="right")) - 1
    above = max(above, 0)
    inside = above + 1
    if _splits(counts, above, inside, requested):
        return _confusion(counts, inside, above, float(counts.thresholds[inside]), requested)
    return _confusion(counts, above, above, requested, requested)


def _splits(counts: ThresholdCounts, above: int, inside: int, threshold: float) -> bool:
    """Return whether the threshold cuts through the bin of row `inside`."""
    if counts.exact or inside >= counts.thresholds.size or counts.thresholds[above] == threshold:
        return False
    return counts.ceilings is None or threshold < counts.ceilings[inside]


def _confusion(
    counts: ThresholdCounts, row: int, certain: int, threshold: float, requested: float
) -> Confusion:
    tp, fp = counts.tps[row].item(), counts.fps[row].item()
    return Confusion(
        threshold=threshold,
        requested=requested,
        exact=row == certain,
        tp=tp,
        fp=fp,
        fn=counts.n_pos - tp,
        tn=counts.n_neg - fp,
        tp_bounds=Bounds(counts.tps[certain].item(), tp),
        fp_bounds=Bounds(counts.fps[certain].item(), fp),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
