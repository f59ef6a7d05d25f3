"""One evaluation of a rules file: every rule for every series that it matches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamauc.rules.judge import judge
from streamauc.rules.model import Detection, Key, Rule, RulesFile, series_key
from streamauc.rules.observe import observe
from streamauc.rules.readings import Failed, Measured, Missing, Reading, Span
from streamauc.rules.record import Change, Record, State
from streamauc.rules.selector import Labels
from streamauc.rules.source import Source, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one rule says about one series; `labels` are the series', none without any.

    `reading` is what was judged; `change` is None unless the state is another than before.
    """

    rule: Rule
    key: Key
    labels: Labels
    reading: Reading
    record: Record
    change: Change | None

    @property
    def state(self) -> State:
        """The state, of which `record.reason` says why."""
        return self.record.state

    @property
    def value(self) -> float:
        """What was judged; ``nan`` where there was nothing, whatever was judged before."""
        return self.record.current

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval that was compared with the limits, or None where it was the value."""
        found = self.reading
        if isinstance(found, Measured) and found.low != found.high:
            return found.low, found.high
        return None

    @property
    def span(self) -> Span | None:
        """From when to when events were looked at; None where no window was read."""
        found = self.reading
        return found.span if isinstance(found, Measured | Missing) else None

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the rule, filled in."""
        return self.rule.annotate(self.labels, self.value, self.record.reason)


def evaluate(
    file: RulesFile, source: Source, previous: Mapping[Key, Record] | None = None
) -> list[Result]:
    """Return a result for each rule and series that it matches, in the order of the file.

    `previous` are the records of the last evaluation, by key. A series that is gone but has a
    record stays, without data; a rule that matches no series has one result without labels.
    What goes wrong inside a rule is the ERROR of that rule and series alone. Raises only what
    `source.now()` and `source.series()` raise. O(rules x series), and each window once.
    """
    view = View(source)
    known = previous or {}
    series = {series_key(labels): labels for labels in source.series()}
    recorded = _recorded(known)
    plans = [_plan(rule, series, known, recorded.get(rule.id, ())) for rule in file.rules]
    found: list[dict[str, Result]] = [{} for _ in plans]
    # Series by series, so that a source has to remember the panes of one at a time.
    for name, labels in series.items():
        for plan, results in zip(plans, found, strict=True):
            if name in plan.present:
                results[name] = plan.evaluate(name, labels, view, known)
        view.forget()
    for plan, results in zip(plans, found, strict=True):
        for name, reason in plan.absent.items():
            results[name] = plan.without(name, reason, view, known)
    return [result for results in found for _, result in sorted(results.items())]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The series of one rule: those to read, those that are gone, and those beyond the budget."""

    rule: Rule
    present: frozenset[str]
    absent: Mapping[str, Reading]

    def evaluate(
        self, name: str, labels: Labels, view: View, known: Mapping[Key, Record]
    ) -> Result:
        """Read and judge a series."""
        key = Key(self.rule.id, name)
        return _result(self.rule, key, labels, self._reading(key, view, labels), view, known)

    def _reading(self, key: Key, view: View, labels: Labels) -> Reading:
        try:
            return observe(self.rule.measure, key, view, labels)
        except Exception as error:  # noqa: BLE001 - one rule must not stop the others
            return Failed(f"{type(error).__name__}: {error}")

    def without(
        self, name: str, reading: Reading, view: View, known: Mapping[Key, Record]
    ) -> Result:
        """Judge a series of which nothing is read."""
        key = Key(self.rule.id, name)
        return _result(self.rule, key, key.labels, reading, view, known)


def _result(
    rule: Rule,
    key: Key,
    labels: Labels,
    reading: Reading,
    view: View,
    known: Mapping[Key, Record],
) -> Result:
    before = known.get(key)
    record = judge(rule.policy, before, reading, view.now)
    return Result(
        rule=rule,
        key=key,
        labels=labels,
        reading=reading,
        record=record,
        change=Change.between(before, record),
    )


def _recorded(known: Iterable[Key]) -> dict[str, list[Key]]:
    """Return the keys that have a record by rule."""
    found: dict[str, list[Key]] = {}
    for key in known:
        found.setdefault(key.rule, []).append(key)
    return found


def _plan(
    rule: Rule, series: Mapping[str, Labels], known: Mapping[Key, Record], recorded: Iterable[Key]
) -> _Plan:
    matching = [name for name, labels in series.items() if rule.series.matches(labels)]
    absent: dict[str, Reading] = {
        name: Missing("the series is gone") for name in _gone(rule, series, recorded)
    }
    if not matching and not absent:
        absent[""] = Missing(f"no series matches {rule.series}")
    if isinstance(rule.measure, Detection) and len(matching) > rule.measure.max_series:
        matching, beyond = _within_budget(rule, matching, rule.measure.max_series, known)
        absent |= beyond
    return _Plan(rule, frozenset(matching), absent)


def _gone(rule: Rule, series: Mapping[str, Labels], recorded: Iterable[Key]) -> Iterable[str]:
    """Return the series with a record that the source does not have any more."""
    for key in recorded:
        gone = key.series and key.series not in series
        if gone and rule.series.matches(key.labels):
            yield key.series


def _within_budget(
    rule: Rule, matching: Sequence[str], limit: int, known: Mapping[Key, Record]
) -> tuple[list[str], dict[str, Reading]]:
    """Return the series whose detectors the budget was split for, and errors for the rest.

    Those that were judged before come first, so that a new series takes no other's place.
    """

    def rank(name: str) -> tuple[bool, str]:
        record = known.get(Key(rule.id, name))
        return record is None or record.state is State.ERROR, name

    ranked = sorted(matching, key=rank)
    error = Failed(
        f"the rule matches {len(matching)} series, and the false-alarm budget was split for"
        f" max_series = {limit}"
    )
    return ranked[:limit], dict.fromkeys(ranked[limit:], error)
