"""The reliability diagram: how often scores of 0.3 were followed by a positive."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from streamauc import _html
from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.calibration import (
    N_GROUPS,
    ReliabilityCurve,
    expected_calibration_error,
    fault,
    reliability_curve,
)
from streamauc.metrics.intervals import prevalence_interval
from streamauc.plot import legend, style
from streamauc.plot.log_odds import EVEN, LAST, logits, scores_at, show_logits

_MARGIN = 0.06
_LOGIT_MARGIN = 0.5
# Below it a group's mean score is near 0, as it is near 1 beyond the complement.
_NEAR = 0.02
_MOST_NEAR = 0.5
# What binning leaves open is told if it can be seen.
_VISIBLE = 0.01
# A mean size of so many events or more needs no decimals.
_MANY = 10


def draw_reliability(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    n_groups: int = N_GROUPS,
    level: float = 0.95,
    is_logit: bool | None = None,
) -> Axes:
    """Draw the share of positives over the mean score of groups of equal size; return the axes.

    With intervals at `level` upwards and downwards, and sidewards what binning leaves open of the
    mean score. On the dashed line scores are what they say. Both axes show the same span: from 0
    to as far as the groups reach or, if most are very near to 0 or 1, log-odds; `is_logit`
    chooses. There a group in which none or all were positive is a hollow marker at the edge. The
    legend, above the panel, has the expected calibration error. Where scores are no probabilities
    the panel says so.
    """
    style.tidy(ax)
    ax.set_box_aspect(1)
    ax.set_xlabel("mean score")
    ax.set_ylabel("share of positives")
    reason = fault(counts)
    if reason:
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        style.note(ax, f"undefined: {_html.spelled(reason)}")
        return ax
    groups = _Groups.read(counts, n_groups, level)
    in_logits = groups.is_crowded if is_logit is None else is_logit
    limits = _show_logits(ax, groups) if in_logits else _show_evenly(ax, groups)
    ax.plot(
        limits,
        limits,
        color=style.REFERENCE_COLOR,
        linewidth=1.0,
        linestyle="--",
        zorder=2,
        label="perfectly calibrated",
    )
    _draw_intervals(ax, groups, limits)
    _draw_groups(ax, groups, limits, _label(counts, groups, n_groups, level))
    legend.write(ax)
    return ax


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The curve, and the ends of the intervals of the shares of positives."""

    curve: ReliabilityCurve
    low: FloatArray
    high: FloatArray

    @classmethod
    def read(cls, counts: ThresholdCounts, n_groups: int, level: float) -> Self:
        """Return the groups of some counts."""
        curve = reliability_curve(counts, n_groups=n_groups)
        rows = np.searchsorted(-counts.thresholds, -curve.thresholds).tolist()
        above = [*rows[1:], 0]
        found = [
            prevalence_interval(_between(counts, first, last), level=level)
            for first, last in zip(above, rows, strict=True)
        ]
        return cls(curve, *np.array([(one.low, one.high) for one in found]).T)

    @property
    def is_crowded(self) -> bool:
        """Whether most groups are so near 0 or 1 that only log-odds tell them apart."""
        mean = self.curve.predicted
        from_end = np.minimum(mean, 1 - mean)
        is_near = (from_end > 0) & (from_end < _NEAR)
        return float(is_near.mean()) > _MOST_NEAR

    @property
    def largest(self) -> float:
        """The largest of all mean scores and shares."""
        return float(max(self.curve.predicted_high.max(), self.curve.observed.max()))


def _between(counts: ThresholdCounts, first: int, last: int) -> ThresholdCounts:
    """Return what enters after row `first` up to row `last`, as one group."""
    rows = [first, last]
    squares = (counts.tps_squares, counts.fps_squares)
    tps_squares, fps_squares = (
        None if part is None else part[rows] - part[first] for part in squares
    )
    return ThresholdCounts(
        counts.thresholds[rows],
        counts.tps[rows] - counts.tps[first],
        counts.fps[rows] - counts.fps[first],
        tps_squares=tps_squares,
        fps_squares=fps_squares,
    )


def _show_evenly(ax: Axes, groups: _Groups) -> tuple[float, float]:
    """Show both axes from 0 on, to 1 if groups reach beyond the middle; return the limits."""
    reached = groups.largest
    # The interval of a small group may reach far; as far again as the groups do is enough.
    top = max(reached, min(2 * reached, float(groups.high.max()))) * (1 + _MARGIN)
    limits = (0.0, 1.0 if top > 0.5 else top)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    ax.set_xlim(limits)
    ax.set_ylim(limits)
    return limits


def _show_logits(ax: Axes, groups: _Groups) -> tuple[float, float]:
    """Show both axes in log-odds as far as the groups reach; return the limits."""
    reached = logits(np.concatenate((groups.curve.predicted, groups.curve.observed)))
    reached = reached[np.isfinite(reached)]
    start, end = (reached.min(), reached.max()) if reached.size else EVEN
    start, end = start - _LOGIT_MARGIN, min(end + _LOGIT_MARGIN, LAST)
    low, high = scores_at(np.array([start, end])).tolist()
    ax.set_xscale("logit")
    ax.set_yscale("logit")
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    show_logits(ax.xaxis, start, end)
    show_logits(ax.yaxis, start, end)
    ax.set_xlabel("mean score (log-odds scale)")
    ax.set_ylabel("share of positives (log-odds scale)")
    return low, high


def _draw_intervals(ax: Axes, groups: _Groups, limits: tuple[float, float]) -> None:
    curve = groups.curve
    x, y = curve.predicted.clip(*limits), curve.observed.clip(*limits)
    color = style.COLORS[0]
    ax.vlines(x, groups.low.clip(*limits), groups.high.clip(*limits), color=color, linewidth=1.2)
    left, right = curve.predicted_low.clip(*limits), curve.predicted_high.clip(*limits)
    is_visible = bool((right - left > _VISIBLE * (limits[1] - limits[0])).any())
    label = "left open by binning" if is_visible else ""
    ax.hlines(y, left, right, color=style.POINT_COLOR, linewidth=1.2, label=label)


def _draw_groups(ax: Axes, groups: _Groups, limits: tuple[float, float], label: str) -> None:
    """Draw the groups; those that log-odds cannot show are hollow, at the edge."""
    x, y = groups.curve.predicted, groups.curve.observed
    is_shown = (x >= limits[0]) & (x <= limits[1]) & (y >= limits[0]) & (y <= limits[1])
    ax.plot(
        np.where(is_shown, x, math.nan),
        y,
        color=style.COLORS[0],
        linewidth=1.2,
        marker="o",
        markersize=5,
        clip_on=False,
        zorder=3,
        label=label,
    )
    if is_shown.all():
        return
    ax.plot(
        x[~is_shown].clip(*limits),
        y[~is_shown].clip(*limits),
        linestyle="none",
        marker="o",
        markersize=5,
        color=style.COLORS[0],
        markerfacecolor="white",
        clip_on=False,
        zorder=3,
        label="none or all positive",
    )


def _label(counts: ThresholdCounts, groups: _Groups, n_groups: int, level: float) -> str:
    error = style.decimals(expected_calibration_error(counts, n_groups=n_groups), 4)
    n_found = groups.curve.observed.size
    mean = counts.n_samples / n_found
    size = style.total(round(mean) if mean >= _MANY else mean)
    parts = "1 group" if n_found == 1 else f"{n_found} groups"
    events = f"{size} event" if size == "1" else f"{size} events"
    return f"{parts} of about {events}, ECE {error}\n(with {100 * level:g} % intervals)"
