"""One evaluation: every rule for every series it matches, each window read once."""

import math
from collections import Counter

import pytest
from rules.malformed import AGE, DETECTOR, METRIC
from rules.sources import FRAUD, Clock, monitor, one, rule, source

from streamauc.change.verdict import State as DetectorState
from streamauc.cli.check import plugin_line
from streamauc.cli.judged import print_results, to_dict
from streamauc.rules.document import parse
from streamauc.rules.evaluate import evaluate
from streamauc.rules.memory import MonitorSource
from streamauc.rules.model import Key
from streamauc.rules.policy import NO_DATA
from streamauc.rules.record import State
from streamauc.rules.source import Health, Verdict


class Many(MonitorSource):
    """Several series; counts what is asked, and breaks where told to."""

    def __init__(self, *series, broken=()):
        self.clock = Clock()
        events = [(10, 1, 0.9, 3), (20, 0, 0.1, 7)]
        super().__init__([(one, monitor(self.clock, *events)) for one in series], clock=self.clock)
        self.clock.now = 60.0
        self.asked = Counter()
        self.broken = broken

    def _ask(self, what, labels):
        self.asked[what, labels["model"]] += 1
        if labels["model"] in self.broken:
            raise OSError(f"disk of {labels['model']} is gone")

    def window(self, labels, start, end):
        self._ask(("window", start), labels)
        return super().window(labels, start, end)

    def health(self, labels):
        self._ask("health", labels)
        return Health(newest_event=20.0)

    def detect(self, key, detection, labels, now):
        assert now == self.clock.now
        self._ask(("detect", key.rule), labels)
        return Verdict(DetectorState.ALARM, 1.5, f"moved, reference {detection.reference}")


A, B, C = ({"model": name} for name in "abc")
FILE = parse(
    METRIC
    + METRIC.replace('"low"', '"prevalence"').replace("roc_auc", "prevalence")
    + AGE
    + DETECTOR
    + 'series = { model = "~a|c" }\nmax_series = 2\n'
    + METRIC.replace('"low"', '"none"')
    + 'series = { model = "z" }\n'
)


def states(results):
    return [
        (result.rule.alert, result.labels.get("model"), result.state.value) for result in results
    ]


def test_every_rule_for_every_series_in_the_order_of_the_file():
    """With one result for a rule that matches none."""
    assert states(evaluate(FILE, Many(A, B))) == [
        ("low", "a", "OK"),
        ("low", "b", "OK"),
        ("prevalence", "a", "FIRING"),
        ("prevalence", "b", "FIRING"),
        ("silent", "a", "OK"),
        ("silent", "b", "OK"),
        ("moved", "a", "FIRING"),
        ("none", None, "NO_DATA"),
    ]


def test_each_window_is_read_once():
    """For all rules together."""
    found = Many(A, B, C)

    evaluate(FILE, found)

    assert set(found.asked.values()) == {1}
    assert len(found.asked) == 3 + 3 + 2


def test_an_error_is_of_its_series_alone():
    """It is asked once, and every rule that needed it says why."""
    found = Many(A, B, broken=("a",))

    results = evaluate(FILE, found)

    by_key = {(result.rule.alert, result.labels.get("model")): result for result in results}
    for alert in ("low", "prevalence", "silent", "moved"):
        result = by_key[alert, "a"]
        assert (result.state, result.record.reason) == (
            State.ERROR,
            "OSError: disk of a is gone",
        )
    assert by_key["low", "b"].state is State.OK
    assert set(found.asked.values()) == {1}


def test_an_error_does_not_forget_what_was():
    """It fired before; afterwards it fires at once."""
    file = rule('metric = "prevalence"', 'window = "1h"', "above = 0.2", 'for = "5m"')
    found, records, seen = Many(A), {}, []
    for now, broken in ((60, ()), (400, ()), (460, ("a",)), (520, ())):
        found.clock.now, found.broken = float(now), broken
        result = one(file, found, records)
        records = {result.key: result.record}
        seen.append((result.state.value, result.change and result.change.before))

    assert seen == [
        ("PENDING", None),
        ("FIRING", State.PENDING),
        ("ERROR", State.FIRING),
        ("FIRING", State.ERROR),
    ]


def test_a_series_that_is_gone_has_no_data():
    """Until its record is removed; the policy of the rule decides, as for any absence."""
    file = parse(METRIC + "no_data_after = 100\n")
    records = {one.key: one.record for one in evaluate(file, Many(A, B))}

    gone = Many(B)
    first = evaluate(file, gone, records)
    gone.clock.now = 160.0
    second = evaluate(file, gone, {one.key: one.record for one in first})

    assert states(first) == [("low", "a", "OK"), ("low", "b", "OK")]
    assert states(second) == [("low", "a", "NO_DATA"), ("low", "b", "OK")]
    assert states(evaluate(file, Many(), records)) == [("low", "a", "OK"), ("low", "b", "OK")]
    assert first[0].record.reason == "kept for up to 1m40s: the series is gone"
    assert second[0].record.reason == "the series is gone, for 1m40s"


