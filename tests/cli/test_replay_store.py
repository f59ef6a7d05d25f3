"""``replay --store``: each row is counted once, however often the run is killed."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from streamauc.cli.alone import alone
from streamauc.cli.app import app
from streamauc.cli.heads import Head, Likeness
from streamauc.store import Store

START = 1_700_000_000
LONG = os.environ.get("STREAMAUC_LONG") == "1"


def run(*arguments):
    done = CliRunner().invoke(app, ["replay", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def lines(n, seed=0, *, days=10, bad=()):
    """Return rows of CSV in time order; a line that is none behind those in `bad`."""
    rng = np.random.default_rng(seed)
    times = START + np.sort(rng.random(n)) * days * 86_400
    scores = rng.integers(0, 101, n) / 100
    labels = (rng.random(n) < scores**2).astype(int)
    found = []
    for row, (moment, score, label) in enumerate(zip(times, scores, labels, strict=True)):
        found.append(f"{moment:.3f},{score},{label}")
        if row in bad:
            found.append("what,is,this,line")
    return found


def write(path, rows):
    path.write_text("\n".join(["time,score,label", *rows]) + "\n")
    return path


def stored(path, store, *arguments, labels="model=x"):
    code, out, err = run(
        path, "--store", store, "--series", labels, "--window", "1d", "--format", "json", *arguments
    )
    assert code == 0, err
    return json.loads(out)["windows"], err


def offline(path, *arguments):
    code, out, err = run(path, "--window", "1d", "--format", "json", *arguments)
    assert code == 0, err
    return json.loads(out)["windows"]


def test_a_store_says_what_memory_says(tmp_path):
    path = write(tmp_path / "log.csv", lines(5_000))
    windows, _ = stored(path, tmp_path / "m.db")

    assert windows == offline(path)


def test_counting_again_counts_nothing(tmp_path):
    path = write(tmp_path / "log.csv", lines(5_000))
    first, _ = stored(path, tmp_path / "m.db")
    again, err = stored(path, tmp_path / "m.db")

    assert again == first
    assert "5,000 rows have been counted before" in err


@pytest.mark.parametrize("bad", [(), range(0, 9_000, 7)])
def test_a_file_that_has_grown_is_read_on(tmp_path, bad):
    """Wherever it ended the last time, and whatever lines are none."""
    rows = lines(9_000, bad=bad)
    skip = ("--skip-bad",) if bad else ()
    for end in (10, 3_000, 3_001, 9_000, len(rows)):
        path = write(tmp_path / "log.csv", rows[:end])
        windows, _ = stored(path, tmp_path / "m.db", *skip)
        assert windows == offline(path, *skip)


def test_a_file_of_the_same_name_is_another_one(tmp_path):
    """Rotated logs begin anew: both are counted, and that is said."""
    path = write(tmp_path / "log.csv", lines(1_000, seed=1))
    stored(path, tmp_path / "m.db")
    write(path, lines(2_000, seed=2))
    windows, err = stored(path, tmp_path / "m.db")

    assert sum(one["n_samples"] for one in windows) == 3_000
    assert "is not the file that was counted before: counted from its beginning" in err


def test_several_files_have_a_position_each(tmp_path):
    paths = [write(tmp_path / f"{seed}.csv", lines(1_000, seed=seed)) for seed in range(3)]
    for known in (paths[:2], paths, paths):
        code, out, _ = run(
            *known, "--store", tmp_path / "m.db", "--series", "a=b", "--format", "json"
        )
        assert code == 0
        assert json.loads(out)["all"]["n_samples"] == 1_000 * len(known)


def test_two_series_count_the_same_file(tmp_path):
    path = write(tmp_path / "log.csv", lines(1_000))
    one, _ = stored(path, tmp_path / "m.db", labels="model=a")
    other, _ = stored(path, tmp_path / "m.db", labels="model=b")

    assert one == other


def test_parquet_is_read_on_too(tmp_path):
    rows = [line.split(",") for line in lines(3_000)]
    columns = {
        name: pa.array([float(row[at]) for row in rows])
        for at, name in enumerate(["time", "score", "label"])
    }
    pq.write_table(pa.table(columns), tmp_path / "log.parquet", row_group_size=500)
    first, _ = stored(tmp_path / "log.parquet", tmp_path / "m.db")
    again, err = stored(tmp_path / "log.parquet", tmp_path / "m.db")

    assert first == again == offline(tmp_path / "log.parquet")
    assert "3,000 rows have been counted before" in err


def test_killed_at_any_moment_and_run_again_it_counts_each_row_once(tmp_path):
    """SIGKILL, the hardest way; the counts equal those of a run that nobody disturbed."""
    path = write(tmp_path / "log.csv", lines(600_000, days=60))
    truth = offline(path)
    command = [sys.executable, "-m", "streamauc", "replay", str(path), "--window", "1d"]
    command += ["--store", str(tmp_path / "m.db"), "--series", "model=x", "--format", "json"]
    rng = np.random.default_rng(5)
    n_kills, finished = 0, None
    for _ in range(200 if LONG else 25):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.25 + rng.random() * 0.5)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            n_kills += 1
        process.communicate()
        with Store(tmp_path / "m.db") as store:
            assert not store.verify().problems
    finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)

    assert n_kills >= 5
    assert json.loads(finished.stdout)["windows"] == truth


def writers(store):
    with Store(store, read_only=True) as opened:
        return opened.all_series()[0].writers()


def test_the_writer_ends_with_the_run(tmp_path):
    """So nobody takes it for dead; a run that counts nothing is no writer."""
    path = write(tmp_path / "log.csv", lines(1_000))
    for _ in range(2):
        stored(path, tmp_path / "m.db")
        (one,) = writers(tmp_path / "m.db")
        assert one.closed is not None


def test_the_writer_ends_with_a_run_that_fails(tmp_path):
    """Here at a file that is no log; what was counted before it stays."""
    path = write(tmp_path / "log.csv", lines(1_000))
    other = tmp_path / "other.csv"
    other.write_text("what,is,this\n1,2,3\n")
    code, _, err = run(path, other, "--store", tmp_path / "m.db", "--series", "model=x")

    assert code == 2, err
    (one,) = writers(tmp_path / "m.db")
    assert one.closed is not None
    assert one.tallies["accepted"] == 1_000


def n_samples(*arguments):
    code, out, err = run(*arguments, "--series", "model=x", "--format", "json")
    assert code == 0, err
    return json.loads(out)["all"]["n_samples"], err


def refused(*arguments):
    code, out, err = run(*arguments, "--series", "model=x")
    assert (code, out) == (2, "")
    return err.replace("\n", " ")


@pytest.mark.parametrize("n", [50, 9_000])  # all of it within the head, or more
def test_a_file_of_another_name_is_not_counted_twice(tmp_path, n):
    """A copy, a link or a log that was rotated; unless it is said to be another stream."""
    rows = lines(n + 100)
    path, copy = write(tmp_path / "log.csv", rows[:n]), write(tmp_path / "log.csv.1", rows)
    store = ("--store", tmp_path / "m.db")
    n_samples(path, *store)
    message = f"log.csv.1 begins as {path}, of which {n:,} rows have been counted"

    assert message in refused(copy, *store)
    found, err = n_samples(copy, *store, "--alike", "continue")
    assert found == n + 100
    assert f"log.csv: {n:,} rows have been counted before" in err
    assert n_samples(copy, *store)[0] == n + 100
    part = write(tmp_path / "part.csv", rows[: n // 2])
    assert f"part.csv begins as {copy}" in refused(part, *store)
    assert n_samples(part, *store, "--alike", "count")[0] == n + 100 + n // 2
    assert n_samples(part, *store)[0] == n + 100 + n // 2
    assert n_samples(copy, *store, "--alike", "count")[0] == n + 100 + n // 2  # has its position


def test_a_packed_copy_is_not_counted_twice(tmp_path):
    """As rotation leaves it."""
    path = write(tmp_path / "log.csv", lines(5_000))
    store = ("--store", tmp_path / "m.db")
    n_samples(path, *store)
    packed = tmp_path / "log.csv.1.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    assert f"begins as {path}" in refused(packed, *store)
    assert n_samples(packed, *store, "--alike", "continue")[0] == 5_000


def test_a_packed_file_is_known_by_what_was_kept_of_it_once(tmp_path):
    """Positions held the digest of the packed bytes."""
    data = gzip.compress(b"time,score,label\n1,0.5,1\n")
    (tmp_path / "log.csv.gz").write_bytes(data)
    head = Head.of(str(tmp_path / "log.csv.gz"))

    former = {"head_bytes": len(data), "head": hashlib.sha256(data).hexdigest()}
    assert head.beside(former) is Likeness.SAME
    assert head.beside({**former, "head": ""}) is Likeness.OTHER


def test_logs_that_rotate_count_each_row_once(tmp_path):
    """A name goes from file to file; each is known again by its beginning."""
    names = [tmp_path / f"log.csv{end}" for end in ("", ".1", ".2")]
    store, total = ("--store", tmp_path / "m.db", "--alike", "continue"), 0
    for generation in range(4):
        rows = lines(300, seed=generation)
        for n in (100, 200):
            write(names[0], rows[:n])
            there = [name for name in names if name.exists()]
            assert n_samples(*reversed(there), *store)[0] == total + n
        write(names[0], rows)  # what comes between the last run and the rotation
        for older, newer in ((names[1], names[2]), (names[0], names[1])):
            if older.exists():
                older.rename(newer)
        total += 300
    assert n_samples(names[1], names[2], *store)[0] == total


def test_files_of_one_run_that_are_the_same(tmp_path):
    """Under the same name or another one."""
    path = write(tmp_path / "log.csv", lines(1_000))
    copy = write(tmp_path / "copy.csv", lines(1_000))
    store = ("--store", tmp_path / "m.db")

    assert "must be given each file once" in refused(path, path, *store)
    assert f"copy.csv begins as {path}" in refused(path, copy, *store)
    assert n_samples(path, copy, *store, "--alike", "count")[0] == 2_000
    assert n_samples(path, copy, *store)[0] == 2_000


def test_two_runs_at_once_do_not_count_the_same_rows(tmp_path):
    """Both would begin where the last one ended; the second is told to wait for the first."""
    path = write(tmp_path / "log.csv", lines(1_000))
    store = ("--store", tmp_path / "m.db")
    with alone([str(path), str(path)]):
        assert "log.csv is being counted by another run" in refused(path, *store)
        assert offline(path)
    assert n_samples(path, *store)[0] == 1_000

    command = [sys.executable, "-m", "streamauc", "replay", str(path), "--series", "model=y"]
    runs = [
        subprocess.Popen(
            [*command, *map(str, store)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(4)
    ]
    codes = [one.wait(60) for one in runs]
    assert set(codes) <= {0, 2}
    code, out, _ = run(path, *store, "--series", "model=y", "--format", "json")
    assert (code, json.loads(out)["all"]["n_samples"]) == (0, 1_000)


def test_files_that_share_only_the_names_of_their_columns_are_different(tmp_path):
    empty = [write(tmp_path / f"{name}.csv", []) for name in "ab"]
    path = write(tmp_path / "log.csv", lines(100))

    assert n_samples(path, *empty, "--store", tmp_path / "m.db")[0] == 100
    write(empty[0], lines(100, seed=1))
    assert n_samples(*empty, path, "--store", tmp_path / "m.db")[0] == 200


@pytest.mark.parametrize("n", [50, 9_000])
def test_a_file_that_was_cut_is_refused(tmp_path, n):
    """What is added to it can't be told from what was counted."""
    rows = lines(n)
    path = write(tmp_path / "log.csv", rows)
    store = ("--store", tmp_path / "m.db")
    n_samples(path, *store)
    write(path, rows[: n - 20])

    assert f"log.csv must hold {n:,} rows" in refused(path, *store)
    write(path, rows)
    assert n_samples(path, *store)[0] == n


