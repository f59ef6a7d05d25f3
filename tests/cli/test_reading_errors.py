"""Reading: what goes wrong is said in one line that names file, place, column and value."""

import gzip
import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamauc.cli.reading import BadRowError, ReadOptions, blocks, open_events


def message(*paths, **options):
    """Return the message of the error that reading ends with."""
    with (
        pytest.raises((ValueError, OSError)) as caught,
        open_events([str(path) for path in paths], ReadOptions(**options)) as stream,
    ):
        list(stream)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a file into the current directory."""
    monkeypatch.chdir(tmp_path)

    def write_file(name, content):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        return name

    return write_file


TIME = "must be a time (ISO 8601 or seconds since the epoch)"
LABEL = "must be 0 or 1, true or false (or name the positive value with --positive)"
BAD_CELLS = [
    ("score", "1.7", "must be in [0, 1], got 1.7"),
    ("score", "-1e-9", "must be in [0, 1], got -1e-9"),
    ("score", "nan", "must be finite, got nan"),
    ("score", "-inf", "must be finite, got -inf"),
    ("score", "high", "must be a number, got 'high'"),
    ("score", "", "must be a number, got an empty cell"),
    ("score", "0x1p-1", "must be a number, got '0x1p-1'"),
    ("score", "0_1", "must be a number, got '0_1'"),
    ("score", "x" * 70, f"must be a number, got '{'x' * 60}...'"),
    ("label", "fraud", f"{LABEL}, got 'fraud'"),
    ("label", "2", f"{LABEL}, got 2"),
    ("ts", "soon", f"{TIME}, got 'soon'"),
    ("ts", "", f"{TIME}, got an empty cell"),
    (
        "ts",
        "2024-06-01 09:00",
        "must carry a time zone (or name one with --tz), got '2024-06-01 09:00'",
    ),
    ("weight", "-1", "must be at least 0, got -1"),
    ("weight", "inf", "must be finite, got inf"),
    ("weight", "", "must be a number, got an empty cell"),
]
GOOD = {"score": "0.5", "label": "1", "ts": "2024-06-01T12:00:00Z", "weight": "1"}


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize(("column", "cell", "expected"), BAD_CELLS)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_bad_cell_in_text(write, monkeypatch, kind, column, cell, expected, tiny):
    """The same words for both formats, from whichever block; a later bad row is not the first."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 150 if tiny else 1 << 20)
    bad = {**GOOD, column: cell}
    rows = [GOOD] * 7 + [bad] + [GOOD] * 3 + [{**GOOD, "score": "7"}]
    if kind == "csv":
        text = "\n".join([",".join(GOOD), *(",".join(row.values()) for row in rows)])
    else:
        text = "\n".join(map(json.dumps, rows))
    line = 9 if kind == "csv" else 8

    path = write(f"day.{kind}", text)

    assert message(path) == f"day.{kind}, line {line}, column {column}: {expected}"


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("score", [0.5, 1.5], "must be in [0, 1], got 1.5"),
        ("score", [0.5, None], "must be a number, got null"),
        ("score", [0.5, float("nan")], "must be finite, got nan"),
        ("score", pa.array([0, 2]), "must be in [0, 1], got 2"),
        ("score", ["0.5", "x"], "must be a number, got 'x'"),
        ("label", [1, 2], f"{LABEL}, got 2"),
        ("label", ["yes", "no"], f"{LABEL}, got 'yes'"),
        ("ts", pa.array([1, None], pa.timestamp("s", "UTC")), f"{TIME}, got null"),
        (
            "ts",
            pa.array([0, 10**15], pa.timestamp("ms", "UTC")),
            "must be in the years 1 to 9999, got 1000000000000000 ms since the epoch",
        ),
        (
            "ts",
            pa.array([datetime(2024, 6, 1, 9, tzinfo=UTC)] * 2, pa.timestamp("us")),
            "must carry a time zone (or name one with --tz), got 2024-06-01 09:00:00.000000",
        ),
        (
            "ts",
            pa.array([19_000, 19_001], pa.date32()),
            "must carry a time zone (or name one with --tz), got 2022-01-08",
        ),
        ("ts", [True, False], f"{TIME}, got True"),
        ("weight", [1.0, -0.5], "must be at least 0, got -0.5"),
    ],
)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_bad_cell_in_a_table(write, kind, column, values, expected):
    """Rows count from 1 and through all batches of the file."""
    columns = {"score": [0.5, 0.5], "label": [1, 0], "ts": [1.7e9, 1.7e9], "weight": [1, 1]}
    values = values if isinstance(values, pa.Array) else pa.array(values)
    start = pa.table(
        {**columns, column: values.take(pa.array([0] * 5)), **without(columns, column)}
    )
    table = pa.table({**columns, column: values})
    first_is_bad = "zone" in expected or "yes" in expected or "True" in expected
    sink = io.BytesIO()
    whole = (
        pa.concat_tables([start.select(table.column_names), table]) if not first_is_bad else table
    )
    if kind == "parquet":
        pq.write_table(whole, sink, row_group_size=3)
    else:
        with pa.ipc.new_file(sink, whole.schema) as writer:
            writer.write_table(whole, 3)

    got = message(write(f"day.{kind}", sink.getvalue()), batch_rows=2)

    row = 1 if first_is_bad else 7
    assert got == f"day.{kind}, row {row}, column {column}: {expected}"


