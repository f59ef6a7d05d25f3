"""What a store knows of a series, and how it is written down as JSON."""

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from streamauc import tiers
from streamauc.scale import Scale
from streamauc.tiers import Tier, TierSpec, check_tiers

Classes = tuple[object, object]


class Lane(NamedTuple):
    """A channel in one tier: its number, and how many chunks it has, and their CRCs combined."""

    number: int
    n_chunks: int = 0
    mixed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A series as the store knows it.

    * `first`: the horizons, the index of each tier's oldest surviving pane.
    * `since`: when counting began, ``inf`` before that; `latest`: the largest time that a
      writer told, ``-inf`` before that.
    * `traced`: the change up to which `touched` has been trimmed.
    * `n_writers`: how many writers there are.
    * `lanes`: by channel, the lane of each tier.
    """

    scale: Scale
    tiers: tuple[Tier, ...]
    classes: Classes | None = None
    event_clock: bool = False
    first: tuple[int, ...] = ()
    since: float = math.inf
    latest: float = -math.inf
    traced: int = 0
    n_writers: int = 0
    lanes: Mapping[str, tuple[Lane, ...]] = field(default_factory=dict)

    @property
    def oldest(self) -> float:
        """Where the oldest pane that may survive begins; ``-inf`` when all are kept."""
        first = self.first[-1]
        return -math.inf if first == tiers.FOR_EVER else first * self.tiers[-1].pane_seconds

    def with_lanes(self, channel: str, lanes: tuple[Lane, ...]) -> "Facts":
        """Return the same facts with other lanes of a channel."""
        return replace(self, lanes={**self.lanes, channel: lanes})


def new_facts(
    scale: Scale, spans: tuple[Tier, ...], classes: Classes | None, *, event_clock: bool
) -> Facts:
    """Return the facts of a series without any event."""
    return Facts(
        scale=scale,
        tiers=spans,
        classes=classes,
        event_clock=event_clock,
        first=tuple(tiers.FOR_EVER for _ in spans),
    )


def spans_of(given: TierSpec | Sequence[Tier]) -> tuple[Tier, ...]:
    """Return tiers that were given as such or as (pane, keep). Raises ValueError for bad ones."""
    return check_tiers(
        [(one.pane_seconds, one.keep) if isinstance(one, Tier) else one for one in given]
    )


def check_labels(labels: Mapping[str, str]) -> str:
    """Return the labels of a series as JSON with sorted names.

    Raises TypeError unless names and values are text, ValueError without any label.
    """
    for name, value in labels.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"labels must map text to text, got {name!r}: {value!r}")
    if not labels:
        raise ValueError('labels must hold at least one label such as {"model": "fraud"}')
    return json.dumps(dict(labels), sort_keys=True, ensure_ascii=False)


def check_classes(classes: Iterable[object] | None) -> Classes | None:
    """Return the labels (negative, positive), which JSON must know, or None."""
    if classes is None:
        return None
    negative, positive = classes
    for name in (negative, positive):
        if not isinstance(name, str | int | float | bool | None):
            raise TypeError(f"classes must be text or numbers to be stored, got {name!r}")
    return negative, positive


def dump_settings(facts: Facts) -> str:
    """Return as JSON what stays as it is; what is infinite is null."""
    scale = facts.scale
    return _json(
        {
            "scale": {
                "kind": scale.kind,
                "bits": scale.bits,
                "thresholds": list(scale.thresholds),
            },
            "tiers": [[tier.pane_seconds, _finite(tier.keep)] for tier in facts.tiers],
            "classes": facts.classes,
            "event_clock": facts.event_clock,
        }
    )


def dump_state(facts: Facts) -> str:
    """Return as JSON what changes; what is infinite is null."""
    return _json(
        {
            "first": [None if one == tiers.FOR_EVER else one for one in facts.first],
            "since": _finite(facts.since),
            "latest": _finite(facts.latest),
            "traced": facts.traced,
            "writers": facts.n_writers,
            "lanes": {
                channel: [[lane.number, lane.n_chunks, lane.mixed] for lane in lanes]
                for channel, lanes in facts.lanes.items()
            },
        }
    )


# `json.dumps` would make one every time.
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def load_facts(settings: str, state: str) -> Facts:
    """Return facts from JSON. Raises ValueError, KeyError or TypeError for anything else."""
    found = json.loads(state)
    return replace(
        _settled(settings),
        first=tuple(tiers.FOR_EVER if one is None else one for one in found["first"]),
        since=math.inf if found["since"] is None else found["since"],
        latest=-math.inf if found["latest"] is None else found["latest"],
        traced=found["traced"],
        n_writers=found["writers"],
        lanes={
            channel: tuple(Lane(*lane) for lane in lanes)
            for channel, lanes in found["lanes"].items()
        },
    )


@functools.lru_cache(maxsize=1_024)  # they are the same at every write
def _settled(settings: str) -> Facts:
    found = json.loads(settings)
    classes = found["classes"]
    spans = [(pane, math.inf if keep is None else keep) for pane, keep in found["tiers"]]
    return new_facts(
        _scale(**found["scale"]),
        tuple(Tier(pane, keep) for pane, keep in spans),
        None if classes is None else (classes[0], classes[1]),
        event_clock=found["event_clock"],
    )


def _scale(kind: str, bits: int, thresholds: list[float]) -> Scale:
    if kind == "exact":
        return Scale.exact()
    make = {"probability": Scale.probability, "real": Scale.real}[kind]
    return make(bits=bits, thresholds=thresholds)
