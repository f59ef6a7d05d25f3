"""How a detector of the class ratio is set."""

import math
from dataclasses import dataclass

from streamauc import _check
from streamauc._time import Duration, duration

# Odds ratios upwards; downwards their reciprocals. A change is found while the grid holds a
# ratio up to about twice as far from 1 in the logarithm, so from 1.5 % on.
RATIOS = (1.03, 1.07, 1.15, 1.3, 1.7, 3.0)
ESTIMATE = 0.0
# Panes of evidence that may be kept.
_LONGEST_HISTORY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a `PrevalenceDetector` in plain numbers; times in seconds.

    `season` is 0 without one; `overdispersion` is `ESTIMATE` where the reference tells.
    """

    tolerance: float
    false_alarm_every: float
    pane_seconds: int
    level: float
    season: int
    phase: int
    overdispersion: float
    min_coverage: float
    stall_after: float
    history: int
    ratios: tuple[float, ...]

    def __post_init__(self) -> None:
        _check.integer("pane_seconds", self.pane_seconds, 1)
        _check.level(self.level)
        _check.integer("history", self.history, 0, _LONGEST_HISTORY)
        _within("tolerance", self.tolerance, 0.0, 1.0 - 1e-9, "in [0, 1)")
        _within("min_coverage", self.min_coverage, 0.0, 1.0, "in [0, 1]")
        if self.overdispersion != ESTIMATE:
            _within("overdispersion", self.overdispersion, 1.0, 1e15, 'at least 1, or "estimate"')
        self._check_times()
        self._check_ratios()

    def _check_times(self) -> None:
        pane = self.pane_seconds
        for name, value in (
            ("false_alarm_every", self.false_alarm_every),
            ("stall_after", self.stall_after),
        ):
            if not value >= pane:
                raise ValueError(f"{name} must be at least one pane of {pane} s, got {value!r}")
        if self.season % pane:
            raise ValueError(
                f"seasonal must be a multiple of a pane of {pane} s, got {self.season} s"
            )

    def _check_ratios(self) -> None:
        if not self.ratios or len(self.ratios) > 1000:
            raise ValueError(f"ratios must hold 1 to 1000 ratios, got {len(self.ratios)}")
        for index, ratio in enumerate(self.ratios):
            if not 1 < ratio <= 1e6:
                raise ValueError(f"ratios must be in (1, 1e6], got {ratio!r} at index {index}")

    @property
    def run_length(self) -> float:
        """The mean time to a false alarm that is promised, in panes."""
        return self.false_alarm_every / self.pane_seconds

    @property
    def season_panes(self) -> int:
        """Panes of a season; 1 without one."""
        return max(1, self.season // self.pane_seconds)

    @property
    def stall_panes(self) -> float:
        """Panes without anything to fold until the detector says that it is stalled."""
        return self.stall_after / self.pane_seconds

    @property
    def n_phases(self) -> int:
        """Phases of a season, unless the reference brings its own; 1 without a season.

        As long as `phase` says, or a pane each where that does not divide the season into
        whole panes.
        """
        fits = self.season % self.phase == 0 and self.phase % self.pane_seconds == 0
        return self.season // self.phase if self.season and fits else self.season_panes


def _within(name: str, value: float, low: float, high: float, meaning: str) -> None:
    if not low <= _check.number(name, value) <= high:
        raise ValueError(f"{name} must be {meaning}, got {value!r}")


def whole_seconds(name: str, value: Duration) -> int:
    """Return a length of time that is a whole number of seconds."""
    found = duration(name, value)
    if math.isinf(found) or found != int(found):
        raise ValueError(f"{name} must be a whole number of seconds, got {value!r}")
    return int(found)