def without(columns, name):
    """Return five rows of every column but one."""
    return {key: cells[:1] * 5 for key, cells in columns.items() if key != name}


def test_the_attributes_of_a_bad_row(write):
    """A caller need not take the message apart."""
    write("day.csv", "score,label\n0.5,1\n1.7,0\n")
    with (
        pytest.raises(BadRowError) as caught,
        open_events(["day.csv"], ReadOptions()) as stream,
    ):
        list(stream)
    error = caught.value
    assert (error.file, error.unit, error.line, error.column, error.value) == (
        "day.csv",
        "line",
        3,
        "score",
        "1.7",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("score,label\n0.5,1\n0.5\n", "day.csv, line 3: must have 2 fields, got 1"),
        ("score,label\n0.5,1\n0.5,1,\n9,1\n", "day.csv, line 3: must have 2 fields, got 3"),
        ('score,label\n0.5,1\n"9\n",1\n0.5\n', "day.csv, line 3, column score: must be in [0, 1]"),
        ("score;label\n0,5;1\n0.5;1\n", "day.csv, line 3, column score: must be a number with the"),
        (
            'score,label\n0.5,1\n"0,5",1\n',
            "day.csv, line 3, column score: must be a number with the",
        ),
        (
            "0.5,1\n0.25,0\n",
            "day.csv must begin with a line that names the columns, got '0.5,1'; add",
        ),
        (
            "2024-06-01T12:00Z,1\n",
            "day.csv must begin with a line that names the columns, got '2024",
        ),
        ("", "day.csv is empty"),
        ("\ufeff \n\n", "day.csv is empty"),
        (
            "score\n0.5\n",
            "day.csv: no column looks like the label; name it with --label (columns: ",
        ),
        (
            '[{"score": 1}]',
            "day.csv must hold one JSON object a line, got a JSON array; convert it",
        ),
        ('{"score": 1, "label": 1}\n[1]', "day.csv, line 2: must be a JSON object, got '[1]'"),
        ('{"score": 1, "label": 1}\n{"sc', "day.csv, line 2: must be a JSON object, got '{\"sc'"),
    ],
)
def test_text_that_is_no_table(write, text, expected):
    """Rows of another length and files of another kind."""
    assert message(write("day.csv", text)).startswith(expected)


READABLE = "CSV, TSV, JSON lines, Parquet or Arrow, plain or packed with gzip or zstd"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"PK\x03\x04junk", f"day must be {READABLE}, got a zip archive or a workbook"),
        (b"BZh91AY", f"day must be {READABLE}, got compressed with bzip2"),
        (b"\x00\x01\x02", f"day must be {READABLE}, got bytes that are no text"),
        (b"PAR1 and no more", "day: cannot be read: "),
        (b"ARROW1\0\0 and no more", "day: cannot be read: "),
        (b"\xff\xff\xff\xff\x10", "day: cannot be read: "),
        (gzip.compress(b"", mtime=0), "day is empty"),
        (
            gzip.compress(b"score,label\n" * 9, mtime=0)[:-6],
            "day: the compressed data end too early; is the",
        ),
        (
            gzip.compress(b"score,label\n", mtime=0)[:-8] + b"12345678",
            "day: the compressed data are damaged (",
        ),
    ],
)
def test_bytes_of_another_kind(write, data, expected):
    """No message from inside a decoder comes alone."""
    assert message(write("day", data)).startswith(expected)


