"""Small ledgers and requests for the tests."""

import os
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from margrave.budget.units import PureDP
from margrave.ledger import DataSetName, Ledger, Notion, Request
from margrave.ledger.records import Grants

SOAK = float(os.environ.get("MARGRAVE_SOAK") or 0)
"""Whether the long variants run, and which part of their whole length: 1 is the whole, 0 the everyday length."""

SURVEY = DataSetName("survey", "1")
PLAIN = Notion()


def many(usual, soak):
    """How often something is tried: as usual, or as often as a soak does."""
    return max(usual, int(soak * SOAK))


def every(usual, soak):
    """At which distance something is tried: as usual, or as densely as a soak does."""
    return max(1, min(usual, int(soak / SOAK))) if SOAK else usual


def eps(text):
    return PureDP(Fraction(text))


TENTH, TEN = eps("1/10"), eps(10)


def sha(number):
    return f"{number:064x}"


def ask(number, cost=TENTH, *, account="ann", dataset=SURVEY, notion=PLAIN, id=None):
    return Request(dataset, account, sha(number), cost, notion, id=id)


def names(folder):
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def answer(ledger, charge, number=0):
    return ledger.commit(charge, f"answer {number}".encode(), sha(number))


def released(ledger, number, **options):
    charge = ledger.reserve(ask(number, **options))
    return charge.content or answer(ledger, charge, number)


def small(url, *, cap=TEN, grant=TEN, clock=None):
    """A ledger with one data set, survey@1, and one analyst, ann."""
    options = {} if clock is None else {"clock": clock}
    ledger = Ledger.create(url, **options)
    ledger.register("survey@1", Notion(), cap)
    ledger.add_account("ann")
    if grant is not None:
        ledger.grant("ann", "survey@1", grant)
    return ledger


def granted(ledger, account, pool="survey"):
    """The pure ε that was charged to the grants of an account."""
    held = next(one for one in ledger.records(Grants) if (one.pool, one.account) == (pool, account))
    return sum(grant.spent.epsilon for grant in held.grants)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that is set by hand."""

    def __init__(self, day="2030-01-01"):
        self.now = datetime.fromisoformat(day).replace(tzinfo=UTC)

    def __call__(self):
        return (self.now - EPOCH) // timedelta(microseconds=1) * 1000

    def forward(self, **span):
        self.now += timedelta(**span)
