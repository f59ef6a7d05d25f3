"""What decisions cost over all thresholds, and the threshold of the lowest cost."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from streamauc import _html
from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.best import BestThreshold, best_threshold
from streamauc.metrics.costs import (
    CostMatrix,
    ThresholdCosts,
    bayes_threshold,
    mean_cost,
    threshold_costs,
)
from streamauc.metrics.scalars import prevalence as share_of_positives
from streamauc.plot import above, legend, style, thin
from streamauc.plot.above import Tag
from streamauc.plot.score_axis import ScoreAxis, ScoreBins

_COLUMNS = 250
_NEAR_SHADE = (style.COLORS[2], 0.18)
_MARGIN = 0.06
# A threshold that saves less of what is wasted without one is not worth a closer look.
_WORTH = 0.01


def draw_cost(
    ax: Axes,
    counts: ThresholdCounts,
    costs: CostMatrix,
    *,
    thresholds: Sequence[float] = (),
    prevalence: float | None = None,
    is_logit: bool | None = None,
) -> Axes:
    """Draw the mean cost of an event over the threshold, and mark the lowest; return the axes.

    The shade holds the thresholds around the best that come within 1 % of it (see
    `best_threshold`). At the right end nobody is flagged and at the left end everybody, and costs
    far above the better of the two leave the panel. For probabilities the Bayes threshold has a
    dashed line: far from the best, the scores are not calibrated. With `prevalence`, for events
    of which that share is positive. The axis of thresholds is that of `draw_scores`.

    Undefined without events, and with `prevalence` without one of the classes; the panel
    says so. Raises ValueError for a prevalence outside (0, 1) and for log-odds of scores outside
    [0, 1].
    """
    style.tidy(ax)
    bins = ScoreBins.of(counts)
    axis = ScoreAxis.of(bins, is_logit=is_logit)
    axis.show(ax, "score threshold", axis.beyond(thresholds))
    ax.set_ylabel(_title(prevalence))
    found = threshold_costs(counts, costs, prevalence=prevalence)
    best = best_threshold(counts, by=costs, prevalence=prevalence)
    if best.reason:
        style.note(ax, f"undefined: {_html.spelled(best.reason)}")
        return ax
    _draw_line(ax, axis, found)
    cost = mean_cost(counts, costs, best.threshold, prevalence=prevalence)
    _draw_best(ax, axis, best, cost)
    tags = axis.draw_thresholds(ax, thresholds)
    if bins.is_probability:
        tags += _draw_bayes(ax, axis, _bayes(counts, costs, prevalence))
    _show_costs(ax, found.mean, _perfect(counts, costs, prevalence))
    legend.write(ax, above.write(ax, tags) if tags else 0.0)
    return ax


def _title(prevalence: float | None) -> str:
    if prevalence is None:
        return "mean cost of an event"
    return f"mean cost of an event\nif {100 * prevalence:.3g} % are positive"


def _draw_line(ax: Axes, axis: ScoreAxis, found: ThresholdCosts) -> None:
    """Draw the cost of each threshold, and of all down to the next below it."""
    rising, costs = found.thresholds[::-1], found.mean[::-1]
    first, last = np.searchsorted(rising, [axis.low, axis.high]).tolist()  # the last is inf
    x = np.concatenate(([axis.low], rising[first:last], [axis.high]))
    y = np.concatenate((costs[first : first + 1], costs[first : last + 1]))
    drawn = thin.visible(axis.positions(x), [y], _COLUMNS)
    ax.plot(
        x[drawn],
        y[drawn],
        color=style.COLORS[0],
        linewidth=1.6,
        drawstyle="steps-pre",
        zorder=3,
        label="mean cost",
    )


def _draw_best(ax: Axes, axis: ScoreAxis, best: BestThreshold, cost: float) -> None:
    """Mark the lowest cost, and shade the thresholds that nearly reach it."""
    low, high, place = (
        min(max(one, axis.low), axis.high) for one in (best.low, best.high, best.threshold)
    )
    style.points(ax, [place], [cost], label=f"lowest, {cost:.4g}: {_decision(best)}")
    if low < high:
        color, alpha = _NEAR_SHADE
        ax.axvspan(
            low, high, color=color, alpha=alpha, linewidth=0, zorder=0.4, label="within 1 % of it"
        )


def _decision(best: BestThreshold) -> str:
    point = best.confusion
    if point is None or math.isinf(best.threshold):
        return "flag nobody"
    return f"at {best.threshold:.4g}" if point.fn + point.tn else "flag everybody"


def _bayes(counts: ThresholdCounts, costs: CostMatrix, prevalence: float | None) -> float:
    if prevalence is None:
        return bayes_threshold(costs)
    share = share_of_positives(counts)
    return bayes_threshold(costs, calibrated_at=share, prevalence=prevalence)


def _perfect(counts: ThresholdCounts, costs: CostMatrix, prevalence: float | None) -> float:
    """Return what the better decision for every single event would cost."""
    share = share_of_positives(counts) if prevalence is None else prevalence
    return share * min(costs.tp, costs.fn) + (1 - share) * min(costs.fp, costs.tn)


def _draw_bayes(ax: Axes, axis: ScoreAxis, threshold: float) -> list[Tag]:
    """Draw the Bayes threshold if it is on the axis; return what to write above it."""
    if not axis.low <= threshold <= axis.high:
        return []
    ax.axvline(threshold, color=style.REFERENCE_COLOR, linewidth=1.0, linestyle="--", zorder=2)
    return [Tag(threshold, threshold, (f"Bayes {threshold:.3g}",))]


def _show_costs(ax: Axes, mean: FloatArray, perfect: float) -> None:
    """Show twice what flagging nobody or everybody, whichever is better, costs needlessly.

    The other of the two may cost a thousand times as much. It is shown as well if no threshold is
    worth looking at, because none is better.
    """
    best, end, highest = float(mean.min()), float(min(mean[0], mean[-1])), float(mean.max())
    wasted = end - perfect
    top = min(end + wasted, highest) if end - best > _WORTH * wasted else highest
    margin = _MARGIN * (top - best) or 0.1 * abs(best) or 0.1
    ax.set_ylim(best - margin, top + margin)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))