def test_a_file_that_ends_early_after_good_rows(write):
    """The rows before the end of a truncated file do not count as the whole."""
    rows = "score,label\n" + "".join(f"0.{k:07},1\n" for k in range(400_000))
    data = gzip.compress(rows.encode())
    expected = "day.csv.gz: the compressed data end too early; is the file complete?"
    assert message(write("day.csv.gz", data[: len(data) // 2])) == expected


def test_files_that_are_not_there(write, tmp_path):
    """Every path is looked at before the first is read."""
    write("day.csv", "score,label\n9,1\n")
    assert message("day.csv", "nope.csv") == "nope.csv: no such file"
    assert message(tmp_path) == f"{tmp_path} is a directory; name the files in it"
    with pytest.raises(ValueError, match="paths must name at least one file, got none"):
        open_events([], ReadOptions())


def test_a_further_file_without_a_column(write):
    """The files must agree in the columns that the first one settled."""
    write("a.csv", "p_fraud,label\n0.5,1\n")
    write("b.csv", "p_fraut,label\n0.5,1\n")
    assert message("a.csv", "b.csv") == (
        "b.csv has no column 'p_fraud'; did you mean 'p_fraut'? (columns: p_fraut, label)"
    )


def test_a_header_and_no_rows(write):
    """Nothing to read is no error."""
    for name, text in (("day.csv", "score,label\n"), ("day.tsv", "score\tlabel")):
        with open_events([write(name, text)], ReadOptions()) as stream:
            assert [batch.y_true.size for batch in stream if batch.y_true.size] == []
    pq.write_table(pa.table({"score": pa.array([], pa.float64()), "label": []}), "day.parquet")
    with open_events(["day.parquet"], ReadOptions()) as stream:
        assert list(stream) == []


def test_a_header_of_numbers_is_one_if_its_columns_are_named(write):
    """`to_csv` of a frame without names writes 0,1,2."""
    write("day.csv", "0,1\n0.5,1\n")
    with open_events(["day.csv"], ReadOptions(score="0", label="1")) as stream:
        assert [batch.y_score.tolist() for batch in stream] == [[0.5]]


def test_skipped_rows_are_counted_once_and_by_reason(write):
    """A row with two faults counts for the first; a pending row with a fault is bad."""
    text = (
        "score,label,weight\n0.5,1,1\n7,x,-1\n0.5,x,1\n0.5,,-1\n0.5,,1\n0.5\nnan,1,1\n0.25,0,1\n"
        ",1,1\n"
    )
    with open_events([write("day.csv", text)], ReadOptions(skip_bad=True)) as stream:
        (batch,) = stream
    assert batch.y_score.tolist() == [0.5, 0.25]
    assert batch.weights.tolist() == [1.0, 1.0]
    assert (batch.n_pending, batch.n_bad) == (1, 6)
    assert batch.bad_reasons == {
        "must have 3 fields": 1,
        "score must be in [0, 1]": 1,
        f"label {LABEL}": 1,
        "weight must be at least 0": 1,
        "score must be finite": 1,
        "score must be a number": 1,
    }


def test_a_record_that_never_ends(write, monkeypatch):
    """A quote left open must not take the rest of a large file into memory."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(blocks, "LONGEST_RECORD", 1 << 20)
    text = 'note,score,label\nx,0.5,1\n"open,0.5,1\n' + "x,0.5,1\n" * 300_000
    assert message(write("day.csv", text)) == (
        "day.csv, line 3: a record must fit in 1 MB, got a longer one; is a quote left open?"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"delimiter": "::"}, "delimiter must be one character, got '::'"),
        ({"delimiter": '"'}, "delimiter must not be a quote or a line end, got '\"'"),
        ({"decimal": ";"}, "decimal must be '.' or ',', got ';'"),
        ({"time_unit": "min"}, "time_unit must be one of s, ms, us, ns, got 'min'"),
        ({"tz": "Berlin"}, "tz must be a name like Europe/Berlin or UTC, got 'Berlin'"),
        ({"tz": "../etc"}, "tz must be a name like Europe/Berlin or UTC, got '../etc'"),
        ({"batch_rows": 0}, "batch_rows must be at least 1, got 0"),
        (
            {"scores": (1, 0)},
            "scores must be two finite numbers in increasing order, got (1, 0)",
        ),
    ],
)
def test_options_that_make_no_sense(options, expected):
    """Refused when they are given, before any file is touched."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        ReadOptions(**options)
    assert str(caught.value) == expected


def test_a_backslash_and_a_t_are_a_tab(write):
    r"""What a shell passes on for --delimiter '\t'."""
    write("day", "score\tlabel,x\n0.5\t1\n")
    options = ReadOptions(delimiter="\\t", label="label,x")
    with open_events(["day"], options) as stream:
        assert [batch.y_true.tolist() for batch in stream] == [[1]]
