"""``streamauc store import --merge``: what two stores counted, in one."""

import pytest
from panes import cells
from store_files import MAKERS, NOW, TIERS, events, everything, monitor, run

from streamauc import Scale, ScoreHistogram
from streamauc.reader import stored_stats
from streamauc.store import Store


@pytest.fixture
def paths(tmp_path):
    """Return where one store is, the other, and the export of the other."""
    return tmp_path / "one.db", tmp_path / "other.db", tmp_path / "other.parquet"


def merge(paths):
    one, other, out = paths
    assert run("export", other, out)[0] == 0
    code, said, err = run("import", out, one, "--merge")
    assert code == 0, err
    return said, err


def histogram(path, channel="labelled"):
    """Return all that a store counts in its one series."""
    with Store(path, read_only=True) as store:
        assert store.verify().is_whole
        (series,) = store.all_series()
        return ScoreHistogram.merge(series.cover(channel, -1e10, 1e10).parts)


def stats(path):
    with Store(path, read_only=True) as store:
        (series,) = store.all_series()
        return stored_stats(series)


def test_counts_and_tallies_add_up(paths):
    """Events of two hosts, partly in the same panes, partly in panes rolled up elsewhere."""
    batches = [events(700, start=NOW - 9 * 86_400, end=NOW, seed=seed) for seed in (1, 2)]
    for path, batch, late in zip(paths, batches, (0, 3 * 86_400), strict=False):
        with monitor(path, now=NOW + late, tiers=TIERS) as one:
            one.update_many(*batch)
    merge(paths)
    wanted = ScoreHistogram.merge(
        ScoreHistogram.from_scores(labels, scores, scale=Scale.probability())
        for labels, scores, _ in batches
    )
    assert histogram(paths[0]) == wanted
    assert stats(paths[0]).n_accepted == 1_400
    (series,) = everything(paths[0])["series"].values()
    assert series["state"][0] == next(iter(everything(paths[1])["series"].values()))["state"][0]
    assert len(series["writers"]) == 2


@pytest.mark.parametrize("late", [0, 1])
def test_horizons_are_the_later_ones(paths, late):
    """Whoever is behind lets expire what has expired on the other side."""
    for number, path in enumerate(paths[:2]):
        with monitor(path, now=NOW + 3 * 86_400 * (number == late), tiers=TIERS) as one:
            one.update_many(*events(300, start=NOW - 86_400, end=NOW, seed=number))
    merge(paths)
    (series,) = everything(paths[0])["series"].values()
    assert {tier for _, tier, _ in series["panes"]} == {1}
    assert histogram(paths[0]).totals.sum() == 600


def test_predictions_find_their_labels_on_the_other_side(paths):
    """In both directions; a label that differs moves the count, as it does in one store."""
    with monitor(paths[0]) as one:
        one.predict("a", 0.25, NOW - 10)
        one.resolve("b", 1)
        one.predict("c", 0.5, NOW - 20)
        one.resolve("c", 0)
        one.predict("d", 0.75, NOW - 30)
    with monitor(paths[1]) as one:
        one.resolve("a", 1)
        one.predict("b", 0.125, NOW - 40)
        one.resolve("e", 0)
    merge(paths)
    found = stats(paths[0])
    assert (found.n_predicted, found.n_labelled, found.n_open, found.n_early) == (4, 3, 1, 1)
    wanted = ScoreHistogram.from_scores([1, 1, 0], [0.25, 0.125, 0.5], scale=Scale.probability())
    assert histogram(paths[0]) == wanted
    assert histogram(paths[0], "predicted").totals.tolist() == [4]


@pytest.mark.parametrize("predicts", [0, 1])
def test_events_count_as_predictions_where_either_side_predicts(paths, predicts):
    """As if all had come to one monitor, whose coverage is about all of them."""
    for number, path in enumerate(paths[:2]):
        with monitor(path) as one:
            one.update(1, 0.9, NOW - 100)
            if number == predicts:
                one.predict("k", 0.5, NOW - 50)
    merge(paths)
    assert histogram(paths[0], "predicted").totals.tolist() == [3]
    assert histogram(paths[0]).totals.tolist() == [0, 2]


