"""Sources for tests: monitors filled by hand, and a clock that is set."""

from streamauc import Monitor
from streamauc.rules.document import parse
from streamauc.rules.evaluate import evaluate
from streamauc.rules.memory import MonitorSource

FRAUD = {"model": "fraud"}


class Clock:
    """A clock that is set."""

    def __init__(self, now=0.0):
        self.now = float(now)

    def __call__(self):
        return self.now


def monitor(clock, *events, **options):
    """Return a monitor with (timestamp, label, score, count) events."""
    made = Monitor(clock=clock, max_ahead="10000d", **options)
    for timestamp, label, score, *count in events:
        for _ in range(count[0] if count else 1):
            made.update(label, score, timestamp)
    return made


def source(now, *events, references=None, **options):
    """Return one series, `FRAUD`, as at `now`."""
    clock = Clock()
    made = monitor(clock, *events, **options)
    clock.now = float(now)
    return MonitorSource([(FRAUD, made)], clock=clock, references=references)


def rule(*lines, alert="x"):
    """Return a file of one rule."""
    return parse("\n".join(["[[rule]]", f'alert = "{alert}"', *lines]))


def one(file, found, previous=None):
    """Return the only result of an evaluation."""
    (result,) = evaluate(file, found, previous)
    return result


def said(file, found):
    """Return state, value and reason."""
    result = one(file, found)
    return result.state.value, result.record.value, result.record.reason
