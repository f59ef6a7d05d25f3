"""What a rule may measure: names, what each needs, and the nearest name to a wrong one."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from streamauc.counts import threshold_counts
from streamauc.histogram import ScoreHistogram
from streamauc.metrics import catalogue
from streamauc.rules.problems import nearest
from streamauc.scale import Scale

Kind = Literal["metric", "comparison", "health"]
PARAMETERS = ("threshold", "prevalence", "beta")

_DIFFERENCES = ("prevalence_difference", "prevalence_ratio", "roc_auc_difference")
_SHIFTS = ("ks", "psi", "jensen_shannon")
_GROUPS = ("overall", "positives", "negatives")
_ATTRIBUTED = ("average_precision", "precision", "recall", "fpr", "alert_rate")
_PARTS = ("prevalence", "positives", "negatives")


@dataclass(frozen=True, slots=True)
class Definition:
    """A name that a rule may measure.

    `windowed` says whether it is of a window, `of_time` whether it is in seconds; `metric` and
    `part` are what a comparison reads.
    """

    name: str
    kind: Kind
    parameters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    has_interval: bool = False
    windowed: bool = True
    of_time: bool = False
    metric: str = ""
    part: str = ""


def _definitions() -> dict[str, Definition]:
    found = [_metric(entry) for entry in catalogue.METRICS.values()]
    found += [Definition(name, "comparison", has_interval=True) for name in _DIFFERENCES]
    for metric in _SHIFTS:
        found += [
            Definition(f"{metric}.{part}", "comparison", metric=metric, part=part)
            for part in _GROUPS
        ]
    for metric in _ATTRIBUTED:
        needs = () if metric == "average_precision" else ("threshold",)
        name = f"{metric}_change"
        found.append(Definition(name, "comparison", needs, metric=metric, part="total"))
        found += [
            Definition(f"{name}.{part}", "comparison", needs, metric=metric, part=part)
            for part in _PARTS
        ]
    found += [
        Definition("coverage", "health"),
        Definition("newest_event_age", "health", windowed=False, of_time=True),
        Definition("rejected_share", "health", windowed=False),
        Definition("seconds_since_flush", "health", windowed=False, of_time=True),
    ]
    return {definition.name: definition for definition in found}


def _metric(entry: catalogue.Metric) -> Definition:
    return Definition(
        entry.name, "metric", entry.parameters, entry.optional, entry.interval is not None
    )


DEFINITIONS: Mapping[str, Definition] = _definitions()
_AT = re.compile(r"@([^.@]*(?:\.\d[^.@]*)?)")


def parse(text: str) -> tuple[Definition, dict[str, float]]:
    """Return the definition and the parameters that a text such as ``precision@0.7`` names.

    Of a part of a change the threshold may stand in the middle, as in `compare`:
    ``precision_change@0.7.negatives``. Raises ValueError and suggests the nearest name.
    """
    match = _AT.search(text)
    name = text if match is None else text[: match.start()] + text[match.end() :]
    definition = DEFINITIONS.get(name)
    if definition is None:
        raise ValueError(f"metric must be a known one, got {text!r}{nearest(name, DEFINITIONS)}")
    if match is None:
        return definition, {}
    try:
        threshold = float(match[1])
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise ValueError(f"metric must have a finite number behind @, got {text!r}")
    return definition, {"threshold": threshold}


def check(definition: Definition, params: Mapping[str, float]) -> None:
    """Raise ValueError for parameters that the metric refuses; its message begins with the name."""
    if definition.kind == "metric":
        empty = threshold_counts(ScoreHistogram.empty(Scale.exact()))
        catalogue.value(empty, definition.name, **params)
