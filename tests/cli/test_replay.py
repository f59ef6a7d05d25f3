"""``streamauc replay`` as a person or a program uses it: what it prints, and how it ends."""

import csv
import io
import json
import math
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from typer.testing import CliRunner

from streamauc.cli import verify
from streamauc.cli.app import app
from streamauc.cli.report import choose_metrics

NEW_YORK = "America/New_York"


def run(*arguments, stdin=None):
    """Run the command in this process; returns its exit code, output and notes."""
    done = CliRunner().invoke(app, ["replay", *map(str, arguments)], input=stdin)
    return done.exit_code, done.stdout, done.stderr


def run_json(*arguments, stdin=None):
    code, out, err = run(*arguments, "--format", "json", stdin=stdin)
    assert code == 0, err
    return json.loads(out)


def rows_of(n, *, days=10, seed=0, lattice=None):
    """Seeded (time, score, label) in time order, from 2024-03-05 UTC on."""
    rng = np.random.default_rng(seed)
    times = 1_709_596_800 + np.sort(rng.integers(0, days * 86_400 * 1000, n)) / 1000
    scores = rng.random(n) if lattice is None else rng.integers(0, lattice + 1, n) / lattice
    labels = (rng.random(n) < 0.1 + 0.8 * scores**2).astype(int)
    return times, scores, labels


def write_csv(path, times, scores, labels, extra=()):
    lines = ["time,score,label"]
    for moment, score, label in zip(times, scores, labels, strict=True):
        stamp = datetime.fromtimestamp(float(moment), UTC).isoformat()
        lines.append(f"{stamp},{float(score)!r},{label}")
    path.write_text("\n".join([*lines, *extra]) + "\n")
    return path


@pytest.fixture
def log(tmp_path):
    rows = rows_of(3_000)
    return write_csv(tmp_path / "log.csv", *rows), rows


def test_a_row_a_window_equals_scikit_learn(log):
    """Every day's AUC and AP are scikit-learn's on the raw rows of that day, within rounding."""
    path, (times, scores, labels) = log
    found = run_json(path, "--window", "1d", "--scale", "exact")

    assert [one["start"][:10] for one in found["windows"]] == [
        f"2024-03-{day:02d}" for day in range(5, 15)
    ]
    for one in found["windows"]:
        start = datetime.fromisoformat(one["start"]).timestamp()
        rows = (times >= start) & (times < start + 86_400)
        assert one["n_samples"] == rows.sum()
        assert one["n_pos"] == labels[rows].sum()
        assert math.isclose(one["roc_auc"], roc_auc_score(labels[rows], scores[rows]))
        assert math.isclose(
            one["average_precision"], average_precision_score(labels[rows], scores[rows])
        )
    assert found["all"]["n_samples"] == 3_000


def test_days_are_local_across_a_change_of_the_clocks(tmp_path):
    """A New York day of March 2024 has 23 hours, and its rows are the local day's."""
    path = write_csv(tmp_path / "log.csv", *rows_of(2_000, days=9))
    found = run_json(path, "--window", "1d", "--tz", NEW_YORK)
    starts = [datetime.fromisoformat(one["start"]) for one in found["windows"]]
    lengths = {
        one["start"][:10]: datetime.fromisoformat(one["end"]) - datetime.fromisoformat(one["start"])
        for one in found["windows"]
    }

    assert all(start.astimezone(ZoneInfo(NEW_YORK)).hour == 0 for start in starts)
    assert lengths["2024-03-09"] == timedelta(hours=24)
    assert lengths["2024-03-10"] == timedelta(hours=23)
    assert sum(one["n_samples"] for one in found["windows"]) == 2_000


def test_empty_windows_are_rows_too(tmp_path):
    """A day without events stands in the table, with a dash and the reason."""
    times, scores, labels = rows_of(200, days=2)
    times[100:] = times[100:] + 3 * 86_400
    path = write_csv(tmp_path / "log.csv", times, scores, labels)
    code, out, _ = run(path, "--window", "1d")
    quiet = [line for line in out.splitlines() if "2024-03-07" in line]

    assert code == 0
    assert quiet[0].split() == ["2024-03-07", "0", "0", "-¹", "-¹", "-¹"]
    assert "¹ no events with an outcome" in out


def test_thresholds_add_precision_and_recall(log):
    """An operating threshold is an exact edge: the counts are those of ``score >= threshold``."""
    path, (_, scores, labels) = log
    found = run_json(path, "--window", "month", "--threshold", 0.5, "--threshold", "0.7")["all"]

    for threshold in (0.5, 0.7):
        flagged = scores >= threshold
        precision, recall = labels[flagged].mean(), flagged[labels == 1].mean()
        assert math.isclose(found[f"precision@{threshold}"], precision)
        assert math.isclose(found[f"recall@{threshold}"], recall)
        low, high = found[f"precision@{threshold}_interval"]
        assert low < precision < high


