"""The legend of a panel: above it, where it hides nothing."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from streamauc.plot import above, style

_GAP = 2.5  # points
_SYMBOL = 36.0  # points, the width of one with the space around it


def write(ax: Axes, height: float = 0.0, *, is_row: bool = False) -> None:
    """Name what is drawn, if there is anything to name, `height` points above the panel.

    One below the other, or in a row if they are asked to and fit. What things are to be compared
    with comes last.
    """
    named = list(zip(*ax.get_legend_handles_labels(), strict=True))
    if not named:
        return
    named.sort(key=lambda pair: _is_reference(pair[0]))
    legend = ax.legend(
        *zip(*named, strict=True),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=above.offset(ax, ax.transAxes, height + _GAP),
        borderaxespad=0,
        frameon=False,
        fontsize=style.SMALL,
        labelspacing=0.25,
        borderpad=0.2,
        ncols=len(named) if is_row and _fits(ax, [text for _, text in named]) else 1,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a name may hold two dollar signs


def _fits(ax: Axes, texts: Sequence[str]) -> bool:
    return sum(_SYMBOL + above.text_width(text) for text in texts) <= above.panel_width(ax)


def _is_reference(drawn: object) -> bool:
    return isinstance(drawn, Line2D) and drawn.get_color() == style.REFERENCE_COLOR
