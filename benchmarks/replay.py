"""``streamauc replay`` of files with 10 million rows, against pyarrow's reading alone.

Both run as processes of their own, so that starting and importing count for both.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from benchmarks.data import logistic
from benchmarks.timing import Row, race

_SUITE = "replay"
_READ = {
    "parquet": (
        "import sys, pyarrow.parquet as pq; t = pq.read_table(sys.argv[1]);"
        "[t[name].to_numpy() for name in t.column_names]"
    ),
    "csv": (
        "import sys, pyarrow.csv as pc; t = pc.read_csv(sys.argv[1]);"
        "[t[name].to_numpy() for name in t.column_names]"
    ),
}
_LIMITS = {"parquet": 3.0, "csv": 2.0}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the ratio for each format."""
    n, rounds = (1_000_000, 3) if quick else (10_000_000, 5)
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in _files(Path(folder), n).items():
            commands = {
                "read": [sys.executable, "-c", _READ[kind], str(path)],
                "replay": [sys.executable, "-m", "streamauc", "replay", str(path)],
            }
            medians = race(
                {name: partial(_start, words) for name, words in commands.items()}, rounds
            )
            yield Row(_SUITE, f"pyarrow reads {n:,} rows, {kind}", medians["read"], "s")
            ratio = medians["replay"] / medians["read"]
            detail = f"{medians['replay']:.2f} s"
            yield Row(
                _SUITE, f"streamauc replay, {kind}", ratio, "x reading", _LIMITS[kind], detail
            )


def _files(folder: Path, n: int) -> dict[str, Path]:
    """Write a year of events in time order in each format."""
    y_true, y_score = logistic(n)
    times = 1_672_531_200 + np.arange(n) * (365 * 86_400 / n)
    table = pa.table(
        {"time": pa.array(times), "score": pa.array(y_score), "label": pa.array(y_true)}
    )
    paths = {kind: folder / f"events.{kind}" for kind in _READ}
    pq.write_table(table, paths["parquet"])
    pc.write_csv(table, paths["csv"])
    return paths


def _start(words: list[str]) -> None:
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603  (our own commands)
