"""Tags above a panel: near what they name, and never over each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from streamauc.plot import above
from streamauc.plot.above import Tag

places = st.integers(0, 20).map(lambda k: k / 20)
labels = st.lists(st.tuples(places, st.sampled_from([0.02, 0.05, 0.1])), min_size=1, max_size=12)


@given(labels)
def test_labels_are_apart_inside_and_in_order(wanted):
    centres, widths = np.array(sorted(wanted)).T
    found = above.spread(centres, widths)
    if found is None:
        assert widths.sum() > 1
        return
    gaps = np.diff(found) - (widths[1:] + widths[:-1]) / 2

    assert (gaps > -1e-9).all()
    assert found[0] - widths[0] / 2 > -1e-9
    assert found[-1] + widths[-1] / 2 < 1 + 1e-9


@given(labels)
def test_labels_that_are_apart_stay(wanted):
    """Spreading what is spread changes nothing, and one label alone only stays inside."""
    centres, widths = np.array(sorted(wanted)).T
    found = above.spread(centres, widths)
    if found is not None:
        assert np.allclose(above.spread(found, widths), found)
    half = widths[0] / 2
    assert np.allclose(above.spread(centres[:1], widths[:1]), np.clip(centres[0], half, 1 - half))


def panel(width=8.0):
    figure = Figure(figsize=(width, 3))
    ax = figure.add_subplot()
    ax.set_xlim(0, 100)
    return figure, ax


def boxes(figure):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    return [Text.get_window_extent(text, renderer) for ax in figure.axes for text in ax.texts]


def moments(*places, texts=("09 Dec\nsince 01 Dec", "09 Dec", "09\nDec")):
    return [Tag(place, place, texts, is_needed=False) for place in places]


@pytest.mark.parametrize("n_tags", [1, 3, 6, 10])
@pytest.mark.parametrize("at", [0, 50, 100])
def test_drawn_tags_do_not_overlap(n_tags, at):
    figure, ax = panel()
    above.write(ax, [*moments(*[at] * n_tags), Tag(90, 100, ("labels incomplete",))])
    drawn = boxes(figure)

    assert len(drawn) == n_tags + 1
    assert not any(one.overlaps(other) for one, other in itertools.combinations(drawn, 2))
    assert all(box.y0 >= ax.bbox.y1 for box in drawn)
    assert ax.bbox.x0 - 1 < min(box.x0 for box in drawn)
    assert max(box.x1 for box in drawn) < ax.bbox.x1 + 1


def test_texts_are_as_long_as_there_is_room():
    """The longest for one alarm, a date alone for many, and a date in two lines for more."""
    chosen = []
    for n_tags in (1, 8, 12):
        _, ax = panel()
        above.write(ax, moments(*np.linspace(5, 95, n_tags)))
        chosen.append(ax.texts[0].get_text())
    _, ax = panel()
    above.write(ax, moments(*[99] * 9))

    assert chosen == ["09 Dec\nsince 01 Dec", "09 Dec", "09 Dec"]
    assert ax.texts[0].get_text() == "09\nDec"


def test_where_there_is_no_room_what_is_not_needed_goes():
    _, ax = panel(width=1.5)
    above.write(ax, [*moments(10, 20, 30, 40, 50), Tag(80, 100, ("incomplete",))])

    assert [text.get_text() for text in ax.texts] == ["incomplete"]


def test_a_text_that_was_moved_has_a_line_to_its_place():
    _, ax = panel()
    height = above.write(ax, moments(100))
    _, other = panel()

    assert ax.texts[0].arrow_patch is not None
    assert ax.texts[0].xy == (100, 1)
    assert height > above.write(other, moments(50))
    assert other.texts[0].arrow_patch is None


def test_over_a_wide_span_a_text_needs_no_line():
    _, ax = panel()
    above.write(ax, [Tag(95, 100, ("labels incomplete",))])

    assert ax.texts[0].arrow_patch is None


def test_no_tags():
    _, ax = panel()
    above.write(ax, [])

    assert not ax.texts
