"""Reading: every format, packed in every way, gives the events that a slow plain reader finds."""

import base64
import csv
import gzip
import io
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamauc.cli.reading import BadRowError, ReadOptions, blocks, open_events

CASES = {
    case["id"]: case
    for case in map(
        json.loads, (Path(__file__).parents[1] / "cases.jsonl").read_text().splitlines()
    )
}
ROWS = [
    {
        "ts": 1_700_000_000 + 60 * k,
        "score": k % 9 / 8,
        "label": k % 3 == 0,
        "note": "x,\n" * (k % 4),
    }
    for k in range(200)
]


@dataclass
class Events:
    """All batches of a stream in one, as plain lists."""

    y_true: list[int]
    y_score: list[float]
    timestamps: list[float]
    weights: list[float]
    n_pending: int
    bad: dict[str, int]
    notes: list[str]
    positive_seen: bool


def read(*paths, **options):
    """Return the events of files."""
    with open_events([str(path) for path in paths], ReadOptions(**options)) as stream:
        batches = list(stream)
        bad: dict[str, int] = {}
        for batch in batches:
            assert batch.n_bad == sum(batch.bad_reasons.values())
            for reason, count in batch.bad_reasons.items():
                bad[reason] = bad.get(reason, 0) + count
        return Events(
            [y for batch in batches for y in batch.y_true.tolist()],
            [s for batch in batches for s in batch.y_score.tolist()],
            [t for b in batches if b.timestamps is not None for t in b.timestamps.tolist()],
            [w for b in batches if b.weights is not None for w in b.weights.tolist()],
            sum(batch.n_pending for batch in batches),
            bad,
            stream.notes,
            stream.positive_seen,
        )


def read_text(text, name="day.csv", **options):
    """Return the events of a text, written as it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path, **options)


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def as_delimited(rows, delimiter=",", newline="\n"):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator=newline)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_table(write):
    sink = io.BytesIO()
    write(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


def write_stream(table, sink):
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, 64)


def write_file(table, sink):
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, 64)


FORMATS = {
    "csv": as_delimited(ROWS),
    "tsv": as_delimited(ROWS, "\t", "\r\n"),
    "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "parquet": as_table(lambda table, sink: pq.write_table(table, sink, row_group_size=64)),
    "feather": as_table(lambda table, sink: feather.write_feather(table, sink)),
    "arrow": as_table(write_file),
    "arrows": as_table(write_stream),
}
PACKED = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstd,
    ".several.gz": lambda d: gzip.compress(d[:999]) + gzip.compress(b"") + gzip.compress(d[999:]),
    ".several.zst": lambda data: zstd(data[:999]) + zstd(data[999:]),
}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("known_name", [True, False])
def test_every_format_packed_in_every_way(tmp_path, kind, packed, known_name):
    """The same rows come out, also where the name says nothing about the format."""
    path = tmp_path / (f"day.{kind}{packed}" if known_name else "day")
    path.write_bytes(PACKED[packed](FORMATS[kind]))

    events = read(path, batch_rows=50)

    assert events.y_true == [int(row["label"]) for row in ROWS]
    assert events.y_score == [row["score"] for row in ROWS]
    assert events.timestamps == [row["ts"] for row in ROWS]


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", FORMATS)
def test_standard_input_is_sniffed(monkeypatch, kind, packed):
    """A pipe has no name and no end to seek to."""
    pipe = io.BytesIO(PACKED[packed](FORMATS[kind]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
    with open_events(["-"], ReadOptions()) as stream:
        assert stream.bytes_total is None
        assert sum(batch.y_true.size for batch in stream) == len(ROWS)
    assert not pipe.closed


def test_a_named_pipe_is_read_like_standard_input():
    """`<(zcat day.gz)` hands over a path that cannot be read twice."""
    script = "cat {0} | python -c '{1}' /dev/stdin"
    code = (
        "import sys; from streamauc.cli.reading import *;"
        "print(sum(b.y_true.size for b in open_events(sys.argv[1:], ReadOptions())))"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "day")
        path.write_bytes(FORMATS["parquet"])
        command = script.format(path, code).replace("python", sys.executable, 1)
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        )
    assert done.stdout.strip() == str(len(ROWS))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_byte_order_marks_and_line_ends(monkeypatch, encoding, newline):
    """Marks vanish, UTF-16 is decoded also across blocks, blank last lines are none."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    text = newline.join(
        ["score;größe;label", *(f"{k / 64};ä€𝄞;{k % 2}" for k in range(64)), "", ""]
    )
    mark = "\ufeff" if encoding == "utf-16-be" else ""

    events = read_text((mark + text).encode(encoding))

    assert events.y_score == [k / 64 for k in range(64)]
    assert events.y_true == [k % 2 for k in range(64)]


