"""The whole state of a detector as the tables that `codec` writes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from streamauc.change.dispersion import Dispersion
from streamauc.change.evidence import CEILING, Mark, Mixture
from streamauc.change.reference import Baseline, Null
from streamauc.change.seen import Seen
from streamauc.change.settings import Settings
from streamauc.codec import DetectorState

AlarmRow = tuple[int, int, bool, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything a detector is made of; `counted` are the positives and the events folded."""

    settings: Settings
    baseline: Baseline
    seen: Seen
    mixture: Mixture
    counted: tuple[float, float]
    alarm: AlarmRow | None
    history: tuple[tuple[int, float, float], ...]


def pack(snapshot: Snapshot) -> DetectorState:
    """Return a snapshot as tables. O(n_phases + n_ratios + history)."""
    settings, baseline = snapshot.settings, snapshot.baseline
    scalars = {
        field.name: float(getattr(settings, field.name))
        for field in fields(settings)
        if field.name != "ratios"
    }
    counters = {field.name: getattr(snapshot.seen, field.name) for field in fields(snapshot.seen)}
    spread = baseline.dispersion
    reals: dict[str, Sequence[Sequence[float]]] = {
        "ratios": [settings.ratios],
        "nulls": [(null.low, null.high, null.prevalence) for null in baseline.nulls],
        "baseline": [(spread.factor, spread.correlation, baseline.typical)],
        "counted": [snapshot.counted],
    }
    marks: dict[str, Sequence[tuple[int, Sequence[float]]]] = {
        "mixture": _mixture_rows(snapshot.mixture),
        "history": [(pane, (up, down)) for pane, up, down in snapshot.history],
    }
    if snapshot.alarm is not None:
        pane, began, rises, n_pos, n_neg = snapshot.alarm
        marks["alarm"] = [(pane, (float(rises), n_pos, n_neg)), (began, ())]
    present = {name: count for name, count in counters.items() if count is not None}
    return DetectorState(settings=scalars, counters=present, reals=reals, marks=marks)


def _mixture_rows(mixture: Mixture) -> list[tuple[int, Sequence[float]]]:
    return [
        (start[0], (value, path, *start[1:]))
        for value, path, start in zip(mixture.values, mixture.paths, mixture.starts, strict=True)
    ]


def unpack(state: DetectorState) -> Snapshot:
    """Return the snapshot that `pack` was given. Raises ValueError for any other tables."""
    try:
        return _snapshot(state)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"data is malformed: no detector has {error}") from error


def _snapshot(state: DetectorState) -> Snapshot:
    settings = _settings(state)
    baseline = _baseline(state.reals, settings)
    ((n_pos, n),) = state.reals["counted"]
    return Snapshot(
        settings=settings,
        baseline=baseline,
        seen=Seen(**state.counters),
        mixture=_mixture(state.marks["mixture"], 2 * len(settings.ratios)),
        counted=(_count(n_pos), _count(n)),
        alarm=_alarm(state.marks.get("alarm")),
        history=tuple((pane, *_pair(row)) for pane, row in state.marks["history"]),
    )


def _settings(state: DetectorState) -> Settings:
    found = state.settings
    (ratios,) = state.reals["ratios"]
    return Settings(
        tolerance=found["tolerance"],
        false_alarm_every=found["false_alarm_every"],
        pane_seconds=int(found["pane_seconds"]),
        level=found["level"],
        season=int(found["season"]),
        phase=int(found["phase"]),
        overdispersion=found["overdispersion"],
        min_coverage=found["min_coverage"],
        stall_after=found["stall_after"],
        history=int(found["history"]),
        ratios=tuple(ratios),
    )


def _baseline(reals: Mapping[str, Sequence[Sequence[float]]], settings: Settings) -> Baseline:
    nulls = tuple(_null(row) for row in reals["nulls"])
    ((factor, correlation, typical),) = reals["baseline"]
    if not nulls or settings.season_panes % len(nulls):
        raise ValueError(f"data is malformed: {len(nulls)} phases in a season")
    if not (factor >= 0 and 0 <= correlation <= 1 and typical >= 0):
        raise ValueError("data is malformed: no detector has such a dispersion")
    return Baseline(nulls, Dispersion(factor, correlation), typical)


def _null(row: Sequence[float]) -> Null:
    low, high, prevalence = row
    if not 0 <= low <= high <= 1:
        raise ValueError(f"data is malformed: the null is from {low!r} to {high!r}")
    return Null(low, high, prevalence)


def _mixture(rows: Sequence[tuple[int, Sequence[float]]], n_ratios: int) -> Mixture:
    values, paths, starts = [], [], list[Mark]()
    for pane, (value, path, n_pos, n) in rows:
        if not 0 <= value <= CEILING or not math.isfinite(path):
            raise ValueError(f"data is malformed: evidence of {value!r} and {path!r}")
        values.append(value)
        paths.append(path)
        starts.append((pane, _count(n_pos), _count(n)))
    if len(values) != n_ratios:
        raise ValueError(f"data is malformed: {len(values)} values for {n_ratios} ratios")
    return Mixture(values, paths, starts)


def _alarm(rows: Sequence[tuple[int, Sequence[float]]] | None) -> AlarmRow | None:
    if rows is None:
        return None
    (pane, (rises, n_pos, n_neg)), (began, ()) = rows
    return pane, began, rises == 1, _count(n_pos), _count(n_neg)


def _pair(row: Sequence[float]) -> tuple[float, float]:
    up, down = row
    return up, down


def _count(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"data is malformed: a count of {value!r}")
    return value
