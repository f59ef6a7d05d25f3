"""Hull, lines of equal F1, several curves in one panel, and the curve of gain."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.gains import gains_curve, gini
from streamauc.metrics.hull import roc_hull, roc_hull_auc
from streamauc.metrics.reweighted import at_prevalence
from streamauc.plot import draw_cost_curve, draw_gain, draw_precision_recall, draw_roc, style

Y_TRUE = [0, 0, 1, 0, 1, 1]
Y_SCORE = [0.1, 0.3, 0.4, 0.5, 0.6, 0.8]
DRAW = [draw_roc, draw_precision_recall, draw_gain, draw_cost_curve]


def counts_of(y_true, y_score, *, scale=None, **options):
    histogram = ScoreHistogram.from_scores(
        y_true, y_score, scale=Scale.exact() if scale is None else scale, **options
    )
    return threshold_counts(histogram)


def stream(n, *, share=0.2, shift=1.0, seed=0):
    generator = np.random.default_rng(seed)
    y_true = (generator.random(n) < share).astype(int)
    return y_true, generator.normal(size=n) + shift * y_true


def new_axes():
    return Figure().add_subplot()


def lines(ax, label):
    return [line for line in ax.get_lines() if str(line.get_label()).startswith(label)]


def line_of(ax, label):
    (found,) = lines(ax, label)
    return found


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def points_of(line):
    return np.column_stack((line.get_xdata(), line.get_ydata()))


def test_the_hull_is_drawn_with_its_area():
    counts = counts_of(Y_TRUE, Y_SCORE)
    ax = draw_roc(new_axes(), counts)
    hull, found = line_of(ax, "its convex hull"), roc_hull(counts)

    assert np.array_equal(points_of(hull), np.column_stack((found.fpr, found.tpr)))
    assert hull.get_label() == f"its convex hull, area {roc_hull_auc(counts):.3f}"
    assert hull.get_color() == line_of(ax, "ROC").get_color()
    assert not lines(draw_roc(new_axes(), counts, hull=False), "its")


def test_every_point_of_a_short_curve_is_there_and_marked():
    """Those on a straight line as well, though the picture would be the same without them."""
    counts = counts_of([0, 1] * 4, [0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4])
    for draw in (draw_roc, draw_gain):
        line = draw(new_axes(), counts).get_lines()[0]

        assert len(line.get_xdata()) == 5
        assert line.get_marker() == "."


@pytest.mark.parametrize("draw", [draw_roc, draw_gain])
def test_a_long_curve_is_thinned_but_keeps_its_shape(draw):
    counts = counts_of(*stream(100_000, share=0.3))
    ax = draw(new_axes(), counts, thresholds=(0.123,))
    x, y = ax.get_lines()[0].get_data()
    full = counts.fpr if draw is draw_roc else gains_curve(counts).share
    point = line_of(ax, "score threshold").get_xydata()[0]

    assert 100 < x.size <= 400
    assert np.abs(np.interp(full, x, y) - counts.tpr).max() < 0.003
    assert (np.column_stack((x, y)) == point).all(axis=1).any()


def test_more_thresholds_than_points_are_all_drawn():
    y_true, y_score = stream(1_000)
    counts = counts_of(y_true, y_score)
    thresholds = np.sort(y_score)[::2].tolist()

    ax = draw_roc(new_axes(), counts, thresholds=thresholds)
    drawn = {tuple(point) for point in line_of(ax, "ROC").get_xydata().tolist()}

    assert {tuple(point) for point in line_of(ax, "score").get_xydata().tolist()} <= drawn
    assert len(drawn) > 450


@pytest.mark.parametrize("f1", [0.2, 0.5, 0.8])
def test_lines_of_equal_f1_have_it_everywhere(f1):
    """And their name stands right of the panel, at their end."""
    ax = draw_precision_recall(new_axes(), counts_of(Y_TRUE, Y_SCORE), iso_f=(f1,))
    (line,) = [line for line in ax.get_lines() if line.get_linestyle() == ":"]
    recall, precision = line.get_data()
    (name,) = ax.texts

    assert np.allclose(2 * precision * recall / (precision + recall), f1, rtol=1e-12)
    assert (recall[0], recall[-1]) == (pytest.approx(f1 / (2 - f1)), 1)
    assert precision[0] == pytest.approx(1)
    assert name.get_text() == f"F1 {f1:g}"
    assert name.xy == (1, pytest.approx(precision[-1]))
    assert not name.get_annotation_clip()


def test_lines_of_equal_f1_can_be_left_out_and_are_drawn_once():
    counts = counts_of(Y_TRUE, Y_SCORE)
    ax = draw_precision_recall(new_axes(), counts, label="a")
    draw_precision_recall(ax, counts, label="b")

    assert texts(ax) == ["F1 0.2", "F1 0.4", "F1 0.6", "F1 0.8"]
    assert texts(draw_precision_recall(new_axes(), counts, iso_f=())) == []


@pytest.mark.parametrize("f1", [0, 1, -0.5, math.nan])
def test_an_f1_that_no_line_has_is_refused(f1):
    with pytest.raises(ValueError, match=r"iso_f must be (in \(0, 1\)|finite), got"):
        draw_precision_recall(new_axes(), counts_of(Y_TRUE, Y_SCORE), iso_f=(f1,))


@pytest.mark.parametrize("draw", DRAW)
def test_curves_share_axes_in_colours_of_their_own(draw):
    """None of them is that of the operating points; what they are compared with is drawn once."""
    one, other = counts_of(*stream(500)), counts_of(*stream(500, seed=1))
    ax = draw(new_axes(), one, label="champion", thresholds=(0.5,))
    draw(ax, other, label="challenger", thresholds=(0.5,))
    draw(ax, one, label="third")
    curves = [line_of(ax, name) for name in ("champion", "challenger", "third")]
    colours = [curve.get_color() for curve in curves]
    names = legend(ax)

    assert len({*colours, style.POINT_COLOR}) == 4
    assert len(names) == len(set(names)) or draw is draw_roc  # each curve's hull is named
    assert sum(name in ("chance", "flag nobody or everybody") for name in names) <= 1
    assert sum(name.startswith("prevalence") for name in names) == (
        2 if draw is draw_precision_recall else 0
    )


def test_prevalences_that_differ_are_told_apart():
    ax = draw_precision_recall(new_axes(), counts_of([0, 1], [0.1, 0.9]), label="half")
    draw_precision_recall(ax, counts_of([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.9]), label="quarter")

    assert legend(ax)[-2:] == ["prevalence 50 %", "prevalence of quarter 25 %"]


def test_what_curves_are_compared_with_comes_last_in_the_legend():
    ax = draw_roc(new_axes(), counts_of(Y_TRUE, Y_SCORE), thresholds=(0.4,))

    assert [name.split(",")[0] for name in legend(ax)] == [
        "ROC curve",
        "its convex hull",
        "score threshold",
        "chance",
    ]


def test_dollar_signs_in_names_are_not_formulas():
    ax = draw_roc(new_axes(), counts_of(Y_TRUE, Y_SCORE), label="$5 or $7")

    assert legend(ax)[0].startswith("$5 or $7, AUC")
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())


@pytest.mark.parametrize("draw", DRAW)
def test_a_curve_beside_others_that_is_undefined_is_named(draw):
    """A note across the panel would hide the curves that are defined."""
    ax = draw(new_axes(), counts_of(Y_TRUE, Y_SCORE), label="old")
    draw(ax, counts_of([0, 0], [0.1, 0.9]), label="new")

    assert "new: undefined, no positives" in legend(ax)
    assert not any(text.startswith("undefined") for text in texts(ax))


@pytest.mark.parametrize("draw", [draw_gain, draw_cost_curve])
@pytest.mark.parametrize(
    ("y_true", "reason"), [([], "no events"), ([0], "no positives"), ([1], "no negatives")]
)
def test_an_undefined_curve_says_why(draw, y_true, reason):
    ax = draw(new_axes(), counts_of(y_true, [0.5] * len(y_true)), thresholds=(0.5,))

    assert texts(ax) == [f"undefined: {reason}"]
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


def test_gain_with_chance_and_a_perfect_ranking():
    counts = counts_of(Y_TRUE, Y_SCORE)
    ax = draw_gain(new_axes(), counts, thresholds=(0.55,))
    found = gains_curve(counts)

    assert np.array_equal(points_of(ax.get_lines()[0]), np.column_stack((found.share, found.gain)))
    assert legend(ax)[0] == f"gain curve, Gini {gini(counts):.3f}"
    assert np.array_equal(points_of(line_of(ax, "chance")), [[0, 0], [1, 1]])
    assert np.array_equal(points_of(line_of(ax, "perfect")), [[0, 0], [0.5, 1], [1, 1]])
    assert np.allclose(line_of(ax, "score threshold").get_xydata(), [[2 / 6, 2 / 3]])
    assert texts(ax) == ["0.55"]


def test_the_best_ranking_is_drawn_onto_the_perfect_one():
    ax = draw_gain(new_axes(), counts_of([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.9]))
    x, y = line_of(ax, "perfect").get_data()
    drawn = points_of(ax.get_lines()[0])

    assert np.allclose(np.interp(drawn[:, 0], x, y), drawn[:, 1])


def test_thresholds_at_both_ends_flag_nobody_and_everybody():
    ax = draw_roc(new_axes(), counts_of(Y_TRUE, Y_SCORE), thresholds=(math.inf, -math.inf))

    assert np.array_equal(line_of(ax, "score").get_xydata(), [[0, 0], [1, 1]])
    assert texts(ax) == ["inf", "-inf"]


def test_labels_keep_clear_of_the_curves_that_others_drew():
    """The label of a point takes notice of all lines, not only of its own curve."""
    counts = counts_of(*stream(2_000))
    alone = draw_roc(new_axes(), counts, thresholds=(0.5,))
    place = alone.texts[0].get_position()
    x = np.linspace(place[0], place[0] + 0.05, 50)
    ax = new_axes()
    ax.plot(x, np.full(50, place[1]), color="black")
    draw_roc(ax, counts, thresholds=(0.5,))

    assert ax.texts[0].get_position() != place


@pytest.mark.parametrize("draw", DRAW)
def test_counts_at_another_prevalence_are_drawn(draw):
    counts = at_prevalence(counts_of(Y_TRUE, Y_SCORE), 0.01)

    assert len(draw(new_axes(), counts).get_lines()[0].get_xdata()) >= 2


@pytest.mark.parametrize("auc", ["0.99995", "1.000"])
def test_nearly_perfect_is_not_called_perfect(auc):
    n = 20_000
    y_score = np.arange(n + 1) / n
    y_true = np.arange(n + 1) == (n - 1 if auc != "1.000" else n)
    ax = draw_roc(new_axes(), counts_of(y_true.astype(int), y_score))

    assert legend(ax)[0] == f"ROC curve, AUC {auc}"