def test_metrics_are_chosen_by_name(log):
    """`--metrics` shows what is asked for, a threshold once for each given or behind ``@``."""
    code, out, _ = run(
        log[0],
        "--metrics",
        "mcc,fpr@0.2,roc_auc",
        "--threshold",
        "0.4",
        "--format",
        "csv",
        "--window",
        "month",
    )
    rows = list(csv.reader(io.StringIO(out)))

    assert code == 0
    assert rows[0] == [
        "start",
        "end",
        "mcc@0.4",
        "fpr@0.2",
        "fpr@0.2_low",
        "fpr@0.2_high",
        "roc_auc",
        "roc_auc_low",
        "roc_auc_high",
    ]
    assert all(float(cell) for cell in rows[1][2:])


def test_a_file_without_times_is_one_window(tmp_path):
    """No time column: one row for all, no invented dates, pending labels counted."""
    path = tmp_path / "day.csv"
    path.write_text("score,label\n0.9,\n0.8,1\n0.6,0\n0.7,NA\n0.4,1\n0.3,0\n")
    found = run_json(path)
    code, out, err = run(path)

    assert found["n_pending"] == 2
    assert len(found["windows"]) == 1
    assert found["windows"][0]["start"] is None
    assert found["windows"][0]["n_samples"] == 4
    assert found["windows"][0]["roc_auc"] == 0.75
    assert code == 0
    assert "all rows" in out
    assert "2 rows pending: their label is not known yet" in err


def test_weights_count_as_repetitions(tmp_path):
    """Integer weights give the same values as rows repeated as often."""
    times, scores, labels = rows_of(300, days=1, lattice=8)
    weights = np.random.default_rng(1).integers(0, 4, 300)
    weighted = tmp_path / "weighted.parquet"
    pq.write_table(
        pa.table({"time": times, "score": scores, "label": labels, "weight": weights}), weighted
    )
    repeated = tmp_path / "repeated.parquet"
    columns = {"time": times, "score": scores, "label": labels}
    pq.write_table(
        pa.table({name: np.repeat(column, weights) for name, column in columns.items()}), repeated
    )
    found, truth = (run_json(path, "--scale", "exact")["all"] for path in (weighted, repeated))

    for name in ("n_samples", "prevalence", "roc_auc", "average_precision"):
        assert math.isclose(found[name], truth[name])


def test_standard_input_and_several_files_give_the_same(log, tmp_path):
    """A log, the same log through a pipe, and the same log in two files answer alike."""
    path, rows = log
    halves = [
        write_csv(tmp_path / f"half{number}.csv", *(column[part] for column in rows))
        for number, part in enumerate((slice(0, 1_500), slice(1_500, None)))
    ]
    whole = run_json(path, "--window", "1d")["windows"]

    assert run_json("-", "--window", "1d", stdin=path.read_text())["windows"] == whole
    assert run_json(*halves, "--window", "1d")["windows"] == whole


def test_start_and_end_cut_exactly(log):
    """Events outside ``[start, end)`` are left out and counted, to the second."""
    path, (times, _, labels) = log
    found = run_json(path, "--start", "2024-03-06T12:34:56Z", "--end", "2024-03-09T00:00:01Z")
    low, high = 1_709_728_496, 1_709_942_401
    inside = (times >= low) & (times < high)

    assert found["all"]["n_samples"] == inside.sum()
    assert found["all"]["n_pos"] == labels[inside].sum()
    assert found["n_outside"] == 3_000 - inside.sum()


def test_a_window_is_chosen_for_the_span(tmp_path):
    """Without `--window` a few dozen rows come out, and it says which window that was."""
    for days, window in ((0.01, "1m"), (1, "1h"), (20, "1d"), (200, "1w")):
        path = write_csv(tmp_path / "log.csv", *rows_of(500, days=days))
        code, out, err = run(path)
        assert code == 0
        assert f"window {window} (chosen for the span; --window sets it)" in err
        assert 10 <= len(out.splitlines()) <= 45


def test_few_distinct_scores_suggest_the_exact_scale(tmp_path):
    """Scores with two decimals bring up `--scale exact`; on it, and for others, nothing."""
    path = write_csv(tmp_path / "log.csv", *rows_of(2_000, lattice=50))
    other = write_csv(tmp_path / "other.csv", *rows_of(2_000))
    suggestion = "scores take only 51 distinct values: --scale exact"

    assert suggestion in run(path)[2]
    assert "--scale exact" not in run(path, "--scale", "exact")[2]
    assert "--scale exact" not in run(other)[2]


