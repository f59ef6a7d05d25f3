"""What people write as a time becomes seconds since the epoch, exactly; the rest is refused."""

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamauc._time import (
    MAX_TIME,
    calendar_edges,
    duration,
    seconds,
    time_column,
    time_zone,
    utc,
)

INSTANT = 1_709_251_259.5  # 2024-03-01T00:00:59.5Z
AWARE = datetime(2024, 3, 1, 0, 0, 59, 500_000, tzinfo=UTC)
NAIVE = datetime(2026, 1, 5, 9, 0)  # noqa: DTZ001, RUF100 - the mistake itself
INDIA = timezone(timedelta(hours=5, minutes=30))
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize(
    "value",
    [
        INSTANT,
        np.float64(INSTANT),
        np.longdouble(INSTANT),
        Decimal("1709251259.5"),
        Fraction(3_418_502_519, 2),
        np.array(INSTANT),
        AWARE,
        AWARE.astimezone(INDIA),
        pd.Timestamp(AWARE),
        pd.Timestamp(AWARE).tz_convert("America/New_York"),
        np.datetime64("2024-03-01T00:00:59.5"),
        np.datetime64("2024-03-01T00:00:59.5", "ns"),
        "2024-03-01T00:00:59.5Z",
        "2024-03-01T00:00:59.500+00:00",
        "2024-02-29T16:00:59.5-08:00",
        "20240301T053059.5+0530",
        np.str_("2024-03-01 00:00:59.5Z"),
    ],
    ids=lambda value: f"{type(value).__name__} {value}",
)
def test_every_way_to_write_an_instant_is_the_same_second(value):
    """One instant, written in every way that is allowed, alone and in a column."""
    assert seconds("t", value) == INSTANT
    assert time_column([value]).tolist() == [INSTANT]


@pytest.mark.parametrize("value", [0, -5, 17, np.int8(17), np.uint64(2**40), 2**40, -(2**40)])
def test_whole_seconds(value):
    """Integers of every width are seconds, before 1970 too."""
    assert seconds("t", value) == int(value)
    assert time_column([value]).tolist() == [int(value)]


@given(st.integers(-(2**40), 2**40))
def test_aware_datetimes_before_and_after_1970(moment):
    """A datetime and back is the same second, as far as datetimes reach."""
    if not -62_135_596_800 <= moment <= 253_402_300_799:
        with pytest.raises(ValueError, match="time must lie in the years 1 to 9999, got"):
            utc(moment)
        return
    assert seconds("t", utc(moment)) == moment


@pytest.mark.parametrize("unit", UNITS)
@given(data=st.data())
def test_datetime64_is_the_nearest_float(unit, data):
    """Near our time, any tick of any unit is the float64 nearest to it."""
    ticks = data.draw(st.integers(2**29 * UNITS[unit], 2**33 * UNITS[unit] - 1))
    moment = np.datetime64(ticks, unit)

    assert seconds("t", moment) == float(Fraction(ticks, UNITS[unit]))
    assert time_column(np.array([moment])).tolist() == [float(Fraction(ticks, UNITS[unit]))]


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_nanoseconds_of_any_time_are_off_by_an_ulp_at_most(ticks):
    """Two roundings cost one unit in the last place at most, before 1970 too."""
    found, right = seconds("t", np.datetime64(ticks, "ns")), Fraction(ticks, 10**9)

    assert abs(Fraction(found) - right) <= Fraction(math.ulp(found))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.datetime64("1969", "Y"), -31_536_000),
        (np.datetime64("1970-02", "M"), 31 * 86_400),
        (np.datetime64(1, "W"), 7 * 86_400),
        (np.datetime64(-1, "D"), -86_400),
        (np.datetime64(3, "h"), 10_800),
        (np.datetime64(-3, "m"), -180),
        (np.datetime64(3, "25s"), 75),
        (np.datetime64(-3, "100ms"), -0.3),
        (np.datetime64(3_000, "ps"), 3e-9),
        (np.datetime64(3_000_000, "fs"), 3e-9),
        (np.datetime64(3_000_000_000, "as"), 3e-9),
        (np.datetime64(-1, "us"), -1e-6),
    ],
    ids=repr,
)
def test_datetime64_of_unusual_units(value, expected):
    """Years to attoseconds, and several of a unit in one tick."""
    assert seconds("t", value) == expected
    assert time_column(np.array([value])).tolist() == [expected]
    assert time_column(np.array([value]).astype(value.dtype.newbyteorder())).tolist() == [expected]


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "i1", ">i4", "u8", "f8", "g"])
def test_number_columns_of_every_width(dtype):
    """Columns of numbers are widened as they are."""
    column = time_column(np.array([0, 3, 100], dtype=dtype))

    assert column.dtype == np.float64
    assert column.tolist() == [0, 3, 100]


