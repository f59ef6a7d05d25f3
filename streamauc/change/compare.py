"""Two sets of events compared: class ratio, ranking, scores, and what caused the change."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property

from streamauc import _check, _html
from streamauc.change import explain
from streamauc.change.aligned import Aligned, align
from streamauc.change.attribution import attribute
from streamauc.change.proportions import prevalence_change, prevalence_ratio_interval
from streamauc.change.ranking import roc_auc_change
from streamauc.change.results import Attribution, Change, JsonValue, ScoreShift, or_none, pair
from streamauc.change.shift import score_shift
from streamauc.change.sources import Source, check_independent, histogram_of
from streamauc.counts import ThresholdCounts, threshold_counts
from streamauc.histogram import ScoreHistogram
from streamauc.metrics import catalogue
from streamauc.metrics.intervals import Interval, prevalence_interval


def compare(
    reference: Source,
    current: Source,
    *,
    level: float = 0.95,
    threshold: float | Sequence[float] | None = None,
    independent: bool = False,
) -> "Comparison":
    """Return what changed from `reference` to `current`, two windows or histograms.

    O(n_bins) here; the answers are worked out when first asked for.

    * `level`: of all intervals.
    * `threshold`: where precision, recall, FPR and alert rate are compared, one or several; the
      operating thresholds of the scale unless given.
    * `independent`: must be True for histograms, as it can't be seen whether they share events.

    Both sides are taken as independent samples. Windows of one monitor that overlap are not,
    and are refused; windows that only touch do not overlap. Nor are two models on the same
    events, or a segment and the whole it belongs to: there the intervals and p-values here are
    wrong, whatever `independent` says. Scales of different resolution are brought to the
    coarser, with the thresholds that both have.

    Raises ValueError for overlapping windows of one monitor, histograms without
    ``independent=True``, scales of different kinds, more than two classes and a bad level or
    threshold; TypeError for a side that has no histogram.

    >>> from streamauc import Scale, ScoreHistogram
    >>> before = ScoreHistogram.from_scores([0, 0, 1, 1], [.1, .3, .3, .7], scale=Scale.exact())
    >>> after = ScoreHistogram.from_scores([0, 0, 1, 1], [.1, .7, .3, .7], scale=Scale.exact())
    >>> result = compare(before, after, independent=True)
    >>> result.prevalence_difference, result.roc_auc_difference
    (0.0, -0.25)
    >>> result.attribution["average_precision"].prevalence
    0.0
    """
    first, second = histogram_of("reference", reference), histogram_of("current", current)
    check_independent(reference, current, independent=independent)
    level = _check.level(level)
    scale = first.scale
    if second.scale != scale:
        scale = scale.common(second.scale)
        # One that is on the scale already keeps what it has worked out.
        first, second = (
            side if side.scale == scale else side.rebinned(scale) for side in (first, second)
        )
    given = scale.thresholds if threshold is None else _thresholds(threshold)
    return Comparison(first, second, level, given)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What changed between two independent sets of events (see `compare`).

    `reference_histogram` and `current_histogram` are on one scale. What is undefined is ``nan``
    and says why in the `note` of its interval and the `method` of its test. Differences are
    current - reference. Everything is worked out when first asked for, in O(n_bins).
    """

    reference_histogram: ScoreHistogram
    current_histogram: ScoreHistogram
    level: float
    thresholds: tuple[float, ...]

    @cached_property
    def reference(self) -> ThresholdCounts:
        """The counts at thresholds of the reference."""
        return threshold_counts(self.reference_histogram)

    @cached_property
    def current(self) -> ThresholdCounts:
        """The counts at thresholds of the current side."""
        return threshold_counts(self.current_histogram)

    @cached_property
    def _aligned(self) -> Aligned:
        sides = self.reference, self.current
        return align(self.reference_histogram, self.current_histogram, sides)

    @cached_property
    def prevalence(self) -> Change:
        """The shares of positives, with Newcombe's interval, and Fisher's or the score test."""
        return prevalence_change(self.reference, self.current, self._prevalence_intervals)

    @property
    def prevalence_difference(self) -> float:
        """Current share of positives less the reference's; ``nan`` if either side is empty."""
        return self.prevalence.difference

    @property
    def prevalence_ratio(self) -> float:
        """Current share of positives over the reference's; ``nan`` if that is 0 or undefined."""
        sides = self.prevalence
        return sides.current / sides.reference if sides.reference else math.nan

    @cached_property
    def prevalence_ratio_interval(self) -> Interval:
        """The interval of `prevalence_ratio` (Donner & Zou 2012)."""
        return prevalence_ratio_interval(self.reference, self.current, self._prevalence_intervals)

    @cached_property
    def _prevalence_intervals(self) -> tuple[Interval, Interval]:
        reference = prevalence_interval(self.reference, level=self.level)
        return reference, prevalence_interval(self.current, level=self.level)

    @cached_property
    def roc_auc(self) -> Change:
        """The AUCs, with the interval and the test of independent samples (DeLong 1988)."""
        return roc_auc_change(self.reference, self.current, level=self.level)

    @property
    def roc_auc_difference(self) -> float:
        """Current AUC less the reference's; ``nan`` unless both sides have both classes."""
        return self.roc_auc.difference

    @cached_property
    def score_shift(self) -> Mapping[str, ScoreShift]:
        """How far the scores moved: ``positives``, ``negatives`` and ``overall``."""
        return score_shift(self._aligned)

    @cached_property
    def attribution(self) -> Mapping[str, Attribution]:
        """The change of each metric split into class ratio and scores of either class.

        ``average_precision``, and ``precision@0.7``, ``recall@0.7``, ``fpr@0.7`` and
        ``alert_rate@0.7`` for each threshold. Where a mixture of the two sides flags nobody, its
        precision is taken as the limit when the threshold falls to its highest score, which is
        the precision of the first who would be flagged. A side that flags nobody itself has no
        precision, and then nor has the change.
        """
        return attribute(self._aligned, self.thresholds)

    def explain(self) -> str:
        """Return the comparison in plain words, a sentence a line."""
        sides = (self.reference, self.current)
        return explain.explain(sides, self.prevalence, self.roc_auc, self.attribution)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the comparison as plain values for JSON; what is undefined is None."""
        shift: dict[str, JsonValue] = {
            name: one.to_dict() for name, one in self.score_shift.items()
        }
        attribution: dict[str, JsonValue] = {
            name: one.to_dict() for name, one in self.attribution.items()
        }
        return {
            "level": self.level,
            "reference": _size(self.reference),
            "current": _size(self.current),
            "prevalence": self.prevalence.to_dict(),
            "prevalence_ratio": or_none(self.prevalence_ratio),
            "prevalence_ratio_interval": pair(self.prevalence_ratio_interval),
            "roc_auc": self.roc_auc.to_dict(),
            "score_shift": shift,
            "attribution": attribution,
        }

    def _repr_html_(self) -> str:
        """Return the comparison as tables for notebooks."""
        verdict = self.explain().split("\n")[1]
        tables = (self._changes_html(), self._attribution_html(), self._shift_html())
        notes = _html.notes(["The parts of a change have no intervals; small ones may be chance."])
        return _html.view("Comparison", verdict, *tables, notes)

    def _changes_html(self) -> str:
        sides = self.reference, self.current
        n_samples = [_html.amount(side.n_samples) for side in sides]
        n_pos = [_html.amount(side.n_pos) for side in sides]
        rows = [
            ("events", *n_samples, "", "", "", "events"),
            ("positives", *n_pos, "", "", "", "events"),
            self._change_row("prevalence", self.prevalence),
            self._change_row("roc_auc", self.roc_auc),
        ]
        level = f"{100 * self.level:g} % interval"
        return _html.table(("", "reference", "current", "change", level, "test", "unit"), rows)

    def _change_row(self, name: str, change: Change) -> tuple[str, ...]:
        interval, test = change.interval, change.test
        return (
            _html.title(name),
            _html.number(change.reference, catalogue.reason(self.reference, name)),
            _html.number(change.current, catalogue.reason(self.current, name)),
            _html.signed(change.difference),
            _html.span(interval.low, interval.high, is_signed=True),
            _html.significance(test.method, test.p_value),
            "share",
        )

    def _attribution_html(self) -> str:
        """Return what the change of each metric is made of."""
        rows = []
        for name, part in self.attribution.items():
            why = None if math.isnan(part.total) else "a side lacks a class"
            parts = (part.prevalence, part.positives, part.negatives)
            whole = _html.signed(part.total, "undefined on a side")
            rows.append((_html.title(name), whole, *(_html.signed(one, why) for one in parts)))
        causes = ("by the class ratio", "by positives' scores", "by negatives' scores")
        return _html.table(("metric (share)", "change", *causes), rows)

    def _shift_html(self) -> str:
        names = {"positives": "positives", "negatives": "negatives", "overall": "all events"}
        rows = [
            (
                f"scores of {names[name]}",
                *(_html.number(one, "undefined on a side") for one in astuple(shift)),
            )
            for name, shift in self.score_shift.items()
        ]
        return _html.table(("", "KS (share)", "PSI (index)", "Jensen-Shannon (bits)"), rows)

    def __repr__(self) -> str:
        prevalence, auc = self.prevalence_difference, self.roc_auc_difference
        return (
            f"Comparison(prevalence_difference={prevalence:.4g}, roc_auc_difference={auc:.4g},"
            f" level={self.level:g})"
        )


def _thresholds(given: float | Sequence[float]) -> tuple[float, ...]:
    values = given if isinstance(given, Iterable) else (given,)
    return tuple(_check.finite("threshold", value) for value in values)


def _size(counts: ThresholdCounts) -> dict[str, JsonValue]:
    return {"n_samples": counts.n_samples, "n_pos": counts.n_pos, "n_neg": counts.n_neg}
