"""Seeded streams, built before any clock starts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Labels, scores and times of events, all of shape (n_samples,)."""

    y_true: IntArray
    y_score: FloatArray
    timestamps: FloatArray


def logistic(n: int, *, prevalence: float = 0.3, seed: int = 0) -> tuple[IntArray, FloatArray]:
    """Return labels and different scores: the logistic of two normals, one and a half apart."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random(n) < prevalence).astype(np.int64)
    logits = rng.normal(-1.5, 1.0, n) + 1.5 * y_true
    return y_true, 1 / (1 + np.exp(-logits))


def kinds(n: int) -> dict[str, tuple[IntArray, FloatArray]]:
    """Return the streams that speeds are asked for on, by what distinguishes them."""
    y_true, y_score = logistic(n)
    return {
        "30 % positives": (y_true, y_score),
        "1 % positives": logistic(n, prevalence=0.01),
        "three decimals": (y_true, np.round(y_score, 3)),
    }


def fraud(n: int, *, seed: int = 0) -> tuple[IntArray, FloatArray]:
    """Return a stream with 1 % positives and nearly all scores close to 0."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random(n) < 0.01).astype(np.int64)
    scores = np.where(y_true == 1, rng.beta(2, 20, n), rng.beta(0.5, 200, n))
    return y_true, scores


def over(n_panes: int, n: int, *, ordered: bool = True, seed: int = 1) -> FloatArray:
    """Return times spread over that many minutes, in time order or in none."""
    times = 1_699_999_980 + np.random.default_rng(seed).random(n) * 60 * n_panes
    return np.sort(times) if ordered else times