def test_a_short_file_that_begins_as_another_one_of_its_name_may_be_another_stream(tmp_path):
    path = write(tmp_path / "log.csv", lines(50))
    store = ("--store", tmp_path / "m.db")
    n_samples(path, *store)
    write(path, lines(50)[:20])

    found, err = n_samples(path, *store, "--alike", "count")
    assert found == 70
    assert "is not the file that was counted before: counted from its beginning" in err
    assert n_samples(path, *store)[0] == 70


@pytest.mark.parametrize("option", ["--start", "--end"])
def test_a_store_takes_whole_files(tmp_path, option):
    """What a span leaves out would be taken for counted afterwards."""
    path = write(tmp_path / "log.csv", lines(50))
    err = refused(path, "--store", tmp_path / "m.db", option, "2023-11-15T00:00:00Z")

    assert f"{option} can't be used with --store" in err
    assert not (tmp_path / "m.db").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bits", "9"], "counted on the scale of the series, probability(bits=7), not on"),
        (["--scale", "exact"], "counted on the scale of the series, probability(bits=7), not on"),
        (["--scale", "real"], "counted on the scale of the series, probability(bits=7), not on"),
        (["--threshold", "0.7"], "counted on the scale of the series, probability(bits=7), not on"),
        (["--pane", "1m"], "counted in the panes of the series, 3600 s"),
    ],
)
def test_settings_that_a_series_has_already_are_said(tmp_path, options, message):
    path = write(tmp_path / "log.csv", lines(1_000))
    _, err = stored(path, tmp_path / "m.db")
    assert "of the series" not in err
    _, err = stored(path, tmp_path / "m.db", *options)
    assert message in err
    _, err = stored(path, tmp_path / "m.db", "--pane", "1h", "--bits", "7")
    assert "of the series" not in err


