"""What the panel of a detector's evidence shows."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from matplotlib import dates
from matplotlib.figure import Figure

from streamauc.change.detect import PrevalenceDetector
from streamauc.change.verdict import Evidence, State
from streamauc.plot.evidence import draw_evidence

DAY = 86_400
FIRST = 15_800


def evidence_of(up, down=None):
    up = np.asarray(up, dtype=np.float64)
    down = np.full(up.shape, -math.inf) if down is None else np.asarray(down, dtype=np.float64)
    return Evidence(np.arange(FIRST, FIRST + up.size), up, down)


def draw(evidence, **options):
    ax = Figure().add_subplot()
    return draw_evidence(ax, evidence, pane_seconds=DAY, **options)


def line_of(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_shares_are_drawn_at_the_middles_of_panes():
    ax = draw(evidence_of(np.log([0.01, 0.5, 1.0]), np.log([0.2, 0.1, 0.05])))
    up, down = line_of(ax, "for a move up"), line_of(ax, "for a move down")
    moments = [datetime.fromtimestamp((FIRST + k + 0.5) * DAY, UTC) for k in range(3)]

    assert np.allclose(up.get_ydata(), [0.01, 0.5, 1.0])
    assert np.allclose(down.get_ydata(), [0.2, 0.1, 0.05])
    assert np.allclose(up.get_xdata(), dates.date2num(moments), rtol=0, atol=1e-6)
    assert up.get_color() != down.get_color()
    assert ax.get_yscale() == "log"


def test_the_alarm_is_a_line_at_the_whole():
    figure = Figure()
    ax = draw_evidence(figure.add_subplot(), evidence_of(np.log([0.01, 0.5])), pane_seconds=DAY)
    figure.draw_without_rendering()
    level = next(line for line in ax.get_lines() if line.get_linestyle() == "--")
    ticks = dict(zip(ax.get_yticks(), [t.get_text() for t in ax.get_yticklabels()], strict=True))

    assert list(level.get_ydata()) == [1, 1]
    assert texts(ax) == ["alarm"]
    assert ax.texts[0].xy[1] == 1
    assert ticks[1.0] == "100 %"
    assert ticks[0.1] == "10 %"


@pytest.mark.parametrize(
    ("lowest", "floor"),
    [(0.5, 1e-2), (3e-4, 1e-4), (1e-30, 1e-6)],
)
def test_the_axis_begins_at_a_power_of_ten_and_holds_what_is_less(lowest, floor):
    """No evidence (-inf) lies on the floor, and no tiny one stretches the axis."""
    ax = draw(evidence_of([-math.inf, math.log(lowest), 0.0]))
    drawn = line_of(ax, "for a move up").get_ydata()

    assert ax.get_ylim()[0] == pytest.approx(floor)
    assert drawn == pytest.approx([floor, max(lowest, floor), 1.0])


def test_evidence_far_beyond_the_alarm_stays_finite():
    """A storm is exp(1000) times what an alarm needs."""
    ax = draw(evidence_of([-3.0, 1_000.0]))
    drawn = line_of(ax, "for a move up").get_ydata()

    assert 1 < drawn[1] <= ax.get_ylim()[1]
    assert ax.get_ylim()[1] < 10


@pytest.mark.parametrize(
    ("evidence", "note"),
    [
        (evidence_of([]), "no panes judged yet"),
        (evidence_of([-math.inf, -math.inf]), "no evidence yet"),
    ],
)
def test_nothing_is_said(evidence, note):
    assert texts(draw(evidence)) == ["alarm", note]


def test_one_pane_is_seen():
    assert line_of(draw(evidence_of([-1.0])), "for a move up").get_marker() != "none"


def test_long_evidence_is_thinned_and_keeps_its_peaks():
    up = np.full(50_000, -5.0)
    up[12_345] = 0.5
    drawn = line_of(draw(evidence_of(up)), "for a move up").get_ydata()

    assert drawn.size < 4_000
    assert drawn.max() == pytest.approx(math.exp(0.5))


def test_a_detector_crosses_the_line_when_it_alarms():
    detector = PrevalenceDetector((4_000, 16_000), pane_seconds=DAY, false_alarm_every="1000d")
    pane = FIRST
    while detector.step(pane, 30, 70) is not State.ALARM:
        pane += 1
    drawn = line_of(draw(detector.evidence), "for a move up").get_ydata()

    assert drawn[-1] >= 1 > drawn[:-1].max()
