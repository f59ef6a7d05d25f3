"""Which column is the score, which the label, the time, the weight, the label time."""

import difflib
import re
from collections.abc import Sequence

from streamauc.cli.reading.batches import Notes
from streamauc.cli.reading.options import ROLES, Columns, ReadOptions, Role

# For each role the names looked for, in tiers: a later tier counts only if no earlier one is met,
# so that `y_pred`, often the decision, does not compete with `y_score` beside it. A label time is
# not looked for, because it changes which rows count when: that has to be asked for.
_TIERS: dict[Role, tuple[re.Pattern[str], ...]] = {
    "score": (
        re.compile(
            r"(y_)?scores?|(y_|pred_)?prob(a|s|ability|abilities)?|predicted_prob(a|ability)?"
            r"|(score|prob|probability|pred)_1"
        ),
        re.compile(r"p|p_hat|y_hat|y_pred|pred|predictions?|predicted|confidence|logit|margin"),
        re.compile(r"(p|prob|proba|score)_.+|.+_(score|prob|proba|probability)"),
    ),
    "label": (
        re.compile(r"labels?|y_true|true_label|targets?|outcome|actual|ground_truth|is_fraud"),
        re.compile(r"y|class|truth|fraud|event|response"),
        re.compile(r"(is|has|was)_.+"),
    ),
    "time": (
        re.compile(r"timestamp|event_time(stamp)?|time|ts|datetime|date_time|event_ts"),
        re.compile(r"t|date|created_at|created|occurred_at|event_date|at|when"),
    ),
    "weight": (re.compile(r"weight|sample_weight"),),
}
_SHOWN_NAMES = 30


def resolve_columns(file: str, names: Sequence[str], options: ReadOptions, notes: Notes) -> Columns:
    """Find the column of each role in a file, named in `options` or guessed.

    Raises `ValueError` with the columns seen when a named column is missing, when the score or the
    label, or any role's guess, is not unique, and when there is a label time but no time.
    """
    found: dict[Role, str | None] = {}
    for role in ROLES:
        name = options.column(role)
        found[role] = None if not name else _named(file, names, name)
    for role in _TIERS:
        if found[role] is None and options.column(role) is None:
            taken = {name for name in found.values() if name is not None}
            found[role] = _guessed(file, names, taken, role, notes)
    score, label = found["score"], found["label"]
    if score is None or label is None:
        raise ValueError("score and label must name a column, got ''")
    time, label_time = found["time"], found["label_time"]
    if time is None and label_time is not None:
        time = _only_time(file, names, label_time, options, notes)
    if time is None:
        notes.add("no time column: the whole input is one window")
    return Columns(score, label, time, found["weight"], label_time)


def check_columns(file: str, names: Sequence[str], columns: Columns) -> None:
    """Raise `ValueError` unless a further file has every column that the first one had."""
    for name in columns.used().values():
        _named(file, names, name)


def _only_time(
    file: str, names: Sequence[str], label_time: str, options: ReadOptions, notes: Notes
) -> str:
    """Return the label time as the time too, as where labels are known at once."""
    time = _guessed(file, [label_time], set(), "time", notes) if options.time is None else None
    if time is None:
        raise ValueError(
            f"{file}: --label-time needs a time column beside it, got none; name it with --time"
            f" (columns: {_listed(names)})"
        )
    return time


def _named(file: str, names: Sequence[str], name: str) -> str:
    if names.count(name) == 1:
        return name
    if name in names:
        raise ValueError(f"{file}: column {name!r} must be there once, got {names.count(name)}")
    lower = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f"; did you mean {lower[near[0]]!r}?" if near else ""
    raise ValueError(f"{file} has no column {name!r}{hint} (columns: {_listed(names)})")


def _guessed(
    file: str, names: Sequence[str], taken: set[str], role: Role, notes: Notes
) -> str | None:
    for pattern in _TIERS[role]:
        matches = [n for n in names if n not in taken and pattern.fullmatch(_plain(n))]
        if len(matches) > 1:
            raise ValueError(
                f"{file}: the {role} column could be {' or '.join(matches)};"
                f" name it with --{role} (columns: {_listed(names)})"
            )
        if matches:
            notes.add(f"{role} column: {matches[0]} (guessed)")
            return matches[0]
    if role in ("score", "label"):
        raise ValueError(
            f"{file}: no column looks like the {role}; name it with --{role}"
            f" (columns: {_listed(names)})"
        )
    return None


def _plain(name: str) -> str:
    """`name` in lower case with underscores, so that ``Event Time`` reads like ``event_time``."""
    return re.sub(r"[\s\-.]+", "_", name.strip()).lower()


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
