"""A model that learns the flights day by day and scores each before it leaves.

Everything it knows comes from flights that had landed. A flight is scored an hour before the
hour of its scheduled departure (no flight of the year left more than 43 minutes early), from the
weather and from how late flights of its airport, carrier, destination, ... came in over the last
hours and weeks. Once a New York day, an hour before the hour of the first departure, a logistic
regression learns further from what landed in the six weeks before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sklearn.linear_model import SGDClassifier

    from streamauc.demo.flights import Flights, FloatArray, IntArray

Progress = Callable[[int, int], None]

_HOUR = 3_600
_FAR = 10**10  # above every time in seconds, so that group and time fit in one sortable number
_GUESS = 0.2  # the share late to start from, before any flight has landed
_LEARNT_DAYS = 42
_STEPS_A_DAY = 40_000
_MINUTES = 30.0  # the unit of a mean delay, so that columns are of like size
_SMALLEST = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class ScoredStream:
    """Scored events in the order of their time; arrays of shape (n_samples,)."""

    y_true: npt.NDArray[np.uint8]  # 1 where the flight arrived 15 minutes late or more
    y_score: FloatArray  # probability of that, strictly between 0 and 1
    timestamps: FloatArray  # scheduled departure, seconds since the epoch, UTC
    known_at: FloatArray  # arrival, when the label became known


@dataclass(frozen=True, slots=True)
class _Trail:
    """The flights of the same group that landed in the `hours` before a flight is scored."""

    group: tuple[str, ...]
    hours: int
    weight: int  # how many flights of the usual kind the averages are diluted with


_TRAILS = (
    _Trail((), 2, 20),
    _Trail((), 24, 20),
    _Trail((), 24 * 28, 50),
    _Trail(("origin",), 2, 10),
    _Trail(("origin",), 6, 10),
    _Trail(("origin",), 24, 10),
    _Trail(("origin", "carrier"), 6, 5),
    _Trail(("carrier",), 24, 10),
    _Trail(("destination",), 3, 3),
    _Trail(("destination",), 6, 3),
    _Trail(("destination",), 24, 5),
    _Trail(("hour",), 24 * 60, 20),
    _Trail(("hour", "origin"), 24 * 60, 20),
    _Trail(("hour", "weekday"), 24 * 60, 20),
    _Trail(("hour", "destination"), 24 * 60, 20),
    _Trail(("hour", "carrier", "origin"), 24 * 60, 20),
    _Trail(("carrier", "destination"), 24 * 60, 20),
    _Trail(("carrier", "number", "destination"), 24 * 60, 10),
)


def score_flights(flights: Flights, *, progress: Progress | None = None) -> ScoredStream:
    """Score every flight with what was known before it left. O(n log n), some seconds a year.

    A score depends on nothing that was not known at `flights.scored_at`, and is the same in each
    run. On the first day, before anything was learnt, it is the share late so far, a fifth at
    the start. `progress` is called with the number of days done and to do, several times a second.
    """
    report = progress or _ignore
    days = _days(flights)
    usual = _usual_share(flights)
    model = _new_model()  # before the first report: the import takes longer than progress may pause
    features = _features(flights, usual, lambda: report(0, len(days)))
    learner = _Learner(flights, features, model)
    y_score = usual.copy()
    for done, day in enumerate(days, start=1):
        if learner.learn(int(flights.scored_at[day.start])):
            y_score[day] = learner.scores(day)
        report(done, len(days))
    return ScoredStream(
        y_true=flights.late,
        y_score=np.clip(y_score, _SMALLEST, 1.0 - _SMALLEST),
        timestamps=flights.timestamps.astype(np.float64),
        known_at=flights.known_at.astype(np.float64),
    )


def _ignore(_done: int, _total: int) -> None:
    """Report to nobody."""


def _days(flights: Flights) -> list[slice]:
    """Return the rows of each New York day that has flights."""
    starts = np.flatnonzero(np.diff(flights.day, prepend=-1)).tolist()
    stops = [*starts[1:], len(flights)]
    return [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]


class _Learner:
    """A logistic regression that is trained on from day to day."""

    def __init__(
        self, flights: Flights, features: npt.NDArray[np.float32], model: SGDClassifier
    ) -> None:
        self._features = features
        self._late = flights.late
        self._landing_order = np.argsort(flights.known_at, kind="stable")
        self._landings = flights.known_at[self._landing_order]
        self._model = model

    def learn(self, moment: int) -> bool:
        """Learn from the flights that landed in the six weeks up to `moment`, if there are any.

        The number of steps is much the same every day: few flights are gone over many times.
        """
        since = moment - _LEARNT_DAYS * 24 * _HOUR
        first, last = np.searchsorted(self._landings, (since, moment), side="right").tolist()
        rows = self._landing_order[first:last]
        if rows.size:
            for _ in range(-(-_STEPS_A_DAY // rows.size)):
                self._model.partial_fit(self._features[rows], self._late[rows], classes=(0, 1))
        return bool(rows.size)

    def scores(self, rows: slice) -> FloatArray:
        """Return the probability of being late for each flight of `rows`."""
        features = self._features[rows].astype(np.float64)
        probabilities: FloatArray = self._model.predict_proba(features)[:, 1]
        return probabilities


def _new_model() -> SGDClassifier:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        loss="log_loss", alpha=1e-4, learning_rate="constant", eta0=3e-4, random_state=0
    )


def _usual_share(flights: Flights) -> FloatArray:
    """Return the share late of the flights that landed in the four weeks before each is scored."""
    n_landed, n_late, *_ = _landed_before(flights, np.zeros_like(flights.day), 24 * 28)
    share: FloatArray = (n_late + 50 * _GUESS) / (n_landed + 50)
    return share


def _features(
    flights: Flights, usual: FloatArray, report: Callable[[], None]
) -> npt.NDArray[np.float32]:
    """Return what is known of each flight when it is scored, shape (n_flights, n_features)."""
    groupings = _group_columns(flights)
    midday = (flights.hour - 13) / 5
    columns = [midday, midday**2, *flights.weather.T]
    for trail in _TRAILS:
        groups = _groups([groupings[name] for name in trail.group], len(flights))
        n_landed, n_late, left_late, came_late = _landed_before(flights, groups, trail.hours)
        weight = n_landed + trail.weight
        share = (n_late + trail.weight * usual) / weight
        columns.append(np.log(share / (1.0 - share)))
        columns += [left_late / weight / _MINUTES, came_late / weight / _MINUTES]
        report()
    return np.stack(columns, axis=1, dtype=np.float32, casting="same_kind")


def _group_columns(flights: Flights) -> dict[str, IntArray]:
    return {
        "hour": flights.hour,
        "weekday": flights.day % 7,
        "carrier": flights.carrier,
        "origin": flights.origin,
        "destination": flights.destination,
        "number": flights.number,
    }


def _groups(columns: list[IntArray], n_flights: int) -> IntArray:
    """One number for each combination of values; all in one group without columns."""
    groups = np.zeros(n_flights, dtype=np.int64)
    for column in columns:
        groups = groups * (int(column.max()) + 1) + column
    return groups


def _landed_before(flights: Flights, groups: IntArray, hours: int) -> IntArray:
    """Of each flight's group, what landed in the `hours` before the flight is scored.

    Rows: number of flights, number late, minutes they left late, minutes they arrived late, with
    a delay counted as at most three hours. Shape (4, n_flights). Integers, so that the sums over
    the past do not change by rounding with what comes later. O(n log n).
    """
    delays = np.stack((flights.departure_delay, flights.arrival_delay)).clip(-30, 180)
    outcomes = np.vstack((np.ones_like(groups), flights.late, delays))
    landings = groups * _FAR + flights.known_at
    order = np.argsort(landings, kind="stable")
    totals = np.zeros((len(outcomes), groups.size + 1), dtype=np.int64)
    np.cumsum(outcomes[:, order], axis=1, out=totals[:, 1:])
    moments = groups * _FAR + flights.scored_at
    first = np.searchsorted(landings[order], moments - hours * _HOUR, side="right")
    last = np.searchsorted(landings[order], moments, side="right")
    return totals[:, last] - totals[:, first]
