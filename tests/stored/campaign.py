"""Kills writers, a resolver and a roll-up at random moments, again and again, and counts.

Run as ``python campaign.py STORE N_KILLS SEED``; prints figures as JSON. Every source is a
deterministic stream of numbered steps, so that what the file must hold in the end is known.
"""

import json
import math
import os
import random
import signal
import sys
import time

import numpy as np

from streamauc import Monitor, ScoreHistogram
from streamauc.store import Store

SERIES = {"model": "fraud"}
TIERS = ((1, 30), (5, 200), (20, math.inf))
WRITERS = ("writer 0", "writer 1", "writer 2")
ROLES = (*WRITERS, "resolver", "roll-up")
SETTINGS = {"tiers": TIERS, "clock": "event"}
BLOCK = 8  # steps of the resolver are shuffled in blocks of so many


def rng_of(role, step):
    """Return the random numbers of one step of a stream."""
    return np.random.default_rng([ROLES.index(role), step])


def keyed(writer, step):
    """Return the keys, scores and times of the predictions of a step."""
    rng = rng_of(writer, step)
    keys = [f"{writer[-1]}-{step}-{number}" for number in range(4)]
    return keys, rng.integers(0, 9, 4) / 8, moments(rng, step, 4)


def moments(rng, step, size):
    """Return event times about that of a step, some of them late."""
    return 1_000.0 + step / 4 - rng.choice([0, 0, 0, 0.25, 7, 90], size)


def write(monitor, writer, step):
    """Do one step of a writer: events, predictions, and some of them once more."""
    keys, scores, times = keyed(writer, step)
    monitor.predict_many(keys, scores, times)
    rng = rng_of(writer, 2**40 + step)
    size = int(rng.integers(1, 12))
    weights = rng.choice([1, 2, 0.5], size) if step % 5 == 0 else None
    labels, values = rng.integers(0, 2, size), rng.integers(0, 9, size) / 8
    monitor.update_many(labels, values, moments(rng, step, size), weights)
    monitor.update(1, 0.25, float(1_000 + step / 4))
    if step % 7 == 0:
        one = ScoreHistogram.from_scores([0, 1, 1], [0.5, 0.5, 0.75], scale=monitor.scale)
        monitor.update_histogram(one, 1_000.0 + step / 4)
    if step % 3 == 0 and step:
        again = keyed(writer, step - 1)
        for key, score, moment in zip(*again, strict=True):
            monitor.predict(key, float(score), float(moment))


def resolve(monitor, step):
    """Do one step of the resolver: labels of a step of each writer, before or after it."""
    step ^= BLOCK - 3  # a permutation of each block
    for writer in WRITERS:
        keys, scores, _ = keyed(writer, step)
        labels = (scores > 0.4).astype(int)
        monitor.resolve_many(keys[:3], labels[:3])  # the fourth never gets one
        if step % 4 == 0:
            monitor.resolve(keys[0], 1 - int(labels[0]))


def run(role, path, target, acks):
    """Do the steps of a role from where its position says, until there is a target to reach."""
    with Store(path) as store:
        if role == "roll-up":
            roll_up(store, target)
            return
        step = store.position(role) or 0
        monitor = Monitor(**SETTINGS, store=store, series=SERIES, flush_seconds=0.05)
        monitor.flush(position={role: step})
        rng = random.Random(os.getpid())  # noqa: S311 - no secret
        while step < (target() or math.inf):
            (resolve(monitor, step) if role == "resolver" else write(monitor, role, step))
            step += 1
            if rng.random() < 0.3 or step == target():
                monitor.flush(position={role: step})
                os.write(acks, f"{role}={step}\n".encode())
            if rng.random() < 0.02:
                monitor.window(last=60)
            time.sleep(rng.random() * 0.004)
        monitor.close()


def roll_up(store, target):
    """Let panes expire and writers retire, and poll, until there is a target."""
    monitor = Monitor(**SETTINGS, store=store, series=SERIES, flush_seconds=0.01)
    while target() is None:
        monitor.history(20)
        monitor.flush()
        if monitor.stats.n_accepted:
            store.series(SERIES).tidy(math.inf, retire_seconds=0)
        time.sleep(0.01)
    monitor.close()


