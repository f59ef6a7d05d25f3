"""How every panel looks: colours that colour-blind people can tell apart, and a quiet frame."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike

# Okabe & Ito 2008, without the yellow, which is too light for a line, and the black of the text.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
POINT_COLOR = COLORS[1]
# Of curves that share a panel, in turn; none has the colour of their operating points.
CURVE_COLORS = (COLORS[0], *COLORS[2:])
CLASS_COLORS = {"positives": COLORS[1], "negatives": COLORS[0]}
REFERENCE_COLOR = "#767676"
FAINT_COLOR = "#A0A0A0"
# Of changes of the class ratio; the pictures also tell them apart by ▲ and ▼.
DIRECTION_COLORS = {"up": COLORS[1], "down": COLORS[2]}
SIGNS = {"up": "^", "down": "v"}  # as markers
_SPAN_ZORDER = 0.4  # below the grid, which lies at 0.5
_GRID_COLOR = "#DDDDDD"
SMALL = 9.0  # points; 9 pixels high where a figure 8 inches wide is shown 600 pixels wide

_MOST_DIGITS = 12


def tidy(ax: Axes) -> None:
    """Leave of the frame what is read off: two sides and a thin grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color=_GRID_COLOR, linewidth=0.6)
    ax.set_axisbelow(True)


def shade(ax: Axes, spans: Sequence[tuple[float, float]], color: str, alpha: float) -> None:
    """Colour spans of the x axis over the height of a panel, behind all else."""
    corners = [[(low, 0), (low, 1), (high, 1), (high, 0)] for low, high in spans]
    spread = PolyCollection(
        corners,
        transform=ax.get_xaxis_transform(),
        facecolor=color,
        alpha=alpha,
        linewidth=0,
        zorder=_SPAN_ZORDER,
    )
    ax.add_collection(spread, autolim=False)


def note(ax: Axes, text: str) -> None:
    """Say in the middle of a panel why it shows nothing."""
    ax.text(
        0.5,
        0.5,
        text,
        transform=ax.transAxes,
        ha="center",
        va="center",
        fontsize=SMALL,
        color=REFERENCE_COLOR,
        bbox={"facecolor": "white", "edgecolor": "none"},
        zorder=6,
    )


def decimals(value: float, digits: int = 3) -> str:
    """Return a number with so many decimals, or more where it would be taken for 0 or 1.

    >>> decimals(0.99995), decimals(0.0004), decimals(0.5), decimals(1.0)
    ('0.99995', '0.0004', '0.500', '1.000')
    """
    text = f"{value:.{digits}f}"
    while digits < _MOST_DIGITS and float(text) in (0, 1) and float(text) != value:
        digits += 1
        text = f"{value:.{digits}f}"
    return text


def total(count: float) -> str:
    """Return a number of events, or a sum of weights without digits that nobody reads.

    >>> total(1234567), total(2.5)
    ('1,234,567', '2.5')
    """
    return f"{count:,.0f}" if count >= 100 else f"{count:.4g}"


def points(ax: Axes, x: ArrayLike, y: ArrayLike, *, label: str) -> None:
    """Mark points that somebody chose, also where they are on the frame."""
    ax.plot(
        x,
        y,
        linestyle="none",
        marker="o",
        markersize=6,
        markeredgecolor="white",
        color=POINT_COLOR,
        clip_on=False,
        zorder=4,
        label=label,
    )
