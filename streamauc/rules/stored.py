"""Rules on a store: what they read, and the states that all who judge share."""

import functools
import json
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from streamauc import _time, tiers
from streamauc.change.reference import ReferencePanes
from streamauc.change.verdict import State as DetectorState
from streamauc.reader import SeriesReader
from streamauc.rules.detectors import CLASSES, Progress, check_panes
from streamauc.rules.evaluate import Result, evaluate
from streamauc.rules.judge import is_ahead
from streamauc.rules.model import Detection, Key, RulesFile, series_key
from streamauc.rules.newest import newest_event
from streamauc.rules.record import Change, Record
from streamauc.rules.selector import Labels
from streamauc.rules.source import Compared, Health, Verdict
from streamauc.rules.tallies import Book, Tally, dumps, grown, loads
from streamauc.store import DamageError, Place, Store, StoredSeries, references
from streamauc.store.change import Batch
from streamauc.store.documents import Document
from streamauc.tiers import Tier, round_out
from streamauc.window import Window

_LOG = logging.getLogger("streamauc")
_RULE, _DETECTOR, _TALLIES = "rule", "detector", "tallies"  # kinds of documents
_ALL = "all series"
# So often an evaluation is done again because somebody else judged meanwhile; of those who judge
# at once, one is always first, so this is more than there can be.
_TRIES = 100
# A detector waits for so long if it has read on by a clock that was ahead; else it starts anew.
_WAIT_SECONDS = 3600.0
# States that nobody has judged for so long are let go: no rule of any file asks for them.
_FORGET_SECONDS = 30 * 86_400.0


