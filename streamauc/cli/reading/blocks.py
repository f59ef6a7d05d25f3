"""Text in blocks of whole records, each with the number of its first line.

A block ends where a record ends, so blocks can be parsed by themselves, several at a time, and a
second time when something in one is wrong. A few buffers serve all blocks in turn, because a page
fault for every page of a new one would cost as much as a third of parsing.
"""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamauc.cli.reading.sniff import text_encoding
from streamauc.cli.reading.source import Feed, Readable, fill

BLOCK_BYTES = 2 << 20
N_AHEAD = max(1, min(pa.cpu_count(), 8))
LONGEST_RECORD = 64 << 20
_BOM = b"\xef\xbb\xbf"
_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Whole records as UTF-8; valid until `N_AHEAD` more blocks have been asked for."""

    data: memoryview
    first_line: int

    def text(self) -> str:
        """Return the block as text; undecodable bytes are replaced."""
        return str(self.data, "utf-8", errors="replace")


def text_blocks(feed: Feed, name: str, *, delimiter: bytes | None) -> Iterator[Block]:
    """Yield the blocks of a text file, byte-order mark removed, UTF-16 turned into UTF-8.

    With a `delimiter` a line end inside quotes does not end a record.
    """
    head = feed.head()
    stream: Readable = _Utf16(feed) if text_encoding(head) == "utf-16" else feed
    newline = b"\n" if b"\n" in head else b"\r"
    if head.startswith(_BOM):
        feed.read(len(_BOM))
    buffers = deque(bytearray(BLOCK_BYTES) for _ in range(N_AHEAD + 2))
    buffer, filled, line = buffers[0], 0, 1
    while (filled := fill(stream, memoryview(buffer), filled)) == len(buffer):
        end = _boundary(buffer, newline, delimiter)
        if end == 0:
            buffer = buffers[0] = _grown(buffer, name, line)
            continue
        yield Block(memoryview(buffer)[:end], line)
        line += _count(buffer, end, newline)
        rest = buffer[end:]
        buffers.rotate(-1)
        buffer, filled = _begun(buffers, rest), len(rest)
    if filled:
        yield Block(memoryview(buffer)[:filled], line)


def parsed_ahead(
    parse: Callable[[Block], _Parsed], blocks: Iterable[Block]
) -> Iterator[tuple[Block, _Parsed]]:
    """Yield every block with what `parse` makes of it, in order, working on the next ones."""
    waiting: deque[tuple[Block, Future[_Parsed]]] = deque()
    with ThreadPoolExecutor(N_AHEAD) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(parse, block)))
            if len(waiting) > N_AHEAD:
                first, future = waiting.popleft()
                yield first, future.result()
        for block, future in waiting:
            yield block, future.result()


def _begun(buffers: deque[bytearray], rest: bytearray) -> bytearray:
    """Return the first buffer, long enough for the beginning of its block, put into it."""
    if len(buffers[0]) <= len(rest):
        buffers[0] = bytearray(2 * len(rest))
    buffers[0][: len(rest)] = rest
    return buffers[0]


def _count(buffer: bytearray, end: int, byte: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(buffer, np.uint8, end) == byte[0]))


def _grown(buffer: bytearray, name: str, line: int) -> bytearray:
    if len(buffer) >= LONGEST_RECORD:
        raise ValueError(
            f"{name}, line {line}: a record must fit in {LONGEST_RECORD >> 20} MB,"
            " got a longer one; is a quote left open?"
        )
    return buffer + bytearray(len(buffer))


def _boundary(buffer: bytearray, newline: bytes, delimiter: bytes | None) -> int:
    """Return where the last whole record of a full buffer ends, 0 if none does."""
    end = buffer.rfind(newline) + 1
    if delimiter is None or b'"' not in buffer:
        return end
    quotes = np.flatnonzero(np.frombuffer(buffer, np.uint8) == ord('"'))
    if _alternate(buffer, quotes, delimiter) and np.searchsorted(quotes, end) % 2 == 0:
        return end
    return _boundary_outside_quotes(bytes(buffer), newline, delimiter)


def _alternate(buffer: bytearray, quotes: NDArray[np.intp], delimiter: bytes) -> bool:
    """Whether every other quote opens a field, so that an even number leaves none open.

    A quote opens where a field begins, or again as the second one of a doubled quote.
    """
    opens = np.zeros(256, np.bool_)
    opens[list(b'\r\n"' + delimiter)] = True
    opening = quotes[int(quotes[0] == 0) * 2 :: 2]
    return bool(opens[np.frombuffer(buffer, np.uint8)[opening - 1]].all())


def _boundary_outside_quotes(data: bytes, newline: bytes, delimiter: bytes) -> int:
    """Find it by following quoted fields; a quote opens one only where a field begins."""
    opening = rb"(?:\A|(?<=[\r\n" + re.escape(delimiter) + rb"]))"
    fields = re.finditer(opening + rb'"[^"]*(?:""[^"]*)*(?:"|\Z)', data)
    stop = len(data)
    for start, end in reversed([field.span() for field in fields]):
        found = data.rfind(newline, end, stop)
        if found >= 0:
            return found + 1
        stop = start
    return data.rfind(newline, 0, stop) + 1


class _Utf16:
    """UTF-16 with a byte-order mark, read as UTF-8."""

    def __init__(self, stream: Feed) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        self._ready = b""

    def readinto(self, buffer: memoryview, /) -> int:
        """Put decoded bytes into `buffer`; 0 at the end."""
        while not self._ready:
            data = self._stream.read(1 << 16) or b""
            self._ready = self._decoder.decode(data, final=not data).encode()
            if not data and not self._ready:
                return 0
        n_read = min(len(buffer), len(self._ready))
        buffer[:n_read] = self._ready[:n_read]
        self._ready = self._ready[n_read:]
        return n_read
