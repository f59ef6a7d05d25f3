"""Every metric of the catalogue, with parameters that fit it."""

from collections.abc import Iterator

from streamauc.metrics import catalogue

GIVEN = {
    "beta": 0.5,
    "fn": 9.0,
    "fp": 1.0,
    "max_fpr": 0.2,
    "min_precision": 0.6,
    "max_alert_rate": 0.3,
    "share": 0.3,
}
REGIONS = [{"max_fpr": 0.3}, {"min_tpr": 0.4, "max_tpr": 0.7}]
OPTIONAL = {
    "partial_roc_auc": REGIONS,
    "standardised_partial_roc_auc": REGIONS,
    "h_measure": [{"severity_ratio": 0.2}],
    **{
        name: [{"n_groups": 3.0}]
        for name in (
            "brier_reliability",
            "brier_resolution",
            "brier_uncertainty",
            "expected_calibration_error",
        )
    },
    "mean_cost": [{"tp": -5.0, "tn": 0.5}, {"prevalence": 0.1}],
    "total_cost": [{"tp": -5.0, "tn": 0.5}],
    "lowest_mean_cost": [{"tp": -5.0, "tn": 0.5}, {"prevalence": 0.1}],
    "lowest_mean_cost_threshold": [{"tp": -5.0, "tn": 0.5}, {"prevalence": 0.1}],
}


def every_metric(threshold: float) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each metric of the catalogue with parameters that fit it, optional ones as well."""
    given = GIVEN | {"threshold": threshold}
    for metric in catalogue.METRICS.values():
        params = {name: given[name] for name in metric.parameters}
        more = OPTIONAL.get(metric.name, [{"prevalence": 0.1}] if metric.optional else [])
        assert bool(more) == bool(metric.optional)
        yield from ((metric.name, params | one) for one in ({}, *more))
