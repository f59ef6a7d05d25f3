"""What rules read: metrics by value and by bound, comparisons, health, and what is too little."""

import math

import numpy as np
import pytest
from rules.sources import FRAUD, Clock, monitor, one, rule, said, source

from streamauc import Monitor, Scale, ScoreHistogram, compare
from streamauc.rules.memory import MonitorSource
from streamauc.rules.model import Detection
from streamauc.rules.newest import newest_event
from streamauc.rules.observe import observe
from streamauc.rules.readings import Measured, Missing
from streamauc.rules.source import Health, View

HOUR = 3600.0
# Ten positives and ninety negatives an hour ago, then twenty and eighty; ends at 2 h.
EVENTS = [
    (10, 1, 0.9, 8),
    (20, 1, 0.2, 2),
    (30, 0, 0.1, 90),
    (HOUR + 10, 1, 0.9, 10),
    (HOUR + 20, 1, 0.2, 10),
    (HOUR + 30, 0, 0.1, 72),
    (HOUR + 40, 0, 0.8, 8),
]
NOW = 2 * HOUR - 1


def both(now=NOW, **options):
    return source(now, *EVENTS, scale=Scale.probability(thresholds=(0.5,)), **options)


def test_a_metric_by_value():
    """Of the window that `Monitor.window` gives."""
    found = both()
    window = found.monitor(FRAUD).window(last="1h")

    for metric in ("roc_auc", "prevalence", "average_precision", "n_pos"):
        value = said(rule(f'metric = "{metric}"', 'window = "1h"', "above = 1000"), found)[1]
        assert value == window.value(metric)
    value = said(rule('metric = "recall@0.5"', 'window = "1h"', "above = 2"), found)
    assert value == ("OK", 0.5, "recall@0.5 0.5")


def test_offsets_move_the_window_back():
    """By as much as they say."""
    lines = ['metric = "prevalence"', 'window = "1h"', "above = 0.15"]

    assert said(rule(*lines), both())[:2] == ("FIRING", 0.2)
    assert said(rule(*lines, 'offset = "1h"'), both())[:2] == ("OK", 0.1)


def test_the_very_moment_belongs_to_the_window():
    """As in `Monitor.window`."""
    found = source(600, (600, 1, 0.5))

    assert said(rule('metric = "n_samples"', 'window = "1m"', "below = 1"), found)[1] == 1


def test_by_bound_the_whole_interval_must_be_past():
    """One ulp decides."""
    found = both()
    interval = found.monitor(FRAUD).window(last="1h").interval("prevalence", level=0.9)
    lines = ['metric = "prevalence"', 'window = "1h"', 'by = "bound"', "level = 0.9"]

    for limit, state in (
        (f"above = {interval.low!r}", "OK"),
        (f"above = {math.nextafter(interval.low, 0)!r}", "FIRING"),
        (f"below = {interval.high!r}", "OK"),
        (f"below = {math.nextafter(interval.high, 1)!r}", "FIRING"),
    ):
        result = one(rule(*lines, limit), found)
        assert result.state.value == state
        assert result.interval == (interval.low, interval.high)
        assert result.record.value == 0.2


def test_an_undefined_interval_is_no_data():
    """Though the value is defined."""
    found = source(60, (10, 1, 0.9), (10, 0, 0.1, 9))
    lines = ['metric = "roc_auc"', 'window = "1h"', "below = 2"]

    assert said(rule(*lines), found)[0] == "FIRING"
    state, _, reason = said(rule(*lines, 'by = "bound"'), found)
    assert (state, reason) == (
        "NO_DATA",
        "the interval of roc_auc is undefined: undefined: fewer than two positives",
    )


@pytest.mark.parametrize(
    ("events", "metric", "reason"),
    [
        ((), "roc_auc", "roc_auc is undefined: empty"),
        (((10, 1, 0.5),), "roc_auc", "roc_auc is undefined: no_negatives"),
        (((10, 0, 0.5),), "average_precision", "average_precision is undefined: no_positives"),
        (((10, 0, 0.5),), "precision@0.9", "precision@0.9 is undefined: nothing_flagged"),
    ],
)
def test_undefined_is_no_data_with_a_reason(events, metric, reason):
    """Never OK."""
    lines = [f'metric = "{metric}"', 'window = "1h"', "below = 0.1"]

    assert said(rule(*lines), source(60, *events))[::2] == ("NO_DATA", reason)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("min_pos = 21", "too few positives: 20 of at least 21"),
        ("min_neg = 80.5", "too few negatives: 80 of at least 80.5"),
        ("min_pos = 20", None),
        ("min_neg = 80", None),
    ],
)
def test_too_few_events_are_no_data(line, reason):
    """At least as many as said."""
    lines = ['metric = "roc_auc"', 'window = "1h"', "below = 0.1"]
    state, _, words = said(rule(*lines, line), both())

    assert (state, words) == (("NO_DATA", reason) if reason else ("OK", words))


