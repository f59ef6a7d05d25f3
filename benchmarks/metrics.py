"""Metrics of a window of 4,000 bins, beside scikit-learn on raw scores."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import sklearn.metrics as sk

from benchmarks.data import FloatArray, IntArray, logistic
from benchmarks.timing import Row, race
from streamauc import (
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    bootstrap,
    label_shift,
    roc_auc,
    threshold_counts,
)
from streamauc.change.label_shift.mixture import most_likely_share
from streamauc.metrics import catalogue

_SUITE = "metrics"
_FEW, _MANY = 10_000, 1_000_000
_NARROW = 0.64  # of the logits
_PARAMS = {
    "threshold": 0.5,
    "beta": 2.0,
    "fn": 9.0,
    "fp": 1.0,
    "max_fpr": 0.1,
    "min_precision": 0.5,
    "max_alert_rate": 0.1,
    "share": 0.1,
}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield what the scalars cost, one by one and all at once, and what is drawn or iterated."""
    rounds = 7 if quick else 31
    window = _window()
    few = _scores(_FEW, 2)
    names = list(catalogue.METRICS)
    runners: dict[str, Callable[[], object]] = {
        name: partial(_value_of, window, name) for name in names
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of this data
        runners["roc_auc_score"] = lambda: sk.roc_auc_score(*few)
        times = race(runners, rounds)
    base = times.pop("roc_auc_score")
    slowest = max(times, key=lambda name: times[name])
    detail = f"{slowest}, {times[slowest] * 1e6:.0f} us of {base * 1e6:.0f} us; the median"
    detail += f" {np.median(list(times.values())) * 1e6:.0f} us; {window.n_bins:,} bins"
    ratio = times[slowest] / base
    yield Row(_SUITE, "the slowest scalar", ratio, "x roc_auc_score of 10,000", 1 / 3, detail)
    yield _everything(window, names, 3 if quick else 7)
    yield from _drawn(window, base, rounds)


def _scores(n: int, seed: int) -> tuple[IntArray, FloatArray]:
    """Return a stream of which a million events fill 4,000 bins of 9 bits."""
    y_true, y_score = logistic(n, seed=seed)
    odds = (y_score / (1 - y_score)) ** _NARROW
    return y_true, odds / (1 + odds)


def _window() -> ScoreHistogram:
    """Return a million events in 4,000 bins."""
    return ScoreHistogram.from_scores(*_scores(_MANY, 1), scale=Scale.probability(bits=9))


def _value_of(window: ScoreHistogram, name: str) -> float:
    """Return a metric of a window that was not asked before."""
    return _value(threshold_counts(window), name)


def _value(counts: ThresholdCounts, name: str) -> float:
    given = {key: _PARAMS[key] for key in catalogue.METRICS[name].parameters}
    return catalogue.value(counts, name, **given)


def _everything(window: ScoreHistogram, names: list[str], rounds: int) -> Row:
    """Compare the whole catalogue with what scikit-learn has of it, on a million raw scores."""
    y_true, y_score = _scores(_MANY, 1)

    def ours() -> None:
        fresh = threshold_counts(window)
        for name in names:
            _value(fresh, name)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = race({"ours": ours, "raw": lambda: _recompute(y_true, y_score)}, rounds)
    detail = f"{len(names)} metrics in {times['ours'] * 1e3:.1f} ms; {times['raw'] * 1e3:.0f} ms"
    detail += " for the 20 of them that scikit-learn has"
    ratio = times["ours"] / times["raw"]
    return Row(_SUITE, "the whole catalogue", ratio, "x from raw scores", 1 / 50, detail)


def _recompute(y_true: IntArray, y_score: FloatArray) -> None:
    """Work out with scikit-learn what it has of the catalogue."""
    flagged = y_score >= _PARAMS["threshold"]
    sk.roc_auc_score(y_true, y_score)
    sk.roc_auc_score(y_true, y_score, max_fpr=_PARAMS["max_fpr"])
    sk.average_precision_score(y_true, y_score)
    sk.brier_score_loss(y_true, y_score)
    sk.log_loss(y_true, y_score)
    sk.confusion_matrix(y_true, flagged)
    for score in (
        sk.precision_score,
        sk.recall_score,
        sk.f1_score,
        sk.accuracy_score,
        sk.balanced_accuracy_score,
        sk.matthews_corrcoef,
    ):
        score(y_true, flagged)
    sk.fbeta_score(y_true, flagged, beta=_PARAMS["beta"])
    # Rates at a threshold, the largest distance, Youden's index, recall within limits.
    fpr, tpr, _ = sk.roc_curve(y_true, y_score, drop_intermediate=False)
    (tpr - fpr).max()
    # The area below it, the best F1.
    precision, recall, _ = sk.precision_recall_curve(y_true, y_score)
    sk.auc(recall, precision)
    (2 * precision * recall / np.maximum(precision + recall, 1e-300)).max()


def _drawn(window: ScoreHistogram, base: float, rounds: int) -> Iterator[Row]:
    counts = threshold_counts(window)
    current = ScoreHistogram.from_scores(*_scores(_FEW, 4), scale=Scale.probability())
    reference = ScoreHistogram.from_scores(*_scores(_MANY, 3), scale=Scale.probability())
    pos, neg = counts.pos_steps / counts.n_pos, counts.neg_steps / counts.n_neg
    new = 0.1 * pos + 0.9 * neg
    times = race(
        {
            "bootstrap": lambda: bootstrap(counts, roc_auc, n_resamples=1_000),
            "auc": lambda: roc_auc(counts),
            "em": lambda: most_likely_share(pos, neg, new),
            "label_shift": lambda: label_shift(reference, current, independent=True),
        },
        max(3, rounds // 4),
    )
    auc = times["auc"]
    drawn, what = times["bootstrap"], "1,000 resamples of the AUC by"
    detail = f"{drawn * 1e3:.0f} ms"
    name = f"{what} the AUC of raw scores"  # the asked limit is beside a user's AUC
    yield Row(_SUITE, name, drawn / base, "x roc_auc_score of 10,000", 300, detail)
    detail = f"of which one takes {auc * 1e6:.0f} us"
    yield Row(_SUITE, f"{what} the AUC of ready counts", drawn / auc, "x roc_auc", detail=detail)
    detail = f"{times['em'] * 1e6:.0f} us; with its interval and test"
    detail += f" {times['label_shift'] * 1e6:.0f} us"
    ratio = times["em"] / auc
    yield Row(_SUITE, "label shift to 1e-8, on every bin", ratio, "x the AUC", 200, detail)
