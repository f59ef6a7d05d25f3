"""The exact AUC of events that are all at hand, beside what recomputes it."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks import peers
from benchmarks.data import FloatArray, IntArray, kinds
from benchmarks.timing import Row, race
from streamauc import Scale, ScoreHistogram, roc_auc, threshold_counts

_SUITE = "exact"
_SKLEARN = "scikit-learn, every event"
_OURS = "ScoreHistogram on the exact scale"


def run(*, quick: bool) -> Iterator[Row]:
    """Yield seconds, how much faster than scikit-learn, and how far from its value."""
    n, rounds = (1_000_000, 3) if quick else (10_000_000, 5)
    found, missing = peers.sort_out(peers.EXACT)
    for name, (y_true, y_score) in kinds(n).items():
        yield from _on(name, y_true, y_score, found, rounds)
    for one in missing:
        yield Row.missing(_SUITE, one.name, one.reason)


def _on(
    stream: str,
    y_true: IntArray,
    y_score: FloatArray,
    found: Sequence[peers.Kind],
    rounds: int,
) -> Iterator[Row]:
    n = y_true.size
    rivals = {kind.name: _filled(kind, y_true, y_score) for kind in found}
    ours = partial(exact_auc, y_true, y_score)
    runners: dict[str, Callable[[], object]] = {_OURS: ours}
    runners |= {name: peer.roc_auc for name, peer in rivals.items()}
    medians = race(runners, rounds, clock=time.process_time)
    for name, seconds in medians.items():
        yield Row(_SUITE, f"AUC of {n:,} events, {stream}, {name}", seconds, "s")
    if _SKLEARN in medians:
        ratio = medians[_SKLEARN] / medians[_OURS]
        yield Row(_SUITE, f"scikit-learn's time by ours, {stream}", ratio, "x", at_least=6.0)
        difference = abs(rivals[_SKLEARN].roc_auc() - ours())
        yield Row(_SUITE, f"difference from scikit-learn, {stream}", difference, "", 1e-12)


def exact_auc(y_true: IntArray, y_score: FloatArray) -> float:
    """Return the AUC by way of a histogram in which every score has its own bin."""
    histogram = ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact())
    return roc_auc(threshold_counts(histogram))


def _filled(kind: peers.Kind, y_true: IntArray, y_score: FloatArray) -> peers.Peer:
    peer = kind.make()
    peer.absorb(y_true, y_score)
    return peer
