"""The state of an alert as it is kept between evaluations, and its changes; to and from JSON."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class State(StrEnum):
    """What an alert says.

    * ``OK``: within the limits.
    * ``PENDING``: past a limit, but not for long enough yet.
    * ``FIRING``: past a limit.
    * ``RECOVERING``: no longer, but kept firing for a while.
    * ``NO_DATA``: there is nothing to judge.
    * ``ERROR``: reading or judging went wrong.
    """

    OK = "OK"
    PENDING = "PENDING"
    FIRING = "FIRING"
    RECOVERING = "RECOVERING"
    NO_DATA = "NO_DATA"
    ERROR = "ERROR"


PHASES = (State.OK, State.PENDING, State.FIRING, State.RECOVERING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An alert after an evaluation; times in seconds since the epoch.

    * `since`: when it entered `state`; `at`: when it was judged last.
    * `value`: the last that was defined; ``nan`` before.
    * `phase`: OK, PENDING, FIRING or RECOVERING, which is what it would be if absence and
      errors did not count; None until something was judged.
    * `active_at`: since when it is past the limit, None while it is not.
    * `recovering_at`: when it came back; None unless RECOVERING.
    * `missing_since`: since when there is nothing to judge; None while there is.
    * `by_absence`: whether it fires only because there is nothing to judge.
    """

    state: State
    since: float
    reason: str
    at: float
    value: float = math.nan
    phase: State | None = None
    active_at: float | None = None
    recovering_at: float | None = None
    missing_since: float | None = None
    by_absence: bool = False

    @property
    def current(self) -> float:
        """The value, if there was one to judge the last time; else ``nan``."""
        judged = self.state is not State.ERROR and self.missing_since is None
        return self.value if judged else math.nan

    def to_dict(self) -> dict[str, JsonValue]:
        """Return plain values for JSON."""
        return {
            "state": self.state.value,
            "since": self.since,
            "reason": self.reason,
            "at": self.at,
            "value": None if math.isnan(self.value) else _finite(self.value),
            "phase": None if self.phase is None else self.phase.value,
            "active_at": self.active_at,
            "recovering_at": self.recovering_at,
            "missing_since": self.missing_since,
            "by_absence": self.by_absence,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> "Record":
        """Return the record that `to_dict` wrote. Raises ValueError for anything else."""
        phase = fields.get("phase")
        found = None if phase is None else _state("phase", phase)
        if found is not None and found not in PHASES:
            raise ValueError(f"phase must be one of {', '.join(PHASES)}, got {found.value!r}")
        reason, by_absence = fields.get("reason"), fields.get("by_absence")
        if not isinstance(reason, str) or not isinstance(by_absence, bool):
            raise ValueError(  # noqa: TRY004 - stored data is a value, whatever is wrong with it
                f"record must have a reason and by_absence, got {reason!r} and {by_absence!r}"
            )
        value = _time_or_none(fields, "value")
        return cls(
            state=_state("state", fields.get("state")),
            since=_time(fields, "since"),
            reason=reason,
            at=_time(fields, "at"),
            value=math.nan if value is None else value,
            phase=found,
            active_at=_time_or_none(fields, "active_at"),
            recovering_at=_time_or_none(fields, "recovering_at"),
            missing_since=_time_or_none(fields, "missing_since"),
            by_absence=by_absence,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A change of state; `before` is None for the first, `value` ``nan`` where there was none."""

    before: State | None
    after: State
    at: float
    reason: str
    value: float

    @classmethod
    def between(cls, before: Record | None, after: Record) -> "Change | None":
        """Return the change from one record to the next, or None if the state is the same."""
        if before is not None and before.state is after.state:
            return None
        return cls(
            None if before is None else before.state,
            after.state,
            after.since,
            after.reason,
            after.current,
        )

    def to_dict(self) -> dict[str, JsonValue]:
        """Return plain values for JSON."""
        return {
            "from": None if self.before is None else self.before.value,
            "to": self.after.value,
            "at": self.at,
            "reason": self.reason,
            "value": None if math.isnan(self.value) else _finite(self.value),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> "Change":
        """Return the change that `to_dict` wrote. Raises ValueError for anything else."""
        before, reason = fields.get("from"), fields.get("reason")
        if not isinstance(reason, str):
            raise ValueError(  # noqa: TRY004 - stored data is a value, whatever is wrong with it
                f"change must have a reason, got {reason!r}"
            )
        value = _time_or_none(fields, "value")
        return cls(
            None if before is None else _state("from", before),
            _state("to", fields.get("to")),
            _time(fields, "at"),
            reason,
            math.nan if value is None else value,
        )


def _finite(value: float) -> float:
    """Return a value that JSON knows: infinities become the largest float64."""
    return max(-1.7976931348623157e308, min(value, 1.7976931348623157e308))


def _state(name: str, value: object) -> State:
    try:
        return State(str(value))
    except ValueError:
        raise ValueError(f"{name} must be one of {', '.join(State)}, got {value!r}") from None


def _time(fields: Mapping[str, object], name: str) -> float:
    found = _time_or_none(fields, name)
    if found is None:
        raise ValueError(f"{name} must be a finite number, got None")
    return found


def _time_or_none(fields: Mapping[str, object], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return float(value)  # type: ignore[arg-type]
