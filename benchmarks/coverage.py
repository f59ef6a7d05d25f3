"""How often do intervals of the AUC hold the true value? A simulation.

    python -m benchmarks.coverage --streams 2000

Negatives are N(0, 1) and positives N(mu, sigma), where mu makes the true AUC exactly what it
says: AUC = Phi(mu / sqrt(1 + sigma^2)). Every cell draws its own streams from a fixed seed and
asks the library for each of them, on the exact scale. The table shows the share of the streams
whose 95 % interval held the true AUC, and behind it the mean width of the interval.
"""

import argparse
import itertools
import json
import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import get_args

import numpy as np

from streamauc import Scale, ScoreHistogram, ThresholdCounts, roc_auc_interval, threshold_counts
from streamauc.metrics.intervals import SMALL_CLASS, AucMethod

METHODS: tuple[AucMethod, ...] = get_args(AucMethod)
AUCS = (0.6, 0.8, 0.95, 0.99)
POSITIVES = (10, 30, 100)
SPREADS = (1, 2)
MANY = 1_000
SEED = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """What is drawn: the true AUC, the sizes of the classes, the spread of the positives."""

    auc: float
    n_pos: int
    n_neg: int
    spread: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The share of intervals that held the true AUC, and their mean width."""

    coverage: float
    width: float


def cells(positives: Sequence[int]) -> Iterator[Cell]:
    """Yield each combination, with as many negatives as positives and with a thousand."""
    for n_pos, auc, spread in itertools.product(positives, AUCS, SPREADS):
        for n_neg in dict.fromkeys((n_pos, MANY)):
            yield Cell(auc, n_pos, n_neg, spread)


def draw(cell: Cell, rng: np.random.Generator) -> ThresholdCounts:
    """Return one stream's counts."""
    shift = math.sqrt(1 + cell.spread**2) * NormalDist().inv_cdf(cell.auc)
    scores = np.concatenate(
        [rng.normal(0, 1, cell.n_neg), rng.normal(shift, cell.spread, cell.n_pos)]
    )
    labels = np.repeat([0, 1], [cell.n_neg, cell.n_pos])
    return threshold_counts(ScoreHistogram.from_scores(labels, scores, scale=Scale.exact()))


def simulate(cell: Cell, streams: int) -> dict[str, Outcome]:
    """Return the outcome of every method on the same streams."""
    key = (round(cell.auc * 1000), cell.n_pos, cell.n_neg, round(cell.spread))
    rng = np.random.default_rng([SEED, *key])
    held = dict.fromkeys(METHODS, 0)
    width = dict.fromkeys(METHODS, 0.0)
    for _ in range(streams):
        counts = draw(cell, rng)
        for method in METHODS:
            interval = roc_auc_interval(counts, method=method)
            held[method] += interval.low <= cell.auc <= interval.high
            width[method] += interval.high - interval.low
    return {name: Outcome(held[name] / streams, width[name] / streams) for name in METHODS}


def markdown(outcomes: dict[Cell, dict[str, Outcome]]) -> str:
    """Return the outcomes as a Markdown table, a row a cell."""
    head = ["AUC", "positives", "negatives", "spread", *METHODS]
    rows = [head, ["---"] * len(head)]
    for cell, found in outcomes.items():
        shown = [f"{100 * one.coverage:.1f} % ({one.width:.3f})" for one in found.values()]
        rows.append([f"{cell.auc:g}", str(cell.n_pos), str(cell.n_neg), f"{cell.spread:g}", *shown])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Simulate every cell and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, default=2_000, help="streams a cell")
    parser.add_argument("--positives", type=int, nargs="+", default=POSITIVES)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    outcomes = {cell: simulate(cell, options.streams) for cell in cells(options.positives)}
    if options.json:
        print(json.dumps([asdict(cell) | _plain(found) for cell, found in outcomes.items()]))
        return
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{options.streams} streams a cell, 95 % intervals, SMALL_CLASS = {SMALL_CLASS}\n")
    print(markdown(outcomes))


def _plain(found: dict[str, Outcome]) -> dict[str, dict[str, float]]:
    return {name: asdict(one) for name, one in found.items()}


if __name__ == "__main__":
    main()
