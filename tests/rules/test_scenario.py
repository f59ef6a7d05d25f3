"""Tests of rules: a recorded stream, the states expected at given times, and what was not met."""

import re
from pathlib import Path

import pytest
from rules.malformed import METRIC
from typer.testing import CliRunner

from streamauc.cli.app import app
from streamauc.rules.document import parse
from streamauc.rules.problems import RulesError
from streamauc.rules.record import State
from streamauc.rules.scenario import load_scenario, parse_scenario
from streamauc.rules.scenario_run import run

RULES = """
[[rule]]
alert = "PrevalenceHigh"
metric = "prevalence"
window = "5m"
above = 0.5
for = "2m"
annotations = { summary = "{{ $labels.model }}: {{ $value | humanizePercentage }}" }

[[rule]]
alert = "PrevalenceHigh"
metric = "prevalence"
window = "5m"
above = 0.9
labels = { severity = "critical" }

[[rule]]
alert = "Moved"
metric = "prevalence_difference"
reference = "before"
window = "2m"
above = 0.3
"""
TEST = """
rules = "rules.toml"
start = "2026-03-01T09:00:00Z"
every = "1m"

[[series]]
labels = { model = "fraud" }
events = [
  { from = "-10m", until = "0s", every = "10s", label = 0, score = 0.1, count = 3 },
  { from = "10s", until = "10m", every = "10s", label = 1, score = 0.9, count = 9 },
  { at = "10s", key = "a", score = 0.5 },
  { at = "3m", key = "a", label = 1 },
]

[references]
before = { from = "-10m", until = "0s" }

[[expect]]
at = "0s"
alert = "PrevalenceHigh"
labels = { severity = "critical" }
series = { model = "fraud" }
state = "OK"
value = 0.0

[[expect]]
at = "10m"
alert = "Moved"
series = { model = "fraud" }
state = "FIRING"
value = 1.0
reason = "above 0.3"
"""


def again(text=TEST, rules=RULES):
    return parse_scenario(text, "test.toml", parse(rules))


def expect(**fields):
    lines = "".join(f"{key} = {value}\n" for key, value in fields.items())
    return TEST + f"\n[[expect]]\n{lines}"


def test_a_test_that_passes():
    """With everything it may hold."""
    found = run(again())

    assert found.passed
    assert str(found) == "test.toml: 2 of 2 as expected"
    assert found.backtest.n_evaluations == 11
    fired = {(one.key.rule, one.start) for one in found.backtest.firings}
    assert {rule for rule, _ in fired} == {
        "PrevalenceHigh{}",
        'PrevalenceHigh{severity="critical"}',
        "Moved{}",
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"state": '"FIRING"'}, "expected FIRING, got OK: prevalence 0"),
        ({"value": "0.5"}, "expected the value 0.5, got 0"),
        ({"reason": '"below"'}, "expected a reason with 'below', got 'prevalence 0'"),
        (
            {"annotations": '{ summary = "x" }'},
            "expected the annotation summary 'x', got 'fraud: 0%'",
        ),
        ({"series": '{ model = "x" }'}, "expected OK, got no such series"),
        ({"series": "{}"}, "expected OK, got no such series"),
    ],
)
def test_what_was_not_met_is_said(fields, message):
    """With the line, the rule, the series and the time."""
    usual = {"at": '"0s"', "alert": '"PrevalenceHigh"', "series": '{ model = "fraud" }'}
    text = expect(**{**usual, "state": '"OK"', **fields})

    found = run(again(text))

    (mismatch,) = found.mismatches
    series = {"{}": "{}", '{ model = "x" }': '{model="x"}'}.get(fields.get("series"))
    fraud = '{model="fraud"}'
    where = f"PrevalenceHigh{{}} of {series or fraud} at 0s"
    assert mismatch.message == f"{where}: {message}"
    assert text.split("\n")[mismatch.line - 1] == "[[expect]]"
    assert str(found).startswith(f"test.toml:{mismatch.line}: {where}")


def test_values_may_be_close():
    """Within a tolerance."""
    line = {"at": '"0s"', "alert": '"PrevalenceHigh"', "series": '{ model = "fraud" }'}
    line |= {"state": '"OK"', "value": "0.05"}

    assert not run(again(expect(**line))).passed
    assert run(again(expect(**line, tolerance="0.1"))).passed


