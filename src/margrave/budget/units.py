"""The three units in which privacy is spent, as exact numbers.

ε (epsilon) bounds the log-ratio of the probabilities of any outcome on two neighbouring data sets; δ (delta) is the
probability mass exempt from that bound; ρ (rho) is the parameter of zero-concentrated differential privacy.
What depends on the unit is a method of it: nobody else needs to ask which unit a budget is in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import ClassVar, NamedTuple, Protocol

from margrave.budget.accountant import SLACK, epsilon_of, rho_within, rounded_up
from margrave.budget.numbers import exact_number as exact_number
from margrave.budget.numbers import exact_text as exact_text
from margrave.budget.numbers import readable as readable
from margrave.errors import UsageError
from margrave.messages.catalogue import later


def _check_positive(name: str, number: object) -> None:
    if not isinstance(number, Fraction):
        raise UsageError(f"{name} must be an exact Fraction, not {type(number).__name__}")
    if number <= 0:
        raise UsageError(f"{name} ({exact_text(number)}) must be greater than 0")


class Components(NamedTuple):
    """A cost taken apart for composition: a pure ε, a ρ, or the ε and the δ of an (ε, δ); the others are zero."""

    pure: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    approx: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)


class Spent(Protocol):
    """The exact sums of several charges, as limits look at them."""

    @property
    def empty(self) -> bool:
        """Whether nothing was charged."""

    @property
    def delta(self) -> Fraction:
        """Σδ of all charges."""

    @property
    def all_epsilon(self) -> Fraction | None:
        """Σε of all charges; None where one of them, by Gaussian noise, has no ε."""

    @property
    def all_rho(self) -> Fraction:
        """Σρ of all charges, an ε counting as ε²/2."""

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Σε of all charges; None where one of them is not pure."""

    @property
    def exact_rho(self) -> Fraction | None:
        """Σρ of all charges, a pure ε counting as ε²/2; None where one of them is an (ε, δ)."""

    def epsilon_at(self, delta: Fraction) -> Fraction | None:
        """The least ε known so that the charges together are (ε, δ); None where δ is too small."""

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the charges together are (ε, δ)-differentially private, by the best composition known."""


class _Unit:
    """What the three units share: a budget is a few named, exact numbers."""

    called: ClassVar[str]
    """What is promised, in words."""
    symbol: ClassVar[str]
    """The letter of what is spent."""
    gaussian: ClassVar[tuple[bool, ...]]
    """Which noise is paid in this unit: whether it is Gaussian. Where both are, the one to try first comes first."""
    power: ClassVar[int] = 1
    """For c units together the amount is c to this power times as much."""
    adaptive: ClassVar[bool] = True
    """Whether, as a limit, it holds where each charge may depend on the answers to the ones before."""

    @property
    def amount(self) -> Fraction:
        """The ε, or the ρ."""
        raise NotImplementedError

    def numbers(self) -> Iterator[tuple[str, str, Fraction]]:
        """Each number of a budget: its name, its letter, and its exact value."""
        raise NotImplementedError

    def __str__(self) -> str:
        return ", ".join(f"{letter} = {readable(number)}" for _, letter, number in self.numbers())

    def brief(self, digits: int = 4) -> str:
        """The budget in a few digits, for reading; the exact one is kept elsewhere."""
        return ", ".join(f"{letter} = {float(number):.{digits}g}" for _, letter, number in self.numbers())

    def as_dict(self) -> dict[str, str]:
        return dict(self._texts)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {name: exact_text(number) for name, _, number in self.numbers()}

    @cached_property
    def json_text(self) -> str:
        """The budget as JSON in one way: names in order, no spaces."""
        return json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))

    def within(self, other: Budget) -> bool:
        """Whether this is at most another budget of the same unit, in each of its numbers."""
        return self.same_unit(other) and all(
            mine <= theirs for (*_, mine), (*_, theirs) in zip(self.numbers(), other.numbers(), strict=True)
        )

    def same_unit(self, other: Budget) -> bool:
        """Whether both are in ε, both in (ε, δ), or both in ρ."""
        return self.called == other.called

    def check(self) -> None:
        """Refuse a limit that is not kept by the sums that it comes with: most come with none."""

    def left(self, spent: Spent) -> Fraction:
        """How much of the ε or ρ of this limit is left after some charges."""
        used = self.together(spent)
        return self.amount - (used.amount if used is not None else Fraction(0))

    def together(self, spent: Spent) -> Budget | None:
        """The charges as one budget in this unit; None where nothing was spent, or the unit cannot hold it."""
        raise NotImplementedError


@dataclass(frozen=True)
class PureDP(_Unit):
    """Pure ε-differential privacy."""

    epsilon: Fraction
    called, symbol, gaussian = later("pure differential privacy"), "ε", (False,)
    delta: ClassVar[Fraction] = Fraction(0)

    def __post_init__(self) -> None:
        _check_positive("epsilon", self.epsilon)

    @property
    def amount(self) -> Fraction:
        return self.epsilon

    def numbers(self) -> Iterator[tuple[str, str, Fraction]]:
        yield "epsilon", "ε", self.epsilon

    @property
    def parts(self) -> Components:
        return Components(pure=self.epsilon)

    def with_amount(self, amount: Fraction) -> PureDP:
        """A budget of the same unit with another ε."""
        return PureDP(amount)

    def payable(self, gaussian: bool) -> Fraction:
        """The most that noise may cost, in the noise's own unit, to stay within this budget."""
        return self.epsilon

    def at_delta(self, delta: Fraction) -> PureDP:
        """The same cost where a spec gives a δ: pure ε is also (ε, δ) for any δ."""
        return self

    def without_delta(self) -> PureDP:
        """The budget, where it has no δ."""
        return self

    def for_units(self, count: int) -> PureDP:
        """What is guaranteed to several units together."""
        return PureDP(self.epsilon * count)

    def holds(self, spent: Spent) -> bool:
        """Whether charges stay within this limit."""
        found = spent.pure_epsilon
        return found is not None and found <= self.epsilon

    def together(self, spent: Spent) -> PureDP | None:
        found = spent.pure_epsilon
        return PureDP(found) if found else None


