"""A service of four workers, a label job and an alert check, all at one store; two are killed.

`app` scores payments for a client that asks again until it is answered, `labels` tells outcomes
as they become known, and ``streamauc check`` judges the alert rules below, again and again. On
the way a worker and the label job are killed with SIGKILL; uvicorn starts another worker, and we
another label job. At the end all that the store says is compared with what the client wrote
down, counted with scikit-learn:

* with ``durable=1``, everything that was answered is there exactly;
* without it, what the killed worker answered after its last flush may be missing, and no more;
* either way no payment, outcome or correction counts twice, whoever got it and how often;
* a process that was killed is seen: it never closed, and an alert fires.
"""

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from service import processes
from service.app import FLUSH_SECONDS
from service.client import Client
from service.labels import POSITION
from service.processes import check, checking, running_labels, running_service, wait_for
from service.watch import fraud_monitor
from sklearn.metrics import roc_auc_score

from streamauc.store import Store

N_WORKERS = 4
THIRD = 800  # of the payments
SILENT_SECONDS = 5.0
SLACK_SECONDS = 2.0  # how long a flush may take on a busy machine

RULES = f"""
[[rule]]
alert = "RankingWorse"
metric = "roc_auc"
window = "1h"
below = 0.6
by = "bound"
no_data = "ok"

[[rule]]
alert = "NoOutcomes"
metric = "n_samples"
window = "1h"
below = 1
no_data = "ok"

[[rule]]
alert = "WriterDead"
metric = "seconds_since_flush"
above = "{SILENT_SECONDS:.0f}s"
no_data = "ok"
"""


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "fire-and-forget"])
def test_totals_are_exact_though_a_worker_and_the_label_job_are_killed(tmp_path, durable):
    story = Story(tmp_path, durable)
    story.play()

    assert "Traceback" not in story.log.read_text()
    with Store(story.store, read_only=True) as store:
        series = store.series({"model": "fraud"})
        join, writers = series.entries(), series.writers()
    there = {key for key, *_ in (*join.opened, *join.closed)}
    assert_only_the_unwritten_is_missing(story, there, {key for key, _ in join.early})
    assert_counted_once(story, there)
    assert_equal_to_scikit_learn(story, there)
    assert_the_dead_are_seen(story, writers)


class Story:
    """What happens, and what is seen of it from outside."""

    def __init__(self, folder, durable):
        self.durable = durable
        self.store, self.log = folder / "metrics.db", folder / "log.txt"
        self.rules = folder / "rules.toml"
        self.rules.write_text(RULES)
        self.payments = Payments.drawn(3 * THIRD, seed=int(durable))
        self.outcomes = Outcomes(folder / "outcomes.jsonl")
        self.outcomes.path.touch()  # which the label job opens

    def play(self):
        """Let it happen, until all that were not killed have ended in peace."""
        with (
            running_service(self.store, self.log, N_WORKERS) as service,
            running_labels(self.outcomes.path, self.store, self.log) as labels,
            checking(self.rules, self.store) as self.checks,
        ):
            self.client = Client(service.url, self.durable)
            self.begin()
            self.kill(service, labels)
            self.go_on(service, labels)
        self.checks.append(check(self.rules, self.store))

    def begin(self):
        """Send a third, some of it twice; wait for all to write, and for a check that is OK."""
        self.send(self.payments.all[:THIRD])
        self.client.send(self.payments.all[:50])
        wait_for("all writers", lambda: self.n_writers() == len(self.client.workers()) + 1)
        wait_for("a check", lambda: any(one.code == 0 for one in self.checks))

    def kill(self, service, labels):
        """Kill a worker while the second third is sent, and the label job amid many outcomes."""
        with self.sending(self.payments.all[THIRD : 2 * THIRD]):
            n_answers = len(self.client.answers) + 300
            wait_for("the middle", lambda: len(self.client.answers) > n_answers)
            self.victim = self.client.answers[-1].worker
            self.killed_at = service.kill(self.victim)
            n_read = self.outcomes.path.stat().st_size
            self.tell("at once")  # of payments that were scored, are being scored, and will be
            wait_for("some of the outcomes", lambda: self.position() > n_read)
            labels.kill_and_restart()

    def go_on(self, service, labels):
        """Send the rest to four workers again, and let everybody end."""
        service.wait_until_seen(N_WORKERS + 1)
        self.send(self.payments.all[2 * THIRD :])
        self.tell("corrected")
        wait_for("the last outcome", lambda: self.position() == self.outcomes.path.stat().st_size)
        assert processes.end(labels.process) == 0
        processes.end(service.supervisor)
        wait_for("silence", lambda: time.time() > self.killed_at + SILENT_SECONDS)

    def send(self, some):
        self.client.send(some, self.on_answer)

    @contextmanager
    def sending(self, some):
        """Send while the block runs."""
        thread = threading.Thread(target=self.send, args=(some,))
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def on_answer(self, key):
        """Tell the outcome of a payment that was just scored; to be corrected, a wrong one."""
        when = self.payments.when[key]
        if when in ("after", "corrected"):
            self.outcomes.tell(key, self.payments.fraud[key] != (when == "corrected"))

    def tell(self, when):
        for key in (key for key, known in self.payments.when.items() if known == when):
            self.outcomes.tell(key, self.payments.fraud[key])

    def n_writers(self):
        with Store(self.store, read_only=True) as store:
            return sum(len(series.writers()) for series in store.all_series())

    def position(self):
        with Store(self.store, read_only=True) as store:
            return store.position(POSITION)


