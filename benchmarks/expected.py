"""Performance expected before the labels come, beside NannyML's CBPE on the data it ships.

NannyML needs an environment with ``nannyml`` and ``statsmodels``, which it imports without asking
for it; version 0.13.1 runs beside numpy 2. Where it is missing, so is its data, and the suite says
so and does nothing else.

Both are given a labelled reference and later scores in chunks, and asked for AUC, average
precision, precision and recall of each chunk. The error is the distance from the value realised
when the labels are known. The job begins with arrays (NannyML: a data frame of the columns that
it needs) and includes learning from the reference; "chunks only" leaves that out.

Where scores are told apart exactly, precision and recall are those of CBPE, and so is the AUC but
for its rounding of expected counts to five decimals, hence the tolerance of 1e-6. The average
precision differs: CBPE takes tied scores one by one, and an event for only as sure to be among
the positives counted with it as its chance says. On the housing data, where chunks are far from
the reference and errors ten times larger, which of the two is nearer depends on the size of the
chunks, by less than one per cent either way. Scores of two decimals are real ties and belong on
the exact scale; from bins, they are taken as different.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np

from benchmarks.data import FloatArray, IntArray
from benchmarks.timing import Row, race
from streamauc import (
    Scale,
    ScoreHistogram,
    average_precision,
    confusion_at,
    roc_auc,
    threshold_counts,
)
from streamauc.change.label_shift import expected_performance
from streamauc.metrics.isotonic import Isotonic, isotonic

_SUITE = "expected"
_METRICS = ("roc_auc", "average_precision", "precision", "recall")
_NOT_WORSE = 1 + 1e-6
_A_TWENTIETH = 1 / 20
# The values of each metric, chunk by chunk.
_Values = Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class _DataSet:
    """One of NannyML's: its loader, its columns, and how many events make a chunk."""

    name: str
    loader: str
    label: str
    score: str
    flag: str
    chunk_size: int


_DATA_SETS = (
    _DataSet(
        name="synthetic",
        loader="load_synthetic_binary_classification_dataset",
        label="work_home_actual",
        score="y_pred_proba",
        flag="y_pred",
        chunk_size=5_000,
    ),
    _DataSet(
        name="car loan",
        loader="load_synthetic_car_loan_dataset",
        label="repaid",
        score="y_pred_proba",
        flag="y_pred",
        chunk_size=5_000,
    ),
    _DataSet(
        name="census",
        loader="load_us_census_ma_employment_data",
        label="employed",
        score="predicted_probability",
        flag="prediction",
        chunk_size=5_000,
    ),
    _DataSet(
        name="housing",
        loader="load_modified_california_housing_dataset",
        label="clf_target",
        score="y_pred_proba",
        flag="y_pred",
        chunk_size=720,  # hourly rows: thirty days, beside which NannyML's own example uses months
    ),
)


class _Cbpe(Protocol):
    """NannyML's estimator."""

    def fit(self, reference: object) -> object:
        """Learn from a data frame."""

    def estimate(self, data: object) -> "_Result":
        """Return what to expect of each chunk of a data frame."""


class _Result(Protocol):
    def filter(self, *, period: str) -> "_Result":
        """Return a part."""

    def to_df(self) -> "Mapping[tuple[str, str], _Column]":
        """Return the values as a data frame."""


class _Column(Protocol):
    def to_numpy(self, dtype: type[np.float64]) -> FloatArray:
        """Return the values as an array."""


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A reference, what came later, where it is flagged, and in which chunks to look at it."""

    reference: tuple[IntArray, FloatArray]
    current: tuple[IntArray, FloatArray]
    threshold: float
    chunk_size: int

    def chunks(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield labels and scores of each chunk; the last one may be smaller."""
        y_true, y_score = self.current
        for start in range(0, y_true.size, self.chunk_size):
            part = slice(start, start + self.chunk_size)
            yield y_true[part], y_score[part]


def run(*, quick: bool) -> Iterator[Row]:
    """Yield errors over NannyML's, and times over NannyML's."""
    nannyml = _nannyml()
    if nannyml is None:
        yield Row(_SUITE, "CBPE, and the data for it", math.nan, "", None, "nannyml is missing")
        return
    for data_set in _DATA_SETS[: 2 if quick else None]:
        yield from _beside(nannyml, data_set, rounds=3 if quick else 9)


def _nannyml() -> ModuleType | None:
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # it would report its use over the network
    warnings.filterwarnings("ignore", module="nannyml")  # of chunks in which nobody is flagged
    try:
        return import_module("nannyml")
    except ModuleNotFoundError:
        return None


