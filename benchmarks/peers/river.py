"""River: ten thresholds over the whole stream, and the exact AUC of the last events."""

import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Protocol

import numpy as np

from benchmarks.data import FloatArray, IntArray
from benchmarks.peers.peer import Kind, Peer

_THRESHOLDS = 10
_WINDOW = 1_000


class _Metric(Protocol):
    def get(self) -> float:
        """Return the value."""


class _Rolling(_Metric, Protocol):
    def update(self, y_true: int, y_pred: float) -> object:
        """Take one event."""


class _Weighted(_Metric, Protocol):
    thresholds: list[float]

    def update(self, y_true: int, y_pred: float, w: float = 1.0) -> object:
        """Take one event, or as many equal ones as `w` says."""


class RiverAuc(Peer):
    """``river.metrics.ROCAUC`` as it is when nothing is said: ten thresholds."""

    def __init__(self) -> None:
        self._metric: _Weighted = import_module("river.metrics").ROCAUC(_THRESHOLDS)

    def update(self, label: int, score: float) -> None:
        """Take one event."""
        self._metric.update(label, score)

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take the events one by one."""
        for label, score in zip(y_true.tolist(), y_score.tolist(), strict=True):
            self._metric.update(label, score)

    def absorb(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take the events between two thresholds as one with their number for its weight."""
        # An event counts above a threshold when its score is larger, so `left` holds it apart.
        place = np.searchsorted(self._metric.thresholds, y_score, side="left")
        cells, first, counts = np.unique(2 * place + y_true, return_index=True, return_counts=True)
        for cell, index, count in zip(cells, first, counts, strict=True):
            self._metric.update(int(cell) % 2, float(y_score[index]), float(count))

    def roc_auc(self) -> float:
        """Return the area under its points."""
        return self._metric.get()

    @property
    def nbytes(self) -> int:
        """Bytes of the pickled metric."""
        return len(pickle.dumps(self._metric))

    def entry(self) -> Callable[[int, float], object]:
        """Return the metric's own method."""
        return self._metric.update


class RiverWindow(Peer):
    """``river.metrics.RollingROCAUC``, which buffers events until it is asked."""

    def __init__(self) -> None:
        self._metric: _Rolling = import_module("river.metrics").RollingROCAUC(_WINDOW)

    def update(self, label: int, score: float) -> None:
        """Put one event in the buffer."""
        self._metric.update(label, score)

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take the events one by one, and ask once, so that the buffer is emptied."""
        for label, score in zip(y_true.tolist(), y_score.tolist(), strict=True):
            self._metric.update(label, score)
        self._metric.get()

    def roc_auc(self) -> float:
        """Return the AUC of the last events."""
        return self._metric.get()

    @property
    def nbytes(self) -> int:
        """Bytes of the pickled metric."""
        self._metric.get()
        return len(pickle.dumps(self._metric))

    def entry(self) -> Callable[[int, float], object]:
        """Return the metric's own method."""
        return self._metric.update


KINDS = (
    Kind(
        "River ROCAUC, 10 thresholds",
        "river",
        "river",
        RiverAuc,
        n_single=5_000,
        n_batched=5_000,
    ),
    Kind(
        f"River RollingROCAUC, last {_WINDOW:,}",
        "river",
        "river",
        RiverWindow,
        is_window=True,
        n_single=50_000,
        n_batched=50_000,
    ),
)