def test_scores_are_checked_by_the_scale_that_the_series_has(tmp_path):
    """Logits are no bad rows of a series of logits."""
    path = tmp_path / "log.csv"
    write(path, [f"{START + k},{k / 10 - 3},{k % 2}" for k in range(60)])
    stored(path, tmp_path / "m.db", "--scale", "real")
    write(path, [f"{START + k},{k / 10 - 3},{k % 2}" for k in range(90)])
    assert n_samples(path, "--store", tmp_path / "m.db", "--skip-bad")[0] == 90


def test_pending_rows_are_said_to_be_read(tmp_path):
    """Their labels must come in another way."""
    path = write(tmp_path / "log.csv", [f"{START},0.5,", f"{START},0.5,1"])
    _, err = n_samples(path, "--store", tmp_path / "m.db")

    assert "1 row pending: their label is not known yet; the store's next run will not" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--series", "a=b"], "--series must stand with --store"),
        (["--store", "m.db"], "--store needs --series NAME=VALUE, e.g. --series model=fraud"),
        (["--store", "m.db", "--series", "a"], "--series must be NAME=VALUE, got 'a'"),
        (["--store", "m.db", "--series", "a=1", "--series", "a=2"], "must give each name once"),
        (["--store", "m.db", "--series", "a=b", "--verify"], "--verify can't be used with --store"),
        (["--store", "m.db", "--series", "a=b", "--time", ""], "--store needs a time column"),
        (["--store", "m.db", "--series", "a=b", "--label-time", "time"], "--label-time can't be"),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(write(tmp_path / "log.csv", lines(50)), *arguments)

    assert (code, out) == (2, "")
    assert message in err


def test_standard_input_can_not_be_resumed(tmp_path):
    code, _, err = run("-", "--store", tmp_path / "m.db", "--series", "a=b")

    assert code == 2
    assert "--store must read files, got standard input, which can't be resumed" in err


def test_a_file_that_is_no_store_is_named(tmp_path):
    path = write(tmp_path / "log.csv", lines(50))
    code, _, err = run(path, "--store", path, "--series", "a=b")

    assert code == 2
    assert str(path) in err
