"""Reading label times: a row without a label is kept as a prediction that is not known yet."""

import csv
import io
import json
import math
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from streamauc.cli.reading import ReadOptions, blocks, open_events
from streamauc.cli.reading.batches import Notes
from streamauc.cli.reading.delimited import DelimitedReader
from streamauc.cli.reading.labeltimes import LabelTimeReader

T0 = 1_717_243_200  # 2024-06-01T12:00:00Z
NOT_A_TIME = "must be a time (ISO 8601 or seconds since the epoch)"
NO_ZONE = "must carry a time zone (or name one with --tz)"
NAMED = {"label_time": "known"}


def iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def read(*paths, **options):
    """Return the events as (label, score, time, known) rows, the counts and the notes."""
    with open_events([str(path) for path in paths], ReadOptions(**options)) as stream:
        events, bad, n_pending = [], {}, 0
        for batch in stream:
            assert batch.n_bad == sum(batch.bad_reasons.values())
            columns = (batch.y_true, batch.y_score, batch.timestamps, batch.known_at)
            assert (batch.known_at.dtype, batch.y_true.dtype) == (np.float64, np.uint8)
            assert np.isinf(batch.known_at).sum() == batch.n_pending
            events += zip(*(column.tolist() for column in columns), strict=True)
            n_pending += batch.n_pending
            for reason, count in batch.bad_reasons.items():
                bad[reason] = bad.get(reason, 0) + count
        return events, n_pending, bad, stream.notes


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes rows or bytes into a file of the current directory."""
    monkeypatch.chdir(tmp_path)

    def write_file(name, content):
        if isinstance(content, str):
            content = content.encode()
        if not isinstance(content, bytes):
            content = packed(name, content)
        (tmp_path / name).write_bytes(content)
        return name

    return write_file


def packed(name, rows):
    """Return rows, or a table, in the format that the name asks for."""
    sink = io.BytesIO()
    kind = name.rsplit(".", 1)[-1]
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=16)
    elif kind == "feather":
        feather.write_feather(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table, 16)
    return sink.getvalue()


def message(*paths, **options):
    """Return the message of the error that reading ends with."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        read(*paths, **options)
    return str(caught.value)


# --- every format -------------------------------------------------------------------------------


def sample(time, known):
    """Return 60 rows, every fourth pending, and the events that they are; labels may come early."""
    rows, events = [], []
    for k in range(60):
        pending, at, late = k % 4 == 3, T0 + 60 * k, T0 + 60 * k + 500 * (k % 3) - 90
        label = None if pending else k % 5 == 0
        rows.append({"ts": time(at), "score": k % 9 / 8, "label": label})
        rows[-1]["known"] = None if pending else known(late)
        events.append((int(bool(label)), k % 9 / 8, at, math.inf if pending else late))
    return rows, events


