"""One mean of ranks, followed pane by pane: the evidence against its null."""

from collections import deque

from streamauc.change.bets import Bets, NullMean, Parts
from streamauc.change.evidence import Mixture
from streamauc.change.settings import Settings


class Track:
    """Bets on a mean, what they have won, and what they were told.

    * `mixture`: the evidence; `rises` says on which side it is stronger, `evidence` how much
      there is on that side.
    * `counted`: how many events were folded, and the sum of their values.
    * `history`: a pane and the evidence upwards and downwards after it, for the last panes.
    """

    __slots__ = ("bets", "counted", "history", "mixture", "null")

    def __init__(self, null: NullMean, settings: Settings) -> None:
        self.null = null
        self.bets = Bets(null, settings.ratios, settings.run_length)
        self.history: deque[tuple[int, float, float]] = deque(maxlen=settings.history)
        self.forget()

    def forget(self) -> None:
        """Start the evidence anew; the history stays."""
        # Ratios upwards, and as many downwards.
        self.mixture = Mixture.fresh(self.bets.n_ratios)
        self.counted = (0.0, 0.0)

    def fold(self, pane: int, parts: Parts, n: float) -> None:
        """Take in the parts of one pane, or of several from `pane` on, of `n` events."""
        gains, weights = self.bets.gains(parts), self.bets.weights(parts)
        self.mixture.fold(gains, weights, (pane, *self.counted))
        self.counted = (self.counted[0] + n, self.counted[1] + n * parts.mean)

    def note(self, pane: int) -> None:
        """Keep what evidence there is after a pane."""
        self.history.append((pane, self.mixture.up, self.mixture.down))

    @property
    def evidence(self) -> float:
        """The sum of the evidence on the stronger side."""
        return max(self.mixture.up, self.mixture.down)

    @property
    def rises(self) -> bool:
        """Whether the stronger side is that upwards."""
        return self.mixture.up >= self.mixture.down

    def since_start(self) -> tuple[int, float, float]:
        """Return where the likeliest change began, how many events since, and their mean.

        The mean is the null's where these events are too few to be seen beside those before.
        """
        began, n, total = self.mixture.start(upwards=self.rises)
        n, total = self.counted[0] - n, self.counted[1] - total
        return began, n, min(1.0, max(0.0, total / n)) if n > 0 else self.null.value
