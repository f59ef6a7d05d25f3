"""What a store of open predictions and waiting labels does, wherever its entries lie.

A prediction is given as one complex number, its time the real and its score the imaginary part.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamauc.codec import JoinState


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What predictions did: `new` ones, and `pairs` of some with a label that had waited."""

    new: Sequence[complex]
    pairs: Sequence[tuple[complex, float]] = ()
    n_repeated: int = 0
    n_abandoned: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """What labels did: `pairs` of predictions with theirs, and `moved` from one to another.

    Of the labels that wait for a prediction, `n_replaced` took the place of another one and
    `n_dropped` had to go for want of room.
    """

    pairs: Sequence[tuple[complex, float]] = ()
    moved: Sequence[tuple[complex, float, float]] = ()
    n_repeated: int = 0
    n_replaced: int = 0
    n_dropped: int = 0
    n_late: int = 0
    n_abandoned: int = 0


class JoinStore(Protocol):
    """Keeps open predictions, early labels and closed keys, each bounded, oldest out first.

    Each call is one atomic step. Of a prediction and its label, whichever step comes second
    returns the pair, and no other step does; so it makes no difference which process takes
    which, nor in which order.
    """

    def predict(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        """Take predictions in; a key that is known is a repetition and changes nothing."""

    def resolve(self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float) -> Closed:
        """Take labels in; a prediction from before `oldest` is abandoned instead of joined."""

    def expire(self, oldest: float) -> int:
        """Abandon open predictions from before `oldest`, in order of arrival; return how many.

        It ends at the first that is not so old: one that arrived behind it waits for its turn.
        """

    def remember(self, closed: Sequence[tuple[Hashable, complex, float]]) -> Closed:
        """Take in keys that were closed elsewhere; return what became of them and of ours.

        A prediction that is open here was closed there, and is abandoned; a label that waits
        here came for one of theirs, once more or changed.
        """

    def state(self) -> JoinState:
        """Return all entries."""

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""
