"""How often do intervals hold the true value? A simulation.

    python -m benchmarks.coverage --streams 2000
    python -m benchmarks.coverage --methods

Negatives are N(0, 1) and positives N(mu, sigma), where mu makes the true AUC exactly what it
says: AUC = Phi(mu / sqrt(1 + sigma^2)). Every cell draws its own streams from a fixed seed and
asks the library for each of them, on the exact scale. The table shows the share of the streams
whose 95 % interval held the true value: of the AUC, of the average precision at the class ratio
of the stream, of two partial areas, of recall, false positive rate and precision at the threshold
mu / 2, of that precision were `ELSEWHERE` of the events positive, of the average precision were
`RARE` of them, of the prevalence itself (in a stream of as many events of which each is positive by
chance), of the lowest mean cost where all misses together cost as much as all false alarms, and of
what noise raises: the best MCC, the H-measure, the largest distance of the classes, and the
calibration error of scores that are the chance of a positive, which is none.
With `--methods`, of the ways to find the interval of the AUC.
"""

import argparse
import itertools
import json
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist
from typing import get_args

import numpy as np

from benchmarks.data import FloatArray
from streamauc import (
    CostMatrix,
    Interval,
    Scale,
    ScoreHistogram,
    ThresholdCounts,
    average_precision_interval,
    bootstrap_interval,
    lowest_mean_cost_interval,
    partial_roc_auc_interval,
    roc_auc,
    roc_auc_interval,
    threshold_counts,
)
from streamauc.metrics import catalogue
from streamauc.metrics.combined import precision_interval_at
from streamauc.metrics.intervals import (
    SMALL_CLASS,
    AucMethod,
    fpr_interval,
    precision_interval,
    recall_interval,
    wilson_interval,
)
from streamauc.metrics.reweighted_intervals import average_precision_interval_at

AUCS = (0.6, 0.8, 0.95, 0.99)
POSITIVES = (10, 30, 100)
SPREADS = (1, 2)
MANY = 1_000
ELSEWHERE, RARE = 0.05, 0.01  # other prevalences
SEED = 20
BIASED = ("best_mcc", "h_measure", "ks_statistic", "calibration error")
# A bootstrap draws the stream many times: every so manieth stream and fewer resamples have to do.
DRAWN = {"lowest_mean_cost": 4, "bootstrap": 4, **dict.fromkeys(BIASED, 10)}
N_RESAMPLES = 200
_NORMAL = NormalDist()
_GRID = np.linspace(-8, 20, 200_001)


