"""torcheval, which keeps every event, even for 200 thresholds."""

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Protocol

from benchmarks.data import FloatArray, IntArray
from benchmarks.peers.peer import Kind, Peer
from benchmarks.peers.tensors import Tensor, n_bytes, on_one_thread

_THRESHOLDS = 200


class _Metric(Protocol):
    def update(self, input: Tensor, target: Tensor) -> object:  # noqa: A002 (theirs)
        """Take a batch."""

    def compute(self) -> Tensor | tuple[Tensor, Tensor]:
        """Return the AUC, and the thresholds if there are any."""

    def state_dict(self) -> Mapping[str, Iterable[Tensor]]:
        """Return what is kept."""


class TorchevalAuc(Peer):
    """A metric of torcheval, by the name of its class."""

    def __init__(self, name: str, **settings: int) -> None:
        self._columns, self._values = on_one_thread()
        self._metric: _Metric = getattr(import_module("torcheval.metrics"), name)(**settings)

    def update(self, label: int, score: float) -> None:
        """Take one event, as a batch of one."""
        self._metric.update(self._values([score]), self._values([label]))

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take a batch, which is only put on a list, not even copied."""
        self._metric.update(self._columns(y_score), self._columns(y_true))

    def roc_auc(self) -> float:
        """Return the area under the points of all events."""
        found = self._metric.compute()
        return (found[0] if isinstance(found, tuple) else found).item()

    @property
    def nbytes(self) -> int:
        """Bytes of its tensors."""
        return n_bytes(self._metric.state_dict())


KINDS = (
    Kind(
        f"torcheval, {_THRESHOLDS} thresholds",
        "torcheval",
        "torcheval",
        partial(TorchevalAuc, "BinaryBinnedAUROC", threshold=_THRESHOLDS),
        is_bounded=False,
        n_single=2_000,
    ),
    Kind(
        "torcheval, every event",
        "torcheval",
        "torcheval",
        partial(TorchevalAuc, "BinaryAUROC"),
        is_bounded=False,
        is_exact=True,
        n_single=2_000,
    ),
)
