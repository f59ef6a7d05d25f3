"""A second opinion: every window recomputed from its raw rows with scikit-learn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamauc.window import Window

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.uint8]
# Beyond the bounds by more than rounding.
_ROUNDING = 1e-9


@dataclass(slots=True)
class RawRows:
    """The rows themselves, kept for a comparison."""

    y_true: list[LabelArray] = field(default_factory=list)
    y_score: list[FloatArray] = field(default_factory=list)
    timestamps: list[FloatArray] = field(default_factory=list)
    weights: list[FloatArray] = field(default_factory=list)

    def add(
        self,
        y_true: LabelArray,
        y_score: FloatArray,
        timestamps: FloatArray,
        weights: FloatArray | None,
    ) -> None:
        """Keep a copy of some rows."""
        self.y_true.append(y_true.copy())
        self.y_score.append(y_score.copy())
        self.timestamps.append(timestamps.copy())
        if weights is not None:
            self.weights.append(weights.copy())


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far windows are from scikit-learn's answer on the raw rows.

    `outside` names the values that lie beyond their bounds; there should be none.
    """

    n_windows: int
    roc_auc: float
    average_precision: float
    n_different: int
    outside: tuple[str, ...]
    version: str

    @property
    def holds(self) -> bool:
        """Whether every count agrees and every bound holds."""
        return not self.outside and not self.n_different

    def __str__(self) -> str:
        rows = (
            "all event counts equal"
            if not self.n_different
            else (f"{self.n_different} windows with other event counts")
        )
        bounds = "every bound holds" if not self.outside else f"beyond bounds: {self.outside}"
        return (
            f"verified {self.n_windows} window{'s' * (self.n_windows > 1)} on the raw rows with"
            f" scikit-learn {self.version}: {rows}; largest difference AUC {self.roc_auc:.1e},"
            f" average precision {self.average_precision:.1e}; {bounds}"
        )


def check_available() -> None:
    """Raise ImportError with the name of the extra if scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401
    except ModuleNotFoundError:
        raise ImportError(
            "--verify needs the extra 'verify', got no module 'sklearn'; in a checkout:"
            " pip install '.[cli,verify]'"
        ) from None


def verify(windows: Sequence[Window], raw: RawRows) -> Verdict:
    """Compare windows with scikit-learn on the raw rows that lie in them."""
    import sklearn

    rows = _Rows(raw)
    worst = dict.fromkeys(_SECOND_OPINIONS, 0.0)
    outside: list[str] = []
    n_different = 0
    for window in windows:
        y_true, y_score, weights = rows.within(window)
        total = float(y_true.size if weights is None else weights.sum())
        n_different += not math.isclose(total, window.n_samples, rel_tol=1e-9)
        for name, score in _SECOND_OPINIONS.items():
            if math.isnan(window.value(name)) or y_true.min() == y_true.max():
                continue
            truth = score(y_true, y_score, weights)
            worst[name] = max(worst[name], abs(truth - window.value(name)))
            bounds = window.bounds(name)
            if not bounds.low - _ROUNDING <= truth <= bounds.high + _ROUNDING:
                outside.append(f"{name} from {window.start:.0f}")
    return Verdict(
        len(windows),
        worst["roc_auc"],
        worst["average_precision"],
        n_different,
        tuple(outside),
        sklearn.__version__,
    )


def _roc_auc(y_true: LabelArray, y_score: FloatArray, weights: FloatArray | None) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y_true, y_score, sample_weight=weights))


def _average_precision(
    y_true: LabelArray, y_score: FloatArray, weights: FloatArray | None
) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(y_true, y_score, sample_weight=weights))


_SECOND_OPINIONS = {"roc_auc": _roc_auc, "average_precision": _average_precision}


class _Rows:
    """The raw rows in time order, to be cut by window."""

    def __init__(self, raw: RawRows) -> None:
        times = np.concatenate(raw.timestamps)
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        self._labels = np.concatenate(raw.y_true)[order]
        self._scores = np.concatenate(raw.y_score)[order]
        self._weights = np.concatenate(raw.weights)[order] if raw.weights else None

    def within(self, window: Window) -> tuple[LabelArray, FloatArray, FloatArray | None]:
        first, last = np.searchsorted(self._times, (window.start, window.end))
        rows = slice(int(first), int(last))
        weights = None if self._weights is None else self._weights[rows]
        return self._labels[rows], self._scores[rows], weights
