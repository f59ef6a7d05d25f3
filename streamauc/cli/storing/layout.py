"""The Parquet file: its columns, and where in it what is not counts stands.

The first row groups hold counts: series after series, channel after channel, tier after tier, and
there by pane, bin and class, a row for each that has any. The other row groups hold nothing but
the column `_rest`, a JSON object a row, in which `remainder` writes what may be much: the
predictions, labels and keys of each series, documents and the journal. The metadata under
``streamauc`` are a JSON object: the version of this format, how many row groups hold counts, the
positions of sources, and of each series what `facts` writes; those under ``streamauc_crc`` are its
CRC-32. Every page carries its own, so that no bit that was changed on the way makes a wrong count.
"""

import json
import zlib
from pathlib import Path

from streamauc.store.documents import Json

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Parquet needs the extra 'cli', got no module 'pyarrow'; in a checkout:"
        " pip install '.[cli]'"
    ) from error

VERSION = 1
METADATA, METADATA_CRC = "streamauc", "streamauc_crc"
MAGIC = b"PAR1"
# So many rows are in memory at once.
GROUP_ROWS = 2**18
# Readers refuse a longer text in the metadata.
MAX_METADATA = 90_000_000
REST = "_rest"
_TYPES: dict[str, pa.DataType] = {
    "series": pa.string(),
    "channel": pa.string(),
    "tier": pa.int32(),
    "pane_start": pa.timestamp("ms", "UTC"),
    "pane_end": pa.timestamp("ms", "UTC"),
    "bin": pa.int64(),
    "score_low": pa.float64(),
    "score_high": pa.float64(),
    "class": pa.int32(),
    "count": pa.int64(),
    "weight": pa.float64(),
    "weight_squares": pa.float64(),
    REST: pa.string(),
}
SCHEMA = pa.schema(_TYPES)


def dumps(value: Json) -> str:
    """Return JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def crc_of(metadata: bytes) -> str:
    """Return the CRC-32 of metadata, as it stands beside them."""
    return f"{zlib.crc32(metadata):08x}"


def is_parquet(path: Path) -> bool:
    """Return whether a file begins like Parquet."""
    with path.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC
