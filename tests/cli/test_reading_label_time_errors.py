"""Reading label times: what is bad is named or counted, also against a slow plain reader."""

import csv
import json
import math
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamauc.cli.reading import BadRowError, ReadOptions, blocks, open_events

T0 = 1_717_243_200  # 2024-06-01T12:00:00Z
NEEDED = "must be a time, because the row has a label"
NOT_A_TIME = "must be a time (ISO 8601 or seconds since the epoch)"
NO_ZONE = "must carry a time zone (or name one with --tz)"


def iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def read(path, **options):
    """Return the events as (label, score, time, known) rows, and the counts."""
    with open_events([str(path)], ReadOptions(label_time="known", **options)) as stream:
        events, bad, n_pending = [], {}, 0
        for batch in stream:
            assert batch.n_bad == sum(batch.bad_reasons.values())
            columns = (batch.y_true, batch.y_score, batch.timestamps, batch.known_at)
            events += zip(*(column.tolist() for column in columns), strict=True)
            n_pending += batch.n_pending
            for reason, count in batch.bad_reasons.items():
                bad[reason] = bad.get(reason, 0) + count
        return events, n_pending, bad


def message(path, **options):
    """Return the message of the error that reading ends with."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        read(path, **options)
    return str(caught.value)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes text or a table into the current directory."""
    monkeypatch.chdir(tmp_path)

    def write_file(name, content):
        if isinstance(content, pa.Table):
            pq.write_table(content, name)
        else:
            (tmp_path / name).write_text(content)
        return name

    return write_file


