"""What is printed of a history: a table for people, CSV and JSON for programs."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from streamauc import _time
from streamauc.metrics import catalogue
from streamauc.metrics.catalogue import Metric, Params
from streamauc.window import JsonValue, Window

_UNLIMITED = 10_000
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹"
_WORDS = {
    "empty": "no events with an outcome",
    "no_positives": "no positives",
    "no_negatives": "no negatives",
    "nothing_flagged": "no event scored at or above the threshold",
    "no_variation": "prediction or outcome never varies",
    "infeasible": "no threshold keeps the limits",
    "flag_nobody": "no threshold is better than to flag nobody",
    "not_probabilities": "the scores are no probabilities",
    "too_few": "fewer than two of a class: no interval",
    "warming_up": "begins before the first event",
    "expired": "begins before the oldest pane kept",
    "damaged": "panes of the store can't be read and are left out, so events are missing",
    "unreadable": "the store can't be read",
    "immature": "too few labels known yet, and early ones are not a fair sample: no value to trust",
}
_HEADS = {"n_samples": "events", "n_pos": "positives", "roc_auc": "AUC", "average_precision": "AP"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric that is printed."""

    spec: str
    metric: Metric
    params: Params
    with_interval: bool = True

    @property
    def head(self) -> str:
        """The title of its column."""
        name, at, threshold = self.spec.partition("@")
        return _HEADS.get(name, name) + (f"\n{at} {threshold}" if at else "")


@dataclass(frozen=True, slots=True)
class Report:
    """Windows to print, the whole span last if there are several, and how to write times."""

    windows: Sequence[Window]
    whole: Window
    shown: Sequence[Shown]
    zone: tzinfo
    timeless: bool
    with_coverage: bool = False
    marks: Sequence[str] = ()
    story: str = ""

    def label(self, window: Window) -> str:
        """Return where a window begins, as a person writes it."""
        if self.timeless:
            return "all rows"
        moment = _time.utc(window.start).astimezone(self.zone)
        if moment.hour == moment.minute == moment.second == 0:
            return f"{moment:%Y-%m-%d}"
        return f"{moment:%Y-%m-%d %H:%M}" + (f":{moment:%S}" if moment.second else "")

    def iso(self, moment: float) -> str | None:
        """Return a time with its offset, None where there is no time."""
        return None if self.timeless else _time.utc(moment).astimezone(self.zone).isoformat()


def choose_metrics(metrics: str | None, thresholds: Sequence[float]) -> list[Shown]:
    """Return the metrics asked for; one that needs a threshold, once for each given."""
    names = (
        ["n_samples", "n_pos", "prevalence", "roc_auc", "average_precision"]
        + [name for name in ("precision", "recall") if thresholds]
        if metrics is None
        else [name.strip() for name in metrics.split(",") if name.strip()]
    )
    shown = []
    for name in names:
        metric, params = catalogue.parse(name)
        needs = [needed for needed in metric.parameters if needed not in params]
        if needs == ["threshold"] and thresholds:
            specs = [f"{name}@{threshold:g}" for threshold in thresholds]
        elif needs:
            raise ValueError(
                f"metric {name!r} needs {needs[0]}: write {_with(name, metric, needs)}"
            )
        else:
            specs = [name]
        # The usual table has to fit a screen: of precision and recall only the value is shown.
        roomy = metrics is not None or name not in ("precision", "recall")
        found = [Shown(spec, *catalogue.parse(spec), with_interval=roomy) for spec in specs]
        for one in found:
            catalogue.check(one.metric.name, **one.params)
        shown += found
    return shown


def _with(name: str, metric: Metric, needs: Sequence[str]) -> str:
    """Return how to name a metric with what it still needs."""
    values = {"threshold": "0.5", "share": "0.1"}
    whole = name
    for needed in needs:
        value = values.get(needed, "1")
        is_first = needed == catalogue.main_parameter(metric.parameters)
        whole += f"@{value}" if is_first else f"@{needed}={value}"
    return f"{whole}, or --threshold" if list(needs) == ["threshold"] else whole


