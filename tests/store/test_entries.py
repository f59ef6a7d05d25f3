"""Open predictions, early labels and known keys in a file: keys, bounds, damage, cost."""

import enum
import json
import math
import os
import re
import sqlite3
import time
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from streamauc._check import plain
from streamauc.store.entries import SCHEMA, StoredJoin, check_entries, key_texts
from streamauc.store.entry_rows import CLOSED, EARLY, MAX_SERIES, OPEN
from streamauc.store.entry_step import Step
from streamauc.store.entry_table import EntryTable
from streamauc.store.errors import DamageError

LONG = os.environ.get("STREAMAUC_LONG") == "1"
FOREVER = -math.inf
LABELS = '{"model": "fraud"}'


def opened(path, cache=2_000):
    """Return a connection as `Database` makes them."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{cache}")
    return connection


def created(path, **settings):
    connection = opened(path, **settings)
    for statement in SCHEMA:
        connection.execute(statement)
    return connection


def store_of(connection, max_pending=1_000, max_early=1_000, max_resolved=1_000, series=7):
    return StoredJoin(
        connection,
        series,
        max_pending=max_pending,
        max_early=max_early,
        max_resolved=max_resolved,
        labels=LABELS,
    )


def places(*moments):
    return [complex(moment, 0.5) for moment in moments]


def sizes(store):
    return store.n_open, store.n_early, store.n_closed


@pytest.fixture
def connection():
    """Yield a connection within a transaction."""
    found = created(":memory:")
    found.execute("BEGIN IMMEDIATE")
    yield found
    found.close()


def test_each_kind_of_entry_has_its_own_bound(connection):
    """The oldest goes first: predictions are abandoned, labels dropped, closed keys forgotten."""
    store = store_of(connection, 2, 1, 1)
    assert store.predict("abc", places(1, 2, 3)).n_abandoned == 1
    assert store.state().opened == (("b", 2 + 0.5j), ("c", 3 + 0.5j))
    assert [key for key, *_ in store.state().closed] == ["a"]
    assert store.resolve("b", [1.0], FOREVER).pairs == [(2 + 0.5j, 1.0)]
    assert [key for key, *_ in store.state().closed] == ["b"]
    # "a" has been forgotten, so its label waits, until that of "x" takes its room.
    assert store.resolve("a", [1.0], FOREVER).n_dropped == 0
    assert store.resolve("x", [0.0], FOREVER).n_dropped == 1
    assert store.state().early == (("x", 0.0),)
    assert sizes(store) == (1, 1, 1)


def test_predictions_expire_in_order_of_arrival(connection):
    """An older one that came later goes when it gets to the front, or when its label comes."""
    store = store_of(connection)
    store.predict("abc", places(10, 1, 2))
    assert store.expire(5.0) == 0
    late = store.resolve("b", [1.0], 5.0)
    assert (late.pairs, late.n_late, late.n_abandoned) == ([], 1, 1)
    assert store.resolve("b", [1.0], 5.0).n_late == 1
    assert store.expire(10.0) == 0
    assert store.expire(math.nextafter(10.0, 11)) == 2
    assert sizes(store) == (0, 0, 3)
    assert store.expire(math.inf) == 0


def test_predictions_expire_that_came_after_all_others_had_gone(connection):
    """What is passed over because there is none of its kind is none of them."""
    store = store_of(connection, max_early=2)
    store.resolve("xyz", [1.0] * 3, FOREVER)
    store.predict("a", places(1))
    store.resolve("a", [1.0], FOREVER)
    assert store.expire(9.0) == 0
    store.predict("bc", places(2, 3))
    assert store.resolve("v", [1.0], FOREVER).n_dropped == 1
    assert store.expire(9.0) == 2
    assert [key for key, _ in store.state().early] == ["z", "v"]
    assert list(check_entries(connection, 7)) == []


def test_a_label_that_comes_exactly_in_time_counts(connection):
    """The limit itself is in time, for expiry and for labels."""
    store = store_of(connection)
    store.predict("ab", places(5, 5))
    assert store.expire(5.0) == 0
    assert store.resolve("a", [1.0], 5.0).pairs == [(5 + 0.5j, 1.0)]
    assert store.expire(math.nextafter(5.0, 6)) == 1


def test_the_oldest_is_that_of_the_middle_of_a_step(connection):
    """Neither one that the same step has closed or forgotten, nor a second copy of another."""
    store_of(connection).predict("abc", places(1, 2, 3))
    table = EntryTable(connection, 7, LABELS)
    for most in (9, 0):
        step = Step(table, {OPEN: 9, EARLY: 9, CLOSED: most}, ["a", "b"])
        first, second = step.known.values()
        step.abandon(first)
        assert (first.kind == CLOSED) == (most > 0)
        assert step.oldest(OPEN) is second
        assert step.oldest(OPEN).key == '"c"'


def test_series_do_not_see_each_other(connection):
    """The same key is another one in another series, also next to it and at the ends."""
    numbers = [0, 6, 7, 8, MAX_SERIES]
    stores = [store_of(connection, series=number, max_pending=1) for number in numbers]
    for store in stores:
        assert store.predict(["a", "b"], places(1, 2)).n_abandoned == 1
    assert stores[2].resolve(["b", "a", "c"], [1.0] * 3, FOREVER).n_late == 1
    for store in stores:
        resolved = store is stores[2]
        assert sizes(store) == ((0, 1, 2) if resolved else (1, 0, 1))
        assert store.expire(math.inf) == (0 if resolved else 1)
        assert len(store.state().closed) == 2
    for number in numbers:
        assert list(check_entries(connection, number)) == []
    with pytest.raises(ValueError, match=r"series_id must be in \[0, 262143\], got 262144"):
        store_of(connection, series=MAX_SERIES + 1)


class Colour(enum.IntEnum):
    RED = 3


EQUAL = [
    [1, 1.0, True, np.int64(1), np.float32(1), np.bool_(True)],
    [0, 0.0, -0.0, False],
    [3, Colour.RED, 3.0],
    [2.5, np.float64(2.5)],
    [10**22, 1e22],
    [2**70, 2.0**70],
    [math.inf, np.float64(math.inf)],
    ["a", np.str_("a")],
    ["1"],
    ["true"],
    ["null"],
    [None],
    [""],
    ['"\\'],
    ["\0\n"],
    ["é😀"],
    ["NaN"],
    [-1e-300],
    [1e308],
    [2**53 + 1],
    [2**53, float(2**53 + 1)],
]


@pytest.mark.parametrize("equal", EQUAL, ids=repr)
def test_equal_keys_are_one_key_that_comes_back_as_first_given(connection, equal):
    """As in a dict, whatever the types; and no key is another one's."""
    others = [some[0] for some in EQUAL if some is not equal]
    for number, first in enumerate(equal):
        store = store_of(connection, series=number)
        store.predict(others, places(*range(len(others))))
        assert store.predict([first], [1 + 0.5j]).n_repeated == 0
        assert store.predict(equal, [2 + 0.5j] * len(equal)).n_repeated == len(equal)
        as_given = repr(json.loads(json.dumps(plain(first))))
        assert repr(store.state().opened[-1]) == f"({as_given}, (1+0.5j))"
        assert store.resolve([equal[-1]], [1.0], FOREVER).pairs == [(1 + 0.5j, 1.0)]
        assert repr(store.state().closed) == f"(({as_given}, (1+0.5j), 1.0),)"


