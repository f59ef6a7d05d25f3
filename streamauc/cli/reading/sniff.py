"""Which format a file is in: its first bytes first, then its content and its name."""

import re
from typing import Literal

Format = Literal["delimited", "json lines", "parquet", "arrow file", "arrow stream"]

_MAGIC: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow file",
    b"\xff\xff\xff\xff": "arrow stream",
}
_FOREIGN = {
    b"PARE": "an encrypted Parquet file",
    b"FEA1": "a Feather file of version 1",
    b"PK\x03\x04": "a zip archive or a workbook",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x04\x22\x4d\x18": "compressed with lz4",
    b"Obj\x01": "an Avro file",
    b"ORC": "an ORC file",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
}
_JSON_NAMES = (".jsonl", ".ndjson", ".json")
READABLE = "CSV, TSV, JSON lines, Parquet or Arrow, plain or packed with gzip or zstd"


def detect_format(name: str, head: bytes) -> Format:
    """Return the format of unpacked bytes that begin with `head`.

    Raises `ValueError` for an empty file and for what is none of the formats read here.
    """
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    for magic, foreign in _FOREIGN.items():
        if head.startswith(magic):
            raise ValueError(f"{name} must be {READABLE}, got {foreign}")
    return _text_format(name, head)


def _text_format(name: str, head: bytes) -> Format:
    start = decoded_start(head)
    if not start.strip():
        raise ValueError(f"{name} is empty")
    if "\0" in start:
        raise ValueError(f"{name} must be {READABLE}, got bytes that are no text")
    if re.match(r"\s*\{\s*(\"|\}|$)", start):
        return "json lines"
    if re.match(r"\s*\[\s*[\[{\]]", start):
        raise ValueError(
            f"{name} must hold one JSON object a line, got a JSON array;"
            " convert it with: jq -c '.[]'"
        )
    return "json lines" if _plain_name(name).endswith(_JSON_NAMES) else "delimited"


def decoded_start(head: bytes) -> str:
    """`head` as text, without its byte-order mark; undecodable bytes are replaced."""
    return head.decode(text_encoding(head), errors="replace").removeprefix("\ufeff")


def text_encoding(head: bytes) -> Literal["utf-16", "utf-8"]:
    """Return the encoding that the byte-order mark names, UTF-8 without one."""
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"


def _plain_name(name: str) -> str:
    return re.sub(r"\.(gz|gzip|zst|zstd)$", "", name.lower())
