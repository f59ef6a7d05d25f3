"""Parameters of metrics: one range each, whoever asks; nothing else than ValueError beyond it."""

import itertools
import math
import re
from functools import partial

import numpy as np
import pytest
from every_metric import GIVEN, every_metric
from reference import counts_of

from streamauc import Scale
from streamauc.metrics import bootstrap, catalogue, cost_interval

EXTREME = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e-320, 1e-300, 1e-200, 1e-20]
EXTREME += [
    1e-12,
    1e-10,
    1e-5,
    1 - 1e-16,
    1 - 1e-10,
    0.1,
    0.5,
    1,
    1.5,
    2,
    -1,
    -1e-320,
    -1e200,
    1e7,
    1e100,
]
EXTREME += [1e160, 1e200, 1.7e308, True, False, "0.5", None, 10**400]
BASE = GIVEN | {"threshold": 0.5}


def streams():
    """Return counts of one bin and of many, of one class and of both, weighted to the extremes."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 40)
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
    plain = list(zip(labels.tolist(), scores.tolist(), strict=True))
    heavy = [(label, score, 1e100 if label else 1e-100) for label, score in plain]
    light = [(label, score, 1e-100 if label else 1e100) for label, score in plain]
    rows = [[], [(0, 0.5)], [(1, 0.5)], [(1, 0.5), (0, 0.5)], plain, heavy, light]
    return [counts_of(one, scale) for one in rows for scale in (Scale.exact(), Scale.probability())]


STREAMS = streams()
CASES = [
    (metric.name, parameter)
    for metric in catalogue.METRICS.values()
    for parameter in metric.parameters + metric.optional
]


def answer(read, counts, name, params):
    """Return what is answered, or the text of the ValueError or TypeError."""
    try:
        return read(counts, name, **params)
    except (ValueError, TypeError) as error:
        return str(error)


def cases(name, parameter):
    """Yield the parameters of a metric with one of them extreme."""
    needed = {key: BASE[key] for key in catalogue.METRICS[name].parameters}
    return [needed | {parameter: extreme} for extreme in EXTREME]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_an_extreme_parameter_is_refused_or_answered(name, parameter):
    """By one message, with the value in it, whatever the events; or a number, or a reason."""
    for params in cases(name, parameter):
        found = [answer(catalogue.value, counts, name, params) for counts in STREAMS]
        refused = {one for one in found if isinstance(one, str)}
        if refused:
            (message,) = refused  # on every stream alike, and so without events in a rules file
            assert all(isinstance(one, str) for one in found)
            assert re.match(f"{parameter} must .*, got ", message)
            continue
        for counts, value in zip(STREAMS, found, strict=True):
            assert math.isfinite(value) or catalogue.reason(counts, name, **params) is not None


def draw_less(monkeypatch):
    """Let every bootstrap draw four resamples instead of a thousand."""
    draw, interval = bootstrap.bootstrap, bootstrap.bootstrap_interval
    monkeypatch.setattr(bootstrap, "bootstrap_interval", partial(interval, n_resamples=4))
    few = lambda counts, statistic, **_: draw(counts, statistic, n_resamples=4)  # noqa: E731
    monkeypatch.setattr(cost_interval, "bootstrap", few)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_intervals_and_bounds_take_what_values_take(monkeypatch, name, parameter):
    """And refuse with the same words what these refuse; their ends are in order, or ``nan``."""
    draw_less(monkeypatch)
    reads = [catalogue.interval]
    if catalogue.METRICS[name].bounds is not None:
        reads.append(catalogue.bounds)
    for params, counts, read in itertools.product(cases(name, parameter), STREAMS, reads):
        value, found = (answer(one, counts, name, params) for one in (catalogue.value, read))
        if isinstance(value, str) or isinstance(found, str):
            assert found == value
        else:
            assert found.low <= found.high or math.isnan(found.low + found.high)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", [*EXTREME, 0.05, 0.95, 0.999999])
def test_an_extreme_level_is_refused_or_answered(monkeypatch, level):
    """By every metric alike, on events of any weights; and without a warning."""
    draw_less(monkeypatch)
    for name, params in every_metric(0.5):
        if catalogue.METRICS[name].unit == "events":
            continue
        found = [
            answer(catalogue.interval, one, name, params | {"level": level}) for one in STREAMS
        ]
        refused = [one for one in found if isinstance(one, str)]
        if refused:
            assert len(refused) == len(found)
            assert re.match("level must .*, got ", refused[0])
        for one in found[len(refused) :]:
            assert one.low <= one.high + 1e-12 or math.isnan(one.low + one.high)
