"""The panes of one series in memory.

Each tier keeps its panes in a sorted dictionary. On top of them stand *nodes*, sums that are
worked out when first asked for and forgotten when an event lands beneath them:

* a pane whose children still survive is the sum of its children;
* four panes that begin at a multiple of four are a node of level 1, four of those a node of
  level 2, and so on.

So any window is the sum of a few dozen histograms, however long it is. With minutes and hours,
[00:58, 04:06) is minutes 58 and 59, hours 1 to 3, the node of minutes 0 to 3 of hour 4, and
minutes 4 and 5. Nodes cost at most a third of the panes beneath them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from streamauc import storage, tiers
from streamauc.accumulator import Tally
from streamauc.histogram import ScoreHistogram
from streamauc.nodes import FAN, Level, largest_from, node_of, span_of
from streamauc.scale import Scale
from streamauc.storage import Storage
from streamauc.tiers import Cover, Run, Tier

# How many classes the counts of a channel tell apart; others have two.
LABELLED, PREDICTED = "labelled", "predicted"
_CLASSES = {PREDICTED: 1}


def n_classes_of(channel: str) -> int:
    """Return how many classes the counts of a channel tell apart."""
    return _CLASSES.get(channel, 2)


class Timeline:
    """Keeps the panes of one series in memory; not safe for threads, `Monitor` is.

    A `patient` one works nodes out when they have been asked for a few times, because a process
    that asks for a few windows and ends would not see their use.
    """

    def __init__(self, scale: Scale, spans: tuple[Tier, ...], *, patient: bool = False) -> None:
        self.scale = scale
        self.tiers = spans
        self.first = tuple(tiers.FOR_EVER for _ in spans)
        self._next_expiry = -math.inf
        self._patient = patient
        self._channels: dict[str, list[Level]] = {}

    def add(self, channel: str, panes: Iterable[tuple[int, Storage]]) -> None:
        """Count events in panes of the finest tier, given by index. Amortised O(size).

        A pane that has expired is counted in the finest coarser one that survives; one older
        than every tier is dropped.
        """
        for pane, part in panes:
            home = tiers.home_of(self.tiers, self.first, pane)
            if home is not None:
                self._put(self._levels(channel), *home, part)

    def remove(self, channel: str, panes: Iterable[tuple[int, Storage]]) -> None:
        """Take back events that were counted; what has expired meanwhile is left."""
        for pane, part in panes:
            home = tiers.home_of(self.tiers, self.first, pane)
            if home is not None:
                number, index = home
                levels = self._levels(channel)
                levels[number].panes[index].remove(part)
                self._forget(levels, number, index)

    def advance(self, now: float) -> None:
        """Let panes expire that are too old at `now`; time never goes back. Amortised O(1)."""
        if now < self._next_expiry:
            return
        first = tiers.first_panes(self.tiers, now)
        self._next_expiry = tiers.next_expiry(self.tiers, now)
        self.advance_to(tuple(max(pair) for pair in zip(first, self.first, strict=True)))

    def advance_to(self, first: tuple[int, ...]) -> None:
        """Let every pane before each tier's `first` expire into the next coarser tier."""
        if first == self.first:
            return
        self.first = first
        for levels in self._channels.values():
            for number in range(len(self.tiers)):
                self._expire(levels, number)
            self._settle(levels)

    def cover(self, channel: str, start: float, end: float) -> Cover:
        """Return the smallest union of surviving panes that covers [start, end).

        O(log n_panes) parts. Nodes that are missing are worked out once.
        """
        low, high = tiers.round_out(self.tiers, self.first, start, end)
        parts: list[ScoreHistogram] = []
        levels = self._channels.get(channel)
        if levels is not None:
            for run in tiers.runs(self.tiers, low, high):
                parts += self._parts(levels, run)
        return Cover(low, high, tuple(parts), expired=start < self.oldest)

    def snapped(self, edges: Sequence[float]) -> list[int]:
        """Return edges moved to those of surviving panes, without repetitions.

        All are moved down, the last one up, so that each surviving pane lies between two.
        """
        return snapped(self.tiers, self.first, edges)

    @property
    def oldest(self) -> float:
        """Where the oldest pane that may survive begins; ``-inf`` when all are kept."""
        first = self.first[-1]
        return -math.inf if first == tiers.FOR_EVER else first * self.tiers[-1].pane_seconds

    def panes(self, channel: str) -> Iterator[tuple[int, int, ScoreHistogram]]:
        """Yield (tier, index, histogram) of every pane that holds events of its own."""
        for number, level in enumerate(self._channels.get(channel, ())):
            for index, tally in level.panes.items():
                yield number, index, tally.histogram()

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that hold events."""
        return tuple(self._channels)

    def put(self, channel: str, tier: int, index: int, part: Storage) -> None:
        """Count events in a pane of any tier; where it has expired, in what replaced it."""
        fine = index * (self.tiers[tier].pane_seconds // self.tiers[0].pane_seconds)
        home = tiers.home_of(self.tiers, self.first, fine)
        if home is None:
            return
        if home[0] < tier:
            raise ValueError(
                f"panes of tier {tier} can't be added while finer ones survive at their time"
            )
        self._put(self._levels(channel), *home, part)

    def load(self, channel: str, tier: int, panes: Iterable[tuple[int, Storage]]) -> None:
        """Take in panes where none were, and over which no node stands. O(n log n_panes)."""
        self._levels(channel)[tier].panes.update(
            (index, self._tally(channel, part)) for index, part in panes
        )

    def replace(self, channel: str, tier: int, index: int, part: Storage | None) -> None:
        """Let a pane hold these counts and no others; None takes it away."""
        levels = self._levels(channel)
        if part is None:
            levels[tier].panes.pop(index, None)
        else:
            levels[tier].panes[index] = self._tally(channel, part)
        self._forget(levels, tier, index)

    def unload(self, channel: str, tier: int, first: int, stop: int) -> None:
        """Forget the panes in [first, stop), and the nodes that reach into their time. O(n_nodes).

        They may be taken in again by `load`.
        """
        levels, seconds = self._levels(channel), self.tiers[tier].pane_seconds
        panes = levels[tier].panes
        for index in list(panes.irange(first, stop, inclusive=(True, False))):
            del panes[index]
        for level, above in zip(levels[tier:], self.tiers[tier:], strict=True):
            low = first * seconds // above.pane_seconds
            level.drop_over(low, -(-stop * seconds // above.pane_seconds))

    def _tally(self, channel: str, part: Storage) -> Tally:
        tally = Tally(self.scale, n_classes_of(channel))
        tally.add(part)
        return tally

    @property
    def nbytes(self) -> int:
        """Bytes held by panes and nodes."""
        total = 0
        for levels in self._channels.values():
            for level in levels:
                total += sum(tally.nbytes for tally in level.panes.values())
                total += sum(node.nbytes for node in level.nodes.values())
        return total

    def _levels(self, channel: str) -> list[Level]:
        levels = self._channels.get(channel)
        if levels is None:
            n_classes = n_classes_of(channel)
            levels = self._channels[channel] = [
                Level(n_classes, patient=self._patient) for _ in self.tiers
            ]
        return levels

    def _put(self, levels: list[Level], number: int, index: int, part: Storage) -> None:
        panes = levels[number].panes
        tally = panes.get(index)
        if tally is None:
            tally = panes[index] = Tally(self.scale, levels[number].n_classes)
        tally.add(part)
        if index != levels[number].hot:
            self._cool(levels[number])
        self._forget(levels, number, index)

    def _cool(self, level: Level) -> None:
        """Make the pane small in which an event landed last, as the stream has moved on."""
        tally = level.panes.get(level.hot)
        if tally is not None:
            tally.settle()

    def _forget(self, levels: list[Level], number: int, index: int) -> None:
        """Drop every node that stands above a pane."""
        begin = index * self.tiers[number].pane_seconds
        for level, tier in zip(levels[number:], self.tiers[number:], strict=True):
            level.warm(begin // tier.pane_seconds)

    def _expire(self, levels: list[Level], number: int) -> None:
        level, first = levels[number], self.first[number]
        expired = level.take_before(first)
        if number + 1 < len(levels):
            ratio = self.tiers[number + 1].pane_seconds // self.tiers[number].pane_seconds
            for index, tally in expired:
                self._inherit(levels[number + 1], index // ratio, tally)
        level.drop_before(first)

    def _settle(self, levels: list[Level]) -> None:
        """Work out the nodes over the time before the finest panes.

        Little happens there any more, so this is done once instead of at some later poll.
        """
        end = self.first[0] * self.tiers[0].pane_seconds
        for number in range(1, len(levels)):
            level, stop = levels[number], end // self.tiers[number].pane_seconds
            begin = max(self.first[number], self._begin(levels, number))
            if begin < stop:
                self._parts(levels, Run(number, begin, stop))
                for index in level.panes.irange(begin, stop):
                    level.panes[index].histogram()

    def _begin(self, levels: list[Level], number: int) -> int:
        """Return the first pane of a tier that holds events, its own or its children's."""
        seconds = self.tiers[number].pane_seconds
        starts = [
            level.panes.keys()[0] * tier.pane_seconds // seconds
            for level, tier in zip(levels[: number + 1], self.tiers, strict=False)
            if level.panes
        ]
        return min(starts, default=2**62)

    def _inherit(self, level: Level, index: int, tally: Tally) -> None:
        parent = level.panes.get(index)
        if parent is None:
            parent = level.panes[index] = Tally(self.scale, level.n_classes)
            level.nodes.pop((0, index), None)  # the sum of the children, now the pane itself
        parent.absorb(tally)

    def _parts(self, levels: list[Level], run: Run) -> list[ScoreHistogram]:
        """Return the histograms of a run, by the largest nodes that fit."""
        parts: list[ScoreHistogram] = []
        index = run.first
        while index < run.stop:
            height = largest_from(index, run.stop)
            node = node_of(height, index)
            self._gather(levels, run.tier, height, node, parts)
            index = span_of(height, node)[1]
        return parts

    def _gather(
        self,
        levels: list[Level],
        number: int,
        height: int,
        index: int,
        parts: list[ScoreHistogram],
    ) -> None:
        """Append a node's histogram, or what it consists of if it would not last."""
        here = levels[number]
        if height == 0 and index in here.panes:
            parts += here.panes[index].parts()
            return
        if height == number == 0:
            return
        key = (height, index)
        if key not in here.nodes:
            if not here.keeps(height, index):
                if self._holds(levels, number, *span_of(height, index)):
                    self._gather_beneath(levels, number, height, index, parts)
                return
            node = self._sum(levels, number, height, index)
            if node is None:
                return
            here.keep(height, index, node)
        parts.append(here.nodes[key])

    def _gather_beneath(
        self,
        levels: list[Level],
        number: int,
        height: int,
        index: int,
        parts: list[ScoreHistogram],
    ) -> None:
        """Append what a node consists of: four smaller nodes, or the children of a pane."""
        if height:
            for child in range(index * FAN, (index + 1) * FAN):
                self._gather(levels, number, height - 1, child, parts)
        else:
            ratio = self.tiers[number].pane_seconds // self.tiers[number - 1].pane_seconds
            parts += self._parts(levels, Run(number - 1, index * ratio, (index + 1) * ratio))

    def _sum(
        self, levels: list[Level], number: int, height: int, index: int
    ) -> ScoreHistogram | None:
        """Work out a node from what is beneath it; None if that is nothing."""
        if not self._holds(levels, number, *span_of(height, index)):
            return None
        parts: list[ScoreHistogram] = []
        self._gather_beneath(levels, number, height, index, parts)
        return self._merged(parts)

    def _holds(self, levels: list[Level], number: int, first: int, stop: int) -> bool:
        """Return whether any tier down from `number` has a pane in the span of these panes."""
        seconds = self.tiers[number].pane_seconds
        for beneath in range(number, -1, -1):
            ratio = seconds // self.tiers[beneath].pane_seconds
            if levels[beneath].holds(first * ratio, stop * ratio):
                return True
        return False

    def _merged(self, parts: list[ScoreHistogram]) -> ScoreHistogram | None:
        if not parts:
            return None
        if len(parts) == 1:
            return parts[0]
        n_classes = parts[0].n_classes
        merged = storage.merge([part.stored for part in parts], n_classes)
        key_type = storage.key_type(self.scale.n_bins, n_classes)
        return ScoreHistogram(self.scale, storage.compact(merged, key_type), n_classes)


def snapped(spans: Sequence[Tier], first: Sequence[int], edges: Sequence[float]) -> list[int]:
    """Return edges moved to those of surviving panes, as `Timeline.snapped` does."""
    found = [tiers.snap(spans, first, edge) for edge in edges[:-1]]
    last_but_one = edges[-2] if len(edges) > 1 else edges[-1]
    found.append(tiers.round_out(spans, first, last_but_one, edges[-1])[1])
    return sorted(set(found))
