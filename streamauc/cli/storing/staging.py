"""Checked panes in a temporary file, so that the store is locked only while they are written.

A pane is the number of its channel (4 bytes), its tier (4), its index (8, signed), the size of
its body (4), and the body, in the format of `codec.panes`.
"""

import struct
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from types import TracebackType
from typing import Self

from streamauc.cli.storing.cells import Pane
from streamauc.cli.storing.facts import SeriesRecord
from streamauc.codec import decode_panes, encode_pane
from streamauc.timeline import n_classes_of

_HEAD = struct.Struct("<IIqI")
_AT_ONCE = 256
# So many bytes are kept in memory before a file is made.
_MEMORY_BYTES = 2**25


class Staging:
    """Keeps the panes of every series until they are asked for."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_MEMORY_BYTES)  # noqa: SIM115 - closed by `__exit__`
        self._spans: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def put(self, series: SeriesRecord, panes: Iterable[Pane]) -> None:
        """Keep the panes of a series. O(size)."""
        number = {name: index for index, name in enumerate(series.channels)}
        start, n_panes = self._file.tell(), 0
        for channel, tier, index, part in panes:
            body = encode_pane(part, n_classes_of(channel))
            self._file.write(_HEAD.pack(number[channel], tier, index, len(body)) + body)
            n_panes += 1
        self._spans[series.labels] = start, n_panes

    def n_panes(self) -> int:
        """Return how many panes are kept."""
        return sum(number for _, number in self._spans.values())

    def panes(self, series: SeriesRecord) -> Iterator[Pane]:
        """Yield the panes of a series, which must be taken before those of another."""
        start, n_panes = self._spans[series.labels]
        self._file.seek(start)
        rows = (self._read() for _ in range(n_panes))
        for at, same in groupby(rows, key=lambda row: row[0]):
            channel = series.channels[at]
            while some := list(islice(same, _AT_ONCE)):
                parts = decode_panes([body for *_, body in some], n_classes_of(channel))
                for (_, tier, index, _), part in zip(some, parts, strict=True):
                    yield channel, tier, index, part

    def _read(self) -> tuple[int, int, int, bytes]:
        channel, tier, index, size = _HEAD.unpack(self._file.read(_HEAD.size))
        return channel, tier, index, self._file.read(size)