def test_within_a_batch_too_the_first_form_of_a_key_counts(connection):
    """One is kept as it came first, be that an int, a float or a bool."""
    store = store_of(connection)
    store.predict([1, True, 2.0, 2, False, 0], places(1, 2, 3, 4, 5, 6))
    assert repr([key for key, _ in store.state().opened]) == "[1, 2.0, False]"


@pytest.mark.parametrize("key", [b"a", ("a",), frozenset(), 1j, Decimal(1), np.datetime64("now")])
def test_other_keys_are_refused_by_name(connection, key):
    """Only what JSON knows can be kept; the call changes nothing."""
    store = store_of(connection)
    message = "key must be text, a number, a bool or None to be stored, got " + re.escape(repr(key))
    for call in (
        lambda: store.predict(["a", key], places(1, 2)),
        lambda: store.resolve(["a", key], [1.0, 1.0], FOREVER),
        lambda: store.remember([("a", 1j, 1.0), (key, 1j, 1.0)]),
        lambda: key_texts([key]),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    assert sizes(store) == (0, 0, 0)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (math.nan, "key must be equal to itself, got nan"),
        ("\ud83d", r"key must be text that UTF-8 can hold, got '\ud83d'"),
        ("\ud83d\ude00", r"key must be text that UTF-8 can hold, got '\ud83d\ude00'"),
    ],
)
def test_keys_that_would_not_come_back_are_refused(connection, key, message):
    """Among them the halves of a character, which JSON would write like the whole."""
    with pytest.raises(ValueError, match=re.escape(message)):
        store_of(connection).predict([key], places(1))


