"""Stores and series as the rest of the house uses them."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from panes import cells

from streamauc import Scale, ScoreHistogram
from streamauc.store import DamageError, Store, address, budget, mirror
from streamauc.tiers import Tier, check_tiers
from streamauc.timeline import Timeline

TIERS = ((60, "2d"), (3_600, "90d"))
SCALE = Scale.probability(bits=6)
LABELS = {"model": "fraud", "country": "de"}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "metrics.db") as found:
        yield found


def histogram(scale=SCALE, seed=0, size=50, n_classes=2):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, size)
    return ScoreHistogram.from_scores(labels, rng.random(size), scale=scale, n_classes=n_classes)


def content(series, channel="labelled"):
    parts = series.cover(channel, -1e9, 1e9).parts
    return cells(ScoreHistogram.merge([*parts, ScoreHistogram.empty(series.scale)]))


def test_a_series_is_made_by_its_first_write(store):
    """Asking makes none; until then it answers as an empty one that time has passed over."""
    series = store.series(LABELS, SCALE, TIERS)
    timeline = Timeline(SCALE, check_tiers(TIERS))
    for now in (None, 1e9):
        if now is not None:
            series.advance(now)
            timeline.advance(now)
        found, wanted = (keeper.cover("labelled", 100, 5_000) for keeper in (series, timeline))
        assert (found.start, found.end, found.expired) == (
            wanted.start,
            wanted.end,
            wanted.expired,
        )
        assert found.parts == ()
        assert series.snapped([100, 200]) == timeline.snapped([100, 200])
        assert (series.oldest, series.first) == (timeline.oldest, timeline.first)
    assert series.channels == series.writers() == series.damaged == ()
    assert series.tallies() == {}
    assert list(series.panes("labelled")) == []
    assert store.all_series() == ()

    series.add("labelled", [(20_000_000, histogram().stored)])
    assert [one.labels for one in store.all_series()] == [LABELS]
    assert series.first == timeline.first
    assert series.channels == ("labelled",)


def test_two_may_make_a_series_at_once(store):
    """The first write makes it; the second finds it made, and fits or does not."""
    fine, coarse, other = (
        store.series(LABELS, scale, tiers)
        for scale, tiers in ((SCALE, TIERS), (Scale.probability(bits=5), TIERS), (SCALE, ((5, 9),)))
    )
    fine.add("labelled", [(0, histogram().stored)])
    with pytest.raises(ValueError, match="scale of the series"):
        coarse.add("labelled", [(0, histogram(coarse.scale).stored)])
    with pytest.raises(ValueError, match="tiers of the series"):
        other.add("labelled", [(0, histogram().stored)])
    assert len(store.all_series()) == 1


def test_labels_in_another_order_are_the_same_series(store):
    """Names are sorted; any text is a value."""
    store.series(LABELS, SCALE, TIERS).add("labelled", [(0, histogram().stored)])
    found = store.series(dict(reversed(LABELS.items())))
    assert found.labels == LABELS
    odd = {"näme": 'a "quoted"\n\x00 one'}
    store.series(odd, SCALE, TIERS).add("labelled", [(0, histogram().stored)])
    assert store.series(odd).labels == odd


def test_labels_that_no_series_has_are_an_error_with_the_nearest(store):
    """So that a typing error is found at once."""
    store.series({"model": "fraud"}, SCALE, TIERS).add("labelled", [(0, histogram().stored)])
    with pytest.raises(ValueError, match=r'no series has .*"frod".*; there is {"model": "fraud"}'):
        store.series({"model": "frod"})
    with pytest.raises(ValueError, match="give scale and tiers to make one"):
        store.series({"model": "frod"}, SCALE)
    with pytest.raises(ValueError, match="at least one label"):
        store.series({})
    with pytest.raises(TypeError, match="labels must map text to text, got 'model': 5"):
        store.series({"model": 5})


def test_a_finer_scale_is_brought_to_the_stored_one(store):
    """As `merge` does; a coarser one, or one of another kind, is named with the stored one."""
    stored = Scale.probability(bits=6, thresholds=(0.5,))
    store.series(LABELS, stored, TIERS).add("labelled", [(0, histogram(stored).stored)])
    finer = Scale.probability(bits=9, thresholds=(0.5, 0.7))
    series = store.series(LABELS, finer)
    series.add("labelled", [(0, histogram(finer, 1).stored)])
    wanted = ScoreHistogram.merge([histogram(stored), histogram(finer, 1)])
    assert series.scale == stored
    assert content(series) == cells(wanted)
    for scale in (Scale.probability(bits=5, thresholds=(0.5,)), Scale.probability(bits=7)):
        with pytest.raises(ValueError, match=r"must be at least as fine as probability\(bits=6, t"):
            store.series(LABELS, scale)
    with pytest.raises(ValueError, match="different scales: real"):
        store.series(LABELS, Scale.real())


def test_other_tiers_are_an_error_that_names_both(store):
    """Tiers may be given as (pane, keep) or as such."""
    store.series(LABELS, SCALE, TIERS).add("labelled", [(0, histogram().stored)])
    same = (Tier(60, 172_800.0), Tier(3_600, 7_776_000.0))
    assert store.series(LABELS, SCALE, same).tiers == same
    message = r"must be \(\(60, 172800\.0\), \(3600, 7776000\.0\)\), got \(\(60, 60\.0\),\)"
    with pytest.raises(ValueError, match=message):
        store.series(LABELS, SCALE, ((60, 60),))


@pytest.mark.parametrize(
    ("scale", "tiers", "classes", "event_clock"),
    [
        (Scale.exact(), ((60, math.inf),), ("good", "bad"), True),
        (Scale.real(bits=3, thresholds=(-2.5, 0.1)), TIERS, (None, 5), False),
        (Scale.probability(), ((1, 60), (60, "1y")), None, False),
    ],
)
def test_facts_come_back(tmp_path, scale, tiers, classes, event_clock):
    """What a series was made with is in the file."""
    with Store(tmp_path / "metrics.db") as store:
        made = store.series(LABELS, scale, tiers, classes, event_clock=event_clock)
        with made.write() as change:
            change.tally("worker", {}, now=5, latest=4.5, since=-1e9)
    with Store(tmp_path / "metrics.db", read_only=True) as store:
        facts = store.series(LABELS).facts
    assert (facts.scale, facts.tiers) == (scale, check_tiers(tiers))
    assert (facts.classes, facts.event_clock) == (classes, event_clock)
    assert (facts.since, facts.latest) == (-1e9, 4.5)


def test_classes_must_be_what_json_knows(store):
    """The message names the class."""
    with pytest.raises(TypeError, match="classes must be text or numbers to be stored"):
        store.series(LABELS, SCALE, TIERS, (b"good", b"bad"))


def test_events_that_have_expired_are_dropped_and_counted(store):
    """In integers, also where the counts are weighted."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(20_000_000, histogram().stored)])
    series.advance(60 * 20_000_000)
    weighted = ScoreHistogram.from_scores([1, 0], [0.5, 0.5], scale=SCALE, weights=[2, 1])
    with series.write() as change:
        assert change.add("labelled", [(0, histogram().stored), (1, weighted.stored)]) == 53
        assert change.remove("labelled", [(0, histogram().stored)]) == 50
        assert change.add("predicted", [(0, histogram(n_classes=1).stored)]) == 50
        assert change.add("labelled", [(20_000_000, histogram().stored)]) == 0
    assert series.channels == ("labelled",)


