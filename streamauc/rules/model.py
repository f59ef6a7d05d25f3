"""A rules file, read: frozen values, in plain numbers and seconds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal, get_args

from streamauc.rules.measures import Definition
from streamauc.rules.policy import Policy
from streamauc.rules.problems import Problem
from streamauc.rules.selector import Labels, Selector, braced
from streamauc.rules.templates import Template, Values

Severity = Literal["warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("warning", "critical")
DEFAULT_SEVERITY: Severity = "warning"
DetectorName = Literal["prevalence", "ranking", "shift"]
DETECTORS: tuple[DetectorName, ...] = get_args(DetectorName)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a comparison compares with: exactly one of the three.

    `name`: a named reference; `ago`: the same window so many seconds before; `previous`: the
    window of the same length before.
    """

    name: str | None = None
    ago: float | None = None
    previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric, a comparison or something about the health of a stream.

    * `last`, `offset`: the window; `last` is None where there is none, and of the rejected share
      how long ago it is compared with.
    * `level`: of the interval if it is the whole interval that must be past the limit, else None.
    * `min_pos`, `min_neg`, `min_coverage`: with less, there is nothing to judge.
    """

    definition: Definition
    params: Mapping[str, float]
    last: float | None
    offset: float
    level: float | None
    min_pos: float
    min_neg: float
    min_coverage: float
    reference: Reference | None

    @property
    def subject(self) -> str:
        """What is measured, in words: ``precision@0.7``."""
        name, params = self.definition.name, dict(self.params)
        if "threshold" in params:
            name += f"@{params.pop('threshold'):g}"
        return " ".join([name, *(f"{key}={value:g}" for key, value in params.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """A detector and its arguments, times in seconds.

    * `detector`: ``"prevalence"`` for a `PrevalenceDetector`, ``"ranking"`` for a
      `RankingDetector`, ``"shift"`` for a `ShiftDetector`; only the first has a `seasonal`, a
      `phase` and an `overdispersion`.
    * `reference`: a named one, or a prevalence or an AUC that is known.
    * `offset`: panes are stepped that long after their end, when their labels are mature.
    * `false_alarm_every`: the share of the file's budget, for each of up to `max_series` series.
    """

    detector: DetectorName
    reference: str | float
    tolerance: float
    pane_seconds: int
    offset: float
    min_coverage: float
    level: float
    seasonal: float | None
    phase: float
    overdispersion: float | Literal["estimate"]
    stall_after: float
    false_alarm_every: float
    max_series: int

    @property
    def needs_panes(self) -> bool:
        """Whether the reference is needed pane by pane."""
        return self.seasonal is not None or self.overdispersion == "estimate"

    @property
    def fingerprint(self) -> str:
        """The settings as JSON, to be stored with a detector: it starts anew when they change."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def subject(self) -> str:
        """What is watched, in words."""
        return f"{self.detector} detector"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One ``[[rule]]``: what is measured, when it fires, and what is said then."""

    alert: str
    measure: Measure | Detection
    policy: Policy
    series: Selector
    labels: Labels
    annotations: Mapping[str, Template]
    line: int

    @cached_property
    def id(self) -> str:
        """The name and the labels, which no two rules of a file share."""
        return f"{self.alert}{braced(self.labels)}"

    @property
    def severity(self) -> Severity:
        """The label ``severity``; ``"warning"`` unless given."""
        return (
            "critical"
            if self.labels.get("severity", DEFAULT_SEVERITY) == "critical"
            else ("warning")
        )

    def annotate(self, labels: Labels, value: float, reason: str) -> dict[str, str]:
        """Return the annotations of an alert of a series; its own labels win over the series'."""
        values = Values(self.alert, {**labels, **self.labels}, value, reason)
        return {name: template.render(values) for name, template in self.annotations.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesFile:
    """All rules of a file; `false_alarm_every` is the budget of all detectors together.

    `doubts` are limits that make an alert constant, with their lines.
    """

    file: str
    rules: Sequence[Rule]
    false_alarm_every: float
    doubts: Sequence[Problem] = ()


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a state belongs to: a rule (`Rule.id`) and a series; of texts, to store it under.

    `series` holds the labels as JSON, sorted; "" when no series matches the rule.
    """

    rule: str
    series: str

    @classmethod
    def of(cls, rule: Rule, labels: Labels | None) -> "Key":
        """Return the key of a rule for a series, or for none."""
        return cls(rule.id, "" if labels is None else series_key(labels))

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the series; none when there is no series."""
        return {} if not self.series else dict(json.loads(self.series))


def series_key(labels: Labels) -> str:
    """Return labels as JSON, sorted, which is the same for the same labels only."""
    return json.dumps(dict(labels), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
