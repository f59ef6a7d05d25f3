"""How many labels are known, in a panel of its own and in the overview."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from streamauc import Monitor, Scale
from streamauc.history import History
from streamauc.plot import draw_coverage, draw_history
from streamauc.plot.overview import overview

HOUR = 3_600
START = 1_700_000_000 // HOUR * HOUR


def monitor_of(shares, *, n_events=20):
    """As many predictions an hour, of which a share is resolved; hours of None have none."""
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),), scale=Scale.exact())
    generator = np.random.default_rng(0)
    hours = np.repeat([k for k, share in enumerate(shares) if share is not None], n_events)
    keys = np.arange(hours.size)
    y_true = (keys % 4 == 0).astype(int)
    monitor.predict_many(
        keys, 0.8 * generator.random(keys.size) + 0.2 * y_true, START + (hours + 0.5) * HOUR
    )
    wanted = np.array([shares[hour] for hour in hours])
    known = keys % n_events < wanted * n_events
    monitor.resolve_many(keys[known], y_true[known])
    return monitor


def history_of(shares, *, min_coverage=0.0, **options):
    monitor = monitor_of(shares, **options)
    end = START + len(shares) * HOUR
    return monitor.history("1h", start=START, end=end, min_coverage=min_coverage)


def draw(history):
    return draw_coverage(Figure().add_subplot(), history)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_each_window_has_the_share_of_its_labels_that_are_known():
    history = history_of([1.0, 0.5, None, 0.25])
    ax = draw(history)
    values = ax.get_lines()[0].get_ydata()

    assert np.array_equal(values, [1.0, 0.5, np.nan, 0.25], equal_nan=True)
    assert np.array_equal(values, history.coverage, equal_nan=True)
    assert ax.get_ylabel() == "labels known"
    assert ax.get_ylim() == (0, 1)


def test_ticks_are_percentages_and_dates():
    ax = draw(history_of([1.0, 0.5, 0.75]))
    ax.figure.draw_without_rendering()

    assert "60 %" in [text.get_text() for text in ax.get_yticklabels()]
    assert ax.get_xlabel() == "time (UTC)"


def test_windows_with_too_few_labels_look_immature():
    """Their values are not on the line, and what was asked for is a line of its own."""
    ax = draw(history_of([1.0, 0.95, 0.5, 0.25], min_coverage=0.9))
    line, wanted = ax.get_lines()

    assert np.array_equal(line.get_ydata(), [1.0, 0.95, np.nan, np.nan], equal_nan=True)
    assert list(wanted.get_ydata()) == [0.9, 0.9]
    assert wanted.get_linestyle() == "--"
    assert texts(ax) == ["asked for: 90 %", "labels incomplete"]


@pytest.mark.parametrize(("share", "side"), [(0.95, "bottom"), (0.3, "top")])
def test_what_was_asked_for_is_written_where_there_is_room(share, side):
    """Above a line at the lower end of the panel, below one at the upper end."""
    ax = draw(history_of([1.0, share, 1.0], min_coverage=0.9))

    assert ax.texts[0].get_va() == side


def test_without_a_wish_there_is_no_line():
    assert len(draw(history_of([1.0, 0.5])).get_lines()) == 1


@pytest.mark.parametrize(
    ("history", "note"),
    [(History(()), "no windows"), (history_of([None, None]), "no events")],
)
def test_nothing_to_show_is_said(history, note):
    assert texts(draw(history)) == [note]


@pytest.mark.parametrize(
    ("shares", "panels"),
    [
        ([1.0, 1.0, 1.0], ["prevalence", "ROC AUC"]),
        ([1.0, None, 1.0], ["prevalence", "ROC AUC"]),
        ([1.0, 0.5, 1.0], ["prevalence", "ROC AUC", "labels known"]),
    ],
)
def test_the_overview_shows_coverage_where_labels_are_missing(shares, panels):
    monitor = monitor_of(shares)
    end = START + len(shares) * HOUR
    history = monitor.history("1h", start=START, end=end)
    figure = overview(history, monitor.window(START, end).counts, title="late labels")
    over_time = figure.axes[:-2]

    assert [ax.get_ylabel().split("\n")[0] for ax in over_time] == panels
    assert len({ax.get_xlim() for ax in over_time}) == 1
    assert over_time[-1].get_xlabel() == "time (UTC)"


def test_rounding_of_weights_is_no_missing_label():
    """Two sums of the same weights in another order may differ in the last digit."""
    generator = np.random.default_rng(0)
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),), scale=Scale.exact())
    hours = np.repeat(np.arange(30), 100)
    y_true = (np.arange(hours.size) % 4 == 0).astype(int)
    weights, y_score = generator.random((2, hours.size))
    monitor.update_many(y_true, y_score, START + hours * HOUR, weights=weights)
    history = monitor.history("1h")
    figure = overview(history, monitor.window(START, START + 30 * HOUR).counts, title="weights")

    assert (history.coverage < 1).any()
    assert len(figure.axes) == 4
    assert draw(history).get_ylim()[0] == pytest.approx(0.98)


def test_names_of_histories_stand_above_all_that_is_written_there():
    """Where they would hide data, if there are few windows, and tags, if some are immature."""
    history = history_of([1.0, 1.0, 0.5], min_coverage=0.9)
    figure = Figure(layout="constrained")
    ax = figure.add_subplot()
    draw_history(ax, history, "roc_auc", label="champion")
    draw_history(ax, history, "roc_auc", label=r"$\frac{1$")
    figure.draw_without_rendering()
    tag = next(text for text in ax.texts if "incomplete" in text.get_text())
    names = ax.get_legend().get_window_extent()

    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "champion",
        r"$\frac{1$",  # a name, not a formula that is wrong
    ]
    assert names.y0 >= tag.get_window_extent().y1
    assert names.y0 > ax.get_window_extent().y1
    assert names.y1 <= figure.bbox.y1
