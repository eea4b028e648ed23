"""The journal read from its start: what follows from it, and the records of an older ledger made anew."""

from __future__ import annotations

from collections.abc import Iterator

from margrave.budget.ledger.journal import START, Entry, read_entry
from margrave.budget.ledger.records import Asked, View, encode
from margrave.budget.ledger.rules import apply
from margrave.budget.ledger.store import MOST_PARTS, Session
from margrave.errors import MargraveError, VerificationError

_RENAMED = {"tip": "end"}
_REMADE = ("request/", "question/")


def chain(session: Session) -> Iterator[tuple[Entry, str]]:
    """All entries with their hashes, each checked against the one before."""
    previous = START
    for expected, (number, text, stored) in enumerate(session.journal(), start=1):
        if number != expected:
            raise VerificationError(f"entry {expected} is missing from the journal")
        entry = read_entry(number, text, stored)
        if entry.previous != previous:
            raise VerificationError(
                f"entry {number} does not follow entry {number - 1}: the chain is broken between them"
            )
        yield entry, stored
        previous = stored


def entry_of(session: Session, number: int | None) -> tuple[Entry, str]:
    """One entry with its hash."""
    row = None if number is None else session.entry(number)
    if row is None:
        raise VerificationError(f"entry {number} is missing from the journal")
    return read_entry(*row), row[2]


def recomputed(session: Session) -> View:
    """The records that follow from the journal alone."""
    view = View()
    for entry, stored in chain(session):
        try:
            apply(view, entry, stored)
        except MargraveError as error:
            raise VerificationError(f"entry {entry.number} breaks a rule: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError):
            raise VerificationError(f"entry {entry.number} is not that of a ledger") from None
    return view


def remake(session: Session) -> None:
    """Bring what versions 1 and 2 of the schema kept beside the journal to what version 3 does.

    All but requests and questions was written as it is now, and is compared first: what was changed by other means is
    not to be forgotten.
    """
    view = recomputed(session)
    records = {key: encode(one) for key, one in view.changes.items()}
    kept = {_RENAMED.get(key, key): text for key, text in session.all_state() if not key.startswith(_REMADE)}
    expected = {key: text for key, text in records.items() if not key.startswith(("asked/", "question/"))}
    for key in sorted(kept.keys() | expected.keys()):
        if kept.get(key) != expected.get(key):
            raise VerificationError(f"the record {key!r} does not follow from the journal: restore a backup")
    session.write("DELETE FROM ledger_state")
    for pair in records.items():
        session.write("INSERT INTO ledger_state (key, value) VALUES (?, ?)", pair)
    for one in view.changes.values():
        if isinstance(one, Asked) and one.answer == one.number:
            session.write(
                f"INSERT INTO ledger_answer (place, content) SELECT {one.number * MOST_PARTS} + part, content "
                "FROM ledger_bundle WHERE digest = ?",
                (entry_of(session, one.closed)[0].body["bundle"],),
            )
    session.write("DROP TABLE ledger_bundle")
