"""The last n events against all pairs of them: whatever is read how often, the answer is exact."""

import copy
import inspect
import math
import pickle
import tracemalloc
from bisect import bisect_left, bisect_right, insort

import numpy as np
import pytest
from cases import CASES, agree
from hypothesis import given
from hypothesis import strategies as st
from reference import LARGEST, counted_ap, lattice, pairwise_auc

from streamauc import Scale, ScoreHistogram, compare, roc_auc, roc_curve, threshold_counts
from streamauc.metrics import catalogue
from streamauc.metrics.scalars import average_precision
from streamauc.sliding import SlidingWindow, adapting, block_list, sorted_arrays, sorted_lists
from streamauc.sliding.block_list import BlockList
from streamauc.sliding.recent import Arrivals
from streamauc.sliding.sorted_arrays import SortedArrays
from streamauc.sliding.sorted_blocks import SortedBlocks
from streamauc.sliding.sorted_lists import SortedLists

EXACT = Scale.exact()
events = st.lists(st.tuples(st.integers(0, 1), lattice), max_size=60)
CLASSES = [SortedArrays, SortedLists, SortedBlocks]


def auc_of(rows):
    """Return the AUC by looking at every pair, rounded once; ``nan`` if a class is empty."""
    found = pairwise_auc(rows)
    return math.nan if found is None else float(found)


def offline(rows):
    """Return the counts at thresholds of (label, score) rows."""
    return threshold_counts(ScoreHistogram.from_scores(*zip(*rows, strict=True), scale=EXACT))


def rows_of(window):
    """Return the events that a window holds, in order of arrival."""
    found = window._events()
    return list(zip(found.labels.astype(int).tolist(), found.scores.tolist(), strict=True))


