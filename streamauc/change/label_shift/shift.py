"""How many positives there are before their labels come, if only the class ratio changed."""

import math
from dataclasses import dataclass, replace

from streamauc import _check
from streamauc.change.label_shift.fit import Fit, mixture_fit, undefined
from streamauc.change.label_shift.groups import Groups, group
from streamauc.change.label_shift.inputs import aligned, share_outside
from streamauc.change.label_shift.mixture import limits, most_likely_share, standard_error
from streamauc.change.label_shift.ranks import Moment, match_ranks
from streamauc.change.results import JsonValue, or_none, pair
from streamauc.change.sources import Source, check_independent
from streamauc.histogram import ScoreHistogram
from streamauc.metrics.intervals import FEWEST, Interval

_NOTE = "from the slope of the likelihood, the reference's chance included"
# Below this many of a class in the reference, simulated 95 % intervals held as little as 90 %.
_SMALL_CLASS = 50
# A p-value below it is called a misfit in words.
_MISFIT = 0.01


@dataclass(frozen=True, slots=True)
class LabelShift:
    """The share of positives among current scores under label shift (see `label_shift`).

    * `prevalence`: the most likely one, with `standard_error` and `interval`, which include
      that the reference is finite.
    * `moment`: the same from mean ranks alone, as a cross-check.
    * `fit`: the test of label shift itself. If it fails, believe none of the above.
    * `reference_prevalence`, `n_reference`, `n_current`: what went in.
    * `n_groups`: into how many groups scores were put.
    * `outside`: share of current scores below or above all of the reference's.

    What is undefined is ``nan``, and `interval.note` says why.
    """

    prevalence: float
    standard_error: float
    interval: Interval
    moment: Moment
    fit: Fit
    reference_prevalence: float
    n_reference: float
    n_current: float
    n_groups: int
    outside: float

    def explain(self) -> str:
        """Return the result in plain words, a sentence a line."""
        lines = [f"Reference: {self._reference}. Current: {_number(self.n_current, 'score')}."]
        if math.isnan(self.prevalence):
            return "\n".join([*lines, f"The class ratio cannot be told ({self._why})."])
        lines += [self._share_line(), self._moment_line(), self._fit_line()]
        if self.outside > 0:
            lines.append(f"{_percent(self.outside)} of the scores lie outside the reference's.")
        return "\n".join(lines)

    @property
    def _reference(self) -> str:
        found = _number(self.n_reference, "event")
        if not self.n_reference:
            return found
        return f"{found}, {_percent(self.reference_prevalence)} positive"

    @property
    def _why(self) -> str:
        return self.interval.note.removeprefix("undefined: ")

    def _share_line(self) -> str:
        width = self.interval.high - self.interval.low
        line = f"If only the class ratio changed, {_percent(self.prevalence, width)} are positive"
        if math.isnan(width):
            return f"{line} (no interval: {self._why})."
        low, high = (_percent(end, width) for end in (self.interval.low, self.interval.high))
        return f"{line} ({self.interval.level * 100:g} % interval {low} to {high})."

    def _moment_line(self) -> str:
        error = self.moment.standard_error
        spread = f", standard error {_percent(error, error)}" if error > 0 else ""
        return f"Mean ranks alone say {_percent(self.moment.share, error)}{spread}."

    def _fit_line(self) -> str:
        if math.isnan(self.fit.p_value):
            why = self.fit.method.removeprefix("undefined: ")
            return f"Whether only the class ratio changed was not tested ({why})."
        p_value = "p < 0.0001" if self.fit.p_value < 0.0001 else f"p = {self.fit.p_value:.2g}"
        if self.fit.p_value < _MISFIT:
            return f"More than the class ratio changed ({p_value}): believe none of these shares."
        return f"The scores look like such a mixture ({p_value}), which does not prove it."

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the result as plain values for JSON; what is undefined is None."""
        return {
            "prevalence": or_none(self.prevalence),
            "standard_error": or_none(self.standard_error),
            "interval": pair(self.interval),
            "interval_method": self.interval.note,
            "moment_prevalence": or_none(self.moment.share),
            "moment_standard_error": or_none(self.moment.standard_error),
            "fit_statistic": or_none(self.fit.statistic),
            "fit_degrees": self.fit.degrees,
            "fit_p_value": or_none(self.fit.p_value),
            "fit_test": self.fit.method,
            "reference_prevalence": or_none(self.reference_prevalence),
            "n_reference": self.n_reference,
            "n_current": self.n_current,
            "n_groups": self.n_groups,
            "outside": or_none(self.outside),
        }


def label_shift(
    reference: Source,
    current: Source,
    *,
    level: float = 0.95,
    n_groups: int | None = None,
    independent: bool = False,
) -> LabelShift:
    """Return the share of positives among scores whose labels are not known yet. O(n_bins).

    `reference` is a labelled window or histogram. `current` is a window, whose predicted scores
    are taken, labelled or not, or a histogram, whose labels are not looked at. Scales of
    different resolution are brought to the coarser.

    The assumption is label shift: each class scores as it did, only the class ratio changed.
    Then the current scores are a mixture of the reference's classes, and the most likely mixture
    is where the EM algorithm of Saerens, Latinne & Decaestecker (2002) ends.

    * `level`: of the interval.
    * `n_groups`: into how many groups of scores, of about equal parts of both classes together,
      the events are put first. A bin with few reference events says by chance alone that it
      belongs to one class, and a likelihood over many such bins pulls every share towards 0 or
      1; few groups lose little. Unless given, one for 75 events of the reference's rarer class,
      at least 3 and at most 10. A number as large as that of the bins leaves each by itself.
    * `independent`: must be True for histograms, as in `compare`.

    ``nan`` with a note where the reference lacks a class, there are no current scores, or the
    classes have the same scores; no interval with fewer than two of a class. Raises ValueError
    and TypeError as `compare` does, and ValueError unless `n_groups` is at least 2.

    >>> import numpy as np
    >>> from streamauc import Scale, ScoreHistogram
    >>> scores = np.repeat([0.2, 0.5, 0.8], [60, 30, 10])
    >>> y_true, y_score = np.repeat([0, 1], 100), np.append(scores, 1 - scores)
    >>> before = ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact())
    >>> kept = np.append(np.arange(100), np.arange(100, 200, 5))  # a fifth of the positives
    >>> now = ScoreHistogram.from_scores(y_true[kept], y_score[kept], scale=Scale.exact())
    >>> round(label_shift(before, now, independent=True).prevalence, 3)
    0.167
    """
    known, scores = aligned(reference, current)
    check_independent(reference, current, independent=independent)
    level = _check.level(level)
    if n_groups is not None:
        n_groups = _check.integer("n_groups", n_groups, 2)
    blank = _blank(known, scores, level)
    why = _lacks(known, scores)
    return _because(blank, why) if why else _estimate(blank, known, scores, n_groups)


def _blank(reference: ScoreHistogram, current: ScoreHistogram, level: float) -> LabelShift:
    """Return a result that knows what went in, and nothing else."""
    n_neg, n_pos = reference.totals.tolist()
    n_reference = n_neg + n_pos
    return LabelShift(
        prevalence=math.nan,
        standard_error=math.nan,
        interval=Interval(math.nan, math.nan, level, ""),
        moment=Moment(math.nan, math.nan),
        fit=undefined(""),
        reference_prevalence=n_pos / n_reference if n_reference else math.nan,
        n_reference=n_reference,
        n_current=current.totals[0].item(),
        n_groups=0,
        outside=share_outside(reference, current),
    )


def _lacks(reference: ScoreHistogram, current: ScoreHistogram) -> str | None:
    n_neg, n_pos = reference.totals.tolist()
    if not n_pos and not n_neg:
        return "no events in the reference"
    if not n_pos or not n_neg:
        return f"no {'negatives' if n_pos else 'positives'} in the reference"
    return None if current.n_bins else "no current scores"


def _because(found: LabelShift, why: str) -> LabelShift:
    """Return the result with the reason why it has no interval and no test."""
    interval = replace(found.interval, note=f"undefined: {why}")
    return replace(found, interval=interval, fit=undefined(why))


def _estimate(
    blank: LabelShift, reference: ScoreHistogram, current: ScoreHistogram, n_groups: int | None
) -> LabelShift:
    groups = group(reference, current, n_groups)
    share = most_likely_share(groups.pos.shares, groups.neg.shares, groups.current.shares)
    moment = match_ranks(reference, current)
    found = replace(blank, prevalence=share, moment=moment, n_groups=groups.n_groups)
    if math.isnan(share):
        return _because(found, "positives and negatives cannot be told apart")
    for kind, sample in (("positives", groups.pos), ("negatives", groups.neg)):
        if sample.size < FEWEST:
            return _because(found, f"fewer than two {kind} in the reference")
    level = found.interval.level
    return replace(
        found,
        standard_error=standard_error(share, groups),
        interval=Interval(*limits(share, groups, level), level, _note(groups)),
        fit=mixture_fit(share, groups),
    )


def _note(groups: Groups) -> str:
    if min(groups.pos.size, groups.neg.size) >= _SMALL_CLASS:
        return _NOTE
    return f"{_NOTE}; may cover less than it says: fewer than {_SMALL_CLASS} events of a class"


def _number(amount: float, what: str) -> str:
    return f"{amount:,.10g} {what}{'' if amount == 1 else 's'}" if amount else f"no {what}s"


def _percent(share: float, width: float = math.nan) -> str:
    """Return a share in per cent, to two digits of the `width` that it may be off by."""
    if not width > 0:
        return f"{100 * share:.3g} %"
    return f"{100 * share:.{max(0, 1 - math.floor(math.log10(100 * width)))}f} %"
