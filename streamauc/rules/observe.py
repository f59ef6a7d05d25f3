"""What a rule reads of a series: its value, or why there is none."""

import math

from streamauc.change import attribution
from streamauc.change.compare import Comparison
from streamauc.change.verdict import State as DetectorState
from streamauc.metrics.intervals import Interval
from streamauc.rules.formats import brief, span
from streamauc.rules.model import Detection, Key, Measure
from streamauc.rules.readings import Decided, Measured, Missing, Reading
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, View
from streamauc.window import Window

_LEVEL = 0.95


def observe(measure: Measure | Detection, key: Key, view: View, labels: Labels) -> Reading:
    """Return the reading of a rule for a series. Raises whatever the source raises."""
    if isinstance(measure, Detection):
        return _detection(measure, key, view, labels)
    if measure.last is None:
        return _health(measure, view, labels)
    window = view.last(labels, measure.last, measure.offset)
    if measure.definition.name == "coverage":
        return _of(window.coverage, "no events in the window", _note(window))
    lacking = _lacking(measure, window)
    if lacking is not None:
        return lacking
    if measure.definition.kind == "comparison":
        return _comparison(measure, view, labels, window)
    return _metric(measure, window)


def _detection(detection: Detection, key: Key, view: View, labels: Labels) -> Reading:
    verdict = view.detect(key, detection, labels)
    if verdict.state is DetectorState.STALLED:
        return Missing(f"the detector is stalled: {verdict.reason}")
    if math.isnan(verdict.evidence):
        return Missing(verdict.reason)
    return Decided(verdict.state is DetectorState.ALARM, verdict.evidence, verdict.reason)


def _health(measure: Measure, view: View, labels: Labels) -> Reading:
    health = view.health(labels)
    if measure.definition.name == "newest_event_age":
        age = max(0.0, view.now - health.newest_event)
        # `max` may drop a nan.
        age = math.nan if math.isnan(health.newest_event) else age
        return _of(age, "no event yet, or none known of")
    if measure.definition.name == "rejected_share":
        share = health.n_rejected / health.n_offered if health.n_offered else math.nan
        return _of(share, "no event offered yet, or none known of")
    if not health.writers:
        return Missing("no open writer is known that flushes to a store")
    writer = max(health.writers, key=lambda name: (health.writers[name], name))
    others = f" of {len(health.writers)}" if len(health.writers) > 1 else ""
    silent = health.writers[writer]
    note = f"writer {writer}{others}: {span(round(silent))} ago"
    advice = f"if it has ended for good: streamauc store retire STORE.db {writer}"
    return Measured(silent, silent, silent, note, advice)


def _of(value: float, reason: str, note: str = "") -> Reading:
    return Missing(reason) if math.isnan(value) else Measured.of(value, note)


def _note(window: Window) -> str:
    """Return what may mislead about a window; too little coverage is not there any more."""
    return ", ".join(window.time_caveats)


def _lacking(measure: Measure, window: Window) -> Missing | None:
    """Return what a window has too little of, or None."""
    if measure.min_coverage and not window.coverage >= measure.min_coverage:
        if math.isnan(window.coverage):
            return Missing("no events in the window")
        got, wanted = brief(window.coverage), brief(measure.min_coverage)
        return Missing(f"too few labels: coverage {got} of at least {wanted}")
    return _too_few(measure, window.n_pos, window.n_neg, "")


def _too_few(measure: Measure, n_pos: float, n_neg: float, where: str) -> Missing | None:
    for name, count, least in (
        ("positives", n_pos, measure.min_pos),
        ("negatives", n_neg, measure.min_neg),
    ):
        if count < least:
            return Missing(f"too few {name}{where}: {brief(count)} of at least {brief(least)}")
    return None


def _metric(measure: Measure, window: Window) -> Reading:
    name, params = measure.definition.name, dict(measure.params)
    value = window.value(name, **params)
    if math.isnan(value):
        return Missing(f"{measure.subject} is undefined: {window.reason(name, **params)}")
    if measure.level is None:
        return Measured.of(value, _note(window))
    interval = window.interval(name, level=measure.level, **params)
    return _bounded(measure, value, interval, _note(window))


def _bounded(measure: Measure, value: float, interval: Interval, note: str) -> Reading:
    if math.isnan(interval.low) or math.isnan(interval.high):
        return Missing(f"the interval of {measure.subject} is undefined: {interval.note}")
    return Measured(value, interval.low, interval.high, note)


def _comparison(measure: Measure, view: View, labels: Labels, window: Window) -> Reading:
    reference = _reference(measure, view, labels, window)
    lacking = _overlap(reference, window) or _lacking_reference(measure, reference)
    if lacking is not None:
        return lacking
    level = _LEVEL if measure.level is None else measure.level
    threshold = measure.params.get("threshold")
    found = view.comparison((reference, window), level, threshold)
    value = _compared(measure, found)
    if math.isnan(value):
        return Missing(f"{measure.subject} is undefined: {_why(found)}")
    if measure.level is None:
        return Measured.of(value, _note(window))
    return _bounded(measure, value, _interval(measure, found), _note(window))


def _reference(measure: Measure, view: View, labels: Labels, window: Window) -> Compared:
    """Return what is compared with: the span that the window really covers, so much earlier.

    That span is rounded outwards, so of a window as long ago as it is long, the reference ends
    where the window begins.
    """
    reference = measure.reference
    if reference is None or measure.last is None:
        raise ValueError(f"reference must be given for {measure.subject}, got None")
    if reference.name is not None:
        return view.reference(reference.name, labels)
    if reference.ago is not None:
        start, end = window.start - reference.ago, window.end - reference.ago
        return view.window(labels, start, min(end, window.start))
    return view.window(labels, window.start - measure.last, window.start)


def _overlap(reference: Compared, window: Window) -> Missing | None:
    """Return that the sides share events, as for a while after a reference was set anew."""
    if not isinstance(reference, Window) or reference.origin != window.origin:
        return None
    if reference.start < window.end and window.start < reference.end:
        return Missing("the window shares events with the reference, which ends after it begins")
    return None


def _lacking_reference(measure: Measure, reference: Compared) -> Missing | None:
    if isinstance(reference, Window):
        n_pos, n_neg = reference.n_pos, reference.n_neg
    else:
        n_neg, n_pos = reference.totals.tolist()
    return _too_few(measure, n_pos, n_neg, " in the reference")


def _compared(measure: Measure, found: Comparison) -> float:
    definition = measure.definition
    if not definition.metric:
        return float(getattr(found, definition.name))
    if definition.metric in ("ks", "psi", "jensen_shannon"):
        return float(getattr(found.score_shift[definition.part], definition.metric))
    name = definition.metric
    if "threshold" in measure.params:
        name += f"@{attribution.shown(measure.params['threshold'])}"
    return float(getattr(found.attribution[name], definition.part))


def _interval(measure: Measure, found: Comparison) -> Interval:
    name = measure.definition.name
    if name == "prevalence_ratio":
        return found.prevalence_ratio_interval
    return found.prevalence.interval if name == "prevalence_difference" else found.roc_auc.interval


def _why(found: Comparison) -> str:
    """Return which side of a comparison lacks what."""
    for name, side in (("reference", found.reference), ("window", found.current)):
        for what, count in (
            ("events", side.n_samples),
            ("positives", side.n_pos),
            ("negatives", side.n_neg),
        ):
            if not count:
                return f"no {what} in the {name}"
    return "nobody is flagged on one side"