def test_utf_16_json_lines():
    """The encoding is found before the format."""
    text = '{"p": 0.5, "y": 1}\n{"p": 0.25, "y": 0}\n'
    assert read_text(text.encode("utf-16"), "day").y_score == [0.5, 0.25]


# --- generated delimited text against the csv module -------------------------------------------

lattice = st.integers(0, 8).map(lambda k: k / 8)
score_cells = st.one_of(
    lattice.map(repr),
    lattice.map(lambda s: f"{s:.3e}"),
    lattice.map(lambda s: f" +{s} "),
    st.sampled_from(["", "nan", "-inf", "1.5", "-0.125", "0,5", "high", "1e400"]),
)
label_cells = st.sampled_from(["0", "1", "1", "0", "1.0", "TRUE", "false", "", "NA", " None ", "2"])
time_cells = st.one_of(
    st.integers(0, 2**31).map(lambda s: datetime.fromtimestamp(s, UTC).isoformat()),
    st.sampled_from(
        [
            "2024-06-01T17:45:00+05:30",
            "2024-06-01 12:30Z",
            "2024-06-01T04:50:00.123456789-08:00",
            "2024-06-01T12:00:00",
            "2024-13-01T00:00:00Z",
            "soon",
            "",
        ]
    ),
)
notes = st.text(st.sampled_from('ab,;"\n '), max_size=6)
csv_rows = st.lists(st.tuples(score_cells, label_cells, time_cells, notes), max_size=30)


def plain_row(score, label, time):
    """Return the event in a row, "pending" or "bad"; slow and obvious."""
    try:
        s = float(score)
        t = datetime.fromisoformat(time)
    except ValueError:
        return "bad"
    if not (0 <= s <= 1) or t.tzinfo is None:
        return "bad"
    word = label.strip().lower()
    if word in ("", "na", "none"):
        return "pending"
    values = {"0": 0, "1": 1, "1.0": 1, "true": 1, "false": 0}
    return (values[word], s, t.timestamp()) if word in values else "bad"


