"""The forms in which a histogram's counts are kept, from smallest to most general.

With integer counts and a bounded scale, an event is one small number, its *key*:
``bin * n_classes + class``. These forms hold keys, and each is the smallest somewhere:

* `KeyList`: the key of every event, in no order. 1,000 events of a minute: 2 kB.
* `SparseCounts`: the keys that occur, ascending, each with its count.
* `DenseCounts`: a count for every key from the first that occurs to the last.
* `MixedCounts`: a dense core, and the keys of the few events in its tails.

`WideCounts` holds anything: weighted counts, and bins of the exact scale, which have no bound.

All are immutable: the arrays are never written to after construction.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamauc import _check
from streamauc._check import BoolArray, FloatArray, IntArray

Integers = NDArray[np.integer]  # narrow unsigned at rest, int64 when fresh
# Python's own share of one stored form: the object and the headers of its arrays.
_OVERHEAD = 200
# So few keys are left as they are; counting them would not make them smaller.
FEW_KEYS = 1_024


# Weights between these have squares, and sums have products, that a float64 can hold.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100
# Sums may be what is left of a difference, or of very many weights.
_SMALLEST_SUM, _LARGEST_SUM = 1e-120, 1e150


def weights_fit(weights: FloatArray) -> BoolArray:
    """Return which weights are 0 or within the two limits; ``nan`` is not."""
    found: BoolArray = (weights >= SMALLEST_WEIGHT) & (weights <= LARGEST_WEIGHT)
    found |= weights == 0
    return found


@dataclass(frozen=True, slots=True, eq=False)
class KeyList:
    """One key an event, shape (n_events,), in no order."""

    keys: Integers

    @property
    def nbytes(self) -> int:
        """Bytes held, with the object's own share."""
        return self.keys.nbytes + _OVERHEAD


@dataclass(frozen=True, slots=True, eq=False)
class SparseCounts:
    """Keys, strictly increasing, and how often each occurs; both of shape (n_keys,)."""

    keys: Integers
    counts: Integers

    @property
    def nbytes(self) -> int:
        """Bytes held, with the object's own share."""
        return self.keys.nbytes + self.counts.nbytes + _OVERHEAD


@dataclass(frozen=True, slots=True, eq=False)
class DenseCounts:
    """``counts[i]`` events have the key ``first + i``."""

    first: int
    counts: Integers

    @property
    def nbytes(self) -> int:
        """Bytes held, with the object's own share."""
        return self.counts.nbytes + _OVERHEAD


@dataclass(frozen=True, slots=True, eq=False)
class WideCounts:
    """Bins, strictly increasing, and the counts of each class in them.

    `bins` int64 (n_bins,); `counts` int64 or, when weighted, float64 (n_classes, n_bins);
    `squares`, the sums of squared weights, like `counts`, or None when every weight was 1.
    """

    bins: IntArray
    counts: IntArray | FloatArray
    squares: FloatArray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held, with the object's own share."""
        squares = 0 if self.squares is None else self.squares.nbytes
        return self.bins.nbytes + self.counts.nbytes + squares + _OVERHEAD


def read_weighted(bins: IntArray, weights: FloatArray, squares: FloatArray) -> WideCounts:
    """Return weighted counts that were written down. Raises ValueError for what none can be."""
    fits = (weights == 0) | ((weights >= _SMALLEST_SUM) & (weights <= _LARGEST_SUM))
    if not (fits.all() and np.isfinite(squares).all() and (squares >= 0).all()):
        raise ValueError(
            "data is malformed: a weighted count is negative, not finite, or beyond all weights"
        )
    return WideCounts(bins, weights, squares)


@dataclass(frozen=True, slots=True, eq=False)
class MixedCounts:
    """A dense core, where most keys occur, and the keys of the few events around it."""

    core: DenseCounts
    tails: KeyList

    @property
    def nbytes(self) -> int:
        """Bytes held, with the objects' own share."""
        return self.core.nbytes + self.tails.nbytes


Packed = KeyList | SparseCounts | DenseCounts | MixedCounts
Storage = Packed | WideCounts


