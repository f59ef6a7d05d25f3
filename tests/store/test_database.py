"""One file: opened, made, migrated, refused, locked, full, forked."""

import errno
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from streamauc import Scale, ScoreHistogram
from streamauc.store import DamageError, Store
from streamauc.store.database import Database
from streamauc.store.schema import APPLICATION_ID, SCHEMA, Schema

TIERS = ((60, "2d"), (3_600, "90d"))
SCALE = Scale.probability()
ONE = ScoreHistogram.from_scores([0, 1], [0.2, 0.9], scale=SCALE).stored


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.db"


def pragma(path, name):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def total(store):
    """How many events a store's one series holds."""
    cover = store.series({"model": "fraud"}, SCALE, TIERS).cover("labelled", -1e9, 1e12)
    return sum(int(part.totals.sum()) for part in cover.parts)


def add(store, n_times=1):
    store.series({"model": "fraud"}, SCALE, TIERS).add("labelled", [(0, ONE)] * n_times)


def test_a_new_file_is_marked_as_a_store(path):
    """It is known by its mark and its version, and it is written ahead to a log."""
    Store(path).close()

    assert pragma(path, "application_id") == APPLICATION_ID == int.from_bytes(b"sauc", "big")
    assert pragma(path, "user_version") == SCHEMA.version
    assert pragma(path, "journal_mode") == "wal"


def test_every_commit_is_synchronous(path):
    """What was acknowledged is on disk."""
    with Store(path) as store, store.database.write() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_an_empty_file_becomes_a_store(path):
    """Such as a temporary file that somebody made."""
    path.touch()
    with Store(path) as store:
        add(store)
        assert total(store) == 2


@pytest.mark.parametrize("content", [b"not a database at all, but a text" * 99, b"x"])
def test_another_kind_of_file_is_refused(path, content):
    """It is left as it is."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"metrics\.db is no store"):
        Store(path)
    assert path.read_bytes() == content


def test_an_sqlite_file_of_another_application_is_refused(path):
    """It is left as it is, also how it keeps its journal."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE pane(id)")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="of another application"):
        Store(path)
    assert path.read_bytes() == before


def test_a_newer_file_is_refused(path):
    """The message says both versions."""
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA.version + 6}")
    message = f"has version {SCHEMA.version + 6}, newer than this program's {SCHEMA.version}"
    with pytest.raises(ValueError, match=message):
        Store(path)


def test_a_file_that_is_migrated_meanwhile_is_no_longer_written_to(path):
    """An old process must not write old rows into new tables."""
    with Store(path) as store:
        add(store)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
        with pytest.raises(ValueError, match="newer than"):
            add(store)


def one_step(connection):
    connection.execute("ALTER TABLE position ADD COLUMN extra INTEGER DEFAULT 7")


def last_step(connection):
    connection.execute("UPDATE position SET extra = extra + 1")


NEWER = Schema(
    SCHEMA.version + 2,
    SCHEMA.tables,
    {SCHEMA.version: one_step, SCHEMA.version + 1: last_step},
)


def test_an_older_file_is_migrated_step_by_step(path):
    """All steps in one transaction; readers that may not write say what to do."""
    with Store(path) as store, store.write() as batch:
        batch.position("file", 5)
    with pytest.raises(ValueError, match=r"older version 1; open it once for writing"):
        Database(path, read_only=True, schema=NEWER)
    with Database(path, schema=NEWER) as database, database.read() as connection:
        assert connection.execute("SELECT extra FROM position").fetchall() == [(8,)]
    assert pragma(path, "user_version") == NEWER.version


def test_a_migration_that_fails_changes_nothing(path):
    """The file can still be opened by the program that made it."""
    Store(path).close()

    def broken(connection):
        connection.execute("DROP TABLE pane")
        raise KeyError

    with pytest.raises(KeyError):
        Database(path, schema=Schema(2, SCHEMA.tables, {1: broken}))
    with Store(path) as store:
        add(store)


