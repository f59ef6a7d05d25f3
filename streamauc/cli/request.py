"""What was asked of ``streamauc replay``."""

from dataclasses import dataclass
from pathlib import Path

from streamauc.cli.reading import ReadOptions
from streamauc.scale import Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """The options of the command, as they were given."""

    files: tuple[str, ...]
    score: str | None = None
    label: str | None = None
    time: str | None = None
    label_time: str | None = None
    weight: str | None = None
    positive: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    tz: str | None = None
    time_unit: str | None = None
    skip_bad: bool = False
    scale: str = "probability"
    bits: int = 7
    thresholds: tuple[float, ...] = ()
    window: str | None = None
    start: str | None = None
    end: str | None = None
    pane: str | None = None
    reference: str | None = None
    store: Path | None = None
    series: tuple[str, ...] = ()
    alike: str = "refuse"
    min_coverage: float = 0.95
    metrics: str | None = None
    verify: bool = False
    output: str = "table"
    plot: Path | None = None

    def make_scale(self) -> Scale:
        """Return the scale asked for; on the exact one every threshold is an edge already."""
        if self.scale == "exact":
            return Scale.exact()
        make = Scale.probability if self.scale == "probability" else Scale.real
        return make(bits=self.bits, thresholds=self.thresholds)

    def read_options(self, scale: Scale) -> ReadOptions:
        """Return what the reader has to know."""
        return ReadOptions(
            score=self.score,
            label=self.label,
            time=self.time,
            label_time=self.label_time,
            weight=self.weight,
            positive=self.positive,
            delimiter=self.delimiter,
            decimal=self.decimal,
            tz=self.tz,
            time_unit=self.time_unit,
            scores=(scale.low, scale.high),
            skip_bad=self.skip_bad,
        )