def stream(n, *, places=None, seed=0, prevalence=0.3):
    """Labels and scores of a model that is better than chance."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random(n) < prevalence).astype(int)
    y_score = 1 / (1 + np.exp(-rng.normal(y_true, 1.0)))
    return y_true, y_score if places is None else y_score.round(places)


def kept(window):
    """Return the form that the events are kept in."""
    return type(window._kept)


def read_each(window, rows):
    for label, score in rows:
        window.update(label, score)
        assert window.roc_auc >= 0 or math.isnan(window.roc_auc)


@pytest.fixture(params=CLASSES, ids=lambda form: form.__name__)
def in_form(request, monkeypatch):
    """Return what makes a window of 8 in one of its forms, from rows; with small steps inside."""
    form = request.param
    monkeypatch.setattr(adapting, "LARGEST_LISTS", 0 if form is SortedBlocks else 10_000)
    monkeypatch.setattr(block_list, "_SHORTEST", 2)

    def make(rows, size=8):
        window = SlidingWindow(size)
        for label, score in rows:
            window.update(label, score)
            if form is not SortedArrays:
                window.n_pos  # noqa: B018  (a read)
        assert kept(window) is form
        return window

    return make


def test_every_prefix_equals_all_pairs():
    """After every event the AUC is that of the last n, to the last bit, with ties and zeros."""

    @given(events, st.integers(1, 12))
    def check(rows, size):
        window = SlidingWindow(size)
        for seen, (label, score) in enumerate(rows, start=1):
            window.update(label, score)
            np.testing.assert_equal(window.roc_auc, auc_of(rows[max(0, seen - size) : seen]))

    check()


@given(st.lists(st.tuples(events, st.booleans()), max_size=8), st.integers(1, 30))
def test_how_it_comes_and_when_it_is_read_changes_nothing(batches, size):
    """One by one or in batches, read or not: the same events, the same answer."""
    window, rows = SlidingWindow(size), []
    for batch, is_read in batches:
        if is_read:
            read_each(window, batch)
        else:
            window.update_many([y for y, _ in batch], [s for _, s in batch])
        rows = [*rows, *batch][-size:]
        window._check()
        assert rows_of(window) == rows
        assert window.n_samples == len(rows)
    np.testing.assert_equal(window.roc_auc, auc_of(rows))
    assert (window.n_pos, window.n_neg) == (sum(y for y, _ in rows), sum(1 - y for y, _ in rows))


@pytest.mark.parametrize("places", [None, 3, 1, 0])
@pytest.mark.parametrize(
    ("size", "n", "form"),
    [(100, 500, SortedLists), (3_000, 5_000, SortedLists), (12_500, 14_500, SortedBlocks)],
)
def test_forms_of_real_size_follow_the_offline_answer(size, n, form, places):
    """Past every threshold in the code: read after every event, then every hundred."""
    y_true, y_score = stream(n, places=places)
    rows = list(zip(y_true.tolist(), y_score.tolist(), strict=True))
    window = SlidingWindow(size)
    window.update_many(y_true[: n - 1_000], y_score[: n - 1_000])
    read_each(window, rows[n - 1_000 : n - 400])
    assert kept(window) is form
    window._check()
    assert window.roc_auc == roc_auc(offline(rows[: n - 400][-size:]))
    for start in range(n - 400, n, 100):
        window.update_many(y_true[start : start + 100], y_score[start : start + 100])
        assert window.roc_auc == roc_auc(offline(rows[: start + 100][-size:]))
    assert kept(window) is SortedArrays
    window._check()
    assert rows_of(window) == rows[-size:]


def test_events_are_merged_into_large_arrays(monkeypatch):
    """A small batch does not sort a large window anew."""
    y_true, y_score = stream(6_000, places=2)
    window = SlidingWindow(5_000)
    window.update_many(y_true[:5_500], y_score[:5_500])
    assert window.roc_auc > 0.5
    monkeypatch.setattr(SortedArrays, "_sort_anew", None)
    for start in range(5_500, 6_000, 50):
        window.update_many(y_true[start : start + 50], y_score[start : start + 50])
        assert window.roc_auc == roc_auc(
            offline(list(zip(y_true, y_score, strict=True))[: start + 50][-5_000:])
        )


def test_nothing_is_done_before_it_is_asked_for():
    """Without reads events wait, no more of them than the window holds, and one read takes all."""
    y_true, y_score = stream(1_000)
    window = SlidingWindow(64)
    for label, score in zip(y_true.tolist(), y_score.tolist(), strict=True):
        window.update(label, score)
        assert window._kept.size == 0
    assert len(window._labels) == len(window._scores) == 64
    assert window.n_samples == 64  # which is known without a look at them
    assert window._kept.size == 0
    assert window.n_pos == y_true[-64:].sum()
    assert len(window._scores) == 0
    assert window._kept.size == 64


def test_the_form_changes_with_the_reader_and_only_when_it_pays():
    """Single reads of a large window are answered as it is; many of them change it, and back."""
    y_true, y_score = stream(9_000)
    rows = list(zip(y_true.tolist(), y_score.tolist(), strict=True))
    window = SlidingWindow(8_000)
    window.update_many(y_true[:8_000], y_score[:8_000])
    assert kept(window) is SortedArrays
    read_each(window, rows[:3])
    assert kept(window) is SortedArrays
    read_each(window, rows[:2])
    assert kept(window) is SortedLists
    window.update_many(y_true[:20], y_score[:20])  # some more than usual, once
    window.n_pos  # noqa: B018
    assert kept(window) is SortedLists
    window.update_many(y_true, y_score)
    window.n_pos  # noqa: B018
    assert kept(window) is SortedArrays


def test_updates_that_nobody_reads_are_soon_put_off():
    """After a long run of single updates without a read they cost an append again."""
    window = SlidingWindow(5_000)
    read_each(window, [(0, 0.1), (1, 0.2)])
    assert kept(window) is SortedLists
    for number in range(3_000):
        window.update(number % 2, number / 3_000)
    assert 0 < len(window._scores) <= 3_000 - sorted_lists.PUT_AT_ONCE + 2
    assert window._lists.left == 0
    window._check()


def test_the_case_of_rounded_scores():
    """The public report of a rolling AUC that lost half credits."""
    case = CASES["tie-half-credit-integer"]
    window, found = SlidingWindow(case["query"]["n"]), []
    for seen, (score, label) in enumerate(case["input"]["rows"], start=1):
        window.update(label, score)
        if seen in case["query"]["after"]:
            found.append({"roc_auc": window.roc_auc})
    assert agree(found, case["expected"], case["tol"])


def test_any_finite_score_counts():
    """The largest, the smallest, both zeros; a float32 is widened, an int is a float."""
    scores = [-LARGEST, -1.5, -5e-324, -0.0, 0.0, 5e-324, np.float32(0.1), 0.1, 1, 10**300, LARGEST]
    rows = [(place % 2, float(score)) for place, score in enumerate(scores)]
    for size in (4, 11):
        window = SlidingWindow(size)
        for label, score in zip([y for y, _ in rows], scores, strict=True):
            window.update(label, score)
            window.roc_auc  # noqa: B018
        assert window.roc_auc == auc_of(rows[-size:])
        assert [score for _, score in rows_of(window)] == [score for _, score in rows[-size:]]
        assert np.isfinite(window.counts().thresholds[1:]).all()
        window._check()


@pytest.mark.parametrize("label", [True, np.bool_(True), np.int8(1), 1.0])
def test_a_label_is_bool_or_0_or_1_of_any_type(label, in_form):
    """Labels that equal 1 are 1 in every form."""
    window = in_form([(0, 0.5)] * 9)
    window.update(label, 0.75)
    assert window.n_pos == 1
    assert rows_of(window)[-1] == (1, 0.75)
    window._check()


class Undecided:
    """As pandas.NA: it does not say whether it equals anything."""

    def __eq__(self, other):
        raise TypeError("boolean value of NA is ambiguous")

    def __repr__(self):
        return "<NA>"

    __hash__ = None


MOMENT = "score must be a number, got datetime.datetime(1970, 1, 1, 0, 0, 1)"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, math.nan), ValueError, "score must be finite, got nan"),
        ((1, np.float32(-np.inf)), ValueError, "score must be finite, got -inf"),
        ((0, math.inf), ValueError, "score must be finite, got inf"),
        ((1, "0.5"), TypeError, "score must be a number, got '0.5'"),
        ((1, None), TypeError, "score must be a number, got None"),
        ((2, 0.5), ValueError, "label must be bool or 0/1, got 2"),
        ((-1, 0.5), ValueError, "label must be bool or 0/1, got -1"),
        ((np.int64(7), 0.5), ValueError, "label must be bool or 0/1, got 7"),
        ((math.nan, 0.5), ValueError, "label must be bool or 0/1, got nan"),
        (("1", 0.5), ValueError, "label must be bool or 0/1, got '1'"),
        ((None, 0.5), ValueError, "label must be bool or 0/1, got None"),
        ((Undecided(), 0.5), ValueError, "label must be bool or 0/1, got <NA>"),
        ((np.array([0, 1]), 0.5), ValueError, "label must be bool or 0/1, got array([0, 1])"),
        ((1, np.datetime64(1, "s")), TypeError, MOMENT),
    ],
)
@pytest.mark.parametrize("method", ["update", "retract"])
def test_bad_events_are_named_and_change_nothing(arguments, error, message, method, in_form):
    """In every form, before anything is touched."""
    rows = [(0, 0.5), (1, 0.5), (1, 0.25)] * 4
    window = in_form(rows)
    with pytest.raises(error) as caught:
        getattr(window, method)(*arguments)
    assert str(caught.value) == message
    assert rows_of(window) == rows[-8:]
    window._check()


@pytest.mark.parametrize(
    ("y_true", "y_score", "message"),
    [
        ([0, 1, 2], [0.1, 0.2, 0.3], "y_true must be bool or 0/1, got 2 at index 2"),
        ([0, 1, 1], [0.1, math.nan, 0.3], "y_score must be finite, got nan at index 1"),
        ([0, 1], [0.1, 0.2, 0.3], "y_true and y_score must have the same length, got 2 and 3"),
        ([[0]], [0.5], r"y_true must be 1-D, got shape \(1, 1\)"),
    ],
)
def test_bad_batches_are_named_and_change_nothing(y_true, y_score, message, in_form):
    """In every form, before the first event of the batch is taken in."""
    rows = [(0, 0.5), (1, 0.5), (1, 0.25)] * 4
    window = in_form(rows)
    with pytest.raises(ValueError, match=message):
        window.update_many(y_true, y_score)
    assert rows_of(window) == rows[-8:]
    window._check()


@pytest.mark.parametrize(
    "size",
    [0, -1, True, False, np.True_, math.nan, math.inf, 1.0, np.float32(5), 10**15, 10**8 + 1],
)
def test_sizes_that_are_none_are_refused(size):
    """With a ValueError, at construction and in `resize`, and nothing is allocated."""
    window = SlidingWindow(3)
    read_each(window, [(0, 0.5), (1, 0.75)])
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"size must be .*in.*, got"):
        SlidingWindow(size)
    with pytest.raises(ValueError, match=r"size must be .*in.*, got"):
        window.resize(size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    assert (window.size, window.n_samples, window.roc_auc) == (3, 2, 1.0)


def test_a_size_of_another_type_is_refused():
    """Text is no number."""
    with pytest.raises(TypeError, match="size must be an integer, got '5'"):
        SlidingWindow("5")


def test_a_large_window_takes_memory_as_events_come():
    """The size is a bound, not a reservation."""
    tracemalloc.start()
    window = SlidingWindow(np.int64(100_000_000))
    read_each(window, [(0, 0.5), (1, 0.75), (0, 0.8)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert window.roc_auc == 0.5
    assert peak < 200_000


def test_an_empty_window_is_undefined(in_form):
    """No events, or one class only: ``nan``, never a number and never a warning."""
    window = SlidingWindow(5)
    assert math.isnan(window.roc_auc)
    assert (window.n_samples, window.n_pos, window.n_neg) == (0, 0, 0)
    assert window.counts().thresholds.tolist() == [math.inf]
    assert catalogue.reason(window.counts(), "roc_auc") == "empty"
    window = in_form([(1, 0.5)] * 10)
    assert math.isnan(window.roc_auc)
    assert catalogue.reason(window.counts(), "roc_auc") == "no_negatives"
    window.update(0, 0.5)
    assert window.roc_auc == 0.5


def test_an_event_is_taken_back_by_value(in_form):
    """The latest of those that are equal; those that it drove out stay out; 0.0 is -0.0."""
    rows = [(0, 0.5), (1, -0.0), (0, 0.25), (1, -0.0), (0, 0.75), (1, 1.0)]
    window = in_form([(0, 0.875)] * 5 + rows)
    window.retract(1, 0.0)
    left = [(0, 0.875)] * 2 + rows[:3] + rows[4:]
    assert rows_of(window) == left
    window._check()
    assert window.roc_auc == auc_of(left)
    read_each(window, [(1, 0.5), (1, 0.625)])
    assert rows_of(window) == [*left, (1, 0.5), (1, 0.625)][-8:]
    assert window.n_samples == 8


def test_what_is_not_there_is_not_taken_back(in_form):
    """The other class, a score next to it, an event that has left: an error, nothing changed."""
    rows = [(0, 0.5), (1, 0.25)] * 4
    window = in_form([(1, 0.125), *rows])
    for label, score in [(1, 0.5), (0, math.nextafter(0.5, 1)), (1, 0.125)]:
        with pytest.raises(ValueError, match=r"event in the window, got [01] and"):
            window.retract(label, score)
        assert rows_of(window) == rows
        window._check()


def test_a_revised_label(in_form):
    """Retract and update: the event is of the other class, and counts as the newest."""
    window = in_form([(0, 0.5), (0, 0.625), (1, 0.5), (1, 0.75)])
    window.retract(0, 0.625)
    window.update(1, 0.625)
    assert rows_of(window) == [(0, 0.5), (1, 0.5), (1, 0.75), (1, 0.625)]
    assert window.roc_auc == auc_of(rows_of(window))


def test_an_event_that_waits_can_be_taken_back():
    """Nobody has read yet."""
    window = SlidingWindow(3)
    for label, score in [(0, 0.5), (1, 0.75), (1, 0.25)]:
        window.update(label, score)
    window.retract(1, 0.25)
    assert rows_of(window) == [(0, 0.5), (1, 0.75)]
    assert window.roc_auc == 1.0


def test_more_waits_than_may_be_put_in_at_once(in_form, monkeypatch):
    """A retraction finds the window in a form for single events, and many that wait."""
    monkeypatch.setattr(sorted_lists, "PUT_AT_ONCE", 2)
    window = in_form([(0, 0.5)] * 12)
    rows = [(number % 2, number / 16) for number in range(17)]
    window.update_many([y for y, _ in rows], [s for _, s in rows])
    window.retract(0, 0.875)
    assert rows_of(window) == [row for row in rows[-8:] if row != (0, 0.875)]
    window._check()


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_another_size_keeps_the_newest(size, in_form):
    """Smaller drops the oldest at once, larger has room for more."""
    rows = [(number % 2, number / 16) for number in range(10)]
    window = in_form(rows)
    window.update_many([1, 0], [0.75, 0.875])
    rows = [*rows, (1, 0.75), (0, 0.875)][-8:]
    window.resize(size)
    assert window.size == size
    assert rows_of(window) == rows[-size:]
    window.update_many(*zip(*rows, strict=True))
    assert rows_of(window) == [*rows, *rows][-size:] if size < 16 else [*rows, *rows]
    np.testing.assert_equal(window.roc_auc, auc_of(rows_of(window)))
    window._check()


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda window: pickle.loads(pickle.dumps(window))],  # noqa: S301
)
@pytest.mark.parametrize("n_waiting", [0, 3, 20])
def test_a_copy_holds_the_same_and_shares_nothing(copied, n_waiting, in_form):
    """Events that wait are copied too, and neither sees what the other gets."""
    window = in_form([(number % 2, number / 16) for number in range(10)])
    if n_waiting:
        window.update_many([1] * n_waiting, [0.25] * n_waiting)
    before = rows_of(window)
    other = copied(window)
    assert (other.size, rows_of(other), repr(other)) == (window.size, before, repr(window))
    np.testing.assert_equal(other.roc_auc, auc_of(before))
    read_each(other, [(0, 0.125), (1, 0.75)])
    window.update_many([0] * 30, [0.5] * 30)
    assert rows_of(other) == [*before, (0, 0.125), (1, 0.75)][-8:]
    assert rows_of(window) == [(0, 0.5)] * 8
    window._check()
    other._check()


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([True, False], [0.5, math.nan], "y_score must be finite, got nan"),
        ([True, False], [0.5], "must have the same length"),
        ([True, 2], [0.5, 0.25], "y_true must"),
        ([[True, False]], [0.5, 0.25], "must be 1-D"),
    ],
)
def test_a_pickle_that_was_tampered_with_is_refused(labels, scores, message):
    """What comes out of it is checked like any other events."""
    window = SlidingWindow(3)
    window.__setstate__(Arrivals(np.array([False, True, True]), np.array([0.5, 0.75, 0.25])))
    with pytest.raises(ValueError, match=message):
        window.__setstate__(Arrivals(np.array(labels), np.array(scores)))
    assert window.roc_auc == 0.5
    window._check()


def test_few_events_are_those_that_cost_the_same_either_way():
    """As measured, to a fifth."""
    for n, want in {100: 17, 1_000: 24, 10_000: 40, 100_000: 50, 1_000_000: 170}.items():
        assert adapting.few(n) == pytest.approx(want, rel=0.2)
    found = [adapting.few(n) for n in range(5_000)]
    assert found == sorted(found)
    assert found[0] == 1


def test_arrays_that_were_given_or_taken_can_be_written_to():
    """Inputs are copied, and what is handed out is the caller's."""
    y_true, y_score = stream(50)
    rows = list(zip(y_true.tolist(), y_score.tolist(), strict=True))
    window = SlidingWindow(40)
    window.update_many(y_true, y_score)
    y_true[:], y_score[:] = 0, 0.5
    assert window.roc_auc == auc_of(rows[-40:])
    window.counts().tps[:] = 7
    window.counts().thresholds[:] = 7
    window._check()
    assert window.roc_auc == roc_auc(window.counts()) == auc_of(rows[-40:])


