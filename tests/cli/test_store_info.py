"""``streamauc store info``, ``verify`` and ``compact``: what they print, and how they end."""

import json
import math
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from store_files import MAKERS, NOW, TIERS, events, everything, monitor, run

from streamauc import Scale
from streamauc.cli.storing import compact, info
from streamauc.cli.storing.report import info_lines
from streamauc.rules.selector import Selector
from streamauc.store import Store

COMMANDS = ("info", "verify", "compact", "export", "import", "repair")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.db"


def lines(path, now=NOW):
    """Return what `info` prints, as of a time."""
    with Store(path, read_only=True) as store:
        return list(info_lines(info.gather(store, Selector(), now)))


def test_info_of_an_empty_store(path):
    """It says so."""
    MAKERS["empty"](path)
    (line,) = lines(path)
    assert line.startswith(f"{path}: ")
    assert line.endswith(", schema version 1, 0 series")
    assert run("info", path)[1] == f"{line}\n"


def test_info_line_by_line(path):
    """Settings, span, panes, what waits, and every writer in words."""
    MAKERS["predicted"](path)
    with Store(path) as store:
        (writer,) = store.series({"model": "fraud"}).writers()
    assert lines(path, NOW + 7_300)[1:] == [
        "",
        '{model="fraud"}',
        "  scale      probability(bits=7)",
        "  classes    negative 'good', positive 'bad'",
        "  clock      time",
        "  tiers      1m for 2d, 1h for 90d, 1d for 5y",
        "  span       2026-07-18 18:00 to 2026-07-19 23:59 UTC",
        "  latest     2026-07-20 00:00 UTC, 2 hours ago",
        "  panes                 1m  1h  1d",
        "             predicted  11   0   0",
        "             labelled    5   0   0",
        "  events     11 counted",
        "  waiting    5 predictions for a label, 2 labels for a prediction",
        f"  writers    {writer.id}  ended 2 hours ago, 11 events",
    ]


def test_a_dead_writer_stands_out(path):
    """One that says nothing for two minutes and did not say that it ended."""
    one = monitor(path)
    one.update(1, 0.5, NOW)
    one.flush()
    assert "alive, wrote 50 seconds ago, 1 event" in lines(path, NOW + 50)[-1]
    assert "SILENT, last wrote 5 minutes ago, 1 event" in lines(path, NOW + 300)[-1]
    one.close()
    assert "ended just now" in lines(path, NOW)[-1]


def test_info_of_positions_references_and_event_time(path):
    """They stand behind the series."""
    MAKERS["several"](path)
    found = "\n".join(lines(path))
    assert "  clock      event time\n" in found
    assert "  scale      probability(bits=5, thresholds=(0.25, 0.7))\n" in found
    assert '  real.csv  {"offset": 1, "more": [1.5, null, "é"]}\n' in found
    assert "references\n  v1  2 events, 1 positive\n    saved" in found


def test_nothing_is_wider_than_a_screen(path):
    """Unless labels or positions are."""
    MAKERS["predicted"](path)
    MAKERS["several"](path)
    assert max(map(len, lines(path)[1:])) <= 80


def test_info_as_json(path):
    """All of it, times in ISO 8601, what is infinite null; chosen series only."""
    MAKERS["several"](path)
    MAKERS["predicted"](path)
    code, out, _ = run(
        "info", path, "--format", "json", "--series", "model=fraud", "--series", "kind="
    )
    found = json.loads(out)
    assert code == 0
    (series,) = found["series"]
    assert series["labels"] == {"model": "fraud"}
    assert series["n_panes"] == {"predicted": [11, 0, 0], "labelled": [5, 0, 0]}
    assert series["stats"]["n_open"] == 5
    assert series["latest"] == "2026-07-20T00:00:00+00:00"
    assert (series["clock"], series["classes"]) == ("time", ["good", "bad"])
    assert [one["state"] for one in series["writers"]] == ["ended"]
    assert found["positions"]["real.csv"]["offset"] == 1
    assert [one["name"] for one in found["references"]] == ["v1"]
    everything_known = json.loads(run("info", path, "--format", "json")[1])
    assert len(everything_known["series"]) == 4
    assert "1 of 4 series" in run("info", path, "--series", "kind=")[1]


@pytest.mark.parametrize("name", MAKERS)
def test_a_whole_store(path, name):
    """Exit code 0, and one line; reading changes nothing."""
    MAKERS[name](path)
    before = everything(path)
    code, out, _ = run("verify", path)
    assert (code, out.count("\n")) == (0, 1)
    assert f"{path}: all is as it was written (" in out
    assert json.loads(run("verify", path, "--format", "json")[1])["whole"] is True
    run("info", path)
    run("export", path, path.with_name("out.parquet"))
    assert everything(path) == before


