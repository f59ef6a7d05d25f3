"""Several processes at one file, and what is left when they are killed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from streamauc import Scale, ScoreHistogram
from streamauc.store import Store
from streamauc.tiers import check_tiers, first_panes

LONG = os.environ.get("STREAMAUC_LONG") == "1"
N_KILLS = 500 if LONG else 20
SCALE = Scale.probability(bits=5)
TIERS = ((1, 20), (5, 100), (20, "1d"))
LABELS = {"model": "fraud"}


def start(code, *arguments):
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    return out


def totals(store, channel="labelled"):
    """Events by class over all time."""
    series = store.series(LABELS, SCALE, TIERS)
    parts = series.cover(channel, -1e12, 1e12).parts
    return ScoreHistogram.merge([*parts, ScoreHistogram.empty(SCALE)]).totals.tolist()


WRITER = """
import sys
import numpy as np
from test_processes import LABELS, SCALE, TIERS
from streamauc import ScoreHistogram
from streamauc.store import Store
seed, n_flushes = int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(seed)
with Store(sys.argv[1]) as store:
    series = store.series(LABELS, SCALE, TIERS)
    for number in range(n_flushes):
        labels = rng.integers(0, 2, 30)
        part = ScoreHistogram.from_scores(labels, rng.integers(0, 9, 30) / 8, scale=SCALE).stored
        with series.write() as change:
            dropped = change.add("labelled", [(number + int(rng.integers(0, 40)), part)])
            change.tally(f"writer {seed}", {"accepted": 30 - dropped}, now=number, latest=number)
        if number % 10 == 0:
            series.advance(number)
"""


def test_writers_in_many_processes_lose_nothing(tmp_path):
    """Four processes count in the same panes and let them expire; every event is there."""
    path = tmp_path / "metrics.db"
    n_flushes = 60
    writers = [start(WRITER, path, seed, n_flushes) for seed in range(4)]
    reader = Store(path)
    seen = []
    while any(writer.poll() is None for writer in writers):
        seen.append(sum(totals(reader)))
    for writer in writers:
        finished(writer)
    accepted = 4 * n_flushes * 30
    assert sum(totals(reader)) == accepted
    assert seen == sorted(seen)  # nobody saw an event twice or not at all while it was moved
    assert reader.series(LABELS).tallies() == {"accepted": accepted}
    assert len(reader.series(LABELS).writers()) == 4
    assert reader.verify().is_whole
    reader.close()


VICTIM = """
import sys
import numpy as np
from test_processes import LABELS, SCALE, TIERS
from streamauc import ScoreHistogram
from streamauc.store import Store, rollup
rollup._MOST_PARENTS = 1
number = int(sys.argv[2])
part = ScoreHistogram.from_scores([0, 1], [0.2, 0.9], scale=SCALE).stored
with Store(sys.argv[1]) as store:
    series = store.series(LABELS, SCALE, TIERS)
    while True:
        number += 1
        with series.write() as change:
            assert change.add("labelled", [(number - back, part) for back in range(12)]) == 0
            change.tally("victim", {"accepted": 24}, now=number, latest=number, since=0)
        print(number, flush=True)
        if number % 7 == 0:
            series.advance(number)
"""


def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path):
    """At any moment, in the middle of a flush or of a roll-up; at most the last one is more."""
    path = tmp_path / "metrics.db"
    rng = np.random.default_rng(8)
    number = 0
    for _ in range(N_KILLS):
        victim = start(VICTIM, path, number)
        first = victim.stdout.readline()
        assert first, victim.stderr.read()
        time.sleep(rng.exponential(0.02))
        victim.send_signal(signal.SIGKILL)
        rest = victim.stdout.read()
        victim.communicate()
        told = int((first + rest).split("\n")[-2])  # a torn last line is not a whole one
        with Store(path) as store:
            series = store.series(LABELS)
            number = int(series.facts.latest)
            assert number in (told, told + 1)
            assert totals(store) == [12 * number, 12 * number]
            assert series.tallies() == {"accepted": 24 * number}
            report = store.verify()
            assert report.is_whole, report.problems
    with Store(path) as store:
        series = store.series(LABELS)
        series.advance(number)
        assert series.first == first_panes(check_tiers(TIERS), number)
        assert totals(store) == [12 * number, 12 * number]
        assert store.verify().is_whole


@pytest.mark.parametrize("n_steps", range(1, 7))
def test_a_roll_up_that_is_left_half_done_is_right_and_goes_on(tmp_path, monkeypatch, n_steps):
    """After each of its transactions, all events are there once, and the next one goes on."""
    from streamauc.store import rollup

    monkeypatch.setattr(rollup, "_MOST_PARENTS", 2)
    part = ScoreHistogram.from_scores([0, 1], [0.2, 0.9], scale=SCALE).stored
    with Store(tmp_path / "metrics.db") as store:
        series = store.series(LABELS, SCALE, TIERS)
        series.add("labelled", [(second, part) for second in range(300)])
        before = series.first
        for _ in range(n_steps):
            with series.write() as change:
                rollup.step(change, rollup.advanced(change.row.facts, 330).first)
            assert totals(store) == [300, 300]
            assert store.verify().is_whole
            assert series.first > before
            before = series.first
        series.advance(330)
        assert totals(store) == [300, 300]
        assert series.first == first_panes(check_tiers(TIERS), 330)
