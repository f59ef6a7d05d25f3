"""The curve of cumulative gain: how many of the positives a share of all events holds."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from streamauc.counts import ThresholdCounts
from streamauc.metrics import catalogue
from streamauc.metrics.gains import gains_curve, gini
from streamauc.metrics.scalars import prevalence
from streamauc.plot import legend, square, style, thin
from streamauc.plot.operating import draw_points, operating_points


def draw_gain(
    ax: Axes,
    counts: ThresholdCounts,
    *,
    thresholds: Sequence[float] = (),
    label: str | None = None,
) -> Axes:
    """Draw which share of the positives is among the events of the highest scores.

    With it what chance and what perfect ranking would find, and operating points. The legend,
    above the panel, has Gini's coefficient. Several curves may share axes, each with a `label`;
    the perfect ranking is then that of the first. Without positives or negatives the panel says
    so. Returns the axes.
    """
    square.frame(ax, "share of all events, highest scores first", "share of the positives")
    points = operating_points(counts, thresholds)
    reason = catalogue.reason(counts, "gini")
    curve = gains_curve(counts)
    if reason:
        square.undefined(ax, reason, label)
    else:
        # The curve is the ROC curve on a slant, so the same points do.
        rows = thin.roc_rows(counts, thresholds)
        text = f"{label or 'gain curve'}, Gini {style.decimals(gini(counts))}"
        square.curve(ax, curve.share[rows], curve.gain[rows], text, n_full=counts.tps.size)
    square.reference(ax, (0, 1), (0, 1), "chance")
    if not reason:
        share = prevalence(counts)
        square.reference(ax, (0, share, 1), (0, 1, 1), "perfect ranking", dashes="-.")
        draw_points(ax, points, curve.share, curve.gain, square.dots(ax))
    legend.write(ax)
    return ax
