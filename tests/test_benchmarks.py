"""The benchmarks measure what they say: their data, their peers' answers, their table."""

import gc
import json
import math
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import pairwise_auc
from sklearn.metrics import average_precision_score, roc_auc_score

ROOT = Path(__file__).parent.parent
# Last, so that the package under test stays the one that is installed.
sys.path.append(str(ROOT))
accuracy, exact, ingest, machine, timing, truth, yardsticks, zoo = (
    import_module(f"benchmarks.{name}")
    for name in (
        "accuracy",
        "exact",
        "ingest",
        "machine",
        "timing",
        "truth",
        "yardsticks",
        "zoo",
    )
)
peers = import_module("benchmarks.peers")
logistic = import_module("benchmarks.data").logistic
Row = timing.Row

BY_NAME = {kind.name: kind for kind in peers.KINDS}
ZOO = [(one, share) for one in zoo.POPULATIONS for share in (0.3, 0.01, 0.0001)]
# What the issue names; there may be more.
NAMED = {
    "uniform",
    "logit-normal",
    "fraud-like",
    "saturated at 1",
    "two decimals",
    "one constant",
    "heavy-tailed logits",
    "subnormal",
    "bimodal",
    "drifting",
}
# Other libraries' imports may warn of anything, which is no fault of ours.
theirs = pytest.mark.filterwarnings("ignore")
every_peer = pytest.mark.parametrize("name", BY_NAME)


def made(name):
    """Return a new peer; if it is missing, skip with the reason that the table would give."""
    kind = BY_NAME[name]
    _, missing = peers.sort_out([kind])
    if not missing:
        return kind.make()
    ((missing_name, reason),) = missing
    assert missing_name == name
    if find_spec(kind.module) is None:
        assert reason == f"{kind.package} is not installed"
    else:  # such as Keras without its backend
        assert reason.startswith(f"{kind.package} cannot be imported: ")
    return pytest.skip(reason)


@theirs
@every_peer
def test_a_peer_answers_for_what_it_was_fed(name):
    """One by one and in a batch, the AUC is the right one, as closely as the peer can tell."""
    peer, kind = made(name), BY_NAME[name]
    y_true, y_score = logistic(2_000, seed=3)
    take = peer.entry()
    for label, score in zip(y_true[:100].tolist(), y_score[:100].tolist(), strict=True):
        take(label, score)
    peer.update(int(y_true[100]), float(y_score[100]))
    peer.update_many(y_true[101:], y_score[101:])
    seen = slice(-1_000, None) if kind.is_window else slice(None)

    found = peer.roc_auc()

    exactly = roc_auc_score(y_true[seen], y_score[seen])
    # torchmetrics ends in float32.
    assert found == pytest.approx(exactly, abs=1e-6 if kind.is_exact or kind.is_window else 0.02)
    assert peer.roc_auc() == found


@theirs
@every_peer
def test_absorbing_a_stream_leaves_the_same_state(name):
    """The quick way to hand over a whole stream answers as batches do; ties included."""
    peer, same = made(name), made(name)
    rng = np.random.default_rng(5)
    y_true, y_score = (rng.random(150) < 0.4).astype(np.int64), rng.integers(0, 19, 150) / 18

    peer.absorb(y_true, y_score)
    same.update_many(y_true, y_score)

    assert peer.roc_auc() == pytest.approx(same.roc_auc(), abs=1e-12)
    if BY_NAME[name].is_exact or "KLL" in name:  # which keeps as few events as they are
        assert peer.roc_auc() == pytest.approx(roc_auc_score(y_true, y_score), abs=1e-6)
    assert peer.nbytes == pytest.approx(same.nbytes, rel=0.1)


@theirs
@every_peer
def test_the_state_is_as_bounded_as_its_kind_says(name):
    """Ten times the events: hardly more bytes of a bounded peer, ten times those of others."""
    few, many = made(name), made(name)
    y_true, y_score = logistic(30_000)
    few.absorb(y_true[:3_000], y_score[:3_000])
    many.absorb(y_true, y_score)

    growth = many.nbytes / few.nbytes

    assert growth < 2 if BY_NAME[name].is_bounded else growth == pytest.approx(10)


def test_a_peer_that_breaks_on_import_is_named_with_the_error():
    """Installed is not enough: the reason tells what its import said."""

    def broken():
        raise ImportError("libfoo.so is missing")

    kinds = [
        peers.Kind("broken", "numpy", "numpy", broken),
        peers.Kind("absent", "no-such-peer", "no_such_peer", broken),
    ]

    assert peers.sort_out(kinds) == (
        [],
        [
            ("broken", "numpy cannot be imported: libfoo.so is missing"),
            ("absent", "no-such-peer is not installed"),
        ],
    )


lattice = st.lists(st.integers(0, 6).map(lambda k: k / 6), min_size=1, max_size=30)