def test_counts_are_those_of_the_exact_scale(in_form):
    """Thresholds, both counts and their types; so the catalogue and the curves follow."""

    @given(st.lists(st.tuples(st.integers(0, 1), lattice), min_size=1, max_size=30))
    def check(rows):
        window = in_form(rows)
        found, wanted = window.counts(), offline(rows[-8:])
        assert found.thresholds.tolist() == wanted.thresholds.tolist()
        for name in ("tps", "fps"):
            assert getattr(found, name).tolist() == getattr(wanted, name).tolist()
            assert getattr(found, name).dtype == np.int64
        assert found.exact
        assert found.ceilings is None
        np.testing.assert_equal(window.roc_auc, roc_auc(found))
        precision = counted_ap(rows[-8:])
        if precision is not None:
            assert average_precision(found) == pytest.approx(float(precision), rel=1e-12)

    check()


def test_the_catalogue_curves_and_comparisons_take_it():
    """Every metric of the catalogue, a curve, and `compare` of two windows."""
    y_true, y_score = stream(600)
    window, other = SlidingWindow(200), SlidingWindow(200)
    window.update_many(y_true[:300], y_score[:300])
    other.update_many(y_true[300:], y_score[300:])
    counts = window.counts()
    assert catalogue.value(counts, "precision", threshold=0.5) == pytest.approx(
        y_true[100:300][y_score[100:300] >= 0.5].mean()
    )
    assert roc_curve(counts).tpr[-1] == 1.0
    difference = compare(window, other, independent=True).roc_auc_difference
    assert difference == pytest.approx(other.roc_auc - window.roc_auc)


