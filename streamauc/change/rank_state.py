"""The whole state of a detector of ranks as the tables that `codec` writes.

Each of its tracks is written as a detector of its own, with the name of the track before the
names of the tables; settings and counters are the same for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from streamauc.change import detector_state
from streamauc.change.bets import NullMean
from streamauc.change.detector_state import AlarmRow, Snapshot
from streamauc.change.dispersion import Dispersion
from streamauc.change.rank_tables import Rows, histogram_from, histogram_rows
from streamauc.change.rank_track import Track
from streamauc.change.reference import LARGEST_COUNT, Baseline, Null
from streamauc.change.seen import Seen
from streamauc.change.settings import Settings
from streamauc.codec import DetectorState
from streamauc.histogram import ScoreHistogram

_T = TypeVar("_T")
_KEPT = "histogram "
# A counter that no other detector knows, so that none takes this one for its own.
_KIND = "detector of the "


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """Everything a detector of ranks is made of.

    * `kind`: what it looks at; `alarm`: the name of the track that moved, and how.
    * `kept`: histograms by name; `counters`: integers of its own by name.
    """

    kind: str
    settings: Settings
    seen: Seen
    tracks: Mapping[str, Track]
    alarm: tuple[str, AlarmRow] | None
    kept: Mapping[str, ScoreHistogram]
    counters: Mapping[str, int]


def pack(state: RankState) -> DetectorState:
    """Return a state as tables. O(n_ratios + history + n_bins)."""
    packed = {name: detector_state.pack(_snapshot(state, name)) for name in state.tracks}
    (first, *_) = packed.values()
    reals: dict[str, Rows] = {}
    marks: dict[str, Sequence[tuple[int, Sequence[float]]]] = {}
    for name, track in packed.items():
        reals |= {f"{name} {key}": rows for key, rows in track.reals.items()}
        marks |= {f"{name} {key}": rows for key, rows in track.marks.items()}
    reals |= {_KEPT + name: histogram_rows(kept) for name, kept in state.kept.items()}
    counters = {**first.counters, **state.counters, _KIND + state.kind: 1}
    return DetectorState(settings=first.settings, counters=counters, reals=reals, marks=marks)


def _snapshot(state: RankState, name: str) -> Snapshot:
    track, alarm = state.tracks[name], state.alarm
    null = Null(track.null.low, track.null.high, track.null.value)
    return Snapshot(
        settings=state.settings,
        baseline=Baseline((null,), Dispersion(), LARGEST_COUNT),
        seen=state.seen,
        mixture=track.mixture,
        counted=track.counted,
        alarm=alarm[1] if alarm is not None and alarm[0] == name else None,
        history=tuple(track.history),
    )


def unpack(
    found: DetectorState, *, kind: str, names: Sequence[str], counters: Sequence[str]
) -> RankState:
    """Return the state that `pack` was given, its `counters` as far as they were there.

    Raises ValueError for any other tables, and for another `kind`.
    """
    held = dict(found.counters)
    if held.pop(_KIND + kind, None) is None:
        raise ValueError(f"data must hold a detector of the {kind}, got another one")
    own = {name: held.pop(name) for name in counters if name in held}
    parts = {name: _part(replace(found, counters=held), f"{name} ") for name in names}
    alarms = [(name, part.alarm) for name, part in parts.items() if part.alarm is not None]
    settings = parts[names[0]].settings
    if len(alarms) > 1 or settings.season or settings.overdispersion != 1:
        raise ValueError("data is malformed: two alarms at once, seasons or overdispersion")
    return RankState(
        kind=kind,
        settings=settings,
        seen=parts[names[0]].seen,
        tracks={name: _track(part) for name, part in parts.items()},
        alarm=alarms[0] if alarms else None,
        kept={name: _kept(rows) for name, rows in _named(found.reals, _KEPT).items()},
        counters=own,
    )


def _part(found: DetectorState, prefix: str) -> Snapshot:
    reals, marks = _named(found.reals, prefix), _named(found.marks, prefix)
    return detector_state.unpack(replace(found, reals=reals, marks=marks))


def _named(tables: Mapping[str, _T], prefix: str) -> dict[str, _T]:
    return {
        key.removeprefix(prefix): rows for key, rows in tables.items() if key.startswith(prefix)
    }


def _track(part: Snapshot) -> Track:
    (null,) = part.baseline.nulls
    track = Track(NullMean(null.low, null.high, null.prevalence), part.settings)
    track.mixture, track.counted = part.mixture, part.counted
    track.history.extend(part.history)
    return track


def _kept(rows: Rows) -> ScoreHistogram:
    try:
        return histogram_from(rows)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"data is malformed: no histogram has {error}") from error
