"""The byte format: what was written comes back, anything else is a ValueError that says which."""

import json
import struct
import tracemalloc
import zlib
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import LARGEST, events, histogram_of, random_floats, weighted_events

from streamauc import Scale, ScoreHistogram
from streamauc.codec import (
    SeriesState,
    decode_series,
    decode_varints,
    encode_series,
    encode_varints,
)
from streamauc.codec.message import seal
from streamauc.storage import WideCounts

SCALES = [
    Scale.probability(),
    Scale.probability(bits=12, thresholds=(0.1, 0.7)),
    Scale.real(bits=1),
    Scale.real(thresholds=(-3.0, 0.0, 5.5)),
    Scale.exact(),
]
HISTOGRAM, SERIES = 1, 2
numbers = st.integers(0, 2**64 - 1)


def unpacked(data):
    """Return the body of a message, read as the docstring of `codec` describes it."""
    magic, version, _, size, packed_size, checksum, header_sum = struct.unpack(
        "<4sBBIIII", data[:22]
    )
    packed = data[22:]
    assert (magic, version, packed_size) == (b"SAUC", 1, len(packed))
    assert (checksum, header_sum) == (zlib.crc32(packed), zlib.crc32(data[:18]))
    body = zlib.decompress(packed)
    assert len(body) == size
    return body