def test_a_finer_scale_is_brought_to_that_of_the_store(paths):
    """The other way round it is an error that says so."""
    for bits, path in zip((4, 7), paths[:2], strict=True):
        with monitor(path, scale=Scale.probability(bits=bits)) as one:
            one.update_many(*events(300, start=NOW - 86_400, end=NOW, seed=bits))
    merge(paths)
    labels, scores, _ = events(300, start=0, end=1, seed=4)
    more = events(300, start=0, end=1, seed=7)
    wanted = ScoreHistogram.from_scores(
        [*labels, *more[0]], [*scores, *more[1]], scale=Scale.probability(bits=4)
    )
    assert cells(histogram(paths[0])) == cells(wanted)
    assert run("export", paths[0], paths[2])[0] == 0
    code, _, err = run("import", paths[2], paths[1], "--merge")
    assert code == 2
    assert "must be at least as fine as probability(bits=7), got probability(bits=4)" in err


def test_label_delays_add_up_and_the_rest_stays(paths):
    """Positions and references are the store's own; what is new to it is taken in."""
    for number, path in enumerate(paths[:2]):
        with monitor(path) as one:
            one.predict(number, 0.5, NOW - 60 * (number + 1))
            one.resolve(number, 1)
            one.flush(position={"both": number, f"only {number}": 7})
        with Store(path) as store:
            reference = ScoreHistogram.from_scores([number], [0.5], scale=Scale.probability())
            store.reference("both", reference, at=number)
            store.reference(f"only {number}", reference, at=number)
    _, err = merge(paths)
    assert "position 'both' stays as it is in the store" in err
    assert "reference 'both' stays as it is in the store" in err
    with Store(paths[0]) as store:
        assert store.positions() == {"both": 0, "only 0": 7, "only 1": 7}
        assert store.reference("both").histogram.totals.tolist() == [1, 0]
        assert [len(store.reference_history(one.name)) for one in store.references()] == [1, 1, 1]
    with monitor(paths[0]) as one:
        assert one.label_delay(0.5).n_labels == 2


def refused(paths):
    before = everything(paths[0])
    run("export", paths[1], paths[2])
    code, out, err = run("import", paths[2], paths[0], "--merge")
    assert (code, out) == (2, "")
    assert everything(paths[0]) == before
    return err


def test_the_same_events_are_not_counted_twice(paths):
    """A writer that is known on both sides has its events on both."""
    MAKERS["plain"](paths[0])
    run("export", paths[0], paths[2])
    run("import", paths[2], paths[1])
    assert "must not hold the same events on both sides, but writer" in refused(paths)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tiers": ((60, "3d"),)}, "tiers of the series"),
        (
            {"classes": ("b", "a")},
            "classes of {model=\"fraud\"} must be ('a', 'b'), got ('b', 'a')",
        ),
        ({"clock": "event"}, 'clock of {model="fraud"} must be the same on both sides'),
        ({"scale": Scale.real()}, "cannot merge histograms of different scales"),
    ],
)
def test_series_that_do_not_fit_are_refused(paths, settings, message):
    """With other tiers, classes, another clock or kind of scale."""
    for path, more in zip(paths[:2], ({}, settings), strict=True):
        with monitor(path, **{"classes": ("a", "b"), **more}) as one:
            one.update("a", 0.5, NOW)
    assert message in refused(paths)


def test_all_of_it_or_nothing(paths):
    """A second series that does not fit undoes the first."""
    for name, tiers in (("a", ((60, "3d"),)), ("b", ((60, "3d"),))):
        with monitor(paths[1], series={"model": name}, tiers=tiers) as one:
            one.update(1, 0.5, NOW)
    with monitor(paths[0], series={"model": "b"}) as one:
        one.update(1, 0.5, NOW)
    assert "tiers of the series" in refused(paths)
