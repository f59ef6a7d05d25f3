"""What the metadata say of a series: its settings, its horizons, its writers, its rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamauc import tiers
from streamauc._time import MAX_TIME
from streamauc.cli.storing.records import Record
from streamauc.scale import Scale
from streamauc.store.catalogue import labels_of
from streamauc.store.documents import Json
from streamauc.store.facts import Classes, Facts, check_labels, new_facts, spans_of
from streamauc.store.writers import WriterInfo
from streamauc.tiers import Tier

_MAX_COUNT = 2**63 - 1
_MAX_ROWS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRecord:
    """A series of the file: its labels as JSON, and how many rows of counts it has.

    `facts` have no lanes; `channels` name those that it has, in their order.
    """

    labels: str
    facts: Facts
    channels: tuple[str, ...]
    writers: tuple[WriterInfo, ...]
    n_rows: int

    @property
    def names(self) -> Mapping[str, str]:
        """The labels by name."""
        return labels_of(self.labels)


def dump_series(series: SeriesRecord) -> dict[str, Json]:
    """Return a series as values for JSON; what is infinite is null."""
    facts = series.facts
    scale = facts.scale
    return {
        "labels": dict(series.names),
        "scale": {
            "kind": scale.kind,
            "bits": scale.bits,
            "thresholds": list(scale.thresholds),
        },
        "tiers": [[tier.pane_seconds, _finite(tier.keep)] for tier in facts.tiers],
        "classes": None if facts.classes is None else [_scalar(name) for name in facts.classes],
        "event_clock": facts.event_clock,
        "first": [None if one == tiers.FOR_EVER else one for one in facts.first],
        "since": _finite(facts.since),
        "latest": _finite(facts.latest),
        "channels": list(series.channels),
        "writers": [_dump_writer(writer) for writer in series.writers],
        "n_rows": series.n_rows,
    }


def _dump_writer(writer: WriterInfo) -> dict[str, Json]:
    return {
        "id": writer.id,
        "started": writer.started,
        "flushed": writer.flushed,
        "closed": writer.closed,
        "tallies": dict(writer.tallies),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _scalar(value: object) -> Json:
    if not isinstance(value, str | int | float | bool | None):
        raise TypeError(f"classes must be text or numbers, got {value!r}")
    return value


def load_series(record: Record) -> SeriesRecord:
    """Return a series that was written down. Raises ValueError for anything else."""
    spans = _tiers(record)
    writers = tuple(map(_writer, record.records("writers")))
    since, latest = (record.real_or_none(name, MAX_TIME) for name in ("since", "latest"))
    if len({writer.id for writer in writers}) != len(writers):
        raise record.fault("writers", "different ones")
    if not writers and (since, latest) != (None, None):
        raise record.fault("writers", "those who told since and latest")
    facts = new_facts(
        _scale(record.record("scale")),
        spans,
        _classes(record),
        event_clock=record.flag("event_clock"),
    )
    return SeriesRecord(
        labels=_labels(record.record("labels")),
        facts=Facts(
            scale=facts.scale,
            tiers=spans,
            classes=facts.classes,
            event_clock=facts.event_clock,
            first=_first(record, spans),
            since=math.inf if since is None else since,
            latest=-math.inf if latest is None else latest,
        ),
        channels=tuple(record.texts("channels")),
        writers=writers,
        n_rows=record.integer("n_rows", 0, _MAX_ROWS),
    )


def _labels(record: Record) -> str:
    try:
        return check_labels({name: record.text(name) for name in record.names()})
    except ValueError as error:
        raise ValueError(f"{record.where}: {error}") from error


def _scale(record: Record) -> Scale:
    kind, bits = record.text("kind"), record.integer("bits", 1, 64)
    thresholds = record.reals("thresholds", math.inf)
    if kind == "exact":
        return Scale.exact()
    makers = {"probability": Scale.probability, "real": Scale.real}
    if kind not in makers:
        raise record.fault("kind", "probability, real or exact")
    try:
        scale = makers[kind](bits=bits, thresholds=thresholds)
    except ValueError as error:
        raise ValueError(f"{record.where}: {error}") from error
    if list(scale.thresholds) != thresholds:
        raise record.fault("thresholds", "rising")
    return scale


def _tiers(record: Record) -> tuple[Tier, ...]:
    found = []
    for one in record.items("tiers"):
        if not (isinstance(one, list) and len(one) == 2 and type(one[0]) is int):
            raise record.fault("tiers", "a list of [seconds, seconds kept]")
        keep = math.inf if one[1] is None else one[1]
        if not isinstance(keep, int | float) or not 0 < one[0] <= MAX_TIME:
            raise record.fault("tiers", "a list of [seconds, seconds kept]")
        found.append(Tier(one[0], keep))
    try:
        return spans_of(found)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{record.where}: {error}") from error


def _classes(record: Record) -> Classes | None:
    found = record.value("classes")
    if found is None:
        return None
    is_pair = isinstance(found, list) and len(found) == 2 and found[0] != found[1]
    if not is_pair or any(isinstance(name, list | dict) for name in record.items("classes")):
        raise record.fault("classes", "two different labels, or null")
    negative, positive = record.items("classes")
    return negative, positive


def _first(record: Record, spans: Sequence[Tier]) -> tuple[int, ...]:
    """Return the horizons: each begins a pane of the next coarser tier, finer ones lie later."""
    first: list[int] = []
    for one in record.items("first"):
        if one is None:
            first.append(tiers.FOR_EVER)
        elif isinstance(one, int) and not isinstance(one, bool) and abs(one) <= MAX_TIME:
            first.append(one)
        else:
            raise record.fault("first", "a list of pane numbers and nulls")
    if len(first) != len(spans):
        raise record.fault("first", f"one pane number or null for each of {len(spans)} tiers")
    begins = [index * tier.pane_seconds for index, tier in zip(first, spans, strict=True)]
    for number, (index, begin) in enumerate(zip(first, begins, strict=True)):
        if index == tiers.FOR_EVER or number + 1 == len(spans):
            continue
        coarse = spans[number + 1].pane_seconds
        if begin % coarse or (first[number + 1] != tiers.FOR_EVER and begins[number + 1] > begin):
            raise record.fault("first", "where panes of the next coarser tier begin, finest last")
    return tuple(first)


def _writer(record: Record) -> WriterInfo:
    closed = record.real_or_none("closed", math.inf)
    started, flushed = (record.real(name, math.inf) for name in ("started", "flushed"))
    if started > flushed or (closed is not None and closed > flushed):
        raise record.fault("flushed", "at or after started and closed")
    tallies = record.record("tallies").integers(_MAX_COUNT)
    if 0 in tallies.values():
        raise record.fault("tallies", "numbers other than 0")
    return WriterInfo(record.text("id"), started, flushed, closed, tallies)