@pytest.mark.parametrize("scale", ["probability", "exact", "real"])
def test_verify_compares_every_window_with_scikit_learn(log, scale):
    """`--verify` says how far the windows are from scikit-learn and that the bounds held."""
    path, _ = log
    code, _, err = run(
        path, "--verify", "--scale", scale, "--window", "1d", "--start", "2024-03-06T10:00Z"
    )
    line = next(line for line in err.splitlines() if line.startswith("verified"))

    assert code == 0
    assert "verified 10 windows on the raw rows" in line
    assert "all event counts equal" in line
    assert "every bound holds" in line


def test_verify_sees_a_wrong_window(log, monkeypatch):
    """When a value lies beyond its bounds the run ends with 1 and names it."""
    monkeypatch.setitem(verify._SECOND_OPINIONS, "roc_auc", lambda *_: 0.123)
    code, _, err = run(log[0], "--verify", "--window", "month")

    assert code == 1
    assert "beyond bounds: ('roc_auc from" in err


def test_plot_draws_png_and_svg(log, tmp_path):
    """`--plot` writes the picture that the ending asks for; another ending is refused first."""
    for name in ("history.png", "history.svg"):
        assert run(log[0], "--plot", tmp_path / name)[0] == 0
        assert (tmp_path / name).stat().st_size > 10_000
    code, out, err = run(log[0], "--plot", "history.gif")

    assert (code, out) == (2, "")
    assert "must end in .png or .svg, got 'history.gif'" in err


def test_a_reference_tells_what_changed_and_marks_when(tmp_path):
    """From day 40 on twice as many are positive: said in words, marked in the table, in JSON."""
    rng = np.random.default_rng(3)
    n = 30_000
    times = 1_704_067_200 + np.sort(rng.random(n)) * 60 * 86_400
    labels = (rng.random(n) < np.where(times < 1_704_067_200 + 40 * 86_400, 0.1, 0.2)).astype(int)
    scores = np.clip(rng.beta(2, 8, n) + 0.2 * labels, 0, 1)
    path = write_csv(tmp_path / "log.csv", times, scores, labels)
    span = ("--reference", "2024-01-01..2024-01-31", "--tz", "UTC", "--window", "1w")
    code, out, _ = run(path, *span, "--threshold", "0.5")
    found = run_json(path, *span)["reference"]
    marked = [line.split()[0] for line in out.splitlines() if line.rstrip().endswith("▲")]

    assert code == 0
    assert marked == ["2024-02-05", "2024-02-12", "2024-02-19", "2024-02-26"]
    assert out.count("Class ratio: seen") == 1
    assert "The share of positives rose; no change of the ranking is seen." in out
    assert "Class ratio: seen to move up on 2024-02-" in out
    assert {one["direction"] for one in found["class_ratio_moved"]} == {"up"}
    assert found["class_ratio_moved"][0]["began"][:10] in ("2024-02-09", "2024-02-10")
    assert found["prevalence"]["difference"] > 0


def test_a_quiet_reference_says_so(log):
    """Nothing is marked where nothing changed, and the text says that nothing was seen."""
    code, out, _ = run(log[0], "--reference", "2024-03-05..2024-03-09", "--tz", "UTC")

    assert code == 0
    assert "▲" not in out
    assert "Class ratio: not seen to move" in out


BAD = [
    (["--metrics", "rocauc"], "did you mean 'roc_auc'?"),
    (["--metrics", "f_beta@0.5@beta=1e200"], "beta must be in [0, 1e+06], got 1e+200"),
    (["--metrics", "f_beta@0.5@beta=-1"], "beta must be in [0, 1e+06], got -1.0"),
    (["--metrics", "log_loss,brier_reliability@n_groups=inf"], "n_groups must be finite, got inf"),
    (["--metrics", "precision"], "metric 'precision' needs threshold: write precision@0.5"),
    (["--window", "fortnight"], "window must be a length of time"),
    (["--pane", "0.5s"], "pane must be a whole number of seconds"),
    (["--start", "yesterday"], "--start must be a time such as"),
    (["--start", "2024-03-06"], "--start must carry an offset, got '2024-03-06'; or give --tz"),
    (["--tz", "Mars/Base"], "tz must be"),
    (["--reference", "2024-03-06"], "--reference must be START..END, got '2024-03-06'"),
    (["--reference", "2024-03-09..2024-03-06", "--tz", "UTC"], "must end after it starts"),
    (["--reference", "2024-03-06..2025-03-06", "--tz", "UTC"], "end before the last event"),
    (["--threshold", "1.5"], "threshold must be in (0, 1] on probability, got 1.5"),
    (["--score", "scor"], "scor"),
    (["--window", "1s", "--pane", "1s", "--start", "1990-01-01T00:00Z"], "at most"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(one) for one, _ in BAD])
