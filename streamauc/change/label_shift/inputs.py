"""The two sides as histograms: a labelled reference, and current scores whatever their labels."""

import math

from streamauc import _check
from streamauc.change.sources import Source, histogram_of
from streamauc.histogram import ScoreHistogram


def aligned(reference: Source, current: Source) -> tuple[ScoreHistogram, ScoreHistogram]:
    """Return the reference and the current scores, these in one class, on one scale. O(n_bins).

    Raises ValueError for scales of different kinds and a reference that has not two classes,
    TypeError for a side that has no histogram.
    """
    known, scores = histogram_of("reference", reference), scores_of("current", current)
    if known.scale == scores.scale:
        return known, scores
    scale = known.scale.common(scores.scale)
    known, scores = (
        side if side.scale == scale else side.rebinned(scale) for side in (known, scores)
    )
    return known, scores


def scores_of(name: str, source: Source) -> ScoreHistogram:
    """Return the scores of a source in one class: all that were predicted, if it knows those."""
    found: object = source
    if not isinstance(source, ScoreHistogram):
        found = getattr(source, "predicted", getattr(source, "histogram", None))
    if not isinstance(found, ScoreHistogram):
        raise TypeError(
            f"{name} must be a ScoreHistogram or have one as .predicted or .histogram,"
            f" got {_check.plain(source)!r}"
        )
    return found if found.n_classes == 1 else found.pooled()


def share_outside(reference: ScoreHistogram, current: ScoreHistogram) -> float:
    """Return the share of current events in bins below or above all of the reference's."""
    if not (reference.n_bins and current.n_bins):
        return math.nan
    first = int(current.bins.searchsorted(reference.bins[0]))
    stop = int(current.bins.searchsorted(reference.bins[-1], side="right"))
    inside = float(current.counts[0, first:stop].sum())
    return max(0.0, 1 - inside / float(current.totals[0]))
