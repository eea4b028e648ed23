"""The likelihood ratio that protects a respondent: a fraction that is at most e^ε, so that all coins are exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

from margrave.errors import RefusedError, UsageError
from margrave.noise.exact import exp_bounds

_BITS = 128
_CLOSE = Fraction(1, 10**6)
"""The ratio is at most this part below e^ε: nobody gives up accuracy that could be noticed."""
_LEAST, _MOST = Fraction(1, 100), Fraction(20)
"""Outside these ε a report says nothing, or hides nothing."""


@dataclass(frozen=True)
class Odds:
    """``numerator / denominator``: how much more likely a report is under one answer than under another, at most."""

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 < self.denominator < self.numerator:
            raise UsageError(f"odds ({self.numerator} : {self.denominator}) must be above 1")

    @classmethod
    def of(cls, epsilon: Fraction) -> Odds:
        """The simplest fraction between (1 − 10⁻⁶)·e^ε and e^ε."""
        if not _LEAST <= epsilon <= _MOST:
            raise RefusedError(
                f"a local collection needs an ε between {float(_LEAST):g} and {float(_MOST):g}, not "
                f"{float(epsilon):g}: with less nothing is learnt, with more nothing is hidden"
            )
        # e^ε ≥ 2^bits / high, because high bounds 2^bits · e^−ε from above.
        below = Fraction(1 << _BITS, exp_bounds(epsilon, _BITS)[1])
        found = simplest(below * (1 - _CLOSE), below)
        return cls(found.numerator, found.denominator)

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.numerator, self.denominator)

    @property
    def epsilon(self) -> float:
        """The ε that the coins really have, a little below the one asked for."""
        return log(self.numerator) - log(self.denominator)

    @property
    def gain(self) -> Fraction:
        """r = (e^ε + 1)/(e^ε − 1): by how much a sign that was randomised is multiplied to be right on average."""
        return Fraction(self.numerator + self.denominator, self.numerator - self.denominator)

    def __str__(self) -> str:
        return f"{self.numerator}" if self.denominator == 1 else f"{float(self.ratio):.4g}"


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of smallest denominator in a closed interval of positive numbers (by continued fractions)."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    floor = low.numerator // low.denominator
    return floor + 1 / simplest(1 / (high - floor), 1 / (low - floor))