@dataclass(frozen=True)
class Cell:
    """What is drawn: the true AUC, the sizes of the classes, the spread of the positives."""

    auc: float
    n_pos: int
    n_neg: int
    spread: float

    @property
    def shift(self) -> float:
        """The mean of the positives."""
        return math.sqrt(1 + self.spread**2) * _NORMAL.inv_cdf(self.auc)

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return self.n_pos / (self.n_pos + self.n_neg)

    @property
    def costs(self) -> CostMatrix:
        """Costs that weigh both classes alike; flagging nobody costs 1/2 an event."""
        return CostMatrix(fn=0.5 / self.prevalence, fp=0.5 / (1 - self.prevalence))

    @cached_property
    def rates(self) -> tuple[FloatArray, FloatArray]:
        """The true positive and the false positive rate at rising thresholds."""
        return _above(self.shift, self.spread), _above(0.0, 1.0)

    @cached_property
    def truth(self) -> Mapping[str, float]:
        """The true value of each metric, by numerical integration where there is no formula."""
        tpr, fpr = self.rates
        flagged = self.prevalence * tpr + (1 - self.prevalence) * fpr
        precision = np.divide(
            self.prevalence * tpr, flagged, out=np.ones_like(tpr), where=flagged > 0
        )
        cut = int(np.searchsorted(_GRID, self.shift / 2))
        costs = self.costs
        mean_cost = costs.fn * self.prevalence * (1 - tpr) + costs.fp * (1 - self.prevalence) * fpr
        up, along = tpr[::-1], fpr[::-1]
        start, stop = np.interp(0.2, along, up), np.interp(0.8, up, along)
        left = np.append(along[along < 0.2], 0.2)
        high = np.concatenate(([0.8], up[up > 0.8]))
        return {
            "roc_auc": self.auc,
            "bootstrap": self.auc,
            "average_precision": float(-np.trapezoid(precision, tpr)),
            "max_fpr=0.2": float(np.trapezoid(np.append(up[along < 0.2], start), left)),
            "min_tpr=0.8": float(np.trapezoid(1 - np.concatenate(([stop], along[up > 0.8])), high)),
            "recall": float(tpr[cut]),
            "fpr": float(fpr[cut]),
            "precision": float(precision[cut]),
            "precision elsewhere": float(
                ELSEWHERE * tpr[cut] / (ELSEWHERE * tpr[cut] + (1 - ELSEWHERE) * fpr[cut])
            ),
            "average precision elsewhere": float(
                -np.trapezoid(RARE * tpr / np.maximum(RARE * tpr + (1 - RARE) * fpr, 1e-300), tpr)
            ),
            "lowest_mean_cost": float(mean_cost.min()),
            "best_mcc": float(_mcc(self.prevalence, tpr, fpr).max()),
            "h_measure": catalogue.value(self.population, "h_measure"),
            "ks_statistic": float(abs(tpr - fpr).max()),
            "calibration error": 0.0,
        }

    @property
    def population(self) -> ThresholdCounts:
        """The counts of so many events that no grid step is empty; their sum is 1."""
        tpr, fpr = (np.concatenate(([0.0], rate[::-1])) for rate in self.rates)
        thresholds = np.concatenate(([np.inf], _GRID[::-1]))
        return ThresholdCounts(thresholds, self.prevalence * tpr, (1 - self.prevalence) * fpr)

    def chance(self, scores: FloatArray) -> FloatArray:
        """Return the chance that an event with that score is positive."""
        pos = np.exp(-(((scores - self.shift) / self.spread) ** 2) / 2) / self.spread
        pos *= self.prevalence
        found: FloatArray = pos / (pos + (1 - self.prevalence) * np.exp(-(scores**2) / 2))
        return found

    def calibrated(self, counts: ThresholdCounts) -> ThresholdCounts:
        """Return the counts of the same events, their score the chance of a positive."""
        steps = np.concatenate((counts.pos_steps, counts.neg_steps)).astype(np.int64)
        chances = self.chance(counts.thresholds[1:])
        labels = np.repeat([1, 0], chances.size)
        scores = np.tile(chances, 2)
        rows = np.repeat(np.column_stack((labels, scores)), steps, axis=0)
        return threshold_counts(ScoreHistogram.from_scores(*rows.T, scale=Scale.exact()))


def _mcc(prevalence: float, tpr: FloatArray, fpr: FloatArray) -> FloatArray:
    """Return the MCC at thresholds; 0 where nobody or everybody is flagged."""
    flagged = prevalence * tpr + (1 - prevalence) * fpr
    variance = flagged * (1 - flagged)
    scale = np.sqrt(prevalence * (1 - prevalence) / np.where(variance > 1e-12, variance, np.inf))
    found: FloatArray = scale * (tpr - fpr)
    return found


def _above(mean: float, spread: float) -> FloatArray:
    """Return the chance of a normal variable to reach each threshold."""
    scaled = (_GRID - mean) / (spread * math.sqrt(2))
    return np.fromiter(map(math.erfc, scaled.tolist()), np.float64, count=scaled.size) / 2


Find = Callable[[ThresholdCounts], Interval]
_AUC_METHODS: tuple[AucMethod, ...] = get_args(AucMethod)
METHODS: Mapping[str, Find] = {
    method: partial(roc_auc_interval, method=method) for method in _AUC_METHODS
}


def intervals_of(cell: Cell) -> dict[str, Find]:
    """Return what is asked of each stream of a cell, by name."""
    at = float(_GRID[int(np.searchsorted(_GRID, cell.shift / 2))])
    return {
        "roc_auc": roc_auc_interval,
        "average_precision": average_precision_interval,
        "max_fpr=0.2": partial(partial_roc_auc_interval, max_fpr=0.2),
        "min_tpr=0.8": partial(partial_roc_auc_interval, min_tpr=0.8),
        "recall": partial(recall_interval, threshold=at),
        "fpr": partial(fpr_interval, threshold=at),
        "precision": partial(precision_interval, threshold=at),
        "precision elsewhere": partial(precision_interval_at, threshold=at, prevalence=ELSEWHERE),
        "average precision elsewhere": partial(average_precision_interval_at, prevalence=RARE),
        "lowest_mean_cost": partial(
            lowest_mean_cost_interval, costs=cell.costs, n_resamples=N_RESAMPLES
        ),
        **{name: partial(_biased, metric=name) for name in BIASED[:-1]},
        "calibration error": lambda counts: _biased(
            cell.calibrated(counts), "expected_calibration_error"
        ),
        "bootstrap": partial(bootstrap_interval, statistic=roc_auc, n_resamples=N_RESAMPLES),
    }


