"""What a column may hold: values of a list, numbers of a range and step, days of a range. All of them are whole numbers
to the engine: positions in the list, multiples of the step, days since 1970-01-01.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from math import gcd
from typing import Any

from margrave.budget.numbers import exact_text
from margrave.errors import RefusedError, UsageError

EPOCH = date(1970, 1, 1)
MOST_WHOLE = 1 << 62
"""No program that is run reaches a whole number of this size: 64 bits hold all of them."""


@dataclass(frozen=True)
class Values:
    """One of a list of texts; the engine has its position."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values or len(set(self.values)) != len(self.values):
            raise UsageError("a column of values needs different values, at least one")

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.values) - 1

    def code(self, text: str) -> int | None:
        """The position of a value; None where the list does not have it."""
        return self.values.index(text) if text in self.values else None

    def show(self, code: int) -> Any:
        return self.values[code]

    named = show

    def said(self) -> str:
        return f"one of {len(self.values)} values"


@dataclass(frozen=True)
class Numbers:
    """``n · step`` for a whole n from ``low`` to ``high``, both included; the engine has n."""

    low: int
    high: int
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", Fraction(self.step))
        if self.step <= 0:
            raise UsageError("a step must be greater than 0")
        if self.low > self.high:
            raise UsageError("the lowest number must not exceed the highest")
        if max(abs(self.low), abs(self.high)) >= MOST_WHOLE:
            raise RefusedError(
                f"numbers here may reach {exact_text(max(abs(self.low), abs(self.high)) * self.step)} in steps of "
                f"{exact_text(self.step)}, more than 64 bits hold: use a smaller range or a larger step"
            )

    @property
    def least(self) -> Fraction:
        return self.low * self.step

    @property
    def most(self) -> Fraction:
        return self.high * self.step

    def show(self, code: int) -> Any:
        """A whole number as an int, another as a float: for people, after the noise."""
        value = code * self.step
        return int(value) if value.denominator == 1 else float(value)

    def named(self, code: int) -> Any:
        """The same as the name of a group, never rounded: where no float says it exactly, as a text such as 1/3."""
        shown, value = self.show(code), code * self.step
        return shown if Fraction(repr(shown)) == value else exact_text(value)

    def said(self) -> str:
        unit = "" if self.step == 1 else f" in steps of {exact_text(self.step)}"
        return f"a number from {exact_text(self.least)} to {exact_text(self.most)}{unit}"


@dataclass(frozen=True)
class Days:
    """A calendar day; the engine has days since 1970-01-01."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise UsageError("the first day must not come after the last")
        if self.low < (date.min - EPOCH).days or self.high > (date.max - EPOCH).days:
            raise UsageError("days lie in the years 1 to 9999")

    @classmethod
    def between(cls, first: date, last: date) -> Days:
        return cls((first - EPOCH).days, (last - EPOCH).days)

    @property
    def first(self) -> date:
        return EPOCH + timedelta(days=self.low)

    @property
    def last(self) -> date:
        return EPOCH + timedelta(days=self.high)

    def show(self, code: int) -> Any:
        return EPOCH + timedelta(days=code)

    named = show

    def said(self) -> str:
        return f"a day from {self.first} to {self.last}"


Kind = Values | Numbers | Days


def size_of(kind: Kind) -> int:
    """How many different values a column of this kind can have, apart from being missing."""
    return kind.high - kind.low + 1


def common_step(one: Fraction, other: Fraction) -> Fraction:
    """The largest step of which both are multiples."""
    numerator = gcd(one.numerator * other.denominator, other.numerator * one.denominator)
    return Fraction(numerator, one.denominator * other.denominator)
