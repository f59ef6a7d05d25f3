"""A window: the events of a span of time, and every question about them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from streamauc import _html, _time
from streamauc.counts import ThresholdCounts, threshold_counts
from streamauc.histogram import ScoreHistogram
from streamauc.metrics import catalogue
from streamauc.metrics.intervals import Interval
from streamauc.metrics.scalars import Bounds, average_precision, prevalence, roc_auc

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
_CAVEATS = {
    "warming_up": "begins before counting did",
    "expired": "begins before the oldest events that are still kept",
    "damaged": "panes of the store that can't be read are left out, so events are missing",
    "unreadable": "the store can't be read, so nothing is known of it",
    "unwritten": "others do not see all of it: events wait to be written to the store",
    "immature": "fewer labels known than asked for, and those known early are no fair sample",
}
_SHOWN = ("prevalence", "roc_auc", "average_precision")


@dataclass(frozen=True, eq=False, repr=False)
class Window:
    """The events of [start, end), seconds since the epoch; what it answers never changes.

    The span is that of the panes behind it, the request rounded outwards. `observed_since` is
    when counting began. `caveats` name what can make a defined value mislead: ``warming_up``
    (the window begins before counting did), ``expired`` (it begins before the oldest pane that
    survives), ``damaged`` (panes of the store that can't be read are left out, as was asked for),
    ``unreadable`` (the store can't be read at all, so it is empty), ``unwritten`` (events wait to
    be written to the store) and ``immature`` (its `coverage` is below the `min_coverage` asked for:
    outcomes known early are not a fair sample). `origin` is the same
    for all windows of one monitor and for no others, so that `compare` knows when two windows share
    events. `pane_seconds` is the length of that monitor's finest panes; older events are left in
    coarser ones.

    Everything is worked out when first asked for, in O(n_bins).
    """

    start: float
    end: float
    observed_since: float
    time_caveats: tuple[str, ...]
    parts: Sequence[ScoreHistogram]
    empty: ScoreHistogram
    origin: str
    predicted_parts: Sequence[ScoreHistogram] = ()
    min_coverage: float = 0.0
    pane_seconds: int = 1

    @cached_property
    def histogram(self) -> ScoreHistogram:
        """The scores of the window, by bin and class."""
        return ScoreHistogram.merge(self.parts) if self.parts else self.empty

    @cached_property
    def predicted(self) -> ScoreHistogram:
        """All scores of the window, their labels known or not; one class.

        Without predictions, the scores whose labels are known: there are no others.
        """
        if self.predicted_parts:
            return ScoreHistogram.merge(self.predicted_parts)
        return self.histogram.pooled()

    @cached_property
    def coverage(self) -> float:
        """Labelled share of the events of the window; ``nan`` when there are none."""
        n_predicted = float(self.predicted.totals.sum())
        return min(1.0, self.n_samples / n_predicted) if n_predicted else math.nan

    @property
    def caveats(self) -> tuple[str, ...]:
        """What can make a defined value mislead, see above."""
        immature = self.coverage < self.min_coverage
        return (*self.time_caveats, "immature") if immature else self.time_caveats

    @cached_property
    def counts(self) -> ThresholdCounts:
        """The counts at thresholds, from which every metric follows."""
        return threshold_counts(self.histogram)

    @cached_property
    def _score_counts(self) -> ThresholdCounts:
        return threshold_counts(self.predicted, positive=0)

    def _counts_for(self, name: str) -> ThresholdCounts:
        """Return what a metric is read off: all scores, or those with a label."""
        of_scores = self.predicted_parts and catalogue.find(name).of_scores
        return self._score_counts if of_scores else self.counts

    @property
    def n_pos(self) -> int | float:
        """Number of positives, or the sum of their weights."""
        return self.counts.n_pos

    @property
    def n_neg(self) -> int | float:
        """Number of negatives, or the sum of their weights."""
        return self.counts.n_neg

    @property
    def n_samples(self) -> int | float:
        """Number of events, or the sum of their weights."""
        return self.counts.n_samples

    @property
    def prevalence(self) -> float:
        """Share of positives, the class ratio; ``nan`` in an empty window."""
        return prevalence(self.counts)

    @cached_property
    def roc_auc(self) -> float:
        """Area under the ROC curve; ``nan`` unless there are positives and negatives."""
        return roc_auc(self.counts)

    @cached_property
    def average_precision(self) -> float:
        """Precision averaged over the positives; ``nan`` without positives."""
        return average_precision(self.counts)

    def value(self, name: str, **params: float) -> float:
        """Return a metric of the catalogue; ``nan`` where it is undefined, see `reason`.

        Raises ValueError for a name that the catalogue does not hold and for parameters that
        the metric does not take.
        """
        return catalogue.value(self._counts_for(name), name, **params)

    def interval(self, name: str, *, level: float = 0.95, **params: float) -> Interval:
        """Return the confidence interval of a metric (see `catalogue.interval`).

        Of the same events as its value.
        """
        return catalogue.interval(self._counts_for(name), name, level=level, **params)

    def bounds(self, name: str, **params: float) -> Bounds:
        """Return what binning leaves open of a metric. Raises ValueError if it has no bounds."""
        return catalogue.bounds(self._counts_for(name), name, **params)

    def reason(self, name: str, **params: float) -> str | None:
        """Return why a metric is ``nan``, or None if it is not (see `catalogue.reason`)."""
        return catalogue.reason(self._counts_for(name), name, **params)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the window as plain values for JSON; what is undefined is None."""
        reasons: dict[str, JsonValue] = {
            name: reason for name in _SHOWN if (reason := self.reason(name)) is not None
        }
        return {
            "start": self.start,
            "end": self.end,
            "observed_since": _or_none(self.observed_since),
            "n_samples": self.n_samples,
            "n_pos": self.n_pos,
            "n_neg": self.n_neg,
            "coverage": _or_none(self.coverage),
            "prevalence": _or_none(self.prevalence),
            "prevalence_interval": _pair(self.interval("prevalence")),
            "roc_auc": _or_none(self.roc_auc),
            "roc_auc_interval": _pair(self.interval("roc_auc")),
            "roc_auc_bounds": _pair(self.bounds("roc_auc")),
            "average_precision": _or_none(self.average_precision),
            "average_precision_bounds": _pair(self.bounds("average_precision")),
            "caveats": list(self.caveats),
            "reasons": reasons,
        }

    def _repr_html_(self) -> str:
        """Return the window as a table for notebooks."""
        rows = [
            ("events", _html.amount(self.n_samples), "", "events"),
            ("positives", _html.amount(self.n_pos), "", "events"),
        ]
        if self.predicted_parts:
            rows.append(("labels known", _html.number(self.coverage, "empty"), "", "share"))
        rows += [self._html_row(name) for name in _SHOWN]
        table = _html.table(("", "value", "95 % interval", "unit"), rows)
        when = f"{_html.period(self.start, self.end)}, UTC"
        return _html.view("Window", when, table, _html.notes(spelled_caveats(self.caveats)))

    def _html_row(self, name: str) -> tuple[str, str, str, str]:
        entry = catalogue.find(name)
        low = high = math.nan
        if entry.interval is not None:
            found = self.interval(name)
            low, high = found.low, found.high
        value = _html.measured(self.value(name), entry.unit, self.reason(name))
        return _html.title(name), value, _html.span(low, high), entry.unit

    def __repr__(self) -> str:
        start, end = _shown(self.start), _shown(self.end)
        auc = "undefined" if math.isnan(self.roc_auc) else f"{self.roc_auc:.4f}"
        return f"Window({start} to {end}, n_pos={self.n_pos}, n_neg={self.n_neg}, roc_auc={auc})"


def spelled_caveats(caveats: Iterable[str]) -> list[str]:
    """Return caveats with what they mean."""
    return [f"{name}: {_CAVEATS[name]}" if name in _CAVEATS else name for name in caveats]


def _shown(edge: float) -> str:
    try:
        return _time.utc(edge).isoformat()
    except ValueError:  # too far away for a date
        return repr(edge)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _pair(ends: Interval | Bounds) -> list[JsonValue]:
    return [_or_none(ends.low), _or_none(ends.high)]