WAYS = {"text": iso, "seconds": int, "float": float, "ms": lambda s: s * 1000}


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize("known", WAYS)
@pytest.mark.parametrize("time", ["text", "seconds"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "arrows"])
def test_pending_rows_are_kept_in_every_format(write, monkeypatch, kind, time, known, tiny):
    """In file order with a label of 0, known at infinity, and counted, across block borders."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100 if tiny else 1 << 20)
    rows, events = sample(WAYS[time], WAYS[known])
    path = write(f"day.{kind}", rows)

    got, n_pending, bad, _ = read(path, label_time="known", batch_rows=7 if tiny else 1000)

    assert got == events
    assert (n_pending, bad) == (15, {})


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_without_the_option_nothing_changes(write, kind):
    """A column of that name is not taken up, and pending rows are left out as ever."""
    rows, events = sample(iso, iso)
    rows = [{("label_time" if k == "known" else k): v for k, v in row.items()} for row in rows]

    with open_events([write(f"day.{kind}", rows)], ReadOptions()) as stream:
        (batch,) = stream
        assert stream.columns.label_time is None

    assert batch.known_at is None
    assert batch.n_pending == 15
    assert batch.timestamps.tolist() == [event[2] for event in events if event[3] != math.inf]


@pytest.mark.parametrize("kind", [pa.timestamp("s", "UTC"), pa.timestamp("ns", "Asia/Tokyo")])
def test_typed_columns_with_a_zone(write, kind):
    """Seconds since the epoch, whatever the zone; no note is needed."""
    instant = pa.array([datetime.fromtimestamp(T0 + k, UTC) for k in (0, 1)], kind)
    known = pa.array([datetime.fromtimestamp(T0 + 5, UTC), None], kind)
    table = pa.table({"ts": instant, "score": [0.5, 0.25], "label": [1, None], "known": known})

    got, n_pending, _, notes = read(write("day.parquet", table), **NAMED)

    assert got == [(1, 0.5, T0, T0 + 5), (0, 0.25, T0 + 1, math.inf)]
    assert n_pending == 1
    assert not any("times" in note for note in notes)


@pytest.mark.parametrize("days", [True, False])
def test_columns_without_a_zone(write, days):
    """A bad row where there is a label and no `tz`; local times with it; pending rows are fine."""
    noon = datetime(2024, 6, 1) if days else datetime(2024, 6, 1, 12)
    cells = [noon.date() if days else noon, None]
    known = pa.array(cells, pa.date32() if days else pa.timestamp("us"))
    table = pa.table({"ts": [T0, T0], "score": [0.5, 0.25], "label": [1, None], "known": known})
    path = write("day.parquet", table)

    got, _, _, notes = read(path, label_time="known", tz="America/New_York")

    assert [row[3] for row in got] == [T0 + (4 - 12 * days) * 3600, math.inf]
    assert sum(note.startswith("times without a zone are read as") for note in notes) == 1
    shown = "2024-06-01" if days else "2024-06-01 12:00:00.000000"
    assert message(path, **NAMED) == f"day.parquet, row 1, column known: {NO_ZONE}, got {shown}"
    pending = table.set_column(2, "label", pa.array([None, None], pa.int8()))
    assert read(write("later.parquet", pending), **NAMED)[1] == 2


# --- what stands in a pending row -----------------------------------------------------------------

JUNK = ["", "soon", "NaT", iso(T0), "2024-06-01 12:00", "20240601", str(T0 * 10**9), "99999-01-01"]


@pytest.mark.parametrize("known", [iso(T0 + 9), str(T0 + 9)])
@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("first", [True, False])
def test_the_label_time_of_a_pending_row_is_not_looked_at(write, kind, junk, known, first):
    """It is no error, and it decides neither the unit nor whether times are numbers."""
    pending = [{"ts": iso(T0), "score": 0.25, "label": "", "known": junk}] * 3
    labelled = [{"ts": iso(T0), "score": 0.5, "label": "1", "known": known}]
    path = write(f"day.{kind}", pending + labelled if first else labelled + pending)

    got, n_pending, bad, notes = read(path, **NAMED)

    assert sorted(got, reverse=True) == [
        (1, 0.5, T0, T0 + 9),
        *[(0, 0.25, T0, math.inf)] * 3,
    ]
    assert (n_pending, bad) == (3, {})
    unit = "label times are epoch seconds (guessed)"
    assert (unit in notes) is known.isdigit()


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[1], [2]]),
        pa.array([{"at": 1}, {"at": 2}]),
        pa.array([True, False]),
        pa.nulls(2),
        pa.array([1.0, math.nan]),
        pa.array(np.array([7, 7], np.float16)),
        pa.array(["x", "y"]).cast(pa.string_view()),
        pa.array([b"x", b"y"]),
        pa.array(["x", None]).dictionary_encode(),
        pa.array([10**15, 20240601]),
        pa.array([10**15, None], pa.timestamp("ms")),
    ],
)
def test_a_column_of_any_type_while_all_rows_are_pending(cells):
    """Nothing in it is looked at, so nothing in it is wrong."""
    notes = Notes()
    pending = np.ones(len(cells), np.bool_)
    got = LabelTimeReader("day", "known", ReadOptions(), notes).read(cells, pending)
    assert (got.values.shape, got.problems, notes.lines) == (pending.shape, (), [])


def test_what_varies_late_in_a_file_is_not_read_by_hand(write, monkeypatch):
    """Parsed again as text, which is fast, both for the label time and for the time beside it."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 20_000)
    monkeypatch.delattr(DelimitedReader, "_careful")
    head = [{"ts": iso(T0), "score": 0.5, "label": 1, "known": iso(T0 + 9)}] * 1_500
    junk = [{"ts": iso(T0), "score": 0.5, "label": "", "known": "NaT"}] * 300
    mixed = [{"ts": "20240601T120000Z", "score": 0.5, "label": 0, "known": iso(T0)}] * 300
    for rows in (head + junk, head + mixed, head + junk + mixed):
        got, n_pending, _, _ = read(write("day.csv", rows), **NAMED)
        assert (len(got), n_pending) == (len(rows), 300 if junk[0] in rows else 0)
        assert {row[2] for row in got} == {T0}


def test_decimal_commas(write):
    """The mark found in the scores holds for label times too."""
    path = write("day.csv", f"ts;score;label;known\n{T0},5;0,5;1;{T0},25\n{T0};0,25;;\n")
    assert read(path, **NAMED)[0] == [(1, 0.5, T0 + 0.5, T0 + 0.25), (0, 0.25, T0, math.inf)]


