"""A comparison in words: right in direction and size for every pattern of signs."""

import itertools
import math
import re

import numpy as np
import pytest
from reference import counts_of, histogram_of

from streamauc import Scale, compare
from streamauc.change.explain import explain, verdict
from streamauc.change.results import Attribution, Change, Significance
from streamauc.metrics.intervals import Interval

EXACT = Scale.exact()
SIDES = (counts_of([(1, 0.9), (0, 0.1)], EXACT), counts_of([(1, 0.9)], EXACT))
NAN = math.nan
PLAYERS = ("class ratio", "positives' scores", "negatives' scores")


def change(difference, reach, reference=0.5):
    """Return a change with an interval that reaches that far to both sides."""
    interval = Interval(difference - reach, difference + reach, 0.95, "a note")
    test = Significance(0.04, "a test")
    return Change(reference, reference + difference, difference, interval, test)


QUIET = change(0.0, 0.1)
UNKNOWN = Change(NAN, 0.5, NAN, Interval(NAN, NAN, 0.95, "why"), Significance(NAN, "why not"))


def told(prevalence=QUIET, auc=QUIET, attribution=None):
    """Return the lines of the explanation."""
    return explain(SIDES, prevalence, auc, attribution or {}).splitlines()


HEADLINES = {
    "up": ("The share of positives rose", "the model ranks better"),
    "down": ("The share of positives fell", "the model ranks worse"),
    "steady": (
        "The share of positives is unchanged within its interval",
        "no change of the ranking is seen",
    ),
    "unknown": (
        "The shares of positives cannot be compared",
        "the rankings cannot be compared",
    ),
}
CHANGES = {
    "up": change(0.2, 0.1),
    "down": change(-0.2, 0.1),
    "steady": change(0.05, 0.1),
    "unknown": UNKNOWN,
}


@pytest.mark.parametrize(("ratio", "ranking"), list(itertools.product(CHANGES, CHANGES)))
def test_the_headline_has_both_verdicts(ratio, ranking):
    """All sixteen combinations of what the class ratio and the ranking did."""
    lines = told(CHANGES[ratio], CHANGES[ranking])

    assert verdict(CHANGES[ratio]) == ratio
    assert lines[1] == f"{HEADLINES[ratio][0]}; {HEADLINES[ranking][1]}."


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            change(0.2, 0.1),
            "AUC: rose from 0.500 to 0.700 (+0.200, 95 % interval +0.100 to +0.300;"
            " a test, p = 0.04).",
        ),
        (
            change(-0.2, 0.1),
            "AUC: fell from 0.500 to 0.300 (-0.200, 95 % interval -0.300 to -0.100;"
            " a test, p = 0.04).",
        ),
        (
            change(-0.0004, 0.1),
            "AUC: unchanged within its interval, 0.50000 to 0.49960 (-0.00040, 95 % interval"
            " -0.10040 to +0.09960; a test, p = 0.04).",
        ),
        (UNKNOWN, "AUC: cannot be compared (why not)."),
    ],
)
def test_a_change_has_direction_size_and_interval(given, line):
    """Enough decimals to see a small change; a change within its interval is called unchanged."""
    assert told(auc=given)[3] == line
    assert told(prevalence=given)[2] == line.replace("AUC", "Share of positives")


def readings(line):
    """Return what a line says each player did, and the total, as signed numbers."""
    found = dict.fromkeys(PLAYERS, 0.0)
    total = re.search(r": (rose|fell) by (\d+\.\d+)", line)
    moved = float(total[2]) * (1 if total[1] == "rose" else -1) if total else 0.0
    if alone := re.search("all of it comes from the ([a-z' ]+)", line):
        found[alone[1]] = moved
    for player, verb, size in re.findall(r"the ([a-z' ]+) (raised|lowered) it by (\d+\.\d+)", line):
        found[player] = float(size) * (1 if verb == "raised" else -1)
    return found, moved


SIZES = (0.12, -0.12, 0.03, -0.03, 0.0)