def predicted(now):
    """Ten predictions, nine with their label."""
    clock = Clock()
    made = Monitor(clock=clock)
    for key in range(10):
        made.predict(key, 0.5 + key / 100, 10.0)
    for key in range(9):
        made.resolve(key, key % 2)
    clock.now = float(now)
    return MonitorSource([(FRAUD, made)], clock=clock)


def test_too_few_labels_are_no_data():
    """A coverage of exactly what is asked for will do."""
    lines = ['metric = "roc_auc"', 'window = "1h"', "below = 0.1"]

    assert said(rule(*lines, "min_coverage = 0.9"), predicted(60))[0] == "OK"
    assert said(rule(*lines, "min_coverage = 0.91"), predicted(60))[::2] == (
        "NO_DATA",
        "too few labels: coverage 0.9 of at least 0.91",
    )
    assert said(rule(*lines, "min_coverage = 0.5"), source(60))[2] == "no events in the window"


def test_coverage():
    """The labelled share of a window; without predictions no data."""
    lines = ['metric = "coverage"', 'window = "1h"', "below = 0.95"]

    assert said(rule(*lines), predicted(60))[:2] == ("FIRING", 0.9)
    assert said(rule(*lines), source(60))[::2] == ("NO_DATA", "no events in the window")


def test_the_alert_rate_is_of_all_scores():
    """Those without a label, too."""
    lines = ['metric = "alert_rate@0.59"', 'window = "1h"', "above = 0.05"]

    assert said(rule(*lines), predicted(60))[:2] == ("FIRING", 0.1)


def test_a_window_that_misleads_says_so():
    """It begins before counting did."""
    lines = ['metric = "n_samples"', 'window = "1h"', "below = 3"]

    assert said(rule(*lines), source(60, (10, 1, 0.5)))[2] == (
        "n_samples 1 is below 3 (warming_up)"
    )


COARSE = ((60, "2h"), (3600, "90d"))
# An event every 30 seconds for half a day.
DAY = [(30.0 * step, step % 2, 0.5) for step in range(1440)]


@pytest.mark.parametrize(
    ("window", "offset", "reason"),
    [
        ("10m", "0s", "n_samples 22"),
        ("95s", "0s", "n_samples 4"),
        ("10s", "10s", "n_samples 2"),
        ("10m", "6h", "n_samples 120 (of 1h instead of 10m)"),
        ("1h", "6h", "n_samples 240 (of 2h instead of 1h)"),
        ("59m30s", "6h", "n_samples 120"),
        ("9h", "2h30m", "n_samples 1140 (of 9h30m instead of 9h)"),
        ("9h", "20d", "n_samples 0 (expired, of 10h instead of 9h)"),
    ],
)
def test_a_window_of_another_length_than_asked_for_says_so(window, offset, reason):
    """Where only coarse panes are left; rounding out to the finest is no news."""
    found = source(12 * HOUR - 1, *DAY, tiers=COARSE)
    lines = ['metric = "n_samples"', f'window = "{window}"', f'offset = "{offset}"', "above = 1e6"]
    if offset == "20d":
        found = source(30 * 24 * HOUR, *DAY, tiers=((60, "2h"), (3600, "1d")))

    assert said(rule(*lines), found)[2] == reason


def test_a_reference_of_another_length_than_the_window_says_so():
    found = source(12 * HOUR - 1, *DAY, tiers=COARSE)
    lines = ['metric = "prevalence_difference"', 'window = "10m"', "above = 1e6"]

    assert said(rule(*lines, 'reference = "previous"'), found)[2] == "prevalence_difference 0"
    assert said(rule(*lines, 'reference = "6h"'), found)[2] == (
        "prevalence_difference 0 (reference of 1h instead of 11m)"
    )
    assert said(rule(*lines, 'reference = "6h"', 'offset = "4h"'), found)[2] == (
        "prevalence_difference 0 (of 1h instead of 10m)"
    )