@dataclass(frozen=True)
class ApproxDP(_Unit):
    """(ε, δ)-differential privacy, with 0 < δ < 1."""

    epsilon: Fraction
    delta: Fraction
    called, symbol, gaussian = later("differential privacy"), "ε", (True, False)
    adaptive = False

    def __post_init__(self) -> None:
        _check_positive("epsilon", self.epsilon)
        _check_positive("delta", self.delta)
        if self.delta >= 1:
            raise UsageError(f"delta ({exact_text(self.delta)}) must be less than 1")

    @property
    def amount(self) -> Fraction:
        return self.epsilon

    def numbers(self) -> Iterator[tuple[str, str, Fraction]]:
        yield "epsilon", "ε", self.epsilon
        yield "delta", "δ", self.delta

    @property
    def parts(self) -> Components:
        return Components(approx=self.epsilon, delta=self.delta)

    def with_amount(self, amount: Fraction) -> ApproxDP:
        """A budget of the same unit and δ with another ε."""
        return ApproxDP(amount, self.delta)

    def payable(self, gaussian: bool) -> Fraction:
        """The most that noise may cost, in the noise's own unit, to stay within this budget."""
        return rho_within(self.epsilon, self.delta) if gaussian else self.epsilon

    def at_delta(self, delta: Fraction) -> ApproxDP:
        return self

    def without_delta(self) -> None:
        """There is none: what needs a pure ε or a ρ cannot be had for it."""
        return

    def for_units(self, count: int) -> ApproxDP | None:
        """c·ε and e^{(c−1)ε}·c·δ; None where that δ is 1 or more, which promises nothing."""
        exponent = float(self.epsilon) * (count - 1)
        delta = Fraction(1) if exponent > 700 else rounded_up(exp(exponent) * SLACK) * count * self.delta
        return ApproxDP(self.epsilon * count, delta) if delta < 1 else None

    def holds(self, spent: Spent) -> bool:
        """Whether charges that are fixed beforehand, such as one request, stay within this limit."""
        return spent.within(self.epsilon, self.delta)

    def together(self, spent: Spent) -> ApproxDP | None:
        found = None if spent.empty else spent.epsilon_at(self.delta)
        return ApproxDP(found, self.delta) if found else None


@dataclass(frozen=True)
class ZCDP(_Unit):
    """ρ-zero-concentrated differential privacy."""

    rho: Fraction
    called, symbol, gaussian = later("zero-concentrated differential privacy"), "ρ", (True,)
    power = 2
    delta: ClassVar[Fraction] = Fraction(0)

    def __post_init__(self) -> None:
        _check_positive("rho", self.rho)

    @property
    def amount(self) -> Fraction:
        return self.rho

    def numbers(self) -> Iterator[tuple[str, str, Fraction]]:
        yield "rho", "ρ", self.rho

    @property
    def parts(self) -> Components:
        return Components(rho=self.rho)

    def with_amount(self, amount: Fraction) -> ZCDP:
        """A budget of the same unit with another ρ."""
        return ZCDP(amount)

    def payable(self, gaussian: bool) -> Fraction:
        """The most that noise may cost, in the noise's own unit, to stay within this budget."""
        return self.rho

    def at_delta(self, delta: Fraction) -> ZCDP | ApproxDP:
        """The same cost where a spec gives a δ: an (ε, δ) that it implies."""
        return ApproxDP(epsilon_of(self.rho, delta), delta) if delta else self

    def without_delta(self) -> ZCDP:
        return self

    def for_units(self, count: int) -> ZCDP:
        """What is guaranteed to several units together."""
        return ZCDP(self.rho * count * count)

    def holds(self, spent: Spent) -> bool:
        """Whether charges stay within this limit."""
        found = spent.exact_rho
        return found is not None and found <= self.rho

    def together(self, spent: Spent) -> ZCDP | None:
        found = spent.exact_rho
        return ZCDP(found) if found else None


Budget = PureDP | ApproxDP | ZCDP


def amount(budget: Budget) -> Fraction:
    """The ε, or the ρ, of a budget."""
    return budget.amount


def budget_from_dict(mapping: Mapping[str, str]) -> Budget:
    """The budget that `as_dict` wrote."""
    if any(not isinstance(text, str) for text in mapping.values()):
        raise UsageError("a budget is written with exact texts, such as {'epsilon': '0.1'}")
    numbers = {name: exact_number(text) for name, text in mapping.items()}
    match sorted(numbers):
        case ["epsilon"]:
            return PureDP(numbers["epsilon"])
        case ["delta", "epsilon"]:
            return ApproxDP(numbers["epsilon"], numbers["delta"])
        case ["rho"]:
            return ZCDP(numbers["rho"])
    given = " and ".join(sorted(numbers)) or "nothing"
    raise UsageError(f"a budget has epsilon, or epsilon and delta, or rho; not {given}")
