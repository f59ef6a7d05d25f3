"""Alarms and the reference in the panels over time: where they are and what they say."""

import itertools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from matplotlib import dates
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from streamauc import Monitor, Scale
from streamauc.change.ranking_detector import RankingAlarm
from streamauc.change.shift_detector import ShiftAlarm
from streamauc.change.verdict import Alarm, Evidence
from streamauc.history import History
from streamauc.plot import style
from streamauc.plot.drift import MOST_DATED, AlarmMark, DriftMarks
from streamauc.plot.over_time import draw_history
from streamauc.plot.overview import overview, save

DAY = 86_400
START = 1_700_006_400  # 2023-11-15, UTC


def at(day):
    return START + day * DAY


def mark(seen, began=None, direction="up"):
    return AlarmMark(at(seen), at(seen - 1 if began is None else began), direction)


def history_of(n_days, *, immature_from=None):
    monitor = Monitor(clock="event", tiers=((3_600, float("inf")),), scale=Scale.exact())
    days = np.repeat(np.arange(n_days), 40)
    keys = np.arange(days.size)
    y_true = (keys % 4 == 0).astype(int)
    scores = np.random.default_rng(0).random(keys.size) * 0.8 + 0.2 * y_true
    monitor.predict_many(keys, scores, at(days + 0.5))
    known = (days < (n_days if immature_from is None else immature_from)) | (keys % 40 < 20)
    monitor.resolve_many(keys[known], y_true[known])
    return monitor.history("1d", start=at(0), end=at(n_days), min_coverage=0.9)


HISTORY = history_of(30)


def draw(drift, metric="prevalence", history=HISTORY, **options):
    figure = Figure(figsize=(8, 3))
    return draw_history(figure.add_subplot(), history, metric, drift=drift, **options)


def days(positions):
    seconds = np.array([moment.timestamp() for moment in dates.num2date(positions)])
    return ((seconds - START) / DAY).round(4).tolist()


def is_color(part, color):
    return np.allclose(part.get_facecolor()[:, :3], to_rgb(color))


def shades(ax, color):
    parts = [p for p in ax.collections if isinstance(p, PolyCollection) and is_color(p, color)]
    corners = [path.vertices[:, 0] for part in parts for path in part.get_paths()]
    return [days([x.min(), x.max()]) for x in corners]


def lines(ax, direction):
    """Return the days of lines over the whole height of a panel, and how wide they are."""
    color = to_rgb(style.DIRECTION_COLORS[direction])
    found = [
        (days([segment[0, 0]])[0], float(part.get_linewidth()[0]))
        for part in ax.collections
        if isinstance(part, LineCollection) and np.allclose(part.get_color()[0][:3], color)
        for segment in part.get_segments()
        if segment[:, 1].tolist() == [0, 1]
    ]
    return [day for day, _ in found], {width for _, width in found}


def signs(ax, direction):
    """Return the days of the signs on the upper edge."""
    return [
        day
        for part in ax.collections
        if isinstance(part, PathCollection) and is_color(part, style.DIRECTION_COLORS[direction])
        for day, y in zip(
            days(part.get_offsets()[:, 0]), part.get_offsets()[:, 1].tolist(), strict=True
        )
        if y == 1
    ]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legends(ax):
    return [
        [text.get_text() for text in part.get_texts()]
        for part in ax.get_children()
        if isinstance(part, Legend)
    ]


def test_an_alarm_is_a_line_a_sign_a_shade_and_a_date():
    ax = draw(DriftMarks(alarms=[mark(20, 12)]))

    assert lines(ax, "up")[0] == signs(ax, "up") == [20]
    assert shades(ax, style.DIRECTION_COLORS["up"]) == [[12, 20]]
    assert texts(ax) == ["05 Dec\nsince 27 Nov"]
    assert legends(ax) == [["class ratio seen to move up", "from about when it began"]]
    assert lines(ax, "down")[0] == signs(ax, "down") == []


def test_alarms_up_and_down_are_told_apart():
    ax = draw(DriftMarks(alarms=[mark(25, 20, "down"), mark(10), mark(20, 15, "down")]))

    assert (lines(ax, "up")[0], lines(ax, "down")[0]) == ([10], [20, 25])
    assert (signs(ax, "up"), signs(ax, "down")) == ([10], [20, 25])
    assert shades(ax, style.DIRECTION_COLORS["down"]) == [[15, 20], [20, 25]]
    assert legends(ax) == [
        ["class ratio seen to move up", "down, 2 times", "from about when it began"]
    ]
    assert [text.split("\n")[0] for text in texts(ax)] == ["25 Nov", "05 Dec", "10 Dec"]


