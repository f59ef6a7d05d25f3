"""The rejected share is of the rule's window: of what came since the check so long ago."""

import json
import random

import pytest
from rules.sources import FRAUD, Clock, one, rule

from streamauc import Monitor
from streamauc.rules.document import parse
from streamauc.rules.memory import MonitorSource
from streamauc.rules.problems import RulesError
from streamauc.rules.record import State
from streamauc.rules.scenario import parse_scenario
from streamauc.rules.scenario_run import run
from streamauc.rules.stored import evaluate_stored
from streamauc.rules.tallies import MAX_LAST, Tally, base_of, dumps, grown, loads
from streamauc.store import Store

HOUR = 3600.0
DAY = 24 * HOUR
FILE = rule('metric = "rejected_share"', "above = 0.01")


class Stream:
    """A stored series that is fed and checked at times that the test sets."""

    def __init__(self, path, began=0.0):
        self.path, self.clock = path, Clock(began)
        self.monitor = Monitor(
            store=path,
            series=FRAUD,
            clock=self.clock,
            bad="skip",
            flush_seconds=float("inf"),
        )

    def feed(self, n_good, n_bad, now):
        self.clock.now = float(now)
        for score, number in ((0.5, n_good), (7.0, n_bad)):
            self.monitor.update_many([1] * number, [score] * number, [self.clock.now] * number)
        self.monitor.flush()

    def check(self, now, file=FILE, *, keep=True):
        self.clock.now = float(now)
        with Store(self.path) as store:
            (found,) = evaluate_stored(file, store, clock=self.clock, keep=keep)
        return found

    def said(self, now, file=FILE, **options):
        record = self.check(now, file, **options).record
        return record.state.value, record.reason


@pytest.fixture
def stream(tmp_path):
    made = Stream(tmp_path / "m.db")
    yield made
    made.monitor.close()


def test_after_a_year_in_service_it_still_fires(stream):
    """However many good events there have been since counting began."""
    stream.feed(100_000, 0, 0)
    for step in range(90):
        stream.feed(100, 0, 365 * DAY + 60 * step)
        assert stream.check(365 * DAY + 60 * step).state is not State.FIRING, step
    stream.feed(0, 200, 365 * DAY + 60 * 90)
    found = stream.check(365 * DAY + 60 * 90)

    n_offered = 100 * round((found.span[1] - found.span[0]) / 60 - 1) + 200
    assert (found.state, found.record.value) == (State.FIRING, 200 / n_offered)
    assert HOUR <= found.span[1] - found.span[0] <= 1.35 * HOUR
    assert "is above 0.01 (since 00:" in found.record.reason


def test_the_first_check_of_an_old_stream_has_nothing_to_compare_with(stream):
    """From then on it is what came since that check, until there is an older one."""
    stream.feed(1_000, 0, 10 * HOUR)
    stream.feed(0, 100, 30 * HOUR)
    first = "no check before that this one could be compared with; the next one can"
    assert stream.said(30 * HOUR) == ("NO_DATA", first)
    stream.feed(1, 0, 30 * HOUR + 30)
    assert stream.said(30 * HOUR + 60) == ("OK", "rejected_share 0 (since 06:00 UTC)")
    stream.feed(0, 1, 30 * HOUR + 90)
    found = stream.said(30 * HOUR + 120)
    assert found == ("FIRING", "rejected_share 0.5 is above 0.01 (since 06:00 UTC)")


def test_the_first_check_of_a_young_stream_compares_with_its_beginning(tmp_path):
    stream = Stream(tmp_path / "m.db", began=10 * HOUR)
    stream.feed(3, 1, 10 * HOUR)
    found = stream.said(10 * HOUR + 600)
    assert found == ("FIRING", "rejected_share 0.25 is above 0.01 (since 10:00 UTC)")


@pytest.mark.parametrize(
    ("n_good", "n_bad", "state", "share"), [(0, 5, "FIRING", "1 is above 0.01"), (5, 0, "OK", "0")]
)
def test_where_all_or_none_were_rejected_the_first_check_knows(stream, n_good, n_bad, state, share):
    """Since whatever time."""
    stream.feed(n_good, n_bad, 10 * HOUR)
    assert stream.said(20 * HOUR) == (state, f"rejected_share {share} (since 00:00 UTC)")


def test_rare_checks_compare_with_the_one_before(stream):
    """A window shorter than the time between two checks can't be told."""
    for day in range(3):
        stream.feed(98, 2 * day, day * DAY + HOUR)
        found = stream.check(day * DAY + 3 * HOUR)
        wanted = [None, 2 / 100, 4 / 102][day]
        if wanted is not None:
            assert found.record.value == pytest.approx(wanted)
    assert found.record.reason.endswith("(since 1970-01-02 03:00 UTC)")


def test_a_check_after_a_gap_is_not_diluted_by_it(stream):
    """As soon as there is a later one to compare with."""
    stream.feed(100, 0, HOUR)
    stream.check(HOUR)
    stream.feed(100_000, 0, 100 * HOUR)
    stream.check(200 * HOUR)
    stream.feed(9, 1, 200 * HOUR + 60)
    assert stream.check(200 * HOUR + 60).record.value == 0.1


def test_nothing_offered_is_no_data(stream):
    stream.feed(1, 0, 10 * HOUR)
    stream.check(11 * HOUR)
    assert stream.said(13 * HOUR) == ("NO_DATA", "no event offered since 11:00 UTC")


