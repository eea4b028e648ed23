"""The ledger, a privacy bank: data sets with caps, accounts with grants, and an append-only journal of every charge.

values    what a ledger is told: notions of privacy, data sets, requests
journal   entries, each with the hash of the one before
clock     the time of an entry
limits    (ε, δ) limits for requests that depend on earlier answers
totals    what charges cost together
records   what follows from the journal
lookup    what is found in the records by name
questions what requests do since a question is paid for once
earlier   what a request says, what was asked before, and what is kept for it
charges   what reserving, committing and giving up a request do
rules     what each entry does, and when it is refused
store     where it is kept: `sqlite` or `postgres`
opening   the store that a path or URL names
ledger    the ledger itself
check     everything recomputed from the journal
words     the journal, and the public statement, for people
"""

from margrave.ledger.check import Checked, verify
from margrave.ledger.ledger import Ledger
from margrave.ledger.values import Charge, DataSetName, Head, Notion, Request

__all__ = ["Charge", "Checked", "DataSetName", "Head", "Ledger", "Notion", "Request", "verify"]
