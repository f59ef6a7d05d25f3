"""A join on disk against the one in memory, step by step, through commits and rollbacks."""

import copy
import math
import os
import sqlite3
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from streamauc.join import MemoryJoinStore
from streamauc.store.entries import SCHEMA, StoredJoin, check_entries

LONG = os.environ.get("STREAMAUC_LONG") == "1"
# Few keys, some of them equal though not the same; and many, for more than one page of entries.
FEW = st.sampled_from(["a", "é", "1", 1, 1.0, True, 0, False, -0.0, 2.5, None])
MANY = st.integers(0, 60)
bounds = st.one_of(
    st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 4)),
    st.tuples(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40)),
    st.just((1_000, 1_000, 1_000)),
)
moments = st.integers(0, 9).map(float)
placed = st.builds(complex, moments, st.sampled_from([0.0, 0.25, 1.0]))
labels = st.sampled_from([0.0, 1.0])
oldest = st.sampled_from([-math.inf, -math.inf, 1.0, 2.0, 5.0])


def lists(*fields):
    """Return lists of tuples of a key and these fields: of one, of some, and of many keys."""
    few, many = st.tuples(FEW, *fields), st.tuples(MANY, *fields)
    return st.one_of(
        st.lists(few, min_size=1, max_size=1),
        st.lists(few, min_size=2, max_size=8),
        st.lists(many, min_size=20, max_size=45),
    )


def columns(rows, n_columns):
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(n_columns)]


def same_key(key):
    """Return a key in a form in which equal ones look alike."""
    return repr(key + 0) if isinstance(key, int) else repr(int(key)) if key == 0.0 else repr(key)


def as_text(state):
    """Return all entries, equal keys alike, and ``nan`` like itself."""
    one = [
        [(same_key(key), *map(repr, rest)) for key, *rest in kind]
        for kind in (state.opened, state.early, state.closed)
    ]
    return [[(key.removesuffix(".0"), *rest) for key, *rest in kind] for kind in one]


def fields_of(result):
    """Return what a step returned, as something to be compared."""
    if isinstance(result, int):
        return result
    values = [getattr(result, name) for name in result.__slots__]
    return [repr(value if isinstance(value, int) else list(value)) for value in values]


class Machine(RuleBasedStateMachine):
    """Two joins that are told the same; the one in memory is put back when the other is."""

    @initialize(bounds=bounds, series=st.integers(0, 3))
    def begin(self, bounds, series):
        """Make an empty file."""
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "entries.db"
        names = ("max_pending", "max_early", "max_resolved")
        self.bounds = dict(zip(names, bounds, strict=True))
        self.series = series
        self.memory = MemoryJoinStore(**self.bounds)
        self.open()
        for statement in SCHEMA:
            self.connection.execute(statement)
        # Another series has the same keys, which are none of this one's business.
        other = StoredJoin(self.connection, series + 1, **self.bounds)
        other.predict(range(60), [1j] * 60)
        self.end("commit")

    def open(self):
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.store = StoredJoin(self.connection, self.series, **self.bounds)
        self.connection.execute("BEGIN IMMEDIATE")

    def both(self, name, *arguments):
        expected = getattr(self.memory, name)(*arguments)
        assert fields_of(getattr(self.store, name)(*arguments)) == fields_of(expected)

    @rule(rows=lists(placed))
    def predict(self, rows):
        """Predict, with keys among them that are known, or twice there."""
        self.both("predict", *columns(rows, 2))

    @rule(rows=lists(placed))
    def predict_more(self, rows):
        """Predict, as often as other things are done together."""
        self.predict(rows)

    @rule(rows=lists(labels), oldest=oldest)
    def resolve_more(self, rows, oldest):
        """Resolve, in the same way."""
        self.resolve(rows, oldest)

    @rule(rows=lists(labels), oldest=oldest)
    def resolve(self, rows, oldest):
        """Resolve, with labels that are too early, too late, repeated or changed."""
        self.both("resolve", *columns(rows, 2), oldest)

    @rule(oldest=oldest)
    def expire(self, oldest):
        """Let time pass."""
        self.both("expire", oldest)

    @rule(rows=lists(placed, st.sampled_from([0.0, 1.0, math.nan])))
    def remember(self, rows):
        """Take in keys that were closed elsewhere."""
        self.both("remember", rows)

    @rule(how=st.sampled_from(["commit", "commit", "roll back", "reopen"]))
    def end(self, how):
        """Keep what was done, or undo it, also by closing the file as a crash does."""
        if how == "commit":
            self.kept = copy.deepcopy(self.memory)
            self.connection.execute("COMMIT")
        else:
            self.memory = copy.deepcopy(self.kept)
        if how == "roll back":
            self.connection.execute("ROLLBACK")
        if how == "reopen":
            self.connection.close()
            self.open()
        else:
            self.connection.execute("BEGIN IMMEDIATE")

    @invariant()
    def check(self):
        """All entries are the same, in the same order; the totals are those of the rows."""
        if not hasattr(self, "store"):
            return
        expected = self.memory.state()
        assert as_text(self.store.state()) == as_text(expected)
        assert self.store.n_open == len(expected.opened)
        assert self.store.n_early == len(expected.early)
        assert self.store.n_closed == len(expected.closed)
        assert list(check_entries(self.connection, self.series)) == []

    def teardown(self):
        if hasattr(self, "store"):
            self.connection.close()
            self.directory.cleanup()


Machine.TestCase.settings = settings(
    max_examples=3_000 if LONG else 120,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAgainstMemory = Machine.TestCase
