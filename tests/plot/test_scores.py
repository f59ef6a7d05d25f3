"""The mirrored histogram of scores, and which scores its axis shows."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from streamauc import Scale, ScoreHistogram, ThresholdCounts, threshold_counts
from streamauc.plot import draw_scores, style
from streamauc.plot.score_axis import ScoreAxis, ScoreBins
from streamauc.plot.scores import N_BARS


def counts_of(y_true, y_score, *, scale=None, **options):
    histogram = ScoreHistogram.from_scores(
        y_true, y_score, scale=Scale.exact() if scale is None else scale, **options
    )
    return threshold_counts(histogram)


def draw(counts, **options):
    return draw_scores(Figure().add_subplot(), counts, **options)


def bars(ax):
    """Return edges, the shares of positives and those of negatives, as they are drawn."""
    up, down = (part for part in ax.patches if isinstance(part, StepPatch))
    above, edges, _ = up.get_data()
    below, _, _ = down.get_data()
    return np.asarray(edges), np.asarray(above), np.asarray(below)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def vertical_lines(ax):
    return [
        segment[0][0]
        for part in ax.collections
        if isinstance(part, LineCollection)
        for segment in part.get_segments()
    ]


def gaussian(n=2_000, *, share=0.3, seed=0):
    generator = np.random.default_rng(seed)
    y_true = (generator.random(n) < share).astype(int)
    return y_true, generator.normal(size=n) + y_true


def probabilities(n=2_000, *, base=0.0, **options):
    y_true, logits = gaussian(n, **options)
    return y_true, 1 / (1 + np.exp(-logits - base))


def fraud():
    """One positive in 10,000, and all scores near 0."""
    generator = np.random.default_rng(0)
    y_true = np.zeros(100_000, dtype=int)
    y_true[:10] = 1
    return y_true, 1 / (1 + np.exp(9 - 1.5 * generator.normal(size=y_true.size) - 4 * y_true))


@pytest.mark.parametrize("data", [gaussian(), probabilities()])
def test_bars_are_shares_of_each_class_as_counted_from_raw_scores(data):
    y_true, y_score = data
    edges, above, below = bars(draw(counts_of(y_true, y_score)))

    for label, found in ((1, above), (0, -below)):
        scores = y_score[y_true == label]
        assert edges.size == N_BARS + 1
        assert np.array_equal(found, np.histogram(scores, edges)[0] / scores.size)


lattice = st.integers(0, 8).map(lambda k: k / 8)
scales = st.sampled_from([Scale.exact(), Scale.probability(), Scale.probability(bits=1)])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), lattice), max_size=30), scales)
@example([(1, 1.0), (0, 0.0)], Scale.probability())
def test_no_probability_is_lost(events, scale):
    """Ties, both ends and one class only: what is drawn of a class is all of it."""
    y_true, y_score = (list(part) for part in zip(*events, strict=True)) if events else ([], [])
    _, above, below = bars(draw(counts_of(y_true, y_score, scale=scale), is_logit=False))

    assert above.sum() == pytest.approx(float(1 in y_true))
    assert -below.sum() == pytest.approx(float(0 in y_true))
    assert (above >= 0).all()
    assert (below <= 0).all()


@pytest.mark.parametrize("scale", [Scale.exact(), Scale.probability()])
def test_a_score_on_the_edge_of_two_bars_is_in_the_upper(scale):
    """As a score at a threshold is flagged."""
    edges, above, _ = bars(draw(counts_of([1], [0.5], scale=scale)))

    assert edges[N_BARS // 2] == 0.5
    assert above.tolist() == [0.0] * 25 + [1.0] + [0.0] * 24


def test_a_wide_bin_is_spread_evenly():
    """From 1/2 to 2/3: the bin holds 17 bars but for a third, none of which is left empty."""
    counts = counts_of([1] * 10 + [0], [0.6] * 10 + [0.1], scale=Scale.probability(bits=1))
    edges, above, _ = bars(draw(counts))
    low, high = counts.thresholds[1], counts.ceilings[1]
    inside = (edges[:-1] >= low) & (edges[1:] <= high)

    assert above[inside] == pytest.approx(0.02 / (high - low))
    assert above[~inside].sum() == pytest.approx(1 - above[inside].sum())


def test_bins_and_raw_scores_draw_nearly_the_same():
    y_true, y_score = probabilities(20_000)
    exact = bars(draw(counts_of(y_true, y_score)))
    binned = bars(draw(counts_of(y_true, y_score, scale=Scale.probability())))

    for one, other in zip(exact, binned, strict=True):
        assert np.abs(one - other).max() < 0.005


def test_classes_differ_in_side_and_colour_and_share_a_scale():
    ax = draw(counts_of(*gaussian()))
    up, down = (part.get_facecolor() for part in ax.patches[:2])
    ax.figure.draw_without_rendering()
    ticks = [text.get_text() for text in ax.get_yticklabels()]

    assert up != down
    assert ax.get_ylim()[0] == -ax.get_ylim()[1]
    assert ticks == ticks[::-1]
    assert all(text[0].isdigit() for text in ticks)
    assert ax.get_ylabel() == "share of the class in each bar"


def test_the_legend_has_the_sizes_of_the_classes():
    y_true = [1] * 3 + [0] * 1234
    y_score = np.linspace(0, 1, len(y_true))

    assert legend(draw(counts_of(y_true, y_score))) == ["positives, 3", "negatives, 1,234"]
    weighted = counts_of([1, 0], [0.2, 0.3], weights=[2.25, 150.2])
    assert legend(draw(weighted)) == ["positives, 2.25 by weight", "negatives, 150 by weight"]
    assert legend(draw(counts_of([1], [0.2]))) == ["positives, 1", "no negatives"]


def test_no_events_are_said():
    ax = draw(counts_of([], []), thresholds=(0.5,))

    assert "no events" in [text.get_text() for text in ax.texts]
    assert legend(ax) == ["no positives", "no negatives", "threshold"]
    assert ax.get_xlim() == (0, 1)


def test_thresholds_are_lines_with_their_values_above():
    ax = draw(counts_of(*probabilities()), thresholds=(0.7, 0.3, 0.7))

    assert vertical_lines(ax) == [0.3, 0.7]
    assert [text.get_text() for text in ax.texts] == ["0.3", "0.7"]
    assert [text.xy[0] for text in ax.texts] == pytest.approx([0.3, 0.7])
    assert legend(ax)[-1] == "threshold"


def test_thresholds_that_are_not_shown_are_told():
    ax = draw(counts_of(*probabilities()), thresholds=(math.inf, 0.5, -math.inf))

    assert vertical_lines(ax) == [0.5]
    assert ax.get_xlabel() == "score\nbeyond the axis: threshold -inf, inf"


def test_thresholds_of_a_crowd_have_lines_but_no_texts():
    ax = draw(counts_of(*probabilities()), thresholds=[k / 60 for k in range(60)])

    assert len(vertical_lines(ax)) == 60
    assert not ax.texts


def test_scores_near_zero_are_shown_in_log_odds():
    """Where the rare class alone decides how far the axis reaches to the right."""
    y_true, y_score = fraud()
    ax = draw(counts_of(y_true, y_score, scale=Scale.probability()), thresholds=(0.01,))
    edges, above, below = bars(ax)
    logits = np.log(edges) - np.log1p(-edges)

    assert ax.get_xscale() == "logit"
    assert ax.get_xlabel() == "score (log-odds scale)"
    assert np.allclose(np.diff(logits), np.diff(logits)[0], rtol=1e-9)
    assert ax.get_xlim()[0] < y_score.min() < y_score[y_true == 1].max() < ax.get_xlim()[1]
    assert (above.sum(), below.sum()) == (pytest.approx(1), pytest.approx(-1))
    assert ax.texts[0].xy[0] == pytest.approx(0.01)
    assert np.count_nonzero(above) + np.count_nonzero(below) > 30


@pytest.mark.parametrize(
    ("data", "is_logit"),
    [
        (probabilities(), False),
        (probabilities(base=-6.0), True),
        (probabilities(base=6.0), True),
        (gaussian(), False),
        (([0, 1] * 9, [0.0, 1.0] * 9), False),  # log-odds could not show a single one
        (([], []), False),
    ],
)
def test_the_scale_is_chosen_by_where_most_scores_are(data, is_logit):
    counts = counts_of(*data)

    assert (draw(counts).get_xscale() == "logit") == is_logit
    assert draw(counts, is_logit=False).get_xscale() == "linear"


def test_scores_of_0_and_1_have_no_place_in_log_odds_and_are_counted():
    ax = draw(counts_of([0, 1, 0, 1], [0.0, 0.3, 0.4, 1.0]), is_logit=True)
    _, above, below = bars(ax)

    assert ax.get_xlabel() == "score (log-odds scale)\nbeyond the axis: 2 of 4 events"
    assert (above.sum(), below.sum()) == (0.5, -0.5)


def test_nothing_but_0_and_1_is_an_empty_panel_of_log_odds():
    ax = draw(counts_of([0, 1], [0.0, 1.0]), is_logit=True)

    assert "beyond the axis: 2 of 2 events" in ax.get_xlabel()
    assert legend(ax) == ["positives, 1", "negatives, 1"]


@pytest.mark.parametrize("scale", [Scale.exact(), Scale.real()])
def test_log_odds_of_other_scores_are_refused(scale):
    with pytest.raises(ValueError, match=r"is_logit must not be True for scores outside \[0, 1\]"):
        draw(counts_of([0, 1], [-0.5, 2.0], scale=scale), is_logit=True)


@pytest.mark.parametrize("scale", [Scale.exact(), Scale.real()])
def test_a_stray_score_does_not_squash_the_others(scale):
    y_true, y_score = gaussian(5_000)
    y_score[0] = 1e6
    ax = draw(counts_of(y_true, y_score, scale=scale))
    low, high = ax.get_xlim()
    n_beyond = int(((y_score < low) | (y_score > high)).sum())

    assert -6 < low < -2 < 2 < high < 6
    assert n_beyond <= 5_000 * 0.003
    assert ax.get_xlabel() == f"score\nbeyond the axis: {n_beyond} of 5,000 events"


def test_a_rare_class_is_no_stray():
    """Ten positives among 100,000 negatives, far away from all of them."""
    y_score = np.concatenate((np.linspace(0, 1, 100_000), np.linspace(50, 51, 10)))
    ax = draw(counts_of([0] * 100_000 + [1] * 10, y_score))

    assert ax.get_xlim()[1] > 51
    assert ax.get_xlabel() == "score"


def test_one_score_has_room_around_it():
    assert draw(counts_of([0, 1], [3.0, 3.0])).get_xlim() == (1.5, 4.5)
    assert draw(counts_of([0, 1], [0.3, 0.3])).get_xlim() == (0, 1)


def test_the_largest_floats_do_not_overflow():
    counts = counts_of([0, 1, 1, 0], [1e308, -1e308, 1e300, -1e-300], scale=Scale.real())

    assert np.isfinite(draw(counts).get_xlim()).all()


def test_bins_whose_ends_are_not_known_reach_to_the_next_threshold():
    counts = ThresholdCounts(
        np.array([np.inf, 0.8, 0.3]), np.array([0, 2, 3]), np.array([0, 1, 5]), exact=False
    )
    bins = ScoreBins.of(counts)

    assert np.array_equal(bins.low, [0.3, 0.8])
    assert np.array_equal(bins.high, [0.8, 0.8])
    assert bins.is_probability


@given(st.floats(-30, 30))
def test_log_odds_and_back(place):
    axis = ScoreAxis(-40.0, 30.0, is_logit=True)
    score = axis.scores(np.array([place]))

    assert axis.positions(score)[0] == pytest.approx(place, abs=1e-3, rel=1e-3)


def test_both_colours_can_be_told_apart_by_lightness():
    """Grey copies of a picture still tell the classes apart, besides up and down."""

    def lightness(colour):
        red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    one, other = (lightness(colour) for colour in style.CLASS_COLORS.values())
    assert abs(one - other) > 0.04