def test_only_what_exists_is_opened_for_reading(path):
    """Reading makes no file; a directory that does not exist is named."""
    with pytest.raises(FileNotFoundError, match="no store to read"):
        Store(path, read_only=True)
    with pytest.raises(FileNotFoundError, match="directory does not exist"):
        Store(path / "deeper" / "metrics.db")
    with pytest.raises(IsADirectoryError):
        Store(path.parent)


def test_a_store_that_was_opened_for_reading_reads(path):
    """Writing to it is a PermissionError, and it goes on reading what others write."""
    with Store(path) as store, Store(path, read_only=True) as reader:
        add(store)
        assert total(reader) == 2
        with pytest.raises(PermissionError, match="read-only"):
            add(reader)
        add(store)
        assert total(reader) == 4


def test_a_closed_store_says_so(path):
    """Closing again does nothing."""
    store = Store(path)
    add(store)
    store.close()
    store.close()
    for use in (add, total, Store.info, Store.verify):
        with pytest.raises(ValueError, match="is closed"):
            use(store)


def test_a_transaction_within_another_is_refused(path):
    """It would deadlock, or end the outer one."""
    with Store(path) as store, store.write():
        with pytest.raises(RuntimeError, match="within another"):
            add(store)
        assert total(store) == 0
    with Store(path) as store:
        add(store)


def test_a_file_that_is_locked_for_too_long_is_a_timeout(path):
    """Nothing is written; as soon as the lock is gone, it works again."""
    with Store(path, busy_seconds=0.2) as store, closing(sqlite3.connect(path)) as other:
        add(store)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"locked by another writer for 0\.2 s"):
            add(store)
        assert time.monotonic() - began >= 0.2
        assert total(store) == 2
        other.rollback()
        add(store)
        assert total(store) == 4


def test_a_thread_that_waits_for_another_is_a_timeout_too(path):
    """The wait is bounded within a process as between two."""
    with Store(path, busy_seconds=0.2) as store:
        errors = []

        def try_to_write():
            try:
                add(store)
            except TimeoutError as error:
                errors.append(error)

        with store.write():
            thread = threading.Thread(target=try_to_write)
            thread.start()
            thread.join()
        assert len(errors) == 1


def test_threads_share_a_store(path):
    """Every addition is there at the end, and every poll sees whole ones."""
    with Store(path) as store:
        add(store)
        seen = []

        def work():
            for _ in range(25):
                add(store)
                seen.append(total(store))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert total(store) == 2 * 101
        assert all(found % 2 == 0 for found in seen)


