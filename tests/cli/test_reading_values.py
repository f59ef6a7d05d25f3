"""Reading: times, labels and column names, each by its rules."""

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamauc.cli.reading import ReadOptions, open_events
from streamauc.cli.reading.batches import Notes
from streamauc.cli.reading.epochs import epoch_seconds, guessed_unit
from streamauc.cli.reading.labels import LabelReader
from streamauc.cli.reading.names import resolve_columns
from streamauc.cli.reading.times import TimeReader
from streamauc.cli.reading.zones import LocalClock


def times(cells, **options):
    """Return a column as seconds (nan where bad), the first requirement broken, and the notes."""
    notes = Notes()
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    got = TimeReader("day.csv", "ts", ReadOptions(**options), notes).read(cells)
    seconds = got.values.copy()
    broken = [problem for problem in got.problems if problem.rows.any()]
    for problem in broken:
        seconds[problem.rows] = np.nan
    return seconds.tolist(), broken[0].requirement if broken else None, notes.lines


def stamp(text):
    return datetime.fromisoformat(text).timestamp()


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2024-06-01T12:00:00Z",
        "2024-06-01T12:00:00+00:00",
        "2024-06-01 12:00:00+0000",
        "2024-06-01T14:00+02",
        "  2024-06-01T17:30:00.000+05:30 ",
        "2024-06-01t12:00:00z",
        "20240601T120000Z",
        "2024-06-01T12:00:00,000Z",
    ],
)
def test_one_instant_in_many_ways_of_writing(text):
    """Alone in its column, and beside others that force a look at every cell."""
    assert times([text])[0] == [1_717_243_200.0]
    assert times(["2024-06-01T12:00:00,5Z", text])[0] == [1_717_243_200.5, 1_717_243_200.0]


@pytest.mark.parametrize("digits", ["5", "125", "000001", "123456789", "1234567891"])
def test_fractions_of_any_length(digits):
    """The nearest float64 to the fraction, up to its last place."""
    (got,), _, _ = times([f"2024-06-01T12:00:00.{digits}Z"])
    assert got == pytest.approx(1_717_243_200 + float(f"0.{digits}"), rel=0, abs=2.4e-7)


@given(st.integers(-(2**52), 2**52))
def test_microseconds_are_correctly_rounded(count):
    """One division, no detour: what Python's integers give."""
    assert epoch_seconds(np.array([count]), "us")[0] == count / 10**6


@given(st.integers(10**9, 2 * 10**9), st.integers(0, 10**9 - 1))
def test_nanoseconds_of_our_time_are_correctly_rounded(second, part):
    """They exceed 2**53, so dividing them as floats would round twice."""
    count = second * 10**9 + part
    assert epoch_seconds(np.array([count]), "ns")[0] == count / 10**9


@pytest.mark.parametrize(
    ("number", "unit"),
    [(1e11 - 1, "s"), (-1e11, "ms"), (1e14 - 1, "ms"), (1e14, "us"), (1e17, "ns"), (0, "s")],
)
def test_where_the_guess_of_the_unit_turns(number, unit):
    """Seconds up to the year 5138, milliseconds from March 1973 on."""
    assert guessed_unit(np.array([number]), "day.csv") == unit


