"""The least budget with which an answer is as good as is wanted."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import cast

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.planning.defaults import LEVEL
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.aggregates import Aggregate, Tables
from margrave.planning.questions.price.expectation import expected
from margrave.planning.questions.price.mechanisms import Price, mechanism_of
from margrave.planning.questions.programs.sought import Sought, sought_of
from margrave.planning.questions.several.partition import PartPurse
from margrave.planning.questions.several.tables import TablesQuestion, tables_spec
from margrave.planning.target import Target, meets, plan_for
from margrave.spec.choices import Strategy

_LEAST, _MOST = Fraction(1, 10**6), Fraction(10**3)
_DIGITS = 1_000
_STRATEGIES = 4
"""How many strategies are tried: a budget for one may be one at which another is best."""


def least_budget(
    data: DataSpec,
    aggregate: Aggregate,
    within: float,
    confidence: float = LEVEL,
    *,
    rows: int | None = None,
    unit: type[PureDP] | type[ZCDP] = PureDP,
) -> Price:
    """The least ε, or ρ, to three digits, at which every value lies within a distance of the exact one.

    ``confidence``: with at least this probability, for each value by itself. ``rows``: how many rows each group is
    taken to have, where the error depends on it.
    """
    numbers = (within, confidence)
    if any(isinstance(one, bool) or not isinstance(one, int | float | Fraction | Decimal) for one in numbers):
        raise UsageError("'within' and 'confidence' must be numbers, such as within=10, confidence=0.95")
    if not within > 0 or not 0 < confidence < 1:
        raise UsageError("'within' must be greater than 0, and 'confidence' lie between 0 and 1")
    check_rows(rows)
    sought = sought_of(aggregate, data)

    def enough(number: Fraction) -> bool:
        return _worst(aggregate, sought, data, unit(number), confidence, rows) <= within

    low, high = _LEAST, _MOST
    if not enough(high):
        raise RefusedError("no budget that could be spent makes it that exact: ask for less")
    while high / low > 1 + Fraction(1, 2 * _DIGITS):
        middle = _short(Fraction(float(low * high) ** 0.5))
        if not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return unit(high)


def least_tables(
    data: DataSpec,
    aggregate: Tables,
    within: float,
    confidence: float,
    purse: PartPurse | None = None,
    unit: type[PureDP] | type[ZCDP] = PureDP,
) -> TablesQuestion:
    """The tables at the least ε, or ρ, with which every cell is as near as is wanted.

    Whoever asks at that budget gets the plan that is best for all cells together, and not the one that needs least for
    the worst of them: where that is not near enough, the least budget is that of its strategy.
    """
    spec, target = tables_spec(data, aggregate, unit(Fraction(1)), purse), Target(within, confidence)
    for _ in range(_STRATEGIES):
        budget = plan_for(spec, target).spec.budget
        assert isinstance(budget, unit)
        question = TablesQuestion.planned(data, aggregate, budget, purse)
        if meets(question.plan, target):
            return question
        spec = replace(spec, strategy=cast(Strategy, question.plan.strategy))
    raise RefusedError("no budget was found that makes it that exact: ask for more or less")


def check_rows(rows: object) -> None:
    """Refuse a number of rows to expect that is none."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise UsageError("'rows' must be a whole number, at least 1: how many rows each group is taken to have")


def _worst(
    aggregate: Aggregate, sought: Sought, data: DataSpec, budget: Price, level: float, rows: int | None
) -> float:
    """The largest half-width of the values of an answer."""
    try:
        mechanism = mechanism_of(aggregate, sought, budget, data.neighbours)
    except RefusedError:
        return float("inf")
    worst = 0.0
    for one in expected(aggregate, sought, mechanism, level):
        if one.per_row and rows is None:
            raise UsageError(f"the error of {one.what} depends on the number of rows: say how many to expect, rows=…")
        worst = max(worst, one.half_width / (rows or 1) if one.per_row else one.half_width)
    return worst


def _short(number: Fraction) -> Fraction:
    """A number with four significant digits."""
    scale = Fraction(10) ** (len(str(int(1 / number))) + 4 if number < 1 else 4)
    return Fraction(int(number * scale), scale.numerator) if scale.denominator == 1 else number