def test_the_past_is_known_as_far_as_there_were_checks(stream):
    """Nothing is written, and nothing seen of what came later."""
    file = rule('metric = "rejected_share"', 'window = "10m"', "above = 0.01")
    for step in range(30):
        stream.feed(9, 1 if step == 20 else 0, 60 * step)
        live = stream.said(60 * step, file)
        before = stream.path.read_bytes()
        assert stream.said(60 * step, file, keep=False) == live
        assert stream.path.read_bytes() == before
    assert stream.check(60 * 15, file, keep=False).record.value == 0
    assert stream.said(-60, file, keep=False)[1] == "what was offered by then is not known"


def test_windows_are_the_rules_own(stream):
    """Rules with different ones share what is remembered."""
    files = {
        last: rule('metric = "rejected_share"', f'window = "{last}m"', "above = 2")
        for last in (1, 7, 45, 300)
    }
    rng = random.Random(3)  # noqa: S311 - no secret
    offered = []
    for step in range(500):
        offered.append((rng.randrange(1, 5), rng.randrange(3)))
        stream.feed(*offered[-1], 60 * step)
        for last, file in files.items():
            if last > 1 and step % 50 != 49:
                continue
            found = stream.check(60 * step, file)
            n_steps = round((found.span[1] - found.span[0]) / 60)
            good, bad = map(sum, zip(*offered[-n_steps:], strict=True))
            if found.span[0] > 0:
                assert found.record.value == pytest.approx(bad / (good + bad)), (step, last)
            assert step < last or last <= n_steps <= 1.35 * last, (step, last)


def test_a_test_of_rules_judges_alike():
    """Checks are those of the test; a score beyond the scale is rejected."""
    text = """
start = "2026-03-01T09:00:00Z"
[[series]]
labels = { model = "fraud" }
events = [
  { from = "-2d", until = "3h", every = "1m", label = 1, score = 0.5, count = 20 },
  { from = "2h1m", until = "2h10m", every = "1m", label = 1, score = 7.5, count = 20 },
]
[[expect]]
at = "2h"
alert = "x"
series = { model = "fraud" }
state = "OK"
[[expect]]
at = "2h10m"
alert = "x"
series = { model = "fraud" }
state = "FIRING"
value = 0.125
tolerance = 0.02
reason = "since 2026-03-01"
"""
    rules = parse('[[rule]]\nalert = "x"\nmetric = "rejected_share"\nwindow = "1h"\nabove = 0.01\n')
    found = run(parse_scenario(text.replace("since 2026-03-01", "since 1"), "t.toml", rules))
    assert found.passed, str(found)


def test_a_window_longer_than_is_remembered_is_wrong():
    with pytest.raises(RulesError, match="window must be at most 7d for rejected_share, got 8d"):
        rule('metric = "rejected_share"', 'window = "8d"', "above = 0.1")


@pytest.mark.parametrize("every", [1, 60, 300, 4 * 3600])
def test_few_are_remembered_and_every_age_is_near_one(every):
    """Whatever was forgotten on the way."""
    tallies = ()
    for step in range(6_000 if every < 1_000 else 100):
        now = float(every * step)
        tallies = grown(tallies, Tally(now, step, 0), 0.0)
        assert len(tallies) < 110
        if step > 500 and step % 97:
            continue
        for last in (every, 3 * every, 17 * every, 200 * every, MAX_LAST):
            if every <= last <= min(now, MAX_LAST):
                age = now - base_of(tallies, last).at
                assert last <= age <= 1.35 * last + every, (step, last)


def test_what_cannot_have_been_before_is_forgotten():
    """A clock that was set back, or a store that was replaced."""
    first = grown((), Tally(100.0, 10, 1), 40.0)
    assert first == ((40.0, 0, 0), (100.0, 10, 1))
    assert grown(first, Tally(90.0, 11, 1), 40.0) == ((40.0, 0, 0), (90.0, 11, 1))
    assert grown(first, Tally(200.0, 9, 1), 150.0) == ((40.0, 0, 0), (200.0, 9, 1))
    assert grown((), Tally(200.0, 9, 9), float("inf")) == ((200.0, 0, 0), (200.0, 9, 9))


def test_bytes():
    book = {"a": (Tally(1.5, 2, 1), Tally(2.5, 3, 1)), "b": ()}
    assert loads(dumps(book)) == book
    for bad in (b"[]", b"{", b'{"a": 1}', b'{"a": [[1]]}', b'{"a": [["x", 1, 2]]}'):
        with pytest.raises(ValueError, match=r"."):
            loads(bad)


def test_tallies_that_cannot_be_read_are_damage(stream):
    stream.feed(1, 0, HOUR)
    with Store(stream.path) as store, store.write() as batch:
        batch.save("tallies", "all series", json.dumps([1]).encode(), 0.0)
    assert stream.check(HOUR).state is State.ERROR
    assert "tallies can't be read" in stream.check(HOUR).record.reason


def test_memory_remembers_as_a_store_does():
    """For a service that watches itself."""
    clock = Clock(10 * HOUR)
    made = Monitor(clock=clock, bad="skip")
    found = MonitorSource([(FRAUD, made)], clock=clock)
    made.update_many([1] * 1000, [0.5] * 999 + [2.0], [clock.now] * 1000)
    clock.now = 20 * HOUR
    assert one(FILE, found).state is State.NO_DATA
    made.update_many([1] * 10, [7.0] * 10, [clock.now] * 10)
    clock.now += 60
    assert one(FILE, found).record.value == 1
