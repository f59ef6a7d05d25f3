"""From columns of labels and scores to keys, the numbers that `storage` counts.

This is the hot path of every batch. It works through chunks that fit the cache, in place,
and does not look at each score to see whether it is valid: a score that is not leaves a bin
outside the resolved octaves, and only a chunk with such a bin is looked at with care.
"""

from collections.abc import Iterator

import numpy as np

from streamauc._check import FloatArray, IntArray
from streamauc.scale import Scale
from streamauc.storage import DenseCounts, Integers, KeyList

CHUNK = 131_072


class KeyCoder:
    """Turns (class, score) into ``bin * n_classes + class`` on a bounded scale."""

    def __init__(self, scale: Scale, n_classes: int = 2) -> None:
        if scale.n_bins is None:
            raise ValueError(f"scale must have a bounded number of bins, got {scale}")
        self._scale = scale
        self._n_classes = n_classes
        self.n_keys = scale.n_bins * n_classes
        self.dtype = np.min_scalar_type(self.n_keys - 1)

    def count(self, classes: IntArray, scores: FloatArray) -> DenseCounts:
        """Return how often each key occurs. O(n_samples).

        `classes` hold 0 to ``n_classes - 1``, unchecked. Raises ValueError for a score that
        the scale refuses.
        """
        total = np.zeros(self.n_keys, dtype=np.int64)
        for keys in self._chunks(classes, scores):
            counts = np.bincount(keys)
            total[: counts.size] += counts
        # Trimmed, a batch of a usual stream is small enough to be put on a pile (see `Tally`).
        used = np.flatnonzero(total != 0)
        first, stop = (int(used[0]), int(used[-1]) + 1) if used.size else (0, 0)
        return DenseCounts(first, total[first:stop].copy())

    def count_or_list(self, classes: IntArray, scores: FloatArray) -> DenseCounts | KeyList:
        """Return counts of many events, or the keys of few as they are."""
        if scores.size == 1:  # what a poll between two events meets
            key = self._scale.bin(scores[0].item()) * self._n_classes + classes[0].item()
            return KeyList(np.array([key], dtype=self.dtype))
        if scores.size < self.n_keys // 4:
            return KeyList(self.keys(classes, scores))
        return self.count(classes, scores)

    def keys(self, classes: IntArray, scores: FloatArray) -> Integers:
        """Return the key of each event, in the narrowest type that holds every key."""
        out = np.empty(scores.size, dtype=self.dtype)
        done = 0
        for keys in self._chunks(classes, scores):
            out[done : done + keys.size] = keys
            done += keys.size
        return out

    def _chunks(self, classes: IntArray, scores: FloatArray) -> Iterator[IntArray]:
        """Yield the keys in chunks; each overwrites the last."""
        room = np.empty(min(CHUNK, scores.size), dtype=np.int64)
        for start in range(0, scores.size, CHUNK):
            chunk = scores[start : start + CHUNK]
            keys = room[: chunk.size]
            if not self._scale.resolved_bins(chunk, out=keys):
                keys = self._scale.bins_of(self._scale.check(chunk))
            keys *= self._n_classes
            keys += classes[start : start + CHUNK]
            yield keys
