"""``streamauc store export`` and ``import``: an exact inverse, and a table that can be used."""

import gc
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from store_files import MAKERS, NOW, events, everything, make_plain, make_several, monitor, run

from streamauc.cli.storing import export as exporting
from streamauc.cli.storing import putting, source
from streamauc.reader import SeriesReader, stored_stats
from streamauc.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.db"


def round_trip(path, tmp_path, *options):
    """Export, import and export again; return the new store, after comparing the two files."""
    first, second, again = (tmp_path / name for name in ("1.parquet", "2.parquet", "again.db"))
    assert run("export", path, first, *options)[0] == 0
    code, _, err = run("import", first, again)
    assert (code, err) == (0, ""), err
    assert run("export", again, second)[0] == 0
    assert first.read_bytes() == second.read_bytes()
    return again


@pytest.mark.parametrize("name", MAKERS)
def test_import_is_the_inverse_of_export(path, tmp_path, name):
    """The new store holds the same in every table, and exports the same bytes."""
    MAKERS[name](path)
    assert everything(round_trip(path, tmp_path)) == everything(path)


@pytest.mark.parametrize("name", ["coarse", "weighted", "predicted", "several"])
def test_windows_and_stats_are_the_same(path, tmp_path, name):
    """All that a window says, over spans of every length, and what became of every event."""
    MAKERS[name](path)
    again = round_trip(path, tmp_path)
    with Store(path) as left, Store(again) as right:
        for one, other in zip(left.all_series(), right.all_series(), strict=True):
            assert stored_stats(one) == stored_stats(other)
            start = one.facts.since
            for span in (3_600, 86_400, 400 * 86_400):
                found = [
                    SeriesReader(store, series, lambda: NOW).window(start, start + span).to_dict()
                    for store, series in ((left, one), (right, other))
                ]
                assert found[0] == found[1]


def test_many_small_groups_and_batches_make_no_difference(path, tmp_path, monkeypatch):
    """Panes that lie across row groups, batches and parts of the transaction are put together."""
    make_several(path)
    monkeypatch.setattr(exporting, "GROUP_ROWS", 7)
    monkeypatch.setattr(source, "_BATCH_ROWS", 5)
    monkeypatch.setattr(putting, "_AT_ONCE", 3)
    assert everything(round_trip(path, tmp_path)) == everything(path)


def test_work_goes_on_in_the_new_store(path, tmp_path):
    """Labels find the predictions that came before the export, and stats add up."""
    MAKERS["predicted"](path)
    again = round_trip(path, tmp_path)
    for one in (path, again):
        with monitor(one, classes=("good", "bad")) as writer:
            writer.resolve("é", "bad")
            writer.predict("too early", 0.5, NOW - 50)
            writer.flush()
            stats = writer.stats
            assert (stats.n_early, stats.n_labelled) == (1, 5)
            assert stats.n_predicted == stats.n_labelled + stats.n_open + stats.n_abandoned
    assert everything(again)["series"].keys() == everything(path)["series"].keys()


def test_only_chosen_series_are_written(path, tmp_path):
    """All conditions must hold; what belongs to the whole store is left out, and that is said."""
    make_several(path)
    make_plain(path)
    out = tmp_path / "out.parquet"
    code, _, err = run("export", path, out, "--series", "model=fraud", "--series", "kind=~ex.*")
    assert (code, err.count("are left out")) == (0, 1)
    assert set(pd.read_parquet(out)["series"].dropna()) == {'{"kind": "exact", "model": "fraud"}'}
    again = tmp_path / "again.db"
    assert run("import", out, again)[0] == 0
    found = everything(again)
    assert (len(found["series"]), found["positions"], found["documents"]) == (1, {}, [])


def test_a_chosen_series_keeps_its_label_delays(path, tmp_path):
    """They are its own."""
    MAKERS["predicted"](path)
    again = round_trip(path, tmp_path, "--series", "model=fraud")
    assert everything(again)["documents"] == everything(path)["documents"] != []


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ("model=froud", 'must match a series, got {model="froud"}; there is {model="fraud"}'),
        ("model", "--series must be LABEL=VALUE, got 'model'"),
        ("model=~(", "--series model must be a regular expression behind ~"),
    ],
)
def test_a_choice_that_is_none_is_an_error(path, tmp_path, series, message):
    """It says what there is."""
    make_plain(path)
    code, out, err = run("export", path, tmp_path / "out.parquet", "--series", series)
    assert (code, out) == (2, "")
    assert message in err


def test_the_example_of_the_help_counts_positives(path, tmp_path):
    """The lines for pandas, run as they stand there."""
    labels, _, times = events(500, start=NOW - 86_400, end=NOW)
    make_plain(path)
    out = tmp_path / "out.parquet"
    run("export", path, out)
    shown = run("export", "--help")[1]
    example = shown[shown.index("rows = ") : shown.index("All else")].replace(
        "out.parquet", str(out)
    )
    lines = [line.strip() for line in example.strip().splitlines()]
    names = {"pd": pd}
    exec("\n".join(lines[:2]), names)  # noqa: S102 - of our own
    found = eval(lines[2], names)  # noqa: S307
    days = pd.to_datetime(times[labels == 1], unit="s", utc=True).floor("D").value_counts()
    assert found.to_dict() == days.to_dict()


