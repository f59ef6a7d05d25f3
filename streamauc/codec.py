r"""Bytes: how histograms and whole series are written down. Nothing else knows the format.

Everything is little-endian. A *varint* is an unsigned integer in groups of seven bits, lowest
group first, the top bit set on every byte but the last; a *zigzag* is a signed integer ``i``
written as the varint ``2 * i`` or, if negative, ``-2 * i - 1``; *text* is UTF-8 behind its
length as a varint; a *float* is eight bytes of IEEE 754.

A message is a header of 22 bytes and a body compressed with zlib:

====  ==============================================================================
size  field
====  ==============================================================================
4     magic ``SAUC``
1     version of the format, now 1
1     what the body is: 1 a histogram, 2 a series
4     size of the body before compression
4     size of the compressed body
4     CRC-32 of the compressed body
4     CRC-32 of the 18 bytes before
====  ==============================================================================

A *scale* is: kind (1 byte: 0 probability, 1 real, 2 exact), bits (1 byte), number of thresholds
(varint), the thresholds (floats).

*Counts* are: number of classes (varint), weighted or not (1 byte), number of bins (varint); if
there are bins, the first bin (zigzag) and each bin's distance to the one before (varints); then
class by class, from class 0 on, a count for every bin: varints, or when weighted floats,
followed in the same way by the sums of squared weights (floats).

A *histogram* is a scale and counts. A *series* is a scale, the tiers, the classes, what was
observed, the tallies and the panes, in the order of `encode_series`.
"""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from streamauc._check import IntArray
from streamauc.scale import Scale
from streamauc.storage import WideCounts

_HEADER = struct.Struct("<4sBBIII")
_CHECKSUM = struct.Struct("<I")
_HEADER_SIZE = _HEADER.size + _CHECKSUM.size
_MAGIC = b"SAUC"
_VERSION = 1
_HISTOGRAM, _SERIES = 1, 2
_KINDS = ("probability", "real", "exact")
# A message says how large its body will be; nothing above this is unpacked.
_MAX_BODY = 2**30
_MAX_CLASSES = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesState:
    """A series as it is written down: its settings, its tallies and every surviving pane.

    `panes` hold (channel, tier, pane index, counts); `tallies` map names to event counts.
    """

    scale: Scale
    event_clock: bool
    tiers: tuple[tuple[int, float], ...]
    classes: tuple[object, object] | None
    observed_since: float
    latest: float
    horizons: tuple[int, ...]
    tallies: Mapping[str, int]
    panes: Sequence[tuple[str, int, int, WideCounts]] = field(repr=False)


def encode_histogram(scale: Scale, counts: WideCounts) -> bytes:
    """Return a histogram as bytes. O(n_bins)."""
    body = _Writer()
    body.scale(scale)
    body.counts(counts)
    return _seal(_HISTOGRAM, body.done())


def decode_histogram(data: bytes) -> tuple[Scale, WideCounts]:
    """Return what `encode_histogram` was given. Raises ValueError for anything else."""
    body = _Reader(_unseal(_HISTOGRAM, data))
    scale = body.scale()
    counts = body.counts(scale)
    body.end()
    return scale, counts


def encode_series(state: SeriesState) -> bytes:
    """Return a series as bytes. O(total number of bins)."""
    body = _Writer()
    body.scale(state.scale)
    body.byte(state.event_clock)
    body.number(len(state.tiers))
    for pane_seconds, keep in state.tiers:
        body.number(pane_seconds)
        body.real(keep)
    body.text(json.dumps(state.classes))
    body.real(state.observed_since)
    body.real(state.latest)
    for horizon in state.horizons:
        body.signed(horizon)
    body.text(json.dumps(dict(state.tallies)))
    body.number(len(state.panes))
    for channel, tier, index, counts in state.panes:
        body.text(channel)
        body.number(tier)
        body.signed(index)
        body.counts(counts)
    return _seal(_SERIES, body.done())


def decode_series(data: bytes) -> SeriesState:
    """Return what `encode_series` was given. Raises ValueError for anything else."""
    body = _Reader(_unseal(_SERIES, data))
    scale = body.scale()
    event_clock = body.byte() == 1
    tiers = tuple((body.number(), body.real()) for _ in range(body.length()))
    classes = body.classes()
    observed_since, latest = body.real(), body.real()
    horizons = tuple(body.signed() for _ in tiers)
    tallies = body.tallies()
    panes = [
        (body.text(), body.below(len(tiers)), body.signed(), body.counts(scale))
        for _ in range(body.length())
    ]
    body.end()
    return SeriesState(
        scale=scale,
        event_clock=event_clock,
        tiers=tiers,
        classes=classes,
        observed_since=observed_since,
        latest=latest,
        horizons=horizons,
        tallies=tallies,
        panes=panes,
    )