def test_a_rule_without_series_is_expected_without_series():
    """NO_DATA, as nothing matches."""
    rules = METRIC + 'series = { model = "none" }\n'
    text = 'start = 0\n[[expect]]\nat = "0s"\nalert = "low"\nstate = "NO_DATA"\n'

    assert run(again(text, rules)).passed


def test_files_are_beside_the_test(tmp_path):
    """The rules, and events as CSV or JSON lines."""
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "a.csv").write_text("at,label,score,count\n0s,1,0.5,3\n60,0,0.25,1\n")
    (tmp_path / "b.jsonl").write_text(
        '{"at": -30, "score": 0.5, "key": "k"}\n{"at": "1m", "label": 1, "key": "k"}\n'
    )
    test = tmp_path / "test.toml"
    test.write_text(
        'rules = "rules.toml"\nstart = 960\n'
        '[[series]]\nlabels = { model = "a" }\nfile = "a.csv"\n'
        '[[series]]\nlabels = { model = "b" }\nfile = "b.jsonl"\n'
        '[references]\nbefore = { from = "-1h", until = "-30m" }\n'
        '[[expect]]\nat = "1m"\nalert = "PrevalenceHigh"\nlabels = { severity = "critical" }\n'
        'series = { model = "a" }\nstate = "OK"\nvalue = 0.75\n'
        '[[expect]]\nat = "1m"\nalert = "PrevalenceHigh"\nlabels = { severity = "critical" }\n'
        'series = { model = "b" }\nstate = "FIRING"\nvalue = 1\n'
    )

    scenario = load_scenario(test)
    found = run(scenario)

    assert found.passed, str(found)
    assert [one.at for one in scenario.arrivals] == [960, 1020, 930, 1020]
    assert scenario.expectations[0].state is State.OK


EXPECT = '[[expect]]\nat = "1m"\nalert = "low"\nstate = "OK"\n'
SERIES = "[[series]]\nlabels = { model = 'x' }\nevents = [ %s ]\n"


