"""Keys are found on the lines where they stand, however the TOML is written."""

import string
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamauc.rules.places import locate


def paths(value, path=()):
    """Return all paths of a document that `tomllib` has read."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


DOCUMENT = (
    """\
# [[rule]] in a comment
title = "a = 1 # no comment [x]"  # [y]
"quoted key" = 'it''s' # none
""".replace("'it''s'", "'its \"'")
    + '''\
a.b."c.d" = 1
text = """
[[rule]]
x = 1 \\
  ""quotes"" """""
raw = \'\'\'a = "
b\'\'\'\'\'
many = [ # begins here
  1, # one
  { x = [2,
    3], "y.z" = 4 },
  [ [5] ],

  "]",
]

[[rule]]
alert = "one"
[rule.labels]
  severity = "warning"

[[rule]]
  alert = "two"
  labels = { a = "}", b.c = "b" }
[[rule.steps]]
x = 2026-01-01 10:00:00
[[rule.steps]]
y = 1e3
[ rule . "labels two" ]
z = true
'''
)

LINES = {
    ("title",): 2,
    ("quoted key",): 3,
    ("a",): 4,
    ("a", "b"): 4,
    ("a", "b", "c.d"): 4,
    ("text",): 5,
    ("raw",): 9,
    ("many",): 11,
    ("many", 0): 12,
    ("many", 1): 13,
    ("many", 1, "x"): 13,
    ("many", 1, "x", 0): 13,
    ("many", 1, "x", 1): 14,
    ("many", 1, "y.z"): 14,
    ("many", 2): 15,
    ("many", 2, 0): 15,
    ("many", 2, 0, 0): 15,
    ("many", 3): 17,
    ("rule",): 20,
    ("rule", 0): 20,
    ("rule", 0, "alert"): 21,
    ("rule", 0, "labels"): 22,
    ("rule", 0, "labels", "severity"): 23,
    ("rule", 1): 25,
    ("rule", 1, "alert"): 26,
    ("rule", 1, "labels"): 27,
    ("rule", 1, "labels", "a"): 27,
    ("rule", 1, "labels", "b"): 27,
    ("rule", 1, "labels", "b", "c"): 27,
    ("rule", 1, "steps"): 28,
    ("rule", 1, "steps", 0): 28,
    ("rule", 1, "steps", 0, "x"): 29,
    ("rule", 1, "steps", 1): 30,
    ("rule", 1, "steps", 1, "y"): 31,
    ("rule", 1, "labels two"): 32,
    ("rule", 1, "labels two", "z"): 33,
}


def test_a_document_with_every_form():
    """Each key and element on its line, and nothing else."""
    assert set(paths(tomllib.loads(DOCUMENT))) == set(LINES)

    found = locate(DOCUMENT).found

    assert {path: place.line for path, place in found.items()} == LINES


def test_what_is_not_there_is_where_its_table_begins():
    """A key that is missing is reported at the header."""
    places = locate(DOCUMENT)

    assert places.line(("rule", 1, "nope", "deeper")) == 25
    assert places.line(("nope",)) == 1


@pytest.mark.parametrize(
    ("text", "position", "line"),
    [
        ('a = """\nx\ny"""', 2, 3),
        ('a = """x\ny"""', 2, 2),
        ("a = '''\n\nx'''", 1, 3),
        ('a = "x\\ny"', 2, 1),
        ('a = """\nx\\\n  y"""', 1, 1),
        ("a = '''x\\\ny'''", 3, 2),
        ('\n\na = "xy"', 1, 3),
    ],
)
def test_a_position_in_a_text(text, position, line):
    """The line in the file, where the breaks of the text are those of the file."""
    value = tomllib.loads(text)["a"]

    assert locate(text).line_within(("a",), value, position) == line


keys = st.text(string.ascii_letters + " .\"\\'é", min_size=1, max_size=4)
values = st.recursive(
    st.one_of(
        st.integers(-5, 5),
        st.booleans(),
        st.text(string.ascii_letters + " \n\"'#[]{}=,\\", max_size=8),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


def quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def written(value, draw):
    """Write a value as TOML, its form drawn."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        if "'''" not in value and not value.endswith("'") and draw(st.booleans()):
            return f"'''\n{value}'''"
        if draw(st.booleans()):
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"""{escaped}"""' if not value.startswith("\n") else f'"""\n{escaped}"""'
        return quoted(value)
    if isinstance(value, list):
        gap = draw(st.sampled_from([" ", "\n", " # ] }\n"]))
        return f"[{gap}{f',{gap}'.join(written(one, draw) for one in value)}{gap}]"
    pairs = [f"{quoted(key)} = {written(one, draw)}" for key, one in value.items()]
    return "{ " + ", ".join(pairs) + " }"


@given(st.data(), st.lists(st.dictionaries(keys, values, max_size=4), max_size=4))
def test_every_key_that_tomllib_reads_has_a_line(data, rules):
    """And it is the line on which the key begins."""
    lines, wanted = [], {}
    for index, rule in enumerate(rules):
        lines.append(data.draw(st.sampled_from(["[[rule]]", "  [[ rule ]] # x", '[["rule"]]'])))
        wanted["rule", index] = len(lines)
        for key, value in rule.items():
            wanted["rule", index, key] = len(lines) + 1
            lines += f"{quoted(key)} = {written(value, data.draw)}".split("\n")
    text = "\n".join(lines)
    read = tomllib.loads(text)

    found = locate(text)

    assert read.get("rule", []) == rules
    assert set(found.found) == set(paths(read))
    assert {path: found.line(path) for path in wanted} == wanted


@pytest.mark.parametrize(
    "text",
    [
        'a = """' + "x" * 1000,
        'a = "' + "x" * 1000,
        "a = [1 2]",
        "a = { b = 1 c = 2 }",
        "= 3",
        'a = "x',
        "[",
        "a",
    ],
)
def test_what_is_not_known_has_no_places(text):
    """Nothing hangs or is raised; `tomllib` has the last word on what is valid."""
    assert locate(text).line(("a", 0)) == 1


@given(st.text("ab=[]{}\"'\n#,.\\ 1", max_size=30))
def test_no_text_hangs_or_raises(text):
    """Valid or not."""
    assert locate(text).line(("a",)) >= 1
