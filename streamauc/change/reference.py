"""What a detector compares with: a known prevalence, or counts and how far they may be off."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _check
from streamauc._check import FloatArray, IntArray
from streamauc.change import dispersion
from streamauc.change.dispersion import Dispersion
from streamauc.change.settings import ESTIMATE, Settings
from streamauc.histogram import ScoreHistogram
from streamauc.metrics.intervals import wilson_interval

LARGEST_COUNT = 2.0**63


@runtime_checkable
class HasTotals(Protocol):
    """Anything that knows its number of positives and negatives, such as a `Window`."""

    @property
    def n_pos(self) -> float:
        """Number of positives."""

    @property
    def n_neg(self) -> float:
        """Number of negatives."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class ReferencePanes:
    """The counts of a reference pane by pane, in the order of time; arrays of shape (n_panes,).

    `panes` are indices, int64, strictly increasing; `n_pos` and `n_neg` float64. Read it at the
    same age as the panes that are compared with it: labels that come late are no fair sample.
    """

    panes: IntArray
    n_pos: FloatArray
    n_neg: FloatArray

    def __init__(self, panes: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike) -> None:
        index = np.array(panes)
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
            raise ValueError(f"panes must be integers, 1-D, got {index.dtype} {index.shape}")
        if (np.diff(index) <= 0).any():
            raise ValueError("panes must be strictly increasing")
        object.__setattr__(self, "panes", index.astype(np.int64))
        object.__setattr__(self, "n_pos", _count_column("n_pos", n_pos))
        object.__setattr__(self, "n_neg", _count_column("n_neg", n_neg))
        _check.same_length(panes=self.panes, n_pos=self.n_pos, n_neg=self.n_neg)


def _count_column(name: str, values: ArrayLike) -> FloatArray:
    column = np.array(_check.float_column(name, values))
    good = (column >= 0) & (column <= LARGEST_COUNT)
    if not good.all():
        index = int(np.argmin(good))
        raise ValueError(
            f"{name} must be counts from 0 to 2**63, got {float(column[index])!r} at index {index}"
        )
    return column


Counts = float | tuple[float, float] | HasTotals | ScoreHistogram
Reference = Counts | ReferencePanes | Sequence[Counts] | Mapping[int, Counts]


