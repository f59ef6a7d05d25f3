"""What became of every event that was offered."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

REASONS = ("score", "label", "timestamp", "weight", "key", "store")


@dataclass(frozen=True, slots=True)
class Stats:
    """Numbers of events; what was offered is the sum of accepted, rejected, expired and ahead.

    * `n_accepted`: counted, by `update` or as a prediction.
    * `n_rejected`: bad and left out (only with ``bad="skip"``), labels of predictions among
      them, by reason in `rejected`; ``store`` are predictions and labels for which there was no
      room while the store could not be written.
    * `n_expired`: older than every tier.
    * `n_ahead`: from too far in the future.

    Of the predictions, `n_predicted` is the sum of `n_labelled`, `n_open` and `n_abandoned`
    (whose label did not come in time, or for which there was no room). Besides:

    * `n_early`: labels that wait for their prediction.
    * `n_repeated_predictions`, `n_repeated_labels`: the same again, not counted again.
    * `n_changed_labels`: labels that replaced another; the count moved if there was one.
    * `n_dropped_labels`: labels for which there was no more room to wait for their prediction.
    * `n_late_labels`: labels that came when their prediction had been abandoned.
    """

    n_accepted: int = 0
    n_rejected: int = 0
    n_expired: int = 0
    n_ahead: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    n_predicted: int = 0
    n_labelled: int = 0
    n_open: int = 0
    n_abandoned: int = 0
    n_early: int = 0
    n_repeated_predictions: int = 0
    n_repeated_labels: int = 0
    n_changed_labels: int = 0
    n_dropped_labels: int = 0
    n_late_labels: int = 0

    @property
    def n_offered(self) -> int:
        """All events, repeated predictions apart."""
        return self.n_accepted + self.n_rejected + self.n_expired + self.n_ahead


# What is tallied under the name of the field, without its ``n_``.
_PLAIN = (
    "accepted",
    "expired",
    "ahead",
    "predicted",
    "labelled",
    "abandoned",
    "repeated_predictions",
    "repeated_labels",
    "changed_labels",
    "dropped_labels",
    "late_labels",
)


class Tallies:
    """The same numbers while they grow."""

    __slots__ = ("counts",)

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts: Counter[str] = Counter(counts or {})

    def add(self, counts: Mapping[str, int]) -> None:
        """Add to the numbers."""
        for name, number in counts.items():
            if number:  # so that states are alike in which the same happened
                self.counts[name] += number

    def stats(self, *, n_open: int = 0, n_early: int = 0) -> Stats:
        """Return the numbers as they are now."""
        rejected = {reason: self.counts[reason] for reason in REASONS if self.counts[reason]}
        return Stats(
            n_rejected=sum(rejected.values()),
            rejected=rejected,
            n_open=n_open,
            n_early=n_early,
            **{f"n_{name}": self.counts[name] for name in _PLAIN},
        )
