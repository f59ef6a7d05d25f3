"""Confidence intervals: how far a value may be off because the sample is finite."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray, IntArray
from streamauc._special import expit, logit, normal_quantile
from streamauc.counts import ThresholdCounts
from streamauc.metrics.operating import confusion_at
from streamauc.metrics.scalars import roc_auc

AucMethod = Literal["auto", "delong", "newcombe", "hull"]
# Below this many of the rarer class DeLong alone covers too little; see the README's table.
SMALL_CLASS = 300
# With fewer successes or failures a Wilson interval may cover less, see the README's table.
_FEW_HITS = 5
# With fewer of a class the AUC's interval may cover less, see there.
_FEW_OF_A_CLASS = 20
NEAR_AN_END = "; so near to an end it may cover 88 % where it says 95 %"
# Two, but that the effective size of two equal weights may round to just below.
FEWEST = 2 - 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval at `level`; both ends are ``nan`` where it is undefined.

    `note` says how it was found, or why it is undefined.
    """

    low: float
    high: float
    level: float
    note: str


def roc_auc_variance(counts: ThresholdCounts) -> float:
    """Return the variance of the AUC (DeLong, DeLong & Clarke-Pearson 1988). O(n_thresholds).

    From placement values: the share of negatives below each positive, and of positives above
    each negative, ties one half; ``n - 1`` variances. With weights it is linearised: squared
    weights take the place of counts. ``nan`` with fewer than two of a class.
    """
    if min(effective_sizes(counts)) < FEWEST:
        return math.nan
    auc = roc_auc(counts)
    tps, fps = (cumulated.astype(np.float64) for cumulated in (counts.tps, counts.fps))
    # Ties count one half: the mean of what is above a bin and what is at or above it.
    below = 1 - auc - (fps[1:] + fps[:-1]) / (2 * counts.n_neg)
    above = (tps[1:] + tps[:-1]) / (2 * counts.n_pos) - auc
    pos_squares = tps if counts.tps_squares is None else counts.tps_squares
    neg_squares = fps if counts.fps_squares is None else counts.fps_squares
    return mean_variance(pos_squares, below, counts.n_pos) + mean_variance(
        neg_squares, above, counts.n_neg
    )


def mean_variance(squares: FloatArray, deviations: FloatArray, total: float) -> float:
    """Return the variance of a weighted mean, with unit weights ``sum d^2 / (n (n - 1))``.

    `squares` are the cumulated squared weights.
    """
    share = float(squares[-1]) / total / total  # 1 / n with unit weights
    steps = squares[1:] - squares[:-1]
    return float(np.dot(steps, deviations**2)) / total / total / (1 - share)


def effective_sizes(counts: ThresholdCounts) -> tuple[float, float]:
    """Return how many equally weighted positives and negatives would vary as much."""
    if counts.tps_squares is None or counts.fps_squares is None:
        return counts.n_pos, counts.n_neg
    squares = float(counts.tps_squares[-1]), float(counts.fps_squares[-1])
    return _kish(counts.n_pos, squares[0]), _kish(counts.n_neg, squares[1])


def _kish(total: float, squares: float) -> float:
    return total / squares * total if squares else 0.0


def roc_auc_interval(
    counts: ThresholdCounts, *, level: float = 0.95, method: AucMethod = "auto"
) -> Interval:
    """Return a confidence interval of the AUC. O(n_thresholds).

    * ``"delong"``: DeLong's variance on the logit scale.
    * ``"newcombe"``: Newcombe 2006, method 5.
    * ``"hull"``: from the lower of the two to the higher.
    * ``"auto"``: the hull while the smaller class has fewer than `SMALL_CLASS` samples, then
      DeLong. With fewer than 20 of a class the note says that it may cover 91 % instead of 95.

    With perfect separation, where no variance can be seen, one-sided:
    ``alpha ** (1 / min(n_pos, n_neg))``. ``nan`` with fewer than two of a class. Raises
    ValueError for a level outside (0, 1) and an unknown method.
    """
    level = _check.level(level)
    if method not in ("auto", "delong", "newcombe", "hull"):
        raise ValueError(f"method must be auto, delong, newcombe or hull, got {method!r}")
    sizes = effective_sizes(counts)
    if min(sizes) < FEWEST:
        rarer = "positives" if sizes[0] < FEWEST else "negatives"
        return Interval(math.nan, math.nan, level, f"undefined: fewer than two {rarer}")
    auc = roc_auc(counts)
    if not 0 < auc < 1 or is_separated(counts):
        return _separated(min(sizes), level, above=auc > 0.5)
    if method == "auto":
        method = "hull" if min(sizes) < SMALL_CLASS else "delong"
    delong = _delong(auc, roc_auc_variance(counts), level)
    if method == "delong":
        return delong
    newcombe = _newcombe(auc, sizes, level)
    if method == "newcombe":
        return newcombe
    low, high = min(delong.low, newcombe.low), max(delong.high, newcombe.high)
    note = "hull of DeLong (logit scale) and Newcombe (method 5)"
    if min(sizes) < _FEW_OF_A_CLASS:
        note += f"; with fewer than {_FEW_OF_A_CLASS} of a class it may cover 91 % instead of 95"
    return Interval(low, high, level, note)


def _delong(auc: float, variance: float, level: float) -> Interval:
    reach = normal_quantile(level) * math.sqrt(variance) / (auc * (1 - auc))
    centre = logit(auc)
    return Interval(expit(centre - reach), expit(centre + reach), level, "DeLong (logit scale)")


