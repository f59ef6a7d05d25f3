"""Arrow's types by the names that this package uses; the quotes keep generics out of run time."""

from typing import IO, Any, TypeAlias, cast

import pyarrow as pa

# What a column holds is known from the file alone, so no annotation can say it.
Cells: TypeAlias = "pa.Array[Any]"
Column: TypeAlias = "pa.ChunkedArray[Any]"
Encoded: TypeAlias = "pa.DictionaryArray[Any, Any]"


def arrow_input(data: memoryview) -> IO[bytes]:
    """Return bytes as a file that Arrow reads without copying them."""
    # A native file, which Arrow's readers take although their annotations name Python's only.
    return cast("IO[bytes]", pa.BufferReader(pa.py_buffer(data)))


def decoded(cells: Cells) -> Cells:
    """Return a dictionary-encoded column in full, any other as it is."""
    return cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells


def in_one_piece(column: Column) -> Cells:
    """Return a column as one array, without a copy where it is one."""
    return column.chunks[0] if column.num_chunks == 1 else column.combine_chunks()
