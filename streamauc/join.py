"""The join of predictions with the labels that come later, by key.

A prediction is *open* until its label arrives, then *closed*; a label that arrives first is
*early* and waits. The `LabelJoin` turns what arrives into what has to be counted; the entries
themselves lie in a `JoinStore`, in memory here, elsewhere if several processes share them.

A prediction is kept as one complex number, its time the real and its score the imaginary part:
32 bytes instead of the 104 of a pair of floats. So a million open predictions with keys of a
dozen characters take about 200 MB, most of it the keys.
"""

import math
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from streamauc.codec import JoinState

Value = TypeVar("Value")
Value_contra = TypeVar("Value_contra", contravariant=True)
# From so many on it pays to look at all keys at once.
_MANY = 32
_NOT_OPEN = complex(math.nan)
_ABANDONED = math.nan  # stands where a label would


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What predictions did: `new` ones, and `pairs` of some with a label that had waited."""

    new: Sequence[complex]
    pairs: Sequence[tuple[complex, float]] = ()
    n_repeated: int = 0
    n_abandoned: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """What labels did: `pairs` of predictions with theirs, and `moved` from one to another."""

    pairs: Sequence[tuple[complex, float]]
    moved: Sequence[tuple[complex, float, float]] = ()
    n_repeated: int = 0
    n_late: int = 0
    n_abandoned: int = 0


class JoinStore(Protocol):
    """Keeps open predictions, early labels and closed keys, each bounded, oldest out first.

    Each call is one atomic step. Of a prediction and its label, whichever step comes second
    returns the pair, and no other step does; so it makes no difference which process takes
    which, nor in which order.
    """

    def predict(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        """Take predictions in; a key that is known is a repetition and changes nothing."""

    def resolve(self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float) -> Closed:
        """Take labels in; a prediction from before `oldest` is abandoned instead of joined."""

    def expire(self, oldest: float) -> int:
        """Abandon open predictions from before `oldest`; return how many."""

    def remember(self, closed: Sequence[tuple[Hashable, complex, float]]) -> None:
        """Take in keys that were closed elsewhere, so that they are recognised."""

    def state(self) -> JoinState:
        """Return all entries."""

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""


class Fifo(Generic[Value]):
    """A dictionary that knows which of its keys came first.

    Keys leave in any order; their places in the queue stay until half of it is void.
    """

    __slots__ = ("_queue", "entries")

    def __init__(self) -> None:
        self.entries: dict[Hashable, Value] = {}
        self._queue: deque[Hashable] = deque()

    def put(self, key: Hashable, value: Value) -> None:
        """Append a key that is not there. Amortised O(1)."""
        self.entries[key] = value
        self._queue.append(key)

    def put_many(self, keys: Iterable[Hashable], values: Iterable[Value]) -> None:
        """Append different keys that are not there. Amortised O(n)."""
        self._queue.extend(keys)
        self.entries.update(zip(keys, values, strict=True))

    def shrink(self, size: int) -> Iterator[tuple[Hashable, Value]]:
        """Take out the oldest entries until `size` are left."""
        self._tidy()
        while len(self.entries) > size:
            key = self._queue.popleft()
            if key in self.entries:
                yield key, self.entries.pop(key)

    def older(
        self, oldest: float, moment_of: "MomentOf[Value]"
    ) -> Iterator[tuple[Hashable, Value]]:
        """Take entries from before `oldest` off the front, up to the first that is not."""
        self._tidy()
        while self._queue:
            key = self._queue[0]
            if key in self.entries:
                if moment_of(self.entries[key]) >= oldest:
                    return
                yield key, self.entries.pop(key)
            self._queue.popleft()

    def _tidy(self) -> None:
        if len(self._queue) > 2 * len(self.entries) + 1_000:
            self._queue = deque(self.entries)


class MomentOf(Protocol[Value_contra]):
    """Reads the time of an entry."""

    def __call__(self, value: Value_contra, /) -> float:
        """Return it."""


def _moment(placed: complex) -> float:
    return placed.real


class MemoryJoinStore:
    """A `JoinStore` in memory; not safe for threads, `Monitor` is."""

    def __init__(self, *, max_pending: int, max_early: int, max_resolved: int) -> None:
        self._bounds = max_pending, max_early, max_resolved
        self._open: Fifo[complex] = Fifo()
        self._early: Fifo[float] = Fifo()
        self._closed: Fifo[tuple[complex, float]] = Fifo()

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""
        return len(self._open.entries)

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""
        return len(self._early.entries)

    def predict(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        """As `JoinStore.predict`. O(n)."""
        if len(keys) >= _MANY:
            fresh = dict(zip(keys, placed, strict=True))
            if len(fresh) == len(keys) and self._are_new(fresh):
                self._open.put_many(keys, placed)
                return Opened(placed, n_abandoned=self._bound_open())
        return self._predict_one_by_one(keys, placed)

    def _are_new(self, fresh: dict[Hashable, complex]) -> bool:
        known = (self._open.entries, self._closed.entries, self._early.entries)
        return all(fresh.keys().isdisjoint(one) for one in known if one)

    def _predict_one_by_one(self, keys: Sequence[Hashable], placed: Sequence[complex]) -> Opened:
        opened, closed, early = self._open, self._closed, self._early.entries
        new: list[complex] = []
        pairs: list[tuple[complex, float]] = []
        for key, one in zip(keys, placed, strict=True):
            if key in opened.entries or key in closed.entries:
                continue
            new.append(one)
            label = early.pop(key, None)
            if label is None:
                opened.put(key, one)
            else:
                pairs.append((one, label))
                closed.put(key, (one, label))
        n_repeated = len(keys) - len(new)
        return Opened(new, pairs, n_repeated, self._bound_open())

    def _bound_open(self) -> int:
        return self._abandon(self._open.shrink(self._bounds[0]))

    def _abandon(self, gone: Iterator[tuple[Hashable, complex]]) -> int:
        n_gone = 0
        for key, one in gone:
            self._closed.put(key, (one, _ABANDONED))
            n_gone += 1
        self._bound_closed()
        return n_gone

    def _bound_closed(self) -> None:
        for _ in self._closed.shrink(self._bounds[2]):
            pass

    def resolve(self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float) -> Closed:
        """As `JoinStore.resolve`. O(n)."""
        if len(keys) >= _MANY:
            found = self._resolve_all_open(keys, labels, oldest)
            if found is not None:
                return found
        return self._resolve_one_by_one(keys, labels, oldest)

    def _resolve_all_open(
        self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float
    ) -> Closed | None:
        """Resolve different keys that are all open and not too old; None if some are not."""
        entries = self._open.entries
        n_open = len(entries)
        placed = [entries.pop(key, _NOT_OPEN) for key in keys]
        if n_open - len(entries) < len(keys) or (
            oldest > -math.inf and min(one.real for one in placed) < oldest
        ):
            # Put them back, last first, so that of a key that came twice the first pop counts.
            back = zip(reversed(keys), reversed(placed), strict=True)
            entries.update((key, one) for key, one in back if one is not _NOT_OPEN)
            return None
        pairs = list(zip(placed, labels, strict=True))
        self._closed.put_many(keys, pairs)
        self._bound_closed()
        return Closed(pairs)

    def _resolve_one_by_one(
        self, keys: Sequence[Hashable], labels: Sequence[float], oldest: float
    ) -> Closed:
        take = self._open.entries.pop
        pairs: list[tuple[complex, float]] = []
        rest: list[tuple[Hashable, float]] = []
        n_late = 0
        for key, label in zip(keys, labels, strict=True):
            one = take(key, None)
            if one is None:
                rest.append((key, label))
            elif one.real >= oldest:
                pair = (one, label)
                pairs.append(pair)
                self._closed.put(key, pair)
            else:
                n_late += 1
                self._closed.put(key, (one, _ABANDONED))
        moved, n_repeated, n_known_late = self._resolve_rest(rest)
        self._bound_closed()
        return Closed(pairs, moved, n_repeated, n_late + n_known_late, n_abandoned=n_late)

    def _resolve_rest(
        self, rest: Sequence[tuple[Hashable, float]]
    ) -> tuple[list[tuple[complex, float, float]], int, int]:
        """Take in labels of keys that are not open: closed before, or not yet predicted."""
        moved: list[tuple[complex, float, float]] = []
        n_repeated = n_late = 0
        for key, label in rest:
            known = self._closed.entries.get(key)
            if known is None:
                n_repeated += self._early.entries.get(key) == label
                self._wait(key, label)
            elif math.isnan(known[1]):
                n_late += 1
            elif known[1] == label:
                n_repeated += 1
            else:
                moved.append((known[0], known[1], label))
                self._closed.entries[key] = (known[0], label)
        return moved, n_repeated, n_late

    def _wait(self, key: Hashable, label: float) -> None:
        if key in self._early.entries:
            self._early.entries[key] = label
            return
        self._early.put(key, label)
        for _ in self._early.shrink(self._bounds[1]):
            pass

    def remember(self, closed: Sequence[tuple[Hashable, complex, float]]) -> None:
        """As `JoinStore.remember`. O(n)."""
        for key, placed, label in closed:
            if key not in self._open.entries and key not in self._closed.entries:
                self._closed.put(key, (placed, label))
        self._bound_closed()

    def state(self) -> JoinState:
        """As `JoinStore.state`, oldest first. O(n)."""
        return JoinState(
            opened=tuple(self._open.entries.items()),
            early=tuple(self._early.entries.items()),
            closed=tuple((key, *pair) for key, pair in self._closed.entries.items()),
        )

    def expire(self, oldest: float) -> int:
        """As `JoinStore.expire`. Amortised O(1) a prediction, in order of arrival."""
        return self._abandon(self._open.older(oldest, _moment))


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
        self.is_used = False

    def predict(
        self, keys: Sequence[Hashable], placed: Sequence[complex], delta: JoinDelta
    ) -> None:
        """Take in predictions that count. O(n)."""
        self.is_used = True
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
        self.is_used = True
        found = self._store.resolve(keys, labels, now - self._ttl)
        self._join(found.pairs, delta)
        delta.delays += [(now - placed.real, label) for placed, label in found.pairs]
        for placed, old, new in found.moved:
            delta.unlabelled.append((placed, old))
            delta.labelled.append((placed, new))
        delta.tallies.update(
            changed_labels=len(found.moved),
            repeated_labels=found.n_repeated,
            late_labels=found.n_late,
            abandoned=found.n_abandoned,
        )

    def _join(self, joined: Sequence[tuple[complex, float]], delta: JoinDelta) -> None:
        delta.labelled += joined
        delta.tallies["labelled"] += len(joined)

    def absorb(self, state: JoinState, now: float, delta: JoinDelta) -> None:
        """Take in the entries of another join, whose predictions are counted already.

        A prediction here may find its label there, and the other way round. One that was
        counted on both sides is abandoned once.
        """
        if not (state.opened or state.early or state.closed):
            return
        self.is_used = True
        self._store.remember(state.closed)
        found = self._store.predict(*_columns(state.opened))
        self._join(found.pairs, delta)
        delta.tallies["abandoned"] += found.n_repeated + found.n_abandoned
        self.resolve(*_columns(state.early), now, delta)

    def state(self) -> JoinState:
        """Return all entries of the store."""
        return self._store.state()

    def expire(self, now: float, delta: JoinDelta) -> None:
        """Abandon predictions that are older than labels are waited for."""
        if self.is_used and self._ttl < math.inf:
            delta.tallies["abandoned"] += self._store.expire(now - self._ttl)

    @property
    def n_open(self) -> int:
        """How many predictions wait for their label."""
        return self._store.n_open

    @property
    def n_early(self) -> int:
        """How many labels wait for their prediction."""
        return self._store.n_early
