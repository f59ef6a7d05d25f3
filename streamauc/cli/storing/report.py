"""``streamauc store info``: text for people, JSON for programs."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamauc.cli.storing import words
from streamauc.cli.storing.access import opened, selector
from streamauc.cli.storing.info import Found, SeriesFound, gather, writer_state
from streamauc.rules.selector import braced
from streamauc.stats import Stats
from streamauc.store import StoredReference, WriterInfo
from streamauc.store.documents import Json
from streamauc.store.writers import RETIRED

_INDENT, _KEY = "  ", 11
_LONGEST_POSITION = 100


def run_info(path: Path, series: Sequence[str], output: str) -> int:
    """Print what is in a store; return the exit code."""
    wanted = selector(series)
    with opened(path, read_only=True) as store:
        found = gather(store, wanted, time.time())
    if output == "json":
        print(json.dumps(info_to_dict(found), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print("\n".join(info_lines(found)))
    return 0


def info_lines(found: Found) -> Iterator[str]:
    """Yield what is in a store, a block a series."""
    yield _headline(found)
    for one in found.series:
        yield ""
        yield braced(one.info.labels)
        yield from _series_lines(one, found.now)
    if found.info.positions:
        yield ""
        yield "positions: how far sources have been read"
        for name, value in found.info.positions.items():
            yield f"{_INDENT}{name}  {_short(json.dumps(value, ensure_ascii=False))}"
    if found.references:
        yield ""
        yield "references"
        for reference in found.references:
            yield from _reference_lines(reference, found.now)


def _headline(found: Found) -> str:
    known = found.info
    n_series = words.plural(len(known.series), "series")
    if len(found.series) < len(known.series):
        n_series = f"{len(found.series):,} of {n_series}"
    return f"{known.path}: {words.size(known.nbytes)}, schema version {known.version}, {n_series}"


def _series_lines(one: SeriesFound, now: float) -> Iterator[str]:
    info, facts = one.info, one.facts
    yield _line("scale", str(info.scale))
    if facts.classes is not None:
        negative, positive = facts.classes
        yield _line("classes", f"negative {negative!r}, positive {positive!r}")
    yield _line("clock", "event time" if facts.event_clock else "time")
    tiers = (f"{words.length(t.pane_seconds)} for {words.length(t.keep)}" for t in info.tiers)
    yield _line("tiers", ", ".join(tiers).replace("for for ever", "for ever"))
    if info.start is None or info.end is None:
        yield _line("span", "no panes")
    else:
        yield _line("span", f"{words.moment(info.start)} to {words.moment(info.end)} UTC")
    if math.isfinite(info.latest):
        yield _line("latest", f"{words.moment(info.latest)} UTC, {words.ago(info.latest, now)}")
    yield from _pane_lines(one)
    yield _line("events", _events(one.stats))
    if one.stats.n_predicted or one.stats.n_open or one.stats.n_early:
        yield _line("waiting", _waiting(one.stats))
    yield from _writer_lines(info.writers, now)


def _line(key: str, text: str) -> str:
    return f"{_INDENT}{key:<{_KEY}}{text}"


def _pane_lines(one: SeriesFound) -> Iterator[str]:
    """Yield a small table: a row a channel, a column a tier."""
    rows = [["", *(words.length(tier.pane_seconds) for tier in one.info.tiers)]]
    rows += [
        [channel, *(f"{number:,}" for number in numbers)]
        for channel, numbers in one.info.n_panes.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if len(rows) == 1:
        yield _line("panes", "none")
        return
    for number, (name, *cells) in enumerate(rows):
        right = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield _line("" if number else "panes", "  ".join((f"{name:<{widths[0]}}", *right)))


def _events(stats: Stats) -> str:
    parts = [f"{stats.n_accepted:,} counted"]
    if stats.n_rejected:
        reasons = ", ".join(f"{number:,} {why}" for why, number in stats.rejected.items())
        parts.append(f"{stats.n_rejected:,} rejected ({reasons})")
    if stats.n_expired:
        parts.append(f"{stats.n_expired:,} too old")
    if stats.n_ahead:
        parts.append(f"{stats.n_ahead:,} too far ahead")
    return ", ".join(parts)


def _waiting(stats: Stats) -> str:
    return (
        f"{words.plural(stats.n_open, 'prediction')} for a label,"
        f" {words.plural(stats.n_early, 'label')} for a prediction"
    )


def _writer_lines(writers: Sequence[WriterInfo], now: float) -> Iterator[str]:
    if not writers:
        yield _line("writers", "none")
    for number, writer in enumerate(sorted(writers, key=lambda one: -one.flushed)):
        yield _line("" if number else "writers", _writer(writer, now))


def _writer(writer: WriterInfo, now: float) -> str:
    events = f"{words.plural(writer.tallies.get('accepted', 0), 'event')}"
    if writer.id == RETIRED:
        return f"{'others':<16}  ended more than a week before, {events}"
    state, when = writer_state(writer, now), words.ago(writer.flushed, now)
    said = {
        "alive": f"alive, wrote {when}",
        "ended": f"ended {when}",
        "silent": f"SILENT, last wrote {when}",
    }[state]
    return f"{writer.id:<16}  {said}, {events}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_POSITION else f"{text[: _LONGEST_POSITION - 3]}..."


def _reference_lines(reference: StoredReference, now: float) -> Iterator[str]:
    totals = reference.histogram.totals.tolist()
    positive = f", {totals[1]:,.10g} positive" if len(totals) == 2 else ""
    yield f"{_INDENT}{reference.name}  {sum(totals):,.10g} events{positive}"
    yield f"{_INDENT * 2}saved {words.ago(reference.saved, now)}"
    if math.isfinite(reference.start) and math.isfinite(reference.end):
        span = words.moment(reference.start), words.moment(reference.end)
        yield f"{_INDENT * 2}from {span[0]} to {span[1]} UTC"


def info_to_dict(found: Found) -> dict[str, Json]:
    """Return what is in a store as plain values for JSON; times as ISO 8601 in UTC."""
    return {
        "path": found.info.path,
        "nbytes": found.info.nbytes,
        "version": found.info.version,
        "series": [_series_to_dict(one, found.now) for one in found.series],
        "positions": found.info.positions,
        "references": [
            {
                "name": one.name,
                "start": words.iso(one.start),
                "end": words.iso(one.end),
                "saved": words.iso(one.saved),
                "totals": one.histogram.totals.tolist(),
            }
            for one in found.references
        ],
        "n_documents": found.info.n_documents,
    }


def _series_to_dict(one: SeriesFound, now: float) -> dict[str, Json]:
    info, facts, stats = one.info, one.facts, one.stats
    classes = None if facts.classes is None else [_plain(name) for name in facts.classes]
    return {
        "labels": dict(info.labels),
        "scale": str(info.scale),
        "classes": classes,
        "clock": "event" if facts.event_clock else "time",
        "tiers": [
            {
                "pane_seconds": tier.pane_seconds,
                "keep_seconds": tier.keep if math.isfinite(tier.keep) else None,
            }
            for tier in info.tiers
        ],
        "start": words.iso(info.start),
        "end": words.iso(info.end),
        "observed_since": words.iso(info.since),
        "latest": words.iso(info.latest),
        "n_panes": {channel: list(numbers) for channel, numbers in info.n_panes.items()},
        "stats": {
            name: dict(value) if name == "rejected" else value
            for name in Stats.__dataclass_fields__
            for value in [getattr(stats, name)]
        },
        "writers": [_writer_to_dict(writer, now) for writer in info.writers],
    }


def _plain(name: object) -> Json:
    return name if isinstance(name, str | int | float | bool | None) else str(name)


def _writer_to_dict(writer: WriterInfo, now: float) -> dict[str, Json]:
    return {
        "id": writer.id,
        "state": writer_state(writer, now),
        "started": words.iso(writer.started),
        "flushed": words.iso(writer.flushed),
        "closed": words.iso(writer.closed),
        "silent_seconds": max(0.0, now - writer.flushed),
        "tallies": dict(writer.tallies),
    }