@pytest.mark.parametrize(
    ("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]
)
def test_epoch_units_are_guessed_by_magnitude_and_noted(unit, factor):
    """Integers, floats and text alike; a unit that is named is not guessed."""
    words = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
    first = 1_717_243_200
    for cells in ([first * factor], [float(first * factor)], [str(first * factor)]):
        assert times(cells) == ([first], None, [f"times are epoch {words[unit]} (guessed)"])
        assert times(cells, time_unit=unit) == ([first], None, [])


def test_the_guess_survives_an_outlier_and_holds_for_the_file():
    """The middle of the first values decides, once."""
    reader = TimeReader("day.csv", "ts", ReadOptions(), Notes())
    first = reader.read(pa.array([0, 1_700_000_000_000, 1_700_000_001_000]))
    later = reader.read(pa.array([5_000]))
    assert first.values.tolist() == [0, 1_700_000_000, 1_700_000_001]
    assert later.values.tolist() == [5.0]


@pytest.mark.parametrize("number", [20240601, 202406011230, 20240601123000])
def test_a_calendar_date_written_as_a_number_is_no_count(number):
    """It would land in 1970 without a word."""
    with pytest.raises(
        ValueError, match="looks like a date; write it as 2024-06-01, or give --time"
    ):
        times([number])
    assert times([number], time_unit="ms")[0] == [number / 1_000]


@pytest.mark.parametrize(
    "zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "UTC"]
)
@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-3 * 10**9, 4 * 10**9), min_size=1, max_size=20))
def test_local_times_are_those_of_zoneinfo(zone, local):
    """Any second of any year between 1875 and 2096."""
    assert LocalClock(ZoneInfo(zone)).offsets(np.array(local)).tolist() == offsets(zone, local)


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe"])
@pytest.mark.parametrize(
    "day",
    [
        "2024-03-10",
        "2024-03-31",
        "2024-04-07",
        "2024-10-06",
        "2024-11-03",
        "1883-11-18",
        "1893-04-01",
    ],
)
def test_days_on_which_the_clocks_change(zone, day):
    """Every 17 seconds: an hour that occurs twice is the first, a skipped one moves forward."""
    start = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp())
    local = list(range(start, start + 86_400, 17))
    assert LocalClock(ZoneInfo(zone)).offsets(np.array(local)).tolist() == offsets(zone, local)


