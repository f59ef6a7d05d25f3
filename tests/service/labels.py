"""A label job: follows a file of outcomes, and tells each to the store once.

    python -m service.labels outcomes.jsonl metrics.db

Outcomes come in any order, long after their predictions or before them. How far the file has been
read is written in the same transaction as what was read, so that the job may be killed at any
moment: started again, it goes on behind the last outcome that counted.
"""

import json
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from service.watch import fraud_monitor

from streamauc.store import Store

POSITION = "outcomes"
BATCH = 50
IDLE_SECONDS = 0.1
# A job without outcomes writes its position again, so that nobody takes it for dead.
BEAT_SECONDS = 30.0


def main(outcomes: str, path: str) -> None:
    """Follow the file until SIGTERM."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    with (
        Store(path) as store,
        # Nothing is written but by `flush`, and so never without its position.
        fraud_monitor(store, flush_seconds=math.inf) as monitor,
        open(outcomes, "rb") as file,
    ):
        file.seek(store.position(POSITION) or 0)
        # From now on the monitor writes nothing without a position, not even when it is closed.
        monitor.flush(position={POSITION: file.tell()})
        written_at = time.monotonic()
        while not stopping.is_set():
            batch = list(islice(whole_lines(file), BATCH))
            for line in batch:
                outcome = json.loads(line)
                monitor.resolve(outcome["id"], outcome["fraud"])
            if batch or time.monotonic() > written_at + BEAT_SECONDS:
                monitor.flush(position={POSITION: file.tell()})
                written_at = time.monotonic()
            else:
                stopping.wait(IDLE_SECONDS)


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are there; one that is still being written is left for later."""
    while line := file.readline():
        if not line.endswith(b"\n"):
            file.seek(-len(line), 1)
            return
        yield line


if __name__ == "__main__":
    main(*sys.argv[1:])
