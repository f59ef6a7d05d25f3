"""No value leaves the range that its entry states, not even by rounding."""

import itertools
import math

import numpy as np
import pytest
from every_metric import every_metric
from hypothesis import given
from hypothesis import strategies as st

from streamauc import Confusion, ThresholdCounts
from streamauc.metrics import catalogue
from streamauc.metrics.best_criteria import criterion_of


def table(tp, fp, fn, tn):
    return Confusion(threshold=0.5, requested=0.5, exact=True, tp=tp, fp=fp, fn=fn, tn=tn)


def counts_by_bin(pos, neg, *, exact=True, unit=1):
    """Return counts of so many positives and negatives in each bin, from the highest score."""
    squares = {}
    if unit != 1:
        for name, steps in (("tps_squares", pos), ("fps_squares", neg)):
            squares[name] = np.cumsum([0.0, *(step * unit * unit for step in steps)])
    return ThresholdCounts(
        np.concatenate(([np.inf], np.linspace(0.9, 0.2, len(pos)))),
        np.cumsum([0, *pos]) * unit,
        np.cumsum([0, *neg]) * unit,
        exact=exact,
        **squares,
    )


def test_the_correlation_of_a_perfect_table_is_one():
    """Exactly, whatever the sizes of the classes and of the weights; of a wrong one -1."""
    for n_pos, n_neg in itertools.product(range(1, 152), repeat=2):
        for unit in (1, 0.1, 1e99):
            right = table(n_pos * unit, 0, 0, n_neg * unit)
            wrong = table(0, n_neg * unit, n_pos * unit, 0)
            assert (right.mcc, wrong.mcc) == (1.0, -1.0)


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=4), st.sampled_from([1, 0.1, 0.7]))
def test_a_correlation_stays_within_one(cells, unit):
    """Of nearly perfect tables, too, in both forms in which it is worked out."""
    tp, fp, fn, tn = cells
    for few in (0, 1, fp):
        for one in (table(tp * unit, few * unit, fn * unit, tn * unit), table(few, tp, tn, fn)):
            assert math.isnan(one.mcc) or -1 <= one.mcc <= 1
        both = counts_by_bin((tp, fn), (few, tn)), counts_by_bin((few, tn), (tp, fn), unit=unit)
        for counts in both:
            gains = criterion_of("mcc", None).gains(counts)
            assert np.nanmax(np.abs(gains), initial=0.0) <= 1


def lattice_streams():
    """Yield counts in two bins, every small one, and the same in a few more bins at random."""
    for cells in itertools.product(range(4), repeat=4):
        yield cells[:2], cells[2:]
    for n_pos, n_neg in itertools.product((1, 6, 171, 300), repeat=2):
        yield (n_pos, 0), (0, n_neg)
        yield (0, n_pos), (n_neg, 0)
    rng = np.random.default_rng(6)
    for size in rng.integers(1, 6, 100).tolist():
        yield rng.integers(0, 40, size).tolist(), rng.integers(0, 40, size).tolist()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("unit", [1, 0.1])
def test_every_value_lies_in_the_range_of_its_entry(exact, unit):
    """And within its bounds, which lie there as well, over all small counts."""
    for pos, neg in lattice_streams():
        counts = counts_by_bin(pos, neg, exact=exact, unit=unit)
        for name, params in every_metric(0.5):
            entry = catalogue.METRICS[name]
            low, high = entry.within
            value = catalogue.value(counts, name, **params)
            if math.isnan(value):
                continue
            assert low <= value <= high, (name, params, pos, neg)
            if entry.bounds is not None:
                bounds = catalogue.bounds(counts, name, **params)
                assert low <= bounds.low <= value, (name, params, pos, neg)
                assert value <= bounds.high <= high, (name, params, pos, neg)
