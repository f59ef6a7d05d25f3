"""Keras: 200 thresholds, evenly spaced."""

import os
from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, SupportsFloat

from benchmarks.data import FloatArray, IntArray
from benchmarks.peers.peer import Kind, Peer
from benchmarks.peers.tensors import on_one_thread

_THRESHOLDS = 200


class _Variable(Protocol):
    def numpy(self) -> FloatArray:
        """Return the values."""


class _Metric(Protocol):
    variables: Iterable[_Variable]

    def update_state(self, y_true: IntArray | list[int], y_pred: FloatArray | list[float]) -> None:
        """Take a batch."""

    def result(self) -> SupportsFloat:
        """Return the AUC."""


class KerasAuc(Peer):
    """``keras.metrics.AUC``, on torch unless the environment names another backend."""

    def __init__(self) -> None:
        if os.environ.setdefault("KERAS_BACKEND", "torch") == "torch":
            on_one_thread()
        self._metric: _Metric = import_module("keras.metrics").AUC(num_thresholds=_THRESHOLDS)

    def update(self, label: int, score: float) -> None:
        """Take one event, as a batch of one."""
        self._metric.update_state([label], [score])

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take a batch."""
        self._metric.update_state(y_true, y_score)

    def roc_auc(self) -> float:
        """Return the area under its points."""
        return float(self._metric.result())

    @property
    def nbytes(self) -> int:
        """Bytes of its four variables."""
        return sum(variable.numpy().nbytes for variable in self._metric.variables)


KINDS = (
    Kind(
        f"Keras, {_THRESHOLDS} thresholds",
        "keras",
        "keras",
        KerasAuc,
        n_single=500,
        n_batched=500_000,
    ),
)
