"""``replay --store``: counts go into a store, each row once, however often the run is killed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from streamauc import _time
from streamauc.cli.counting import Counting
from streamauc.cli.heads import Head, Likeness
from streamauc.cli.plan import TimePlan
from streamauc.cli.reading import CUT, EventBatch
from streamauc.monitor import Monitor
from streamauc.scale import Scale
from streamauc.store import Store, StoredSeries
from streamauc.store.documents import Json

_PREFIX = "replay "


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
    is read on from its old end. A file that begins as one that was counted under another name
    is refused, unless `alike` says what it is: to be gone on with (``"continue"``), or another
    stream (``"count"``).
    """

    def __init__(
        self,
        scale: Scale,
        plan: TimePlan,
        *,
        store: Store,
        labels: dict[str, str],
        files: Sequence[str],
        alike: str = "refuse",
    ) -> None:
        super().__init__(scale, plan)
        self._store = store
        self._labels = labels
        self._alike = alike
        self._heads = {file: Head.of(file) for file in files}
        _check_different(files)
        self._positions = _read_positions(store, self._suffix)
        self._former: dict[str, dict[str, Json]] = {}
        known = _known_series(store, labels)
        if known is not None:
            self._take_settings(known)
            self.monitor = self._open(known)

    def _take_settings(self, known: StoredSeries) -> None:
        """Let counts be as those that the series has, and say so where others were asked for."""
        if self.scale != known.scale:
            self.notes.append(
                f"counted on the scale of the series, {known.scale!r}, not on {self.scale!r}"
            )
        self.scale = known.scale
        self.pane_seconds = known.tiers[0].pane_seconds
        pane = self.plan.pane
        if pane is not None and _time.duration("pane", pane) != self.pane_seconds:
            self.notes.append(f"counted in the panes of the series, {self.pane_seconds} s")

    def _open(self, known: StoredSeries | None) -> Monitor:
        tiers = ((self.pane_seconds, math.inf),)
        return Monitor(
            scale=self.scale,
            tiers=tiers if known is None else [(t.pane_seconds, t.keep) for t in known.tiers],
            clock="event",
            store=self._store,
            series=self._labels,
            flush_seconds=math.inf,  # each batch is flushed, with its position
            positions=True,
        )

    def close(self) -> None:
        """Write down that this writer has ended, and close the store."""
        with self._store:
            if self.monitor is not None:
                self.monitor.close()

    def skips(self) -> dict[str, int]:
        """Return how many rows at the beginning of which file have been counted before.

        Raises ValueError for a file of which that is not certain.
        """
        return {file: self._counted(file, head) for file, head in self._heads.items()}

    def _counted(self, file: str, head: Head) -> int:
        known = self._positions.get(self._position_name(file))
        if known is None:
            return self._counted_elsewhere(file, head)
        n_rows, likeness = _n_rows(known), head.beside(known)
        if likeness is Likeness.SAME:
            self._note_before(file, n_rows)
            return n_rows
        if likeness is Likeness.CUT and self._alike != "count":
            raise ValueError(f"{file} must hold {n_rows:,} rows: {CUT}")
        self._former[file] = {self._former_name(file, known): known}
        n_rows = self._counted_elsewhere(file, head)
        if not n_rows:
            self.notes.append(
                f"{file} is not the file that was counted before: counted from its beginning"
            )
        return n_rows

    def _note_before(self, file: str, n_rows: int) -> None:
        if n_rows:
            self.notes.append(f"{file}: {n_rows:,} rows have been counted before")

    def _counted_elsewhere(self, file: str, head: Head) -> int:
        """Return how many rows of a file have been counted under another name.

        Raises ValueError where there are some, and it was not said what to do with them.
        """
        if self._alike == "count":
            return 0
        twin = self._twin(head)
        if twin is None:
            self._check_beside_others(file, head)
            return 0
        other, n_rows = twin
        if self._alike == "refuse":
            raise ValueError(
                f"{file} begins as {other}, of which {n_rows:,} rows have been counted; --alike"
                " continue counts what comes after them, --alike count all of it, as another"
                " stream"
            )
        self._note_before(f"{file} begins as {other}", n_rows)
        return n_rows

    def _twin(self, head: Head) -> tuple[str, int] | None:
        """Return under which name a file has been counted furthest, and how many rows of it."""
        alike = [
            (_n_rows(position), name)
            for name, position in self._positions.items()
            if _n_rows(position) and head.beside(position) is not Likeness.OTHER
        ]
        if not alike:
            return None
        n_rows, name = max(alike)
        return name.removeprefix(_PREFIX).removesuffix(self._suffix), n_rows

    def _check_beside_others(self, file: str, head: Head) -> None:
        """Raise ValueError for a file that begins as one that is counted before it."""
        for other, known in self._heads.items():
            if other == file:
                return
            both = (head.beside(known.to_dict()), known.beside(head.to_dict()))
            if head.has_rows and known.has_rows and set(both) != {Likeness.OTHER}:
                raise ValueError(
                    f"{file} begins as {other}, so its rows would be counted twice;"
                    " --alike count says that it is another stream"
                )

    @property
    def _suffix(self) -> str:
        labels = ",".join(f"{name}={value}" for name, value in sorted(self._labels.items()))
        return f" into {labels}"

    def _position_name(self, file: str) -> str:
        return f"{_PREFIX}{Path(file).absolute()}{self._suffix}"

    def _former_name(self, file: str, position: Mapping[str, Json]) -> str:
        """Return the name of the position of a file whose name another one has got."""
        digest = str(position.get("head"))[:12]
        return f"{_PREFIX}{Path(file).absolute()} ({digest}){self._suffix}"

    def take(self, batch: EventBatch) -> None:
        """Count one batch, and write it down with how far it reaches."""
        if batch.timestamps is None and batch.y_true.size:
            raise ValueError("--store needs a time column, got a file without one")
        super().take(batch)
        if self.monitor is not None:
            position: Json = {"rows": batch.n_done, **self._heads[batch.file].to_dict()}
            former = self._former.get(batch.file, {})
            self.monitor.flush({self._position_name(batch.file): position, **former})

    def _make(self) -> Monitor:
        return self._open(None)

    def moments(self) -> Iterator[float | None]:
        """Yield when there is something new for a detector: once, with all counted."""
        if self.monitor is not None:
            yield None


def _read_positions(store: Store, suffix: str) -> dict[str, dict[str, Json]]:
    """Return how far each file has been read into a series."""
    return {
        name: position
        for name, position in store.positions().items()
        if name.startswith(_PREFIX) and name.endswith(suffix) and isinstance(position, dict)
    }


def _n_rows(position: Mapping[str, Json]) -> int:
    n_rows = position.get("rows")
    return n_rows if isinstance(n_rows, int) else 0


def _check_different(files: Sequence[str]) -> None:
    seen: set[Path] = set()
    for file in files:
        path = Path(file).resolve()
        if path in seen:
            raise ValueError(f"--store must be given each file once, got {file} again")
        seen.add(path)


def _known_series(store: Store, labels: dict[str, str]) -> StoredSeries | None:
    return next((one for one in store.all_series() if one.labels == labels), None)
