"""References by name: what a current window is compared with, and what it was before."""

import math
from dataclasses import dataclass

from streamauc.histogram import ScoreHistogram
from streamauc.store.change import Batch
from streamauc.store.documents import Document
from streamauc.store.errors import DamageError, Place
from streamauc.window import Window

KIND = "reference"


@dataclass(frozen=True, slots=True, eq=False)
class StoredReference:
    """A named histogram, the span that it fills, and when it was saved; seconds since the epoch.

    The ends are ``nan`` where they are not known.
    """

    name: str
    histogram: ScoreHistogram
    start: float
    end: float
    saved: float


def put(batch: Batch, reference: StoredReference, *, replace: bool) -> None:
    """Save a reference and note it in the journal. Raises ValueError for a name that is taken."""
    if batch.load(KIND, reference.name) is not None and not replace:
        raise ValueError(
            f"the reference {reference.name!r} exists; pass replace=True to replace it"
        )
    body = _dumps(reference)
    batch.save(KIND, reference.name, body, reference.saved)
    batch.append(KIND, reference.name, body, reference.saved)


def _dumps(reference: StoredReference) -> bytes:
    """Return both ends as text, a line each, and behind them the histogram."""
    ends = f"{reference.start!r}\n{reference.end!r}\n"
    return ends.encode() + reference.histogram.to_bytes()


def loads(document: Document) -> StoredReference:
    """Return a reference that was saved. Raises DamageError for other bytes."""
    try:
        start, end, body = document.body.split(b"\n", 2)
        histogram = ScoreHistogram.from_bytes(body)
        return StoredReference(document.name, histogram, float(start), float(end), document.saved)
    except ValueError as error:
        place = Place("document", key=f"{document.kind} {document.name}")
        raise DamageError(f"a reference can't be read: {error}", place) from error


def made(
    name: str,
    counted: Window | ScoreHistogram,
    start: float | None,
    end: float | None,
    at: float,
) -> StoredReference:
    """Return a reference, with a window's own span or one of which the ends may not be known.

    Raises TypeError for anything else, and for a window with another span.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a reference must be text, got {name!r}")
    if isinstance(counted, Window):
        if start is not None or end is not None:
            raise TypeError(f"start and end are the window's own, got {start!r} and {end!r}")
        return StoredReference(name, counted.histogram, counted.start, counted.end, at)
    if not isinstance(counted, ScoreHistogram):
        raise TypeError(
            "what is saved as a reference must be a Window or a ScoreHistogram,"
            f" got {type(counted).__name__}"
        )
    low, high = (math.nan if moment is None else float(moment) for moment in (start, end))
    return StoredReference(name, counted, low, high, at)