class PlainReader:
    """A reader of bodies in plain Python, from the docstring of `codec` alone."""

    def __init__(self, body):
        self.rest = body

    def take(self, size):
        """Return the next bytes."""
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def varint(self):
        """Join groups of seven bits, lowest first."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        """Read ``2 * i`` as i and ``-2 * i - 1`` as a negative i."""
        value = self.varint()
        return value // 2 if value % 2 == 0 else -(value + 1) // 2

    def float(self):
        """Read eight bytes."""
        return struct.unpack("<d", self.take(8))[0]

    def histogram(self):
        """Return kind, bits, thresholds, bins, counts and squares."""
        kind, bits = self.take(1)[0], self.take(1)[0]
        thresholds = [self.float() for _ in range(self.varint())]
        n_classes, weighted, n_bins = self.varint(), self.take(1)[0], self.varint()
        bins = [self.zigzag()] if n_bins else []
        for _ in range(n_bins - 1):
            bins.append(bins[-1] + self.varint())
        read = self.float if weighted else self.varint
        tables = [
            [[read() for _ in range(n_bins)] for _ in range(n_classes)]
            for _ in range(2 if weighted else 1)
        ]
        assert self.rest == b""
        return kind, bits, thresholds, bins, *tables


def assert_round_trip(histogram):
    """Check that it comes back equal and that a plain reader finds the same numbers."""
    data = histogram.to_bytes()
    again = ScoreHistogram.from_bytes(data)
    assert again == histogram
    assert again.counts.dtype == histogram.counts.dtype
    assert again.n_classes == histogram.n_classes
    assert again.to_bytes() == data
    scale = histogram.scale
    kind, bits, thresholds, bins, *tables = PlainReader(unpacked(data)).histogram()
    assert ("probability", "real", "exact")[kind] == scale.kind
    assert (bits, tuple(thresholds)) == (scale.bits, scale.thresholds)
    assert bins == histogram.bins.tolist()
    assert tables[0] == histogram.counts.tolist()
    if histogram.squares is not None:
        assert tables[1] == histogram.squares.tolist()


@given(events, st.sampled_from(SCALES))
def test_histograms_come_back(rows, scale):
    """Every scale, and the format is the one that is described."""
    assert_round_trip(histogram_of(rows, scale))


@given(weighted_events, st.sampled_from(SCALES))
def test_weighted_histograms_come_back(rows, scale):
    """Weights and squared weights to the last bit."""
    assert_round_trip(histogram_of(rows, scale))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 200])
@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_any_number_of_classes_comes_back(n_classes, scale):
    """Also of no events at all."""
    rng = np.random.default_rng(12)
    labels, scores = rng.integers(0, n_classes, 300), rng.uniform(0, 1, 300)

    assert_round_trip(ScoreHistogram.empty(scale, n_classes))
    assert_round_trip(ScoreHistogram.from_scores(labels, scores, scale=scale, n_classes=n_classes))
    assert_round_trip(
        ScoreHistogram.from_scores(
            labels, scores, scale=scale, n_classes=n_classes, weights=rng.uniform(0, 2, 300)
        )
    )


@given(st.lists(st.integers(0, 2**63 - 1), min_size=4, max_size=4))
def test_huge_counts_come_back(counts):
    """Counts up to 2**63 - 1."""
    table = np.array(counts).reshape(2, 2)
    assert_round_trip(ScoreHistogram(Scale.probability(), WideCounts(np.array([200, 999]), table)))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20, unique=True)
)
@example([-LARGEST, LARGEST])
@example([-LARGEST, -5e-324, 0.0, 5e-324, LARGEST])
@example([0.1, 0.30000000000000004, 1e300])
def test_exact_bins_come_back(scores):
    """Distances of more than 2**53 and of more than 2**63 between bins lose nothing."""
    assert_round_trip(histogram_of([(1, score) for score in scores], Scale.exact()))


def test_many_exact_bins_come_back():
    """A long column of random bit patterns."""
    scores = random_floats(np.random.default_rng(13), -LARGEST, LARGEST, 3000)
    assert_round_trip(histogram_of([(k % 2, x) for k, x in enumerate(scores)], Scale.exact()))


@given(st.lists(numbers), st.binary(max_size=20))
@example([0, 127, 128, 2**14 - 1, 2**14, 2**63 - 1, 2**63, 2**64 - 1], b"")
def test_varints_come_back(values, more):
    """Any 64-bit numbers, each in as few bytes as it needs, whatever follows."""
    data = encode_varints(np.array(values, dtype=np.uint64))
    found, size = decode_varints(data + more, len(values))

    assert found.tolist() == values
    assert size == len(data) == sum(max(1, -(-value.bit_length() // 7)) for value in values)
    reader = PlainReader(data)
    assert [reader.varint() for _ in values] == values


@pytest.mark.parametrize(
    ("data", "n", "message"),
    [
        (b"\x80", 1, "1 numbers wanted, 0 follow"),
        (b"\x01\x80", 2, "2 numbers wanted, 1 follow"),
        (b"\xff" * 10 + b"\x01", 1, "a number is longer than 64 bits"),
        (b"\xff" * 9 + b"\x02", 1, "a number is longer than 64 bits"),
    ],
)
def test_bad_varints_are_refused(data, n, message):
    """Too few, and too long, also by a single bit."""
    with pytest.raises(ValueError, match=message):
        decode_varints(data, n)


@pytest.fixture(scope="module")
def samples():
    """Return messages of several kinds."""
    rows = [(1, 0.9), (0, 0.5), (1, 0.5), (0, 0.125), (0, 0.125)]
    return [
        histogram_of(rows, Scale.probability(thresholds=(0.7,))).to_bytes(),
        histogram_of([(*row, 0.3) for row in rows], Scale.real()).to_bytes(),
        histogram_of(rows, Scale.exact()).to_bytes(),
        ScoreHistogram.empty(Scale.exact(), 3).to_bytes(),
    ]


def test_every_truncation_is_refused(samples):
    """At whatever length a message is cut, it is an error that does not call it foreign."""
    for data in samples:
        for size in range(len(data)):
            with pytest.raises(ValueError, match=r"must hold a header|is truncated"):
                ScoreHistogram.from_bytes(data[:size])


def test_every_altered_byte_is_noticed(samples):
    """Any byte turned into any of several others is an error."""
    for data in samples:
        for place in range(len(data)):
            for flip in (1, 2, 16, 128, 255):
                altered = bytearray(data)
                altered[place] ^= flip
                with pytest.raises(ValueError, match=r"foreign bytes|was altered"):
                    ScoreHistogram.from_bytes(bytes(altered))


def sealed(body, kind=HISTOGRAM, *, size=None, version=1, packed=None):
    """Return a message around a body with right checksums."""
    packed = zlib.compress(body) if packed is None else packed
    size = len(body) if size is None else size
    header = struct.pack("<4sBBIII", b"SAUC", version, kind, size, len(packed), zlib.crc32(packed))
    return header + struct.pack("<I", zlib.crc32(header)) + packed


def body_of(
    *, kind=1, bits=7, thresholds=(), n_classes=2, weighted=0, n_bins=1, rest=b"\x08\x01\x01"
):
    """Return a histogram's body with any field wrong."""
    head = bytes((kind, bits, len(thresholds))) + b"".join(struct.pack("<d", x) for x in thresholds)
    numbers = encode_varints(np.array([n_classes], dtype=np.uint64))
    return head + numbers + bytes((weighted,)) + encode_varints(np.uint64([n_bins])) + rest


