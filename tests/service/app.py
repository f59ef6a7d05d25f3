"""A scoring service that watches itself: how to embed `streamauc` into FastAPI.

    FRAUD_STORE=metrics.db uvicorn service.app:app --workers 4

Each worker process has a monitor of its own, and all of them write to one file. Whoever opens the
file sees what all of them counted; nothing else has to run.

What an answer promises is up to the caller:

* ``POST /score`` counts the prediction in memory, which costs microseconds. It is on disk
  `FLUSH_SECONDS` later. If the worker is killed before that, it is missing.
* ``POST /score?durable=1`` answers when the prediction is on disk. What was answered with 200 is
  there, whoever is killed.

A caller that gets no answer asks again with the same id. That is safe either way: an id counts
once, whichever workers it came to.
"""

import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from service.watch import fraud_monitor

from streamauc import Monitor

FLUSH_SECONDS = 0.5


class Payment(BaseModel):
    """What is to be scored."""

    id: str
    amount: float | None
    abroad: bool


class Answer(BaseModel):
    """A score, null where the model has none, and the process that made it."""

    id: str
    score: float | None
    worker: int


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Monitor]]:
    """Open the monitor when a worker has started; write what waits, and its end, on SIGTERM."""
    with fraud_monitor(os.environ["FRAUD_STORE"], flush_seconds=FLUSH_SECONDS) as monitor:
        yield {"monitor": monitor}


app = FastAPI(lifespan=lifespan)


def fraud_score(payment: Payment) -> float:
    """Return the score of a payment; nan without an amount, and then the monitor skips it."""
    if payment.amount is None:
        return math.nan
    return round(1 / (1 + math.exp(3 - payment.amount / 100 - 2 * payment.abroad)), 3)


@app.post("/score")
async def score(payment: Payment, request: Request, *, durable: bool = False) -> Answer:
    """Score a payment, and count the prediction."""
    monitor: Monitor = request.state.monitor
    found = fraud_score(payment)
    monitor.predict(payment.id, found)  # no input or output: nothing to wait for
    if durable:
        await _flush(monitor)
    return Answer(id=payment.id, score=None if math.isnan(found) else found, worker=os.getpid())


async def _flush(monitor: Monitor) -> None:
    """Wait until all that was counted is on disk; requests that wait together share one commit."""
    try:
        await run_in_threadpool(monitor.flush)
    except OSError as error:  # the disk is full, or somebody holds the file locked
        raise HTTPException(503, "the prediction is not on disk yet, ask again") from error


@app.get("/healthz")
async def healthz() -> dict[str, int]:
    """Tell which process answers, and whose child it is."""
    return {"worker": os.getpid(), "supervisor": os.getppid()}