BAD_CELLS = [
    ("", f"{NEEDED}, got an empty cell"),
    ("  ", f"{NEEDED}, got an empty cell"),
    ("soon", f"{NOT_A_TIME}, got 'soon'"),
    ("2024-06-01 12:00", f"{NO_ZONE}, got '2024-06-01 12:00'"),
]


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize(("cell", "expected"), BAD_CELLS)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_bad_label_time_in_text(write, monkeypatch, kind, cell, expected, tiny):
    """Named by its line; the pending rows before it, with the same cell, are none."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 150 if tiny else 1 << 20)
    good = {"ts": iso(T0), "score": "0.5", "label": "1", "known": iso(T0)}
    rows = [good] * 4 + [{**good, "label": "", "known": cell}] * 3 + [{**good, "known": cell}, good]
    text = "\n".join([",".join(good), *(",".join(row.values()) for row in rows)])
    path = write(f"day.{kind}", text if kind == "csv" else "\n".join(map(json.dumps, rows)))
    line = 9 if kind == "csv" else 8

    assert message(path) == f"day.{kind}, line {line}, column known: {expected}"
    got, n_pending, bad = read(path, skip_bad=True)

    assert [row[3] for row in got] == [T0] * 4 + [math.inf] * 3 + [T0]
    assert (n_pending, bad) == (3, {f"known {expected.split(', got')[0]}": 1})


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([T0, None, None], f"{NEEDED}, got null"),
        ([float(T0), math.nan, math.nan], f"{NEEDED}, got nan"),
        ([None, None, None], f"{NEEDED}, got null"),
        ([float(T0), math.inf, math.inf], "must be in the years 1 to 9999, got inf"),
        ([T0, T0, -(10**11)], "must be in the years 1 to 9999, got -100000000000"),
        ([iso(T0), "", ""], f"{NEEDED}, got an empty cell"),
        ([iso(T0), None, None], f"{NEEDED}, got null"),
        (pa.array([iso(T0), " ", " "]).dictionary_encode(), f"{NEEDED}, got an empty cell"),
        ([True, True, True], f"{NOT_A_TIME}, got True"),
        (pa.array([T0, None, None], pa.timestamp("s", "UTC")), f"{NEEDED}, got null"),
        (pa.array([T0, None, None], pa.timestamp("s")), f"{NEEDED}, got null"),
    ],
)
def test_a_bad_label_time_in_a_table(write, known, expected):
    """The last row is the bad one; the one before has no label."""
    known = known if isinstance(known, pa.Array) else pa.array(known)
    label = pa.array([None if known[0].as_py() in (None, True) else 1, None, 1])
    columns = {"ts": [T0] * 3, "score": [0.5] * 3, "label": label, "known": known}
    path = write("day.parquet", pa.table(columns))

    assert message(path, tz="UTC", time_unit="s") == f"day.parquet, row 3, column known: {expected}"


def test_the_attributes_of_a_bad_label_time(write):
    """A caller need not take the message apart."""
    path = write("day.csv", f"ts,score,label,known\n{T0},0.5,1,\n")
    with pytest.raises(BadRowError) as caught:
        read(path)
    error = caught.value
    assert (error.line, error.column, error.requirement) == (2, "known", NEEDED)


def test_a_bad_row_counts_once_and_for_its_first_fault(write):
    """Also when it is pending: a prediction with a bad score or time is none."""
    text = (
        "ts,score,label,weight,known\n"
        f"{T0},0.5,1,1,{T0}\n"
        f"{T0},7,1,1,\n"  # score, then label time
        f"{T0},0.5,x,1,\n"  # label, then label time
        f"{T0},0.5,1,-1,\n"  # weight, then label time
        f"{T0},0.5,0,1,\n"
        f"{T0},0.5,0,1,later\n"
        f"{T0},7,,1,later\n"
        f",0.5,,1,\n"
        f"{T0},0.25,,3,later\n"
        f"{T0},0.5\n"
    )
    with open_events(
        [write("day.csv", text)], ReadOptions(skip_bad=True, label_time="known")
    ) as stream:
        (batch,) = stream
    assert batch.y_score.tolist() == [0.5, 0.25]
    assert batch.weights.tolist() == [1, 3]
    assert batch.known_at.tolist() == [T0, math.inf]
    assert (batch.n_pending, batch.n_bad) == (1, 8)
    assert batch.bad_reasons == {
        "must have 5 fields": 1,
        "score must be in [0, 1]": 2,
        "label must be 0 or 1, true or false (or name the positive value with --positive)": 1,
        f"ts {NOT_A_TIME}": 1,
        "weight must be at least 0": 1,
        f"known {NEEDED}": 1,
        f"known {NOT_A_TIME}": 1,
    }


def test_a_calendar_date_written_as_a_number_is_named_with_its_column(write):
    """It would land in 1970, before every event."""
    path = write("day.csv", f"ts,score,label,known\n{T0},0.5,1,20240601\n")
    assert message(path).startswith("day.csv, column known: must be counts since the")


# --- generated rows against a plain reader --------------------------------------------------------

lattice = st.integers(0, 4).map(lambda k: k / 4)
instants = st.integers(0, 2**31).map(iso)
csv_rows = st.lists(
    st.tuples(
        st.one_of(lattice.map(repr), st.sampled_from(["", "2"])),
        st.sampled_from(["0", "1", "1", "0", "true", "", "NA", "2"]),
        st.one_of(instants, st.sampled_from(["", "soon"])),
        st.one_of(
            instants, instants, st.sampled_from(["", "soon", "2024-06-01T14:00+02", "2024-06-01"])
        ),
        st.text(st.sampled_from('a,"\n'), max_size=4),
    ),
    max_size=30,
)


def plain_row(score, label, time, known):
    """Return the event in a row or "bad"; slow and obvious."""
    try:
        s, t = float(score), datetime.fromisoformat(time).timestamp()
        if label in ("", "NA"):
            return (0, s, t, math.inf) if 0 <= s <= 1 else "bad"
        y, at = {"0": 0, "1": 1, "true": 1}[label], datetime.fromisoformat(known)
    except (ValueError, KeyError):
        return "bad"
    return (y, s, t, at.timestamp()) if 0 <= s <= 1 and at.tzinfo else "bad"


@settings(deadline=None, max_examples=60)
@given(csv_rows, st.booleans())
def test_delimited_text_against_a_plain_reader(tmp_path_factory, rows, tiny):
    """Events, pending rows and bad rows agree, in one block or in many tiny ones."""
    path = tmp_path_factory.mktemp("day") / "day.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["note", "score", "label", "ts", "known"])
        writer.writerows([row[-1], *row[:-1]] for row in rows)
    expected = [plain_row(*row[:-1]) for row in rows]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", 64 if tiny else 1 << 20)
        got, n_pending, bad = read(path, skip_bad=True)

    assert got == [row for row in expected if row != "bad"]
    assert n_pending == sum(row[3] == math.inf for row in expected if row != "bad")
    assert sum(bad.values()) == expected.count("bad")
