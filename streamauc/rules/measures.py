"""What a rule may measure: names, what each needs, and the nearest name to a wrong one."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from streamauc.metrics import catalogue
from streamauc.rules.problems import nearest

Kind = Literal["metric", "comparison", "health"]
PARAMETERS = catalogue.PARAMETERS

_DIFFERENCES = ("prevalence_difference", "prevalence_ratio", "roc_auc_difference")
_SHIFTS = ("ks", "psi", "jensen_shannon")
_GROUPS = ("overall", "positives", "negatives")
_ATTRIBUTED = ("average_precision", "precision", "recall", "fpr", "alert_rate")
# The range of a difference of two shares.
_CHANGE = (-1.0, 1.0)
_PARTS = ("prevalence", "positives", "negatives")


@dataclass(frozen=True, slots=True)
class Definition:
    """A name that a rule may measure.

    `windowed` says whether it is of a window of panes; if not, `last` is of how many seconds it
    is unless the rule says so, 0 if it is of none. `of_time` says whether it is in seconds;
    `metric` and `part` are what a comparison reads; `low` and `high` are the ends of its range.
    """

    name: str
    kind: Kind
    parameters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    has_interval: bool = False
    windowed: bool = True
    last: float = 0.0
    of_time: bool = False
    metric: str = ""
    part: str = ""
    low: float = 0.0
    high: float = math.inf


class _Definitions(Mapping[str, Definition]):
    """Every definition by name; of the catalogue's metrics only those asked for are loaded."""

    def __init__(self) -> None:
        self._others = {one.name: one for one in (*_comparisons(), *_HEALTH)}

    def __getitem__(self, name: str) -> Definition:
        found = self._others.get(name)
        return _metric(catalogue.METRICS[name]) if found is None else found

    def __iter__(self) -> Iterator[str]:
        yield from catalogue.METRICS
        yield from self._others

    def __len__(self) -> int:
        return len(catalogue.METRICS) + len(self._others)


def _comparisons() -> Iterator[Definition]:
    for name in _DIFFERENCES:
        ends = (0.0, math.inf) if name == "prevalence_ratio" else _CHANGE
        yield Definition(name, "comparison", has_interval=True, low=ends[0], high=ends[1])
    for metric in _SHIFTS:
        high = math.inf if metric == "psi" else 1.0
        for part in _GROUPS:
            yield Definition(f"{metric}.{part}", "comparison", metric=metric, part=part, high=high)
    for metric in _ATTRIBUTED:
        needs = () if metric == "average_precision" else ("threshold",)
        name = f"{metric}_change"
        whole = Definition(
            name,
            "comparison",
            needs,
            metric=metric,
            part="total",
            low=_CHANGE[0],
            high=_CHANGE[1],
        )
        yield whole
        for part in _PARTS:
            yield replace(whole, name=f"{name}.{part}", part=part)


_HEALTH = (
    Definition("coverage", "health", high=1.0),
    Definition("newest_event_age", "health", windowed=False, of_time=True),
    Definition("rejected_share", "health", windowed=False, last=3600.0, high=1.0),
    Definition("seconds_since_flush", "health", windowed=False, of_time=True),
)


def _metric(entry: catalogue.Metric) -> Definition:
    low, high = entry.within
    return Definition(
        entry.name,
        "metric",
        entry.parameters,
        entry.optional,
        entry.interval is not None,
        low=low,
        high=high,
    )


DEFINITIONS: Mapping[str, Definition] = _Definitions()
# The threshold of a part of a change, which may stand before the part.
_AT = re.compile(r"@([^.@]*(?:\.\d[^.@]*)?)")


def parse(text: str) -> tuple[Definition, dict[str, float]]:
    """Return the definition and the parameters that a text such as ``f_beta@0.7@beta=2`` names.

    A metric of the catalogue is read as `catalogue.parse` does. Of a part of a change the
    threshold may stand in the middle, as in `compare`: ``precision_change@0.7.negatives``.
    Raises ValueError, with the nearest name for one that is not known.
    """
    if text.partition("@")[0] in catalogue.METRICS:
        entry, params = catalogue.parse(text)
        return _metric(entry), {key: _finite(key, given, text) for key, given in params.items()}
    name, thresholds = _AT.sub("", text), _AT.findall(text)
    definition = DEFINITIONS.get(name)
    if definition is None:
        raise ValueError(f"metric must be a known one, got {text!r}{nearest(name, DEFINITIONS)}")
    if len(thresholds) > 1:
        raise ValueError(f"threshold must be given once, got {text!r}")
    return definition, {"threshold": _number(thresholds[0], text)} if thresholds else {}


def _number(given: str, text: str) -> float:
    try:
        return _finite("threshold", float(given), text)
    except ValueError:
        raise ValueError(f"threshold must be a number, got {given!r} in {text!r}") from None


def _finite(key: str, given: float, text: str) -> float:
    if not math.isfinite(given):
        raise ValueError(f"{key} must be finite, got {given!r} in {text!r}")
    return given


def check(definition: Definition, params: Mapping[str, float]) -> None:
    """Raise ValueError for parameters that the metric refuses; its message begins with the name."""
    if definition.kind == "metric":
        catalogue.check(definition.name, **params)


def without_interval(definition: Definition) -> str:
    """Return in words that the metric has no interval that a rule may use, and which have."""
    known = [one.name for one in DEFINITIONS.values() if one.has_interval]
    has = "has no interval"
    if definition.kind == "metric" and catalogue.find(definition.name).unit != "events":
        has = "has its interval by bootstrap, which rules do not run"
    return f"metric {definition.name!r} {has}; those with one by formula are {', '.join(known)}"