def test_an_emptied_pane_is_gone(store):
    """It is not left behind as an empty row."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(0, histogram().stored), (500, histogram().stored)])
    with series.write() as change:
        change.remove("labelled", [(0, histogram().stored)])
    assert [index for _, index, _ in series.panes("labelled")] == [500]
    assert store.info().series[0].n_panes == {"labelled": (1, 0)}
    assert store.verify().is_whole


def test_more_than_there_is_can_not_be_removed(store):
    """The whole transaction is undone, its position as well."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(0, histogram().stored)])
    with pytest.raises(ValueError, match="cannot subtract events"):
        remove_more(store, series)
    assert content(series) == cells(histogram())
    assert store.position("file") is None


def remove_more(store, series):
    with store.write() as batch:
        batch.position("file", 9)
        change = series.on(batch)
        change.add("labelled", [(7, histogram(seed=5).stored)])
        change.remove("labelled", [(0, histogram(seed=1).stored)])


def test_several_series_change_in_one_transaction(store):
    """Counts of all segments and the position are there together, or not at all."""
    all_series = [store.series({"segment": name}, SCALE, TIERS) for name in "abc"]
    for number in (1, 2):
        with store.write() as batch:
            for series in all_series:
                series.on(batch).add("labelled", [(0, histogram().stored)])
                assert series.on(batch) is series.on(batch)
            batch.position("file", {"offset": number})
    with pytest.raises(KeyError):
        change_and_raise(store, all_series)
    assert store.position("file") == {"offset": 2}
    for series in all_series:
        assert content(series) == cells(histogram() + histogram())