def damage(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0


def test_every_damage_is_listed_with_its_place(path):
    """Exit code 1: what is wrong, and where."""
    MAKERS["predicted"](path)
    MAKERS["several"](path)
    damage(
        path,
        "UPDATE pane SET counts = x'00112233445566' WHERE id = (SELECT min(id) FROM pane)",
        "DELETE FROM pane WHERE id = (SELECT max(id) FROM pane)",
        "UPDATE position SET value = '7' WHERE name = 'real.csv'",
        "UPDATE entry SET label = 1 WHERE key = '\"a\"' OR key = '1'",
    )
    code, out, _ = run("verify", path)
    assert code == 1
    assert f"{path}: damaged in " in out
    for place in (
        'table pane, {model="fraud"}, predicted, tier 0, from 2026-07-18 18:00 UTC on',
        'table chunk, {kind="exact", model="fraud"}, labelled, tier 0, from ',
        "table position, key real.csv",
        'table entry, {model="fraud"}, key ',
    ):
        assert place in out
    found = json.loads(run("verify", path, "--format", "json")[1])
    assert found["whole"] is False
    assert {one["table"] for one in found["problems"]} >= {"pane", "chunk", "position", "entry"}
    (pane,) = (one for one in found["problems"] if one["table"] == "pane")
    assert pane["start"] == "2026-07-18T18:00:00+00:00"


@pytest.mark.parametrize("command", ["info", "export"])
def test_other_commands_name_the_damage_and_the_command_that_lists_it(path, tmp_path, command):
    """In one line; nothing half-written is left."""
    MAKERS["several"](path)
    damage(path, "UPDATE position SET value = '7'", "DELETE FROM pane WHERE id % 2 = 0")
    more = [tmp_path / "out.parquet"] if command == "export" else []
    code, out, err = run(command, path, *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"; streamauc store verify {path} lists all damage" in err
    assert f"streamauc store repair {path} gives up damaged panes" in err
    assert [one.name for one in tmp_path.iterdir() if "parquet" in one.name] == []


def test_repair_gives_up_what_is_damaged_and_says_what(path):
    """What is damaged besides is left, and makes the exit code 1."""
    MAKERS["several"](path)
    assert run("repair", path)[:2] == (0, f"{path}: no pane is damaged; nothing was changed\n")
    spoil = "UPDATE pane SET counts = x'00112233445566' WHERE id = (SELECT min(id) FROM pane)"
    damage(path, spoil)
    assert f"streamauc store repair {path} gives up the damaged panes" in run("verify", path)[1]
    code, out, _ = run("repair", path)
    assert code == 0
    assert f"{path}: given up in 2 places; the events that were there are gone" in out
    assert 'table pane, {kind="thresholds", model="fraud"}, labelled, tier 0, from ' in out
    assert run("verify", path)[0] == 0
    damage(path, spoil, "UPDATE position SET value = '7' WHERE name = 'real.csv'")
    code, out, _ = run("repair", path, "--format", "json")
    found = json.loads(out)
    assert (code, found["whole"], found["n_problems_left"]) == (1, False, 1)
    assert [one["table"] for one in found["given_up"]] == ["pane", "chunk"]
    assert "streamauc store repair" not in run("verify", path)[1]


def test_a_file_torn_to_pieces(path):
    """Damage beyond the tables is damage, and SQLite's words about it are kept short."""
    MAKERS["coarse"](path)
    content = path.read_bytes()
    path.write_bytes(content[:4_096] + b"\xa5" * 20_000 + content[24_096:])
    code, out, _ = run("verify", path)
    assert code == 1
    assert out.count("\n") < 20
    path.write_bytes(content[:5_000])
    assert run("verify", path)[0] == 1


@pytest.mark.parametrize("command", COMMANDS[:4])
def test_a_file_that_is_missing_or_something_else(path, tmp_path, command):
    """Exit code 2 and one line; a name that is misspelt makes no store."""
    more = [tmp_path / "out.parquet"] if command == "export" else []
    code, out, err = run(command, path, *more)
    assert (code, out, err) == (2, "", f"streamauc: there is no file {path}\n")
    assert not path.exists()
    path.write_text("a text and no store, long enough to be one" * 100)
    code, out, err = run(command, path, *more)
    assert (code, out) == (2, "")
    assert "is no store" in err


def test_compact_rolls_up_what_nobody_writes_to_any_more(path, monkeypatch):
    """By the present for a clock of time; the file shrinks, and counts stay."""
    with monitor(path, tiers=TIERS) as one:
        one.update_many(*events(5_000, start=NOW - 86_400, end=NOW))
    before = everything(path)
    monkeypatch.setattr(compact.time, "time", lambda: NOW + 4 * 86_400)
    code, out, _ = run("compact", path)
    (series,) = everything(path)["series"].values()
    assert code == 0
    assert " before, " in out
    assert "rolled up: 1,3" in out
    assert {tier for _, tier, _ in series["panes"]} == {1}
    assert sum(n for pane in series["panes"].values() for n, _ in pane.values()) == 5_000
    assert before["positions"] == everything(path)["positions"]
    found = json.loads(run("compact", path, "--format", "json")[1])
    assert found["nbytes"] == found["nbytes_before"] == path.stat().st_size
    assert found["log_empty"] is True
    assert "nothing saved\n  no panes had to be rolled up" in run("compact", path)[1]


def test_compact_gives_free_space_back(path):
    """What was deleted leaves the file."""
    with Store(path) as store:
        with store.write() as batch:
            batch.save("detector", "large", bytes(range(256)) * 8_000, NOW)
        with store.write() as batch:
            batch.delete("detector", "large")
    before = path.stat().st_size
    assert run("compact", path)[0] == 0
    assert path.stat().st_size < before / 10 or before < 10**5


def test_event_time_goes_as_far_as_the_events(path):
    """A log of long ago keeps its panes; only who asks for it lets them expire."""
    with monitor(path, clock="event", tiers=((60, "2d"), (3_600, math.inf))) as one:
        one.update_many(*events(200, start=0, end=86_400))
    before = everything(path)
    assert run("compact", path)[0] == 0
    assert everything(path) == before
    assert run("compact", path, "--now", "1980-01-01T00:00Z")[0] == 0
    (series,) = everything(path)["series"].values()
    assert {tier for _, tier, _ in series["panes"]} == {1}


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ("2206-01-01T00:00Z", "--now must not be later than the present or the latest event"),
        ("2026-01-01", "--now must carry a time zone"),
        ("tomorrow", "--now must be an ISO 8601 time, got 'tomorrow'"),
    ],
)
def test_a_bad_time_is_refused(path, now, message):
    """A mistyped year would let everything expire."""
    MAKERS["plain"](path)
    before = everything(path)
    code, _, err = run("compact", path, "--now", now)
    assert code == 2
    assert message in err
    assert everything(path) == before