def is_separated(counts: ThresholdCounts) -> bool:
    """Return whether one class ends before the other begins; the AUC only shows it rounded."""
    pos_from = int(np.searchsorted(counts.tps, 0, side="right"))
    neg_from = int(np.searchsorted(counts.fps, 0, side="right"))
    all_pos_first = counts.tps[neg_from - 1].item() == counts.n_pos
    return bool(all_pos_first or counts.fps[pos_from - 1].item() == counts.n_neg)


def _separated(smaller: float, level: float, *, above: bool) -> Interval:
    bound = (1 - level) ** (1 / smaller)
    note = "one-sided: the classes are perfectly separated"
    return Interval(bound, 1.0, level, note) if above else Interval(0.0, 1 - bound, level, note)


def _newcombe(auc: float, sizes: tuple[float, float], level: float) -> Interval:
    """Solve Newcombe 2006, method 5, for the two A that are just as far from `auc` as z allows.

    ``|auc - A| = z sqrt(A (1 - A) (1 + M (1 - A) / (2 - A) + M A / (1 + A)) / (n_pos n_neg))``
    """
    z = normal_quantile(level)
    m = sum(sizes) / 2 - 1
    pairs = sizes[0] * sizes[1]

    def excess(a: float) -> float:
        spread = a * (1 - a) * (1 + m * (1 - a) / (2 - a) + m * a / (1 + a)) / pairs
        return abs(auc - a) - z * math.sqrt(spread)

    low, high = _root(excess, 0.0, auc), _root(excess, 1.0, auc)
    return Interval(low, high, level, "Newcombe (method 5)")


def _root(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Bisect between a point where `excess` is not negative and one where it is not positive."""
    for _ in range(60):
        middle = (outside + inside) / 2
        if excess(middle) >= 0:
            outside = middle
        else:
            inside = middle
    return (outside + inside) / 2


def wilson_interval(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """Return the score interval of a proportion (Wilson 1927); ``nan`` without trials.

    With fewer than five successes or failures the note says that it may cover 88 % instead of 95.
    """
    level = _check.level(level)
    if trials <= 0:
        return Interval(math.nan, math.nan, level, "undefined: no trials")
    p, square = successes / trials, normal_quantile(level) ** 2 / trials
    centre = (p + square / 2) / (1 + square)
    reach = math.sqrt(square * (p * (1 - p) + square / 4)) / (1 + square)
    # Exactly 0 and 1 at the ends, where rounding may leave a trace of the other side.
    low = 0.0 if successes == 0 else centre - reach
    high = 1.0 if successes == trials else centre + reach
    # Of weights, the numbers are rounded.
    warning = "" if min(successes, trials - successes) > _FEW_HITS - 1e-6 else NEAR_AN_END
    return Interval(low, high, level, "Wilson" + warning)


def prevalence_interval(counts: ThresholdCounts, *, level: float = 0.95) -> Interval:
    """Return the Wilson interval of the share of positives; ``nan`` without samples.

    With weights, of as many equally weighted samples as give the linearised variance
    ``(S_pos (1 - p)^2 + S_neg p^2) / W^2``, where S are sums of squared weights.
    """
    if counts.tps_squares is None or counts.fps_squares is None:
        return wilson_interval(counts.n_pos, counts.n_samples, level=level)
    squares = float(counts.tps_squares[-1]), float(counts.fps_squares[-1])
    return weighted_wilson(counts.n_pos, counts.n_neg, squares, level)


def weighted_wilson(
    hits: float, misses: float, squares: tuple[float, float], level: float
) -> Interval:
    """Return the Wilson interval of the share of `hits`, sums of weights; ``nan`` without any.

    Of as many equally weighted trials as give its linearised variance; `squares` are the sums of
    the squared weights of hits and of misses.
    """
    total = hits + misses
    if total <= 0:
        return wilson_interval(0, 0, level=level)
    p = hits / total
    variance = (squares[0] * (1 - p) ** 2 + squares[1] * p**2) / total / total
    trials = p * (1 - p) / variance if variance else _kish(total, sum(squares))
    return wilson_interval(p * trials, trials, level=level)


def recall_interval(counts: ThresholdCounts, *, threshold: float, level: float = 0.95) -> Interval:
    """Return the Wilson interval of the recall at a threshold; ``nan`` without positives."""
    tp = confusion_at(counts, threshold).tp
    return _share_interval(tp, counts.tps, counts.tps_squares, level)


def fpr_interval(counts: ThresholdCounts, *, threshold: float, level: float = 0.95) -> Interval:
    """Return the Wilson interval of the false positive rate; ``nan`` without negatives."""
    fp = confusion_at(counts, threshold).fp
    return _share_interval(fp, counts.fps, counts.fps_squares, level)


def _share_interval(
    flagged: float,
    cumulated: IntArray | FloatArray,
    squares: FloatArray | None,
    level: float,
) -> Interval:
    total = cumulated[-1].item()
    if squares is None:
        return wilson_interval(flagged, total, level=level)
    row = int(np.searchsorted(cumulated, flagged, side="right")) - 1
    inside = float(squares[row])
    return weighted_wilson(flagged, total - flagged, (inside, float(squares[-1]) - inside), level)


def precision_interval(
    counts: ThresholdCounts, *, threshold: float, level: float = 0.95
) -> Interval:
    """Return the Wilson interval of the precision; ``nan`` where nobody is flagged."""
    point = confusion_at(counts, threshold)
    if counts.tps_squares is None or counts.fps_squares is None:
        return wilson_interval(point.tp, point.tp + point.fp, level=level)
    row = int(np.searchsorted(counts.tps + counts.fps, point.tp + point.fp, side="right")) - 1
    squares = float(counts.tps_squares[row]), float(counts.fps_squares[row])
    return weighted_wilson(point.tp, point.fp, squares, level)
