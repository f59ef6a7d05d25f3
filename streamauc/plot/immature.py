"""Windows whose labels are only partly known, drawn so that nobody takes them for facts.

Outcomes known early are no fair sample, and an interval says nothing about that.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from streamauc.plot import style
from streamauc.plot.above import Tag
from streamauc.plot.series import Series, is_alone

TEXTS = ("labels incomplete", "labels\nincomplete")
_COLOR = style.REFERENCE_COLOR
_SHADE = ("#808080", 0.16)
# So many spans are named, the latest; the others look the same.
_MOST_NAMED = 3


def draw_immature(ax: Axes, series: Series) -> list[Tag]:
    """Shade immature windows and draw them in grey, dashed; return what to write above them.

    Of up to `MOST_BARS` windows they have hollow markers. Their intervals are grey bars that
    may leave the panel: with few labels they are so wide that limits which hold them would hide
    what is known.
    """
    spans = series.immature_spans
    if not spans:
        return []
    style.shade(ax, spans, *_SHADE)
    _draw_dashes(ax, series)
    _draw_bars(ax, series)
    _draw_markers(ax, series)
    if any(text.get_text() in TEXTS for text in ax.texts):
        return []  # another history in the same panel has told it
    return [Tag(low, high, TEXTS) for low, high in spans[-_MOST_NAMED:]]


def _draw_dashes(ax: Axes, series: Series) -> None:
    """Draw the line to, between and from immature windows."""
    points = np.column_stack((series.x, series.values))
    segments = np.stack((points[:-1], points[1:]), axis=1)
    is_drawn = series.is_immature[:-1] | series.is_immature[1:]
    is_drawn &= np.isfinite(segments).all(axis=(1, 2))
    lines = LineCollection(
        list(segments[is_drawn]),
        colors=_COLOR,
        linewidths=series.line_width,
        linestyles=[(0, (3, 2))],
        zorder=2.5,
    )
    ax.add_collection(lines)


def _draw_bars(ax: Axes, series: Series) -> None:
    rows = np.flatnonzero(series.is_immature & np.isfinite(series.low))
    x, low, high = series.x[rows], series.low[rows], series.high[rows]
    bars = np.stack((np.column_stack((x, low)), np.column_stack((x, high))), axis=1)
    lines = LineCollection(list(bars), colors=_COLOR, linewidths=0.8, alpha=0.6, zorder=2)
    ax.add_collection(lines, autolim=False)


def _draw_markers(ax: Axes, series: Series) -> None:
    is_marked = series.is_immature & np.isfinite(series.values)
    if not series.is_few:
        is_marked &= is_alone(series.values)
    ax.scatter(
        series.x[is_marked],
        series.values[is_marked],
        s=18,
        facecolors="white",
        edgecolors=_COLOR,
        linewidths=1.0,
        clip_on=False,
        zorder=3,
    )
