"""What several charges cost together, kept as exact sums. Whether they stay within a limit is for the limit to say."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

from margrave.budget.accountant import epsilon_of, privacy_loss, rho_within
from margrave.budget.units import Budget
from margrave.errors import RefusedError, VerificationError

MOST_KINDS = 32
"""So many different pure costs are remembered one by one, for the composition that looks at each."""
MOST_EVENTS = 512
_LONGEST = 2048
_COARSE = 1 << 256
_ZERO = Fraction(0)


class Totals(NamedTuple):
    """What follows from some charges for any composition of them.

    ``pure`` says how often each pure ε, as text and in order, was spent. Once there were too many different ones it is
    empty, and ``unlisted`` has Σε and Σε² instead. ``rho`` is Σρ of the zCDP charges; ``approx``, ``approx_squares``
    and ``delta`` are Σε, Σε² and Σδ of the (ε, δ) ones.
    """

    approx: Fraction = _ZERO
    approx_squares: Fraction = _ZERO
    delta: Fraction = _ZERO
    pure: Mapping[str, int] = MappingProxyType({})
    rho: Fraction = _ZERO
    unlisted: tuple[Fraction, Fraction] | None = None

    @property
    def epsilon(self) -> Fraction:
        """Σε of the pure charges."""
        return _short(_sum(self.pure)) if self.unlisted is None else self.unlisted[0]

    @property
    def squares(self) -> Fraction:
        """Σε² of the pure charges."""
        return _short(_sum(self.pure, 2)) if self.unlisted is None else self.unlisted[1]

    @property
    def all_epsilon(self) -> Fraction | None:
        """Σε of all charges; None where one of them, by Gaussian noise, has no ε."""
        return None if self.rho else self.approx + self.epsilon

    @property
    def all_rho(self) -> Fraction:
        """Σρ of all charges, an ε counting as ε²/2."""
        return self.rho + (self.squares + self.approx_squares) / 2

    @property
    def empty(self) -> bool:
        return not (self.epsilon or self.rho or self.approx)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Σε of all charges; None where one of them is not pure."""
        return None if self.rho or self.approx else self.epsilon

    @property
    def exact_rho(self) -> Fraction | None:
        """Σρ of all charges, a pure ε counting as ε²/2; None where one of them is an (ε, δ)."""
        return None if self.approx else self.rho + self.squares / 2

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether charges that are fixed beforehand are (ε, δ) together, by the best composition known."""
        if self._easily_within(epsilon, delta):
            return True
        found = self.epsilon_at(delta)
        return found is not None and found <= epsilon

    def _easily_within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """A sufficient condition that needs no conversion beyond one that is remembered."""
        if self.delta > delta:
            return False
        if not self.rho and self.approx + self.epsilon <= epsilon:
            return True
        if self.approx:
            return False
        try:
            return self.rho + self.squares / 2 <= rho_within(epsilon, delta)
        except RefusedError:
            return False

    def epsilon_at(self, delta: Fraction) -> Fraction | None:
        """The least ε known so that the charges together are (ε, δ); None where δ is too small."""
        rest = delta - self.delta
        candidates = [] if self.rho else [self.epsilon]
        if rest > 0:
            if self.rho or self.squares:
                candidates.append(epsilon_of(self.rho + self.squares / 2, rest))
            if self.rho and self.epsilon:
                candidates.append(self.epsilon + epsilon_of(self.rho, rest))
            if self.pure and not self.rho and sum(self.pure.values()) <= MOST_EVENTS:
                candidates.append(privacy_loss(tuple(sorted(_listed(self.pure))), rest))
        if rest < 0 or not candidates:
            return None
        return self.approx + min(candidates)

    def plus(self, cost: Budget, times: int = 1) -> Totals:
        """The totals with one more charge; with ``times`` = -1, with one less."""
        epsilon, rho, approx, delta = cost.parts
        if epsilon:
            return self._plus_pure(epsilon, times)
        if rho:
            return self._replace(rho=_short(self.rho + times * rho))
        return self._replace(
            approx=_short(self.approx + times * approx),
            approx_squares=_short(self.approx_squares + times * approx**2),
            delta=_short(self.delta + times * delta),
        )

    def _plus_pure(self, epsilon: Fraction, times: int) -> Totals:
        if self.unlisted is None:
            pure = _counted(self.pure, str(epsilon), times)
            if len(pure) <= MOST_KINDS:
                return Totals(self.approx, self.approx_squares, self.delta, pure, self.rho)
            return self._replace(pure={}, unlisted=(_short(_sum(pure)), _short(_sum(pure, 2))))
        total, squares = self.unlisted
        return self._replace(unlisted=(_short(total + times * epsilon), _short(squares + times * epsilon**2)))

    def minus(self, cost: Budget) -> Totals:
        """The totals without a charge that was taken back."""
        return self.plus(cost, -1)

    @property
    def text(self) -> str:
        """What is not zero, as canonical JSON: the fields are in the order of the alphabet."""
        parts = [f'"{name}":{_part(value)}' for name, value in zip(self._fields, self, strict=True) if value]
        return f"{{{','.join(parts)}}}"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Totals:
        """The totals with that text, or as they were written before, with Σε and Σε² beside the list."""
        numbers = {name: _fraction(value[name]) for name in _NUMBERS if name in value}
        unlisted = value.get("unlisted")
        if "squares" in value and value.get("pure", {}) is None:
            unlisted = value["epsilon"], value["squares"]
        found = cls(
            pure=value.get("pure") or {},
            unlisted=None if unlisted is None else (_fraction(unlisted[0]), _fraction(unlisted[1])),
            **numbers,
        )
        if any(name in value and not _near(_fraction(value[name]), getattr(found, name)) for name in _WRITTEN_BEFORE):
            raise VerificationError("the sums of charges are not those of the charges")
        return found


_NUMBERS = ("approx", "approx_squares", "delta", "rho")
_WRITTEN_BEFORE = ("epsilon", "squares")


def _near(one: Fraction, other: Fraction) -> bool:
    """Whether two sums differ by no more than what `_short` adds, however often."""
    return abs(one - other) < Fraction(1, _COARSE >> 56)


def alike(one: Totals, other: Totals) -> bool:
    """Whether totals are of the same charges, though sums may have been rounded up in another order.

    The first may have been written when the squares of (ε, δ) charges were not kept.
    """
    unlisted = (one.unlisted is None) == (other.unlisted is None)
    sums = _near(one.epsilon, other.epsilon) and _near(one.squares, other.squares)
    squares = one.approx_squares or other.approx_squares
    same = one._replace(unlisted=None, approx_squares=squares) == other._replace(unlisted=None)
    return unlisted and sums and same


def _part(value: Fraction | Mapping[str, int] | tuple[Fraction, Fraction]) -> str:
    """A field of totals as JSON."""
    if isinstance(value, Fraction):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f'["{value[0]}","{value[1]}"]'
    times = ",".join([f'"{epsilon}":{count}' for epsilon, count in value.items()])
    return f"{{{times}}}"


def _counted(pure: Mapping[str, int], epsilon: str, times: int) -> Mapping[str, int]:
    found = {**pure, epsilon: pure.get(epsilon, 0) + times}
    if found[epsilon] <= 0:
        del found[epsilon]
    elif len(found) > len(pure):
        found = dict(sorted(found.items()))
    return found


def _sum(pure: Mapping[str, int], power: int = 1) -> Fraction:
    """The sum of a power of all pure charges, in whole numbers, which takes half as long as to add fractions."""
    above, below = 0, 1
    for text, times in pure.items():
        over, under = _fraction(text).as_integer_ratio()
        over, under = times * over**power, under**power
        above, below = (over, under) if not above else (above * under + over * below, below * under)
    return Fraction(above, below)


def _short(number: Fraction) -> Fraction:
    """The number itself, or, if it takes thousands of bits to write, a larger one that does not."""
    if number.denominator.bit_length() <= _LONGEST:
        return number
    return Fraction(ceil(number * _COARSE), _COARSE)


@lru_cache(maxsize=1024)
def _fraction(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(int(above), int(below or 1))


def _listed(pure: Mapping[str, int]) -> list[Fraction]:
    return [_fraction(text) for text, times in pure.items() for _ in range(times)]
