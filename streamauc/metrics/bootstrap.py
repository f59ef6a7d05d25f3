"""The bootstrap: how a metric scatters over samples drawn anew from those that were seen.

It asks nothing of the metric, so it is the interval of those that have no formula, and a check of
those that have one.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from streamauc import _check
from streamauc._check import FloatArray, IntArray
from streamauc._special import normal_quantile
from streamauc.counts import NumberArray, ThresholdCounts
from streamauc.metrics.intervals import SMALL_CLASS, Interval, effective_sizes

N_RESAMPLES = 1_000
# `numpy.random` is loaded when it is used: annotations that name it are text.
# Resamples are drawn in blocks of so many numbers, which stay in the cache.
_BLOCK = 65_536
# An event costs so much less to draw than a cell.
_EVENTS_A_CELL = 4
# Percentiles that differ by less are equal before rounding.
_ROUNDING = 1e-12
_UNSEEN = (
    "; hardly any resample differed, which says nothing of what was not seen: taken as one more"
    " event of each class at each end of the scores"
)

Statistic = Callable[[ThresholdCounts], float]


def bootstrap(
    counts: ThresholdCounts,
    statistic: Statistic,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> FloatArray:
    """Return a statistic of each of `n_resamples` resamples, float64 of shape (n_resamples,).

    As many events as there are, drawn with replacement, so that the number of positives varies,
    too (Efron 1979). O(n_resamples * (min(n_samples, n_thresholds) + the statistic's own)). With
    weights, a bin whose weights sum to W and their squares to S is drawn as ``S / W`` times a
    Poisson number of mean ``W * W / S``, which has the mean W and the variance S. ``nan`` where
    the statistic is. The same seed gives the same numbers. Raises ValueError for a negative seed
    and for fewer than one resample.
    """
    n_resamples = _check.integer("n_resamples", n_resamples, 1)
    rng = np.random.default_rng(_check.integer("seed", seed, 0))
    # Of nothing there is one resample; what was reweighted without a class has none.
    if not (counts.n_samples and math.isfinite(counts.n_samples)):
        return np.full(n_resamples, statistic(counts))
    draw = _weighted if counts.is_weighted else _counted
    resamples = draw(counts, n_resamples, rng)
    return np.fromiter((statistic(one) for one in resamples), np.float64, count=n_resamples)


def bootstrap_interval(
    counts: ThresholdCounts,
    statistic: Statistic,
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    is_biased: bool = False,
) -> Interval:
    """Return the interval between the percentiles of the bootstrap.

    Of the resamples in which the statistic is defined; ``nan`` where that is not even half of
    them. With fewer than `SMALL_CLASS` of a class it is often too narrow, and the note says so:
    of an AUC of 0.95 from 10 positives it held the truth in 65 to 81 of 100 simulated streams.
    Of what noise moves to one side (`is_biased`), as it raises the best of many thresholds or a
    distance, percentiles may never hold the truth; it gets a normal interval of its square, see
    `_without_bias`.

    Where hardly any resample differs, it is as if two events more of each class had been seen,
    one at each end of the scores, and the note says so. Errors are those of `bootstrap`, and
    ValueError for a level outside (0, 1).
    """
    level = _check.level(level)
    if not counts.n_samples:
        return Interval(math.nan, math.nan, level, "undefined: no events")
    found = bootstrap(counts, statistic, n_resamples=n_resamples, seed=seed)
    known = found[np.isfinite(found)]
    note = _note(found.size, known.size, is_biased=is_biased)
    if min(effective_sizes(counts)) < SMALL_CLASS:
        note += "; with so few of a class it covers less than it says"
    if 2 * known.size < found.size:
        return Interval(math.nan, math.nan, level, f"undefined: {note}")
    low, high = _percentiles(known, level)
    if high - low <= _ROUNDING * abs(high):
        more = bootstrap(_with_unseen(counts), statistic, n_resamples=n_resamples, seed=seed)
        ends = [known.min().item(), known.max().item()]
        if np.isfinite(more).any():  # with events more, flagging nobody may be the best
            ends += _percentiles(more[np.isfinite(more)], level)
        return Interval(min(ends), max(ends), level, note + _UNSEEN)
    if is_biased:
        low, high = _without_bias(statistic(counts), known, level)
    return Interval(low, high, level, note)


def _note(n_drawn: int, n_known: int, *, is_biased: bool) -> str:
    note = f"{n_drawn:,} bootstrap resamples"
    note = f"{note}, their bias taken off" if is_biased else f"percentiles of {note}"
    if n_known == n_drawn:
        return note
    without = f"{n_drawn - n_known:,} of them without a value"
    return f"{note}, {without}, so that it may cover less than it says"


def _percentiles(values: FloatArray, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def _without_bias(value: float, resamples: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of a normal interval of the square, its bias taken off.

    Noise adds its variance to the square of what it raises, in a resample beside the sample as in
    the sample beside the truth, so the mean difference is that of the square (Efron & Tibshirani
    1993, section 10.2). Squares keep their sign. Where the truth is 0, as the calibration error
    of a calibrated score, the interval reaches 0, which that of the value itself would not.
    """
    squares = resamples * abs(resamples)
    centre = 2 * value * abs(value) - float(squares.mean())
    reach = normal_quantile(level) * float(squares.std(ddof=1))
    return _root(centre - reach), _root(centre + reach)


def _root(square: float) -> float:
    return math.copysign(math.sqrt(abs(square)), square)


def _with_unseen(counts: ThresholdCounts) -> ThresholdCounts:
    """Return the counts with an event more of each class at the highest and the lowest score.

    With weights, of the weight that the events of the class typically have.
    """
    sizes, totals = effective_sizes(counts), (counts.n_pos, counts.n_neg)
    typical = counts.n_samples / sum(sizes)  # for a class of which there is none
    units = [total / size if size else typical for total, size in zip(totals, sizes, strict=True)]
    steps = np.array((counts.pos_steps, counts.neg_steps), dtype=np.float64)
    squares = None
    if counts.tps_squares is not None and counts.fps_squares is not None:
        squares = np.diff(np.array((counts.tps_squares, counts.fps_squares), dtype=np.float64))
    for end in (0, -1):
        steps[:, end] += units
        if squares is not None:
            squares[:, end] += np.square(units)
    pos, neg = steps if squares is not None else steps.astype(np.int64)
    return _resample(counts, pos, neg, squares)


def _counted(
    counts: ThresholdCounts, n_resamples: int, rng: "np.random.Generator"
) -> Iterator[ThresholdCounts]:
    """Yield resamples of counts; the cells are the positives of each bin, then the negatives."""
    cells = np.concatenate((counts.pos_steps, counts.neg_steps)).astype(np.int64, copy=False)
    n = int(cells.sum())
    draw = _draw_events if n < _EVENTS_A_CELL * cells.size else _draw_cells
    n_rows = max(1, _BLOCK // max(1, cells.size))
    for begin in range(0, n_resamples, n_rows):
        drawn = draw(cells, n, min(n_rows, n_resamples - begin), rng)
        for pos, neg in drawn.reshape(len(drawn), 2, -1):
            yield _resample(counts, pos, neg)


def _draw_events(cells: IntArray, n: int, n_rows: int, rng: "np.random.Generator") -> IntArray:
    """Draw resamples event by event. O(n_rows * n)."""
    cell_of = np.repeat(np.arange(cells.size), cells)
    drawn = cell_of[rng.integers(n, size=(n_rows, n))] if n else np.empty((n_rows, 0), np.int64)
    drawn += np.arange(n_rows)[:, np.newaxis] * cells.size
    return np.bincount(drawn.ravel(), minlength=n_rows * cells.size).reshape(n_rows, -1)


def _draw_cells(cells: IntArray, n: int, n_rows: int, rng: "np.random.Generator") -> IntArray:
    """Draw how many events fall in each cell. O(n_rows * n_cells)."""
    return rng.multinomial(n, cells / n, size=n_rows)


def _weighted(
    counts: ThresholdCounts, n_resamples: int, rng: "np.random.Generator"
) -> Iterator[ThresholdCounts]:
    """Yield resamples of sums of weights."""
    weights = np.array((counts.pos_steps, counts.neg_steps), dtype=np.float64)
    squares = np.diff(np.array((counts.tps_squares, counts.fps_squares), dtype=np.float64))
    # Differences of rounded sums; a bin with weight holds at least one event.
    squares = np.clip(squares, 1e-9 * weights**2, weights**2)
    unit = np.divide(squares, weights, out=np.zeros_like(weights), where=weights > 0)
    means = np.divide(weights, unit, out=np.zeros_like(weights), where=unit > 0)
    for _ in range(n_resamples):
        drawn = rng.poisson(means)
        pos, neg = unit * drawn
        yield _resample(counts, pos, neg, unit * unit * drawn)


def _resample(
    counts: ThresholdCounts,
    pos: NumberArray,
    neg: NumberArray,
    squares: FloatArray | None = None,
) -> ThresholdCounts:
    """Return the counts of events that enter at each threshold."""
    tps_squares, fps_squares = (
        (None, None) if squares is None else np.insert(squares, 0, 0.0, axis=1).cumsum(axis=1)
    )
    return ThresholdCounts(
        counts.thresholds,
        _cumulated(pos),
        _cumulated(neg),
        exact=counts.exact,
        ceilings=counts.ceilings,
        tps_squares=tps_squares,
        fps_squares=fps_squares,
    )


def _cumulated(steps: NumberArray) -> NumberArray:
    found: NumberArray = np.insert(steps, 0, 0).cumsum()
    return found
