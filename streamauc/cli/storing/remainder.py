"""The last rows of the file: what waits in each series, documents and the journal, as JSON.

Each row is an object with one field, which says what it is:

* ``open``: predictions that wait for a label: `series`, `keys`, `times`, `scores`;
* ``early``: labels that wait for a prediction: `series`, `keys`, `labels`;
* ``closed``: keys that wait for nothing: `series`, `keys`, `times`, `scores`, `labels`, of which
  a null stands for none;
* ``document``, ``journal``: `kind`, `name`, `saved` and in base64 the `body`.
"""

import base64
import binascii
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from streamauc._time import MAX_TIME
from streamauc.cli.storing.layout import dumps
from streamauc.cli.storing.records import Record, shown
from streamauc.codec import JoinState
from streamauc.maturity import DelayLog
from streamauc.reader import DELAYS
from streamauc.scale import Scale
from streamauc.store import references
from streamauc.store.documents import Document, Json
from streamauc.store.entries import key_texts

_AT_ONCE = 1_000


def dump_entries(labels: str, join: JoinState) -> Iterator[str]:
    """Yield the rows of what waits in a series. O(n_entries)."""
    for start in range(0, len(join.opened), _AT_ONCE):
        opened = join.opened[start : start + _AT_ONCE]
        yield _row("open", labels, [key for key, _ in opened], [placed for _, placed in opened])
    for start in range(0, len(join.early), _AT_ONCE):
        early = join.early[start : start + _AT_ONCE]
        yield _row("early", labels, [key for key, _ in early], known=[one for _, one in early])
    for start in range(0, len(join.closed), _AT_ONCE):
        closed = join.closed[start : start + _AT_ONCE]
        keys, placed, known = zip(*closed, strict=True)
        yield _row("closed", labels, keys, placed, known)


def _row(
    kind: str,
    labels: str,
    keys: Iterable[Hashable],
    placed: Sequence[complex] | None = None,
    known: Sequence[float] | None = None,
) -> str:
    fields: dict[str, Json] = {"series": labels, "keys": [_scalar(key) for key in keys]}
    if placed is not None:
        fields["times"] = [one.real for one in placed]
        fields["scores"] = [one.imag for one in placed]
    if known is not None:
        fields["labels"] = [None if math.isnan(label) else int(label) for label in known]
    return dumps({kind: fields})


def _scalar(key: Hashable) -> Json:
    if not isinstance(key, str | int | float | bool | None):
        raise TypeError(f"keys must be text or numbers, got {key!r}")
    return key


def dump_document(kind: str, document: Document) -> str:
    """Return the row of a document or an entry of the journal."""
    return dumps(
        {
            kind: {
                "kind": document.kind,
                "name": document.name,
                "saved": document.saved,
                "body": base64.b64encode(document.body).decode(),
            }
        }
    )


@dataclass(slots=True)
class Waiting:
    """What waits in a series, as `JoinState`; `texts` are its keys in the form that is stored."""

    scale: Scale
    opened: list[tuple[Hashable, complex]] = field(default_factory=list)
    early: list[tuple[Hashable, float]] = field(default_factory=list)
    closed: list[tuple[Hashable, complex, float]] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    @property
    def state(self) -> JoinState:
        """All of it."""
        return JoinState(self.opened, self.early, self.closed)


@dataclass(slots=True)
class Remainder:
    """What the last rows hold: by series what waits, documents, and the journal."""

    waiting: dict[str, Waiting] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)
    journal: list[Document] = field(default_factory=list)

    def take(self, text: str, where: str) -> None:
        """Take in a row. Raises ValueError for anything that export does not write."""
        row = Record.parse(text, where)
        if len(row.names()) != 1:
            raise ValueError(f"{where} must say what it is, got {shown(text)}")
        (kind,) = row.names()
        if kind in ("document", "journal"):
            target = self.documents if kind == "document" else self.journal
            target.append(_document(row.record(kind)))
        elif kind in ("open", "early", "closed"):
            self._take_entries(kind, row.record(kind))
        else:
            raise ValueError(f"{where} must be an entry or a document, got {kind!r}")

    def _take_entries(self, kind: str, record: Record) -> None:
        waiting = self.waiting.get(record.text("series"))
        if waiting is None:
            raise record.fault("series", "one of the file")
        keys = _keys(record, waiting)
        if kind == "early":
            waiting.early += zip(keys, _labels(record, keys, {0, 1}), strict=True)
            return
        placed = _placed(record, keys, waiting.scale)
        if kind == "open":
            waiting.opened += zip(keys, placed, strict=True)
        else:
            known = _labels(record, keys, {0, 1, None})
            waiting.closed += zip(keys, placed, known, strict=True)

    def check(self) -> None:
        """Raise ValueError for a document that is there twice."""
        names = [(one.kind, one.name) for one in self.documents]
        if len(set(names)) != len(names):
            kind, name = next(one for one in names if names.count(one) > 1)
            raise ValueError(f"documents must be different, got two of kind {kind}, name {name}")


def _keys(record: Record, waiting: Waiting) -> list[Hashable]:
    keys = record.items("keys")
    if any(isinstance(key, list | dict) for key in keys):
        raise record.fault("keys", "text, numbers or null")
    try:
        texts, _ = key_texts(keys)
    except ValueError as error:
        raise ValueError(f"{record.where}: {error}") from error
    if len(set(texts)) != len(texts) or not waiting.texts.isdisjoint(texts):
        raise record.fault("keys", "different in all of a series")
    waiting.texts.update(texts)
    return keys


def _placed(record: Record, keys: Collection[Hashable], scale: Scale) -> list[complex]:
    times, scores = record.reals("times", MAX_TIME), record.reals("scores", math.inf)
    if not len(times) == len(scores) == len(keys):
        raise record.fault("times", "as many as keys and scores")
    for score in scores:
        if not scale.low <= score <= scale.high:
            raise ValueError(f"{record.where}: {scale.fault('score', score)}")
    return [complex(*pair) for pair in zip(times, scores, strict=True)]


def _labels(record: Record, keys: Collection[Hashable], allowed: set[int | None]) -> list[float]:
    found = record.items("labels")
    if len(found) != len(keys):
        raise record.fault("labels", "as many as keys")
    known: list[float] = []
    for one in found:
        is_known = isinstance(one, int) and not isinstance(one, bool) and one in allowed
        if not is_known and not (one is None and None in allowed):
            raise record.fault("labels", f"0 or 1{' or null' if None in allowed else ''}")
        known.append(math.nan if one is None else float(str(one)))
    return known


def _document(record: Record) -> Document:
    try:
        body = base64.b64decode(record.text("body"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise record.fault("body", "base64") from error
    found = Document(record.text("kind"), record.text("name"), body, record.real("saved", math.inf))
    try:
        _check_body(found)
    except ValueError as error:
        raise ValueError(f"{record.where}: {error}") from error
    return found


def _check_body(document: Document) -> None:
    """Raise ValueError for a body that can't be read by those whose documents are known."""
    if document.kind == references.KIND:
        references.loads(document)
    elif document.kind == DELAYS:
        DelayLog().merge(document.body)