def moments(column):
    """Return a column's times as a list, None for missing ones."""
    return [None if math.isnan(moment) else moment for moment in time_column(column).tolist()]


AWARE_COLUMN = [AWARE, None, datetime(1969, 12, 31, 23, 59, tzinfo=UTC)]
NAIVE_COLUMN = [None if moment is None else moment.replace(tzinfo=None) for moment in AWARE_COLUMN]
TEXT_COLUMN = ["2024-03-01T05:30:59.5+05:30", None, "1969-12-31T23:59Z"]


@pytest.mark.parametrize(
    "column",
    [
        AWARE_COLUMN,
        TEXT_COLUMN,
        np.array(TEXT_COLUMN, dtype=object),
        np.array(["2024-03-01T00:00:59.5", "NaT", "1969-12-31T23:59"], dtype="datetime64[ms]"),
        pd.Series(AWARE_COLUMN),
        pd.Series(AWARE_COLUMN).dt.tz_convert("Asia/Kathmandu"),
        pd.Series(NAIVE_COLUMN, dtype="datetime64[ns]"),
        pd.Series(NAIVE_COLUMN, dtype="datetime64[s]") + pd.Timedelta("0.5s"),
        pd.Index(NAIVE_COLUMN),
        pd.Series(TEXT_COLUMN),
        pl.Series(AWARE_COLUMN),
        pl.Series(AWARE_COLUMN).dt.convert_time_zone("America/New_York"),
        pl.Series(NAIVE_COLUMN).cast(pl.Datetime("ns")),
        pl.Series(TEXT_COLUMN),
        pa.array(AWARE_COLUMN, pa.timestamp("ns", tz="Europe/Berlin")),
        pa.array(NAIVE_COLUMN, pa.timestamp("ms")),
        pa.chunked_array([AWARE_COLUMN[:1], AWARE_COLUMN[1:]], pa.timestamp("us", tz="UTC")),
        pa.array(TEXT_COLUMN),
        np.ma.masked_array([INSTANT, 5.0, -60.0], [False, True, False]),
        np.ma.masked_array(np.array([INSTANT, 5, -60]) * 1e3, [0, 1, 0]).astype("datetime64[ms]"),
    ],
    ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', '')}",
)
def test_columns_of_every_kind(column):
    """Lists, arrays and columns of data frames; what is missing is nan."""
    found = moments(column)

    assert found[1] is None
    assert found[0] in (INSTANT, INSTANT - 0.5 + 0.5)
    assert found[2] in (-60, -59.5)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            NAIVE,
            ValueError,
            "must carry a time zone, got datetime(2026, 1, 5, 9, 0); add tzinfo, or pass seconds"
            " since the epoch",
        ),
        (
            pd.Timestamp(2026, 1, 5, 9, 0, 7),
            ValueError,
            "must carry a time zone, got datetime(2026, 1, 5, 9, 0, 7); add tzinfo, or pass"
            " seconds since the epoch",
        ),
        (
            "2026-01-05",
            ValueError,
            "must carry a time zone, got '2026-01-05'; write 2026-01-05T00:00Z if it is UTC, or"
            " 2026-01-05T00:00+01:00",
        ),
        (
            "2026-01-05 09:30",
            ValueError,
            "must carry a time zone, got '2026-01-05 09:30'; write 2026-01-05 09:30Z if it is UTC,"
            " or 2026-01-05 09:30+01:00",
        ),
        ("yesterday", ValueError, "must be an ISO 8601 time, got 'yesterday'"),
        ("1709251259.5", ValueError, "must be an ISO 8601 time, got '1709251259.5'"),
        ("", ValueError, "must be an ISO 8601 time, got ''"),
        (
            1_709_251_200_000,
            ValueError,
            "must be in seconds since the epoch, got 1709251200000.0; is it in milliseconds?",
        ),
        (
            math.nextafter(-MAX_TIME, -math.inf),
            ValueError,
            f"must be in seconds since the epoch, got {math.nextafter(-MAX_TIME, -math.inf)!r};"
            " is it in milliseconds?",
        ),
        (math.nan, ValueError, "must be finite, got nan"),
        (-math.inf, ValueError, "must be finite, got -inf"),
        (np.float16(np.inf), ValueError, "must be finite, got inf"),
        (np.datetime64("NaT", "s"), ValueError, "must be finite, got nan"),
        (10**400, ValueError, f"must fit a float64, got {10**400}"),
    ],
)
def test_bad_times_are_named(value, error, message):
    """A time that cannot be meant says what is wrong with it."""
    with pytest.raises(error, match=re.escape(f"timestamp {message}") + "$"):
        seconds("timestamp", value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "True"),
        (np.True_, "True"),
        (date(2026, 1, 5), "datetime.date(2026, 1, 5)"),
        (None, "None"),
        (b"2026", "b'2026'"),
        (1j, "1j"),
        (np.complex64(1), "(1+0j)"),
        (timedelta(1), "datetime.timedelta(days=1)"),
        (np.timedelta64(5, "ns"), "5"),
        (np.array([1.0]), "array([1.])"),
        ([1.0], "[1.0]"),
    ],
)
def test_what_is_no_time_is_refused(value, shown):
    """Bools, dates, lengths of time and arrays could be taken for numbers; they are not."""
    message = (
        "timestamp must be seconds since the epoch, an aware datetime, a datetime64 or an ISO"
        f" string with an offset, got {shown}"
    )
    with pytest.raises(TypeError, match=re.escape(message) + "$"):
        seconds("timestamp", value)


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (3.0, ValueError, "timestamps must be 1-D, got shape ()"),
        (np.zeros((2, 2)), ValueError, "timestamps must be 1-D, got shape (2, 2)"),
        ([True, False], TypeError, "timestamps must hold times, got dtype bool"),
        ([1j], TypeError, "timestamps must hold times, got dtype complex128"),
        (np.array([5], dtype="m8[s]"), TypeError, "must hold times, got dtype timedelta64[s]"),
        ([AWARE, NAIVE], ValueError, "timestamps must carry a time zone, got datetime(2026, 1, 5"),
        ([AWARE, NAIVE], ValueError, "seconds since the epoch at index 1"),
        (["2024-03-01T00:00Z", "?"], ValueError, "must be an ISO 8601 time, got '?' at index 1"),
        ([AWARE, date(2024, 1, 1)], TypeError, "got datetime.date(2024, 1, 1) at index 1"),
        ([AWARE, False], TypeError, "got False at index 1"),
    ],
)
def test_bad_columns_are_named(column, error, message):
    """A bad column names the requirement, a bad value its index."""
    with pytest.raises(error, match=re.escape(message)):
        time_column(column)