class _Footnotes:
    """Numbers reasons in the order in which they are met."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, reason: str) -> str:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return _MARKS[self.reasons.index(reason)]

    def lines(self) -> list[str]:
        return [f"{_MARKS[n]} {_WORDS[reason]}" for n, reason in enumerate(self.reasons)]


def print_table(report: Report, console: Console) -> None:
    """Print a row a window; undefined is ``-`` with its reason in a footnote.

    On a screen too narrow for them the intervals are left out, and that is said.
    """
    table, notes = _table(report)
    if _width(table, console) > console.width:
        shown = [replace(one, with_interval=False) for one in report.shown]
        table, notes = _table(replace(report, shown=shown))
        notes.append("the screen is too narrow for the intervals; --format csv and json have them")
    # Nothing is ever cut off: better a wrapped line than a missing number.
    console.width = max(console.width, _width(table, console))
    console.print(table)
    for line in notes:
        console.print(Text(line, style="dim"))
    if report.story:
        console.print()
        console.print(Text(report.story), soft_wrap=True)


def _width(table: Table, console: Console) -> int:
    """Return how wide the table is when nothing is cut."""
    return Measurement.get(console, console.options.update(width=_UNLIMITED), table).maximum


def _table(report: Report) -> tuple[Table, list[str]]:
    """Return the table and its footnotes."""
    notes = _Footnotes()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("" if report.timeless else "start", no_wrap=True)
    for one in report.shown:
        table.add_column(Text(one.head), justify="right", no_wrap=True)
    if report.with_coverage:
        table.add_column("labels\nknown", justify="right", no_wrap=True)
    if any(report.marks):
        table.add_column("ratio\nmoved", no_wrap=True)
    marks = [[mark] for mark in report.marks] if any(report.marks) else [[]] * len(report.windows)
    for window, mark in zip(report.windows, marks, strict=True):
        table.add_row(report.label(window), *_cells(report, window, notes), *mark)
    if len(report.windows) > 1:
        table.add_section()
        table.add_row("all", *_cells(report, report.whole, notes), style="bold")
    return table, notes.lines()


def _cells(report: Report, window: Window, notes: _Footnotes) -> list[Text]:
    cells = [_cell(window, one, notes) for one in report.shown]
    return [*cells, _coverage(window, notes)] if report.with_coverage else cells


def _coverage(window: Window, notes: _Footnotes) -> Text:
    """Return the labelled share of a window; rounded down, as 100 % is a promise."""
    if math.isnan(window.coverage):
        return Text("-" + notes.mark("empty"))
    mark = notes.mark("immature") if "immature" in window.caveats else ""
    return Text(f"{math.floor(1000 * window.coverage) / 10:.1f}%{mark}")


def _cell(window: Window, shown: Shown, notes: _Footnotes) -> Text:
    value = window.value(shown.metric.name, **shown.params)
    if math.isnan(value):
        return Text("-" + notes.mark(window.reason(shown.metric.name, **shown.params) or "empty"))
    write = _writer(shown.metric)
    text = write(value)
    if shown.metric.interval is None or not shown.with_interval:
        return Text(text)
    ends = window.interval(shown.metric.name, **shown.params)
    if math.isnan(ends.low):
        return Text(f"{text} -{notes.mark('too_few')}")
    return Text.assemble(text, (f" [{write(ends.low)}, {write(ends.high)}]", "dim"))


def _writer(metric: Metric) -> Callable[[float], str]:
    if metric.unit == "events":
        return lambda value: f"{value:,.10g}" if value % 1 else f"{value:,.0f}"
    if metric.name in ("prevalence", "alert_rate"):
        return lambda value: f"{value:.2%}"
    return lambda value: f"{value:.4f}"


def to_csv(report: Report) -> str:
    """Return a line a window; an undefined value is an empty field."""
    heads = ["start", "end"]
    for one in report.shown:
        heads.append(one.spec)
        if one.metric.interval is not None:
            heads += [f"{one.spec}_low", f"{one.spec}_high"]
    if report.with_coverage:
        heads.append("coverage")
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(heads)
    for window in report.windows:
        writer.writerow(_csv_row(report, window))
    return lines.getvalue()


def _csv_row(report: Report, window: Window) -> list[str]:
    cells = [report.iso(window.start) or "", report.iso(window.end) or ""]
    for one in report.shown:
        values = [window.value(one.metric.name, **one.params)]
        if one.metric.interval is not None:
            ends = window.interval(one.metric.name, **one.params)
            values += [ends.low, ends.high]
        cells += [_field(value) for value in values]
    return [*cells, _field(window.coverage)] if report.with_coverage else cells


def _field(value: float) -> str:
    return "" if math.isnan(value) else f"{value!r}"


def to_json(report: Report, facts: dict[str, JsonValue]) -> str:
    """Return the windows, the whole span and `facts` about the run; undefined is null."""
    whole: dict[str, JsonValue] = {
        **facts,
        "windows": [_json_window(report, window) for window in report.windows],
        "all": _json_window(report, report.whole),
    }
    return json.dumps(whole, indent=2, allow_nan=False)


def _json_window(report: Report, window: Window) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {
        "start": report.iso(window.start),
        "end": report.iso(window.end),
        "caveats": list(window.caveats),
    }
    if report.with_coverage:
        found["coverage"] = None if math.isnan(window.coverage) else window.coverage
    reasons: dict[str, JsonValue] = {}
    for one in report.shown:
        value = window.value(one.metric.name, **one.params)
        found[one.spec] = None if math.isnan(value) else value
        if math.isnan(value):
            reasons[one.spec] = window.reason(one.metric.name, **one.params)
        if one.metric.interval is not None:
            ends = window.interval(one.metric.name, **one.params)
            defined = not math.isnan(ends.low)
            found[f"{one.spec}_interval"] = [ends.low, ends.high] if defined else None
    return {**found, "reasons": reasons}
