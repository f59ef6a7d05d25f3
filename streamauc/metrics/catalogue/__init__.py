"""The catalogue: every metric by name, with what it needs, its unit and its good direction.

Windows, histories, the command line, rules and the README's table all read it. A metric that is
added to the entries of a subject and named in `_NAMES` is known to all of them. The entries of a
subject are loaded when one of them is asked for.
"""

import difflib
import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from streamauc import _check
from streamauc.counts import ThresholdCounts, threshold_counts
from streamauc.histogram import ScoreHistogram
from streamauc.metrics.catalogue.entry import (
    Direction,
    IntervalFunction,
    Metric,
    MetricFunction,
    Need,
    Params,
)
from streamauc.metrics.intervals import Interval
from streamauc.metrics.scalars import Bounds
from streamauc.scale import Scale

__all__ = [
    "METRICS",
    "PARAMETERS",
    "REASONS",
    "Direction",
    "IntervalFunction",
    "Metric",
    "MetricFunction",
    "Need",
    "Params",
    "UnknownMetricError",
    "bounds",
    "check",
    "find",
    "interval",
    "main_parameter",
    "parse",
    "reason",
    "table",
    "value",
]

# The metrics of each subject, which is the name of a module.
_NAMES = {
    "population": "n_samples n_pos n_neg prevalence",
    "ranking": "roc_auc average_precision partial_roc_auc standardised_partial_roc_auc",
    "curves": "gini ks_statistic roc_hull_auc pr_area h_measure gain lift",
    "flagging": "precision recall fpr fnr specificity npv alert_rate accuracy balanced_accuracy"
    " informedness f1 f_beta mcc",
    "choosing": "mean_cost total_cost lowest_mean_cost best_f1 best_f_beta best_mcc"
    " best_informedness closest_to_corner recall_at_fpr recall_at_precision recall_at_alert_rate",
    "thresholds": "best_f1_threshold best_f_beta_threshold best_mcc_threshold"
    " best_informedness_threshold ks_threshold lowest_mean_cost_threshold",
    "probability": "brier_score brier_reliability brier_resolution brier_uncertainty log_loss"
    " expected_calibration_error",
}
# Where so few mistakes are left, the bias that is seen is too small (simulated, see the README).
_NEAR_THE_BEST = 0.9
# Every parameter that some metric takes.
PARAMETERS = (
    "threshold",
    "prevalence",
    "beta",
    *("tp", "fn", "fp", "tn"),
    *("min_fpr", "max_fpr", "min_tpr", "max_tpr"),
    *("min_precision", "max_alert_rate"),
    *("share", "severity_ratio", "n_groups"),
)


# Why a value is ``nan``, and what that means.
REASONS = {
    "empty": "there are no events",
    "no_positives": "there are no positives",
    "no_negatives": "there are no negatives",
    "nothing_flagged": "no score is at or above the threshold",
    "no_variation": "predictions or outcomes are all the same",
    "infeasible": "no threshold keeps the limits",
    "flag_nobody": "no threshold is better than to flag nobody",
    "not_probabilities": "the scores are no probabilities",
}


class _Catalogue(Mapping[str, Metric]):
    """The entries by name, in the order of the README's table."""

    def __init__(self) -> None:
        self._subjects = {
            name: subject for subject, names in _NAMES.items() for name in names.split()
        }
        self._loaded: dict[str, Metric] = {}

    def __getitem__(self, name: str) -> Metric:
        if name not in self._loaded:
            subject = importlib.import_module(f"{__name__}.{self._subjects[name]}")
            self._loaded.update({entry.name: entry for entry in subject.ENTRIES})
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._subjects)

    def __len__(self) -> int:
        return len(self._subjects)


METRICS = _Catalogue()