class _Forms:
    """Stored counts sorted by form; a mixed one is taken apart."""

    __slots__ = ("dense", "lists", "sparse", "wide")

    def __init__(self, parts: Iterable[Storage]) -> None:
        self.lists: list[Integers] = []
        self.sparse: list[SparseCounts] = []
        self.dense: list[DenseCounts] = []
        self.wide: list[WideCounts] = []
        # One pass, the usual forms first: every poll goes through here.
        for part in parts:
            if isinstance(part, KeyList):
                self.lists.append(part.keys)
            elif isinstance(part, MixedCounts):
                self.dense.append(part.core)
                self.lists.append(part.tails.keys)
            elif isinstance(part, DenseCounts):
                self.dense.append(part)
            elif isinstance(part, SparseCounts):
                self.sparse.append(part)
            else:
                self.wide.append(part)

    @property
    def n_listed(self) -> int:
        """How many events are listed one by one."""
        return sum([keys.size for keys in self.lists])

    def spans(self) -> list[tuple[int, int]]:
        """Return the range of keys of each array and of each sparse part."""
        arrays = [(part.first, part.first + part.counts.size) for part in self.dense]
        keys = [part.keys for part in self.sparse if part.keys.size]
        return arrays + [(int(one[0]), int(one[-1]) + 1) for one in keys]


def merge(parts: Sequence[Storage], n_classes: int) -> Storage:
    """Return the sum of the parts, not compacted. O(total size)."""
    if len(parts) == 1:
        return parts[0]
    forms = _Forms(parts)
    if forms.wide:
        return merge_wide([widen(part, n_classes) for part in parts])
    if len(forms.lists) == len(parts) and not forms.dense and forms.n_listed <= FEW_KEYS:
        return KeyList(np.concatenate(forms.lists))
    return _add_up(forms)


def add_up(parts: Sequence[Packed]) -> SparseCounts | DenseCounts:
    """Return the sum of packed parts with int64 counts. O(total size)."""
    return _add_up(_Forms(parts))


def _add_up(forms: _Forms) -> SparseCounts | DenseCounts:
    events = np.concatenate(forms.lists) if forms.lists else np.empty(0, dtype=np.uint16)
    spans = forms.spans()
    widest = max([stop - start for start, stop in spans], default=0)
    if events.size:
        # As floats, which are exact up to 53 bits; wider keys are looked at as they are.
        ends = (events.min(), events.max()) if events.itemsize == 8 else _check.span(events)
        spans.append((int(ends[0]), int(ends[1]) + 1))
    if not spans:
        return DenseCounts(0, np.empty(0, dtype=np.int64))
    first, stop = min([start for start, _ in spans]), max([stop for _, stop in spans])
    n_keys = events.size + sum([part.keys.size for part in forms.sparse])
    # The widest range of keys for which an array over it is worth filling.
    if stop - first > 65_536 + 8 * n_keys + 2 * widest:
        return _sort_up(events, forms.sparse, forms.dense)
    return DenseCounts(first, _sum_dense(first, stop, events, forms.sparse, forms.dense))


def _sum_dense(
    first: int,
    stop: int,
    events: Integers,
    sparse: Sequence[SparseCounts],
    dense: Sequence[DenseCounts],
) -> IntArray:
    if events.size:
        # Keys are at least `first`, so the difference fits their own narrow type.
        counts = np.bincount(events - events.dtype.type(first), minlength=stop - first)
    else:
        counts = np.zeros(stop - first, dtype=np.int64)
    for part in dense:
        start = part.first - first
        counts[start : start + part.counts.size] += part.counts
    for one in sparse:
        counts[one.keys - one.keys.dtype.type(first)] += one.counts
    return counts


def _sort_up(
    events: Integers, sparse: Sequence[SparseCounts], dense: Sequence[DenseCounts]
) -> SparseCounts:
    sparse = [*sparse, *(_sparse(part) for part in dense)]
    keys = np.concatenate([events.astype(np.int64), *(part.keys for part in sparse)])
    counts = np.concatenate(
        [np.ones(events.size, dtype=np.int64), *(part.counts for part in sparse)]
    )
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = run_starts(keys)
    return SparseCounts(
        keys[starts].astype(np.int64), np.add.reduceat(counts[order].astype(np.int64), starts)
    )