def test_another_metric_has_only_a_thin_line():
    """To see whether it moved, too."""
    drift = DriftMarks(reference=(at(0), at(8)), alarms=[mark(20, 12), mark(25, 21, "down")])
    ax, wide = draw(drift, "roc_auc"), draw(drift)

    assert (lines(ax, "up")[0], lines(ax, "down")[0]) == ([20], [25])
    assert max(lines(ax, "up")[1]) < min(lines(wide, "up")[1])
    assert not [p for p in ax.collections if isinstance(p, PolyCollection)]
    assert (texts(ax), legends(ax), signs(ax, "up")) == ([], [], [])


def test_the_reference_is_shaded_and_named():
    ax = draw(DriftMarks(reference=(at(2), at(9))))

    assert shades(ax, style.COLORS[4]) == [[2, 9]]
    assert texts(ax) == ["reference"]
    assert legends(ax) == []


@pytest.mark.parametrize(
    ("reference", "shown"), [((-30, 4), [[0, 4]]), ((-30, 0), []), ((-30, -4), [])]
)
def test_of_the_reference_the_part_that_is_shown_is_shaded(reference, shown):
    ax = draw(DriftMarks(reference=(at(reference[0]), at(reference[1]))))

    assert shades(ax, style.COLORS[4]) == shown
    assert texts(ax) == ["reference"] * len(shown)
    assert days(ax.get_xlim()) == [0, 30]


def test_alarms_outside_are_left_out_and_a_beginning_outside_is_cut():
    ax = draw(DriftMarks(alarms=[mark(-3), mark(2, -9), mark(31)]))

    assert lines(ax, "up")[0] == [2]
    assert shades(ax, style.DIRECTION_COLORS["up"]) == [[0, 2]]
    assert texts(ax) == ["17 Nov\nsince 06 Nov"]
    assert days(ax.get_xlim()) == [0, 30]


def test_dates_are_those_of_the_zone_and_short_panes_have_a_time_of_day():
    drift = DriftMarks(alarms=[mark(20.125, 20)], pane_seconds=3_600)
    ax = draw(drift, zone=ZoneInfo("America/New_York"))

    assert texts(ax) == ["04 Dec 22:00\nsince 04 Dec 19:00"]


@pytest.mark.parametrize(("n_alarms", "n_dates"), [(MOST_DATED, MOST_DATED), (MOST_DATED + 1, 0)])
def test_of_many_alarms_only_the_lines_are_drawn(n_alarms, n_dates):
    seen = np.linspace(20, 28, n_alarms)
    ax = draw(DriftMarks(alarms=[mark(day) for day in seen]))

    assert lines(ax, "up")[0] == seen.round(4).tolist()
    assert len(texts(ax)) == n_dates
    assert legends(ax)[0][0] == f"class ratio seen to move up, {n_alarms} times"


def test_marks_do_not_change_the_values_nor_their_limits():
    plain = draw(None)
    marked = draw(DriftMarks(reference=(at(0), at(9)), alarms=[mark(20)]))

    assert marked.get_ylim() == plain.get_ylim()
    assert np.array_equal(marked.get_lines()[0].get_xydata(), plain.get_lines()[0].get_xydata())


def test_alarms_of_every_detector_can_be_marked():
    """With what moved in words; times are those of panes, seen when they end."""
    first = START // DAY
    alarms = [
        Alarm(first + 11, "up", first + 9, 10, 90),
        RankingAlarm(first + 15, "down", first + 12, 40, 0.7),
        ShiftAlarm(first + 20, "negatives", "down", first + 18, 100, 0.4),
    ]
    marks = [AlarmMark.at(alarm, DAY) for alarm in alarms]
    drift = DriftMarks(alarms=marks)

    assert [(one.seen, one.began) for one in marks] == [
        (at(12), at(9)),
        (at(16), at(12)),
        (at(21), at(18)),
    ]
    began = "from about when it began"
    assert legends(draw(drift)) == [["class ratio seen to move up", began]]
    moved = "AUC and scores of the negatives seen to move down, 2 times"
    assert legends(draw(drift, "roc_auc")) == [[moved, began]]
    assert legends(draw(drift, "average_precision")) == []


def test_a_legend_of_histories_stays():
    ax = draw(DriftMarks(alarms=[mark(20)]), label="champion")

    assert sorted(len(names) for names in legends(ax)) == [1, 2]
    assert ["champion"] in legends(ax)


def test_histories_without_windows_or_dates_take_marks():
    monitor = Monitor(clock="event", tiers=((3_600, float("inf")),))
    monitor.update_many([0, 1], [0.1, 0.9], [4e11, 4e11 + 3_600])
    drift = DriftMarks(reference=(4e11, 4e11 + 3_600), alarms=[AlarmMark(4e11 + 4e3, 4e11, "up")])
    ax = draw(drift, history=monitor.history("1h"))

    assert texts(draw(drift, history=History(()))) == ["no windows"]
    assert sorted(texts(ax)) == ["400000004000", "reference"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlarmMark(2.0, 1.0, "left"), "direction must be 'up' or 'down', got 'left'"),
        (
            lambda: AlarmMark(1.0, 2.0, "up"),
            r"began must be no later than seen, got 2\.0 and 1\.0",
        ),
        (lambda: DriftMarks(reference=(2.0, 2.0)), "reference must end after it starts, got"),
        (lambda: DriftMarks(pane_seconds=0), "pane_seconds must be at least 1, got 0"),
    ],
)
def test_impossible_marks_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


