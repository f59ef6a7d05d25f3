"""How every panel looks: colours that colour-blind people can tell apart, and a quiet frame."""

from matplotlib.axes import Axes

# Okabe & Ito 2008, without the yellow, which is too light for a line, and the black of the text.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
POINT_COLOR = COLORS[1]
REFERENCE_COLOR = "#767676"
_GRID_COLOR = "#DDDDDD"
SMALL = 9.0  # points; 9 pixels high where a figure 8 inches wide is shown 600 pixels wide

_REASONS = {"empty": "no events"}


def tidy(ax: Axes) -> None:
    """Leave of the frame what is read off: two sides and a thin grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color=_GRID_COLOR, linewidth=0.6)
    ax.set_axisbelow(True)


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
    )


def spelled(reason: str) -> str:
    """Return a reason of the catalogue in words."""
    return _REASONS.get(reason, reason.replace("_", " "))
