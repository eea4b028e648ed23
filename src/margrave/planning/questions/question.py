"""A question: what is asked of a data set at which budget. All that is known of it before any data is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from margrave.budget.units import Budget, amount, budget_from_dict
from margrave.errors import UsageError
from margrave.ledger.values import Notion
from margrave.planning.asked import NothingExact, Sheet
from margrave.planning.questions.data_spec import DataSpec, declared_in
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.form import check_form_size, read_as
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.expectation import Expectation, expected
from margrave.planning.questions.price.mechanisms import Mechanism, Price, mechanism_of
from margrave.planning.questions.programs.sought import Sought, sought_of
from margrave.planning.questions.programs.vain import vain
from margrave.planning.questions.programs.work import Work, work_of
from margrave.planning.questions.several.partition import PartPurse, paid_from, read_purse
from margrave.planning.written import digest_of

FORMAT = 1


@dataclass(frozen=True)
class PricedQuestion(NothingExact):
    """An aggregate of a data set, at a budget in ε or ρ. It is an `Asked`.

    ``purse``: where it is about a part, the purse of the part that pays. Such a question is priced for a unit that is
    added or removed: what a replaced one costs was charged with the partition.
    """

    data: DataSpec
    aggregate: Aggregate
    budget: Price
    purse: PartPurse | None = None

    def __post_init__(self) -> None:
        if self.budget.delta:
            raise UsageError("a question is asked at a pure ε, or at a ρ")
        if not isinstance(self.aggregate, Aggregate):
            raise UsageError("a partition is opened, and its parts are asked: ask one of them")
        if self.purse is not None:
            self.purse.check(self.data, self.aggregate.rows)
        check_form_size(self.aggregate)
        self.work.check()
        if self.amount > amount(self.budget):
            raise UsageError("a question must not cost more than its budget")

    @property
    def way(self) -> str:
        return "question"

    @cached_property
    def title(self) -> str:
        return said(self.aggregate)

    @cached_property
    def sought(self) -> Sought:
        """What is sought of the rows, and how far one unit can move it."""
        return sought_of(self.aggregate, self.priced_data)

    @property
    def priced_data(self) -> DataSpec:
        """The data set with the neighbours that the question is priced for."""
        return self.data if self.purse is None else replace(self.data, neighbours="add-remove")

    @cached_property
    def work(self) -> Work:
        """How much there is to do, by public numbers."""
        return work_of(self.sought, self.data, self.mechanism.selected)

    @cached_property
    def mechanism(self) -> Mechanism:
        """How one unit is hidden."""
        return mechanism_of(self.aggregate, self.sought, self.budget, self.priced_data.neighbours)

    @property
    def mechanism_said(self) -> str:
        return self.mechanism.said()

    @property
    def moves(self) -> int:
        """How far one unit can move what is summed, in all, in steps of the engine."""
        return self.sought.move.l1

    @property
    def reason(self) -> str:
        return self.sought.reason

    @property
    def amount(self) -> Fraction:
        """ε, or ρ, of what is drawn: at most the budget."""
        return self.mechanism.amount

    @property
    def cost(self) -> Budget:
        return self.budget.with_amount(self.amount)

    @property
    def notion(self) -> Notion:
        return self.data.notion

    @cached_property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return ({"margin": [self.title], "noise": self.mechanism.to_json()},)

    @cached_property
    def question(self) -> str:
        return digest_of({"way": self.way, **self.asked_json(), "events": self.events})

    def asked_json(self) -> dict[str, Any]:
        """All that determines the answer's distribution; `read_question` reads it back."""
        return dict(self._asked)

    @cached_property
    def _asked(self) -> Mapping[str, Any]:
        told = {
            "format": FORMAT,
            "data": self.data.public_dict(),
            "asked": self.aggregate.to_json(),
            "budget": self.budget.as_dict(),
        }
        return told if self.purse is None else {**told, "purse": self.purse.to_json()}

    @cached_property
    def forecast(self) -> tuple[Expectation, ...]:
        """What to expect of each number of the answer."""
        return expected(self.aggregate, self.sought, self.mechanism)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        return vain(self.aggregate, self.data)

    def words(self) -> tuple[str, ...]:
        """The guarantee, in sentences for people."""
        whom = "whether one unit, with all its rows in all tables, is there or not"
        if self.data.neighbours == "replace":
            whom = "which rows one unit has in all tables; how many units there are is not"
        first = f"The answer satisfies differential privacy with {self.cost}. Protected is {whom}."
        if self.purse is not None:
            first = f"{paid_from(self.purse, self.cost)} Protected is {whom}."
        return (
            first,
            f"One unit moves the answer by at most {self.sought.move.l1} in all: {self.sought.reason}.",
        )

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        rows = [(one.what, one.error_said, one.interval_said) for one in self.forecast]
        title = f"{self.title}: cost {self.cost}, {self.mechanism.said()}"
        return (Sheet(title, ("answer", "standard error", "95 % interval"), rows[:most]),)

    def to_json(self) -> dict[str, Any]:
        return {
            "way": self.way,
            "question": self.title,
            "cost": self.cost.as_dict(),
            "words": list(self.words()),
            "events": list(self.events),
            "move": {"l1": self.sought.move.l1, "l2_squared": self.sought.move.l2_squared},
            "forecast": [one.to_json() for one in self.forecast],
            "seconds": self.work.seconds,
        }

    def at(self, budget: Price) -> PricedQuestion:
        """The same at another budget."""
        return replace(self, budget=budget)


def read_question(value: Mapping[str, Any]) -> PricedQuestion:
    """The question that `PricedQuestion.asked_json` wrote."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        raise UsageError("the question was written by another version of Margrave")
    budget = budget_from_dict(value["budget"]).without_delta()
    if budget is None:
        raise UsageError("a question is asked at a pure ε, or at a ρ")
    data = declared_in(value["data"])
    purse = read_purse(value["purse"], data) if "purse" in value else None
    return PricedQuestion(data, read_as(value["asked"], Aggregate), budget, purse)
