"""The contract of scales: monotone, exact edges, one mechanism for one score and for many."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import LARGEST, below, beside, random_floats

from streamauc import Scale

BITS = (1, 3, 7, 9, 12)
BOUNDED = [make(bits=bits) for make in (Scale.probability, Scale.real) for bits in BITS]
ALL = [*BOUNDED, Scale.exact()]
SPECIAL = (0.0, -0.0, 5e-324, 2.3e-308, 2.0**-65, 2.0**-64, 0.5, math.nextafter(1, 0), 1.0)
SPECIAL_REAL = (*SPECIAL, *(-x for x in SPECIAL), 2.0**64, -(2.0**64), LARGEST, -LARGEST)


def special(scale):
    """Return the scores at which things change, and their neighbours."""
    return beside(SPECIAL if scale.kind == "probability" else SPECIAL_REAL, scale)


def assert_edges(scale, bins):
    """`score >= edge(b)` exactly when `bin(score) >= b`, by the two floats beside each edge."""
    edges = scale.lower_edges(bins)
    beyond = np.isinf(edges)
    assert (bins[beyond] > scale.bin(scale.high)).all()
    assert (bins[~beyond] <= scale.bin(scale.high)).all()
    edges, bins = edges[~beyond], bins[~beyond]
    assert (scale.bins(edges) >= bins).all()
    lower = below(edges)
    inside = lower >= scale.low
    assert (scale.bins(lower[inside]) < bins[inside]).all()
    assert (edges[~inside] == scale.low).all()


@pytest.mark.parametrize("scale", BOUNDED, ids=repr)
def test_every_edge_is_exact_one_ulp_apart(scale):
    """Every bin there is, and some beyond both ends, begins exactly at its edge."""
    bins = np.arange(-3, scale.n_bins + 4)

    assert_edges(scale, bins)
    assert (np.diff(scale.lower_edges(bins[:-4])) >= 0).all()


def test_every_edge_of_the_exact_scale_is_the_score_itself():
    """Bin and score are the same number in two forms, over all finite floats."""
    scale = Scale.exact()
    scores = random_floats(np.random.default_rng(1), -LARGEST, LARGEST, 300_000)

    assert np.array_equal(scale.lower_edges(scale.bins(scores)), scores)
    assert scale.lower_edges([-(2**63), 2**63 - 1]).tolist() == [-LARGEST, math.inf]
    assert_edges(scale, scale.bins(scores))


@pytest.mark.parametrize("scale", ALL, ids=repr)
def test_bins_are_monotone_and_lie_between_the_ends(scale):
    """A larger score never has a smaller bin, over random bit patterns and special values."""
    drawn = random_floats(np.random.default_rng(2), scale.low, scale.high, 500_000)
    bins = scale.bins(np.sort(np.concatenate([drawn, special(scale)])))

    assert (np.diff(bins) >= 0).all()
    if scale.n_bins is not None:
        assert bins.min() >= 0
        assert bins.max() == scale.n_bins - 1


@pytest.mark.parametrize("kind", ["probability", "real"])
def test_runs_of_consecutive_floats_are_monotone(kind):
    """No bin falls back within a thousand neighbours of any special value."""
    scale = getattr(Scale, kind)(bits=12)
    exact = Scale.exact()
    for value in special(scale):
        run = exact.lower_edges(exact.bin(value) + np.arange(-500, 500))
        run = run[(run >= scale.low) & (run <= scale.high)]
        assert (np.diff(scale.bins(run)) >= 0).all()


@pytest.mark.parametrize(
    ("scale", "size"),
    [
        (Scale.probability(), 1_000_000),
        (Scale.real(), 1_000_000),
        (Scale.probability(bits=12, thresholds=(0.1, 0.7)), 200_000),
        (Scale.probability(bits=1), 100_000),
        (Scale.real(bits=3, thresholds=(-1.0, 0.0)), 200_000),
        (Scale.exact(), 50_000),
    ],
    ids=repr,
)
def test_one_score_and_many_agree_bit_for_bit(scale, size):
    """`bin` and `bins` give the same bin for millions of random bit patterns."""
    rng = np.random.default_rng(3)
    drawn = random_floats(rng, scale.low, scale.high, size // 2)
    plain = rng.uniform(0, 1, size // 2)
    scores = np.concatenate([drawn, plain, special(scale)])

    assert list(map(scale.bin, scores.tolist())) == scale.bins(scores).tolist()


@given(st.floats(0, 1), st.sampled_from(BITS))
def test_one_probability_and_many_agree(score, bits):
    """The same on the values that Hypothesis tries first."""
    scale = Scale.probability(bits=bits)

    assert scale.bin(score) == scale.bins([score])[0]


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(BITS))
def test_one_real_score_and_many_agree(score, bits):
    """The same for any finite float, and on the exact scale."""
    for scale in (Scale.real(bits=bits), Scale.exact()):
        assert scale.bin(score) == scale.bins([score])[0]


@pytest.mark.parametrize("scale", BOUNDED, ids=repr)
def test_trusted_bins_are_the_bins(scale):
    """`resolved_bins` answers only where it agrees with `bins`, and always for plain scores."""
    with_threshold = scale.with_thresholds((0.3,))
    rng = np.random.default_rng(4)
    plain = rng.uniform(0.001, 0.999, 1000)
    plain[:3] = 0.3, math.nextafter(0.3, 0), math.nextafter(0.3, 1)
    out = np.empty(1000, dtype=np.int64)
    if with_threshold.resolved_bins(plain, out=out):
        assert np.array_equal(out, with_threshold.bins(plain))
    else:
        assert scale.kind == "real"
    for bad in (math.nan, math.inf, -math.inf, -0.1, 1.1, -5e-324, 2.0, -math.nan, 0.0, -0.0, 1.0):
        scores = plain.copy()
        scores[17] = bad
        assert not with_threshold.resolved_bins(scores, out=out)


def test_known_bins():
    """Half is an edge at every resolution, an octave of the odds has 2**bits bins, 1 its own."""
    for bits in BITS:
        scale = Scale.probability(bits=bits)
        assert scale.lower_edges([scale.bin(0.5)]).tolist() == [0.5]
        assert scale.bin(0.8) - scale.bin(0.5) == 2 * 2**bits
        assert scale.bin(1.0) == scale.n_bins - 1
        assert scale.bin(math.nextafter(1, 0)) < scale.bin(1.0)
        real = Scale.real(bits=bits)
        assert real.bin(6.0) - real.bin(3.0) == 2**bits
        assert real.bin(-3.0) - real.bin(-6.0) == 2**bits
        assert real.bin(1e300) == real.bin(LARGEST) == real.n_bins - 1
        assert real.bin(1e-30) == real.bin(-1e-30) == real.bin(0.0)


@pytest.mark.parametrize("scale", ALL, ids=repr)
def test_negative_zero_is_zero(scale):
    """-0.0 falls where 0.0 falls, alone and in an array."""
    assert scale.bin(-0.0) == scale.bin(0.0)
    assert scale.bins([-0.0, 0.0]).tolist() == [scale.bin(0.0)] * 2


def near_edges(scale):
    """Scores on an edge of the scale or one float beside it, or anywhere."""
    last = scale.n_bins - 1
    edge = st.integers(0, last).map(lambda b: float(scale.lower_edges([b])[0]))
    ways = st.sampled_from([-math.inf, 0.0, math.inf])

    def shifted(pair):
        value, way = pair
        return value if way == 0 else math.nextafter(value, way)

    moved = st.tuples(edge, ways).map(shifted)
    anywhere = st.floats(scale.low, scale.high)
    return st.one_of(moved, anywhere).filter(lambda x: scale.low < x <= scale.high)


@pytest.mark.parametrize(
    "plain", [Scale.probability(bits=3), Scale.real(bits=3), Scale.probability()], ids=repr
)
def test_thresholds_are_extra_exact_edges(plain):
    """Any thresholds, also on or beside an edge, move a bin up by those at or below the score."""
    scores = near_edges(plain)

    @given(st.lists(scores, min_size=1, max_size=5), st.lists(scores, max_size=10))
    def check(thresholds, y_score):
        scale = plain.with_thresholds(thresholds)
        cut = np.array(scale.thresholds)
        assert list(scale.thresholds) == sorted(set(thresholds))
        y_score = np.concatenate([y_score, beside(cut, plain)])
        rank = (y_score[:, None] >= cut).sum(axis=1)
        assert np.array_equal(scale.bins(y_score), plain.bins(y_score) + rank)
        assert [scale.bin(x) for x in y_score.tolist()] == scale.bins(y_score).tolist()
        first = scale.bins(cut)
        assert np.array_equal(scale.lower_edges(first), cut)
        assert_edges(scale, (first[:, None] + np.arange(-3, 4)).ravel())

    check()


@pytest.mark.parametrize("make", [Scale.probability, Scale.real])
def test_every_edge_stays_exact_with_thresholds(make):
    """All bins of a scale with thresholds on, beside and between edges begin at their edge."""
    plain = make(bits=7)
    edge = float(plain.lower_edges([plain.bin(0.3)])[0])
    cut = (edge, math.nextafter(edge, 1), math.nextafter(edge, 0), 0.7, 1.0, 1e-300)
    scale = make(bits=7, thresholds=cut)

    assert scale.n_bins == plain.n_bins + len(cut)
    assert_edges(scale, np.arange(-2, scale.n_bins + 2))


@pytest.mark.parametrize("make", [Scale.probability, Scale.real])
def test_coarsening_is_a_shift(make):
    """Bins shifted by d bits are the bins of the scale with d bits less, edges included."""
    for fine in BITS:
        scale = make(bits=fine)
        scores = np.concatenate(
            [random_floats(np.random.default_rng(5), scale.low, scale.high, 50_000), special(scale)]
        )
        edges = scale.lower_edges(np.arange(scale.n_bins))
        scores = np.concatenate([scores, beside(edges, scale)])
        for coarse in (bits for bits in BITS if bits <= fine):
            target = make(bits=coarse)
            shifted = scale.bins(scores) >> (fine - coarse)
            assert np.array_equal(shifted, target.bins(scores))
            assert np.array_equal(scale.rebin(scale.bins(scores), target), target.bins(scores))


@pytest.mark.parametrize("make", [Scale.probability, Scale.real])
def test_rebinning_equals_binning_on_the_coarser_scale(make):
    """Thresholds may be lost on the way, kept ones stay exact."""
    scores = near_edges(make(bits=3))

    @given(st.data(), st.sampled_from([(7, 7), (7, 3), (3, 1), (12, 7)]))
    def check(data, bits):
        thresholds = data.draw(st.lists(scores, max_size=4, unique=True))
        kept = [value for value in thresholds if data.draw(st.booleans())]
        fine, target = make(bits=bits[0], thresholds=thresholds), make(bits=bits[1])
        target = target.with_thresholds(kept)
        y_score = beside([*data.draw(st.lists(scores, max_size=10)), *thresholds, 0.0], fine)
        assert np.array_equal(fine.rebin(fine.bins(y_score), target), target.bins(y_score))

    check()


def test_common_takes_the_smaller_bits_and_the_shared_thresholds():
    """The finest scale to which both can be brought, the same whoever is asked."""
    left = Scale.probability(bits=7, thresholds=(0.1, 0.5, 0.9))
    right = Scale.probability(bits=9, thresholds=(0.9, 0.1, 0.2))

    assert left.common(right) == right.common(left)
    assert left.common(right) == Scale.probability(bits=7, thresholds=(0.1, 0.9))
    assert left.common(left) == left
    assert Scale.exact().common(Scale.exact()) == Scale.exact()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, np.int64, np.bool_])
def test_narrow_numbers_are_widened_first(dtype):
    """A float32 0.7 lies below a threshold of 0.7, whatever the width it arrives in."""
    scale = Scale.probability(thresholds=(0.7, math.nextafter(float(np.float32(0.3)), 1)))
    values = np.array([0.7, 0.3, 0.1, 1, 0]).astype(dtype)
    wide = values.astype(np.float64)

    assert np.array_equal(scale.bins(values), scale.bins(wide))
    assert [scale.bin(value) for value in values] == scale.bins(wide).tolist()
    assert [scale.bin(value) for value in values.tolist()] == scale.bins(wide).tolist()


def test_arrays_of_any_layout_are_read():
    """Strides, byte order, lists and objects make no difference, and nothing is written to."""
    scores = np.random.default_rng(6).uniform(0, 1, 100)
    kept = scores.copy()
    for scale in (Scale.probability(), Scale.real(), Scale.exact()):
        want = scale.bins(scores)
        assert np.array_equal(scale.bins(scores[::-1]), want[::-1])
        assert np.array_equal(scale.bins(scores[::3]), want[::3])
        for form in (scores.astype(">f8"), scores.tolist(), scores.astype(object)):
            assert np.array_equal(scale.bins(form), want)
        assert scale.bins([]).size == 0
    assert np.array_equal(scores, kept)


PROBABILITY = "must be in [0, 1] on probability(bits=7), got {}; Scale.real takes any finite score"


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (math.nan, "score must be finite, got nan"),
        (math.inf, "score must be finite, got inf"),
        (np.float32(-np.inf), "score must be finite, got -inf"),
        (1.5, "score " + PROBABILITY.format("1.5")),
        (np.float64(-0.1), "score " + PROBABILITY.format("-0.1")),
        (-5e-324, "score " + PROBABILITY.format("-5e-324")),
    ],
)
def test_a_refused_score_is_named(score, message):
    """The message says what is wanted, what came, and which scale would take it."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        Scale.probability().bin(score)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("y_score", "message"),
    [
        (
            [0.5, math.nan, math.inf],
            "y_score must be finite, got nan at index 1 (2 of 3 values are bad)",
        ),
        ([0.5, -math.inf], "y_score must be finite, got -inf at index 1 (1 of 2 values are bad)"),
        (
            [0.1, 0.2, 2.0, 3.0],
            f"y_score {PROBABILITY.format('2.0')} at index 2 (2 of 4 values are bad)",
        ),
        ([0.5, None], "y_score must be finite, got nan at index 1 (1 of 2 values are bad)"),
        ([[0.5]], "y_score must be 1-D, got shape (1, 1)"),
        (0.5, "y_score must be 1-D, got shape ()"),
    ],
)
def test_refused_scores_are_named_with_their_index(y_score, message):
    """The first bad value of a batch, its index, and how many more there are."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        Scale.probability().bins(y_score)

    assert str(caught.value) == message


def test_text_and_huge_integers_are_no_scores():
    """Text is not parsed, and an integer beyond float64 is a ValueError like any bad value."""
    scale = Scale.real()
    with pytest.raises(TypeError, match=r"score must be a number, got '0\.5'"):
        scale.bin("0.5")
    with pytest.raises(TypeError, match="y_score must hold numbers, got dtype <U3"):
        scale.bins(["0.5"])
    with pytest.raises(TypeError, match="y_score must hold numbers, got 'a' at index 1"):
        scale.bins([None, "a"])
    with pytest.raises(ValueError, match="score must fit a float64, got 1000"):
        scale.bin(10**400)
    with pytest.raises(ValueError, match="y_score must fit a float64, got 1000"):
        scale.bins([1, 10**400])
    with pytest.raises(ValueError, match="threshold must fit a float64, got 1000"):
        Scale.real(thresholds=(10**400,))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Scale.probability(bits=0), ValueError, "bits must be in [1, 12], got 0"),
        (lambda: Scale.real(bits=13), ValueError, "bits must be in [1, 12], got 13"),
        (lambda: Scale.real(bits=7.0), TypeError, "bits must be an integer, got 7.0"),
        (lambda: Scale.real(bits=True), TypeError, "bits must be an integer, got True"),
        (
            lambda: Scale.probability(thresholds=(0.0,)),
            ValueError,
            "threshold must be in (0, 1] on probability, got 0.0",
        ),
        (
            lambda: Scale.probability(thresholds=(0.5, 1.2)),
            ValueError,
            "threshold must be in (0, 1] on probability, got 1.2",
        ),
        (
            lambda: Scale.real(thresholds=(math.nan,)),
            ValueError,
            "threshold must be finite, got nan",
        ),
        (
            lambda: Scale.real(thresholds=("a",)),
            TypeError,
            "threshold must be a number, got 'a'",
        ),
        (
            lambda: Scale.probability().common(Scale.real(bits=3)),
            ValueError,
            "cannot merge histograms of different scales: probability(bits=7) and real(bits=3)",
        ),
        (
            lambda: Scale.exact().common(Scale.real(thresholds=(1,))),
            ValueError,
            "cannot merge histograms of different scales:"
            " exact() and real(bits=7, thresholds=(1.0,))",
        ),
    ],
)
def test_bad_settings_are_named(make, error, message):
    """A scale that cannot be made says why."""
    with pytest.raises(error) as caught:
        make()

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "scale",
    [*ALL, Scale.probability(thresholds=(0.2, 0.7)), Scale.real(thresholds=(-3,))],
    ids=repr,
)
def test_copies_and_pickles_are_equal(scale):
    """Equality and hash follow the settings, through copy and pickle."""
    scale.lower_edges([0])  # a filled cache is no part of it
    for other in (copy.copy(scale), copy.deepcopy(scale), pickle.loads(pickle.dumps(scale))):  # noqa: S301
        assert other == scale
        assert hash(other) == hash(scale)
        assert repr(other) == repr(scale)
        assert other.bin(0.7) == scale.bin(0.7)


def test_different_settings_are_different_scales():
    """Kind, bits and thresholds all count, the order and repetition of thresholds do not."""
    scales = {*ALL, Scale.probability(thresholds=(0.5,)), Scale.real(thresholds=(0.5,))}

    assert len(scales) == len(ALL) + 2
    assert Scale.real(thresholds=(2, 1, 2.0)) == Scale.real(thresholds=(1, 2))
    assert Scale.real() != "real(bits=7)"
