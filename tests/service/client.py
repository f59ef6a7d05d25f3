"""Who calls the service: a few threads that ask again until they are answered, and a log."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with status 200, and when it came."""

    id: str
    score: float | None
    worker: int
    at: float


@dataclass
class Client:
    """Delivers at least once, and keeps a log of every answer."""

    url: str
    durable: bool
    answers: list[Answered] = field(default_factory=list)
    n_sent: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, payments, on_answer=None, *, n_threads=4):
        """Send payments from several threads; `on_answer` is told the id of each answered one."""
        shares = [payments[first::n_threads] for first in range(n_threads)]
        with ThreadPoolExecutor(n_threads) as pool:
            for done in [pool.submit(self._send_all, share, on_answer) for share in shares]:
                done.result()

    def _send_all(self, payments, on_answer):
        # A connection for each request, so that every worker gets some.
        limits = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(base_url=self.url, limits=limits, trust_env=False) as http:
            for payment in payments:
                self._send_one(http, payment)
                if on_answer is not None:
                    on_answer(payment["id"])

    def _send_one(self, http, payment):
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self._lock:
                self.n_sent += 1
            try:
                reply = http.post("/score", json=payment, params={"durable": self.durable})
                reply.raise_for_status()
            except (httpx.TransportError, httpx.HTTPStatusError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                answer = Answered(**reply.json(), at=time.time())
                with self._lock:
                    self.answers.append(answer)
                return

    def scores(self):
        """Return the score of every payment that was answered with one."""
        with self._lock:
            return {one.id: one.score for one in self.answers if one.score is not None}

    def workers(self):
        """Return every process that answered."""
        with self._lock:
            return {one.worker for one in self.answers}
