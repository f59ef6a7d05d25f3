"""Histograms and series as bytes."""

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from streamauc._check import plain
from streamauc._time import MAX_TIME
from streamauc.codec.fields import Reader, Writer
from streamauc.codec.message import HISTOGRAM, SERIES, seal, unseal
from streamauc.scale import Scale
from streamauc.storage import WideCounts


@dataclass(frozen=True, slots=True)
class JoinState:
    """What waits for a label, for a prediction, or to be recognised when it comes again.

    `opened` hold (key, time + score j), `early` (key, label), `closed` (key, time + score j,
    label); the label of a prediction that was abandoned is ``nan``.
    """

    opened: Sequence[tuple[Hashable, complex]] = ()
    early: Sequence[tuple[Hashable, float]] = ()
    closed: Sequence[tuple[Hashable, complex, float]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesState:
    """A series as it is written down: its settings, its tallies and every surviving pane.

    `panes` hold (channel, tier, pane index, counts); `tallies` map names to event counts.
    """

    scale: Scale
    event_clock: bool
    tiers: tuple[tuple[int, float], ...]
    classes: tuple[object, object] | None
    observed_since: float
    latest: float
    horizons: tuple[int, ...]
    tallies: Mapping[str, int]
    join: JoinState = field(default_factory=JoinState, repr=False)
    panes: Sequence[tuple[str, int, int, WideCounts]] = field(repr=False)


def encode_histogram(scale: Scale, counts: WideCounts) -> bytes:
    """Return a histogram as bytes. O(n_bins)."""
    body = Writer()
    body.scale(scale)
    body.counts(counts)
    return seal(HISTOGRAM, body.done())


def decode_histogram(data: bytes) -> tuple[Scale, WideCounts]:
    """Return what `encode_histogram` was given. Raises ValueError for anything else."""
    body = Reader(unseal(HISTOGRAM, data))
    scale = body.scale()
    counts = body.counts(scale)
    body.end()
    return scale, counts


def encode_series(state: SeriesState) -> bytes:
    """Return a series as bytes. O(total number of bins)."""
    body = Writer()
    body.scale(state.scale)
    body.byte(state.event_clock)
    body.number(len(state.tiers))
    for pane_seconds, keep in state.tiers:
        body.number(pane_seconds)
        body.real(keep)
    body.text(json.dumps(state.classes))
    body.real(state.observed_since)
    body.real(state.latest)
    for horizon in state.horizons:
        body.signed(horizon)
    body.text(json.dumps(dict(state.tallies)))
    _write_join(body, state.join)
    body.number(len(state.panes))
    for channel, tier, index, counts in state.panes:
        body.text(channel)
        body.number(tier)
        body.signed(index)
        body.counts(counts)
    return seal(SERIES, body.done())


def decode_series(data: bytes) -> SeriesState:
    """Return what `encode_series` was given. Raises ValueError for anything else."""
    body = Reader(unseal(SERIES, data))
    scale = body.scale()
    event_clock = body.byte() == 1
    tiers = tuple((body.number(), body.real()) for _ in range(body.length()))
    classes = body.classes()
    observed_since, latest = body.real(), body.real()
    horizons = tuple(body.signed() for _ in tiers)
    tallies = body.tallies()
    join = _read_join(body, scale)
    panes = [
        (body.text(), body.below(len(tiers)), body.signed(), body.counts(scale))
        for _ in range(body.length())
    ]
    body.end()
    return SeriesState(
        scale=scale,
        event_clock=event_clock,
        tiers=tiers,
        classes=classes,
        observed_since=observed_since,
        latest=latest,
        horizons=horizons,
        tallies=tallies,
        join=join,
        panes=panes,
    )


def _write_join(body: Writer, join: JoinState) -> None:
    """Write the keys of each kind as a JSON list, and behind it the numbers, entry by entry."""
    body.key_list([plain(key) for key, _ in join.opened])
    for _, placed in join.opened:
        body.real(placed.real)
        body.real(placed.imag)
    body.key_list([plain(key) for key, _ in join.early])
    for _, label in join.early:
        body.real(label)
    body.key_list([plain(key) for key, _, _ in join.closed])
    for _, placed, label in join.closed:
        body.real(placed.real)
        body.real(placed.imag)
        body.real(label)


def _read_join(body: Reader, scale: Scale) -> JoinState:
    return JoinState(
        opened=tuple((key, _placed(body, scale)) for key in body.key_list()),
        early=tuple((key, _label(body)) for key in body.key_list()),
        closed=tuple(
            (key, _placed(body, scale), _label(body, or_none=True)) for key in body.key_list()
        ),
    )


def _placed(body: Reader, scale: Scale) -> complex:
    moment, score = body.real(), body.real()
    if not (abs(moment) <= MAX_TIME and scale.low <= score <= scale.high):
        raise ValueError(f"data is malformed: no prediction has score {score!r} at {moment!r}")
    return complex(moment, score)


def _label(body: Reader, *, or_none: bool = False) -> float:
    label = body.real()
    if label not in (0, 1) and not (or_none and math.isnan(label)):
        raise ValueError(f"data is malformed: {label!r} is no label")
    return label
