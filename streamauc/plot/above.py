"""Tags in a row above a panel, where they hide nothing, moved apart until all can be read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.transforms import ScaledTranslation, Transform

from streamauc._check import FloatArray
from streamauc.plot import style

_GAP = 6.0  # points, between the panel and the row, with room for markers on the panel's edge
_LEAD = 12.0  # points more, where lines lead to the texts
_MARKER = 4.0  # points, by which markers rise above the panel's edge
_APART = 6.0  # points, between neighbours
_LINE = 11.5  # points, from one line of text to the next
# So far a text may be moved, a share of the panel, before a shorter one is tried.
_FAR = 0.2
# Share of a figure's width that a layout engine leaves to panels beside their labels.
_LAID_OUT = 0.86


@dataclass(frozen=True, slots=True)
class Tag:
    """What to write above the span [low, high] of the x axis: `texts`, each shorter than the last.

    Tags that are not needed are left out, all of them, where there is no room for all.
    """

    low: float
    high: float
    texts: tuple[str, ...]
    is_needed: bool = True

    def text(self, brevity: int) -> str:
        """Return the text for a degree of shortness, 0 the longest."""
        return self.texts[min(brevity, len(self.texts) - 1)]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A text and its centre on the x axis; lengths are shares of the panel's width."""

    text: str
    centre: float
    nearest: float
    move: float
    is_led: bool


def write(ax: Axes, tags: Sequence[Tag]) -> float:
    """Write tags above a panel whose limits are set; return the height they take, in points.

    None of them overlap. A text that had to be moved away from its span has a line to it. Where
    there is no room for the shortest texts nothing is written.
    """
    placed = _arranged(ax, tags) or _arranged(ax, [tag for tag in tags if tag.is_needed])
    gap = _GAP + _LEAD * any(one.is_led for one in placed)
    for one in placed:
        _write(ax, one, gap)
    return gap + _LINE * _n_lines([one.text for one in placed])


def room(texts: Sequence[str]) -> float:
    """Return the height that texts take at most, in points; 0 if there are none."""
    return _GAP + _LEAD + _LINE * _n_lines(texts) if texts else 0.0


def spread(wanted: FloatArray, widths: FloatArray) -> FloatArray | None:
    """Return centres near the `wanted` ones, rising, at which labels in [0, 1] do not overlap.

    None if they are too wide together. Shape (n_labels,) each. Pushing labels only to the right
    gives one arrangement and only to the left another; their mean keeps distances, too.

    >>> spread(np.array([0.5, 0.5, 0.9]), np.array([0.2, 0.2, 0.1]))
    array([0.4, 0.6, 0.9])
    """
    if not wanted.size:
        return wanted
    offsets = np.concatenate(([0.0], np.cumsum(widths[:-1] + widths[1:]) / 2))
    lowest, highest = widths[0] / 2, 1 - widths[-1] / 2 - offsets[-1]
    if lowest > highest:
        return None
    starts = np.clip(wanted - offsets, lowest, highest)
    rightwards = np.maximum.accumulate(starts)
    leftwards = np.minimum.accumulate(starts[::-1])[::-1]
    centres: FloatArray = (rightwards + leftwards) / 2 + offsets
    return centres


def offset(ax: Axes, base: Transform, points: float) -> Transform:
    """Return a transform that moves what it places upwards."""
    return base + ScaledTranslation(0, points / 72, _figure(ax).dpi_scale_trans)


def _n_lines(texts: Sequence[str]) -> int:
    return max((1 + text.count("\n") for text in texts), default=0)


def _arranged(ax: Axes, tags: Sequence[Tag]) -> list[_Placed]:
    """Return the longest texts that stay near their spans, else the shortest if they fit."""
    in_order = sorted(tags, key=lambda tag: tag.low + tag.high)
    n_texts = max((len(tag.texts) for tag in tags), default=0)
    found: list[_Placed] = []
    for brevity in range(n_texts):
        found = _placed(ax, in_order, [tag.text(brevity) for tag in in_order])
        if found and max(one.move for one in found) <= _FAR:
            break
    return found


def _placed(ax: Axes, tags: Sequence[Tag], texts: Sequence[str]) -> list[_Placed]:
    """Return where the texts of tags go, none if they do not fit."""
    ends = _shares(ax, np.array([(tag.low, tag.high) for tag in tags]))
    widths = np.array([text_width(text) for text in texts]) / panel_width(ax)
    centres = spread(ends.mean(axis=1), widths + _APART / panel_width(ax))
    if centres is None:
        return []
    nearest = np.clip(centres, ends[:, 0], ends[:, 1])
    moves = np.abs(centres - nearest)
    # Above a span a text may stand anywhere; a single moment is sought below its middle.
    is_led = moves > np.where(ends[:, 0] < ends[:, 1], 0.5, 0.1) * widths
    scaled = _places(ax, np.stack((centres, nearest)))
    rows = zip(texts, *scaled.tolist(), moves.tolist(), is_led.tolist(), strict=True)
    return [_Placed(*row) for row in rows]


def _shares(ax: Axes, places: FloatArray) -> FloatArray:
    """Return how far from the left end of a panel places on its x axis are."""
    left, right, *along = _scaled(ax.xaxis.get_transform(), ax.get_xlim(), places)
    shares: FloatArray = (np.array(along).reshape(places.shape) - left) / (right - left)
    return shares


def _places(ax: Axes, shares: FloatArray) -> FloatArray:
    """Return the inverse of `_shares`."""
    scale = ax.xaxis.get_transform()
    left, right = _scaled(scale, ax.get_xlim(), np.empty(0)).tolist()
    found = _scaled(scale.inverted(), (), left + shares * (right - left))
    reached: FloatArray = found.reshape(shares.shape)
    return reached


def _scaled(scale: Transform, ends: Sequence[float], places: FloatArray) -> FloatArray:
    """Return all of them in one row, as an axis that need not be even places them."""
    found: FloatArray = scale.transform(np.concatenate((ends, places.ravel())))
    return found


def panel_width(ax: Axes) -> float:
    """Return the width of a panel in points, as far as a layout still to come can be foreseen."""
    figure = _figure(ax)
    share = ax.get_position().width
    if figure.get_layout_engine() is not None:
        share *= _LAID_OUT / (figure.subplotpars.right - figure.subplotpars.left)
    return float(share * figure.get_figwidth() * 72)


def _figure(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax must be in a figure, got axes that were removed from theirs")
    return figure


def text_width(text: str) -> float:
    """Return the width of a text in points; dollar signs begin no formulas."""
    plain = text.replace("$", r"\$")
    lines = [TextPath((0, 0), line, size=style.SMALL) for line in plain.split("\n")]
    return max(float(line.get_extents().x1) for line in lines)


def _write(ax: Axes, one: _Placed, gap: float) -> None:
    place = ax.get_xaxis_transform()
    lead = {"arrowstyle": "-", "color": style.REFERENCE_COLOR, "linewidth": 0.6, "relpos": (0.5, 0)}
    ax.annotate(
        one.text,
        xy=(one.nearest, 1),
        xycoords=offset(ax, place, _MARKER),
        xytext=(one.centre, 1),
        textcoords=offset(ax, place, gap),
        ha="center",
        va="bottom",
        fontsize=style.SMALL,
        linespacing=1.0,
        annotation_clip=False,
        arrowprops=lead if one.is_led else None,
        zorder=5,
    )
