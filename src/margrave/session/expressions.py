"""Columns in Python: ``col.age.between(18, 64)``, ``col.income // 100``, ``col.region == "north"``.

They are trees of the language of questions, and nothing is computed with them here.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from margrave.errors import UsageError
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language.relations import Key, Reduction


def value_of(thing: Any) -> e.Value:
    """A constant or a column as a node of the language."""
    if isinstance(thing, ValueExpression):
        return thing.node
    if thing is None:
        return e.Missing()
    if isinstance(thing, str):
        return e.Text(thing)
    if isinstance(thing, date) and not isinstance(thing, datetime):
        return e.Day(thing)
    return numeral_of(thing)


def asked_value(thing: Any) -> e.Value:
    """What is asked about: a column or what is computed of one. A bare text would be a constant, and is none meant."""
    if isinstance(thing, str):
        raise UsageError(f"a text is no column: write col.{thing[:40]}, or col[{thing[:40]!r}]")
    return value_of(thing)


def condition_of(thing: Any) -> e.Condition:
    """A condition as a node of the language."""
    if not isinstance(thing, ConditionExpression):
        what = "a column" if isinstance(thing, ValueExpression) else f"a {type(thing).__name__}"
        raise UsageError(f"{what} is no condition: compare a column with something, such as col.age > 17")
    return thing.node


def several(things: Any, what: str) -> tuple[Any, ...]:
    """Several things as a tuple; a single one, or a text, is none."""
    if isinstance(things, str) or not isinstance(things, Iterable):
        raise UsageError(f"{what} must be a list, not a {type(things).__name__}")
    return tuple(things)


def numeral_of(thing: Any) -> e.Numeral:
    """A number, exactly: 0.1 is one tenth."""
    if isinstance(thing, bool) or not isinstance(thing, int | float | Decimal | Fraction):
        raise UsageError(f"a {type(thing).__name__} is no value of a question: give a number, a text or a day")
    if isinstance(thing, float | Decimal):
        if not Decimal(thing).is_finite():
            raise UsageError("a number must be finite")
        return e.Numeral(Fraction(Decimal(str(thing))))
    return e.Numeral(Fraction(thing))


class ValueExpression:
    """A value of each row."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: e.Value) -> None:
        self.node = node

    def __repr__(self) -> str:
        from margrave.planning.questions.language.wording import said

        return said(self.node)

    def __bool__(self) -> NoReturn:
        raise UsageError("a column has no truth of its own: use & for and, | for or, ~ for not, with brackets")

    def _reckoned(self, sign: str, other: Any, *, turned: bool = False) -> ValueExpression:
        pair = (value_of(other), self.node) if turned else (self.node, value_of(other))
        return ValueExpression(e.Arithmetic(sign, *pair))

    def __add__(self, other: Any) -> ValueExpression:
        return self._reckoned("+", other)

    def __radd__(self, other: Any) -> ValueExpression:
        return self._reckoned("+", other, turned=True)

    def __sub__(self, other: Any) -> ValueExpression:
        return self._reckoned("-", other)

    def __rsub__(self, other: Any) -> ValueExpression:
        return self._reckoned("-", other, turned=True)

    def __mul__(self, other: Any) -> ValueExpression:
        return self._reckoned("*", other)

    def __rmul__(self, other: Any) -> ValueExpression:
        return self._reckoned("*", other, turned=True)

    def __truediv__(self, by: Any) -> NoReturn:
        raise UsageError("numbers are divided by whole numbers and rounded down: write //, such as col.income // 100")

    def __and__(self, other: Any) -> NoReturn:
        self.__bool__()

    def __or__(self, other: Any) -> NoReturn:
        self.__bool__()

    def __invert__(self) -> NoReturn:
        self.__bool__()

    def __floordiv__(self, by: int) -> ValueExpression:
        return ValueExpression(e.Divide(self.node, by))

    def _compared(self, sign: str, other: Any) -> ConditionExpression:
        return ConditionExpression(e.Compare(sign, self.node, value_of(other)))

    def __eq__(self, other: object) -> ConditionExpression:  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: object) -> ConditionExpression:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> ConditionExpression:
        return self._compared("<", other)

    def __le__(self, other: Any) -> ConditionExpression:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> ConditionExpression:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> ConditionExpression:
        return self._compared(">=", other)

    def between(self, low: Any, high: Any) -> ConditionExpression:
        """From low to high, both included."""
        return self._compared(">=", low) & self._compared("<=", high)

    def isin(self, members: Iterable[Any]) -> ConditionExpression:
        """One of several constants."""
        constants = tuple(value_of(one) for one in several(members, "what follows isin"))
        return ConditionExpression(e.Among(self.node, constants))

    def is_missing(self) -> ConditionExpression:
        return ConditionExpression(e.IsMissing(self.node))

    def bins(self, *edges: Any) -> ValueExpression:
        """The interval between two edges that a number lies in."""
        return ValueExpression(e.Binned(self.node, tuple(numeral_of(edge) for edge in edges)))

    def year(self) -> ValueExpression:
        return ValueExpression(e.DatePart("year", self.node))

    def month(self) -> ValueExpression:
        return ValueExpression(e.DatePart("month", self.node))

    def day(self) -> ValueExpression:
        return ValueExpression(e.DatePart("day", self.node))

    def weekday(self) -> ValueExpression:
        """Monday is 1."""
        return ValueExpression(e.DatePart("weekday", self.node))

    def only(self, *values: Any) -> KeyExpression:
        """This as a key of groups, over the given values alone."""
        return KeyExpression(self.node, tuple(value_of(one) for one in values))

    def sum(self) -> ReductionExpression:
        return ReductionExpression("sum", self.node)

    def min(self) -> ReductionExpression:
        return ReductionExpression("min", self.node)

    def max(self) -> ReductionExpression:
        return ReductionExpression("max", self.node)