def test_a_full_disk_is_an_error_and_writing_resumes(path):
    """Nothing is lost that was acknowledged, nothing half is kept."""
    with Store(path) as store:
        add(store)
        with store.database.write() as connection:
            (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
        with store.database.write() as connection:
            connection.execute(f"PRAGMA max_page_count = {n_pages}")
        many = [(pane, ONE) for pane in range(3_000)]
        series = store.series({"model": "fraud"}, SCALE, TIERS)
        with pytest.raises(OSError, match="full") as raised:
            series.add("labelled", many)
        assert raised.value.errno == errno.ENOSPC
        assert total(store) == 2
        with store.database.write() as connection:
            connection.execute("PRAGMA max_page_count = 1000000")
        series.add("labelled", many)
        assert total(store) == 6_002
        assert store.verify().is_whole


LIMITED = """
import resource, signal, sys
from test_database import add, total
from streamauc.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store(sys.argv[1]) as store:
    add(store)
    limit = 400_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    n_done = 1
    try:
        for _ in range(10_000):
            add(store)
            n_done += 1
    except OSError as error:
        assert not isinstance(error, (PermissionError, TimeoutError)), error
    assert 1 < n_done < 10_000
    assert total(store) == 2 * n_done, (total(store), n_done)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    add(store)
    assert total(store) == 2 * n_done + 2
    assert store.verify().is_whole
"""


def test_a_log_that_can_not_grow_is_an_error_and_writing_resumes(path):
    """The system refuses the bytes, as on a full disk."""
    run(LIMITED, path)


def run(code, path):
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


UNPRIVILEGED = """
import os, sys
from test_database import add, total
from streamauc.store import Store
if os.getuid() == 0:
    os.setuid(65_534)
try:
    with Store(sys.argv[1]) as store:
        add(store)
except PermissionError:
    pass
else:
    raise SystemExit("written to a file that may not be written to")
"""


def test_a_file_that_may_not_be_written_to_is_a_permission_error(path):
    """Whoever is not its owner hears of it at once or at the first write."""
    with Store(path) as store:
        add(store)
    for one in path.parent.glob("*"):
        one.chmod(0o444)
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        folder.chmod(0o755)
    run(UNPRIVILEGED, path)


def test_a_file_that_was_replaced_is_not_written_to(path):
    """What would be written to it would be gone."""
    with Store(path) as store:
        add(store)
        path.rename(path.with_name("elsewhere.db"))
        with pytest.raises(FileNotFoundError, match="removed or replaced"):
            add(store)
        Store(path).close()
        with pytest.raises(FileNotFoundError, match="removed or replaced"):
            add(store)


FORKED = """
import os, sys, threading
from test_database import add, total
from streamauc.store import Store
store = Store(sys.argv[1])
add(store)
assert total(store) == 2
stop = threading.Event()
n_done = []
def work():
    while not stop.is_set():
        add(store)
        n_done.append(1)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
children = []
for number in range(8):
    child = os.fork()
    if not child:
        for _ in range(5):
            before = total(store)
            add(store)
            assert total(store) >= before + 2
        sys.exit(0)  # frees everything, unlike os._exit
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
stop.set()
for thread in threads:
    thread.join()
assert total(store) == 2 * (1 + len(n_done) + 8 * 5), (total(store), len(n_done))
assert store.verify().is_whole
"""


def test_a_forked_child_goes_on_with_connections_of_its_own(path):
    """While threads write, children are forked that write, too; nothing is lost."""
    run(FORKED, path)


FORKED_WITHIN = """
import os, sys
from test_database import add, total
from streamauc.store import Store
store = Store(sys.argv[1])
add(store)
with store.write() as batch:
    child = os.fork()
    if not child:
        for use in (add, total, lambda store: Store(store.database.path)):
            try:
                use(store)
            except RuntimeError as error:
                assert "forked within a transaction" in str(error), error
            else:
                raise SystemExit("the child used the file")
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    batch.position("file", 1)
assert store.position("file") == 1
add(store)
assert total(store) == 4
assert store.verify().is_whole
"""


def test_a_child_that_was_forked_within_a_transaction_is_told(path):
    """It can't tell which locks it holds; its parent's transaction is not touched."""
    run(FORKED_WITHIN, path)


def test_two_processes_may_make_the_file_at_once(path):
    """One makes it, the other finds it made."""
    code = "import sys; from test_database import add; from streamauc.store import Store\n"
    code += "store = Store(sys.argv[1])\nfor _ in range(20): add(store)\nstore.close()"
    threads = [threading.Thread(target=run, args=(code, path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path) as store:
        assert total(store) == 2 * 60


def test_damage_is_a_value_error_that_knows_its_place(path):
    """So that a caller who catches ValueError is told, and one who repairs knows where."""
    with Store(path) as store:
        add(store)
        with store.database.write() as connection:
            connection.execute("UPDATE pane SET counts = counts || x'00'")
        with pytest.raises(DamageError, match=r"a pane was altered \(table pane, series") as raised:
            total(store)
        place = raised.value.place
        assert isinstance(raised.value, ValueError)
        assert (place.table, place.channel, place.tier, place.start) == ("pane", "labelled", 0, 0.0)