@given(lattice, lattice, st.integers(1, 7))
def test_the_truth_is_the_truth(pos, neg, size):
    """Pairs one by one and scikit-learn agree with it, in whatever pieces the negatives come."""
    pieces = [np.array(neg[start : start + size]) for start in range(0, len(neg), size)]
    labels, scores = [1] * len(pos) + [0] * len(neg), pos + neg

    found = truth.exact_areas(np.array(pos), pieces)

    assert found.roc_auc == pytest.approx(
        pairwise_auc(list(zip(labels, scores, strict=True))), abs=1e-12
    )
    assert found.average_precision == pytest.approx(
        average_precision_score(labels, scores), abs=1e-12
    )


def test_the_zoo_holds_what_was_asked_for():
    """At least ten distributions, each by its name."""
    names = [one.name for one in zoo.POPULATIONS]

    assert set(names) >= NAMED
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("population", "share"), ZOO, ids=lambda one: getattr(one, "name", one))
def test_the_bounds_hold_on_every_stream_of_the_zoo(population, share):
    """The exact AUC and AP, which scikit-learn confirms, lie inside what 7 bits are certain of."""
    drawn = zoo.stream(population, 3_000, share, seed=8)
    y_true, y_score = drawn.mixed()

    auc, ap = accuracy.measure(drawn)

    assert int(y_true.sum()) == drawn.n_pos == max(1, round(3_000 * share))
    assert ((y_score >= 0) & (y_score <= 1)).all()
    assert auc.exact == pytest.approx(roc_auc_score(y_true, y_score), abs=1e-12)
    assert ap.exact == pytest.approx(average_precision_score(y_true, y_score), abs=1e-12)
    assert auc.bounds.low - 1e-12 <= auc.exact <= auc.bounds.high + 1e-12
    assert ap.bounds.low - 1e-12 <= ap.exact <= ap.bounds.high + 1e-12


@pytest.mark.parametrize("population", zoo.POPULATIONS, ids=lambda one: one.name)
def test_a_population_ties_when_it_says_so(population):
    """Real ties are a property of the scores, and most of some populations' scores have one."""
    _, y_score = zoo.stream(population, 20_000, 0.3).mixed()

    tied = 1 - np.unique(y_score).size / y_score.size

    assert (tied > 0.1) == population.has_ties


def test_bounds_that_are_wrong_are_not_called_right():
    """A value outside its bounds is told apart, so a suite cannot pass it over."""
    wrong = accuracy.Measured(0.7, 0.6, accuracy.Bounds(0.5, 0.65))

    assert not wrong.is_inside
    assert "WRONG" in wrong.words


def test_a_stream_is_the_same_again_and_in_pieces(monkeypatch):
    """Seeds decide: the negatives come again, and pieces cover the whole of a drifting stream."""
    drifting = next(one for one in zoo.POPULATIONS if one.name == "drifting")
    monkeypatch.setattr(zoo, "_PIECE", 400)
    drawn = zoo.stream(drifting, 1_000, 0.01, seed=2)
    again = list(drawn.negatives())

    pieces = list(drawn.negatives())

    assert [piece.size for piece in pieces] == [400, 400, 190]
    assert all(np.array_equal(one, two) for one, two in zip(pieces, again, strict=True))
    assert pieces[0].mean() < pieces[1].mean() < pieces[2].mean()


def test_the_exact_suite_asks_for_the_exact_auc():
    """What it times is scikit-learn's value, with ties and scores of either sign."""
    rng = np.random.default_rng(4)
    y_true, y_score = rng.integers(0, 2, 500), np.round(rng.normal(0, 3, 500), 1)

    assert exact.exact_auc(y_true, y_score) == pytest.approx(
        roc_auc_score(y_true, y_score), abs=1e-12
    )


@theirs
def test_the_compiled_pass_counts_what_bincount_counts():
    """The yardstick does the whole work: every event in its bin and class."""
    compiled, reason = yardsticks.compiled_pass()
    if compiled is None:
        assert reason == "No module named 'numba'"
        pytest.skip(reason)
    y_true, y_score = logistic(1_000)
    scale = import_module("streamauc").Scale.probability()
    counts = np.zeros(2 * scale.n_bins, dtype=np.int64)

    compiled(y_true, y_score, counts)

    keys = 2 * scale.bins(y_score) + y_true
    assert np.array_equal(counts, np.bincount(keys, minlength=counts.size))


def test_ingest_names_the_fastest_peer_and_what_was_asked_of_it(monkeypatch):
    """Seconds become nanoseconds of the events that each was fed; the cheapest is compared."""
    seconds = {"Monitor": 0.5, "Monitor, 1,000 events a minute": 1.0}
    names = ["River ROCAUC, 10 thresholds", "two KLL sketches, k = 200"]
    monkeypatch.setattr(ingest, "race", lambda *_, **__: seconds | dict.fromkeys(names, 1.0))
    kinds = [BY_NAME[name] for name in names]
    y_true, y_score = logistic(20_000)

    rows = list(ingest._one_size("x", 1_000, y_true, y_score, kinds, 1))

    # River is timed on 5,000 events only.
    costs = {row.what: row.value for row in rows[:-1]}
    assert list(costs) == [f"{name}: x" for name in (*seconds, *names)]
    assert list(costs.values()) == pytest.approx([25_000, 50_000, 200_000, 50_000])
    assert rows[-1].value == pytest.approx(2)
    assert (rows[-1].at_least, rows[-1].detail) == (1.0, "two KLL sketches, k = 200")