def test_compact_beside_a_reader_says_that_the_log_stays(path, monkeypatch):
    """A reader needs the old pages: nobody waits for it, and nothing is lost."""
    MAKERS["plain"](path)
    before = everything(path)
    monkeypatch.setattr(compact, "_CUT_MILLISECONDS", 10)
    monkeypatch.setattr(compact.time, "time", lambda: NOW)
    with Store(path) as store, store.database.snapshot() as connection:
        connection.execute("SELECT count(*) FROM pane").fetchone()
        code, _, err = run("compact", path)
    assert (code, "a reader still needs the log" in err) == (0, True)
    assert everything(path) == before


def test_a_store_that_is_locked_is_said_to_be(path, monkeypatch):
    """After a bounded wait."""
    MAKERS["plain"](path)
    monkeypatch.setattr(compact, "_BUSY_SECONDS", 0.1)
    with (
        Store(path) as store,
        store.write(),
        Store(path, busy_seconds=0.1) as other,
        pytest.raises(TimeoutError),
    ):
        compact.compact(other, None, NOW)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_fits_the_screen_and_its_paragraphs_flow(command, columns, monkeypatch):
    """No line is broken in the middle of a paragraph, and tables keep their lines."""
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = run(command, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= int(columns)
    for block in out.split("\n" + " " * int(columns) + "\n")[1:-1]:
        rows = block.splitlines()
        if not rows[0].startswith("     ") and "│" not in block and len(rows) > 1:
            words = [row.split()[0] for row in rows[1:]]
            for row, word in zip(rows, words, strict=False):
                assert len(row.rstrip()) + 1 + len(word) > int(columns) - 2
    if command == "export":
        assert "\n     score_low, score_high  score_low <= score < score_high" in out
        assert "\n     GROUP BY day ORDER BY day" in out


def test_output_pipes(path):
    """Results alone go to standard output, whole lines, without colour."""
    MAKERS["predicted"](path)
    command = [sys.executable, "-m", "streamauc", "store", "info", str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    assert b"  scale      probability(bits=7)\n" in done.stdout


def test_starting_imports_nothing_that_a_command_does_not_need(path):
    """No Arrow for who only looks."""
    MAKERS["plain"](path)
    script = (
        "import sys; from streamauc.cli.app import app\n"
        "assert 'sqlite3' not in sys.modules and 'pyarrow' not in sys.modules\n"
        f"try: app(['store', 'info', {str(path)!r}])\n"
        "except SystemExit: pass\n"
        "assert 'sqlite3' in sys.modules and 'pyarrow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_scale_without_thresholds_reads_as_in_python(path):
    """Exact and real."""
    MAKERS["several"](path)
    found = "\n".join(lines(path))
    for scale in (Scale.exact(), Scale.real(bits=3)):
        assert f"  scale      {scale}\n" in found
