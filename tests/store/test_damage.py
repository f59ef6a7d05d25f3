"""Bytes of the file that were altered or lost: noticed, or harmless, never a wrong number."""

import logging
import math
import os
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from panes import cells

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.reader import SeriesReader
from streamauc.store import DamageError, Place, Store
from streamauc.store.database import Database

LONG = os.environ.get("STREAMAUC_LONG") == "1"
N_FLIPS, N_CUTS = (20_000, 500) if LONG else (1_000, 40)
SCALE = Scale.probability(bits=4)
TIERS = ((60, 7_200), (3_600, "90d"))
NOW = 1_700_000_000.0
CHANNELS = ("labelled", "predicted")


def filled(path):
    """Make a checkpointed store of two series, in minutes and hours, with everything else in it."""
    rng = np.random.default_rng(1)
    with Store(path) as store:
        for name in ("fraud", "churn"):
            series = store.series({"model": name}, SCALE, TIERS)
            with series.write() as change:
                for channel, n_classes in zip(CHANNELS, (2, 1), strict=True):
                    change.add(channel, list(minutes(rng, n_classes)))
                change.tally("worker", {"accepted": 7}, now=NOW, latest=NOW, since=NOW - 9_000)
                change.tally("other", {"accepted": 8}, now=NOW)
            series.advance(NOW)
        with store.write() as batch:
            for number in range(3):
                batch.position(f"file {number}", number)
                batch.save("detector", f"drift {number}", bytes(range(100)) * number, NOW)
                for at in (NOW - 1, NOW):
                    batch.append("detector", f"drift {number}", b"state", at)
        store.reference("fraud-v3", histogram(rng, 300), start=0, end=60, at=NOW)
    return path


