"""How the scores of each class are spread: positives upwards, negatives downwards."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.plot import above, legend, style, value_axis
from streamauc.plot.score_axis import ScoreAxis, ScoreBins

N_BARS = 50
_ROOM = 1.1  # above the highest bar


def draw_scores(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    thresholds: Sequence[float] = (),
    is_logit: bool | None = None,
) -> Axes:
    """Draw a histogram of each class, mirrored, and a line at each threshold; return the axes.

    Every bar is as wide on the axis and as high as the share of its class that scores there, so
    that both classes can be seen however rare one is. Probabilities are shown from 0 to 1, or, if
    most are very near to one of the two, in log-odds; `is_logit` chooses. A few scores that are
    so far off that the others could not be seen are left out, and counted below the axis.
    Raises ValueError for log-odds of scores outside [0, 1].
    """
    style.tidy(ax)
    bins = ScoreBins.of(counts)
    axis = ScoreAxis.of(bins, is_logit=is_logit)
    sides = {"positives": _bars(axis, bins, bins.pos), "negatives": _bars(axis, bins, bins.neg)}
    totals = {"positives": counts.n_pos, "negatives": counts.n_neg}
    n_shown = sum(float(bars.sum()) for bars in sides.values())
    notes = _beyond(counts.n_samples - n_shown, counts) + axis.beyond(thresholds)
    axis.show(ax, "score", notes)
    shares = {name: bars / (totals[name] or 1) for name, bars in sides.items()}
    unit = " by weight" if counts.is_weighted else ""
    names = {
        name: f"{name}, {style.total(total)}{unit}" if total else f"no {name}"
        for name, total in totals.items()
    }
    _draw_bars(ax, axis, shares, names)
    _show_shares(ax, max(float(side.max()) for side in shares.values()))
    if not counts.n_samples:
        style.note(ax, "no events")
    height = above.write(ax, axis.draw_thresholds(ax, thresholds)) if thresholds else 0.0
    legend.write(ax, height, is_row=True)
    return ax


def _bars(axis: ScoreAxis, bins: ScoreBins, weights: FloatArray) -> FloatArray:
    """Return how much of a class falls in each bar, shape (N_BARS,).

    A bin is spread over the bars that it reaches into, evenly along the axis.
    """
    edges = np.linspace(axis.start, axis.end, N_BARS + 1)
    starts, ends = axis.positions(bins.low), axis.positions(bins.high)
    if bins.high is bins.low:
        inside = axis.holds(bins.low)
        # The end of the axis belongs to the last bar.
        bar = np.minimum(np.searchsorted(edges, starts[inside], side="right") - 1, N_BARS - 1)
        bars = np.bincount(np.maximum(bar, 0), weights[inside], minlength=N_BARS)
        return bars.astype(np.float64)
    far = edges[-1] - edges[0]
    places = np.stack((starts, ends), axis=1).ravel().clip(edges[0] - far, edges[-1] + far)
    reached = weights.cumsum()
    amounts = np.stack((reached - weights, reached), axis=1).ravel()
    edges[-1] = np.nextafter(edges[-1], np.inf)  # which belongs to the last bar here, too
    return np.diff(np.interp(edges, places, amounts)) if places.size else np.zeros(N_BARS)


def _draw_bars(
    ax: Axes, axis: ScoreAxis, shares: dict[str, FloatArray], names: dict[str, str]
) -> None:
    edges = axis.scores(np.linspace(axis.start, axis.end, N_BARS + 1))
    for name, sign in (("positives", 1), ("negatives", -1)):
        ax.stairs(
            sign * shares[name],
            edges,
            fill=True,
            color=style.CLASS_COLORS[name],
            linewidth=0,
            zorder=2,
            label=names[name],
        )
    ax.axhline(0, color="black", linewidth=0.8, zorder=2.5)


def _show_shares(ax: Axes, highest: float) -> None:
    limit = _ROOM * highest or 1.0
    ax.set_ylim(-limit, limit)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: value_axis.percent(abs(share))))
    ax.set_ylabel("share of the class in each bar")


def _beyond(n_hidden: float, counts: ThresholdCounts) -> list[str]:
    """Return how many events are not shown, if any, in words."""
    if n_hidden <= 1e-9 * counts.n_samples:
        return []
    return [f"beyond the axis: {style.total(n_hidden)} of {style.total(counts.n_samples)} events"]