class UnknownMetricError(ValueError):
    """A name that the catalogue does not hold."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(METRICS)}"
        super().__init__(f"metric must be in the catalogue, got {name!r}{hint}")


def find(name: str) -> Metric:
    """Return the entry of that name. Raises ValueError and suggests the nearest otherwise."""
    try:
        return METRICS[name]
    except KeyError:
        raise UnknownMetricError(name) from None


def parse(text: str) -> tuple[Metric, dict[str, float]]:
    """Return the entry and the parameters that a text such as ``precision@0.7`` names.

    Parameters follow, each behind an ``@``: the first one that the metric needs by its value
    alone, any other with its name, as in ``f_beta@0.7@beta=2``. Raises ValueError for what is no
    number and for a parameter that is given twice.
    """
    name, *given = text.split("@")
    metric = find(name)
    params: dict[str, float] = {}
    for part in given:
        key, equals, number = part.partition("=")
        if not equals:
            key, number = main_parameter(metric.parameters), part
        if key in params:
            raise ValueError(f"{key} must be given once, got {text!r}")
        try:
            params[key] = float(number)
        except ValueError:
            raise ValueError(f"{key} must be a number, got {number!r} in {text!r}") from None
    return metric, params


def main_parameter(parameters: Sequence[str]) -> str:
    """Return the parameter that may stand without its name."""
    return parameters[0] if parameters else "threshold"


def value(counts: ThresholdCounts, name: str, **params: float) -> float:
    """Return a metric by name; ``nan`` where it is undefined."""
    metric = find(name)
    return metric.function(counts, _checked(metric, params))


def check(name: str, **params: float) -> None:
    """Raise ValueError or TypeError for parameters with which no value can be asked for."""
    value(threshold_counts(ScoreHistogram.empty(Scale.exact())), name, **params)


def interval(
    counts: ThresholdCounts, name: str, *, level: float = 0.95, **params: float
) -> Interval:
    """Return a metric's confidence interval, that of the bootstrap where there is no formula.

    Raises ValueError for a number of events, which has none.
    """
    metric = find(name)
    params, level = _checked(metric, params), _check.level(level)
    if metric.interval is not None:
        return metric.interval(counts, level, params)
    if metric.unit == "events":
        raise ValueError(f"metric must be one with an interval, got {name!r}")
    metric.function(counts, params)  # raises for wrong ones, also where nothing is to be drawn
    return _drawn(counts, metric, level, params)


def _drawn(counts: ThresholdCounts, metric: Metric, level: float, params: Params) -> Interval:
    """Return the interval of the bootstrap."""
    # Loaded here, as nearly nobody needs it.
    from streamauc.metrics.bootstrap import bootstrap_interval

    found = bootstrap_interval(
        counts,
        lambda one: metric.function(one, params),
        level=level,
        is_biased=metric.is_biased,
    )
    if math.isnan(found.low):
        return found
    if metric.caution:
        found = replace(found, note=f"{found.note}; {metric.caution}")
    if not metric.is_biased:
        return found
    least, most = metric.within
    low, high = (min(max(end, least), most) for end in (found.low, found.high))
    note = found.note
    if metric.unsure_elsewhere and "prevalence" in params:
        note += "; at another class ratio it may cover 75 % where it says 95 %"
    if metric.never_below is not None:
        other = interval(counts, metric.never_below, level=level)
        low, high = min(low, other.low), max(high, other.high)
        note = f"hull of {note} and of that of {metric.never_below}, {other.note}"
    elif high > _NEAR_THE_BEST * most:
        note += "; so near to its best value it may cover 87 % where it says 95 %"
    return replace(found, low=low, high=high, note=note)


def bounds(counts: ThresholdCounts, name: str, **params: float) -> Bounds:
    """Return what binning leaves open of a metric. Raises ValueError if it has no bounds."""
    metric = find(name)
    params = _checked(metric, params)
    if metric.bounds is None:
        raise ValueError(f"metric must be one with bounds, got {name!r}")
    return metric.bounds(counts, params)


def reason(counts: ThresholdCounts, name: str, **params: float) -> str | None:
    """Return why a metric is ``nan``, or None if it is not.

    One of `REASONS`, which says what each means.
    """
    if not math.isnan(value(counts, name, **params)):
        return None
    if not counts.n_samples:
        return "empty"
    metric = find(name)
    own = None if metric.reason is None else metric.reason(counts, params)
    if own is not None:
        return own
    needs = metric.needs
    if "prevalence" in params:  # the scores of both classes are needed to mix them anew
        needs += ("positives", "negatives")
    if "positives" in needs and not counts.n_pos:
        return "no_positives"
    if "negatives" in needs and not counts.n_neg:
        return "no_negatives"
    return "nothing_flagged" if "flagged" in needs else "no_variation"


def _checked(metric: Metric, params: Params) -> dict[str, float]:
    """Return parameters that a metric takes as floats. Raises ValueError and TypeError."""
    missing = [name for name in metric.parameters if name not in params]
    extra = [name for name in params if name not in metric.parameters + metric.optional]
    if missing:
        raise ValueError(f"metric {metric.name!r} needs {missing[0]}=")
    if extra:
        raise ValueError(f"metric {metric.name!r} takes no {extra[0]}=")
    return {name: _check.number(name, given) for name, given in params.items()}


def table() -> str:
    """Return the catalogue as a Markdown table; optional parameters in parentheses.

    Of an interval it says whether there is a formula.
    """
    head = "| name | what it is | unit | better | parameters | interval | bounds |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for metric in METRICS.values():
        names = [f"`{name}`" for name in metric.parameters]
        names += [f"(`{name}`)" for name in metric.optional]
        drawn = "" if metric.unit == "events" else "bootstrap"
        has = ["yes" if metric.interval else drawn, "yes" if metric.bounds else ""]
        what = [f"`{metric.name}`", metric.summary, metric.unit, metric.better]
        rows.append("| " + " | ".join([*what, ", ".join(names), *has]) + " |")
    return "\n".join(rows)
