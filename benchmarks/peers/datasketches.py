"""datasketches: a quantile sketch of each class, and an AUC from the two."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Generic, Protocol, TypeVar

from benchmarks.data import FloatArray, IntArray
from benchmarks.peers.peer import Kind, Peer

_KLL_K = 200
_DIGEST_K = 100
# Quantiles of the positives that are looked up among the negatives.
_N_QUANTILES = 1_000


class _Sketch(Protocol):
    def update(self, item: float | FloatArray) -> object:
        """Take a score, or an array of them."""

    def serialize(self) -> bytes:
        """Return the state."""


class _Kll(_Sketch, Protocol):
    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Yield the scores kept, each with how many it stands for."""

    def get_rank(self, value: float, inclusive: bool = ...) -> float:  # noqa: FBT001 (theirs)
        """Return the share of scores below, or at most, a value."""


class _Digest(_Sketch, Protocol):
    def get_rank(self, value: float) -> float:
        """Return the share of scores below a value, ties one half."""

    def get_quantile(self, rank: float) -> float:
        """Return the score below which that share lies."""


_S = TypeVar("_S", bound=_Sketch)


class _Pair(Peer, Generic[_S]):
    """Two sketches behind a function."""

    def __init__(self, make: Callable[[], _S]) -> None:
        self._pos, self._neg = make(), make()

    def update(self, label: int, score: float) -> None:
        """Give one event to the sketch of its class."""
        (self._pos if label else self._neg).update(score)

    def update_many(self, y_true: IntArray, y_score: FloatArray) -> None:
        """Give each sketch the scores of its class."""
        positive = y_true == 1
        self._pos.update(y_score[positive])
        self._neg.update(y_score[~positive])

    @abstractmethod
    def roc_auc(self) -> float:
        """Return the AUC of the two."""

    @property
    def nbytes(self) -> int:
        """Bytes of both, serialised."""
        return len(self._pos.serialize()) + len(self._neg.serialize())

    def entry(self) -> Callable[[int, float], object]:
        """Return a function that holds both methods."""
        pos, neg = self._pos.update, self._neg.update

        def update(label: int, score: float) -> None:
            if label:
                pos(score)
            else:
                neg(score)

        return update


class KllPair(_Pair[_Kll]):
    """Two KLL sketches of k = 200, their own default."""

    def __init__(self) -> None:
        sketch = import_module("datasketches").kll_doubles_sketch
        super().__init__(lambda: sketch(_KLL_K))

    def roc_auc(self) -> float:
        """Look up each score kept of the positives among the negatives."""
        rank = self._neg.get_rank
        area, total = 0.0, 0
        for score, count in self._pos:
            area += count * (rank(score) + rank(score, True))  # noqa: FBT003 (theirs)
            total += count
        return area / (2 * total)


class DigestPair(_Pair[_Digest]):
    """Two t-digests of k = 100."""

    def __init__(self) -> None:
        digest = import_module("datasketches").tdigest_double
        super().__init__(lambda: digest(_DIGEST_K))

    def roc_auc(self) -> float:
        """Look up quantiles of the positives among the negatives."""
        quantile, rank = self._pos.get_quantile, self._neg.get_rank
        middles = [(number + 0.5) / _N_QUANTILES for number in range(_N_QUANTILES)]
        return sum(rank(quantile(middle)) for middle in middles) / _N_QUANTILES


KINDS = (
    Kind(f"two KLL sketches, k = {_KLL_K}", "datasketches", "datasketches", KllPair),
    Kind(f"two t-digests, k = {_DIGEST_K}", "datasketches", "datasketches", DigestPair),
)
