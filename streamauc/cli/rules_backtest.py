"""``streamauc rules backtest``: when rules would have fired, and of how much that is all."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamauc import _time
from streamauc.cli.existing import existing_store
from streamauc.cli.judged import JsonValue, labels_shown
from streamauc.rules.as_of import AsOf
from streamauc.rules.backtest import Backtest, Firing, Judged, backtest, times
from streamauc.rules.document import load
from streamauc.rules.model import Key, RulesFile
from streamauc.rules.store_source import StoreSource

# As of a check: nobody knows.
_UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class _Sum:
    """What became of all evaluations of a rule, whatever the series."""

    rule: str
    judged: Mapping[Key, Judged]

    def count(self, name: str) -> int:
        """Return a count of all series together."""
        return sum(int(getattr(one, name)) for one in self.judged.values())

    def reason(self, name: str) -> str:
        """Return one of the reasons, with its series; "" where there is none."""
        for key, one in self.judged.items():
            if getattr(one, name):
                where = f"{labels_shown(key.labels)}: " if key.series else ""
                return f"{where}{getattr(one, name)}"
        return ""

    @property
    def is_judged(self) -> bool:
        """Whether the rule judged anything, and no series was an error each time."""
        errors = (one for one in self.judged.values() if not one.is_judged and one.n_errors)
        return self.count("n_judged") > 0 and not any(errors)


def run_backtest(
    rules: str,
    store: str,
    *,
    start: str,
    end: str,
    every: str,
    output: str,
    skip_damaged: bool = False,
) -> int:
    """Print when rules would have fired; return the exit code.

    That is 3 if any rule had nothing to judge: then that it never fired means nothing.
    """
    file = load(rules)
    low, high = _time.seconds("--start", start), _time.seconds("--end", end)
    step = _time.duration("--every", every)
    n_asked = len(times(low, high, step))
    with existing_store(store, read_only=True, skip_damaged=skip_damaged) as opened:
        found = backtest(file, AsOf(StoreSource(opened)), start=low, end=high, every=step)
    sums = _sums(file, found)
    print(f"{found.n_evaluations:,} evaluations", file=sys.stderr)
    if output == "json":
        print(json.dumps(_document(found, sums, n_asked), indent=2, allow_nan=False))
    else:
        for line in _lines(found, sums, n_asked):
            print(line)
    return 0 if all(one.is_judged for one in sums) else _UNKNOWN


def _sums(file: RulesFile, found: Backtest) -> list[_Sum]:
    return [
        _Sum(rule.id, {key: one for key, one in found.judged.items() if key.rule == rule.id})
        for rule in file.rules
    ]


def _lines(found: Backtest, sums: Sequence[_Sum], n_asked: int) -> Iterator[str]:
    """Yield each firing, and then what could not be judged, or not as often or finely."""
    firings = found.firings
    for one in firings:
        until = "and goes on" if one.end is None else f"until {_time.shown(one.end)}"
        where = labels_shown(one.key.labels)
        yield f"{_time.shown(one.start)} {until:<26} {_name(one.key.rule)} {where}: {one.reason}"
    if not firings:
        yield _none_fired(sums)
    # Moved to the end of a pane, the last one may come after the end.
    if found.n_evaluations < max(1, n_asked - 1):
        yield (
            f"evaluated {found.n_evaluations:,} times of {n_asked:,}: only at the ends of the panes"
            " that are left, as nothing is known of the times between"
        )
    for total in sums:
        yield from _doubts(total)


def _none_fired(sums: Sequence[_Sum]) -> str:
    if not any(one.count("n_judged") for one in sums):
        return "nothing could be judged"
    whole = not any(one.count("n_no_data") + one.count("n_errors") for one in sums)
    return "no rule would have fired" + ("" if whole else " where it could be judged")


def _doubts(total: _Sum) -> Iterator[str]:
    """Yield what a rule could not judge, and what it could not judge finely enough."""
    gaps = [
        f"{state} {total.count(name):,} ({total.reason(reason)})"
        for state, name, reason in (
            ("NO_DATA", "n_no_data", "no_data"),
            ("ERROR", "n_errors", "error"),
        )
        if total.count(name)
    ]
    if gaps or not total.is_judged:
        n_judged = total.count("n_judged")
        judged = f"judged {n_judged:,}" if n_judged else "never judged"
        yield f"{_name(total.rule)}: {'; '.join([judged, *gaps])}"
    n_wide = total.count("n_wide")
    if n_wide:
        yield (
            f"{_name(total.rule)}: {n_wide:,} windows were wider than asked for, as long as the"
            " panes that are left; what was shorter may not be seen in them"
        )


def _name(rule: str) -> str:
    """Return a rule (`Rule.id`) without labels where it has none."""
    return rule.removesuffix("{}")


def _document(found: Backtest, sums: Sequence[_Sum], n_asked: int) -> dict[str, JsonValue]:
    return {
        "n_evaluations": found.n_evaluations,
        "n_asked": n_asked,
        "firings": [_firing(one) for one in found.firings],
        "rules": [_sum(one) for one in sums],
    }


def _firing(one: Firing) -> dict[str, JsonValue]:
    labels: dict[str, JsonValue] = dict(one.key.labels)
    return {
        "rule": one.key.rule,
        "series": labels,
        "start": one.start,
        "end": one.end,
        "reason": one.reason,
        "value": one.value if math.isfinite(one.value) else None,
    }


def _sum(total: _Sum) -> dict[str, JsonValue]:
    return {
        "rule": total.rule,
        **{name: total.count(name) for name in ("n_judged", "n_no_data", "n_errors", "n_wide")},
        **{name: total.reason(name) or None for name in ("no_data", "error")},
    }
