"""Every kind of question, made of what is asked and a budget, or read back from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margrave.budget.units import budget_from_dict
from margrave.errors import UsageError
from margrave.planning.questions.data_spec import DataSpec, declared_in
from margrave.planning.questions.language.aggregates import Aggregate, Tables
from margrave.planning.questions.language.form import read_as
from margrave.planning.questions.price.mechanisms import Price
from margrave.planning.questions.question import FORMAT, PricedQuestion
from margrave.planning.questions.several.partition import PartPurse, read_purse
from margrave.planning.questions.several.tables import TablesQuestion, read_tables

Question = PricedQuestion | TablesQuestion


def question_of(data: DataSpec, aggregate: Aggregate, budget: Price, purse: PartPurse | None = None) -> Question:
    """What is asked of a data set, at a budget; tables are planned. ``purse``: that of a part, which pays."""
    if isinstance(aggregate, Tables):
        return TablesQuestion.planned(data, aggregate, budget, purse)
    return PricedQuestion(data, aggregate, budget, purse)


def read_asked(value: Mapping[str, Any]) -> Question:
    """The question that its `asked_json` wrote."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        raise UsageError("the question was written by another version of Margrave")
    budget = budget_from_dict(value["budget"]).without_delta()
    if budget is None:
        raise UsageError("a question is asked at a pure ε, or at a ρ")
    data, aggregate = declared_in(value["data"]), read_as(value["asked"], Aggregate)
    if isinstance(aggregate, Tables):
        return read_tables(value, data, aggregate, budget)
    return PricedQuestion(data, aggregate, budget, read_purse(value["purse"], data) if "purse" in value else None)
