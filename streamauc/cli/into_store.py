"""``replay --store``: counts go into a store, each row once, however often the run is killed."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from streamauc.cli.counting import Counting
from streamauc.cli.plan import TimePlan
from streamauc.cli.reading import EventBatch
from streamauc.monitor import Monitor
from streamauc.scale import Scale
from streamauc.store import Store, StoredSeries
from streamauc.store.documents import Json

# So many bytes at the beginning of a file tell it from another one of the same name.
_HEAD_BYTES = 65_536


def parse_labels(texts: Sequence[str]) -> dict[str, str]:
    """Return the labels that NAME=VALUE texts give. Raises ValueError for other texts."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"--series must be NAME=VALUE, got {text!r}")
        if name in found:
            raise ValueError(f"--series must give each name once, got {name!r} twice")
        found[name] = value
    return found


class StoredCounting(Counting):
    """Counts batches into a store, with how far each file has been read in the same transaction.

    So a run that was killed goes on where the last transaction ended, and a file that has grown
    is read on from its old end.
    """

    def __init__(
        self,
        scale: Scale,
        plan: TimePlan,
        *,
        store: Store,
        labels: dict[str, str],
        files: Sequence[str],
        keep_rows: bool = False,
    ) -> None:
        super().__init__(scale, plan, keep_rows=keep_rows)
        self._store = store
        self._labels = labels
        self._heads = {file: _Head.of(file) for file in files}
        self.notes: list[str] = []
        self.n_before = 0
        known = _known_series(store, labels)
        if known is not None:
            self.scale = known.scale
            self.pane_seconds = known.tiers[0].pane_seconds
            self.monitor = self._open(known)

    def _open(self, known: StoredSeries | None) -> Monitor:
        tiers = ((self.pane_seconds, math.inf),)
        return Monitor(
            scale=self.scale,
            tiers=tiers if known is None else [(t.pane_seconds, t.keep) for t in known.tiers],
            clock="event",
            store=self._store,
            series=self._labels,
            flush_seconds=math.inf,  # nothing is written without its position
        )

    def skips(self) -> dict[str, int]:
        """Return how many rows at the beginning of which file have been counted before."""
        found = {}
        for file, head in self._heads.items():
            n_rows = self._counted(file, head)
            if n_rows:
                found[file] = n_rows
                self.n_before += n_rows
                self.notes.append(f"{file}: {n_rows:,} rows have been counted before")
        return found

    def _counted(self, file: str, head: "_Head") -> int:
        position = self._store.position(self._position_name(file))
        if not isinstance(position, dict):
            return 0
        if not head.continues(position):
            self.notes.append(
                f"{file} is not the file that was counted before: counted from its beginning"
            )
            return 0
        n_rows = position.get("rows")
        return n_rows if isinstance(n_rows, int) else 0

    def _position_name(self, file: str) -> str:
        labels = ",".join(f"{name}={value}" for name, value in sorted(self._labels.items()))
        return f"replay {Path(file).absolute()} into {labels}"

    def take(self, batch: EventBatch) -> None:
        """Count one batch, and write it down with how far it reaches."""
        if batch.timestamps is None and batch.y_true.size:
            raise ValueError("--store needs a time column, got a file without one")
        super().take(batch)
        if self.monitor is not None:
            position: Json = {"rows": batch.n_done, **self._heads[batch.file].to_dict()}
            self.monitor.flush({self._position_name(batch.file): position})

    def _make(self) -> Monitor:
        return self._open(None)

    def moments(self) -> Iterator[float | None]:
        """Yield when there is something new for a detector: once, with all counted."""
        if self.monitor is not None:
            yield None


class _Head:
    """The beginning of a file, by which it is told from another."""

    def __init__(self, size: int, digest: str, file: str) -> None:
        self._size = size
        self._digest = digest
        self._file = file

    @classmethod
    def of(cls, file: str, size: int = _HEAD_BYTES) -> "_Head":
        """Return the first `size` bytes of a file. Raises ValueError for standard input."""
        if file == "-":
            raise ValueError("--store must read files, got standard input, which can't be resumed")
        with Path(file).open("rb") as opened:
            data = opened.read(size)
        return cls(len(data), hashlib.sha256(data).hexdigest(), file)

    def to_dict(self) -> dict[str, Json]:
        """Return plain values for JSON."""
        return {"head_bytes": self._size, "head": self._digest}

    def continues(self, position: Mapping[str, object]) -> bool:
        """Return whether the file begins as one did of which a position was kept."""
        size = position.get("head_bytes")
        if not isinstance(size, int) or not 0 <= size <= _HEAD_BYTES:
            return False
        return _Head.of(self._file, size).to_dict() == {
            "head_bytes": size,
            "head": position.get("head"),
        }


def _known_series(store: Store, labels: dict[str, str]) -> StoredSeries | None:
    return next((one for one in store.all_series() if one.labels == labels), None)
