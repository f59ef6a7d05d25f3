"""What a rule reads of a series: its value, or why there is none."""

import math
from dataclasses import replace

from streamauc.change import attribution
from streamauc.change.compare import Comparison
from streamauc.change.verdict import State as DetectorState
from streamauc.metrics.intervals import Interval
from streamauc.rules.formats import brief, span
from streamauc.rules.model import Detection, Key, Measure
from streamauc.rules.readings import Decided, Measured, Missing, Reading
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, View
from streamauc.rules.tallies import MAX_LAST, base_of, since_shown
from streamauc.window import Window

_LEVEL = 0.95


def observe(measure: Measure | Detection, key: Key, view: View, labels: Labels) -> Reading:
    """Return the reading of a rule for a series. Raises whatever the source raises."""
    if isinstance(measure, Detection):
        return _detection(measure, key, view, labels)
    if not measure.definition.windowed or measure.last is None:
        return _health(measure, view, labels)
    window = view.last(labels, measure.last, measure.offset)
    found = _windowed(measure, view, labels, window)
    return replace(found, span=(window.start, window.end))


def _windowed(measure: Measure, view: View, labels: Labels, window: Window) -> Measured | Missing:
    if "unreadable" in window.time_caveats:
        raise OSError("the store can't be read")  # its emptiness says nothing of the stream
    if not window.start < window.end:
        return Missing("the panes that are left there reach beyond the time asked for")
    note = _note(window, measure.last)
    if measure.definition.name == "coverage":
        return _of(window.coverage, "no events in the window", note)
    lacking = _lacking(measure, window)
    if lacking is not None:
        return lacking
    if measure.definition.kind == "comparison":
        return _comparison(measure, view, labels, window)
    return _metric(measure, window, note)


def _detection(detection: Detection, key: Key, view: View, labels: Labels) -> Reading:
    verdict = view.detect(key, detection, labels)
    if verdict.state is DetectorState.STALLED:
        return Missing(f"the detector is stalled: {verdict.reason}")
    if math.isnan(verdict.evidence):
        return Missing(verdict.reason)
    return Decided(verdict.state is DetectorState.ALARM, verdict.evidence, verdict.reason)


def _health(measure: Measure, view: View, labels: Labels) -> Reading:
    if measure.definition.name == "rejected_share":
        return _rejected(measure, view, labels)
    health = view.health(labels)
    if measure.definition.name == "newest_event_age":
        age = max(0.0, view.now - health.newest_event)
        # `max` may drop a nan.
        age = math.nan if math.isnan(health.newest_event) else age
        return _of(age, "no event yet, or none known of")
    if not health.writers:
        return Missing("no open writer is known that flushes to a store")
    writer = max(health.writers, key=lambda name: (health.writers[name], name))
    others = f" of {len(health.writers)}" if len(health.writers) > 1 else ""
    silent = health.writers[writer]
    note = f"writer {writer}{others}: {span(round(silent))} ago"
    advice = f"if it has ended for good: streamauc store retire STORE.db {writer}"
    return Measured(silent, silent, silent, note, advice=advice)


def _rejected(measure: Measure, view: View, labels: Labels) -> Measured | Missing:
    """Return the rejected share of the events that were offered between two evaluations."""
    tallies = view.tallies(labels)
    if not tallies:
        return Missing("what was offered by then is not known")
    newest = tallies[-1]
    if not newest.n_offered:
        return Missing("no event offered yet")
    base = base_of(tallies, measure.last or MAX_LAST)
    if base is None:
        return Missing("no check before that this one could be compared with; the next one can")
    since = since_shown(base, newest.at)
    n_offered = newest.n_offered - base.n_offered
    if not n_offered:
        return Missing(f"no event offered {since}")
    share = (newest.n_rejected - base.n_rejected) / n_offered
    return replace(Measured.of(share, since), span=(base.at, newest.at))


def _of(value: float, reason: str, note: str = "") -> Measured | Missing:
    return Missing(reason) if math.isnan(value) else Measured.of(value, note)


def _note(window: Window, asked: float | None) -> str:
    """Return what may mislead about a window; too little coverage is not there any more."""
    return ", ".join([*window.time_caveats, *_rounding(window, asked)])


def _rounding(window: Window, asked: float | None) -> list[str]:
    """Return that a window is of another length, as where only coarse panes are left.

    To be rounded out to the finest panes is usual, and no news.
    """
    covered = window.end - window.start
    if asked is None or abs(covered - asked) <= window.pane_seconds:
        return []
    return [f"of {span(covered)} instead of {span(asked)}"]


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


def _metric(measure: Measure, window: Window, note: str) -> Measured | Missing:
    name, params = measure.definition.name, dict(measure.params)
    value = window.value(name, **params)
    if math.isnan(value):
        return Missing(f"{measure.subject} is undefined: {window.reason(name, **params)}")
    if measure.level is None:
        return Measured.of(value, note)
    interval = window.interval(name, level=measure.level, **params)
    return _bounded(measure, value, interval, note)


def _bounded(measure: Measure, value: float, interval: Interval, note: str) -> Measured | Missing:
    if math.isnan(interval.low) or math.isnan(interval.high):
        return Missing(f"the interval of {measure.subject} is undefined: {interval.note}")
    return Measured(value, interval.low, interval.high, note)


def _comparison(measure: Measure, view: View, labels: Labels, window: Window) -> Measured | Missing:
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
    note = _both_notes(measure, reference, window)
    if measure.level is None:
        return Measured.of(value, note)
    return _bounded(measure, value, _interval(measure, found), note)


def _both_notes(measure: Measure, reference: Compared, window: Window) -> str:
    """Return what may mislead about a window or about the window it is compared with."""
    notes = [_note(window, measure.last)]
    if isinstance(reference, Window) and measure.reference is not None:
        asked = window.end - window.start if measure.reference.ago else measure.last
        is_named = measure.reference.name is not None
        notes += [f"reference {one}" for one in _rounding(reference, None if is_named else asked)]
    return ", ".join(filter(None, notes))


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