def change_and_raise(store, all_series):
    with store.write() as batch:
        all_series[0].on(batch).add("labelled", [(0, histogram().stored)])
        batch.position("file", 9)
        raise KeyError


def test_what_is_added_to_a_pane_in_pieces_is_written_once(store):
    """Additions and removals of one transaction are summed up before they are checked."""
    series = store.series(LABELS, SCALE, TIERS)
    with series.write() as change:
        change.remove("labelled", [(0, histogram(seed=2).stored)])
        for seed in range(5):
            change.add("labelled", [(0, histogram(seed=seed).stored)])
    wanted = ScoreHistogram.merge([histogram(seed=seed) for seed in (0, 1, 3, 4)])
    assert content(series) == cells(wanted)


def test_positions_are_any_json(store):
    """What JSON can't say is an error that undoes the transaction."""
    values = [0, None, "text", {"topic": {"0": 15, "1": 2**60}}, [1.5, True]]
    for number, value in enumerate(values):
        with store.write() as batch:
            batch.position(f"source {number}", value)
    assert [store.position(f"source {number}") for number in range(5)] == values
    assert store.positions() == {f"source {number}": value for number, value in enumerate(values)}
    assert store.position("other") is None
    for bad, error in ((math.nan, ValueError), ({1, 2}, TypeError)):
        with pytest.raises(error), store.write() as batch:
            batch.position("source 0", bad)
    assert store.position("source 0") == 0
    assert store.verify().is_whole


def test_tallies_are_summed_over_writers(store):
    """Each says when it began, wrote last and ended; a dead one is one that wrote last long ago."""
    series = store.series(LABELS, SCALE, TIERS)
    for now, name in ((10, "a"), (20, "b"), (30, "a"), (25, "a")):
        with series.write() as change:
            change.tally(name, {"accepted": now, "score": 1}, now=now, latest=now - 1, since=now)
    series.close_writer("b", 40)
    series.close_writer("nobody", 50)
    a, b = series.writers()
    assert (a.id, a.started, a.flushed, a.closed) == ("a", 10, 30, None)
    assert (b.id, b.started, b.flushed, b.closed) == ("b", 20, 40, 40)
    assert a.tallies == {"accepted": 65, "score": 3}
    assert series.tallies() == {"accepted": 85, "score": 4}
    assert (series.facts.since, series.facts.latest) == (10, 29)
    with series.write() as change:
        change.tally("b", {}, now=60)
    assert series.writers()[1].closed is None