def _where_used(counts: Integers) -> IntArray:
    """Return where counts are not zero; numpy finds true bools twice as fast as integers."""
    return np.flatnonzero(counts != 0)


def run_starts(ordered: NDArray[np.generic]) -> IntArray:
    """Return where each run of equal values begins in a non-empty sorted array."""
    return np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))


def _sparse(part: DenseCounts) -> SparseCounts:
    used = _where_used(part.counts)
    return SparseCounts(used + part.first, part.counts[used])


def negated(part: Storage) -> Storage:
    """Return counts that take others away when both are merged."""
    if isinstance(part, WideCounts):
        squares = None if part.squares is None else -part.squares
        return WideCounts(part.bins, -part.counts, squares)
    found = add_up([part])
    sparse = found if isinstance(found, SparseCounts) else _sparse(found)
    return SparseCounts(sparse.keys, -sparse.counts)


def compact(storage: Storage, narrow_keys: np.dtype[np.unsignedinteger]) -> Storage:
    """Return the same counts in the smallest form. O(size)."""
    if isinstance(storage, WideCounts | MixedCounts):
        return storage
    if isinstance(storage, KeyList):
        if storage.keys.size <= FEW_KEYS:
            return KeyList(storage.keys.astype(narrow_keys, copy=False))
        storage = add_up([storage])
    narrow = _narrowest(int(storage.counts.max(initial=0)))
    if isinstance(storage, SparseCounts):
        return SparseCounts(storage.keys.astype(narrow_keys), storage.counts.astype(narrow))
    return _compact_dense(storage, narrow, narrow_keys)


def _compact_dense(
    storage: DenseCounts, narrow: np.dtype[np.integer], narrow_keys: np.dtype[np.unsignedinteger]
) -> Packed:
    """Return the smallest of: all keys, counts of those that occur, a dense core with tails."""
    counts = storage.counts
    start, stop = _core(counts, narrow.itemsize, narrow_keys.itemsize)
    n_events = int(counts.sum())
    n_tails = n_events - int(counts[start:stop].sum())
    mixed_bytes = (stop - start) * narrow.itemsize + n_tails * narrow_keys.itemsize
    mixed_bytes += _OVERHEAD if n_tails else 0
    n_used = int(np.count_nonzero(counts))
    sparse_bytes = n_used * (narrow.itemsize + narrow_keys.itemsize)
    if n_events * narrow_keys.itemsize <= min(mixed_bytes, sparse_bytes):
        return _key_list(counts, storage.first, narrow_keys)
    # A core is added several times faster, so it may be a little larger.
    if mixed_bytes > 1.5 * sparse_bytes:
        found = _sparse(storage)
        return SparseCounts(found.keys.astype(narrow_keys), found.counts.astype(narrow))
    core = DenseCounts(storage.first + start, counts[start:stop].astype(narrow))
    if not n_tails:
        return core
    tails = counts.copy()
    tails[start:stop] = 0
    return MixedCounts(core, _key_list(tails, storage.first, narrow_keys))


def _key_list(counts: Integers, first: int, narrow_keys: np.dtype[np.unsignedinteger]) -> KeyList:
    used = _where_used(counts)
    return KeyList(np.repeat((used + first).astype(narrow_keys), counts[used]))


