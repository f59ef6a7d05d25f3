"""What the pictures show: lines, gaps, limits and words, not pixels."""

import subprocess
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from matplotlib import dates
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from streamauc import Monitor, Scale, ScoreHistogram, roc_auc, threshold_counts
from streamauc.history import History
from streamauc.plot import labels, thin, time_axis
from streamauc.plot.curves import draw_precision_recall, draw_roc
from streamauc.plot.over_time import MOST_BARS, draw_history
from streamauc.plot.overview import overview, save

HOUR = 3_600
START = 1_700_000_000 // HOUR * HOUR
NEW_YORK = ZoneInfo("America/New_York")


def monitor_of(y_true, y_score, hours, **options):
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),), scale=Scale.exact())
    monitor.update_many(y_true, y_score, START + np.asarray(hours) * HOUR, **options)
    return monitor


def stream(n_hours, *, n_events=20, seed=0):
    """As many events an hour, some of them positive, in each of the first hours."""
    generator = np.random.default_rng(seed)
    hours = np.repeat(np.arange(n_hours), n_events) + 0.5
    y_true = (np.arange(hours.size) % 4 == 0).astype(int)
    return y_true, generator.random(hours.size) * 0.8 + 0.2 * y_true, hours


def history_of(n_hours, *, without=()):
    y_true, y_score, hours = stream(n_hours)
    kept = ~np.isin(hours - 0.5, without)
    monitor = monitor_of(y_true[kept], y_score[kept], hours[kept])
    return monitor.history("1h", start=START, end=START + n_hours * HOUR)


def counts_of(y_true, y_score, **options):
    return threshold_counts(
        ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact(), **options)
    )


def new_axes():
    return Figure().add_subplot()


def line_of(ax, label):
    return next(line for line in ax.get_lines() if str(line.get_label()).startswith(label))


def words(ax):
    """Return what is written in a panel and above it; lines of equal F1 are named beside it."""
    found = [text.get_text() for text in ax.texts]
    return [text for text in found if not text.startswith("F1 ")]


def legend(ax):
    return "\n".join(text.get_text() for text in ax.get_legend().get_texts())


def collections(ax, kind):
    return [part for part in ax.collections if isinstance(part, kind)]


def test_few_windows_have_bars_at_their_middles():
    history = history_of(5)
    ax = draw_history(new_axes(), history, "roc_auc")
    (line,) = ax.get_lines()
    (bars,) = collections(ax, LineCollection)
    low, high = history.interval("roc_auc")
    middles = dates.date2num(
        [datetime.fromtimestamp(START + (k + 0.5) * HOUR, UTC) for k in range(5)]
    )

    assert np.allclose(line.get_xdata(), middles, rtol=0, atol=1e-9)
    assert np.array_equal(line.get_ydata(), history.column("roc_auc"))
    assert np.array_equal([bar[:, 1] for bar in bars.get_segments()], np.column_stack((low, high)))
    assert not collections(ax, PolyCollection)


def test_many_windows_have_a_band():
    ax = draw_history(new_axes(), history_of(MOST_BARS + 1), "prevalence")

    assert len(collections(ax, PolyCollection)) == 1
    assert not collections(ax, LineCollection)
    assert ax.get_lines()[0].get_markevery() == []


def test_a_value_between_gaps_is_still_seen():
    """It has a marker and a bar, because a line of one point and a band of one are nothing."""
    ax = draw_history(new_axes(), history_of(MOST_BARS + 9, without=(20, 22)), "prevalence")

    assert ax.get_lines()[0].get_markevery() == [21]
    assert len(collections(ax, LineCollection)[0].get_segments()) == 1


def test_undefined_windows_are_gaps_and_the_axis_keeps_their_time():
    ax = draw_history(new_axes(), history_of(6, without=(0, 3, 5)), "roc_auc")
    limits = [date.timestamp() for date in dates.num2date(ax.get_xlim())]

    assert np.isnan(ax.get_lines()[0].get_ydata()).tolist() == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]
    assert limits == pytest.approx([START, START + 6 * HOUR], abs=1e-3)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "recall@0.5"])
