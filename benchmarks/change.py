"""What comparing two windows costs beside one AUC."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.timing import Row, race
from streamauc import Comparison, Scale, ScoreHistogram, compare, roc_auc, threshold_counts

_SUITE = "change"
_LIMIT = 30
_YARDSTICKS = 20  # calls a turn, as one takes microseconds
_ANSWERS = 4  # fewer, lest a busy machine interrupts these turns more often

# A comparison works out what it is asked for, so each line but the first is a comparison of its
# own with all that its answer needs. They share parts and do not add up to the last.
_ASKED: dict[str, Callable[[Comparison], object]] = {
    "the call": lambda result: result,
    "class ratio": lambda result: (result.prevalence, result.prevalence_ratio_interval),
    "AUC": lambda result: result.roc_auc,
    "score shift": lambda result: result.score_shift,
    "attribution": lambda result: result.attribution,
    "everything": lambda result: result.to_dict(),
}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield `compare` on two histograms of 4,000 bins, as multiples of one `roc_auc`.

    The yardstick finds its counts at thresholds made, a comparison makes its own. Intervals and
    tests are included, and the attribution is that of the average precision and of the four
    metrics at one threshold.
    """
    reference, current = _histogram(0, 1.5), _histogram(1, 1.2)
    counts = threshold_counts(reference)
    runners = {
        "roc_auc": _repeated(lambda: roc_auc(counts), _YARDSTICKS),
        "with counts": _repeated(lambda: roc_auc(threshold_counts(reference)), _YARDSTICKS),
    }
    for what, ask in _ASKED.items():
        runners[what] = _repeated(_asking(ask, reference, current), _ANSWERS)
    times = race(runners, 50 if quick else 300)
    auc, with_counts = times["roc_auc"] / _YARDSTICKS, times["with counts"] / _YARDSTICKS
    bins = f"{reference.n_bins:,} and {current.n_bins:,} bins"
    for what in _ASKED:
        answer = times[what] / _ANSWERS
        detail = (
            f"{answer * 1e6:.0f} us on {bins}; {answer / with_counts:.1f} x the AUC of a histogram"
        )
        yield Row(_SUITE, f"compare: {what}", answer / auc, "x roc_auc", _LIMIT, detail)


def _histogram(seed: int, distance: float) -> ScoreHistogram:
    """Return 400,000 events over about 4,000 bins, their counts by bin worked out."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random(400_000) < 0.3).astype(np.int64)
    logits = rng.normal(-1.5, 3.0, y_true.size) + distance * y_true
    histogram = ScoreHistogram.from_scores(
        y_true, 1 / (1 + np.exp(-logits)), scale=Scale.probability()
    )
    assert 3_500 < histogram.n_bins < 4_500
    assert (np.count_nonzero(histogram.counts, axis=1) > 0.8 * histogram.n_bins).all()
    return histogram


def _asking(
    ask: Callable[[Comparison], object], reference: ScoreHistogram, current: ScoreHistogram
) -> Callable[[], object]:
    return lambda: ask(compare(reference, current, threshold=0.5, independent=True))


def _repeated(one: Callable[[], object], times: int) -> Callable[[], object]:
    def several() -> None:
        for _ in range(times):
            one()

    return several