def test_a_result_knows_what_was_looked_at():
    """With and without something to judge; what is of no window has no span."""
    found = source(12 * HOUR - 1, *DAY, tiers=COARSE)
    lines = ['metric = "roc_auc"', 'window = "10m"', 'offset = "6h"', "above = 1e6"]

    for more in ("min_pos = 1", "min_pos = 1000", 'by = "bound"'):
        assert one(rule(*lines, more), found).span == (5 * HOUR, 6 * HOUR), more
    assert one(rule('metric = "newest_event_age"', "above = 60"), found).span is None


SIDES = (slice(0, 3), slice(3, 7))


def comparison(threshold=None):
    first, second = (monitor(Clock(), *EVENTS[side]) for side in SIDES)
    return compare(
        first.window(0, HOUR), second.window(HOUR, 2 * HOUR), threshold=threshold, level=0.9
    )


@pytest.mark.parametrize(
    ("metric", "read"),
    [
        ("prevalence_difference", lambda one: one.prevalence_difference),
        ("prevalence_ratio", lambda one: one.prevalence_ratio),
        ("roc_auc_difference", lambda one: one.roc_auc_difference),
        ("ks.overall", lambda one: one.score_shift["overall"].ks),
        ("psi.negatives", lambda one: one.score_shift["negatives"].psi),
        ("jensen_shannon.positives", lambda one: one.score_shift["positives"].jensen_shannon),
        ("average_precision_change", lambda one: one.attribution["average_precision"].total),
        (
            "average_precision_change.negatives",
            lambda one: one.attribution["average_precision"].negatives,
        ),
        ("precision_change.positives@0.5", lambda one: one.attribution["precision@0.5"].positives),
        ("fpr_change@0.5.prevalence", lambda one: one.attribution["fpr@0.5"].prevalence),
        ("alert_rate_change@0.5", lambda one: one.attribution["alert_rate@0.5"].total),
    ],
)
def test_comparisons_with_the_window_before(metric, read):
    """A window as long ago as it is long is the one before."""
    wanted = read(comparison(0.5))
    for reference in ("previous", "1h"):
        lines = [f'metric = "{metric}"', f'reference = "{reference}"', 'window = "1h"']
        value = said(rule(*lines, "above = 1000"), both(2 * HOUR - 1))[1]
        assert value == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize(
    "metric", ["prevalence_difference", "prevalence_ratio", "roc_auc_difference"]
)
def test_intervals_of_comparisons(metric):
    """At the level that is asked for."""
    found = comparison()
    wanted = {
        "prevalence_difference": found.prevalence.interval,
        "prevalence_ratio": found.prevalence_ratio_interval,
        "roc_auc_difference": found.roc_auc.interval,
    }[metric]
    lines = [f'metric = "{metric}"', 'reference = "previous"', 'window = "1h"']

    result = one(rule(*lines, "above = 50", 'by = "bound"', "level = 0.9"), both())

    assert result.interval == pytest.approx((wanted.low, wanted.high))


def test_a_named_reference():
    """A histogram, a window, or a span of each series' own past."""
    span = (0.0, HOUR)
    histogram = ScoreHistogram.from_scores(
        [1] * 10 + [0] * 90, np.full(100, 0.5), scale=Scale.probability()
    )
    lines = [
        'metric = "prevalence_difference"',
        'reference = "v3"',
        'window = "1h"',
        "above = 0.05",
    ]

    for reference in (span, histogram, monitor(Clock(), *EVENTS[:3]).window(*span)):
        found = both(2 * HOUR + 30, references={"v3": reference})
        assert said(rule(*lines), found)[:2] == ("FIRING", pytest.approx(0.1))
    state, _, reason = said(rule(*lines), both(references={"v2": span}))
    assert state == "ERROR"
    assert reason == "LookupError: reference must be a known one, got 'v3'; known are 'v2'"


def test_a_reference_with_too_little_is_no_data():
    """It needs as many events as the window."""
    lines = ['metric = "roc_auc_difference"', 'reference = "previous"', 'window = "1h"']

    assert said(rule(*lines, "below = -1", "min_pos = 11"), both())[::2] == (
        "NO_DATA",
        "too few positives in the reference: 10 of at least 11",
    )
    assert said(rule(*lines, "below = -1"), both(HOUR - 1))[::2] == (
        "NO_DATA",
        "roc_auc_difference is undefined: no events in the reference",
    )
    flags = ['metric = "precision_change@0.95"', 'reference = "previous"', 'window = "1h"']
    assert said(rule(*flags, "below = -1"), both())[2].endswith("nobody is flagged on one side")