def test_a_step_must_be_within_a_transaction(connection):
    """Its statements count together or not at all."""
    store = store_of(connection)
    connection.execute("COMMIT")
    for call in (
        lambda: store.predict("a", places(1)),
        lambda: store.resolve("a", [1.0], FOREVER),
        lambda: store.remember([]),
        lambda: store.expire(1.0),
    ):
        with pytest.raises(RuntimeError, match="must be within a transaction"):
            call()
    assert sizes(store) == (0, 0, 0)


def test_columns_of_different_lengths_change_nothing(connection):
    """Nothing is written before everything has been looked at."""
    store = store_of(connection)
    with pytest.raises(ValueError, match="zip"):
        store.predict("ab", places(1))
    with pytest.raises(ValueError, match="zip"):
        store.resolve("a", [1.0, 1.0], FOREVER)
    assert sizes(store) == (0, 0, 0)
    assert connection.total_changes == 0


def test_negative_zero_is_zero_on_disk(connection):
    """SQLite knows no negative zero; it is no damage that it comes back as zero."""
    store = store_of(connection)
    store.predict(["a"], [complex(-0.0, -0.0)])
    store.resolve(["a"], [-0.0], FOREVER)
    assert store.state().closed == (("a", 0j, 0.0),)


def test_a_nan_of_any_sign_stands_for_no_label(connection):
    """Bytes may hold any; on disk there is one."""
    store = store_of(connection)
    store.remember([("a", 1j, -math.nan), ("b", 1j, np.uint64(2**63 - 1).view(np.float64).item())])
    assert all(math.isnan(label) for *_, label in store.state().closed)
    assert list(check_entries(connection, 7)) == []


def test_what_changes_nothing_writes_nothing(connection):
    """A repetition and a look at the oldest leave the file alone."""
    store = store_of(connection)
    store.predict("ab", places(1, 2))
    store.resolve("b", [1.0], FOREVER)
    before = connection.total_changes
    store.predict("ab", places(1, 2))
    store.resolve("b", [1.0], FOREVER)
    store.expire(0.0)
    store.remember([("b", 1j, 0.0)])
    assert connection.total_changes == before


class Steps:
    """Counts the steps of SQLite's machine, in hundreds."""

    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        self.n = 0
        self.connection.set_progress_handler(self.count, 100)
        return self

    def count(self):
        self.n += 1
        return 0

    def __exit__(self, *_):
        self.connection.set_progress_handler(None, 100)


def test_nothing_goes_through_all_entries(connection):
    """Counting, finding the oldest and a small batch among many do not look at the rest."""
    store, n = store_of(connection, 10**5, 10**5, 10**5), 10_000
    store.predict(range(n), places(*range(n)))
    store.resolve(range(n, 2 * n), [1.0] * n, FOREVER)
    store.resolve(range(n - 20), [1.0] * (n - 20), FOREVER)
    assert store.expire(0.0) == 0  # passes over all that are closed, once
    bounded = store_of(connection, n, n, n - 20)
    with Steps(connection) as steps:
        assert sizes(store) == (20, n, n - 20)
        assert store.expire(0.0) == 0
        assert store.expire(n - 19) == 1
        assert len(bounded.resolve(range(n - 10, n), [1.0] * 10, FOREVER).pairs) == 10
        assert bounded.resolve(range(3 * n, 3 * n + 3), [1.0] * 3, FOREVER).n_dropped == 3
        store.predict(range(2 * n, 2 * n + 10), places(*range(10)))
    assert sizes(store) == (19, n, n - 20)
    assert steps.n < 100
    with Steps(connection) as steps:
        store.state()
    assert steps.n > 1_000


def filled(connection):
    """Return a store with entries of every kind."""
    store = store_of(connection)
    store.predict(["open", "closed", "gone", True], places(5, 2, 1, 7))
    store.resolve(["closed", "early", "was early"], [1.0, 0.0, 1.0], FOREVER)
    store.predict(["was early"], places(4))
    store.resolve(["gone"], [1.0], 2.0)
    return store


def reads(store):
    """Return what reads every row of a series, each in another way."""
    every = ["open", "closed", "gone", 1, "early", "was early"]
    return [
        lambda: store.state(),
        lambda: (store.predict(every, [9j] * 6), store.resolve(every, [1.0] * 6, FOREVER)),
    ]


