"""The keys of a rule with a detector of the class ratio."""

from collections.abc import Sequence
from typing import Literal

from streamauc.change.reference import ReferencePanes
from streamauc.rules.detectors import start
from streamauc.rules.model import Detection
from streamauc.rules.problems import nearest, shown
from streamauc.rules.tables import Table, seconds_of

DETECTORS = ("prevalence",)
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
# Of rules with a metric; named here so that the message can say so.
_OF_METRICS = ("window", "below", "above", "clear_below", "clear_above", "by", "min_pos", "min_neg")
_LARGEST_PANE = 86_400.0
_ESTIMATE: Literal["estimate"] = "estimate"
# Arguments of `PrevalenceDetector` and the keys that they come from.
_KEY_OF = {"pane_seconds": "pane", "false_alarm_every": "pane"}


def read_detection(table: Table, common: Sequence[str]) -> tuple[Detection, float] | None:
    """Return a detector's settings and its weight in the budget, or None if they are wrong."""
    table.choice("detector", DETECTORS)
    _close(table, common)
    before = len(table.log.problems)
    pane = table.length("pane")
    if pane is not None and (pane != int(pane) or pane > _LARGEST_PANE):
        table.fault("pane", f"pane must be whole seconds, up to a day, got {pane:g} s")
    weight = table.number("weight", "a number more than 0", lambda value: 0 < value <= 1e9)
    found = Detection(
        reference=_read_reference(table),
        tolerance=_or(table.number("tolerance", "a number in [0, 1)", lambda x: 0 <= x < 1), 0.0),
        pane_seconds=300 if pane is None else int(pane),
        offset=_or(table.length("offset", zero=True), 0.0),
        min_coverage=_or(table.share("min_coverage"), 0.95),
        level=_or(table.level("level"), 0.99),
        seasonal=table.length("seasonal"),
        phase=_or(table.length("phase"), 3600.0),
        overdispersion=_read_overdispersion(table),
        stall_after=_or(table.length("stall_after"), 86_400.0),
        false_alarm_every=30 * 86_400.0,
        max_series=int(_or(table.integer("max_series", 1), 1)),
    )
    if "phase" in table and "seasonal" not in table:
        table.fault("phase", "phase must be left out of a rule without seasonal")
    if len(table.log.problems) == before:
        _check(table, found)
    return found, _or(weight, 1.0)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _close(table: Table, common: Sequence[str]) -> None:
    known = (*common, *KEYS)
    for key in table.values:
        if key in _OF_METRICS:
            table.fault(key, f"{key} must be left out: it is for a metric, not for a detector")
        elif key not in known:
            table.fault(key, f"unknown key {shown(key)}{nearest(key, known)}")


def _read_reference(table: Table) -> str | float:
    value = table.values.get("reference")
    if "reference" not in table:
        table.fault(
            "reference", "reference is missing: a detector needs a name or a known prevalence"
        )
        return 0.5
    if isinstance(value, int | float):
        found = table.number("reference", "a prevalence in [0, 1]", lambda x: 0 <= x <= 1)
        return _or(found, 0.5)
    text = table.text("reference") or ""
    if text == "previous" or seconds_of(text) is not None:
        message = "must be a name or a known prevalence in a rule with a detector"
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
        start(found, ReferencePanes([0], [1], [1]) if found.needs_panes else 0.5)
    except ValueError as error:
        name = str(error).partition(" ")[0]
        table.fault(_KEY_OF.get(name, name if name in KEYS else "detector"), str(error))