@settings(deadline=None, max_examples=60)
@given(csv_rows, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_delimited_text_against_the_csv_module(rows, delimiter, newline, tiny):
    """Events, pending rows and bad rows agree, in one block or in many tiny ones."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline)
    writer.writerow(["note", "score", "label", "ts"])
    writer.writerows([note, score, label, time] for score, label, time, note in rows)
    expected = [plain_row(*row[:3]) for row in rows]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", 64 if tiny else 1 << 20)
        got = read_text(text.getvalue(), skip_bad=True, delimiter=delimiter, decimal=".")

    events = [row for row in expected if isinstance(row, tuple)]
    assert got.y_true == [row[0] for row in events]
    assert got.y_score == [row[1] for row in events]
    np.testing.assert_allclose(got.timestamps, [row[2] for row in events], rtol=0, atol=1e-6)
    assert got.n_pending == expected.count("pending")
    assert sum(got.bad.values()) == expected.count("bad")


@settings(deadline=None, max_examples=40)
@given(csv_rows, st.integers(40, 300))
def test_the_first_bad_row_is_named_by_its_line(rows, block_bytes):
    """The line is that on which the record begins, quoted line ends before it counted."""
    text = "note,score,label,ts\n\n"
    bad_line = None
    for score, label, time, note in rows:
        if bad_line is None and plain_row(score, label, time) == "bad":
            bad_line = text.count("\n") + 1
        cells = [note, score, label, time]
        text += ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block_bytes)
        if bad_line is None:
            read_text(text)
            return
        with pytest.raises(BadRowError) as caught:
            read_text(text)

    assert caught.value.line == bad_line
    assert f"line {bad_line}, column " in str(caught.value)


json_rows = st.lists(
    st.fixed_dictionaries(
        {"score": lattice | st.sampled_from([0, 1, "0.5", "x", True, None, 3.5, [1]])},
        optional={"label": st.sampled_from([0, 1, True, False, None, "1", 1.0, "", "maybe", {}])},
    ),
    min_size=1,
    max_size=20,
)


def plain_record(record):
    """Return the event of a JSON object, "pending" or "bad"."""
    score, label = record["score"], record.get("label")
    if isinstance(score, bool) or score in ("x", None, 3.5, [1]):
        return "bad"
    if label in ("maybe", {}):
        return "bad"
    return "pending" if label in (None, "") else (int(label), float(score))


@settings(deadline=None, max_examples=60)
@given(json_rows, st.booleans())
def test_json_lines_of_mixed_types_against_the_json_module(records, tiny):
    """A type that changes from line to line costs speed, not rows."""
    expected = [plain_record(record) for record in records]
    text = "\n".join(json.dumps(record) for record in records)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", 48 if tiny else 1 << 20)
        got = read_text(text, "day.jsonl", skip_bad=True, score="score", label="label")

    events = [row for row in expected if isinstance(row, tuple)]
    assert list(zip(got.y_true, got.y_score, strict=True)) == events
    assert got.n_pending == expected.count("pending")
    assert sum(got.bad.values()) == expected.count("bad")


def test_a_key_that_comes_late_in_json_lines(monkeypatch):
    """The first labels may be thousands of lines away."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2_000)
    lines = ['{"score": 0.5}'] * 3_000 + ['{"score": 0.25, "label": true}']
    events = read_text("\n".join(lines), "day.jsonl", label="label")
    assert (events.y_true, events.n_pending) == ([1], 3_000)
    never = read_text("\n".join(lines[:9]), "day.jsonl", label="label")
    assert never.n_pending == 9
    assert never.notes[-1].endswith("day.jsonl has a value for 'label'")


def test_a_stray_quote_inside_a_field_hides_nothing(monkeypatch):
    """A quote opens a field only where the field begins."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 128)
    text = "size,score,label\n" + '5" pipe,0.5,1\n"a\nb",0.25,0\n' * 50
    assert read_text(text).y_score == [0.5, 0.25] * 50


def test_a_record_longer_than_a_block(monkeypatch):
    """The buffer grows, and the rows around the long one stay."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    long = '"' + "x\n" * 5_000 + '"'
    text = f"note,score,label\na,0.5,1\n{long},0.25,0\nb,0.75,1\n"
    assert read_text(text).y_score == [0.5, 0.25, 0.75]


def test_a_field_longer_than_the_csv_module_allows():
    """A payload of 300 KB in another column does not hide the bad cell."""
    text = f"payload,score,label\n{'x' * 300_000},1.5,1\n"
    with pytest.raises(BadRowError, match=r"line 2, column score: must be in \[0, 1\], got 1.5"):
        read_text(text)
    assert csv.field_size_limit() == 131_072


def test_text_that_is_not_utf_8_is_read_where_it_does_not_matter():
    """A label in Latin-1 is another value, no reason to stop."""
    text = "score,label,city\n0.5,fraud,K\xf6ln\n0.25,n\xe3o,x\n".encode("latin-1")
    events = read_text(text, positive="fraud")
    assert events.y_true == [1, 0]


# --- the cases ----------------------------------------------------------------------------------


def auc(events):
    pos = [s for y, s in zip(events.y_true, events.y_score, strict=True) if y]
    neg = [s for y, s in zip(events.y_true, events.y_score, strict=True) if not y]
    wins = sum((p > n) + (p == n) / 2 for p in pos for n in neg)
    return wins / (len(pos) * len(neg))


def case_text(case):
    if "base64" in case["input"]:
        return base64.b64decode(case["input"]["base64"])
    return case["input"]["text"].encode()


@pytest.mark.parametrize(
    "name", ["csv-semicolon-decimal-comma", "gzip-several-members", "missing-label"]
)
@pytest.mark.parametrize("guess", [True, False])
def test_files_of_the_case_collection(name, guess):
    """The columns named and the marks guessed give what naming everything gives."""
    case = CASES[name]
    query, expected = case["query"], case["expected"]
    columns = {"time" if k == "t" else k: v for k, v in query["columns"].items()}
    marks = {key: query[key] for key in ("delimiter", "decimal") if key in query and not guess}

    events = read_text(case_text(case), case["input"]["file_name"], **columns, **marks)

    assert len(events.y_true) + events.n_pending == expected["rows"]
    assert events.n_pending == expected.get("pending", 0)
    assert auc(events) == pytest.approx(expected["roc_auc"], abs=1e-12)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("name", ["window-ends", "clock-steps-back", "mixed-utc-offsets"])
def test_rows_of_the_time_window_cases(name, kind):
    """Times come out as instants, in file order; the text of mixed offsets is not compared."""
    rows = [
        dict(zip(("t", "score", "label"), r, strict=True)) for r in CASES[name]["input"]["rows"]
    ]
    text = as_delimited(rows) if kind == "csv" else "\n".join(map(json.dumps, rows)).encode()

    events = read_text(text, f"day.{kind}")

    iso = name == "mixed-utc-offsets"
    assert events.timestamps == [
        datetime.fromisoformat(row["t"]).timestamp() if iso else row["t"] for row in rows
    ]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("typed", [True, False])
def test_the_unit_of_a_parquet_time_column(tmp_path, unit, typed):
    """A timestamp column has its unit; of plain integers it is guessed, and said."""
    case = CASES["timestamp-units"]["input"]
    counts = case["columns_by_unit"][unit]
    kind = pa.timestamp(unit, "UTC") if typed else pa.int64()
    table = {"t": pa.array(counts, kind), "score": case["score"], "label": case["label"]}
    pq.write_table(pa.table(table), tmp_path / "day.parquet")

    events = read(tmp_path / "day.parquet")

    first = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    assert events.timestamps == [first, first + 30, first + 59.5, first + 61]
    assert any("epoch" in note for note in events.notes) is not typed


def test_scores_that_are_not_finite():
    """Strict: an error that names the cell; else left out and counted. The order never matters."""
    rows = CASES["nan-and-inf-scores"]["input"]["nan"]["rows"]
    text = "score,label\n" + "".join(f"{score},{label}\n" for score, label in rows)

    with pytest.raises(
        BadRowError, match="line 2, column score: must be finite, got nan"
    ) as caught:
        read_text(text)
    events = read_text(text, skip_bad=True)

    assert caught.value.value == "nan"
    assert events.bad == {"score must be finite": 1}
    assert auc(events) == CASES["nan-and-inf-scores"]["expected"]["nan_skip"]["roc_auc"]


# --- several files, progress, memory --------------------------------------------------------------


def test_several_files_hold_their_columns_in_any_order(tmp_path):
    """Each file by its own header, one after the other, and the progress adds up."""
    (tmp_path / "a.csv").write_text("score,label\n0.5,1\n")
    (tmp_path / "b.jsonl").write_text('{"label": 0, "score": 0.25}\n')
    pq.write_table(pa.table({"x": [1], "label": [True], "score": [0.75]}), tmp_path / "c.parquet")
    paths = [str(tmp_path / name) for name in ("a.csv", "b.jsonl", "c.parquet")]

    with open_events(paths, ReadOptions()) as stream:
        done = [(batch.y_score.tolist(), stream.bytes_done) for batch in stream]

        assert [scores for scores, _ in done] == [[0.5], [0.25], [0.75]]
        assert [n for _, n in done[:2]] == [18, 18 + 28]
        assert stream.bytes_done == stream.bytes_total == sum(Path(p).stat().st_size for p in paths)
        assert stream.columns.used() == {"score": "score", "label": "label"}
        assert stream.notes.count("score column: score (guessed)") == 1


def test_a_stream_closed_halfway_leaves_nothing_open(tmp_path):
    """A warning about an unclosed file would fail this test."""
    (tmp_path / "day.csv").write_text("score,label\n" + "0.5,1\n" * 900_000)
    with open_events([str(tmp_path / "day.csv")], ReadOptions()) as stream:
        next(iter(stream))
    assert list(stream) == []


MEMORY = """
import sys
from streamauc.cli.reading import ReadOptions, open_events
n = sum(batch.y_true.size for batch in open_events(sys.argv[1:], ReadOptions()))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(n, int(status["VmHWM"].split()[0]) // 1024)  # getrusage would count the parent's memory too
"""


def peak_mb(path):
    """Rows and the peak memory of a process that reads a file."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    n_rows, peak = done.stdout.split()
    return int(n_rows), int(peak)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    """Fifteen times the rows (in one row group) cost at most 40 MB more; the columns are 102 MB."""

    def write(n_rows):
        score = np.random.default_rng(7).random(n_rows)
        columns = {"ts": 1.7e9 + np.arange(n_rows), "score": score, "label": score > 0.5}
        path = tmp_path / f"{n_rows}.{kind}"
        if kind == "csv":
            pcsv.write_csv(pa.table(columns), path)
        else:
            pq.write_table(pa.table(columns), path, row_group_size=n_rows)
        return path

    small, large = peak_mb(write(400_000)), peak_mb(write(6_000_000))

    assert (small[0], large[0]) == (400_000, 6_000_000)
    assert large[1] - small[1] <= 40


def test_widening_is_exact(tmp_path):
    """A float32 score is the float64 of the same value, never a neighbour; so is a decimal."""
    narrow = np.array([0.1, 0.85, 1 / 3], np.float32)
    for kind, values in (
        ("float", pa.array(narrow)),
        ("half", pa.array(narrow.astype(np.float16))),
        ("integer", pa.array([0, 1, 1], pa.int8())),
        ("decimal", pa.array(["0.82", "0.41", "0.7795"]).cast(pa.decimal128(9, 4))),
        ("text", pa.array(["0.10", "0.85", "0.33"], pa.large_string())),
        ("dictionary", pa.array(["0.10", "0.85", "0.33"]).dictionary_encode()),
    ):
        pq.write_table(pa.table({"score": values, "label": [0, 1, 1]}), tmp_path / "day.parquet")
        plain = [float(value) for value in values.to_pylist()]
        assert read(tmp_path / "day.parquet").y_score == plain, kind


def test_weights_are_read_by_name_and_may_be_zero():
    """Only a column that is named so is taken for the weight."""
    text = "score,label,weight\n0.5,1,0\n0.25,0,2.5\n"
    assert read_text(text).weights == [0.0, 2.5]
    assert read_text(text.replace("weight", "amount")).weights == []
    assert read_text(text.replace("weight", "amount"), weight="amount").weights == [0.0, 2.5]


def test_real_scales_take_every_finite_score():
    """The range asked for decides, not the format."""
    largest = sys.float_info.max
    text = f"score,label\n{largest!r},1\n-3.5,0\n"
    assert read_text(text, scores=(-largest, largest)).y_score == [largest, -3.5]
    assert math.isclose(read_text("score,label\n2,1\n", scores=(1, 5)).y_score[0], 2)
