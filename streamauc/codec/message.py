"""Messages: a header that says what follows and checksums that say whether it is whole."""

import struct
import zlib

HISTOGRAM, SERIES, DETECTOR = 1, 2, 3
_NAMES = {HISTOGRAM: "histogram", SERIES: "series", DETECTOR: "detector"}
_HEADER = struct.Struct("<4sBBIII")
_CHECKSUM = struct.Struct("<I")
_HEADER_SIZE = _HEADER.size + _CHECKSUM.size
_MAGIC = b"SAUC"
_VERSION = 1
# A message says how large its body will be; nothing above this is unpacked.
_MAX_BODY = 2**30


def seal(kind: int, body: bytes) -> bytes:
    """Return a body behind its header. Raises ValueError for one that is too large."""
    if len(body) > _MAX_BODY:
        raise ValueError(f"body must be at most {_MAX_BODY} bytes, got {len(body)}")
    packed = zlib.compress(body)
    header = _HEADER.pack(_MAGIC, _VERSION, kind, len(body), len(packed), zlib.crc32(packed))
    return header + _CHECKSUM.pack(zlib.crc32(header)) + packed


def unseal(wanted: int, data: bytes) -> bytes:
    """Return the body of a message of the kind `wanted`. Raises ValueError for anything else."""
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
        raise ValueError(f"data must hold a {_NAMES[wanted]}, got a {_NAMES.get(kind, kind)}")
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
