"""The unit square in which rates are drawn against each other."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from streamauc import _html
from streamauc._check import FloatArray
from streamauc.plot import style
from streamauc.plot.labels import samples

# Up to so many points of a curve each is marked: between them there is nothing to choose.
MOST_MARKS = 20
# How many dots stand for a line where labels look for room; a fainter one may rather be hidden.
_DOTS = {"-": 600, "--": 60, "-.": 200, ":": 0, "None": 0}


def frame(ax: Axes, x_label: str, y_label: str) -> None:
    """Show both axes from 0 to 1, and let curves take their colours in turn."""
    style.tidy(ax)
    if not ax.lines:
        ax.set_prop_cycle(color=style.CURVE_COLORS)
    ax.set_box_aspect(1)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)


def curve(
    ax: Axes,
    x: FloatArray,
    y: FloatArray,
    label: str,
    *,
    n_full: int,
    is_stepped: bool = False,
) -> Line2D:
    """Draw the chosen points of a curve that has `n_full` of them; return the line."""
    (line,) = ax.plot(
        x,
        y,
        linewidth=1.6,
        drawstyle="steps-pre" if is_stepped else "default",
        marker="." if n_full <= MOST_MARKS else "none",
        clip_on=False,
        zorder=3,
        label=label,
    )
    return line


def undefined(ax: Axes, reason: str, label: str | None) -> None:
    """Say why there is no curve: in the panel, or in the legend beside those of others."""
    if label is None:
        style.note(ax, f"undefined: {_html.spelled(reason)}")
        return
    text = f"{label}: undefined, {_html.spelled(reason)}"
    ax.plot([], [], linestyle="none", color=style.REFERENCE_COLOR, label=text)


def reference(
    ax: Axes, x: tuple[float, ...], y: tuple[float, ...], label: str, *, dashes: str = "--"
) -> None:
    """Draw a grey line to compare curves with, once however many curves there are."""
    if any(line.get_label() == label for line in ax.lines):
        return
    color = style.REFERENCE_COLOR
    ax.plot(x, y, color=color, linewidth=1.0, linestyle=dashes, zorder=2, label=label)


def dots(ax: Axes) -> FloatArray:
    """Return dots along all that is drawn, shape (n_dots, 2), for labels to keep clear of."""
    found = [_dots(line) for line in ax.lines]
    return np.concatenate([np.empty((0, 2)), *found])


def _dots(line: Line2D) -> FloatArray:
    n_dots = _DOTS[str(line.get_linestyle())]
    x, y = np.asarray(line.get_xdata(), np.float64), np.asarray(line.get_ydata(), np.float64)
    if not n_dots or not x.size:
        return np.empty((0, 2))
    if line.get_drawstyle() == "steps-pre":
        x, y = x.repeat(2)[:-1], y.repeat(2)[1:]
    return samples(x, y, n_dots)