def offsets(zone, local):
    """Return what the standard library says, one by one."""
    walls = [datetime(1970, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(seconds=s) for s in local]
    return [wall.utcoffset().total_seconds() for wall in walls]


def test_times_without_a_zone_in_every_kind_of_column():
    """Text, timestamps and days are local; with `tz` they become instants and a note says how."""
    noon, midnight = stamp("2024-06-01T12:00:00-04:00"), stamp("2024-06-01T00:00:00-04:00")
    note = (
        "times without a zone are read as America/New_York"
        " (an hour that occurs twice: the first; one that is skipped: moved forward)"
    )
    for cells, expected in (
        (pa.array(["2024-06-01T12:00:00"]), noon),
        (pa.array(["2024-06-01 12:00"]), noon),
        (pa.array([datetime(2024, 6, 1, 12)], pa.timestamp("ms")), noon),
        (pa.array([datetime(2024, 6, 1, 12)], pa.timestamp("ns")), noon),
        (pa.array([datetime(2024, 6, 1).date()], pa.date32()), midnight),
        (pa.array([datetime(2024, 6, 1).date()], pa.date64()), midnight),
        (pa.array(["2024-06-01"]), midnight),
    ):
        assert times(cells, tz="America/New_York") == ([expected], None, [note])
        assert times(cells)[1] == "must carry a time zone (or name one with --tz)"


def test_a_zone_in_the_column_beats_the_option():
    """`tz` is for times that carry none, also next to others that do."""
    cells = ["2024-06-01T12:00:00Z", "2024-06-01T12:00:00"]
    expected = [stamp("2024-06-01T12:00:00+00:00"), stamp("2024-06-01T12:00:00+02:00")]
    assert times(cells, tz="Europe/Berlin")[0] == expected
    aware = pa.array([datetime(2024, 6, 1, 12, tzinfo=UTC)], pa.timestamp("s", "Asia/Tokyo"))
    assert times(aware, tz="Europe/Berlin") == (expected[:1], None, [])


@pytest.mark.parametrize(
    ("cells", "requirement"),
    [
        (["2024-06-01T00:00:00Z", "soon"], "must be a time (ISO 8601 or seconds since the epoch)"),
        (["2024-06-01T00:00:00Z", None], "must be a time (ISO 8601 or seconds since the epoch)"),
        (["2024-02-30T00:00:00Z"], "must be a time (ISO 8601 or seconds since the epoch)"),
        (["2024-06-01T12:00:60Z"], "must be a time (ISO 8601 or seconds since the epoch)"),
        (["1717243200", "soon"], "must be a time (ISO 8601 or seconds since the epoch)"),
        ([True], "must be a time (ISO 8601 or seconds since the epoch)"),
        ([1.7e9, float("nan")], "must be in the years 1 to 9999"),
        ([1.7e9, float("inf")], "must be in the years 1 to 9999"),
        ([1_700_000_000, 1_700_000_000, 253_402_300_800], "must be in the years 1 to 9999"),
        ([1_700_000_000, 1_700_000_000, -62_135_596_801], "must be in the years 1 to 9999"),
    ],
)
def test_what_is_no_time(cells, requirement):
    """The last cell is the bad one; the others are read."""
    seconds, broken, _ = times(cells)
    assert broken == requirement
    assert np.isnan(seconds[-1])
    assert not np.isnan(seconds[:-1]).any()


def test_the_ends_of_the_calendar():
    """The first and the last second that Python's datetime knows."""
    cells = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    assert times(cells)[0] == [-62_135_596_800.0, 253_402_300_799.0]
    counts = [-62_135_596_800, 253_402_300_799]
    assert times(counts, time_unit="s")[0] == [-62_135_596_800.0, 253_402_300_799.0]


# --- labels ---------------------------------------------------------------------------------------


def labels(cells, positive=None):
    """Return labels as a list: 0, 1, None where missing, "bad" where bad."""
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    got = LabelReader(positive).read(cells)
    result = got.values.tolist()
    for index in range(len(result)):
        if got.missing is not None and got.missing[index]:
            result[index] = None
        if any(problem.rows[index] for problem in got.problems):
            result[index] = "bad"
    return result


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([True, False], [1, 0]),
        ([True, None], [1, None]),
        ([0, 1, 1], [0, 1, 1]),
        ([0, 1, 2, -1], [0, 1, "bad", "bad"]),
        ([0, 1, -1], [0, 1, "bad"]),
        (pa.array([0, 1, None], pa.int8()), [0, 1, None]),
        (pa.array([0, 255], pa.uint8()), [0, "bad"]),
        ([0.0, 1.0, float("nan"), 0.5], [0, 1, None, "bad"]),
        (pa.array(np.array([0.0, 1.0], dtype=np.float16)), [0, 1]),
        (["0", "1", "1.0", "0.0", " 1 "], [0, 1, 1, 0, 1]),
        (["true", "False", "TRUE"], [1, 0, 1]),
        (["", "NA", "N/A", "NaN", "nan", "null", "None", "<NA>", "\\N", " "], [None] * 10),
        (["yes", "2", "inf"], ["bad"] * 3),
        (pa.array(["1", None, "0", "1"]).dictionary_encode(), [1, None, 0, 1]),
        (pa.array([b"1", b"0", b""]), [1, 0, None]),
        (pa.array([1, 0]).cast(pa.decimal128(25, 2)), [1, 0]),
        (pa.array(["1", "0"], pa.string_view()), [1, 0]),
        (pa.nulls(2), [None, None]),
        (pa.array([[1]]), ["bad"]),
        (pa.array([], pa.bool_()), []),
    ],
)
def test_labels_of_every_type(cells, expected):
    """What is missing is pending and never negative; what is neither 0 nor 1 is bad."""
    assert labels(cells) == expected


@pytest.mark.parametrize(
    ("cells", "positive", "expected"),
    [
        (["fraud", "ok", "", "Fraud", " fraud "], "fraud", [1, 0, None, 0, 1]),
        ([1, 2, 0], "2", [0, 1, 0]),
        ([1.0, 2.0, float("nan")], "1", [1, 0, None]),
        (["1", "1.0", "01", "x"], "1", [1, 1, 1, 0]),
        ([True, False, None], "true", [1, 0, None]),
        ([True, False], "False", [0, 1]),
        (["none", "some"], "none", [1, 0]),
        (pa.array(["a", "b", None]).dictionary_encode(), "b", [0, 1, None]),
    ],
)
def test_a_named_positive_label(cells, positive, expected):
    """That value is positive, by value where it is a number; every other one is negative."""
    assert labels(cells, positive) == expected


