"""Stores for the tests of ``streamauc store``: made through monitors, and looked at whole."""

import json
import math
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from panes import cells
from typer.testing import CliRunner

from streamauc import Monitor, Scale, ScoreHistogram
from streamauc.cli.app import app
from streamauc.storage import WideCounts
from streamauc.store import Store

NOW = 1_767_225_600.0 + 200 * 86_400  # 2026-07-20
TIERS = ((60, "2d"), (3_600, "90d"), (86_400, "5y"))


def run(*arguments):
    """Run ``streamauc store`` in this process; return its exit code, output and notes."""
    done = CliRunner().invoke(app, ["store", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def monitor(path, now=NOW, **settings):
    """Return a monitor of the series model=fraud, unless told, which writes only when asked."""
    usual = {"series": {"model": "fraud"}, "clock": lambda: now, "flush_seconds": math.inf}
    return Monitor(store=path, **{**usual, **settings})


def events(n, *, start, end, seed=0, lattice=64):
    """Seeded (labels, scores, times) in time order; scores are few, so that they tie."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, lattice + 1, n) / lattice
    labels = (rng.random(n) < scores).astype(int)
    return labels, scores, np.sort(rng.uniform(start, end, n))


def make_empty(path):
    Store(path).close()


def make_plain(path):
    with monitor(path) as one:
        one.update_many(*events(500, start=NOW - 86_400, end=NOW))


def make_coarse(path):
    """Events that are in minutes, hours and days by now, and some that expired altogether."""
    old = NOW - 2_000 * 86_400
    with monitor(path, now=old, tiers=TIERS) as one:
        one.update_many(*events(50, start=old - 86_400, end=old))
    with monitor(path, tiers=TIERS) as one:
        one.update_many(*events(900, start=NOW - 300 * 86_400, end=NOW))


def make_gone(path):
    """Make a series whose panes have all expired."""
    tiers = ((60, "1h"), (3_600, "1d"))
    with monitor(path, tiers=tiers) as one:
        one.update_many(*events(50, start=NOW - 7_200, end=NOW))
    with monitor(path, now=NOW + 30 * 86_400, tiers=tiers):
        pass
    with Store(path) as store:
        store.series({"model": "fraud"}).advance(NOW + 30 * 86_400)


def make_weighted(path):
    """Panes with weights and panes without."""
    labels, scores, times = events(400, start=NOW - 86_400, end=NOW)
    with monitor(path) as one:
        one.update_many(labels[:200], scores[:200], times[:200])
        weights = np.random.default_rng(1).exponential(size=200)
        one.update_many(labels[200:], scores[200:], times[200:], weights)


def make_predicted(path):
    """Predictions that wait, that have their label, and that were abandoned; early labels."""
    with monitor(path, classes=("good", "bad"), label_ttl="20h") as one:
        one.update_many(["bad", "good"], [0.9, 0.1], [NOW - 90_000, NOW - 80_000])
        keys = ["old", "a", 1, 2.5, "é", "", 10**30, "b", "c"]
        for number, key in enumerate(keys):
            moment = NOW - 3_600 * 30 if key == "old" else NOW - 100 * number
            one.predict(key, number / 10, moment)
        one.resolve("a", "bad")
        one.resolve("b", "good")
        one.resolve("b", "bad")
        one.resolve("too early", "good")
        one.resolve(7.0, "bad")
        one.flush()
        one.resolve("c", "good")


def make_several(path):
    """Series of every scale, with positions, references and a history of them."""
    scales = {
        "thresholds": Scale.probability(bits=5, thresholds=(0.25, 0.7)),
        "real": Scale.real(bits=3),
        "exact": Scale.exact(),
    }
    for seed, (name, scale) in enumerate(scales.items()):
        labels, scores, times = events(300, start=-86_400, end=86_400, seed=seed)
        spread = scores if name == "thresholds" else (scores - 0.5) * 10.0 ** (10 * scores)
        with monitor(
            path, series={"model": "fraud", "kind": name}, scale=scale, clock="event"
        ) as one:
            one.update_many(labels, spread, times)
            one.flush(position={f"{name}.csv": {"offset": seed, "more": [1.5, None, "é"]}})
    with Store(path) as store:
        for number in range(2):
            found = ScoreHistogram.from_scores([0, 1], [0.1, 0.5 + number / 4], scale=scale)
            store.reference("v1", found, start=0, at=number, replace=True)
        with store.write() as batch:
            batch.position("nothing yet", None)
            batch.save("detector", "d", b"\x00\xff", 7.5)
            batch.append("alert", "a", b"fired", 1.0)


def make_huge(path):
    """Make counts whose sum is near what 64 bits hold."""
    with Store(path) as store:
        series = store.series({"model": "huge"}, Scale.probability(), TIERS)
        counts = np.array([[2**62, 1], [0, 2**61]])
        series.add("labelled", [(5, WideCounts(np.array([7_000, 9_000]), counts))])


MAKERS = {
    name.removeprefix("make_"): value for name, value in globals().items() if name[:5] == "make_"
}


def everything(path):
    """Return all that a store holds, by value."""
    with Store(path, read_only=True) as store:
        assert store.verify().is_whole
        with store.database.read() as connection:
            documents, journal = (
                connection.execute(
                    f"SELECT kind, name, body FROM {table} ORDER BY 1, 2"  # noqa: S608
                ).fetchall()
                for table in ("document", "journal")
            )
        return {
            "series": {one.name: _series(one) for one in store.all_series()},
            "positions": store.positions(),
            "documents": documents,
            "journal": journal,
        }


def _series(series):
    facts = series.facts
    return {
        "settings": (facts.scale, facts.tiers, facts.classes, facts.event_clock),
        "state": (facts.first, facts.since, facts.latest),
        "writers": series.writers(),
        "waiting": repr(series.entries()),
        "panes": {
            (channel, tier, index): cells(histogram)
            for channel in series.channels
            for tier, index, histogram in series.panes(channel)
        },
        "channels": series.channels,
    }


def read_parts(path):
    """Return the metadata, the rows of counts and the other rows of an export."""
    file = pq.ParquetFile(path)
    facts = json.loads(file.metadata.metadata[b"streamauc"])
    n_groups = facts["n_groups"]
    groups = [list(range(n_groups)), list(range(n_groups, file.num_row_groups))]
    empty = file.schema_arrow.empty_table()
    counts, rest = (file.read_row_groups(some) if some else empty for some in groups)
    return facts, counts.replace_schema_metadata(None), rest.replace_schema_metadata(None)


def write_parts(path, facts, counts, rest):
    """Write a file that may be no export."""
    with pq.ParquetWriter(path, counts.schema) as writer:
        for table in (counts, rest):
            if table.num_rows:
                writer.write_table(table)
        if facts is not None:
            text = facts if isinstance(facts, str) else json.dumps(facts)
            crc = f"{zlib.crc32(text.encode()):08x}"
            writer.add_key_value_metadata({"streamauc": text, "streamauc_crc": crc})


def with_value(table, column, row, value):
    """Return a table in which one value is another."""
    values = table.column(column).to_pylist()
    values[row] = value
    field = table.schema.field(column)
    return table.set_column(table.schema.names.index(column), field, pa.array(values, field.type))
