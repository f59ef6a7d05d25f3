"""One file, several processes: predictions by one, labels by another, and some that are killed."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from random import Random

import pytest

from streamauc.store.entries import SCHEMA, StoredJoin, check_entries

BOUNDS = {"max_pending": 10**6, "max_early": 10**6, "max_resolved": 10**6}
SERIES = 5
# Opens the file as its first argument says; the others differ.
BEGIN = f"""
import json, math, sqlite3, sys, time
from streamauc.store.entries import StoredJoin
connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
connection.execute("PRAGMA synchronous = NORMAL")
store = StoredJoin(connection, {SERIES}, **{BOUNDS})
"""
# Takes steps from standard input, one a line, a transaction each, and says what came of it.
WORKER = (
    BEGIN
    + """
print("ready", flush=True)
for line in sys.stdin:
    kind, keys, values = json.loads(line)
    connection.execute("BEGIN IMMEDIATE")
    if kind == "predict":
        found = store.predict(keys, [complex(*value) for value in values])
        counts = [len(found.new), found.n_repeated, found.n_abandoned]
    else:
        found = store.resolve(keys, values, -math.inf)
        counts = [len(found.moved), found.n_repeated, found.n_late]
    connection.execute("COMMIT")
    pairs = [[one.real, one.imag, label] for one, label in found.pairs]
    print(json.dumps([kind, pairs, counts]), flush=True)
"""
)
# Writes more than its cache holds, so that much of it is in the log before it is killed.
HALFWAY = (
    BEGIN
    + """
connection.execute("PRAGMA cache_size = 10")
connection.execute("PRAGMA cache_spill = ON")
connection.execute("BEGIN IMMEDIATE")
store.resolve([f"key-{i}" for i in range(0, 3_000, 3)], [1.0] * 1_000, -math.inf)
store.predict([f"more-{i}" for i in range(5_000)], [1j] * 5_000)
print("ready", flush=True)
time.sleep(60)
"""
)
# Commits one batch after the other, and says how many.
STREAM = (
    BEGIN
    + """
for number in range(10_000):
    keys = [f"{sys.argv[2]}-{number}-{i}" for i in range(50)]
    connection.execute("BEGIN IMMEDIATE")
    store.predict(keys, [1j] * 50)
    store.resolve(keys[::2], [1.0] * 25, -math.inf)
    connection.execute("COMMIT")
    print(number + 1, flush=True)
