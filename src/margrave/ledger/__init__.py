"""The ledger, a privacy bank: data sets with caps, accounts with grants, and an append-only journal of every charge.

values       what a ledger is told: notions of privacy, data sets, requests
journal      entries, each with the hash of the one before
amounts      budgets and limits in the journal
records      what follows from the journal
purses       what was set apart for the parts of a partition
view         records as they stand at one moment
rules/       what each entry does, and when it is refused
stores/      where it is kept: SQLite or PostgreSQL
replay       the journal read from its start
writer       how entries are written
earlier      what a request says, what was asked before, and what is kept for it
ledger       the ledger itself
check        everything recomputed from the journal
statements/  what is said of it to people: allowances, the journal in words, the public statement
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from margrave.ledger.check import Checked, verify
    from margrave.ledger.ledger import Ledger
    from margrave.ledger.values import Charge, DataSetName, Head, Notion, Request

__all__ = ["Charge", "Checked", "DataSetName", "Head", "Ledger", "Notion", "Request", "verify"]


def __getattr__(name: str) -> Any:
    """Names are imported when first used: whoever needs only what a ledger is told waits for nothing else."""
    if name not in __all__:
        raise AttributeError(f"module 'margrave.ledger' has no attribute {name!r}")
    from margrave.ledger import check, ledger, values

    return next(getattr(home, name) for home in (values, ledger, check) if hasattr(home, name))
