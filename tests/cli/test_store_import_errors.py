"""``streamauc store import`` of files that are wrong: one clear line, and nothing is written."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from store_files import (
    MAKERS,
    NOW,
    events,
    everything,
    make_plain,
    monitor,
    read_parts,
    run,
    with_value,
    write_parts,
)

from streamauc.store import Store


@pytest.fixture(params=["plain"])
def parts(tmp_path, request):
    """Take a good export apart."""
    MAKERS[request.param](tmp_path / "metrics.db")
    assert run("export", tmp_path / "metrics.db", tmp_path / "good.parquet")[0] == 0
    return read_parts(tmp_path / "good.parquet")


def refused(path, target):
    """Import a file that must be refused; return what is said. The store is as it was."""
    before = everything(target) if target.exists() else None
    code, out, err = run("import", path, target)
    assert (code, out) == (2, ""), err
    assert err.startswith("streamauc: ")
    assert err.count("\n") == 1
    assert (everything(target) if target.exists() else None) == before
    return err


@pytest.fixture
def said(tmp_path):
    """Write parts as a file, and return what import says, of a new store and of one that exists."""

    def check(facts, counts, rest):
        bad, existing = tmp_path / "bad.parquet", tmp_path / "existing.db"
        write_parts(bad, facts, counts, rest)
        with monitor(existing, series={"model": "another"}) as one:
            one.update_many(*events(20, start=NOW - 100, end=NOW))
        new = tmp_path / "new.db"
        message = refused(bad, new)
        assert not new.exists()
        assert refused(bad, existing) == message
        return message

    return check


def test_what_the_tests_write_is_an_export(tmp_path, parts):
    """Taken apart and put together, the file is accepted: only the change makes it wrong."""
    write_parts(tmp_path / "same.parquet", *parts)
    assert run("import", tmp_path / "same.parquet", tmp_path / "new.db")[0] == 0
    assert everything(tmp_path / "new.db") == everything(tmp_path / "metrics.db")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("count", -3, "row 4: count must be at least 1, got -3"),
        ("count", 0, "row 4: count must be at least 1, got 0"),
        ("count", None, "row 4: either count or weight_squares must be null, got None"),
        ("weight", 7.5, "row 4: weight must be the count, got 7.5"),
        ("weight", -1.0, "row 4: weight must be finite and not negative, got -1.0"),
        ("weight", None, "row 4: weight must not be null"),
        ("weight_squares", 2.0, "row 4: either count or weight_squares must be null"),
        ("series", '{"model": "x"}', 'row 4: series must be {"model": "fraud"}, got'),
        ("series", None, "row 4: series must not be null"),
        ("channel", "other", "row 4: channel must be one of the series, got 'other'"),
        ("tier", 3, "row 4: tier must be from 0 to 2, got 3"),
        ("tier", -1, "row 4: tier must be from 0 to 2, got -1"),
        ("tier", 1, "row 4: pane_start must begin a pane"),
        ("pane_start", 1, "row 4: pane_start must begin a pane"),
        ("pane_start", 0, "row 4: pane_end must be the end of the pane"),
        ("pane_start", -(2**63), "row 4: pane_start must begin a pane"),
        ("pane_end", 60_000, "row 4: pane_end must be the end of the pane"),
        ("bin", -1, "row 4: bin must be one of probability(bits=7), got -1"),
        ("bin", 2**63 - 1, "row 4: bin must be one of probability(bits=7)"),
        ("bin", 8_000, "row 4: score_low must be the edge of its bin on probability(bits=7)"),
        ("score_low", math.nan, "row 4: score_low must be the edge of its bin"),
        ("score_high", 2.0, "row 4: score_high must be the edge of its bin"),
        ("class", 2, "row 4: class must be one of them, got 2"),
        ("class", None, "row 4: class must be null where all classes are one, and only there"),
        ("_rest", "{}", "row 4: _rest must be null among counts"),
    ],
)
def test_a_bad_value_is_named_with_its_row(parts, said, column, value, message):
    """Whatever the column; the store is not touched."""
    facts, counts, rest = parts
    field = counts.schema.field(column)
    if column.startswith("pane_"):  # in milliseconds
        index, plain = counts.schema.names.index(column), pa.field(column, pa.int64())
        counts = counts.set_column(index, plain, counts.column(column).cast(pa.int64()))
        counts = with_value(counts, column, 3, value)
        changed = counts.set_column(index, field, counts.column(column).cast(field.type))
    else:
        changed = with_value(counts, column, 3, value)
    assert message in said(facts, changed, rest)


def test_rows_out_of_order_and_twice(parts, said):
    """A row that is there twice would count twice."""
    facts, counts, rest = parts
    order = np.arange(counts.num_rows)
    order[[5, 9]] = order[[9, 5]]
    assert "rows must rise by channel, tier, pane, bin and class" in said(
        facts, counts.take(order), rest
    )
    order = np.arange(counts.num_rows)
    order[6] = 5
    assert "row 7: rows must rise" in said(facts, counts.take(order), rest)


def test_rows_that_are_missing_or_too_many(parts, said):
    """The metadata say how many there are."""
    facts, counts, rest = parts
    n_rows = counts.num_rows
    message = (
        f"the file must hold {n_rows:,} rows of counts, as its metadata say, got {n_rows - 9:,}"
    )
    assert message in said(facts, counts.slice(9), rest)
    more = pa.concat_tables([counts, counts.slice(0, 1)]).combine_chunks()
    assert f"got {n_rows + 1:,}" in said(facts, more, rest)


def test_a_pane_that_its_tier_no_longer_keeps(parts, said):
    """Panes before the horizon have been rolled up; both at once would count twice."""
    facts, counts, rest = parts
    facts["series"][0]["first"] = [first + 24 * 60 // 60**n for n, first in
                                   enumerate(facts["series"][0]["first"])]  # fmt: skip
    facts["series"][0]["first"] = [
        (int(NOW) + 86_400) // 60,
        (int(NOW) - 86_400 * 90) // 3_600,
        None,
    ]
    message = "pane_start must be that of a pane that its tier still keeps"
    assert message in said(facts, counts, rest)


@pytest.mark.parametrize("parts", ["weighted"], indirect=True)
@pytest.mark.parametrize("value", [math.inf, -1.0])
def test_bad_squares(parts, said, value):
    """They are finite and not negative."""
    facts, counts, rest = parts
    row = counts.column("weight_squares").is_valid().to_pylist().index(True)
    message = f"row {row + 1}: weight_squares must be finite and not negative, got {value}"
    assert message in said(facts, with_value(counts, "weight_squares", row, value), rest)


def test_columns_that_are_missing_or_of_another_type(parts, said):
    """What export has not written is not guessed at."""
    facts, counts, rest = parts
    for name in ("count", "_rest"):
        message = said(facts, counts.drop_columns([name]), rest.drop_columns([name]))
        assert f"must have the columns of an export, {name} is missing" in message
    tables = []
    for table in (counts, rest):
        index = table.schema.names.index("bin")
        tables.append(table.set_column(index, "bin", table.column("bin").cast(pa.float64())))
    assert "column bin must be int64, got double" in said(facts, *tables)


def change(facts, path, value):
    """Set a value in nested lists and dictionaries; the path is written with dots."""
    *steps, last = path.split(".")
    for step in steps:
        facts = facts[int(step) if isinstance(facts, list) else step]
    if value is ...:
        del facts[last]
    else:
        facts[int(last) if isinstance(facts, list) else last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "the file has version 2, newer than this program's 1"),
        ("version", "1", "metadata: version must be an integer"),
        ("n_groups", 99, "metadata: n_groups must be an integer from 0 to"),
        ("n_groups", 0, "rows of counts, as its metadata say, got 0"),
        ("positions", [], "metadata: positions must be an object, got []"),
        ("series", {}, "metadata: series must be a list, got {}"),
        ("series", ..., "metadata: series is missing"),
        ("series.0", 5, "metadata: series 1 must be an object, got 5"),
        ("series.0.labels", {}, "metadata: series 1: labels: labels must hold at least one"),
        ("series.0.labels", {"a": 5}, "metadata: series 1: labels: a must be text, got 5"),
        ("series.0.scale.kind", "odd", "scale: kind must be probability, real or exact, got 'odd'"),
        ("series.0.scale.kind", "real", "row 1: score_low must be the edge of its bin on real"),
        ("series.0.scale.bits", 6, "row 1: "),
        ("series.0.scale.bits", 13, "metadata: series 1: scale: bits must be"),
        ("series.0.scale.thresholds", [2.0], "metadata: series 1: scale: threshold must be in"),
        ("series.0.scale.thresholds", [0.5, 0.1], "scale: thresholds must be rising"),
        ("series.0.tiers", [[60, 120], [90, 180]], "metadata: series 1: tiers must nest"),
        ("series.0.tiers", [[60, 30]], "metadata: series 1: keep must be at least one pane"),
        ("series.0.tiers", [[60, "x"]], "tiers must be a list of [seconds, seconds kept]"),
        ("series.0.tiers", [], "metadata: series 1: tiers must hold at least one"),
        ("series.0.classes", ["a"], "classes must be two different labels, or null"),
        ("series.0.classes", [[], {}], "classes must be two different labels, or null"),
        ("series.0.event_clock", 1, "event_clock must be true or false, got 1"),
        ("series.0.first", [None], "first must be one pane number or null for each of 3 tiers"),
        ("series.0.first", [1, 1, 1], "where panes of the next coarser tier begin"),
        ("series.0.first", [1.5, None, None], "first must be a list of pane numbers and nulls"),
        ("series.0.since", 1e300, "since must be a number of at most"),
        ("series.0.channels", ["labelled", "labelled"], "channels must be a list of different"),
        ("series.0.channels", [], "row 1: channel must be one of the series, got 'labelled'"),
        ("series.0.n_rows", -1, "n_rows must be an integer from 0"),
        ("series.0.writers", [], "writers must be those who told since and latest, got []"),
        ("series.0.writers.0.tallies", {"accepted": 0}, "tallies must be numbers other than 0"),
        ("series.0.writers.0.tallies", {"accepted": 2**64}, "accepted must be an integer from"),
        ("series.0.writers.0.closed", 1e12, "flushed must be at or after started and closed"),
        ("series.0.writers.0.started", None, "started must be a number of at most inf, got None"),
    ],
)
def test_bad_metadata_are_named(parts, said, path, value, message):
    """Each field is checked for its type and its range."""
    facts, counts, rest = parts
    change(facts, path, value)
    assert message in said(facts, counts, rest)


def test_metadata_that_are_missing_cut_off_or_double(parts, said):
    """Such as those of a file that another program has written anew."""
    facts, counts, rest = parts
    assert "must carry the metadata of an export, got none" in said(None, counts, rest)
    assert "metadata must be JSON, got" in said('{"version":1,"n_gro', counts, rest)
    assert "metadata must be JSON" in said("[" * 100_000, counts, rest)
    facts["series"] *= 2
    assert "series must be different" in said(facts, counts, rest)


GOOD_ENTRY = {"series": '{"model": "fraud"}', "keys": ["k"], "times": [1.0], "scores": [0.5]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "must be JSON"),
        ("{}", "must say what it is"),
        ('{"other": {}}', "must be an entry or a document, got 'other'"),
        ({"open": {**GOOD_ENTRY, "series": "x"}}, "series must be one of the file, got 'x'"),
        ({"open": {**GOOD_ENTRY, "keys": [[]]}}, "keys must be text, numbers or null"),
        ({"open": {**GOOD_ENTRY, "keys": ["k", "k"]}}, "keys must be different in all"),
        ({"open": {**GOOD_ENTRY, "keys": [math.nan]}}, "key must be equal to itself"),
        ({"open": {**GOOD_ENTRY, "times": []}}, "times must be as many as keys and scores"),
        ({"open": {**GOOD_ENTRY, "times": [1e300]}}, "times must be a number of at most"),
        ({"open": {**GOOD_ENTRY, "scores": [1.5]}}, "score must be in [0, 1]"),
        ({"closed": {**GOOD_ENTRY, "labels": [2]}}, "labels must be 0 or 1 or null, got [2]"),
        ({"closed": {**GOOD_ENTRY, "labels": []}}, "labels must be as many as keys, got []"),
        ({"early": {**GOOD_ENTRY, "labels": [None]}}, "labels must be 0 or 1, got [None]"),
        ({"document": {"kind": "a", "name": "b", "saved": 1, "body": "?"}}, "body must be base64"),
        (
            {"document": {"kind": "reference", "name": "b", "saved": 1, "body": ""}},
            "a reference can't be read",
        ),
        (
            {"document": {"kind": "label delays", "name": "b", "saved": 1, "body": "AAAA"}},
            "data must begin with",
        ),
        ({"journal": {"kind": "a", "saved": 1, "body": ""}}, "name is missing"),
    ],
)
def test_bad_rows_behind_the_counts_are_named(parts, said, row, message):
    """What waits and what was saved is checked as counts are."""
    facts, counts, _ = parts
    text = row if isinstance(row, str) else json.dumps(row)
    columns = [
        pa.array([text]) if field.name == "_rest" else pa.nulls(1, field.type)
        for field in counts.schema
    ]
    rest = pa.Table.from_arrays(columns, schema=counts.schema)
    found = said(facts, counts, rest)
    assert f"row {counts.num_rows + 1}" in found
    assert message in found


def test_a_key_that_waits_twice(tmp_path, said):
    """Once open and once closed, say."""
    MAKERS["predicted"](tmp_path / "metrics.db")
    run("export", tmp_path / "metrics.db", tmp_path / "good.parquet")
    facts, counts, rest = read_parts(tmp_path / "good.parquet")
    texts = rest.column("_rest").to_pylist()
    both = with_value(rest, "_rest", 2, texts[0].replace('{"open"', '{"open"', 1))
    assert "keys must be different in all of a series" in said(facts, counts, both)


def test_files_that_are_no_parquet(tmp_path, parts):
    """Text, a file cut off, bytes that were changed on the way."""
    bad, new = tmp_path / "bad.parquet", tmp_path / "new.db"
    good = (tmp_path / "good.parquet").read_bytes()
    del parts
    for content in (b"", b"text", good[:-100], good[: len(good) // 2]):
        bad.write_bytes(content)
        assert "can't be read as Parquet" in refused(bad, new)
    assert "there is no file" in refused(tmp_path / "none.parquet", new)
    assert "there is no file" in refused(tmp_path, new)
    assert not new.exists()


def test_changed_bytes_are_noticed_or_harmless(tmp_path, parts):
    """Each is refused with one line, or what is imported is what was exported."""
    del parts
    bad, good = tmp_path / "bad.parquet", (tmp_path / "good.parquet").read_bytes()
    wanted = everything(tmp_path / "metrics.db")
    rng = np.random.default_rng(5)
    n_refused = 0
    for number, at in enumerate(rng.integers(0, len(good), 60)):
        changed = bytearray(good)
        changed[at] ^= 1 << int(rng.integers(0, 8))
        bad.write_bytes(changed)
        new = tmp_path / f"{number}.db"
        code, _, err = run("import", bad, new)
        if code == 0:
            assert everything(new) == wanted
            continue
        n_refused += 1
        assert (code, err.count("\n")) == (2, 1)
    assert n_refused > 20


def test_a_store_that_has_the_series_is_left_alone(tmp_path):
    """Without --merge, whatever it is that both have."""
    path, out, target = tmp_path / "metrics.db", tmp_path / "out.parquet", tmp_path / "new.db"
    MAKERS["several"](path)
    run("export", path, out)
    run("import", out, target)
    assert "series must be new to" in refused(out, target)
    with Store(target) as store, store.write() as batch:
        batch.connection.execute("UPDATE series SET labels = labels")
    other = tmp_path / "other.db"
    with Store(other) as store, store.write() as batch:
        batch.position("real.csv", 5)
    assert "position 'real.csv' must be new" in refused(out, other)
    third = tmp_path / "third.db"
    with Store(third) as store, store.write() as batch:
        batch.save("reference", "v1", b"", 0.0)
    assert "reference 'v1' must be new" in run("import", out, third)[2]


def test_a_target_that_is_no_store(tmp_path):
    """It is left as it is."""
    make_plain(tmp_path / "metrics.db")
    run("export", tmp_path / "metrics.db", tmp_path / "out.parquet")
    target = tmp_path / "notes.txt"
    target.write_text("not a database at all, but a text" * 99)
    code, _, err = run("import", tmp_path / "out.parquet", target)
    assert code == 2
    assert "is no store" in err
    assert target.read_text() == "not a database at all, but a text" * 99
