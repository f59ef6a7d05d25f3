"""How far binning moves the AUC and the average precision, and whether the bounds hold."""

from collections.abc import Iterator

from benchmarks.data import FloatArray, IntArray, fraud, logistic
from benchmarks.timing import Row
from streamauc import (
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


def run(*, quick: bool) -> Iterator[Row]:
    """Yield the errors on the fraud-like and on a logistic stream, at 7 bits."""
    n = 100_000 if quick else 1_000_000
    # A tenth of the events leaves ten times the relative width to each bin.
    scale = n / 1_000_000
    yield from _errors("fraud-like", *fraud(n), 5e-6 / scale, 3e-5 / scale)
    yield from _errors("logistic", *logistic(n), None, None)


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
    for what, truth, found, bounds, limit in (
        ("AUC", auc, roc_auc(binned), roc_auc_bounds(binned), auc_limit),
        ("AP", ap, average_precision(binned), average_precision_bounds(binned), ap_limit),
    ):
        assert bounds.low <= truth <= bounds.high, (name, what)
        detail = f"{what} {truth:.6f}, bounds {bounds.high - bounds.low:.1e} apart and right"
        yield Row(_SUITE, f"error of the {what}, {name}", abs(found - truth), "", limit, detail)


def _counts(y_true: IntArray, y_score: FloatArray, scale: Scale) -> ThresholdCounts:
    return threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=scale))
