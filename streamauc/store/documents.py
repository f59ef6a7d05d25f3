"""Positions of sources, documents by kind and name, and the journal of what they were before."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from streamauc.store import catalogue
from streamauc.store.address import checksum
from streamauc.store.errors import DamageError, Place

Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """Bytes that were saved under a kind and a name, and when, in seconds since the epoch."""

    kind: str
    name: str
    body: bytes
    saved: float


def position(connection: sqlite3.Connection, name: str) -> Json:
    """Return how far a source has been read, None if nothing is known of it."""
    row = connection.execute("SELECT value, crc FROM position WHERE name = ?", (name,)).fetchone()
    if row is None:
        positions(connection)  # perhaps only its name was altered
        return None
    return _value(name, *row)


def positions(connection: sqlite3.Connection) -> dict[str, Json]:
    """Return every position by name. Raises DamageError where one is damaged or missing."""
    rows = connection.execute("SELECT name, value, crc FROM position").fetchall()
    catalogue.check_count(connection, "position")
    return {name: _value(name, text, crc) for name, text, crc in rows}


def _value(name: str, text: str, crc: int) -> Json:
    if crc != checksum("position", name, text):
        raise DamageError("a position was altered", Place("position", key=name))
    value: Json = json.loads(text)
    return value


def set_position(connection: sqlite3.Connection, name: str, value: Json) -> None:
    """Write down how far a source has been read. Raises TypeError for what JSON doesn't know."""
    text = json.dumps(value, allow_nan=False)
    if not _exists(connection, "position WHERE name = ?", name):
        catalogue.add_to_count(connection, "position", 1)
    connection.execute(
        "INSERT OR REPLACE INTO position VALUES(?, ?, ?)",
        (name, text, checksum("position", name, text)),
    )


def _exists(connection: sqlite3.Connection, rows: str, *key: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {rows}", key).fetchone() is not None  # noqa: S608  (names of our own)


def load(connection: sqlite3.Connection, kind: str, name: str) -> Document | None:
    """Return a document, None if there is none."""
    row = connection.execute(
        "SELECT kind, name, body, saved, crc FROM document WHERE kind = ? AND name = ?",
        (kind, name),
    ).fetchone()
    if row is None:
        for _ in everything(connection):  # perhaps only its name was altered
            pass
        return None
    return _document(row)


def everything(connection: sqlite3.Connection) -> Iterator[Document]:
    """Yield every document. Raises DamageError where one is damaged or missing."""
    catalogue.check_count(connection, "document")
    rows = connection.execute("SELECT kind, name, body, saved, crc FROM document")
    yield from map(_document, rows)


def load_all(connection: sqlite3.Connection, kind: str) -> tuple[Document, ...]:
    """Return the documents of a kind, by name. O(size of all documents)."""
    return tuple(one for one in everything(connection) if one.kind == kind)


def _document(row: tuple[str, str, bytes, float, int]) -> Document:
    kind, name, body, saved, crc = row
    if not isinstance(body, bytes) or crc != checksum("document", kind, name, saved, body=body):
        raise DamageError("a document was altered", Place("document", key=f"{kind} {name}"))
    return Document(kind, name, body, saved)


def save(connection: sqlite3.Connection, kind: str, name: str, body: bytes, at: float) -> None:
    """Save a document in place of the one that was there."""
    saved = float(at)
    if not _exists(connection, "document WHERE kind = ? AND name = ?", kind, name):
        catalogue.add_to_count(connection, "document", 1)
    connection.execute(
        "INSERT OR REPLACE INTO document VALUES(?, ?, ?, ?, ?)",
        (kind, name, body, saved, checksum("document", kind, name, saved, body=body)),
    )


def delete(connection: sqlite3.Connection, kind: str, name: str) -> None:
    """Delete a document if it exists."""
    if _exists(connection, "document WHERE kind = ? AND name = ?", kind, name):
        catalogue.add_to_count(connection, "document", -1)
        statement = "DELETE FROM document WHERE kind = ? AND name = ?"
        connection.execute(statement, (kind, name))


def append(connection: sqlite3.Connection, kind: str, name: str, body: bytes, at: float) -> None:
    """Add an entry to the journal of a kind and name."""
    (last,) = connection.execute(
        "SELECT max(number) FROM journal WHERE kind = ? AND name = ?", (kind, name)
    ).fetchone()
    number, saved = (last or 0) + 1, float(at)
    crc = checksum("journal", kind, name, number, saved, body=body)
    connection.execute(
        "INSERT INTO journal VALUES(?, ?, ?, ?, ?, ?)", (kind, name, number, saved, body, crc)
    )
    catalogue.add_to_count(connection, "journal", 1)


def journal(connection: sqlite3.Connection, kind: str, name: str) -> tuple[Document, ...]:
    """Return the journal of a kind and name, in the order in which it was written.

    O(size of all journals), as it reads past the index, which damage can make miss an entry.
    Raises DamageError where an entry of any journal is damaged or missing.
    """
    catalogue.check_count(connection, "journal")
    rows = connection.execute(
        "SELECT kind, name, number, at, body, crc FROM journal NOT INDEXED"
    ).fetchall()
    mine = [row for row in rows if _is_of(row, kind, name)]
    found = sorted(((row[2], _entry(row)) for row in mine), key=lambda one: one[0])
    if [number for number, _ in found] != list(range(1, len(found) + 1)):
        raise DamageError("the journal has gaps", Place("journal", key=f"{kind} {name}"))
    return tuple(entry for _, entry in found)


def _is_of(row: tuple[str, str, int, float, bytes, int], kind: str, name: str) -> bool:
    """Return whether an entry is of a journal. Raises DamageError if it is damaged."""
    entry = _entry(row)
    return (entry.kind, entry.name) == (kind, name)


def _entry(row: tuple[str, str, int, float, bytes, int]) -> Document:
    kind, name, number, at, body, crc = row
    found = isinstance(body, bytes) and checksum("journal", kind, name, number, at, body=body)
    if crc != found:
        raise DamageError("the journal was altered", Place("journal", key=f"{kind} {name}"))
    return Document(kind, name, body, at)
