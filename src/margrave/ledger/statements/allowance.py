"""What an account may still spend on a data set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from margrave.budget.numbers import readable
from margrave.budget.units import Budget
from margrave.ledger.purses import Escrow, Purse
from margrave.ledger.records import Grants
from margrave.ledger.rules.limits import kept
from margrave.ledger.rules.lookup import need_account, need_dataset, need_pool, payers
from margrave.ledger.rules.totals import Totals
from margrave.ledger.view import View

if TYPE_CHECKING:
    from margrave.ledger.ledger import Ledger


@dataclass(frozen=True)
class Allowance:
    """A limit that questions of an account are within, and what was spent of it."""

    what: str
    limit: Budget
    spent: Totals

    @property
    def left(self) -> float:
        """How much of its ε or ρ is left; of an (ε, δ) limit the largest pure ε of one more question."""
        return float(self._left)

    @property
    def _left(self) -> Fraction:
        return max(self.limit.left(self.spent), Fraction(0))

    def said(self) -> str:
        return f"{self.what}: {self.limit.symbol} = {readable(self._left)} left of {self.limit}"

    def admits(self, cost: Budget) -> bool:
        return self.limit.holds(self.spent.plus(cost))

    def after(self, cost: Budget) -> Allowance:
        """The same once so much more was spent."""
        return Allowance(self.what, self.limit, self.spent.plus(cost))


def allowances(ledger: Ledger, account: str, dataset: str) -> tuple[Allowance, ...]:
    """The grants that an account spends from, in their newest period, and the cap of the data set."""
    with ledger.store.reading() as session:
        view = View(session.state)
        data = need_dataset(view, dataset)
        pool = need_pool(view, data.pool)
        found = []
        for payer in payers(need_account(view, account)):
            held = view.get(Grants, f"{data.pool}/{payer}")
            if held is not None and held.grants:
                grant = held.grants[-1]
                found.append(Allowance(f"the grant of {payer}", kept(grant.amount), grant.spent))
        return (*found, Allowance(f"the cap of {pool.name}", kept(pool.cap), pool.spent))


def purses_of(ledger: Ledger, account: str, dataset: str) -> list[tuple[Escrow, list[Allowance]]]:
    """What an account set apart for the parts of partitions of a data set, and what is left in each purse."""
    held = [one for one in ledger.records(Escrow) if (one.account, one.dataset) == (account, dataset)]
    spent = {(one.question, one.part): one.spent for one in ledger.records(Purse) if one.dataset == dataset}
    return [
        (one, [_allowance(at, purse, spent.get((one.question, at))) for at, purse in enumerate(one.purses)])
        for one in held
    ]


def _allowance(part: int, purse: Budget, spent: Totals | None) -> Allowance:
    return Allowance(f"the purse of part {part + 1}", purse, spent or Totals())
