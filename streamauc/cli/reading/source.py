"""Where bytes come from: a file or standard input, unpacked, and how far it has been read."""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_Compression = Literal["gzip", "zstd"]
_MAGIC: dict[bytes, _Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_HEAD = 1 << 16


class Readable(Protocol):
    """Something that fills a buffer; 0 or `None` means that there is no more."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Put bytes into `buffer` and return how many."""


class Feed(io.RawIOBase):
    """A stream that counts what was taken from it and shows its beginning beforehand."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._ahead = memoryview(b"")
        self.position = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill as much of `buffer` as one read gives."""
        view = memoryview(buffer)
        if self._ahead:
            n_read = min(len(view), len(self._ahead))
            view[:n_read] = self._ahead[:n_read]
            self._ahead = self._ahead[n_read:]
        else:
            n_read = self._stream.readinto(view) or 0
        self.position += n_read
        return n_read

    def head(self) -> bytes:
        """Return the first 64 KB (fewer if there are no more) without taking them."""
        space = memoryview(bytearray(_HEAD))
        filled = fill(self, space, 0)
        self._ahead = space[:filled]
        self.position -= filled
        return bytes(self._ahead)


class Source:
    """One input by name: `feed` gives its bytes, unpacked; `name` is what messages call it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = input_name(path)
        self.size = input_size(path)
        self._file = None if path == "-" else io.FileIO(path)
        self._packed = Feed(_Piped(sys.stdin.buffer) if self._file is None else self._file)
        self.compression = _compression(self._packed.head())
        self.feed = self._unpack()
        self._spooled: pa.NativeFile | None = None

    @property
    def position(self) -> int:
        """Bytes taken from the file itself, packed as it is."""
        return self._packed.position

    def seekable_file(self) -> str | pa.NativeFile:
        """Return the path, or a temporary file of the unpacked bytes where that will not do."""
        if self.size is not None and self.compression is None:
            return self.path
        if self._spooled is None:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the native file around it
            shutil.copyfileobj(self.feed, file, 1 << 20)
            self._spooled = pa.PythonFile(file, "r")
        self._spooled.seek(0)
        return self._spooled

    def close(self) -> None:
        """Close what was opened and remove the temporary file."""
        if self._file is not None:  # standard input belongs to the caller
            self._file.close()
        if self._spooled is not None:
            self._spooled.close()

    def _unpack(self) -> Feed:
        if self.compression is None:
            return self._packed
        unpacked: Readable = pa.CompressedInputStream(self._packed, self.compression)
        return Feed(unpacked)


def fill(stream: Readable, buffer: memoryview, filled: int) -> int:
    """Read until `buffer` is full or the stream ends; return how much of it is filled."""
    while filled < len(buffer):
        n_read = stream.readinto(buffer[filled:])
        if not n_read:
            break
        filled += n_read
    return filled


def input_name(path: str) -> str:
    """`path` as messages call it."""
    return "standard input" if path == "-" else path


def input_size(path: str) -> int | None:
    """Bytes of a regular file, `None` for a stream; raises what a person can act on."""
    if path == "-":
        return None
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory; name the files in it")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path}: not allowed to read it")
    return os.path.getsize(path) if Path(path).is_file() else None


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Turn errors of decoders and the system into one line that names the file."""
    try:
        yield
    except pa.ArrowException as error:
        raise ValueError(f"{name}: cannot be read: {_first_line(error)}") from error
    except OSError as error:
        raise OSError(f"{name}: {_explained(error)}") from error


class _Piped:
    """A stream that can only be read on."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readinto(self, buffer: memoryview, /) -> int:
        """Put the next bytes into `buffer`; 0 at the end."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _compression(head: bytes) -> _Compression | None:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def _explained(error: OSError) -> str:
    text = _first_line(error)
    if "Truncated compressed stream" in text:
        return "the compressed data end too early; is the file complete?"
    if "inflate failed" in text or "ZSTD" in text:
        return f"the compressed data are damaged ({text})"
    return error.strerror or text


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
