"""Axes of log-odds, on which scores near 0 and near 1 are told apart."""

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from streamauc._check import FloatArray
from streamauc._special import logit

# What is shown where nothing says what to show.
EVEN = (-7.0, 7.0)
# No float lies between 1 and these log-odds.
LAST = 36.7
# Into so many parts an axis is divided, each with room for one text at most.
_ROOMS = 8
_DECIMALS = 4  # digits that a tick near 0 or 1 is written out with
_LAST_POWER = 15


def logits(scores: FloatArray) -> FloatArray:
    """Return log-odds of scores in [0, 1]; those of 0 and 1 are infinite."""
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log(scores) - np.log1p(-np.minimum(scores, 1.0))
    return found


def scores_at(positions: FloatArray) -> FloatArray:
    """Return the scores of log-odds, the inverse of `logits`."""
    odds = np.exp(-np.abs(positions))
    found: FloatArray = np.where(positions < 0, odds, 1.0) / (1 + odds)
    return found


def show_logits(axis: Axis, start: float, end: float) -> None:
    """Label an axis of log-odds, from `start` to `end`, with few and round shares."""
    ticks = _ticks(start, end)
    axis.set_major_locator(FixedLocator([share for share, _ in ticks]))
    axis.set_major_formatter(FixedFormatter([text for _, text in ticks]))
    axis.set_minor_locator(NullLocator())


def _ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Return round shares and how they are written, the roundest first, as many as have room."""
    apart = (end - start) / _ROOMS
    found: list[tuple[float, str]] = []
    places: list[float] = []
    for share, text in _ROUND:
        place = logit(share)
        if start <= place <= end and all(abs(place - other) >= apart for other in places):
            places.append(place)
            found.append((share, text))
    return sorted(found)


def _near_ends(digit: int) -> list[tuple[float, str]]:
    """Return ``digit * 10 ** -k`` and its complement for each k, from the middle outwards."""
    shares: list[tuple[float, str]] = []
    for k in range(1, _LAST_POWER + 1):
        tiny, text = digit / 10.0**k, f"{digit}e-{k}"
        is_short = k <= _DECIMALS
        shares.append((tiny, f"{tiny:.{k}f}" if is_short else text))
        shares.append((1 - tiny, f"{1 - tiny:.{k}f}" if is_short else f"1-{text}"))
    return shares


_ROUND = (
    (0.5, "0.5"),
    *(tick for digit in (1, 3, 2) for tick in _near_ends(digit)),
    *_near_ends(5)[2:],  # but the middle, which is there
)
