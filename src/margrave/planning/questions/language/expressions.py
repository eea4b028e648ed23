"""Values and conditions. Every one of them has an answer for every row: what is missing stays missing, and nothing
fails, overflows or calls anything.

A condition is true, false or unknown; it is unknown where it compares something missing, ``and``, ``or`` and ``not``
follow three-valued logic, and rows are kept where it is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from margrave.budget.numbers import exact_number
from margrave.errors import UsageError
from margrave.files.untrusted import MOST_TEXT
from margrave.planning.questions.language.form import LanguageNode

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*")
DATE_PARTS = ("year", "month", "day", "weekday")
MOST_EDGES = 1_000
MOST_MEMBERS = 1_000


@dataclass(frozen=True)
class Value(LanguageNode):
    """A number, a day or a text of a list for each row, or missing."""


@dataclass(frozen=True)
class Condition(LanguageNode):
    """True, false or unknown for each row."""


@dataclass(frozen=True)
class Column(Value, kind="column"):
    """A column of the rows, by name."""

    name: str

    def __post_init__(self) -> None:
        self._check_name("name")


@dataclass(frozen=True)
class Numeral(Value, kind="number"):
    """A number, exactly."""

    value: Fraction

    def __post_init__(self) -> None:
        if isinstance(self.value, str):
            object.__setattr__(self, "value", exact_number(self.value))
        if isinstance(self.value, bool) or not isinstance(self.value, int | Fraction):
            raise UsageError("a number is written exactly, as a text such as '0.5'")
        object.__setattr__(self, "value", Fraction(self.value))


@dataclass(frozen=True)
class Text(Value, kind="text"):
    """A value of a list of values."""

    value: str

    def __post_init__(self) -> None:
        if not isinstance(self.value, str) or len(self.value) > MOST_TEXT:
            raise UsageError(f"a text has up to {MOST_TEXT} characters")


@dataclass(frozen=True)
class Day(Value, kind="day"):
    """A calendar day."""

    value: date

    def __post_init__(self) -> None:
        if isinstance(self.value, str):
            try:
                object.__setattr__(self, "value", date.fromisoformat(self.value))
            except ValueError:
                raise UsageError(f"there is no day {self.value[:40]!r}") from None
        if type(self.value) is not date:
            raise UsageError("a day is written as a text such as '2024-12-31'")


@dataclass(frozen=True)
class Missing(Value, kind="missing"):
    """No value."""


CONSTANTS = (Numeral, Text, Day)


@dataclass(frozen=True)
class Arithmetic(Value, kind="arithmetic"):
    """Two numbers added, subtracted or multiplied."""

    sign: str
    left: Value
    right: Value

    def __post_init__(self) -> None:
        self._check_word("sign", ARITHMETIC)
        self._check("left", Value)
        self._check("right", Value)


@dataclass(frozen=True)
class Divide(Value, kind="divide"):
    """A number divided by a whole number of at least 1 and rounded down."""

    value: Value
    by: int

    def __post_init__(self) -> None:
        self._check("value", Value)
        self._check_whole("by", 1)


@dataclass(frozen=True)
class When(LanguageNode, kind="when"):
    """One branch of a case."""

    condition: Condition
    value: Value

    def __post_init__(self) -> None:
        self._check("condition", Condition)
        self._check("value", Value)


@dataclass(frozen=True)
class Case(Value, kind="case"):
    """The value of the first branch whose condition is true, and otherwise ``default``."""

    branches: tuple[When, ...]
    default: Value = Missing()

    def __post_init__(self) -> None:
        self._check_list("branches", When)
        self._check("default", Value)


@dataclass(frozen=True)
class Binned(Value, kind="bins"):
    """The interval of a number between increasing edges, each with its left end, the last with both; else missing."""

    value: Value
    edges: tuple[Numeral, ...]

    def __post_init__(self) -> None:
        self._check("value", Value)
        self._check_list("edges", Numeral, 2)
        numbers = [edge.value for edge in self.edges]
        if len(numbers) > MOST_EDGES or any(a >= b for a, b in pairwise(numbers)):
            raise UsageError(f"edges of bins must increase, and be at most {MOST_EDGES:,}")


@dataclass(frozen=True)
class DatePart(Value, kind="date part"):
    """The year, month, day of the month, or weekday (Monday is 1) of a day."""

    part: str
    value: Value

    def __post_init__(self) -> None:
        self._check_word("part", DATE_PARTS)
        self._check("value", Value)


@dataclass(frozen=True)
class Compare(Condition, kind="compare"):
    """Two values of one kind compared. Values of a list are only equal or not."""

    sign: str
    left: Value
    right: Value

    swapped: ClassVar[Mapping[str, str]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}

    def __post_init__(self) -> None:
        self._check_word("sign", COMPARISONS)
        self._check("left", Value)
        self._check("right", Value)


@dataclass(frozen=True)
class Among(Condition, kind="in"):
    """Whether a value is one of several constants."""

    value: Value
    members: tuple[Value, ...]

    def __post_init__(self) -> None:
        self._check("value", Value)
        self._check_list("members", Value)
        if not all(isinstance(one, CONSTANTS) for one in self.members):
            raise UsageError("what follows 'in' must be constants")
        if len(self.members) > MOST_MEMBERS:
            raise UsageError(f"at most {MOST_MEMBERS:,} values can follow 'in'")


@dataclass(frozen=True)
class IsMissing(Condition, kind="is missing"):
    """Whether a value is missing: true or false, never unknown."""

    value: Value

    def __post_init__(self) -> None:
        self._check("value", Value)


@dataclass(frozen=True)
class AllOf(Condition, kind="and"):
    """Whether all conditions are true."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        self._check_list("conditions", Condition, 2)


@dataclass(frozen=True)
class AnyOf(Condition, kind="or"):
    """Whether one condition is true."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        self._check_list("conditions", Condition, 2)


@dataclass(frozen=True)
class Negation(Condition, kind="not"):
    """Whether a condition is false."""

    condition: Condition

    def __post_init__(self) -> None:
        self._check("condition", Condition)
