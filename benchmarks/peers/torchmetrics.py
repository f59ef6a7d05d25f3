"""torchmetrics: 200 thresholds, or every event."""

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Protocol

from benchmarks.data import FloatArray, IntArray
from benchmarks.peers.peer import Kind, Peer
from benchmarks.peers.tensors import Tensor, n_bytes, on_one_thread

_THRESHOLDS = 200


class _Metric(Protocol):
    metric_state: Mapping[str, Tensor | Iterable[Tensor]]

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Take a batch."""

    def compute(self) -> Tensor:
        """Return the AUC."""


class TorchmetricsAuc(Peer):
    """``BinaryAUROC`` of torchmetrics."""

    def __init__(self, thresholds: int | None) -> None:
        self._columns, self._values = on_one_thread()
        make = import_module("torchmetrics.classification").BinaryAUROC
        # Without the cache, which would answer a second question for nothing.
        self._metric: _Metric = make(thresholds=thresholds, compute_with_cache=False)

    def update(self, label: int, score: float) -> None:
        """Take one event, as a batch of one."""
        self._metric.update(self._values([score]), self._values([label]))

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take a batch."""
        self._metric.update(self._columns(y_score), self._columns(y_true))

    def roc_auc(self) -> float:
        """Return the area under its points, in float32."""
        return self._metric.compute().item()

    @property
    def nbytes(self) -> int:
        """Bytes of its tensors."""
        return n_bytes(self._metric.metric_state)


KINDS = (
    Kind(
        f"torchmetrics, {_THRESHOLDS} thresholds",
        "torchmetrics",
        "torchmetrics",
        partial(TorchmetricsAuc, _THRESHOLDS),
        n_single=500,
        n_batched=200_000,
    ),
    Kind(
        "torchmetrics, every event",
        "torchmetrics",
        "torchmetrics",
        partial(TorchmetricsAuc, None),
        is_bounded=False,
        is_exact=True,
        n_single=500,
    ),
)
