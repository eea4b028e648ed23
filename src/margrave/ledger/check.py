"""Everything recomputed from the journal, and compared with what the ledger says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from margrave.errors import VerificationError
from margrave.files.content import digest_of
from margrave.ledger.earlier import drawn_answers
from margrave.ledger.purses import Escrow, Purse
from margrave.ledger.records import Grants, Keys, Pool, Question, RequestRecord, Tip
from margrave.ledger.replay import entry_of, recomputed
from margrave.ledger.rules.limits import kept
from margrave.ledger.rules.lookup import requests
from margrave.ledger.stores.store import Transaction
from margrave.ledger.values import ChargedBundle, Head
from margrave.ledger.view import View

if TYPE_CHECKING:
    from margrave.ledger.ledger import Ledger


@dataclass(frozen=True)
class Checked:
    """What was found to be in order."""

    head: Head
    entries: int
    records: int
    bundles: int
    published: int
    beyond: tuple[str, ...] = ()
    """Caps and grants that were overdrawn while earlier rules held: nothing more is charged to them."""


def verify(ledger: Ledger, against: Iterable[ChargedBundle] = ()) -> Checked:
    """Check the chain, every balance, every stored answer, and bundles elsewhere; names the first difference."""
    ledger.store.check()
    with ledger.store.reading() as session:
        view = recomputed(session)
        tip = view.get(Tip)
        if tip is None:
            raise VerificationError("the journal is empty")
        records = _check_state(session, view)
        bundles = _check_answers(session, view)
        published = 0
        for one in against:
            _check_published(session, view, tip, one)
            published += 1
    head = Head(tip.ledger, tip.number, tip.hash)
    return Checked(head, tip.number, records, bundles, published, tuple(overdrawn(view)))


def overdrawn(view: View) -> Iterator[str]:
    """The caps and grants beyond which charges went while earlier rules held, in words."""
    for pool in view.every(Pool):
        if not kept(pool.cap).holds(pool.spent):
            yield f"the cap of {pool.name}"
    for held in view.every(Grants):
        for one in held.grants:
            if not kept(one.amount).holds(one.spent):
                yield f"the grant of {held.account} from {held.pool}"
    for purse in view.every(Purse):
        escrow = view.get(Escrow, f"{purse.dataset}/{purse.question}")
        if escrow is None or not escrow.purses[purse.part].holds(purse.spent):
            yield f"a purse of {purse.dataset}"


def _check_state(session: Transaction, view: View) -> int:
    missing = dict(view.changes)
    for key, text in session.all_state():
        record = missing.pop(key, None)
        if record is None:
            raise VerificationError(f"the ledger keeps a record {key!r} that does not follow from its journal")
        expected = record.text
        if text != expected:
            raise VerificationError(f"the ledger keeps {key!r} as {_short(text)}; the journal gives {_short(expected)}")
    if missing:
        raise VerificationError(f"the ledger lacks the record {min(missing)!r} that follows from its journal")
    return len(view.changes)


def _check_answers(session: Transaction, view: View) -> int:
    """Every committed answer is there, unchanged, and so are noisy answers that wait for one; nothing else is."""
    asked = (one for one in view.changes.values() if isinstance(one, RequestRecord))
    wanted = {one.number: one.closed for one in asked if one.answer == one.number}
    waiting = [one for one in view.changes.values() if isinstance(one, Question) and one.drawn is not None]
    unwanted = session.answered() - wanted.keys() - {one.drawn for one in waiting}
    if unwanted:
        raise VerificationError(f"the ledger keeps an answer to entry {min(unwanted)} that no entry commits")
    for number, closed in wanted.items():
        if digest_of(session.answer(number)) != entry_of(session, closed)[0].body["bundle"]:
            raise VerificationError(f"the stored answer to entry {number} is missing or was changed")
    for one in waiting:
        drawn_answers(session, one)
    return len(wanted)


def _check_published(session: Transaction, view: View, tip: Tip, one: ChargedBundle) -> None:
    """A bundle was charged here: the ledger still has the entry, and the commit of this very release."""
    if one.head.ledger != tip.ledger:
        raise VerificationError(f"{one.place} was charged to another ledger ({one.head.ledger})")
    held = view.get(Keys)
    if one.signer is not None and held is not None and one.signer not in held.keys:
        raise VerificationError(f"{one.place} is signed with a key that the ledger does not hold ({one.signer})")
    charge = _charged_by(session, view, one.head)
    if charge is None and one.head.number > tip.mark[0]:
        raise VerificationError(
            f"{one.place} was charged by entry {one.head.number}, and the ledger ends at entry {tip.mark[0]}: it was "
            "truncated, or restored from an older backup"
        )
    if charge is None:
        raise VerificationError(
            f"{one.place} was charged by entry {one.head.number}, and the ledger has another entry of that number: it "
            "was restored from an older backup and then used again"
        )
    committed = (
        asked.status == "committed" and entry_of(session, asked.closed)[0].body["release"] == one.release
        for asked in requests(view, charge.dataset, charge.question)
    )
    if not any(committed):
        raise VerificationError(
            f"{one.place} was charged by entry {one.head.number}, and the ledger has no commit of this release: it was "
            "truncated, restored from an older backup, or the bundle was changed"
        )


def _charged_by(session: Transaction, view: View, head: Head) -> RequestRecord | None:
    """The request that was reserved there: by its place in the public journal or, as bundles said before, in all."""
    asked = (one for one in view.changes.values() if isinstance(one, RequestRecord))
    mark, row = (head.number, head.hash), session.entry(head.number)
    number = head.number if row is not None and row[2] == head.hash else None
    return next((one for one in asked if one.mark == mark or one.number == number), None)


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}…"
