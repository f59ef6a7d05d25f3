"""Pane arithmetic: which panes there are, which survive, and which answer a question.

Pure functions of integers. A pane of tier k is ``[i * pane_seconds, (i + 1) * pane_seconds)``.
An event is kept in the finest pane that survives at its time; coarser panes are sums of finer
ones, and when the children of a pane expire, all together, their sum takes their place. So
every keeper of panes, in memory or on disk, answers alike.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc._time import Duration, duration
from streamauc.histogram import ScoreHistogram
from streamauc.storage import Storage

# Stands for the first pane of a tier that never lets one expire.
FOR_EVER = -(2**62)

TierSpec = Sequence[tuple[Duration, Duration]]


@dataclass(frozen=True, slots=True)
class Tier:
    """Panes of `pane_seconds`, each kept for at least `keep` seconds; ``inf`` keeps all."""

    pane_seconds: int
    keep: float


@dataclass(frozen=True, slots=True)
class Run:
    """Whole panes of one tier, from `first` up to, not including, `stop`."""

    tier: int
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Cover:
    """What answers a question about [start, end): disjoint histograms and the span they fill.

    `expired` says that the question began before the oldest pane that survives.
    """

    start: float
    end: float
    parts: tuple[ScoreHistogram, ...]
    expired: bool


class PaneKeeper(Protocol):
    """Keeps the panes of one series."""

    def add(self, channel: str, panes: Iterable[tuple[int, Storage]]) -> None:
        """Count events in panes of the finest tier, given by index."""

    def advance(self, now: float) -> None:
        """Let panes expire that are too old at `now`."""

    def cover(self, channel: str, start: float, end: float) -> Cover:
        """Return the smallest union of surviving panes that covers [start, end)."""


def check_tiers(tiers: TierSpec) -> tuple[Tier, ...]:
    """Return tiers from finest to coarsest.

    Each pane must be a whole number of seconds and of the finer tier's panes, and each tier
    must be kept longer than the finer one. Raises ValueError otherwise.
    """
    if not tiers:
        raise ValueError("tiers must hold at least one (pane, keep), got none")
    found = [_tier(pane, keep) for pane, keep in tiers]
    for fine, coarse in pairwise(found):
        if coarse.pane_seconds % fine.pane_seconds or coarse.pane_seconds == fine.pane_seconds:
            raise ValueError(
                f"tiers must nest: a pane of {coarse.pane_seconds} s is no multiple of one of"
                f" {fine.pane_seconds} s"
            )
        if not coarse.keep > fine.keep:
            raise ValueError(
                f"tiers must be kept longer the coarser they are, got {coarse.keep:g} s after"
                f" {fine.keep:g} s"
            )
    return tuple(found)


def _tier(pane: Duration, keep: Duration) -> Tier:
    seconds, kept = duration("pane", pane), duration("keep", keep)
    if not seconds.is_integer():
        raise ValueError(f"pane must be a whole number of seconds, got {seconds!r}")
    if kept < seconds:
        raise ValueError(f"keep must be at least one pane of {seconds:g} s, got {kept:g} s")
    return Tier(int(seconds), kept)


def pane_of(moment: float, pane_seconds: int) -> int:
    """Return the index of the pane that holds `moment`, exactly."""
    return math.floor(moment // pane_seconds)


def floor(moment: float, pane_seconds: int) -> float:
    """Return where the pane that holds `moment` begins; infinite moments as they are."""
    return moment if math.isinf(moment) else float(pane_of(moment, pane_seconds) * pane_seconds)


def panes_of(timestamps: FloatArray, pane_seconds: int) -> IntArray:
    """Return the index of the pane that holds each time, exactly; shape (n_samples,)."""
    index = np.floor(timestamps / pane_seconds)
    # The quotient may have been rounded up to the next whole number.
    index -= index * pane_seconds > timestamps
    return index.astype(np.int64)


def first_panes(tiers: Sequence[Tier], now: float) -> tuple[int, ...]:
    """Return the index of each tier's oldest surviving pane at `now`.

    Children of a pane expire together: a tier's first pane begins a pane of the next coarser
    tier. A tier that is kept for ever has no oldest pane, and a very small number stands here.
    """
    return tuple(_first_pane(tier, parent, now) for tier, parent in _with_parents(tiers))


def next_expiry(tiers: Sequence[Tier], now: float) -> float:
    """Return the time until which `first_panes` stays as it is at `now`."""
    return min(
        (_oldest_parent(tier, parent, now) + 1) * parent + tier.keep
        if tier.keep < math.inf
        else math.inf
        for tier, parent in _with_parents(tiers)
    )


def _with_parents(tiers: Sequence[Tier]) -> Iterator[tuple[Tier, int]]:
    """Yield each tier with the pane of the next coarser one, the coarsest with its own."""
    parents = [tier.pane_seconds for tier in tiers[1:]] + [tiers[-1].pane_seconds]
    return zip(tiers, parents, strict=True)


def _first_pane(tier: Tier, parent: int, now: float) -> int:
    if now - tier.keep == -math.inf:
        return FOR_EVER
    return _oldest_parent(tier, parent, now) * (parent // tier.pane_seconds)


def _oldest_parent(tier: Tier, parent: int, now: float) -> int:
    index = pane_of(now - tier.keep, parent)
    # The difference may have been rounded up to where the next pane begins.
    return index - (index * parent + tier.keep > now)


def is_expired(moment: float, now: float, tier: Tier) -> bool:
    """Return whether the pane of the coarsest tier that holds `moment` has expired by `now`."""
    return pane_of(moment, tier.pane_seconds) < _first_pane(tier, tier.pane_seconds, now)


def are_expired(timestamps: FloatArray, now: FloatArray, tier: Tier) -> BoolArray:
    """Return `is_expired` for each time, by the time it then was; shape (n_samples,)."""
    oldest = now - tier.keep
    known = oldest > -math.inf  # before the first event there is no time to be too late by
    first = panes_of(np.where(known, oldest, 0.0), tier.pane_seconds)
    first -= first * tier.pane_seconds + tier.keep > now
    return known & (panes_of(timestamps, tier.pane_seconds) < first)


def home_of(tiers: Sequence[Tier], first: Sequence[int], pane: int) -> tuple[int, int] | None:
    """Return the (tier, index) of the finest surviving pane that holds a pane of the finest tier.

    None if it is older than every tier.
    """
    begin = pane * tiers[0].pane_seconds
    for number, tier in enumerate(tiers):
        index = begin // tier.pane_seconds
        if index >= first[number]:
            return number, index
    return None


def round_out(
    tiers: Sequence[Tier], first: Sequence[int], start: float, end: float
) -> tuple[int, int]:
    """Return the span of the smallest union of surviving panes that covers [start, end).

    What is older than every pane cannot be covered: there the span is that of the coarsest
    panes that once were.
    """
    low = snap(tiers, first, start)
    if end <= start:
        return low, low
    tier = _finest_at(tiers, first, math.nextafter(end, -math.inf))
    seconds = tiers[tier].pane_seconds
    return low, -pane_of(-end, seconds) * seconds


def snap(tiers: Sequence[Tier], first: Sequence[int], moment: float) -> int:
    """Return where the finest surviving pane that holds `moment` begins."""
    seconds = tiers[_finest_at(tiers, first, moment)].pane_seconds
    return pane_of(moment, seconds) * seconds


def _finest_at(tiers: Sequence[Tier], first: Sequence[int], moment: float) -> int:
    for number, tier in enumerate(tiers):
        if moment >= first[number] * tier.pane_seconds:
            return number
    return len(tiers) - 1


def runs(tiers: Sequence[Tier], start: int, end: int) -> list[Run]:
    """Return disjoint runs of the largest panes that fit, which fill [start, end) exactly.

    The ends must be those of surviving panes, as `round_out` gives them.
    """
    return _runs(tiers, len(tiers) - 1, start, end)


def _runs(tiers: Sequence[Tier], number: int, start: int, end: int) -> list[Run]:
    if start >= end or number < 0:
        return []
    seconds = tiers[number].pane_seconds
    first, stop = -(-start // seconds), end // seconds
    if first >= stop:
        return _runs(tiers, number - 1, start, end)
    before = _runs(tiers, number - 1, start, first * seconds)
    after = _runs(tiers, number - 1, stop * seconds, end)
    return [*before, Run(number, first, stop), *after]
