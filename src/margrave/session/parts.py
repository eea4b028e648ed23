"""Partitions in Python: what is set apart once for all parts, and the parts, each of which pays from a purse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from margrave.budget.units import Budget
from margrave.errors import UsageError, suggest
from margrave.ledger.purses import Escrow
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.parts import Partition, check_payable, parts_in
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PartPurse, PricedPartition
from margrave.session.builders import RowsBuilder, budget_of
from margrave.session.explanation import html_table, said_lines

if TYPE_CHECKING:
    from margrave.session.common import AnySession


@dataclass(frozen=True)
class PartitionBuilder:
    """A partition that was not paid for yet."""

    session: AnySession = field(repr=False)
    data: DataSpec = field(repr=False)
    node: Partition = field(repr=False)

    def __repr__(self) -> str:
        return f"{said(self.node)}\n  (explain(eps=…) tells what a purse of so much costs, release(eps=…) fills them)"

    @property
    def text(self) -> str:
        """The partition as text, which `Session.ask` and ``margrave ask`` take."""
        return said(self.node)

    def priced(self, eps: Any = None, rho: Any = None) -> PricedPartition:
        """The partition with purses: a number for every part, or one for each by its value."""
        account, one = self.session.account, eps if rho is None else rho
        if (eps is None) != (rho is None) and isinstance(one, Mapping):
            first = PricedPartition.equal(self.data, self.node, budget_of(1), account)
            wanted, shown = {str(name): amount for name, amount in one.items()}, first.shown
            if set(wanted) != {str(name) for name in shown}:
                raise UsageError(f"give an amount for each part: {', '.join(map(str, shown))}")
            amounts = [wanted[str(name)] for name in shown]
            purses = [budget_of(amount) if rho is None else budget_of(rho=amount) for amount in amounts]
            return PricedPartition(self.data, self.node, tuple(purses), account)
        return PricedPartition.equal(self.data, self.node, budget_of(eps, rho), account)

    def explain(self, eps: Any = None, *, rho: Any = None, within: Any = None) -> PartitionExplained:
        """What it would cost to give each part a purse of so much. Nothing is charged."""
        if within is not None:
            raise UsageError("a partition has no error of its own: ask a part for it")
        return PartitionExplained(self.priced(eps, rho), self.session.allowances())

    def release(self, eps: Any = None, *, rho: Any = None) -> OpenParts:
        """Pay for it once; nothing is given back. The same partition again is free, with what is left in its purses."""
        return self.session.open_parts(self.priced(eps, rho))


@dataclass(frozen=True)
class PartitionExplained:
    """What a partition would cost, why, and what would be left."""

    partition: PricedPartition
    allowances: tuple[Allowance, ...] = ()

    @property
    def cost(self) -> Budget:
        return self.partition.cost

    @property
    def affordable(self) -> bool:
        return all(one.admits(self.cost) for one in self.allowances)

    @property
    def left(self) -> tuple[str, ...]:
        return tuple(
            one.after(self.cost).said() if one.admits(self.cost) else f"{one.said()}: not enough"
            for one in self.allowances
        )

    def _lines(self) -> list[tuple[str, str]]:
        found = [("cost", f"{self.cost}: {self.partition.reason}")]
        parts = zip(self.partition.shown, self.partition.purses, strict=True)
        found += [(f"purse of {shown}", str(purse)) for shown, purse in parts]
        return found + [("left afterwards", text) for text in self.left]

    def __repr__(self) -> str:
        return said_lines(self.partition.title, self._lines())

    def _repr_html_(self) -> str:
        return html_table(self.partition.title, self._lines())

    def to_json(self) -> dict[str, Any]:
        told = {**self.partition.to_json(), "cost": self.cost.as_dict(), "words": list(self.partition.words())}
        return {**told, "left": list(self.left), "affordable": self.affordable}


@dataclass(frozen=True)
class OpenParts:
    """The parts of a partition that was paid for, by their values: rows, questions about which a purse pays for."""

    session: AnySession = field(repr=False)
    partition: PricedPartition = field(repr=False)

    def __len__(self) -> int:
        return len(self.partition.purses)

    def __iter__(self) -> Iterator[object]:
        return iter(self.partition.shown)

    def __getitem__(self, value: object) -> RowsBuilder:
        shown = [str(one) for one in self]
        if str(value) not in shown:
            hint = suggest(str(value), shown) or f"; there are {', '.join(shown)}"
            raise UsageError(f"there is no part {str(value)[:100]!r}{hint}")
        purse = PartPurse(self.partition, shown.index(str(value)))
        return RowsBuilder(self.session, self.partition.data, purse.part, purse=purse)

    @property
    def cost(self) -> Budget:
        return self.partition.cost

    @property
    def left(self) -> dict[object, Allowance]:
        """What is left in the purse of each part."""
        found = dict(_held(self.session, self.partition))
        return dict(zip(self, found[self.partition.question], strict=True))

    def _lines(self) -> list[tuple[str, str]]:
        return [(str(value), one.said().partition(": ")[2]) for value, one in self.left.items()]

    def __repr__(self) -> str:
        return said_lines(f"{self.partition.title}: cost {self.cost}, once for all parts", self._lines())

    def _repr_html_(self) -> str:
        return html_table(self.partition.title, self._lines())

    def to_json(self) -> dict[str, Any]:
        return {**self.partition.to_json(), "cost": self.cost.as_dict(), "left": dict(self._lines())}


def _held(holder: PurseHolder, partition: PricedPartition) -> Iterator[tuple[str, list[Allowance]]]:
    """What is left in the purses of an account, by the question of each partition."""
    for escrow, left in holder.purses(partition.account):
        yield escrow.question, left


def purse_left(holder: PurseHolder, purse: PartPurse) -> tuple[Allowance, ...]:
    """What is left in one purse."""
    found = dict(_held(holder, purse.partition)).get(purse.partition.question)
    if found is None:
        return ()
    shown = purse.partition.shown[purse.at]
    return (Allowance(f"the purse of {shown}", found[purse.at].limit, found[purse.at].spent),)


class PurseHolder(Protocol):
    """Whoever asks about a data set, and the purses that pay: a session, or a server for an account."""

    account: str
    data: DataSpec

    def purses(self, account: str) -> list[tuple[Escrow, list[Allowance]]]:
        """What an account set apart for the parts of partitions of this data set, and what is left in each purse."""

    def charged_questions(self) -> frozenset[str]:
        """The digests of all questions that were charged to the account."""


def paying_purses(holder: PurseHolder, *nodes: Aggregate) -> list[PartPurse]:
    """The purses that could pay for all of some questions, the oldest first: those of the part that they are about."""
    found: list[PartPurse] = []
    for part in dict.fromkeys(parts_in(nodes[0].rows)) if nodes else ():
        try:
            for node in nodes:
                check_payable(node.rows, part)
        except UsageError:
            continue
        for escrow, _ in holder.purses(holder.account):
            purses: Any = escrow.purses
            try:
                partition = PricedPartition(holder.data, part.partition, purses, holder.account)
            except UsageError:
                continue
            if partition.question == escrow.question:
                parts = [partition.part(at) for at in range(len(purses))]
                found += [PartPurse(partition, at) for at, one in enumerate(parts) if one == part]
    return found


def purse_for(
    holder: PurseHolder,
    nodes: tuple[Aggregate, ...],
    priced_from: Callable[[PartPurse], Question | Batch] | None = None,
) -> PartPurse | None:
    """The purse that pays for questions about a part: one that has paid for them, or has enough, or the newest.

    ``priced_from``: what is asked, at its price, if a purse pays for it; without a price it is the newest.
    """
    found = paying_purses(holder, *nodes)
    if len(found) <= 1 or priced_from is None:
        return found[-1] if found else None
    priced = [priced_from(purse) for purse in found]
    asked = holder.charged_questions()
    paid = [one.purse for one in priced if one.question in asked]
    pairs = zip(priced, found, strict=True)
    room = [purse for one, purse in pairs if all(left.admits(one.cost) for left in purse_left(holder, purse))]
    return next((one for one in (*paid, *room) if one is not None), found[-1])
