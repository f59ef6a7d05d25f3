"""Roll-up and retention: the plan of `tiers`, carried out in transactions of bounded size.

Each step lets some children expire into their parent and moves the horizon of their tier up to
where it got, in one transaction. So the file is right between any two steps: whoever is killed
leaves a store in which less has expired, and the next one goes on.
"""

from dataclasses import replace

from streamauc import tiers
from streamauc.codec import decode_panes
from streamauc.store import address
from streamauc.store.change import SeriesChange
from streamauc.store.facts import Facts
from streamauc.timeline import n_classes_of

# What one step does at most; the children of one parent always go together.
_MOST_PARENTS = 64
_MOST_CHILDREN = 4_096
Panes = list[tuple[int, bytes, int]]  # key, counts, CRC


def advanced(facts: Facts, now: float) -> Facts:
    """Return facts with the horizons at `now`; they never move back."""
    pairs = zip(tiers.first_panes(facts.tiers, now), facts.first, strict=True)
    return replace(facts, first=tuple(max(pair) for pair in pairs))


def step(change: SeriesChange, target: tuple[int, ...]) -> bool:
    """Let some panes expire, of one tier; return whether the horizons are where they should be.

    O(size of at most 64 parents and 4,096 children, or of one parent and its children).
    """
    for tier in range(len(target)):
        first = change.row.facts.first
        if first[tier] >= target[tier]:
            continue
        children = _children(change, tier, target[tier])
        stop = _expire(change, tier, target[tier], children)
        change.begin_at((*first[:tier], stop, *first[tier + 1 :]))
        if any(children.values()):
            return change.row.facts.first == target
    return True


def _children(change: SeriesChange, tier: int, stop: int) -> dict[str, Panes]:
    """Return by channel the first panes of a tier that expire."""
    limit = _limit(change, tier)
    found = {}
    for channel, lanes in change.row.facts.lanes.items():
        first, _ = address.lane_span(lanes[tier].number)
        last = address.pane_key(lanes[tier].number, stop) - 1
        found[channel] = change.rows.read_some(first, last, limit)
    return found


def _ratio(change: SeriesChange, tier: int) -> int:
    """Return how many panes of a tier expire together."""
    spans = change.row.facts.tiers
    if tier + 1 == len(spans):
        return 1
    return spans[tier + 1].pane_seconds // spans[tier].pane_seconds


def _limit(change: SeriesChange, tier: int) -> int:
    # At least one more than a parent has, so that one parent is surely complete.
    return max(_MOST_CHILDREN, _ratio(change, tier) + 1)


def _expire(change: SeriesChange, tier: int, target: int, children: dict[str, Panes]) -> int:
    """Move children into their parents; return up to where all have been moved."""
    ratio = _ratio(change, tier)
    stop = target
    for panes in children.values():
        if len(panes) == _limit(change, tier):  # the last parent may lack children
            stop = min(stop, _parent(panes[-1], ratio) * ratio)
    parents = sorted({_parent(pane, ratio) for panes in children.values() for pane in panes})
    if ratio > 1 and len(parents) > _MOST_PARENTS:
        stop = min(stop, parents[_MOST_PARENTS] * ratio)
    for channel, panes in children.items():
        gone = [pane for pane in panes if address.index_of(pane[0]) < stop]
        if tier + 1 < len(change.row.facts.tiers):
            _inherit(change, channel, tier, gone)
        for key, _, crc in gone:
            change.rows.write(key, b"", crc)
    return stop


def _parent(pane: tuple[int, bytes, int], ratio: int) -> int:
    return address.index_of(pane[0]) // ratio


def _inherit(change: SeriesChange, channel: str, tier: int, panes: Panes) -> None:
    """Count in their parents what panes hold."""
    ratio = _ratio(change, tier)
    parts = decode_panes([body for _, body, _ in panes], n_classes_of(channel))
    for pane, part in zip(panes, parts, strict=True):
        change.inherit(channel, tier + 1, _parent(pane, ratio), part)
