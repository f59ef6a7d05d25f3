"""Pane arithmetic against exact fractions and brute force."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from panes import SMALL_TIERS, PaneModel

from streamauc._time import MAX_TIME
from streamauc.tiers import (
    FOR_EVER,
    Tier,
    are_expired,
    check_tiers,
    first_panes,
    floor,
    home_of,
    is_expired,
    next_expiry,
    pane_of,
    panes_of,
    round_out,
    runs,
    snap,
)

SPECS = [
    ((60, "2d"), (3600, "90d"), (86_400, "5y")),
    SMALL_TIERS,
    ((1, 20), (5, 100), (20, math.inf)),
    ((2, 10), (60, 240)),
    ((3, 7.5),),
    ((1, 16), (4, 17), (16, 64), (64, 1_000)),
    ((7, math.inf),),
]
SMALL = SPECS[1:6]
times = st.floats(-MAX_TIME, MAX_TIME)
sizes = st.one_of(st.integers(1, 86_400), st.sampled_from([1, 3, 7, 60, 3_600, 86_400]))


def plain(tiers):
    """Return tiers as (pane, keep) in seconds, as the model takes them."""
    return tuple((tier.pane_seconds, tier.keep) for tier in tiers)


@given(st.lists(times, min_size=1, max_size=20), sizes)
def test_panes_are_exact_for_every_float(moments, size):
    """The index is the floor of the exact quotient, for one time and for a column."""
    exact = [math.floor(Fraction(moment) / size) for moment in moments]

    assert [pane_of(moment, size) for moment in moments] == exact
    assert panes_of(np.array(moments), size).tolist() == exact
    assert [floor(moment, size) for moment in moments] == [index * size for index in exact]


@given(st.integers(-(2**34), 2**34), sizes)
def test_panes_are_exact_one_ulp_beside_their_edges(index, size):
    """The last float before an edge is in the pane before it, the edge itself is not."""
    index = max(-(2**40) // size, min(2**40 // size, index))
    edge = float(index * size)
    below, above = math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf)

    assert [pane_of(moment, size) for moment in (below, edge, above)] == [index - 1, index, index]
    assert panes_of(np.array([below, edge, above]), size).tolist() == [index - 1, index, index]


def test_the_smallest_numbers_around_zero():
    """A time just before the epoch is in the last pane before it, though its quotient is 0."""
    tiny = math.ulp(0.0)

    assert [pane_of(moment, 86_400) for moment in (-tiny, -0.0, 0.0, tiny)] == [-1, 0, 0, 0]
    assert panes_of(np.array([-tiny, -0.0, 0.0, tiny]), 86_400).tolist() == [-1, 0, 0, 0]
    assert floor(math.inf, 60) == math.inf
    assert floor(-math.inf, 60) == -math.inf


moments_now = st.one_of(
    st.floats(-2_000, 2_000),
    st.integers(-8_000, 8_000).map(lambda quarter: quarter / 4),
    st.integers(-2_000, 2_000).map(lambda moment: math.nextafter(moment, -math.inf)),
    st.integers(0, 2_000).map(lambda second: 1_394_347_000.0 + second),
)


@given(st.sampled_from(SPECS), moments_now)
def test_first_panes_keep_enough_and_siblings_together(spec, now):
    """What is no older than `keep` survives; the first pane begins a pane of the coarser tier."""
    tiers = check_tiers(spec)
    model = PaneModel(plain(tiers))
    for number, (tier, first) in enumerate(zip(tiers, first_panes(tiers, now), strict=True)):
        if math.isinf(tier.keep):
            assert first == FOR_EVER
            continue
        begin, parent = first * tier.pane_seconds, model.parents[number]
        assert begin <= Fraction(now) - Fraction(tier.keep) < begin + parent
        assert begin % parent == 0
        assert model.survives(number, begin, now)
        assert not model.survives(number, begin - tier.pane_seconds, now)


@given(st.sampled_from(SPECS), moments_now)
def test_nothing_expires_before_the_next_expiry(spec, now):
    """`next_expiry` is the first float at which `first_panes` differ."""
    tiers = check_tiers(spec)
    then = next_expiry(tiers, now)

    assert then > now
    if math.isfinite(then):
        assert first_panes(tiers, math.nextafter(then, -math.inf)) == first_panes(tiers, now)
        assert first_panes(tiers, then) != first_panes(tiers, now)


@given(st.sampled_from(SPECS), st.lists(moments_now, min_size=1, max_size=8), moments_now)
@example(SMALL_TIERS, [-385.0], math.nextafter(20.0, 0.0))
def test_expired_is_older_than_every_tier(spec, moments, now):
    """One time and a column are judged alike, and as the definition says."""
    tiers = check_tiers(spec)
    model = PaneModel(plain(tiers))
    expected = [model.is_expired(moment, now) for moment in moments]

    assert [is_expired(moment, now, tiers[-1]) for moment in moments] == expected
    known = np.full(len(moments), now)
    assert are_expired(np.array(moments), known, tiers[-1]).tolist() == expected
    assert not are_expired(np.array(moments), np.full(len(moments), -math.inf), tiers[-1]).any()


@given(st.sampled_from(SMALL), moments_now, st.integers(-1_200, 100))
def test_home_is_the_finest_surviving_pane(spec, now, back):
    """An event is counted in the finest pane at its time that survives."""
    tiers = check_tiers(spec)
    model, first = PaneModel(plain(tiers)), first_panes(tiers, now)
    moment = math.floor(now) + back + 0.5
    home = home_of(tiers, first, pane_of(moment, tiers[0].pane_seconds))

    if model.is_expired(moment, now):
        assert home is None
    else:
        begin, end = model.pane_at(moment, now)
        seconds = tiers[home[0]].pane_seconds
        assert (home[1] * seconds, (home[1] + 1) * seconds) == (begin, end)


spans = st.tuples(
    st.integers(-4_800, 400).map(lambda quarter: quarter / 4),
    st.integers(0, 1_600).map(lambda quarter: quarter / 4),
    st.booleans(),
    st.booleans(),
)


@given(st.sampled_from(SMALL), moments_now, spans)
def test_windows_are_rounded_out_to_the_smallest_union_of_panes(spec, now, span):
    """The span is that of the finest surviving panes, walked from start to end; runs fill it."""
    tiers = check_tiers(spec)
    model, first = PaneModel(plain(tiers)), first_panes(tiers, now)
    back, length, nudge_start, nudge_end = span
    start, end = math.floor(now) + back, math.floor(now) + back + length
    start = math.nextafter(start, -math.inf) if nudge_start else start
    end = max(start, math.nextafter(end, -math.inf) if nudge_end else end)

    low, high = round_out(tiers, first, start, end)
    assert (low, high) == model.span(start, end, now)
    assert snap(tiers, first, start) == low
    check_runs(tiers, model, runs(tiers, low, high), low, high, now)
    assert round_out(tiers, first, low, high) == (low, high)


def check_runs(tiers, model, found, low, high, now):
    """Check that runs fill a span without gaps, each pane the largest that fits there."""
    at = low
    for run in found:
        seconds = tiers[run.tier].pane_seconds
        assert run.first * seconds == at
        assert run.stop > run.first
        for index in range(run.first, run.stop):
            assert not fits(tiers[run.tier + 1 :], index * seconds, low, high)
            assert survives_or_sums(model, run.tier, index * seconds, now)
        at = run.stop * seconds
    assert at == high


def fits(coarser, begin, low, high):
    """Return whether a coarser pane that holds `begin` lies within [low, high)."""
    return any(
        low <= begin // tier.pane_seconds * tier.pane_seconds
        and (begin // tier.pane_seconds + 1) * tier.pane_seconds <= high
        for tier in coarser
    )


def survives_or_sums(model, number, begin, now):
    """Return whether a pane survives, or is the coarsest that once was."""
    return model.survives(number, begin, now) or number == len(model.tiers) - 1


def test_the_example_of_the_timeline():
    """With minutes and hours, [00:58, 04:06) is two minutes, three hours and six minutes."""
    tiers = check_tiers(((60, "1d"), (3600, "2d")))
    first = first_panes(tiers, 5 * 3600)
    low, high = round_out(tiers, first, 58 * 60 + 12.5, 4 * 3600 + 5 * 60 + 1)

    found = [(run.tier, run.first, run.stop) for run in runs(tiers, low, high)]
    assert found == [(0, 58, 60), (1, 1, 4), (0, 240, 246)]


def test_an_empty_request_is_an_empty_span():
    """Where start and end are the same, there is a place but no pane."""
    tiers = check_tiers(SMALL_TIERS)
    first = first_panes(tiers, 1_000.0)

    assert round_out(tiers, first, 999.5, 999.5) == (999, 999)
    assert round_out(tiers, first, 930.0, 930.0) == (930, 930)
    assert runs(tiers, 999, 999) == []


def test_tiers_are_read_from_lengths_of_time():
    """Panes and keeps may be text, numbers or for ever."""
    assert check_tiers((("1m", "2d"), ("1h", math.inf))) == (
        Tier(60, 172_800.0),
        Tier(3600, math.inf),
    )
    assert check_tiers(((np.int64(60), np.float64(90)),)) == (Tier(60, 90.0),)


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ((), "tiers must hold at least one (pane, keep), got none"),
        (((60, 50),), "keep must be at least one pane of 60 s, got 50 s"),
        (((0.5, 50),), "pane must be a whole number of seconds, got 0.5"),
        (((0, 50),), "pane must be positive, got 0"),
        (((60, -1),), "keep must be positive, got -1"),
        (((60, "soon"),), "keep must be a length of time such as 90s, 15m, 6h, 2d, 1w or 5y"),
        (
            ((60, 3600), (90, 7200)),
            "tiers must nest: a pane of 90 s is no multiple of one of 60 s",
        ),
        (
            ((60, 3600), (60, 7200)),
            "tiers must nest: a pane of 60 s is no multiple of one of 60 s",
        ),
        (
            ((3600, 7200), (60, 86_400)),
            "tiers must nest: a pane of 60 s is no multiple of one of 3600 s",
        ),
        (
            ((60, 7200), (3600, 7200)),
            "tiers must be kept longer the coarser they are, got 7200 s after 7200 s",
        ),
        (
            ((60, math.inf), (3600, math.inf)),
            "tiers must be kept longer the coarser they are, got inf s after inf s",
        ),
    ],
)
def test_tiers_that_cannot_be_kept_are_refused(tiers, message):
    """A message names what is wrong with the tiers."""
    with pytest.raises(ValueError, match=re.escape(message)):
        check_tiers(tiers)


def test_a_pane_without_end_is_refused():
    """A pane has an end, even where it is kept for ever."""
    with pytest.raises(ValueError, match="pane must be a whole number of seconds, got inf"):
        check_tiers(((math.inf, math.inf),))
