"""What the parameters of metrics may be: one range each, whoever asks.

The ranges are wide enough for every question, and narrow enough that no metric of any events
divides by what rounds to 0 or leaves the range of float64.
"""

import math
from typing import SupportsFloat

from streamauc import _check

# A rarer class than one in a trillion has no events to speak of.
RAREST = 1e-12
# Beyond it F-beta is the recall.
LARGEST_BETA = 1e6
# A narrower region of rates is a point.
LEAST_WIDTH = 1e-9
# Beyond it one of the two mistakes does not matter.
LARGEST_SEVERITY = 1e9
# The range of weights, so that no share is finer than they are.
_LEAST_SHARE = 1e-100


def threshold(value: SupportsFloat) -> float:
    """Return a threshold, which may be infinite. Raises ValueError for ``nan``."""
    found = _check.number("threshold", value)
    if math.isnan(found):
        raise ValueError("threshold must be a number, got nan")
    return found


def prevalence(value: SupportsFloat, *, name: str = "prevalence") -> float:
    """Return a share of positives. Raises ValueError unless it is `RAREST` from 0 and from 1."""
    found = _check.fraction(name, value)
    if not RAREST <= found <= 1 - RAREST:
        raise ValueError(f"{name} must be in [{RAREST:g}, 1 - {RAREST:g}], got {found!r}")
    return found


def beta(value: SupportsFloat) -> float:
    """Return the beta of F-beta. Raises ValueError outside [0, `LARGEST_BETA`]."""
    found = _check.finite("beta", value)
    if not 0 <= found <= LARGEST_BETA:
        raise ValueError(f"beta must be in [0, {LARGEST_BETA:g}], got {found!r}")
    return found


def severity_ratio(value: SupportsFloat) -> float:
    """Return a ratio of costs. Raises ValueError unless it and its inverse are in the range."""
    found = _check.finite("severity_ratio", value)
    if not 1 / LARGEST_SEVERITY <= found <= LARGEST_SEVERITY:
        allowed = f"[{1 / LARGEST_SEVERITY:g}, {LARGEST_SEVERITY:g}]"
        raise ValueError(f"severity_ratio must be in {allowed}, got {found!r}")
    return found


def share(value: SupportsFloat) -> float:
    """Return a share of all events. Raises ValueError outside (0, 1], and next to 0."""
    found = _check.finite("share", value)
    if not 0 < found <= 1:
        raise ValueError(f"share must be in (0, 1], got {found!r}")
    if found < _LEAST_SHARE:
        raise ValueError(f"share must be at least {_LEAST_SHARE:g}, got {found!r}")
    return found


def n_groups(value: SupportsFloat) -> int:
    """Return a number of groups. Raises ValueError unless it is whole and at least 1."""
    found = _check.finite("n_groups", value)
    if found != int(found):
        raise ValueError(f"n_groups must be a whole number, got {found!r}")
    return _check.integer("n_groups", int(found), 1)


def region(kind: str, low: SupportsFloat | None, high: SupportsFloat | None) -> tuple[float, float]:
    """Return the ends of a region of rates of one kind, 0 and 1 where they are not given.

    Raises ValueError unless ``0 <= low < high <= 1``, at least `LEAST_WIDTH` apart.
    """
    start = 0.0 if low is None else _check.finite(f"min_{kind}", low)
    stop = 1.0 if high is None else _check.finite(f"max_{kind}", high)
    if not 0 <= start < 1:
        raise ValueError(f"min_{kind} must be in [0, 1), got {start!r}")
    if not start < stop <= 1:
        raise ValueError(f"max_{kind} must be in ({start!r}, 1], got {stop!r}")
    if stop - start < LEAST_WIDTH and high is None:
        raise ValueError(f"min_{kind} must be at most 1 - {LEAST_WIDTH:g}, got {start!r}")
    if stop - start < LEAST_WIDTH:
        rule = f"at least {LEAST_WIDTH:g} more than min_{kind}, {start!r}"
        raise ValueError(f"max_{kind} must be {rule}, got {stop!r}")
    return start, stop