def test_writers_that_ended_long_ago_are_folded(store):
    """Their tallies stay; one that never ended stays visible for ever."""
    series = store.series(LABELS, SCALE, TIERS)
    for number in range(5):
        with series.write() as change:
            change.tally(f"worker {number}", {"accepted": 10**number}, now=number)
        if number != 2:
            series.close_writer(f"worker {number}", number)
    series.tidy(103, retire_seconds=100)
    assert [one.id for one in series.writers()] == ["retired", "worker 2", "worker 3", "worker 4"]
    series.tidy(1_000, retire_seconds=100)
    assert [one.id for one in series.writers()] == ["retired", "worker 2"]
    assert series.tallies() == {"accepted": 11_111}
    retired = series.writers()[0]
    assert (retired.started, retired.flushed, retired.closed) == (0, 4, 4)
    assert store.verify().is_whole


def test_documents_are_replaced_and_the_journal_grows(store):
    """Both by kind and name, and within the transaction that changes panes."""
    series = store.series(LABELS, SCALE, TIERS)
    for number in range(3):
        with store.write() as batch:
            series.on(batch).add("labelled", [(number, histogram().stored)])
            before = batch.load("detector", "drift")
            assert (before is None) == (number == 0)
            batch.save("detector", "drift", bytes([number]), number)
            batch.append("detector", "drift", bytes([number]), number)
            batch.save("rule", "drift", b"other", 0)
    found = store.load("detector", "drift")
    assert (found.kind, found.name, found.body, found.saved) == ("detector", "drift", b"\2", 2)
    assert [one.name for one in store.load_all("detector")] == ["drift"]
    assert [(one.body, one.saved) for one in store.journal("detector", "drift")] == [
        (b"\0", 0),
        (b"\1", 1),
        (b"\2", 2),
    ]
    assert store.journal("detector", "other") == ()
    with store.write() as batch:
        batch.delete("rule", "drift")
        batch.delete("rule", "nothing")
    assert store.load("rule", "drift") is None
    assert store.verify().is_whole


def test_references_are_replaced_explicitly_and_kept(store):
    """A name that is taken is an error; what it was before stays in its history."""
    first, second = histogram(), histogram(Scale.exact(), 1)
    made = store.reference("fraud-v3", first, start=0, end=3_600, at=5)
    assert (made.histogram, made.start, made.end, made.saved) == (first, 0, 3_600, 5)
    with pytest.raises(ValueError, match="'fraud-v3' exists; pass replace=True"):
        store.reference("fraud-v3", second)
    store.reference("fraud-v3", second, replace=True, at=6)
    store.reference("other", first)
    found = store.reference("fraud-v3")
    assert (found.name, found.histogram, found.saved) == ("fraud-v3", second, 6)
    assert math.isnan(found.start)
    assert math.isnan(found.end)
    assert [one.name for one in store.references()] == ["fraud-v3", "other"]
    assert [one.histogram for one in store.reference_history("fraud-v3")] == [first, second]
    with pytest.raises(ValueError, match="no reference is named 'fraud-v2'; there is fraud-v3"):
        store.reference("fraud-v2")


def test_info_tells_what_is_in_a_store(store):
    """Panes by channel and tier, the span, and who writes."""
    series = store.series(LABELS, SCALE, TIERS)
    with series.write() as change:
        change.add("labelled", [(minute, histogram().stored) for minute in range(1_000)])
        change.add("predicted", [(2_000, histogram(n_classes=1).stored)])
        change.tally("a", {"accepted": 1}, now=5, latest=9, since=1)
    series.advance(172_800 + 7_300)
    found = store.info()
    (one,) = found.series
    assert one.n_panes == {"labelled": (880, 2), "predicted": (1, 0)}
    assert (one.start, one.end) == (0, 2_001 * 60)
    assert (one.since, one.latest) == (1, 9)
    assert (one.labels, one.scale, one.tiers) == (LABELS, SCALE, check_tiers(TIERS))
    assert [writer.id for writer in one.writers] == ["a"]
    assert found.version == 1
    assert found.nbytes > 100_000
    assert found.path.endswith("metrics.db")


