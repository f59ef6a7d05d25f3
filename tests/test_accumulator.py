"""Accumulators and tallies: whatever way events come in, the histogram is that of all of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import as_counter, counted, events, histogram_of, lattice

from streamauc import Accumulator, Scale, ScoreHistogram
from streamauc.accumulator import Tally
from streamauc.histogram import count_events

SCALES = [
    Scale.probability(),
    Scale.probability(bits=12, thresholds=(0.5,)),
    Scale.real(bits=12),
    Scale.exact(),
]
steps = st.lists(
    st.tuples(st.sampled_from(["update", "update_many", "merge", "histogram"]), events),
    max_size=12,
)


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_any_mixture_of_steps_equals_counting_all(scale):
    """One by one, in batches, as histograms, with looks in between."""

    @given(steps)
    def check(sequence):
        acc = Accumulator(scale)
        seen = []
        for step, rows in sequence:
            if step == "histogram":
                assert as_counter(acc.histogram()) == counted(seen, scale)
                continue
            seen += rows
            if step == "update":
                for label, score in rows:
                    acc.update(label, score)
            elif step == "update_many":
                acc.update_many([y for y, _ in rows], [s for _, s in rows])
            else:
                acc.merge(histogram_of(rows, scale))
        assert as_counter(acc.histogram()) == counted(seen, scale)
        assert not seen or acc.histogram() is acc.histogram()

    check()


@given(st.lists(st.tuples(st.integers(0, 1), lattice, st.sampled_from([0.5, 1.0, 2.0]))))
def test_weights_one_by_one_equal_weights_at_once(rows):
    """An event of another weight than 1 makes the histogram weighted, no other does."""
    acc = Accumulator(Scale.probability())
    for label, score, weight in rows:
        acc.update(label, score, weight)
    histogram = acc.histogram()

    assert (histogram.squares is not None) == any(weight != 1 for *_, weight in rows)
    if histogram.squares is not None:
        assert histogram == histogram_of(rows, Scale.probability())
    else:
        assert as_counter(histogram) == counted([row[:2] for row in rows], Scale.probability())


def test_many_single_events():
    """More events than the buffer holds, several times over."""
    acc = Accumulator(Scale.probability())
    rng = np.random.default_rng(9)
    labels, scores = rng.integers(0, 2, 20_001), rng.integers(0, 100, 20_001) / 100
    for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
        acc.update(label, score)

    assert acc.histogram() == ScoreHistogram.from_scores(labels, scores, scale=acc.scale)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
def test_any_number_of_classes(n_classes):
    """Classes beyond two, and a single one."""
    rng = np.random.default_rng(10)
    labels, scores = rng.integers(0, n_classes, 500), rng.integers(0, 9, 500) / 8
    for scale in SCALES:
        acc = Accumulator(scale, n_classes=n_classes)
        acc.update_many(labels[:200], scores[:200])
        for label, score in zip(labels[200:], scores[200:], strict=True):
            acc.update(label, score)
        want = ScoreHistogram.from_scores(labels, scores, scale=scale, n_classes=n_classes)
        assert acc.histogram() == want


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, math.nan), ValueError, "score must be finite, got nan"),
        ((1, np.float32(np.inf)), ValueError, "score must be finite, got inf"),
        ((1, np.float16(-np.inf)), ValueError, "score must be finite, got -inf"),
        ((1, 10**400), ValueError, "score must fit a float64, got 1000"),
        ((1, "0.5"), TypeError, "score must be a number, got '0.5'"),
        ((1, None), TypeError, "score must be a number, got None"),
        ((2, 0.5), ValueError, "label must be an integer from 0 to 1, got 2"),
        ((-1, 0.5), ValueError, "label must be an integer from 0 to 1, got -1"),
        ((np.int64(7), 0.5), ValueError, "label must be an integer from 0 to 1, got 7"),
        ((0.5, 0.5), ValueError, "label must be an integer from 0 to 1, got 0.5"),
        ((math.nan, 0.5), ValueError, "label must be an integer from 0 to 1, got nan"),
        (("1", 0.5), ValueError, "label must be an integer from 0 to 1, got '1'"),
        ((1, 0.5, -1), ValueError, "weights must be finite and not negative, got -1.0"),
        ((1, 0.5, math.nan), ValueError, "weights must be finite and not negative, got nan"),
    ],
)
@pytest.mark.parametrize("scale", [Scale.real(), Scale.exact()], ids=repr)
def test_a_bad_event_changes_nothing(scale, arguments, error, message):
    """What is wrong is named, and the histogram stays as it was."""
    acc = Accumulator(scale)
    acc.update(1, 0.5)
    with pytest.raises(error) as caught:
        acc.update(*arguments)

    assert str(caught.value).startswith(message)
    assert acc.histogram() == histogram_of([(1, 0.5)], scale)


def test_a_bad_batch_changes_nothing():
    """A batch with one bad row is refused whole, also where keys are made without looking."""
    acc = Accumulator(Scale.probability())
    acc.update_many([0, 1], [0.1, 0.2])
    for labels, scores, weights in (
        ([0, 1], [0.5, 1.5], None),
        ([0, 2], [0.5, 0.5], None),
        ([0], [0.5, 0.5], None),
        ([0, 1], [0.5, 0.5], [1, -1]),
    ):
        with pytest.raises(ValueError, match="must"):
            acc.update_many(labels, scores, weights)

    assert acc.histogram() == histogram_of([(0, 0.1), (1, 0.2)], acc.scale)


@pytest.mark.parametrize("score", [np.float32(0.7), np.float16(0.7), np.float64(0.7), 1, True])
def test_single_scores_of_any_width(score):
    """A narrow score is widened before it is compared or kept."""
    for scale in (Scale.probability(thresholds=(0.7,)), Scale.real(), Scale.exact()):
        acc = Accumulator(scale)
        acc.update(np.bool_(True), score)
        assert acc.histogram().bins.tolist() == [scale.bin(float(score))]


def test_merging_brings_histograms_to_the_scale():
    """Finer ones are coarsened; coarser ones and other numbers of classes are refused."""
    acc = Accumulator(Scale.probability(bits=3))
    acc.merge(histogram_of([(1, 0.3), (0, 0.31)], Scale.probability(thresholds=(0.305,))))

    assert acc.histogram() == histogram_of([(1, 0.3), (0, 0.31)], acc.scale)
    with pytest.raises(ValueError, match="scale must be coarser than probability"):
        acc.merge(ScoreHistogram.empty(Scale.probability(bits=2)))
    with pytest.raises(ValueError, match="histogram must have 2 classes, got 3"):
        acc.merge(ScoreHistogram.empty(Scale.probability(bits=3), 3))
    with pytest.raises(ValueError, match="n_classes must be at least 1, got 0"):
        Accumulator(Scale.exact(), n_classes=0)


def test_an_answer_does_not_change_afterwards():
    """A histogram that was handed out is immutable while events go on arriving."""
    acc = Accumulator(Scale.probability())
    kept = []
    for _ in range(30):
        acc.update_many([0, 1, 1], [0.1, 0.5, 0.9])
        histogram = acc.histogram()
        kept.append((histogram, histogram.to_bytes()))

    assert all(histogram.to_bytes() == before for histogram, before in kept)
    assert [histogram.totals.tolist() for histogram, _ in kept] == [
        [n, 2 * n] for n in range(1, 31)
    ]


def test_a_tally_stays_small():
    """Parts are merged as they pile up: what is held is bounded by the bins, not the events."""
    scale = Scale.probability()
    tally = Tally(scale)
    rng = np.random.default_rng(11)
    largest = 0
    for _ in range(300):
        labels, scores = rng.integers(0, 2, 1000), rng.uniform(0, 1, 1000)
        tally.add(count_events(scale, 2, labels, scores))
        largest = max(largest, tally.nbytes)

    assert tally.histogram().totals.sum() == 300_000
    assert largest < 150_000
    assert tally.nbytes < 25_000


@given(st.lists(st.tuples(st.sampled_from(["add", "parts", "histogram"]), events), max_size=12))
def test_a_tally_answers_in_parts_or_whole(sequence):
    """Parts add up to the sum so far, are the same until more is added, and never go stale."""
    for scale in SCALES:
        tally = Tally(scale)
        seen = []
        for step, rows in sequence:
            if step == "add":
                tally.add(histogram_of(rows, scale).stored)
                seen += rows
            elif step == "histogram":
                assert as_counter(tally.histogram()) == counted(seen, scale)
            parts = tally.parts()
            total = ScoreHistogram.merge([ScoreHistogram.empty(scale), *parts])
            assert as_counter(total) == counted(seen, scale)
            assert len(parts) <= 2
            assert all(one is two for one, two in zip(parts, tally.parts(), strict=True))
