"""The evidence that a detector has gathered, on its way to an alarm or not."""

import math
from datetime import UTC, tzinfo

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from streamauc._check import FloatArray
from streamauc.change.verdict import Evidence
from streamauc.plot import style, thin, value_axis
from streamauc.plot.time_axis import Span

_COLUMNS = 400
# The axis begins at one of these powers of ten, and ends with room above the alarm.
_FLOORS = (-6, -2)
_CEILING = 0.7
_WORDS = {"up": "for a move up", "down": "for a move down"}


def draw_evidence(ax: Axes, evidence: Evidence, *, pane_seconds: int, zone: tzinfo = UTC) -> Axes:
    """Draw how much of the evidence for an alarm there was after each pane; return the axes.

    Each pane is at its middle. The y axis is logarithmic, with the alarm at 100 %; what is above
    it leaves the panel, and less than its lower end is drawn there.
    """
    moments = (evidence.panes.astype(np.float64) + 0.5) * pane_seconds
    sides = {"up": evidence.up, "down": evidence.down}
    floor = _floor(sides)
    style.tidy(ax)
    shown = _span(evidence, pane_seconds)
    _draw_lines(ax, shown.positions(moments), sides, floor)
    _show_shares(ax, floor)
    if evidence.panes.size:
        ax.set_xlim(*shown.positions(np.array([shown.start, shown.end])))
    shown.show(ax, zone)
    if not any(np.isfinite(side).any() for side in sides.values()):
        style.note(ax, "no evidence yet" if evidence.panes.size else "no panes judged yet")
    return ax


def _span(evidence: Evidence, pane_seconds: int) -> Span:
    if not evidence.panes.size:
        return Span(math.nan, math.nan)
    first, last = int(evidence.panes[0]), int(evidence.panes[-1])
    return Span(float(first * pane_seconds), float((last + 1) * pane_seconds))


def _floor(sides: dict[str, FloatArray]) -> float:
    """Return the power of ten below all evidence, within limits."""
    logs = np.concatenate(list(sides.values())) / math.log(10)
    lowest = float(logs[np.isfinite(logs)].min(initial=0))
    return float(min(max(math.floor(lowest), _FLOORS[0]), _FLOORS[1]))


def _draw_lines(ax: Axes, x: FloatArray, sides: dict[str, FloatArray], floor: float) -> None:
    # Evidence may be exp(1000) times what an alarm needs, so the logarithms are clipped.
    powers = {name: np.clip(side / math.log(10), floor, _CEILING) for name, side in sides.items()}
    drawn = thin.visible(x, list(powers.values()), _COLUMNS)
    for direction, side in powers.items():
        ax.plot(
            x[drawn],
            10.0 ** side[drawn],
            color=style.DIRECTION_COLORS[direction],
            linewidth=1.2,
            marker="." if drawn.size == 1 else "none",
            zorder=3,
            label=_WORDS[direction],
        )
    ax.axhline(1.0, color=style.REFERENCE_COLOR, linewidth=1.0, linestyle="--", zorder=2)
    ax.annotate(
        "alarm",
        xy=(0, 1.0),
        xycoords=ax.get_yaxis_transform(),
        xytext=(3, 2),
        textcoords="offset points",
        va="bottom",
        fontsize=style.SMALL,
        zorder=4,
    )


def _show_shares(ax: Axes, floor: float) -> None:
    ax.set_yscale("log")
    ax.set_ylim(10.0**floor, 10.0**_CEILING)
    ax.yaxis.set_major_locator(LogLocator(numticks=5))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(value_axis.percent))
    ax.set_ylabel("evidence, share of\nwhat an alarm needs")
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1.01),
        borderaxespad=0,
        borderpad=0.2,
        frameon=False,
        fontsize=style.SMALL,
        ncols=2,
        handlelength=1.4,
    )