def test_panes_are_of_one_moment(store):
    """Also while somebody writes, and without keeping him waiting."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(minute, histogram().stored) for minute in range(700)])
    reading = series.panes("labelled")
    next(reading)
    series.add("labelled", [(minute, histogram().stored) for minute in range(700)])
    series.advance(1e9)
    rest = list(reading)
    assert [(tier, index) for tier, index, _ in rest] == [(0, index) for index in range(1, 700)]
    assert all(part == histogram() for _, _, part in rest)


def test_within_a_moment_panes_are_of_that_moment(store):
    """Also those read after somebody else has written; outside the new ones are there."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(0, histogram().stored)])
    with series.moment():
        assert series.channels == ("labelled",)  # the first look is the moment
        with Store(store.database.path) as other:
            other.series(LABELS).add("labelled", [(1, histogram(seed=1).stored)])
        assert [index for _, index, _ in series.panes("labelled")] == [0]
    assert [index for _, index, _ in series.panes("labelled")] == [0, 1]


@pytest.mark.parametrize("skip_damaged", [False, True])
def test_a_pane_that_is_missing_is_noticed_when_all_are_read(tmp_path, skip_damaged):
    """It raises an error with its place, or the rest is read where that was asked for."""
    path = tmp_path / "metrics.db"
    with Store(path) as store:
        panes = [(index, histogram(seed=index).stored) for index in range(3)]
        store.series(LABELS, SCALE, TIERS).add("labelled", panes)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM pane WHERE id = (SELECT MAX(id) FROM pane)")
    with Store(path, skip_damaged=skip_damaged) as store:
        (series,) = store.all_series()
        if skip_damaged:
            assert [index for _, index, _ in series.panes("labelled")] == [0, 1]
            assert len(series.damaged) == 1
        else:
            with pytest.raises(DamageError, match="panes are missing"):
                list(series.panes("labelled"))


