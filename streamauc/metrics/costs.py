"""What decisions cost: by a matrix of four costs, at a threshold, over all of them, in advance.

Costs are per event, in any unit; a benefit is a negative cost. Only two differences decide
where to put a threshold: what a miss costs more than a hit, and what a false alarm costs more
than leaving a negative alone.
"""

import math
from dataclasses import dataclass

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.prior_shift import PriorShift
from streamauc.metrics.reweighted import at_prevalence

# Larger ones, times many events, would leave the range of float64.
LARGEST_COST = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class CostMatrix:
    """What each outcome costs per event: a hit, a miss, a false alarm, a negative left alone.

    By keyword only, so that rows and columns cannot be taken for each other. Any real numbers,
    benefits negative. Raises ValueError for costs that are not finite or beyond `LARGEST_COST`.

    >>> CostMatrix(tp=-5, fn=1, fp=50, tn=0).miss
    6.0
    """

    tp: float = 0.0
    fn: float
    fp: float
    tn: float = 0.0

    def __post_init__(self) -> None:
        """Check the costs and keep them as floats."""
        for name in ("tp", "fn", "fp", "tn"):
            cost = _check.finite(name, getattr(self, name))
            if abs(cost) > LARGEST_COST:
                raise ValueError(f"{name} must be at most {LARGEST_COST:g} in size, got {cost!r}")
            object.__setattr__(self, name, cost)

    @property
    def miss(self) -> float:
        """What it costs more not to flag a positive than to flag it, ``fn - tp``."""
        return self.fn - self.tp

    @property
    def false_alarm(self) -> float:
        """What it costs more to flag a negative than not to flag it, ``fp - tn``."""
        return self.fp - self.tn

    def of(self, point: Confusion) -> float:
        """Return the total cost of a confusion matrix."""
        positives = self.tp * point.tp + self.fn * point.fn
        return positives + self.fp * point.fp + self.tn * point.tn

    def regret_of(self, point: Confusion) -> float:
        """Return what it costs more than the better decision for every single event would.

        Never negative, and the same when a class costs more by a constant, flagged or not.
        """
        positives = max(self.miss, 0.0) * point.fn + max(-self.miss, 0.0) * point.tp
        alarm = self.false_alarm
        return positives + max(alarm, 0.0) * point.fp + max(-alarm, 0.0) * point.tn


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCosts:
    """Costs by falling threshold, all of shape (n_thresholds + 1,); the first is at ``inf``.

    `total` is in the unit of the costs, `mean` per event, which is ``nan`` without events.
    """

    thresholds: FloatArray
    total: FloatArray
    mean: FloatArray


def total_cost(counts: ThresholdCounts, costs: CostMatrix, threshold: float) -> float:
    """Return the cost of all events when ``score >= threshold`` is flagged. O(log n_thresholds).

    0 without events. A threshold inside a bin stands for the bin's edge, see `confusion_at`.
    Raises ValueError for ``nan``.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.2, 0.9, 0.9, 0.4], scale=Scale.exact())
    >>> total_cost(threshold_counts(h), CostMatrix(fn=7, fp=2), 0.5)
    9.0
    """
    return costs.of(confusion_at(counts, threshold))


def mean_cost(
    counts: ThresholdCounts,
    costs: CostMatrix,
    threshold: float,
    *,
    prevalence: float | None = None,
) -> float:
    """Return the cost per event when ``score >= threshold`` is flagged. O(log n_thresholds).

    ``nan`` without events. With `prevalence`, what it would be if that were the share of
    positives and each class scored as it does: ``nan`` unless there are both. Raises ValueError
    for a threshold of ``nan`` and a prevalence outside (0, 1).
    """
    share = None if prevalence is None else parameters.prevalence(prevalence)
    point = confusion_at(counts, threshold)
    if share is None:
        return costs.of(point) / point.n_samples if point.n_samples else math.nan
    of_positives = costs.tp * point.recall + costs.fn * point.fnr
    of_negatives = costs.fp * point.fpr + costs.tn * point.specificity
    return share * of_positives + (1 - share) * of_negatives