@dataclass
class Payments:
    """Payments; which will turn out to be fraud, and when that becomes known."""

    all: list[dict]
    fraud: dict[str, bool] = field(default_factory=dict)
    when: dict[str, str] = field(default_factory=dict)

    @classmethod
    def drawn(cls, n, seed):
        rng = np.random.default_rng(seed)
        found = cls([])
        for number in range(n):
            key, abroad = f"payment-{number}", bool(rng.random() < 0.1)
            amount = None if rng.random() < 0.02 else round(rng.lognormal(4.5, 1), 2)
            found.all.append({"id": key, "amount": amount, "abroad": abroad})
            chance = 0.02 + min((amount or 0) / 1000, 0.4) + 0.2 * abroad
            found.fraud[key] = bool(rng.random() < chance)
            when = rng.choice(["at once", "after", "corrected", "never"], p=[0.3, 0.5, 0.1, 0.1])
            found.when[key] = "never" if amount is None else str(when)
        return found


@dataclass
class Outcomes:
    """The file of outcomes, to which they are added as they become known."""

    path: Path
    known: dict[str, bool] = field(default_factory=dict)
    n_corrections: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, key, fraud):
        """Write one down, the end of its line a moment later."""
        line = json.dumps({"id": key, "fraud": fraud}) + "\n"
        with self._lock, self.path.open("a") as file:
            for part in (line[:-9], line[-9:]):
                file.write(part)
                file.flush()
            self.n_corrections += key in self.known
            self.known[key] = fraud


def assert_only_the_unwritten_is_missing(story, there, early):
    """Expect only what the killed worker answered after its last flush to be missing."""
    scores = story.client.scores()
    missing = scores.keys() - there
    answers = [one for one in story.client.answers if one.id in missing]
    since = story.killed_at - FLUSH_SECONDS - SLACK_SECONDS

    assert there <= scores.keys()
    assert not (story.durable and missing)
    assert {one.worker for one in answers} <= {story.victim}
    assert all(one.at > since for one in answers)
    # Their outcomes wait for them, should they come again.
    assert early == missing & story.outcomes.known.keys()


def assert_counted_once(story, there):
    """Expect the totals of the client's log, however often something was delivered."""
    labelled = there & story.outcomes.known.keys()
    n_answers = sum(one.score is not None for one in story.client.answers)
    n_scored = len(story.client.scores())
    with fraud_monitor(story.store, flush_seconds=60) as reader:
        stats = reader.stats

    assert (stats.n_predicted, stats.n_accepted) == (len(there), len(there))
    assert (stats.n_labelled, stats.n_open) == (len(labelled), len(there - labelled))
    assert (stats.n_repeated_labels, stats.n_abandoned) == (0, 0)
    assert stats.n_changed_labels == story.outcomes.n_corrections
    if story.durable:
        # What was asked for and not answered may have been counted, or not.
        n_unknown = story.client.n_sent - len(story.client.answers)
        assert 0 <= stats.n_repeated_predictions - (n_answers - n_scored) <= n_unknown
        n_unscored = len(story.client.answers) - n_answers
        assert 0 <= stats.n_rejected - n_unscored <= n_unknown
        assert stats.rejected.keys() == {"score"}


def assert_equal_to_scikit_learn(story, there):
    """Expect the window of it all to equal the offline answer."""
    scores, known = story.client.scores(), story.outcomes.known
    labelled = sorted(there & known.keys())
    y_true, y_score = [known[key] for key in labelled], [scores[key] for key in labelled]
    with fraud_monitor(story.store, flush_seconds=60) as reader:
        window = reader.window(last="1h")

    assert (window.n_samples, window.n_pos) == (len(labelled), sum(y_true))
    assert window.coverage == len(labelled) / len(there)
    assert window.value("prevalence") == sum(y_true) / len(labelled)
    assert window.roc_auc == pytest.approx(roc_auc_score(y_true, y_score), rel=1e-12)
    flagged = sum(scores[key] >= 0.5 for key in there)
    assert window.value("alert_rate", threshold=0.5) == flagged / len(there)


def assert_the_dead_are_seen(story, writers):
    """Expect the killed worker and label job, and no others, not to have closed, and an alert."""
    open_ones = [one for one in writers if one.closed is None]
    last = story.checks[-1]
    n_samples = [one.alert("NoOutcomes")["value"] or 0 for one in story.checks if one.code != 3]

    assert len(writers) == len(story.client.workers()) + 2
    assert sorted(one.tallies.get("predicted", 0) > 0 for one in open_ones) == [False, True]
    assert all(one.flushed <= story.killed_at + SLACK_SECONDS for one in open_ones)
    assert last.code == 1
    assert last.alert("WriterDead")["state"] == "FIRING"
    assert last.alert("RankingWorse")["state"] == "OK"
    # Whoever looked on the way saw more and more of it, and never too much.
    assert n_samples == sorted(n_samples)
    assert {one.err for one in story.checks} == {""}