def _biased(counts: ThresholdCounts, metric: str) -> Interval:
    """Return the interval of the catalogue, from fewer resamples."""
    value = partial(catalogue.value, name=metric)
    return bootstrap_interval(counts, value, n_resamples=N_RESAMPLES, is_biased=True)


def cells(positives: Sequence[int]) -> Iterator[Cell]:
    """Yield each combination, with as many negatives as positives and with a thousand."""
    for n_pos, auc, spread in itertools.product(positives, AUCS, SPREADS):
        for n_neg in dict.fromkeys((n_pos, MANY)):
            yield Cell(auc, n_pos, n_neg, spread)


def draw(cell: Cell, rng: np.random.Generator) -> ThresholdCounts:
    """Return one stream's counts."""
    scores = np.concatenate(
        [rng.normal(0, 1, cell.n_neg), rng.normal(cell.shift, cell.spread, cell.n_pos)]
    )
    labels = np.repeat([0, 1], [cell.n_neg, cell.n_pos])
    return threshold_counts(ScoreHistogram.from_scores(labels, scores, scale=Scale.exact()))


def simulate(cell: Cell, streams: int, find: Mapping[str, Find]) -> dict[str, float]:
    """Return the coverage of every interval on the same streams; undefined ones hold nothing."""
    key = (round(cell.auc * 1000), cell.n_pos, cell.n_neg, round(cell.spread))
    rng = np.random.default_rng([SEED, *key])
    held, asked = dict.fromkeys(find, 0), dict.fromkeys(find, 0)
    for number in range(streams):
        counts = draw(cell, rng)
        for name, ask in find.items():
            if number % DRAWN.get(name, 1):
                continue
            interval, truth = ask(counts), cell.truth.get(name, cell.auc)
            held[name] += interval.low <= truth <= interval.high
            asked[name] += 1
    return {name: held[name] / asked[name] for name in find}


def of_intervals(cell: Cell, streams: int) -> dict[str, float]:
    """Return the coverage of every interval."""
    found = simulate(cell, streams, intervals_of(cell))
    return found | {"prevalence": _of_prevalence(cell, streams)}


def of_methods(cell: Cell, streams: int) -> dict[str, float]:
    """Return the coverage of the ways to find the interval of the AUC."""
    return simulate(cell, streams, METHODS)


def _of_prevalence(cell: Cell, streams: int) -> float:
    """Return how often the interval of the share of positives holds it."""
    rng = np.random.default_rng([SEED, cell.n_pos, cell.n_neg])
    n = cell.n_pos + cell.n_neg
    intervals = [wilson_interval(k, n) for k in rng.binomial(n, cell.prevalence, streams).tolist()]
    return sum(one.low <= cell.prevalence <= one.high for one in intervals) / streams


def markdown(outcomes: Mapping[Cell, Mapping[str, float]]) -> str:
    """Return the outcomes in percent as a Markdown table, a row a cell."""
    names = list(next(iter(outcomes.values())))
    head = ["positives", "negatives", "AUC", "spread", *names]
    rows = [head, ["---"] * len(head)]
    for cell, found in outcomes.items():
        shown = [f"{100 * coverage:.1f}" for coverage in found.values()]
        rows.append([str(cell.n_pos), str(cell.n_neg), f"{cell.auc:g}", f"{cell.spread:g}", *shown])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Simulate every cell and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, default=2_000, help="streams a cell")
    parser.add_argument("--positives", type=int, nargs="+", default=POSITIVES)
    parser.add_argument("--methods", action="store_true", help="the ways to do it for the AUC")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    ask = of_methods if options.methods else of_intervals
    outcomes = {cell: ask(cell, options.streams) for cell in cells(options.positives)}
    if options.json:
        rows = [
            {"auc": c.auc, "n_pos": c.n_pos, "n_neg": c.n_neg, "spread": c.spread, **found}
            for c, found in outcomes.items()
        ]
        print(json.dumps(rows))
        return
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{options.streams} streams a cell, 95 % intervals, SMALL_CLASS = {SMALL_CLASS};")
    shares = ", ".join(f"{name} every {share}th" for name, share in DRAWN.items())
    print(f"of {N_RESAMPLES} resamples, of fewer streams: {shares}\n")
    print(markdown(outcomes))


if __name__ == "__main__":
    main()
