"""A rules file is read into plain values, with the defaults of the documentation."""

import re

import pytest
from rules.malformed import AGE, DETECTOR, METRIC, bare

from streamauc.metrics import catalogue
from streamauc.rules import detector_keys, measure_keys
from streamauc.rules.document import COMMON_KEYS, MAX_RULES, load, parse
from streamauc.rules.example import example
from streamauc.rules.measures import DEFINITIONS
from streamauc.rules.model import Detection, Key, Reference
from streamauc.rules.policy import Limits, Policy


def only(text):
    (rule,) = parse(text).rules
    return rule


def test_defaults():
    """What a rule of five lines means."""
    rule = only(METRIC)

    assert (rule.alert, rule.id, rule.line, rule.severity) == ("low", "low{}", 1, "warning")
    assert rule.policy == Policy(subject="roc_auc", limits=Limits(below=0.8))
    assert rule.series.matches({"any": "thing"})
    measure = rule.measure
    assert (measure.definition.name, measure.params) == ("roc_auc", {})
    assert (measure.last, measure.offset, measure.level) == (3600, 0, None)
    assert (measure.min_pos, measure.min_neg, measure.min_coverage) == (0, 0, 0)
    assert measure.reference is None
    assert rule.annotate({}, 1.0, "") == {}


def test_every_key():
    """Durations in seconds, tables as they are."""
    rule = only(
        METRIC
        + """
offset = "1h30m"
above = 0.95
clear_above = 0.82
clear_below = 0.94
by = "bound"
level = 0.9
min_pos = 10
min_neg = 20.5
min_coverage = 0.5
for = "5m"
keep_firing_for = 90
no_data = "firing"
no_data_after = "1d"
labels = { severity = "critical", team = "x" }
series = { model = "fraud", region = "~eu.*" }
annotations.summary = "{{ $labels.model }} {{ $labels.team }} {{ $value }} {{ $reason }}"
"""
    )

    assert rule.id == 'low{severity="critical", team="x"}'
    assert rule.severity == "critical"
    assert rule.policy == Policy(
        subject="roc_auc",
        limits=Limits(0.8, 0.95, 0.82, 0.94),
        hold=300,
        keep=90,
        no_data="firing",
        no_data_after=86_400,
    )
    assert rule.measure.offset == 5400
    assert (rule.measure.level, rule.measure.min_coverage) == (0.9, 0.5)
    assert (rule.measure.min_pos, rule.measure.min_neg) == (10, 20.5)
    assert rule.series.matches({"model": "fraud", "region": "eu1"})
    assert not rule.series.matches({"model": "fraud"})
    assert rule.annotate({"model": "m", "team": "own"}, 0.5, "so") == {"summary": "m x 0.5 so"}


def test_every_metric_of_the_catalogue_can_be_measured():
    """With its parameters as keys, or the threshold behind @."""
    values = {"threshold": 0.5, "prevalence": 0.1, "beta": 2.0, "max_fpr": 0.3, "fn": 9.0}
    values |= {"fp": 1.0, "tp": -5.0, "tn": 0.5, "min_precision": 0.5, "max_alert_rate": 0.2}
    values |= {"share": 0.1, "severity_ratio": 0.2, "n_groups": 5.0}
    for name, entry in catalogue.METRICS.items():
        takes = [key for key in (*entry.parameters, *entry.optional) if key in values]
        keys = "\n".join(f"{key} = {values[key]}" for key in takes)
        rule = only(bare(f'metric = "{name}"', 'window = "1h"', "below = 1", keys))
        assert rule.measure.params == {key: values[key] for key in takes}
        assert rule.policy.subject.startswith(name)
        if "threshold" in takes:
            rest = "\n".join(f"{key} = {values[key]}" for key in takes if key != "threshold")
            rule = only(bare(f'metric = "{name}@0.5"', 'window = "1h"', "below = 1", rest))
            assert rule.measure.params["threshold"] == 0.5


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("f_beta@0.5@beta=2", ""),
        ("f_beta@beta=2@threshold=0.5", ""),
        ("f_beta@0.5", "beta = 2"),
        ("f_beta@beta=2", "threshold = 0.5"),
        ("f_beta", "threshold = 0.5\nbeta = 2"),
    ],
)
def test_a_metric_is_named_as_everywhere_else(text, keys):
    """Its parameters behind @, as `Window` and `replay` take them, or as keys, or some of each."""
    rule = only(bare(f'metric = "{text}"', 'window = "1h"', "below = 1", keys))

    assert rule.measure.params == {"threshold": 0.5, "beta": 2.0}
    assert rule.policy.subject == "f_beta@0.5 beta=2"


def test_parameters_that_are_not_needed_stand_behind_the_name_too():
    """Such as the ends of a region of rates."""
    text = 'metric = "partial_roc_auc@min_fpr=0.01@max_fpr=0.1"'
    rule = only(bare(text, 'window = "1h"', "below = 1", 'by = "bound"'))

    assert rule.measure.params == {"min_fpr": 0.01, "max_fpr": 0.1}


