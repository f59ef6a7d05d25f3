"""scikit-learn, which is handed every event whenever it is asked."""

from collections.abc import Callable
from importlib import import_module

import numpy as np

from benchmarks.data import FloatArray, IntArray
from benchmarks.peers.peer import Kind, Peer


class SklearnAuc(Peer):
    """``roc_auc_score`` of all that was kept."""

    def __init__(self) -> None:
        self._score: Callable[[IntArray, FloatArray], float] = import_module(
            "sklearn.metrics"
        ).roc_auc_score
        self._labels: list[IntArray] = []
        self._scores: list[FloatArray] = []

    def update(self, label: int, score: float) -> None:
        """Keep one event."""
        self.update_many(np.array([label]), np.array([score]))

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Keep a batch."""
        self._labels.append(y_true)
        self._scores.append(y_score)

    def roc_auc(self) -> float:
        """Return the AUC of all events."""
        return float(self._score(np.concatenate(self._labels), np.concatenate(self._scores)))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(part.nbytes for part in (*self._labels, *self._scores))


KINDS = (
    Kind(
        "scikit-learn, every event",
        "scikit-learn",
        "sklearn",
        SklearnAuc,
        is_bounded=False,
        is_exact=True,
    ),
)