def test_a_wrong_option_is_one_line_and_exit_code_2(log, arguments, message):
    """What the user can mend is said in one line on standard error, without a traceback."""
    code, out, err = run(log[0], *arguments)

    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("streamauc: ")


def test_a_bad_row_stops_the_run_or_is_counted(tmp_path):
    """A bad row is named by file, line, column and value; with `--skip-bad` it is counted."""
    path = write_csv(tmp_path / "log.csv", *rows_of(50), extra=["2024-03-20T00:00Z,1.7,0"])
    code, out, err = run(path)

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].endswith(
        "log.csv, line 52, column score: must be in [0, 1], got 1.7"
    )
    found = run_json(path, "--skip-bad")
    assert found["n_bad"] == 1
    assert found["all"]["n_samples"] == 50


def test_a_file_without_outcomes_says_what_it_held(tmp_path):
    """Nothing to report is an error that counts what was left out."""
    path = tmp_path / "log.csv"
    path.write_text("score,label\n0.5,\n0.6,\n")
    code, _, err = run(path)

    assert code == 2
    assert "must hold events with outcomes, got none (2 pending)" in err


def test_a_positive_label_that_never_occurs_is_pointed_out(tmp_path):
    """A misspelt `--positive` would make every row negative: it says so."""
    path = tmp_path / "log.csv"
    path.write_text("score,label\n0.5,fraud\n0.6,ok\n")

    assert run_json(path, "--positive", "fraud")["all"]["n_pos"] == 1
    assert "no row has the positive label 'Fraud'" in run(path, "--positive", "Fraud")[2]


def test_a_pipe_gets_the_table_whole_and_no_progress(log):
    """Piped, no line is cut or wrapped, no colour or bar is written, and errors end with 2."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "streamauc",
        "replay",
        str(log[0]),
        "--window",
        "1d",
        "--threshold",
        "0.1",
        "--threshold",
        "0.2",
        "--threshold",
        "0.3",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert len(done.stdout.splitlines()) == 13  # two lines of heads, ten days, all
    assert "\x1b" not in done.stdout + done.stderr
    assert "reading" not in done.stderr
    assert max(map(len, done.stdout.splitlines())) > 130


@pytest.mark.parametrize(("columns", "with_intervals"), [(60, False), (80, False), (150, True)])
def test_a_narrow_screen_loses_intervals_and_no_number(log, columns, with_intervals):
    """On a terminal the table shrinks by leaving the intervals out, and says so."""
    command = f"COLUMNS={columns} {sys.executable} -m streamauc replay {log[0]} --window 1d"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "…" not in done.stdout
    assert ("[" in done.stdout.replace("\x1b[", "")) is with_intervals
    assert ("too narrow for the intervals" in done.stdout) is not with_intervals


def test_a_bar_shows_on_a_terminal(log):
    """On a terminal the progress bar is drawn on standard error."""
    script = [
        "script",
        "-qec",
        f"{sys.executable} -m streamauc replay {log[0]} >/dev/null",
        "/dev/null",
    ]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=True)

    assert "reading" in done.stdout


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Ten times the rows need hardly more memory: the file is read in batches."""
    peaks = []
    for n in (400_000, 4_000_000):
        times, scores, labels = rows_of(n)
        path = tmp_path / f"{n}.parquet"
        table = pa.table({"time": times, "score": scores, "label": labels})
        pq.write_table(table, path, row_group_size=100_000)
        code = (
            "import sys; from streamauc.cli import main\n"
            "try: main()\n"
            "except SystemExit as end: assert not end.code\n"
            "peak = next(line for line in open('/proc/self/status') if 'VmHWM' in line)\n"
            "print(peak.split()[1], file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "replay", str(path)],
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        peaks.append(int(done.stderr.splitlines()[-1]) / 1024)

    assert peaks[1] - peaks[0] < 40, peaks  # the larger file's columns alone hold 96 MB


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("precision", "needs threshold: write precision@0.5, or --threshold"),
        ("lift", "needs share: write lift@0.1"),
        ("mean_cost@0.5", "needs fn: write mean_cost@0.5@fn=1@fp=1"),
        ("f_beta", "needs threshold: write f_beta@0.5@beta=1"),
    ],
)
def test_a_metric_that_lacks_a_parameter_says_how_to_give_it(metric, message):
    """In the words in which it can be typed again."""
    with pytest.raises(ValueError, match=re.escape(message)):
        choose_metrics(metric, ())
    fixed = message.partition("write ")[2].removesuffix(", or --threshold")
    assert [shown.spec for shown in choose_metrics(fixed, ())] == [fixed]
