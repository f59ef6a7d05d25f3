"""What notebooks show of windows, histories and comparisons: words, units, and nothing unsafe."""

import math
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamauc import Monitor, Scale, ScoreHistogram, _html, compare
from streamauc.history import History
from streamauc.metrics import catalogue

HOUR = 3_600
START = 1_700_000_000 // HOUR * HOUR
VOID = {"br", "hr", "img", "meta"}


class Page(HTMLParser):
    """Reads tables as lists of rows of texts, and checks that tags are closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.tables, self.loose = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag not in VOID
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attributes
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        else:
            self.loose.append(data)


def read(shown):
    return Page(shown._repr_html_())


def rows_of(table):
    """Return the rows under their names, each by the titles of its columns."""
    head, *rows = table
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows if len(row) > 1}


def monitor_of(n_hours, *, n_events=40, known=1.0, **options):
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),), scale=Scale.exact())
    generator = np.random.default_rng(0)
    hours = np.repeat(np.arange(n_hours), n_events)
    keys = np.arange(hours.size)
    y_true = (keys % 4 == 0).astype(int)
    y_score = 0.8 * generator.random(keys.size) + 0.2 * y_true
    times = START + (hours + 0.5) * HOUR
    if known == 1.0:
        monitor.update_many(y_true, y_score, times, **options)
        return monitor
    monitor.predict_many(keys, y_score, times)
    is_known = keys % n_events < known * n_events
    monitor.resolve_many(keys[is_known], y_true[is_known])
    return monitor


def window_of(**options):
    return monitor_of(3, **options).window(START, START + 3 * HOUR)


def history_of(n_hours, *, metrics=("prevalence", "roc_auc"), min_coverage=0.0, **options):
    monitor = monitor_of(n_hours, **options)
    span = {"start": START, "end": START + n_hours * HOUR}
    return monitor.history("1h", metrics=metrics, min_coverage=min_coverage, **span)


def histogram_of(y_true, y_score, **options):
    return ScoreHistogram.from_scores(y_true, y_score, scale=Scale.exact(), **options)


def comparison(**options):
    generator = np.random.default_rng(1)
    sides = []
    for share in (0.2, 0.4):
        y_true = (generator.random(400) < share).astype(int)
        sides.append(histogram_of(y_true, generator.normal(size=400) + y_true))
    return compare(*sides, independent=True, **options)


SHOWN = [
    window_of(),
    window_of(known=0.5),
    history_of(3),
    history_of(30, known=0.5, min_coverage=0.9),
    History(()),
    comparison(threshold=(0.3, 0.7)),
    compare(histogram_of([], []), histogram_of([1], [0.5]), independent=True),
]


@pytest.mark.parametrize("shown", SHOWN)
def test_views_are_small_whole_and_without_scripts(shown):
    """Nor style sheets, classes, links or colours, which would clash with a dark notebook."""
    text = shown._repr_html_()
    page = Page(text)

    assert set(page.tags) <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert {name for name, _ in page.attributes} <= {"style", "colspan"}
    assert not re.search(r"color:|background", text)
    assert len(text) < 12_000


@pytest.mark.parametrize("shown", SHOWN)
def test_rows_are_as_wide_as_their_heads(shown):
    for head, *rows in read(shown).tables:
        assert all(len(row) in (1, len(head)) for row in rows)


def test_a_window_has_values_intervals_and_units():
    window = window_of()
    page = read(window)
    (table,) = page.tables
    rows = rows_of(table)
    interval = window.interval("roc_auc")

    assert table[0] == ["", "value", "95 % interval", "unit"]
    assert page.loose[:2] == ["Window", " 2023-11-14 22:00 to 11-15 01:00, UTC"]
    assert rows["events"] == {"value": "120", "95 % interval": "", "unit": "events"}
    assert rows["positives"]["value"] == "30"
    assert rows["prevalence"]["value"] == "0.2500"
    assert rows["ROC AUC"] == {
        "value": f"{window.roc_auc:.4f}",
        "95 % interval": f"{interval.low:.4f} to {interval.high:.4f}",
        "unit": "share",
    }
    assert "labels known" not in rows
    assert len(page.loose) == 2


def test_a_window_of_predictions_has_its_coverage():
    rows = rows_of(read(window_of(known=0.5)).tables[0])

    assert rows["labels known"] == {"value": "0.5000", "95 % interval": "", "unit": "share"}


def test_sums_of_weights_keep_the_digits_that_matter():
    monitor = Monitor(clock="event")
    monitor.update_many([0, 1], [0.1, 0.9], [START, START], weights=[2.25, 1000.4])
    rows = rows_of(read(monitor.window(START, START + 60)).tables[0])

    assert rows["events"]["value"] == "1,003"
    assert rows["positives"]["value"] == "1,000"


@pytest.mark.parametrize(
    ("y_true", "reasons"),
    [
        ([], {"prevalence": "no events", "ROC AUC": "no events"}),
        ([0, 0], {"ROC AUC": "no positives", "average precision": "no positives"}),
        ([1, 1], {"ROC AUC": "no negatives"}),
    ],
)
def test_undefined_is_a_dash_and_its_reason(y_true, reasons):
    monitor = Monitor(clock="event")
    monitor.update_many(y_true, [0.5] * len(y_true), [START] * len(y_true))
    rows = rows_of(read(monitor.window(START, START + 60)).tables[0])

    for name, reason in reasons.items():
        assert rows[name]["value"] == f"— {reason}"
        assert rows[name]["95 % interval"] == ""


def test_caveats_are_named_and_explained():
    monitor = monitor_of(3, known=0.5)
    window = monitor.window(START - 5 * HOUR, START + 3 * HOUR, min_coverage=0.9)
    notes = read(window).loose[2:]

    assert window.caveats == ("warming_up", "immature")
    assert [note.partition(":")[0] for note in notes] == ["warming_up", "immature"]
    assert all(len(note.partition(": ")[2]) > 20 for note in notes)


def test_a_history_is_a_row_a_window():
    history = history_of(3, metrics=("prevalence", "precision@0.5", "n_neg"))
    page = read(history)
    (table,) = page.tables
    rows = rows_of(table)
    first = rows["2023-11-14 22:00 to 23:00"]

    assert page.loose == ["History of 3 windows", " 2023-11-14 22:00 to 11-15 01:00, UTC"]
    assert table[0] == [
        "time (UTC)",
        "events",
        "positives",
        "prevalence (share)",
        "prevalence, 95 % interval",
        "precision@0.5 (share)",
        "precision@0.5, 95 % interval",
        "n neg (events)",
        "caveats",
    ]
    assert list(rows)[1] == "2023-11-14 23:00 to 11-15 00:00"
    assert first["events"] == "40"
    assert first["n neg (events)"] == "30"
    assert first["precision@0.5 (share)"] == f"{history.column('precision@0.5')[0]:.4f}"
    low, high = (ends[0] for ends in history.interval("precision@0.5"))
    assert first["precision@0.5, 95 % interval"] == f"{low:.4f} to {high:.4f}"
    assert first["caveats"] == ""


def test_a_long_history_shows_both_ends_and_works_out_no_more():
    history = history_of(30)
    page = read(history)
    rows = page.tables[0]

    assert len(rows) == 12
    assert rows[6] == ["… 20 more windows …"]
    assert rows[5][0] == "2023-11-15 02:00 to 03:00"
    assert rows[-1][0] == "2023-11-16 03:00 to 04:00"
    assert ("colspan", "8") in page.attributes
    assert sum("counts" in window.__dict__ for window in history.windows) == 10


@pytest.mark.parametrize(("n_hours", "n_rows"), [(12, 13), (13, 12)])
def test_few_windows_are_all_shown(n_hours, n_rows):
    assert len(read(history_of(n_hours)).tables[0]) == n_rows


def test_a_history_tells_coverage_caveats_and_reasons():
    monitor = Monitor(clock="event", tiers=((HOUR, float("inf")),))
    monitor.predict_many([1, 2, 3], [0.1, 0.2, 0.9], START + np.array([0.5, 0.5, 2.5]) * HOUR)
    monitor.resolve_many([1], [0])
    history = monitor.history("1h", start=START, end=START + 3 * HOUR, min_coverage=0.9)
    page = read(history)
    head, first, second, third = page.tables[0]

    assert head[3] == "labels known (share)"
    undefined = ["— no positives", ""] * 2
    assert first[3:] == ["0.5000", "0.0000", "0.0000 to 0.7935", *undefined, "immature"]
    assert second[3:] == ["— no events", *["— no events", ""] * 3, ""]
    assert third[3:] == ["0.0000", *["— no events", ""] * 3, "immature"]
    assert [note for note in page.loose if note.startswith("immature: ")] == page.loose[2:]


def test_no_windows_are_said():
    assert read(History(())).loose == ["History", " no windows"]


def test_a_comparison_has_both_sides_the_change_and_its_test():
    shown = comparison(threshold=0.5)
    page = read(shown)
    changes, attribution, shift = page.tables
    rows = rows_of(changes)
    prevalence = shown.prevalence

    assert page.loose[0] == "Comparison"
    assert page.loose[1].startswith(" The share of positives rose;")
    assert changes[0][3:] == ["change", "95 % interval", "test", "unit"]
    assert rows["events"]["reference"] == rows["events"]["current"] == "400"
    assert rows["prevalence"]["change"] == f"+{prevalence.difference:.4f}"
    assert rows["prevalence"]["95 % interval"] == (
        f"+{prevalence.interval.low:.4f} to +{prevalence.interval.high:.4f}"
    )
    assert rows["prevalence"]["test"] == f"{prevalence.test.method}, p < 0.0001"
    assert rows["ROC AUC"]["unit"] == "share"
    assert [row[0] for row in attribution[1:]] == [
        "average precision",
        "precision@0.5",
        "recall@0.5",
        "FPR@0.5",
        "alert rate@0.5",
    ]
    assert shift[0] == ["", "KS (share)", "PSI (index)", "Jensen-Shannon (bits)"]
    assert [row[0] for row in shift[1:]] == [
        "scores of positives",
        "scores of negatives",
        "scores of all events",
    ]
    assert "small ones may be chance" in page.loose[-1]


def test_the_parts_of_a_change_are_those_of_the_attribution():
    shown = comparison()
    row = rows_of(read(shown).tables[1])["average precision"]
    part = shown.attribution["average_precision"]

    for text, value in zip(
        row.values(), (part.total, part.prevalence, part.positives, part.negatives), strict=True
    ):
        assert float(text) == pytest.approx(value, abs=5e-5)
        assert text.startswith("+" if value > 0 else "-")


def test_the_level_of_the_intervals_is_in_the_head():
    assert read(comparison(level=0.9)).tables[0][0][4] == "90 % interval"


def test_what_cannot_be_compared_says_why():
    shown = compare(histogram_of([1, 1], [0.2, 0.4]), histogram_of([], []), independent=True)
    changes, attribution, shift = read(shown).tables
    rows = rows_of(changes)

    assert rows["prevalence"]["reference"] == "1.0000"
    assert rows["prevalence"]["current"] == "— no events"
    assert rows["prevalence"]["change"] == "—"
    assert rows["prevalence"]["test"] == "undefined: no events in current"
    assert rows["ROC AUC"]["reference"] == "— no negatives"
    assert attribution[1] == ["average precision", "— undefined on a side", "—", "—", "—"]
    assert shift[1][1:] == ["— undefined on a side"] * 3


@given(st.text())
@example("<b>&amp;\"'</td></table><script>alert(1)</script>")
def test_everything_is_escaped(text):
    """Whatever stands in a text comes back as that text, and as no tag."""
    shown = _html.view(text, text, _html.table(["", text], [[text, text]]), _html.notes([text]))
    page = Page(shown)

    assert set(page.tags) <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<script" not in _html.view("<script>", "<script>").lower()
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if plain.isprintable():
        assert page.tables == [[["", plain], [plain, plain]]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (-0.0, "0.0000"),
        (1.0, "1.0000"),
        (0.99999, "0.99999"),
        (1 - 1e-9, "0.999999999"),
        (0.00004, "0.0000400"),
        (-0.00004, "-0.0000400"),
        (1e-17, "0.0000"),
        (12345.678, "12,345.6780"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_numbers(value, text):
    assert _html.number(value) == text


@given(st.floats(1e-9, 1 - 1e-9))
def test_a_number_is_never_shown_as_0_or_1_unless_it_is(value):
    shown = float(_html.number(value))

    assert 0 < shown < 1
    assert shown == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (START, START + 90, "2023-11-14 22:00:00 to 22:01:30"),
        (START, START + 400 * 86_400, "2023-11-14 22:00 to 2024-12-18 22:00"),
        (-1e15, 1e15, "-1e+15 s to 1e+15 s"),
    ],
)
def test_periods(start, end, text):
    assert _html.period(start, end) == text


def test_a_caveat_that_is_not_known_is_named_all_the_same():
    from dataclasses import replace

    window = replace(window_of(), time_caveats=("brand_new",))

    assert read(window).loose[2:] == ["brand_new"]


@pytest.mark.parametrize("name", list(catalogue.METRICS))
def test_every_metric_of_the_catalogue_can_be_a_column(name):
    entry = catalogue.METRICS[name]
    spec = "@".join([name, *(f"{key}=0.5" for key in entry.parameters)])
    head, *rows = read(history_of(2, metrics=(spec,))).tables[0]

    assert head[3].endswith(f"({entry.unit})")
    assert all(row[3] for row in rows)


def test_matplotlib_is_not_needed():
    code = (
        "import sys, streamauc; m = streamauc.Monitor(clock='event')\n"
        "m.update_many([0, 1], [0.2, 0.9], [0, 1]); m.window(0, 60)._repr_html_()\n"
        "m.history('1m')._repr_html_(); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
