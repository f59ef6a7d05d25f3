"""Reading label times: which column holds them, and that they need a time beside them."""

import pytest

from streamauc.cli.reading import ReadOptions
from streamauc.cli.reading.batches import Notes
from streamauc.cli.reading.names import resolve_columns

NAMED = {"label_time": "known"}


def resolved(*names, **options):
    notes = Notes()
    columns = resolve_columns("day.csv", names, ReadOptions(**options), notes)
    return columns.used(), notes.lines


@pytest.mark.parametrize(
    ("names", "label_time", "time"),
    [
        (("score", "label", "time", "label_time"), "label_time", "time"),
        (("score", "label", "label_time", "ts"), "label_time", "ts"),
        (("score", "label", "event_time", "timestamp"), "timestamp", "event_time"),
        (("score", "label", "t", "date"), "date", "t"),
        (("score", "label", "created", "at"), "at", "created"),
    ],
)
def test_a_named_label_time_leaves_one_time_to_guess(names, label_time, time):
    """What is named does not compete."""
    got, notes = resolved(*names, label_time=label_time)
    assert got == {"score": "score", "label": "label", "time": time, "label_time": label_time}
    assert [note for note in notes if "time" in note] == [f"time column: {time} (guessed)"]


@pytest.mark.parametrize("name", ["label_time", "Label Time", "label_ts", "known_at", "labelled"])
def test_a_label_time_that_is_not_named_confuses_no_guess(name):
    """It is neither the label nor the time, also where there is no other."""
    expected = {"score": "score", "label": "label"}
    assert resolved("score", name, "label")[0] == expected
    assert resolved("score", name, "label", "time")[0] == {**expected, "time": "time"}


def test_a_label_time_takes_its_name_from_the_label_too():
    """`was_paid_at` would look like a label."""
    got, _ = resolved("score", "was_paid", "was_paid_at", "ts", label_time="was_paid_at")
    assert (got["label"], got["label_time"]) == ("was_paid", "was_paid_at")


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (("score", "label", "known"), {}),
        (("score", "label", "known"), {"time": ""}),
        (("score", "label", "known", "ts"), {"time": ""}),
        (("score", "label", "ts"), {"label_time": "ts", "time": ""}),
        (("score", "label", "known"), {"label_time": "known", "time": ""}),
    ],
)
def test_a_label_time_without_a_time(names, options):
    """Refused with the name of the option that is missing."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        resolved(*names, **{**NAMED, **options})
    assert str(caught.value) == (
        "day.csv: --label-time needs a time column beside it, got none; name it with --time"
        f" (columns: {', '.join(names)})"
    )


def test_a_label_time_that_is_not_there_or_has_no_name():
    """The message names the nearest column; an empty name does not switch the option off."""
    with pytest.raises(ValueError, match="has no column 'knwon'; did you mean 'known'"):
        resolved("score", "label", "ts", "known", label_time="knwon")
    with pytest.raises(ValueError, match="label_time must name a column, got ''"):
        ReadOptions(label_time="")
