"""Limits that make an alert constant are doubted by lint, with their line."""

import pytest
from rules.malformed import bare
from typer.testing import CliRunner

from streamauc.cli.app import app
from streamauc.rules.document import parse
from streamauc.rules.example import example

WINDOW = 'window = "1h"'


def doubts(*lines):
    return [(one.line, one.key, one.message) for one in parse(bare(*lines)).doubts]


@pytest.mark.parametrize(
    ("metric", "limit", "message"),
    [
        ("prevalence", "above = 90", "never fires: prevalence lies between 0 and 1; 90 % is 0.9"),
        ("prevalence", "above = 1", "never fires: prevalence lies between 0 and 1"),
        ("prevalence", "above = -0.1", "always fires: prevalence lies between 0 and 1"),
        ("prevalence", "below = 0", "never fires: prevalence lies between 0 and 1"),
        ("coverage", "below = 90", "always fires: coverage lies between 0 and 1; 90 % is 0.9"),
        ("roc_auc", "below = 1.5", "always fires: roc_auc lies between 0 and 1"),
        ("n_pos", "below = 0", "never fires: n_pos is at least 0"),
        ("gini", "below = -1", "never fires: gini lies between -1 and 1"),
        ("mcc@0.5", "above = 1", "never fires: mcc lies between -1 and 1"),
        ("log_loss", "below = -1", "never fires: log_loss is at least 0"),
    ],
)
def test_a_limit_that_makes_an_alert_constant(metric, limit, message):
    key = limit.partition(" ")[0]
    assert doubts(f'metric = "{metric}"', WINDOW, limit) == [(5, key, f"{limit} {message}")]


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("prevalence_difference", "below = -1"),
        ("prevalence_ratio", "below = 0"),
        ("roc_auc_difference", "above = 1"),
        ("ks.overall", "above = 1"),
        ("psi.positives", "above = -1"),
        ("recall_change@0.5", "above = 5"),
        ("recall_change.negatives@0.5", "above = 5"),
    ],
)
def test_comparisons_have_a_range_too(metric, limit):
    found = doubts(f'metric = "{metric}"', WINDOW, limit, 'reference = "previous"')
    assert [line for line, *_ in found] == [5]


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("newest_event_age", 'below = "0s"'),
        ("seconds_since_flush", "above = -1"),
        ("rejected_share", "above = 1"),
    ],
)
def test_health_has_a_range_too(metric, limit):
    assert [line for line, *_ in doubts(f'metric = "{metric}"', limit)] == [4]


def test_a_level_that_is_never_reached_never_clears():
    found = doubts('metric = "roc_auc"', WINDOW, "below = 0.9", "clear_above = 1.1")
    assert [(line, key) for line, key, _ in found] == [(6, "clear_above")]
    assert "never clears" in found[0][2]
    found = doubts('metric = "roc_auc"', WINDOW, "above = 0.9", "clear_below = -0.1")
    assert [(line, key) for line, key, _ in found] == [(6, "clear_below")]


@pytest.mark.parametrize(
    ("metric", "limits"),
    [
        ("coverage", ["below = 1"]),
        ("prevalence", ["above = 0", "clear_below = 0"]),
        ("n_samples", ["above = 1e12"]),
        ("gini", ["below = 0"]),
        ("mcc@0.5", ["below = -0.5"]),
        ("mean_cost@0.5", ["below = -90", "fn = 1", "fp = 1"]),
        ("lift@0.5", ["above = 1.5"]),
    ],
)
def test_a_limit_at_the_far_end_of_a_range_is_none_to_doubt(metric, limits):
    """Complete labels, or no negatives at all, may be what is wanted."""
    assert doubts(f'metric = "{metric}"', WINDOW, *limits) == []


def test_nothing_is_doubtful_in_the_example():
    assert parse(example()).doubts == ()


def test_lint_lists_them_with_file_line_and_key(tmp_path):
    """And ends with 1: the file can be used."""
    path = tmp_path / "r.toml"
    path.write_text(
        bare('metric = "prevalence"', WINDOW, "above = 90")
        + bare('metric = "coverage"', WINDOW, "below = 90", 'labels = { a = "b" }')
    )
    done = CliRunner().invoke(app, ["rules", "lint", str(path)])

    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{path}:5: above = 90 never fires: prevalence lies between 0 and 1; 90 % is 0.9",
        f"{path}:10: below = 90 always fires: coverage lies between 0 and 1; 90 % is 0.9",
        f"{path}: 2 rules, 2 doubtful limits",
    ]
    path.write_text(bare('metric = "prevalence"', WINDOW, "above = 0.9"))
    done = CliRunner().invoke(app, ["rules", "lint", str(path)])
    assert (done.exit_code, done.stdout) == (0, f"{path}: 1 rule, nothing wrong\n")


def test_a_window_of_a_capital_m_is_refused(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(bare('metric = "prevalence"', 'window = "1M"', "above = 0.9"))
    done = CliRunner().invoke(app, ["rules", "lint", str(path)])

    assert done.exit_code == 2
    assert f"{path}:4: window must be a length of time such as 90s, 15m or 1h30m" in done.stderr
    assert "(M could be minutes or months: write m or min, or a number of days)" in done.stderr