def test_every_comparison_can_be_measured():
    """Its threshold may stand in the middle, as `Comparison.attribution` names it."""
    for definition in DEFINITIONS.values():
        if definition.kind == "comparison":
            more = ["threshold = 0.5"] if definition.parameters else []
            lines = ['window = "1h"', "below = 1", 'reference = "previous"', *more]
            rule = only(bare(f'metric = "{definition.name}"', *lines))
            assert rule.measure.reference == Reference(previous=True)
    for name in ("precision_change@0.75.negatives", "precision_change.negatives@0.75"):
        rule = only(bare(f'metric = "{name}"', 'window = "1h"', "below = 1", 'reference = "x"'))
        assert rule.measure.params == {"threshold": 0.75}
        assert rule.measure.definition.part == "negatives"


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("previous", Reference(previous=True)),
        ("7d", Reference(ago=7 * 86_400)),
        ("1h", Reference(ago=3600)),
        ("fraud-v3", Reference(name="fraud-v3")),
        ("7 dwarfs", Reference(name="7 dwarfs")),
    ],
)
def test_references(text, reference):
    """The window before, a length of time ago, or a name."""
    lines = ['metric = "prevalence_ratio"', 'window = "1h"', "above = 2"]

    assert only(bare(*lines, f'reference = "{text}"')).measure.reference == reference


def test_limits_of_times_may_be_written_as_lengths():
    """Seconds, too."""
    assert only(AGE).policy.limits.above == 300
    assert only(AGE.replace('"5m"', "90.5")).policy.limits.above == 90.5


def test_detectors_have_the_defaults_of_the_class():
    """And a share of thirty days."""
    measure = only(DETECTOR).measure

    assert measure == Detection(
        detector="prevalence",
        reference="fraud-v3",
        tolerance=0.0,
        pane_seconds=300,
        offset=0.0,
        min_coverage=0.95,
        level=0.99,
        seasonal=None,
        phase=3600.0,
        overdispersion=1.0,
        stall_after=86_400.0,
        false_alarm_every=30 * 86_400.0,
        max_series=1,
    )
    assert not measure.needs_panes
    assert measure.fingerprint == only(DETECTOR).measure.fingerprint
    assert measure.fingerprint != only(DETECTOR + 'offset = "1h"').measure.fingerprint
    assert only(DETECTOR + 'overdispersion = "estimate"').measure.needs_panes


def test_one_budget_is_split_over_all_detectors():
    """By weight, and evenly over the series of each: the rates add up to the budget's."""
    text = "[budget]\nfalse_alarm_every = '10d'\n"
    for name, weight, series in (("a", 2, 1), ("b", 1, 5), ("c", 1, 1)):
        text += DETECTOR.replace("moved", name) + f"weight = {weight}\nmax_series = {series}\n"

    rules = parse(text + METRIC).rules

    found = [rule.measure for rule in rules if isinstance(rule.measure, Detection)]
    days = [round(one.false_alarm_every / 86_400, 6) for one in found]
    assert days == [20, 200, 40]
    assert sum(one.max_series / one.false_alarm_every for one in found) == pytest.approx(
        1 / (10 * 86_400)
    )


def test_rules_may_share_a_name_if_their_labels_differ():
    """As a warning and a critical one do."""
    text = METRIC + METRIC.replace("0.8", "0.7") + 'labels = { severity = "critical" }'

    assert [rule.id for rule in parse(text).rules] == ["low{}", 'low{severity="critical"}']


def test_tables_may_be_written_in_any_way():
    """Inline, dotted, or as an array of inline tables."""
    text = 'rule = [{ alert = "x", metric = "n_pos", window = "1h", below = 3, "for" = 60 }]'

    assert only(text).policy.hold == 60


def test_as_many_rules_as_allowed():
    """Ten thousand."""
    text = "".join(METRIC.replace('"low"', f'"a{number}"') for number in range(MAX_RULES))

    assert len(parse(text).rules) == MAX_RULES


def test_keys_hold_the_labels_of_a_series():
    """Sorted, so that they are the same whatever the order; and those of no series."""
    rule = only(METRIC)
    key = Key.of(rule, {"b": 'é"', "a": "1"})

    assert key == Key.of(rule, {"a": "1", "b": 'é"'})
    assert key.labels == {"a": "1", "b": 'é"'}
    assert key.series == '{"a":"1","b":"é\\""}'
    assert Key.of(rule, {}) != Key.of(rule, None)
    assert Key.of(rule, None).labels == {}


def test_the_example_is_valid_and_shows_every_key(tmp_path):
    """What `init` writes."""
    path = tmp_path / "rules.toml"
    path.write_text(example(), encoding="utf-8")

    rules = load(path).rules

    assert len(rules) == 13
    kinds = {
        "detector" if isinstance(rule.measure, Detection) else rule.measure.definition.kind
        for rule in rules
    }
    assert kinds == {"metric", "comparison", "health", "detector"}
    rare = {"seasonal", "phase", "overdispersion", "stall_after", "clear_below"}
    rare |= {*catalogue.PARAMETERS} - {"threshold", "prevalence", "fn", "fp"}
    shown = set(re.findall(r"^(\w+) = |\[rule\.(\w+)\]", example(), re.MULTILINE))
    names = {name for pair in shown for name in pair if name}
    assert {*COMMON_KEYS, *measure_keys.KEYS, *detector_keys.KEYS} - rare <= names
