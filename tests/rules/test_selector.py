"""Which series a rule is for."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamauc.rules.selector import Matcher, Selector, braced


@pytest.mark.parametrize(
    ("text", "matching", "others"),
    [
        ("fraud", ["fraud"], ["", "fraud2", "FRAUD"]),
        ("", [""], ["x"]),
        ("!fraud", ["", "x"], ["fraud"]),
        ("!", ["x"], [""]),
        ("~eu-.*", ["eu-", "eu-west"], ["", "xeu-", "eu"]),
        ("~a|b", ["a", "b"], ["ab", "ba"]),
        ("~", [""], ["x"]),
        ("!~eu-.*", ["", "us"], ["eu-1"]),
        ("=~x", ["~x"], ["x", ""]),
        ("=!x", ["!x"], ["x", "y"]),
        ("==x", ["=x"], ["x"]),
        ("~a.b", ["a\tb"], ["a\nb"]),
    ],
)
def test_forms(text, matching, others):
    """Equality, inequality and regular expressions, all of the whole value."""
    matcher = Matcher.parse("model", text)

    assert all(matcher.matches({"model": value, "z": "q"}) for value in matching)
    assert not any(matcher.matches({"model": value}) for value in others)


@given(st.text(max_size=5), st.text(max_size=5))
def test_negation_is_the_opposite(text, value):
    """Of equality and of regular expressions."""
    for plain, negated in (
        (f"={text}", f"!{text}"),
        (f"~{re.escape(text)}", f"!~{re.escape(text)}"),
    ):
        if negated.startswith("!~") == plain.startswith("~"):
            one, other = Matcher.parse("a", plain), Matcher.parse("a", negated)
            assert one.matches({"a": value}) == (text == value)
            assert other.matches({"a": value}) == (text != value)


def test_a_missing_label_is_the_empty_text():
    """As in Prometheus."""
    assert Matcher.parse("region", "").matches({})
    assert Matcher.parse("region", "!eu").matches({})
    assert not Matcher.parse("region", "~.+").matches({})


def test_all_matchers_must_match():
    """And without any, every series does."""
    both = Selector((Matcher.parse("a", "1"), Matcher.parse("b", "!2")))

    assert both.matches({"a": "1"})
    assert not both.matches({"a": "1", "b": "2"})
    assert not both.matches({"b": "1"})
    assert Selector().matches({})


def test_selectors_are_shown_as_in_prometheus():
    """In reasons."""
    texts = {"a": 'x"\\', "b": "!y", "c": "~z.*", "d": "!~w", "e": "=~v"}
    selector = Selector(tuple(Matcher.parse(*item) for item in texts.items()))

    assert str(selector) == '{a="x\\"\\\\", b!="y", c=~"z.*", d!~"w", e="~v"}'
    assert str(Selector()) == "{}"
    assert braced({"b": "2", "a": "1\n"}) == '{a="1\\n", b="2"}'


def test_a_bad_expression_is_named():
    """With what is wrong with it."""
    with pytest.raises(ValueError, match=r"must be a regular expression behind ~, got '~\['"):
        Matcher.parse("a", "~[")
