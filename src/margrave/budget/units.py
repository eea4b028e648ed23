"""The three units in which privacy is spent, as exact numbers.

ε (epsilon) bounds the log-ratio of the probabilities of any outcome on two neighbouring data sets; δ (delta) is the
probability mass exempt from that bound; ρ (rho) is the parameter of zero-concentrated differential privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from margrave.errors import UsageError
from margrave.files.untrusted import MOST_NUMBER

_LONGEST_DECIMAL, _LONGEST_READ = 40, 16
_LARGEST_EXPONENT = 4000


def exact_text(number: Fraction) -> str:
    """The shortest exact text of a number: ``0.1``, ``1e-9``, or ``1/3`` where no short decimal is exact."""
    twos, fives, rest = 0, 0, number.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    places = max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator) if rest == 1 else ""
    stripped = digits.rstrip("0") or "0"
    if rest != 1 or len(stripped) > _LONGEST_DECIMAL:
        return f"{number.numerator}/{number.denominator}"
    sign = "-" if number < 0 else ""
    if number != 0 and not Fraction(1, 10_000) <= abs(number) < 10**16:
        fraction = f".{stripped[1:]}" if len(stripped) > 1 else ""
        return f"{sign}{stripped[0]}{fraction}e{len(digits) - 1 - places}"
    padded = digits.rjust(places + 1, "0")
    whole, decimals = padded[: len(padded) - places], padded[len(padded) - places :].rstrip("0")
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"


def readable(number: Fraction) -> str:
    """The exact text of a number, if it is short, and otherwise a few digits of it."""
    text = exact_text(number)
    return (
        text if len(text) <= _LONGEST_READ else f"about {Decimal(number.numerator) / Decimal(number.denominator):.6g}"
    )


def exact_number(text: str) -> Fraction:
    """The number that a text such as ``0.1``, ``1e-9`` or ``1/3`` names exactly; the inverse of `exact_text`."""
    if len(text) > MOST_NUMBER:
        raise UsageError(f"'{text[:20]}…' has {len(text)} characters: a number may have {MOST_NUMBER}")
    if not text.isascii() or "_" in text:
        raise UsageError(f"{text!r} is not a number")
    try:
        if "/" in text:
            return Fraction(text)
        decimal = Decimal(text)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise UsageError(f"{text!r} is not a number") from None
    if not decimal.is_finite():
        raise UsageError(f"{text!r} is not a finite number")
    if abs(decimal.adjusted()) > _LARGEST_EXPONENT:
        raise UsageError(f"{text!r} is too large or too small")
    return Fraction(decimal)


def _check_positive(name: str, number: object) -> None:
    if not isinstance(number, Fraction):
        raise UsageError(f"{name} must be an exact Fraction, not {type(number).__name__}")
    if number <= 0:
        raise UsageError(f"{name} ({exact_text(number)}) must be greater than 0")


@dataclass(frozen=True)
class PureDP:
    """Pure ε-differential privacy."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_positive("epsilon", self.epsilon)

    def __str__(self) -> str:
        return f"ε = {readable(self.epsilon)}"

    def as_dict(self) -> dict[str, str]:
        return {"epsilon": exact_text(self.epsilon)}


@dataclass(frozen=True)
class ApproxDP:
    """(ε, δ)-differential privacy, with 0 < δ < 1."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _check_positive("epsilon", self.epsilon)
        _check_positive("delta", self.delta)
        if self.delta >= 1:
            raise UsageError(f"delta ({exact_text(self.delta)}) must be less than 1")

    def __str__(self) -> str:
        return f"ε = {readable(self.epsilon)}, δ = {readable(self.delta)}"

    def as_dict(self) -> dict[str, str]:
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta)}


@dataclass(frozen=True)
class ZCDP:
    """ρ-zero-concentrated differential privacy."""

    rho: Fraction

    def __post_init__(self) -> None:
        _check_positive("rho", self.rho)

    def __str__(self) -> str:
        return f"ρ = {readable(self.rho)}"

    def as_dict(self) -> dict[str, str]:
        return {"rho": exact_text(self.rho)}


Budget = PureDP | ApproxDP | ZCDP


def amount(budget: Budget) -> Fraction:
    """The ε, or the ρ, of a budget."""
    return budget.rho if isinstance(budget, ZCDP) else budget.epsilon


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
