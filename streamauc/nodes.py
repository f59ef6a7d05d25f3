"""One tier of a series in memory: its panes, and the nodes that stand on them (see `timeline`)."""

from collections import Counter

from sortedcontainers import SortedDict

from streamauc.accumulator import Tally
from streamauc.histogram import ScoreHistogram

_FAN_BITS = 2  # four children a node
FAN = 1 << _FAN_BITS
# How often a patient timeline answers without a node before it works it out.
_PATIENCE = 2
_NOWHERE = 2**62  # no pane has this index, nor has a node that begins with it


class Level:
    """The panes and nodes of one tier. Nodes are keyed by (height, index); empty ones not kept.

    No node has ever been higher than `height`. `hot` is the pane in whose span an event landed
    last: nodes above it are not kept, as the next event would undo them. `asked` says how often
    a node was asked for, None when every node is kept from the first time on.
    """

    __slots__ = ("asked", "height", "hot", "n_classes", "nodes", "panes")

    def __init__(self, n_classes: int, *, patient: bool) -> None:
        self.n_classes = n_classes
        self.panes: SortedDict[int, Tally] = SortedDict()
        self.nodes: dict[tuple[int, int], ScoreHistogram] = {}
        self.height = 0
        self.hot = _NOWHERE
        self.asked: Counter[tuple[int, int]] | None = Counter() if patient else None

    def holds(self, first: int, stop: int) -> bool:
        """Return whether there is a pane in [first, stop). O(log n_panes)."""
        at = self.panes.bisect_left(first)
        return at < len(self.panes) and self.panes.keys()[at] < stop

    def take_before(self, first: int) -> list[tuple[int, Tally]]:
        """Take away the panes before one, ascending. O(number taken x log n_panes)."""
        keys = self.panes.keys()
        n_taken = self.panes.bisect_left(first)
        taken = [(index, self.panes[index]) for index in keys[:n_taken]]
        del keys[:n_taken]
        return taken

    def keeps(self, height: int, index: int) -> bool:
        """Note that a node is asked for; return whether it is worth keeping."""
        if self.hot >> (_FAN_BITS * height) == index:
            return False
        if self.asked is None:
            return True
        self.asked[height, index] += 1
        return self.asked[height, index] > _PATIENCE

    def keep(self, height: int, index: int, node: ScoreHistogram) -> None:
        """Keep a node that was worked out."""
        self.nodes[height, index] = node
        self.height = max(self.height, height)

    def warm(self, index: int) -> None:
        """Let a pane be the hot one, and drop every node that stands above it."""
        self.hot = node = index
        for height in range(self.height + 1):
            self.nodes.pop((height, node), None)
            node >>= _FAN_BITS

    def drop_before(self, first: int) -> None:
        """Drop every node that begins before a pane. O(n_nodes)."""
        gone = [key for key in self.nodes if span_of(*key)[0] < first]
        for key in gone:
            del self.nodes[key]

    def drop_over(self, low: int, high: int) -> None:
        """Drop every node that reaches into the panes [low, high). O(n_nodes)."""
        for key in list(self.nodes):
            first, stop = span_of(*key)
            if first < high and stop > low:
                del self.nodes[key]


def span_of(height: int, index: int) -> tuple[int, int]:
    """Return the first pane of a node and the first behind it."""
    return index << (_FAN_BITS * height), (index + 1) << (_FAN_BITS * height)


def node_of(height: int, pane: int) -> int:
    """Return the index of the node of a height that a pane belongs to."""
    return pane >> (_FAN_BITS * height)


def largest_from(index: int, stop: int) -> int:
    """Return the height of the largest node that begins at a pane and ends by `stop`."""
    height = 0
    while True:
        size = 1 << (_FAN_BITS * (height + 1))
        if index % size or index + size > stop:
            return height
        height += 1
