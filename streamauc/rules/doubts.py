"""Limits that can be read, but that no value or every value would be past: a doubt, no error."""

import math
from collections.abc import Iterator

from streamauc.rules.formats import brief
from streamauc.rules.measures import Definition
from streamauc.rules.policy import Limits


def doubts(definition: Definition, limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield the key of each limit that makes an alert constant, and how; by the metric's range."""
    low, high = definition.low, definition.high
    for key, value, is_outside, effect in (
        ("below", limits.below, _is_at_most(limits.below, low), "never fires"),
        ("below", limits.below, _is_more(limits.below, high), "always fires"),
        ("above", limits.above, _is_at_least(limits.above, high), "never fires"),
        ("above", limits.above, _is_less(limits.above, low), "always fires"),
        ("clear_above", limits.clear_above, _is_more(limits.clear_above, high), "never clears"),
        ("clear_below", limits.clear_below, _is_less(limits.clear_below, low), "never clears"),
    ):
        if value is not None and is_outside:
            yield (
                key,
                f"{key} = {brief(value)} {effect}: {definition.name} {_range(definition)}"
                f"{_percent(definition, value)}",
            )


def _is_at_most(value: float | None, end: float) -> bool:
    return value is not None and value <= end


def _is_at_least(value: float | None, end: float) -> bool:
    return value is not None and value >= end


def _is_more(value: float | None, end: float) -> bool:
    return value is not None and value > end


def _is_less(value: float | None, end: float) -> bool:
    return value is not None and value < end


def _range(definition: Definition) -> str:
    if math.isinf(definition.high):
        return f"is at least {brief(definition.low)}"
    return f"lies between {brief(definition.low)} and {brief(definition.high)}"


def _percent(definition: Definition, value: float) -> str:
    if definition.high == 1 and 2 <= value <= 100:
        return f"; {brief(value)} % is {brief(value / 100)}"
    return ""