def test_a_record_that_no_rule_owns_is_ignored():
    """Of another rule, or of a series that the rule does not match any more."""
    file = parse(METRIC + 'series = { model = "b" }\n')
    (result,) = evaluate(parse(METRIC), Many(A))
    stray = {result.key: result.record, Key("other{}", '{"model":"b"}'): result.record}

    assert states(evaluate(file, Many(B), stray)) == [("low", "b", "OK")]


def test_no_series_is_no_data_with_a_reason():
    """And the placeholder gives way when there is one."""
    file = parse(METRIC + 'series = { model = "~x.*" }\n')
    result = one(file, Many(A))

    assert (result.state, result.labels) == (State.NO_DATA, {})
    assert result.record.reason == 'no series matches {model=~"x.*"}'
    assert result.key.series == ""
    later = evaluate(file, Many({"model": "xy"}), {result.key: result.record})
    assert states(later) == [("low", "xy", "OK")]


def test_the_budget_is_for_so_many_series():
    """More are errors; a new one takes no other's place, whatever its name."""
    file = parse(DETECTOR)

    (first,) = evaluate(file, Many(B))
    results = evaluate(file, Many(A, B), {first.key: first.record})

    assert states(results) == [("moved", "a", "ERROR"), ("moved", "b", "FIRING")]
    assert results[0].record.reason == (
        "the rule matches 2 series, and the false-alarm budget was split for max_series = 1"
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (DetectorState.QUIET, ("OK", 0.25, "so it is")),
        (DetectorState.ALARM, ("FIRING", 0.25, "so it is")),
    ],
)
def test_a_detector_says_itself_what_it_is(state, expected):
    """Its value is the share of an alarm's evidence."""
    found = Many(A)
    found.detect = lambda *_: Verdict(state, 0.25, "so it is")

    result = one(parse(DETECTOR), found)

    assert (result.state.value, result.record.value, result.record.reason) == expected


def test_a_stalled_detector_is_no_data():
    """It cannot tell."""
    found = Many(A)
    found.detect = lambda *_: Verdict(DetectorState.STALLED, 0.0, "no labelled events")

    result = one(parse(DETECTOR), found)

    assert result.state is State.NO_DATA
    assert result.record.reason == "the detector is stalled: no labelled events"


@pytest.mark.parametrize("policy", [*NO_DATA, "error"])
def test_what_was_judged_before_is_not_shown_as_if_it_were_now(policy, capsys):
    """In the table, in JSON, in performance data, in annotations and in the history."""
    text = METRIC + 'annotations = { a = "{{ $value }}" }\n'
    file = parse(text + (f'no_data = "{policy}"\n' if policy != "error" else ""))
    found = source(60, (10, 1, 0.9), (20, 0, 0.1))
    first = one(file, found)
    found = source(9e9) if policy != "error" else Broken(found)
    result = one(file, found, {first.key: first.record})
    printed = to_dict(result)
    print_results([result])
    row = capsys.readouterr().out.splitlines()[1].split()

    assert (first.value, to_dict(first)["value"], to_dict(first)["last_value"]) == (1.0, 1.0, 1.0)
    assert math.isnan(result.value)
    assert (printed["value"], printed["last_value"]) == (None, 1.0)
    assert row[4] == "-"
    assert result.annotations["a"] == "NaN"
    assert "'low/fraud'=U;" in plugin_line([result])
    if result.change is not None:
        assert math.isnan(result.change.value)


class Broken:
    """A source that can be asked for its series and the time, and for nothing else."""

    def __init__(self, found):
        self.now, self.series = found.now, found.series


def test_annotations_are_filled_in():
    """With the labels of the series, the value and the reason."""
    file = parse(
        METRIC
        + 'labels = { team = "x" }\n[rule.annotations]\n'
        + 'a = "{{ $labels.model }}/{{ $labels.team }} {{ $value | printf \\"%.2f\\" }}"\n'
        + 'b = "{{ $alert }}: {{ $reason }}"\n'
    )

    assert one(file, source(60, (10, 1, 0.9), (20, 0, 0.1))).annotations == {
        "a": "fraud/x 1.00",
        "b": "low: roc_auc 1 (warming_up)",
    }
    assert one(file, source(60)).annotations["a"] == "fraud/x NaN"


def test_what_a_source_raises_for_everything_is_raised():
    """There is nothing that a rule could say."""
    found = Many(A)
    found.series = lambda: 1 // 0

    with pytest.raises(ZeroDivisionError):
        evaluate(FILE, found)


def test_a_changed_rule_keeps_its_records():
    """A record belongs to a name and labels, whatever the limit is."""
    first = one(rule('metric = "n_pos"', 'window = "1h"', "below = 5"), Many(A))
    file = rule('metric = "n_pos"', 'window = "1h"', "below = 2")

    second = one(file, Many(A), {first.key: first.record})

    assert (first.state.value, second.state.value) == ("FIRING", "OK")
    assert second.change.before is State.FIRING
    assert second.key.labels == A
    assert FRAUD != A
