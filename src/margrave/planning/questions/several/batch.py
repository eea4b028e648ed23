"""Several questions under one charge: all are fixed before any is answered, and the prices of those that are measured
add up. What follows from the answers to others is not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from margrave.budget.units import Budget
from margrave.errors import UsageError
from margrave.ledger.values import Notion
from margrave.planning.asked import NothingExact, Sheet
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.aggregates import Aggregate, Tables
from margrave.planning.questions.language.form import read_as
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.expectation import Expectation
from margrave.planning.questions.price.mechanisms import Price
from margrave.planning.questions.question import PricedQuestion, read_question
from margrave.planning.questions.several.partition import PartPurse, paid_from
from margrave.planning.questions.several.sharing import Shared, shared
from margrave.planning.written import digest_of

MOST_QUESTIONS = 1_000


@dataclass(frozen=True)
class Batch(NothingExact):
    """Different questions about one data set, in one unit of privacy. It is an `Asked`.

    ``questions`` are measured; ``wanted`` is all that is answered, left out where that is the same.
    """

    questions: tuple[PricedQuestion, ...]
    wanted: tuple[Aggregate, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        object.__setattr__(self, "wanted", tuple(self.wanted) or tuple(one.aggregate for one in self.questions))
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise UsageError(f"a batch has 1 to {MOST_QUESTIONS:,} questions, not {len(self.questions):,}")
        first = self.questions[0]
        if any(one.data != first.data or type(one.budget) is not type(first.budget) for one in self.questions):
            raise UsageError("the questions of a batch are about one data set, all in ε or all in ρ")
        if len({one.question for one in self.questions}) < len(self.questions):
            raise UsageError("the questions of a batch must be different: one that is asked twice is asked once")
        if any(one.purse != first.purse for one in self.questions):
            raise UsageError("the questions of a batch are paid from one purse, or all outside of any")
        if not all(self.sharing.expectation(node, first.data) for node in self.wanted):
            raise UsageError("what is asked for must be measured, or follow from what is")

    @classmethod
    def shared(
        cls, data: DataSpec, nodes: tuple[Aggregate, ...], budget: Price, purse: PartPurse | None = None
    ) -> Batch:
        """Each different question that is measured once, at an equal share of the budget; a purse may pay for all."""
        different = tuple(dict.fromkeys(nodes))
        if not different:
            raise UsageError("a batch needs questions")
        if len(different) > MOST_QUESTIONS:
            raise UsageError(f"a batch has 1 to {MOST_QUESTIONS:,} questions, not {len(different):,}")
        if any(isinstance(node, Tables) for node in different):
            raise UsageError("tables are planned together already: ask for all of them in one 'tables'")
        return cls(shared(data, different, budget, purse).questions, different)

    @cached_property
    def sharing(self) -> Shared:
        """Which questions are answered from which."""
        return Shared(self.questions)

    @property
    def way(self) -> str:
        return "batch"

    @property
    def purse(self) -> PartPurse | None:
        """The purse that pays for all of them."""
        return self.questions[0].purse

    @property
    def title(self) -> str:
        return "; ".join(one.title for one in self.questions)

    @cached_property
    def cost(self) -> Budget:
        """The sum of the prices: what all answers together tell."""
        total = sum((one.amount for one in self.questions[1:]), start=self.questions[0].amount)
        return self.questions[0].budget.with_amount(total)

    @property
    def notion(self) -> Notion:
        return self.questions[0].notion

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(event for one in self.questions for event in one.events)

    @cached_property
    def question(self) -> str:
        return digest_of({"way": self.way, "questions": [one.question for one in self.questions]})

    @property
    def forecast(self) -> tuple[Expectation, ...]:
        data = self.questions[0].data
        return tuple(found for node in self.wanted for found in self.sharing.expectation(node, data))

    def follows_from(self, node: Aggregate) -> tuple[PricedQuestion, ...]:
        """The measured questions from whose answers a question is answered, itself among them if it is measured."""
        found = self.sharing.cube(node, self.questions[0].data)
        source = None if found else self.sharing.source(node)
        return found if source is None else (source,)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for one in self.questions for text in one.warnings))

    def words(self) -> tuple[str, ...]:
        head = f"The {len(self.questions)} answers together satisfy differential privacy with {self.cost}."
        if self.purse is not None:
            head = paid_from(self.purse, self.cost)
        return (head, *(text for one in self.questions for text in one.words()[1:]))

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        return tuple(sheet for one in self.questions for sheet in one.sheets(most))

    def to_json(self) -> dict[str, Any]:
        return {
            "way": self.way,
            "cost": self.cost.as_dict(),
            "questions": [one.to_json() for one in self.questions],
            "wanted": [said(node) for node in self.wanted],
            "forecast": [one.to_json() for one in self.forecast],
        }

    def asked_json(self) -> dict[str, Any]:
        """All that determines the answers' distribution; `read_batch` reads it back."""
        asked = [node.to_json() for node in self.wanted]
        return {"questions": [one.asked_json() for one in self.questions], "wanted": asked}


def read_batch(value: Mapping[str, Any]) -> Batch:
    """The batch that `Batch.asked_json` wrote."""
    wanted = tuple(read_as(one, Aggregate) for one in value.get("wanted", ()))
    return Batch(tuple(read_question(one) for one in value["questions"]), wanted)