def _seal(kind: int, body: bytes) -> bytes:
    if len(body) > _MAX_BODY:
        raise ValueError(f"body must be at most {_MAX_BODY} bytes, got {len(body)}")
    packed = zlib.compress(body)
    header = _HEADER.pack(_MAGIC, _VERSION, kind, len(body), len(packed), zlib.crc32(packed))
    return header + _CHECKSUM.pack(zlib.crc32(header)) + packed


def _unseal(wanted: int, data: bytes) -> bytes:
    data = bytes(data)
    if data[:4] != _MAGIC[: len(data)]:
        raise ValueError(f"data must begin with {_MAGIC!r}, got {data[:4]!r}: foreign bytes")
    if len(data) < _HEADER_SIZE:
        raise ValueError(f"data must hold a header of {_HEADER_SIZE} bytes, got {len(data)}")
    if zlib.crc32(data[: _HEADER.size]) != _CHECKSUM.unpack_from(data, _HEADER.size)[0]:
        raise ValueError("data was altered: the checksum of its header differs")
    _, version, kind, size, packed_size, checksum = _HEADER.unpack_from(data)
    if version > _VERSION:
        raise ValueError(f"data has version {version}, newer than this program's {_VERSION}")
    if kind != wanted:
        names = {_HISTOGRAM: "histogram", _SERIES: "series"}
        raise ValueError(f"data must hold a {names[wanted]}, got a {names.get(kind, kind)}")
    return _unpack(data[_HEADER_SIZE:], size, packed_size, checksum)


def _unpack(packed: bytes, size: int, packed_size: int, checksum: int) -> bytes:
    if len(packed) < packed_size:
        raise ValueError(f"data is truncated: {len(packed)} of {packed_size} bytes of its body")
    if len(packed) > packed_size:
        raise ValueError(f"data was altered: {len(packed) - packed_size} bytes follow its end")
    if zlib.crc32(packed) != checksum:
        raise ValueError("data was altered: the checksum of its body differs")
    if size > _MAX_BODY:
        raise ValueError(f"data must unpack to at most {_MAX_BODY} bytes, got {size}")
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise ValueError(f"data was altered: {error}") from error
    if len(body) != size or not unpacker.eof or unpacker.unused_data:
        raise ValueError(f"data was altered: its body is not the {size} bytes that it states")
    return body


