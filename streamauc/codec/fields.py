"""Fields: the numbers, texts and counts of which a body is made."""

import json
import struct
from collections.abc import Hashable, Sequence

import numpy as np

from streamauc._check import IntArray
from streamauc.scale import Scale
from streamauc.storage import WideCounts, read_weighted

_KINDS = ("probability", "real", "exact")
_MAX_CLASSES = 2**16


class Writer:
    """Appends fields to a body."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def done(self) -> bytes:
        """Return the body."""
        return b"".join(self._parts)

    def byte(self, value: int) -> None:
        """Append one byte."""
        self._parts.append(bytes((value,)))

    def number(self, value: int) -> None:
        """Append a varint."""
        self._parts.append(encode_varints(np.array([value], dtype=np.uint64)))

    def signed(self, value: int) -> None:
        """Append a zigzag."""
        self.number(2 * value if value >= 0 else -2 * value - 1)

    def real(self, value: float) -> None:
        """Append a float."""
        self._parts.append(struct.pack("<d", value))

    def text(self, value: str) -> None:
        """Append text."""
        encoded = value.encode()
        self.number(len(encoded))
        self._parts.append(encoded)

    def key_list(self, keys: Sequence[Hashable]) -> None:
        """Append keys; they must be text, numbers, bools or None."""
        for key in keys:
            if not isinstance(key, str | int | float | bool | None):
                raise TypeError(f"keys must be text or numbers to be written, got {key!r}")
        self.text(json.dumps(keys))

    def scale(self, scale: Scale) -> None:
        """Append a scale."""
        self.byte(_KINDS.index(scale.kind))
        self.byte(scale.bits)
        self.number(len(scale.thresholds))
        for threshold in scale.thresholds:
            self.real(threshold)

    def counts(self, wide: WideCounts) -> None:
        """Append counts. O(n_bins)."""
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


class Reader:
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
        """Raise ValueError unless everything was taken."""
        if self._at != len(self._body):
            raise ValueError(f"data is malformed: {len(self._body) - self._at} bytes left over")

    def byte(self) -> int:
        """Take one byte."""
        return self._take(1)[0]

    def number(self) -> int:
        """Take a varint."""
        return int(self._varints(1)[0])

    def length(self) -> int:
        """Take a number of things that follow, each of at least one byte."""
        size = self.number()
        if size > len(self._body) - self._at:
            raise ValueError(f"data is malformed: {size} items stated, too few bytes follow")
        return size

    def signed(self) -> int:
        """Take a zigzag."""
        value = self.number()
        return -((value + 1) // 2) if value % 2 else value // 2

    def real(self) -> float:
        """Take a float."""
        return float(struct.unpack("<d", self._take(8))[0])

    def below(self, limit: int) -> int:
        """Take a varint below `limit`."""
        found = self.number()
        if found >= limit:
            raise ValueError(f"data is malformed: {found} where less than {limit} is possible")
        return found

    def text(self) -> str:
        """Take text."""
        return self._take(self.number()).decode()

    def classes(self) -> tuple[object, object] | None:
        """Take the pair of class labels, or None."""
        found = self._json()
        if found is None:
            return None
        if not isinstance(found, list) or len(found) != 2:
            raise ValueError(f"data is malformed: classes are {found!r}")
        return found[0], found[1]

    def tallies(self) -> dict[str, int]:
        """Take a mapping of names to integers."""
        found = self._json()
        if not isinstance(found, dict) or not all(type(n) is int for n in found.values()):
            raise ValueError(f"data is malformed: tallies are {found!r}")
        return found

    def key_list(self) -> list[Hashable]:
        """Take a list of different keys."""
        found = self._json()
        if not isinstance(found, list) or any(isinstance(key, list | dict) for key in found):
            raise ValueError("data is malformed: its keys are no list of text and numbers")
        return found

    def _json(self) -> object:
        text = self.text()
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"data is malformed: {error}") from error

    def scale(self) -> Scale:
        """Take a scale."""
        kind, bits = self.byte(), self.byte()
        thresholds = [self.real() for _ in range(self.length())]
        if kind >= len(_KINDS):
            raise ValueError(f"data is malformed: {kind} is no kind of scale")
        if _KINDS[kind] == "exact":
            return Scale.exact()
        make = Scale.probability if _KINDS[kind] == "probability" else Scale.real
        return make(bits=bits, thresholds=thresholds)

    def counts(self, scale: Scale) -> WideCounts:
        """Take counts whose bins are of `scale`. O(n_bins)."""
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
        weights, squares = (column.astype(np.float64).reshape(shape) for column in reals)
        return read_weighted(bins, weights, squares)

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