def test_a_body_made_by_hand_is_read():
    """The bodies that the next test spoils are right before."""
    assert seal(HISTOGRAM, body_of()) == sealed(body_of())
    assert ScoreHistogram.from_bytes(sealed(body_of())).totals.tolist() == [1, 1]


FLOAT = struct.Struct("<d")
WRONG_BODIES = {
    "is malformed: .* bytes wanted": b"",
    "is no kind of scale": body_of(kind=3),
    r"bits must be in \[1, 12\], got 13": body_of(bits=13),
    "threshold must be finite": body_of(thresholds=[float("nan")]),
    "0 classes": body_of(n_classes=0, n_bins=0, rest=b""),
    "4611686018427387904 classes": body_of(n_classes=2**62, n_bins=0, rest=b""),
    "weighted 2": body_of(weighted=2),
    "items stated, too few bytes follow": body_of(n_bins=2**62),
    "more counts stated than bytes": body_of(
        n_classes=60_000, n_bins=2, rest=b"\x08\x01" + b"\x01"
    ),
    "numbers wanted": body_of(n_classes=4),
    "1 bytes left over": body_of() + b"\x00",
    "bins do not increase": body_of(n_bins=2, rest=b"\x08\x00" + b"\x01" * 4),
    "a bin is none of": body_of(kind=0, n_bins=1, rest=b"\x07\x01\x01"),
    "bin is none of real": body_of(
        rest=encode_varints(np.uint64([2 * Scale.real().n_bins])) + b"\x01\x01"
    ),
    "bin is none of exact": body_of(kind=2, rest=b"\xff" * 9 + b"\x01\x01\x01"),
    r"a count is above 2\*\*63": body_of(rest=b"\x08" + b"\xff" * 9 + b"\x01" + b"\x01"),
    "weighted count is negative": body_of(
        weighted=1, rest=b"\x08" + b"".join(map(FLOAT.pack, (1, -1, 1, 1)))
    ),
    "negative, not finite, or beyond": body_of(
        weighted=1, rest=b"\x08" + b"".join(map(FLOAT.pack, (1, 1, 1, float("inf"))))
    ),
    "32 bytes wanted|16 bytes wanted": body_of(weighted=1),
}


