"""The join of predictions with the labels that come later, by key.

A prediction is *open* until its label arrives, then *closed*; a label that arrives first is
*early* and waits. The `LabelJoin` turns what arrives into what has to be counted; the entries
themselves lie in a `JoinStore`, in memory here, elsewhere if several processes share them.

A prediction is kept as one complex number, its time the real and its score the imaginary part:
32 bytes instead of the 104 of a pair of floats. So a million open predictions with keys of a
dozen characters take about 180 MB, most of it the keys and the order in which they came.
"""

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from streamauc.codec import JoinState
from streamauc.pairing import Closed, JoinStore, Opened

Value = TypeVar("Value")
# From so many on it pays to look at all keys at once.
_MANY = 32
_ABANDONED = math.nan  # stands where a label would


class MemoryJoinStore:
    """A `JoinStore` in memory; not safe for threads, `Monitor` is."""

    def __init__(self, *, max_pending: int, max_early: int, max_resolved: int) -> None:
        self._max_pending, self._max_early = max_pending, max_early
        self._max_resolved = max_resolved
        # In order of arrival, and from anywhere an entry leaves in O(1). No key is in two of them.
        self._open: OrderedDict[Hashable, complex] = OrderedDict()
        self._early: OrderedDict[Hashable, float] = OrderedDict()
        # These leave at the front only, for which a plain dict with a queue is smaller and faster.
        self._closed: dict[Hashable, tuple[complex, float]] = {}
        self._closed_order: deque[Hashable] = deque()

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""
        return len(self._open)

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""
        return len(self._early)

    def predict(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        """As `JoinStore.predict`. O(n)."""
        if len(keys) >= _MANY:
            fresh = dict(zip(keys, placed, strict=True))
            if len(fresh) == len(keys) and self._are_new(fresh):
                self._open.update(fresh)
                return Opened(placed, n_abandoned=self._bound_open())
        return self._predict_one_by_one(keys, placed)

    def _are_new(self, fresh: dict[Hashable, complex]) -> bool:
        # Between views, and only there, the smaller one is gone through.
        known = (self._open.keys(), self._closed.keys(), self._early.keys())
        return all(fresh.keys().isdisjoint(one) for one in known)

    def _predict_one_by_one(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        opened, closed, early = self._open, self._closed, self._early
        new: list[complex] = []
        pairs: list[tuple[complex, float]] = []
        n_abandoned = 0
        for key, one in zip(keys, placed, strict=True):
            if key in opened or key in closed:
                continue
            new.append(one)
            label = early.pop(key, None)
            if label is None:
                opened[key] = one
                n_abandoned += self._bound_open()
            else:
                pairs.append((one, label))
                self._close(key, one, label)
        return Opened(new, pairs, len(keys) - len(new), n_abandoned)

    def _bound_open(self) -> int:
        n_gone = max(0, len(self._open) - self._max_pending)
        for _ in range(n_gone):
            self._close(*self._open.popitem(last=False), _ABANDONED)
        return n_gone

    def _close(self, key: Hashable, placed: complex, label: float) -> None:
        self._closed[key] = (placed, label)
        self._closed_order.append(key)
        self._bound_closed()

    def _bound_closed(self) -> None:
        while len(self._closed) > self._max_resolved:
            del self._closed[self._closed_order.popleft()]

    def resolve(self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float) -> Closed:
        """As `JoinStore.resolve`. O(n)."""
        n_open, take = len(self._open), self._open.pop
        taken = [take(key, None) for key in keys]
        if n_open - len(self._open) == len(keys):
            found = [one for one in taken if one is not None]
            if oldest == -math.inf or all(one.real >= oldest for one in found):
                pairs = list(zip(found, labels, strict=True))
                self._closed.update(zip(keys, pairs, strict=True))
                self._closed_order.extend(keys)
                self._bound_closed()
                return Closed(pairs)
        return self._resolve_one_by_one(keys, labels, taken, oldest)

    def _resolve_one_by_one(
        self,
        keys: Sequence[Hashable],
        labels: Sequence[float],
        taken: Sequence[complex | None],
        oldest: float,
    ) -> Closed:
        """Take in labels; `taken` are the predictions that were open, each where its key is."""
        pairs: list[tuple[complex, float]] = []
        moved: list[tuple[complex, float, float]] = []
        n: Counter[str] = Counter()
        for key, label, one in zip(keys, labels, taken, strict=True):
            known = self._closed.get(key) if one is None else None
            if one is not None and one.real >= oldest:
                pairs.append((one, label))
                self._close(key, one, label)
            elif one is not None:
                n.update(n_late=1, n_abandoned=1)
                self._close(key, one, _ABANDONED)
            elif known is None:
                n.update(self._wait(key, label))
            elif math.isnan(known[1]):
                n["n_late"] += 1
            elif known[1] == label:
                n["n_repeated"] += 1
            else:
                moved.append((known[0], known[1], label))
                self._closed[key] = (known[0], label)
        return Closed(pairs, moved, **n)

    def _wait(self, key: Hashable, label: float) -> dict[str, int]:
        """Keep a label until its prediction comes."""
        before = self._early.get(key)
        self._early[key] = label
        if before is not None:
            return {"n_repeated": 1} if before == label else {"n_replaced": 1}
        if len(self._early) <= self._max_early:
            return {}
        self._early.popitem(last=False)
        return {"n_dropped": 1}

    def remember(self, closed: Sequence[tuple[Hashable, complex, float]]) -> Closed:
        """As `JoinStore.remember`. O(n)."""
        n_abandoned = 0
        waiting: dict[Hashable, float] = {}
        for key, placed, label in closed:
            n_abandoned += self._open.pop(key, None) is not None
            if key in self._early:
                waiting[key] = self._early.pop(key)
            if key not in self._closed:
                self._closed[key] = (placed, label)
                self._closed_order.append(key)
        keys, labels = list(waiting), list(waiting.values())
        found = self._resolve_one_by_one(keys, labels, [None] * len(keys), -math.inf)
        self._bound_closed()
        return replace(found, n_abandoned=n_abandoned)

    def state(self) -> JoinState:
        """As `JoinStore.state`, oldest first. O(n)."""
        return JoinState(
            opened=tuple(self._open.items()),
            early=tuple(self._early.items()),
            closed=tuple((key, *pair) for key, pair in self._closed.items()),
        )

    def expire(self, oldest: float) -> int:
        """As `JoinStore.expire`. Amortised O(1) a prediction."""
        n_gone = 0
        while self._open and next(iter(self._open.values())).real < oldest:
            self._close(*self._open.popitem(last=False), _ABANDONED)
            n_gone += 1
        return n_gone


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predictions that arrived one after the other."""

    keys: list[Hashable] = field(default_factory=list)
    placed: list[complex] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels that arrived one after the other: 0.0 or 1.0."""

    keys: list[Hashable] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)


def runs(arrivals: Sequence[Hashable]) -> Iterator[Predictions | Labels]:
    """Yield the runs in a flat list of (key, placed) and (key, label) in order of arrival.

    Where a whole run arrived at once it stands in the place of a value.
    """
    run: Predictions | Labels = Labels()
    for key, value in zip(arrivals[::2], arrivals[1::2], strict=True):
        if isinstance(value, Predictions | Labels):
            yield run
            yield value
            run = Labels()
        elif isinstance(value, float):
            if not isinstance(run, Labels):
                yield run
                run = Labels()
            run.keys.append(key)
            run.labels.append(value)
        elif isinstance(value, complex):
            if not isinstance(run, Predictions):
                yield run
                run = Predictions()
            run.keys.append(key)
            run.placed.append(value)
    yield run


@dataclass(slots=True, eq=False)
class JoinDelta:
    """What has to be counted: predictions, labelled ones, and ones whose label was taken back.

    `delays` are (seconds, label) of the labels that found their prediction waiting.
    """

    predicted: list[complex] = field(default_factory=list)
    labelled: list[tuple[complex, float]] = field(default_factory=list)
    unlabelled: list[tuple[complex, float]] = field(default_factory=list)
    delays: list[tuple[float, float]] = field(default_factory=list)
    tallies: Counter[str] = field(default_factory=Counter)


def _columns(pairs: Sequence[tuple[Hashable, Value]]) -> tuple[list[Hashable], list[Value]]:
    return [key for key, _ in pairs], [value for _, value in pairs]


class LabelJoin:
    """Feeds a store, forgets what is older than `label_ttl`, and says what has to be counted."""

    def __init__(self, store: JoinStore, label_ttl: float) -> None:
        self._store = store
        self._ttl = label_ttl

    def predict(
        self, keys: Sequence[Hashable], placed: Sequence[complex], delta: JoinDelta
    ) -> None:
        """Take in predictions that count. O(n)."""
        found = self._store.predict(keys, placed)
        delta.predicted += found.new
        self._join(found.pairs, delta)
        delta.tallies.update(
            predicted=len(found.new),
            repeated_predictions=found.n_repeated,
            abandoned=found.n_abandoned,
        )

    def resolve(
        self, keys: Sequence[Hashable], labels: Sequence[float], now: float, delta: JoinDelta
    ) -> None:
        """Take in labels that became known at `now`. O(n)."""
        found = self._store.resolve(keys, labels, now - self._ttl)
        self._close(found, delta)
        delta.delays += [(now - placed.real, label) for placed, label in found.pairs]

    def _close(self, found: Closed, delta: JoinDelta) -> None:
        self._join(found.pairs, delta)
        for placed, old, new in found.moved:
            delta.unlabelled.append((placed, old))
            delta.labelled.append((placed, new))
        delta.tallies.update(
            changed_labels=len(found.moved) + found.n_replaced,
            repeated_labels=found.n_repeated,
            dropped_labels=found.n_dropped,
            late_labels=found.n_late,
            abandoned=found.n_abandoned,
        )

    def _join(self, joined: Sequence[tuple[complex, float]], delta: JoinDelta) -> None:
        delta.labelled += joined
        delta.tallies["labelled"] += len(joined)

    def absorb(self, state: JoinState, now: float, delta: JoinDelta) -> None:
        """Take in the entries of another join, whose predictions are counted already.

        A prediction here may find its label there, and the other way round. One that was
        counted on both sides keeps the label that it has, if it has one, and is abandoned once.
        """
        self._close(self._store.remember(state.closed), delta)
        found = self._store.predict(*_columns(state.opened))
        self._join(found.pairs, delta)
        delta.tallies["abandoned"] += found.n_repeated + found.n_abandoned
        self.resolve(*_columns(state.early), now, delta)

    def state(self) -> JoinState:
        """Return all entries of the store."""
        return self._store.state()

    def expire(self, now: float, delta: JoinDelta) -> None:
        """Abandon predictions that are older than labels are waited for."""
        if self._ttl < math.inf:
            delta.tallies["abandoned"] += self._store.expire(now - self._ttl)

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""
        return self._store.n_open

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""
        return self._store.n_early
