"""The best threshold: by a score, by costs, or the highest recall within limits."""

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from streamauc._check import BoolArray, FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters
from streamauc.metrics.best_criteria import ClassName, Criterion, CriterionName, criterion_of
from streamauc.metrics.best_limits import Limits
from streamauc.metrics.costs import CostMatrix
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.reweighted import at_prevalence

Reason = Literal["empty", "no_positives", "no_negatives", "no_variation", "infeasible"]
# By how much, relatively, gains may differ and still be equal but for rounding.
RELATIVE = 1e-12
# How much worse than the best, relatively, a threshold may be to count as nearly as good.
NEARLY = 0.01


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The threshold that was chosen, what it does and how much it matters.

    `value` is the score, distance or total cost at `threshold`. Every threshold from `low` to
    `high` comes within 1 % of it; `n_tied` of all thresholds are as good as the best, this one
    included. Where there is none to choose, `reason` says why, the numbers are ``nan``, `n_tied`
    is 0 and `confusion` None.
    """

    threshold: float
    confusion: Confusion | None
    value: float
    low: float
    high: float
    n_tied: int
    reason: Reason | None = None

    @classmethod
    def undefined(cls, reason: Reason) -> Self:
        """Return that there is no threshold to choose."""
        return cls(math.nan, None, math.nan, math.nan, math.nan, 0, reason)


def best_threshold(
    counts: ThresholdCounts,
    *,
    by: CriterionName | CostMatrix,
    beta: float | None = None,
    min_precision: float | None = None,
    max_fpr: float | None = None,
    max_alert_rate: float | None = None,
    max_alerts_per_day: float | None = None,
    days: float | None = None,
    prevalence: float | None = None,
) -> BestThreshold:
    """Return the best of all thresholds at which the counts change. O(n_thresholds).

    `by` is what is best:

    * ``"f1"``, ``"f_beta"`` (with `beta`), ``"mcc"``, ``"informedness"`` (Youden's J) and
      ``"recall"``: the highest;
    * ``"closest_to_corner"``: the smallest distance ``sqrt(fnr^2 + fpr^2)`` from the ROC curve
      to its upper left corner;
    * a `CostMatrix`: the lowest total cost.

    Only thresholds within all the limits that are given can be chosen: precision at least, false
    positive rate at most, share of flagged at most, flagged a day at most, over a span of so many
    `days`. To flag nobody (``inf``) and to flag everybody can be chosen like any other. What is
    0 / 0 never is, such as the MCC of these two; the precision of nobody keeps no limit.

    Equally good thresholds, to `RELATIVE`: the highest, which flags the fewest. So the highest
    recall within limits comes with the fewest alerts that reach it.

    `low` and `high` enclose the thresholds around it that are within the limits and within 1 %:
    a score of at least 99 % of the best, a distance of at most 101 %. Of a cost, which may be 0
    or a benefit, what counts is how far it is above that of perfect decisions: at most 101 % of
    that. So matrices that lead to the same decisions give the same range.

    With `prevalence`, for events of which that share is positive, each class scored as it does:
    confusion and cost are of the counts that `at_prevalence` gives, alerts a day of as many
    events as were counted.

    Undefined without samples (``empty``), without a class that is needed (``no_positives``,
    ``no_negatives``; costs need neither), where the criterion is 0 / 0 at every threshold
    (``no_variation``), and if none is within the limits (``infeasible``). Raises ValueError for
    limits outside their range, a limit a day without `days`, and an unknown criterion.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 1, 1, 0], [0.9, 0.7, 0.5, 0.3], scale=Scale.exact())
    >>> best = best_threshold(threshold_counts(h), by="f1")
    >>> best.threshold, best.value, best.confusion.recall
    (0.5, 0.8, 1.0)
    >>> best_threshold(threshold_counts(h), by="recall", min_precision=0.7).reason
    'infeasible'
    """
    criterion = criterion_of(by, beta)
    limits = Limits(
        min_precision=min_precision,
        max_fpr=max_fpr,
        max_alert_rate=max_alert_rate,
        max_alerts_per_day=max_alerts_per_day,
        days=days,
    )
    share = None if prevalence is None else parameters.prevalence(prevalence)
    needs = criterion.needs + (("negatives",) if max_fpr is not None else ())
    lacking = _lacking(counts, needs if share is None else ("positives", "negatives"))
    if lacking is not None:
        return BestThreshold.undefined(lacking)
    seen = counts if share is None else at_prevalence(counts, share)
    gains = criterion.gains(seen)
    allowed = np.where(limits.kept(seen, counts.n_samples), gains, np.nan)
    if np.isnan(allowed).all():
        nowhere = bool(np.isnan(gains).all())
        return BestThreshold.undefined("no_variation" if nowhere else "infeasible")
    return _best_of(seen, allowed, criterion)


def _lacking(counts: ThresholdCounts, needs: tuple[ClassName, ...]) -> Reason | None:
    """Return what there must be and is not."""
    if counts.n_samples == 0:
        return "empty"
    # Counts at another prevalence have no number of negatives unless they have both classes.
    unknown = math.isnan(counts.n_neg)
    if counts.n_pos == 0 and (unknown or "positives" in needs):
        return "no_positives"
    return "no_negatives" if unknown or (counts.n_neg == 0 and "negatives" in needs) else None


def _best_of(counts: ThresholdCounts, gains: FloatArray, criterion: Criterion) -> BestThreshold:
    """Return the first of the best rows; gains are ``nan`` where a row cannot be chosen."""
    best = float(np.fmax.reduce(gains))
    tied = gains >= best - RELATIVE * abs(best) - criterion.rounding
    near = gains >= best - (NEARLY + RELATIVE) * abs(best) - criterion.rounding
    row = int(tied.argmax())
    first, last = _run_around(row, near)
    point = confusion_at(counts, float(counts.thresholds[row]))
    return BestThreshold(
        threshold=point.threshold,
        confusion=point,
        value=criterion.value(point),
        low=float(counts.thresholds[last]),
        high=float(counts.thresholds[first]),
        n_tied=int(np.count_nonzero(tied)),
    )


def _run_around(row: int, inside: BoolArray) -> tuple[int, int]:
    """Return the first and the last row of the run of True that `row` is in."""
    above, below = np.flatnonzero(~inside[:row]), np.flatnonzero(~inside[row:])
    first = int(above[-1]) + 1 if above.size else 0
    return first, row + int(below[0]) - 1 if below.size else inside.size - 1
