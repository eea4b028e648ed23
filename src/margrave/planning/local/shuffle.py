"""What a trusted shuffler adds: the guarantee of all reports together, once nobody can tell whose is whose.

Theorem 3.1 of Feldman, McMillan and Talwar, "Hiding Among the Clones" (2021): n reports, each ε₀-private by itself and
all made in the same way, are (ε, δ)-private under replacement of one once they are shuffled, with

    ε = log(1 + (e^ε₀ − 1)/(e^ε₀ + 1) · (8·√(e^ε₀·log(4/δ))/√n + 8·e^ε₀/n))      if ε₀ ≤ log(n/(16·log(2/δ))).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from margrave.budget.units import ApproxDP
from margrave.planning.local.odds import Odds

_DIGITS = 50
_SHOWN = Decimal("1e-6")
"""ε is rounded up to a multiple of this."""


@dataclass(frozen=True)
class Shuffled:
    """The guarantee that ``reports`` shuffled reports have together; None where the theorem says nothing."""

    reports: int
    guarantee: ApproxDP | None


def shuffled(odds: Odds, reports: int, delta: Fraction) -> Shuffled:
    """The central guarantee by amplification, computed upwards; never worse than the local one, which stays true."""
    up, down = (Context(_DIGITS, rounding) for rounding in (ROUND_CEILING, ROUND_FLOOR))
    ratio_up, ratio_down = (_decimal(context, odds.ratio) for context in (up, down))
    least = _decimal(down, delta)
    # Logarithms are rounded to the nearest digit whatever the context says: the next one is on the safe side.
    room = up.next_plus(up.ln(up.divide(Decimal(2), least)))
    if up.multiply(ratio_up, up.multiply(Decimal(16), room)) > reports:
        return Shuffled(reports, None)
    spread = up.next_plus(up.ln(up.divide(Decimal(4), least)))
    root = up.next_plus(up.sqrt(up.multiply(ratio_up, spread)))
    first = up.divide(up.multiply(Decimal(8), root), down.next_minus(down.sqrt(Decimal(reports))))
    second = up.divide(up.multiply(Decimal(8), ratio_up), Decimal(reports))
    share = up.divide(up.subtract(ratio_up, Decimal(1)), down.add(ratio_down, Decimal(1)))
    inside = up.add(Decimal(1), up.multiply(share, up.add(first, second)))
    found = up.next_plus(up.ln(inside)).quantize(_SHOWN, rounding=ROUND_CEILING)
    local = Fraction(up.next_plus(up.ln(ratio_up)).quantize(_SHOWN, rounding=ROUND_CEILING))
    return Shuffled(reports, ApproxDP(min(Fraction(found), local), delta))


def _decimal(context: Context, number: Fraction) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
