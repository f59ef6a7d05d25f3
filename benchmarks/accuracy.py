"""How far binning moves the AUC and the average precision, and whether the bounds hold.

After the two streams that the README names comes a zoo of populations, each with many, few and
very few positives, and beside our errors those of the peers whose memory is bounded too.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks import peers
from benchmarks.data import FloatArray, IntArray, fraud, logistic
from benchmarks.timing import Row
from benchmarks.truth import exact_areas
from benchmarks.zoo import POPULATIONS, UNDERFLOWN, Stream, stream
from streamauc import (
    Accumulator,
    Bounds,
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    average_precision,
    average_precision_bounds,
    roc_auc,
    roc_auc_bounds,
    threshold_counts,
)

_SUITE = "accuracy"
_PREVALENCES = (0.3, 0.01, 0.0001)
_LIMIT = 1e-5
# Where a bin's positives stand among its negatives averages out over many positives only.
_ENOUGH = 10_000
_OURS = "streamauc, 7 bits"
# Errors by the stream's name, of each rival by its name.
_Errors = dict[str, dict[str, float]]


class Measured(NamedTuple):
    """An exact value, what came out at 7 bits, and what it was certain to lie in."""

    exact: float
    found: float
    bounds: Bounds

    @property
    def error(self) -> float:
        """How far off it was."""
        return abs(self.found - self.exact)

    @property
    def is_inside(self) -> bool:
        """Whether the exact value lies inside the bounds, but for the rounding of sums."""
        return self.bounds.low - 1e-12 <= self.exact <= self.bounds.high + 1e-12

    @property
    def words(self) -> str:
        """The exact value and the bounds in words."""
        right = "right" if self.is_inside else "WRONG"
        return (
            f"{self.exact:.6f}, bounds {self.bounds.high - self.bounds.low:.1e} apart and {right}"
        )


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the errors at 7 bits on two streams, then on the zoo, then the peers' in short."""
    n = 100_000 if quick else 1_000_000
    # A tenth of the events leaves ten times the relative width to each bin.
    scale = n / 1_000_000
    yield from _errors("fraud-like", *fraud(n), 5e-6 / scale, 3e-5 / scale)
    yield from _errors("logistic", *logistic(n), None, None)
    yield from _zoo(n, quick=quick)


def _errors(
    name: str,
    y_true: IntArray,
    y_score: FloatArray,
    auc_limit: float | None,
    ap_limit: float | None,
) -> Iterator[Row]:
    exact = _counts(y_true, y_score, Scale.exact())
    binned = _counts(y_true, y_score, Scale.probability(bits=7))
    auc, ap = roc_auc(exact), average_precision(exact)
    for what, value, found, bounds, limit in (
        ("AUC", auc, roc_auc(binned), roc_auc_bounds(binned), auc_limit),
        ("AP", ap, average_precision(binned), average_precision_bounds(binned), ap_limit),
    ):
        measured = Measured(value, found, bounds)
        assert measured.is_inside, (name, what)
        detail = f"{what} {measured.words}"
        yield Row(_SUITE, f"error of the {what}, {name}", measured.error, "", limit, detail)


def _counts(y_true: IntArray, y_score: FloatArray, scale: Scale) -> ThresholdCounts:
    return threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=scale))


def _zoo(n: int, *, quick: bool) -> Iterator[Row]:
    """Yield two rows a stream, then how often the bounds held, then the rivals beside us."""
    found, missing = peers.sort_out(peers.WHOLE)
    errors: _Errors = {name: {} for name in (_OURS, *(kind.name for kind in found))}
    n_inside = n_values = 0
    for population, (seed, prevalence) in product(POPULATIONS, enumerate(_PREVALENCES)):
        name = f"{population.name}, {100 * prevalence:g} % positives"
        # The peers get as many events as we do; then we alone as many as give enough positives,
        # unless there is no time for that.
        enough = round(_ENOUGH / prevalence)
        for size in (n,) if quick or enough <= n else (n, enough):
            drawn = stream(population, size, prevalence, seed)
            auc, ap = measure(drawn)
            n_inside += auc.is_inside + ap.is_inside
            n_values += 2
            each: dict[str, float] = {}
            if size == n:
                each = peer_errors(drawn, found)
                for rival, error in {_OURS: auc.error, **each}.items():
                    errors[rival][name] = error
            yield _auc_row(name, drawn, auc, each)
            what = f"error of the AP, {name}, {drawn.n_pos:,} of them"
            yield Row(_SUITE, what, ap.error, "", detail=f"AP {ap.words}")
    what = "exact AUC and AP of the zoo inside their bounds"
    yield Row(_SUITE, what, n_inside, f"of {n_values}", at_least=n_values)
    yield from _summary(errors)
    beyond, _ = measure(stream(UNDERFLOWN, n, _PREVALENCES[0]))
    detail = (
        f"not of the zoo: one bin below 2**-64; AUC {beyond.words}; Scale.exact() has no such end"
    )
    yield Row(_SUITE, f"error of the AUC, {UNDERFLOWN.name}", beyond.error, "", detail=detail)
    for one in missing:
        yield Row.missing(_SUITE, f"AUC error, {one.name}", one.reason)


def measure(drawn: Stream) -> tuple[Measured, Measured]:
    """Return the AUC and the AP of a stream at 7 bits beside the exact ones."""
    pos = drawn.positives()
    counted = Accumulator(Scale.probability(bits=7))
    counted.update_many(np.ones(pos.size, dtype=np.int64), pos)
    exact = exact_areas(pos, _counted(drawn.negatives(), counted))
    counts = threshold_counts(counted.histogram())
    return (
        Measured(exact.roc_auc, roc_auc(counts), roc_auc_bounds(counts)),
        Measured(
            exact.average_precision, average_precision(counts), average_precision_bounds(counts)
        ),
    )


def _counted(negatives: Iterator[FloatArray], counted: Accumulator) -> Iterator[FloatArray]:
    """Count the pieces on their way."""
    for piece in negatives:
        counted.update_many(np.zeros(piece.size, dtype=np.int64), piece)
        yield piece


def peer_errors(drawn: Stream, kinds: Sequence[peers.Kind]) -> dict[str, float]:
    """Return how far off each peer's AUC of a stream is."""
    exact = exact_areas(drawn.positives(), drawn.negatives()).roc_auc
    y_true, y_score = drawn.mixed()
    found = {}
    for kind in kinds:
        peer = kind.make()
        peer.absorb(y_true, y_score)
        found[kind.name] = abs(peer.roc_auc() - exact)
    return found


def _auc_row(name: str, drawn: Stream, auc: Measured, errors: Mapping[str, float]) -> Row:
    detail = f"AUC {auc.words}"
    limit = None
    if drawn.population.has_ties:
        detail += ", ties are real"
    elif drawn.n_pos >= _ENOUGH:
        limit = _LIMIT
    for peer, error in errors.items():
        detail += f"; {peer}: {error:.1e}"
    what = f"error of the AUC, {name}, {drawn.n_pos:,} of them"
    return Row(_SUITE, what, auc.error, "", limit, detail)


def _summary(errors: _Errors) -> Iterator[Row]:
    """Yield the largest error of each rival, and where it was."""
    for name, each in errors.items():
        worst = max(each, key=lambda one: each[one])
        detail = f"{worst}; median of {len(each)} streams {statistics.median(each.values()):.1e}"
        yield Row(_SUITE, f"largest AUC error of the zoo, {name}", each[worst], "", detail=detail)