def test_a_panel_without_values_says_why(metric):
    history = monitor_of([0, 0], [0.1, 0.2], [0.5, 2.5]).history("1h")
    ax = draw_history(new_axes(), history, metric)

    assert words(ax) == ["undefined in every window: no positives, no events"]
    assert ax.get_ylim() == (0, 1)


def test_no_windows_at_all():
    ax = draw_history(new_axes(), History(()), "prevalence")

    assert words(ax) == ["no windows"]


@pytest.mark.parametrize(
    ("metric", "label", "tick"),
    [
        ("prevalence", "prevalence\nwith 90 % interval", "20 %"),
        ("roc_auc", "ROC AUC\nwith 90 % interval", "0.8"),
        ("precision@0.5", "precision at 0.5\nwith 90 % interval", "40 %"),
        ("average_precision", "average precision\nwith 90 % interval", "0.4"),
        ("gini", "Gini coefficient\nwith 90 % interval", "0.5"),
        ("mean_cost@0.5@fn=2@fp=1", "mean cost at 0.5, fn 2, fp 1\nwith 90 % interval", "0.2"),
        ("f_beta@0.5@beta=2", "F-beta at 0.5, beta 2\nwith 90 % interval", "0.4"),
        ("n_samples", "events", "20"),
    ],
)
def test_values_carry_a_name_and_a_unit(metric, label, tick):
    figure = Figure()
    ax = draw_history(figure.add_subplot(), history_of(4), metric, level=0.9)
    figure.draw_without_rendering()

    assert ax.get_ylabel() == label
    assert tick in [text.get_text() for text in ax.get_yticklabels()]


def test_limits_stay_where_values_can_be():
    history = monitor_of(*stream(8, n_events=500)).history("1h")
    shares = draw_history(new_axes(), history_of(8), "prevalence")
    areas = draw_history(new_axes(), history, "roc_auc")

    assert shares.get_ylim()[0] == 0
    assert areas.get_ylim()[0] > 0
    assert areas.get_ylim()[1] <= 1


def test_dates_are_those_of_the_zone():
    figure = Figure()
    ax = draw_history(figure.add_subplot(), history_of(24), "prevalence", zone=NEW_YORK)
    figure.draw_without_rendering()
    midnight = dates.date2num(datetime(2023, 11, 15, tzinfo=NEW_YORK))
    shown = dict(zip(ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()], strict=True))

    assert ax.get_xlabel() == "time (America/New_York)"
    assert shown[midnight] == "15 Nov"


def test_histories_share_axes_in_different_colours():
    early, late = history_of(6), monitor_of(*stream(9)).history("1h")
    ax = draw_history(new_axes(), early, "roc_auc", label="champion")
    draw_history(ax, late, "roc_auc", label="challenger")
    limits = [date.timestamp() for date in dates.num2date(ax.get_xlim())]

    assert legend(ax) == "champion\nchallenger"
    assert len({line.get_color() for line in ax.get_lines()}) == 2
    assert limits == pytest.approx([START, START + 9 * HOUR], abs=1e-3)


def test_times_that_no_calendar_knows_are_seconds():
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),))
    monitor.update_many([0, 1], [0.1, 0.9], [4e11, 4e11 + HOUR])
    ax = draw_history(new_axes(), monitor.history("1h"), "prevalence")

    assert ax.get_xlabel() == "time (s since the epoch)"


def test_an_unknown_metric_is_named():
    with pytest.raises(ValueError, match="got 'auc_roc'"):
        draw_history(new_axes(), history_of(2), "auc_roc")


def test_roc_curve_chance_and_operating_points():
    counts = counts_of([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.5, 0.6, 0.8])
    ax = draw_roc(new_axes(), counts, thresholds=(0.4, 0.55))
    curve, chance, points = line_of(ax, "ROC"), line_of(ax, "chance"), line_of(ax, "score")

    assert np.array_equal(curve.get_xydata(), np.column_stack((counts.fpr, counts.tpr)))
    assert np.array_equal(chance.get_xydata(), [[0, 0], [1, 1]])
    assert np.allclose(points.get_xydata(), [[0, 2 / 3], [1 / 3, 1]])
    assert words(ax) == ["0.55", "0.4"]
    assert (ax.get_xlim(), ax.get_ylim(), ax.get_box_aspect()) == ((0, 1), (0, 1), 1)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("false positive rate", "true positive rate")


