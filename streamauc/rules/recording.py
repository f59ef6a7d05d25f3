"""Recorded events of a test file: tables in the file itself, or columns of another one."""

import contextlib
import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from streamauc import _time
from streamauc.rules.backtest import times
from streamauc.rules.problems import shown
from streamauc.rules.replay import Arrival
from streamauc.rules.selector import Labels
from streamauc.rules.tables import Table, seconds_of

MAX_ARRIVALS = 1_000_000
_EVENT_KEYS = ("at", "from", "until", "every", "label", "score", "key", "timestamp", "count")
_EXAMPLE = "2026-03-01T09:00:00Z"
_COLUMNS = ("at", "label", "score", "key", "timestamp", "count")


def read_start(top: Table) -> float:
    """Return the time from which the others count; 0 unless given."""
    value = top.values.get("start", 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float | str | datetime):
        top.fault("start", f"start must be a time such as {_EXAMPLE}, got {shown(value)}")
        return 0.0
    try:
        return _time.seconds("start", value)
    except (TypeError, ValueError) as error:
        top.fault("start", str(error))
        return 0.0


def moment_of(table: Table, key: str, start: float) -> float | None:
    """Return a time: a length of time after `start`, before it with a minus, or None."""
    value = table.values.get(key)
    if value is None:
        return None
    found = _moment(value, start)
    if found is None:
        wanted = "a length of time after the start such as 90s, or -1h for before it"
        table.fault(key, f"{key} must be {wanted}, got {shown(value)}")
    return found


def _moment(value: object, start: float) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        after: float | None = float(value) if abs(value) <= _time.MAX_TIME else None
    elif isinstance(value, str):
        text = value.strip()
        length = 0.0 if text.lstrip("-") in ("0s", "0m", "0h") else seconds_of(text.lstrip("-"))
        after = length if length is None or not text.startswith("-") else -length
    else:
        return None
    return None if after is None or not math.isfinite(after) else start + after


def span_of(table: Table, start: float) -> tuple[float, float] | None:
    """Return the span from `from` to `until`."""
    low, high = moment_of(table, "from", start), moment_of(table, "until", start)
    for key in ("from", "until"):
        if key not in table:
            table.fault(key, f"{key} is missing")
    if low is None or high is None:
        return None
    if not low <= high:
        table.fault("until", f"until must not be before from, got {high - low:g} s after it")
        return None
    return low, high


def read_events(table: Table, labels: Labels, start: float, folder: Path) -> list[Arrival]:
    """Return the events of a ``[[series]]``, in the order of the file."""
    found: list[Arrival] = []
    for event in table.tables("events"):
        found += _read_event(event, labels, start)
        if len(found) > MAX_ARRIVALS:
            return found
    name = table.text("file")
    if name is not None:
        try:
            found += _from_file(folder / name, labels, start)
        except (OSError, ValueError, csv.Error) as error:
            table.fault("file", f"file must be recorded events, got {shown(name)}: {error}")
    return found


def _read_event(event: Table, labels: Labels, start: float) -> Sequence[Arrival]:
    event.close(_EVENT_KEYS)
    before = len(event.log.problems)
    moments = _moments(event, start)
    score = event.number("score")
    key = event.text("key")
    label = event.integer("label", 0)
    stamp = moment_of(event, "timestamp", start)
    count = event.integer("count", 1)
    kinds = sum(name in event for name in ("score", "label", "key"))
    if kinds < 2 or kinds > 2:
        message = "an event must have two of score, label and key"
        event.log.add(event.path, f"{message}, got {kinds}")
    if label is not None and label > 1:
        event.fault("label", f"label must be 0 or 1, got {label}")
    if (count or 1) * max(1, len(moments)) > MAX_ARRIVALS:
        event.fault("count", f"count must give at most {MAX_ARRIVALS} events")
    if len(event.log.problems) > before:
        return ()
    return [
        Arrival(
            at=at,
            series=labels,
            score=score,
            label=label,
            key=key,
            timestamp=stamp,
            count=count or 1,
        )
        for at in moments
    ]


def _moments(event: Table, start: float) -> Sequence[float]:
    """Return when an event arrives: at one time, or again and again until another."""
    at = moment_of(event, "at", start)
    if ("at" in event) == any(key in event for key in ("from", "until", "every")):
        event.log.add(event.path, "an event must have at, or from, until and every")
        return ()
    if "at" in event:
        return () if at is None else (at,)
    span, every = span_of(event, start), event.length("every")
    if "every" not in event:
        event.fault("every", "every is missing")
    if span is None or every is None:
        return ()
    if (span[1] - span[0]) / every > MAX_ARRIVALS:
        event.fault("every", f"every must give at most {MAX_ARRIVALS} events")
        return ()
    return times(span[0], span[1], every)


def _from_file(path: Path, labels: Labels, start: float) -> list[Arrival]:
    """Return the events of a file. Raises ValueError that names the line."""
    found = []
    for line, row in _rows(path):
        try:
            found.append(_arrival(row, labels, start))
        except (TypeError, ValueError) as error:
            raise ValueError(f"line {line}: {error}") from None
        if len(found) > MAX_ARRIVALS:
            raise ValueError(f"events must be at most {MAX_ARRIVALS}, got more")
    return found


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix == ".jsonl":
            for number, text in enumerate(file, start=1):
                row = json.loads(text)
                if not isinstance(row, dict):
                    raise ValueError(  # noqa: TRY004 - what a file holds is a value
                        f"line {number}: row must be an object, got {text.strip()!r}"
                    )
                yield number, row
        else:
            reader = csv.DictReader(file)
            for record in reader:
                yield reader.line_num, record


def _arrival(row: Mapping[str, object], labels: Labels, start: float) -> Arrival:
    extra = [name for name in row if name not in _COLUMNS]
    if extra:
        raise ValueError(f"columns must be of {', '.join(_COLUMNS)}, got {extra[0]!r}")
    given = {name: value for name, value in row.items() if value not in (None, "")}
    at = _after(given.get("at"), start)
    stamp = _after(given["timestamp"], start) if "timestamp" in given else None
    if at is None or len([name for name in ("score", "label", "key") if name in given]) != 2:
        raise ValueError("row must have at, and two of score, label and key")
    label = None if "label" not in given else int(str(given["label"]))
    if label not in (None, 0, 1):
        raise ValueError(f"label must be 0 or 1, got {label}")
    return Arrival(
        at=at,
        series=labels,
        score=None if "score" not in given else float(str(given["score"])),
        label=label,
        key=None if "key" not in given else str(given["key"]),
        timestamp=stamp,
        count=int(str(given.get("count", 1))),
    )


def _after(value: object, start: float) -> float | None:
    """Return a time in a file: as in tables, or a bare number of seconds after the start."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value)
    found = _moment(value, start)
    if found is None and value is not None:
        raise ValueError(f"at must be seconds after the start, got {value!r}")
    return found