@given(events.filter(lambda rows: {label for label, _ in rows} == {0, 1}))
def test_swapping_labels_and_stretching_scores(rows):
    """Swapped labels give one minus the AUC; a monotone change of the scores changes nothing."""
    window, swapped, stretched = (SlidingWindow(60) for _ in range(3))
    for label, score in rows:
        window.update(label, score)
        swapped.update(1 - label, score)
        stretched.update(label, math.exp(20 * score) - 1e3)
    assert swapped.roc_auc == pytest.approx(1 - window.roc_auc, abs=1e-15)
    assert stretched.roc_auc == window.roc_auc


def test_the_count_of_pairs_never_overflows():
    """Counts are ints of any size: here a quotient of numbers beyond int64."""
    window = SlidingWindow(4)
    read_each(window, [(0, 0.25), (1, 0.5), (1, 0.125)])
    window._lists.won += 2**70
    window._lists.pairs += 2**71
    window.update(1, 0.75)
    assert type(window._lists.won) is int
    assert window._lists.won == 2**70 + 4


def test_few_different_scores_share_their_objects():
    """A large window of rounded scores holds each once, until there are too many of them."""
    y_true, y_score = stream(13_000, places=1)
    window = SlidingWindow(12_500)
    window.update_many(y_true, y_score)
    read_each(window, [(0, 0.5)] * 10)
    blocks = window._blocks._neg._blocks
    assert len({id(score) for block in blocks for score in block}) <= 12
    read_each(window, list(zip(*(column.tolist() for column in stream(2_500)), strict=True)))
    assert window._blocks._sharing.objects is None
    window._check()


