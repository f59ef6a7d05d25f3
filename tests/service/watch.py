"""The monitor of the fraud model, made the same way by everyone who writes to its series."""

import os

from streamauc import Monitor, Scale
from streamauc.store import Store


def fraud_monitor(store: Store | str | os.PathLike[str], *, flush_seconds: float) -> Monitor:
    """Return a monitor for this process; make one in each, after it has been started."""
    return Monitor(
        store=store,
        series={"model": "fraud"},
        scale=Scale.exact(),  # scores have three decimals, so that many are equal
        bad="skip",  # a request never fails because of its metrics
        flush_seconds=flush_seconds,
    )
