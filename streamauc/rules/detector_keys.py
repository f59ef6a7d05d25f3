"""The keys of a rule with a detector."""

from collections.abc import Mapping, Sequence
from typing import Literal

from streamauc.change.reference import ReferencePanes
from streamauc.histogram import ScoreHistogram
from streamauc.rules.detectors import Known, start
from streamauc.rules.model import DETECTORS, Detection, DetectorName
from streamauc.rules.problems import nearest, shown
from streamauc.rules.tables import Table, seconds_of
from streamauc.scale import Scale

KEYS = (
    "reference",
    "tolerance",
    "pane",
    "offset",
    "min_coverage",
    "level",
    "seasonal",
    "phase",
    "overdispersion",
    "stall_after",
    "weight",
    "max_series",
)
# Only of a detector of the class ratio.
_OF_RATIO = ("seasonal", "phase", "overdispersion")
# Of rules with a metric; named here so that the message can say so.
_OF_METRICS = ("window", "below", "above", "clear_below", "clear_above", "by", "min_pos", "min_neg")
_LARGEST_PANE = 86_400.0
# What may be known of a reference without its scores.
_KNOWN: Mapping[DetectorName, str | None] = {
    "prevalence": "prevalence",
    "ranking": "AUC",
    "shift": None,
}
_ESTIMATE: Literal["estimate"] = "estimate"
# Arguments of detectors and the keys that they come from.
_KEY_OF = {"pane_seconds": "pane", "false_alarm_every": "pane"}


def read_detection(table: Table, common: Sequence[str]) -> tuple[Detection, float] | None:
    """Return a detector's settings and its weight in the budget, or None if they are wrong."""
    name = _detector(table)
    _close(table, common, name)
    before = len(table.log.problems)
    pane = table.length("pane")
    if pane is not None and (pane != int(pane) or pane > _LARGEST_PANE):
        table.fault("pane", f"pane must be whole seconds, up to a day, got {pane:g} s")
    weight = table.number("weight", "a number more than 0", lambda value: 0 < value <= 1e9)
    of_ratio = name == "prevalence"
    found = Detection(
        detector=name,
        reference=_read_reference(table, name),
        tolerance=_or(table.number("tolerance", "a number in [0, 1)", lambda x: 0 <= x < 1), 0.0),
        pane_seconds=300 if pane is None else int(pane),
        offset=_or(table.length("offset", zero=True), 0.0),
        min_coverage=_or(table.share("min_coverage"), 0.95),
        level=_or(table.level("level"), 0.99),
        seasonal=table.length("seasonal") if of_ratio else None,
        phase=_or(table.length("phase"), 3600.0),
        overdispersion=_read_overdispersion(table) if of_ratio else 1.0,
        stall_after=_or(table.length("stall_after"), 86_400.0),
        false_alarm_every=30 * 86_400.0,
        max_series=int(_or(table.integer("max_series", 1), 1)),
    )
    if of_ratio and "phase" in table and "seasonal" not in table:
        table.fault("phase", "phase must be left out of a rule without seasonal")
    if len(table.log.problems) == before:
        _check(table, found)
    return found, _or(weight, 1.0)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _detector(table: Table) -> DetectorName:
    wanted = table.choice("detector", DETECTORS)
    return next((name for name in DETECTORS if name == wanted), "prevalence")


def _close(table: Table, common: Sequence[str], name: DetectorName) -> None:
    known = (*common, *KEYS)
    for key in table.values:
        if key in _OF_RATIO and name != "prevalence":
            table.fault(key, f"{key} must be left out of a rule with a {name} detector")
        if key in _OF_METRICS:
            table.fault(key, f"{key} must be left out: it is for a metric, not for a detector")
        elif key not in known:
            table.fault(key, f"unknown key {shown(key)}{nearest(key, known)}")


def _read_reference(table: Table, name: DetectorName) -> str | float:
    known = _KNOWN[name]
    wanted = "a name" if known is None else f"a name or a known {known}"
    value = table.values.get("reference")
    if "reference" not in table:
        table.fault("reference", f"reference is missing: a detector needs {wanted}")
        return 0.5
    if known is not None and isinstance(value, int | float):
        article = "an" if known[0] in "aA" else "a"
        found = table.number("reference", f"{article} {known} in [0, 1]", lambda x: 0 <= x <= 1)
        return _or(found, 0.5)
    text = table.text("reference") or ""
    if text == "previous" or seconds_of(text) is not None:
        message = f"must be {wanted} in a rule with a detector"
        table.fault("reference", f"reference {message}, got {shown(text)}")
    return text


def _read_overdispersion(table: Table) -> float | Literal["estimate"]:
    if isinstance(table.values.get("overdispersion"), str):
        table.choice("overdispersion", (_ESTIMATE,))
        return _ESTIMATE
    wanted = 'a number of at least 1, or "estimate"'
    return _or(table.number("overdispersion", wanted, lambda value: 1 <= value <= 1e15), 1.0)


def _check(table: Table, found: Detection) -> None:
    """Check what is wrong only together, by starting a detector with these settings."""
    if found.needs_panes and not isinstance(found.reference, str):
        key = "seasonal" if found.seasonal is not None else "overdispersion"
        table.fault(key, f"{key} must go with a named reference, which is known pane by pane")
        return
    try:
        start(found, _anything(found))
    except ValueError as error:
        name = str(error).partition(" ")[0]
        table.fault(_KEY_OF.get(name, name if name in KEYS else "detector"), str(error))


def _anything(found: Detection) -> Known:
    """Return a reference that fits a detector."""
    if found.needs_panes:
        return ReferencePanes([0], [1], [1])
    return ScoreHistogram.empty(Scale.exact()) if found.detector == "shift" else 0.5
