"""Bytes of state after a stream, beside each peer's."""

from collections.abc import Callable, Iterator

from benchmarks import peers
from benchmarks.data import FloatArray, IntArray, fraud, logistic, over
from benchmarks.timing import Row
from streamauc import Monitor, Scale, ScoreHistogram

_SUITE = "memory"
_STREAMS: dict[str, Callable[[int], tuple[IntArray, FloatArray]]] = {
    "logistic": logistic,
    "fraud-like": fraud,
}


def run(*, quick: bool) -> Iterator[Row]:
    """Yield a row for each form of ours and for each peer, on two streams."""
    n = 100_000 if quick else 1_000_000
    found, missing = peers.sort_out(peers.KINDS)
    for name, make in _STREAMS.items():
        y_true, y_score = make(n)
        stream = f"{n:,} events, {name}"
        yield from _ours(stream, y_true, y_score)
        for kind in found:
            peer = kind.make()
            peer.absorb(y_true, y_score)
            detail = "" if kind.is_bounded else "grows with every event"
            yield Row(_SUITE, f"{kind.name}: {stream}", peer.nbytes / 1e3, "kB", detail=detail)
    for one in missing:
        yield Row.missing(_SUITE, one.name, one.reason)


def _ours(stream: str, y_true: IntArray, y_score: FloatArray) -> Iterator[Row]:
    histogram = ScoreHistogram.from_scores(y_true, y_score, scale=Scale.probability())
    data = histogram.to_bytes()
    detail = f"7 bits, {histogram.n_bins:,} bins; {len(data) / 1e3:.1f} kB written down"
    yield Row(
        _SUITE, f"a histogram of both classes: {stream}", histogram.nbytes / 1e3, "kB", None, detail
    )
    for n_panes, span in ((1, "one minute"), (1_440, "a day of minutes")):
        monitor = Monitor(clock="event")
        monitor.update_many(y_true, y_score, over(n_panes, y_true.size))
        what = f"a monitor, {span}: {stream}"
        yield Row(_SUITE, what, monitor.nbytes / 1e3, "kB", detail="answers for any window of it")