def test_with_skip_single_bad_values_are_missing():
    """What would be refused one by one is nan in a column that may be bad."""
    column = [AWARE, NAIVE, "?", False, None, 10**400, INSTANT]

    assert moments(np.array(column, dtype=object)[[0, 6]]) == [INSTANT, INSTANT]
    found = time_column(np.array(column, dtype=object), skip=True)
    assert found[[0, 6]].tolist() == [INSTANT, INSTANT]
    assert np.isnan(found[1:6]).all()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (90, 90),
        (0.5, 0.5),
        (np.int16(7), 7),
        (timedelta(minutes=3), 180),
        ("90s", 90),
        ("90 sec", 90),
        ("15m", 900),
        ("15min", 900),
        (" 1.5h ", 5_400),
        ("6H", 21_600),
        ("6MIN", 360),
        ("2d", 172_800),
        ("1w", 604_800),
        ("5y", 5 * 365 * 86_400),
        (math.inf, math.inf),
    ],
)
def test_durations(value, expected):
    """Numbers, timedeltas and text are lengths of time in seconds."""
    assert duration("last", value) == expected


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "last must be positive, got 0"),
        ("0h", ValueError, "last must be positive, got '0h'"),
        (timedelta(-1), ValueError, "last must be positive, got datetime.timedelta(days=-1)"),
        (math.nan, ValueError, "last must be positive, got nan"),
        ("3", ValueError, "last must be a length of time such as 90s, 15m, 6h, 2d, 1w or 5y, got"),
        ("-3h", ValueError, "last must be a length of time such as"),
        ("1M", ValueError, "last must have a unit that is clear, got '1M'; M could be minutes or"),
        ("3 fortnights", ValueError, "last must be a length of time such as"),
        (True, TypeError, "last must be seconds, a timedelta or text such as 6h, got True"),
        (None, TypeError, "last must be seconds, a timedelta or text such as 6h, got None"),
        (np.timedelta64(5, "ns"), TypeError, "last must be seconds, a timedelta or text such as"),
        (10**400, ValueError, "last must fit a float64, got 1000"),
    ],
)
def test_bad_durations_are_named(value, error, message):
    """A length of time that cannot be meant says what is wrong with it."""
    with pytest.raises(error, match=re.escape(message)):
        duration("last", value)


def local_days(first, last, zone):
    """Return the dates from first to last and where each begins, hour by hour in UTC."""
    moment, found = datetime(*first, tzinfo=UTC) - timedelta(days=1), {}
    while moment < datetime(*last, tzinfo=UTC) + timedelta(days=2):
        found.setdefault(moment.astimezone(zone).date(), moment.timestamp())
        moment += timedelta(minutes=15)
    return {day: begin for day, begin in found.items() if date(*first) <= day <= date(*last)}


