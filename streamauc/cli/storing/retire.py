"""``streamauc store retire``: writers that ended without saying so."""

import time
from collections.abc import Sequence
from pathlib import Path

from streamauc.cli.existing import existing_store


def run_retire(path: Path, writers: Sequence[str]) -> int:
    """Mark writers as ended; return the exit code. Raises ValueError for one that is not open."""
    with existing_store(str(path)) as store:
        found = [
            (series, writer.id)
            for series in store.all_series()
            for writer in series.writers()
            if writer.closed is None and writer.id in writers
        ]
        missing = set(writers) - {writer for _, writer in found}
        if missing:
            raise ValueError(
                f"WRITER must be one that has not ended, got {', '.join(sorted(missing))};"
                f" streamauc store info {path} names them"
            )
        for series, writer in found:
            series.close_writer(writer, time.time())
    for series, writer in found:
        print(f"retired: {writer} of {series.name}")
    return 0
