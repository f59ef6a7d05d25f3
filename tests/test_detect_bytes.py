"""A detector as bytes: what was written goes on as if nothing had been, the rest is refused."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamauc import Scale, ScoreHistogram
from streamauc.change.detect import PrevalenceDetector
from streamauc.change.reference import ReferencePanes
from streamauc.codec import DetectorState, decode_detector, encode_detector
from streamauc.codec.message import DETECTOR, seal


def reference(n_days=4, seed=0):
    rng = np.random.default_rng(seed)
    n = rng.integers(100, 200, 24 * n_days)
    n_pos = rng.binomial(n, 0.1 * (1 + 0.3 * rng.random(n.size)))
    return ReferencePanes(np.arange(n.size), n_pos, n - n_pos)


SETTINGS = [
    {"reference": 0.1},
    {"reference": (100, 900), "tolerance": 0.1, "history": 3, "ratios": (1.5, 2)},
    {"reference": reference(), "overdispersion": "estimate", "pane_seconds": 3600},
    {"reference": reference(), "seasonal": "1d", "pane_seconds": 3600, "overdispersion": 2},
    {"reference": {1: 0.2, 2: 0.3, 3: (5, 5)}, "seasonal": "1d", "pane_seconds": 3600},
]


def detector_of(arguments):
    return PrevalenceDetector(**arguments)


def steps(seed, n_panes):
    rng = np.random.default_rng(seed)
    for pane in range(n_panes):
        n = int(rng.integers(0, 80))
        yield pane, int(rng.binomial(n, 0.3)), n, float(rng.choice([0.5, 1.0], p=[0.1, 0.9]))


@pytest.mark.parametrize("arguments", SETTINGS)
def test_a_detector_read_back_goes_on(arguments):
    """At every pane, through an alarm and after a reset; byte for byte."""
    one = detector_of(arguments)
    for pane, k, n, coverage in steps(1, 60):
        other = PrevalenceDetector.from_bytes(one.to_bytes())
        assert other.to_bytes() == one.to_bytes()
        one.step(pane, k, n - k, coverage=coverage)
        other.step(pane, k, n - k, coverage=coverage)
        assert other.to_bytes() == one.to_bytes()
        assert (other.state, other.reason, other.alarm) == (one.state, one.reason, one.alarm)
        assert other.evidence.up.tolist() == one.evidence.up.tolist()
    assert one.alarm is not None
    for detector in (one, other):
        detector.acknowledge()
        detector.reset(arguments["reference"])
    assert other.to_bytes() == one.to_bytes()


def some_bytes():
    detector = detector_of(SETTINGS[3])
    for pane, k, n, coverage in steps(2, 30):
        detector.step(pane, k, n - k, coverage=coverage)
    return detector.to_bytes()


@pytest.mark.parametrize("place", range(0, len(some_bytes()), 7))
def test_altered_bytes_are_refused(place):
    """One bit anywhere, and every truncation."""
    data = bytearray(some_bytes())
    data[place] ^= 4
    with pytest.raises(ValueError, match="data "):
        PrevalenceDetector.from_bytes(bytes(data))
    with pytest.raises(ValueError, match="data "):
        PrevalenceDetector.from_bytes(some_bytes()[:place])


def test_other_messages_are_named():
    """A histogram is no detector, nor is one of tomorrow's."""
    data = ScoreHistogram.empty(Scale.exact()).to_bytes()
    with pytest.raises(ValueError, match="must hold a detector, got a histogram"):
        PrevalenceDetector.from_bytes(data)
    header = struct.pack("<4sBBIII", b"SAUC", 2, DETECTOR, 0, 0, zlib.crc32(b""))
    with pytest.raises(ValueError, match="version 2, newer"):
        PrevalenceDetector.from_bytes(header + struct.pack("<I", zlib.crc32(header)))


def changed(**tables):
    """Return the bytes of a detector with some of its tables replaced."""
    found = decode_detector(some_bytes())
    parts = {
        name: {**getattr(found, name), **tables.get(name, {})}
        for name in ("settings", "counters", "reals", "marks")
    }
    return encode_detector(DetectorState(**parts))


@pytest.mark.parametrize(
    "tables",
    [
        {"settings": {"pane_seconds": 0.0}},
        {"settings": {"pane_seconds": float("nan")}},
        {"settings": {"history": float("inf")}},
        {"settings": {"history": 1e300}},
        {"settings": {"history": 1e7}},
        {"settings": {"level": 2.0}},
        {"counters": {"n_lost": 1}},
        {"reals": {"nulls": []}},
        {"reals": {"nulls": [(0.5, 0.2, 0.3)] * 24}},
        {"reals": {"nulls": [(0.1, 0.2)] * 24}},
        {"reals": {"baseline": [(1.0, 2.0, 1.0)]}},
        {"reals": {"counted": [(-1.0, 2.0)]}},
        {"marks": {"mixture": []}},
        {"marks": {"mixture": [(0, (float("nan"), 0.0, 0.0, 0.0))] * 12}},
        {"marks": {"alarm": [(0, (1.0, 2.0, 3.0))]}},
        {"marks": {"history": [(0, (1.0,))]}},
    ],
    ids=str,
)
def test_states_that_no_detector_has_are_refused(tables):
    """Behind right checksums, too."""
    PrevalenceDetector.from_bytes(changed())
    with pytest.raises(ValueError, match=r"must|data is malformed|unpack|convert"):
        PrevalenceDetector.from_bytes(changed(**tables))


@given(st.data())
@settings(deadline=None)
def test_spoilt_bodies_in_a_valid_seal_are_read_or_refused(data):
    """Never another exception, and what is read can be stepped."""
    body = bytearray(zlib.decompress(some_bytes()[22:]))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        detector = PrevalenceDetector.from_bytes(seal(DETECTOR, bytes(body)))
    except ValueError:
        return
    detector.step(10**6, 5, 50)
    assert detector.reason
