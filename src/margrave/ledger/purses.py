"""Purses: what was set apart once for the parts of a partition, and what was spent in each.

A unit is in at most so many parts. Whatever is asked of a part, and however the next question depends on the last
answer, tells of no unit outside it: so all parts together cost no more than the dearest that one unit can be in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from margrave.budget.units import Budget
from margrave.errors import UsageError
from margrave.ledger.amounts import budget_text, read_budget
from margrave.ledger.journal import quoted
from margrave.ledger.rules.totals import Totals

MOST_PURSES = 1_000


class Escrow(NamedTuple):
    """What an account set apart for the parts of a partition, by its question: a purse for each part, in order."""

    dataset: str
    question: str
    account: str
    purses: tuple[Budget, ...]

    @property
    def key(self) -> str:
        return f"escrow/{self.dataset}/{self.question}"

    @property
    def text(self) -> str:
        purses = ",".join(budget_text(one) for one in self.purses)
        return f'{{"account":{quoted(self.account)},"purses":[{purses}]}}'

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Escrow:
        dataset, question = name.split("/")
        return cls(dataset, question, value["account"], tuple(map(read_budget, value["purses"])))


class Purse(NamedTuple):
    """What was spent from the purse of one part, the first of which is 0. It is there once something was."""

    dataset: str
    question: str
    part: int
    spent: Totals = Totals()

    @property
    def key(self) -> str:
        return f"purse/{self.dataset}/{self.question}/{self.part}"

    @property
    def text(self) -> str:
        return f'{{"spent":{self.spent.text}}}'

    @classmethod
    def from_json(cls, name: str, value: Mapping[str, Any]) -> Purse:
        dataset, question, part = name.split("/")
        return cls(dataset, question, int(part), Totals.from_json(value["spent"]))


def purse_name(question: str, part: int) -> str:
    """One purse, by the question of its partition and the number of its part."""
    return f"{question}/{part}"


def escrow_cost(purses: Sequence[Budget], parts: int, neighbours: str) -> Budget:
    """What purses cost together, where a unit is in at most so many parts: the sum of as many of the dearest.

    A replaced unit leaves as many parts as it enters: twice that, and in ρ, where it may leave and enter one and the
    same part, four times (docs/questions.md).
    """
    if not 1 <= len(purses) <= MOST_PURSES or type(parts) is not int or parts < 1:
        raise UsageError(f"a partition has 1 to {MOST_PURSES:,} parts, and a unit is in at least one")
    first = purses[0]
    if any(not one.same_unit(first) or one.delta for one in purses):
        raise UsageError("the purses of a partition are all in ε, or all in ρ")
    dearest = sorted((one.amount for one in purses), reverse=True)[:parts]
    total = sum(dearest, start=Fraction(0))
    if neighbours == "replace":
        total *= 2 if first.parts.pure else 4
    return first.with_amount(total)
