"""Detectors in a store: they advance in it, whoever asks, until their alarms are ended."""

import json
import logging
from typing import Protocol

from streamauc import _time
from streamauc.change.verdict import State
from streamauc.rules.detectors import CLASSES, Progress, References, check_panes
from streamauc.rules.model import Detection, Key
from streamauc.rules.selector import Labels
from streamauc.rules.source import Verdict
from streamauc.store import DamageError, Place, Store, references
from streamauc.store.documents import Document
from streamauc.window import Window

_LOG = logging.getLogger("streamauc")
_KIND = "detector"  # of documents
# A detector waits for so long if it has read on by a clock that was ahead; else it starts anew.
_WAIT_SECONDS = 3600.0


class _Readable(References, Protocol):
    """What detectors read."""

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end), rounded outwards to panes."""


class StoredDetectors:
    """The detectors of a store; unless it is to `keep` what they take in, it stays as it is."""

    def __init__(self, store: Store, source: _Readable, *, keep: bool) -> None:
        self._store = store
        self._source = source
        self._keep = keep

    def detect(self, key: Key, detection: Detection, labels: Labels, now: float) -> Verdict:
        """Advance a detector to `now`, its state in the same transaction; return what it says."""
        name = f"{key.rule} {key.series}"
        if not self._keep:
            before = self._store.load(_KIND, name)
            return self._advanced(before, detection, labels, now).verdict
        with self._store.write() as batch:
            before = batch.load(_KIND, name)
            progress = self._advanced(before, detection, labels, now)
            body = _packed(progress, self._settings(detection))
            if before is None or before.body != body:
                batch.save(_KIND, name, body, now)
        return progress.verdict

    def _settings(self, detection: Detection) -> str:
        """Return what a detector was started with; a reference that is replaced starts another."""
        if not isinstance(detection.reference, str):
            return detection.fingerprint
        reference = self._store.load(references.KIND, detection.reference)
        return f"{detection.fingerprint} {None if reference is None else reference.saved}"

    def _advanced(
        self, before: Document | None, detection: Detection, labels: Labels, now: float
    ) -> Progress:
        source = self._source
        check_panes(detection, source, labels)
        progress = _progress(before, self._settings(detection))
        if progress is None or self._is_ahead(progress, now - detection.offset):
            progress = Progress.begin(detection, source, labels, now)
        progress.advance(detection, lambda low, high: source.window(labels, low, high), now)
        return progress

    def _is_ahead(self, progress: Progress, mature: float) -> bool:
        """Return whether a detector knows of panes that are not mature yet."""
        if not self._keep:
            return progress.until > mature
        found = progress.until > mature + _WAIT_SECONDS
        if found:
            _LOG.warning(
                "a detector has read on until %s, later than now: a clock was wrong, it starts"
                " anew",
                _time.shown(progress.until),
            )
        return found


def acknowledge(store: Store, alert: str, *, now: float) -> int:
    """End the alarms of all detectors of an alert, and start their evidence anew.

    Until then an alarm stays, however the class ratio goes on. Returns how many there were.
    """
    n_ended = 0
    with store.write() as batch:
        for document in store.load_all(_KIND):
            if document.name.partition("{")[0] != alert:
                continue
            # As it is in this transaction, in which nobody else moves it on.
            found = batch.load(_KIND, document.name)
            if found is None:
                continue
            settings, progress = _unpacked(found)
            if progress.detector.state is State.ALARM:
                progress.detector.acknowledge()
                batch.save(_KIND, document.name, _packed(progress, settings), now)
                n_ended += 1
    return n_ended


def _packed(progress: Progress, settings: str) -> bytes:
    """Return a line of JSON and the detector's own bytes."""
    kind = next(name for name, one in CLASSES.items() if isinstance(progress.detector, one))
    head = {"detector": kind, "settings": settings, "since": progress.since}
    return json.dumps(head).encode() + b"\n" + progress.detector.to_bytes()


def _progress(document: Document | None, settings: str) -> Progress | None:
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
