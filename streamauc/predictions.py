"""Labels that come later: taking in predictions and the labels they get."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from streamauc import _time
from streamauc._check import IntArray
from streamauc._time import Timestamp
from streamauc.intake import Batch
from streamauc.join import Labels, Predictions
from streamauc.offered import check_labels, check_predictions
from streamauc.recorder import FOLD_KEYED, Recorder


class PredictionRecorder(Recorder):
    """A recorder that also takes scores now and their labels later."""

    def predict(self, key: Hashable, score: float, timestamp: Timestamp | None = None) -> None:
        """Count a score whose label is to come, see `resolve`. Amortised O(1).

        The event counts in the window of its `timestamp`, now if it is left out: its score at
        once, its label when that is known. A key that is known already is a repetition and
        counts nothing. Bad arguments as in `update`; `key` must be hashable. Of what waits to be
        counted, events of `update` come first, then predictions and labels in their order.
        """
        try:
            if timestamp is None and self._source != "event":
                timestamp = self._ledger.clock.now()
            moment: float = timestamp  # type: ignore[assignment]  # else comparing it fails
            usual = (
                type(score) is float
                and type(timestamp) is float
                and self._below < score < self._above
                and -_time.MAX_TIME < moment < self._limit
            )
            if usual:
                self._check_key(key)
        except (TypeError, ValueError, ArithmeticError, Warning):
            usual = False
        if usual:
            keyed = self._keyed
            keyed += (key, complex(moment, score))
        else:
            self._predict_with_care(key, score, timestamp)
        if len(self._keyed) >= FOLD_KEYED:
            self._fold_some()

    def _predict_with_care(self, key: Hashable, score: float, timestamp: Timestamp | None) -> None:
        self._check_open()
        argument = "key"
        try:
            self._check_hashable(key)
            argument = "score"
            value = self._check_score(score)
            argument = "timestamp"
            moment = self._check_moment(timestamp)
        except (TypeError, ValueError):
            if not self._skip:
                raise
            self._intake.push_rejected(argument)
            return
        if moment > self._limit and self._ledger.clock.is_ahead(moment):
            self._intake.push_ahead()
            return
        self._refresh_limit()
        self._keyed.extend((key, complex(moment, value)))

    def resolve(self, key: Hashable, label: Hashable) -> None:
        """Say which label the prediction of `key` got. Amortised O(1).

        It may come before the prediction, twice, or change: then the count moves. A label that
        comes later than `label_ttl` after the time of its prediction is not counted, unless
        nobody looked between. All of that is in `stats`. Raises ValueError for a bad label and
        TypeError for a key that is not hashable; with ``bad="skip"`` counts it.
        """
        self._check_open()
        argument = "key"
        try:
            self._check_hashable(key)
            argument = "label"
            known = self._check_label(label)
        except (TypeError, ValueError):
            if not self._skip:
                raise
            self._intake.push_rejected(argument)
            return
        self._keyed.extend((key, known))
        if len(self._keyed) >= FOLD_KEYED:
            self._fold_some()

    def predict_many(
        self, keys: Sequence[Hashable], y_score: ArrayLike, timestamps: ArrayLike
    ) -> None:
        """Count scores whose labels are to come, as `predict` does for one. O(n_samples).

        Bad rows as in `update_many`.
        """
        self._check_open()
        given = self._key_list(keys)
        rows, events, rejected = check_predictions(
            self._rules, y_score, timestamps, skip=self._skip
        )
        _check_key_length(given, "y_score", events.size + rejected.total())
        placed = (events.timestamps + 1j * events.scores).tolist()
        self._keyed.extend((None, Predictions(_chosen(given, rows), placed)))
        self._arrive(Batch(rejected=rejected))

    def resolve_many(self, keys: Sequence[Hashable], y_true: ArrayLike) -> None:
        """Say which labels predictions got, as `resolve` does for one. O(n_samples)."""
        self._check_open()
        given = self._key_list(keys)
        rows, classes, rejected = check_labels(self._rules, y_true, skip=self._skip)
        _check_key_length(given, "y_true", classes.size + rejected.total())
        labels = classes.astype(np.float64).tolist()
        self._keyed.extend((None, Labels(_chosen(given, rows), labels)))
        self._arrive(Batch(rejected=rejected))

    def _check_hashable(self, key: Hashable) -> None:
        if not _is_hashable(key):
            raise TypeError(f"key must be hashable, got {key!r}")
        self._check_key(key)

    def _key_list(self, keys: Sequence[Hashable]) -> list[Hashable]:
        """Return keys as a list of Python's own objects, each of them fit to be one."""
        found = _listed(keys)
        for key in found if self._storing is not None else ():
            self._check_key(key)
        return found


def _listed(keys: Sequence[Hashable]) -> list[Hashable]:
    """Return keys as a list of Python's own objects, each of them hashable."""
    if not isinstance(keys, Iterable) or (isinstance(keys, np.ndarray) and keys.ndim != 1):
        raise TypeError(f"keys must be a sequence of hashables, got {keys!r}")
    found: list[Hashable] = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    try:
        for key in found:
            hash(key)
    except TypeError:
        index = next(index for index, key in enumerate(found) if not _is_hashable(key))
        raise TypeError(f"keys must be hashable, got {found[index]!r} at index {index}") from None
    return found


def _is_hashable(key: Hashable) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _check_key_length(keys: Sequence[Hashable], other: str, size: int) -> None:
    if len(keys) != size:
        raise ValueError(f"keys and {other} must have the same length, got {len(keys)} and {size}")


def _chosen(keys: list[Hashable], rows: IntArray | None) -> list[Hashable]:
    return keys if rows is None else [keys[row] for row in rows.tolist()]