@pytest.mark.parametrize(
    ("row", "asked", "verdict"),
    [
        (Row("s", "w", 3.0, ""), "", ""),
        (Row("s", "w", 3.0, "", 3.0), "at most 3", "ok"),
        (Row("s", "w", 3.1, "", 3.0), "at most 3", "MISSED"),
        (Row("s", "w", 3.0, "", at_least=3.0), "at least 3", "ok"),
        (Row("s", "w", 2.9, "", at_least=3.0), "at least 3", "MISSED"),
        (Row("s", "w", math.nan, "", 3.0), "at most 3", ""),
        (Row.missing("s", "w", "river is not installed"), "", ""),
    ],
)
def test_a_row_says_whether_what_was_asked_for_was_reached(row, asked, verdict):
    """Most or least, met at the very limit; what could not be measured gets no verdict."""
    assert (row.asked, row.verdict) == (asked, verdict)


def test_a_race_takes_the_pulse_and_leaves_the_collector_as_it_was():
    """Each round has one beat, for whoever asked; runners run in turns with the collector off."""
    seen = []
    groups = []
    token = timing.pulses.set(groups)

    medians = timing.race(
        {"a": lambda: seen.append(("a", gc.isenabled())), "b": lambda: seen.append(("b", True))}, 3
    )

    timing.pulses.reset(token)
    assert seen == [("a", False), ("b", True)] * 3
    assert list(medians) == ["a", "b"]
    assert [len(group) for group in groups] == [3]
    assert all(one.processor > 0 for one in groups[0])
    assert gc.isenabled()


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run two suites as a person would, for JSON and for a file of Markdown."""
    path = tmp_path_factory.mktemp("benchmarks") / "table.md"
    command = [sys.executable, "-m", "benchmarks", "--quick", "yardsticks", "memory"]
    command += ["--json", "--markdown", str(path)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), path.read_text()


def test_the_command_prints_a_table_with_versions(printed):
    """A line of versions, then a line for each row, peers that are missing among them."""
    found, table = printed
    head, _, *lines = table.splitlines()

    assert head.startswith("date 20")
    for package, version in found["versions"].items():
        assert f"{package} {version}" in head
    assert len(lines) == 2 + len(found["rows"])
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines if "---" not in line)


def test_every_peer_has_its_bytes_or_its_reason(printed):
    """Nobody is passed over: each peer has two rows of bytes, or one that says it is missing."""
    rows = [row for row in printed[0]["rows"] if row["suite"] == "memory"]
    for name, kind in BY_NAME.items():
        values = [row["value"] for row in rows if row["what"].startswith(f"{name}: ")]
        gaps = [row for row in rows if row["what"] == name]
        if gaps:
            assert not values
            assert [row["value"] for row in gaps] == [None]
            assert gaps[0]["detail"].startswith(f"missing: {kind.package} ")
        else:
            assert len(values) == 2
            assert min(values) > 0


def test_the_yardsticks_and_the_pulse_are_there(printed):
    """What the machine needs at the very least, each with a number unless numba is missing."""
    rows = {row["what"]: row for row in printed[0]["rows"] if row["suite"] == "yardsticks"}
    for what in ("copying the bytes", "np.bincount", "a compiled pass", "an empty method", "pulse"):
        (row,) = [row for name, row in rows.items() if name.startswith(what)]
        assert (row["value"] or 0) > 0 or row["detail"].startswith("missing: ")


@pytest.mark.parametrize(("suite", "package"), [("metrics", "sklearn"), ("replay", "pyarrow")])
def test_a_suite_that_lacks_a_package_says_so_and_lets_the_others_run(suite, package):
    """What has been measured is printed, and what is missing is named."""
    block = f"import sys; sys.modules[{package!r}] = None; sys.argv = ['benchmarks', *sys.argv[1:]]"
    code = f"{block}; import benchmarks.__main__ as it; it.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--quick", "--json", suite],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    first, *_, last = json.loads(done.stdout)["rows"]
    assert first["what"] == f"the rest of the suite {suite}"
    assert first["detail"].startswith("missing: ")
    assert package in first["detail"]
    assert last["what"].startswith("pulse")


def test_an_unknown_suite_is_refused_by_name():
    """A typing error ends before anything is measured, with the names that there are."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "ingset"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "suites must be among yardsticks, ingest" in done.stderr
    assert "got ingset" in done.stderr
