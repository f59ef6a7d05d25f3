"""How many of the labels are known, window by window."""

from datetime import UTC, tzinfo

import numpy as np
from matplotlib.axes import Axes

from streamauc.history import History
from streamauc.plot import above, style, value_axis
from streamauc.plot.immature import draw_immature
from streamauc.plot.over_time import draw_series, show_times, span_of
from streamauc.plot.series import Series


def draw_coverage(ax: Axes, history: History, *, zone: tzinfo = UTC) -> Axes:
    """Draw the share of each window's predictions whose labels are known; return the axes.

    Each window is at its middle, and an empty one is a gap. Windows that have fewer labels than
    were asked for look as in `draw_history`, and a dashed line says how many that is.
    """
    shown = span_of(history)
    series = Series.of(history, history.coverage, shown=shown)
    style.tidy(ax)
    draw_series(ax, series, None)
    tags = draw_immature(ax, series)
    wanted = _wanted(history)
    if wanted is not None:
        ax.axhline(wanted, color=style.REFERENCE_COLOR, linewidth=1.0, linestyle="--", zorder=2)
    value_axis.show_percentages(ax)
    if wanted is not None:
        _name(ax, wanted)
    ax.set_ylabel("labels known")
    show_times(ax, history, shown, zone)
    if not np.isfinite(series.values).any():
        style.note(ax, "no events" if len(history) else "no windows")
    above.write(ax, tags)
    return ax


def _wanted(history: History) -> float | None:
    """Return the coverage that was asked for, if it was one and the same in all windows."""
    found = {window.min_coverage for window in history.windows}
    return found.pop() if len(found) == 1 and max(found) > 0 else None


def _name(ax: Axes, height: float) -> None:
    """Write beside a line what it is, on the side that has more room."""
    is_below = 2 * height > sum(ax.get_ylim())
    ax.annotate(
        f"asked for: {value_axis.percent(height)}",
        xy=(0, height),
        xycoords=ax.get_yaxis_transform(),
        xytext=(3, -2 if is_below else 2),
        textcoords="offset points",
        va="top" if is_below else "bottom",
        fontsize=style.SMALL,
        zorder=4,
    )