def test_a_window_that_shares_events_with_its_reference_is_no_data():
    """As for a while after a reference was set anew."""
    lines = ['metric = "prevalence_difference"', 'reference = "x"', 'window = "1h"', "above = 0.05"]

    state, _, reason = said(rule(*lines), both(references={"x": (0.0, 2 * HOUR)}))

    assert state == "NO_DATA"
    assert reason == "the window shares events with the reference, which ends after it begins"


def test_the_age_of_the_newest_event():
    """To the end of its pane; without any event no data."""
    file = rule('metric = "newest_event_age"', 'above = "5m"')

    assert said(file, source(600, (301, 1, 0.5)))[:2] == ("OK", 240)
    assert said(file, source(600, (299, 1, 0.5)))[:2] == ("OK", 300)
    assert said(file, source(601, (299, 1, 0.5)))[:2] == ("FIRING", 301)
    assert said(file, source(600, (599, 1, 0.5)))[1] == 0
    assert said(file, source(600))[::2] == ("NO_DATA", "no event yet, or none known of")


@pytest.mark.parametrize("seed", range(20))
def test_the_newest_event_is_found_among_panes_of_all_lengths(seed):
    """Predictions, gaps and panes that have been rolled up."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice([40, 4_000, 400_000], 1) * rng.random(rng.integers(1, 6)))
    now = float(times[-1] + rng.choice([0, 30, 3_000, 300_000]))
    clock = Clock()
    made = Monitor(clock=clock, tiers=((60, "1h"), (600, "1d"), (3600, "90d")), max_ahead="90d")
    for number, at in enumerate(times.tolist()):
        if rng.random() < 0.5:
            made.update(1, 0.5, at)
        else:
            made.predict(number, 0.5, at)
    clock.now = now

    found = newest_event(made.window, now)

    newest = float(times[-1])
    end = made.window(newest, math.nextafter(newest, math.inf)).end
    assert found == min(now, end)


def test_the_rejected_share():
    """Of all events offered."""
    clock = Clock(100)
    made = Monitor(clock=clock, bad="skip")
    file = rule('metric = "rejected_share"', "above = 0.2")
    found = MonitorSource([(FRAUD, made)], clock=clock)
    assert said(file, found)[::2] == ("NO_DATA", "no event offered yet")
    for score in (0.1, 0.2, 0.3, 7.0):
        made.update(1, score, 50.0)

    assert said(file, found)[:2] == ("FIRING", 0.25)


class Flushed(MonitorSource):
    """A source that knows of writers."""

    def __init__(self, writers):
        super().__init__([(FRAUD, Monitor(clock=Clock()))], clock=Clock(100))
        self.writers = writers

    def health(self, labels):
        assert labels == FRAUD
        return Health(writers=self.writers)


def test_seconds_since_flush_are_those_of_the_worst_writer():
    """Which is named; closed writers are left out by the source."""
    file = rule('metric = "seconds_since_flush"', 'above = "1m"')

    assert said(file, Flushed({"a": 3.0, "b": 61.0, "c": 2.0})) == (
        "FIRING",
        61.0,
        "seconds_since_flush 61 is above 60 (writer b of 3: 1m1s ago); if it has ended for good:"
        " streamauc store retire STORE.db b",
    )
    assert said(file, Flushed({"a": 60.0}))[0] == "OK"
    assert said(file, Flushed({}))[::2] == (
        "NO_DATA",
        "no open writer is known that flushes to a store",
    )


def test_unknown_health_is_no_data():
    """A source that does not know is not healthy."""
    for metric in ("newest_event_age", "rejected_share"):
        assert said(rule(f'metric = "{metric}"', "above = 0"), Flushed({}))[0] == "NO_DATA"


def test_readings_hold_what_was_read():
    """A value with its note, or why there is none."""
    (found,) = rule('metric = "n_pos"', 'window = "1h"', "below = 1").rules
    assert not isinstance(found.measure, Detection)
    view = View(both())

    read = Measured(20, 20, 20, span=(HOUR - 60, 2 * HOUR))
    assert observe(found.measure, None, view, FRAUD) == read
    (file,) = rule('metric = "roc_auc"', 'window = "1h"', 'offset = "9d"', "below = 1").rules
    assert isinstance(observe(file.measure, None, view, FRAUD), Missing)
