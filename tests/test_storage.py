"""The forms in which counts are kept hold the same counts and add up alike."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamauc import Scale
from streamauc.keys import CHUNK, KeyCoder
from streamauc.storage import (
    FEW_KEYS,
    DenseCounts,
    KeyList,
    MixedCounts,
    SparseCounts,
    WideCounts,
    collect,
    compact,
    drop_empty,
    merge,
    merge_wide,
    widen,
)

KEY_TYPE = np.dtype(np.uint32)
FORMS = ("list", "sparse", "dense", "mixed", "wide")
key_lists = st.lists(st.integers(0, 30), max_size=40)
far_key_lists = st.lists(st.integers(0, 12).map(lambda k: k * 20_011), max_size=12)


def kept_as(form, keys, n_classes, key_type=KEY_TYPE):
    """Return the keys in one of the forms, narrow as at rest."""
    if form == "mixed":
        core = sorted(keys)[len(keys) // 3 : len(keys) // 3 * 2]
        tails = list((Counter(keys) - Counter(core)).elements())
        inner = kept_as("dense", core, n_classes)
        return MixedCounts(inner, kept_as("list", tails, n_classes, key_type))
    if form == "list":
        return KeyList(np.array(keys, dtype=key_type))
    counted = sorted(Counter(keys).items())
    if form == "sparse":
        return SparseCounts(
            np.array([key for key, _ in counted], dtype=key_type),
            np.array([n for _, n in counted], dtype=np.uint8),
        )
    first = counted[0][0] if counted else 0
    dense = np.zeros(counted[-1][0] - first + 1 if counted else 0, dtype=np.uint8)
    for key, n in counted:
        dense[key - first] = n
    stored = DenseCounts(first, dense)
    return stored if form == "dense" else widen(stored, n_classes)


def cells(stored, n_classes):
    """Return the counts by key, after checking that the wide form is in order."""
    wide = widen(stored, n_classes)
    assert wide.bins.dtype == np.int64
    assert wide.counts.dtype == np.int64
    assert wide.counts.shape == (n_classes, wide.bins.size)
    assert (np.diff(wide.bins) > 0).all()
    assert (wide.counts.sum(axis=0) > 0).all()
    return Counter(
        {
            bin_ * n_classes + label: int(wide.counts[label, column])
            for column, bin_ in enumerate(wide.bins.tolist())
            for label in range(n_classes)
            if wide.counts[label, column]
        }
    )


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_widens_to_the_same_counts(form, n_classes):
    """Near keys and keys far apart, from none to many."""

    @given(st.one_of(key_lists, far_key_lists))
    def check(keys):
        assert cells(kept_as(form, keys, n_classes), n_classes) == Counter(keys)

    check()


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize(
    "forms", [*itertools.combinations_with_replacement(FORMS, 2)], ids="+".join
)
def test_every_pair_of_forms_adds_up(forms, n_classes):
    """The sum of two forms holds the events of both, the smallest form of the sum too."""

    @given(st.one_of(key_lists, far_key_lists), st.one_of(key_lists, far_key_lists))
    def check(left, right):
        parts = [
            kept_as(form, keys, n_classes) for form, keys in zip(forms, (left, right), strict=True)
        ]
        total = merge(parts, n_classes)
        assert cells(total, n_classes) == Counter(left + right)
        small = compact(total, KEY_TYPE)
        assert cells(small, n_classes) == Counter(left + right)
        assert cells(merge([small, parts[0]], n_classes), n_classes) == Counter(2 * left + right)

    check()


def test_keys_too_far_apart_for_an_array_are_sorted():
    """Keys over millions, in every form, give a small sum with the right counts."""
    near, far, between = [0, 1, 1, 5], [4_000_000, 4_000_001], [2_000_000] * 3
    for forms in itertools.product(FORMS[:4], repeat=3):
        parts = [
            kept_as(form, keys, 2) for form, keys in zip(forms, (near, far, between), strict=True)
        ]
        total = merge(parts, 2)
        assert total.nbytes < 1000
        assert cells(total, 2) == Counter(near + far + between)
        assert cells(compact(total, KEY_TYPE), 2) == Counter(near + far + between)


@pytest.mark.parametrize("big", [2**31, 2**32 + 1, 2**53 + 1, 2**61 + 1])
@pytest.mark.parametrize("spread", [1, 5_000_000])
def test_large_counts_stay_integers(big, spread):
    """Compacted and added again, counts past 2**31, 2**32 and 2**53 keep their last unit."""
    keys = np.array([0, spread], dtype=np.uint32)
    parts = [SparseCounts(keys, np.array([big, 1])), KeyList(keys)]
    if spread == 1:
        parts.append(DenseCounts(0, np.array([1, 0], dtype=np.uint8)))
    extra = len(parts) - 1
    small = compact(merge(parts, 2), KEY_TYPE)
    again = compact(merge([small, small, KeyList(keys)], 2), KEY_TYPE)

    assert cells(small, 2) == Counter({0: big + extra, spread: 2})
    assert cells(again, 2) == Counter({0: 2 * (big + extra) + 1, spread: 5})
    assert again.counts.dtype.kind in "iu"


@given(key_lists)
def test_compact_takes_the_smallest_form(keys):
    """No form of the same counts is much smaller than the one that is chosen."""
    key_type = np.dtype(np.uint16)
    dense = merge([kept_as("sparse", keys, 2, key_type), kept_as("list", [], 2)], 2)
    chosen = compact(dense, key_type)
    sizes = [kept_as(form, keys, 2, key_type).nbytes for form in FORMS[:4]]

    assert cells(chosen, 2) == Counter(keys)
    # An array over a range may be half as large again, because it is faster to add.
    assert chosen.nbytes - 200 <= 1.5 * (min(sizes) - 200)


def test_each_form_is_chosen_where_it_is_smallest():
    """Few events, few keys often, a full range, and one with outliers each get their own."""
    key_type = np.dtype(np.uint16)
    few = DenseCounts(100, np.bincount([0, 30, 900]))
    often = DenseCounts(100, np.bincount(np.repeat([0, 900], 1000)))
    full = DenseCounts(100, np.full(1000, 7))
    outliers = DenseCounts(100, np.bincount([*range(2000, 3000), 0, 9000], minlength=9001) * 5)

    assert isinstance(compact(few, key_type), KeyList)
    assert isinstance(compact(often, key_type), SparseCounts)
    assert isinstance(compact(full, key_type), DenseCounts)
    assert isinstance(compact(outliers, key_type), MixedCounts)
    assert cells(compact(outliers, key_type), 2) == cells(outliers, 2)
    trimmed = compact(DenseCounts(0, np.repeat([0, 9, 0], 50)), key_type)
    assert isinstance(trimmed, DenseCounts)
    assert (trimmed.first, trimmed.counts.tolist()) == (50, [9] * 50)


@pytest.mark.parametrize("n_keys", [FEW_KEYS - 1, FEW_KEYS, FEW_KEYS + 1, 10 * FEW_KEYS])
def test_lists_of_few_keys_stay_lists(n_keys):
    """Around the size at which a list of keys is counted, the counts are the same."""
    keys = np.random.default_rng(9).integers(0, 5000, n_keys)
    half = n_keys // 2
    parts = [KeyList(keys[:half].astype(np.uint16)), KeyList(keys[half:])]
    total = merge(parts, 2)

    assert isinstance(total, KeyList) == (n_keys <= FEW_KEYS)
    assert cells(total, 2) == Counter(keys.tolist())
    assert cells(compact(total, np.dtype(np.uint16)), 2) == Counter(keys.tolist())


@given(st.lists(key_lists, min_size=2, max_size=5), st.lists(st.sampled_from(FORMS), min_size=5))
def test_merging_changes_no_part(parts, forms):
    """Parts are the same after a merge as before: their arrays are never written to."""
    stored = [kept_as(form, keys, 2) for form, keys in zip(forms, parts, strict=False)]
    for part in stored:
        for array in (getattr(part, name, None) for name in ("keys", "counts", "bins")):
            if array is not None:
                array.setflags(write=False)
    merge(stored, 2)

    assert [cells(part, 2) for part in stored] == [Counter(keys) for keys in parts]


def test_wide_counts_join_weighted_and_plain():
    """A plain part weighs 1 an event; the sum is weighted once any part is."""
    plain = WideCounts(np.array([1, 3]), np.array([[1, 0], [2, 5]]))
    weighted = WideCounts(
        np.array([3, 4]), np.array([[0.5, 0], [0, 2]]), np.array([[1.0, 0], [0, 4]])
    )
    total = merge_wide([plain, weighted])

    assert total.bins.tolist() == [1, 3, 4]
    assert total.counts.tolist() == [[1, 0.5, 0], [2, 5, 2]]
    assert total.squares.tolist() == [[1, 1, 0], [2, 5, 4]]
    assert merge_wide([plain, plain]).counts.dtype == np.int64
    assert widen(total, 2) is total
    assert compact(total, np.dtype(np.uint16)) is total


def test_collect_brings_columns_together():
    """Repeated and unordered bins are summed; empty ones can be dropped."""
    counts = np.array([[1, 2, 3, 0], [0, 0, 4, 0]])
    wide = collect(np.array([5, 2, 5, 7]), counts, counts.astype(float))

    assert wide.bins.tolist() == [2, 5, 7]
    assert wide.counts.tolist() == [[2, 4, 0], [0, 4, 0]]
    assert wide.squares.tolist() == [[2, 4, 0], [0, 4, 0]]
    assert drop_empty(wide).bins.tolist() == [2, 5]
    assert drop_empty(wide).squares.tolist() == [[2, 4], [0, 4]]
    nothing = collect(np.empty(0, dtype=np.int64), np.zeros((2, 0), dtype=np.int64), None)
    assert nothing.bins.size == 0


@pytest.mark.parametrize(
    "scale",
    [
        Scale.probability(),
        Scale.probability(bits=12, thresholds=(0.3, 1.0)),
        Scale.real(),
        Scale.real(bits=12, thresholds=(0.0,)),
    ],
    ids=repr,
)
def test_keys_of_a_batch_equal_keys_one_by_one(scale):
    """Chunk ends, and scores that need a careful look in one chunk only, make no difference."""
    rng = np.random.default_rng(8)
    scores = rng.uniform(0, 1, 2 * CHUNK + 77)
    scores[CHUNK + 5], scores[CHUNK + 6], scores[-1] = 0.0, 1.0, -0.0
    classes = rng.integers(0, 3, scores.size)
    coder = KeyCoder(scale, 3)
    want = scale.bins(scores) * 3 + classes
    dense = coder.count(classes, scores)

    assert np.array_equal(coder.keys(classes, scores), want)
    assert coder.keys(classes, scores).dtype == coder.dtype
    assert want.max() < coder.n_keys
    assert dense.first == want.min()
    assert np.array_equal(dense.counts, np.bincount(want - want.min()))
    assert coder.count(classes[:0], scores[:0]).counts.size == 0
    assert coder.keys(classes[:0], scores[:0]).size == 0


def test_a_bad_score_in_any_chunk_is_refused():
    """The fast path lets no invalid score through."""
    coder = KeyCoder(Scale.probability())
    for bad in (math.nan, math.inf, -1.0, 1.5):
        scores = np.full(CHUNK + 2, 0.5)
        scores[-1] = bad
        for count in (coder.count, coder.keys):
            with pytest.raises(ValueError, match="y_score must be"):
                count(np.zeros(scores.size, dtype=np.int64), scores)
    with pytest.raises(ValueError, match="scale must have a bounded number of bins, got exact"):
        KeyCoder(Scale.exact())
