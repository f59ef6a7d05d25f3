"""What a picture shows of a reference and a watch."""

from streamauc.cli.against import Watch
from streamauc.plot.drift import AlarmMark, DriftMarks


def drift_marks(watch: Watch) -> DriftMarks:
    """Return the reference, when the class ratio was seen to move, and the evidence."""
    return DriftMarks(
        reference=(watch.start, watch.end),
        alarms=[AlarmMark(one.moment, one.began, one.direction) for one in watch.found],
        evidence=watch.evidence,
        pane_seconds=watch.pane_seconds or 1,
    )
