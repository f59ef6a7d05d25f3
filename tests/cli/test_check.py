"""``streamauc check`` as a monitoring system runs it: first line, exit code, and nothing else."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import time

import pytest

from streamauc import Monitor
from streamauc.store import Store

NOW = "2026-03-01T12:00Z"
START = 1_772_366_400.0 - 3600  # an hour before

RULE = """
[[rule]]
alert = "{alert}"
metric = "{metric}"
window = "1h"
{more}
"""


def rules(tmp_path, *texts):
    path = tmp_path / "rules.toml"
    path.write_text("".join(texts))
    return path


def rule(alert, metric, *lines):
    return RULE.format(alert=alert, metric=metric, more="\n".join(lines))


@pytest.fixture
def store(tmp_path):
    """Write an hour of 600 events, half of them positive, ranked fairly."""
    path = tmp_path / "metrics.db"
    with (
        Store(path) as store,
        Monitor(clock="event", store=store, series={"model": "fraud"}) as monitor,
    ):
        for step in range(300):
            moment = START + 12.0 * step
            monitor.update(1, 0.3 + 0.5 * (step % 7) / 7, moment)
            monitor.update(0, 0.1 + 0.5 * (step % 5) / 5, moment)
    return path


def check(*arguments, now=NOW):
    return streamauc("check", *arguments, *([] if now is None else ["--now", now]))


def streamauc(*arguments):
    command = [sys.executable, "-m", "streamauc", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


CRITICAL = 'labels = { severity = "critical" }'
FINE = rule("Fine", "n_samples", "below = 10")
LOW = rule("Low", "roc_auc", "below = 0.99")
WORSE = rule("Worse", "prevalence", "above = 0.3", CRITICAL)
EMPTY = rule("Empty", "roc_auc", "below = 0.5", 'offset = "5d"')
WAITS = rule("Waits", "roc_auc", "below = 0.99", 'for = "1h"')


@pytest.mark.parametrize(
    ("texts", "code", "status"),
    [
        ((FINE,), 0, "OK"),
        ((FINE, WAITS), 0, "OK"),
        ((FINE, LOW), 1, "WARNING"),
        ((LOW, WORSE, FINE), 2, "CRITICAL"),
        ((FINE, EMPTY), 3, "UNKNOWN"),
        ((LOW, EMPTY), 3, "UNKNOWN"),
        ((LOW, EMPTY, WORSE), 2, "CRITICAL"),
    ],
)
def test_the_exit_code_is_that_of_the_worst(tmp_path, store, texts, code, status):
    """Critical, then unknown, then warning, then ok; PENDING is ok."""
    found, out, err = check(rules(tmp_path, *texts), "--store", store)

    assert (found, err) == (code, "")
    assert out.startswith(f"STREAMAUC {status} - ")


def test_the_first_line_is_that_of_a_plugin(tmp_path, store):
    """Status, text, a bar, and 'label'=value;warning;critical with ranges that are fine."""
    band = rule("Band", "prevalence", "below = 0.1", "above = 0.9")
    _, out, _ = check(rules(tmp_path, FINE, LOW, WORSE, EMPTY, band), "--store", store)
    line = out.splitlines()[0]
    text, _, data = line.partition(" | ")
    pairs = re.findall(r"'([^'=]+)'=(U|-?[\d.e+-]+);([^; ]*);([^; ]*)(?: |$)", data)

    assert line.count("|") == 1
    assert "Worse{model=fraud} FIRING: prevalence 0.5 is above 0.3" in text
    assert {label: rest for label, *rest in pairs} == {
        "Fine/fraud": ["600", "10:", ""],
        "Low/fraud": [pairs[1][1], "0.99:", ""],
        "Worse/fraud": ["0.5", "", "~:0.3"],
        "Empty/fraud": ["U", "0.5:", ""],
        "Band/fraud": ["0.5", "0.1:0.9", ""],
    }
    assert 0.5 < float(pairs[1][1]) < 0.99


def test_the_table_shows_the_worst_first_and_annotations_of_what_fires(tmp_path, store):
    said = (
        'annotations = { summary = "{{ $labels.model }} is at {{ $value | humanizePercentage }}" }'
    )
    worse = rule("Worse", "prevalence", "above = 0.3", CRITICAL, said)
    _, out, _ = check(rules(tmp_path, FINE, worse), "--store", store)
    lines = out.splitlines()

    assert lines[1].split()[:3] == ["state", "severity", "alert"]
    assert lines[2].split()[:4] == ["FIRING", "critical", "Worse", "model=fraud"]
    assert lines[3].split()[:3] == ["OK", "warning", "Fine"]
    assert lines[4] == "Worse summary: fraud is at 50%"


def test_of_what_fires_the_critical_comes_first(tmp_path, store):
    """However the rules are ordered in their file."""
    late = rule("Last", "roc_auc", "below = 0.99", CRITICAL)
    _, out, _ = check(rules(tmp_path, LOW, late), "--store", store)
    assert [line.split()[:3] for line in out.splitlines()[2:4]] == [
        ["FIRING", "critical", "Last"],
        ["FIRING", "warning", "Low"],
    ]


def test_json_is_for_programs(tmp_path, store):
    code, out, _ = check(rules(tmp_path, FINE, WORSE, EMPTY), "--store", store, "--format", "json")
    found = json.loads(out)

    assert (code, found["exit_code"], found["status"]) == (2, 2, "CRITICAL")
    assert [one["state"] for one in found["alerts"]] == ["OK", "FIRING", "NO_DATA"]
    assert found["alerts"][1]["series"] == {"model": "fraud"}
    assert found["alerts"][2]["value"] is None
    assert found["alerts"][1]["changed"]
    span = found["alerts"][1]["start"], found["alerts"][1]["end"]
    assert span == ("2026-03-01T11:00:00+00:00", "2026-03-01T12:00:00+00:00")


def test_states_are_kept_between_runs(tmp_path):
    """PENDING turns into FIRING when it has lasted, whoever runs the check; nothing starts anew."""
    path = tmp_path / "live.db"
    with Monitor(store=path, series={"model": "fraud"}) as monitor:
        monitor.update_many([0, 1], [0.9, 0.1], [time.time()] * 2)
    file = rules(tmp_path, rule("Waits", "roc_auc", "below = 0.5", 'for = "3s"'))
    states = []
    for wait in (0, 3):
        time.sleep(wait)
        code, out, _ = check(file, "--store", path, "--format", "json", now=None)
        alert = json.loads(out)["alerts"][0]
        states.append((code, alert["state"], alert["changed"]))

    assert states == [(0, "PENDING", True), (1, "FIRING", True)]
    listed = subprocess.run(
        [sys.executable, "-m", "streamauc", "rules", "history", "--store", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.splitlines()
    assert [re.sub(r".*fraud: (.*?):.*", r"\1", line) for line in listed] == [
        "-> PENDING",
        "PENDING -> FIRING",
    ]


def rules_command(*arguments):
    command = [sys.executable, "-m", "streamauc", "rules", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def test_an_alert_that_was_never_judged_is_no_quiet_one(tmp_path, store):
    """A name that is misspelt is told, and the nearest suggested."""
    nothing = rules_command("history", "--store", store, "--rule", "Fine")
    check(rules(tmp_path, FINE, LOW), "--store", store, now=None)
    right = rules_command("history", "--store", store, "--rule", "Fine")
    wrong = rules_command("history", "--store", store, "--rule", "Fine", "--rule", "Lwo")
    unsaid = rules_command("history", "--store", store)
    ended = rules_command("acknowledge", "Lwo", "--store", store)

    assert nothing[0] == 2
    assert "--rule must be an alert that was judged, got 'Fine'; no check" in nothing[2]
    assert (right[0], right[1].count("\n")) == (0, 1)
    assert (wrong[0], wrong[1]) == (2, "")
    assert "got 'Lwo'; did you mean 'Low'?" in wrong[2]
    assert (unsaid[0], unsaid[1].count("\n")) == (0, 2)
    assert (ended[0], "did you mean 'Low'" in ended[2]) == (2, True)


def test_another_time_is_tried_out_and_not_kept(tmp_path, store):
    """Else somebody who looks at the past would change what is paged now."""
    file = rules(tmp_path, WAITS)
    before = store.read_bytes()
    for _ in range(2):
        _, out, _ = check(file, "--store", store, "--format", "json")
        assert json.loads(out)["alerts"][0]["changed"]

    assert store.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stor", "x"], "No such option: --stor"),
        (["--store", "nope.db"], "nope.db: no such store"),
        (["--store", "rules.toml"], "rules.toml"),
        (["--store", "metrics.db", "--now", "yesterday"], "--now"),
        ([], "Missing option"),
    ],
)
def test_a_wrong_option_is_unknown_and_pages_nobody(
    tmp_path, store, monkeypatch, arguments, message
):
    assert store.exists()
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "streamauc", "check", str(rules(tmp_path, FINE)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 3
    assert message in done.stderr
    assert not (tmp_path / "nope.db").exists()
    assert done.stdout.startswith("STREAMAUC UNKNOWN - ")
    assert done.stdout.count("\n") == 1
    assert message in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--foo", "check", "r.toml", "--store", "m.db"], "No such option: --foo"),
        (["chek", "r.toml", "--store", "m.db"], "No such command 'chek'"),
        (["check"], "Missing argument 'RULES.toml'"),
    ],
)
def test_a_misspelt_check_is_unknown(arguments, message):
    """For those who read the exit code, and for those who read standard output."""
    code, out, err = streamauc(*arguments)

    assert (code, out.count("\n")) == (3, 1)
    assert out.startswith(f"STREAMAUC UNKNOWN - {message}")
    assert message.split(": ")[0] in err


@pytest.mark.parametrize("arguments", [["rules", "check", "r.toml"], ["replay", "--foo"], []])
def test_no_wrong_command_line_is_taken_for_an_alert(arguments):
    code, out, _ = streamauc(*arguments)

    assert code == 3
    assert "STREAMAUC" not in out


@pytest.mark.parametrize("form", [["--format", "json"], ["--format=json"]])
@pytest.mark.parametrize(
    ("more", "message"),
    [(["--store", "nope.db"], "nope.db: no such store"), (["--stor", "m.db"], "No such option")],
)
def test_what_is_wrong_is_json_for_programs(tmp_path, form, more, message):
    """They read standard output as well."""
    code, out, _ = check(rules(tmp_path, FINE), *more, *form)
    found = json.loads(out)

    assert (code, found["status"], found["exit_code"], found["alerts"]) == (3, "UNKNOWN", 3, [])
    assert message in found["error"]


def test_that_nobody_reads_what_is_wrong_is_no_alert():
    """A pipe that is closed already must not turn 3 into another code."""
    command = [sys.executable, "-m", "streamauc", "check", "no.toml", "--store", "no.db"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)


@pytest.mark.parametrize("kind", ["newer", "damaged", "foreign"])
def test_a_store_that_cannot_be_read_is_unknown(tmp_path, store, kind):
    if kind == "damaged":
        store.write_bytes(store.read_bytes()[:5000])
    elif kind == "newer":
        with contextlib.closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA user_version = 1000")
    else:
        store.write_text("name,value\n" * 500)
    code, out, err = check(rules(tmp_path, FINE), "--store", store)

    assert code == 3
    assert out.startswith("STREAMAUC UNKNOWN - ")
    assert str(store) in out
    assert str(store) in err


def test_wrong_rules_are_unknown_and_all_named(tmp_path, store):
    wrong = rule("A", "roc_acu", "below = 1") + rule("B", "precision", "belwo = 1")
    wrong += rule("C", "precision", "belwo = 1") + rule("D", "roc_auc", "below = 'a|b'")
    code, out, err = check(rules(tmp_path, wrong), "--store", store)

    assert (code, out.count("\n"), out.count("|")) == (3, 1, 0)
    assert re.match(r"STREAMAUC UNKNOWN - \S*rules.toml:4: .*; and \d more$", out)
    assert "did you mean 'roc_auc'" in err
    assert "did you mean 'below'" in err


def test_a_read_only_store_is_unknown(tmp_path, store):
    """States could not be kept, so the next check would start anew: that has to be seen."""
    if os.geteuid() == 0:
        # Nothing is read-only to root; a file in a store's place stands for it.
        store = tmp_path / "folder.db"
        store.mkdir()
    else:
        store.chmod(0o400)
    code, out, err = check(rules(tmp_path, FINE), "--store", store, now=None)

    assert code == 3
    assert out.startswith("STREAMAUC UNKNOWN - ")
    assert str(store) in err


def test_damaged_panes_are_left_out_when_asked_for_and_that_is_said(tmp_path, store):
    """Otherwise a rule that would need them is in ERROR."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE pane SET counts = x'01' WHERE id = (SELECT min(id) FROM pane)")
        connection.commit()
    low = rule("Low", "n_samples", "below = 10")
    code, out, _ = check(rules(tmp_path, low), "--store", store)
    assert (code, "DamageError" in out) == (3, True)
    code, out, err = check(rules(tmp_path, low), "--store", store, "--skip-damaged")
    assert (code, re.search(r"n_samples (\d+) \((.*)\)", out).groups()) == (
        0,
        ("590", "damaged"),
    )
    assert "left out of" in err


