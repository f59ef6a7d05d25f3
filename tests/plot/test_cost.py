"""Cost over the threshold, and cost curves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.best import best_threshold
from streamauc.metrics.cost_curves import cost_curve, probability_cost
from streamauc.metrics.costs import CostMatrix, bayes_threshold, mean_cost
from streamauc.plot import draw_cost, draw_cost_curve

COSTS = CostMatrix(fn=10, fp=1)


def counts_of(y_true, y_score, *, scale=None, **options):
    histogram = ScoreHistogram.from_scores(
        y_true, y_score, scale=Scale.exact() if scale is None else scale, **options
    )
    return threshold_counts(histogram)


def stream(n=5_000, *, share=0.2, base=-1.0, seed=0):
    generator = np.random.default_rng(seed)
    y_true = (generator.random(n) < share).astype(int)
    return y_true, 1 / (1 + np.exp(-generator.normal(size=n) - 1.5 * y_true - base))


def draw(counts, costs=COSTS, **options):
    return draw_cost(Figure().add_subplot(), counts, costs, **options)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def line_of(ax, label):
    (found,) = [line for line in ax.get_lines() if str(line.get_label()).startswith(label)]
    return found


def read(line, threshold):
    """Read a cost off the steps that are drawn."""
    x, y = line.get_data()
    return y[np.searchsorted(x, threshold, side="left")]


scores = st.integers(0, 8).map(lambda k: k / 8)


matrices = st.sampled_from(
    [COSTS, CostMatrix(tp=-5, fn=1, fp=50, tn=0), CostMatrix(tp=3, fn=-1, fp=-2)]
)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), scores), min_size=1, max_size=20), matrices)
def test_the_cost_of_every_threshold_can_be_read_off(events, costs):
    """At scores, between them and at both ends; benefits and dear hits as well."""
    counts = counts_of(*zip(*events, strict=True))
    line = line_of(draw(counts, costs), "mean cost")
    x = line.get_xdata()

    assert line.get_drawstyle() == "steps-pre"
    assert (x[0], x[-1]) == (0, 1)
    assert (np.diff(x) >= 0).all()
    for threshold in np.linspace(1 / 32, 1, 32):
        expected = mean_cost(counts, costs, threshold)
        assert read(line, threshold) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_long_line_is_thinned_and_keeps_its_lowest_point():
    y_true, y_score = stream(200_000)
    counts = counts_of(y_true, y_score)
    line = line_of(draw(counts), "mean cost")
    best = best_threshold(counts, by=COSTS)

    assert len(line.get_xdata()) <= 1_000
    assert line.get_ydata().min() == pytest.approx(mean_cost(counts, COSTS, best.threshold))


def test_the_best_threshold_is_marked_and_what_is_nearly_as_good_shaded():
    counts = counts_of(*stream(), scale=Scale.probability())
    ax = draw(counts)
    best = best_threshold(counts, by=COSTS)
    cost = mean_cost(counts, COSTS, best.threshold)
    marker = line_of(ax, "lowest")
    (shade,) = [part for part in ax.patches if isinstance(part, Rectangle)]

    assert marker.get_xydata().tolist() == [[best.threshold, cost]]
    assert marker.get_label() == f"lowest, {cost:.4g}: at {best.threshold:.4g}"
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == pytest.approx(
        (best.low, best.high)
    )
    assert legend(ax) == ["mean cost", marker.get_label(), "within 1 % of it"]


@pytest.mark.parametrize(
    ("y_true", "text", "place"),
    [([0, 0], "lowest, 0: flag nobody", 1.0), ([1, 1], "lowest, 0: flag everybody", 0.2)],
)
def test_flagging_nobody_or_everybody_may_be_best(y_true, text, place):
    marker = line_of(draw(counts_of(y_true, [0.2, 0.4])), "lowest")

    assert marker.get_label() == text
    assert marker.get_xydata().tolist() == [[place, 0]]


def test_the_bayes_threshold_of_probabilities_is_drawn():
    ax = draw(counts_of(*stream()))
    (line,) = [line for line in ax.get_lines() if line.get_linestyle() == "--"]

    assert list(line.get_xdata()) == [1 / 11, 1 / 11]
    assert texts(ax) == ["Bayes 0.0909"]


def test_at_another_prevalence_everything_moves():
    """The costs, the best and the Bayes threshold, and the axis says so."""
    counts = counts_of(*stream(), scale=Scale.probability())
    ax = draw(counts, prevalence=0.01)
    best = best_threshold(counts, by=COSTS, prevalence=0.01)
    bayes = bayes_threshold(COSTS, calibrated_at=counts.n_pos / counts.n_samples, prevalence=0.01)

    assert line_of(ax, "lowest").get_xdata() == [best.threshold]
    assert texts(ax) == [f"Bayes {bayes:.3g}"]
    assert ax.get_ylabel() == "mean cost of an event\nif 1 % are positive"
    line = line_of(ax, "mean cost")
    assert read(line, 0.5) == pytest.approx(mean_cost(counts, COSTS, 0.5, prevalence=0.01))


@pytest.mark.parametrize(
    ("counts", "costs"),
    [
        (counts_of([0, 1], [-2.0, 3.0]), COSTS),
        (counts_of([0, 1], [0.2, 0.8]), CostMatrix(tp=3, fn=-1, fp=-2)),
        (counts_of([0, 1], [0.2, 0.8]), CostMatrix(fn=0, fp=0)),
    ],
)
def test_without_a_bayes_threshold_none_is_drawn(counts, costs):
    assert texts(draw(counts, costs)) == []


def test_thresholds_are_lines_with_their_values_above():
    ax = draw(counts_of(*stream()), thresholds=(0.6, 0.3, math.inf))
    (lines,) = [part for part in ax.collections if isinstance(part, LineCollection)]

    assert [segment[0][0] for segment in lines.get_segments()] == [0.3, 0.6]
    assert texts(ax) == ["Bayes 0.0909", "0.3", "0.6"]
    assert ax.get_xlabel() == "score threshold\nbeyond the axis: threshold inf"


def test_a_dear_end_does_not_flatten_the_rest():
    """To flag everybody costs 500 times as much as to flag nobody, and leaves the panel."""
    y_true, y_score = stream(50_000, share=0.001, base=-5.0)
    costs = CostMatrix(fn=2, fp=1)
    ax = draw(counts_of(y_true, y_score), costs)
    nobody = 2 * y_true.mean()
    low, high = ax.get_ylim()

    assert low < line_of(ax, "lowest").get_ydata()[0] < nobody < high < 2.5 * nobody
    assert line_of(ax, "mean cost").get_ydata().max() > 0.9


def test_all_is_shown_where_no_threshold_is_worth_a_closer_look():
    """The worst ranking: to flag nobody is best, and the panel still shows the whole line."""
    y_true, y_score = stream()
    ax = draw(counts_of(1 - y_true, y_score))
    costs = line_of(ax, "mean cost").get_ydata()

    assert ax.get_ylim()[0] < costs.min() < costs.max() < ax.get_ylim()[1]


@pytest.mark.parametrize("costs", [CostMatrix(fn=0, fp=0), CostMatrix(fn=1, fp=1, tp=1, tn=1)])
def test_a_level_line_has_room_around_it(costs):
    low, high = draw(counts_of(*stream(50)), costs).get_ylim()

    assert low < costs.fn < high


@pytest.mark.parametrize(
    ("y_true", "options", "reason"),
    [
        ([], {}, "no events"),
        ([1], {"prevalence": 0.1}, "no negatives"),
        ([0], {"prevalence": 0.1}, "no positives"),
    ],
)
def test_undefined_is_said(y_true, options, reason):
    ax = draw(counts_of(y_true, [0.5] * len(y_true)), thresholds=(0.3,), **options)

    assert texts(ax) == [f"undefined: {reason}"]


def test_the_axis_is_that_of_the_histogram_of_scores():
    y_true, y_score = stream(5_000, base=-7.0)
    ax = draw(counts_of(y_true, y_score))

    assert ax.get_xscale() == "logit"
    assert ax.get_xlabel() == "score threshold (log-odds scale)"
    assert draw(counts_of(y_true, y_score), is_logit=False).get_xlim() == (0, 1)
    with pytest.raises(ValueError, match="is_logit must not be True"):
        draw(counts_of([0, 1], [-1.0, 2.0]), is_logit=True)


@pytest.mark.parametrize("prevalence", [0, 1, -0.1])
def test_a_prevalence_without_one_class_is_refused(prevalence):
    with pytest.raises(ValueError, match=r"prevalence must be in \(0, 1\)"):
        draw(counts_of(*stream(50)), prevalence=prevalence)


def cost_lines(counts, **options):
    return draw_cost_curve(Figure().add_subplot(), counts, **options)


def test_the_cost_curve_is_the_lower_envelope():
    counts = counts_of(*stream(300))
    ax = cost_lines(counts, thresholds=(0.3, 0.6))
    curve, trivial = line_of(ax, "best threshold"), line_of(ax, "flag nobody or everybody")
    found = cost_curve(counts)
    lines = [line for line in ax.get_lines() if line.get_color() == "#D55E00"]

    assert np.array_equal(curve.get_xdata(), found.probability_cost)
    assert np.array_equal(curve.get_ydata(), found.normalised_cost)
    assert np.array_equal(trivial.get_xydata(), [[0, 0], [0.5, 0.5], [1, 0]])
    assert len(lines) == 2
    for line in (*lines, trivial):
        x = np.linspace(0, 1, 200)
        assert (np.interp(x, *line.get_data()) >= np.interp(x, *curve.get_data()) - 1e-12).all()


def test_lines_of_thresholds_go_from_false_alarms_to_misses_and_are_named_at_their_end():
    counts = counts_of([0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.6, 0.8])
    ax = cost_lines(counts, thresholds=(0.65, 0.25))
    lines = [line.get_ydata() for line in ax.get_lines() if line.get_color() == "#D55E00"]

    assert np.allclose(lines, [[2 / 4, 0], [1 / 4, 1 / 2]])
    assert texts(ax) == ["0.25", "0.65"]
    assert [text.xy[1] for text in ax.texts] == pytest.approx([0.026, 0.5])  # inside the panel
    assert legend(ax).count("one threshold for all") == 1


def test_where_costs_lie_is_a_line():
    counts = counts_of(*stream(300))
    ax = cost_lines(counts, costs=COSTS, prevalence=0.05)
    place = probability_cost(COSTS, 0.05)

    assert [list(line.get_xdata()) for line in ax.get_lines()].count([place, place]) == 1
    assert texts(ax) == ["these costs at prevalence 5 %"]
    of_counts = cost_lines(counts, costs=COSTS)
    assert texts(of_counts) == [f"these costs at prevalence {100 * counts.n_pos / 300:.3g} %"]


@pytest.mark.parametrize("costs", [CostMatrix(fn=-1, fp=1), CostMatrix(fn=0, fp=0)])
def test_costs_that_lie_nowhere_have_no_line(costs):
    assert texts(cost_lines(counts_of(*stream(300)), costs=costs)) == []


@pytest.mark.parametrize("y_true", [[], [0], [1]])
def test_costs_without_one_class_have_no_line(y_true):
    ax = cost_lines(counts_of(y_true, [0.5] * len(y_true)), costs=COSTS)

    assert len(texts(ax)) == 1
    assert texts(ax)[0].startswith("undefined: no ")
