"""The bytes of panes: whatever was counted comes back, also from among many others."""

import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from panes import cells

from streamauc import Scale, ScoreHistogram
from streamauc.codec import decode_panes, encode_pane
from streamauc.storage import KeyList, SparseCounts, WideCounts, add_up, compact, key_type

LONG = os.environ.get("STREAMAUC_LONG") == "1"
SCALE = Scale.probability()
LARGE = [1, 2, 300, 2**31, 2**32, 2**40, 2**61]

keys = st.one_of(st.integers(0, 40), st.integers(0, 33_000), st.integers(0, 2**62))
listed = st.lists(st.integers(0, 2**21), min_size=1, max_size=60).map(
    lambda found: KeyList(np.array(found, dtype=np.int64))
)
counted = st.dictionaries(keys, st.sampled_from(LARGE), min_size=1, max_size=20).map(
    lambda found: SparseCounts(
        np.array(sorted(found), dtype=np.int64),
        np.array([found[key] for key in sorted(found)], dtype=np.int64),
    )
)


@st.composite
def wide(draw, n_classes=2):
    bins = sorted(draw(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12)))
    shape = n_classes * len(bins)
    numbers = st.lists(st.sampled_from([0, *LARGE, 2**62]), min_size=shape, max_size=shape)
    counts = np.array(draw(numbers), dtype=np.int64).reshape(n_classes, -1)
    counts[0] += counts.sum(axis=0) == 0
    found = WideCounts(np.array(bins, dtype=np.int64), counts)
    if draw(st.booleans()):
        return found
    return WideCounts(found.bins, counts * 0.5, counts * 0.25)


parts = st.one_of(listed, counted, wide())


def content(part, n_classes=2):
    """Return the counts of any form by bin and class, as Python's own integers or floats."""
    if isinstance(part, WideCounts):
        return cells(ScoreHistogram(SCALE, part, n_classes))
    whole = part if isinstance(part, SparseCounts) else add_up([part])
    if isinstance(whole, SparseCounts):
        pairs = zip(whole.keys.tolist(), whole.counts.tolist(), strict=True)
    else:
        pairs = enumerate(whole.counts.tolist(), start=whole.first)
    return {(key // n_classes, key % n_classes): (count, None) for key, count in pairs if count}


@example([KeyList(np.array([2**32, 2**40, 2**62], dtype=np.int64))])
@settings(max_examples=5_000 if LONG else 150)
@given(st.lists(parts, min_size=1, max_size=6))
def test_panes_come_back_from_their_bytes(some):
    """Every form, with the largest and the rarest numbers, and beside any others."""
    found = decode_panes([encode_pane(part, 2) for part in some], 2)

    assert [content(part) for part in found] == [content(part) for part in some]


@pytest.mark.parametrize("scale", [SCALE, Scale.real(bits=3), Scale.exact()])
@pytest.mark.parametrize("size", [1, 5, 1_000, 1_025, 40_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_come_back(scale, size, weighted):
    """What events of a stream leave, in the form in which it is kept."""
    rng = np.random.default_rng(size)
    scores = np.round(rng.beta(1, 9, size), 4)
    weights = rng.integers(1, 9, size) / 4 if weighted else None
    made = ScoreHistogram.from_scores(rng.random(size) < 0.1, scores, scale=scale, weights=weights)
    small = compact(made.stored, key_type(scale.n_bins, 2))
    for part in (made.stored, small):
        (found,) = decode_panes([encode_pane(part, 2)], 2)
        assert ScoreHistogram(scale, found) == made


def test_no_events_are_no_bytes():
    """An empty pane is not written at all."""
    empty = np.empty(0, dtype=np.int64)
    for part in (
        KeyList(empty),
        SparseCounts(empty, empty),
        WideCounts(empty, empty.reshape(2, 0)),
    ):
        assert encode_pane(part, 2) == b""


def test_negative_counts_are_refused():
    """What is below zero is an error of whoever writes it."""
    one = np.array([1], dtype=np.int64)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        encode_pane(SparseCounts(one, -one), 2)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        encode_pane(WideCounts(one, np.array([[-1], [2]])), 2)


@pytest.mark.parametrize(("n_events", "limit"), [(100, 120), (1_000, 600), (60_000, 4_000)])
def test_panes_are_small(n_events, limit):
    """A minute of 1,000 events takes about half a byte an event."""
    rng = np.random.default_rng(3)
    labels = rng.random(n_events) < 0.1
    scores = 1 / (1 + np.exp(-(rng.normal(-3, 1.5, n_events) + 1.5 * labels)))
    made = ScoreHistogram.from_scores(labels, scores, scale=SCALE)

    assert len(encode_pane(made.stored, 2)) < limit


@settings(max_examples=20_000 if LONG else 300)
@given(st.one_of(listed, counted, wide()), st.data())
def test_other_bytes_are_an_error_or_counts(part, data):
    """Bytes that were altered are a ValueError or other counts, never anything else."""
    blob = bytearray(encode_pane(part, 2))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(blob) - 1))
        blob[place] = data.draw(st.integers(0, 255))
    blob = blob[: data.draw(st.integers(0, len(blob)))] if data.draw(st.booleans()) else blob
    try:
        (found,) = decode_panes([bytes(blob)], 2)
    except ValueError:
        return
    assert found.nbytes < 100_000
