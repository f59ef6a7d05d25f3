"""What the suites ask of a peer, and what they know about it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.data import FloatArray, IntArray

# The size of the batches in which a whole stream is handed over.
_BATCH = 100_000


class Peer(ABC):
    """A metric of another library and the stream that it has seen; labels are 0 and 1."""

    @abstractmethod
    def update(self, label: int, score: float) -> None:
        """Take one event."""

    @abstractmethod
    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take a batch; one by one if the library knows no batches."""

    @abstractmethod
    def roc_auc(self) -> float:
        """Return the AUC of what it has seen, worked out anew."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of its state: of arrays as they are kept, of objects as they are written down."""

    def entry(self) -> Callable[[int, float], object]:
        """Return the quickest function there is that takes one event."""
        return self.update

    def absorb(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Take a whole stream by the quickest way that leaves the same state."""
        for start in range(0, y_true.size, _BATCH):
            stop = start + _BATCH
            self.update_many(y_true[start:stop], y_score[start:stop])


@dataclass(frozen=True, slots=True)
class Kind:
    """A peer that may be there or not.

    `module` is what has to be there; `is_bounded` says whether the state stays as small however
    long the stream, `is_window` whether the answer is about the last events only, `is_exact`
    whether it is the AUC of all events as they were; `n_single` and `n_batched` how many events
    are enough to time it one by one and in batches.
    """

    name: str
    package: str
    module: str
    make: Callable[[], Peer]
    is_bounded: bool = True
    is_window: bool = False
    is_exact: bool = False
    n_single: int = 1_000_000
    n_batched: int = 1_000_000


class Missing(NamedTuple):
    """A peer that is not there, and why."""

    name: str
    reason: str
