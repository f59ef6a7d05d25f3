"""Operating thresholds on a curve: a marker each, and labels that keep clear of each other."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from streamauc._check import FloatArray
from streamauc.counts import ThresholdCounts
from streamauc.metrics.operating import confusion_at
from streamauc.plot import labels, style
from streamauc.plot.labels import Box

_LEGEND_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A row of the counts, and the thresholds that it stands for."""

    row: int
    label: str


def operating_points(
    counts: ThresholdCounts, thresholds: Sequence[float]
) -> tuple[OperatingPoint, ...]:
    """Return where on the curves the thresholds are, from the highest down. O(n log n).

    Thresholds at the same point share one. A threshold that lies inside a bin is at the bin's
    edge and has a ``≈`` before it. Raises ValueError for ``nan``.
    """
    found: dict[int, list[str]] = {}
    for threshold in sorted(set(thresholds), reverse=True):
        point = confusion_at(counts, threshold)
        row = int(np.searchsorted(-counts.thresholds, -point.threshold, side="right")) - 1
        found.setdefault(max(row, 0), []).append(f"{'' if point.exact else '≈'}{threshold:g}")
    return tuple(OperatingPoint(row, _joined(texts)) for row, texts in sorted(found.items()))


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(texts) if len(texts) < 4 else f"{texts[0]} to {texts[-1]}"


def draw_points(
    ax: Axes, points: Sequence[OperatingPoint], x: FloatArray, y: FloatArray, lines: FloatArray
) -> None:
    """Mark points of the curve with coordinates `x` and `y`, and write their thresholds there.

    The text keeps clear of what is drawn as `lines`, dots of shape (n_dots, 2), and is left out
    where there is no room at all. Points where `x` or `y` is undefined are named in the
    legend instead.
    """
    if not points:
        return
    shown = [point for point in points if np.isfinite(x[point.row] + y[point.row])]
    rows = [point.row for point in shown]
    markers = np.column_stack((x[rows], y[rows]))
    text = _legend_text(points, shown)
    is_told = any(line.get_label() == text for line in ax.lines)  # of another curve
    style.points(ax, *markers.T, label="" if is_told else text)
    texts = [point.label for point in shown]
    boxes = labels.places(texts, markers, lines)
    for text, marker, box in zip(texts, markers.tolist(), boxes, strict=True):
        if box:
            _write(ax, text, marker, box)


def _legend_text(points: Sequence[OperatingPoint], shown: Sequence[OperatingPoint]) -> str:
    lines = ["score threshold"]
    if any("≈" in point.label for point in shown):
        lines[0] += " (≈ at the bin edge below)"
    unseen = [point.label for point in points if point not in shown]
    if unseen:
        lines.append(textwrap.fill(f"nothing flagged at {', '.join(unseen)}", _LEGEND_COLUMNS))
    return "\n".join(lines)


def _write(ax: Axes, text: str, marker: Sequence[float], box: Box) -> None:
    x, y = marker
    ax.annotate(
        text,
        xy=(x, y),
        xytext=(box.x - box.half_width if box.x > x else box.x + box.half_width, box.y),
        ha="left" if box.x > x else "right",
        va="center",
        fontsize=style.SMALL,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4},
        arrowprops={"arrowstyle": "-", "color": style.REFERENCE_COLOR, "linewidth": 0.6},
        zorder=5,
    )
