"""Changes in a panel: what is compared with, and when the class ratio or a ranking moved."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Self

from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from streamauc.change.ranking_detector import RankingAlarm
from streamauc.change.shift_detector import ShiftAlarm
from streamauc.change.verdict import Alarm, Evidence
from streamauc.plot import above, style, time_axis
from streamauc.plot.above import Tag
from streamauc.plot.time_axis import Span

# Up to so many alarms have their dates beside them.
MOST_DATED = 10
CLASS_RATIO = "class ratio"
_DAY = 86_400
_REFERENCE_SHADE = (style.COLORS[4], 0.2)
_ALARM_ALPHA = 0.16


@dataclass(frozen=True, slots=True)
class AlarmMark:
    """Something was seen at `seen` to have moved about since `began`.

    Both are seconds since the epoch; `direction` is ``"up"`` or ``"down"``, as in an `Alarm`;
    `of` says what moved, in words.
    """

    seen: float
    began: float
    direction: str
    of: str = CLASS_RATIO

    def __post_init__(self) -> None:
        if self.direction not in style.SIGNS:
            raise ValueError(f"direction must be 'up' or 'down', got {self.direction!r}")
        if not self.began <= self.seen:
            raise ValueError(
                f"began must be no later than seen, got {self.began!r} and {self.seen!r}"
            )

    @classmethod
    def at(cls, alarm: Alarm | RankingAlarm | ShiftAlarm, pane_seconds: int) -> Self:
        """Return the mark of a detector's alarm, seen when its pane ended."""
        of = CLASS_RATIO if isinstance(alarm, Alarm) else "AUC"
        if isinstance(alarm, ShiftAlarm):
            of = f"scores of the {alarm.which}"
        seen, began = (alarm.pane + 1) * pane_seconds, alarm.began * pane_seconds
        return cls(seen, began, alarm.direction, of)


@dataclass(frozen=True, slots=True)
class DriftMarks:
    """What is known of changes of the class ratio, the ranking or the scores.

    `reference` is the span that is compared with, seconds since the epoch; `alarms` say when
    what was seen to move; `evidence` is that of a detector over panes of `pane_seconds`. Alarms of
    panes shorter than a day carry the time of day.
    """

    reference: tuple[float, float] | None = None
    alarms: Sequence[AlarmMark] = ()
    evidence: Evidence | None = None
    pane_seconds: int = _DAY

    def __post_init__(self) -> None:
        if self.reference is not None and not self.reference[0] < self.reference[1]:
            raise ValueError(f"reference must end after it starts, got {self.reference!r}")
        if self.pane_seconds < 1:
            raise ValueError(f"pane_seconds must be at least 1, got {self.pane_seconds!r}")

    def split(self, metric: str) -> tuple["DriftMarks", "DriftMarks"]:
        """Return the same with the alarms of what a metric measures, and with the others."""
        of_ratio = [one for one in self.alarms if one.of == CLASS_RATIO]
        of_scores = [one for one in self.alarms if one.of != CLASS_RATIO]
        own, other = {
            "prevalence": (of_ratio, of_scores),
            "roc_auc": (of_scores, of_ratio),
        }.get(metric, ([], list(self.alarms)))
        return replace(self, alarms=own), replace(self, alarms=other)

    def shown(self, span: Span) -> list[AlarmMark]:
        """Return the alarms that were seen within a span, in the order of time."""
        shown = [one for one in self.alarms if span.start <= one.seen <= span.end]
        return sorted(shown, key=lambda one: one.seen)


def draw_reference(ax: Axes, drift: DriftMarks, shown: Span) -> list[Tag]:
    """Shade the part of the reference that is shown; return what to write above it."""
    part = None if drift.reference is None else shown.part(*drift.reference)
    if part is None or not part[0] < part[1]:
        return []
    style.shade(ax, [part], *_REFERENCE_SHADE)
    return [Tag(*part, ("reference",))]


def draw_alarms(ax: Axes, drift: DriftMarks, shown: Span, zone: tzinfo) -> list[Tag]:
    """Draw a line where each alarm was seen, its sign above and a shade since when.

    Returns the dates to write there, if there are no more than `MOST_DATED` alarms.
    """
    alarms = drift.shown(shown)
    is_few = len(alarms) <= MOST_DATED
    for direction in _directions(alarms):
        spans = _spans([one for one in alarms if one.direction == direction], shown)
        color = style.DIRECTION_COLORS[direction]
        style.shade(ax, spans, color, _ALARM_ALPHA)
        _draw_lines(ax, spans, color, width=1.2 if is_few else 0.5)
        _draw_signs(ax, spans, direction, size=36 if is_few else 12)
    if not is_few:
        return []
    places = [seen for _, seen in _spans(alarms, shown)]
    dates = [_dates(one, drift.pane_seconds, zone, shown) for one in alarms]
    return [
        Tag(place, place, texts, is_needed=False)
        for place, texts in zip(places, dates, strict=True)
    ]


