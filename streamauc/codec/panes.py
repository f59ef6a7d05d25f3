"""Panes as bytes: small, and quick to read by the thousand.

Rising numbers are written as Elias and Fano did. With n numbers up to u, the lowest
``log2(u / n)`` bits of each stand side by side in one string of bits, the *low* part. What is
left of them rises from 0 to about n and is written in the *high* part: number i sets the bit
``high[i] + i``, so that every number sets one. With two low bits, 3, 5, 6, 13 is high parts
0, 1, 1, 3, which set the bits 0, 2, 3 and 6, and low parts 3, 1, 2, 1. An event of a minute
takes half a byte, and thousands of panes are read in a few passes over all their bits.

A pane is its form (1 byte), the number of classes (2), then by form, little-endian:

* *listed*: the key of every event, a key being ``bin * n_classes + class``;
* *counted*: the keys that occur; their counts, added up from the first on;
* *wide*: the bins that occur; the counts of all classes, class by class, added up;
* *raw*: the bins that occur; the counts of all classes, class by class, 8 bytes each;
* *weighted*: the bins that occur; floats: the counts of all classes, their sums of squares.

Rising numbers are: how many (4), the first (8, signed), low bits a number (1), bytes of the high
part (4), the high part, the low part; each number is less the first.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamauc import storage
from streamauc._check import IntArray
from streamauc.storage import DenseCounts, Integers, KeyList, SparseCounts, Storage, WideCounts

_LISTED, _COUNTED, _WIDE, _RAW, _WEIGHTED = range(1, 6)
_HEAD = struct.Struct("<BH")
_RISING = struct.Struct("<IqBI")
# An unaligned word of 64 bits holds this many from any bit of its first byte on.
_MAX_WIDTH = 56
# Sums of counts beyond this are not worth the care.
_MAX_TOTAL = 2**62
# An array is filled where at least one key in so many occurs: it is added much faster.
_DENSE = 4
# So many panes are read at once, and so many runs of them: few enough that what is worked on
# stays in the cache.
_PANES, _AT_ONCE = 64, 16


_Words: TypeAlias = NDArray[np.uint64]


def encode_pane(part: Storage, n_classes: int) -> bytes:
    """Return counts as bytes, nothing at all when they hold no event. O(size log size)."""
    if isinstance(part, WideCounts):
        return _encode_wide(storage.drop_empty(part))
    if isinstance(part, KeyList) and part.keys.size <= storage.FEW_KEYS:
        return _encode_listed(np.sort(part.keys), n_classes)
    keys, counts = _used(part if isinstance(part, SparseCounts) else storage.add_up([part]))
    if not keys.size:
        return b""
    if float(counts.sum(dtype=np.float64)) > _MAX_TOTAL:
        return _encode_wide(storage.widen(part, n_classes))
    n_events = int(counts.sum())
    if n_events <= storage.FEW_KEYS and _is_smaller_listed(keys, n_events):
        return _encode_listed(np.repeat(keys, counts), n_classes)
    totals = np.cumsum(counts)
    return _HEAD.pack(_COUNTED, n_classes) + _rising(keys) + _rising(totals)


def _used(summed: SparseCounts | DenseCounts) -> tuple[IntArray, IntArray]:
    """Return the keys that occur, int64, and their counts, int64."""
    rows = np.flatnonzero(summed.counts != 0)
    keys = rows + summed.first if isinstance(summed, DenseCounts) else summed.keys[rows]
    counts = summed.counts[rows].astype(np.int64)
    if rows.size and counts.min() < 0:
        raise ValueError(f"counts must not be negative, got {int(counts.min())}")
    return keys.astype(np.int64), counts


def _is_smaller_listed(keys: IntArray, n_events: int) -> bool:
    n_keys, span = keys.size, int(keys[-1] - keys[0]) + 1
    listed = n_events * (2 + max(0.0, math.log2(span / n_events)))
    counted = n_keys * (2 + math.log2(span / n_keys) + 2 + math.log2(n_events / n_keys))
    return listed <= counted


def _encode_listed(keys: Integers, n_classes: int) -> bytes:
    if not keys.size:
        return b""
    return _HEAD.pack(_LISTED, n_classes) + _rising(keys.astype(np.int64))


def _encode_wide(wide: WideCounts) -> bytes:
    if not wide.bins.size:
        return b""
    n_classes = wide.counts.shape[0]
    if wide.squares is not None:
        body = wide.counts.astype("<f8").tobytes() + wide.squares.astype("<f8").tobytes()
        return _HEAD.pack(_WEIGHTED, n_classes) + _rising(wide.bins) + body
    if (wide.counts < 0).any():
        raise ValueError(f"counts must not be negative, got {int(wide.counts.min())}")
    if float(wide.counts.sum(dtype=np.float64)) > _MAX_TOTAL:
        body = wide.counts.astype("<i8").tobytes()
        return _HEAD.pack(_RAW, n_classes) + _rising(wide.bins) + body
    totals = np.cumsum(wide.counts.ravel(), dtype=np.int64)
    return _HEAD.pack(_WIDE, n_classes) + _rising(wide.bins) + _rising(totals)


def _rising(numbers: IntArray) -> bytes:
    """Return numbers that don't fall as bytes. O(n)."""
    size, first = numbers.size, int(numbers[0])
    # Seen as unsigned, a distance is right even where it passes 2**63.
    rest = numbers.view(np.uint64) - np.uint64(first % 2**64)
    width = min(_MAX_WIDTH, max(0, (int(rest[-1]) // size).bit_length() - 1))
    places = (rest >> np.uint64(width)).view(np.int64) + np.arange(size)
    bits = np.zeros(int(places[-1]) + 1, dtype=np.uint8)
    bits[places] = 1
    high = np.packbits(bits, bitorder="little").tobytes()
    return _RISING.pack(size, first, width, len(high)) + high + _low_bits(rest, width)


def _low_bits(rest: _Words, width: int) -> bytes:
    if not width:
        return b""
    table = (rest[:, None] >> np.arange(width, dtype=np.uint64)).astype(np.uint8) & 1
    return np.packbits(table, axis=None, bitorder="little").tobytes()


@dataclass(frozen=True, slots=True)
class _Rising:
    """Rising numbers before they are unpacked."""

    size: int
    first: int
    width: int
    high: bytes
    low: bytes


@dataclass(frozen=True, slots=True)
class _Pane:
    """A pane taken apart: one or two runs of rising numbers, and what follows them."""

    form: int
    n_classes: int
    runs: tuple[_Rising, ...]
    rest: bytes


def decode_panes(blobs: Iterable[bytes], n_classes: int) -> list[Storage]:
    """Return what `encode_pane` was given, each in a form that is quick to add. O(total size).

    Raises ValueError for other bytes and for another number of classes.
    """
    panes = [_parsed(blob, n_classes) for blob in blobs]
    found: list[Storage] = []
    for start in range(0, len(panes), _PANES):
        some = panes[start : start + _PANES]
        numbers = iter(_unpacked([run for pane in some for run in pane.runs]))
        found += [_decoded(pane, [next(numbers) for _ in pane.runs]) for pane in some]
    return found


def _parsed(blob: bytes, n_classes: int) -> _Pane:
    if len(blob) < _HEAD.size:
        raise ValueError(f"data is malformed: a pane of {len(blob)} bytes")
    form, found = _HEAD.unpack_from(blob)
    if found != n_classes or not _LISTED <= form <= _WEIGHTED:
        raise ValueError(f"data is malformed: form {form} with {found} classes, not {n_classes}")
    run, at = _parsed_rising(blob, _HEAD.size)
    runs: tuple[_Rising, ...] = (run,)
    if form in (_COUNTED, _WIDE):
        totals, at = _parsed_rising(blob, at)
        runs = (run, totals)
        if totals.size != run.size * (n_classes if form == _WIDE else 1):
            raise ValueError("data is malformed: bins and counts differ in number")
    wanted = {_RAW: 8, _WEIGHTED: 16}.get(form, 0) * n_classes * run.size
    if len(blob) - at != wanted:
        raise ValueError(f"data is malformed: {len(blob) - at} bytes follow, {wanted} wanted")
    return _Pane(form, n_classes, runs, blob[at:])


def _parsed_rising(blob: bytes, at: int) -> tuple[_Rising, int]:
    if len(blob) - at < _RISING.size:
        raise ValueError("data is malformed: it ends within a header")
    size, first, width, n_high = _RISING.unpack_from(blob, at)
    low_at = at + _RISING.size + n_high
    end = low_at + (size * width + 7) // 8
    if not 0 < size <= 8 * n_high or width > _MAX_WIDTH or end > len(blob):
        raise ValueError(f"data is malformed: {size} numbers of {width} bits do not fit")
    high, low = blob[at + _RISING.size : low_at], blob[low_at:end]
    return _Rising(size, first, width, high, low), end


def _decoded(pane: _Pane, runs: Sequence[IntArray]) -> Storage:
    if pane.form == _LISTED:
        return KeyList(_narrow(runs[0]))
    if pane.form == _COUNTED:
        return _counted(*runs)
    if pane.form == _WIDE:
        bins, totals = runs
        return WideCounts(bins.copy(), np.diff(totals, prepend=0).reshape(pane.n_classes, -1))
    return _raw(pane, runs[0].copy())


def _narrow(keys: IntArray) -> Integers:
    """Return rising keys in the narrowest type that holds them all."""
    largest = int(keys[-1])
    if keys[0] < 0:
        raise ValueError(f"data is malformed: {int(keys[0])} is no key of an event")
    if largest >= 2**32:
        return keys.copy()  # numpy counts no numbers of 64 bits without a sign
    return keys.astype(np.uint16 if largest < 2**16 else np.uint32)


def _counted(keys: IntArray, totals: IntArray) -> Storage:
    counts = np.empty_like(totals)
    counts[0] = totals[0]
    np.subtract(totals[1:], totals[:-1], out=counts[1:])
    first, span = int(keys[0]), int(keys[-1] - keys[0]) + 1
    if not 0 < span <= _DENSE * keys.size:
        return SparseCounts(keys.copy(), counts)
    table: Integers = np.zeros(span, dtype=np.uint32 if totals[-1] < 2**32 else np.int64)
    table[keys - first] = counts
    return DenseCounts(first, table)


def _raw(pane: _Pane, bins: IntArray) -> WideCounts:
    shape = (pane.n_classes, bins.size)
    if pane.form == _RAW:
        return WideCounts(bins, np.frombuffer(pane.rest, "<i8").astype(np.int64).reshape(shape))
    columns = np.frombuffer(pane.rest, "<f8").astype(np.float64).reshape(2, *shape)
    return storage.read_weighted(bins, columns[0], columns[1])


def _unpacked(runs: Sequence[_Rising]) -> list[IntArray]:
    """Return the numbers of each run, int64, shape (size,). O(total size)."""
    found: dict[int, IntArray] = {}
    order = sorted(range(len(runs)), key=lambda place: runs[place].width)
    for width, places in groupby(order, key=lambda place: runs[place].width):
        alike = list(places)
        for start in range(0, len(alike), _AT_ONCE):
            batch = alike[start : start + _AT_ONCE]
            found.update(zip(batch, _unpacked_alike([runs[k] for k in batch], width), strict=True))
    return [found[place] for place in range(len(runs))]


def _unpacked_alike(runs: Sequence[_Rising], width: int) -> list[IntArray]:
    """Return the numbers of each of some runs with as many low bits a number."""
    sizes = np.array([run.size for run in runs])
    stops = np.cumsum(sizes)
    starts = stops - sizes
    rank = np.arange(int(stops[-1]))
    numbers, begins = _set_bits(runs, stops)
    numbers -= rank  # how many bits are not set before each that is, from the first run on
    numbers <<= width
    if width:
        numbers |= _low(runs, sizes, starts, rank, width)
    # In 64 bits without a sign, where every sum that is too large comes back right in the end.
    firsts = np.array([run.first for run in runs]).view(np.uint64)
    skipped = (begins - starts).view(np.uint64) << np.uint64(width)
    numbers += np.repeat((firsts - skipped).view(np.int64), sizes)
    return [numbers[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def _set_bits(runs: Sequence[_Rising], stops: IntArray) -> tuple[IntArray, IntArray]:
    """Return where bits are set in all high parts together, and where each part begins."""
    raw = np.frombuffer(b"".join([run.high for run in runs]), dtype=np.uint8)
    ones = np.flatnonzero(np.unpackbits(raw, bitorder="little").view(np.bool_))
    n_bits = np.array([8 * len(run.high) for run in runs])
    ends = np.cumsum(n_bits)
    if not np.array_equal(np.searchsorted(ones, ends), stops):
        raise ValueError("data is malformed: not every number has its bit")
    return ones, ends - n_bits


def _low(
    runs: Sequence[_Rising], sizes: IntArray, starts: IntArray, rank: IntArray, width: int
) -> IntArray:
    """Return the low bits of each number."""
    joined = b"".join([*(run.low for run in runs), bytes(8)])
    n_bytes = np.array([len(run.low) for run in runs])
    begins = 8 * (np.cumsum(n_bytes) - n_bytes)
    at = rank * width
    at += np.repeat(begins - starts * width, sizes)
    # A word of 64 bits begins at every byte.
    words: IntArray = np.ndarray((len(joined) - 7,), "<i8", joined, 0, (1,))
    found: IntArray = words.take(at >> 3)
    at &= 7
    found >>= at
    found &= (1 << width) - 1
    return found