class _Writer:
    """Appends fields to a body."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def done(self) -> bytes:
        return b"".join(self._parts)

    def byte(self, value: int) -> None:
        self._parts.append(bytes((value,)))

    def number(self, value: int) -> None:
        self._parts.append(encode_varints(np.array([value], dtype=np.uint64)))

    def signed(self, value: int) -> None:
        self.number(2 * value if value >= 0 else -2 * value - 1)

    def real(self, value: float) -> None:
        self._parts.append(struct.pack("<d", value))

    def text(self, value: str) -> None:
        encoded = value.encode()
        self.number(len(encoded))
        self._parts.append(encoded)

    def scale(self, scale: Scale) -> None:
        self.byte(_KINDS.index(scale.kind))
        self.byte(scale.bits)
        self.number(len(scale.thresholds))
        for threshold in scale.thresholds:
            self.real(threshold)

    def counts(self, wide: WideCounts) -> None:
        self.number(wide.counts.shape[0])
        self.byte(wide.squares is not None)
        self.number(wide.bins.size)
        if wide.bins.size:
            self.signed(int(wide.bins[0]))
            self._parts.append(encode_varints(_steps(wide.bins)))
        if wide.squares is None:
            self._parts.append(encode_varints(wide.counts.astype(np.uint64).ravel()))
        else:
            self._parts.append(wide.counts.astype("<f8").tobytes())
            self._parts.append(wide.squares.astype("<f8").tobytes())


class _Reader:
    """Takes fields from a body; whatever does not fit is a ValueError."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def _take(self, size: int) -> bytes:
        if size > len(self._body) - self._at:
            raise ValueError(f"data is malformed: {size} bytes wanted at {self._at} of its body")
        self._at += size
        return self._body[self._at - size : self._at]

    def end(self) -> None:
        if self._at != len(self._body):
            raise ValueError(f"data is malformed: {len(self._body) - self._at} bytes left over")

    def byte(self) -> int:
        return self._take(1)[0]

    def number(self) -> int:
        return int(self._varints(1)[0])

    def length(self) -> int:
        """Take a number of things that follow, each of at least one byte."""
        size = self.number()
        if size > len(self._body) - self._at:
            raise ValueError(f"data is malformed: {size} items stated, too few bytes follow")
        return size

    def signed(self) -> int:
        value = self.number()
        return -((value + 1) // 2) if value % 2 else value // 2

    def real(self) -> float:
        return float(struct.unpack("<d", self._take(8))[0])

    def below(self, limit: int) -> int:
        found = self.number()
        if found >= limit:
            raise ValueError(f"data is malformed: {found} where less than {limit} is possible")
        return found

    def text(self) -> str:
        return self._take(self.number()).decode()

    def classes(self) -> tuple[object, object] | None:
        found = self._json()
        if found is None:
            return None
        if not isinstance(found, list) or len(found) != 2:
            raise ValueError(f"data is malformed: classes are {found!r}")
        return found[0], found[1]

    def tallies(self) -> dict[str, int]:
        found = self._json()
        if not isinstance(found, dict) or not all(type(n) is int for n in found.values()):
            raise ValueError(f"data is malformed: tallies are {found!r}")
        return found

    def _json(self) -> object:
        text = self.text()
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"data is malformed: {error}") from error

    def scale(self) -> Scale:
        kind, bits = self.byte(), self.byte()
        thresholds = [self.real() for _ in range(self.length())]
        if kind >= len(_KINDS):
            raise ValueError(f"data is malformed: {kind} is no kind of scale")
        if _KINDS[kind] == "exact":
            return Scale.exact()
        make = Scale.probability if _KINDS[kind] == "probability" else Scale.real
        return make(bits=bits, thresholds=thresholds)

    def counts(self, scale: Scale) -> WideCounts:
        n_classes, weighted, n_bins = self.number(), self.byte(), self.length()
        if not 0 < n_classes <= _MAX_CLASSES or weighted > 1:
            raise ValueError(f"data is malformed: {n_classes} classes, weighted {weighted}")
        bins = self._bins(n_bins, scale) if n_bins else np.empty(0, dtype=np.int64)
        shape = (n_classes, n_bins)
        if n_classes * n_bins > len(self._body):
            raise ValueError("data is malformed: more counts stated than bytes follow")
        if not weighted:
            counts = self._varints(n_classes * n_bins).view(np.int64)
            if (counts < 0).any():
                raise ValueError("data is malformed: a count is above 2**63")
            return WideCounts(bins, counts.reshape(shape))
        reals = [np.frombuffer(self._take(8 * n_classes * n_bins), dtype="<f8") for _ in range(2)]
        if not all(np.isfinite(column).all() and (column >= 0).all() for column in reals):
            raise ValueError("data is malformed: a weighted count is negative or not finite")
        weights, squares = (column.astype(np.float64).reshape(shape) for column in reals)
        return WideCounts(bins, weights, squares)

    def _bins(self, n_bins: int, scale: Scale) -> IntArray:
        first = self.signed()
        if not -(2**63) <= first < 2**63:
            raise ValueError("data is malformed: the first bin does not fit 64 bits")
        # Of one type: numpy would join int64 and uint64 as floats, which round.
        start = np.array([first % 2**64], dtype=np.uint64)
        steps = np.concatenate((start, self._varints(n_bins - 1)))
        bins = np.cumsum(steps, dtype=np.uint64).view(np.int64)
        if (bins[1:] <= bins[:-1]).any():
            raise ValueError("data is malformed: its bins do not increase")
        low = scale.bin(scale.low) if scale.n_bins is None else 0
        if bins[0] < low or bins[-1] > scale.bin(scale.high):
            raise ValueError(f"data is malformed: a bin is none of {scale}")
        return bins

    def _varints(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        values, size = decode_varints(self._body[self._at : self._at + 10 * n], n)
        self._at += size
        return values


def _steps(bins: IntArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    # Seen as unsigned, a distance is right even where it passes 2**63.
    raw = bins.view(np.uint64)
    return raw[1:] - raw[:-1]


def encode_varints(values: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> bytes:
    """Return unsigned integers as varints, one after the other. O(n)."""
    seven = np.arange(0, 70, 7, dtype=np.uint64)
    # Row i holds the ten groups of value i; as many are kept as reach its highest bit.
    groups = (values[:, None] >> seven) & np.uint64(127)
    n_groups = np.maximum(1, 10 - np.argmax(groups[:, ::-1] != 0, axis=1))
    n_groups[values == 0] = 1
    kept = np.arange(10) < n_groups[:, None]
    more = np.arange(10) < n_groups[:, None] - 1
    encoded: bytes = (groups | (more * np.uint64(128)))[kept].astype(np.uint8).tobytes()
    return encoded


def decode_varints(data: bytes, n: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], int]:
    """Return the first `n` varints in `data` and the number of bytes they take. O(n)."""
    if n == 0:
        return np.empty(0, dtype=np.uint64), 0
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(raw < 128)[:n]
    if ends.size < n:
        raise ValueError(f"data is malformed: {n} numbers wanted, {ends.size} follow")
    starts = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - starts + 1
    if sizes.max() > 10 or (raw[ends[sizes == 10]] > 1).any():
        raise ValueError("data is malformed: a number is longer than 64 bits")
    size = int(ends[-1]) + 1
    place = np.arange(size) - np.repeat(starts, sizes)
    groups = (raw[:size] & 127).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.bitwise_or.reduceat(groups, starts), size