class Campaign:
    """The processes, the acknowledgements, and what is checked after every kill."""

    def __init__(self, path, seed):
        self.path = path
        self.rng = random.Random(seed)  # noqa: S311 - no secret
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.acked = dict.fromkeys(ROLES, 0)
        self.rest = b""
        self.pids = {}
        self.n_verified = self.n_ended = 0
        self.verify_seconds = 0.0

    def target(self):
        """Return the step at which to end, None as long as there is none."""
        try:
            with open(f"{self.path}.target") as found:
                return int(found.read())
        except FileNotFoundError:
            return None

    def start(self, role):
        """Start a process for a role."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(self.reader)
                run(role, self.path, self.target, self.writer)
                code = 0
            except BaseException as error:  # noqa: BLE001 - a child ends here, whatever it is
                print(f"{role}: {error!r}", file=sys.stderr, flush=True)
            finally:
                os._exit(code)
        self.pids[role] = pid

    def kill(self, role):
        """Kill the process of a role; return whether it was still at work."""
        pid = self.pids[role]
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), f"{role} ended by itself: {status}"

    def check(self):
        """Check that the file is whole and holds everything acknowledged so far."""
        self.drain()
        acked = dict(self.acked)
        begin = time.perf_counter()
        with Store(self.path) as store:
            report = store.verify()
            assert report.is_whole, report.problems
            for role in (*WRITERS, "resolver"):
                position = store.position(role) or 0
                assert position >= acked[role], f"{role}: {position} < {acked[role]}"
        self.verify_seconds += time.perf_counter() - begin
        self.n_verified += 1

    def drain(self):
        """Read what was acknowledged by now."""
        while True:
            try:
                data = os.read(self.reader, 65_536)
            except BlockingIOError:
                break
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                role, step = line.decode().split("=")
                self.acked[role] = max(self.acked[role], int(step))

    def play(self, n_kills):
        """Kill so many times, then let everybody reach one target; return figures."""
        Store(self.path).close()
        for role in ROLES:
            self.start(role)
        n = 0
        while n < n_kills:
            time.sleep(self.rng.expovariate(1 / 0.15))
            some = list(ROLES) if self.rng.random() < 0.1 else [self.rng.choice(ROLES)]
            for role in some:
                self.kill(role)
            n += len(some)
            self.check()
            for role in some:
                self.start(role)
        return self.finish(n)

    def finish(self, n_kills):
        self.drain()
        with Store(self.path) as store:
            furthest = max(store.position(role) or 0 for role in ROLES)
        target = (furthest // BLOCK + 3) * BLOCK
        with open(f"{self.path}.new", "w") as made:
            made.write(str(target))
        os.rename(f"{self.path}.new", f"{self.path}.target")
        # Whoever was beyond it when it was set would have gone too far.
        for role, pid in self.pids.items():
            _, status = os.waitpid(pid, 0)
            assert status == 0, f"{role} failed"
        self.check()
        n_bytes = os.path.getsize(self.path)
        return {
            "kills": n_kills,
            "steps": target,
            "verified": self.n_verified,
            "verify_ms": round(1_000 * self.verify_seconds / self.n_verified, 1),
            "bytes": n_bytes,
            **compared(self.path, target),
        }


def compared(path, target):
    """Compare the store with a run in memory that nobody disturbed."""
    memory = Monitor(**SETTINGS)
    for step in range(target):
        for writer in WRITERS:
            write(memory, writer, step)
    for step in range(target):
        resolve(memory, step)
    with Store(path) as store:
        monitor = Monitor(**SETTINGS, store=store, series=SERIES, flush_seconds=math.inf)
        monitor.flush()
        expected, found = answers(memory), answers(monitor)
        for name, value in expected.items():
            assert found[name] == value, f"{name}: {found[name]} instead of {value}"
        for role in (*WRITERS, "resolver"):
            assert store.position(role) == target
        n_writers = len(store.series(SERIES).writers())
    return {"events": memory.stats.n_accepted, "panes": len(found["panes"]), "writers": n_writers}


def answers(monitor):
    """Return every pane with its counts, and the numbers of events."""
    state = monitor.state()
    panes = {}
    for channel, tier, index, counts in state.panes:
        one = ScoreHistogram(state.scale, counts, counts.counts.shape[0])
        if one.totals.sum():
            squares = None if one.squares is None else one.squares.tolist()
            panes[channel, tier, index] = (one.bins.tolist(), one.counts.tolist(), squares)
    return {"stats": monitor.stats, "panes": panes}


if __name__ == "__main__":
    begin = time.perf_counter()
    figures = Campaign(sys.argv[1], int(sys.argv[3])).play(int(sys.argv[2]))
    figures["seconds"] = round(time.perf_counter() - begin, 1)
    print(json.dumps(figures))
