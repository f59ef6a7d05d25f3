"""Where to write beside points, so that text hides neither lines nor other text.

Lengths are in units of square axes from 0 to 1 that are about three inches long.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamauc._check import FloatArray

_SIDES = ((1, -1), (-1, -1), (1, 1), (-1, 1))
_ASIDE = 0.035
_HEIGHTS = (0.035, 0.0, 0.085, 0.135, 0.185, 0.235)
_HALF_HEIGHT = 0.025
_LETTER = 0.013  # half the width of one
_MARKER = 0.013
# What being far from the marker costs, in hidden dots of a line.
_FAR = 40.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle around a centre."""

    x: float
    y: float
    half_width: float
    half_height: float

    def hides(self, dots: FloatArray) -> int:
        """Return how many of some dots, shape (n, 2), lie under it."""
        away = np.abs(dots - (self.x, self.y)) <= (self.half_width, self.half_height)
        return int(away.all(axis=1).sum())

    def is_free(self, others: Sequence["Box"]) -> bool:
        """Return whether it lies within the axes and shares no ground with others."""
        reach = (self.half_width, self.half_height)
        centre = (self.x, self.y)
        is_inside = all(r <= c <= 1 - r for c, r in zip(centre, reach, strict=True))
        return is_inside and not any(self._overlaps(other) for other in others)

    def _overlaps(self, other: "Box") -> bool:
        is_beside = abs(self.x - other.x) >= self.half_width + other.half_width
        return not is_beside and abs(self.y - other.y) < self.half_height + other.half_height


def samples(x: FloatArray, y: FloatArray, n_dots: int) -> FloatArray:
    """Return dots at equal steps along a line, shape (n_dots, 2)."""
    defined = np.isfinite(x + y)
    x, y = x[defined], y[defined]
    along = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))))
    steps = np.linspace(0, along[-1], n_dots)
    return np.column_stack((np.interp(steps, along, x), np.interp(steps, along, y)))


def places(texts: Sequence[str], markers: FloatArray, lines: FloatArray) -> list[Box | None]:
    """Return a box for the text of each marker, near it and hiding few of the dots `lines`.

    None where there is no room within the axes and beside other texts and markers. `markers` has
    shape (n_texts, 2), `lines` (n_dots, 2).
    """
    taken = [Box(x, y, _MARKER, _MARKER) for x, y in markers.tolist()]
    found: list[Box | None] = []
    for text, marker in zip(texts, markers.tolist(), strict=True):
        free = [box for box in _candidates(text, marker) if box.is_free(taken)]
        found.append(min(free, key=_cost(marker, lines), default=None))
        taken += [box for box in found[-1:] if box]
    return found


def _candidates(text: str, marker: Sequence[float]) -> list[Box]:
    """Return boxes on all sides of a marker; of equally good ones the first is taken."""
    x, y = marker
    width = _LETTER * len(text)
    return [
        Box(x + right * (_ASIDE + width), y + up * height, width, _HALF_HEIGHT)
        for height in _HEIGHTS
        for right, up in _SIDES
    ]


def _cost(marker: Sequence[float], lines: FloatArray) -> Callable[[Box], float]:
    return lambda box: box.hides(lines) + _FAR * abs(box.y - marker[1])