def draw_thin_alarms(ax: Axes, drift: DriftMarks, shown: Span) -> None:
    """Draw only a thin line for each alarm, to see what else happened at that time."""
    alarms = drift.shown(shown)
    for direction in _directions(alarms):
        spans = _spans([one for one in alarms if one.direction == direction], shown)
        width = 0.7 if len(alarms) <= MOST_DATED else 0.4
        _draw_lines(ax, spans, style.DIRECTION_COLORS[direction], width=width)


def explain_alarms(ax: Axes, drift: DriftMarks, shown: Span, height: float) -> None:
    """Say above a panel, `height` points away, what the marks of its alarms mean."""
    alarms = drift.shown(shown)
    if not alarms:
        return
    texts = _words(alarms)
    handles: list[Line2D | Patch] = [_sign(direction, texts[direction]) for direction in texts]
    color = style.DIRECTION_COLORS[alarms[0].direction]
    since = "from about when it began"
    handles.append(Patch(color=color, alpha=_ALARM_ALPHA, linewidth=0, label=since))
    legend = Legend(
        ax,
        handles,
        [str(handle.get_label()) for handle in handles],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=above.offset(ax, ax.transAxes, height),
        borderaxespad=0,
        borderpad=0.2,
        frameon=False,
        fontsize=style.SMALL,
        ncols=len(handles),
        handlelength=1.2,
        columnspacing=1.4,
    )
    ax.add_artist(legend)
    legend.set_clip_on(False)  # or the layout takes it for a part of the panel


def _directions(alarms: Sequence[AlarmMark]) -> list[str]:
    """Return those in which alarms went."""
    return [name for name in style.SIGNS if any(one.direction == name for one in alarms)]


def _spans(alarms: Sequence[AlarmMark], shown: Span) -> list[tuple[float, float]]:
    """Return for alarms that are shown from where to where on the axis they reach."""
    parts = [shown.part(one.began, one.seen) for one in alarms]
    return [part for part in parts if part is not None]


def _draw_lines(
    ax: Axes, spans: Sequence[tuple[float, float]], color: str, *, width: float
) -> None:
    ax.vlines(
        [seen for _, seen in spans],
        0,
        1,
        transform=ax.get_xaxis_transform(),
        color=color,
        linewidth=width,
        zorder=1.5,
    )


def _draw_signs(
    ax: Axes, spans: Sequence[tuple[float, float]], direction: str, *, size: int
) -> None:
    """Draw signs on the upper edge of a panel."""
    ax.scatter(
        [seen for _, seen in spans],
        [1] * len(spans),
        transform=ax.get_xaxis_transform(),
        s=size,
        marker=style.SIGNS[direction],
        color=style.DIRECTION_COLORS[direction],
        linewidths=0,
        clip_on=False,
        zorder=4,
    )


def _dates(mark: AlarmMark, pane_seconds: int, zone: tzinfo, shown: Span) -> tuple[str, ...]:
    """Return when an alarm was seen and since when, shorter and shorter."""
    if not shown.is_dated or not time_axis.is_dated(mark.began, mark.seen):
        return (f"{mark.seen:.12g}",)
    with_clock = pane_seconds < _DAY
    seen = time_axis.moment(mark.seen, zone, with_clock=with_clock)
    since = f"since {time_axis.moment(mark.began, zone, with_clock=with_clock)}"
    day, _, rest = seen.rpartition(" ")
    return f"{seen}\n{since}", f"{seen}\n{since}", seen, f"{day}\n{rest}"


def _words(alarms: Sequence[AlarmMark]) -> dict[str, str]:
    """Return in words what each direction's sign says, and how often it does."""
    words: dict[str, str] = {}
    said = ""
    for direction in _directions(alarms):
        moved = [one.of for one in alarms if one.direction == direction]
        subject = " and ".join(dict.fromkeys(moved))
        text = direction if subject == said else f"{subject} seen to move {direction}"
        said = subject
        words[direction] = text if len(moved) == 1 else f"{text}, {len(moved)} times"
    return words


def _sign(direction: str, text: str) -> Line2D:
    color, marker = style.DIRECTION_COLORS[direction], style.SIGNS[direction]
    return Line2D([], [], color=color, marker=marker, linestyle="none", label=text)
