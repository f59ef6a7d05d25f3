"""The state of a detector as bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamauc.codec.fields import Reader, Writer
from streamauc.codec.message import DETECTOR, seal, unseal


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorState:
    """A detector as it is written down; what the columns mean, the detector knows.

    * `settings`, `counters`: floats and integers by name.
    * `reals`: tables of floats by name, all rows of one table of the same length.
    * `marks`: tables of a pane index and floats, by name.
    """

    settings: Mapping[str, float]
    counters: Mapping[str, int]
    reals: Mapping[str, Sequence[Sequence[float]]] = field(repr=False)
    marks: Mapping[str, Sequence[tuple[int, Sequence[float]]]] = field(repr=False)


def encode_detector(state: DetectorState) -> bytes:
    """Return a detector as bytes. O(size of its tables)."""
    body = Writer()
    body.number(len(state.settings))
    for name, value in state.settings.items():
        body.text(name)
        body.real(value)
    body.number(len(state.counters))
    for name, count in state.counters.items():
        body.text(name)
        body.signed(count)
    body.number(len(state.reals))
    for name, rows in state.reals.items():
        body.text(name)
        body.number(len(rows))
        for row in rows:
            _write_row(body, row)
    body.number(len(state.marks))
    for name, marks in state.marks.items():
        body.text(name)
        body.number(len(marks))
        for pane, row in marks:
            body.signed(pane)
            _write_row(body, row)
    return seal(DETECTOR, body.done())


def _write_row(body: Writer, row: Sequence[float]) -> None:
    body.number(len(row))
    for value in row:
        body.real(value)


def decode_detector(data: bytes) -> DetectorState:
    """Return what `encode_detector` was given. Raises ValueError for anything else."""
    body = Reader(unseal(DETECTOR, data))
    settings = {body.text(): body.real() for _ in range(body.length())}
    counters = {body.text(): body.signed() for _ in range(body.length())}
    reals = {
        body.text(): [_read_row(body) for _ in range(body.length())] for _ in range(body.length())
    }
    marks = {
        body.text(): [(body.signed(), _read_row(body)) for _ in range(body.length())]
        for _ in range(body.length())
    }
    body.end()
    return DetectorState(settings=settings, counters=counters, reals=reals, marks=marks)


def _read_row(body: Reader) -> tuple[float, ...]:
    return tuple(body.real() for _ in range(body.length()))
