"""A partition at its price: a purse for each part, charged once for all of them together.

A unit is in at most so many parts. So the purses of all parts cost no more than the dearest that one unit can be in,
however questions to one part depend on the answers of another (docs/questions.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from margrave.budget.numbers import exact_text
from margrave.budget.units import ZCDP, Budget, PureDP, budget_from_dict
from margrave.errors import RefusedError, UsageError
from margrave.ledger.purses import MOST_PURSES, escrow_cost, purse_name
from margrave.ledger.values import Notion
from margrave.planning.asked import NothingExact, Sheet
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.expressions import Numeral, Value
from margrave.planning.questions.language.form import check_form_size, read_as
from margrave.planning.questions.language.parts import Part, Partition, check_payable
from margrave.planning.questions.language.relations import Relation
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.mechanisms import Price
from margrave.planning.questions.programs.axes import Axis
from margrave.planning.questions.programs.lowering import constant_at
from margrave.planning.questions.programs.rows import parts_of, rows_of
from margrave.planning.questions.public import constant_of
from margrave.planning.written import digest_of


@dataclass(frozen=True)
class PricedPartition(NothingExact):
    """A partition of a data set's rows, with a purse in ε or ρ for each part, of one account. It is an `Asked`."""

    data: DataSpec
    partition: Partition
    purses: tuple[Price, ...]
    account: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "purses", tuple(self.purses))
        if not isinstance(self.partition, Partition):
            raise UsageError("only a partition has parts")
        check_form_size(self.partition)
        if len(self.axis.codes) > MOST_PURSES:
            raise RefusedError(
                f"there would be {len(self.axis.codes):,} parts, at most {MOST_PURSES:,} are possible: use bins, or "
                "'only'"
            )
        if len(self.purses) != len(self.axis.codes) or not all(isinstance(one, PureDP | ZCDP) for one in self.purses):
            raise UsageError("a partition has a purse for each part, in ε or in ρ")
        escrow_cost(self.purses, self.parts, self.data.neighbours)

    @classmethod
    def equal(cls, data: DataSpec, partition: Partition, each: Price, account: str) -> PricedPartition:
        """The same purse for every part."""
        axis = parts_of(partition, rows_of(partition.rows, data))[0]
        return cls(data, partition, (each,) * min(len(axis.codes), MOST_PURSES + 1), account)

    @property
    def way(self) -> str:
        return "partition"

    @cached_property
    def title(self) -> str:
        return said(self.partition)

    @cached_property
    def _shape(self) -> tuple[Axis, int]:
        axis, _, natural = parts_of(self.partition, rows_of(self.partition.rows, self.data))
        given = self.partition.most_parts
        return axis, natural if given is None else min(natural, given)

    @property
    def axis(self) -> Axis:
        """The parts, in order."""
        return self._shape[0]

    @property
    def parts(self) -> int:
        """How many parts one unit can be in: it follows from the rows, or is enforced."""
        return self._shape[1]

    def part(self, at: int) -> Part:
        """The rows of one part."""
        return self.partition.part(self.value(at))

    def value(self, at: int) -> Value:
        """The value of a part, exactly: one that is shown rounded could be that of another part."""
        return constant_at(self.axis.kind, self.axis.codes[at])

    @cached_property
    def shown(self) -> tuple[object, ...]:
        """The values of the parts for people, all different: a number that a float does not hold, as a text."""
        pairs = [(self.axis.kind.named(code), self.value(at)) for at, code in enumerate(self.axis.codes)]
        return tuple(
            exact_text(value.value) if isinstance(value, Numeral) and constant_of(one) != value else one
            for one, value in pairs
        )

    @cached_property
    def cost(self) -> Budget:
        return escrow_cost(self.purses, self.parts, self.data.neighbours)

    @property
    def notion(self) -> Notion:
        return self.data.notion

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return ({"measured": self.title, "noise": {"kind": "purses", "parts_of_a_unit": str(self.parts)}},)

    @cached_property
    def question(self) -> str:
        """Another account's purses are others: what one asks does not depend on what another was answered."""
        return digest_of({"way": self.way, "data": self.data.public_dict(), **self.to_json()})

    @property
    def forecast(self) -> tuple[object, ...]:
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    @property
    def reason(self) -> str:
        """Why it costs what it costs, in words."""
        where = "one part" if self.parts == 1 else f"at most {self.parts:,} parts"
        dearest = "one" if self.parts == 1 else f"{self.parts:,} together"
        text = f"a unit is in {where}, so all parts together cost as much as the dearest {dearest}"
        if self.data.neighbours == "replace":
            text += f", {'twice' if self.cost.parts.pure else 'four times'}: a replaced unit leaves and enters parts"
        return text

    def words(self) -> tuple[str, ...]:
        return (f"All answers of all parts together satisfy differential privacy with {self.cost}: {self.reason}.",)

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        rows = [(str(shown), str(purse)) for shown, purse in zip(self.shown, self.purses, strict=True)]
        return (Sheet(f"{self.title}: cost {self.cost}", ("part", "purse"), rows[:most]),)

    def to_json(self) -> dict[str, Any]:
        purses = [one.as_dict() for one in self.purses]
        return {"partition": self.partition.to_json(), "purses": purses, "account": self.account}


@dataclass(frozen=True)
class PartPurse:
    """The purse of one part of a partition, by its number."""

    partition: PricedPartition
    at: int

    def __post_init__(self) -> None:
        if type(self.at) is not int or not 0 <= self.at < len(self.partition.purses):
            raise UsageError("the partition has no such part")

    @property
    def name(self) -> str:
        """How the ledger calls it."""
        return purse_name(self.partition.question, self.at)

    @property
    def part(self) -> Part:
        return self.partition.part(self.at)

    def check(self, data: DataSpec, rows: Relation) -> None:
        """Refuse what it cannot pay for."""
        if data != self.partition.data:
            raise UsageError("a purse pays for questions about its own data set")
        check_payable(rows, self.part)

    def to_json(self) -> dict[str, Any]:
        return {**self.partition.to_json(), "part": self.at}


def paid_from(purse: PartPurse, cost: Budget) -> str:
    """The guarantee of what a purse pays for, in words."""
    return (
        f"{cost} is paid from the purse of a part. All answers of all parts together satisfy differential privacy with "
        f"{purse.partition.cost}, which was charged once."
    )


def read_purse(value: Mapping[str, Any], data: DataSpec) -> PartPurse:
    """The purse that `PartPurse.to_json` wrote."""
    return PartPurse(read_partition(value, data), value["part"])


def read_partition(value: Mapping[str, Any], data: DataSpec) -> PricedPartition:
    """The partition that `PricedPartition.to_json` wrote."""
    purses: Sequence[Any] = tuple(budget_from_dict(one) for one in value["purses"])
    return PricedPartition(data, read_as(value["partition"], Partition), tuple(purses), value["account"])
