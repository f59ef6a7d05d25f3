"""Addresses: the integer key of a pane and of a chunk, and the checksum of any row.

A *lane* is a channel of a series in one tier. The key of a pane is its lane above 42 bits of its
index, moved up by ``2**41`` so that panes before 1970 fit, too: panes that are side by side in
time are side by side in the file. 256 of them, beginning at a multiple of 256, are a *chunk*.
"""

import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise

INDEX_BITS = 42
_OFFSET = 1 << (INDEX_BITS - 1)
_INDEX_MASK = (1 << INDEX_BITS) - 1
_CHUNK_BITS = 8
CHUNK_PANES = 1 << _CHUNK_BITS
_PRIME = 2**61 - 1


def pane_key(lane: int, index: int) -> int:
    """Return the key of a pane; an index beyond all time as the first or last one of the lane."""
    return (lane << INDEX_BITS) | min(max(index + _OFFSET, 0), _INDEX_MASK)


def lane_of(key: int) -> int:
    """Return the lane of a pane or a chunk."""
    return key >> INDEX_BITS


def index_of(key: int) -> int:
    """Return the index of a pane."""
    return (key & _INDEX_MASK) - _OFFSET


def lane_span(lane: int) -> tuple[int, int]:
    """Return the first and the last key of a lane, of panes as of chunks."""
    return lane << INDEX_BITS, (lane << INDEX_BITS) | _INDEX_MASK


def chunk_of(key: int) -> int:
    """Return the key of the chunk that holds a pane."""
    return (key & ~_INDEX_MASK) | ((key & _INDEX_MASK) >> _CHUNK_BITS)


def chunk_span(chunk: int, last: int | None = None) -> tuple[int, int]:
    """Return the keys of the first and the last pane of a chunk, or of chunks up to `last`."""
    last = chunk if last is None else last
    return _first_pane(chunk), _first_pane(last) + (1 << _CHUNK_BITS) - 1


def _first_pane(chunk: int) -> int:
    return (chunk & ~_INDEX_MASK) | ((chunk & _INDEX_MASK) << _CHUNK_BITS)


def adjacent(chunks: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each run of chunks that follow one another; ascending."""
    if not chunks:
        return
    first = chunks[0]
    for one, following in pairwise(chunks):
        if following != one + 1:
            yield first, one
            first = following
    yield first, chunks[-1]


def checksum(*fields: str | int | float | bytes | None, body: bytes = b"") -> int:
    """Return the CRC-32 of the fields of a row, the name of its table first, and of its body."""
    return zlib.crc32(body, zlib.crc32(repr(fields).encode()))


def combined(crcs: Iterable[int]) -> int:
    """Return one number that stands for rows with these CRCs, in any order.

    It is combined by exclusive or, so that a row is added and taken away alike. The CRCs are
    scrambled first. As they are, the same change of two rows changes both in the same bits, and
    would cancel.
    """
    found = 0
    for crc in crcs:
        found ^= crc * crc % _PRIME
    return found


def pane_checksum(key: int, body: bytes) -> int:
    """Return the CRC-32 of a pane under its key."""
    return zlib.crc32(body, zlib.crc32(key.to_bytes(8, "little")))
