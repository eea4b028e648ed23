"""How entries are written: the records that they start from, the date, and what they change, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from margrave.errors import LedgerError, VerificationError
from margrave.files.content import Content
from margrave.ledger.journal import START, Entry, hash_of
from margrave.ledger.records import END, Record, Tip
from margrave.ledger.rules.clock import Clock, time_of
from margrave.ledger.rules.entries import NEWEST, apply, limits_in
from margrave.ledger.rules.lookup import payers
from margrave.ledger.stores.store import Transaction
from margrave.ledger.values import Request
from margrave.ledger.view import FIXED, View, decode

_MOST_RECENT = 1000


class Writer:
    """Writes entries dated by a clock, and remembers records that it need not read again.

    ``_fixed`` are records that never change; ``_recent`` those written last, with their texts: what the store holds is
    compared with the text, and read anew where it is another.
    """

    def __init__(self, clock: Clock, clock_is_right: bool) -> None:
        self._clock = clock
        self._clock_is_right = clock_is_right
        self._fixed: dict[str, Record] = {}
        self._recent: dict[str, tuple[str, Record]] = {}

    def expected(self, request: Request, identity: str) -> Iterable[str]:
        """The records that a request will need, as far as can be told: reading them at once saves round trips."""
        dataset = str(request.dataset)
        keys = [f"dataset/{dataset}", f"account/{request.account}"]
        keys += [f"question/{dataset}/{request.question}", f"asked/{identity}"]
        data, account = self._fixed.get(keys[0]), self._fixed.get(keys[1])
        if data is not None and account is not None:
            pool = data.pool  # type: ignore[attr-defined]
            keys += [f"pool/{pool}", *(f"grants/{pool}/{payer}" for payer in payers(account))]  # type: ignore[arg-type]
        return keys

    def view(self, session: Transaction, keys: Iterable[str] = ()) -> View:
        """The records as they stand when writing begins, the end of the journal being where they say it is.

        Where older rules hold, the first entry to be written says that from it on the newest do.
        """
        view = View(session.state, session.state_of)
        missing = [END]
        for key in keys:
            fixed = self._fixed.get(key)
            if fixed is None:
                missing.append(key)
            else:
                view.records[key] = fixed
        *texts, number, last = session.begin(missing)
        for key, text in zip(missing, texts, strict=True):
            view.records[key] = record = None if text is None else self._decoded(key, text)
            if record is not None and key.startswith(FIXED):
                self._fixed[key] = record
        tip = view.get(Tip)
        if (number, last) != ((None, None) if tip is None else (tip.number, tip.hash)):
            raise VerificationError(
                "the end of the journal is not where the ledger stood: entries were removed or added by other means; "
                "see 'margrave ledger verify'"
            )
        if tip is not None and tip.rules != NEWEST:
            self._renew(session, view, tip)
        return view

    def _renew(self, session: Transaction, view: View, tip: Tip) -> None:
        if tip.rules > NEWEST:
            raise LedgerError(f"the ledger follows rules {tip.rules} by now: use a newer Margrave")
        self.append(session, view, "rules", {"rules": NEWEST, "limits": limits_in(view)})

    def recent(self, key: str) -> Record | None:
        """A record that was written a short while ago, as it was then."""
        known = self._recent.get(key)
        return None if known is None else known[1]

    def _decoded(self, key: str, text: str) -> Record:
        """A record from its text, which is most often the one that was written last."""
        known = self._recent.get(key)
        return known[1] if known is not None and known[0] == text else decode(key, text)

    def append(
        self,
        session: Transaction,
        view: View,
        kind: str,
        body: Mapping[str, Any],
        body_text: str | None = None,
        answer: tuple[int, Content] | None = None,
    ) -> Tip:
        tip = view.get(Tip)
        number, previous = (tip.number + 1, tip.hash) if tip else (1, START)
        entry = Entry(number, self.time(view, kind, body), kind, body, previous)
        text = entry.text if body_text is None else entry.text_with(body_text)
        entry_hash = hash_of(text)
        after = apply(view, entry, entry_hash, body_text)
        if len(self._recent) > _MOST_RECENT:
            self._recent.clear()
        state: list[str] = []
        for key, record in view.changes.items():
            written = record.text
            state += (key, written)
            self._recent[key] = (written, record)
        session.append((number, text, entry_hash), state, answer)
        return after

    def time(self, view: View, kind: str, body: Mapping[str, Any]) -> str:
        """The time of an entry that is written now."""
        return time_of(kind, body, view, self._clock(), self._clock_is_right)


def tip_of(view: View) -> Tip:
    """The last entry."""
    found = view.get(Tip)
    if found is None:
        raise LedgerError(
            "the ledger is empty, its making was interrupted: make it again with 'margrave ledger init' (if it is a "
            "file, remove it first)"
        )
    return found