class StoreSource:
    """All series of a store, as a `Source`; detectors advance in it, whoever asks.

    `clock` tells the time; of a series that goes by event time, too. Unless it is to `keep` what
    detectors have taken in, the store stays as it is, and nothing is seen of what came after that
    time: a pane that reaches beyond it is left out.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], float] = time.time, keep: bool = True
    ) -> None:
        self._store = store
        self._keep = keep
        self._clock = clock
        self._series = {series_key(one.labels): one for one in store.all_series()}
        self._readers: dict[str, SeriesReader] = {}
        self._noted: dict[str, tuple[Tally, float]] = {}

    def now(self) -> float:
        """Return the time."""
        return self._clock()

    def series(self) -> Sequence[Labels]:
        """Return the labels of every series."""
        return [one.labels for one in self._series.values()]

    def _found(self, labels: Labels) -> StoredSeries:
        return self._series[series_key(labels)]

    def _reader(self, labels: Labels) -> SeriesReader:
        key = series_key(labels)
        if key not in self._readers:
            self._readers[key] = SeriesReader(self._store, self._series[key], self._clock)
        return self._readers[key]

    def tiers(self, labels: Labels) -> tuple[Tier, ...]:
        """Return the tiers of a series."""
        return self._found(labels).tiers

    def pane(self, labels: Labels, moment: float) -> tuple[float, float]:
        """Return the span of the finest pane that survives and holds a moment."""
        facts = self._found(labels).facts
        return round_out(facts.tiers, facts.first, moment, math.nextafter(moment, math.inf))

    def window(self, labels: Labels, start: float, end: float) -> Window:
        """Return the events of [start, end), rounded outwards to panes."""
        reader = self._reader(labels)
        with reader.moment():
            found = reader.window(start, end)
            if self._keep or found.end <= self.now():
                return found
            facts = self._found(labels).facts
            limit = tiers.snap(facts.tiers, facts.first, self.now())
            return reader.window(min(start, limit), limit)

    def health(self, labels: Labels) -> Health:
        """Return how a series is doing; the newest event to the end of its pane."""
        series, now = self._found(labels), self.now()
        # By event time there is no telling how long ago something was written.
        wall = time.time() if series.facts.event_clock else now
        with series.moment():
            newest = newest_event(lambda low, high: self.window(labels, low, high), now)
        return Health(
            newest_event=newest,
            writers={
                one.id: max(0.0, wall - one.flushed)
                for one in series.writers()
                if one.closed is None
            },
        )

    def tallies(self, labels: Labels) -> Sequence[Tally]:
        """Return what had been offered by now and by earlier evaluations.

        What had been offered by a time in the past is known of evaluations only.
        """
        key, now = series_key(labels), self.now()
        earlier = [one for one in self._tallied.get(key, ()) if one.at <= now]
        if not self._keep:
            return earlier
        stats = self._reader(labels).stats()
        newest = Tally(now, stats.n_offered, stats.n_rejected)
        self._noted[key] = newest, self._found(labels).facts.since
        return grown(earlier, *self._noted[key])

    @functools.cached_property
    def _tallied(self) -> Book:
        return _book(self._store.load(_TALLIES, _ALL))

    def keep(self, batch: Batch) -> None:
        """Write down the tallies that were asked for, beside what others wrote meanwhile."""
        if not self._noted:
            return
        book = _book(batch.load(_TALLIES, _ALL))
        for key, (newest, began) in self._noted.items():
            book[key] = grown(book.get(key, ()), newest, began)
        batch.save(_TALLIES, _ALL, dumps(book), self.now())

    def reference(self, name: str, labels: Labels) -> Compared:  # noqa: ARG002 - one for all series
        """Return a named reference. Raises LookupError if there is none."""
        try:
            return self._store.reference(name).histogram
        except DamageError:
            raise
        except ValueError as error:
            raise LookupError(str(error)) from None

    def reference_panes(self, name: str, labels: Labels, pane_seconds: int) -> ReferencePanes:
        """Return a reference pane by pane, from the series' own past that it names the span of."""
        found = self._store.reference(name)
        if math.isnan(found.start) or math.isnan(found.end):
            raise LookupError(f"reference {name!r} must have a span to be read pane by pane")
        reader = self._reader(labels)
        with reader.moment():
            panes = _whole_panes(reader, found.start, found.end, pane_seconds)
        return ReferencePanes(
            [round(one.start // pane_seconds) for one in panes],
            [one.n_pos for one in panes],
            [one.n_neg for one in panes],
        )

    def detect(self, key: Key, detection: Detection, labels: Labels, now: float) -> Verdict:
        """Advance a detector to `now`, its state in the same transaction; return what it says."""
        name = f"{key.rule} {key.series}"
        if not self._keep:
            return self._advanced(self._store.load(_DETECTOR, name), detection, labels, now).verdict
        with self._store.write() as batch:
            before = batch.load(_DETECTOR, name)
            progress = self._advanced(before, detection, labels, now)
            body = _packed(progress, self._settings(detection))
            if before is None or before.body != body:
                batch.save(_DETECTOR, name, body, now)
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
        check_panes(detection, self, labels)
        progress = _progress(before, self._settings(detection))
        if progress is None or self._is_ahead(progress, now - detection.offset):
            progress = Progress.begin(detection, self, labels, now)
        progress.advance(detection, lambda low, high: self.window(labels, low, high), now)
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


def _book(document: Document | None) -> Book:
    """Return the tallies of all series as they were stored."""
    if document is None:
        return {}
    try:
        return loads(document.body)
    except ValueError as error:
        place = Place("document", key=f"{document.kind} {document.name}")
        raise DamageError(f"tallies can't be read: {error}", place) from error


def acknowledge(store: Store, alert: str, *, now: float) -> int:
    """End the alarms of all detectors of an alert, and start their evidence anew.

    Until then an alarm stays, however the class ratio goes on. Returns how many there were.
    """
    n_ended = 0
    with store.write() as batch:
        for document in store.load_all(_DETECTOR):
            if document.name.partition("{")[0] != alert:
                continue
            # As it is in this transaction, in which nobody else moves it on.
            found = batch.load(_DETECTOR, document.name)
            if found is None:
                continue
            settings, progress = _unpacked(found)
            if progress.detector.state is DetectorState.ALARM:
                progress.detector.acknowledge()
                batch.save(_DETECTOR, document.name, _packed(progress, settings), now)
                n_ended += 1
    return n_ended


def _whole_panes(reader: SeriesReader, start: float, end: float, pane_seconds: int) -> list[Window]:
    first, stop = math.ceil(start / pane_seconds), math.floor(end / pane_seconds)
    windows = (
        reader.window(index * pane_seconds, (index + 1) * pane_seconds)
        for index in range(first, stop)
    )
    return [one for one in windows if one.end - one.start == pane_seconds]


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


def evaluate_stored(
    file: RulesFile, store: Store, *, clock: Callable[[], float] = time.time, keep: bool = True
) -> list[Result]:
    """Evaluate a rules file on a store, and keep the states and their changes there.

    With ``keep=False`` it goes on from the states that are there and leaves them as they are.

    Whoever evaluates the same rules goes on from the same states; if somebody else did so in
    between, it is done again. Raises what reading and writing the store raises.
    """
    for _ in range(_TRIES):
        before = {rule.id: store.load(_RULE, rule.id) for rule in file.rules}
        source = StoreSource(store, clock=clock, keep=keep)
        records = _known(_records(before), source.now(), keep=keep)
        results = evaluate(file, source, records)
        if not keep:
            return results
        others = _others(records, results, source)
        with store.write() as batch:
            if all(_same(batch.load(_RULE, name), one) for name, one in before.items()):
                _keep(batch, others, results)
                source.keep(batch)
                return results
    raise TimeoutError(
        f"the rules must be judged by fewer at once: {_TRIES} times others were first"
    )


def _same(one: Document | None, other: Document | None) -> bool:
    return (None if one is None else one.body) == (None if other is None else other.body)


def _records(documents: Mapping[str, Document | None]) -> dict[Key, Record]:
    """Return the records of all rules, by rule and series."""
    found = {}
    for name, document in documents.items():
        if document is None:
            continue
        try:
            for series, fields in json.loads(document.body).items():
                found[Key(name, series)] = Record.from_dict(fields)
        except (ValueError, AttributeError) as error:
            place = Place("document", key=f"{document.kind} {document.name}")
            raise DamageError(f"the states of a rule can't be read: {error}", place) from error
    return found


def _known(records: Mapping[Key, Record], now: float, *, keep: bool) -> Mapping[Key, Record]:
    """Return the records to go on from; for a look at the past none that is younger."""
    if not keep:
        return {key: record for key, record in records.items() if record.at <= now}
    ahead = [record.at for record in records.values() if is_ahead(record, now)]
    if ahead:
        _LOG.warning(
            "%d alert%s judged last at a time later than now, up to %s: a clock was wrong",
            len(ahead),
            " was" if len(ahead) == 1 else "s were",
            _time.shown(max(ahead)),
        )
    return records


def _others(
    records: Mapping[Key, Record], results: Sequence[Result], source: StoreSource
) -> dict[Key, Record]:
    """Return the records to be left as they are: of series that another file's rule judges.

    A rule is known by its name and labels, which another file may use for other series.
    """
    judged = {result.key for result in results}
    there = {"", *(series_key(labels) for labels in source.series())}
    oldest = source.now() - _FORGET_SECONDS
    return {
        key: record
        for key, record in records.items()
        if key not in judged and key.series in there and record.at >= oldest
    }


def _keep(batch: Batch, others: Mapping[Key, Record], results: Sequence[Result]) -> None:
    by_rule: defaultdict[str, dict[str, object]] = defaultdict(dict)
    latest: dict[str, float] = {}
    for key, record in others.items():
        by_rule[key.rule][key.series] = record.to_dict()
    for result in results:
        by_rule[result.key.rule][result.key.series] = result.record.to_dict()
        latest[result.key.rule] = result.record.at
        if result.change is not None:
            entry = {"series": result.key.series, **result.change.to_dict()}
            batch.append(_RULE, result.key.rule, _json(entry), result.change.at)
    for name, at in latest.items():
        batch.save(_RULE, name, _json(by_rule[name]), at)


def _json(fields: object) -> bytes:
    return json.dumps(fields, sort_keys=True, allow_nan=False).encode()


def known_rules(store: Store) -> list[str]:
    """Return the rules (`Rule.id`) that have ever been judged, by name."""
    return [one.name for one in store.load_all(_RULE)]


def state_history(store: Store, rule: str) -> list[tuple[Key, Change]]:
    """Return the changes of state of a rule (`Rule.id`), oldest first."""
    found = []
    for entry in store.journal(_RULE, rule):
        fields = json.loads(entry.body)
        found.append((Key(rule, fields["series"]), Change.from_dict(fields)))
    return found