EVIDENCE = Evidence(
    np.arange(20) + START // DAY + 10, np.linspace(-8, 0.5, 20), np.linspace(-8, -9, 20)
)
FULL = DriftMarks(
    reference=(at(1), at(9)),
    alarms=[mark(18 + k, 17 + k, "up" if k % 3 else "down") for k in range(10)],
    evidence=EVIDENCE,
)


def picture(history=HISTORY, **options):
    return overview(history, history.windows[0].counts, title="flights", **options)


def test_the_overview_has_a_panel_of_evidence_over_the_same_time():
    figure = picture(drift=FULL)
    names = [ax.get_ylabel().split("\n")[0] for ax in figure.axes]
    limits = [days(ax.get_xlim()) for ax in figure.axes[:3]]

    assert names[:3] == ["prevalence", "ROC AUC", "evidence, share of"]
    assert limits == [[0, 30]] * 3
    assert [ax.get_xlabel() for ax in figure.axes[:3]] == ["", "", "time (UTC)"]


def test_evidence_of_no_panes_does_not_change_the_axis():
    nothing = Evidence(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    figure = picture(drift=DriftMarks(evidence=nothing))

    assert days(figure.axes[2].get_xlim()) == [0, 30]
    assert figure.axes[2].get_xlabel() == "time (UTC)"
    assert "no panes judged yet" in texts(figure.axes[2])


def test_without_marks_the_overview_is_as_it_was():
    plain, empty = picture(), picture(drift=DriftMarks())

    assert len(plain.axes) == len(empty.axes) == 4
    assert plain.get_size_inches().tolist() == empty.get_size_inches().tolist() == [8, 9.6]
    assert [len(ax.collections) for ax in plain.axes] == [len(ax.collections) for ax in empty.axes]
    assert not [text for ax in plain.axes[:2] for text in ax.texts]


def test_one_window_is_shown_over_time_when_there_are_marks():
    history = history_of(1)

    assert len(picture(history).axes) == 2
    assert len(picture(history, drift=DriftMarks(alarms=[mark(0.5, 0.2)])).axes) == 4


def shown_ticks(ax):
    low, high = ax.get_ylim()
    pairs = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    return [label for tick, label in pairs if low <= tick <= high]


@pytest.mark.parametrize("n_days", [2, 30, 80])
def test_no_words_of_the_overview_overlap(n_days):
    """Title, ticks, legends, dates of ten alarms close together, and labels incomplete."""
    figure = picture(history_of(n_days, immature_from=n_days - 1), drift=FULL)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    found = [
        (text.get_text(), Text.get_window_extent(text, renderer))
        for ax in figure.axes[:3]
        for text in [*ax.texts, ax.yaxis.label, *shown_ticks(ax)]
    ]
    found += [
        (str(names), part.get_window_extent(renderer))
        for ax in figure.axes[:3]
        for part in ax.get_children()
        if isinstance(part, Legend)
        for names in [legends(ax)]
    ]
    found += [("title", figure._suptitle.get_window_extent(renderer))]

    assert [
        (one[0], other[0])
        for one, other in itertools.combinations(found, 2)
        if one[1].overlaps(other[1])
    ] == []
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for _, box in found)


@pytest.mark.parametrize("seen", [15, 30])
def test_the_legend_is_above_the_dates(seen):
    """Also above those that lines lead to."""
    ax = draw(DriftMarks(reference=(at(1), at(9)), alarms=[mark(seen)]))
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    ax.figure.draw(renderer)
    (legend,) = (part for part in ax.get_children() if isinstance(part, Legend))
    tops = [Text.get_window_extent(text, renderer).y1 for text in ax.texts]

    assert legend.get_window_extent(renderer).y0 >= max(tops)


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_pictures_with_all_marks_are_written(tmp_path, name):
    save(picture(history_of(40, immature_from=38), drift=FULL), tmp_path / name)

    assert (tmp_path / name).stat().st_size > 20_000


def test_an_alarm_where_its_window_is_not():
    """Moments are on the axis of the windows, not on one of their own."""
    ax = draw(DriftMarks(alarms=[mark(15.5)]))
    middle = dates.date2num(datetime.fromtimestamp(at(15.5), UTC))

    assert middle in ax.get_lines()[0].get_xdata()
    assert lines(ax, "up")[0] == [15.5]
