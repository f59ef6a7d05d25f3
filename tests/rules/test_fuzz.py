"""Whatever text is given as rules or as a test of rules, only the documented error is raised."""

import os
import random

import pytest
from rules.malformed import AGE, CASES, COMPARED, DETECTOR, METRIC, PRECISION

from streamauc.rules import detector_keys, measure_keys
from streamauc.rules.document import COMMON_KEYS, parse
from streamauc.rules.example import example
from streamauc.rules.problems import RulesError
from streamauc.rules.scenario import parse_scenario

LONG = bool(os.environ.get("STREAMAUC_LONG"))
TRIES = 1_000_000 if LONG else 20_000
SEEDS = [
    METRIC + 'labels = { severity = "critical" }\n[rule.annotations]\ns = "{{ $value }}"\n',
    PRECISION + 'by = "bound"\nlevel = 0.9\nclear_above = 0.9\nfor = "5m"\nno_data = "keep"\n',
    COMPARED + 'reference = "7d"\nseries = { a = "~x.*", b = "!y" }\nmin_pos = 10\n',
    AGE + 'no_data = "firing"\nno_data_after = "1h"\n',
    DETECTOR + 'seasonal = "1d"\npane = "5m"\noverdispersion = "estimate"\nweight = 2\n',
    "[budget]\nfalse_alarm_every = '30d'\n" + DETECTOR + "tolerance = 0.1\nmax_series = 3\n",
]
SCENARIO = """\
start = "2026-03-01T09:00:00Z"
every = "1m"
[[series]]
labels = { model = "fraud" }
events = [ { at = "30s", label = 1, score = 0.9 }, { at = "1m", key = "a", score = 0.8 } ]
[references]
week = { from = "0s", until = "5m" }
[[expect]]
at = "10m"
alert = "low"
series = { model = "fraud" }
state = "FIRING"
value = 0.5
"""
VALUES = [  # always TOML
    *("0", "-1", "0.5", "1e308", "inf", "nan", "true", '""', '"x"', '"5m"', '"7d"', '"previous"'),
    *("[]", "[[1], {a = 1}]", "{}", '{ a = "b" }', '{ a = "~(" }', '{ a = "{{ $value }}" }'),
    *("2026-01-01T00:00:00Z", "07:32:00", "9" * 400, '"""\n{{ $x }}"""', '"roc_auc"', "1000000"),
    *('"precision@0.5"', '"average_precision_change.negatives"', '"psi.overall"', '"coverage"'),
    *('"bound"', '"keep"', '"firing"', '"estimate"', '"1e5d"', '"99999999y"', "-0.0", "1e-320"),
]
KEYS = [*COMMON_KEYS, *measure_keys.KEYS, *detector_keys.KEYS, "fro", "a.b", '"x y"']
PIECES = [
    *"=[]{}\"'#\n.,- \\\t\r\x00é@|$~!0123456789",
    *("[[rule]]\n", "[rule]\n", "rule = ", '"""', "'''", "inf", "nan", "-1", "1e999", "true", "{{"),
    *("}}", "{{ $value | printf ", '"%9s"', "2026-01-01T00:00:00Z", "0x", "9" * 30, "9" * 400),
    *("metric", "detector", "below", "above", "window", "reference", "labels", "for", '"~(a|"'),
    *('"previous"', '"7d"', '"1h30m"', '"prevalence"', "'precision@0.7'", "\ud7ff", "[" * 50),
]


def mutated(text, rng):
    """Return the text with some pieces cut, doubled, swapped or put in."""
    for _ in range(rng.randint(1, 6)):
        at, to = sorted(rng.choices(range(len(text) + 1), k=2))
        to = min(to, at + rng.choice((0, 1, 3, 10, 40)))
        middle = rng.choice(("", text[at:to] * 2, rng.choice(PIECES), rng.choice(PIECES)))
        text = text[:at] + middle + text[to:]
    return text


def swapped(text, rng):
    """Return the text with the value of one key, or one more key, from the lists above."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    key, equals, _ = lines[at].partition("=")
    if equals and rng.random() < 0.5:
        lines[at] = f"{key}= {rng.choice(VALUES)}"
    elif lines[at].startswith("[[rule]]"):
        lines.insert(at + 1, f"{rng.choice(KEYS)} = {rng.choice(VALUES)}")
    return "\n".join(lines)


def check(read, text):
    """Read, and look at the lines of the problems."""
    found = attempt(read, text)
    if not isinstance(found, RulesError):
        return found
    n_lines = text.count("\n" if isinstance(text, str) else b"\n") + 1
    assert found.problems
    for one in found.problems:
        assert 1 <= one.line <= n_lines, str(found)
        assert one.message
        assert "\n" not in one.message
    return None


def attempt(read, text):
    try:
        return read(text)
    except RulesError as error:
        return error


@pytest.mark.parametrize("part", range(4))
def test_no_text_breaks_the_parser(part):
    """A million tries with STREAMAUC_LONG; every problem has a line of the file."""
    rng = random.Random(part)  # noqa: S311 - no secret
    broken = [text for text, *_ in CASES if isinstance(text, str) and len(text) < 500]
    n_good = 0
    for _ in range(TRIES // 4):
        text = rng.choice(SEEDS if rng.random() < 0.8 else broken)
        for change in rng.choices((mutated, swapped), (1, 3), k=rng.randint(1, 4)):
            text = change(text, rng)
        found = check(parse, text)
        if found is not None:
            n_good += 1
            assert found.rules
    assert (
        n_good > TRIES / 4 / 20
    )  # that some are valid shows that the rest of the parser is reached


def test_no_bytes_break_the_parser():
    """Bytes that are no text, either."""
    rng = random.Random(1)  # noqa: S311 - no secret
    for _ in range(TRIES // 10):
        data = bytearray(rng.choice(SEEDS).encode())
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        check(parse, bytes(data))


def test_no_text_breaks_the_parser_of_tests():
    """Test files, too."""
    rng = random.Random(2)  # noqa: S311 - no secret
    rules = parse(METRIC)
    assert check(lambda text: parse_scenario(text, rules=rules), SCENARIO)
    for _ in range(TRIES // 10):
        text = rng.choice((mutated, swapped))(SCENARIO, rng)
        check(lambda text: parse_scenario(text, rules=rules), text)


def test_the_example_can_be_mutated_too():
    """A long file, with every key."""
    rng = random.Random(3)  # noqa: S311 - no secret
    for _ in range(TRIES // 50):
        check(parse, mutated(example(), rng))
