"""Detectors in a store: how their states are written down, and how their alarms are ended."""

import json

from streamauc.change.verdict import State
from streamauc.rules.detectors import CLASSES, Progress
from streamauc.store import DamageError, Place, Store
from streamauc.store.documents import Document

KIND = "detector"  # of documents


def acknowledge(store: Store, alert: str, *, now: float) -> int:
    """End the alarms of all detectors of an alert, and start their evidence anew.

    Until then an alarm stays, however the class ratio goes on. Returns how many there were.
    """
    n_ended = 0
    with store.write() as batch:
        for document in store.load_all(KIND):
            if document.name.partition("{")[0] != alert:
                continue
            # As it is in this transaction, in which nobody else moves it on.
            found = batch.load(KIND, document.name)
            if found is None:
                continue
            settings, progress = _unpacked(found)
            if progress.detector.state is State.ALARM:
                progress.detector.acknowledge()
                batch.save(KIND, document.name, packed(progress, settings), now)
                n_ended += 1
    return n_ended


def packed(progress: Progress, settings: str) -> bytes:
    """Return a line of JSON and the detector's own bytes."""
    kind = next(name for name, one in CLASSES.items() if isinstance(progress.detector, one))
    head = {"detector": kind, "settings": settings, "since": progress.since}
    return json.dumps(head).encode() + b"\n" + progress.detector.to_bytes()


def stored_progress(document: Document | None, settings: str) -> Progress | None:
    """Return a detector as it was stored; None if there is none with these settings."""
    if document is None:
        return None
    known, progress = _unpacked(document)
    return progress if known == settings else None


def _unpacked(document: Document) -> tuple[str, Progress]:
    """Return the settings of a detector and how far it got."""
    head, _, body = document.body.partition(b"\n")
    try:
        fields = json.loads(head)
        since = float(fields["since"])
        detector = CLASSES[fields["detector"]].from_bytes(body)
        return str(fields["settings"]), Progress(detector, since)
    except (ValueError, KeyError, TypeError) as error:
        place = Place("document", key=f"{document.kind} {document.name}")
        raise DamageError(f"a detector can't be read: {error}", place) from error
