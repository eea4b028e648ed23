"""Several questions under one charge: all are fixed before any is answered, and their prices add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from margrave.budget.units import Budget
from margrave.errors import UsageError
from margrave.ledger.values import Notion
from margrave.planning.asked import Sheet
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.expectation import Expectation
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.mechanisms import Price
from margrave.planning.questions.question import PricedQuestion, read_question
from margrave.planning.written import digest_of

MOST_QUESTIONS = 1_000


@dataclass(frozen=True)
class Batch:
    """Different questions about one data set, in one unit of privacy. It is an `Asked`."""

    questions: tuple[PricedQuestion, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise UsageError(f"a batch has 1 to {MOST_QUESTIONS:,} questions, not {len(self.questions):,}")
        first = self.questions[0]
        if any(one.data != first.data or type(one.budget) is not type(first.budget) for one in self.questions):
            raise UsageError("the questions of a batch are about one data set, all in ε or all in ρ")
        if len({one.question for one in self.questions}) < len(self.questions):
            raise UsageError("the questions of a batch must be different: one that is asked twice is asked once")

    @classmethod
    def shared(cls, data: DataSpec, nodes: tuple[Aggregate, ...], budget: Price) -> Batch:
        """Each different question once, at an equal share of the budget."""
        different = tuple(dict.fromkeys(nodes))
        if not different:
            raise UsageError("a batch needs questions")
        share = budget.with_amount(budget.amount / len(different))
        return cls(tuple(PricedQuestion(data, node, share) for node in different))

    @property
    def way(self) -> str:
        return "batch"

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

    @property
    def exact(self) -> tuple[tuple[str, ...], ...]:
        return ()

    @property
    def disclosed(self) -> tuple[Mapping[str, Any], ...]:
        return ()

    @cached_property
    def question(self) -> str:
        return digest_of({"way": self.way, "questions": [one.question for one in self.questions]})

    @property
    def forecast(self) -> tuple[Expectation, ...]:
        return tuple(expectation for one in self.questions for expectation in one.forecast)

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def words(self) -> tuple[str, ...]:
        head = f"The {len(self.questions)} answers together satisfy differential privacy with {self.cost}."
        return (head, *(text for one in self.questions for text in one.words()[1:]))

    def sheets(self, most: int | None = None) -> tuple[Sheet, ...]:
        return tuple(sheet for one in self.questions for sheet in one.sheets(most))

    def to_json(self) -> dict[str, Any]:
        return {"way": self.way, "cost": self.cost.as_dict(), "questions": [one.to_json() for one in self.questions]}

    def asked_json(self) -> dict[str, Any]:
        """All that determines the answers' distribution; `read_batch` reads it back."""
        return {"questions": [one.asked_json() for one in self.questions]}


def read_batch(value: Mapping[str, Any]) -> Batch:
    """The batch that `Batch.asked_json` wrote."""
    return Batch(tuple(read_question(one) for one in value["questions"]))
