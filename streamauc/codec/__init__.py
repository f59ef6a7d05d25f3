r"""Bytes: how histograms, series and detectors are written down. Nothing else knows.

Everything is little-endian. A *varint* is an unsigned integer in groups of seven bits, lowest
group first, the top bit set on every byte but the last; a *zigzag* is a signed integer ``i``
written as the varint ``2 * i`` or, if negative, ``-2 * i - 1``; *text* is UTF-8 behind its
length as a varint; a *float* is eight bytes of IEEE 754.

A message is a header of 22 bytes and a body compressed with zlib:

====  ==============================================================================
size  field
====  ==============================================================================
4     magic ``SAUC``
1     version of the format, now 1
1     what the body is: 1 a histogram, 2 a series, 3 a detector
4     size of the body before compression
4     size of the compressed body
4     CRC-32 of the compressed body
4     CRC-32 of the 18 bytes before
====  ==============================================================================

A *scale* is: kind (1 byte: 0 probability, 1 real, 2 exact), bits (1 byte), number of thresholds
(varint), the thresholds (floats).

*Counts* are: number of classes (varint), weighted or not (1 byte), number of bins (varint); if
there are bins, the first bin (zigzag) and each bin's distance to the one before (varints); then
class by class, from class 0 on, a count for every bin: varints, or when weighted floats,
followed in the same way by the sums of squared weights (floats).

A *histogram* is a scale and counts. A *series* is a scale, the tiers, the classes, what was
observed, the tallies, what waits to be joined and the panes, in the order of `encode_series`. A
*detector* is its settings, its reference, what it has seen and its evidence, in the order of
`encode_detector`.

The panes of a store have a format of their own, which `codec.panes` describes.
"""

from streamauc.codec.detector import DetectorState, decode_detector, encode_detector
from streamauc.codec.fields import decode_varints, encode_varints
from streamauc.codec.panes import decode_panes, encode_pane
from streamauc.codec.series import (
    JoinState,
    SeriesState,
    decode_histogram,
    decode_series,
    encode_histogram,
    encode_series,
)

__all__ = [
    "DetectorState",
    "JoinState",
    "SeriesState",
    "decode_detector",
    "decode_histogram",
    "decode_panes",
    "decode_series",
    "decode_varints",
    "encode_detector",
    "encode_histogram",
    "encode_pane",
    "encode_series",
    "encode_varints",
]
