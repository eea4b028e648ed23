"""Any interleaving of what can happen to a ledger keeps its books right."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.ledger import DataSetName, Ledger, Notion, verify
from margrave.ledger.journal import canonical
from margrave.ledger.records import Grants, Pool
from margrave.ledger.rules.entries import promised
from margrave.ledger.rules.totals import Totals
from margrave.ledger.view import RECORDS, View, decode
from tests.ledger.helpers import Clock, ask, many, sha

ACCOUNTS = ("ann", "bob", "uni", "eve")
DATASETS = (DataSetName("survey", "1"), DataSetName("survey", "2"), DataSetName("survey", "x"))
accounts, datasets = st.sampled_from(ACCOUNTS), st.sampled_from(DATASETS)
tenths = st.integers(1, 30).map(lambda number: Fraction(number, 10))
UNITS = {
    "pure": PureDP,
    "zcdp": ZCDP,
    "approx": lambda number: ApproxDP(number, Fraction(1, 10**7)),
}


PAYERS = {"ann": ("ann",), "bob": ("bob",), "uni": ("uni",), "eve": ("eve", "uni")}


def pool_of(dataset):
    return "survey@x" if dataset == "survey@x" else "survey"


def sums(totals):
    """Σε of the pure charges and Σρ of the others."""
    found = list(totals)
    return sum(one.epsilon for one in found), sum(one.rho for one in found)


@dataclass
class Known:
    """What the model knows of a question: its price, the requests of those who ask it, who paid, and what is kept."""

    cost: object
    live: dict = field(default_factory=dict)
    seen: set = field(default_factory=set)
    paid: set = field(default_factory=set)
    kept: tuple = (None, None)


class Books(RuleBasedStateMachine):
    """Operations in any order; the model is the journal, read again from the start, and what is `Known`."""

    place = None
    unit = "pure"

    def __init__(self):
        super().__init__()
        self.clock, self.numbers, self.open, self.known = Clock(), count(), [], {}
        self.ended = set()
        self.ledger = Ledger.create(type(self).place(), clock=self.clock, clock_is_right=True)
        cap = UNITS[self.unit](Fraction(4))
        if isinstance(cap, ApproxDP):
            cap = ApproxDP(Fraction(4), Fraction(1, 10**6))
        self.ledger.register("survey@1", Notion(), cap)
        self.ledger.register("survey@2", Notion())
        self.ledger.register("survey@x", Notion(), cap, disjoint=True)
        self.ledger.add_account("uni", "organisation")
        for name in ("ann", "bob"):
            self.ledger.add_account(name)
        self.ledger.add_account("eve", organisation="uni")

    def teardown(self):
        verify(self.ledger)
        self.ledger.close()

    @rule(account=accounts, dataset=datasets, number=tenths, days=st.none() | st.integers(1, 60))
    def grant(self, account, dataset, number, days):
        expires = None if days is None else f"2030-{1 + days // 28:02}-{1 + days % 28:02}"
        with suppress(RefusedError, UsageError):
            self.ledger.grant(account, str(dataset), UNITS[self.unit](number), expires=expires)

    @rule(account=accounts, dataset=datasets)
    def end(self, account, dataset):
        with suppress(UsageError):
            self.ledger.end_grant(account, str(dataset))

    @rule(account=accounts, dataset=datasets, number=tenths, pure=st.booleans(), repeat=st.integers(0, 5))
    def reserve(self, account, dataset, number, pure, repeat):
        """Ask a new question, or one of three that are asked again and again, each at its own price."""
        if repeat < 3:
            number, pure = Fraction(1 + repeat, 10), repeat > 0
        cost = PureDP(number) if pure or self.unit == "pure" else ZCDP(number / 10)
        question = repeat if repeat < 3 else 3 + next(self.numbers)
        try:
            charge = self.ledger.reserve(ask(question, cost, account=account, dataset=dataset))
        except RefusedError:
            return
        known = self.known.setdefault((str(dataset), question), Known(cost))
        if known.live.setdefault(account, charge.request) != charge.request:
            raise AssertionError("an account that asks again takes its request up")
        held = {one.account for one in self.ledger.records(Grants) if one.pool == pool_of(str(dataset))}
        known.paid |= set(PAYERS[account]) & held if account not in known.seen else set()
        known.seen.add(account)
        assert (charge.content, charge.drawn) == known.kept, "what is kept for a question is one and the same"
        self.open.append((known, account, charge))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def keep(self, data):
        known, account, charge = data.draw(st.sampled_from(self.open))
        if known.live.get(account) != charge.request:
            with pytest.raises(RefusedError, match="void already"):
                self.ledger.keep(charge, b"")
            return
        if known.kept == (None, None):
            known.kept = (None, charge.request.encode())
        kept = self.ledger.keep(charge, charge.request.encode())
        assert (kept.content, kept.drawn) == known.kept

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def commit(self, data):
        known, account, charge = data.draw(st.sampled_from(self.open))
        if known.live.get(account) != charge.request:
            with pytest.raises(RefusedError, match="void already"):
                self.ledger.commit(charge, b"", sha(7))
            return
        if known.kept[0] is None:
            known.kept = (charge.request.encode(), None)
        assert self.ledger.commit(charge, charge.request.encode(), sha(7)) == known.kept[0]

    @precondition(lambda self: self.open)
    @rule(data=st.data(), touched=st.booleans())
    def void(self, data, touched):
        known, account, charge = data.draw(st.sampled_from(self.open))
        try:
            self.ledger.void(charge, touched=touched)
        except RefusedError:
            return
        if not touched:
            del known.live[account]
            known.seen.discard(account)
            known.paid &= {payer for other in known.live for payer in PAYERS[other]}

    @rule(days=st.integers(1, 30))
    def expire(self, days):
        self.clock.forward(days=days)

    @rule(days=st.integers(1, 500))
    def date_wrongly(self, days):
        """An entry by a clock that is ahead, and the way back."""
        self.clock.forward(days=days)
        self.ledger.add_account(f"account{next(self.numbers)}")
        self.remember_what_ended()
        self.clock.forward(days=-days)
        self.ledger.set_clock_back()

    @invariant()
    def what_ended_stays_ended(self):
        self.remember_what_ended()
        assert self.ended == self.ended_now()

    def remember_what_ended(self):
        self.ended |= self.ended_now()

    def ended_now(self):
        """The grants that have ended by the time of the last entry."""
        held, time = self.ledger.records(Grants), self.ledger.last_time
        return {(one.key, at) for one in held for at, grant in enumerate(one.grants) if grant.ended(time)}

    @invariant()
    def spent_within_granted_within_cap(self):
        pools = {pool.name: pool for pool in self.ledger.records(Pool)}
        for pool in pools.values():
            assert pool.cap.holds(pool.spent)
            with self.ledger.store.reading() as session:
                assert promised(View(session.state), pool.name, "2030")[0] >= 0
        for held in self.ledger.records(Grants):
            for grant in held.grants:
                assert grant.amount.holds(grant.spent)
                assert grant.amount.within(pools[held.pool].cap)

    @invariant()
    def granted_at_first_hand_stays_within_the_cap(self):
        with self.ledger.store.reading() as session:
            view = View(session.state)
            now = self.clock.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            for pool in self.ledger.records(Pool):
                assert promised(view, pool.name, now)[0] <= pool.cap.amount

    @invariant()
    def balances_are_the_sums_of_what_was_charged(self):
        """A cap pays once for each question that is asked, a grant once for each that its holder asks."""
        for pool in self.ledger.records(Pool):
            asked = [one for (dataset, _), one in self.known.items() if pool_of(dataset) == pool.name]
            assert sums([pool.spent]) == sums(Totals().plus(one.cost) for one in asked if one.live)
            for held in self.ledger.records(Grants):
                if held.pool == pool.name:
                    paid = [Totals().plus(one.cost) for one in asked if held.account in one.paid]
                    assert sums(grant.spent for grant in held.grants) == sums(paid)

    @invariant()
    def everything_follows_from_the_journal(self):
        verify(self.ledger)

    @invariant()
    def records_are_canonical_and_read_as_written(self):
        for kind in RECORDS.values():
            for one in self.ledger.records(kind):
                assert one.text == canonical(json.loads(one.text)) and decode(one.key, one.text) == one


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_books(store, unit, tmp_path, request, tried):
    if store == "sqlite":
        names = count()
        places = lambda: str(tmp_path / f"{next(names)}.db")  # noqa: E731
    else:
        server = request.getfixturevalue("server")
        names = count()
        places = lambda: server.new_schema(f"books_{unit}_{next(names)}")  # noqa: E731
    examples = many(10 if store == "sqlite" else 4, 400)
    kind = type("BooksHere", (Books,), {"place": staticmethod(places), "unit": unit})
    run_state_machine_as_test(kind, settings=settings(max_examples=examples, stateful_step_count=25, deadline=None))
    tried("histories of up to 25 random steps, all checked after each", store, examples)