def test_labels_that_come_late_in_a_file(write, monkeypatch):
    """The newest rows may stand first, with nothing in the column for thousands of rows."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2_000)
    head = [{"ts": T0, "score": 0.5, "label": None, "known": None}] * 3_000
    tail = [{"ts": T0, "score": 0.25, "label": 1, "known": iso(T0 + 9)}] * 300
    for kind in ("csv", "jsonl"):
        got, n_pending, _, _ = read(write(f"day.{kind}", head + tail), **NAMED)
        assert got == [(0, 0.5, T0, math.inf)] * 3_000 + [(1, 0.25, T0, T0 + 9)] * 300
        assert n_pending == 3_000


def test_keys_that_json_lines_do_not_have(write):
    """A missing key is an empty cell; a note says so where no row has it."""
    rows = [{"ts": T0, "score": 0.5}, {"ts": T0, "score": 0.25, "known": [1]}]
    got, n_pending, _, _ = read(write("a.jsonl", rows), label="label", label_time="known")
    assert (got, n_pending) == ([(0, 0.5, T0, math.inf), (0, 0.25, T0, math.inf)], 2)

    notes = read(write("b.jsonl", rows[:1]), label="label", label_time="known")[3]
    assert "no row of b.jsonl has a value for 'known'" in notes


# --- several files, and the same column -----------------------------------------------------------


def test_two_files_of_different_kinds_and_units(write):
    """Each file is guessed by itself; the notes say which times are meant."""
    a = write("a.csv", f"ts,score,label,known\n{T0},0.5,1,{T0 + 5}000\n{T0},0.5,,\n")
    b = write("b.jsonl", [{"known": iso(T0 + 6), "score": 0.25, "label": 0, "ts": T0 + 1}])

    got, n_pending, _, notes = read(a, b, **NAMED)

    assert got == [
        (1, 0.5, T0, T0 + 5),
        (0, 0.5, T0, math.inf),
        (0, 0.25, T0 + 1, T0 + 6),
    ]
    assert n_pending == 1
    assert notes[-2:] == [
        "times are epoch seconds (guessed)",
        "label times are epoch milliseconds (guessed)",
    ]


def test_a_further_file_without_the_column(write):
    """It must have what the first one had."""
    a = write("a.csv", f"ts,score,label,known\n{T0},0.5,1,{T0}\n")
    b = write("b.csv", f"ts,score,label,knwon\n{T0},0.5,1,{T0}\n")
    expected = "b.csv has no column 'known'; did you mean 'knwon'? (columns: "
    assert message(a, b, **NAMED).startswith(expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "arrows"])
def test_the_time_column_as_label_time(write, kind, way):
    """Labels are known at once; the column is read once and its guess is noted once."""
    rows, events = sample(WAYS[way], iso)

    got, n_pending, _, notes = read(write(f"day.{kind}", rows), time="ts", label_time="ts")

    known = [(y, s, t, t if at != math.inf else at) for y, s, t, at in events]
    assert (got, n_pending) == (known, 15)
    assert sum("epoch" in note for note in notes) == (way != "text")


def test_a_bad_time_that_is_the_label_time_too(write):
    """One fault, and a pending row needs its time all the same."""
    path = write("day.csv", f"ts,score,label\n{T0},0.5,1\n,0.5,1\n,0.5,\n{T0},0.5,\n")
    options = {"time": "ts", "label_time": "ts"}
    got, n_pending, bad, _ = read(path, skip_bad=True, **options)
    assert got == [(1, 0.5, T0, T0), (0, 0.5, T0, math.inf)]
    assert (n_pending, bad) == (1, {f"ts {NOT_A_TIME}": 2})


def test_the_only_time_column_may_be_both(write):
    """Where no other column looks like a time, it is guessed as that too, and the note says so."""
    path = write("day.csv", f"ts,score,label\n{T0},0.5,1\n")
    got, _, _, notes = read(path, label_time="ts")
    assert got == [(1, 0.5, T0, T0)]
    assert "time column: ts (guessed)" in notes


def test_nothing_is_written_into_the_batch_of_another_column(write):
    """The time column keeps its times where pending rows have none for their label."""
    path = write("day.csv", f"ts,score,label\n{T0},0.5,\n{T0},0.5,1\n")
    with open_events([path], ReadOptions(time="ts", label_time="ts")) as stream:
        (batch,) = stream
    assert batch.timestamps.tolist() == [T0, T0]
    assert batch.known_at.tolist() == [math.inf, T0]
