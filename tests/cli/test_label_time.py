"""``replay --label-time``: what was known when, and what a detector made of it."""

import csv
import io
import json
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from typer.testing import CliRunner

from streamauc.cli.app import app

START, HOUR, DAY = 1_704_067_200, 3600, 86_400  # 2024-01-01


def run(*arguments):
    done = CliRunner().invoke(app, ["replay", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def run_json(*arguments):
    code, out, err = run(*arguments, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def stream(n=6_000, *, days=10, seed=0, delay=3 * HOUR, prevalence=0.2, rise=1.0, rise_day=0):
    """Return rows (time, score, label, known at): positives take twice as long to be known."""
    rng = np.random.default_rng(seed)
    times = START + np.sort(rng.random(n)) * days * DAY
    share = np.where(times < START + rise_day * DAY, prevalence, rise * prevalence)
    labels = (rng.random(n) < share).astype(int)
    scores = np.clip(rng.beta(2, 8, n) + 0.2 * labels, 0, 1)
    known = times + rng.exponential(delay / 3, n) * (1 + labels)
    return np.array([times, scores, labels, known]).T


def write(path, rows):
    """Write rows; those known at infinity have no label yet."""
    lines = ["time,score,label,label_time"]
    for moment, score, label, known in rows:
        known_cells = ["", ""] if math.isinf(known) else [f"{int(label)}", iso(known)]
        lines.append(",".join([iso(moment), repr(float(score)), *known_cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


def iso(moment):
    return datetime.fromtimestamp(moment, UTC).isoformat()


@pytest.fixture(scope="module")
def rows():
    found = stream()
    found[::50, 3] = math.inf
    return found


@pytest.fixture(scope="module")
def log(rows, tmp_path_factory):
    return write(tmp_path_factory.mktemp("log") / "log.csv", rows)


def offline(rows, start, end, by):
    """Return (n_samples, n_pos, coverage) of a span from what was known at the moment `by`."""
    inside = rows[(rows[:, 0] >= start) & (rows[:, 0] < end) & (rows[:, 0] < by)]
    known = inside[inside[:, 3] < by]
    return len(known), int(known[:, 2].sum()), len(known) / len(inside)


@pytest.mark.parametrize("end", [None, START + 7 * DAY, START + 7 * DAY + 5 * HOUR + 17 * 60])
def test_windows_hold_what_was_known_by_the_end(log, rows, end):
    """The last event, or --end, is the moment at which everything is looked at."""
    by = rows[:, 0].max() + 1e-3 if end is None else end
    cut = () if end is None else ("--end", iso(end))
    found = run_json(log, "--label-time", "label_time", "--window", "6h", *cut)

    # In the last window the pane of the end is cut.
    for window in found["windows"]:
        start, stop = (datetime.fromisoformat(window[key]).timestamp() for key in ("start", "end"))
        n_samples, n_pos, coverage = offline(rows, start, stop, by)
        assert (window["n_samples"], window["n_pos"]) == (n_samples, n_pos)
        assert window["coverage"] == pytest.approx(coverage, abs=1e-12)
        assert ("immature" in window["caveats"]) == (coverage < 0.95)
    assert sum(window["n_samples"] for window in found["windows"]) == found["all"]["n_samples"]
    later = (rows[:, 0] < by) & (rows[:, 3] >= by)
    assert found["n_unknown"] == np.isfinite(rows[later, 3]).sum()
    assert found["n_unknown"] > 20


def test_the_order_of_the_file_makes_no_difference(log, rows, tmp_path):
    """A log sorted by label time, or not at all, is replayed in the order of what happened."""
    options = ("--label-time", "label_time", "--reference", "2024-01-01..2024-01-05", "--tz", "UTC")
    shuffled = write(tmp_path / "log.csv", np.random.default_rng(1).permutation(rows))
    one, other = (run_json(path, *options) for path in (log, shuffled))
    del one["files"], other["files"]

    assert one == other


def test_a_table_marks_what_is_immature(log):
    code, out, err = run(log, "--label-time", "label_time", "--window", "6h")
    marked = [line for line in out.splitlines() if line.startswith("2024") and "¹" in line]

    assert code == 0
    assert len(marked) in (1, 2)
    assert marked[-1].startswith("2024-01-10 18:00")
    assert "¹ too few labels known yet, and early ones are not a fair sample" in out
    assert "120 rows pending" in err
    assert "labels not used: they became known after the last event, or --end" in err


def test_csv_has_the_coverage(log):
    _, out, _ = run(log, "--label-time", "label_time", "--window", "1d", "--format", "csv")
    shares = [float(row["coverage"]) for row in csv.DictReader(io.StringIO(out))]

    assert len(shares) == 10
    assert all(0.95 < share < 1 for share in shares[:-1])
    assert shares[-1] < 0.95


def test_without_a_label_time_nothing_is_said_of_coverage(log):
    code, out, _ = run(log, "--window", "1d")

    assert code == 0
    assert "known" not in out


def test_a_move_is_seen_when_its_labels_are_known(tmp_path):
    """Not before: labels that take four days to come tell of it at least that much later."""
    options = ("--reference", "2024-01-01..2024-01-31", "--tz", "UTC", "--window", "1w")
    seen = {}
    for delay in (HOUR, 4 * DAY):
        rows = stream(40_000, days=90, delay=delay, prevalence=0.1, rise=2, rise_day=40)
        path = write(tmp_path / f"{delay}.csv", rows)
        found = run_json(path, *options, "--label-time", "label_time")["reference"]
        first = found["class_ratio_moved"][0]
        seen[delay] = datetime.fromisoformat(first["seen"]).timestamp() - START - 40 * DAY
        assert first["direction"] == "up"

    assert 0 < seen[HOUR] < 6 * DAY
    assert seen[4 * DAY] > seen[HOUR] + 3 * DAY


@pytest.mark.parametrize(("min_coverage", "alarms"), [(0.97, False), (0.5, True)])
def test_immature_hours_do_not_alarm(tmp_path, min_coverage, alarms):
    """Late positives: read too early every day looks like a fall; nothing happened here."""
    rows = stream(60_000, days=60, delay=DAY, prevalence=0.3)
    path = write(tmp_path / "log.csv", rows)
    code, out, _ = run(
        path,
        *("--label-time", "label_time", "--reference", "2024-01-01..2024-01-25", "--tz", "UTC"),
        *("--min-coverage", min_coverage),
    )

    assert code == 0
    assert ("seen to move down" in out) == alarms
    assert ("Class ratio: not seen to move by more than it varies" in out) != alarms


def test_the_comparison_ends_where_labels_do(tmp_path):
    rows = stream(20_000, days=40, delay=5 * DAY)
    path = write(tmp_path / "log.csv", rows)
    options = ("--label-time", "label_time", "--reference", "2024-01-01..2024-01-15", "--tz", "UTC")
    _, out, _ = run(path, *options)
    until = run_json(path, *options)["reference"]["compared_until"]

    assert f"Compared up to {until[:10]}: of what came later too few labels are known" in out
    assert "2024-01-25" < until < "2024-02-08"


def test_a_reference_that_never_matures_is_said(tmp_path):
    rows = stream(5_000, days=20)
    rows[(rows[:, 0] < START + 5 * DAY) & (np.arange(len(rows)) % 2 == 0), 3] = math.inf
    path = write(tmp_path / "log.csv", rows)
    code, out, _ = run(
        path, "--label-time", "label_time", "--reference", "2024-01-01..2024-01-05", "--tz", "UTC"
    )

    assert code == 0
    assert "Class ratio: not watched, too few labels of the reference are known." in out


def test_verify_compares_with_the_rows_known_by_then(log):
    code, _, err = run(log, "--label-time", "label_time", "--window", "1d", "--verify")

    assert code == 0
    assert "verified 11 windows" in err
    assert "all event counts equal" in err


def test_the_end_is_a_moment_of_looking_not_only_of_cutting(tmp_path):
    """Labels that come after the last event and before --end are known then."""
    rows = np.array([[START, 0.3, 0, START + HOUR], [START + 60, 0.7, 1, START + 3 * HOUR]])
    path = write(tmp_path / "log.csv", rows)
    options = ("--label-time", "label_time", "--window", "1d")
    at_once = run_json(path, *options)
    later = run_json(path, *options, "--end", iso(START + 2 * HOUR))

    assert (at_once["all"]["n_samples"], at_once["n_unknown"]) == (0, 2)
    assert (later["all"]["n_samples"], later["n_unknown"]) == (1, 1)


def test_labels_known_before_their_event_count(tmp_path):
    """Clocks differ between hosts: such a label waits for its prediction."""
    rows = stream(500)
    rows[:, 3] = rows[:, 0] - 2 * HOUR
    found = run_json(write(tmp_path / "log.csv", rows), "--label-time", "label_time")

    assert found["all"]["n_samples"] == 500
    assert found["all"]["coverage"] == 1


def test_the_time_of_the_event_may_be_that_of_its_label(log, rows):
    found = run_json(log, "--label-time", "time", "--window", "1d")

    assert found["all"]["n_samples"] == np.isfinite(rows[:, 3]).sum()
    assert found["n_unknown"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label-time", "label_tim"], "has no column 'label_tim'; did you mean 'label_time'?"),
        (["--label-time", "label_time", "--time", ""], "--label-time needs a time column"),
        (
            ["--label-time", "label_time", "--score", "score", "--weight", "score"],
            "must stand without weights",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(log, arguments, message):
    code, out, err = run(log, *arguments)

    assert (code, out) == (2, "")
    assert message in err


def test_a_file_without_any_label_says_so(tmp_path):
    rows = stream(50)
    rows[:, 3] = math.inf
    code, _, err = run(write(tmp_path / "log.csv", rows), "--label-time", "label_time")

    assert code == 0
    assert "50 rows pending" in err
