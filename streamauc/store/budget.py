"""The bytes that the mirrors of a store may hold together."""

from collections import OrderedDict
from collections.abc import Callable, Iterable


class Budget:
    """Counts the chunks in memory; those that were used longest ago are to go first.

    A chunk is known by its key, whatever the series. Every method is O(1) a chunk.
    """

    def __init__(self, n_bytes: int) -> None:
        self.limit = n_bytes
        self.used = 0
        self._chunks: OrderedDict[int, tuple[int, Callable[[int], None]]] = OrderedDict()

    def hold(self, chunk: int, n_bytes: int, unload: Callable[[int], None]) -> None:
        """Count a chunk that was loaded; `unload` forgets it, and has to call `release`."""
        self.release(chunk)
        self._chunks[chunk] = n_bytes, unload
        self.used += n_bytes

    def release(self, chunk: int) -> None:
        """No longer count a chunk."""
        n_bytes, _ = self._chunks.pop(chunk, (0, None))
        self.used -= n_bytes

    def use(self, chunks: Iterable[int]) -> None:
        """Remember that chunks were used; while there is plenty of room, nobody has to know."""
        if 2 * self.used > self.limit:
            for chunk in chunks:
                if chunk in self._chunks:  # one that is all damaged takes no bytes
                    self._chunks.move_to_end(chunk)

    def shrink(self) -> None:
        """Forget chunks until the others fit; the one used last is kept."""
        while self.used > self.limit and len(self._chunks) > 1:
            chunk, (_, unload) = next(iter(self._chunks.items()))
            unload(chunk)