def test_the_legend_has_the_area_and_its_interval():
    y_true, y_score, _ = stream(50)
    counts = counts_of(y_true, y_score)
    ax = draw_roc(new_axes(), counts, level=0.9)

    assert f"AUC {roc_auc(counts):.3f}\n(90 % interval 0." in legend(ax)


def test_precision_recall_begins_at_the_first_real_threshold():
    counts = counts_of([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.5, 0.6, 0.8])
    ax = draw_precision_recall(new_axes(), counts, thresholds=(0.4, 0.9))
    curve, level = line_of(ax, "PR curve, AP 0.917"), line_of(ax, "prevalence 50 %")

    assert np.array_equal(
        curve.get_xydata(), np.column_stack((counts.recall, counts.precision))[1:]
    )
    assert curve.get_drawstyle() == "steps-pre"
    assert np.array_equal(level.get_ydata(), [0.5, 0.5])
    assert np.allclose(line_of(ax, "score").get_xydata(), [[1, 0.75]])
    assert "nothing flagged at 0.9" in legend(ax)


def test_thresholds_at_one_point_share_a_label_and_bin_edges_are_told():
    histogram = ScoreHistogram.from_scores([0, 1], [0.3, 0.62], scale=Scale.probability(bits=2))
    ax = draw_roc(new_axes(), threshold_counts(histogram), thresholds=(0.4, 0.45, 0.61))

    assert words(ax) == ["≈0.61, 0.45, 0.4"]
    assert "≈ at the bin edge below" in legend(ax)


@pytest.mark.parametrize(
    ("y_true", "reasons"),
    [
        ([], ["undefined: no events", "undefined: no events"]),
        ([0, 0], ["undefined: no positives", "undefined: no positives"]),
        ([1, 1], ["undefined: no negatives"]),
    ],
)
def test_an_undefined_curve_says_why(y_true, reasons):
    counts = counts_of(y_true, [0.1, 0.2][: len(y_true)])
    roc = draw_roc(new_axes(), counts, thresholds=(0.05,))
    pr = draw_precision_recall(new_axes(), counts)

    assert words(roc) + words(pr) == reasons


def test_long_curves_are_thinned_without_losing_ends_or_operating_points():
    generator = np.random.default_rng(1)
    y_true = generator.random(50_000) < 0.1
    counts = counts_of(y_true.astype(int), generator.random(50_000) + 0.3 * y_true)
    ax = draw_precision_recall(new_axes(), counts, thresholds=(0.77,))
    drawn = line_of(ax, "PR").get_xydata()

    assert len(drawn) < 5_000
    assert np.array_equal(
        drawn[[0, -1]], np.column_stack((counts.recall, counts.precision))[[1, -1]]
    )
    assert (drawn == line_of(ax, "score").get_xydata()).all(axis=1).any()


def test_thinning_keeps_peaks_and_gaps():
    x = np.linspace(0, 1, 10_001)
    y = np.sin(40 * x)
    y[[1234, 4321]] = 9, -9
    y[6000:6300] = np.nan
    kept = thin.visible(x, [y], 100)

    assert {0, 1234, 4321, 10_000} <= set(kept.tolist())
    assert np.isnan(y[kept]).any()
    assert kept.size <= 4 * 101
    assert np.array_equal(kept, np.unique(kept))


def test_labels_overlap_neither_each_other_nor_the_frame():
    x = np.linspace(0, 1, 12)
    markers = np.column_stack((x, np.sqrt(x)))
    boxes = [box for box in labels.places(["0.25"] * 12, markers, markers) if box]

    assert len(boxes) >= 10
    for index, box in enumerate(boxes):
        assert box.is_free(boxes[:index])