@dataclass(frozen=True, slots=True)
class Null:
    """The prevalences at which nothing is to be reported; `prevalence` is the reference's own.

    Nothing is known of an empty reference: [0, 1] and ``nan``.
    """

    low: float
    high: float
    prevalence: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was learnt from a reference: the null of each phase and the dispersion.

    `typical` is the size of its panes, 1 where it did not tell.
    """

    nulls: tuple[Null, ...]
    dispersion: Dispersion
    typical: float

    @property
    def fault(self) -> str | None:
        """Why nothing can be told from this reference, in words; None if something can."""
        if self.dispersion.correlation >= 1:
            return "each pane of the reference varies like a single event: longer panes are needed"
        if any(null.low > 0 or null.high < 1 for null in self.nulls):
            return None
        if all(math.isnan(null.prevalence) for null in self.nulls):
            return "the reference holds no events"
        return "the reference and the tolerance leave every prevalence possible"


@dataclass(frozen=True, slots=True)
class _Share:
    """Positives among trials; infinitely many trials where the prevalence is known."""

    prevalence: float
    trials: float


def fit_reference(reference: Reference, settings: Settings) -> Baseline:
    """Return what a detector needs of its reference. O(n_panes log n_panes).

    Raises ValueError or TypeError for a reference that does not suit the settings.
    """
    if isinstance(reference, ReferencePanes):
        return _fit_panes(reference, settings)
    if settings.overdispersion == ESTIMATE:
        raise ValueError('overdispersion="estimate" needs a reference pane by pane')
    spread = Dispersion(factor=settings.overdispersion)
    shares = _shares(reference, settings)
    factors = [spread.factor] * len(shares)
    return Baseline(_nulls(shares, factors, settings), spread, LARGEST_COUNT)


def _fit_panes(reference: ReferencePanes, settings: Settings) -> Baseline:
    n_phases = settings.n_phases
    phase = reference.panes % settings.season_panes * n_phases // settings.season_panes
    sizes = reference.n_pos + reference.n_neg
    n_pos = np.bincount(phase, reference.n_pos, minlength=n_phases)
    n = np.bincount(phase, sizes, minlength=n_phases)
    prevalence = np.divide(n_pos, n, out=np.full(n_phases, np.nan), where=n > 0)
    spread = Dispersion(factor=settings.overdispersion)
    if settings.overdispersion == ESTIMATE:
        spread = _estimate(reference.panes, reference.n_pos, sizes, prevalence[phase], settings)
    # The variance of a phase's total beside the binomial one.
    inflated = np.array([size * spread.factor_of(size) for size in sizes.tolist()])
    factors = np.bincount(phase, inflated, minlength=n_phases) / np.maximum(n, 1)
    shares = [_Share(p, trials) for p, trials in zip(prevalence.tolist(), n.tolist(), strict=True)]
    typical = float(np.dot(sizes, sizes) / sizes.sum()) if sizes.any() else 1.0
    return Baseline(_nulls(shares, factors.tolist(), settings), spread, typical)


def _estimate(
    panes: IntArray, n_pos: FloatArray, n: FloatArray, prevalence: FloatArray, settings: Settings
) -> Dispersion:
    held = n > 0
    panes, n_pos, n, prevalence = panes[held], n_pos[held], n[held], prevalence[held]
    return dispersion.estimate(
        panes,
        n_pos - n * prevalence,
        n * prevalence * (1 - prevalence),
        n,
        n_fitted=settings.n_phases,
        level=settings.level,
    )


def _shares(reference: object, settings: Settings) -> list[_Share]:
    if not settings.season:
        return [_share(reference)]
    if isinstance(reference, Mapping):
        missing: Counts = (0, 0)
        n_phases = 1 + max((int(phase) for phase in reference), default=0)
        parts: Iterable[object] = [reference.get(phase, missing) for phase in range(n_phases)]
    elif isinstance(reference, Sequence | np.ndarray) and not isinstance(reference, str):
        parts = list(reference)
    else:
        raise TypeError(f"reference must be given by phase, or pane by pane, got {reference!r}")
    shares = [_share(part) for part in parts]
    if not shares or settings.season_panes % len(shares):
        raise ValueError(
            f"reference must hold a number of phases that divides the {settings.season_panes}"
            f" panes of a season, got {len(shares)}"
        )
    return shares


def _share(reference: object) -> _Share:
    reference = getattr(reference, "histogram", reference)
    is_counts = isinstance(reference, Sequence | np.ndarray | ScoreHistogram | HasTotals)
    if is_counts and not isinstance(reference, str):
        n_pos, n_neg = totals(reference)
        n = n_pos + n_neg
        return _Share(n_pos / n if n else math.nan, n)
    if not _check.is_number(reference):
        raise TypeError(
            "reference must be a prevalence, (n_pos, n_neg), a histogram, a window or"
            f" ReferencePanes, got {_check.plain(reference)!r}"
        )
    known = _check.number("reference", reference)
    if not 0 <= known <= 1:
        raise ValueError(f"reference must be a prevalence in [0, 1], got {known!r}")
    return _Share(known, math.inf)


def totals(counts: object) -> tuple[float, float]:
    """Return the positives and negatives of a pair, a histogram or anything that knows them.

    Weighted histograms count as many events as would vary as much: the totals times
    ``sum(w) / sum(w**2)`` (Kish 1965).
    """
    counts = getattr(counts, "histogram", counts)
    if isinstance(counts, ScoreHistogram):
        return _histogram_totals(counts)
    if isinstance(counts, HasTotals):
        return check_count("n_pos", counts.n_pos), check_count("n_neg", counts.n_neg)
    if not isinstance(counts, Sequence | np.ndarray) or len(counts) != 2:
        raise ValueError(f"counts must be (n_pos, n_neg), got {counts!r}")
    return check_count("n_pos", counts[0]), check_count("n_neg", counts[1])


def _histogram_totals(histogram: ScoreHistogram) -> tuple[float, float]:
    if histogram.n_classes != 2:
        raise ValueError(f"histogram must have two classes, got {histogram.n_classes}")
    n_neg, n_pos = histogram.totals.tolist()
    if histogram.squares is None:
        return n_pos, n_neg
    squares = float(histogram.squares.sum())
    shrink = (n_pos + n_neg) / squares if squares else 0.0
    return n_pos * shrink, n_neg * shrink


def check_count(name: str, value: object) -> float:
    """Return a number of events, from 0 to 2**63; whole unless weighted."""
    if not _check.is_number(value) or isinstance(value, bool):
        raise TypeError(f"{name} must be a count, got {_check.plain(value)!r}")
    found = _check.number(name, value)
    if not 0 <= found <= LARGEST_COUNT:
        raise ValueError(f"{name} must be a count from 0 to 2**63, got {found!r}")
    return found


def _nulls(
    shares: Sequence[_Share], factors: Sequence[float], settings: Settings
) -> tuple[Null, ...]:
    # All intervals hold at once with probability `level` (Bonferroni).
    level = 1 - (1 - settings.level) / len(shares)
    return tuple(
        _null(share, factor, level, settings.tolerance)
        for share, factor in zip(shares, factors, strict=True)
    )


def _null(share: _Share, factor: float, level: float, tolerance: float) -> Null:
    if not share.trials:
        return Null(0.0, 1.0, math.nan)
    low = high = share.prevalence
    if share.trials < math.inf:
        trials = share.trials / max(1.0, factor)
        interval = wilson_interval(share.prevalence * trials, trials, level=level)
        low, high = interval.low, interval.high
    return Null(max(0.0, low * (1 - tolerance)), min(1.0, high * (1 + tolerance)), share.prevalence)