def _beside(nannyml: ModuleType, data_set: _DataSet, rounds: int) -> Iterator[Row]:
    task, whole, chunks_only = _rival(nannyml, data_set)
    realised, theirs = _errors(_realised(task)), whole()
    scales = {"exact": Scale.exact(), "7 bits": Scale.probability(thresholds=(task.threshold,))}
    for kind, scale in scales.items():
        name = f"{data_set.name}, {kind}"
        ours = _expected(task, _learnt(task, scale), scale)
        yield from _error_rows(name, realised(ours), realised(theirs), exact=scale.is_exact)
        yield from _time_rows(name, task, scale, (whole, chunks_only), rounds)


def _error_rows(
    name: str, ours: Mapping[str, float], theirs: Mapping[str, float], *, exact: bool
) -> Iterator[Row]:
    for metric in _METRICS:
        detail = f"mean absolute error {ours[metric]:.6f} against {theirs[metric]:.6f}"
        limit = _NOT_WORSE if exact else None
        ratio = ours[metric] / theirs[metric]
        yield Row(_SUITE, f"error of {metric}, {name}", ratio, "x CBPE", limit, detail)


def _time_rows(
    name: str,
    task: _Task,
    scale: Scale,
    rivals: tuple[Callable[[], _Values], Callable[[], _Values]],
    rounds: int,
) -> Iterator[Row]:
    learnt = _learnt(task, scale)
    times = race(
        {
            "their whole job": rivals[0],
            "whole job": lambda: _expected(task, _learnt(task, scale), scale),
            "their chunks only": rivals[1],
            "chunks only": lambda: _expected(task, learnt, scale),
        },
        rounds,
    )
    for what in ("whole job", "chunks only"):
        ours, theirs = times[what], times[f"their {what}"]
        detail = f"{theirs / ours:.0f} times faster, {ours * 1e3:.1f} ms against {theirs * 1e3:.0f}"
        limit = _A_TWENTIETH if what == "whole job" else None
        yield Row(_SUITE, f"time of the {what}, {name}", ours / theirs, "x CBPE", limit, detail)


def _rival(
    nannyml: ModuleType, data_set: _DataSet
) -> tuple[_Task, Callable[[], _Values], Callable[[], _Values]]:
    """Return the task, NannyML's whole job, and its part after learning from the reference."""
    before, after, labels = getattr(nannyml, data_set.loader)()
    after = after.merge(labels, on="id")
    label, score, flag = data_set.label, data_set.score, data_set.flag
    task = _Task(
        reference=(before[label].to_numpy(np.int64), before[score].to_numpy(np.float64)),
        current=(after[label].to_numpy(np.int64), after[score].to_numpy(np.float64)),
        threshold=float(before[score][before[flag] == 1].min()),
        chunk_size=data_set.chunk_size,
    )
    assert ((after[score] >= task.threshold) == (after[flag] == 1)).all()
    known, scores = before[[label, score, flag]], after[[score, flag]]

    def fit() -> _Cbpe:
        estimator: _Cbpe = nannyml.CBPE(
            problem_type="classification_binary",
            y_true=label,
            y_pred=flag,
            y_pred_proba=score,
            metrics=list(_METRICS),
            chunk_size=data_set.chunk_size,
        )
        estimator.fit(known)
        return estimator

    fitted = fit()
    return task, lambda: _read(fit(), scores), lambda: _read(fitted, scores)


def _read(estimator: _Cbpe, scores: object) -> _Values:
    table = estimator.estimate(scores).filter(period="analysis").to_df()
    return {metric: table[(metric, "value")].to_numpy(np.float64) for metric in _METRICS}


def _learnt(task: _Task, scale: Scale) -> Isotonic:
    y_true, y_score = task.reference
    return isotonic(threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=scale)))


def _expected(task: _Task, learnt: Isotonic, scale: Scale) -> _Values:
    rows = []
    for y_true, y_score in task.chunks():
        # The labels must not be looked at; the class is that of an event without one.
        nobody = np.zeros_like(y_true)
        scores = ScoreHistogram.from_scores(nobody, y_score, scale=scale, n_classes=1)
        found = expected_performance(learnt, scores)
        at = found.confusion(task.threshold)
        rows.append((found.roc_auc, found.average_precision, at.precision, at.recall))
    return dict(zip(_METRICS, np.array(rows).T, strict=True))


def _realised(task: _Task) -> _Values:
    rows = []
    for y_true, y_score in task.chunks():
        counts = threshold_counts(ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact()))
        at = confusion_at(counts, task.threshold)
        rows.append((roc_auc(counts), average_precision(counts), at.precision, at.recall))
    return dict(zip(_METRICS, np.array(rows).T, strict=True))


def _errors(realised: _Values) -> Callable[[_Values], dict[str, float]]:
    """Return what gives the mean absolute error of each metric, where it is defined."""
    return lambda found: {
        metric: float(np.nanmean(np.abs(found[metric] - realised[metric]))) for metric in _METRICS
    }
