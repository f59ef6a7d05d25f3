"""Windows whose labels are incomplete look like nothing that is known."""

import numpy as np
import pytest
from matplotlib import dates
from matplotlib.collections import (
    FillBetweenPolyCollection,
    LineCollection,
    PathCollection,
    PolyCollection,
)
from matplotlib.figure import Figure

from streamauc import Monitor, Scale, ScoreHistogram, threshold_counts
from streamauc.plot import style
from streamauc.plot.over_time import MOST_BARS, draw_history
from streamauc.plot.overview import overview

HOUR = 3_600
START = 1_700_000_000 // HOUR * HOUR
METRICS = ("prevalence", "roc_auc")


def history_of(n_hours, *, immature=(), unlabelled=(), n_events=20, share=0.5):
    """As many predictions an hour; of the immature hours a share of the labels is known."""
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),), scale=Scale.exact())
    generator = np.random.default_rng(0)
    hours = np.repeat(np.arange(n_hours), n_events)
    keys = np.arange(hours.size)
    y_true = (keys % 4 == 0).astype(int)
    y_score = generator.random(keys.size) * 0.8 + 0.2 * y_true
    monitor.predict_many(keys, y_score, START + (hours + 0.5) * HOUR)
    known = (~np.isin(hours, immature) | (keys % n_events < share * n_events)) & ~np.isin(
        hours, unlabelled
    )
    monitor.resolve_many(keys[known], y_true[known])
    return monitor.history("1h", start=START, end=START + n_hours * HOUR, min_coverage=0.9)


def draw(history, metric="prevalence", ax=None):
    return draw_history(Figure().add_subplot() if ax is None else ax, history, metric)


def hours(positions):
    seconds = np.array([moment.timestamp() for moment in dates.num2date(positions)])
    return ((seconds - START) / HOUR).round(3).tolist()


def shades(ax):
    """Return from which hour to which the grey spans reach."""
    parts = [
        part
        for part in ax.collections
        if isinstance(part, PolyCollection) and not isinstance(part, FillBetweenPolyCollection)
    ]
    corners = [path.vertices[:, 0] for part in parts for path in part.get_paths()]
    return [hours([x.min(), x.max()]) for x in corners]


def hollow(ax):
    """Return the hours of hollow markers."""
    white = (1, 1, 1, 1)
    return [
        hour
        for part in ax.collections
        if isinstance(part, PathCollection) and tuple(part.get_facecolor()[0]) == white
        for hour in hours(part.get_offsets()[:, 0])
    ]


def dashed(ax):
    """Return from which hour to which the dashed line goes."""
    return [
        hours(segment[:, 0])
        for part in ax.collections
        if isinstance(part, LineCollection) and part.get_linestyle()[0][1]
        for segment in part.get_segments()
    ]


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("metric", METRICS)
def test_few_windows_have_hollow_markers_a_dashed_line_and_a_shade(metric):
    history = history_of(6, immature=(2, 5))
    ax = draw(history, metric)
    (line,) = ax.get_lines()

    assert hollow(ax) == [2.5, 5.5]
    assert dashed(ax) == [[1.5, 2.5], [2.5, 3.5], [4.5, 5.5]]
    assert shades(ax) == [[2, 3], [5, 6]]
    assert texts(ax) == ["labels incomplete"] * 2
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, False, True]
    assert line.get_markevery() == [0, 1, 3, 4]


@pytest.mark.parametrize("metric", METRICS)
def test_in_a_band_their_span_is_shaded(metric):
    ax = draw(history_of(MOST_BARS + 10, immature=range(40, 44)), metric)
    (band,) = (part for part in ax.collections if isinstance(part, FillBetweenPolyCollection))
    reached = np.concatenate([path.vertices[:, 0] for path in band.get_paths()])

    assert hollow(ax) == []
    assert shades(ax) == [[40, 44]]
    assert dashed(ax) == [[hour - 0.5, hour + 0.5] for hour in range(40, 45)]
    assert not [hour for hour in hours(reached) if 39.5 < hour < 44.5]
    assert texts(ax) == ["labels incomplete"]


def test_in_a_band_a_value_beside_them_on_both_sides_is_still_seen():
    """A known one as a point and a bar, and an incomplete one between gaps as a hollow marker."""
    ax = draw(history_of(MOST_BARS + 10, immature=(20, 22, 50), unlabelled=(49, 51)))

    assert ax.get_lines()[0].get_markevery() == [21]
    assert hollow(ax) == [50.5]


def test_neighbours_share_a_shade_also_where_no_label_is_known():
    ax = draw(history_of(8, immature=(5, 6), unlabelled=(7,)))

    assert shades(ax) == [[5, 8]]
    assert hollow(ax) == [5.5, 6.5]


def test_their_intervals_are_grey_and_do_not_set_the_limits():
    history = history_of(8, immature=(7,), n_events=200, share=0.1)
    low, high = history.interval("roc_auc")
    ax = draw(history, "roc_auc")
    bars = [
        (part.get_color()[0][:3].tolist(), part.get_segments()[0][:, 1].tolist())
        for part in ax.collections
        if isinstance(part, LineCollection) and part.get_alpha()
    ]
    grey = [int(style.REFERENCE_COLOR[1:3], 16) / 255] * 3

    assert bars == [(grey, [low[7], high[7]])]
    assert ax.get_ylim()[0] > low[7]
    assert ax.get_ylim()[1] < 1


def test_all_windows_incomplete():
    ax = draw(history_of(4, immature=range(4)))

    assert hollow(ax) == [0.5, 1.5, 2.5, 3.5]
    assert shades(ax) == [[0, 4]]
    assert texts(ax) == ["labels incomplete"]
    assert ax.get_ylim()[1] > 0.2


def test_only_the_latest_spans_are_named():
    ax = draw(history_of(20, immature=range(0, 20, 2)))

    assert len(shades(ax)) == 10
    assert len(texts(ax)) == 3
    assert min(hours([text.xy[0] for text in ax.texts])) >= 14


def test_two_histories_in_one_panel_say_it_once_and_keep_their_colours():
    history = history_of(6, immature=(5,))
    ax = draw(history)
    draw(history, ax=ax)

    assert texts(ax) == ["labels incomplete"]
    assert [line.get_color() for line in ax.get_lines()] == list(style.COLORS[:2])


def test_without_them_nothing_is_added():
    ax = draw(history_of(6))

    assert (shades(ax), hollow(ax), dashed(ax), texts(ax)) == ([], [], [], [])


@pytest.mark.parametrize(
    ("n_hours", "immature", "line"),
    [
        (6, (4, 5), "6 windows (2 with incomplete labels), 120 events, 30 positive"),
        (1, (0,), "120 events, 30 positive, labels incomplete"),
        (6, (), "6 windows, 120 events, 30 positive"),
    ],
)
def test_the_title_counts_them(n_hours, immature, line):
    whole = history_of(6).windows
    counts = threshold_counts(ScoreHistogram.merge([window.histogram for window in whole]))
    figure = overview(history_of(n_hours, immature=immature), counts, title="t")

    assert figure.get_suptitle().split("\n")[-1] == line
