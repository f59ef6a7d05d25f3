"""How well a model can be expected to do before the labels come, if its scores still mean the same.

Confidence-based performance estimation: the reference says what chance of a positive goes with
each score (`metrics.isotonic`), and the current scores say how often each occurs. Together they
say how many positives and negatives to expect in each bin.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray
from streamauc._special import digamma_rise
from streamauc.change.label_shift.inputs import scores_of
from streamauc.change.results import JsonValue, or_none
from streamauc.change.sources import Source, histogram_of
from streamauc.counts import NumberArray, ThresholdCounts, threshold_counts
from streamauc.histogram import ScoreHistogram
from streamauc.metrics.isotonic import Isotonic, isotonic
from streamauc.metrics.operating import Confusion, confusion_at
from streamauc.metrics.scalars import prevalence, roc_auc

_NOTHING = ThresholdCounts(np.array([math.inf]), np.zeros(1), np.zeros(1))


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedPerformance:
    """What to expect of current scores under covariate shift (see `expected_performance`).

    * `prevalence`, `roc_auc`, `average_precision`: expected; ``nan`` where undefined.
    * `counts`: expected positives and negatives at each threshold, for any other metric.
    * `calibration`: from scores to chances of a positive, as the reference has it.
    * `thresholds`: those that `explain` and `to_dict` tell of.
    * `outside`: share of current scores below the reference's lowest or above its highest, which
      have the chances of these.
    """

    prevalence: float
    roc_auc: float
    average_precision: float
    counts: ThresholdCounts
    calibration: Isotonic
    thresholds: tuple[float, ...]
    outside: float

    def confusion(self, threshold: float) -> Confusion:
        """Return the expected confusion matrix at a threshold, see `confusion_at`."""
        return confusion_at(self.counts, threshold)

    def precision(self, threshold: float) -> float:
        """Return the expected precision; ``nan`` where nobody is flagged."""
        return self.confusion(threshold).precision

    def recall(self, threshold: float) -> float:
        """Return the expected recall, expected hits over expected positives."""
        return self.confusion(threshold).recall

    def explain(self) -> str:
        """Return the result in plain words, a sentence a line."""
        if math.isnan(self.prevalence):
            why = "no current scores" if self.calibration.thresholds.size else "no reference"
            return f"Nothing can be expected ({why})."
        n = f"{self.counts.n_samples:,.10g} scores"
        lines = [
            f"If a score means what it meant, {100 * self.prevalence:.3g} % of {n} are positive;"
            f" AUC {_shown(self.roc_auc)}, average precision {_shown(self.average_precision)}."
        ]
        for threshold in self.thresholds:
            at = self.confusion(threshold)
            lines.append(
                f"At {threshold:g}: precision {_shown(at.precision)}, recall {_shown(at.recall)},"
                f" {100 * at.alert_rate:.3g} % flagged."
            )
        if self.outside > 0:
            lines.append(
                f"{100 * self.outside:.3g} % of the scores lie outside the reference's, whose"
                " nearest chance they are given."
            )
        return "\n".join([*lines, "Scores alone cannot show whether they still mean the same."])

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the result as plain values for JSON; what is undefined is None."""
        found: dict[str, JsonValue] = {
            "prevalence": or_none(self.prevalence),
            "roc_auc": or_none(self.roc_auc),
            "average_precision": or_none(self.average_precision),
            "outside": or_none(self.outside),
        }
        for threshold in self.thresholds:
            at = self.confusion(threshold)
            found[f"precision@{threshold:g}"] = or_none(at.precision)
            found[f"recall@{threshold:g}"] = or_none(at.recall)
        return found


