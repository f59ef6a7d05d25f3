"""Templates show labels and values as Prometheus' do, and are checked before they are needed."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamauc.rules.formats import span
from streamauc.rules.templates import Template, TemplateError, Values


def rendered(source, value=0.0, **labels):
    return Template.parse(source).render(Values("Low", labels, value, "because"))


@pytest.mark.parametrize(
    ("source", "value", "text"),
    [
        ("plain } { text", 0, "plain } { text"),
        ("{{ $value }}", 0.25, "0.25"),
        ("{{$value}}", 3.0, "3"),
        ("{{ $value }}", math.nan, "NaN"),
        ("{{ $value }}", math.inf, "+Inf"),
        ("{{ $value }}", -math.inf, "-Inf"),
        ("{{ $alert }}: {{ $reason }}", 0, "Low: because"),
        ("{{ $labels.model }}/{{ $labels.nope }}!", 0, "fraud/!"),
        ("{{ $labels.model | toUpper }}", 0, "FRAUD"),
        ("{{ toUpper $labels.model | toLower | title }}", 0, "Fraud"),
        ("{{ $value | humanize }}", 1234567, "1.235M"),
        ("{{ $value | humanize }}", 0.0012, "1.2m"),
        ("{{ $value | humanize }}", -1500, "-1.5k"),
        ("{{ $value | humanize }}", 0, "0"),
        ("{{ $value | humanize }}", math.nan, "NaN"),
        ("{{ $value | humanize1024 }}", 2048, "2ki"),
        ("{{ $value | humanize1024 }}", 0.5, "0.5"),
        ("{{ $value | humanizePercentage }}", 0.12345, "12.35%"),
        ("{{ $value | humanizePercentage }}", math.nan, "NaN%"),
        ("{{ $value | humanizeDuration }}", 0.001, "1ms"),
        ("{{ $value | humanizeDuration }}", 59.5, "59.5s"),
        ("{{ $value | humanizeDuration }}", 899.99, "14m 59s"),
        ("{{ $value | humanizeDuration }}", 90061, "1d 1h 1m 1s"),
        ("{{ $value | humanizeDuration }}", -61, "-1m 1s"),
        ("{{ $value | humanizeDuration }}", math.inf, "+Inf"),
        ("{{ $value | humanizeTimestamp }}", 1435065584.128, "2015-06-23 13:19:44 +0000 UTC"),
        ("{{ $value | humanizeTimestamp }}", 1e300, "1e+300"),
        ("{{ $value | humanizeTimestamp }}", -62135596801.0, "-6.214e+10"),
        ('{{ $value | printf "%.3f" }}', 0.71349, "0.713"),
        ('{{ printf "%.1f %%" $value }}', 12.34, "12.3 %"),
        ('{{ $value | printf "%6.2f|" }}', 1.5, "  1.50|"),
        ('{{ $value | printf "%-6.2f|" }}', 1.5, "1.50  |"),
        ('{{ $value | printf "%06.2f" }}', -1.5, "-01.50"),
        ('{{ $value | printf "%+.1e" }}', 1234, "+1.2e+03"),
        ('{{ $value | printf "%g" }}', 0.5, "0.5"),
        ('{{ $value | printf "%v" }}', 0.5, "0.5"),
        ('{{ $value | printf "%.2v" }}', 0.123, "0.12"),
        ('{{ $value | printf "%.2f" }}', math.nan, "NaN"),
        ('{{ $value | printf "%.2f" | toUpper }}', math.nan, "NAN"),
        ('{{ $labels.model | printf "<%8s>" }}', 0, "<   fraud>"),
        ('{{ $labels.model | printf "%q" }}', 0, '"fraud"'),
        ('{{ $labels.model | printf "%.2s" }}', 0, "fr"),
        ('{{ $value | printf "a\\"b\\\\%.0f" }}', 2, 'a"b\\2'),
        ("a{{ $value }}{{ $value }}b", 1, "a11b"),
    ],
)
def test_rendering(source, value, text):
    """The numbers and forms of Prometheus."""
    assert rendered(source, float(value), model="fraud") == text


@pytest.mark.parametrize(
    ("source", "position", "message"),
    [
        ("ab {{ $value", 3, "must be closed"),
        ("ab {{ $nope }}", 6, "unknown variable '\\$nope'"),
        ("{{ $value | nope }}", 12, "unknown function 'nope'"),
        ("{{ $value\n| \nnope }}", 13, "unknown function 'nope'"),
        ("{{ $value }} {{ 3 }}", 16, "unknown function '3'"),
        ("{{ humanize }}", 12, "expected a variable such as \\$value, got nothing"),
        ("{{ humanize 3 }}", 12, "expected a variable such as \\$value, got '3'"),
        ('{{ $value | printf "%s" }}', 12, "printf of a number must have one verb"),
        ('{{ $value | printf "%" }}', 12, "printf must have complete verbs"),
        ('{{ $value | printf "x" }}', 12, "one verb"),
        ("{{ $value | humanize | humanize }}", 23, "humanize must be given a number, got a text"),
        ("{{- $value }}", 2, "unknown function '-'"),
        ("{{ $value.__class__ }}", 3, "written \\$value"),
        ("{{ $labels.a.b }}", 12, "expected '\\|'"),
    ],
)
def test_mistakes_are_found_when_parsed(source, position, message):
    """With the position at which they stand."""
    with pytest.raises(TemplateError, match=message) as caught:
        Template.parse(source)

    assert caught.value.position == position
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - written here
    assert (str(again), again.position) == (str(caught.value), position)


@given(
    st.text('{}$|. "%valuebs\nprintf'),
    st.floats(),
    st.text(max_size=3),
)
def test_whatever_parses_renders(source, value, label):
    """And whatever does not says where."""
    try:
        found = Template.parse(source)
    except TemplateError as error:
        found = error
    if isinstance(found, TemplateError):
        assert 0 <= found.position <= len(source)
    else:
        assert isinstance(found.render(Values("a", {"b": label}, value, "r")), str)


@given(st.floats(), st.sampled_from(["", "5", "9"]), st.sampled_from(["", ".0", ".17", "."]))
def test_every_function_takes_every_number(value, width, precision):
    """Infinities, subnormals and nan included."""
    names = ("humanize", "humanize1024", "humanizePercentage", "humanizeDuration")
    for name in (*names, "humanizeTimestamp"):
        assert rendered(f"{{{{ $value | {name} }}}}", value)
    for verb in "fegEGv":
        form = f"%{width}{precision}{verb}"
        assert rendered(f'{{{{ $value | printf "{form}" }}}}', value).strip()


def test_lengths_of_time_are_short():
    """In reasons."""
    assert [span(one) for one in (0, 0.5, 59, 3600, 90061, -60.5, 393.174, 599.9)] == [
        "0s",
        "0.5s",
        "59s",
        "1h",
        "1d1h1m1s",
        "-1m",
        "6m33s",
        "9m59s",
    ]