def minutes(rng, n_classes):
    first = int(NOW // 60) - 240
    for pane in range(first, first + 240):
        yield pane, histogram(rng, 20, n_classes).stored


def histogram(rng, size, n_classes=2):
    labels = rng.integers(0, n_classes, size)
    return ScoreHistogram.from_scores(labels, rng.random(size), scale=SCALE, n_classes=n_classes)


def everything(path, **settings):
    """Return all that can be read from a store, as plain values."""
    with Store(path, busy_seconds=1, **settings) as store:
        found = {"positions": store.positions(), "reference": reference(store)}
        for number in range(3):
            found["position", number] = store.position(f"file {number}")
            found["state", number] = store.load("detector", f"drift {number}").body
            found["journal", number] = len(store.journal("detector", f"drift {number}"))
        for name in ("fraud", "churn"):
            series = store.series({"model": name}, SCALE, TIERS)
            found[name] = series.tallies(), len(series.writers()), series.first
            for channel, n_classes in zip(CHANNELS, (2, 1), strict=True):
                found[name, channel, "panes"] = [
                    (tier, index, part.bins.tobytes(), part.counts.tobytes())
                    for tier, index, part in series.panes(channel)
                ]
                for hours in (1, 9):
                    cover = series.cover(channel, NOW - 3_600 * hours, NOW)
                    empty = ScoreHistogram.empty(SCALE, n_classes)
                    parts = ScoreHistogram.merge([*cover.parts, empty])
                    found[name, channel, hours] = cover.start, cover.end, cells(parts)
        return found


def reference(store):
    found = store.reference("fraud-v3")
    return cells(found.histogram), found.start, found.end, found.saved


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = filled(tmp_path_factory.mktemp("whole") / "metrics.db")
    assert not path.with_name("metrics.db-wal").exists()
    return path, everything(path)


def test_the_whole_file_is_whole(whole):
    """Otherwise the tests below would show nothing."""
    path, found = whole
    with Store(path) as store:
        report = store.verify()
        assert report.is_whole
        assert (report.n_series, report.n_panes) == (2, 540)
    assert found["fraud"][0] == {"accepted": 15}


def outcome(path, right):
    """Return whether damage was noticed; fails if anything that was read is wrong."""
    try:
        found = everything(path)
    except (ValueError, OSError):
        return "noticed"
    except AttributeError as error:  # a document that is not there any more
        raise AssertionError("a document has vanished unnoticed") from error
    assert found == right
    return "harmless"


def test_flipped_bytes_never_give_a_wrong_number(whole, tmp_path):
    """Bits, bytes and runs of bytes, wherever they are: an error, or the right numbers."""
    path, right = whole
    content = path.read_bytes()
    rng = np.random.default_rng(5)
    outcomes = []
    for _ in range(N_FLIPS):
        damaged = bytearray(content)
        place = int(rng.integers(len(damaged)))
        kind = rng.random()
        if kind < 0.4:
            damaged[place] ^= 1 << int(rng.integers(8))
        elif kind < 0.8:
            damaged[place] = int(rng.integers(256))
        else:
            stop = min(len(damaged), place + int(rng.choice([4, 100, 4_096])))
            damaged[place:stop] = rng.choice([0, 255, 65], stop - place).astype(np.uint8).tobytes()
        outcomes.append(outcome(written(tmp_path, bytes(damaged)), right))
    assert outcomes.count("noticed") > 0.2 * len(outcomes)
    assert outcomes.count("harmless") > 0


def test_swapped_pages_never_give_a_wrong_number(whole, tmp_path):
    """Pages in each other's place, or an old one in place of a new one, are noticed as well."""
    path, right = whole
    content = path.read_bytes()
    n_pages = len(content) // 4_096
    rng = np.random.default_rng(6)
    for _ in range(N_FLIPS // 5):
        one, other = (int(page) for page in rng.choice(np.arange(1, n_pages), 2, replace=False))
        damaged = bytearray(content)
        damaged[other * 4_096 : (other + 1) * 4_096] = content[one * 4_096 : (one + 1) * 4_096]
        if rng.random() < 0.5:
            damaged[one * 4_096 : (one + 1) * 4_096] = content[other * 4_096 : (other + 1) * 4_096]
        outcome(written(tmp_path, bytes(damaged)), right)


def test_a_file_that_was_cut_off_never_gives_a_wrong_number(whole, tmp_path):
    """Wherever it ends."""
    path, right = whole
    content = path.read_bytes()
    rng = np.random.default_rng(7)
    outcomes = []
    for _ in range(N_CUTS):
        pages = 4_096 * int(rng.integers(1, len(content) // 4_096))
        size = int(rng.choice([int(rng.integers(1, len(content))), pages]))
        outcomes.append(outcome(written(tmp_path, content[:size]), right))
    assert outcomes.count("noticed") > 0.8 * len(outcomes)  # in the last page there may be room


def written(folder, content):
    path = folder / "damaged.db"
    for old in folder.glob("damaged.db*"):
        old.unlink()
    path.write_bytes(content)
    return path


STATEMENTS = [
    "DELETE FROM pane WHERE id = (SELECT id FROM pane LIMIT 1 OFFSET 30)",
    "DELETE FROM pane WHERE id % 2 = 0",
    "DELETE FROM pane",
    "DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)",
    "DELETE FROM chunk",
    "UPDATE chunk SET n = n + 1",
    "UPDATE chunk SET mixed = mixed + 1",
    "UPDATE pane SET id = id + 100000",
    "UPDATE pane SET counts = (SELECT counts FROM pane LIMIT 1)",
    "INSERT INTO pane SELECT id + 1000, counts FROM pane LIMIT 1",
    "DELETE FROM pane; DELETE FROM chunk",
    "DELETE FROM series WHERE id = 1",
    "DELETE FROM series",
    "UPDATE series SET change = change + 1",
    "UPDATE series SET state = replace(state, '0', '1')",
    "UPDATE series SET labels = replace(labels, 'fraud', 'freud')",
    "DELETE FROM meta",
    "UPDATE meta SET value = value + 1",
    "DELETE FROM position WHERE name = 'file 1'",
    "DELETE FROM position",
    "UPDATE position SET value = '9'",
    "DELETE FROM document WHERE name = 'drift 1'",
    "DELETE FROM document",
    "UPDATE document SET saved = 5",
    "UPDATE document SET body = x'00'",
    "UPDATE document SET name = 'drift 9' WHERE name = 'drift 1'",
    "UPDATE position SET name = 'file 9' WHERE name = 'file 1'",
    "DELETE FROM journal WHERE name = 'drift 1'",
    "DELETE FROM journal WHERE number = 1",
    "UPDATE journal SET at = 5",
    "DELETE FROM writer WHERE id = 'worker'",
    "UPDATE writer SET tallies = '{}'",
    "UPDATE writer SET flushed = 5",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_was_changed_past_the_store_is_found(whole, tmp_path, statement):
    """A row that was altered, moved, doubled or lost is found by reading and by `verify`."""
    path, right = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(statement)
        connection.commit()
    with Store(copy) as store:
        assert store.verify().problems
    if "journal WHERE name" not in statement:  # only `verify` counts the journal
        assert outcome(copy, right) == "noticed"


def test_verify_finds_what_no_question_would_meet(whole, tmp_path):
    """Rows of no series, and panes before the horizon, which are never read."""
    path, _ = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    with closing(sqlite3.connect(copy)) as connection:
        for table in ("pane", "chunk"):
            statement = f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1"  # noqa: S608
            connection.execute(statement.replace("*", COLUMNS[table]))
        connection.commit()
    with Store(copy) as store:
        series = store.series({"model": "fraud"})
        with series.write() as change:
            change.begin_at((series.first[0] + 60, series.first[1]))
        report = store.verify()
    assert [str(one.place) for one in report.problems if "no series" in one.what] == [
        "table pane, key lane 1001",
        "table chunk, key lane 1001",
    ]
    lost = [one.place for one in report.problems if "where none survives" in one.what]
    assert {(place.channel, place.tier) for place in lost} == {(channel, 0) for channel in CHANNELS}


COLUMNS = {"pane": "id + (1000 << 42), counts", "chunk": "id + (1000 << 42), n, mixed, crc"}


def test_damaged_panes_are_left_out_when_asked_for(whole, tmp_path, caplog):
    """They are logged once and listed; the others are there."""
    path, right = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    with closing(sqlite3.connect(copy)) as connection:
        (key,) = connection.execute("SELECT max(id) FROM pane").fetchone()
        connection.execute("UPDATE pane SET counts = x'0102030405' WHERE id = ?", (key,))
        connection.commit()
    caplog.set_level(logging.WARNING, logger="streamauc")
    with Store(copy, skip_damaged=True) as store:
        series = store.series({"model": "churn"})
        lost = 0
        for _ in range(3):
            cover = series.cover("predicted", NOW - 3_600 * 9, NOW)
            found = ScoreHistogram.merge(cover.parts)
            lost = sum(count for count, _ in right["churn", "predicted", 9][2].values())
            lost -= int(found.totals.sum())
        assert lost > 0
        places = series.damaged
        assert {place.table for place in places} == {"pane", "chunk"}
        assert all(place.channel == "predicted" for place in places)
        assert len(caplog.records) == len(places) == 2
        assert not store.series({"model": "fraud"}).damaged
        panes = list(series.panes("predicted"))
        assert len(panes) == len(right["churn", "predicted", "panes"]) - 1
        assert series.damaged == places
    with Store(copy) as store, pytest.raises(DamageError):
        store.series({"model": "churn"}).cover("predicted", NOW - 3_600 * 9, NOW)


def test_a_window_without_its_damaged_panes_says_so(tmp_path):
    """Only one that would hold them, whoever answers: a reader, a monitor, a history."""
    path, tiers = tmp_path / "m.db", ((60, "30d"),)
    settings = {"series": {"model": "fraud"}, "clock": lambda: 40_000.0, "tiers": tiers}
    with Monitor(store=path, **settings) as monitor:
        monitor.update_many([0, 1] * 300, [0.5] * 600, [60.0 * step for step in range(600)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE pane SET counts = x'01' WHERE id % 512 = 300")
        connection.commit()
    with Store(path, skip_damaged=True) as store:
        monitor = Monitor(store=store, **settings, flush_seconds=math.inf)
        reader = SeriesReader(store, store.series({"model": "fraud"}), lambda: 40_000.0)
        for one in (monitor, reader):
            assert "damaged" in one.window(0.0, 36_000.0).caveats
        windows = monitor.history(60, start=0.0, end=36_000.0).windows
        spoilt = [one.start for one in windows if "damaged" in one.caveats]
        # A chunk whose sum is wrong may lack any of its panes.
        assert (300 * 60.0 in spoilt, len(spoilt)) == (True, 256)
        assert "damaged" not in monitor.window(0.0, 6_000.0).caveats
        assert monitor.window(0.0, 36_000.0).n_samples == 599
        page = monitor.window(0.0, 36_000.0)._repr_html_()
        assert "damaged: panes of the store that can" in page
        monitor.close()


@pytest.mark.parametrize("statement", STATEMENTS[:9])
def test_what_is_left_out_is_never_more_than_what_is_damaged(whole, tmp_path, statement):
    """Whatever is wrong with panes and sums, the rest can be read, and nothing is made up."""
    path, right = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(statement)
    with Store(copy, skip_damaged=True) as store:
        for name in ("fraud", "churn"):
            series = store.series({"model": name})
            for channel in CHANNELS:
                found = series.cover(channel, NOW - 3_600 * 9, NOW)
                wanted = right[name, channel, 9][2]
                for part in found.parts:
                    for cell, (count, _) in cells(part).items():
                        assert count <= wanted[cell][0]
        assert any(store.series({"model": name}).damaged for name in ("fraud", "churn"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pane SET counts = x'0102030405' WHERE id % 100 = 0",
        "DELETE FROM pane WHERE id % 100 = 0",
        "DELETE FROM chunk WHERE id % 2 = 0",
        "UPDATE chunk SET n = n + 1",
    ],
)
def test_a_repaired_store_is_whole_and_goes_on(whole, tmp_path, statement):
    """Damaged panes are given up and named; all others are kept, and can be written to."""
    path, right = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(statement)
    with Store(copy) as store, Store(copy) as other:
        with pytest.raises(DamageError):
            n_events(other.series({"model": "fraud"}))
        places = store.repair()
        assert len(places) > 1
        assert store.repair() == ()
        assert store.verify().is_whole
        found = {
            (name, channel): {pane[:2] for pane in store.series({"model": name}).panes(channel)}
            for name in ("fraud", "churn")
            for channel in CHANNELS
        }
        for key, panes in found.items():
            wanted = {pane[:2] for pane in right[*key, "panes"]}
            assert panes <= wanted
            assert len(panes) >= len(wanted) - len(places)
        for series in (each.series({"model": "fraud"}) for each in (store, other)):
            before = n_events(series)
            one = ScoreHistogram.from_scores([1], [0.5], scale=SCALE).stored
            series.add("labelled", [(int(NOW // 60), one)])
            assert n_events(series) == before + 1
            series.advance(NOW + 50_000)
        assert store.verify().is_whole


def test_a_touched_pane_that_is_not_listed_is_found_by_the_sums(whole, tmp_path):
    """Whoever keeps panes in memory does not depend on the list of what was touched."""
    path, _ = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    one = ScoreHistogram.from_scores([1], [0.5], scale=SCALE).stored
    with Store(copy) as reader, Store(copy) as writer:
        kept, other = (store.series({"model": "fraud"}) for store in (reader, writer))
        before = n_events(kept)
        other.add("labelled", [(int(NOW // 60), one)])
        assert n_events(kept) == before + 1
        other.add("labelled", [(int(NOW // 60), one)])
        with Database(copy) as database, database.write() as connection:
            connection.execute("DELETE FROM touched")
        assert n_events(kept) == before + 2


def test_a_touched_pane_beside_one_that_is_listed_is_found_by_the_sums(whole, tmp_path):
    """Also where the sums of its chunk are read because of the other one."""
    path, _ = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    one = ScoreHistogram.from_scores([1], [0.5], scale=SCALE).stored
    with Store(copy) as reader, Store(copy) as writer:
        kept, other = (store.series({"model": "fraud"}) for store in (reader, writer))
        before = n_events(kept)
        panes = [int(NOW // 60) - 1, int(NOW // 60)]
        other.add("labelled", [(pane, one) for pane in panes])
        assert n_events(kept) == before + 2
        other.add("labelled", [(pane, one) for pane in panes])
        with Database(copy) as database, database.write() as connection:
            connection.execute("DELETE FROM touched WHERE pane = (SELECT max(pane) FROM touched)")
        assert n_events(kept) == before + 4


def test_a_new_channel_never_gets_the_lanes_of_another(whole, tmp_path):
    """Not even if the count of lanes is lost: panes of two series must not mix."""
    path, _ = whole
    copy = shutil.copy(path, tmp_path / "metrics.db")
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript("DELETE FROM meta WHERE name = 'lanes'")
    one = ScoreHistogram.from_scores([1], [0.5], scale=SCALE).stored
    with Store(copy) as store:
        series = store.series({"model": "fraud"})
        with pytest.raises(DamageError, match="a new lane is not empty"):
            series.add("class:7", [(int(NOW // 60), one)])
        assert series.channels == CHANNELS
        assert store.verify().is_whole


def n_events(series):
    parts = series.cover("labelled", NOW - 3_600 * 9, NOW + 600).parts
    return sum(int(part.totals.sum()) for part in parts)


def test_a_place_says_when_in_words():
    """For the person who is paged, not in seconds since the epoch."""
    place = Place("pane", series="{}", channel="labelled", tier=0, start=1_795_752_000.0)

    assert str(place).endswith("tier 0, start 2026-11-27 04:00 UTC")
