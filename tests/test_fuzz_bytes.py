"""Bytes from outside: whatever they are, they are read or refused with a ValueError, never worse.

A million tries with ``STREAMAUC_LONG=1``, twenty thousand without.
"""

import os

import numpy as np
import pytest

from streamauc import (
    Monitor,
    PrevalenceDetector,
    RankingDetector,
    Scale,
    ScoreHistogram,
    ShiftDetector,
)
from streamauc.codec import decode_panes, encode_pane
from streamauc.codec.message import DETECTOR, HISTOGRAM, SERIES, seal, unseal

N_TRIES = 1_000_000 if os.environ.get("STREAMAUC_LONG") == "1" else 20_000


def histogram():
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 2, 40), rng.integers(0, 9, 40) / 8
    return ScoreHistogram.from_scores(labels, scores, scale=Scale.probability(thresholds=(0.5,)))


def monitor():
    found = Monitor(clock="event", classes=("good", "bad"))
    found.update_many(["good", "bad", "bad"], [0.1, 0.9, 0.4], [0, 60, 7_000], [1, 2, 0.5])
    found.predict("a", 0.5, 7_000.0)
    found.predict("b", 0.7, 7_001.0)
    found.resolve("b", "bad")
    found.resolve("c", "good")
    return found


def detector():
    found = PrevalenceDetector((40, 1_960), pane_seconds=60)
    for pane in range(8):
        found.step(pane, 5, 95)
    return found


def ranked(kind):
    """Return a detector that looks at scores, after some panes."""
    found = kind(ScoreHistogram.merge([histogram()] * 20), pane_seconds=60)
    for pane in range(8):
        found.step(pane, histogram())
    return found


READERS = {
    "histogram": (histogram().to_bytes(), HISTOGRAM, ScoreHistogram.from_bytes),
    "monitor": (monitor().to_bytes(), SERIES, Monitor.from_bytes),
    "detector": (detector().to_bytes(), DETECTOR, PrevalenceDetector.from_bytes),
    "ranking": (ranked(RankingDetector).to_bytes(), DETECTOR, RankingDetector.from_bytes),
    "shift": (ranked(ShiftDetector).to_bytes(), DETECTOR, ShiftDetector.from_bytes),
}


def spoilt(data, rng):
    """Return bytes with a few changed, cut out, doubled or put in."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, len(found) + 1))
        match int(rng.integers(0, 4)):
            case 0 if at < len(found):
                found[at] = int(rng.integers(0, 256))
            case 1:
                del found[at : at + int(rng.integers(1, 9))]
            case 2:
                found[at:at] = found[at : at + int(rng.integers(1, 9))]
            case _:
                found[at:at] = rng.bytes(int(rng.integers(1, 9)))
    return bytes(found)


@pytest.mark.parametrize("name", READERS)
def test_spoilt_messages_are_read_or_refused(name):
    """Half of them carry a seal that fits, so that what is inside is looked at."""
    data, kind, read = READERS[name]
    body = unseal(kind, data)
    rng = np.random.default_rng(len(name))
    n_read = n_refused = 0
    for number in range(N_TRIES // len(READERS)):
        given = seal(kind, spoilt(body, rng)) if number % 2 else spoilt(data, rng)
        try:
            read(given)
            n_read += 1
        except ValueError:
            n_refused += 1

    assert n_refused > n_read > 0


def test_spoilt_panes_are_read_or_refused():
    """Panes lie in a store, where their checksums are looked at first."""
    body = encode_pane(histogram().stored, 2)
    rng = np.random.default_rng(3)
    n_refused = 0
    for _ in range(N_TRIES // 4):
        try:
            decode_panes([spoilt(body, rng)], 2)
        except ValueError:
            n_refused += 1

    assert n_refused > 0
