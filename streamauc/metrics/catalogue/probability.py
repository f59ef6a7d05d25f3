"""Entries: how good the scores are as probabilities; the scores themselves matter here."""

from collections.abc import Callable
from typing import Literal

from streamauc.counts import ThresholdCounts
from streamauc.metrics import calibration, parameters, probability
from streamauc.metrics.catalogue.entry import (
    AMOUNT,
    BoundsFunction,
    Direction,
    Metric,
    Params,
    plain,
    plain_bounds,
)
from streamauc.metrics.probability import brier_parts
from streamauc.metrics.scalars import Bounds

_Part = Literal["reliability", "resolution", "uncertainty"]


def _fault(counts: ThresholdCounts, _params: Params) -> str | None:
    return calibration.fault(counts)


def _n_groups(params: Params) -> int:
    return parameters.n_groups(params.get("n_groups", calibration.N_GROUPS))


def _in_groups(read: Callable[..., float]) -> Callable[[ThresholdCounts, Params], float]:
    return lambda counts, params: read(counts, n_groups=_n_groups(params))


def _bounds_in_groups(read: Callable[..., Bounds]) -> BoundsFunction:
    return lambda counts, params: read(counts, n_groups=_n_groups(params))


def _part(
    name: _Part, summary: str, better: Direction, bounds: BoundsFunction | None = None
) -> Metric:
    """Return the entry of a part of the Brier score."""
    return Metric(
        name=f"brier_{name}",
        summary=summary,
        unit="score",
        better=better,
        needs=("samples",),
        function=lambda counts, params: getattr(
            brier_parts(counts, n_groups=_n_groups(params)), name
        ),
        bounds=bounds,
        reason=_fault,
        optional=("n_groups",),
        of_order=False,
        # What is left, the uncertainty, noise lowers.
        is_biased=name != "uncertainty",
    )


ENTRIES = (
    Metric(
        name="brier_score",
        summary="mean square of what score and outcome differ by",
        unit="score",
        better="lower",
        needs=("samples",),
        function=plain(probability.brier_score),
        bounds=plain_bounds(probability.brier_score_bounds),
        reason=_fault,
        of_order=False,
    ),
    _part(
        "reliability",
        "its part that calibration would take away",
        "lower",
        _bounds_in_groups(probability.brier_reliability_bounds),
    ),
    _part("resolution", "its part that telling events apart takes away", "higher"),
    _part("uncertainty", "its part that is there without any score", "neither"),
    Metric(
        name="log_loss",
        summary="mean surprise at the outcome, by the score",
        unit="nats",
        better="lower",
        needs=("samples",),
        function=plain(probability.log_loss),
        within=AMOUNT,
        bounds=plain_bounds(probability.log_loss_bounds),
        reason=_fault,
        of_order=False,
    ),
    Metric(
        name="expected_calibration_error",
        summary="mean distance of score and share of positives, in groups of equal size",
        unit="share",
        better="lower",
        needs=("samples",),
        function=_in_groups(calibration.expected_calibration_error),
        bounds=_bounds_in_groups(calibration.expected_calibration_error_bounds),
        reason=_fault,
        optional=("n_groups",),
        of_order=False,
        is_biased=True,
    ),
)
