"""The journal read from its start: what follows from it, and the records of an older ledger made anew."""

from __future__ import annotations

from collections.abc import Iterator

from margrave.errors import MargraveError, VerificationError
from margrave.ledger.journal import NO_MARK, START, Entry, read_entry
from margrave.ledger.records import END, Grants, Pool, Record, RequestRecord, Tip
from margrave.ledger.rules.entries import apply
from margrave.ledger.rules.totals import alike
from margrave.ledger.stores.store import MOST_PARTS, Transaction
from margrave.ledger.view import View, decode

_RENAMED = {"tip": END, "end": END, "entry": END}
"""What the last entry was called before. A program of an older version that is still running finds none, and stops."""
_REMADE = ("request/", "question/", "asked/")
_NUMBERED = 3
"""The version of the schema since which requests and answers are kept under numbers."""


def chain(session: Transaction) -> Iterator[tuple[Entry, str]]:
    """All entries with their hashes, each checked against the one before."""
    return ((entry, stored) for entry, stored, _ in _written(session))


def _written(session: Transaction) -> Iterator[tuple[Entry, str, str]]:
    """The same with their texts."""
    previous = START
    for expected, (number, text, stored) in enumerate(session.journal(), start=1):
        if number != expected:
            raise VerificationError(f"entry {expected} is missing from the journal")
        entry = read_entry(number, text, stored)
        if entry.previous != previous:
            raise VerificationError(
                f"entry {number} does not follow entry {number - 1}: the chain is broken between them"
            )
        yield entry, stored, text
        previous = stored


def entry_of(session: Transaction, number: int | None) -> tuple[Entry, str]:
    """One entry with its hash."""
    row = None if number is None else session.entry(number)
    if row is None:
        raise VerificationError(f"entry {number} is missing from the journal")
    return read_entry(*row), row[2]


def recomputed(session: Transaction) -> View:
    """The records that follow from the journal alone."""
    view = View()
    for entry, stored, text in _written(session):
        try:
            apply(view, entry, stored, entry.body_in(text))
        except MargraveError as error:
            raise VerificationError(f"entry {entry.number} breaks a rule: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError):
            raise VerificationError(f"entry {entry.number} is not that of a ledger") from None
    return view


def remake(session: Transaction, version: int) -> None:
    """Bring what an older version of the schema kept beside the journal to what is kept now.

    It is compared first: what was changed by other means is not to be forgotten.
    """
    view = recomputed(session)
    made = {key: one for key, one in view.changes.items() if version >= _NUMBERED or not key.startswith(_REMADE)}
    kept = {key: text for key, text in session.all_state() if version >= _NUMBERED or not key.startswith(_REMADE)}
    kept = {_RENAMED.get(key, key): text for key, text in kept.items()}
    for key in sorted(kept.keys() | made.keys()):
        if key not in kept or key not in made or not _same(key, kept[key], made[key]):
            raise VerificationError(f"the record {key!r} does not follow from the journal: restore a backup")
    session.write("DELETE FROM ledger_state")
    for key, one in view.changes.items():
        session.write("INSERT INTO ledger_state (key, value) VALUES (?, ?)", (key, one.text))
    if version < _NUMBERED:
        _number_answers(session, view)


def _same(key: str, text: str, record: Record) -> bool:
    try:
        old = decode(key, text)
    except VerificationError:
        return False
    if isinstance(old, Tip | RequestRecord) and isinstance(record, Tip | RequestRecord) and old.mark == NO_MARK:
        return old == record._replace(mark=NO_MARK)
    if isinstance(old, Pool) and isinstance(record, Pool):
        return old._replace(spent=record.spent) == record and alike(old.spent, record.spent)
    if isinstance(old, Grants) and isinstance(record, Grants) and len(old.grants) == len(record.grants):
        pairs = list(zip(old.grants, record.grants, strict=True))
        grants = tuple(one._replace(spent=other.spent) for one, other in pairs)
        return old._replace(grants=grants) == record and all(alike(one.spent, other.spent) for one, other in pairs)
    return old == record


def _number_answers(session: Transaction, view: View) -> None:
    """Keep answers under the numbers of their requests, no longer under their SHA-256."""
    for one in view.changes.values():
        if isinstance(one, RequestRecord) and one.answer == one.number:
            session.write(
                f"INSERT INTO ledger_answer (place, content) SELECT {one.number * MOST_PARTS} + part, content "
                "FROM ledger_bundle WHERE digest = ?",
                (entry_of(session, one.closed)[0].body["bundle"],),
            )
    session.write("DROP TABLE ledger_bundle")