def test_which_values_were_negative_is_noted_and_whether_a_positive_came(tmp_path):
    """At most five are named; unused categories are not."""
    path = tmp_path / "day.parquet"
    kinds = pa.array(list("a-bcdefg")).dictionary_encode()
    label = pa.DictionaryArray.from_arrays(
        pa.array([2, 3, 3, 4, 5, 6, 7], pa.int32()), kinds.dictionary
    )
    pq.write_table(pa.table({"label": label, "score": [0.5] * 7}), path)

    with open_events([str(path)], ReadOptions(positive="a")) as stream:
        list(stream)
        assert stream.notes[-1] == (
            "labels taken as negative: 'b', 'c', 'd', 'e', 'f', ... (positive is 'a')"
        )
        assert not stream.positive_seen
    with open_events([str(path)], ReadOptions(positive="g")) as stream:
        list(stream)
        assert stream.positive_seen


# --- columns --------------------------------------------------------------------------------------


def resolved(*names, **options):
    notes = Notes()
    columns = resolve_columns("day.csv", names, ReadOptions(**options), notes)
    return columns.used(), notes.lines


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("score", "label"), {"score": "score", "label": "label"}),
        (("Timestamp", "Y_True", "y_pred", "Y Score"), ["Y Score", "Y_True", "Timestamp"]),
        (("id", "p_fraud", "is_fraud", "created_at"), ["p_fraud", "is_fraud", "created_at"]),
        (("p", "y", "t", "sample_weight"), ["p", "y", "t", "sample_weight"]),
        (
            ("probability", "outcome", "event_time", "label_time"),
            ["probability", "outcome", "event_time"],
        ),
        (("prediction", "class", "Date"), ["prediction", "class", "Date"]),
        (("pred-proba", "actual", "weights"), ["pred-proba", "actual"]),
    ],
)
def test_columns_are_guessed_by_their_names(names, expected):
    """And every guess is noted."""
    got, notes = resolved(*names)
    assert list(got.values()) == list(expected.values() if isinstance(expected, dict) else expected)
    for role, name in got.items():
        assert f"{role} column: {name} (guessed)" in notes


def test_a_named_column_is_not_guessed_again():
    """What is named is taken away from the guesses, and not noted."""
    got, notes = resolved("score", "label", "y", score="y")
    assert got == {"score": "y", "label": "label"}
    assert notes == [
        "label column: label (guessed)",
        "no time column: the whole input is one window",
    ]
    assert resolved("y", "class", score="y")[0] == {"score": "y", "label": "class"}
    assert "time" not in resolved("score", "label", "time", time="")[0]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (
            ("a", "b"),
            {},
            "day.csv: no column looks like the score; name it with --score (columns: a, b)",
        ),
        (
            ("score", "b"),
            {},
            "day.csv: no column looks like the label; name it with --label (columns: score, b)",
        ),
        (
            ("score", "probability", "label"),
            {},
            "day.csv: the score column could be score or probability; name it with --score"
            " (columns: score, probability, label)",
        ),
        (
            ("score", "label", "t", "date"),
            {},
            "day.csv: the time column could be t or date; name it with --time"
            " (columns: score, label, t, date)",
        ),
        (
            ("Score", "label"),
            {"score": "scroe"},
            "day.csv has no column 'scroe'; did you mean 'Score'? (columns: Score, label)",
        ),
        (("x", "label"), {"score": "p"}, "day.csv has no column 'p' (columns: x, label)"),
        (
            ("score", "score", "label"),
            {"score": "score"},
            "day.csv: column 'score' must be there once, got 2",
        ),
        (
            tuple(f"c{k}" for k in range(40)),
            {},
            "day.csv: no column looks like the score; name it with --score (columns: "
            + ", ".join(f"c{k}" for k in range(30))
            + " and 10 more)",
        ),
    ],
)
def test_columns_that_cannot_be_resolved(names, options, message):
    """The message lists what there is."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        resolved(*names, **options)
    assert str(caught.value) == message


def test_the_json_types_of_a_label_agree_with_its_text(tmp_path):
    """A boolean in the fast path and the word in the careful one are the same value."""
    path = tmp_path / "day.jsonl"
    rows = [{"score": 0.5, "label": True}, {"score": 0.25, "label": False}]
    for extra in ([], [{"score": "bad", "label": "x"}]):
        path.write_text("\n".join(map(json.dumps, rows + extra)))
        with open_events([str(path)], ReadOptions(positive="true", skip_bad=True)) as stream:
            assert [batch.y_true.tolist() for batch in stream] == [[1, 0]]
