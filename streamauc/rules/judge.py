"""The state machine of an alert: (policy, record, reading, now) in, the next record out; pure.

What was not seen does not count: a gap without data neither lengthens nor breaks what lasted,
just as nobody looks between two evaluations. An alert that was past its limit before a gap and
is so after it was past it all the time; one that fired before it fires again at once.
"""

import math
from dataclasses import replace

from streamauc import _time
from streamauc.rules.formats import brief, span
from streamauc.rules.policy import Policy
from streamauc.rules.readings import Decided, Failed, Measured, Missing, Reading
from streamauc.rules.record import Record, State

# Clocks of those who judge may differ by so much; further ahead, one of them is wrong.
AHEAD_SECONDS = 60.0


def is_ahead(record: Record, now: float) -> bool:
    """Return whether a record is of a time so far after `now` that a clock was wrong."""
    return record.at - now > AHEAD_SECONDS


def judge(policy: Policy, before: Record | None, reading: Reading, now: float) -> Record:
    """Return the record after a reading at `now`. O(1).

    Time does not go back by the little by which clocks differ. After a record from further ahead
    the alert's times begin again at `now`, or nothing would last until then; the reason says so.
    """
    if before is None:
        fresh = Record(state=State.NO_DATA, since=now, reason="", at=now)
        return replace(_judged(policy, fresh, reading), since=now)
    if is_ahead(before, now):
        after = _next(policy, _set_back(before, now), reading, now)
        words = f"; it was judged at {_time.shown(before.at)} before: a clock was wrong"
        return replace(after, reason=after.reason + words)
    return _next(policy, before, reading, max(now, before.at))


def _next(policy: Policy, before: Record, reading: Reading, now: float) -> Record:
    after = _judged(policy, replace(before, at=now), reading)
    return replace(after, since=before.since if after.state is before.state else now)


def _set_back(record: Record, now: float) -> Record:
    """Return a record in which nothing is later than `now`."""

    def earlier(moment: float | None) -> float | None:
        return None if moment is None else min(moment, now)

    return replace(
        record,
        at=now,
        since=min(record.since, now),
        active_at=earlier(record.active_at),
        recovering_at=earlier(record.recovering_at),
        missing_since=earlier(record.missing_since),
    )


def _judged(policy: Policy, record: Record, reading: Reading) -> Record:
    if isinstance(reading, Failed):
        return replace(record, state=State.ERROR, reason=reading.reason)
    if isinstance(reading, Missing):
        return _absent(policy, record, reading.reason)
    if isinstance(reading, Decided):
        record = replace(record, value=reading.value, missing_since=None)
        return _moved(policy, record, is_active=reading.is_active, words=reading.reason)
    if not reading.is_defined:
        return _absent(policy, record, f"{policy.subject} is undefined")
    return _measured(policy, record, reading)


def _measured(policy: Policy, record: Record, reading: Measured) -> Record:
    """Compare with the limits: while it fires, with the levels at which that ends."""
    clearing = record.phase is State.FIRING and not record.by_absence
    past = policy.limits.past(reading.low, reading.high, clearing=clearing)
    words = f"{policy.subject} {_shown(reading)}"
    words += "" if past is None else f" is {past}"
    words += f" ({reading.note})" if reading.note else ""
    words += f"; {reading.advice}" if reading.advice and past is not None else ""
    record = replace(record, value=reading.value, missing_since=None)
    return _moved(policy, record, is_active=past is not None, words=words)


def _shown(reading: Measured) -> str:
    if reading.low == reading.high:
        return brief(reading.value)
    return f"{brief(reading.value)} [{brief(reading.low)}, {brief(reading.high)}]"


def _moved(policy: Policy, record: Record, *, is_active: bool, words: str) -> Record:
    """Return the record after its condition was seen to hold or not."""
    if is_active:
        return _active(policy, record, words)
    began = None
    if record.phase in (State.FIRING, State.RECOVERING):
        began = record.at if record.recovering_at is None else record.recovering_at
    kept = began is not None and record.at - began < policy.keep
    state = State.RECOVERING if kept else State.OK
    if began is not None and kept:
        words += f"; kept firing for {span(record.at - began)} of {span(policy.keep)}"
    return replace(
        record,
        state=state,
        phase=state,
        reason=words,
        active_at=record.active_at if kept else None,
        recovering_at=began if kept else None,
        by_absence=False,
    )


def _active(policy: Policy, record: Record, words: str) -> Record:
    began = record.at if record.active_at is None else record.active_at
    fires = record.phase in (State.FIRING, State.RECOVERING) or record.at - began >= policy.hold
    state = State.FIRING if fires else State.PENDING
    if not fires:
        words += f", for {span(record.at - began)} of {span(policy.hold)}"
    return replace(
        record,
        state=state,
        phase=state,
        reason=words,
        active_at=began,
        recovering_at=None,
        by_absence=False,
    )


def _absent(policy: Policy, record: Record, reason: str) -> Record:
    """Return the record without anything to judge: kept for a while, then as the policy says."""
    since = record.at if record.missing_since is None else record.missing_since
    record = replace(record, missing_since=since)
    waited = record.at - since
    if waited < policy.patience:
        return _kept(policy, record, reason)
    words = f"{reason}, for {span(waited)}" if waited else reason
    if policy.no_data == "ok":
        return _moved(policy, record, is_active=False, words=f"taken as OK: {words}")
    if policy.no_data == "firing":
        fired = record.phase is State.FIRING
        return replace(
            record,
            state=State.FIRING,
            phase=State.FIRING,
            reason=words,
            active_at=since if record.active_at is None else record.active_at,
            recovering_at=None,
            by_absence=record.by_absence or not fired,
        )
    return replace(record, state=State.NO_DATA, reason=words)


def _kept(policy: Policy, record: Record, reason: str) -> Record:
    if record.phase is None:  # nothing was ever judged, so there is no state to keep
        return replace(record, state=State.NO_DATA, reason=reason)
    limit = "" if math.isinf(policy.patience) else f" for up to {span(policy.patience)}"
    words = f"kept{limit}: {reason}"
    return replace(record, state=record.phase, reason=words)