def test_an_empty_rules_file_watches_nothing(tmp_path, store):
    code, out, err = check(rules(tmp_path, ""), "--store", store)

    assert code == 3
    assert out.startswith("STREAMAUC UNKNOWN - ")
    assert "rule" in err


def test_a_dead_worker_is_seen(tmp_path, store):
    """It never closed, and wrote last long ago; one that ended, or was retired, is not missed."""
    alive = Monitor(clock=lambda: START, store=store, series={"model": "live"})
    alive.update(1, 0.5)
    alive.flush()
    dead = rule("Dead", "seconds_since_flush", "above = 600", 'series = { model = "live" }')
    dead = dead.replace('window = "1h"\n', "")
    first, out, _ = check(rules(tmp_path, dead), "--store", store)
    with Store(store) as opened:
        (writer,) = opened.series({"model": "live"}).writers()
    retire = [sys.executable, "-m", "streamauc", "store", "retire", str(store), writer.id]
    for code in (0, 2):  # a second time there is nothing to retire
        done = subprocess.run(retire, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
    second, out_closed, _ = check(rules(tmp_path, dead), "--store", store)

    assert first == 1, out
    assert second in (0, 3), out_closed
    alive.close()


def test_a_crash_pages_nobody(store, monkeypatch, capsys):
    """1 and 2 are alerts to a monitoring system; what nobody foresaw is unknown."""
    from streamauc import cli
    from streamauc.cli import check as module

    def crash(*_arguments, **_settings):
        raise KeyError("unforeseen")

    monkeypatch.setattr(module, "run_check", crash)
    monkeypatch.setattr(sys, "argv", ["streamauc", "check", str(store), "--store", str(store)])
    with pytest.raises(SystemExit) as end:
        cli.main()

    assert end.value.code == 3
    said = capsys.readouterr()
    assert said.out == "STREAMAUC UNKNOWN - KeyError: 'unforeseen'\n"
    assert "unforeseen" in said.err
