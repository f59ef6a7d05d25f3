"""The area under the ROC or the PR curve of the last events, as metrics for River.

An extra, ``river``: they go wherever River takes a metric of a binary classifier or an anomaly
detector, and are equal to the offline answer at every prefix of the stream.
"""

from abc import abstractmethod
from collections.abc import Hashable
from importlib.util import find_spec
from typing import cast

if find_spec("river") is None:
    raise ImportError(
        "metrics for River need the extra 'river': pip install 'streamauc-engine[river]' from a"
        " checkout (pip install '.[river]'), got no module 'river'",
        name="river",
    )

from river.base import AnomalyDetector, AnomalyFilter, Estimator
from river.metrics.base import BinaryMetric

from streamauc.metrics.scalars import average_precision
from streamauc.sliding import SlidingWindow

Prediction = dict[bool, float] | float


class _WindowMetric(BinaryMetric):
    """A metric of the last `window` events; any other value than `pos_val` is negative."""

    def __init__(self, window: int = 1_000, *, pos_val: Hashable = True) -> None:
        self.window = window
        self.pos_val = pos_val
        self._events = SlidingWindow(window)
        self._n_taken = 0

    def works_with(self, model: Estimator) -> bool:
        """Return whether a model gives what can be ranked."""
        return super().works_with(model) or isinstance(model, AnomalyDetector | AnomalyFilter)

    @property
    def requires_labels(self) -> bool:
        """False: scores are ranked, not predicted classes."""
        return False

    @property
    def works_with_weights(self) -> bool:
        """False: an event is in the window or not."""
        return False

    def update(self, y_true: object, y_pred: Prediction, w: float = 1.0) -> None:
        """Take in an event. Raises ValueError for a weight that is not 1."""
        _check_weight(w)
        self._events.update(y_true == self.pos_val, self._score(y_pred))
        self._n_taken += 1

    def revert(self, y_true: object, y_pred: Prediction, w: float = 1.0) -> None:
        """Take an event back (see `SlidingWindow.retract`). O(window).

        Raises ValueError if the window does not hold it, or has let any event go: who reverts
        then, such as River's `Rolling` with a longer window, would be answered about neither
        window.
        """
        _check_weight(w)
        if self._n_taken > self.window:
            raise ValueError(
                f"window must be at least as long as what reverts events, got {self.window},"
                " which has let some go already"
            )
        self._events.retract(y_true == self.pos_val, self._score(y_pred))
        self._n_taken -= 1

    @abstractmethod
    def get(self) -> float:
        """Return the value."""

    def _score(self, y_pred: Prediction) -> float:
        """Return the score of the positive class, 0 where the model does not know it yet."""
        if isinstance(y_pred, dict):
            return cast("dict[Hashable, float]", y_pred).get(self.pos_val, 0.0)
        return y_pred


class ROCAUC(_WindowMetric):
    """Area under the ROC curve of the last `window` events, exact.

    ``nan`` unless there are positives and negatives among them.

    >>> metric = ROCAUC(window=4)
    >>> for y_true, y_pred in [(True, 0.4), (False, 0.4), (True, 0.6), (False, 0.6), (True, 0.6)]:
    ...     metric.update(y_true, y_pred)
    >>> metric
    ROCAUC: 75.00%
    """

    def get(self) -> float:
        """Return the value. O(1), and what `SlidingWindow` put off."""
        return self._events.roc_auc


class PRAUC(_WindowMetric):
    """Average precision, the area under the PR curve, of the last `window` events, exact.

    ``nan`` without positives among them.

    >>> metric = PRAUC(window=4)
    >>> for y_true, y_pred in [(True, 0.4), (False, 0.4), (True, 0.6), (False, 0.6), (True, 0.6)]:
    ...     metric.update(y_true, y_pred)
    >>> metric
    PRAUC: 66.67%
    """

    def get(self) -> float:
        """Return the value. O(window)."""
        return average_precision(self._events.counts())


def _check_weight(w: float) -> None:
    if w != 1:
        raise ValueError(f"w must be 1, because a window holds events or does not, got {w!r}")
