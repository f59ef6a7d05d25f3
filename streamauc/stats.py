"""What became of every event that was offered."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

REASONS = ("score", "label", "timestamp", "weight")


@dataclass(frozen=True, slots=True)
class Stats:
    """Numbers of events; what was offered is the sum of the others.

    * `n_accepted`: counted.
    * `n_rejected`: bad and left out (only with ``bad="skip"``), by reason in `rejected`.
    * `n_expired`: older than every tier.
    * `n_ahead`: from too far in the future.
    """

    n_accepted: int
    n_rejected: int
    n_expired: int
    n_ahead: int
    rejected: Mapping[str, int]

    @property
    def n_offered(self) -> int:
        """All events."""
        return self.n_accepted + self.n_rejected + self.n_expired + self.n_ahead


class Tallies:
    """The same numbers while they grow."""

    __slots__ = ("counts",)

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts: Counter[str] = Counter(counts or {})

    def add(self, counts: Mapping[str, int]) -> None:
        """Add to the numbers."""
        for name, number in counts.items():
            self.counts[name] += number

    def stats(self) -> Stats:
        """Return the numbers as they are now."""
        rejected = {reason: self.counts[reason] for reason in REASONS if self.counts[reason]}
        return Stats(
            n_accepted=self.counts["accepted"],
            n_rejected=sum(rejected.values()),
            n_expired=self.counts["expired"],
            n_ahead=self.counts["ahead"],
            rejected=rejected,
        )
