"""What is to be done around a fork, in one order whatever was loaded first.

In a child first the ground is made safe (locks and connections of stores), then what stands on it
begins anew, and may start threads that take these locks at once.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

GROUND, ABOVE = 0, 1
Action = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Concern:
    rank: int
    before: Action | None
    in_parent: Action | None
    in_child: Action | None


# The one thing here that is shared: a fork concerns the whole process.
_CONCERNS: list[_Concern] = []


def concern(
    rank: int,
    *,
    before: Action | None = None,
    in_parent: Action | None = None,
    in_child: Action | None = None,
) -> None:
    """Let actions be taken before a fork, and after it in the parent and in the child.

    Those of rank `GROUND` come before those of rank `ABOVE`.
    """
    _CONCERNS.append(_Concern(rank, before, in_parent, in_child))
    _CONCERNS.sort(key=lambda one: one.rank)


def _before() -> None:
    for one in _CONCERNS:
        if one.before is not None:
            one.before()


def _in_parent() -> None:
    for one in _CONCERNS:
        if one.in_parent is not None:
            one.in_parent()


def _in_child() -> None:
    for one in _CONCERNS:
        if one.in_child is not None:
            one.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
