"""A comparison in plain words, for whoever is on call."""

import math
from collections.abc import Mapping
from typing import Literal

from streamauc.change.results import Attribution, Change
from streamauc.counts import ThresholdCounts

Verdict = Literal["up", "down", "steady", "unknown"]

_RATIO_HEADLINE: dict[Verdict, str] = {
    "up": "The share of positives rose",
    "down": "The share of positives fell",
    "steady": "The share of positives is unchanged within its interval",
    "unknown": "The shares of positives cannot be compared",
}
_RANKING_HEADLINE: dict[Verdict, str] = {
    "up": "the model ranks better",
    "down": "the model ranks worse",
    "steady": "no change of the ranking is seen",
    "unknown": "the rankings cannot be compared",
}
_PLAYERS = ("the class ratio", "the positives' scores", "the negatives' scores")
# What is left of zero after rounding.
_NOTHING = 1e-12
_WORDS = {"average_precision": "average precision", "fpr": "FPR", "alert_rate": "alert rate"}


def explain(
    sides: tuple[ThresholdCounts, ThresholdCounts],
    prevalence: Change,
    roc_auc: Change,
    attribution: Mapping[str, Attribution],
) -> str:
    """Return sentences, one a line: sizes, the verdict, class ratio, ranking, attribution."""
    reference, current = sides
    ratio, ranking = verdict(prevalence), verdict(roc_auc)
    return "\n".join(
        (
            f"Reference: {_size(reference)}. Current: {_size(current)}.",
            f"{_RATIO_HEADLINE[ratio]}; {_RANKING_HEADLINE[ranking]}.",
            _change_line("Share of positives", prevalence),
            _change_line("AUC", roc_auc),
            *(_attribution_line(name, part) for name, part in attribution.items()),
            "The parts of a change have no intervals; small ones may be chance.",
        )
    )


def verdict(change: Change) -> Verdict:
    """Return which way a value moved, as far as its interval excludes that it did not."""
    interval = change.interval
    if math.isnan(change.difference) or math.isnan(interval.low + interval.high):
        return "unknown"
    if interval.low > 0:
        return "up"
    return "down" if interval.high < 0 else "steady"


def _size(counts: ThresholdCounts) -> str:
    events = "event" if counts.n_samples == 1 else "events"
    return f"{counts.n_samples:,} {events}, {counts.n_pos:,} positive"


def _change_line(name: str, change: Change) -> str:
    found = verdict(change)
    if found == "unknown":
        return f"{name}: cannot be compared ({_why(change)})."
    places = _places(change.difference)
    moved = f"{change.reference:.{places}f} to {change.current:.{places}f}"
    interval = change.interval
    extent = (
        f"{change.difference:+.{places}f}, {interval.level * 100:g} % interval"
        f" {interval.low:+.{places}f} to {interval.high:+.{places}f}"
        f"; {change.test.method}, {_p_value(change.test.p_value)}"
    )
    words = {"up": "rose from", "down": "fell from", "steady": "unchanged within its interval,"}
    return f"{name}: {words[found]} {moved} ({extent})."


def _why(change: Change) -> str:
    return change.test.method if math.isnan(change.test.p_value) else change.interval.note


def _p_value(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"


def _attribution_line(name: str, found: Attribution) -> str:
    title = _title(name)
    if math.isnan(found.total):
        return f"{title}: cannot be compared (undefined on one side or both)."
    parts = (found.prevalence, found.positives, found.negatives)
    largest = max(abs(part) for part in (*parts, found.total))
    if math.isnan(largest):
        moved = _moved(found.total, _places(found.total))
        return f"{title}: {moved}; why cannot be told, as a side lacks a class."
    if largest < _NOTHING:
        return f"{title}: did not change."
    places = _places(largest)
    return f"{title}: {_moved(found.total, places)}; {_because(parts, places)}."


def _title(name: str) -> str:
    metric, at, threshold = name.partition("@")
    words = _WORDS.get(metric, metric)
    words = words[0].upper() + words[1:]
    return f"{words} at {threshold}" if at else words


def _moved(total: float, places: int) -> str:
    size = f"{abs(total):.{places}f}"
    if not float(size):
        return "stayed the same"
    return f"{'rose' if total > 0 else 'fell'} by {size}"


def _because(parts: tuple[float, float, float], places: int) -> str:
    """Return what each part did to the metric, the largest first."""
    moving = [pair for pair in zip(_PLAYERS, parts, strict=True) if abs(pair[1]) >= _NOTHING]
    moving.sort(key=lambda pair: -abs(pair[1]))
    if len(moving) == 1:
        return f"all of it comes from {moving[0][0]}"
    return ", ".join(_did(player, part, places) for player, part in moving)


def _did(player: str, part: float, places: int) -> str:
    size = f"{abs(part):.{places}f}"
    verb = "raised" if part > 0 else "lowered"
    if not float(size):
        return f"{player} {verb} it by less than {10**-places:.{places}f}"
    return f"{player} {verb} it by {size}"


def _places(size: float) -> int:
    """Return how many decimals show a number with two significant digits, three at least."""
    if abs(size) < _NOTHING:
        return 3
    return max(3, 1 - math.floor(math.log10(abs(size))))