def _core(counts: Integers, count_bytes: int, key_bytes: int) -> tuple[int, int]:
    """Return the range [start, stop) whose array saves the most bytes against a list of keys.

    There every event saves a key, and every key, whether it occurs or not, costs a count.
    """
    used = _where_used(counts)
    if not used.size:
        return 0, 0
    # Capped, so that the sum of all stays within 64 bits; a count this large decides anyway.
    capped = np.minimum(counts.astype(np.int64), 2**32)
    gain = np.cumsum(capped * key_bytes - count_bytes)
    before = np.concatenate(([0], gain[:-1]))
    lowest = np.minimum.accumulate(before)
    last = int(np.argmax(gain - lowest))
    # With nothing left around it, it is one object instead of two.
    first, stop = int(used[0]), int(used[-1]) + 1
    whole = gain[stop - 1] - before[first]
    if whole >= gain[last] - lowest[last] - _OVERHEAD:
        return (first, stop) if whole > 0 else (0, 0)
    return int(np.argmin(before[: last + 1])), last + 1


def _narrowest(largest: int) -> np.dtype[np.integer]:
    narrow = np.min_scalar_type(largest)
    # numpy adds uint64 to int64 as floats, which would round.
    return np.dtype(np.int64) if narrow.itemsize == 8 else narrow


def key_type(n_bins: int | None, n_classes: int) -> np.dtype[np.unsignedinteger]:
    """Return the narrowest type that holds every key of a scale."""
    return np.min_scalar_type((n_bins or 1) * n_classes - 1)


def widen(storage: Storage, n_classes: int) -> WideCounts:
    """Return the same counts by bin and class; bins without events are left out. O(size)."""
    if isinstance(storage, WideCounts):
        return storage
    if isinstance(storage, KeyList | MixedCounts):
        storage = add_up([storage])
    if isinstance(storage, SparseCounts):
        return _widen_sparse(storage, n_classes)
    # Begin and end at a whole bin, so that a row of the table is a bin.
    lead = storage.first % n_classes
    tail = -(lead + storage.counts.size) % n_classes
    padded = storage.counts
    if lead or tail:
        padded = np.zeros(lead + storage.counts.size + tail, dtype=np.int64)
        padded[lead : lead + storage.counts.size] = storage.counts
    table = padded.reshape(-1, n_classes)
    # Class by class: numpy is many times slower along an axis this short.
    columns = [table[:, number] for number in range(n_classes)]
    used = _where_used(functools.reduce(np.bitwise_or, columns))
    counts = np.empty((n_classes, used.size), dtype=np.int64)
    for row, column in zip(counts, columns, strict=True):
        row[:] = column[used]
    return WideCounts(used + storage.first // n_classes, counts)


def _widen_sparse(storage: SparseCounts, n_classes: int) -> WideCounts:
    keys = storage.keys.astype(np.int64)
    bins, row = np.unique(keys // n_classes, return_inverse=True)
    counts = np.zeros((n_classes, bins.size), dtype=np.int64)
    counts[keys % n_classes, row] = storage.counts
    return WideCounts(bins, counts)


def merge_wide(parts: Sequence[WideCounts]) -> WideCounts:
    """Return the sum of wide counts; weighted if any part is. O(n log n)."""
    bins = np.concatenate([part.bins for part in parts])
    counts = np.concatenate([part.counts for part in parts], axis=1)
    squares = None
    if any(part.squares is not None for part in parts):
        # An event without a weight weighs 1, and so does its square.
        each = [part.counts if part.squares is None else part.squares for part in parts]
        squares = np.concatenate(each, axis=1).astype(np.float64)
    return collect(bins, counts, squares)


def collect(
    bins: IntArray, counts: IntArray | FloatArray, squares: FloatArray | None
) -> WideCounts:
    """Return wide counts from columns whose bins may repeat and come in any order."""
    if not bins.size:
        return WideCounts(bins, counts, squares)
    order = np.argsort(bins, kind="stable")
    ordered = bins[order]
    starts = run_starts(ordered)
    return WideCounts(
        ordered[starts],
        np.add.reduceat(counts[:, order], starts, axis=1),
        None if squares is None else np.add.reduceat(squares[:, order], starts, axis=1),
    )


def drop_empty(wide: WideCounts) -> WideCounts:
    """Return the same counts without the bins that hold nothing."""
    used = (wide.counts != 0).any(axis=0)
    if used.all():
        return wide
    squares = None if wide.squares is None else wide.squares[:, used]
    return WideCounts(wide.bins[used], wide.counts[:, used], squares)
