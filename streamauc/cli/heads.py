"""The beginning of a file, by which it is told from another one, whatever they are called."""

import hashlib
from collections.abc import Mapping
from enum import Enum, auto

from streamauc.cli.reading.source import Source, input_size, naming
from streamauc.store.documents import Json

# So many bytes at the beginning of a file, unpacked, tell it from another one.
_HEAD_BYTES = 65_536
_FEW_HEX = 16


class Likeness(Enum):
    """What a file is beside one that was counted before."""

    SAME = auto()  # it begins with all that is known of the other one
    CUT = auto()  # it begins as the other one, but ends sooner
    OTHER = auto()


class Head:
    """What a file begins with.

    Of a file that was counted before, the size and the digest of its head are known; and the
    digests of its first 2, 4, 8... lines, so that it is known again when it has been cut.
    """

    def __init__(self, data: bytes, packed: bytes = b"") -> None:
        self._data = data
        self._packed = packed  # positions of packed files once told of the packed bytes
        self._ends = _line_ends(data)

    @classmethod
    def of(cls, file: str) -> "Head":
        """Return the beginning of a file. Raises ValueError for what can't be read twice."""
        if input_size(file) is None:
            what = "standard input" if file == "-" else file
            raise ValueError(f"--store must read files, got {what}, which can't be resumed")
        with naming(file), open(file, "rb") as opened:
            packed = opened.read(_HEAD_BYTES)
        source = Source(file)
        try:
            with naming(file):
                return cls(source.feed.head()[:_HEAD_BYTES], packed)
        finally:
            source.close()

    @property
    def has_rows(self) -> bool:
        """Whether it can hold more than the names of columns, which many files share."""
        return len(self._ends) > 1 or b"\0" in self._data

    def to_dict(self) -> dict[str, Json]:
        """Return plain values for JSON."""
        lines: dict[str, Json] = {str(n): self._of_lines(n) for n in self._powers()}
        return {"head_bytes": len(self._data), "head": _digest(self._data), "lines": lines}

    def beside(self, position: Mapping[str, object]) -> Likeness:
        """Return what this file is beside one of which a position was kept."""
        size = position.get("head_bytes")
        if not isinstance(size, int) or not 0 <= size <= _HEAD_BYTES:
            return Likeness.OTHER
        for data in (self._data, self._packed):
            if len(data) >= size and _digest(data[:size]) == position.get("head"):
                return Likeness.SAME
        return Likeness.CUT if self._is_cut(size, position.get("lines")) else Likeness.OTHER

    def _is_cut(self, size: int, lines: object) -> bool:
        if len(self._data) >= size or not isinstance(lines, dict):
            return False
        # Digests of fewer lines than both have would say less.
        n_lines = max((n for n in self._powers() if str(n) in lines), default=None)
        return n_lines is not None and lines[str(n_lines)] == self._of_lines(n_lines)

    def _powers(self) -> list[int]:
        return [2**power for power in range(1, len(self._ends).bit_length())]

    def _of_lines(self, n_lines: int) -> str:
        return _digest(self._data[: self._ends[n_lines - 1]])[:_FEW_HEX]


def _line_ends(data: bytes) -> list[int]:
    """Return where each whole line ends; of what is no text, nothing."""
    if b"\0" in data:
        return []
    return [index + 1 for index, byte in enumerate(data) if byte == ord("\n")]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