def noticed(read):
    """Return where the damage is that a call meets, None if it meets none."""
    try:
        read()
    except DamageError as error:
        return error.place
    return None


COLUMNS = {
    "entry": {
        "id": "id + 1000",
        "key": "'\"other\"'",
        "given": "CASE WHEN given IS NULL THEN '1.0' END",
        "kind": "(kind + 1) % 3",
        "time": "coalesce(time, 0) + 0.5",
        "score": "coalesce(score, 0) + 0.125",
        "label": "1 - coalesce(label, 0)",
        "crc": "crc + 1",
    },
    "entry_turn": {"id": "id + 10", "entry": "entry + 1", "crc": "crc + 1"},
    "entry_total": {
        name: f"{name} + 1"
        for name in (
            *("number", "turn", "n_open", "n_closed", "n_early", "first_open"),
            *("first_closed", "first_early", "mixed", "crc"),
        )
    },
}
ALTERED = [
    (table, column, value, number)
    for table, columns in COLUMNS.items()
    for column, value in columns.items()
    for number in range({"entry": 6, "entry_turn": 3, "entry_total": 1}[table])
]


@pytest.mark.parametrize("raw", [None, "CAST(x'ff00' AS TEXT)", "x'80'", "'text'"])
@pytest.mark.parametrize(("table", "column", "value", "number"), ALTERED)
def test_an_altered_row_is_noticed_when_it_is_read(connection, table, column, value, number, raw):
    """A value, of its own type or another, in any column; the place says which row it is."""
    store = filled(connection)
    if raw is not None and (column == "id" or (column, raw) == ("key", "'text'")):
        return
    rowid = connection.execute(f"SELECT rowid FROM {table} ORDER BY 1").fetchall()[number]  # noqa: S608
    value = value if raw is None else raw
    connection.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid = ?", rowid)  # noqa: S608
    found = list(check_entries(connection, 7, labels=LABELS))
    assert {(place.table, place.series) for place in found} >= {(table, LABELS)}
    assert len(found) <= 3
    places = [place for place in map(noticed, reads(store)) if place is not None]
    # Under another key, it can be read only where all are.
    assert places
    assert {place.series for place in places} == {LABELS}
    assert {place.table for place in places} <= {table, "entry_turn"}


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("DELETE FROM entry WHERE key = '\"open\"'", "entry_total"),
        ("DELETE FROM entry WHERE key = '\"early\"'", "entry_total"),
        ("DELETE FROM entry WHERE key = '\"closed\"'", "entry_turn"),
        ("DELETE FROM entry_turn WHERE rowid = (SELECT min(rowid) FROM entry_turn)", "entry_total"),
        ("DELETE FROM entry_total", "entry_total"),
        ("DELETE FROM entry; DELETE FROM entry_turn", "entry_total"),
        ("UPDATE entry_turn SET entry = entry + 0, id = id + 50", "entry_turn"),
        (
            "INSERT INTO entry SELECT id + 90, key, given, kind, time, score, label, crc FROM entry"
            " WHERE kind = 2",
            "entry",
        ),
    ],
)
def test_rows_that_are_lost_or_too_many_are_found(connection, statement, table):
    """The totals do not fit then, or one row does not fit another."""
    filled(connection)
    for one in statement.split(";"):
        connection.execute(one)
    assert table in [place.table for place in check_entries(connection, 7)]


def test_an_older_state_of_a_row_is_found(connection):
    """Its own CRC is right, but not the combination of all."""
    store = store_of(connection)
    store.predict("ab", places(1, 2))
    store.resolve("a", [1.0], FOREVER)
    row = connection.execute("SELECT * FROM entry ORDER BY id LIMIT 1").fetchone()
    store.resolve("a", [0.0], FOREVER)
    connection.execute("REPLACE INTO entry VALUES(?, ?, ?, ?, ?, ?, ?, ?)", row)
    assert [place.table for place in check_entries(connection, 7)] == ["entry_total"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, index) for name in ("n", "first") for index in (OPEN, CLOSED, EARLY)),
        ("number", 5),
        ("turn", 2),
        ("mixed", 1),
    ],
)
def test_wrong_totals_are_found_though_their_own_crc_is_right(connection, name, value):
    """As a fault in this program would leave them."""
    store = filled(connection)
    store.resolve(["late one"], [1.0], FOREVER)
    table = EntryTable(connection, 7, LABELS)
    assert list(check_entries(connection, 7)) == []
    totals = table.totals()
    if name == "n":
        totals.n[value] += 1
    elif name == "first":
        totals.first[value] += 7
    else:
        setattr(totals, name, value)
    connection.execute("REPLACE INTO entry_total VALUES(?,?,?,?,?,?,?,?,?,?,?)", totals.row(7))
    assert [str(place) for place in check_entries(connection, 7)] == [
        "table entry_total, series #7"
    ]