def threshold_costs(
    counts: ThresholdCounts, costs: CostMatrix, *, prevalence: float | None = None
) -> ThresholdCosts:
    """Return the cost at every threshold. O(n_thresholds).

    With `prevalence`, of the counts that `at_prevalence` gives; ``nan`` unless there are both
    classes. Raises ValueError for a prevalence outside (0, 1). The cheapest of them is
    ``best_threshold(counts, by=costs)``.
    """
    if prevalence is not None:
        counts = at_prevalence(counts, prevalence)
    total = costs.tp * counts.tps + costs.fn * (counts.n_pos - counts.tps)
    total += costs.fp * counts.fps
    total += costs.tn * (counts.n_neg - counts.fps)
    size = counts.n_samples
    mean = total / size if size else np.full(total.shape, np.nan)
    return ThresholdCosts(counts.thresholds, total, mean)


def regrets(counts: ThresholdCounts, costs: CostMatrix) -> FloatArray:
    """Return `CostMatrix.regret_of` at every threshold, shape (n_thresholds + 1,). O(n)."""
    miss, alarm = costs.miss, costs.false_alarm
    of_positives = miss * (counts.n_pos - counts.tps) if miss > 0 else -miss * counts.tps
    of_negatives = alarm * counts.fps if alarm > 0 else -alarm * (counts.n_neg - counts.fps)
    total: FloatArray = of_positives + of_negatives
    return total


def bayes_threshold(
    costs: CostMatrix, *, calibrated_at: float | None = None, prevalence: float | None = None
) -> float:
    """Return the threshold of lowest expected cost for scores that are probabilities.

    ``(fp - tn) / ((fp - tn) + (fn - tp))`` (Elkan 2001, eq. 2): there, flagging an event costs
    as much as not flagging it, and above it less. Where the differences are not both positive:

    * 0, flag everybody, if only a miss costs more (``fp == tn``);
    * 1, flag who is certain to be positive, if only a false alarm does (``fn == tp``);
    * ``-inf``, flag everybody, if a false alarm costs less and a miss does not;
    * ``inf``, flag nobody, if a miss costs less and a false alarm does not;
    * ``nan`` if neither makes a difference, since then no decision matters;
    * ``nan`` if both cost less, since then low scores should be flagged and not high ones. The
      matrix is reversed; it is likely that two costs stand in each other's place.

    With scores that are probabilities where the share of positives was `calibrated_at`, such as
    after undersampling, and that are used where it is `prevalence`: the threshold for the scores
    as they are (see `PriorShift`). Raises ValueError if only one of the two is given, and if one
    is outside (0, 1).

    >>> bayes_threshold(CostMatrix(fn=9, fp=1))
    0.1
    >>> round(bayes_threshold(CostMatrix(fn=9, fp=1), calibrated_at=0.5, prevalence=0.01), 6)
    0.916667
    """
    if (calibrated_at is None) != (prevalence is None):
        name = "prevalence" if prevalence is None else "calibrated_at"
        other = "calibrated_at" if prevalence is None else "prevalence"
        raise ValueError(f"{name} must be given with {other}, got None")
    threshold = _indifference(costs.miss, costs.false_alarm)
    if calibrated_at is None or prevalence is None:
        return threshold
    before = parameters.prevalence(calibrated_at, name="calibrated_at")
    # The threshold is right for scores at the prevalence, and is moved to where they come from.
    shift = PriorShift.between(parameters.prevalence(prevalence), before)
    return threshold if math.isnan(threshold) else shift.threshold(threshold)


def _indifference(miss: float, alarm: float) -> float:
    """Return the probability at which ``p * miss == (1 - p) * alarm``, or which side all are on."""
    if alarm >= 0 and miss >= 0:
        return alarm / (alarm + miss) if alarm or miss else math.nan
    if alarm <= 0 and miss >= 0:
        return -math.inf
    return math.inf if alarm >= 0 else math.nan
