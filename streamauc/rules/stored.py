"""Rules on a store: the states that all who judge share, and the history of their changes."""

import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from streamauc import _time
from streamauc.rules.evaluate import Result, evaluate
from streamauc.rules.judge import is_ahead
from streamauc.rules.model import Key, RulesFile, series_key
from streamauc.rules.record import Change, Record
from streamauc.rules.store_source import StoreSource
from streamauc.store import DamageError, Place, Store
from streamauc.store.change import Batch
from streamauc.store.documents import Document

_LOG = logging.getLogger("streamauc")
_RULE = "rule"  # a kind of documents
# So often an evaluation is done again because somebody else judged meanwhile; of those who judge
# at once, one is always first, so this is more than there can be.
_TRIES = 100
# States that nobody has judged for so long are let go: no rule of any file asks for them.
_FORGET_SECONDS = 30 * 86_400.0


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