@given(
    st.lists(st.integers(0, 12), max_size=40),
    st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=80),
    st.integers(1, 4),
)
def test_a_list_in_blocks_is_a_sorted_list(values, changes, shortest):
    """Adding, removing and ranking, with ties that reach over many blocks."""
    plain = sorted(float(value) for value in values)
    block_list._SHORTEST, before = shortest, block_list._SHORTEST
    try:
        found = BlockList(list(plain), 0)
    finally:
        block_list._SHORTEST = before
    for is_added, value in changes:
        score = float(value)
        if is_added:
            found.add(score)
            insort(plain, score)
        elif score in plain:
            found.remove(score)
            plain.remove(score)
        assert found.is_in_order()
        assert found.to_array().tolist() == plain
        for other in range(-1, 14):
            wanted = bisect_left(plain, other) + bisect_right(plain, other)
            assert found.twice_below(float(other)) == wanted


@pytest.mark.parametrize("break_it", ["won", "pairs", "neg", "scores"])
def test_the_check_sees_what_is_wrong(break_it):
    """`_check` recomputes from the events: a count or a list that is off is found."""
    window = SlidingWindow(3)
    read_each(window, [(0, 0.25), (1, 0.5), (1, 0.125)])
    window._check()
    found = getattr(window._lists, break_it)
    if isinstance(found, int):
        setattr(window._lists, break_it, found + 1)
    else:
        found[0] = 0.375
    with pytest.raises(AssertionError, match="must follow from its events, got wrong"):
        window._check()


def test_constants_are_where_the_documentation_says():
    """The docstring tells the limits that the code has."""
    text = inspect.getdoc(SlidingWindow)
    assert f"up to {adapting.LARGEST_LISTS:,}" in text
    assert f"for every {adapting.PATIENCE_SHARE:,} events" in text
    assert f"up to {adapting.MOST_PATIENCE}, to change it" in text
    assert sorted_arrays._MERGED_SHARE > 1
