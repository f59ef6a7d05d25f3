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
    from streamauc.change.reference import ReferencePanes
    from streamauc.counts import ThresholdCounts, threshold_counts
    from streamauc.histogram import ScoreHistogram
    from streamauc.history import History
    from streamauc.metrics.curves import (
        PrecisionRecallCurve,
        RocCurve,
        precision_recall_curve,
        roc_curve,
    )
    from streamauc.metrics.intervals import (
        Interval,
        prevalence_interval,
        roc_auc_interval,
        wilson_interval,
    )
    from streamauc.metrics.operating import Confusion, confusion_at
    from streamauc.metrics.scalars import (
        Bounds,
        average_precision,
        average_precision_bounds,
        prevalence,
        roc_auc,
        roc_auc_bounds,
    )
    from streamauc.monitor import Monitor
    from streamauc.scale import Scale
    from streamauc.stats import Stats
    from streamauc.store import DamageError, Store
    from streamauc.window import Window

__all__ = [
    "Accumulator",
    "Bounds",
    "Comparison",
    "Confusion",
    "DamageError",
    "FalseAlarmBudget",
    "History",
    "Interval",
    "Monitor",
    "PrecisionRecallCurve",
    "PrevalenceDetector",
    "ReferencePanes",
    "RocCurve",
    "Scale",
    "ScoreHistogram",
    "Stats",
    "Store",
    "ThresholdCounts",
    "Window",
    "average_precision",
    "average_precision_bounds",
    "compare",
    "confusion_at",
    "precision_recall_curve",
    "prevalence",
    "prevalence_interval",
    "roc_auc",
    "roc_auc_bounds",
    "roc_auc_interval",
    "roc_curve",
    "threshold_counts",
    "wilson_interval",
]

_HOMES = {
    "accumulator": ("Accumulator",),
    "change.budget": ("FalseAlarmBudget",),
    "change.compare": ("Comparison", "compare"),
    "change.detect": ("PrevalenceDetector",),
    "change.reference": ("ReferencePanes",),
    "counts": ("ThresholdCounts", "threshold_counts"),
    "histogram": ("ScoreHistogram",),
    "history": ("History",),
    "metrics.curves": (
        "PrecisionRecallCurve",
        "RocCurve",
        "precision_recall_curve",
        "roc_curve",
    ),
    "metrics.intervals": (
        "Interval",
        "prevalence_interval",
        "roc_auc_interval",
        "wilson_interval",
    ),
    "metrics.operating": ("Confusion", "confusion_at"),
    "metrics.scalars": (
        "Bounds",
        "average_precision",
        "average_precision_bounds",
        "prevalence",
        "roc_auc",
        "roc_auc_bounds",
    ),
    "monitor": ("Monitor",),
    "scale": ("Scale",),
    "stats": ("Stats",),
    "store": ("DamageError", "Store"),
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
