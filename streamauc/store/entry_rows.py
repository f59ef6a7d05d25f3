"""The rows of a join on disk: predictions without a label, labels without one, keys that were seen.

=============  ===================================================================================
table          a row
=============  ===================================================================================
`entry`        a key, and what is known of it; numbered in order of arrival, and it stays where it
               is when its label comes, which so touches one page and no index
`entry_turn`   a closed entry; numbered in the order of closing, in which they are forgotten
`entry_total`  of a series: the next numbers, how many entries there are of each kind, the lowest
               number that each kind can have, and all CRCs, combined by exclusive or
=============  ===================================================================================

The id of an entry is its series and its number side by side, so that the entries of a series stand
together and in order, and the one index, by key, serves all series. Entries of other kinds stand
between those of one kind; the lowest number of each only rises, so each is skipped once.
"""

import json
import math
import struct
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from zlib import crc32

from streamauc._check import plain

OPEN, CLOSED, EARLY, GONE = range(4)
SCHEMA = (
    "CREATE TABLE entry(id INTEGER PRIMARY KEY, key TEXT NOT NULL, given TEXT,"
    " kind INTEGER NOT NULL, time REAL, score REAL, label REAL, crc INTEGER NOT NULL)",
    "CREATE INDEX entry_key ON entry(key)",
    "CREATE TABLE entry_turn(id INTEGER PRIMARY KEY, entry INTEGER NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE entry_total(series INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
    " turn INTEGER NOT NULL, n_open INTEGER NOT NULL, n_closed INTEGER NOT NULL,"
    " n_early INTEGER NOT NULL, first_open INTEGER NOT NULL, first_closed INTEGER NOT NULL,"
    " first_early INTEGER NOT NULL, mixed INTEGER NOT NULL, crc INTEGER NOT NULL)",
)
# A hundred thousand entries a second number themselves for eleven years, in each of so many series.
NUMBER_BITS = 45
MAX_SERIES = 2 ** (63 - NUMBER_BITS) - 1
NOWHERE = complex(math.nan, math.nan)
EntryRow = tuple[int, str, str | None, int, float, float, float, int]
StoredRow = tuple[int, bytes, bytes | None, int, float | None, float | None, float | None, int]
_HALF = 2**31  # makes a CRC a signed number, which takes less room
_INTEGERS = [f"<{size}q" for size in range(11)]
_PACK_INTEGERS = [struct.Struct(f"<{size}q").pack for size in range(11)]
_pack = struct.Struct("<qbddd").pack


@dataclass(slots=True, eq=False)
class Entry:
    """A key and what is known of it; `crc` is None for one that is not on disk yet.

    `key` is its text in the table, `given` that of the equal key by which it came, if another;
    `head` is the CRC of both. A label without a prediction is `placed` nowhere; a prediction
    without a label has the label ``nan``.
    """

    id: int
    key: str
    given: str | None
    head: int
    kind: int
    placed: complex
    label: float
    crc: int | None = None
    turn: int = -1

    def row(self) -> EntryRow:
        """Return the values to be put in the table, where ``nan`` is NULL; note their CRC."""
        # SQLite knows no negative zero, and one nan only.
        time, score = self.placed.real + 0.0, self.placed.imag + 0.0
        label = math.nan if math.isnan(self.label) else self.label + 0.0
        self.crc = crc = _sum(self.id, self.kind, time, score, label, self.head)
        return (self.id, self.key, self.given, self.kind, time, score, label, crc)


def read_entry(row: StoredRow) -> Entry:
    """Return the entry that a row holds. Raises ValueError, TypeError or struct.error if none."""
    number, key, given, kind, time, score, label, crc = row
    if time is None and score is None:
        time = score = math.nan
    if label is None:
        label = math.nan
    head = head_of(key, given)
    if time is None or score is None or crc != _sum(number, kind, time, score, label, head):
        raise ValueError("its values differ from its crc")
    text = None if given is None else given.decode()
    return Entry(number, key.decode(), text, head, kind, complex(time, score), label, crc)


def _sum(number: int, kind: int, time: float, score: float, label: float, head: int) -> int:
    return crc32(_pack(number, kind, time, score, label), head) - _HALF


def head_of(key: bytes, given: bytes | None) -> int:
    """Return the part of an entry's CRC that never changes."""
    return crc32(key) if given is None else crc32(given, crc32(key + b" "))


def sum_of(values: Sequence[int]) -> int:
    """Return the CRC-32 of integers."""
    return crc32(_PACK_INTEGERS[len(values)](*values)) - _HALF


@dataclass(slots=True, eq=False)
class Totals:
    """What is known of all entries of a series; `n` and `first` have an item for each kind."""

    number: int = 0
    turn: int = 0
    n: list[int] = field(default_factory=lambda: [0, 0, 0])
    first: list[int] = field(default_factory=lambda: [0, 0, 0])
    mixed: int = 0

    def row(self, series: int) -> tuple[int, ...]:
        """Return the values as they stand in the table."""
        values = (series, self.number, self.turn, *self.n, *self.first, self.mixed)
        return (*values, sum_of(values))


def read_totals(row: Sequence[int]) -> Totals:
    """Return the totals that a row holds. Raises ValueError or struct.error if none."""
    *values, crc = row
    if crc != sum_of(values):
        raise ValueError("its values differ from its crc")
    _, number, turn, *rest, mixed = values
    return Totals(number, turn, rest[:3], rest[3:], mixed)


def key_texts(keys: Iterable[Hashable]) -> tuple[list[str], dict[str, str]]:
    """Return keys as canonical JSON, and by it the JSON of those that first came in another form.

    Keys that are equal have equal texts. Raises TypeError for any that is neither text, number,
    bool nor None, and ValueError for ``nan`` and for text that UTF-8 can't hold.

    >>> key_texts(["a", 1, True, 2.5, 3.0, None])
    (['"a"', '1', '1', '2.5', '3', 'null'], {'3': '3.0'})
    """
    first: dict[str, str] = {}
    texts = [
        quoted(key) if type(key) is str and key.isascii() else _other_text(key, first)
        for key in keys
    ]
    return texts, {text: given for text, given in first.items() if text != given}


def _other_text(key: Hashable, first: dict[str, str]) -> str:
    value = plain(key)
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted_unicode(value)
    if isinstance(value, int):
        canonical = int.__repr__(value)
        given = json.dumps(value) if isinstance(value, bool) else canonical
    elif isinstance(value, float):
        if math.isnan(value):
            raise ValueError(f"key must be equal to itself, got {value!r}")
        given = json.dumps(value)
        canonical = str(int(value)) if value.is_integer() else given
    else:
        raise TypeError(f"key must be text, a number, a bool or None to be stored, got {key!r}")
    first.setdefault(canonical, given)
    return canonical


def _quoted_unicode(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:
        # Halves of a pair would be written like the one character that they are not.
        raise ValueError(f"key must be text that UTF-8 can hold, got {key!r}") from None
    return quoted(key)


def keys_of(entries: Iterable[Entry]) -> list[Hashable]:
    """Return the keys of entries as they were given."""
    texts = (entry.key if entry.given is None else entry.given for entry in entries)
    found: list[Hashable] = json.loads(f"[{','.join(texts)}]")
    return found
