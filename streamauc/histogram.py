"""Score histograms: how many events of each class fall in each bin. They add."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check, codec, storage
from streamauc._check import FloatArray, IntArray
from streamauc.keys import KeyCoder
from streamauc.scale import Scale
from streamauc.storage import LARGEST_WEIGHT, SMALLEST_WEIGHT, Storage, WideCounts

# A weighted difference this small beside its terms is rounding.
_ROUNDING = 1e-9


class ScoreHistogram:
    """Counts of events by score bin and class; immutable.

    >>> h = ScoreHistogram.from_scores([0, 1, 1], [0.1, 0.1, 0.9], scale=Scale.exact())
    >>> h.counts
    array([[1, 0],
           [1, 1]])
    >>> (h + h).totals
    array([2, 4])
    """

    __slots__ = ("_storage", "_wide", "n_classes", "scale")

    def __init__(self, scale: Scale, stored: Storage, n_classes: int = 2) -> None:
        self.scale = scale
        self.n_classes = n_classes
        self._storage = stored
        self._wide = stored if isinstance(stored, WideCounts) else None

    @classmethod
    def empty(cls, scale: Scale, n_classes: int = 2) -> Self:
        """Return the histogram of no events."""
        bins = np.empty(0, dtype=np.int64)
        return cls(scale, WideCounts(bins, np.zeros((n_classes, 0), dtype=np.int64)), n_classes)

    @classmethod
    def from_scores(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        scale: Scale,
        weights: ArrayLike | None = None,
        n_classes: int = 2,
    ) -> Self:
        """Return the histogram of a batch. O(n_samples), on the exact scale O(n log n).

        `y_true`, `y_score` and `weights` have shape (n_samples,). Labels are bool or integers
        from 0 to ``n_classes - 1``; scores are finite and within the scale; weights are finite
        and not negative. An event of weight 0 is as if it were absent. Raises ValueError or
        TypeError otherwise.
        """
        classes = check_classes(y_true, n_classes)
        scores = scale.check(y_score)
        factors = None if weights is None else check_weights(weights)
        _check.same_length(y_true=classes, y_score=scores, weights=factors)
        return cls(scale, count_events(scale, n_classes, classes, scores, factors), n_classes)

    @classmethod
    def merge(cls, histograms: Iterable["ScoreHistogram"]) -> Self:
        """Return the sum of one histogram or more. O(total number of bins).

        Different `bits` are brought to the smaller, different thresholds to the common ones.
        Raises ValueError for scales of different kinds and for different numbers of classes.
        """
        parts = list(histograms)
        if not parts:
            raise ValueError("histograms must hold at least one histogram, got none")
        scale, n_classes = _common_shape(parts)
        stored = storage.merge([part._on(scale) for part in parts], n_classes)
        return cls(scale, stored, n_classes)

    @property
    def stored(self) -> Storage:
        """The counts in the form in which they are kept."""
        return self._storage

    @property
    def wide(self) -> WideCounts:
        """The counts by bin and class, worked out on first use. O(n_bins)."""
        if self._wide is None:
            self._wide = storage.widen(self._storage, self.n_classes)
        return self._wide

    @property
    def bins(self) -> IntArray:
        """Bins that hold events, strictly increasing, int64 of shape (n_bins,)."""
        return self.wide.bins

    @property
    def counts(self) -> IntArray | FloatArray:
        """Events by class and bin, shape (n_classes, n_bins); float64 when weighted."""
        return self.wide.counts

    @property
    def squares(self) -> FloatArray | None:
        """Sums of squared weights, like `counts`; None when every weight was 1."""
        return self.wide.squares

    @property
    def totals(self) -> IntArray | FloatArray:
        """Events by class, shape (n_classes,)."""
        totals: IntArray | FloatArray = self.wide.counts.sum(axis=1)
        return totals

    @property
    def n_bins(self) -> int:
        """How many bins hold events."""
        return self.bins.size

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts."""
        return self._storage.nbytes

    def lower_edges(self) -> FloatArray:
        """Return the smallest score of each bin, ascending, shape (n_bins,)."""
        return self.scale.lower_edges(self.bins)

    def rebinned(self, scale: Scale) -> "ScoreHistogram":
        """Return the same events on a coarser scale of the same kind (see `Scale.common`)."""
        if self.scale.common(scale) != scale:
            raise ValueError(f"scale must be coarser than {self.scale}, got {scale}")
        return ScoreHistogram(scale, self._on(scale), self.n_classes)

    def pooled(self) -> "ScoreHistogram":
        """Return the same events with all classes taken as one."""
        wide, squares = self.wide, self.squares
        pooled = WideCounts(
            wide.bins,
            wide.counts.sum(axis=0, keepdims=True),
            None if squares is None else squares.sum(axis=0, keepdims=True),
        )
        return ScoreHistogram(self.scale, pooled, 1)

    def _on(self, scale: Scale) -> Storage:
        if scale is self.scale or scale == self.scale:
            return self._storage
        bins = self.scale.rebin(self.bins, scale)
        return storage.collect(bins, self.wide.counts, self.wide.squares)

    def __add__(self, other: "ScoreHistogram") -> "ScoreHistogram":
        if not isinstance(other, ScoreHistogram):
            return NotImplemented
        return ScoreHistogram.merge((self, other))

    def __sub__(self, other: "ScoreHistogram") -> "ScoreHistogram":
        """Return this histogram without the events of `other`.

        Raises ValueError if `other` holds an event that this one does not.
        """
        if not isinstance(other, ScoreHistogram):
            return NotImplemented
        scale, n_classes = _common_shape((self, other))
        mine = storage.widen(self._on(scale), n_classes)
        theirs = storage.widen(other._on(scale), n_classes)
        return ScoreHistogram(scale, _difference(mine, theirs, scale), n_classes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreHistogram):
            return NotImplemented
        return (
            self.scale == other.scale
            and np.array_equal(self.bins, other.bins)
            and np.array_equal(self.counts, other.counts)
            and (self.squares is None) == (other.squares is None)
            and np.array_equal(_or_empty(self.squares), _or_empty(other.squares))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        totals = ", ".join(f"{total:g}" for total in self.totals.tolist())
        return f"ScoreHistogram({self.scale}, n_bins={self.n_bins}, totals=({totals}))"

    def __reduce__(self) -> tuple[Callable[[bytes], "ScoreHistogram"], tuple[bytes]]:
        return ScoreHistogram.from_bytes, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """Return the histogram in the format that `codec` describes. O(n_bins)."""
        return codec.encode_histogram(self.scale, self.wide)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the histogram that `to_bytes` wrote. Raises ValueError for other bytes."""
        scale, counts = codec.decode_histogram(data)
        return cls(scale, counts, counts.counts.shape[0])


def count_events(
    scale: Scale,
    n_classes: int,
    classes: IntArray,
    scores: FloatArray,
    weights: FloatArray | None = None,
) -> Storage:
    """Return the counts of checked events. O(n), on the exact scale O(n log n)."""
    if weights is None and scale.n_bins is not None:
        return KeyCoder(scale, n_classes).count_or_list(classes, scores)
    return _count_wide(scale, n_classes, classes, scores, weights)


def _count_packed(places: IntArray, classes: IntArray, n_classes: int) -> WideCounts | None:
    """Return the counts of events by bin and class, None if both do not fit in 64 bits together.

    To sort one number for each event takes a fifth of the time of sorting their positions.
    """
    if not places.size:
        return None
    low, high = int(places.min()), int(places.max())
    n_bits = (n_classes - 1).bit_length()
    if (high - low).bit_length() + n_bits > 63:
        return None
    keys = places - low
    keys <<= n_bits
    keys |= classes
    keys.sort()
    starts = storage.run_starts(keys)
    counts = np.diff(starts, append=keys.size)
    keys = keys[starts]
    found = keys & ((1 << n_bits) - 1)
    keys >>= n_bits
    firsts = storage.run_starts(keys)
    table = np.zeros((n_classes, firsts.size), dtype=np.int64)
    row = np.zeros(keys.size, dtype=np.int64)
    row[firsts[1:]] = 1
    table[found, np.cumsum(row, out=row)] = counts
    bins = keys[firsts]
    bins += low
    return WideCounts(bins, table)


def _count_wide(
    scale: Scale,
    n_classes: int,
    classes: IntArray,
    scores: FloatArray,
    weights: FloatArray | None,
) -> WideCounts:
    places = scale.bins_of(scores)
    if weights is None and (packed := _count_packed(places, classes, n_classes)) is not None:
        return packed
    bins, row = np.unique(places, return_inverse=True)
    shape = (n_classes, bins.size)
    cell = classes * bins.size + row
    size = n_classes * bins.size
    if weights is None:
        return WideCounts(bins, np.bincount(cell, minlength=size).reshape(shape))
    counts = np.bincount(cell, weights, minlength=size).reshape(shape)
    squares = np.bincount(cell, weights * weights, minlength=size).astype(np.float64)
    return storage.drop_empty(WideCounts(bins, counts, squares.reshape(shape)))


def check_classes(y_true: ArrayLike, n_classes: int) -> IntArray:
    """Return labels as int64 classes, shape (n_samples,), or raise for the first bad one."""
    if n_classes == 2:
        classes, _ = _check.label_column(y_true, None)
        allowed = "bool or 0/1"
    else:
        numbers = _check.float_column("y_true", y_true)
        whole = (numbers >= 0) & (numbers < n_classes) & (numbers == np.floor(numbers))
        classes = np.where(whole, numbers, -1).astype(np.int64)
        allowed = f"an integer from 0 to {n_classes - 1}"
    if classes.size and classes.min() < 0:
        index = int(np.argmin(classes))
        got = _check.plain(np.asarray(y_true)[index])
        raise ValueError(f"y_true must be {allowed}, got {got!r} at index {index}")
    return classes


def check_weights(weights: ArrayLike) -> FloatArray:
    """Return weights as float64, shape (n_samples,), or raise for the first bad one."""
    factors = _check.float_column("weights", weights)
    good = storage.weights_fit(factors)
    if not good.all():
        index = int(np.argmin(good))
        raise ValueError(f"{weight_fault('weights', float(factors[index]))} at index {index}")
    return factors


def weight_fault(name: str, weight: float) -> str:
    """Return the message for a weight that does not fit (see `storage.weights_fit`)."""
    allowed = f"0, or from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
    if not 0 < weight < math.inf:
        allowed = "finite and not negative"
    return f"{name} must be {allowed}, got {weight!r}"


def _common_shape(parts: Sequence[ScoreHistogram]) -> tuple[Scale, int]:
    scale, n_classes = parts[0].scale, parts[0].n_classes
    for part in parts[1:]:
        if part.n_classes != n_classes:
            raise ValueError(
                "cannot merge histograms of different numbers of classes:"
                f" {n_classes} and {part.n_classes}"
            )
        if part.scale is not scale:
            scale = scale.common(part.scale)
    return scale, n_classes


def _difference(mine: WideCounts, theirs: WideCounts, scale: Scale) -> WideCounts:
    minus = None if theirs.squares is None else -theirs.squares
    negated = WideCounts(theirs.bins, -theirs.counts, minus)
    if minus is None and mine.squares is not None:
        negated = WideCounts(theirs.bins, -theirs.counts, -theirs.counts.astype(np.float64))
    left = storage.merge_wide((mine, negated))
    if left.squares is not None:
        left = _without_rounding(left, left.squares, storage.merge_wide((mine, theirs)))
    if (left.counts < 0).any():
        row, column = np.argwhere(left.counts < 0)[0]
        edge = float(scale.lower_edges(left.bins[column : column + 1])[0])
        raise ValueError(
            "cannot subtract events that the histogram does not hold: class"
            f" {row} at scores from {edge!r} would have {left.counts[row, column]}"
        )
    return storage.drop_empty(left)


def _without_rounding(left: WideCounts, squares: FloatArray, size: WideCounts) -> WideCounts:
    """Return weighted differences with what is only rounding set to zero."""
    counts = np.where(np.abs(left.counts) <= _ROUNDING * size.counts, 0.0, left.counts)
    return WideCounts(left.bins, counts, np.where(counts == 0, 0.0, np.maximum(squares, 0.0)))


def _or_empty(squares: FloatArray | None) -> FloatArray:
    return np.empty((0, 0)) if squares is None else squares
