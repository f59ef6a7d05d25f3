"""Counts at another prevalence: the scores of each class as they are, the class ratio not.

Precision depends on how many positives there are, so months with different class ratios cannot
be ranked by it. At one reference prevalence they can. The ROC curve does not move.
"""

import math

import numpy as np

from streamauc.counts import ThresholdCounts
from streamauc.metrics import parameters


def at_prevalence(counts: ThresholdCounts, prevalence: float) -> ThresholdCounts:
    """Return the counts with negatives weighted so that `prevalence` is the share of positives.

    O(n_thresholds). The positives keep their weights, so that one of them stays one event. All
    false positives are ``nan`` unless there are positives and negatives. Raises ValueError for
    a prevalence outside (0, 1) and next to its ends.

    Then ``precision = tpr * pi / (tpr * pi + fpr * (1 - pi))``, pi the prevalence.

    >>> from streamauc import Scale, ScoreHistogram, threshold_counts
    >>> h = ScoreHistogram.from_scores([0, 0, 1, 1], [0.2, 0.9, 0.9, 0.9], scale=Scale.exact())
    >>> at_prevalence(threshold_counts(h), 0.2).precision.round(4)
    array([   nan, 0.3333, 0.2   ])
    """
    share = parameters.prevalence(prevalence)
    weight = math.nan
    if counts.n_pos and counts.n_neg:
        weight = counts.n_pos / counts.n_neg * ((1 - share) / share)
    pos_squares = counts.tps if counts.tps_squares is None else counts.tps_squares
    neg_squares = counts.fps if counts.fps_squares is None else counts.fps_squares
    return ThresholdCounts(
        counts.thresholds,
        counts.tps.astype(np.float64),
        counts.fps.astype(np.float64) * weight,
        exact=counts.exact,
        ceilings=counts.ceilings,
        tps_squares=pos_squares.astype(np.float64),
        fps_squares=neg_squares.astype(np.float64) * weight * weight,
    )
