"""Files into checked event batches: CSV, JSON lines, Parquet and Arrow, packed or not."""

from streamauc.cli.reading.batches import BadRowError, EventBatch
from streamauc.cli.reading.options import Columns, ReadOptions
from streamauc.cli.reading.stream import CUT, EventStream, open_events

__all__ = [
    "CUT",
    "BadRowError",
    "Columns",
    "EventBatch",
    "EventStream",
    "ReadOptions",
    "open_events",
]
