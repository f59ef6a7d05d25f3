"""ROC, PR, AUC and class ratio of a scored event stream, in any time window.

The names are imported when first used, so that ``import streamauc`` costs nothing by itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamauc.accumulator import Accumulator
    from streamauc.change.budget import FalseAlarmBudget
    from streamauc.change.compare import Comparison, compare
    from streamauc.change.detect import PrevalenceDetector
    from streamauc.change.label_shift import (
        ExpectedPerformance,
        LabelShift,
        expected_performance,
        label_shift,
    )
    from streamauc.change.ranking_detector import RankingAlarm, RankingDetector
    from streamauc.change.reference import ReferencePanes
    from streamauc.change.shift_detector import ShiftAlarm, ShiftDetector
    from streamauc.counts import ThresholdCounts, threshold_counts
    from streamauc.histogram import ScoreHistogram
    from streamauc.history import History
    from streamauc.metrics.area_intervals import (
        average_precision_interval,
        partial_roc_auc_interval,
    )
    from streamauc.metrics.best import BestThreshold, best_threshold
    from streamauc.metrics.bootstrap import bootstrap, bootstrap_interval
    from streamauc.metrics.calibration import (
        ReliabilityCurve,
        expected_calibration_error,
        reliability_curve,
    )
    from streamauc.metrics.cost_curves import CostCurve, cost_curve
    from streamauc.metrics.cost_interval import lowest_mean_cost, lowest_mean_cost_interval
    from streamauc.metrics.costs import (
        CostMatrix,
        bayes_threshold,
        mean_cost,
        threshold_costs,
        total_cost,
    )
    from streamauc.metrics.crossing import RocCrossings, roc_crossings
    from streamauc.metrics.curves import (
        PrecisionRecallCurve,
        RocCurve,
        precision_recall_curve,
        roc_curve,
    )
    from streamauc.metrics.gains import (
        GainsCurve,
        gain,
        gains_curve,
        gini,
        ks_statistic,
        ks_threshold,
        lift,
    )
    from streamauc.metrics.h_measure import h_measure
    from streamauc.metrics.hull import RocHull, roc_hull, roc_hull_auc
    from streamauc.metrics.hulls import ModelHull, model_hull
    from streamauc.metrics.intervals import (
        Interval,
        prevalence_interval,
        roc_auc_interval,
        wilson_interval,
    )
    from streamauc.metrics.isotonic import Isotonic, isotonic
    from streamauc.metrics.operating import Confusion, confusion_at
    from streamauc.metrics.partial import partial_roc_auc, partial_roc_auc_bounds
    from streamauc.metrics.pr_area import interpolated_curve, interpolated_precision, pr_area
    from streamauc.metrics.prior_shift import PriorShift
    from streamauc.metrics.probability import BrierParts, brier_parts, brier_score, log_loss
    from streamauc.metrics.scalars import (
        Bounds,
        average_precision,
        average_precision_bounds,
        prevalence,
        roc_auc,
        roc_auc_bounds,
    )
    from streamauc.metrics.thinning import (
        ThinnedPrecisionRecallCurve,
        ThinnedRocCurve,
        thin_precision_recall_curve,
        thin_roc_curve,
    )
    from streamauc.monitor import Monitor
    from streamauc.scale import Scale
    from streamauc.sliding import SlidingWindow
    from streamauc.stats import Stats
    from streamauc.store import DamageError, Store
    from streamauc.window import Window

__all__ = [
    "Accumulator",
    "BestThreshold",
    "Bounds",
    "BrierParts",
    "Comparison",
    "Confusion",
    "CostCurve",
    "CostMatrix",
    "DamageError",
    "ExpectedPerformance",
    "FalseAlarmBudget",
    "GainsCurve",
    "History",
    "Interval",
    "Isotonic",
    "LabelShift",
    "ModelHull",
    "Monitor",
    "PrecisionRecallCurve",
    "PrevalenceDetector",
    "PriorShift",
    "RankingAlarm",
    "RankingDetector",
    "ReferencePanes",
    "ReliabilityCurve",
    "RocCrossings",
    "RocCurve",
    "RocHull",
    "Scale",
    "ScoreHistogram",
    "ShiftAlarm",
    "ShiftDetector",
    "SlidingWindow",
    "Stats",
    "Store",
    "ThinnedPrecisionRecallCurve",
    "ThinnedRocCurve",
    "ThresholdCounts",
    "Window",
    "average_precision",
    "average_precision_bounds",
    "average_precision_interval",
    "bayes_threshold",
    "best_threshold",
    "bootstrap",
    "bootstrap_interval",
    "brier_parts",
    "brier_score",
    "compare",
    "confusion_at",
    "cost_curve",
    "expected_calibration_error",
    "expected_performance",
    "gain",
    "gains_curve",
    "gini",
    "h_measure",
    "interpolated_curve",
    "interpolated_precision",
    "isotonic",
    "ks_statistic",
    "ks_threshold",
    "label_shift",
    "lift",
    "log_loss",
    "lowest_mean_cost",
    "lowest_mean_cost_interval",
    "mean_cost",
    "model_hull",
    "partial_roc_auc",
    "partial_roc_auc_bounds",
    "partial_roc_auc_interval",
    "pr_area",
    "precision_recall_curve",
    "prevalence",
    "prevalence_interval",
    "reliability_curve",
    "roc_auc",
    "roc_auc_bounds",
    "roc_auc_interval",
    "roc_crossings",
    "roc_curve",
    "roc_hull",
    "roc_hull_auc",
    "thin_precision_recall_curve",
    "thin_roc_curve",
    "threshold_costs",
    "threshold_counts",
    "total_cost",
    "wilson_interval",
]

_HOMES = {
    "accumulator": ("Accumulator",),
    "change.budget": ("FalseAlarmBudget",),
    "change.compare": (
        "Comparison",
        "compare",
    ),
    "change.detect": ("PrevalenceDetector",),
    "change.label_shift": (
        "ExpectedPerformance",
        "LabelShift",
        "expected_performance",
        "label_shift",
    ),
    "change.ranking_detector": (
        "RankingAlarm",
        "RankingDetector",
    ),
    "change.reference": ("ReferencePanes",),
    "change.shift_detector": (
        "ShiftAlarm",
        "ShiftDetector",
    ),
    "counts": (
        "ThresholdCounts",
        "threshold_counts",
    ),
    "histogram": ("ScoreHistogram",),
    "history": ("History",),
    "metrics.area_intervals": (
        "average_precision_interval",
        "partial_roc_auc_interval",
    ),
    "metrics.best": (
        "BestThreshold",
        "best_threshold",
    ),
    "metrics.bootstrap": (
        "bootstrap",
        "bootstrap_interval",
    ),
    "metrics.calibration": (
        "ReliabilityCurve",
        "expected_calibration_error",
        "reliability_curve",
    ),
    "metrics.cost_curves": (
        "CostCurve",
        "cost_curve",
    ),
    "metrics.cost_interval": (
        "lowest_mean_cost",
        "lowest_mean_cost_interval",
    ),
    "metrics.costs": (
        "CostMatrix",
        "bayes_threshold",
        "mean_cost",
        "threshold_costs",
        "total_cost",
    ),
    "metrics.crossing": (
        "RocCrossings",
        "roc_crossings",
    ),
    "metrics.curves": (
        "PrecisionRecallCurve",
        "RocCurve",
        "precision_recall_curve",
        "roc_curve",
    ),
    "metrics.gains": (
        "GainsCurve",
        "gain",
        "gains_curve",
        "gini",
        "ks_statistic",
        "ks_threshold",
        "lift",
    ),
    "metrics.h_measure": ("h_measure",),
    "metrics.hull": (
        "RocHull",
        "roc_hull",
        "roc_hull_auc",
    ),
    "metrics.hulls": (
        "ModelHull",
        "model_hull",
    ),
    "metrics.intervals": (
        "Interval",
        "prevalence_interval",
        "roc_auc_interval",
        "wilson_interval",
    ),
    "metrics.isotonic": (
        "Isotonic",
        "isotonic",
    ),
    "metrics.operating": (
        "Confusion",
        "confusion_at",
    ),
    "metrics.partial": (
        "partial_roc_auc",
        "partial_roc_auc_bounds",
    ),
    "metrics.pr_area": (
        "interpolated_curve",
        "interpolated_precision",
        "pr_area",
    ),
    "metrics.prior_shift": ("PriorShift",),
    "metrics.probability": (
        "BrierParts",
        "brier_parts",
        "brier_score",
        "log_loss",
    ),
    "metrics.scalars": (
        "Bounds",
        "average_precision",
        "average_precision_bounds",
        "prevalence",
        "roc_auc",
        "roc_auc_bounds",
    ),
    "metrics.thinning": (
        "ThinnedPrecisionRecallCurve",
        "ThinnedRocCurve",
        "thin_precision_recall_curve",
        "thin_roc_curve",
    ),
    "monitor": ("Monitor",),
    "scale": ("Scale",),
    "sliding": ("SlidingWindow",),
    "stats": ("Stats",),
    "store": (
        "DamageError",
        "Store",
    ),
    "window": ("Window",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
