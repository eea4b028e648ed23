"""Exact numbers as text: short, and read back to the same number."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from margrave.errors import UsageError
from margrave.files.untrusted import MOST_NUMBER

_LONGEST_DECIMAL, _LONGEST_READ = 40, 16
_LARGEST_EXPONENT = 4000


def exact_text(number: Fraction) -> str:
    """The shortest exact text of a number: ``0.1``, ``1e-9``, or ``1/3`` where no short decimal is exact."""
    if number.denominator == 1 and abs(number.numerator) < 10**16:
        return str(number.numerator)
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
    if len(text) <= _LONGEST_READ:
        return text
    digits, mark, exponent = f"{Decimal(number.numerator) / Decimal(number.denominator):.6g}".partition("e")
    return f"about {digits.rstrip('0').rstrip('.') if '.' in digits else digits}{mark}{exponent}"


@lru_cache(maxsize=4096)
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