class ConditionExpression:
    """A condition on each row."""

    def __init__(self, node: e.Condition) -> None:
        self.node = node

    def __repr__(self) -> str:
        from margrave.planning.questions.language.wording import said

        return said(self.node)

    def __bool__(self) -> NoReturn:
        raise UsageError("a condition is asked of every row: use & for and, | for or, ~ for not, with brackets")

    def __and__(self, other: ConditionExpression) -> ConditionExpression:
        return ConditionExpression(e.AllOf((self.node, condition_of(other))))

    def __or__(self, other: ConditionExpression) -> ConditionExpression:
        return ConditionExpression(e.AnyOf((self.node, condition_of(other))))

    def __invert__(self) -> ConditionExpression:
        return ConditionExpression(e.Negation(self.node))

    def count(self) -> ReductionExpression:
        return ReductionExpression("count", None, self.node)

    def any(self) -> ReductionExpression:
        return ReductionExpression("any", None, self.node)


class KeyExpression:
    """A value that rows are grouped by, over given values."""

    def __init__(self, node: e.Value, only: tuple[e.Value, ...]) -> None:
        self.node, self.values = node, only


class ReductionExpression:
    """A number of all rows of a unit, which gets its name where it is used."""

    def __init__(self, how: str, value: e.Value | None = None, condition: e.Condition | None = None) -> None:
        self.how, self.value, self.condition = how, value, condition

    def named(self, name: str) -> Reduction:
        return Reduction(name, self.how, self.value, self.condition)


def key_of(name: str | None, thing: Any) -> Key:
    """A key of groups; a column needs no name of its own."""
    node = thing.node if isinstance(thing, ValueExpression | KeyExpression) else value_of(thing)
    only = thing.values if isinstance(thing, KeyExpression) else ()
    if name is None and not isinstance(node, e.Column):
        raise UsageError("what is computed needs a name to be grouped by: group_by(age_group=col.age.bins(…))")
    return Key(node.name if name is None and isinstance(node, e.Column) else str(name), node, only)


class ColumnNames:
    """``col.age``, or ``col["age"]``: a column by its name."""

    def __getattr__(self, name: str) -> ValueExpression:
        if name.startswith("__"):
            raise AttributeError(name)
        return ValueExpression(e.Column(name))

    def __getitem__(self, name: str) -> ValueExpression:
        return ValueExpression(e.Column(name))


col = ColumnNames()


def when(condition: ConditionExpression, value: Any) -> Branches:
    """``when(col.age < 18, "young").otherwise("old")``: the value of the first condition that is true."""
    return Branches((e.When(condition_of(condition), value_of(value)),))


class Branches(ValueExpression):
    """Branches of a case; without ``otherwise`` it is missing where none is true."""

    def __init__(self, branches: tuple[e.When, ...]) -> None:
        super().__init__(e.Case(branches))
        self.branches = branches

    def when(self, condition: ConditionExpression, value: Any) -> Branches:
        return Branches((*self.branches, e.When(condition_of(condition), value_of(value))))

    def otherwise(self, value: Any) -> ValueExpression:
        return ValueExpression(e.Case(self.branches, value_of(value)))
