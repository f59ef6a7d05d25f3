"""The reliability diagram: groups, intervals, limits and what cannot be shown."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from streamauc import Scale, ScoreHistogram, threshold_counts
from streamauc.metrics.calibration import expected_calibration_error, reliability_curve
from streamauc.metrics.intervals import wilson_interval
from streamauc.plot import draw_reliability, style


def counts_of(y_true, y_score, *, scale=None, **options):
    histogram = ScoreHistogram.from_scores(
        y_true, y_score, scale=Scale.exact() if scale is None else scale, **options
    )
    return threshold_counts(histogram)


def draw(counts, **options):
    return draw_reliability(Figure().add_subplot(), counts, **options)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def groups_of(ax):
    """Return the line through the groups."""
    (line,) = [line for line in ax.get_lines() if "group" in str(line.get_label())]
    return line


def segments(ax, *, upright):
    """Return the bars in one direction, shape (n_bars, 2, 2)."""
    found = [
        segment
        for part in ax.collections
        if isinstance(part, LineCollection)
        for segment in part.get_segments()
    ]
    return np.array([bar for bar in found if (bar[0][0] == bar[1][0]) == upright])


def calibrated(n=5_000, *, base=0.0, seed=0):
    generator = np.random.default_rng(seed)
    y_score = 1 / (1 + np.exp(-generator.normal(size=n) - base))
    return (generator.random(n) < y_score).astype(int), y_score


def test_groups_are_those_of_the_reliability_curve():
    counts = counts_of(*calibrated(), scale=Scale.probability())
    ax = draw(counts, n_groups=7)
    found = reliability_curve(counts, n_groups=7)
    error = expected_calibration_error(counts, n_groups=7)

    assert np.array_equal(groups_of(ax).get_xdata(), found.predicted)
    assert np.array_equal(groups_of(ax).get_ydata(), found.observed)
    assert legend(ax) == [
        f"7 groups of about 714 events, ECE {error:.4f}\n(with 95 % intervals)",
        "perfectly calibrated",
    ]


@pytest.mark.parametrize("weights", [None, 1.0, 4.0])
def test_intervals_are_those_of_the_events_of_each_group(weights):
    """Counted from raw scores; equal weights, however large, are as good as none."""
    y_true, y_score = calibrated(200)
    options = {} if weights is None else {"weights": np.full(200, weights)}
    counts = counts_of(y_true, y_score, **options)
    bars = segments(draw(counts, n_groups=4, level=0.9), upright=True)
    starts = reliability_curve(counts, n_groups=4).thresholds
    group = np.searchsorted(starts, y_score, side="right") - 1

    for k in range(4):
        of_group = y_true[group == k]
        found = wilson_interval(of_group.sum(), of_group.size, level=0.9)
        assert bars[k][:, 1] == pytest.approx([found.low, found.high], rel=1e-12)


def test_uneven_weights_widen_the_intervals():
    y_true, y_score = calibrated(300)
    even = draw(counts_of(y_true, y_score))
    uneven = draw(counts_of(y_true, y_score, weights=np.where(np.arange(300) % 10, 0.1, 9.1)))

    def width(ax):
        return np.diff(segments(ax, upright=True)[:, :, 1]).mean()

    assert width(uneven) > 1.5 * width(even)
    assert "(with 95 % intervals)" in legend(uneven)[0]


def test_the_diagonal_reaches_over_both_axes_which_are_the_same():
    ax = draw(counts_of(*calibrated()))
    (line,) = [line for line in ax.get_lines() if line.get_label() == "perfectly calibrated"]

    assert ax.get_xlim() == ax.get_ylim() == (0, 1)
    assert ax.get_box_aspect() == 1
    assert np.array_equal(line.get_xydata(), [[0, 0], [1, 1]])


def test_axes_end_where_the_groups_do():
    """With scores up to 0.1 a panel up to 1 would be empty."""
    y_true, y_score = calibrated(20_000, base=-4.0)
    ax = draw(counts_of(y_true, y_score), is_logit=False)
    top = ax.get_xlim()[1]

    assert ax.get_xlim() == ax.get_ylim()
    assert groups_of(ax).get_xydata().max() < top < 0.3


def test_small_groups_do_not_stretch_the_axes_with_their_intervals():
    y_true, y_score = [0] * 8, np.linspace(0.01, 0.05, 8)

    assert draw(counts_of(y_true, y_score), is_logit=False).get_xlim()[1] < 0.2


def test_scores_near_zero_are_shown_in_log_odds():
    y_true, y_score = calibrated(100_000, base=-7.0)
    ax = draw(counts_of(y_true, y_score, scale=Scale.probability()))
    line = groups_of(ax)

    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlabel() == "mean score (log-odds scale)"
    assert ax.get_ylabel() == "share of positives (log-odds scale)"
    assert np.isfinite(line.get_xdata()).sum() >= 5
    assert draw(counts_of(y_true, y_score), is_logit=False).get_xscale() == "linear"


def test_log_odds_put_what_they_cannot_show_at_the_edge():
    """None or all positive: hollow, and the interval begins there."""
    counts = counts_of([0] * 50 + [1, 0] * 25 + [1] * 50, np.repeat([0.1, 0.4, 0.9], 50))
    ax = draw(counts, is_logit=True)
    (hollow,) = [line for line in ax.get_lines() if line.get_label() == "none or all positive"]
    low, high = ax.get_ylim()
    bars = segments(ax, upright=True)

    assert np.array_equal(hollow.get_xydata(), [[0.1, low], [0.9, high]])
    assert hollow.get_markerfacecolor() == "white"
    assert np.isfinite(groups_of(ax).get_xdata()).tolist() == [False, True, False]
    assert bars[0][0][1] == low < bars[0][1][1]
    assert bars[2][0][1] < bars[2][1][1] == high


def test_no_group_that_log_odds_can_show():
    ax = draw(counts_of([0, 1], [0.0, 1.0]), is_logit=True)

    assert 0 < ax.get_xlim()[0] < 0.01 < 0.99 < ax.get_xlim()[1] < 1


def test_what_binning_leaves_open_is_drawn_where_it_can_be_seen():
    y_true, y_score = calibrated()
    coarse = counts_of(y_true, y_score, scale=Scale.probability(bits=1))
    ax = draw(coarse)
    curve = reliability_curve(coarse)
    bars = segments(ax, upright=False)

    assert np.array_equal(bars[:, 0, 0], curve.predicted_low)
    assert np.array_equal(bars[:, 1, 0], curve.predicted_high)
    assert np.array_equal(bars[:, 0, 1], curve.observed)
    assert "left open by binning" in legend(ax)
    assert "left open by binning" not in legend(draw(counts_of(y_true, y_score)))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (counts_of([], []), "no events"),
        (counts_of([0, 1], [-0.5, 2.0]), "scores are no probabilities"),
        (counts_of([0, 1], [0.2, 0.9], scale=Scale.real()), None),
    ],
)
def test_undefined_is_said(counts, reason):
    """Scores are taken for probabilities by where they are, whatever their scale."""
    ax = draw(counts)

    assert [text.get_text() for text in ax.texts] == ([f"undefined: {reason}"] if reason else [])
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "1 group of about 1 event, "), (3, "3 groups of about 1 event, ")],
)
def test_few_events(n, text):
    ax = draw(counts_of([1] * n, np.linspace(0.2, 0.4, n)))

    assert legend(ax)[0].startswith(text)
    assert groups_of(ax).get_marker() == "o"


@pytest.mark.parametrize("y_true", [[0] * 40, [1] * 40])
def test_one_class(y_true):
    ax = draw(counts_of(y_true, np.linspace(0.1, 0.9, 40)))

    assert set(groups_of(ax).get_ydata()) == {float(y_true[0])}


def test_colours():
    ax = draw(counts_of(*calibrated()))

    assert groups_of(ax).get_color() == style.COLORS[0]
