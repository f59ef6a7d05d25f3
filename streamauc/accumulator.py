"""Mutable sums of histograms: `Tally` for what is already counted, `Accumulator` for events."""

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check, storage
from streamauc.histogram import ScoreHistogram, check_classes, check_weights, count_events
from streamauc.scale import Scale
from streamauc.storage import Storage

# Parts are only put on a pile until the pile outweighs the sum; each byte is then merged a
# bounded number of times.
_PILE_BYTES = 131_072
# What a tally that nothing is added to for a while may keep unmerged.
_IDLE_PILE_BYTES = 4_096
_BUFFERED = 4_096


class Tally:
    """A growing sum of counts on one scale; a part is added in amortised O(its size).

    New parts are put on a pile, which is merged into the sum when it outweighs it.
    """

    __slots__ = ("_answer", "_pile", "_pile_bytes", "_sum", "n_classes", "scale")

    def __init__(self, scale: Scale, n_classes: int = 2) -> None:
        self.scale = scale
        self.n_classes = n_classes
        self._sum: Storage | None = None
        self._pile: list[Storage] = []
        self._pile_bytes = 0
        self._answer: tuple[ScoreHistogram, ...] | None = None

    def add(self, part: Storage) -> None:
        """Add counts; the arrays in `part` are kept and must not be written to afterwards."""
        self._pile.append(part)
        self._pile_bytes += part.nbytes
        self._answer = None
        if self._pile_bytes > max(_PILE_BYTES, 2 * self._sum_bytes):
            self._merge()

    def absorb(self, other: "Tally") -> None:
        """Add all that another tally holds, which nobody may add to afterwards."""
        for part in other._parts():
            self.add(part)

    def remove(self, part: Storage) -> None:
        """Take back counts that were added. O(size of the sum)."""
        self._pile.append(storage.negated(part))
        self._merge()

    def parts(self) -> tuple[ScoreHistogram, ...]:
        """Return histograms that add up to the sum so far, without merging large ones.

        One or two; the same objects until more is added.
        """
        if self._answer is None:
            if len(self._pile) > 1:
                self._pile = [storage.merge(self._pile, self.n_classes)]
            self._answer = tuple(
                ScoreHistogram(self.scale, part, self.n_classes) for part in self._parts()
            )
        return self._answer

    def histogram(self) -> ScoreHistogram:
        """Return the sum so far, in its smallest form."""
        if self._pile:
            self._merge()
        return self.parts()[0] if self._sum else ScoreHistogram.empty(self.scale, self.n_classes)

    def settle(self) -> None:
        """Make the counts small, now that little more will be added."""
        if self._pile_bytes > _IDLE_PILE_BYTES:
            self._merge()

    @property
    def nbytes(self) -> int:
        """Bytes held by the counts."""
        return self._sum_bytes + sum(part.nbytes for part in self._pile)

    @property
    def _sum_bytes(self) -> int:
        return 0 if self._sum is None else self._sum.nbytes

    def _parts(self) -> list[Storage]:
        return self._pile if self._sum is None else [self._sum, *self._pile]

    def _merge(self) -> None:
        merged = storage.merge(self._parts(), self.n_classes)
        self._sum = storage.compact(merged, storage.key_type(self.scale.n_bins, self.n_classes))
        self._pile = []
        self._pile_bytes = 0
        self._answer = None


class Accumulator:
    """Counts events one at a time or in batches; `histogram` answers at any moment.

    Not safe for threads; `Monitor` is.

    >>> acc = Accumulator(Scale.probability())
    >>> acc.update(1, 0.9)
    >>> acc.update_many([0, 1], [0.2, 0.9])
    >>> acc.histogram().totals
    array([1, 2])
    """

    def __init__(self, scale: Scale, *, n_classes: int = 2) -> None:
        self.scale = scale
        self.n_classes = _check.integer("n_classes", n_classes, 1)
        self._tally = Tally(scale, n_classes)
        self._labels: list[int] = []
        self._scores: list[float] = []

    def update(self, label: int, score: float, weight: float = 1) -> None:
        """Count one event. Amortised O(1)."""
        if weight != 1:
            self.update_many([label], [score], [weight])
            return
        # A float32 is widened first: compared in its own width, infinity passes for the largest.
        value = score if type(score) is float else _check.number("score", score)
        if not self.scale.low <= value <= self.scale.high:
            raise ValueError(self.scale.fault("score", value))
        if label not in range(self.n_classes):
            raise ValueError(
                f"label must be an integer from 0 to {self.n_classes - 1},"
                f" got {_check.plain(label)!r}"
            )
        self._labels.append(label)
        self._scores.append(value)
        if len(self._scores) >= _BUFFERED:
            self._fold()

    def update_many(
        self, y_true: ArrayLike, y_score: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        """Count a batch; arguments as for `ScoreHistogram.from_scores`. O(n_samples)."""
        classes = check_classes(y_true, self.n_classes)
        scores = self.scale.check(y_score)
        factors = None if weights is None else check_weights(weights)
        _check.same_length(y_true=classes, y_score=scores, weights=factors)
        self._tally.add(count_events(self.scale, self.n_classes, classes, scores, factors))

    def merge(self, histogram: ScoreHistogram) -> None:
        """Add the events of a histogram on a scale at least as fine as this one."""
        if histogram.n_classes != self.n_classes:
            raise ValueError(
                f"histogram must have {self.n_classes} classes, got {histogram.n_classes}"
            )
        self._tally.add(histogram.rebinned(self.scale).stored)

    def histogram(self) -> ScoreHistogram:
        """Return the events so far."""
        self._fold()
        return self._tally.histogram()

    def _fold(self) -> None:
        if not self._scores:
            return
        classes = np.array(self._labels, dtype=np.int64)
        scores = np.array(self._scores, dtype=np.float64)
        self._labels.clear()
        self._scores.clear()
        self._tally.add(count_events(self.scale, self.n_classes, classes, scores))
