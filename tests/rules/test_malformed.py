"""What is wrong with a rules file is named by line and key, all of it at once."""

import pickle

import pytest
from rules.malformed import CASES, COMPARED, DETECTOR, METRIC, PRECISION

from streamauc.rules.document import load, parse
from streamauc.rules.problems import RulesError


def problems(text, file="rules.toml"):
    with pytest.raises(RulesError) as caught:
        parse(text, file)
    return caught.value


def test_the_corpus_is_large():
    """The issue asks for 150 files."""
    assert len(CASES) >= 150
    assert len({text for text, *_ in CASES}) == len(CASES)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_malformed_file(number):
    """One problem, on its line, under its key."""
    text, line, key, part = CASES[number]

    found = problems(text)

    assert [(one.line, one.key) for one in found.problems] == [(line, key)], str(found)
    assert part in found.problems[0].message
    assert str(found).startswith(f"rules.toml:{line}: ")


EXACT = [
    (METRIC + "treshold = 1", "6: unknown key 'treshold'; did you mean 'threshold'?"),
    (METRIC + "windoe = 1", "6: unknown key 'windoe'; did you mean 'window'?"),
    (METRIC + 'above = "0.9"', "6: above must be a finite number, got '0.9'"),
    (METRIC + "min_pos = -1", "6: min_pos must be a number of at least 0, got -1"),
    (METRIC + "min_coverage = 1.5", "6: min_coverage must be a number in [0, 1], got 1.5"),
    (METRIC + "beta = 1", "6: beta must be left out: metric 'roc_auc' takes none"),
    (METRIC + 'by = "bond"', "6: by must be 'value' or 'bound', got 'bond'; did you mean 'bound'?"),
    (METRIC + "level = 0.9", '6: level must be left out unless by = "bound"'),
    (METRIC + "clear_above = 0.7", "6: clear_above must be at least below, 0.8, got 0.7"),
    (
        METRIC + "above = 0.7",
        "6: above must be more than below, 0.8, got 0.7: the alert fires outside the two",
    ),
    (
        METRIC + 'for = "5x"',
        "6: for must be a length of time such as 90s, 15m or 1h30m, got '5x'",
    ),
    (
        METRIC + 'no_data = "none"',
        "6: no_data must be 'no_data', 'ok', 'firing' or 'keep', got 'none'",
    ),
    (
        METRIC + 'labels = { severity = "page" }',
        "6: labels.severity must be 'warning' or 'critical', got 'page'",
    ),
    (
        METRIC + 'annotations = { s = "{{ $vlaue }}" }',
        "6: annotations.s: unknown variable '$vlaue'; did you mean '$value'?",
    ),
    (
        METRIC + 'series = { model = "~(" }',
        "6: series.model must be a regular expression behind ~, got '~(': missing ),"
        " unterminated subpattern at position 0",
    ),
    (
        METRIC + METRIC,
        "6: alert and labels must differ from those of any other rule, got low{} again,"
        " first on line 1",
    ),
    (
        METRIC.replace("roc_auc", "roc_acu"),
        "3: metric must be a known one, got 'roc_acu'; did you mean 'roc_auc'?",
    ),
    (
        METRIC.replace("roc_auc", "recall"),
        "1: threshold is missing: metric 'recall' needs it, as in metric = \"recall@0.5\"",
    ),
    (
        PRECISION + "threshold = 0.5",
        "6: threshold must be given once: the metric has it behind @ already",
    ),
    (
        COMPARED,
        "1: reference is missing: metric 'roc_auc_difference' needs a name, \"previous\", or a"
        ' length of time such as "7d"',
    ),
    (DETECTOR + "below = 1", "6: below must be left out: it is for a metric, not for a detector"),
    (METRIC + "min_neg = inf", "6: min_neg must be a number of at least 0, got inf"),
]


@pytest.mark.parametrize(("text", "message"), EXACT)
def test_messages_read_so(text, message):
    """The words of some."""
    assert str(problems(text)) == f"rules.toml:{message}"


def test_all_problems_are_listed_at_once():
    """In the order of lines, over all rules."""
    text = METRIC + "fro = 1\nmin_pos = -1\n\n" + METRIC + 'by = "x"\n[budgets]\n'

    found = problems(text, "a.toml")

    assert [(one.line, one.key) for one in found.problems] == [
        (6, "fro"),
        (7, "min_pos"),
        (14, "by"),
        (15, "budgets"),
    ]
    assert len(str(found).splitlines()) == 4
    assert all(line.startswith("a.toml:") for line in str(found).splitlines())


def test_an_error_survives_a_worker_pool():
    """Exceptions that travel between processes are pickled."""
    found = problems(METRIC + "fro = 1")

    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - written a line above

    assert (str(again), again.problems) == (str(found), found.problems)


def test_a_file_is_read_up_to_its_limit(tmp_path):
    """A huge file is refused after a megabyte; a missing one is an OSError."""
    path = tmp_path / "rules.toml"
    path.write_bytes(b"#" * 3_000_000)

    with pytest.raises(RulesError, match="at most 1000000 bytes"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.toml")


def test_windows_line_ends_and_a_byte_order_mark_count_the_same():
    """Lines are those that an editor shows."""
    text = (METRIC + "# comment\nfro = 1\n").replace("\n", "\r\n")

    found = problems(b"\xef\xbb\xbf" + text.encode())

    assert [one.line for one in found.problems] == [7]