@pytest.mark.parametrize(
    ("text", "line", "key", "part"),
    [
        ("", 1, "", "at least one [[expect]]"),
        (EXPECT + "valeu = 1", 5, "valeu", "did you mean 'value'"),
        (EXPECT.replace("low", "lwo"), 3, "alert", "did you mean 'low'"),
        (EXPECT.replace('"OK"', '"FINE"'), 4, "state", "must be 'OK', 'PENDING'"),
        (EXPECT.replace('"1m"', '"90s"'), 2, "at", "multiple of every, 60 s, got 90 s"),
        (EXPECT.replace('"1m"', '"-1m"'), 2, "at", "multiple of every"),
        (EXPECT.replace('"1m"', '"later"'), 2, "at", "length of time after the start"),
        ("[[expect]]\nalert = 'low'\nstate = 'OK'", 1, "at", "at is missing"),
        ("[[expect]]\nalert = 'low'\nat = '1m'", 1, "state", "state is missing"),
        ("[[expect]]\nat = '1m'\nstate = 'OK'", 1, "alert", "alert is missing"),
        ("start = 'now'\n" + EXPECT, 1, "start", "ISO 8601"),
        ("start = 2026-03-01T09:00:00\n" + EXPECT, 1, "start", "must carry a time zone"),
        ("start = []\n" + EXPECT, 1, "start", "got an array"),
        ("every = 0\n" + EXPECT, 1, "every", "longer than 0"),
        ("evry = 1\n" + EXPECT, 1, "evry", "did you mean 'every'"),
        (
            EXPECT + SERIES % "{ at = '1m', score = 0.5 }",
            7,
            "events",
            "two of score, label and key",
        ),
        (EXPECT + SERIES % "{ score = 0.5, label = 1 }", 7, "events", "at, or from"),
        (EXPECT + SERIES % "{ from = 0, until = 9, label = 1, score = 1 }", 7, "every", "missing"),
        (EXPECT + SERIES % "{ from = 0, every = 9, label = 1, score = 1 }", 7, "until", "missing"),
        (EXPECT + SERIES % "{ at = 0, label = 2, score = 1 }", 7, "label", "must be 0 or 1"),
        (EXPECT + SERIES % "{ at = 0, label = 1, scor = 1, score = 1 }", 7, "scor", "'score'"),
        (EXPECT + SERIES % "{ at = 0, label = 1, score = 1, count = 9000000 }", 7, "count", "most"),
        (
            EXPECT + SERIES % "{ from = 0, until = 9, every = 1e-9, label = 1, score = 1 }",
            7,
            "every",
            "at most",
        ),
        (EXPECT + "[[series]]\nfile = 'gone.csv'", 6, "file", "No such file"),
        (EXPECT + "[references]\na = { from = '1m', until = '0s' }", 6, "until", "before from"),
        (EXPECT + "[references]\na = { from = '1m' }", 6, "until", "until is missing"),
    ],
)
def test_malformed_tests_are_errors_with_lines(text, line, key, part):
    """Of the test file, as in rules files."""
    with pytest.raises(RulesError) as caught:
        parse_scenario(text, "test.toml", parse(METRIC))

    assert [(one.line, one.key) for one in caught.value.problems] == [(line, key)], caught.value
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("e.csv", "at,label,score\n0s,1,0.5\nx,1,0.5\n", "line 3: at must be seconds"),
        ("e.csv", "at,label,score\n0s,7,0.5\n", "line 2: label must be 0 or 1, got 7"),
        ("e.csv", "at,label,score\n0s,1,high\n", "line 2: could not convert"),
        ("e.csv", "at,label,note\n0s,1,0.5\n", "columns must be of at, label"),
        ("e.csv", "at,label,score\n0s,1\n", "two of score, label and key"),
        ("e.csv", "at,label,score\n0s,1,0.5,9\n", "columns must be of"),
        ("e.jsonl", '{"at": 0, "label": 1, "score": 0.5}\n[]\n', "line 2: row must be an object"),
        ("e.jsonl", "{", "Expecting"),
        ("e.csv", b"\xff\xfe", "codec can't decode"),
    ],
)
def test_malformed_event_files_name_their_line(tmp_path, name, content, part):
    """At the key that names the file."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    text = EXPECT + f"[[series]]\nfile = '{path}'\n"

    with pytest.raises(RulesError) as caught:
        parse_scenario(text, "test.toml", parse(METRIC))

    (problem,) = caught.value.problems
    assert (problem.line, problem.key) == (6, "file")
    assert part in problem.message


def test_the_rules_that_a_test_names(tmp_path):
    """Are read first; their problems are their own."""
    test = tmp_path / "test.toml"
    test.write_text('rules = "rules.toml"\n' + EXPECT)
    with pytest.raises(RulesError, match="rules must be a file that can be read"):
        load_scenario(test)
    (tmp_path / "rules.toml").write_text(METRIC + "fro = 1")
    with pytest.raises(RulesError, match=r"rules\.toml:6: unknown key 'fro'"):
        load_scenario(test)
    test.write_text(EXPECT)
    with pytest.raises(RulesError, match="rules is missing"):
        load_scenario(test)


def test_an_alert_that_several_rules_share_needs_labels():
    """Those that tell them apart."""
    rules = RULES.replace("annotations", 'labels = { severity = "warning" }\nannotations')
    text = TEST.replace('labels = { severity = "critical" }\n', "")

    assert run(again(text)).passed  # one has no labels, so it is meant
    with pytest.raises(RulesError, match="alert and labels must be of one rule"):
        again(text, rules)


WIDE = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
ROOT = Path(__file__).parents[2]


def test_the_test_in_the_readme_passes():
    """Of the rules in the README."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    rules = next(block for block in blocks if "[[rule]]" in block)
    test = next(block for block in blocks if "[[expect]]" in block)

    found = run(parse_scenario(test, "test.toml", parse(rules)))
    assert found.passed, str(found)


def test_the_test_in_the_help_can_be_read(tmp_path):
    """With the file of events that it names."""
    shown = CliRunner().invoke(app, ["rules", "test", "--help"], terminal_width=200, env=WIDE)
    text = shown.output.partition("rules = ")[2].partition("Columns of a file")[0]
    (tmp_path / "events.csv").write_text("at,label,score\n5s,0,0.2\n")
    rules = METRIC.replace('"low"', '"RankingWorse"')
    scenario = parse_scenario(f"rules = {text}", str(tmp_path / "test.toml"), parse(rules))

    assert len(scenario.arrivals) > 400
    assert scenario.references.keys() == {"fraud-v3"}
    assert {one.at for one in scenario.expectations} == {scenario.start + 600}