def test_edges_and_classes_mean_what_the_help_says(path, tmp_path):
    """``score_low <= score < score_high``, class 1 positive, every event in one row a channel."""
    labels, scores, _ = events(500, start=NOW - 86_400, end=NOW)
    make_plain(path)
    out = tmp_path / "out.parquet"
    run("export", path, out)
    rows = pd.read_parquet(out)
    for label in (0, 1):
        found = rows[rows["class"] == label]
        for score in np.unique(scores):
            held = (found.score_low <= score) & (score < found.score_high)
            assert found[held]["count"].sum() == (scores[labels == label] == score).sum()
    assert rows["count"].sum() == rows.weight.sum() == 500


def test_predictions_have_no_class(path, tmp_path):
    """They are all there, labelled or not."""
    MAKERS["predicted"](path)
    out = tmp_path / "out.parquet"
    run("export", path, out)
    rows = pd.read_parquet(out).query("channel == 'predicted'")
    assert rows["class"].isna().all()
    assert rows["count"].sum() == 11


def test_a_year_of_minutes_is_written_in_groups(path, tmp_path, monkeypatch):
    """No group is much larger than its bound, so that memory does not grow with the store."""
    with monitor(path, clock="event", tiers=((60, math.inf),)) as one:
        one.update_many(*events(8_000, start=0, end=365 * 86_400))
    monkeypatch.setattr(exporting, "GROUP_ROWS", 500)
    out = tmp_path / "out.parquet"
    run("export", path, out)
    found = pq.ParquetFile(out).metadata
    sizes = [found.row_group(number).num_rows for number in range(found.num_row_groups)]
    assert len(sizes) > 10
    assert max(sizes) < 500 + 256 * 4


def test_parquet_is_replaced_and_nothing_else(path, tmp_path):
    """A mistyped second argument must not cost a store; a failed export leaves the old file."""
    make_plain(path)
    other = tmp_path / "other.db"
    make_plain(other)
    gc.collect()  # whoever is collected later brings its log back into the file
    before = other.read_bytes()
    code, _, err = run("export", path, other)
    assert code == 2
    assert "OUT must be a new file or Parquet to be replaced" in err
    assert other.read_bytes() == before

    out = tmp_path / "out.parquet"
    assert run("export", path, out)[0] == run("export", path, out)[0] == 0
    before = out.read_bytes()
    assert run("export", path, out, "--series", "model=none")[0] == 2
    assert out.read_bytes() == before
    assert "there is no directory" in run("export", path, tmp_path / "no" / "out.parquet")[2]
    assert sorted(one.name for one in tmp_path.iterdir() if "parquet" in one.name) == [
        "out.parquet"
    ]


WRITER = """
import sys
from streamauc import Monitor
with Monitor(store=sys.argv[1], series={"model": "fraud"}, clock="event") as monitor:
    for number in range(10**9):
        monitor.predict(number, 0.5, 1_000 + number)
        monitor.update(1, 0.25, 1_000 + number)
        monitor.flush({"source": number})
        if not number:
            print("written", flush=True)
"""


@pytest.fixture
def writer(path):
    """Another process that writes without pause."""
    started = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "written\n"
    yield started
    started.kill()
    started.wait()
    started.stdout.close()


def test_an_export_beside_a_writer_is_of_one_moment(path, tmp_path, writer):
    """Counts, tallies, what waits and the position agree, although they change all the time."""
    for number in range(4):
        out, again = tmp_path / f"{number}.parquet", tmp_path / f"{number}.db"
        assert run("export", path, out)[0] == 0
        assert run("import", out, again)[0] == 0
        found = everything(again)
        (series,) = found["series"].values()
        n_flushed = found["positions"].get("source", -1) + 1
        predicted, labelled = (
            sum(count for key, pane in series["panes"].items() if key[0] == channel
                for count, _ in pane.values())
            for channel in ("predicted", "labelled")
        )  # fmt: skip
        (one,) = series["writers"]
        assert predicted == 2 * labelled == 2 * n_flushed == one.tallies.get("accepted", 0)
        assert series["waiting"].count("+0.5j") == n_flushed
    assert writer.poll() is None


def test_compacting_beside_a_writer_loses_nothing(path, writer):
    """The writer waits and goes on; every event that it counted is there."""
    for _ in range(5):
        code, _, err = run("compact", path)
        assert code == 0, err
    assert writer.poll() is None
    writer.kill()
    writer.wait()
    (series,) = everything(path)["series"].values()
    n_flushed = everything(path)["positions"]["source"] + 1
    total = sum(count for pane in series["panes"].values() for count, _ in pane.values())
    assert total == 3 * n_flushed
