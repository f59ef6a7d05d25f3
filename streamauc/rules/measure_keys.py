"""The keys of a rule with a metric: what it measures, of which window, and the limits."""

from collections.abc import Sequence

from streamauc.rules import measures
from streamauc.rules.doubts import doubts
from streamauc.rules.formats import brief, span
from streamauc.rules.measures import PARAMETERS, Definition
from streamauc.rules.model import Measure, Reference
from streamauc.rules.policy import Limits
from streamauc.rules.problems import nearest, shown
from streamauc.rules.tables import Table, seconds_of
from streamauc.rules.tallies import MAX_LAST

LIMIT_KEYS = ("below", "above", "clear_above", "clear_below")
WINDOW_KEYS = ("window", "offset")
SAMPLE_KEYS = ("by", "level", "min_pos", "min_neg", "min_coverage")
KEYS = (*PARAMETERS, "reference", *WINDOW_KEYS, *LIMIT_KEYS, *SAMPLE_KEYS)
_LEVEL = 0.95


def read_measure(table: Table, common: Sequence[str]) -> tuple[Measure, Limits] | None:
    """Return what a rule measures and its limits, or None if that is wrong."""
    text = table.text("metric")
    try:
        known = None if text is None else measures.parse(text)
    except ValueError as error:
        table.fault("metric", str(error))
        known = None
    if known is None:
        table.close((*common, *KEYS))
        return None
    definition, params = known
    _close(table, definition, common)
    params |= _read_params(table, definition, params)
    limits = _read_limits(table, definition)
    measure = _read(table, definition, params)
    return measure, limits


def _close(table: Table, definition: Definition, common: Sequence[str]) -> None:
    """Note keys that nobody knows, and those that this metric has no use for."""
    applicable = [*common, *LIMIT_KEYS, *definition.parameters, *definition.optional]
    if definition.windowed:
        applicable += WINDOW_KEYS
    elif definition.last:
        applicable.append("window")
    if definition.kind != "health":
        applicable += SAMPLE_KEYS
    if definition.kind == "comparison":
        applicable.append("reference")
    for key in table.values:
        if key in KEYS and key not in applicable:
            table.fault(key, f"{key} must be left out: metric {definition.name!r} takes none")
        elif key not in applicable:
            table.fault(key, f"unknown key {shown(key)}{nearest(key, (*applicable, *KEYS))}")


def _read_params(table: Table, definition: Definition, given: dict[str, float]) -> dict[str, float]:
    found = {}
    takes = (*definition.parameters, *definition.optional)
    for name in given:
        if name not in takes:
            table.fault("metric", f"metric {definition.name!r} takes no {name} behind @")
        elif name in table:
            table.fault(name, f"{name} must be given once: the metric has it behind @ already")
    for name in takes:
        value = table.number(name)
        if value is not None:
            found[name] = value
        elif name in definition.parameters and name not in given and name not in table:
            example = f', as in metric = "{definition.name}@0.5"' if name == "threshold" else ""
            table.fault(name, f"{name} is missing: metric {definition.name!r} needs it{example}")
    _check_params(table, definition, found | given)
    return found


def _check_params(table: Table, definition: Definition, params: dict[str, float]) -> None:
    if not all(name in params for name in definition.parameters):
        return
    kept = {
        name: value
        for name, value in params.items()
        if name in (*definition.parameters, *definition.optional)
    }
    try:
        measures.check(definition, kept)
    except ValueError as error:
        name = str(error).partition(" ")[0]
        table.fault(name if name in kept and name in table else "metric", str(error))


def _read_limits(table: Table, definition: Definition) -> Limits:
    found = {key: table.amount(key, of_time=definition.of_time) for key in LIMIT_KEYS}
    limits = Limits(**found)
    if "below" not in table and "above" not in table:
        table.fault("below", "below or above is missing: a metric needs at least one limit")
    if limits.below is not None and limits.above is not None and limits.below >= limits.above:
        table.fault(
            "above",
            f"above must be more than below, {brief(limits.below)}, got {brief(limits.above)}:"
            " the alert fires outside the two",
        )
    _check_clear(table, limits)
    for key, message in doubts(definition, limits):
        table.log.doubt((*table.path, key), message)
    return limits


def _check_clear(table: Table, limits: Limits) -> None:
    """Check that an alert that fires clears on the inner side of its limit."""
    for clear, limit in (("clear_above", "below"), ("clear_below", "above")):
        if clear in table and limit not in table:
            table.fault(clear, f"{clear} must be left out of a rule without {limit}")
    below, above = limits.below, limits.above
    high, low = limits.clear_above, limits.clear_below
    if high is not None and below is not None and high < below:
        table.fault(
            "clear_above", f"clear_above must be at least below, {brief(below)}, got {brief(high)}"
        )
    if low is not None and above is not None and low > above:
        table.fault(
            "clear_below", f"clear_below must be at most above, {brief(above)}, got {brief(low)}"
        )
    _check_band(table, limits)


def _check_band(table: Table, limits: Limits) -> None:
    """Check that something is left between the levels at which both sides clear."""
    low = limits.below if limits.clear_above is None else limits.clear_above
    high = limits.above if limits.clear_below is None else limits.clear_below
    if limits.below is None or limits.above is None or low is None or high is None:
        return
    if low > high and not limits.below >= limits.above:
        key = "clear_above" if limits.clear_above is not None else "clear_below"
        table.fault(
            key,
            f"{key} must leave values that clear: none is at least {brief(low)} and at most"
            f" {brief(high)}",
        )


def _read(table: Table, definition: Definition, params: dict[str, float]) -> Measure:
    last = table.length("window") or definition.last or None
    if not definition.windowed and last is not None and last > MAX_LAST:
        table.fault("window", f"window must be at most 7d for {definition.name}, got {span(last)}")
    if definition.windowed and "window" not in table:
        table.fault("window", f"window is missing: metric {definition.name!r} needs it")
    offset = table.length("offset", zero=True)
    n_pos = table.number("min_pos", "a number of at least 0", _is_natural)
    n_neg = table.number("min_neg", "a number of at least 0", _is_natural)
    return Measure(
        definition=definition,
        params=params,
        last=last if definition.windowed or definition.last else None,
        offset=offset or 0.0,
        level=_read_level(table, definition),
        min_pos=n_pos or 0.0,
        min_neg=n_neg or 0.0,
        min_coverage=table.share("min_coverage") or 0.0,
        reference=_read_reference(table, definition, last),
    )


def _is_natural(value: float) -> bool:
    return value >= 0


def _read_level(table: Table, definition: Definition) -> float | None:
    by = table.choice("by", ("value", "bound"))
    level = table.level("level")
    if by == "bound" and definition.kind != "health" and not definition.has_interval:
        table.fault("by", f'by must be "value": {measures.without_interval(definition)}')
    if "level" in table and by != "bound" and definition.kind != "health":
        table.fault("level", 'level must be left out unless by = "bound"')
    return (level or _LEVEL) if by == "bound" else None


def _read_reference(table: Table, definition: Definition, last: float | None) -> Reference | None:
    if definition.kind != "comparison":
        return None
    if "reference" not in table:
        table.fault(
            "reference",
            f'reference is missing: metric {definition.name!r} needs a name, "previous", or a'
            ' length of time such as "7d"',
        )
    text = table.text("reference")
    if text is None or text == "previous":
        return Reference(previous=text is not None)
    ago = seconds_of(text)
    if ago is None:
        return Reference(name=text)
    if last is not None and ago < last:
        table.fault(
            "reference",
            f"reference must lie at least a window of {brief(last)} s back, got {shown(text)}",
        )
    return Reference(ago=ago)
