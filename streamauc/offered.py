"""From what a caller offers to checked events: all columns are looked at before any counts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamauc import _check, _time
from streamauc._check import BoolArray, FloatArray, IntArray
from streamauc.events import Events, PaneCounter
from streamauc.histogram import weight_fault
from streamauc.scale import Scale
from streamauc.storage import Storage, weights_fit


class Columns(NamedTuple):
    """A batch as it was offered, each column of shape (n_samples,)."""

    y_true: ArrayLike
    y_score: ArrayLike
    timestamps: ArrayLike
    weights: ArrayLike | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of an event: its score's scale, and the labels that name the classes."""

    scale: Scale
    classes: tuple[object, object] | None

    @property
    def allowed_labels(self) -> str:
        """The labels in words, for messages."""
        if self.classes is None:
            return "bool or 0/1 (other labels through classes=(negative, positive))"
        return f"one of {self.classes}"


class Checked(NamedTuple):
    """The good events, the same counted by pane, and how many others there are by reason."""

    events: Events
    panes: list[tuple[int, Storage]]
    rejected: Counter[str]


def check_and_count(
    rules: Rules,
    counter: PaneCounter,
    columns: Columns,
    *,
    skip: bool,
) -> Checked:
    """Check a batch and count it by pane. O(n_samples) in time order.

    A bad value is left out and counted with `skip`; else it raises ValueError, the first of
    them. A column of the wrong kind or length is an error either way.
    """
    classes, labels_good = _check.label_column(columns.y_true, rules.classes)
    events = Events.of(
        classes,
        _check.float_column("y_score", columns.y_score, skip=skip),
        _time.time_column(columns.timestamps, skip=skip),
        None
        if columns.weights is None
        else _check.float_column("weights", columns.weights, skip=skip),
    )
    _check_lengths(events)
    if labels_good and _rest_good(rules.scale, events):
        try:
            return Checked(events, counter.count(events), Counter())
        except ValueError:
            pass  # a bad score, met on the way; it is named below
    if not skip:
        _refuse(rules, events, np.asarray(columns.y_true))
    events, rejected = _good_only(rules.scale, events)
    return Checked(events, counter.count(events), rejected)


def _check_lengths(events: Events) -> None:
    size, weights = events.scores.size, events.weights
    if events.classes.size == size == events.timestamps.size and weights is None:
        return
    _check.same_length(
        y_true=events.classes,
        y_score=events.scores,
        timestamps=events.timestamps,
        weights=weights,
    )


def _rest_good(scale: Scale, events: Events) -> bool:
    """Return whether times and weights are good, and scores where counting does not look.

    A nan is the end of its column and fails every comparison.
    """
    if not events.size:
        return True
    if events.earliest < -_time.MAX_TIME or not events.latest <= _time.MAX_TIME:
        return False
    if events.weights is None and scale.n_bins is not None:
        return True
    low, high = _check.span(events.scores)
    if not (scale.low <= low and high <= scale.high):
        return False
    return events.weights is None or bool(weights_fit(events.weights).all())


def _good(scale: Scale, events: Events) -> dict[str, BoolArray]:
    """Return by reason which values are good."""
    scores, times = events.scores, events.timestamps
    good = {
        "label": events.classes >= 0,
        "score": (scores >= scale.low) & (scores <= scale.high),
        "timestamp": (times >= -_time.MAX_TIME) & (times <= _time.MAX_TIME),
    }
    if events.weights is not None:
        good["weight"] = weights_fit(events.weights)
    return good


def _refuse(rules: Rules, events: Events, labels: NDArray[np.generic]) -> None:
    """Raise for the first bad value of the first column that has one."""
    say: dict[str, Callable[[int], str]] = {
        "label": lambda row: (
            f"y_true must be {rules.allowed_labels}, got {_check.plain(labels[row])!r}"
        ),
        "score": lambda row: rules.scale.fault("y_score", float(events.scores[row])),
        "timestamp": lambda row: _time.time_fault("timestamps", float(events.timestamps[row])),
        "weight": lambda row: weight_fault("weights", _weight(events.weights, row)),
    }
    for reason, good in _good(rules.scale, events).items():
        if not good.all():
            row = int(np.argmin(good))
            n_bad = good.size - int(good.sum())
            raise ValueError(
                f"{say[reason](row)} at index {row} ({n_bad} of {good.size} values are bad)"
            )


def _weight(weights: FloatArray | None, row: int) -> float:
    return 1.0 if weights is None else float(weights[row])


def _good_only(scale: Scale, events: Events) -> tuple[Events, Counter[str]]:
    kept, rejected = _kept(scale, events)
    return events.take(kept), rejected


def _kept(scale: Scale, events: Events) -> tuple[BoolArray, Counter[str]]:
    """Return which rows are good, and how many are not for which reason."""
    kept = np.ones(events.size, dtype=bool)
    rejected: Counter[str] = Counter()
    for reason, good in _good(scale, events).items():
        rejected[reason] = int((kept & ~good).sum())  # a row counts once, for its first fault
        kept &= good
    return kept, +rejected


def check_predictions(
    rules: Rules, y_score: ArrayLike, timestamps: ArrayLike, *, skip: bool
) -> tuple[IntArray | None, Events, Counter[str]]:
    """Return the rows that are good (None for all), those as events, and what else there was.

    Raises as `check_and_count` does. O(n_samples).
    """
    scores = _check.float_column("y_score", y_score, skip=skip)
    times = _time.time_column(timestamps, skip=skip)
    _check.same_length(y_score=scores, timestamps=times)
    events = Events.of(np.zeros(scores.size, dtype=np.int64), scores, times)
    kept, rejected = _kept(rules.scale, events)
    if not rejected:
        return None, events, rejected
    if not skip:
        _refuse(rules, events, events.classes)
    return np.flatnonzero(kept), events.take(kept), rejected


def check_labels(
    rules: Rules, y_true: ArrayLike, *, skip: bool
) -> tuple[IntArray | None, IntArray, Counter[str]]:
    """Return the rows whose label is good (None for all), their classes, and the others."""
    classes, all_good = _check.label_column(y_true, rules.classes)
    if all_good:
        return None, classes, Counter()
    rows = np.flatnonzero(classes >= 0)
    if not skip:
        row = int(np.argmin(classes >= 0))
        got = _check.plain(np.asarray(y_true)[row])
        raise ValueError(
            f"y_true must be {rules.allowed_labels}, got {got!r} at index {row}"
            f" ({classes.size - rows.size} of {classes.size} values are bad)"
        )
    return rows, classes[rows], Counter(label=classes.size - rows.size)
