"""Ticks in log-odds and in time, texts above uneven axes and beside panels, legends."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import dates
from matplotlib.figure import Figure

from streamauc.plot import above, beside, legend, log_odds, style, time_axis
from streamauc.plot.above import Tag
from streamauc.plot.time_axis import Span


def logit(share):
    return math.log(share) - math.log1p(-share)


def ticks(start, end):
    figure = Figure()
    ax = figure.add_subplot()
    low, high = log_odds.scores_at(np.array([start, end])).tolist()
    ax.set_xscale("logit")
    ax.set_xlim(low, high)
    log_odds.show_logits(ax.xaxis, start, end)
    figure.draw_without_rendering()
    shown = [text.get_text() for text in ax.get_xticklabels()]
    return dict(zip(shown, ax.get_xticks().tolist(), strict=True))


@given(st.floats(-30, 30), st.floats(1.5, 40))
def test_ticks_in_log_odds_are_few_apart_and_right(start, width):
    end = min(start + width, log_odds.LAST)
    found = ticks(start, end) if end - start > 1.5 else {"0.5": 0.5, "0.9": 0.9}
    places = [logit(share) for share in found.values()]

    assert 1 <= len(found) <= 9
    assert all(np.diff(places) >= (end - start) / 8 - 1e-9)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (-2.5, 2.5, {"0.1": 0.1, "0.3": 0.3, "0.5": 0.5, "0.7": 0.7, "0.9": 0.9}),
        (-12.0, -6.0, {"1e-5": 1e-5, "3e-5": 3e-5, "0.0001": 1e-4, "0.0003": 3e-4, "0.001": 1e-3}),
        (-7.0, 7.0, {"0.001": 1e-3, "0.01": 0.01, "0.1": 0.1, "0.5": 0.5, "0.9": 0.9}),
    ],
)
def test_round_shares_come_first(start, end, expected):
    found = ticks(start, end)

    assert list(found)[: len(expected)] == list(expected)
    for text, share in expected.items():
        assert found[text] == pytest.approx(share)


def test_ticks_near_one_are_written_as_what_is_missing():
    found = ticks(0.0, 20.0)

    assert found["0.99"] == 0.99
    assert found["1-1e-6"] == 1 - 1e-6


def test_the_29th_does_not_touch_the_first():
    """The locator of matplotlib has both as ticks when a label is due every four days."""
    figure = Figure(figsize=(6, 3))
    ax = figure.add_subplot()
    start = datetime(2023, 11, 14, tzinfo=UTC).timestamp()
    span = Span(start, start + 21 * 86_400)
    ax.set_xlim(*span.positions(np.array([span.start, span.end])))
    span.show(ax, UTC)
    figure.draw_without_rendering()
    days = [date.day for date in dates.num2date(ax.get_xticks())]

    assert 29 not in days
    assert {17, 21, 25, 1, 5} >= set(days) >= {21, 25, 1}
    assert np.diff(ax.get_xticks()).min() >= 4


@given(st.lists(st.integers(0, 100), unique=True))
def test_ticks_that_are_dropped_are_followed_soon(places):
    all_of_them = sorted(float(place) for place in places)
    kept = time_axis._apart(np.array(all_of_them))
    gaps = np.diff(all_of_them)

    assert set(kept) <= set(all_of_them)
    assert kept[-1:] == all_of_them[-1:]
    if gaps.size:
        assert len(kept) == 1 + int((gaps >= 0.6 * gaps.max()).sum())


@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
def test_tags_stand_above_their_places_on_an_axis_of_log_odds(share):
    ax = Figure(figsize=(6, 3)).add_subplot()
    ax.set_xscale("logit")
    ax.set_xlim(1e-5, 1 - 1e-5)
    above.write(ax, [Tag(share, share, ("here",))])

    assert ax.texts[0].xy[0] == pytest.approx(share)
    assert ax.texts[0].xyann[0] == pytest.approx(share)


def test_tags_at_the_end_of_an_axis_of_log_odds_stay_within_it():
    ax = Figure(figsize=(6, 3)).add_subplot()
    ax.set_xscale("logit")
    ax.set_xlim(1e-5, 0.5)
    above.write(ax, [Tag(0.5, 0.5, ("a rather long text",))])

    assert ax.texts[0].xy[0] == pytest.approx(0.5)
    assert 1e-5 < ax.texts[0].xyann[0] < 0.4


def test_texts_beside_a_panel_are_moved_apart_in_their_order():
    ax = Figure().add_subplot()
    beside.write(ax, [0.5, 0.51, 0.1], ["middle", "upper", "lower"], "black")
    heights = {text.get_text(): text.xy[1] for text in ax.texts}

    assert heights["lower"] == pytest.approx(0.1)
    assert heights["upper"] - heights["middle"] >= 0.05
    assert (heights["upper"] + heights["middle"]) / 2 == pytest.approx(0.505)


def test_texts_beside_a_panel_are_left_out_where_there_is_no_room():
    ax = Figure().add_subplot()
    beside.write(ax, [0.5] * 30, ["text"] * 30, "black")
    beside.write(ax, [], [], "black")

    assert not ax.texts


def drawn_legend(names, width, **options):
    figure = Figure(figsize=(width, 3))
    ax = figure.add_subplot()
    for name in names:
        ax.plot([0, 1], [0, 1], label=name)
    legend.write(ax, **options)
    figure.draw_without_rendering()
    return ax


@pytest.mark.parametrize(("width", "n_rows"), [(8, 1), (3, 3)])
def test_a_legend_is_a_row_where_it_fits(width, n_rows):
    """A row that is wider than its figure would leave no room for the panel."""
    ax = drawn_legend(["positives, 1,000,000", "negatives", "threshold"], width, is_row=True)
    texts = ax.get_legend().get_texts()

    assert len({round(text.get_window_extent().y0) for text in texts}) == n_rows


def test_a_legend_stands_above_the_panel_by_as_much_as_is_asked():
    low, high = (drawn_legend(["a"], 6, height=height) for height in (0.0, 30.0))
    extents = [ax.get_legend().get_window_extent() for ax in (low, high)]

    assert extents[0].y0 > low.get_window_extent().y1
    assert extents[1].y0 - extents[0].y0 == pytest.approx(30 / 72 * low.figure.dpi)


def test_nothing_to_name_has_no_legend():
    assert drawn_legend([], 6).get_legend() is None


@pytest.mark.parametrize("value", [0.99996, 1e-7, 1 - 1e-9])
def test_decimals_never_make_certainties(value):
    assert float(style.decimals(value)) not in (0, 1)
