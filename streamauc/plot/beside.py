"""Texts in a column right of a panel, where they hide nothing, moved apart to be read."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from streamauc.plot import style
from streamauc.plot.above import spread

_GAP = 3.0  # points, between the panel and the texts
# The height of a line of text as a share of a panel about three inches high.
_HEIGHT = 0.052


def write(ax: Axes, heights: Sequence[float], texts: Sequence[str], color: str) -> None:
    """Write texts at heights of a panel from 0 to 1; nothing if there is no room for all."""
    order = np.argsort(heights, kind="stable")
    wanted = np.array(heights, dtype=np.float64)[order]
    centres = spread(wanted, np.full(wanted.shape, _HEIGHT))
    if centres is None:
        return
    for row, centre in zip(order.tolist(), centres.tolist(), strict=True):
        ax.annotate(
            texts[row],
            xy=(1, centre),
            xycoords="axes fraction",
            xytext=(_GAP, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL,
            color=color,
            annotation_clip=False,
        )