def test_two_entries_of_one_key_are_found(connection):
    """By whoever looks for the key, and by a check, though each of them is sound."""
    store = store_of(connection)
    store.predict("ab", places(1, 2))
    table = EntryTable(connection, 7, None)
    step = Step(table, {OPEN: 9, EARLY: 9, CLOSED: 9}, ["c"])
    step.add('"a"', OPEN, 3j, math.nan)
    step.write()
    assert [(place.table, place.key) for place in check_entries(connection, 7)] == [
        ("entry", '"a"')
    ]
    with pytest.raises(DamageError, match="two entries have one key"):
        store.resolve("ba", [1.0, 1.0], FOREVER)


def test_missing_totals_stop_everything(connection):
    """Numbers would begin anew, and counts too."""
    store = filled(connection)
    connection.execute("DELETE FROM entry_total")
    for read in (lambda: store.n_open, lambda: store.expire(0.0), *reads(store)):
        with pytest.raises(DamageError, match="there are entries without totals"):
            read()


def test_a_wrong_count_ends_in_an_error(connection):
    """Not in a search for ever, nor in a wrong number."""
    store = filled(connection)
    connection.execute("DELETE FROM entry WHERE kind = 0")
    with pytest.raises(DamageError, match="there are fewer entries than stated"):
        store.expire(9.0)


def test_flipped_bits_of_a_key_are_found_in_the_table_and_in_the_index(tmp_path):
    """A row that its key does not find is damaged, though its values are right."""
    path = tmp_path / "entries.db"
    connection = created(path)
    connection.execute("BEGIN IMMEDIATE")
    store_of(connection).predict([f"key-{i:04}" for i in range(500)], places(*range(500)))
    connection.execute("COMMIT")
    connection.close()
    sound = path.read_bytes()
    where = [found.start() for found in re.finditer(b"key-0123", sound)]
    assert len(where) == 2
    for at in where:
        path.write_bytes(sound[: at + 6] + bytes([sound[at + 6] ^ 16]) + sound[at + 7 :])
        connection = opened(path)
        assert list(check_entries(connection, 7)) != []
        connection.close()
    path.write_bytes(sound)
    connection = opened(path)
    assert list(check_entries(connection, 7)) == []
    connection.close()


def test_a_million_open_predictions(tmp_path):
    """Prints what a key costs, in time and on disk; 50,000 unless asked for more."""
    n, batch = (1_000_000, 10_000) if LONG else (50_000, 5_000)
    path = tmp_path / "entries.db"
    connection = created(path, cache=65_536)
    store = store_of(connection, 10 * n, n, 10 * n)
    keys = [f"txn-{i:010}" for i in range(n + batch)]
    random = Random(1)  # noqa: S311

    def timed(what, call, *arguments):
        connection.execute("BEGIN IMMEDIATE")
        start = time.perf_counter()
        found = call(*arguments)
        middle = time.perf_counter()
        connection.execute("COMMIT")
        end = time.perf_counter()
        each = [f"{span / len(arguments[0]) * 1e6:.1f}" for span in (middle - start, end - middle)]
        print(f"{what}: {each[0]} us a key, {each[1]} us to commit")
        return found

    connection.execute("BEGIN IMMEDIATE")
    for i in range(0, n, batch):
        store.predict(keys[i : i + batch], places(*range(i, i + batch)))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    print(f"\n{path.stat().st_size / n:.0f} bytes an open entry, {n} of them")

    timed("predict", store.predict, keys[n:], places(*range(batch)))
    near = random.sample(keys[:batch], batch)
    found = timed("resolve the oldest", store.resolve, near, [1.0] * batch, FOREVER)
    assert len(found.pairs) == batch
    far = random.sample(keys[batch:n], batch)
    found = timed("resolve any", store.resolve, far, [1.0] * batch, FOREVER)
    assert len(found.pairs) == batch
    assert sizes(store) == (n - batch, 0, 2 * batch)
    assert list(check_entries(connection, 7)) == []
    connection.close()
