"""Scales: which integer bin a score falls in, monotonically.

Log-linear bins are read off the floating-point bits. A float64 ``x > 0`` has the bits
``exponent * 2**52 + mantissa``, so ``bits(x) >> (52 - b)`` numbers intervals that grow with
``x``: ``2**b`` of equal width an octave. Minus a base it is the bin. For example with
``b = 2`` the octave [1, 2) is cut at 1.25, 1.5 and 1.75.

Three kinds of scale differ in what ``x`` is (the odds, the magnitude, nothing) and in nothing
else. Operating thresholds are extra edges on any of them: a score's bin is moved up by the
number of thresholds at or below it, which is monotone and can be taken off again.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check
from streamauc._check import FloatArray, IntArray

_MANTISSA = 52
_BIAS = 1023
_MAGNITUDE = np.int64(2**63 - 1)  # every bit but the sign
_OCTAVES = 64  # resolved on either side of 1
_LARGEST = float(np.finfo(np.float64).max)
_LAST_BIN = int(np.float64(_LARGEST).view(np.int64))  # of the exact scale
_MAX_BITS = 12


class Scale(ABC):
    """A monotone map from scores to integer bins; immutable and hashable.

    Made by `Scale.probability`, `Scale.real` or `Scale.exact`.

    >>> scale = Scale.probability(bits=7, thresholds=(0.7,))
    >>> scale.bin(0.7) - scale.bin(0.6999999999)
    1
    >>> scale.lower_edges([scale.bin(0.7)])
    array([0.7])
    """

    kind: str
    low: float
    high: float
    bits: int
    thresholds: tuple[float, ...]

    @staticmethod
    def probability(*, bits: int = 7, thresholds: Sequence[float] = ()) -> "Scale":
        """Return the scale of scores in [0, 1]: ``2**bits`` bins an octave of the odds."""
        return _ProbabilityScale(bits, thresholds)

    @staticmethod
    def real(*, bits: int = 7, thresholds: Sequence[float] = ()) -> "Scale":
        """Return the scale of finite scores of either sign: ``2**bits`` bins an octave."""
        return _RealScale(bits, thresholds)

    @staticmethod
    def exact() -> "Scale":
        """Return the scale that gives every distinct float64 its own bin."""
        return _ExactScale()

    @abstractmethod
    def __init__(self, bits: int, thresholds: Sequence[float]) -> None: ...

    @property
    def is_exact(self) -> bool:
        """Whether scores that share a bin are equal."""
        return self.n_bins is None

    @property
    @abstractmethod
    def n_bins(self) -> int | None:
        """Bins run from 0 to ``n_bins - 1``; None if there is no such bound."""

    @abstractmethod
    def _bin(self, score: float) -> int:
        """Return the bin of a valid score, thresholds not counted."""

    @abstractmethod
    def _bins(self, scores: FloatArray) -> IntArray:
        """Return the bins of valid scores, thresholds not counted, in an array of its own."""

    @abstractmethod
    def _edges(self, bins: IntArray) -> FloatArray:
        """Return the lower edges of bins of `_bins`; above the last bin ``inf``."""

    def with_thresholds(self, thresholds: Sequence[float]) -> "Scale":
        """Return this scale with other operating thresholds."""
        return type(self)(self.bits, thresholds)

    def bin(self, score: float) -> int:
        """Return the bin of one score. O(log n_thresholds).

        Raises ValueError if the score is not finite or outside the scale.
        """
        value = score if type(score) is float else _check.number("score", score)
        if not self.low <= value <= self.high:
            raise ValueError(self.fault("score", value))
        found = self._bin(value)
        return found + sum(value >= threshold for threshold in self.thresholds)

    def bins(self, y_score: ArrayLike) -> IntArray:
        """Return the bin of each score, shape (n_samples,), int64. O(n_samples).

        Raises ValueError if a score is not finite or outside the scale.
        """
        scores = self.check(y_score)
        return self.bins_of(scores)

    def bins_of(self, scores: FloatArray) -> IntArray:
        """Return the bins of float64 scores known to lie within the scale."""
        found = self._bins(scores)
        for threshold in self.thresholds:
            found += scores >= threshold
        return found

    def resolved_bins(self, scores: FloatArray, *, out: IntArray) -> bool:  # noqa: ARG002  (a hook)
        """Write bins to `out` without looking at the scores; say whether they can be trusted.

        True means that every score was valid and `out` holds what `bins` returns. False means
        nothing but that `bins` has to be asked.
        """
        return False

    def check(self, y_score: ArrayLike) -> FloatArray:
        """Return `y_score` as float64, shape (n_samples,), or raise for the first bad score."""
        scores = _check.float_column("y_score", y_score)
        # `min` and `max` hand on a nan, and a nan fails every comparison.
        if scores.size and not (self.low <= scores.min() and scores.max() <= self.high):
            good = (scores >= self.low) & (scores <= self.high)
            index = int(np.argmin(good))
            raise ValueError(
                f"{self.fault('y_score', float(scores[index]))} at index {index}"
                f" ({good.size - int(good.sum())} of {good.size} values are bad)"
            )
        return scores

    def fault(self, name: str, score: float) -> str:
        """Return the message for a score that this scale refuses."""
        if not math.isfinite(score):
            return f"{name} must be finite, got {score!r}"
        return (
            f"{name} must be in [{self.low:g}, {self.high:g}] on {self}, got {score!r};"
            " Scale.real takes any finite score"
        )

    def lower_edges(self, bins: ArrayLike) -> FloatArray:
        """Return the smallest score whose bin is at least each of `bins`. O(n).

        A bin below the first has the edge of the first; above the last it is ``inf``. So
        ``score >= edge`` holds exactly when ``bin(score) >= bin``.
        """
        wanted = np.asarray(bins, dtype=np.int64)
        if not self.thresholds:
            return self._edges(wanted)
        # Scores from threshold j on have a bin of at least `first[j]`, scores below have less.
        rank = np.searchsorted(self._first_bins, wanted, side="right")
        bounds = np.concatenate(([-np.inf], self.thresholds, [np.inf]))
        return np.minimum(np.maximum(bounds[rank], self._edges(wanted - rank)), bounds[rank + 1])

    @cached_property
    def _first_bins(self) -> IntArray:
        """The bin of each operating threshold, ascending."""
        return np.array([self.bin(threshold) for threshold in self.thresholds], dtype=np.int64)

    def common(self, other: "Scale") -> "Scale":
        """Return the finest scale to which both can be brought.

        The smaller `bits` and the thresholds that both have. Raises ValueError for scales of
        different kinds.
        """
        if self.kind != other.kind:
            raise ValueError(f"cannot merge histograms of different scales: {self} and {other}")
        shared = [value for value in self.thresholds if value in other.thresholds]
        return min(self, other, key=lambda scale: scale.bits).with_thresholds(shared)

    def rebin(self, bins: IntArray, target: "Scale") -> IntArray:
        """Return bins of this scale as bins of a coarser `target` (see `common`). O(n)."""
        rank = np.searchsorted(self._first_bins, bins, side="right")
        kept = np.cumsum([0] + [value in target.thresholds for value in self.thresholds])
        coarse: IntArray = ((bins - rank) >> (self.bits - target.bits)) + kept[rank]
        return coarse

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scale):
            return NotImplemented
        return (self.kind, self.bits, self.thresholds) == (other.kind, other.bits, other.thresholds)

    def __hash__(self) -> int:
        return hash((self.kind, self.bits, self.thresholds))

    def __repr__(self) -> str:
        extra = f", thresholds={self.thresholds}" if self.thresholds else ""
        return f"{self.kind}(bits={self.bits}{extra})"


class _LogLinearScale(Scale):
    """What the two bounded scales share: bits, thresholds and a table of edges."""

    def __init__(self, bits: int, thresholds: Sequence[float]) -> None:
        self.bits = _check.integer("bits", bits, 1, _MAX_BITS)
        self._shift: int = _MANTISSA - self.bits
        # The underflow bin owns the octave below 2**-64, so that coarsening is a plain shift.
        self._underflow = (1 << self.bits) - 1
        self._base = (_BIAS - _OCTAVES - 1) << self.bits
        self._top: int = (
            2 * _OCTAVES + 1
        ) << self.bits  # the first bin beyond the resolved octaves
        self.thresholds = tuple(sorted({self._threshold(value) for value in thresholds}))

    def __reduce__(self) -> tuple[type[Scale], tuple[int, tuple[float, ...]]]:
        return type(self), (self.bits, self.thresholds)

    def _threshold(self, value: float) -> float:
        threshold = _check.finite("threshold", value)
        if not self.low < threshold <= self.high:
            raise ValueError(
                f"threshold must be in ({self.low:g}, {self.high:g}] on {self.kind},"
                f" got {threshold!r}"
            )
        return threshold

    def _octave_bin(self, x: float) -> int:
        """Return ``(bits(x) >> shift) - base`` for ``x >= 0``, clipped to the resolved octaves."""
        mantissa, exponent = math.frexp(x)  # x = mantissa * 2**exponent, mantissa in [0.5, 1)
        if exponent <= -_OCTAVES or not mantissa:
            return self._underflow
        if exponent > _OCTAVES:
            return self._top
        within = int(math.ldexp(mantissa, self.bits + 1)) - (1 << self.bits)
        return ((exponent + _OCTAVES) << self.bits) + within

    def _octave_bins(self, raw: IntArray) -> IntArray:
        """Turn the bits of ``x >= 0``, in place, into bins clipped to the resolved octaves."""
        raw >>= self._shift
        raw -= self._base
        np.clip(raw, self._underflow, self._top, out=raw)
        return raw

    def _octave_starts(self, bins: IntArray) -> FloatArray:
        """Return the smallest ``x`` of each bin from the first resolved one up to the top."""
        starts: FloatArray = ((bins + self._base) << self._shift).view(np.float64)
        return starts

    def _edges(self, bins: IntArray) -> FloatArray:
        return self._edge_table[np.clip(bins, 0, self._edge_table.size - 1)]

    @cached_property
    def _edge_table(self) -> FloatArray:
        return np.append(self._all_edges(), np.inf)

    @abstractmethod
    def _all_edges(self) -> FloatArray:
        """Return the lower edge of every bin, thresholds not counted."""


@final
class _ProbabilityScale(_LogLinearScale):
    kind = "probability"
    low, high = 0.0, 1.0

    @property
    def n_bins(self) -> int:
        return self._top + 1 + len(self.thresholds)

    def _bin(self, score: float) -> int:
        # Both roundings are monotone: a larger score never has smaller odds.
        return self._top if score == 1 else self._octave_bin(score / (1 - score))

    def _bins(self, scores: FloatArray) -> IntArray:
        odds = 1 - scores
        with np.errstate(divide="ignore"):  # a score of 1 has infinite odds: the top bin
            np.divide(scores, odds, out=odds)
        # Adding 0.0 turns -0.0, whose sign bit would make it the most negative bin, into 0.0.
        odds += 0.0
        return self._octave_bins(odds.view(np.int64))

    def resolved_bins(self, scores: FloatArray, *, out: IntArray) -> bool:
        """As described in `Scale`: False when a score is invalid, 1, or below ``2**-64``."""
        odds = out.view(np.float64)
        np.subtract(1.0, scores, out=odds)
        with np.errstate(divide="ignore", invalid="ignore"):
            np.divide(scores, odds, out=odds)
        out >>= self._shift
        out -= self._base
        # Negative odds have the sign bit set, infinite ones and nan the largest exponent.
        lowest, highest = _check.span(out)
        if lowest <= self._underflow or highest >= self._top:
            return False
        for threshold in self.thresholds:
            out += scores >= threshold
        return True

    def _all_edges(self) -> FloatArray:
        first = self._underflow + 1
        bins = np.arange(first, self._top, dtype=np.int64)
        odds = self._octave_starts(bins)
        edges = self._settle(odds / (1 + odds), bins)
        return np.concatenate((np.zeros(first), edges, [1.0]))

    def _settle(self, guess: FloatArray, bins: IntArray) -> FloatArray:
        """Move each guess to the smallest float64 whose bin is at least the wanted one."""
        while (short := self._bins(guess) < bins).any():
            guess[short] = np.nextafter(guess[short], 1)
        while (over := self._bins(below := np.nextafter(guess, 0)) >= bins).any():
            guess[over] = below[over]
        return guess


@final
class _RealScale(_LogLinearScale):
    kind = "real"
    low, high = -_LARGEST, _LARGEST

    @property
    def _centre(self) -> int:
        """Scores from zero on stand at the centre and above; a multiple of ``2**bits``."""
        return (2 * _OCTAVES + 2) << self.bits

    @property
    def n_bins(self) -> int:
        return self._centre + self._top + 1 + len(self.thresholds)

    def _bin(self, score: float) -> int:
        size = self._octave_bin(abs(score))
        if score < 0 and size > self._underflow:
            return self._centre - 1 - size
        return self._centre + size

    def _bins(self, scores: FloatArray) -> IntArray:
        raw = scores.view(np.int64) if scores.flags.c_contiguous else scores.copy().view(np.int64)
        size = self._octave_bins(raw & _MAGNITUDE)
        # All ones for the negative scores outside the bin around zero: ``~size`` is -1 - size.
        mirror = (raw >> 63) & -(size > self._underflow).astype(np.int64)
        size ^= mirror
        size += self._centre
        return size

    def _all_edges(self) -> FloatArray:
        first = self._underflow + 1
        starts = self._octave_starts(np.arange(first, self._top + 1, dtype=np.int64))
        # A negative bin ends where its magnitude begins, so its lowest score is one float
        # above the start of the next larger magnitude.
        mirrored = np.nextafter(-starts[::-1], 0)
        negative = np.concatenate(([self.low], mirrored))
        lead = np.full(self._centre - 1 - self._top, self.low)
        # Everything from the last negative bin to the underflow bin begins just above -2**-64.
        middle = np.full(2 * first, negative[-1])
        return np.concatenate((lead, negative[:-1], middle, starts))


@final
class _ExactScale(Scale):
    kind = "exact"
    low, high = -_LARGEST, _LARGEST
    bits = _MANTISSA
    thresholds = ()

    def __init__(self, bits: int = _MANTISSA, thresholds: Sequence[float] = ()) -> None:
        """Take the arguments of the other scales; every threshold is an edge here already."""

    @property
    def n_bins(self) -> None:
        return None

    def __reduce__(self) -> tuple[type[Scale], tuple[()]]:
        return type(self), ()

    def _bin(self, score: float) -> int:
        return int(self._bins(np.array([score]))[0])

    def _bins(self, scores: FloatArray) -> IntArray:
        raw = np.ascontiguousarray(scores).view(np.int64)
        size = raw & _MAGNITUDE
        # The magnitude of a negative score, negated: -0.0 meets 0.0 at 0.
        return np.where(raw < 0, -size, size)

    def _edges(self, bins: IntArray) -> FloatArray:
        inside = np.clip(bins, -_LAST_BIN, _LAST_BIN + 1)  # one above is the bits of ``inf``
        size = np.abs(inside).view(np.float64)
        return np.where(inside < 0, -size, size)

    def __repr__(self) -> str:
        return "exact()"