def expected_performance(
    reference: Source | Isotonic,
    current: Source,
    *,
    thresholds: Sequence[float] | None = None,
) -> ExpectedPerformance:
    """Return what to expect of current scores whose labels are not known yet. O(n_bins).

    `reference` is a labelled window or histogram, or the calibration that `isotonic` made of
    one, which is worth keeping for many current sides. `current` is a window, whose predicted
    scores are taken, labelled or not, or a histogram, whose labels are not looked at.

    The assumption is covariate shift: a score means the same chance of a positive as in the
    reference, whatever else changed. A chance is that of the isotonic calibration. Precision is
    the expected share of positives among the flagged; recall and AUC are ratios of expected
    counts, off by the order of one over the number of events. The average precision is the
    expected sum of precisions where positives enter, over the expected positives; the events of
    a bin enter one by one, those of a tied score of the exact scale at once.

    * `thresholds`: at which `explain` and `to_dict` give precision and recall; the operating
      thresholds of the current scale unless given.

    ``nan`` without reference events and without current scores. Raises ValueError for scales of
    different kinds and a reference that has not two classes, TypeError for a side without a
    histogram.

    >>> from streamauc import Scale, ScoreHistogram
    >>> y_true, y_score, exact = [0, 0, 0, 1, 0, 1], [0.2, 0.2, 0.2, 0.2, 0.8, 0.8], Scale.exact()
    >>> before = ScoreHistogram.from_scores(y_true, y_score, scale=exact)
    >>> now = ScoreHistogram.from_scores([0, 0, 0], [0.2, 0.8, 0.8], scale=exact)
    >>> found = expected_performance(before, now)
    >>> found.precision(0.5), found.recall(0.5)
    (0.5, 0.8)
    """
    scores = scores_of("current", current)
    calibration = reference if isinstance(reference, Isotonic) else _calibration(reference, scores)
    seen = threshold_counts(scores, positive=0)
    chances = calibration.calibrate(_middles(seen))
    counts = _expected_counts(seen, chances) if calibration.thresholds.size else _NOTHING
    given = scores.scale.thresholds if thresholds is None else thresholds
    return ExpectedPerformance(
        prevalence=prevalence(counts),
        roc_auc=roc_auc(counts),
        average_precision=_average_precision(counts, seen, chances),
        counts=counts,
        calibration=calibration,
        thresholds=tuple(_check.finite("threshold", one) for one in given),
        outside=_share_outside(calibration, seen),
    )


def _shown(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def _calibration(reference: Source, current: ScoreHistogram) -> Isotonic:
    known = histogram_of("reference", reference)
    known.scale.common(current.scale)  # raises where the scores mean different things
    return isotonic(threshold_counts(known))


def _middles(seen: ThresholdCounts) -> FloatArray:
    """Return a score of each bin, half way up; on exact counts the score itself."""
    edges = seen.thresholds[1:]
    if seen.ceilings is None:
        return edges
    ends = seen.ceilings[1:]
    middles = edges / 2 + ends / 2
    # Not where rounding carries it to the next bin, and not where the last one has no end.
    return np.where(middles < ends, middles, edges)


def _expected_counts(seen: ThresholdCounts, chances: FloatArray) -> ThresholdCounts:
    """Return expected positives and negatives from all scores seen and their chances.

    The squared weights are expected ones as well: an event is all positive or all negative.
    """
    tps, fps = _split(seen.pos_steps, chances)
    squares = (tps, fps)
    if seen.tps_squares is not None:
        squares = _split(np.diff(seen.tps_squares), chances)
    return ThresholdCounts(
        seen.thresholds,
        tps,
        fps,
        exact=seen.exact,
        ceilings=seen.ceilings,
        tps_squares=squares[0],
        fps_squares=squares[1],
    )


def _split(steps: NumberArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what is expected to be positive and what negative, cumulated from 0."""
    tps, fps = np.zeros((2, steps.size + 1))
    pos = steps * chances
    np.cumsum(pos, out=tps[1:])
    np.cumsum(steps - pos, out=fps[1:])
    return tps, fps


def _average_precision(
    counts: ThresholdCounts, seen: ThresholdCounts, chances: FloatArray
) -> float:
    """Return the expected sum of precisions where positives enter, over expected positives.

    Of m events with chance v behind K others, T of them expected positives, the t-th adds
    ``v (T + 1 + (t - 1) v) / (K + t)`` where they enter one by one, and all together add
    ``(m v T + m v (1 - v) + (m v)^2) / (K + m)`` where they are tied: an event that is positive
    is certain to be among the positives counted with it.
    """
    if not counts.n_pos:
        return math.nan
    m, above = seen.pos_steps.astype(np.float64), seen.tps[:-1].astype(np.float64)
    # The weight of one event if those of a bin had equal weights.
    unit = np.ones_like(m) if seen.tps_squares is None else np.diff(seen.tps_squares) / m
    gains = _tied if seen.exact else _one_by_one
    total = float(np.dot(unit, gains(m / unit, above / unit, counts.tps[:-1] / unit, chances)))
    return min(1.0, total / counts.n_pos)


def _tied(m: FloatArray, above: FloatArray, tp: FloatArray, chances: FloatArray) -> FloatArray:
    p = m * chances
    return p * (tp + 1 - chances + p) / (above + m)


def _one_by_one(
    m: FloatArray, above: FloatArray, tp: FloatArray, chances: FloatArray
) -> FloatArray:
    rest = tp + 1 - chances * (1 + above)
    return chances * (m * chances + rest * digamma_rise(above + 1, m))


def _share_outside(calibration: Isotonic, seen: ThresholdCounts) -> float:
    """Return the share of scores in bins that begin below or above all of the reference's."""
    points, edges = calibration.thresholds, seen.thresholds[1:]
    if not points.size or not edges.size:
        return math.nan
    outside = (edges < points[0]) | (edges > points[-1])
    return float(seen.pos_steps[outside].sum()) / float(seen.n_pos)