@pytest.mark.parametrize(
    ("name", "first", "last", "odd"),
    [
        ("America/New_York", (2013, 3, 7), (2013, 3, 14), 23 * 3600),
        ("America/New_York", (2013, 11, 1), (2013, 11, 8), 25 * 3600),
        ("Europe/Berlin", (2024, 3, 28), (2024, 4, 3), 23 * 3600),
        ("Europe/Berlin", (2024, 10, 25), (2024, 10, 30), 25 * 3600),
        ("Australia/Lord_Howe", (2024, 4, 4), (2024, 4, 10), 24.5 * 3600),
        ("Australia/Lord_Howe", (2024, 10, 3), (2024, 10, 9), 23.5 * 3600),
        ("America/Sao_Paulo", (2018, 11, 1), (2018, 11, 7), 23 * 3600),
        ("America/Sao_Paulo", (2018, 2, 14), (2018, 2, 21), 25 * 3600),
        ("Africa/Cairo", (2024, 4, 24), (2024, 4, 28), 23 * 3600),
        ("Asia/Kathmandu", (2024, 3, 28), (2024, 4, 3), None),
        ("America/New_York", (1969, 4, 24), (1969, 4, 29), 23 * 3600),
    ],
)
def test_days_begin_at_local_midnight_when_the_clocks_change(name, first, last, odd):
    """Days across a change of the clocks are those that a local calendar shows."""
    zone = ZoneInfo(name)
    begins = list(local_days(first, last, zone).values())
    edges = calendar_edges(begins[0], begins[-1], "day", zone)

    assert edges == begins
    assert {24 * 3600} | ({odd} if odd else set()) == set(np.diff(edges).tolist())
    assert calendar_edges(begins[0] + 7, begins[1], "day", zone) == begins[:2]
    assert calendar_edges(begins[0], begins[1] + 1e-3, "day", zone) == begins[:3]


ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"]


@given(
    st.floats(-3e9, 3e9),
    st.floats(0, 4e7),
    st.sampled_from(["day", "week", "month"]),
    st.sampled_from(ZONES),
)
def test_calendar_edges_cover_the_span_with_whole_steps(start, length, step, name):
    """Each edge is the first moment of a day, one step after the last, and all cover the span."""
    zone, end = ZoneInfo(name), start + length
    edges = calendar_edges(start, end, step, zone)
    local = [datetime.fromtimestamp(edge, zone) for edge in edges]

    assert edges[0] <= start
    assert edges[-1] >= end
    assert len(edges) == 1 or edges[-2] < end
    assert len(edges) == 1 or edges[1] > start
    before = [datetime.fromtimestamp(edge - 1, zone).date() for edge in edges]
    assert all(eve < moment.date() for eve, moment in zip(before, local, strict=True))
    for one, other in pairwise(moment.date() for moment in local):
        if step == "month":
            assert one.day == other.day == 1
            assert (other - one).days in (28, 29, 30, 31)
        else:
            assert (other - one).days == (1 if step == "day" else 7)
            assert step == "day" or one.isoweekday() == 1


def test_the_last_moment_before_midnight_belongs_to_the_day_before():
    """A moment is not rounded up into the next day, however close it is."""
    midnight = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    before = math.nextafter(midnight, 0)

    assert calendar_edges(before, midnight, "day", UTC) == [midnight - 86_400, midnight]


def test_a_day_that_a_zone_skipped_has_no_length():
    """Samoa left out 30 December 2011 when it crossed the date line."""
    zone = ZoneInfo("Pacific/Apia")
    start = datetime(2011, 12, 29, tzinfo=zone).timestamp()

    lengths = np.diff(calendar_edges(start, start + 2 * 86_400, "day", zone))
    assert lengths.tolist() == [86_400, 0, 86_400]


@pytest.mark.parametrize(("start", "end"), [(-1e11, 0.0), (0.0, 1e12)])
def test_calendars_end_somewhere(start, end):
    """Years that no calendar here knows are an error that says so."""
    with pytest.raises(ValueError, match="time must lie in the years 1 to 9999, got"):
        calendar_edges(start, end, "month", UTC)


def test_time_zones_by_name():
    """A zone is known by its name, and a wrong name is shown."""
    assert time_zone("Asia/Kathmandu").key == "Asia/Kathmandu"
    for name in ("Mars/Olympus", "", "../etc/passwd", "America"):
        message = f"tz must be a known time zone such as Europe/Berlin, got {name!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            time_zone(name)