@pytest.mark.parametrize("parts", list(itertools.product(SIZES, repeat=3)))
def test_every_sign_pattern_is_told_as_it_is(parts):
    """Each player's direction and size, and the sum's, can be read back from the sentence."""
    line = told(attribution={"precision@0.7": Attribution(*parts, sum(parts))})[4]
    found, moved = readings(line)

    assert line.startswith("Precision at 0.7: ")
    if not any(parts):
        assert line == "Precision at 0.7: did not change."
        return
    assert moved == pytest.approx(sum(parts), abs=1e-9)
    assert [found[player] for player in PLAYERS] == pytest.approx(parts, abs=1e-9)
    assert ("stayed the same" in line) == (abs(sum(parts)) < 1e-9)
    order = [
        abs(found[player]) for player in re.findall("the ([a-z]+'? ?[a-z]*) (?:rai|low)", line)
    ]
    assert order == sorted(order, reverse=True)


def test_small_parts_are_told_with_decimals_of_their_own():
    """Two digits of the largest; what is smaller still is less than the last of them."""
    tiny = Attribution(-0.000012, 0.0, 0.0, -0.000012)
    mixed = Attribution(-0.12, 0.00001, 0.0, -0.11999)
    lines = told(attribution={"average_precision": tiny, "alert_rate@0.5": mixed})

    assert lines[4] == (
        "Average precision: fell by 0.000012; all of it comes from the class ratio."
    )
    assert lines[5] == (
        "Alert rate at 0.5: fell by 0.120; the class ratio lowered it by 0.120,"
        " the positives' scores raised it by less than 0.001."
    )
    rounding = Attribution(1e-17, -1e-17, 0.0, 0.0)
    assert told(attribution={"fpr@0.5": rounding})[4] == "FPR at 0.5: did not change."


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Attribution(NAN, NAN, NAN, NAN), "cannot be compared (undefined on one side or both)."),
        (Attribution(NAN, NAN, NAN, 0.25), "rose by 0.250; why cannot be told, as a side"),
        (Attribution(NAN, NAN, NAN, 0.0), "stayed the same; why cannot be told, as a side"),
    ],
)
def test_what_is_undefined_is_not_explained(part, words):
    """A total without parts is told without a reason."""
    assert words in told(attribution={"recall@0.5": part})[4]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "0 events, 0 positive"),
        ([(1, 0.5)], "1 event, 1 positive"),
        ([(0, 0.5)] * 1_234, "1,234 events, 0 positive"),
        ([(1, 0.5, 1.5)], "1.5 events, 1.5 positive"),
    ],
)
def test_one_is_singular(rows, words):
    """Sizes of both sides, with thousands set apart."""
    one, two = histogram_of(rows, EXACT), histogram_of([(1, 0.5)], EXACT)
    lines = compare(one, two, independent=True).explain().splitlines()

    assert lines[0] == f"Reference: {words}. Current: 1 event, 1 positive."


def test_real_stories():
    """Ten times the negatives, and a worse model: the headline and the reasons, end to end."""
    rng = np.random.default_rng(1)
    positives = [(1, score) for score in rng.beta(5, 2, 2_000)]
    negatives = [(0, score) for score in rng.beta(2, 5, 2_000)]
    worse = [(1, score) for score in rng.beta(3, 3, 2_000)]
    scale = Scale.probability(thresholds=(0.5,))
    base, diluted, blunt = (
        histogram_of(rows, scale)
        for rows in (positives + negatives, positives + negatives * 10, worse + negatives)
    )
    story = compare(base, diluted, independent=True).explain().splitlines()
    assert story[1] == "The share of positives fell; no change of the ranking is seen."
    assert "; all of it comes from the class ratio." in story[5]
    assert story[6] == "Recall at 0.5: did not change."
    story = compare(base, blunt, independent=True).explain().splitlines()
    assert story[1].startswith("The share of positives is unchanged")
    assert story[1].endswith("; the model ranks worse.")
    assert story[4].endswith("; all of it comes from the positives' scores.")