def test_labels_that_find_no_room_are_left_out():
    markers = np.full((60, 2), 0.5)

    assert None in labels.places(["0.25"] * 60, markers, markers)


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        ("2013-01-01T05:00Z", "2014-01-01T05:00Z", "2013-01-01 to 2013-12-31, America/New_York"),
        ("2013-07-01T04:00Z", "2013-07-02T04:00Z", "2013-07-01, America/New_York"),
        ("2013-07-01T13:00Z", "2013-07-01T15:30Z", "2013-07-01 09:00 to 11:30, America/New_York"),
        (
            "2013-07-01T13:00:05Z",
            "2013-07-02T13:00Z",
            "2013-07-01 09:00:05 to 2013-07-02 09:00:00, America/New_York",
        ),
    ],
)
def test_the_period_in_words(start, end, text):
    ends = (datetime.fromisoformat(moment).timestamp() for moment in (start, end))

    assert time_axis.period(*ends, NEW_YORK) == text


def test_overview_has_four_panels_and_a_title_with_the_period():
    y_true, y_score, hours = stream(30)
    monitor = monitor_of(y_true, y_score, hours, weights=np.full(hours.size, 2.5))
    history = monitor.history("1h")
    figure = overview(history, counts_of(y_true, y_score), title="costs $5 or $7", zone=UTC)
    upper, lower, roc, pr = figure.axes
    title = figure.get_suptitle()

    assert [ax.get_ylabel().split("\n")[0] for ax in figure.axes] == [
        "prevalence",
        "ROC AUC",
        "true positive rate",
        "precision",
    ]
    assert upper.get_xlim() == lower.get_xlim()
    assert roc.get_xlim() == pr.get_xlim() == (0, 1)
    assert title.startswith(
        "costs $5 or $7\n2023-11-14 22:00 to 2023-11-16 04:00, UTC\n30 windows,"
    )
    assert title.endswith("600 events, 150 positive")


@pytest.mark.parametrize("start", [0, START])
def test_one_window_has_only_the_curves(start):
    """And only a window of events that have times has a period."""
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),))
    monitor.update_many([0, 1], [0.1, 0.9], [start, start])
    window = monitor.window(start, start + HOUR)
    title = overview(History((window,)), window.counts, title="scores.csv").get_suptitle()

    assert title == "\n".join(
        ["scores.csv"] + ["2023-11-14 22:00 to 23:00, UTC"] * (start > 0) + ["2 events, 1 positive"]
    )


def test_no_events_still_make_a_picture(tmp_path):
    figure = overview(History(()), counts_of([], []), title="nothing")
    save(figure, tmp_path / "nothing.png")

    assert len(figure.axes) == 2


@pytest.mark.parametrize(("name", "magic"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_pictures_are_written(tmp_path, name, magic):
    y_true, y_score, hours = stream(500)
    history = monitor_of(y_true, y_score, hours).history("1h")
    figure = overview(history, counts_of(y_true, y_score), title="500", thresholds=(0.3, 0.5))
    save(figure, tmp_path / name)
    written = (tmp_path / name).read_bytes()

    assert written.startswith(magic)
    assert 20_000 < len(written) < 1_000_000


def test_other_formats_are_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "picture.pdf"
    with pytest.raises(ValueError, match=r"path must end in \.png or \.svg, got '.*picture\.pdf'"):
        save(Figure(), path)

    assert not path.exists()


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_pyplot_is_not_loaded():
    """Not by drawing and not by saving; it would open windows and share state."""
    code = """
import io, sys
from matplotlib.figure import Figure
from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.history import History
from streamauc.plot.overview import overview
h = ScoreHistogram.from_scores([0, 1], [0.1, 0.9], scale=Scale.exact())
overview(History(()), threshold_counts(h), title="t").savefig(io.BytesIO(), format="png")
print("matplotlib.pyplot" in sys.modules)
"""
    assert run(code) == "False\n"


def test_without_matplotlib_the_extra_is_named():
    code = "import sys; sys.modules['matplotlib'] = None; import streamauc.plot.overview"

    assert "ImportError: plots need the extra 'plot'" in run(code)
    assert "got no module 'matplotlib'" in run(code)