@pytest.mark.parametrize("message", WRONG_BODIES)
def test_a_sealed_but_wrong_body_is_refused(message):
    """Checksums that are right do not make a body right."""
    with pytest.raises(ValueError, match=message):
        ScoreHistogram.from_bytes(sealed(WRONG_BODIES[message]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "data must hold a header of 22 bytes, got 0"),
        (b"SA", "data must hold a header of 22 bytes, got 2"),
        (b"PAR1" + bytes(50), "data must begin with b'SAUC', got b'PAR1': foreign bytes"),
        (b"\x80\x04", "data must begin with b'SAUC', got b'\\x80\\x04': foreign bytes"),
        (
            sealed(body_of(), version=2),
            "data has version 2, newer than this program's 1",
        ),
        (sealed(body_of(), SERIES), "data must hold a histogram, got a series"),
        (sealed(body_of(), 9), "data must hold a histogram, got a 9"),
        (sealed(body_of()) + b"\x00", "data was altered: 1 bytes follow its end"),
        (
            sealed(body_of(), size=2**31),
            "data must unpack to at most 1073741824 bytes, got 2147483648",
        ),
        (
            sealed(body_of(), size=5),
            "data was altered: its body is not the 5 bytes that it states",
        ),
        (
            sealed(body_of(), size=500),
            "data was altered: its body is not the 500 bytes that it states",
        ),
        (
            sealed(body_of(), packed=zlib.compress(body_of()) + b"more"),
            "data was altered: its body is not the 9 bytes that it states",
        ),
        (
            sealed(bytes(10**7), size=9),
            "data was altered: its body is not the 9 bytes that it states",
        ),
    ],
)
def test_other_bytes_say_which(data, message):
    """Foreign, newer, of another kind, with something behind, or larger than they say."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        ScoreHistogram.from_bytes(data)

    assert str(caught.value) == message


def test_a_bomb_is_not_unpacked():
    """A small message that would unpack to 64 MB is refused before it does."""
    packer = zlib.compressobj()
    packed = b"".join(packer.compress(bytes(2**20)) for _ in range(64)) + packer.flush()
    data = sealed(b"", size=100, packed=packed)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="is not the 100 bytes that it states"):
            ScoreHistogram.from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def read_or_refused(decode, data):
    """Return what bytes hold, or None where they are refused in the documented way."""
    try:
        return decode(data)
    except ValueError:
        return None


bodies = st.one_of(
    st.binary(max_size=100),
    st.tuples(
        st.sampled_from([b"\x00\x07\x00", b"\x01\x01\x00", b"\x02\x34\x00"]),
        st.lists(st.one_of(numbers, st.integers(0, 3)), max_size=20),
        st.binary(max_size=20),
    ).map(lambda t: t[0] + encode_varints(np.array(t[1], dtype=np.uint64)) + t[2]),
)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    """Never another exception, with and without the magic in front."""
    for decode in (ScoreHistogram.from_bytes, decode_series):
        read_or_refused(decode, data)
        read_or_refused(decode, b"SAUC" + data)


@given(bodies)
def test_random_bodies_in_a_valid_seal_are_read_or_refused(body):
    """What is read from a random body is a histogram in order."""
    read_or_refused(decode_series, seal(SERIES, body))
    histogram = read_or_refused(ScoreHistogram.from_bytes, seal(HISTOGRAM, body))
    if histogram is None:
        return
    assert np.isfinite(histogram.lower_edges()).all()
    assert (np.diff(histogram.bins) > 0).all()
    assert (histogram.counts >= 0).all()
    assert ScoreHistogram.from_bytes(histogram.to_bytes()) == histogram


def state_of(scale, rows, **changes):
    """Return a small series."""
    counts = histogram_of(rows, scale).wide
    settings = {
        "scale": scale,
        "event_clock": True,
        "tiers": ((60, 172800.0), (3600, float("inf"))),
        "classes": ("no", "yes"),
        "observed_since": -12.5,
        "latest": float("-inf"),
        "horizons": (-5, 2**40),
        "tallies": {"n_accepted": 2**60},
        "panes": [("labelled", 0, -3, counts), ("predicted", 1, 2**50, counts)],
    }
    return SeriesState(**(settings | changes))


def same_state(left, right):
    """Return whether two states agree in every field."""
    for name in (field.name for field in fields(SeriesState) if field.name != "panes"):
        assert getattr(left, name) == getattr(right, name)
    assert len(left.panes) == len(right.panes)
    for ours, theirs in zip(left.panes, right.panes, strict=True):
        assert ours[:3] == theirs[:3]
        assert ScoreHistogram(left.scale, ours[3]) == ScoreHistogram(right.scale, theirs[3])
    return True


@given(events, st.sampled_from(SCALES), st.sampled_from([None, ("a", "b"), (0, 1), (-1.5, True)]))
def test_series_come_back(rows, scale, classes):
    """Settings, tallies and panes, with negative indices and infinite times."""
    state = state_of(scale, rows, classes=classes)
    data = encode_series(state)

    assert same_state(decode_series(data), state)
    with pytest.raises(ValueError, match="data must hold a histogram, got a series"):
        ScoreHistogram.from_bytes(data)


def test_an_altered_series_is_refused():
    """Truncated or altered at every byte."""
    data = encode_series(state_of(Scale.exact(), [(1, 0.5), (0, 0.1)]))
    for place in range(len(data)):
        with pytest.raises(ValueError, match=r"must hold a header|is truncated"):
            decode_series(data[:place])
        altered = bytearray(data)
        altered[place] ^= 255
        with pytest.raises(ValueError, match=r"foreign bytes|was altered"):
            decode_series(bytes(altered))


@pytest.mark.parametrize(
    "text",
    [b"{", b"[1]", b"3", b"{}", b'"ab"', b"\xff", b"[" * 100_000, b"1" * 5000, b"[1,2,3]"],
    ids=lambda text: repr(text[:8]),
)
@pytest.mark.parametrize("which", ["classes", "tallies"])
def test_bad_text_in_a_series_is_refused(text, which):
    """Broken, deep, mistyped or undecodable text is a ValueError like everything else."""
    if (text, which) == (b"{}", "tallies"):
        text = b'{"n": 1.5}'
    state = state_of(Scale.exact(), [])
    body = unpacked(encode_series(state))
    old = json.dumps(state.classes if which == "classes" else state.tallies).encode()
    length = encode_varints(np.uint64([len(text)]))
    spoilt = body.replace(bytes((len(old),)) + old, length + text)
    assert spoilt != body
    with pytest.raises(ValueError, match=r"malformed|can't decode"):
        decode_series(seal(SERIES, spoilt))


@given(st.data())
def test_spoilt_series_in_a_valid_seal_are_read_or_refused(data):
    """A few bytes changed, cut out or put in behind the checksums: never another exception."""
    body = bytearray(unpacked(encode_series(state_of(Scale.probability(), [(1, 0.5)]))))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body) - 1))
        stop = place + data.draw(st.integers(0, 3))
        body[place:stop] = data.draw(st.binary(max_size=3))
    read_or_refused(decode_series, seal(SERIES, bytes(body)))


def test_a_pane_of_a_tier_that_is_not_there_is_refused():
    """Panes name one of the tiers."""
    state = state_of(Scale.exact(), [])
    state = state_of(Scale.exact(), [], panes=[("labelled", 2, 0, state.panes[0][3])])
    with pytest.raises(ValueError, match="2 where less than 2 is possible"):
        decode_series(encode_series(state))


def fraud_like(rng):
    """Return 1 % positives, all near 0."""
    labels = rng.uniform(size=1000) < 0.01
    return labels, np.where(labels, rng.beta(2, 20, 1000), rng.beta(0.5, 200, 1000))


DISTRIBUTIONS = {
    "uniform": lambda rng: (rng.uniform(size=1000) < 0.5, rng.uniform(size=1000)),
    "fraud": fraud_like,
    "logistic": lambda rng: (
        rng.uniform(size=1000) < 0.3,
        1 / (1 + np.exp(-rng.normal(0, 3, 1000))),
    ),
    "all exponents": lambda rng: (rng.uniform(size=1000) < 0.5, 2.0 ** -rng.uniform(0, 64, 1000)),
    "two decimals": lambda rng: (rng.uniform(size=1000) < 0.5, rng.integers(0, 101, 1000) / 100),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_pane_of_a_thousand_events_is_small(name):
    """Under 1.2 kB whatever the distribution of the scores."""
    labels, scores = DISTRIBUTIONS[name](np.random.default_rng(14))
    histogram = ScoreHistogram.from_scores(labels, scores, scale=Scale.probability())

    assert len(histogram.to_bytes()) < 1200