"""
)


def opened(path):
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


@pytest.fixture
def path(tmp_path):
    """Return where a file with the tables of a join is."""
    path = tmp_path / "entries.db"
    connection = opened(path)
    for statement in SCHEMA:
        connection.execute(statement)
    connection.close()
    return path


def started(program, path, *arguments, **streams):
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        **streams,
    )


def run_at_once(path, scripts):
    """Run a worker a script at the same time; return what each printed."""
    workers = [started(WORKER, path, stdin=subprocess.PIPE) for _ in scripts]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    with ThreadPoolExecutor() as pool:
        texts = ["".join(json.dumps(step) + "\n" for step in script) for script in scripts]
        printed = list(pool.map(lambda worker, text: worker.communicate(text)[0], workers, texts))
    assert [worker.returncode for worker in workers] == [0] * len(workers)
    return [json.loads(line) for text in printed for line in text.splitlines()]


def run_in_turns(path, scripts):
    """Run two workers that take steps in turn; return what they printed."""
    workers = [started(WORKER, path, stdin=subprocess.PIPE) for _ in scripts]
    printed = [worker.stdout.readline() for worker in workers][:0]
    for both in zip_longest(*scripts):
        for worker, step in zip(workers, both, strict=True):
            if step is not None:
                worker.stdin.write(json.dumps(step) + "\n")
                worker.stdin.flush()
                printed.append(json.loads(worker.stdout.readline()))
    for worker in workers:
        worker.communicate()
    return printed


def batches(rows, random):
    """Cut rows into batches of 1 to 60, keys beside values."""
    start = 0
    while start < len(rows):
        stop = start + random.randint(1, 60)
        yield [list(column) for column in zip(*rows[start:stop], strict=True)]
        start = stop


def steps(kind, rows, random):
    return [[kind, *columns] for columns in batches(rows, random)]


def totals(path):
    connection = opened(path)
    store = StoredJoin(connection, SERIES, **BOUNDS)
    connection.execute("BEGIN")
    assert list(check_entries(connection, SERIES)) == []
    found = store.n_open, store.n_early, store.n_closed
    connection.close()
    return found


@pytest.mark.parametrize("order", ["in turns", "at once", "predictions first", "labels first"])
@pytest.mark.parametrize("seed", [1, 2])
def test_labels_by_another_process_are_joined_exactly(path, order, seed):
    """Every prediction meets its label once, whichever comes first, in whatever order."""
    random = Random(seed)  # noqa: S311
    predictions = [(f"key-{i}", (float(i), random.random())) for i in range(3_000)]
    truth = {key: float(random.random() < 0.3) for key, _ in predictions}
    labels = list(truth.items())
    random.shuffle(predictions)
    random.shuffle(labels)
    again = random.sample(predictions, 300), random.sample(labels, 300)
    predict, resolve = (
        steps(kind, rows, random)
        for kind, rows in (("predict", predictions + again[0]), ("resolve", labels + again[1]))
    )
    if order == "in turns":
        printed = run_in_turns(path, [predict, resolve])
    elif order == "at once":
        printed = run_at_once(path, [predict, resolve])
    else:
        first, second = (predict, resolve) if order == "predictions first" else (resolve, predict)
        printed = run_at_once(path, [first]) + run_at_once(path, [second])

    pairs = Counter(tuple(pair) for _, found, _ in printed for pair in found)
    assert pairs == Counter((*placed, truth[key]) for key, placed in predictions)
    sums = {
        kind: [sum(column) for column in zip(*(n for k, _, n in printed if k == kind), strict=True)]
        for kind in ("predict", "resolve")
    }
    assert sums == {"predict": [3_000, 300, 0], "resolve": [0, 300, 0]}
    assert totals(path) == (0, 0, 3_000)
    both = {kind for kind, found, _ in printed if found}
    expected = {
        "in turns": {"predict", "resolve"},
        "predictions first": {"resolve"},
        "labels first": {"predict"},
    }
    assert both == expected.get(order, both)


def test_two_that_predict_and_two_that_resolve_the_same(path):
    """What both bring is counted once, and each is told which of it was new."""
    random = Random(3)  # noqa: S311
    predictions = [(i, (float(i), 0.5)) for i in range(1_500)]
    labels = [(i, float(i % 2)) for i in range(1_500)]
    scripts = [
        steps(kind, random.sample(rows, len(rows)), random)
        for kind, rows in [("predict", predictions), ("resolve", labels)] * 2
    ]
    printed = run_at_once(path, scripts)
    pairs = Counter(tuple(pair) for _, found, _ in printed for pair in found)
    assert pairs == Counter((float(i), 0.5, float(i % 2)) for i in range(1_500))
    assert sum(n[0] for kind, _, n in printed if kind == "predict") == 1_500
    assert sum(n[1] for _, _, n in printed) == 3_000
    assert totals(path) == (0, 0, 1_500)


def test_a_transaction_that_is_killed_is_lost_wholly(path):
    """Though pages of it have been written already."""
    connection = opened(path)
    store = StoredJoin(connection, SERIES, **BOUNDS)
    connection.execute("BEGIN IMMEDIATE")
    store.predict([f"key-{i}" for i in range(3_000)], [complex(i, 0.5) for i in range(3_000)])
    store.resolve(["early", "key-1"], [1.0, 1.0], -math.inf)
    connection.execute("COMMIT")
    before, size = store.state(), os.path.getsize(f"{path}-wal")
    connection.close()

    victim = started(HALFWAY, path)
    assert victim.stdout.readline() == "ready\n"
    assert os.path.getsize(f"{path}-wal") > size // 2 > 10_000
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    victim.stdout.close()

    assert totals(path) == (2_999, 1, 1)
    connection = opened(path)
    assert StoredJoin(connection, SERIES, **BOUNDS).state() == before
    connection.close()


def test_what_was_committed_survives_a_kill_at_any_moment(path):
    """Whole batches are there, all that were acknowledged and one more at most."""
    random, n_batches = Random(4), 0  # noqa: S311
    for attempt in range(6):
        victim = started(STREAM, path, str(attempt))
        for _ in range(random.randint(1, 30)):
            line = victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        lines = [line, *victim.stdout]
        victim.stdout.close()
        assert victim.wait() == -signal.SIGKILL
        acknowledged = int([one for one in lines if one.endswith("\n")][-1])
        n_open, n_early, n_closed = totals(path)
        assert (n_open, n_early, n_closed) == (n_closed, 0, n_open)
        found = n_open // 25 - n_batches
        assert found * 25 == n_open - n_batches * 25
        assert found in (acknowledged, acknowledged + 1)
        n_batches += found
