"""What comparing two windows costs beside one AUC."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.timing import Row, race
from streamauc import Comparison, Scale, ScoreHistogram, compare, roc_auc, threshold_counts

_SUITE = "change"
_LIMIT = 30
_INNER = 20  # calls a turn, as one takes microseconds

# A comparison works out what it is asked for: by rising appetite.
_ASKED: dict[str, tuple[Callable[[Comparison], object], int | None]] = {
    "the call": (lambda result: result, _LIMIT),
    "class ratio and AUC, with intervals and tests": (
        lambda result: (result.prevalence, result.prevalence_ratio_interval, result.roc_auc),
        _LIMIT,
    ),
    "score shift": (lambda result: result.score_shift, None),
    "attribution": (lambda result: result.attribution, None),
    "everything": (lambda result: result.to_dict(), None),
}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield `compare` on two histograms of 4,000 bins, as multiples of one `roc_auc`."""
    reference, current = _histogram(0, 1.5), _histogram(1, 1.2)
    counts = threshold_counts(reference)
    runners = {
        "roc_auc": _repeated(lambda: roc_auc(counts)),
        "with counts": _repeated(lambda: roc_auc(threshold_counts(reference))),
    }
    for what, (ask, _) in _ASKED.items():
        runners[what] = _repeated(_asking(ask, reference, current))
    times = race(runners, 20 if quick else 100)
    bins = f"{reference.n_bins:,} and {current.n_bins:,} bins"
    for what, (_, limit) in _ASKED.items():
        detail = (
            f"{times[what] / _INNER * 1e6:.0f} us on {bins};"
            f" {times[what] / times['with counts']:.1f} x the AUC of a histogram"
        )
        ratio = times[what] / times["roc_auc"]
        yield Row(_SUITE, f"compare: {what}", ratio, "x roc_auc", limit, detail)


def _histogram(seed: int, distance: float) -> ScoreHistogram:
    """Return 400,000 events over about 4,000 bins, their counts by bin worked out."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random(400_000) < 0.3).astype(np.int64)
    logits = rng.normal(-1.5, 3.0, y_true.size) + distance * y_true
    histogram = ScoreHistogram.from_scores(
        y_true, 1 / (1 + np.exp(-logits)), scale=Scale.probability()
    )
    assert 3_500 < histogram.n_bins < 4_500
    return histogram


def _asking(
    ask: Callable[[Comparison], object], reference: ScoreHistogram, current: ScoreHistogram
) -> Callable[[], object]:
    return lambda: ask(compare(reference, current, independent=True))


def _repeated(one: Callable[[], object]) -> Callable[[], object]:
    def several() -> None:
        for _ in range(_INNER):
            one()

    return several
