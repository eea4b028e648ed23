"""Which entries of the journal an account may be shown."""

from __future__ import annotations

from collections.abc import Iterator

from margrave.ledger.journal import Entry, is_public
from margrave.ledger.ledger import Ledger
from margrave.ledger.replay import chain
from margrave.ledger.rules.lookup import need_account, payers
from margrave.ledger.view import View


def told_to(ledger: Ledger, name: str) -> Iterator[tuple[int, Entry]]:
    """What an account may be shown: what it and its organisation were granted, and what it asked.

    Nothing of it depends on data. Entries are numbered as in the public journal.
    """
    with ledger.store.reading() as session:
        names = payers(need_account(View(session.state), name))
        mine: set[str] = set()
        public = (entry for entry, _ in chain(session) if is_public(entry.kind, entry.body))
        for number, entry in enumerate(public, start=1):
            body = entry.body
            match entry.kind:
                case "account":
                    shown = body["name"] in names
                case "grant" | "end":
                    shown = body["account"] in names
                case "reserve" | "escrow" | "spend":
                    shown = body["account"] == name
                    mine |= {body["request"]} if shown else set()
                case _:
                    shown = body.get("request") in mine
            if shown:
                yield number, entry
