"""``replay --store``: each row is counted once, however often the run is killed."""

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

from streamauc.cli.app import app
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