def test_a_poll_of_an_unchanged_store_reads_one_row(store, monkeypatch):
    """A warm window is answered from memory."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(minute, histogram().stored) for minute in range(600)])
    first = series.cover("labelled", 0, 36_000)
    monkeypatch.setattr(store.database, "read", None)
    again = series.cover("labelled", 0, 36_000)
    assert [part is other for part, other in zip(first.parts, again.parts, strict=True)]
    assert all(part is other for part, other in zip(first.parts, again.parts, strict=True))


def test_nothing_is_written_where_nothing_expires(store, monkeypatch):
    """`advance` is asked at every poll."""
    series = store.series(LABELS, SCALE, TIERS)
    series.add("labelled", [(0, histogram().stored)])
    series.advance(1_000)
    monkeypatch.setattr(store.database, "write", None)
    series.advance(1_001)
    series.advance(999)


@pytest.mark.parametrize("index", [0, -1, 2**40, -(2**40), 2**41 - 1, 2**62, -(2**62), 10**30])
def test_panes_of_a_lane_are_within_its_span(index):
    """Whatever the index; neighbours in time are neighbours in the file, in one chunk of 256."""
    first, last = address.lane_span(5)
    key = address.pane_key(5, index)
    assert first <= key <= last
    assert address.lane_of(key) == 5
    if abs(index) < 2**41:
        assert address.index_of(key) == index
    chunk = address.chunk_of(key)
    assert first <= chunk <= last
    low, high = address.chunk_span(chunk)
    assert low <= key <= high
    assert high - low == 255
    assert address.pane_key(5, index + 1) - key in (0, 1)


def test_a_span_that_does_not_fit_is_read_piece_by_piece(tmp_path, monkeypatch):
    """Never more than some chunks are in memory at a time."""
    most = []
    hold = budget.Budget.hold

    def watched(self, *arguments):
        hold(self, *arguments)
        most.append(self.used)

    monkeypatch.setattr(budget.Budget, "hold", watched)
    with Store(tmp_path / "metrics.db", mirror_bytes=1_000_000) as store:
        series = store.series(LABELS, SCALE, ((60, math.inf),))
        series.add("labelled", [(minute, histogram(size=300).stored) for minute in range(256 * 12)])
        cover = series.cover("labelled", -1e9, 1e9)
        assert ScoreHistogram.merge(cover.parts).totals.sum() == 300 * 256 * 12
        assert sum(most) > 0
        assert max(most) < 2_500_000 < 256 * 12 * 1_100


def test_memory_is_bounded(tmp_path):
    """What was used longest ago is forgotten, and read again when it is asked for."""
    with Store(tmp_path / "metrics.db", mirror_bytes=400_000) as store:
        all_series = [store.series({"segment": str(name)}, SCALE, TIERS) for name in range(4)]
        for series in all_series:
            series.add("labelled", [(minute, histogram(size=300).stored) for minute in range(600)])
        held = store._mirrors._budget
        for _ in range(3):
            for series in all_series:
                for start in range(0, 36_000, 3_600):
                    cover = series.cover("labelled", start, start + 3_600)
                    assert ScoreHistogram.merge(cover.parts).totals.sum() == 300 * 60
                    assert held.used <= 400_000
                assert ScoreHistogram.merge(
                    series.cover("labelled", 0, 36_000).parts
                ).totals.sum() == (300 * 600)
                assert held.used <= 400_000


def test_of_a_foreign_write_only_what_it_touched_is_read(tmp_path, monkeypatch):
    """As long as the list of touched panes reaches back; otherwise what has other sums."""
    with Store(tmp_path / "metrics.db") as reader, Store(tmp_path / "metrics.db") as writer:
        mine, other = (store.series(LABELS, SCALE, TIERS) for store in (reader, writer))
        other.add("labelled", [(minute, histogram().stored) for minute in range(600)])
        assert len(mine.cover("labelled", 0, 36_000).parts) > 0
        monkeypatch.setattr(mirror.Mirror, "_compare", None)
        monkeypatch.setattr(mirror.Mirror, "_load", None)
        for number in range(3):
            other.add("labelled", [(number, histogram().stored)])
            assert n_events(mine) == 50 * (600 + number + 1)
        monkeypatch.undo()
        other.add("labelled", [(minute, histogram().stored) for minute in range(300)])
        assert n_events(mine) == 50 * 903
        assert len(reader._mirrors._mirrors[1]._loaded) == 3


def n_events(series):
    parts = series.cover("labelled", 0, 36_000).parts
    return int(ScoreHistogram.merge(parts).totals.sum())


def test_the_list_of_touched_panes_is_trimmed(store):
    """Not more than some hundred changes are remembered."""
    series = store.series(LABELS, SCALE, TIERS)
    for number in range(1_200):
        series.add("labelled", [(number % 7, histogram(size=1).stored)])
    with store.database.read() as connection:
        ((n_rows, oldest),) = connection.execute("SELECT count(*), min(change) FROM touched")
    assert n_rows < 800
    assert series.facts.traced == oldest - 1


def test_a_file_is_cut_back_when_much_of_it_has_become_free(tmp_path):
    """Also by `compact`, to the last byte."""
    path = tmp_path / "metrics.db"
    with Store(path) as store:
        series = store.series(LABELS, SCALE, ((60, "1d"), (3_600, "2d")))
        panes = [(minute, histogram(size=300, seed=minute).stored) for minute in range(1_440)]
        series.add("labelled", panes)
        store.database.checkpoint()
        before = path.stat().st_size
        series.advance(3 * 86_400)
        store.database.checkpoint()
        assert path.stat().st_size < before / 2
        assert series.cover("labelled", 0, 1e9).parts == ()
        series.add("labelled", [(3 * 1_440, histogram().stored)])
        store.compact()
        assert path.stat().st_size < before / 4
        assert n_events_after(series, 2 * 86_400) == 50
        assert store.verify().is_whole


def n_events_after(series, start):
    parts = series.cover("labelled", start, 1e9).parts
    return int(ScoreHistogram.merge(parts).totals.sum())
