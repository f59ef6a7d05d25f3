"""One figure of a stream: how it went over time, and the curves of the whole span."""

import textwrap
from collections.abc import Sequence
from datetime import UTC, tzinfo
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from streamauc.counts import ThresholdCounts
from streamauc.history import History
from streamauc.plot import style, time_axis
from streamauc.plot.coverage import draw_coverage
from streamauc.plot.curves import draw_precision_recall, draw_roc
from streamauc.plot.drift import DriftMarks
from streamauc.plot.evidence import draw_evidence
from streamauc.plot.over_time import draw_history

FORMATS = ("png", "svg")
_WIDTH = 8.0  # inches
_CURVES = _TWO_PANELS = 4.8
_MARKS, _EVIDENCE = 0.6, 2.0  # what changes of the class ratio add
_COVERAGE = 1.6
_ROUNDING = 1e-9  # of sums of weights
_DPI = 150
_TITLE_COLUMNS = 72


def overview(
    history: History,
    counts: ThresholdCounts,
    *,
    title: str,
    thresholds: Sequence[float] = (),
    zone: tzinfo = UTC,
    drift: DriftMarks | None = None,
) -> Figure:
    """Return a figure of prevalence and AUC over time, and of the ROC and the PR curve.

    `history` holds the windows and `counts` the whole span. With fewer than two windows there
    is nothing to see over time unless there is `drift`, and only the curves are drawn. Where
    labels are missing a panel shows how many are known, and the evidence of `drift`, if it has
    some, is a panel of its own. Times are shown in `zone`.
    """
    is_over_time = len(history) > (1 if drift is None else 0)
    heights = [_heights(history, drift), _CURVES] if is_over_time else [_CURVES + 0.4]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    panes = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    if is_over_time:
        _draw_over_time(figure, panes[0], history, zone, drift)
    _draw_curves(figure, panes[-1], counts, thresholds)
    lines = [textwrap.fill(title, _TITLE_COLUMNS), *_subtitle(history, counts, zone)]
    figure.suptitle("\n".join(lines), fontsize=11, parse_math=False)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG, whichever the path ends in. Raises ValueError for others."""
    kind = picture_format(path)
    figure.savefig(path, format=kind, dpi=_DPI)


def picture_format(path: str | Path) -> str:
    """Return the format that a path asks for. Raises ValueError unless it is one of `FORMATS`."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        allowed = " or ".join(f".{name}" for name in FORMATS)
        raise ValueError(f"path must end in {allowed}, got {str(path)!r}")
    return kind


def _heights(history: History, drift: DriftMarks | None) -> float:
    """Return how high the panels over time are together, in inches."""
    height = _TWO_PANELS + _COVERAGE * _lacks_labels(history)
    if drift is None:
        return height
    has_marks = bool(drift.alarms) or drift.reference is not None
    return height + _MARKS * has_marks + _EVIDENCE * (drift.evidence is not None)


def _lacks_labels(history: History) -> bool:
    return bool((history.coverage < 1 - _ROUNDING).any())


def _draw_over_time(
    figure: Figure, place: SubplotSpec, history: History, zone: tzinfo, drift: DriftMarks | None
) -> None:
    evidence = None if drift is None else drift.evidence
    lacks_labels = _lacks_labels(history)
    n_panels = 2 + lacks_labels + (evidence is not None)
    grid = place.subgridspec(n_panels, 1)
    upper = figure.add_subplot(grid[0])
    panels = [upper]
    panels += [figure.add_subplot(grid[row], sharex=upper) for row in range(1, n_panels)]
    if drift is not None and evidence is not None:
        # First, because the histories then set the span that all panels share.
        draw_evidence(panels[-1], evidence, pane_seconds=drift.pane_seconds, zone=zone)
    draw_history(panels[0], history, "prevalence", zone=zone, drift=drift)
    draw_history(panels[1], history, "roc_auc", zone=zone, drift=drift)
    if lacks_labels:
        draw_coverage(panels[2], history, zone=zone)
    panels[-1].set_xlabel(upper.get_xlabel())
    for panel in panels:
        panel.label_outer()
    figure.align_ylabels(panels)


def _draw_curves(
    figure: Figure, place: SubplotSpec, counts: ThresholdCounts, thresholds: Sequence[float]
) -> None:
    grid = place.subgridspec(1, 2)
    draw_roc(figure.add_subplot(grid[0]), counts, thresholds=thresholds)
    draw_precision_recall(figure.add_subplot(grid[1]), counts, thresholds=thresholds)


def _subtitle(history: History, counts: ThresholdCounts, zone: tzinfo) -> list[str]:
    """Return in lines which period and how many events are shown."""
    size = f"{style.total(counts.n_samples)} events, {style.total(counts.n_pos)} positive"
    if counts.is_weighted:
        size += " (sums of weights)"
    n_immature = sum("immature" in window.caveats for window in history.windows)
    if len(history) > 1:
        incomplete = f" ({n_immature:,} with incomplete labels)" if n_immature else ""
        size = f"{len(history):,} windows{incomplete}, {size}"
    elif n_immature:
        size += ", labels incomplete"
    if not _has_time(history):
        return [size]
    return [time_axis.period(float(history.start[0]), float(history.end[-1]), zone), size]


def _has_time(history: History) -> bool:
    """Return whether windows have a period: events without times are all counted at 0."""
    return len(history) > 1 or (len(history) == 1 and not history.start[0] <= 0 < history.end[0])
